/**
 * The runs that the protocol knows, each on one captured snapshot. The read/write-set function finds the units that the
 * handler will access. The handler runs under a declared set, or in record mode, which is both at once. The edge and the
 * primary use the same.
 */
import {
  byUnit,
  isExhaustion,
  READ_WRITE_SET_FUEL,
  READ_WRITE_SET_STACK_BYTES,
  type KeyInterval,
  type Limits,
  type LoggedLine,
  type Outcome,
  type Query,
  type RunEffect,
  type ScanQuery,
  type Span,
  spanId,
  unitId,
  type UnitId,
  type Write,
} from "@radical/protocol";
import { Execution, type Ending, type Invocation, type Items } from "./execution.ts";
import type { HandlerModule } from "./module.ts";
import { isWithin, ownIn, type OwnWrites, type Snapshot, spansOf, unitOfQuery, walk, type Walk } from "./spans.ts";

/** A unit that is both read and written is in both. The spans among the reads are those that were observed. */
export interface AccessSet {
  readonly reads: ReadonlySet<UnitId>;
  readonly writes: ReadonlySet<UnitId>;
  /** The keys of its tasks. Left out: none. */
  readonly lanes?: ReadonlySet<string>;
}

export type DerivedSet =
  | {
      readonly kind: "derived";
      readonly set: AccessSet;
      /**
       * Units whose value the function needed and the snapshot lacks. If there are any, the set is provisional:
       * capture them (and, in the same batch, all of `set.reads`), then derive again.
       */
      readonly missing: readonly UnitId[];
      /**
       * Queries whose answer, or the value of one of its rows, the snapshot lacks. The function was told that there are no
       * such rows to the end of the range, and the set is provisional too.
       */
      readonly missingQueries: readonly Query[];
      /** Reads whose value the function needed. */
      readonly dependent: readonly UnitId[];
    }
  /** There is no set: the handler has to run near storage. */
  | { readonly kind: "failed"; readonly reason: string };

/** A run of the handler that came to its end. */
export interface CompletedRun {
  readonly kind: "completed";
  readonly outcome: Outcome;
  /** In order of first read. */
  readonly reads: readonly UnitId[];
  /** Sorted by unit, the last write of each; none after an abort or a trap. */
  readonly writes: readonly Write[];
  /** Tasks, cancellations and signals that it asks for, in order; none after an abort or a trap. Left out: none. */
  readonly effects?: readonly RunEffect[];
  /** Used fuel, of that of its module's limits. */
  readonly fuel: number;
  /** The lines that it has logged, however it has ended. Left out: none. */
  readonly logged?: readonly LoggedLine[];
}

export type HandlerRun =
  | CompletedRun
  /** The handler accessed a unit outside the declared set: the set was wrong. */
  | { readonly kind: "undeclared"; readonly unit: UnitId; readonly mode: "read" | "write" }
  /** The handler named a lane outside the declared set. */
  | { readonly kind: "undeclared-lane"; readonly lane: string }
  /** The handler read a unit that was not captured. Of a query without an answer it is the span of the whole range. */
  | { readonly kind: "missing"; readonly unit: UnitId; readonly missingQueries: readonly Query[] }
  /** A speculative run has used up its fuel, of which a run near storage has more. */
  | { readonly kind: "exhausted" };

/**
 * Whether it is a run at a location, or one in its place: it has the `speculationFuel` of its module only. All such runs of
 * an execution end at the same point.
 */
export interface Speculative {
  readonly speculative?: boolean;
}

/** A run of the handler in record mode. */
export interface RecordedRun {
  /** The units that the handler touched; also the writes that its abort or trap undid. */
  readonly set: AccessSet;
  /** Units that the snapshot lacks. If there are any, the set is provisional: capture them, then record again. */
  readonly missing: readonly UnitId[];
  /** Queries whose answer, or the value of one of its rows, the snapshot lacks. They make the set provisional too. */
  readonly missingQueries: readonly Query[];
  /** With units missing it is the run, and has the set, for the case that they are absent. Null: it was ended early. */
  readonly run: CompletedRun | null;
  /** It was speculative and has used up its fuel, so it was ended early. */
  readonly isExhausted: boolean;
}

/**
 * Most missing units that one run in record mode collects. The run sees less and less of the real items, and might look
 * for something forever.
 */
const MAX_MISSING = 1_000;

/**
 * Runs the read/write-set function. A read that the snapshot lacks finds the item absent, so that one run finds as many
 * missing units as it can.
 */
export function deriveAccessSet(module: HandlerModule, invocation: Invocation, snapshot: Snapshot): DerivedSet {
  const reads = new Set<UnitId>();
  const writes = new Set<UnitId>();
  const lanes = new Set<string>();
  const dependent = new Set<UnitId>();
  const missing = new Set<UnitId>();
  const queries = new Queries();
  const items: Items<never> = {
    read(unit) {
      reads.add(unit);
      dependent.add(unit);
      const entry = snapshot(unit);
      if (entry === undefined) missing.add(unit);
      return entry?.value ?? null;
    },
    touch: (unit) => void reads.add(unit),
    touchUnwritten: (unit) => void (writes.has(unit) || reads.add(unit)),
    write: (unit) => void writes.add(unit),
    lane: (key) => void lanes.add(key),
    scan(query, run, isNeeded) {
      const { rows, observed } = guessed(query, known(run.writes, writes), snapshot, isNeeded, queries);
      const unit = spanId(observed);
      reads.add(unit);
      if (isNeeded) dependent.add(unit);
      return rows;
    },
    count(interval, run) {
      this.touchCount(interval, run);
      dependent.add(spanId({ ...interval, kind: "count" }));
      return countIn(interval, snapshot) ?? queries.add({ ...interval, kind: "count" });
    },
    touchCount(interval, run) {
      reads.add(spanId({ ...interval, kind: "count" }));
      // Those that it said without values too: the handler looks whether they are stored.
      for (const [key] of ownIn(interval, known(run.writes, writes))) reads.add(unitId(interval.table, key));
    },
  };
  const limits = { ...module.limits, fuel: READ_WRITE_SET_FUEL, stackBytes: READ_WRITE_SET_STACK_BYTES };
  const execution = new Execution(invocation, limits, items);
  const ending = execution.run(module.rw);
  if (ending === null)
    return { kind: "failed", reason: `there is no read/write-set function of ${invocation.handler}` };
  // The set of a run on invented absences is only provisional, however the run has ended.
  if (missing.size + queries.size === 0 && ending.kind === "ended" && ending.outcome.kind === "trap") {
    // Where f^rw fails an assertion, f ends too, having accessed the same units. But the two need different amounts of
    // fuel, memory and stack. An access that no store takes may be one of those that f^rw makes beyond f's, while f goes
    // on.
    const { code, message } = ending.outcome;
    if (isExhaustion(code) || code === "invalid_access")
      return { kind: "failed", reason: `the read/write-set function trapped: ${message}` };
  }
  return {
    kind: "derived",
    set: setOf(reads, writes, lanes),
    missing: [...missing],
    missingQueries: queries.all,
    dependent: [...dependent],
  };
}

/**
 * Record mode: runs the handler itself on the snapshot; nothing is refused, all that it touches is written down. On a
 * snapshot that has everything, this is the handler's run, and nothing has to run again.
 *
 * A read that the snapshot lacks ends the run. With `guess` it finds the item absent instead. One run then finds many
 * missing units, but on values that may never have been there together.
 */
export function recordHandler(
  module: HandlerModule,
  invocation: Invocation,
  snapshot: Snapshot,
  { guess, speculative = false }: Speculative & { readonly guess: boolean },
): RecordedRun {
  const reads = new Set<UnitId>();
  const writes = new Set<UnitId>();
  const lanes = new Set<string>();
  const missing = new Set<UnitId>();
  const queries = new Queries();
  const isEnough = (): boolean => !guess || missing.size + queries.size >= MAX_MISSING;
  const items: Items<null> = {
    read(unit, run) {
      reads.add(unit);
      const entry = snapshot(unit);
      if (entry === undefined) {
        missing.add(unit);
        if (isEnough()) run.stop(null);
      }
      return entry?.value ?? null;
    },
    touch(unit, run) {
      this.read(unit, run);
    },
    touchUnwritten(unit, run) {
      this.read(unit, run);
    },
    write: (unit) => void writes.add(unit),
    lane: (key) => void lanes.add(key),
    scan(query, run) {
      const before = queries.size;
      const { rows, observed } = guessed(query, run.writes, snapshot, true, queries);
      reads.add(spanId(observed));
      if (queries.size > before && isEnough()) run.stop(null);
      return rows;
    },
    count(interval, run) {
      reads.add(spanId({ ...interval, kind: "count" }));
      const count = countIn(interval, snapshot);
      if (count !== undefined) return count;
      queries.add({ ...interval, kind: "count" });
      return isEnough() ? run.stop(null) : 0;
    },
    touchCount(interval, run) {
      this.count(interval, run);
    },
  };
  const limits = limitsOf(module, speculative);
  const execution = new Execution(invocation, limits, items);
  const ending = runOf(module, invocation, execution);
  const exhausted = isExhausted(ending, limits, module);
  const run = ending.kind === "stopped" || exhausted ? null : completed(ending, reads, execution);
  const set = setOf(reads, writes, lanes);
  return { set, missing: [...missing], missingQueries: queries.all, run, isExhausted: exhausted };
}

function setOf(reads: ReadonlySet<UnitId>, writes: ReadonlySet<UnitId>, lanes: ReadonlySet<string>): AccessSet {
  return lanes.size === 0 ? { reads, writes } : { reads, writes, lanes };
}

/** Runs the handler on the snapshot. Anything outside the declared set ends the run as `undeclared`. */
export function runHandler(
  module: HandlerModule,
  invocation: Invocation,
  snapshot: Snapshot,
  access: AccessSet,
  { speculative = false }: Speculative = {},
): HandlerRun {
  type Stop = Extract<HandlerRun, { kind: "undeclared" | "undeclared-lane" | "missing" }>;
  const reads = new Set<UnitId>();
  let spans: readonly Span[] | null = null;
  const declared = (): readonly Span[] => (spans ??= spansOf(access.reads));
  const items: Items<Stop> = {
    read(unit, run) {
      if (!access.reads.has(unit)) return run.stop({ kind: "undeclared", unit, mode: "read" });
      const entry = snapshot(unit);
      if (entry === undefined) return run.stop({ kind: "missing", unit, missingQueries: [] });
      reads.add(unit);
      return entry.value;
    },
    touch(unit, run) {
      this.read(unit, run);
    },
    touchUnwritten(unit, run) {
      this.read(unit, run);
    },
    write(unit, run) {
      if (!access.writes.has(unit)) run.stop({ kind: "undeclared", unit, mode: "write" });
    },
    lane(key, run) {
      if (access.lanes?.has(key) !== true) run.stop({ kind: "undeclared-lane", lane: key });
    },
    scan(query, run) {
      const walked = walk(query, run.writes, snapshot, true);
      if (walked.kind === "missing") {
        const unit = unitOfQuery(walked.query);
        return run.stop({ kind: "missing", unit, missingQueries: [walked.query] });
      }
      const { rows, observed } = walked;
      const unit = spanId(observed);
      if (!declared().some((span) => isWithin(observed, span))) run.stop({ kind: "undeclared", unit, mode: "read" });
      reads.add(unit);
      return rows;
    },
    count(interval, run) {
      const unit = spanId({ ...interval, kind: "count" });
      if (!access.reads.has(unit)) return run.stop({ kind: "undeclared", unit, mode: "read" });
      const count = countIn(interval, snapshot);
      if (count === undefined)
        return run.stop({ kind: "missing", unit, missingQueries: [{ ...interval, kind: "count" }] });
      reads.add(unit);
      return count;
    },
    touchCount(interval, run) {
      this.count(interval, run);
    },
  };
  const limits = limitsOf(module, speculative);
  const execution = new Execution(invocation, limits, items);
  const ending = runOf(module, invocation, execution);
  if (ending.kind === "stopped") return ending.stop;
  if (isExhausted(ending, limits, module)) return { kind: "exhausted" };
  return completed(ending, reads, execution);
}

/** The queries that a run has missed, each once. */
class Queries {
  readonly #all = new Map<string, Query>();

  get size(): number {
    return this.#all.size;
  }

  get all(): readonly Query[] {
    return [...this.#all.values()];
  }

  /** Gives the number of rows that the run is told. */
  add(query: Query): 0 {
    this.#all.set(JSON.stringify(query), query);
    return 0;
  }
}

/** Nothing is stored as far as it knows. */
const EMPTY: Snapshot = Object.assign((): undefined => undefined, {
  scan: () => ({ rows: [], reachesEnd: true }),
});

/** Walks. A walk that lacks something is made as if nothing were stored in the range. */
function guessed(
  query: ScanQuery,
  writes: OwnWrites,
  snapshot: Snapshot,
  isNeeded: boolean,
  queries: Queries,
): Extract<Walk, { kind: "walked" }> {
  const walked = walk(query, writes, snapshot, isNeeded);
  if (walked.kind === "walked") return walked;
  queries.add(walked.query);
  const again = walk(query, writes, EMPTY, isNeeded);
  if (again.kind === "missing") throw new Error("a walk over nothing lacks something");
  return again;
}

/**
 * The writes of a read/write-set function. It may have said that it writes a key without the value, and perhaps the handler
 * deletes it. A walk passes over such a key, so it comes at least as far as the handler's.
 */
function known(writes: ReadonlyMap<UnitId, Uint8Array | null>, said: ReadonlySet<UnitId>): OwnWrites {
  return Array.from(said, (unit) => [unit, writes.get(unit) ?? null] as const);
}

function countIn(interval: KeyInterval, snapshot: Snapshot): number | undefined {
  const answer = snapshot.scan?.({ ...interval, kind: "count" });
  return answer !== undefined && "count" in answer ? answer.count : undefined;
}

function limitsOf({ limits }: HandlerModule, speculative: boolean): Limits {
  return speculative ? { ...limits, fuel: limits.speculationFuel } : limits;
}

/** Where all the fuel may be used at a location, using it up is an outcome there too. */
function isExhausted<Stop>(ending: Ending<Stop>, { fuel }: Limits, module: HandlerModule): boolean {
  if (fuel >= module.limits.fuel || ending.kind === "stopped") return false;
  return ending.outcome.kind === "trap" && ending.outcome.code === "out_of_fuel";
}

function runOf<Stop>(module: HandlerModule, { handler }: Invocation, execution: Execution<Stop>): Ending<Stop> {
  const ended = module.pace?.(handler);
  const ending = execution.run(module.f);
  if (ending === null) throw new Error(`the module has no handler ${handler}`);
  if (ending.kind === "ended") ended?.();
  return ending;
}

function completed<Stop>(
  { outcome, fuel }: Extract<Ending<Stop>, { kind: "ended" }>,
  reads: ReadonlySet<UnitId>,
  { writes, effects, logged }: Pick<Execution<Stop>, "writes" | "effects" | "logged">,
): CompletedRun {
  const sorted = Array.from(writes, ([unit, value]) => ({ unit, value })).toSorted(byUnit);
  const run: CompletedRun = {
    kind: "completed",
    outcome,
    reads: [...reads],
    writes: outcome.kind === "result" ? sorted : [],
    fuel,
    ...(outcome.kind === "result" && effects.length > 0 ? { effects } : {}),
  };
  return logged === null ? run : { ...run, logged };
}
