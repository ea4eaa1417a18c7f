import { expect, test } from "vitest";
import { CallError } from "../call-error.ts";
import { Cors, type CorsOptions } from "./cors.ts";

const OWN = "https://social.example.com";
const APP = "https://app.example.com";

function request(origin: string | null, method = "POST", more: Readonly<Record<string, string>> = {}): Request {
  const headers = { ...more, ...(origin === null ? {} : { origin }) };
  return new Request(`${OWN}/api/follow`, { method, headers });
}

function isAllowed(cors: Cors, origin: string | null): boolean {
  try {
    cors.check(request(origin));
    return true;
  } catch {
    return false;
  }
}

test.each<[CorsOptions | null, allowed: readonly (string | null)[], refused: readonly string[]]>([
  [null, [null, OWN, "http://social.example.com"], [APP, "null", "", "https://social.example.com:8443"]],
  [
    { origins: [APP] },
    [null, OWN, APP],
    ["http://app.example.com", `${APP}.evil.example`, "https://example.com", "null"],
  ],
  [{ origins: "*" }, [null, OWN, APP, "null"], []],
])("with %j", (options, allowed, refused) => {
  const cors = new Cors(options);
  expect(allowed.filter((origin) => !isAllowed(cors, origin))).toEqual([]);
  expect(refused.filter((origin) => isAllowed(cors, origin))).toEqual([]);
});

test("beside radical dev, pages of the same machine may call from any port, and are named", () => {
  const loopback = ["http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8080", "https://app.localhost"];
  const others = ["http://localhost.example.com", "http://1270.0.0.1.example", "null", "http://192.168.0.7:5173", ""];
  for (const options of [null, { origins: [APP], credentials: true }]) {
    const cors = new Cors(options, true);
    expect(loopback.filter((origin) => !isAllowed(cors, origin))).toEqual([]);
    expect(others.filter((origin) => isAllowed(cors, origin))).toEqual([]);
    expect(loopback.filter((origin) => isAllowed(new Cors(options), origin))).toEqual([]);
    expect(cors.headers(request(loopback[0]!))).toMatchObject({
      "access-control-allow-origin": loopback[0],
      vary: "origin",
    });
    expect(Object.keys(cors.headers(request(loopback[0]!)))).not.toContain("access-control-allow-credentials");
    expect(cors.headers(request(others[0]!))).toEqual({ vary: "origin" });
  }
});

test("what a page may read names its origin, and so does what caches may not mix up", () => {
  expect(new Cors(null).headers(request(OWN))).toEqual({});
  const named = new Cors({ origins: [APP], credentials: true });
  expect(named.headers(request(APP))).toMatchObject({
    "access-control-allow-origin": APP,
    "access-control-allow-credentials": "true",
    vary: "origin",
  });
  expect(named.headers(request("https://evil.example"))).toEqual({ vary: "origin" });
  const all = new Cors({ origins: "*" }).headers(request(APP));
  expect(all["access-control-allow-origin"]).toBe("*");
  expect(Object.keys(all)).not.toContain("access-control-allow-credentials");
});

test("a preflight is told of the headers that pages may send", () => {
  const cors = new Cors({ origins: [APP], headers: ["x-tenant"], maxAgeSeconds: 60 });
  const asked = request(APP, "OPTIONS", { "access-control-request-method": "POST" });
  expect([cors.isPreflight(asked), cors.isPreflight(request(APP)), cors.isPreflight(request(null, "OPTIONS"))]).toEqual(
    [true, false, false],
  );
  const { headers } = cors.preflight(asked);
  expect(headers.get("access-control-allow-headers")).toMatch(/content-type, idempotency-key, .*, x-tenant$/);
  expect(headers.get("access-control-max-age")).toBe("60");
});

test.each<[CorsOptions, RegExp]>([
  [{ origins: "*", credentials: true }, /credentials need origins by name/],
  [{ origins: ["app.example.com"] }, /"app.example.com" is no origin/],
  [{ origins: [`${APP}/`] }, /is no origin/],
  [{ origins: ["*"] }, /is no origin/],
])("%j is refused", (options, message) => {
  expect(() => new Cors(options)).toThrow(message);
});

test("an error has the status of an error", () => {
  expect(() => new CallError(200, "fine", "")).toThrow(RangeError);
  expect(new CallError(503, "closed", "Closed.", { retryAfter: 60 }).toResponse().headers.get("retry-after")).toBe(
    "60",
  );
});
