/** HTTP at a location, as docs/http.md promises it, inside workerd. */
import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import type { LviRequest } from "@radical/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildFixture } from "./fixture/application.ts";
import { Location } from "./location.ts";
import { TestPrimary } from "./primary.ts";

let primary: TestPrimary;
let location: Location;

beforeAll(async () => {
  primary = new TestPrimary(await buildFixture());
  location = await Location.start({ primaryUrl: await primary.listen(), location: "IE" });
});
afterAll(async () => {
  await location.stop();
  await primary.close();
});
beforeEach(() => primary.reset());

/** Without followups: those of the test before may come at any time. */
const asks = (): readonly LviRequest[] =>
  primary.events.flatMap((event) => (event.kind === "lvi" ? [event.request] : []));

interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

async function errorOf(response: Response): Promise<ErrorBody["error"] & { readonly status: number }> {
  expect(response.headers.get("content-type")).toContain("application/json");
  const { error } = (await response.json()) as ErrorBody;
  expect(Object.keys(error)).toEqual(["code", "message", "hint"]);
  expect(error.hint).not.toBe("");
  return { status: response.status, ...error };
}

describe("a result", () => {
  test("is 200 with the result and the headers", async () => {
    const response = await location.call("append", { key: "first", text: "hello" });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ result: "hello" });
    expect(response.headers.get("x-radical-execution")).toMatch(/^execution-[0-9a-f]{32}$/);
    expect(response.headers.get("x-radical-location")).toBe("IE");
    expect(response.headers.get("x-radical-path")).toBe("speculative");
    expect(response.headers.get("x-radical-reason")).toBe("valid");
    expect(response.headers.get("server-timing")).toMatch(
      /^rw;dur=[\d.]+, cache;dur=.*, lvi;dur=.*, f;dur=[\d.]+;desc="\d+ fuel", total;dur=[\d.]+$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    const again = await location.call("append", { key: "first", text: "!" });
    expect(await again.json()).toEqual({ result: "hello!" });
    expect(again.headers.get("x-radical-path")).toBe("speculative");
  });

  test("is null for a handler that returns nothing, and for null", async () => {
    expect(await (await location.call("write", { key: "void", text: "x" })).json()).toEqual({ result: null });
    expect(await (await location.call("read", { key: "nowhere" })).json()).toEqual({ result: null });
  });

  test("may be of a handler that can't be analyzed", async () => {
    const response = await location.call("typed", { count: 7 });
    expect(await response.json()).toEqual({ result: 7 });
    expect(response.headers.get("x-radical-path")).toBe("near-storage");
    expect(asks()).toMatchObject([{ handler: "typed", units: null }]);
  });

  test("does not depend on the content type", async () => {
    for (const type of ["application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", ""]) {
      const response = await location.call("typed", { count: 7 }, { headers: { "content-type": type } });
      expect(await response.json()).toEqual({ result: 7 });
    }
  });

  test("is logged with its path and times", async () => {
    const response = await location.call("typed", { count: 7 });
    await response.text();
    const execution = response.headers.get("x-radical-execution")!.replace("execution-", "");
    expect(await location.logged("request", (line) => line.execution === execution)).toMatchObject({
      level: "info",
      handler: "typed",
      location: "IE",
      status: 200,
      path: "near-storage",
      reason: "plan",
      code: null,
    });
  });
});

describe("an error of the handler", () => {
  test.each([409, 404, 503])("abort keeps its status %i, code and message, and writes nothing", async (status) => {
    const key = `refused-${status}`;
    const response = await location.call("refuse", { key, status });
    expect(await errorOf(response)).toMatchObject({ status, code: "refused_by_handler", message: "not today" });
    expect(response.headers.get("x-radical-path")).toBe("speculative");
    const { followup } = await primary.happened("followup");
    expect(followup.writes).toEqual([]);
    expect(primary.items.size).toBe([...primary.items.keys()].filter((unit) => unit !== `notes/${key}`).length);
  });

  test("a trap is handler_trapped", async () => {
    const error = await errorOf(await location.call("fail", { key: "f" }));
    expect(error).toMatchObject({ status: 500, code: "handler_trapped" });
    expect(error.message).toContain("out of luck");
    // It comes after the answer.
    await primary.happened("followup");
  });
});

describe("bad input never reaches the primary", () => {
  const post = (body: BodyInit | null, headers: Record<string, string> = {}): Promise<Response> =>
    location.request("/api/append", { method: "POST", body, headers });

  test.each<[name: string, body: string, code: string, mentions: string]>([
    ["missing", `{"key":"k"}`, "missing_argument", `"text"`],
    ["missing all, with no body at all", "", "missing_argument", `"key"`],
    ["unknown", `{"key":"k","text":"t","colour":"red"}`, "unknown_argument", `"colour"`],
    [
      "named like a property of every object",
      `{"key":"k","text":"t","__proto__":1}`,
      "unknown_argument",
      `"__proto__"`,
    ],
    ["of the wrong type", `{"key":"k","text":7}`, "invalid_argument", `"text"`],
    ["null where null is not allowed", `{"key":null,"text":"t"}`, "invalid_argument", `"key"`],
    ["with a lone surrogate", `{"key":"k","text":"\\ud800"}`, "invalid_argument", `"text"`],
    ["not an object: an array", `["k","t"]`, "invalid_argument", "an array"],
    ["not an object: a string", `"k"`, "invalid_argument", "a string"],
    ["not an object: null", "null", "invalid_argument", "null"],
    ["malformed JSON", `{"key":`, "invalid_json", "not JSON"],
    ["form data", "key=k&text=t", "invalid_json", "not JSON"],
  ])("%s", async (_name, body, code, mentions) => {
    const error = await errorOf(await post(body));
    expect(error).toMatchObject({ status: 400, code });
    expect(error.message).toContain(mentions);
    expect(asks()).toEqual([]);
  });

  test.each([
    ["above", 2_147_483_648],
    ["below", -2_147_483_649],
  ])("an i32 %s its range", async (_name, count) => {
    const error = await errorOf(await location.call("typed", { count }));
    expect(error).toMatchObject({ status: 400, code: "argument_out_of_range" });
    expect(error.message).toContain(`"count"`);
  });

  test.each([
    ["a fraction", 1.5],
    ["a string", "1"],
    ["a boolean", true],
  ])("%s for an i32", async (_name, count) => {
    expect(await errorOf(await location.call("typed", { count }))).toMatchObject({
      status: 400,
      code: "invalid_argument",
    });
  });

  test("text that is not UTF-8", async () => {
    const error = await errorOf(await post(Uint8Array.of(0x7b, 0xff, 0x7d)));
    expect(error).toMatchObject({ status: 400, code: "invalid_json" });
  });

  test("the hint names a content type that can't be right", async () => {
    const error = await errorOf(await post("key=k", { "content-type": "application/x-www-form-urlencoded" }));
    expect(error.hint).toContain("application/x-www-form-urlencoded");
  });

  test("too large, announced", async () => {
    const error = await errorOf(await location.call("append", { key: "k", text: "x".repeat(1024 * 1024) }));
    expect(error).toMatchObject({ status: 400, code: "request_too_large" });
  });

  test("too large, in chunks without a length", async () => {
    const chunks = new ReadableStream({
      start(controller) {
        for (let index = 0; index < 20; index++) controller.enqueue(new TextEncoder().encode(" ".repeat(100_000)));
        controller.close();
      },
    });
    const response = await location.request("/api/append", {
      method: "POST",
      body: chunks,
      duplex: "half",
    } as RequestInit);
    expect(await errorOf(response)).toMatchObject({ status: 400, code: "request_too_large" });
  });

  test("far too large: refused before it is read", async () => {
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { "content-length": String(1024 * 1024 * 1024) };
      const request = httpRequest(new URL("/api/append", location.url), { method: "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
        request.destroy();
      });
      request.on("error", reject);
      request.flushHeaders();
    });
    expect(answer).toBe(400);
  });

  test("just small enough is taken", async () => {
    const body = JSON.stringify({ key: "large", text: "t" });
    expect((await post(body.padEnd(1024 * 1024))).status).toBe(200);
  });

  test("deep nesting", async () => {
    const error = await errorOf(await post("[".repeat(100_000)));
    expect(error).toMatchObject({ status: 400 });
  });
});

describe("routing", () => {
  test("an unknown handler is 404, and the hint lists the known ones", async () => {
    const error = await errorOf(await location.call("nothing", {}));
    expect(error).toMatchObject({ status: 404, code: "unknown_handler" });
    expect(error.hint).toContain("append, fail, follow");
  });

  test.each(["constructor", "__proto__", "toString", "", "read/", "read/x", "%E0%A4%A"])(
    "no handler: /api/%s",
    async (name) => {
      expect(await errorOf(await location.call(name, {}))).toMatchObject({ status: 404 });
    },
  );

  test.each(["/", "/api", "/favicon.ico"])("nothing at %s", async (target) => {
    expect(await errorOf(await location.request(target))).toMatchObject({ status: 404, code: "not_found" });
  });

  test.each([
    ["GET", "append", "POST"],
    ["PUT", "append", "POST"],
    ["OPTIONS", "append", "POST"],
    ["DELETE", "read", "GET, POST"],
    ["PATCH", "read", "GET, POST"],
  ])("%s of %s is 405 with Allow", async (method, handler, allow) => {
    const response = await location.request(`/api/${handler}`, { method });
    expect(response.headers.get("allow")).toBe(allow);
    expect(await errorOf(response)).toMatchObject({ status: 405, code: "method_not_allowed" });
  });

  test("what only reads is called with GET, its arguments in the query", async () => {
    await location.call("write", { key: "got", text: "by GET" });
    const response = await location.request("/api/read?key=got");
    expect(await response.json()).toEqual({ result: "by GET" });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await (await location.request("/api/typed?count=-7")).json()).toEqual({ result: -7 });
    expect(await errorOf(await location.request("/api/typed?count=seven"))).toMatchObject({
      status: 400,
      code: "invalid_argument",
      message: '"count" must be of type i32, not "seven".',
    });
    expect(await errorOf(await location.request("/api/typed"))).toMatchObject({ code: "missing_argument" });
    expect(await errorOf(await location.request("/api/typed?count=1&sum=2"))).toMatchObject({
      code: "unknown_argument",
    });
  });

  test("a page of another site gets nothing, and no form of any", async () => {
    const send = (headers: Record<string, string>, method = "POST"): Promise<Response> =>
      location.request("/api/typed?count=1", {
        method,
        headers,
        ...(method === "POST" ? { body: '{"count":1}' } : {}),
      });
    const json = { "content-type": "application/json" };
    const own = { origin: location.url.origin };
    expect((await send({ ...own, ...json })).status).toBe(200);
    expect((await send({ origin: `https://${location.url.host}`, ...json })).status).toBe(200);
    for (const origin of ["https://evil.example", "null", `${location.url.origin}.evil.example`]) {
      for (const method of ["POST", "GET"])
        expect(await errorOf(await send({ origin, ...json }, method))).toMatchObject({
          status: 403,
          code: "origin_not_allowed",
        });
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
      expect(await errorOf(await send({ ...own, "content-type": type }))).toMatchObject({
        status: 415,
        code: "unsupported_media_type",
      });
    const asked = await location.request("/api/typed", {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    expect(await errorOf(asked)).toMatchObject({ status: 403 });
  });

  test("a trace goes on to the primary and into the log; what is no trace does not", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
    await location.call("write", { key: "traced", text: "x" }, { headers: { traceparent, tracestate: "vendor=1" } });
    expect(await location.logged("request", (line) => line.trace === trace)).toMatchObject({ handler: "write" });
    const { headers } = await primary.happened("followup", (event) => event.headers["traceparent"] !== undefined);
    expect([headers["traceparent"], headers["tracestate"]]).toEqual([traceparent, "vendor=1"]);
    expect((await primary.happened("lvi")).headers["traceparent"]).toBe(traceparent);
    primary.reset();
    await location.call("typed", { count: 1 }, { headers: { traceparent: "garbage", tracestate: "vendor=1" } });
    const plain = await primary.happened("lvi");
    expect([plain.headers["traceparent"], plain.headers["tracestate"]]).toEqual([undefined, undefined]);
  });

  test("HEAD of a handler is 405", async () => {
    expect((await location.request("/api/read", { method: "HEAD" })).status).toBe(405);
  });

  test("a query is no part of the handler's name", async () => {
    expect((await location.request("/api/typed?x=1", { method: "POST", body: `{"count":1}` })).status).toBe(200);
  });
});

describe("Idempotency-Key", () => {
  const withKey = (key: string): Promise<Response> =>
    location.call("typed", { count: 1 }, { headers: { "idempotency-key": key } });

  test.each([
    ["a UUID", "5B0C1F0E-8a49-4c0e-9d7d-0d8f8d2b7a11"],
    ["32 hex characters", "0123456789abcdef0123456789abcdef"],
    ["any visible characters", "order-1-of-the-16th"],
  ])("%s: hashed with application, caller and handler", async (_name, key) => {
    const response = await withKey(key);
    expect(response.status).toBe(200);
    const scoped = JSON.stringify(["radical idempotency key", "fixture", null, "typed", key]);
    const digest = createHash("sha256").update(scoped).digest();
    digest[0]! |= 0x80;
    const executionId = digest.toString("hex").slice(0, 32);
    expect(response.headers.get("x-radical-execution")).toBe(`execution-${executionId}`);
    expect(await primary.happened("lvi")).toMatchObject({ request: { executionId, retained: true } });
  });

  test("an id that was told: taken as it stands", async () => {
    const id = "0123456789abcdef0123456789abcdef";
    expect((await withKey(`execution-${id}`)).headers.get("x-radical-execution")).toBe(`execution-${id}`);
    expect(await primary.happened("lvi")).toMatchObject({ request: { executionId: id, retained: true } });
  });

  test("the id of an execution that has a key is not taken", async () => {
    const told = (await withKey("order-1-of-the-17th")).headers.get("x-radical-execution")!;
    expect(await errorOf(await withKey(told))).toMatchObject({ status: 400, code: "invalid_idempotency_key" });
  });

  test.each([
    ["16 characters", "x".repeat(16), 200],
    ["15 characters, and nobody is signed in", "x".repeat(15), 400],
    ["255 characters", "x".repeat(255), 200],
    ["256 characters", "x".repeat(256), 400],
    ["empty", "", 400],
    ["a space inside", "a b", 400],
    ["not ASCII", "schl\u00fcssel", 400],
  ])("%s", async (_name, key, status) => {
    const response = await withKey(key);
    expect(response.status).toBe(status);
    if (status === 400) expect(await errorOf(response)).toMatchObject({ code: "invalid_idempotency_key" });
  });

  test("two of them are refused", async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(new URL("/api/typed", location.url), { method: "POST" }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
      request.setHeader("idempotency-key", ["a", "b"]);
      request.end(`{"count":1}`);
    });
    expect(status).toBe(400);
  });

  test("a repeat gives the same answer and has no second effect", async () => {
    const headers = { "idempotency-key": "pay-42-of-somebody" };
    const first = await location.call("append", { key: "paid", text: "x" }, { headers });
    const body = await first.text();
    const second = await location.call("append", { key: "paid", text: "x" }, { headers });
    expect(await second.text()).toBe(body);
    expect(second.headers.get("x-radical-execution")).toBe(first.headers.get("x-radical-execution"));
    expect(await (await location.call("read", { key: "paid" })).json()).toEqual({ result: "x" });
  });

  test("without it every request has an id of its own, which is not retained", async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async (count) => (await location.call("typed", { count })).headers.get("x-radical-execution")),
    );
    expect(new Set(ids).size).toBe(3);
    expect(asks().map(({ retained }) => retained)).toEqual([false, false, false]);
  });
});

describe("configuration", () => {
  test("a variable that is missing or wrong is named in the log and in the answer", async () => {
    const misconfigured = await Location.start({ primaryUrl: "http://127.0.0.1:9", vars: { RADICAL_KEY: "not hex" } });
    try {
      const error = await errorOf(await misconfigured.call("typed", { count: 1 }));
      expect(error).toMatchObject({ status: 500, code: "internal_error" });
      expect(error.message).toContain("RADICAL_KEY");
      expect(await misconfigured.logged("internal_error")).toMatchObject({ level: "error", location: "unknown" });
    } finally {
      await misconfigured.stop();
    }
  });

  test("the body limit is a variable", async () => {
    const small = await Location.start({ primaryUrl: "http://127.0.0.1:9", vars: { RADICAL_MAX_BODY_BYTES: "20" } });
    try {
      expect(await errorOf(await small.call("append", { key: "k", text: "long enough" }))).toMatchObject({
        code: "request_too_large",
      });
    } finally {
      await small.stop();
    }
  });
});
