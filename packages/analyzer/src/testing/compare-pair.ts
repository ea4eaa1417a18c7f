/** For tests: whether the two programs of a pair do the same. Throws an error that says where they differ. */
import { isDeepStrictEqual } from "node:util";
import type { Outcome } from "@radical/protocol";
import { recordHandler, type RecordedRun } from "@radical/wasm-host";
import fc from "fast-check";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { PAIR_TABLES, PAIR_TEXTS, type FormPair } from "./form-pairs.ts";
import { buildInput } from "./library.ts";
import { arbitraryHistory, explore, invocationOf, type Exploration } from "./oracle.ts";
import { deriveNothing } from "./record-mode.ts";
import { moduleOf, snapshotOf, type Items } from "./run.ts";

export interface PairFindings {
  readonly calls: number;
  /** Of the short program, in relation to the long one, over all calls. */
  readonly fuel: number;
  /** The handlers that are not sliced, with the code of the reason. */
  readonly recorded: readonly string[];
}

/** A pair may differ by so much. */
const FUEL = 0.1;

export function comparePair(pair: FormPair, seed: number, runs: number): PairFindings {
  const short = built(pair.short, "short");
  const long = built(pair.long, "long");
  const exploration: Exploration = {
    strings: PAIR_TEXTS,
    integers: [0, 1, 2, 3, 4, 5],
    keys: Object.fromEntries(PAIR_TABLES.map((table) => [table, PAIR_TEXTS])),
    handlers: pair.handlers,
    runs,
    callsPerRun: 3,
    seed,
    shrink: false,
  };
  explore(short, exploration);
  const modules = { short: moduleOf(short), long: moduleOf(long) };
  const { start, call } = arbitraryHistory(short, pair.handlers, exploration);
  let calls = 0;
  const fuel = { short: 0, long: 0 };
  fc.assert(
    fc.property(start, fc.array(call, { minLength: 1, maxLength: 6 }), (initial, made) => {
      const items: Items = new Map(initial);
      for (const one of made) {
        const invocation = invocationOf(short, one, PAIR_TEXTS);
        const run = (which: "short" | "long"): RecordedRun =>
          recordHandler(modules[which], invocation, snapshotOf(items), { guess: false });
        const [first, second] = [run("short"), run("long")];
        const shown = ({ run: done, set }: RecordedRun): unknown => ({
          outcome: done === null ? null : outcomeOf(done.outcome),
          writes: done?.writes,
          reads: done?.reads,
          touched: [...set.writes],
        });
        if (!isDeepStrictEqual(shown(first), shown(second)))
          throw new Error(
            `${one.handler}: the short form does ${words(shown(first))}, the long one ${words(shown(second))}`,
          );
        calls++;
        fuel.short += first.run?.fuel ?? 0;
        fuel.long += second.run?.fuel ?? 0;
      }
    }),
    { numRuns: runs, seed, endOnFailure: true },
  );
  const ratio = fuel.short / fuel.long;
  if (Math.abs(ratio - 1) > FUEL) throw new Error(`the short form takes ${ratio.toFixed(3)} of the fuel`);
  const recorded = short.handlers.flatMap(({ name, plan }) =>
    plan.kind === "recorded" ? [`${name}: ${plan.reason.code}: ${plan.reason.message}`] : [],
  );
  return { calls, fuel: ratio, recorded };
}

function built(files: Readonly<Record<string, string>>, which: "short" | "long"): BuildResult {
  const build = buildWith(buildInput(files), which === "short" ? slicer : deriveNothing);
  const [mistake] = build.diagnostics.filter(
    ({ severity, class: kind }) => severity === "error" || (which === "short" && kind === "internal"),
  );
  if (mistake === undefined) return build;
  const { code, message, primary } = mistake;
  throw new Error(`the ${which} program: ${code} at line ${primary.line}: ${message}`);
}

/** A trap without its place. */
function outcomeOf(outcome: Outcome): unknown {
  return outcome.kind === "trap" ? { kind: outcome.kind, code: outcome.code } : outcome;
}

function words(shown: unknown): string {
  return JSON.stringify(shown, (_, value: unknown) =>
    value instanceof Uint8Array ? new TextDecoder().decode(value) : value instanceof Map ? [...value] : value,
  );
}
