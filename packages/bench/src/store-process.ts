/**
 * The primary storages of the systems that Radical is compared with, behind HTTP: a process of its own, as a database is. Its
 * one argument says which, as JSON. It ends with its standard input.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { buffer } from "node:stream/consumers";
import type { StorageAddress } from "@radical/lvi-server";
import type { UnitId } from "@radical/protocol";
import { Store } from "./store.ts";
import { decodeAccess, encodeAccessed } from "./store-messages.ts";

export interface StoreProcessInput {
  /** By name: the first part of the path. */
  readonly storages: Readonly<Record<string, StorageAddress>>;
  /** That is in all of them at the beginning: values in base 64. */
  readonly itemsFile: string;
}

async function serve({ storages, itemsFile }: StoreProcessInput): Promise<void> {
  const { readFile } = await import("node:fs/promises");
  const items = new Map(
    (JSON.parse(await readFile(itemsFile, "utf8")) as readonly (readonly [UnitId, string])[]).map(([unit, value]) => [
      unit,
      new Uint8Array(Buffer.from(value, "base64")),
    ]),
  );
  const stores = new Map<string, Store>();
  for (const [name, address] of Object.entries(storages)) {
    const store = await Store.open(address);
    await store.begin(items);
    stores.set(`/${name}`, store);
  }
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    const store = stores.get(request.url ?? "");
    if (store === undefined) return void response.writeHead(404).end();
    buffer(request)
      .then((bytes) => store.access(decodeAccess(bytes)))
      .then(
        (accessed) => response.writeHead(200).end(encodeAccessed(accessed)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${JSON.stringify({ event: "listening", port: (server.address() as AddressInfo).port })}\n`);
  });
  process.stdin
    .resume()
    .on("end", () => process.exit())
    .on("error", () => process.exit());
}

await serve(JSON.parse(process.argv[2] ?? "") as StoreProcessInput);
