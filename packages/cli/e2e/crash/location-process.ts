/**
 * Two locations in a process of their own, so that they can be killed: workerd by miniflare. Its one argument says with
 * what, as JSON. Standard output gets `{"event":"listening","url":…}`, then what the Workers log, without the requests.
 * It ends with its standard input.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Manifest } from "@radical/protocol";
import { startEdge } from "../../src/dev/miniflare.ts";
import { type LocationProcessInput, WORKER_FILES } from "./location-input.ts";

async function serve(): Promise<void> {
  const input = JSON.parse(process.argv[2] ?? "") as LocationProcessInput;
  const path = (name: string): string => join(input.buildFolder, name);
  const manifest = JSON.parse(await readFile(path(WORKER_FILES.manifest), "utf8")) as Manifest;
  const edge = await startEdge(
    {
      locations: input.locations.map((name) => ({ name, primaries: input.primaries, nearStorageOnly: false })),
      vars: {},
      key: input.key,
      routerWorker: await readFile(path(WORKER_FILES.router), "utf8"),
      cacheFolder: input.cacheFolder,
      onLog: (_level, message) => {
        if (!message.includes('"event":"request"')) process.stdout.write(`${message}\n`);
      },
    },
    {
      worker: await readFile(path(WORKER_FILES.worker), "utf8"),
      wasm: await readFile(path(WORKER_FILES.wasm)),
      rwWasm: await readFile(path(WORKER_FILES.rwWasm)),
      assets: null,
      manifest: JSON.stringify(
        input.failpoint === null ? manifest : { ...manifest, testHooks: { failpoint: input.failpoint } },
      ),
      cache: manifest.cache.kind,
    },
  );
  process.stdout.write(`${JSON.stringify({ event: "listening", url: edge.url })}\n`);
  process.stdin
    .resume()
    .on("end", () => process.exit())
    .on("error", () => process.exit());
}

if (process.argv[2] === "--help") process.stdout.write("the input of a location process, as JSON\n");
else await serve();
