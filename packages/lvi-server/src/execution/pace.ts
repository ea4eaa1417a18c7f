/**
 * For benchmarks: makes runs of handlers take at least so long. The environment variable RADICAL_PACE_FILE names a JSON file
 * with milliseconds by handler, which may change while the server runs; without the variable there is no pace.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { atLeast, type HandlerModule } from "@radical/wasm-host";

const file = process.env["RADICAL_PACE_FILE"];

const pace =
  file === undefined
    ? undefined
    : atLeast(
        (handler) => leastMsIn(file)[handler] ?? 0,
        () => performance.now(),
      );

export function paced(module: HandlerModule): HandlerModule {
  return pace === undefined ? module : { ...module, pace };
}

function leastMsIn(path: string): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, number>>;
}
