import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { S3Store } from "./s3-store.ts";

const HASH = "0a".repeat(32);

/** The answer of the service to whatever comes next. */
let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  request.resume().on("end", () => answer(response));
});
let store: S3Store;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  store = new S3Store({ url: `http://127.0.0.1:${port}/bucket`, region: "auto", keyId: "id", secret: "secret" });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("a put to a bucket that is not there fails, and a read of it finds nothing", async () => {
  answer = (response) => response.writeHead(404).end("NoSuchBucket");
  await expect(store.put(HASH, Uint8Array.of(1), "image/png")).rejects.toThrow("404 NoSuchBucket");
  expect(await store.head(HASH)).toBeNull();
  expect(await store.get(HASH, null)).toBeNull();
  await store.remove([HASH]);
});

test("an answer that does not tell the size of the bytes fails", async () => {
  // Of two writes the length is not known.
  answer = (response) => {
    response.writeHead(200, { "content-type": "image/png" }).write("a");
    response.end("b");
  };
  await expect(store.get(HASH, null)).rejects.toThrow("tells no content-length");
  answer = (response) => response.writeHead(200, { "content-type": "image/png", "content-length": "2" }).end("ab");
  expect(await store.get(HASH, null)).toMatchObject({ size: 2, type: "image/png", range: null });
});
