/**
 * Locations in a process of their own, so that they share nothing with others and can be killed: workerd by miniflare. Its one
 * argument says with what, as JSON. Standard output gets `{"event":"listening","urls":…}`, by the names of the edges. The
 * process ends with its standard input.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Manifest } from "@radical/protocol";
import { BUILD_FILES, type EdgeInput, type LocationProcessInput } from "./location-input.ts";
import { startEdge } from "./miniflare.ts";

async function serve({ buildFolder, key, edges, logs }: LocationProcessInput): Promise<void> {
  const read = (name: string): Promise<Buffer> => readFile(join(buildFolder, name));
  const [wasm, rwWasm] = await Promise.all([read(BUILD_FILES.wasm), read(BUILD_FILES.rwWasm)]);
  const manifest = JSON.parse(String(await read(BUILD_FILES.manifest))) as Manifest;
  const routerWorker = String(await read(BUILD_FILES.router));
  const start = async ({
    name,
    worker,
    locations,
    cacheFolder,
    vars,
    cache,
    testHooks,
  }: EdgeInput): Promise<string> => {
    const edge = await startEdge(
      {
        locations,
        vars,
        key,
        routerWorker,
        storageFolder: cacheFolder,
        onLog: (level, message) => {
          if (logs === "lines") {
            if (!message.includes('"event":"request"')) process.stdout.write(`${message}\n`);
          } else if (level === "error" || level === "warn") process.stderr.write(`${name}: ${message}\n`);
        },
      },
      {
        worker: String(await read(worker)),
        wasm,
        rwWasm,
        manifest: JSON.stringify(testHooks === undefined ? manifest : { ...manifest, testHooks }),
        cache: cache ?? manifest.cache.kind,
        assets: null,
      },
    );
    return edge.url;
  };
  const urls: Record<string, string> = {};
  for (const edge of edges) urls[edge.name] = await start(edge);
  process.stdout.write(`${JSON.stringify({ event: "listening", urls })}\n`);
  process.stdin
    .resume()
    .on("end", () => process.exit())
    .on("error", () => process.exit());
}

// Without an argument it has only been compiled.
if (process.argv[2] !== undefined) await serve(JSON.parse(process.argv[2]) as LocationProcessInput);
