/**
 * Executions that scan, one after the other, at a location whose caches hold anything. The driver, the core and the caches ship.
 * The primary is naive: it compares each version with its own rows, and runs the program itself if one differs.
 */
import {
  type AccessedUnit,
  type CommitId,
  commitId,
  compareBounds,
  compareCommits,
  compareKeys,
  contains,
  countEntry,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  type ExecutionId,
  isEmptyInterval,
  isSpan,
  type Key,
  type KeyInterval,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  observedSpan,
  type Outcome,
  type Query,
  type Repair,
  sameVersion,
  type ScanQuery,
  spanId,
  spanOf,
  splitUnit,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import type { AccessSet, DerivedSet, HandlerRun, RecordedRun, Snapshot } from "@radical/wasm-host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { NOTHING_KNOWN, takes, type Cache } from "./cache/cache.ts";
import { MemoryCache } from "./cache/memory-cache.ts";
import { TieredCache } from "./cache/tiered-cache.ts";
import { itemsOfStored } from "./core/directories.ts";
import type { Answer, CachePut } from "./core/effects.ts";
import { DEFAULT_BOUNDS, Execution } from "./core/execution.ts";
import { Experience } from "./core/experience.ts";
import { assertWellFormed } from "./core/well-formed.ts";
import { ExecutionDriver, type ExecutionPorts } from "./driver.ts";

const TABLE = "posts";
const KEYS = ["a", "b", "c", "d", "\u{e000}", "😀"] as Key[];
const unitOf = (key: Key): UnitId => unitId(TABLE, key);
/** Of the memory in front: none, less than the rows of some programs, more than those of any. */
const MEMORY_BYTES = [0, 3_000, 50_000];

// ── Programs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Scans and counts, then a scan and a get of the last key that was seen, then writes. */
interface Program {
  readonly queries: readonly Query[];
  readonly scans: boolean;
  readonly gets: boolean;
  readonly writes: readonly { readonly key: Key; readonly isDelete: boolean }[];
  readonly isRecorded: boolean;
}

interface Store {
  readonly scan: (query: Query) => readonly (readonly [Key, number])[] | number;
  readonly get: (key: Key) => number | null;
  readonly put: (key: Key, value: Uint8Array | null) => void;
}

function runProgram({ queries, scans, gets, writes }: Program, store: Store): Outcome {
  const seen = queries.map((query) => store.scan(query));
  const last = seen.flatMap((rows) => (typeof rows === "number" ? [] : rows.map(([key]) => key))).at(-1);
  if (scans && last !== undefined)
    seen.push(store.scan({ kind: "rows", table: TABLE, lo: last, hi: "", limit: 2, isReversed: false }));
  const got = gets && last !== undefined ? store.get(last) : null;
  // The writes depend on the rows that were seen.
  const text = JSON.stringify([seen, got]);
  for (const { key, isDelete } of writes) store.put(key, isDelete ? null : Uint8Array.of(text.length % 7, 1));
  return { kind: "result", value: new TextEncoder().encode(text) };
}

const queryUnit = ({ kind, table, lo, hi }: Query): UnitId => spanId({ kind, table, lo, hi });

class Stopped extends Error {
  readonly unit: UnitId;
  constructor(unit: UnitId) {
    super(`it lacks ${unit}`);
    this.unit = unit;
  }
}

/** A run on a snapshot. `missed`: told of queries without an answer and of units without an entry, which then are empty. */
function runOn(
  program: Program,
  snapshot: Snapshot,
  missed: (missing: { readonly query: Query } | { readonly unit: UnitId }) => void,
): { outcome: Outcome; reads: ReadonlySet<UnitId>; writes: ReadonlyMap<UnitId, Uint8Array | null> } {
  const reads = new Set<UnitId>();
  const writes = new Map<UnitId, Uint8Array | null>();
  const read = (unit: UnitId): Entry | null => {
    const entry = snapshot(unit);
    if (entry === undefined) missed({ unit });
    return entry ?? null;
  };
  const outcome = runProgram(program, {
    scan: (query) => {
      const found = snapshot.scan!(query);
      if (query.kind === "count") {
        reads.add(queryUnit(query));
        if (found === undefined) missed({ query });
        return found !== undefined && "count" in found ? found.count : 0;
      }
      const isAnswered =
        found !== undefined && "rows" in found && (found.reachesEnd || found.rows.length === query.limit);
      if (!isAnswered) {
        missed({ query });
        reads.add(queryUnit(query));
        return [];
      }
      const keys = found.rows.map(({ key }) => key);
      reads.add(spanId(observedSpan(query, keys, found.rows.length < query.limit)));
      return found.rows.map(({ key, commitId: id, hash }) => {
        const { version, value } = read(unitOf(key))!;
        expect(version).toEqual({ commitId: id, hash });
        return [key, value![0]!] as const;
      });
    },
    get: (key) => {
      reads.add(unitOf(key));
      return read(unitOf(key))?.value?.[0] ?? null;
    },
    put: (key, value) => void writes.set(unitOf(key), value),
  });
  return { outcome, reads, writes };
}

const sorted = (writes: ReadonlyMap<UnitId, Uint8Array | null>): Write[] =>
  Array.from(writes, ([unit, value]) => ({ unit, value })).toSorted((a, b) =>
    compareBounds(splitUnit(a.unit).key, splitUnit(b.unit).key),
  );

function hostOf(program: Program): ExecutionPorts["host"] {
  const derive = (snapshot: Snapshot) => {
    const missing = new Set<UnitId>();
    const missingQueries: Query[] = [];
    const ran = runOn(program, snapshot, (one) =>
      "query" in one ? void missingQueries.push(one.query) : void missing.add(one.unit),
    );
    const set: AccessSet = { reads: ran.reads, writes: new Set(ran.writes.keys()) };
    return { ran, set, missing: [...missing], missingQueries };
  };
  return {
    deriveAccessSet: (snapshot): DerivedSet => {
      const { set, missing, missingQueries } = derive(snapshot);
      return { kind: "derived", set, missing, missingQueries, dependent: [] };
    },
    recordHandler: (snapshot): RecordedRun => {
      const { ran, set, missing, missingQueries } = derive(snapshot);
      const { outcome, reads, writes } = ran;
      const run = { kind: "completed", outcome, reads: [...reads], writes: sorted(writes), fuel: 0 } as const;
      return { set, missing, missingQueries, run, isExhausted: false };
    },
    runHandler: (snapshot, { reads: declared }): HandlerRun => {
      try {
        const { outcome, reads, writes } = runOn(program, snapshot, (one) => {
          throw new Stopped("query" in one ? queryUnit(one.query) : one.unit);
        });
        expect([...reads].filter((unit) => !declared.has(unit))).toEqual([]);
        return { kind: "completed", outcome, reads: [...reads], writes: sorted(writes), fuel: 0 };
      } catch (error) {
        if (error instanceof Stopped) return { kind: "missing", unit: error.unit, missingQueries: [] };
        throw error;
      }
    },
  };
}

// ── The primary ──────────────────────────────────────────────────────────────────────────────────────────────────────

class Primary {
  readonly items = new Map<Key, Entry>();
  #sequence = 0;

  get asOf(): CommitId {
    return commitId(1, this.#sequence);
  }

  write(writes: readonly Write[]): CommitId {
    const id = commitId(1, ++this.#sequence);
    for (const { unit, value } of writes) this.items.set(splitUnit(unit).key, entryOf(id, value));
    return id;
  }

  rowsOf(interval: KeyInterval): DirectoryRow[] {
    return [...this.items]
      .filter(([key, { value }]) => value !== null && contains(interval, key))
      .map(([key, { version }]) => ({ key, commitId: version.commitId, hash: version.hash! }))
      .toSorted((a, b) => compareBounds(a.key, b.key));
  }

  entryOf(unit: UnitId): Entry {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span === null) return this.items.get(splitUnit(unit).key) ?? entryOf(NO_COMMIT, null);
    const rows = this.rowsOf(span);
    return span.kind === "count" ? countEntry(this.asOf, rows.length) : directoryEntry(this.asOf, rows);
  }

  get snapshot(): Snapshot {
    const item = (unit: UnitId): Entry => this.entryOf(unit);
    return Object.assign(item, {
      scan: (query: Query) => {
        const rows = this.rowsOf(query);
        if (query.kind === "count") return { count: rows.length };
        const walked = query.isReversed ? rows.toReversed() : rows;
        return { rows: walked.slice(0, query.limit), reachesEnd: walked.length <= query.limit };
      },
    });
  }

  answer({ units }: LviRequest, program: Program): LviReply {
    const isStale = ({ unit, ...accessed }: AccessedUnit): boolean =>
      accessed.mode !== "write" &&
      (accessed.version === null || !sameVersion(unit, accessed.version, this.entryOf(unit).version));
    const times = { receivedAtMs: 0, sentAtMs: 0 };
    if (units !== null && !units.some(isStale)) {
      const isReading = units.every(({ mode }) => mode === "read");
      this.#sequence++;
      return { kind: "valid", commitId: isReading ? null : this.asOf, asOf: this.asOf, times };
    }
    const { outcome, reads, writes } = runOn(program, this.snapshot, () => expect.fail("the primary has everything"));
    if (writes.size > 0) this.write(sorted(writes));
    const sent = new Map(units?.map((accessed) => [accessed.unit, accessed] as const));
    const repairs = new Map<UnitId, Entry>();
    const told = (unit: UnitId): CommitId => {
      const accessed = sent.get(unit);
      return accessed === undefined || accessed.mode === "write" || accessed.version === null
        ? NO_COMMIT
        : accessed.version.commitId;
    };
    for (const unit of new Set([...reads, ...(units ?? []).filter(isStale).map((accessed) => accessed.unit)])) {
      repairs.set(unit, this.entryOf(unit));
      const span = isSpan(unit) ? spanOf(unit) : null;
      if (span?.kind !== "rows") continue;
      for (const { key, commitId: id } of this.rowsOf(span))
        if (compareCommits(id, told(unit)) > 0) repairs.set(unitOf(key), this.entryOf(unitOf(key)));
    }
    for (const [unit] of writes) repairs.set(unit, this.entryOf(unit));
    const asRepairs: Repair[] = Array.from(repairs, ([unit, entry]) => ({ unit, entry }));
    return {
      kind: "executed",
      cause: units === null ? "requested" : "stale",
      outcome,
      repairs: asRepairs,
      asOf: this.asOf,
      times,
    };
  }
}

// ── The location ─────────────────────────────────────────────────────────────────────────────────────────────────────

class Behind implements Cache {
  readonly entries = new Map<UnitId, Entry>();
  readonly directories = NOTHING_KNOWN;
  /** A Durable Object compares, KV does not. */
  readonly #compares: boolean;

  constructor(compares: boolean) {
    this.#compares = compares;
  }

  peek(): undefined {
    return undefined;
  }

  getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const found = new Map<UnitId, Entry>();
    const wanted = new Set(units);
    for (const unit of wanted) {
      const entry = this.entries.get(unit);
      if (entry === undefined) continue;
      found.set(unit, entry);
      for (const item of itemsOfStored(unit, entry)) wanted.add(item);
    }
    return Promise.resolve(found);
  }

  putMany(puts: readonly CachePut[]): Promise<void> {
    for (const put of puts)
      if (!this.#compares || takes(this.entries.get(put.unit)?.version, put)) this.entries.set(put.unit, put.entry);
    return Promise.resolve();
  }
}

async function handOn<T>(coming: Promise<T>, done: (value: T) => void): Promise<void> {
  done(await coming);
}

interface Caches {
  readonly memoryBytes: number;
  readonly compares: boolean;
}

interface Damage {
  readonly at: number;
  readonly kind: "lost" | "garbled" | "other" | "future" | "rolled back";
  readonly by: number;
}

class Location {
  readonly #primary: Primary;
  readonly #memoryBytes: number;
  readonly #behind: Behind;
  readonly #experience = new Experience();
  #cache!: TieredCache;
  #earlier: ReadonlyMap<UnitId, Entry> = new Map();
  #executions = 0;

  constructor(primary: Primary, { memoryBytes, compares }: Caches) {
    this.#primary = primary;
    this.#memoryBytes = memoryBytes;
    this.#behind = new Behind(compares);
    this.restart(false);
  }

  /** Of the cache behind, under true checksums. */
  damage(damages: Iterable<Damage>): void {
    const { entries } = this.#behind;
    const all = [...entries.keys()].toSorted(compareKeys);
    for (const { at, kind, by } of damages) {
      const unit = all[at % all.length];
      const entry = unit === undefined ? undefined : entries.get(unit);
      if (unit === undefined || entry === undefined) continue;
      switch (kind) {
        case "lost":
          entries.delete(unit);
          break;
        case "garbled":
          entries.set(
            unit,
            entryOf(
              entry.version.commitId,
              (entry.value ?? new Uint8Array(4)).map((byte) => byte ^ by),
            ),
          );
          break;
        case "other":
          entries.set(unit, entries.get(all[by % all.length]!) ?? entry);
          break;
        case "future":
          entries.set(unit, { ...entry, version: { ...entry.version, commitId: commitId(9, by) } });
          break;
        case "rolled back":
          if (this.#earlier.has(unit)) entries.set(unit, this.#earlier.get(unit)!);
      }
    }
    this.#earlier = new Map(entries);
  }

  /** Another isolate has its own memory. */
  restart(isEmpty: boolean): void {
    if (isEmpty) this.#behind.entries.clear();
    this.#cache = new TieredCache(new MemoryCache(this.#memoryBytes), this.#behind);
  }

  put(puts: readonly CachePut[]): Promise<void> {
    return this.#cache.putMany(puts);
  }

  async execute(program: Program): Promise<Answer> {
    const execution = new Execution(
      {
        executionId: String(++this.#executions).padStart(32, "0") as ExecutionId,
        module: "ab".repeat(32) as ModuleHash,
        handler: JSON.stringify(program),
        args: new Uint8Array(),
        environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
        location: "VA",
        plan: program.isRecorded ? "recorded" : "sliced",
        retained: false,
        repeatKey: "",
        mustNotWrite: false,
        mayEffect: false,
        prefersSpeculative: false,
        speculative: false,
        watches: false,
        takesLeases: false,
        undeclaredTables: [],
      },
      DEFAULT_BOUNDS,
      this.#experience,
    );
    const finishing = Promise.withResolvers<void>();
    let given: Answer | null = null;
    let told: Promise<LviReply> = Promise.reject(new Error("nothing was asked"));
    told.catch(() => undefined);
    const cache = this.#cache;
    new ExecutionDriver(
      {
        step: (event) => {
          const effects = execution.step(event);
          assertWellFormed(execution);
          return effects;
        },
        get answered() {
          return execution.answered;
        },
      },
      {
        now: () => 0,
        wait: (_ms, { done }) => done(),
        peek: (unit) => cache.peek(unit),
        directories: cache.directories,
        getMany: (units, { done }) => void handOn(cache.getMany(units), done),
        putMany: (puts, { done }) => void handOn(cache.putMany(puts), done),
        ask: (_server, request, _timeoutMs, { done }) => {
          told = Promise.resolve(this.#primary.answer(request, program));
          void handOn(told, (reply) => done({ kind: "reply", reply }));
        },
        follow: (_server, { commitId: id, writes }, _timeoutMs, { done }) => {
          for (const { unit, value } of writes) this.#primary.items.set(splitUnit(unit).key, entryOf(id, value));
          done({ kind: "reply", reply: "applied" });
        },
        alarm: (_server, _alarm, _timeoutMs, { done }) => done(),
        takeTurn: (after, run, { done }) =>
          void handOn<unknown>(after === "send" || after === "reply" ? told : Promise.resolve(), () => {
            run();
            done();
          }),
        host: hostOf(program),
        show: () => undefined,
        answer: (answer, _verdict, { done }) => {
          given = answer;
          done();
        },
        warn: (_code, message) => finishing.reject(new Error(message)),
        failed: (error) => finishing.reject(error),
        finished: () => finishing.resolve(),
        endsBeforeEvent: () => false,
        endsBeforeEffect: () => false,
      },
    ).start();
    await finishing.promise;
    return given!;
  }
}

// ── Happenings ───────────────────────────────────────────────────────────────────────────────────────────────────────

const key = fc.constantFrom(...KEYS);
const interval = fc
  .record({ table: fc.constant(TABLE), lo: fc.constantFrom("", ...KEYS), hi: fc.constantFrom("", ...KEYS) })
  .filter((drawn) => !isEmptyInterval(drawn));
const scan = fc
  .record({ of: interval, limit: fc.integer({ min: 1, max: 4 }), isReversed: fc.boolean() })
  .map(({ of, limit, isReversed }): Query & ScanQuery => ({ kind: "rows", ...of, limit, isReversed }));
const query = fc.oneof(
  scan,
  scan,
  interval.map((of): Query => ({ kind: "count", ...of })),
);
const program: fc.Arbitrary<Program> = fc.record({
  queries: fc.array(query, { minLength: 1, maxLength: 3 }),
  scans: fc.boolean(),
  gets: fc.boolean(),
  writes: fc.array(fc.record({ key, isDelete: fc.boolean() }), { maxLength: 2 }),
  isRecorded: fc.boolean(),
});

type Happening =
  | { readonly kind: "execute"; readonly program: Program }
  /** Another location writes. `isTold`: this one gets an update. */
  | { readonly kind: "elsewhere"; readonly key: Key; readonly value: number; readonly isTold: boolean }
  | { readonly kind: "restart"; readonly isEmpty: boolean }
  /** `ends`: so does the isolate, whose memory would hide what is behind. */
  | { readonly kind: "damage"; readonly damages: readonly Damage[]; readonly ends: boolean }
  /** The cache holds what never was. */
  | { readonly kind: "wrong item"; readonly key: Key; readonly value: number; readonly sequence: number }
  | { readonly kind: "wrong rows"; readonly of: KeyInterval; readonly keys: readonly Key[]; readonly sequence: number };

const caches: fc.Arbitrary<Caches> = fc.record({
  memoryBytes: fc.constantFrom(...MEMORY_BYTES),
  compares: fc.boolean(),
});
const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(99),
  kind: fc.constantFrom("lost", "garbled", "other", "future", "rolled back"),
  by: fc.nat(255),
});
const value = fc.integer({ min: 0, max: 3 });
const sequence = fc.integer({ min: 1, max: 12 });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: program.map((drawn) => ({ kind: "execute", program: drawn }) as const) },
  {
    weight: 3,
    arbitrary: fc
      .record({ key, value, isTold: fc.boolean() })
      .map((drawn) => ({ kind: "elsewhere", ...drawn }) as const),
  },
  { weight: 1, arbitrary: fc.boolean().map((isEmpty) => ({ kind: "restart", isEmpty }) as const) },
  {
    weight: 1,
    arbitrary: fc
      .record({ damages: fc.array(damage, { minLength: 1, maxLength: 9 }), ends: fc.boolean() })
      .map((drawn) => ({ kind: "damage", ...drawn }) as const),
  },
  {
    weight: 1,
    arbitrary: fc.record({ key, value, sequence }).map((drawn) => ({ kind: "wrong item", ...drawn }) as const),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ of: interval, keys: fc.uniqueArray(key), sequence })
      .map((drawn) => ({ kind: "wrong rows", ...drawn }) as const),
  },
);

const valueOf = (number: number): Uint8Array | null => (number === 0 ? null : Uint8Array.of(number));

async function happen(one: Happening, primary: Primary, location: Location): Promise<void> {
  switch (one.kind) {
    case "execute":
      return expectTruth(await truthAnd(one.program, primary, location));
    case "elsewhere": {
      const unit = unitOf(one.key);
      primary.write([{ unit, value: valueOf(one.value) }]);
      return one.isTold ? location.put([{ unit, entry: primary.entryOf(unit) }]) : undefined;
    }
    case "restart":
      return location.restart(one.isEmpty);
    case "damage":
      location.damage(one.damages);
      return one.ends ? location.restart(false) : undefined;
    case "wrong item":
      return location.put([{ unit: unitOf(one.key), entry: entryOf(commitId(1, one.sequence), valueOf(one.value)) }]);
    case "wrong rows": {
      const rows = one.keys
        .filter((each) => contains(one.of, each))
        .toSorted(compareBounds)
        .map((each) => ({
          key: each,
          commitId: commitId(1, one.sequence),
          hash: entryOf(NO_COMMIT, valueOf(1)).version.hash!,
        }));
      return location.put([{ unit: spanId({ ...one.of, kind: "rows" }), entry: directoryEntry(primary.asOf, rows) }]);
    }
  }
}

/** The outcome that the primary's rows give, and the answer of the location. */
async function truthAnd(
  of: Program,
  primary: Primary,
  location: Location,
): Promise<{ readonly truth: Outcome; readonly answer: Answer }> {
  const { outcome: truth } = runOn(of, primary.snapshot, () => expect.fail("the primary has everything"));
  return { truth, answer: await location.execute(of) };
}

function expectTruth({ truth, answer }: { readonly truth: Outcome; readonly answer: Answer }): void {
  expect(answer).toMatchObject({ kind: "outcome", outcome: truth });
}

test("whatever the caches hold, each execution sees the rows of the primary", async () => {
  await fc.assert(
    fc.asyncProperty(caches, fc.array(happening, { maxLength: 15 }), async (drawn, happenings) => {
      const primary = new Primary();
      const location = new Location(primary, drawn);
      for (const one of happenings) await happen(one, primary, location);
    }),
    { numRuns: 300 },
  );
});

test("whatever the caches hold, a program that runs again and again is soon confirmed", async () => {
  await fc.assert(
    fc.asyncProperty(caches, fc.array(happening, { maxLength: 15 }), program, async (kind, happenings, drawn) => {
      const last = { ...drawn, writes: [] };
      const primary = new Primary();
      const location = new Location(primary, kind);
      for (const one of happenings) await happen(one, primary, location);
      const paths: string[] = [];
      for (let time = 0; time < 8; time++) {
        const told = await truthAnd(last, primary, location);
        expectTruth(told);
        paths.push(told.answer.kind === "outcome" ? told.answer.path : told.answer.kind);
      }
      // Each piece of wrong rows costs one validation.
      expect(paths.slice(6)).toEqual(["speculative", "speculative"]);
    }),
    { numRuns: 300 },
  );
});
