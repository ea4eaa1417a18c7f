/** Orders about caches over real HTTP: what the Worker is sent, and which answers count. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type CacheAnswer,
  type CacheOrder,
  KEY_HEADER,
  SIGNATURE_HEADER,
  signedHead,
  TIME_HEADER,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { HmacKey } from "./http/hmac.ts";
import { KeyRing } from "./http/keys.ts";
import { orderCaches } from "./worker-caches.ts";

const SECRET = new Uint8Array(32).fill(7);
const OTHER = new Uint8Array(32).fill(8);
const NOW_MS = 1_700_000_000_000;
const ORDER: CacheOrder = { kind: "purge", location: "FRA", table: "users", key: "ann", after: null };
const PURGED: CacheAnswer = { kind: "purged", entries: 3, next: null };

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

async function worker(answer: (request: IncomingMessage, body: string) => readonly [number, unknown]): Promise<string> {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const [status, json] = answer(request, body);
      response.writeHead(status).end(typeof json === "string" ? json : JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ordered = (origin: string | null, keys: ReadonlyMap<string, Uint8Array> = new Map([["main", SECRET]])) =>
  orderCaches(origin, ORDER, new KeyRing({ locations: keys, administration: new Map() }), () => NOW_MS);

test("the Worker is sent the order, signed for its path and time", async () => {
  const sent: (readonly [request: IncomingMessage, body: string])[] = [];
  const origin = await worker((request, body) => {
    sent.push([request, body]);
    return [200, PURGED];
  });
  expect(await ordered(origin)).toEqual(PURGED);
  expect(sent).toHaveLength(1);
  const [{ method, url, headers }, body] = sent[0]!;
  expect([method, url, JSON.parse(body)]).toEqual(["POST", WORKER_CACHES_PATH, ORDER]);
  const head = signedHead("POST", WORKER_CACHES_PATH, NOW_MS);
  expect(headers).toMatchObject({
    [KEY_HEADER]: "main",
    [TIME_HEADER]: String(NOW_MS),
    [SIGNATURE_HEADER]: new HmacKey(SECRET).sign(head, Buffer.from(body)),
  });
});

test("while keys are rotated the Worker has one of them", async () => {
  const origin = await worker(({ headers }) => (headers[KEY_HEADER] === "new" ? [200, PURGED] : [401, {}]));
  const keys = new Map([
    ["old", OTHER],
    ["new", SECRET],
  ]);
  expect(await ordered(origin, keys)).toEqual(PURGED);
});

const ERROR = { error: { code: "unauthorized", message: "not the key", hint: "" } };

test.each<[string, readonly [number, unknown], RegExp]>([
  ["no key of the server", [401, ERROR], /empties no caches: 401 not the key/],
  ["no such path", [404, "nothing here"], /empties no caches: it answers 404 nothing here/],
  ["another answer", [200, { kind: "purged" }], /empties no caches: it answers 200/],
  ["a redirect", [302, ""], /empties no caches: it answers 302/],
])("a Worker with %s is told of", async (_name, answer, words) => {
  const origin = await worker(() => answer);
  await expect(ordered(origin)).rejects.toMatchObject({
    code: "worker_unreachable",
    message: expect.stringMatching(words) as unknown,
  });
});

test("an answer that never ends is not read to its end", async () => {
  const piece = Buffer.alloc(65_536, "x");
  server = createServer((_, response) => {
    const more = (): void => void response.write(piece);
    response.writeHead(200).on("drain", more);
    more();
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(ordered(origin)).rejects.toMatchObject({
    code: "worker_unreachable",
    message: expect.stringContaining("the answer has more than 1048576 bytes") as unknown,
    hint: expect.stringContaining("must hand /api/-/caches to radical.fetch") as unknown,
  });
});

test("a Worker that is not there, or not known", async () => {
  const origin = await worker(() => [200, PURGED]);
  await new Promise((resolve) => server!.close(resolve));
  await expect(ordered(origin)).rejects.toMatchObject({
    code: "worker_unreachable",
    hint: "See that it is deployed there.",
  });
  await expect(ordered(null)).rejects.toMatchObject({ hint: expect.stringContaining("--url") as unknown });
});
