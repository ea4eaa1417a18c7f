/**
 * An application with a Worker of its own, whose code docs/worker.md shows: tokens and session cookies, routes that call
 * handlers in process, static files, pages of other origins, and the client and the OpenAPI document made for it.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type CryptoKey, SignJWT, exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateClient, generateOpenApi } from "@radical/app";
import { type TestApp, startTestApp } from "../src/testing.ts";

const PROJECT = fileURLToPath(new URL("fixtures/own-worker", import.meta.url));
const SESSION_SECRET = "a secret that only the test knows";
const ORIGIN = "https://app.example.com";

/** Of the identity provider, by their ids; those that it has published are at its address. */
const keys = new Map<string, CryptoKey>();
const published: object[] = [];
const provider = createServer((request, response) => {
  keysAsked.push(request.url ?? "");
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: published }));
});
const keysAsked: string[] = [];
let issuer: string;

let app: TestApp;

async function publishKey(kid: string): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  keys.set(kid, privateKey);
  published.push({ ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" });
}

beforeAll(async () => {
  await publishKey("first");
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  app = await startTestApp({ project: PROJECT, vars: { SESSION_SECRET, IDENTITY_ISSUER: issuer } });
});
afterAll(async () => {
  await app?.stop();
  provider.close().closeAllConnections();
  await rm(join(PROJECT, ".radical"), { recursive: true, force: true });
});

const send = (path: string, init: RequestInit = {}): Promise<Response> => fetch(new URL(path, app.url), init);

interface Claims {
  readonly key?: CryptoKey;
  readonly kid?: string;
  readonly expires?: string;
  readonly audience?: string;
  readonly from?: string;
}

function token(name: string, claims: Claims = {}): Promise<string> {
  const { kid = "first", key = keys.get(kid)!, expires = "1h", audience = "guestbook", from = issuer } = claims;
  return new SignJWT()
    .setProtectedHeader({ alg: "ES256", kid })
    .setSubject(name)
    .setIssuer(from)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(key);
}

async function call(handler: string, args: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const all = { "content-type": "application/json", ...headers };
  return send(`/api/${handler}`, { method: "POST", body: JSON.stringify(args), headers: all });
}

const as = async (name: string): Promise<Record<string, string>> => ({ authorization: `Bearer ${await token(name)}` });

async function errorOf(response: Response): Promise<unknown> {
  const { error } = (await response.json()) as { readonly error: { readonly code: string } };
  return [response.status, error.code];
}

describe("the caller", () => {
  test("is whom the token names, at every location; without one nobody", async () => {
    expect(await (await call("whoami", {})).json()).toEqual({ result: null });
    for (const location of ["near", "far"]) {
      const response = await call("whoami", {}, { ...(await as("jürgen")), "x-radical-location": location });
      expect(await response.json()).toEqual({ result: "jürgen" });
    }
  });

  test("is never what a client says of itself", async () => {
    const claims = { caller: "ann", "x-radical-caller": "ann", "x-caller": "ann" };
    expect(await (await call("whoami", {}, claims)).json()).toEqual({ result: null });
    expect(await errorOf(await call("whoami", { caller: "ann" }))).toEqual([400, "unknown_argument"]);
  });

  test("that is not proven is refused, before the handler", async () => {
    const wrong = async (options: Claims): Promise<Record<string, string>> => ({
      authorization: `Bearer ${await token("ann", options)}`,
    });
    const { privateKey: key } = await generateKeyPair("ES256");
    for (const claims of [{ key }, { audience: "another" }, { from: "https://evil.example" }])
      expect(await errorOf(await call("whoami", {}, await wrong(claims)))).toEqual([401, "invalid_token"]);
    expect(await errorOf(await call("whoami", {}, await wrong({ expires: "-1m" })))).toEqual([401, "session_expired"]);
    expect(await errorOf(await call("whoami", {}, { authorization: "Bearer nonsense" }))).toEqual([
      401,
      "invalid_token",
    ]);
    expect(await errorOf(await call("whoami", {}, await as("x".repeat(600))))).toEqual([500, "internal_error"]);
  });

  test("is proven by keys that are fetched once and kept", async () => {
    await call("whoami", {}, await as("ann"));
    const before = keysAsked.length;
    for (const name of ["ann", "bob"])
      expect(await (await call("whoami", {}, await as(name))).json()).toEqual({ result: name });
    expect(keysAsked.length).toBe(before);
    expect(keysAsked[0]).toBe("/.well-known/jwks.json");
  });

  test("comes from a session cookie too", async () => {
    const login = (password: string): Promise<Response> =>
      send("/login", { method: "POST", body: JSON.stringify({ name: "cleo", password }) });
    expect(await errorOf(await login("guess"))).toEqual([403, "wrong_password"]);
    const [cookie = ""] = (await login("open sesame")).headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; Secure; SameSite=Lax/);
    const session = { cookie: `theme=dark; ${cookie.split(";")[0]}` };
    expect(await (await call("whoami", {}, session)).json()).toEqual({ result: "cleo" });
  });

  test("is a key of what the handler touches, also of what it is known to touch before it runs", async () => {
    const ann = await as("ann");
    expect(await (await call("sign", { page: "home", text: "Hello" }, ann)).json()).toEqual({ result: 1 });
    expect(await errorOf(await call("sign", { page: "home", text: "Again" }, ann))).toEqual([409, "signed_before"]);
    expect(await errorOf(await call("sign", { page: "home", text: "?" }))).toEqual([401, "unauthenticated"]);
    await call("mine", { page: "home" }, ann);
    const mine = await call("mine", { page: "home" }, ann);
    // By a read lease, if it has come by now.
    expect(["speculative", "leased"]).toContain(mine.headers.get("x-radical-path"));
    expect(await mine.json()).toMatchObject({ result: { author: "ann", text: "Hello" } });
    expect(await (await call("mine", { page: "home" }, await as("bob"))).json()).toEqual({ result: null });
  });

  test("is the same when the primary runs the handler in place of a followup", async () => {
    await app.control.change({ dropFollowups: true });
    try {
      const signed = await call("sign", { page: "lost", text: "not lost" }, await as("gus"));
      expect([signed.headers.get("x-radical-path"), await signed.json()]).toEqual(["speculative", { result: 1 }]);
      const found = await call("entry", { page: "lost", author: "gus" }, { "x-radical-location": "far" });
      expect(await found.json()).toMatchObject({ result: { author: "gus", text: "not lost" } });
    } finally {
      await app.control.change({ dropFollowups: false });
    }
  });

  test("gets no answer that was another's", async () => {
    const key = { "idempotency-key": "e".repeat(32) };
    const args = { page: "keyed", text: "mine" };
    expect(await (await call("sign", args, { ...key, ...(await as("ann")) })).json()).toEqual({ result: 1 });
    expect(await (await call("sign", args, { ...key, ...(await as("bob")) })).json()).toEqual({ result: 2 });
    expect(await (await call("sign", args, { ...key, ...(await as("ann")) })).json()).toEqual({ result: 1 });
  });

  test("can't repeat another's execution by the id that was told", async () => {
    const args = { page: "told", text: "mine" };
    const signed = await call("sign", args, await as("ann"));
    const key = { "idempotency-key": signed.headers.get("x-radical-execution")! };
    // A read elsewhere waits until it is applied.
    await call("entry", { page: "told", author: "ann" }, { "x-radical-location": "far" });
    // Its location has told the answer, so nobody keeps it.
    expect(await errorOf(await call("sign", args, { ...key, ...(await as("ann")) }))).toEqual([410, "answer_not_kept"]);
    const reused = [422, "idempotency_key_reused"];
    expect(await errorOf(await call("sign", args, { ...key, ...(await as("bob")) }))).toEqual(reused);
    expect(await errorOf(await call("sign", { ...args, text: "other" }, { ...key, ...(await as("ann")) }))).toEqual(
      reused,
    );
  });

  test("may have a short key of its own, and nobody who is not known may", async () => {
    const key = { "idempotency-key": "1" };
    const args = { page: "short", text: "mine" };
    expect((await call("sign", args, { ...key, ...(await as("ann")) })).status).toBe(200);
    expect(await errorOf(await call("sign", args, key))).toEqual([400, "invalid_idempotency_key"]);
  });
});

describe("a route of the application's own", () => {
  test("calls handlers in process on behalf of its request, and chooses its answer", async () => {
    const sign = async (headers: Record<string, string>): Promise<Response> =>
      send("/pages/guests/signature", { method: "POST", body: "I was here", headers });
    const signed = await sign(await as("dora"));
    expect([signed.status, await signed.json()]).toEqual([201, { number: 1, text: "I was here" }]);
    expect(await errorOf(await sign(await as("dora")))).toEqual([409, "signed_before"]);
    expect(await errorOf(await sign({}))).toEqual([401, "unauthenticated"]);
    expect(await errorOf(await sign({ authorization: "Bearer nonsense" }))).toEqual([401, "invalid_token"]);
    expect(await (await send("/greeting/eve")).text()).toBe("Hello eve");
  });
});

describe("static files", () => {
  test("are served at every location; the handlers' paths are never files, and what is nowhere is the 404 page", async () => {
    for (const location of ["near", "far"]) {
      const index = await send("/", { headers: { "x-radical-location": location } });
      expect([index.status, await index.text()]).toEqual([200, expect.stringContaining("<title>Guestbook</title>")]);
    }
    expect(await (await send("/api/whoami")).json()).toEqual({ result: null });
    const missing = await send("/nowhere/at-all", { headers: { "sec-fetch-mode": "navigate" } });
    expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining("Nothing here")]);
  });
});

test("a 64-bit integer of a test is a bigint or a number", async () => {
  const others = { text: "a", flag: true, ratio: 1, tags: [], wish: null };
  expect(await app.result("echo", { ...others, big: 2n ** 62n })).toBe("a true 4611686018427387904 1  null 3");
  expect(await app.result("echo", { ...others, big: -5 })).toBe("a true -5 1  null 3");
});

describe("GET", () => {
  test("takes arguments of every kind from the query", async () => {
    const query = "text=a%20b&flag=true&big=9007199254740993&ratio=-1.5e3&tags=x&tags=%5By%5D";
    expect(await (await send(`/api/echo?${query}`)).json()).toEqual({
      result: "a b true 9007199254740993 -1500 x+[y] null 3",
    });
    const json = `text=&flag=false&big=-1&ratio=2&tags=${encodeURIComponent('["[z"]')}&wish=null&size=255`;
    expect(await (await send(`/api/echo?${json}`)).json()).toEqual({ result: " false -1 2 [z null 255" });
  });

  test.each([
    ["flag=yes", 'must be of type bool, not "yes"'],
    ["flag=true&flag=true", "is given 2 times"],
    ["ratio=Infinity", 'must be of type f64, not "Infinity"'],
    ["big=1.5", 'must be of type i64, not "1.5"'],
    ["size=256", "out of range for u8"],
    ["tags=[1", 'must be of type string[], not "[1"'],
    ["tags=[1]", '"tags[0]" must be of type string'],
  ])("%s is refused", async (part, message) => {
    const wrong = new URLSearchParams(part);
    const query = new URLSearchParams("text=a&flag=true&big=1&ratio=2&tags=x");
    for (const name of new Set(wrong.keys())) query.delete(name);
    const response = await send(`/api/echo?${query}&${wrong}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(JSON.stringify(message).slice(1, -1));
  });

  test("is for what certainly never writes, whatever a given set says", async () => {
    expect(await (await send("/api/far?page=home")).json()).toEqual({ result: 1 });
    expect((await send("/api/sign?page=home&text=x")).status).toBe(405);
    expect(app.manifest().handlers["sly"]).toMatchObject({ plan: "given", readOnly: false });
    expect((await send("/api/sly?page=home")).status).toBe(405);
  });
});

describe("pages of other origins", () => {
  const preflight = (origin: string): Promise<Response> =>
    send("/api/sign", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
    });

  test("that are named may call, with cookies, and read the headers", async () => {
    const asked = await preflight(ORIGIN);
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": expect.stringContaining("idempotency-key") as unknown,
      vary: "origin",
    });
    const response = await call("whoami", {}, { origin: ORIGIN });
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(response.headers.get("access-control-expose-headers")).toContain("x-radical-execution");
    const refused = await call("sign", { page: "p", text: "t" }, { origin: ORIGIN });
    expect(refused.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  });

  test("others may not", async () => {
    const asked = await preflight("https://evil.example");
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    const response = await call("whoami", {}, { origin: "https://evil.example" });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(await errorOf(response)).toEqual([403, "origin_not_allowed"]);
  });
});

describe("what is made for others", () => {
  test("the types of the Worker let through what is right, and nothing else", async () => {
    const root = join(PROJECT, "../../../../..");
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(root, "node_modules/typescript/bin/tsc"),
      "-p",
      PROJECT,
    ]).catch((error: unknown) => error as { readonly stdout: string });
    expect(stdout).toBe("");
  });

  test("the client calls the application, with typed errors", async () => {
    const file = join(app.stateFolder, "client.ts");
    await writeFile(file, generateClient(app.manifest()));
    const { createClient } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
      readonly createClient: (options: object) => Readonly<Record<string, (args?: unknown) => Promise<unknown>>>;
    };
    const client = createClient({ baseUrl: app.url, headers: await as("finn") });
    expect(await client["sign"]!({ page: "client", text: "typed", tags: ["a"] })).toBe(1);
    expect(await client["mine"]!({ page: "client" })).toMatchObject({ author: "finn", tags: ["a"] });
    await expect(client["sign"]!({ page: "client", text: "again" })).rejects.toMatchObject({
      name: "RadicalClientError",
      status: 409,
      code: "signed_before",
    });
  });

  test("the OpenAPI document is served, is valid, and names every handler, with GET for what only reads", async () => {
    const served = await send("/openapi.json");
    expect([served.status, served.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    const text = await served.text();
    expect(text).toBe(generateOpenApi(app.manifest()));
    const document = JSON.parse(text) as { readonly paths: Record<string, object> };
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    expect(
      Object.entries(document.paths).map(([path, methods]) => `${path} ${Object.keys(methods).join(" ")}`),
    ).toEqual([
      "/api/echo get post",
      "/api/entry get post",
      "/api/far get post",
      "/api/mine get post",
      "/api/sign post",
      "/api/sly post",
      "/api/whoami get post",
    ]);
    expect(await new Validator().validate({ ...document, paths: { "no slash": {} } })).toMatchObject({ valid: false });
  });
});
