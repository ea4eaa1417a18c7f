/** Bad input of every kind: refused with a code, the parameter's name and what to send, before anything is executed. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ project: fileURLToPath(new URL("../../../templates/minimal", import.meta.url)) });
});
afterAll(() => app?.stop());

interface ErrorAnswer {
  readonly status: number;
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
  readonly headers: Headers;
}

async function send(path: string, init: RequestInit): Promise<ErrorAnswer> {
  const response = await fetch(app.url + path, { method: "POST", ...init });
  const { error } = (await response.json()) as Pick<ErrorAnswer, "error">;
  return { status: response.status, error, headers: response.headers };
}

test.each([
  ["missing", "addNote", "{}", "missing_argument", "text"],
  ["unknown", "addNote", '{"text": "x", "title": "y"}', "unknown_argument", "title"],
  ["of another type", "addNote", '{"text": 3}', "invalid_argument", "text"],
  ["null", "addNote", '{"text": null}', "invalid_argument", "text"],
  ["no well-formed text", "addNote", '{"text": "\\ud800"}', "invalid_argument", "text"],
  ["a fraction for an i32", "increment", '{"by": 1.5}', "invalid_argument", "by"],
  ["too large for an i32", "increment", '{"by": 2147483648}', "argument_out_of_range", "by"],
  ["too small for an i32", "increment", '{"by": -2147483649}', "argument_out_of_range", "by"],
])("a parameter that is %s: %s %s → 400 %s, naming %s", async (_what, handler, body, code, parameter) => {
  const { status, error } = await send(`/api/${handler}`, { body });
  expect(status).toBe(400);
  expect(error.code).toBe(code);
  expect(error.message).toContain(`"${parameter}"`);
  expect(error.hint).not.toBe("");
});

test("the bounds of an i32 themselves are let through", async () => {
  expect(await app.result("increment", { by: 2_147_483_647 })).toBe(2_147_483_647);
  expect(await app.result("increment", { by: -2_147_483_647 })).toBe(0);
});

test.each([
  ["malformed JSON", "{", "invalid_json"],
  ["not there", "", "missing_argument"],
  ["an array", "[]", "invalid_argument"],
])("a body that is %s → 400 %s", async (_what, body, code) => {
  const { status, error } = await send("/api/addNote", { body });
  expect(status).toBe(400);
  expect(error.code).toBe(code);
});

test("a body over 1 MiB → 400 request_too_large", async () => {
  const { status, error } = await send("/api/addNote", { body: JSON.stringify({ text: "x".repeat(1024 * 1024) }) });
  expect(status).toBe(400);
  expect(error.code).toBe("request_too_large");
});

test("an unknown handler → 404, with those that there are; another path → 404; another method → 405", async () => {
  const unknown = await send("/api/addNotes", { body: "{}" });
  expect(unknown).toMatchObject({ status: 404, error: { code: "unknown_handler" } });
  expect(unknown.error.hint).toContain("addNote");
  expect(await send("/notes", { body: "{}" })).toMatchObject({ status: 404, error: { code: "not_found" } });
  const got = await send("/api/addNote", { method: "GET" });
  expect(got).toMatchObject({ status: 405, error: { code: "method_not_allowed" } });
  expect(got.headers.get("allow")).toBe("POST");
});

test("an unknown location → 400, with those that there are", async () => {
  const { status, error } = await send("/api/count", { body: "{}", headers: { "x-radical-location": "XX" } });
  expect(status).toBe(400);
  expect(error.code).toBe("unknown_location");
  expect(error.hint).toContain("near, far");
});

test("an Idempotency-Key that is none → 400", async () => {
  const { status, error } = await send("/api/count", { body: "{}", headers: { "idempotency-key": "x".repeat(300) } });
  expect(status).toBe(400);
  expect(error.code).toBe("invalid_idempotency_key");
});

test("the handler's own abort has its status and code, and writes nothing", async () => {
  const { status, error } = await send("/api/addNote", { body: '{"text": ""}' });
  expect(status).toBe(400);
  expect(error).toMatchObject({ code: "bad_text", message: "A note has 1 to 1000 characters." });
  expect(await app.result("listNotes")).toEqual([]);
});

test("every answer says where and how it was made", async () => {
  const { headers, path, execution } = await app.call("count", {}, { location: "far" });
  expect(headers.get("x-radical-location")).toBe("far");
  expect(path).toMatch(/^(speculative|near-storage)$/);
  expect(execution).toMatch(/^execution-[0-9a-f]{32}$/);
});
