/** What f and f^rw take by themselves: here, on the data of the beginning, by the host that runs them everywhere. */
import { type Entry, entryOf, NO_COMMIT, SEED_BYTES, type UnitId, NO_EXECUTION } from "@radical/protocol";
import {
  deriveAccessSet,
  type DerivedSet,
  type HandlerModule,
  type Invocation,
  recordHandler,
  type Snapshot,
} from "@radical/wasm-host";
import type { AppBuild, Benchmark } from "@radical/app";
import { argumentsOf } from "./arguments.ts";
import type { Items } from "./model.ts";
import { drawnCall } from "./schedule.ts";
import type { Random } from "@radical/history";

interface Case {
  readonly invocation: Invocation;
  /** Of all that it reads: in memory before the time counts. */
  readonly snapshot: Snapshot;
}

export interface RunTimes {
  readonly fMs: readonly number[];
  readonly rwMs: readonly number[];
  /** f^rw needed the value of something that it said was read. */
  readonly dependent: boolean;
}

/** Requests that are drawn of a handler, and run again and again. */
const REQUESTS = 20;
/** The engine optimizes a function after some runs. */
const WARM_UPS = 300;
const RUNS = 100;
/** Of all requests, warm-ups and runs, each: what is heavy gets fewer. */
const BUDGET_MS = 400;
const LEAST_RUNS = 5;

/** By handler. */
export function measureRuns(
  { manifest }: Pick<AppBuild, "manifest">,
  module: HandlerModule,
  { requests }: Benchmark,
  { items, timeMs }: { readonly items: Items; readonly timeMs: number },
  draw: Random,
): ReadonlyMap<string, RunTimes> {
  return new Map(
    requests.map((request) => {
      const { handler } = request;
      const drawn = (): Case => {
        const { args, caller = null } = drawnCall(request, draw);
        const encoded = argumentsOf(manifest, handler, args);
        const seed = Uint8Array.from({ length: SEED_BYTES }, () => draw.below(256));
        const invocation = { executionId: NO_EXECUTION, handler, args: encoded, environment: { timeMs, seed, caller } };
        const values = new Map<UnitId, Entry>();
        const snapshot: Snapshot = (unit) => {
          const known = values.get(unit) ?? entryOf(NO_COMMIT, items.get(unit) ?? null);
          values.set(unit, known);
          return known;
        };
        recordHandler(module, invocation, snapshot, { guess: false });
        return { invocation, snapshot };
      };
      const cases: Case[] = [];
      timesOf(REQUESTS, () => cases.push(drawn()));
      const derive = ({ invocation, snapshot }: Case): DerivedSet => deriveAccessSet(module, invocation, snapshot);
      const run = ({ invocation, snapshot }: Case): unknown =>
        recordHandler(module, invocation, snapshot, { guess: false });
      const derived = cases.map(derive);
      const hasSet = derived.every(({ kind }) => kind === "derived");
      return [
        handler,
        {
          fMs: warmTimesOf(cases, run),
          rwMs: hasSet ? warmTimesOf(cases, derive) : [],
          dependent: derived.some((set) => set.kind === "derived" && set.dependent.length > 0),
        },
      ] as const;
    }),
  );
}

function warmTimesOf(cases: readonly Case[], work: (one: Case) => unknown): readonly number[] {
  const once = (place: number): void => void work(cases[place % cases.length]!);
  timesOf(WARM_UPS, once);
  return timesOf(RUNS, once);
}

/** Of so many, or as many as fit into the time. */
function timesOf(count: number, work: (place: number) => void): readonly number[] {
  const times: number[] = [];
  const untilMs = performance.now() + BUDGET_MS;
  for (let place = 0; place < count && (place < LEAST_RUNS || performance.now() < untilMs); place++) {
    const beganAtMs = performance.now();
    work(place);
    times.push(performance.now() - beganAtMs);
  }
  return times;
}
