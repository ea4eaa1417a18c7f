/** The application as a pure function: handlers run one after the other on data in this process's memory. */
import {
  compareKeys,
  contains,
  contentHash,
  type DirectoryRow,
  type Entry,
  type Environment,
  type IndexDeclaration,
  indexEntryOf,
  indexOf,
  type Key,
  type KeyInterval,
  NO_COMMIT,
  notUniqueMessage,
  type Outcome,
  type Query,
  SEED_BYTES,
  splitUnit,
  unitId,
  type UnitId,
  valueToJson,
  NO_EXECUTION,
} from "@radical/protocol";
import { type CompletedRun, type HandlerModule, recordHandler, type Scanned, type Snapshot } from "@radical/wasm-host";
import { type AppBuild, itemOf, parseJson, type Benchmark, type Call, type Preparation } from "@radical/app";
import { CommandError, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import { argumentsOf } from "./arguments.ts";
import type { Random } from "@radical/history";

export type Items = Map<UnitId, Uint8Array>;

interface Stored {
  readonly unit: UnitId;
  readonly value: Uint8Array;
}

/** The run's writes are in the items afterwards. */
export function runOn(
  items: Items,
  module: HandlerModule,
  { handler, args, environment }: { handler: string; args: Uint8Array; environment: Environment },
): CompletedRun {
  const { run } = recordHandler(module, { executionId: NO_EXECUTION, handler, args, environment }, snapshotOf(items), {
    guess: false,
  });
  if (run === null) throw new Error(`${handler} has not ended on data that is all there`);
  for (const { unit, value } of run.writes) {
    if (value === null) items.delete(unit);
    else items.set(unit, value);
  }
  return run;
}

function snapshotOf(items: Items): Snapshot {
  const item = (unit: UnitId): Entry => entryWithoutVersion(items.get(unit) ?? null);
  const scan = (query: Query): Scanned => {
    const rows = rowsIn(items, query);
    if (query.kind === "count") return { count: rows.length };
    const walked = query.isReversed ? rows.toReversed() : rows;
    return { rows: walked.slice(0, query.limit), reachesEnd: walked.length <= query.limit };
  };
  return Object.assign(item, { scan });
}

/** The host looks at values, and compares versions with those of rows. All are the same. */
function entryWithoutVersion(value: Uint8Array | null): Entry {
  return { value, version: { commitId: NO_COMMIT, hash: value === null ? null : ANY_VALUE } };
}

const ANY_VALUE = contentHash(new Uint8Array());

function rowsIn(items: Items, interval: KeyInterval): readonly DirectoryRow[] {
  const keys: Key[] = [];
  for (const unit of items.keys()) {
    const { table, key } = splitUnit(unit);
    if (table === interval.table && contains(interval, key)) keys.push(key);
  }
  return keys.toSorted(compareKeys).map((key) => ({ key, commitId: NO_COMMIT, hash: ANY_VALUE }));
}

/**
 * Data is written before anybody comes. If it were of this minute, a handler that keeps its answer for some minutes would have an
 * answer of half of the data.
 */
const DATA_AGE_MS = 3_600_000;

/** What all systems begin with. Throws a CommandError for a preparation that fails. */
export function prepared(
  { manifest, content }: Pick<AppBuild, "manifest" | "content">,
  module: HandlerModule,
  benchmark: Benchmark,
  seed: readonly Stored[],
  draw: Random,
): Items {
  const indexes = (content.indexes ?? []).flatMap((name) => indexOf(name) ?? []);
  const items: Items = new Map();
  if (benchmark.prepare === undefined) {
    for (const stored of seed) putItem(items, stored, indexes);
    return items;
  }
  let timeMs = Date.now() - DATA_AGE_MS;
  const run = (handler: string, args: Call["args"], caller: string | null): Outcome => {
    const bytes = argumentsOf(manifest, handler, args);
    const environment = {
      timeMs: timeMs++,
      seed: Uint8Array.from({ length: SEED_BYTES }, () => draw.below(256)),
      caller,
    };
    return runOn(items, module, { handler, args: bytes, environment }).outcome;
  };
  const preparation: Preparation = {
    draw,
    put: (table, key, value) => {
      const item = itemOf(table, key, parseJson(JSON.stringify(value)), manifest);
      putItem(items, { unit: unitId(table, key), value: item.value }, indexes);
    },
    call: (handler: string, args: Call["args"] = {}, caller: string | null = null) => {
      const outcome = run(handler, args, caller);
      if (outcome.kind !== "result") throw new Error(`${handler}: ${outcome.message}`);
      return JSON.parse(valueToJson(outcome.value)) as unknown;
    },
  };
  try {
    benchmark.prepare(preparation);
  } catch (error) {
    throw new CommandError(
      "benchmark_invalid",
      `The data can't be prepared: ${messageOf(error)}`,
      "See prepare() in radical.bench.ts.",
      {
        exitCode: EXIT_USAGE,
        cause: error,
      },
    );
  }
  return items;
}

/** Stores an item with its entries in the indexes. */
function putItem(items: Items, { unit, value }: Stored, indexes: readonly IndexDeclaration[]): void {
  const { table, key } = splitUnit(unit);
  for (const index of indexes) {
    if (index.table !== table) continue;
    const before = indexEntryOf(index, key, items.get(unit) ?? null);
    if (before !== null) items.delete(unitId(index.name, before.key));
    const entry = indexEntryOf(index, key, value);
    if (entry === null) continue;
    const place = unitId(index.name, entry.key);
    if (items.has(place)) throw new Error(notUniqueMessage(index));
    items.set(place, entry.value);
  }
  items.set(unit, value);
}
