/** What f and f^rw take by themselves: here, on the data of the beginning, by the host that runs them everywhere. */
import { entryOf, NO_COMMIT, SEED_BYTES, type UnitId } from "@radical/protocol";
import { deriveAccessSet, type HandlerModule, recordHandler } from "@radical/wasm-host";
import type { AppBuild } from "../build/build-app.ts";
import { argumentsOf } from "./arguments.ts";
import type { Benchmark } from "./benchmark.ts";
import type { Items } from "./model.ts";
import type { Draw } from "./random.ts";

export interface RunTimes {
  readonly fMs: readonly number[];
  readonly rwMs: readonly number[];
  /** f^rw needed the value of something that it said was read. */
  readonly dependent: boolean;
}

/** The engine optimizes a function after some runs. */
const WARM_UPS = 30;
const RUNS = 60;
/** Of all runs of a handler: heavy ones get fewer. */
const BUDGET_MS = 1_500;

/** By handler. */
export function measureRuns(
  { manifest }: Pick<AppBuild, "manifest">,
  module: HandlerModule,
  { requests }: Benchmark,
  items: Items,
  draw: Draw,
): ReadonlyMap<string, RunTimes> {
  const snapshot = (unit: UnitId) => entryOf(NO_COMMIT, items.get(unit) ?? null);
  return new Map(
    requests.map(({ handler, args }) => {
      const [fMs, rwMs]: [number[], number[]] = [[], []];
      let dependent = false;
      const untilMs = performance.now() + BUDGET_MS;
      for (let run = -WARM_UPS; run < RUNS && (run < -WARM_UPS + 3 || performance.now() < untilMs); run++) {
        const encoded = argumentsOf(manifest, handler, args?.(draw) ?? {});
        const seed = Uint8Array.from({ length: SEED_BYTES }, () => draw.below(256));
        const invocation = { handler, args: encoded, environment: { timeMs: Date.now(), seed, caller: null } };
        const values = new Map<UnitId, ReturnType<typeof entryOf>>();
        const cached = (unit: UnitId) => {
          const known = values.get(unit) ?? snapshot(unit);
          values.set(unit, known);
          return known;
        };
        // Values are in memory before the time counts.
        recordHandler(module, invocation, cached, { guess: false });
        const rwBeganAtMs = performance.now();
        const derived = deriveAccessSet(module, invocation, cached);
        const fBeganAtMs = performance.now();
        recordHandler(module, invocation, cached, { guess: false });
        const endedAtMs = performance.now();
        if (derived.kind === "derived") dependent ||= derived.dependent.length > 0;
        if (run < 0 && endedAtMs < untilMs - BUDGET_MS / 2) continue;
        fMs.push(endedAtMs - fBeganAtMs);
        if (derived.kind === "derived") rwMs.push(fBeganAtMs - rwBeganAtMs);
      }
      return [handler, { fMs, rwMs, dependent }] as const;
    }),
  );
}
