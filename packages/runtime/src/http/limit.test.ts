import { RadicalError } from "@radical/protocol";
import { expect, test } from "vitest";
import { addressOf, admit, type Admission, type RateLimiter } from "./limit.ts";

interface Bindings {
  readonly ADDRESSES: RateLimiter;
  readonly CALLERS: RateLimiter;
}

/** Takes so many of each key, and notes in which order it was asked. */
class Counter implements RateLimiter {
  readonly #most: number;
  readonly #counts = new Map<string, number>();
  readonly #asked: string[];

  constructor(most: number, asked: string[]) {
    this.#most = most;
    this.#asked = asked;
  }

  limit({ key }: { readonly key: string }): Promise<{ success: boolean }> {
    this.#asked.push(key);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return Promise.resolve({ success: count <= this.#most });
  }
}

const requestOf = (headers: Record<string, string>): Request =>
  new Request("https://shop.example/api/buy", { headers });
const fails = (error: unknown): void => {
  throw error;
};

test("the address is counted before the caller is found, and the caller after", async () => {
  const asked: string[] = [];
  const env: Bindings = { ADDRESSES: new Counter(2, asked), CALLERS: new Counter(1, asked) };
  const admission: Admission<Bindings> = {
    authenticate: (request) => {
      asked.push("authenticate");
      return request.headers.get("user");
    },
    limit: { perAddress: ({ ADDRESSES }) => ADDRESSES, perCaller: ({ CALLERS }) => CALLERS, retryAfterSeconds: 7 },
    onFailed: fails,
  };
  const ask = (user: string): Promise<string | null> =>
    admit(admission, requestOf({ "cf-connecting-ip": "192.0.2.1", user }), env, "buy");
  expect(await ask("ann")).toBe("ann");
  expect(asked).toEqual(["192.0.2.1", "authenticate", "ann"]);
  await expect(ask("ann")).rejects.toMatchObject({
    code: "rate_limited",
    status: 429,
    retryAfterSeconds: 7,
    message: "This caller has sent too many requests.",
  });
  asked.length = 0;
  await expect(ask("bob")).rejects.toMatchObject({
    code: "rate_limited",
    message: "This address has sent too many requests.",
  });
  expect(asked).toEqual(["192.0.2.1"]);
});

test("the handler chooses the limiter, null counts nothing, and neither does a request without address or caller", async () => {
  const asked: string[] = [];
  const env: Bindings = { ADDRESSES: new Counter(0, asked), CALLERS: new Counter(0, asked) };
  const limit: Admission<Bindings>["limit"] = {
    perAddress: ({ ADDRESSES }, handler) => (handler === "register" ? ADDRESSES : null),
    perCaller: ({ CALLERS }) => CALLERS,
  };
  const admission: Admission<Bindings> = { authenticate: undefined, limit, onFailed: fails };
  const request = requestOf({ "cf-connecting-ip": "192.0.2.1" });
  expect(await admit(admission, request, env, "buy")).toBe(null);
  expect(await admit(admission, requestOf({}), env, "register")).toBe(null);
  expect(asked).toEqual([]);
  await expect(admit(admission, request, env, "register")).rejects.toMatchObject({ retryAfterSeconds: 60 });
});

test("a limiter that fails lets the request through and is told of; one that is missing is a fault of the Worker", async () => {
  const told: unknown[] = [];
  const broken: RateLimiter = { limit: () => Promise.reject(new Error("no counter")) };
  const admission = (limiter: unknown): Admission<Bindings> => ({
    authenticate: undefined,
    limit: { perAddress: () => limiter as RateLimiter },
    onFailed: (error) => told.push(error),
  });
  const request = requestOf({ "cf-connecting-ip": "192.0.2.1" });
  expect(await admit(admission(broken), request, {} as Bindings, "buy")).toBe(null);
  expect(told).toEqual([new Error("no counter")]);
  const missing = admit(admission(undefined), request, {} as Bindings, "buy");
  await expect(missing).rejects.toThrow("limit.perAddress gave undefined, which is not a rate limiter");
  await expect(missing).rejects.toBeInstanceOf(RadicalError);
});

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
])("requests from %s are counted as %s", (address, counted) => {
  expect(addressOf(requestOf({ "cf-connecting-ip": address }))).toBe(counted);
});
