/**
 * For tests: the soundness of read/write-set functions, by execution. On the same items, the units that *f* touches must be
 * in the set of *f^rw*. *f^rw* must come to the same set when it learns the items in rounds, as at a location. So must record
 * mode, where the set comes from *f* itself.
 *
 * Random calls run one after the other on one store, so that later calls find what earlier ones wrote. Then they run
 * again in the other order, and the last of them in an instance that has never run: nothing may be different.
 */
import { withEntries } from "./entries.ts";
import { isDeepStrictEqual } from "node:util";
import {
  BLOBS,
  encodeArguments,
  INTEGER_RANGES,
  isBlobRecord,
  isCaller,
  CborWriter,
  countEntry,
  directoryEntry,
  isSpan,
  NO_COMMIT,
  READ_WRITE_SET_FUEL,
  READ_WRITE_SET_STACK_BYTES,
  spanOf,
  tableOf,
  unitId,
  type Entry,
  type HandlerTables,
  type Outcome,
  type Query,
  type RecordTypes,
  type UnitId,
  type ValueType,
  NO_EXECUTION,
} from "@radical/protocol";
import {
  deriveAccessSet,
  recordHandler,
  runHandler,
  spanSnapshot,
  type AccessSet,
  type DerivedSet,
  type HandlerModule,
  type Invocation,
  type RecordedRun,
  type Scanned,
  type Snapshot,
} from "@radical/wasm-host";
import fc from "fast-check";
import type { SourceFile } from "../diagnostics/diagnostic.ts";
import type { BuildResult } from "../pipeline.ts";
import { moduleOf, snapshotOf, type Items } from "./run.ts";

/** The known properties of a handler's set. */
interface Known {
  readonly kind: "sliced" | "given" | "recorded";
  /** A slice without transformations: it makes f's accesses, and ends where f does or goes on behind a trap of f's. */
  readonly exact: boolean;
  /** The tables that the module names for the handler. */
  readonly tables: HandlerTables | null;
  /** Of the application. */
  readonly sources: readonly SourceFile[];
}

/** All that an execution shows. */
interface Shown {
  readonly derived: DerivedSet | null;
  readonly recorded: RecordedRun;
}

interface Comparison {
  readonly outcome: Outcome;
  /** f^rw gives no set, as it makes an access that f does not make and no store takes. */
  readonly unsaid: boolean;
  /** Said, but not touched, although the handler came to its result. */
  readonly extraReads: number;
  readonly extraWrites: number;
  /** Of the extra reads those of units that were said to be written before. */
  readonly extraOwnReads: number;
}

/** More rounds than any handler of a test has levels of dependent reads. */
const MAX_ROUNDS = 100;

/** Of the words of a trap: where f^rw may end although f goes on, if it says more than f touches. */
const NO_STORE_TAKES = /^the read\/write-set function trapped: (more than \d+ |invalid (key|bound) )/;

/** Where f^rw may end although it says exactly what f touches, if it has gone on behind the end of f. */
const INVALID_KEY = /^the read\/write-set function trapped: invalid (key|bound) /;

/** The place in the words of a trap: `asserted (handlers/posts.ts:3:5)`. */
const PLACE = / \((?<file>[^()]+):(?<line>\d+):(?<column>\d+)\)$/;

function execute(module: HandlerModule, { kind }: Known, invocation: Invocation, items: Items): Shown {
  const snapshot = snapshotOf(items);
  return {
    derived: kind === "recorded" ? null : deriveAccessSet(module, invocation, snapshot),
    recorded: recordHandler(module, invocation, snapshot, { guess: false }),
  };
}

/** The same module, which has no instance yet. */
function asNew(module: HandlerModule): HandlerModule {
  return { ...module, f: structuredClone(module.f), rw: structuredClone(module.rw) };
}

/**
 * Compares f^rw with f on the items. Throws an error that names the unit if f^rw missed one. f^rw gives a set wherever f
 * makes accesses that a store takes. It may fail at an access of its own that no store takes. It makes such an access only
 * where it says more than f touches, or has gone on behind the end of f. Using up memory or stack where f does not is a
 * mistake.
 */
function compareRuns(
  module: HandlerModule,
  known: Known,
  invocation: Invocation,
  items: Items,
  { derived, recorded: { run, set: touched } }: Shown,
): Comparison {
  const { handler } = invocation;
  if (run === null) throw new Error(`${handler} did not end`);
  const { outcome } = run;
  expectWithinTables(handler, known.tables, touched);
  if (derived?.kind === "failed") {
    const { reason } = derived;
    const bothEnded =
      (outcome.kind === "trap" && outcome.code === "invalid_access") ||
      (INVALID_KEY.test(reason) && hasPassed(module, known, invocation, items, outcome, touched));
    if (!bothEnded && (known.exact || !NO_STORE_TAKES.test(reason))) throw new Error(`${handler}: ${reason}`);
    return { outcome, unsaid: !bothEnded, extraReads: 0, extraWrites: 0, extraOwnReads: 0 };
  }
  const set = derived?.set ?? touched;
  // The primary refuses a set that leaves the tables.
  expectWithinTables(handler, known.tables, set);
  const fenced = runHandler(module, invocation, snapshotOfSet(set, items), set);
  if (fenced.kind === "undeclared") throw new Error(`${handler}: f^rw missed the ${fenced.mode} of ${fenced.unit}`);
  if (fenced.kind === "undeclared-lane") throw new Error(`${handler}: f^rw missed the lane ${fenced.lane}`);
  if (fenced.kind === "missing") throw new Error(`${handler}: ${fenced.unit} is not in a snapshot of the set`);
  if (!isDeepStrictEqual(fenced, run)) throw new Error(`${handler}: the run within the set is another`);
  const inRounds = setInRounds(module, known, invocation, items);
  if (!isDeepStrictEqual(inRounds, { ...set }))
    throw new Error(`${handler}: the set found in rounds is not that found at once`);
  // Where the handler traps or aborts, f^rw may go on.
  const ended = outcome.kind !== "result";
  const extra = ended ? [] : [...set.reads].filter((unit) => !touched.reads.has(unit));
  return {
    outcome,
    unsaid: false,
    extraReads: extra.length,
    extraWrites: ended ? 0 : [...set.writes].filter((unit) => !touched.writes.has(unit)).length,
    extraOwnReads: extra.filter((unit) => set.writes.has(unit)).length,
  };
}

function expectWithinTables(handler: string, tables: HandlerTables | null, { reads, writes }: AccessSet): void {
  if (tables === null) return;
  const strange = (units: ReadonlySet<UnitId>, named: readonly string[]): UnitId | undefined =>
    [...units].find((unit) => !named.includes(tableOf(unit)));
  const read = strange(reads, tables.reads);
  const written = strange(writes, tables.writes);
  if (read !== undefined) throw new Error(`${handler}: the module does not name the table of the read ${read}`);
  if (written !== undefined) throw new Error(`${handler}: the module does not name the table of the write ${written}`);
}

/**
 * Whether f ended by a trap that f^rw leaves out, and f^rw came behind that place. Then f^rw had said all units that f
 * touched, in f's order, before it failed. An abort and a `throw` are never left out where accesses follow.
 */
function hasPassed(
  module: HandlerModule,
  { sources }: Known,
  invocation: Invocation,
  items: Items,
  outcome: Outcome,
  touched: AccessSet,
): boolean {
  if (outcome.kind !== "trap" || isThrown(outcome.message, sources)) return false;
  const limits = { ...module.limits, fuel: READ_WRITE_SET_FUEL, stackBytes: READ_WRITE_SET_STACK_BYTES };
  const said = recordHandler({ ...module, f: module.rw, limits }, invocation, snapshotOf(items), { guess: false }).set;
  return isWithin(touched.reads, said.reads) && isWithin(touched.writes, said.writes);
}

/** Whether a trap is a `throw` of the application's; one whose text is not known counts as such. */
function isThrown(message: string, sources: readonly SourceFile[]): boolean {
  const place = PLACE.exec(message)?.groups;
  if (place === undefined || place["file"]!.startsWith("~lib/")) return false;
  const line = sources.find(({ path }) => path === place["file"])?.text.split("\n")[Number(place["line"]) - 1];
  return line === undefined || line.startsWith("throw", Number(place["column"]) - 1);
}

/** Whether the units are among the others, in the same order. */
function isWithin(units: ReadonlySet<UnitId>, others: ReadonlySet<UnitId>): boolean {
  const wanted = [...units];
  let found = 0;
  for (const unit of others) if (unit === wanted[found]) found++;
  return found === wanted.length;
}

/** A snapshot of a set: its items, and its spans with the items of their rows. */
function snapshotOfSet({ reads }: AccessSet, items: Items): Snapshot {
  const snapshot = snapshotOf(items);
  const entries: [UnitId, Entry][] = [];
  for (const unit of reads) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span === null) {
      entries.push([unit, snapshot(unit)]);
      continue;
    }
    const { kind, ...interval } = span;
    const answer = snapshot.scan(kind === "count" ? { kind, ...interval } : { kind, ...interval, ...EVERYTHING });
    if (!("rows" in answer)) {
      entries.push([unit, countEntry(NO_COMMIT, answer.count)]);
      continue;
    }
    entries.push([unit, directoryEntry(NO_COMMIT, answer.rows)]);
    for (const { key } of answer.rows) entries.push([unitId(span.table, key), snapshot(unitId(span.table, key))]);
  }
  return spanSnapshot(entries);
}

const EVERYTHING = { limit: Number.MAX_SAFE_INTEGER, isReversed: false } as const;

/** The set as a location finds it, which knows no item at first and captures what is missing. */
function setInRounds(module: HandlerModule, { kind }: Known, invocation: Invocation, items: Items): AccessSet {
  const { handler } = invocation;
  const snapshot = snapshotOf(items);
  const captured = new Set<UnitId>();
  const answers = new Map<string, Scanned>();
  const known: Snapshot = Object.assign(
    (unit: UnitId): Entry | undefined => (captured.has(unit) ? snapshot(unit) : undefined),
    { scan: (query: Query): Scanned | undefined => answers.get(JSON.stringify(query)) },
  );
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const partial =
      kind === "recorded"
        ? recordHandler(module, invocation, known, { guess: true })
        : deriveAccessSet(module, invocation, known);
    if ("kind" in partial && partial.kind === "failed")
      throw new Error(`${handler}: round ${round}: ${partial.reason}`);
    const { missing, missingQueries, set } = partial;
    if (missing.length + missingQueries.length === 0) return set;
    for (const unit of missing) captured.add(unit);
    for (const query of missingQueries) {
      const answer = snapshot.scan(query);
      answers.set(JSON.stringify(query), answer);
      if ("rows" in answer) for (const { key } of answer.rows) captured.add(unitId(query.table, key));
    }
  }
  throw new Error(`${handler}: no final set after ${MAX_ROUNDS} rounds`);
}

export interface Exploration {
  /** Texts that strings of arguments and items are taken from: the fewer, the more calls meet on the same items. */
  readonly strings: readonly string[];
  /** Integers likewise. */
  readonly integers?: readonly number[];
  /** Random stores with random calls. */
  readonly runs?: number;
  readonly callsPerRun?: number;
  /**
   * Keys by table for the items that are there at the start; default: the strings. If they are given, most items are
   * there in half of the stores, and other tables stay empty.
   */
  readonly keys?: Readonly<Record<string, readonly string[]>>;
  readonly seed?: number;
  /** Whether calls that fail are minimized; default true. */
  readonly shrink?: boolean;
  /** Learns of everything that a handler reads. */
  readonly onRead?: (unit: UnitId) => void;
  /** Only these handlers; default: all that are sliced. */
  readonly handlers?: readonly string[];
  /** Of the application; default: none, so that every assertion of the application's counts as a `throw`. */
  readonly sources?: readonly SourceFile[];
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
  /** Executions without a set, as f^rw made an access that f does not make and no store takes. */
  readonly unsaid: number;
}

/** From so many executions on, f^rw must give a set in half of them. */
const ENOUGH_TO_JUDGE = 10;

/** Calls handlers at random and compares each call. Throws fast-check's error, with the calls minimized. */
export function explore(build: BuildResult, exploration: Exploration): Findings {
  const { strings, runs = 50, callsPerRun = 12, seed = 1, sources = [] } = exploration;
  const module = moduleOf(build);
  const handlers = build.handlers.filter(({ name, plan }) =>
    exploration.handlers === undefined ? plan.kind === "sliced" : exploration.handlers.includes(name),
  );
  if (handlers.length === 0) throw new Error("no handler has a read/write-set function");
  const known = new Map(handlers.map((handler) => [handler.name, knownOf(handler, sources)]));
  const { start, call } = arbitraryHistory(
    build,
    handlers.map(({ name }) => name),
    exploration,
  );
  const findings = {
    calls: 0,
    results: 0,
    aborts: 0,
    traps: 0,
    extraReads: 0,
    extraWrites: 0,
    extraOwnReads: 0,
    unsaid: 0,
  };
  const rates = new Map(handlers.map(({ name }) => [name, { calls: 0, unsaid: 0 }]));
  fc.assert(
    fc.property(start, fc.array(call, { minLength: 1, maxLength: callsPerRun }), (initial, calls) => {
      let items: Items = new Map(initial);
      const executed: { readonly invocation: Invocation; readonly items: Items; readonly shown: Shown }[] = [];
      for (const one of calls) {
        const { handler } = one;
        const invocation = invocationOf(build, one, strings);
        const shown = execute(module, known.get(handler)!, invocation, items);
        executed.push({ invocation, items, shown });
        for (const unit of shown.recorded.set.reads) exploration.onRead?.(unit);
        const compared = compareRuns(module, known.get(handler)!, invocation, items, shown);
        findings.calls++;
        findings.extraReads += compared.extraReads;
        findings.extraWrites += compared.extraWrites;
        findings.extraOwnReads += compared.extraOwnReads;
        if (compared.outcome.kind === "result") findings.results++;
        else if (compared.outcome.kind === "abort") findings.aborts++;
        else findings.traps++;
        const rate = rates.get(handler)!;
        rate.calls++;
        if (compared.unsaid) {
          rate.unsaid++;
          findings.unsaid++;
        }
        items = new Map(items);
        for (const { unit, value } of shown.recorded.run?.writes ?? []) {
          if (value === null) items.delete(unit);
          else items.set(unit, value);
        }
      }
      const again = (where: HandlerModule, index: number): void => {
        const { invocation, items: before, shown } = executed[index]!;
        if (!isDeepStrictEqual(execute(where, known.get(invocation.handler)!, invocation, before), shown))
          throw new Error(
            `${invocation.handler}: another run where ${where === module ? "others ran" : "none ran"} before`,
          );
      };
      for (let index = executed.length - 2; index >= 0; index--) again(module, index);
      if (executed.length > 1) again(asNew(module), executed.length - 1);
    }),
    { numRuns: runs, seed, endOnFailure: exploration.shrink === false },
  );
  for (const [name, { calls, unsaid }] of rates)
    if (calls >= ENOUGH_TO_JUDGE && 2 * unsaid > calls)
      throw new Error(`${name}: f^rw gives no set in ${unsaid} of ${calls} executions in which f goes on`);
  return findings;
}

/** One call of a handler, as fast-check shows it. */
export interface RandomCall {
  readonly handler: string;
  readonly json: unknown;
  readonly draw: number;
}

/** The first items of a store, and calls of these handlers. */
export function arbitraryHistory(
  build: BuildResult,
  handlers: readonly string[],
  exploration: Exploration,
): { readonly start: fc.Arbitrary<[UnitId, Uint8Array][]>; readonly call: fc.Arbitrary<RandomCall> } {
  const { strings, integers = [0, 1, 2, 3, 7, -1] } = exploration;
  const json = (type: ValueType): fc.Arbitrary<unknown> => arbitraryJson(type, build.records, { strings, integers }, 4);
  return {
    start: arbitraryItems(build, exploration, { strings, integers }),
    call: fc.oneof(
      ...build.handlers
        .filter(({ name }) => handlers.includes(name))
        .map(({ name, parameters }) =>
          fc.record({
            handler: fc.constant(name),
            json: fc.record(Object.fromEntries(parameters.map((parameter) => [parameter.name, json(parameter.type)])), {
              requiredKeys: parameters.flatMap((parameter) => (parameter.absent === true ? [] : [parameter.name])),
            }),
            draw: fc.nat(255),
          }),
        ),
    ),
  };
}

/** `strings`: those that may be callers are. */
export function invocationOf(
  build: BuildResult,
  { handler, json, draw }: RandomCall,
  strings: readonly string[],
): Invocation {
  const { parameters } = build.handlers.find(({ name }) => name === handler)!;
  const encoded = encodeArguments(parameters, build.records, json);
  if (encoded.kind === "problem") throw new Error(encoded.problem.message);
  const callers = [null, ...strings.filter(isCaller)];
  const environment = {
    timeMs: 1_700_000_000_000,
    seed: new Uint8Array(16).fill(draw),
    caller: callers[draw % callers.length]!,
  };
  return { executionId: NO_EXECUTION, handler, args: encoded.bytes, environment };
}

function knownOf(
  { name, plan, transformations, tables }: BuildResult["handlers"][number],
  sources: readonly SourceFile[],
): Known {
  if (plan.kind === "near-storage" || plan.kind === "workflow") throw new Error(`${name} has no set: ${plan.kind}`);
  return { kind: plan.kind, exact: plan.kind === "sliced" && transformations.length === 0, tables, sources };
}

/** Items with the entries that they have in indexes. */
function arbitraryItems(
  build: BuildResult,
  exploration: Exploration,
  pools: Pools,
): fc.Arbitrary<[UnitId, Uint8Array][]> {
  const ofTables = arbitraryItemsOfTables(build, exploration, pools);
  const items = Object.values(build.records).some(isBlobRecord)
    ? fc
        .tuple(ofTables, fc.subarray(HASHES))
        .map(([found, hashes]) => [
          ...found,
          ...hashes.map((hash): [UnitId, Uint8Array] => [unitId(BLOBS, hash), new CborWriter().null().finish()]),
        ])
    : ofTables;
  return build.indexes.length === 0 ? items : items.map((found) => withEntries(build.indexes, found));
}

function arbitraryItemsOfTables(
  build: BuildResult,
  { keys }: Exploration,
  pools: Pools,
): fc.Arbitrary<[UnitId, Uint8Array][]> {
  const tables = build.tables.filter(({ name }) => keys === undefined || Object.hasOwn(keys, name));
  if (tables.length === 0) return fc.constant([]);
  const keysOf = (table: string): readonly string[] => keys?.[table] ?? pools.strings;
  const itemsOf = (type: ValueType, records: RecordTypes): fc.Arbitrary<Uint8Array> =>
    arbitraryJson(type, records, pools, 4).map((value) => encodeItem(type, records, value));
  const valueOf = (type: ValueType): fc.Arbitrary<Uint8Array> =>
    // Some items were written when their records had fewer fields, some by a build whose records have more.
    fc.oneof(
      ...[build.records, build.records].map((records) => itemsOf(type, records)),
      arbitraryJson(type, build.records, pools, 4).map((value) =>
        encodeItem(type, newer(build.records), withMore(type, build.records, value)),
      ),
      ...[older(build.records, 0), older(build.records, 1)].map((records) => itemsOf(type, records)),
    );
  const some = fc.array(
    fc.oneof(
      ...tables.map(({ name, type }) =>
        fc.tuple(
          fc.constantFrom(...keysOf(name)).map((key) => unitId(name, key)),
          valueOf(type),
        ),
      ),
    ),
    { maxLength: 20 },
  );
  if (keys === undefined) return some;
  const most = fc
    .tuple(
      ...tables.flatMap(({ name, type }) =>
        keysOf(name).map((key) =>
          fc
            .option(valueOf(type), { freq: 6 })
            .map((value): readonly [UnitId, Uint8Array | null] => [unitId(name, key), value]),
        ),
      ),
    )
    .map((all) => all.flatMap(([unit, value]): [UnitId, Uint8Array][] => (value === null ? [] : [[unit, value]])));
  return fc.oneof(some, most);
}

/** Of Blobs. */
const HASHES = ["ab".repeat(32), "0d".repeat(32)];

/** Every second field only, but for Blobs, which all builds have alike. */
function older(records: RecordTypes, remainder: number): RecordTypes {
  return Object.fromEntries(
    Object.entries(records).map(([name, record]) => [
      name,
      record.isBlob === true
        ? record
        : { ...record, fields: record.fields.filter((_, index) => index % 2 === remainder) },
    ]),
  );
}

const ADDED = { name: "~added", type: { kind: "string" }, optional: false } as const;

/** Another field before the others. */
function newer(records: RecordTypes): RecordTypes {
  return Object.fromEntries(
    Object.entries(records).map(([name, record]) => [
      name,
      record.isBlob === true ? record : { ...record, fields: [ADDED, ...record.fields] },
    ]),
  );
}

/** A value of the records that have it. */
function withMore(type: ValueType, records: RecordTypes, value: unknown): unknown {
  switch (type.kind) {
    case "nullable":
      return value === null ? null : withMore(type.inner, records, value);
    case "array":
      return (value as readonly unknown[]).map((element) => withMore(type.element, records, element));
    case "tuple":
      return (value as readonly unknown[]).map((part, index) => withMore(type.elements[index]!, records, part));
    case "map":
      return Object.fromEntries(
        Object.entries(value as object).map(([key, held]) => [key, withMore(type.value, records, held)]),
      );
    case "record": {
      const record = value as Readonly<Record<string, unknown>>;
      const fields = records[type.name]!.fields.flatMap((field) => {
        const held = record[field.name];
        return held === undefined ? [] : [[field.name, withMore(field.type, records, held)] as const];
      });
      return Object.fromEntries(records[type.name]!.isBlob === true ? fields : [[ADDED.name, "added"], ...fields]);
    }
    default:
      return value;
  }
}

export interface Pools {
  readonly strings: readonly string[];
  readonly integers: readonly number[];
}

/** JSON of a type, as clients send it. */
export function arbitraryJson(
  type: ValueType,
  records: RecordTypes,
  pools: Pools,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "bool":
      return fc.boolean();
    case "string":
      return fc.constantFrom(...(type.oneOf ?? pools.strings));
    case "f32":
    case "f64":
      return fc.oneof(fc.constantFrom(0, 0.5, -1, 3), fc.float({ noNaN: true, noDefaultInfinity: true }));
    case "nullable":
      return depth <= 0 ? fc.constant(null) : fc.option(arbitraryJson(type.inner, records, pools, depth - 1));
    case "array":
      return depth <= 0
        ? fc.constant([])
        : fc.array(arbitraryJson(type.element, records, pools, depth - 1), { maxLength: 5 });
    case "tuple":
      return fc.tuple(...type.elements.map((element) => arbitraryJson(element, records, pools, depth - 1)));
    case "map":
      return depth <= 0
        ? fc.constant({})
        : fc.dictionary(fc.constantFrom(...pools.strings), arbitraryJson(type.value, records, pools, depth - 1), {
            maxKeys: 4,
          });
    case "record": {
      if (isBlobRecord(records[type.name]))
        return fc.constantFrom(...HASHES).map((hash) => ({ hash, size: 3, type: "image/png" }));
      // Records that refer to their own kind end.
      const fields = records[type.name]!.fields.filter((field) => depth > 0 || field.absent !== true);
      return fc.record(
        Object.fromEntries(fields.map((field) => [field.name, arbitraryJson(field.type, records, pools, depth - 1)])),
        { requiredKeys: fields.flatMap((field) => (field.absent === true ? [] : [field.name])) },
      );
    }
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
