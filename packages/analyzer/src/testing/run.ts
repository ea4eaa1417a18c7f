/**
 * For tests: builds run on items in memory.
 */
import {
  ABI_VERSION,
  DEFAULT_LIMITS,
  encodeArguments,
  valueToJson,
  type Outcome,
  NO_EXECUTION,
} from "@radical/protocol";
import {
  compileModule,
  recordHandler,
  type CompletedRun,
  type HandlerModule,
  type Invocation,
} from "@radical/wasm-host";
import type { BuildResult } from "../pipeline.ts";
import { snapshotOf } from "./complete-snapshot.ts";

export { snapshotOf } from "./complete-snapshot.ts";

/** Encoded items by unit; a unit that is not there is absent. */
export type Items = Map<string, Uint8Array>;

export function moduleOf(build: BuildResult): HandlerModule {
  return compileModule({
    abi: ABI_VERSION,
    limits: DEFAULT_LIMITS,
    handlers: Object.fromEntries(build.handlers.map(({ name, plan, tables }) => [name, { plan: plan.kind, tables }])),
    wasm: build.wasm,
    rwWasm: build.rwWasm,
  });
}

export function invocation(
  build: BuildResult,
  handler: string,
  json: unknown,
  seed = 1,
  caller: string | null = null,
): Invocation {
  const { parameters } = build.handlers.find(({ name }) => name === handler)!;
  const encoded = encodeArguments(parameters, build.records, json);
  if (encoded.kind === "problem") throw new Error(encoded.problem.message);
  return {
    executionId: NO_EXECUTION,
    handler,
    args: encoded.bytes,
    environment: { timeMs: 1_700_000_000_000, seed: new Uint8Array(16).fill(seed), caller },
  };
}

export interface Answer {
  readonly outcome: Outcome;
  /** The result from its JSON; undefined unless there is one. */
  readonly result: unknown;
  readonly run: CompletedRun;
}

/** Runs a handler in record mode and applies its writes to the items. */
export function call(
  build: BuildResult,
  items: Items,
  handler: string,
  json: unknown = {},
  seed = 1,
  caller: string | null = null,
): Answer {
  const invoked = invocation(build, handler, json, seed, caller);
  const { run } = recordHandler(moduleOf(build), invoked, snapshotOf(items), { guess: false });
  if (run === null) throw new Error("the handler did not end");
  for (const { unit, value } of run.writes) {
    if (value === null) items.delete(unit);
    else items.set(unit, value);
  }
  const { outcome } = run;
  return {
    outcome,
    run,
    result: outcome.kind === "result" ? (JSON.parse(valueToJson(outcome.value)) as unknown) : undefined,
  };
}
