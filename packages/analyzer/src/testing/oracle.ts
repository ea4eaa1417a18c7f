/**
 * For tests: the soundness of read/write-set functions, by execution. On the same items, what f touches must be
 * within what f^rw said, and f^rw must come to the same set when it learns the items in rounds, as at a location.
 *
 * Random calls run one after the other on one store, so that later calls find what earlier ones wrote.
 */
import {
  encodeArguments,
  INTEGER_RANGES,
  CborWriter,
  type Outcome,
  type RecordTypes,
  type UnitId,
  type ValueType,
} from "@radical/protocol";
import { deriveAccessSet, recordHandler, runHandler, type HandlerModule, type Invocation } from "@radical/wasm-host";
import fc from "fast-check";
import type { BuildResult } from "../pipeline.ts";
import { moduleOf, snapshotOf, type Items } from "./run.ts";

interface Comparison {
  readonly outcome: Outcome;
  /** Said, but not touched, although the handler came to its result. */
  readonly extraReads: number;
  readonly extraWrites: number;
  /** Of the extra reads those of units that were said to be written before. */
  readonly extraOwnReads: number;
}

/** More rounds than any handler of a test has levels of dependent reads. */
const MAX_ROUNDS = 100;

/**
 * Runs f^rw and f on the items and compares. Throws an error that names the unit if f^rw missed one. Null: there is no
 * set, because f makes an access that no store takes or, with `exact: false`, f^rw says more than the host lets it. (What
 * uses up memory or stack where f does not is no end of it, and a mistake.)
 */
function compareRuns(
  module: HandlerModule,
  invocation: Invocation,
  items: Items,
  { exact }: { readonly exact: boolean },
): Comparison | null {
  const { handler } = invocation;
  const snapshot = snapshotOf(items);
  const derived = deriveAccessSet(module, invocation, snapshot);
  if (derived.kind === "failed") {
    const { run } = recordHandler(module, invocation, snapshot, { guess: false });
    const isInvalid = run?.outcome.kind === "trap" && run.outcome.code === "invalid_access";
    const isEndless = /memory|nested|rounds/.test(derived.reason);
    if (isInvalid || (!exact && !isEndless)) return null;
    throw new Error(`${handler}: ${derived.reason}`);
  }
  const fenced = runHandler(module, invocation, snapshot, derived.set);
  if (fenced.kind === "undeclared") throw new Error(`${handler}: f^rw missed the ${fenced.mode} of ${fenced.unit}`);
  if (fenced.kind === "missing") throw new Error(`${handler}: ${fenced.unit} is not in a complete snapshot`);

  const captured = new Set<UnitId>();
  for (let round = 0; ; round++) {
    if (round === MAX_ROUNDS) throw new Error(`${handler}: no final set after ${MAX_ROUNDS} rounds`);
    const partial = deriveAccessSet(module, invocation, (unit) => (captured.has(unit) ? snapshot(unit) : undefined));
    if (partial.kind === "failed") throw new Error(`${handler}: round ${round}: ${partial.reason}`);
    if (partial.missing.length === 0) {
      const same =
        sorted(partial.set.reads) === sorted(derived.set.reads) &&
        sorted(partial.set.writes) === sorted(derived.set.writes);
      if (!same) throw new Error(`${handler}: the set found in rounds is not that found at once`);
      break;
    }
    for (const unit of partial.missing) captured.add(unit);
  }
  // Where the handler traps or aborts, f^rw may go on.
  const ended = fenced.outcome.kind !== "result";
  const touched = new Set(fenced.reads);
  const extra = ended ? [] : [...derived.set.reads].filter((unit) => !touched.has(unit));
  return {
    outcome: fenced.outcome,
    extraReads: extra.length,
    extraWrites: ended ? 0 : derived.set.writes.size - fenced.writes.length,
    extraOwnReads: extra.filter((unit) => derived.set.writes.has(unit)).length,
  };
}

function sorted(units: ReadonlySet<UnitId>): string {
  return [...units].toSorted().join("\n");
}

export interface Exploration {
  /** Texts that strings of arguments and items are taken from: the fewer, the more calls meet on the same items. */
  readonly strings: readonly string[];
  /** Integers likewise. */
  readonly integers?: readonly number[];
  /** Random stores with random calls. */
  readonly runs?: number;
  readonly callsPerRun?: number;
  /** Keys by table for the items that are there at the start; default: the strings. */
  readonly keys?: Readonly<Record<string, readonly string[]>>;
  readonly seed?: number;
  /** Whether calls that fail are minimized; default true. */
  readonly shrink?: boolean;
  /** Only these handlers; default: all that have a read/write-set function. */
  readonly handlers?: readonly string[];
}

export interface Findings {
  readonly calls: number;
  readonly results: number;
  readonly aborts: number;
  readonly traps: number;
  readonly extraReads: number;
  readonly extraWrites: number;
  /** Of the extra reads those of units that the handler may have written itself. */
  readonly extraOwnReads: number;
}

/** Calls handlers at random and compares each call. Throws fast-check's error, with the calls minimized. */
export function explore(build: BuildResult, exploration: Exploration): Findings {
  const { strings, integers = [0, 1, 2, 3, 7, -1], runs = 50, callsPerRun = 12, seed = 1 } = exploration;
  const module = moduleOf(build);
  const handlers = build.handlers.filter(
    ({ name, plan }) => plan.kind === "sliced" && (exploration.handlers?.includes(name) ?? true),
  );
  if (handlers.length === 0) throw new Error("no handler has a read/write-set function");
  const transformed = new Set(
    handlers.flatMap(({ name, transformations }) => (transformations.length === 0 ? [] : [name])),
  );
  const json = (type: ValueType): fc.Arbitrary<unknown> => arbitraryJson(type, build.records, { strings, integers }, 4);
  // Some items were written when their records had fewer fields.
  const item = fc.oneof(
    ...[build.records, build.records, build.records, older(build.records, 0), older(build.records, 1)].flatMap(
      (records) =>
        build.tables.map(({ name, type }) =>
          fc.record({
            unit: fc.constantFrom(...(exploration.keys?.[name] ?? strings)).map((key) => `${name}/${key}`),
            value: arbitraryJson(type, records, { strings, integers }, 4).map((value) =>
              encodeItem(type, records, value),
            ),
          }),
        ),
    ),
  );
  const call = fc.oneof(
    ...handlers.map(({ name, parameters }) =>
      fc.record({
        handler: fc.constant(name),
        json: fc.record(Object.fromEntries(parameters.map((parameter) => [parameter.name, json(parameter.type)]))),
        draw: fc.nat(255),
      }),
    ),
  );
  const findings = { calls: 0, results: 0, aborts: 0, traps: 0, extraReads: 0, extraWrites: 0, extraOwnReads: 0 };
  fc.assert(
    fc.property(
      build.tables.length === 0 ? fc.constant([]) : fc.array(item, { maxLength: 20 }),
      fc.array(call, { minLength: 1, maxLength: callsPerRun }),
      (start, calls) => {
        const items: Items = new Map(start.map(({ unit, value }) => [unit, value]));
        for (const { handler, json: args, draw } of calls) {
          const { parameters } = handlers.find(({ name }) => name === handler)!;
          const encoded = encodeArguments(parameters, build.records, args);
          if (encoded.kind === "problem") throw new Error(encoded.problem.message);
          const environment = { timeMs: 1_700_000_000_000, seed: new Uint8Array(16).fill(draw) };
          const invocation = { handler, args: encoded.bytes, environment };
          const compared = compareRuns(module, invocation, items, { exact: !transformed.has(handler) });
          findings.calls++;
          findings.extraReads += compared?.extraReads ?? 0;
          findings.extraWrites += compared?.extraWrites ?? 0;
          findings.extraOwnReads += compared?.extraOwnReads ?? 0;
          if (compared?.outcome.kind === "result") findings.results++;
          else if (compared?.outcome.kind === "abort") findings.aborts++;
          else findings.traps++;
          const { run } = recordHandler(module, invocation, snapshotOf(items), { guess: false });
          if (run === null) throw new Error(`${handler} did not end`);
          for (const { unit, value } of run.writes) {
            if (value === null) items.delete(unit);
            else items.set(unit, value);
          }
        }
      },
    ),
    { numRuns: runs, seed, endOnFailure: exploration.shrink === false },
  );
  return findings;
}

/** Every second field only. */
function older(records: RecordTypes, remainder: number): RecordTypes {
  return Object.fromEntries(
    Object.entries(records).map(([name, record]) => [
      name,
      { ...record, fields: record.fields.filter((_, index) => index % 2 === remainder) },
    ]),
  );
}

interface Pools {
  readonly strings: readonly string[];
  readonly integers: readonly number[];
}

function arbitraryJson(type: ValueType, records: RecordTypes, pools: Pools, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "bool":
      return fc.boolean();
    case "string":
      return fc.constantFrom(...pools.strings);
    case "f32":
    case "f64":
      return fc.oneof(fc.constantFrom(0, 0.5, -1, 3), fc.float({ noNaN: true, noDefaultInfinity: true }));
    case "nullable":
      return depth <= 0 ? fc.constant(null) : fc.option(arbitraryJson(type.inner, records, pools, depth - 1));
    case "array":
      return depth <= 0
        ? fc.constant([])
        : fc.array(arbitraryJson(type.element, records, pools, depth - 1), { maxLength: 5 });
    case "record":
      return fc.record(
        Object.fromEntries(
          records[type.name]!.fields.map((field) => [field.name, arbitraryJson(field.type, records, pools, depth - 1)]),
        ),
      );
    default: {
      const [min, max] = INTEGER_RANGES[type.kind];
      return fc.constantFrom(...pools.integers.filter((value) => BigInt(value) >= min && BigInt(value) <= max));
    }
  }
}

/** A value as an item: the arguments of an imaginary handler with one parameter, without the map around it. */
function encodeItem(type: ValueType, records: RecordTypes, value: unknown): Uint8Array {
  const encoded = encodeArguments([{ name: "item", type, optional: false }], records, { item: value });
  if (encoded.kind === "problem") throw new Error(encoded.problem.message);
  return encoded.bytes.slice(new CborWriter().map(1).text("item").finish().length);
}
