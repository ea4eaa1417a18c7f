/**
 * One location of a benchmark: a workerd for each system, and nothing of any other location. Its one argument says with what, as
 * JSON. Standard output gets `{"event":"listening","urls":…}`. It ends with its standard input.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Manifest } from "@radical/protocol";
import type { Address } from "../dev/delay-proxy.ts";
import { type Primaries, startEdge } from "../dev/miniflare.ts";
import { BUILD_FILES, type LocationProcessInput } from "./location-input.ts";
import type { System } from "./result.ts";

async function serve({ location, buildFolder, cacheFolder, key, systems }: LocationProcessInput): Promise<void> {
  const read = (name: string): Promise<Buffer> => readFile(join(buildFolder, name));
  const [wasm, rwWasm] = await Promise.all([read(BUILD_FILES.wasm), read(BUILD_FILES.rwWasm)]);
  const manifest = String(await read(BUILD_FILES.manifest));
  const { cache } = JSON.parse(manifest) as Manifest;
  const routerWorker = String(await read(BUILD_FILES.router));
  const urls: Partial<Record<System, string>> = {};
  for (const { system, primary, store, reading } of systems) {
    const isRadical = system === "radical";
    const primaries: Primaries = isRadical ? [primary] : store === "" ? [] : [addressOf(store)];
    const edge = await startEdge(
      {
        locations: [{ name: location, primaries, nearStorageOnly: false }],
        vars: { BENCH_STORE: store, BENCH_READING: reading },
        key,
        routerWorker,
        cacheFolder: join(cacheFolder, system),
        onLog: (level, message) => {
          if (level === "error" || level === "warn") process.stderr.write(`${location} ${system}: ${message}\n`);
        },
      },
      {
        worker: String(await read(isRadical ? BUILD_FILES.radical : BUILD_FILES.baseline)),
        wasm,
        rwWasm,
        manifest,
        cache: isRadical ? cache.kind : "memory",
        assets: null,
      },
    );
    urls[system] = edge.url;
  }
  process.stdout.write(`${JSON.stringify({ event: "listening", urls })}\n`);
  process.stdin
    .resume()
    .on("end", () => process.exit())
    .on("error", () => process.exit());
}

function addressOf(url: string): Address {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}

await serve(JSON.parse(process.argv[2] ?? "") as LocationProcessInput);
