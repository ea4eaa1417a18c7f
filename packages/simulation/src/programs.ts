/**
 * Modelled handlers: small programs over few units. Every value names its writer, and every outcome tells which values its
 * execution saw. So a checker can tell versions apart. The outcome also has the client's result, for the checkers that look
 * at nothing else. `programs` come in groups: those of one group use the same units.
 */
import type { Host } from "@radical/lvi-server/core";
import {
  byUnit,
  compareBounds,
  contains,
  type Entry,
  type Environment,
  type HandlerPlan,
  type KeyInterval,
  type ModuleHash,
  type Outcome,
  type Query,
  type ScanQuery,
  type Span,
  spanId,
  splitUnit,
  type UnitId,
  type Write,
} from "@radical/protocol";
import { isWithin, type Snapshot, spansOf, walk, type WalkedRow } from "@radical/wasm-host";

/** The arguments of every program. */
export interface ProgramArguments {
  /** Unique: the name of the operation, which its values carry. */
  readonly operation: string;
  readonly units: readonly UnitId[];
  readonly amount: number;
}

/** A value as a program sees it. */
interface Stored {
  readonly writer: string;
  readonly payload: string;
}

/** The items, as a program sees them. `read` with a value that decides what else is accessed is `look`. */
interface Items {
  readonly environment: Environment;
  read(unit: UnitId): Stored | null;
  look(unit: UnitId): Stored | null;
  /** The first rows of an interval, or the last ones: as many as the query says. */
  rows(query: ScanQuery): readonly UnitId[];
  /** How many rows are stored in an interval to which the program has written nothing. */
  count(interval: KeyInterval): number;
  put(unit: UnitId, payload?: string): void;
  remove(unit: UnitId): void;
  abort(code: string): never;
  trap(): never;
}

/** It returns the client's result. */
type Program = (items: Items, args: ProgramArguments) => string | void;

const unitsOf = (table: string, keys: string): readonly UnitId[] =>
  Array.from(keys, (key) => `${table}/${key}` as UnitId);

/** Few units each, so that executions meet. */
const ITEMS = unitsOf("item", "abcde");
const ACCOUNTS = unitsOf("account", "1234");
const LISTS = unitsOf("list", "xy");
const BUCKETS = unitsOf("bucket", "01");
const SLOTS = unitsOf("slot", "123");
const COUNTERS = unitsOf("counter", "n");
const REGISTERS = unitsOf("register", "pq");
const RESULTS = unitsOf("result", "rs");
/** JavaScript's own order has the last one before the one before it. */
const ROWS = unitsOf("row", "abcd\ue000😀");
const SEATS = unitsOf("seat", "abcd");
const STOCK = unitsOf("stock", "abcd");
/** How many more may be taken of the stock. */
const LEFT = "left/n" as UnitId;
/** All items that a span of a table may have. */
export const ITEMS_OF: ReadonlyMap<string, readonly UnitId[]> = new Map([
  ["row", ROWS],
  ["seat", SEATS],
  ["stock", STOCK],
]);

/** Nobody gives away more of them. */
export const MOST_SEATS = 2;
/** So many are taken, or left. */
export const MOST_STOCK = 3;

/** An account that was never written has this. */
export const INITIAL_BALANCE = 100;
export const TOTAL_BALANCE = INITIAL_BALANCE * ACCOUNTS.length;

/** The unit that a value points to. */
function target(value: Stored | null): UnitId {
  let sum = 0;
  const text = value?.writer ?? "";
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) % 9973;
  return ITEMS[sum % ITEMS.length]!;
}

const readAndPut: Program = (items, { units }) => {
  for (const unit of units) {
    items.read(unit);
    items.put(unit);
  }
};

const balanceOf = (value: Stored | null): number => (value === null ? INITIAL_BALANCE : Number(value.payload));

/** An account with the initial balance is not stored: accounts are deleted and made again. */
function setBalance(items: Items, unit: UnitId, balance: number): void {
  if (balance === INITIAL_BALANCE) items.remove(unit);
  else items.put(unit, String(balance));
}

function appended(items: Items, unit: UnitId, element: string): string {
  const before = items.read(unit)?.payload ?? "";
  const after = before === "" ? element : `${before} ${element}`;
  items.put(unit, after);
  return after;
}

const payloads: Program = (items, { units }) => units.map((unit) => items.read(unit)?.payload ?? "").join("/");

/** The rows between two units, to the end of the table now and then; from either end; few, or more than there are. */
export function queryOf({ units, amount }: Pick<ProgramArguments, "units" | "amount">): ScanQuery {
  const { table, key: a } = splitUnit(units[0]!);
  const { key: b } = splitUnit(units.at(-1)!);
  const [lo, hi] = compareBounds(a, b) <= 0 ? [a, b] : [b, a];
  const bounds = [
    { lo: "", hi: "" },
    { lo, hi: "" },
    { lo: "", hi },
    { lo, hi },
  ][amount % 4]!;
  return { table, ...bounds, limit: [1, 2, 3, 9][(amount >> 2) % 4]!, isReversed: (amount >> 4) % 2 === 1 };
}

const page: Program = (items, args) => shownRows(items.rows(queryOf(args)));

function shownRows(rows: readonly UnitId[]): string {
  return rows.map(nameOfUnit).join(" ");
}

/** A page, and a row beside it or in it. */
const pageAndPut: Program = (items, args) => {
  const rows = page(items, args);
  items.put(args.units[0]!, String(args.amount));
  return rows;
};

const leftOf = (items: Items): number => Number(items.look(LEFT)?.payload ?? MOST_STOCK);

/** Value and result depend on all that was written before. */
const append: Program = (items, { operation, units }) => appended(items, units[0]!, operation);

const PROGRAMS = {
  // Items: all shapes of sets.
  read: (items, { units }) => {
    for (const unit of units) items.read(unit);
  },
  update: readAndPut,
  overwrite: (items, { units }) => {
    for (const unit of units) items.put(unit);
  },
  remove: (items, { units }) => {
    items.read(units[0]!);
    items.remove(units[0]!);
  },
  /** Reads all, writes the first only if it is absent. */
  claim: (items, { units }) => {
    for (const unit of units.slice(1)) items.read(unit);
    if (items.look(units[0]!) === null) items.put(units[0]!);
  },
  /** The unit that it writes depends on what it reads. */
  follow: (items, { units }) => {
    const next = target(items.look(units[0]!));
    items.read(next);
    items.put(next);
  },
  /** A chain of two dependent reads, and no write. */
  trace: (items, { units }) => void items.read(target(items.look(target(items.look(units[0]!))))),
  /** Aborts if the first is there. */
  insist: (items, { units }) => {
    if (items.look(units[0]!) !== null) items.abort("there");
    items.put(units[0]!);
    items.read(units[1] ?? units[0]!);
  },
  /** Writes, and then traps if what it read has a certain writer: nothing is written. */
  divide: (items, { units }) => {
    const value = items.read(units[0]!);
    items.put(units[0]!);
    if (value !== null && value.writer.charCodeAt(value.writer.length - 1) % 2 === 0) items.trap();
  },
  /** Time, draws and the caller decide what is written where. */
  stamp: (items, { units }) => {
    const { seed, timeMs, caller } = items.environment;
    items.read(units[0]!);
    items.put(ITEMS[seed[0]! % ITEMS.length]!, `${timeMs}.${seed[1]} for ${caller ?? "nobody"}`);
  },
  /** In record mode: a chain of dependent reads, a write that hangs on it, and one that hangs on nothing. */
  recorded: (items, { units }) => {
    const next = target(items.look(units[0]!));
    if (items.look(next) === null) items.abort("absent");
    items.put(next);
    items.read(units.at(-1)!);
    items.put(units.at(-1)!);
  },
  /** In record mode, without a write. */
  watched: (items, { units }) => void items.read(target(items.look(target(items.look(units[0]!))))),
  /** Near storage by choice: the same as `follow`, and a write. */
  opaque: (items, { units }) => {
    const next = target(items.look(units[0]!));
    items.read(next);
    items.put(next);
    items.put(units.at(-1)!);
  },
  /** Like `update`, but its read/write set names the first unit only: the analyzer was wrong. */
  liar: readAndPut,
  /** Like `update`, but the location's set names the first unit only. */
  hooked: readAndPut,

  // A bank: money moves and is never made or lost.
  transfer: (items, { units, amount }) => {
    const [from, to] = units as [UnitId, UnitId];
    const left = balanceOf(items.read(from)) - amount;
    const more = balanceOf(items.read(to)) + amount;
    if (left < 0) items.abort("too_poor");
    setBalance(items, from, left);
    setBalance(items, to, more);
    return `${left} ${more}`;
  },
  audit: (items) => ACCOUNTS.map((unit) => balanceOf(items.read(unit))).join(" "),

  // Lists that only grow.
  append,
  lists: payloads,

  // One set, in two items.
  add: (items, { operation, units }) => void appended(items, units[0]!, operation),
  members: payloads,

  // Tickets: each number once.
  ticket: (items, { units }) => {
    const number = String(Number(items.read(units[0]!)?.payload ?? 0) + 1);
    items.put(units[0]!, number);
    return number;
  },

  // Slots: one holder at a time.
  book: (items, { units, operation }) => {
    if (items.look(units[0]!) !== null) items.abort("taken");
    items.put(units[0]!);
    return operation;
  },
  /** Frees a slot, and says whose it was. */
  free: (items, { units }) => {
    const holder = items.look(units[0]!);
    if (holder === null) items.abort("not_taken");
    items.remove(units[0]!);
    return holder?.writer ?? "";
  },

  // Registers.
  write: (items, { units }) => items.put(units[0]!),
  swap: (items, { units }) => {
    const old = items.read(units[0]!);
    items.put(units[0]!);
    return old?.writer ?? "";
  },
  fetch: (items, { units }) => units.map((unit) => items.read(unit)?.writer ?? "").join("/"),

  // Rows of a table, by ranges.
  insert: (items, { units }) => items.put(units[0]!),
  /** Removes blindly. */
  drop: (items, { units }) => items.remove(units[0]!),
  /** One row goes, and another one comes, at the same time. */
  move: (items, { units }) => {
    items.remove(units[0]!);
    items.put(units.at(-1)!);
  },
  page,
  /** In record mode. */
  pageRecorded: page,
  /** Near storage by choice. */
  pageOpaque: page,
  pageAndPut,
  /** The same, and another row goes. The location's set names the page and the first row only. */
  hookedPage: (items, args) => {
    const rows = pageAndPut(items, args);
    items.remove(args.units.at(-1)!);
    return rows;
  },
  /** Removes the first row that it finds, and walks over the place where that was. */
  shift: (items, args) => {
    const query = queryOf(args);
    const [first] = items.rows({ ...query, limit: 1 });
    if (first !== undefined) items.remove(first);
    return shownRows(items.rows(query));
  },
  /** The number of rows is that of the rows. */
  tally: (items, args) => {
    const query = queryOf(args);
    const count = items.count(query);
    if (count !== items.rows({ ...query, limit: 9 }).length) items.trap();
    return String(count);
  },

  // Seats: few for many.
  enlist: (items, { units }) => {
    const all = { table: "seat", lo: "", hi: "" };
    if (items.count(all) >= MOST_SEATS) items.abort("full");
    items.put(units[0]!);
  },
  /** Looks at the rows instead of their number. */
  enlistByRows: (items, { units }) => {
    const all = { table: "seat", lo: "", hi: "", limit: MOST_SEATS, isReversed: false };
    if (items.rows(all).length >= MOST_SEATS) items.abort("full");
    items.put(units[0]!);
  },
  leave: (items, { units }) => items.remove(units[0]!),
  seated: (items) => shownRows(items.rows({ table: "seat", lo: "", hi: "", limit: 9, isReversed: false })),

  // A counter beside the rows that it counts.
  take: (items, { units }) => {
    const left = leftOf(items);
    if (left < 1) items.abort("sold_out");
    if (items.look(units[0]!) !== null) items.abort("taken");
    items.put(LEFT, String(left - 1));
    items.put(units[0]!);
  },
  giveBack: (items, { units }) => {
    if (items.look(units[0]!) === null) items.abort("not_taken");
    items.put(LEFT, String(leftOf(items) + 1));
    items.remove(units[0]!);
  },
  stocktake: (items) => `${leftOf(items)} ${items.count({ table: "stock", lo: "", hi: "" })}`,
  /** By the rows instead of their number. */
  stocktakeByRows: (items) =>
    `${leftOf(items)} ${items.rows({ table: "stock", lo: "", hi: "", limit: 9, isReversed: false }).length}`,

  // Runs that last: `effortOf` says how long.
  compute: append,
  /** In record mode. */
  grind: append,
  results: payloads,
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;
const PROGRAM_NAMES = Object.keys(PROGRAMS) as readonly ProgramName[];

/** Programs that use the same units, how many of them each takes, and one that reads them all. */
export const GROUPS = {
  items: {
    units: ITEMS,
    most: 3,
    programs: [
      "read",
      "update",
      "overwrite",
      "remove",
      "claim",
      "follow",
      "trace",
      "insist",
      "divide",
      "stamp",
      "recorded",
      "watched",
      "opaque",
      "liar",
      "hooked",
    ],
    all: "read",
  },
  bank: { units: ACCOUNTS, most: 2, programs: ["transfer", "transfer", "audit"], all: "audit" },
  lists: { units: LISTS, most: 1, programs: ["append", "append", "lists"], all: "lists" },
  set: { units: BUCKETS, most: 1, programs: ["add", "add", "members"], all: "members" },
  tickets: { units: COUNTERS, most: 1, programs: ["ticket"], all: null },
  slots: { units: SLOTS, most: 1, programs: ["book", "book", "free"], all: null },
  registers: { units: REGISTERS, most: 1, programs: ["write", "swap", "fetch"], all: "fetch" },
  rows: {
    units: ROWS,
    most: 2,
    programs: [
      "insert",
      "insert",
      "drop",
      "move",
      "move",
      "page",
      "page",
      "pageRecorded",
      "pageOpaque",
      "pageAndPut",
      "hookedPage",
      "shift",
      "tally",
    ],
    all: "page",
  },
  seats: { units: SEATS, most: 1, programs: ["enlist", "enlistByRows", "leave", "seated"], all: "seated" },
  stock: {
    units: STOCK,
    most: 1,
    programs: ["take", "take", "giveBack", "stocktake", "stocktakeByRows"],
    all: "stocktakeByRows",
  },
  efforts: { units: RESULTS, most: 1, programs: ["compute", "compute", "grind", "results"], all: "results" },
} as const satisfies Record<
  string,
  {
    readonly units: readonly UnitId[];
    readonly most: number;
    readonly programs: readonly ProgramName[];
    readonly all: ProgramName | null;
  }
>;

export type GroupName = keyof typeof GROUPS;
/** Of any weather; those of the others have a weather of their own. */
export const GROUP_NAMES = (Object.keys(GROUPS) as readonly GroupName[]).filter(
  (name) => name !== "efforts" && name !== "rows" && name !== "seats" && name !== "stock",
);

/** Programs that are told all units of their group. */
export const WHOLE_GROUP: ReadonlySet<ProgramName> = new Set([
  "audit",
  "lists",
  "members",
  "fetch",
  "results",
  "seated",
]);
/** Programs that may succeed without having written. */
export const READERS: ReadonlySet<ProgramName> = new Set([
  "read",
  "trace",
  "watched",
  "claim",
  "audit",
  "lists",
  "members",
  "fetch",
  "results",
  "page",
  "pageRecorded",
  "pageOpaque",
  "tally",
  "seated",
  "stocktake",
  "stocktakeByRows",
  "shift",
]);

/** Programs that never write: live queries. */
export const LIVE: ReadonlySet<ProgramName> = new Set(
  [...READERS].filter((name) => name !== "claim" && name !== "shift"),
);

/** Two builds of the application: the newer one marks what it writes. */
export const MODULES = ["a".repeat(64) as ModuleHash, "b".repeat(64) as ModuleHash] as const;
const NEWER_MARK = "'";

export const PLANS: ReadonlyMap<string, HandlerPlan> = new Map(PROGRAM_NAMES.map((name) => [name, planOf(name)]));

/** Programs with the tag `@speculative`: their results may be shown before the confirmation. */
export const SPECULATIVE: ReadonlySet<string> = new Set<ProgramName>([
  "append",
  "fetch",
  "transfer",
  "recorded",
  "ticket",
  "opaque",
]);

function planOf(name: ProgramName): HandlerPlan {
  if (name === "opaque" || name === "pageOpaque") return "near-storage";
  if (name === "add") return "given";
  const isRecorded = name === "recorded" || name === "watched" || name === "grind" || name === "pageRecorded";
  return isRecorded ? "recorded" : "sliced";
}

/** How much a run computes, and how long that takes at the primary. */
interface Effort {
  /** It needs more than the fuel of a speculation. */
  readonly isBeyondSpeculation: boolean;
  /** Null: no time of its own. */
  readonly tookMs: number | null;
}

/** Longest run at the primary; one in place of a followup may last twice as long each time that it was ended. */
export const RUN_LIMIT_MS = 200;

/** All that a program may be: short, slow with little fuel, long, and longer than a run may last. */
export function effortOf(handler: string, args: Uint8Array): Effort {
  if (handler !== "compute" && handler !== "grind") return { isBeyondSpeculation: false, tookMs: null };
  const { amount } = decodeArgs(args);
  switch (amount % 4) {
    case 0:
      return { isBeyondSpeculation: false, tookMs: null };
    case 1:
      return { isBeyondSpeculation: false, tookMs: RUN_LIMIT_MS * (1 + (amount % 7)) };
    case 2:
      return { isBeyondSpeculation: true, tookMs: RUN_LIMIT_MS / 2 };
    default:
      return { isBeyondSpeculation: true, tookMs: RUN_LIMIT_MS * 1_000_000 };
  }
}

/** An outcome and the values that its execution saw: the writer by unit, null for absent. */
export interface Told {
  readonly kind: Outcome["kind"];
  /** The part that a client looks at: a result, or the code of an abort or trap. */
  readonly result: string;
  readonly seen: ReadonlyMap<UnitId, string | null>;
}

/** All text here is ASCII, and short: this is faster than the platform's encoder. */
export function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function textOf(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

/** Arguments that were encoded here, so that no run has to decode them. */
const encodedArgs = new WeakMap<Uint8Array, ProgramArguments>();

export function encodeArgs(args: ProgramArguments): Uint8Array {
  const bytes = bytesOf(`${args.operation} ${args.amount} ${args.units.join(",")}`);
  encodedArgs.set(bytes, args);
  return bytes;
}

function decodeArgs(args: Uint8Array): ProgramArguments {
  const decoded = encodedArgs.get(args);
  if (decoded === undefined) throw new Error("arguments of nobody");
  return decoded;
}

function storedIn(value: Uint8Array | null | undefined): Stored | null {
  if (value === null || value === undefined) return null;
  const text = textOf(value);
  const colon = text.indexOf(":");
  const marked = text.slice(0, colon);
  const writer = marked.endsWith(NEWER_MARK) ? marked.slice(0, -1) : marked;
  return { writer, payload: text.slice(colon + 1) };
}

/** The operation that wrote a value. */
export function writerOf(value: Uint8Array | null): string | null {
  return storedIn(value)?.writer ?? null;
}

export function toldBy(outcome: Outcome): Told {
  const isResult = outcome.kind === "result";
  const text = isResult ? textOf(outcome.value) : outcome.message;
  const bar = text.indexOf("|");
  const seen = new Map<UnitId, string | null>();
  const result = isResult ? text.slice(0, bar) : outcome.code;
  // The primary could not run it: it saw nothing.
  if (bar >= 0 && bar + 1 < text.length) {
    for (const pair of text.slice(bar + 1).split(",")) {
      const equals = pair.indexOf("=");
      seen.set(decodeURI(pair.slice(0, equals)) as UnitId, pair.slice(equals + 1) || null);
    }
  }
  return { kind: outcome.kind, result, seen };
}

/** In outcomes, whose bytes are ASCII. */
export function nameOfUnit(unit: UnitId): string {
  return unit.startsWith("row/") ? encodeURI(unit) : unit;
}

type CompletedRun = NonNullable<ReturnType<Host["recordHandler"]>["run"]>;

/** Ends a program. One for all, since making an error takes its stack. */
const STOPPED = new Error("stopped");

/** Runs programs as the WebAssembly host runs handlers. */
export const truthfulHost: Host = {
  // These histories have none: `workflow-histories.ts`.
  runWorkflow: () => {
    throw new Error("there is no workflow among the programs");
  },
  deriveAccessSet({ handler, args, environment }, snapshot) {
    const reads = new Set<UnitId>();
    const writes = new Set<UnitId>();
    const missing = new Set<UnitId>();
    const queries: Query[] = [];
    // Perhaps the program deletes what it is to write, and walks on.
    const own = (): readonly (readonly [UnitId, null])[] => Array.from(writes, (unit) => [unit, null] as const);
    run(handler, args, {
      environment,
      rows(query) {
        const walked = walk(query, own(), snapshot, true);
        if (walked.kind === "missing") queries.push(walked.query);
        const { rows, observed } = walked.kind === "walked" ? walked : walkOverNothing(query, own());
        reads.add(spanId(observed));
        return rows.map(({ unit }) => unit);
      },
      count(interval) {
        const asked: Query = { ...interval, kind: "count" };
        reads.add(spanId(asked));
        const count = countOf(asked, snapshot);
        if (count === null) queries.push(asked);
        return count ?? 0;
      },
      read(unit) {
        reads.add(unit);
        return null;
      },
      look(unit) {
        reads.add(unit);
        const entry = snapshot(unit);
        if (entry === undefined) missing.add(unit);
        return storedIn(entry?.value);
      },
      put: (unit) => void writes.add(unit),
      remove: (unit) => void writes.add(unit),
      abort: stop,
      trap: stop,
    });
    return { kind: "derived", set: { reads, writes }, missing: [...missing], missingQueries: queries, dependent: [] };
  },

  runHandler(invocation, snapshot, access, { speculative = false } = {}) {
    type Stop = Extract<ReturnType<Host["runHandler"]>, { kind: "missing" | "undeclared" }>;
    let stopped: Stop | null = null;
    const end = (why: Stop): never => {
      stopped = why;
      return stop();
    };
    const ran = runProgram(invocation, {
      read(unit) {
        if (!access.reads.has(unit)) end({ kind: "undeclared", unit, mode: "read" });
        return snapshot(unit) ?? end({ kind: "missing", unit, missingQueries: [] });
      },
      rows(query, own) {
        const walked = walk(query, own, snapshot, true);
        if (walked.kind === "missing")
          return end({ kind: "missing", unit: spanId(walked.query), missingQueries: [walked.query] });
        const { observed } = walked;
        if (!spansOf(access.reads).some((span) => isWithin(observed, span)))
          end({ kind: "undeclared", unit: spanId(observed), mode: "read" });
        return walked;
      },
      count(interval) {
        const asked: Query = { ...interval, kind: "count" };
        const unit = spanId(asked);
        if (!access.reads.has(unit)) end({ kind: "undeclared", unit, mode: "read" });
        return countOf(asked, snapshot) ?? end({ kind: "missing", unit, missingQueries: [asked] });
      },
      write(unit) {
        if (!access.writes.has(unit)) end({ kind: "undeclared", unit, mode: "write" });
      },
    });
    if (stopped !== null) return stopped;
    return speculative && isExhaustedBy(invocation) ? { kind: "exhausted" } : ran;
  },

  recordHandler(invocation, snapshot, { guess, speculative = false }) {
    const reads = new Set<UnitId>();
    const writes = new Set<UnitId>();
    const missing = new Set<UnitId>();
    const queries: Query[] = [];
    const ran = runProgram(invocation, {
      rows(query, own) {
        const walked = walk(query, own, snapshot, true);
        if (walked.kind === "missing") {
          queries.push(walked.query);
          if (!guess) stop();
        }
        const done = walked.kind === "walked" ? walked : walkOverNothing(query, own);
        reads.add(spanId(done.observed));
        return done;
      },
      count(interval) {
        const asked: Query = { ...interval, kind: "count" };
        reads.add(spanId(asked));
        const count = countOf(asked, snapshot);
        if (count !== null) return count;
        queries.push(asked);
        return guess ? 0 : stop();
      },
      read(unit) {
        reads.add(unit);
        const entry = snapshot(unit);
        if (entry !== undefined) return entry;
        missing.add(unit);
        return guess ? null : stop();
      },
      write: (unit) => void writes.add(unit),
    });
    const isExhausted = speculative && isExhaustedBy(invocation);
    const isWhole = !isExhausted && (missing.size + queries.length === 0 || guess);
    return {
      set: { reads, writes },
      missing: [...missing],
      missingQueries: queries,
      run: isWhole ? ran : null,
      isExhausted,
    };
  },
};

function isExhaustedBy({ handler, args }: Invocation): boolean {
  return effortOf(handler, args).isBeyondSpeculation;
}

type OwnWrites = ReadonlyMap<UnitId, Uint8Array | null>;

interface Storage {
  /** Null: taken for absent. */
  read(unit: UnitId): Entry | null;
  rows(query: ScanQuery, own: OwnWrites): { readonly rows: readonly WalkedRow[]; readonly observed: Span };
  count(interval: KeyInterval): number;
  write(unit: UnitId): void;
}

const NOTHING: Snapshot = Object.assign((): undefined => undefined, {
  scan: () => ({ rows: [], reachesEnd: true }),
});

function walkOverNothing(
  query: ScanQuery,
  own: Iterable<readonly [UnitId, Uint8Array | null]>,
): {
  readonly rows: readonly WalkedRow[];
  readonly observed: Span;
} {
  const walked = walk(query, own, NOTHING, true);
  if (walked.kind === "missing") throw new Error("a walk over nothing lacks something");
  return walked;
}

/** Null: the snapshot has no answer. */
function countOf(query: Query, snapshot: Snapshot): number | null {
  const answer = snapshot.scan?.(query);
  return answer !== undefined && "count" in answer ? answer.count : null;
}

type Invocation = Parameters<Host["runHandler"]>[0] & { readonly module?: ModuleHash };

/** One run; whoever stops it does not look at what comes back. */
function runProgram({ handler, args, environment, module }: Invocation, storage: Storage): CompletedRun {
  const { operation } = decodeArgs(args);
  const writer = module === MODULES[1] ? operation + NEWER_MARK : operation;
  const seen: string[] = [];
  const reads = new Set<UnitId>();
  /** Those of which the outcome tells the version. */
  const told = new Set<UnitId>();
  const writes = new Map<UnitId, Uint8Array | null>();
  let ended: { readonly kind: "abort" | "trap"; readonly code: string } | null = null;
  const look = (unit: UnitId): Stored | null => {
    const written = writes.get(unit);
    if (written !== undefined) return storedIn(written);
    const stored = storedIn(storage.read(unit)?.value);
    if (!told.has(unit)) seen.push(`${nameOfUnit(unit)}=${stored?.writer ?? ""}`);
    reads.add(unit);
    told.add(unit);
    return stored;
  };
  /** A walk sees each item of its observed span, present or not. */
  const rowsOf = (query: ScanQuery): readonly UnitId[] => {
    const { rows, observed } = storage.rows(query, writes);
    reads.add(spanId(observed));
    const stored = new Map(rows.map(({ unit, value }) => [unit, value]));
    for (const unit of ITEMS_OF.get(query.table) ?? []) {
      if (!contains(observed, splitUnit(unit).key) || writes.has(unit) || told.has(unit)) continue;
      seen.push(`${nameOfUnit(unit)}=${storedIn(stored.get(unit))?.writer ?? ""}`);
      told.add(unit);
    }
    return rows.map(({ unit }) => unit);
  };
  const count = (interval: KeyInterval): number => {
    const unit = spanId({ ...interval, kind: "count" });
    const number = storage.count(interval);
    if (!told.has(unit)) seen.push(`${encodeURI(unit)}=${number}`);
    reads.add(unit);
    told.add(unit);
    return number;
  };
  const write = (unit: UnitId, value: Uint8Array | null): void => {
    storage.write(unit);
    writes.set(unit, value);
  };
  const result = run(handler, args, {
    environment,
    read: look,
    look,
    rows: rowsOf,
    count,
    put: (unit, payload = "") => write(unit, bytesOf(`${writer}:${payload}`)),
    remove: (unit) => write(unit, null),
    abort: (code) => {
      ended = { kind: "abort", code };
      return stop();
    },
    trap: () => {
      ended = { kind: "trap", code: "integer_divide_by_zero" };
      return stop();
    },
  });
  const outcome = outcomeOf(ended, `${result}|${seen.join(",")}`);
  const sorted: Write[] = [...writes].map(([unit, value]) => ({ unit, value }));
  sorted.sort(byUnit);
  return { kind: "completed", outcome, reads: [...reads], writes: outcome.kind === "result" ? sorted : [], fuel: 0 };
}

function outcomeOf(ended: { readonly kind: "abort" | "trap"; readonly code: string } | null, told: string): Outcome {
  if (ended === null) return { kind: "result", value: bytesOf(told) };
  if (ended.kind === "abort") return { kind: "abort", status: 409, code: ended.code, message: told };
  return { kind: "trap", code: "integer_divide_by_zero", message: told };
}

function stop(): never {
  throw STOPPED;
}

function run(handler: string, args: Uint8Array, items: Items): string {
  try {
    const program: Program = PROGRAMS[handler as ProgramName];
    return program(items, decodeArgs(args)) ?? "";
  } catch (error) {
    if (error !== STOPPED) throw error;
    return "";
  }
}

/** A host whose read/write sets are too small for some programs. */
function wrongFor(programs: readonly ProgramName[]): Host {
  const first = (units: ReadonlySet<UnitId>): ReadonlySet<UnitId> => new Set([...units].slice(0, 1));
  return {
    runWorkflow: truthfulHost.runWorkflow,
    runHandler: truthfulHost.runHandler,
    recordHandler: truthfulHost.recordHandler,
    deriveAccessSet(invocation, snapshot) {
      const derived = truthfulHost.deriveAccessSet(invocation, snapshot);
      const wrong = programs.some((name) => name === invocation.handler);
      if (!wrong || derived.kind !== "derived") return derived;
      return { ...derived, set: { reads: first(derived.set.reads), writes: first(derived.set.writes) } };
    },
  };
}

export const primaryHost = wrongFor(["liar"]);
export const locationHost = wrongFor(["liar", "hooked", "hookedPage"]);
