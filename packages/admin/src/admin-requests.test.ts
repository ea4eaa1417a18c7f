/** Administrative requests to several servers of one storage, of which one leads. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ABI_VERSION, type ModuleContent, type ModuleHash } from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { newAdministrationKey } from "./administration-key.ts";
import { hasModule, pendingIntents, registerModule } from "./admin-requests.ts";

const KEY = newAdministrationKey("main");
const MODULE = "1".repeat(64) as ModuleHash;
const CONTENT: ModuleContent = {
  abi: ABI_VERSION,
  limits: { memoryPages: 1, accesses: 1, fuel: 1, stackBytes: 1, speculationFuel: 1 },
  wasm: new Uint8Array([1]),
  rwWasm: new Uint8Array([2]),
  handlers: {},
};
const STANDBY = { status: 503, body: { error: { code: "not_leading", message: "waits for the leadership" } } };
const NOT_FOUND = { status: 404, body: { error: { code: "not_found", message: "no such module" } } };
const REFUSES = { status: 401, body: { error: { code: "unauthorized", message: "no such key" } } };
/** The answer of a gateway in front of a server that is away. */
const GATEWAY = { status: 502, body: {} };
const LISTS = { status: 200, body: { modules: [{ pending: 2 }, { pending: 3 }] } };
/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:1";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** One that answers everything like this, and what it was asked. */
async function server({ status, body }: { readonly status: number; readonly body: object }) {
  const asked: string[] = [];
  const listening = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on("end", () => response.writeHead(status).end(status === 204 ? "" : JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => {
    listening.listen(0, "127.0.0.1", resolve);
  });
  closing.push(() => listening.close());
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, asked };
}

test("of several servers the one that leads answers, wherever it stands in the list", async () => {
  const [standby, leader] = [await server(STANDBY), await server(LISTS)];
  const gateway = await server(GATEWAY);
  for (const urls of [
    [standby.url, leader.url],
    [leader.url, standby.url],
    [NOWHERE, leader.url],
    [gateway.url, leader.url],
  ])
    expect(await pendingIntents({ urls, key: KEY })).toBe(5);
  await registerModule({ urls: [standby.url, leader.url], key: KEY }, MODULE, CONTENT, null);
  expect(leader.asked.at(-1)).toBe(`PUT /v1/modules/${MODULE}`);
  await registerModule({ urls: [leader.url], key: KEY }, MODULE, CONTENT, "https://shop.example");
  expect(leader.asked.at(-1)).toBe(`PUT /v1/modules/${MODULE}?worker=https%3A%2F%2Fshop.example`);
  expect(await hasModule({ urls: [standby.url, leader.url], key: KEY }, MODULE)).toBe(true);
});

test("a module that the leader does not have is no failure", async () => {
  const [standby, leader] = [await server(STANDBY), await server(NOT_FOUND)];
  expect(await hasModule({ urls: [standby.url, leader.url], key: KEY }, MODULE)).toBe(false);
});

test("a refused key is told at once", async () => {
  const [refusing, leader] = [await server(REFUSES), await server(LISTS)];
  const asking = pendingIntents({ urls: [refusing.url, leader.url], key: KEY });
  await expect(asking).rejects.toMatchObject({ code: "primary_refused_key" });
  expect(leader.asked).toEqual([]);
});

test("none leads: told is what one that answers says", async () => {
  const standby = await server(STANDBY);
  for (const urls of [
    [NOWHERE, standby.url],
    [standby.url, NOWHERE],
  ])
    await expect(pendingIntents({ urls, key: KEY })).rejects.toMatchObject({ code: "primary_not_serving" });
  await expect(pendingIntents({ urls: [NOWHERE], key: KEY })).rejects.toMatchObject({ code: "primary_not_reached" });
});

test("the remedy that the server names is told", async () => {
  const error = { code: "primary_busy", message: "There are 1000 keys.", hint: "Wait until one is destroyed" };
  const [busy, silent] = [await server({ status: 503, body: { error } }), await server({ status: 503, body: {} })];
  const asking = (url: string): Promise<number> => pendingIntents({ urls: [url], key: KEY });
  await expect(asking(busy.url)).rejects.toMatchObject({ hint: "Wait until one is destroyed." });
  await expect(asking(silent.url)).rejects.toMatchObject({ hint: "See the log of the LVI server." });
});
