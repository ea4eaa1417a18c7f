/**
 * Modelled handlers: small programs over a few units whose results tell all that they read, so that a checker sees
 * which version every execution saw. Every value written names its writer.
 */
import type { Host } from "@radical/lvi-server";
import type { Entry, HandlerPlan, Outcome, UnitId, Write } from "@radical/protocol";

/** The arguments of every program. */
export interface ProgramArguments {
  /** Unique: the name of the operation, which its values carry. */
  readonly operation: string;
  readonly keys: readonly string[];
}

/** What a program sees: the items. `read` with a value that decides what else is accessed is `look`. */
interface Items {
  read(key: string): string | null;
  look(key: string): string | null;
  put(key: string): void;
  remove(key: string): void;
  abort(): never;
}

/** How many units there are: few, so that executions meet. */
export const KEYS = ["a", "b", "c", "d", "e"] as const;

/** The unit that a value points to. */
function target(value: string | null): string {
  let sum = 0;
  for (const letter of value ?? "") sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
  return KEYS[sum % KEYS.length]!;
}

const PROGRAMS = {
  read: (items, { keys }) => keys.forEach((key) => items.read(key)),
  update: (items, { keys }) =>
    keys.forEach((key) => {
      items.read(key);
      items.put(key);
    }),
  overwrite: (items, { keys }) => keys.forEach((key) => items.put(key)),
  remove: (items, { keys }) => {
    items.read(keys[0]!);
    items.remove(keys[0]!);
  },
  /** Reads all, writes the first only if it is absent. */
  claim: (items, { keys }) => {
    keys.slice(1).forEach((key) => items.read(key));
    if (items.look(keys[0]!) === null) items.put(keys[0]!);
  },
  /** What is written depends on what is read. */
  follow: (items, { keys }) => {
    const next = target(items.look(keys[0]!));
    items.read(next);
    items.put(next);
  },
  /** A chain of two dependent reads, and no write. */
  trace: (items, { keys }) => void items.read(target(items.look(target(items.look(keys[0]!))))),
  /** Aborts if the first is there. */
  insist: (items, { keys }) => {
    if (items.look(keys[0]!) !== null) items.abort();
    items.put(keys[0]!);
    items.read(keys[1] ?? keys[0]!);
  },
  /** In record mode: a chain of dependent reads, a write that hangs on it, and one that hangs on nothing. */
  recorded: (items, { keys }) => {
    const next = target(items.look(keys[0]!));
    if (items.look(next) === null) items.abort();
    items.put(next);
    items.read(keys.at(-1)!);
    items.put(keys.at(-1)!);
  },
  /** In record mode, without a write. */
  watched: (items, { keys }) => void items.read(target(items.look(target(items.look(keys[0]!))))),
  /** Near storage by choice: the same as `follow`. */
  opaque: (items, { keys }) => {
    const next = target(items.look(keys[0]!));
    items.read(next);
    items.put(next);
    items.put(keys.at(-1)!);
  },
  /** Like `update`, but its read/write set names the first unit only: the analyzer was wrong. */
  liar: (items, { keys }) =>
    keys.forEach((key) => {
      items.read(key);
      items.put(key);
    }),
  /** Like `update`, but the location's set names the first unit only. */
  hooked: (items, { keys }) =>
    keys.forEach((key) => {
      items.read(key);
      items.put(key);
    }),
} as const satisfies Record<string, (items: Items, args: ProgramArguments) => void>;

export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as readonly ProgramName[];

export const PLANS: ReadonlyMap<string, HandlerPlan> = new Map(PROGRAM_NAMES.map((name) => [name, planOf(name)]));

function planOf(name: ProgramName): HandlerPlan {
  if (name === "opaque") return "near-storage";
  return name === "recorded" || name === "watched" ? "recorded" : "sliced";
}

/** What an execution read, as its outcome tells it: writer's operation by key, null for absent. */
export type Seen = Readonly<Record<string, string | null>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeArgs(args: ProgramArguments): Uint8Array {
  return encoder.encode(JSON.stringify(args));
}

export function unitOf(key: string): UnitId {
  return `t/${key}` as UnitId;
}

/** The operation that wrote a value. */
export function writerOf(value: Uint8Array | null): string | null {
  return value === null ? null : decoder.decode(value);
}

export function seenIn(outcome: Outcome): Seen {
  // The primary could not run it: it saw nothing.
  if (outcome.kind === "abort" && outcome.code !== "there") return {};
  const text = outcome.kind === "result" ? decoder.decode(outcome.value) : outcome.message;
  return JSON.parse(text) as Seen;
}

type CompletedRun = NonNullable<ReturnType<Host["recordHandler"]>["run"]>;

class Stopped extends Error {}

/** Runs programs as the WebAssembly host runs handlers. */
const truthfulHost: Host = {
  deriveAccessSet({ handler, args }, snapshot) {
    const reads = new Set<UnitId>();
    const writes = new Set<UnitId>();
    const missing = new Set<UnitId>();
    const read = (key: string): string | null => {
      reads.add(unitOf(key));
      return null;
    };
    run(handler, args, {
      read,
      look(key) {
        const unit = unitOf(key);
        reads.add(unit);
        const entry = snapshot(unit);
        if (entry === undefined) missing.add(unit);
        return writerOf(entry?.value ?? null);
      },
      put: (key) => void writes.add(unitOf(key)),
      remove: (key) => void writes.add(unitOf(key)),
      abort: () => {
        throw new Stopped();
      },
    });
    return { kind: "derived", set: { reads, writes }, missing: [...missing], dependent: [] };
  },

  runHandler(invocation, snapshot, access) {
    type Stop = Extract<ReturnType<Host["runHandler"]>, { kind: "missing" | "undeclared" }>;
    let stop: Stop | null = null;
    const end = (why: Stop): never => {
      stop = why;
      throw new Stopped();
    };
    const ran = runProgram(invocation, {
      read(unit) {
        if (!access.reads.has(unit)) end({ kind: "undeclared", unit, mode: "read" });
        return snapshot(unit) ?? end({ kind: "missing", unit });
      },
      write(unit) {
        if (!access.writes.has(unit)) end({ kind: "undeclared", unit, mode: "write" });
      },
    });
    return stop ?? ran;
  },

  recordHandler(invocation, snapshot, { guess }) {
    const reads = new Set<UnitId>();
    const writes = new Set<UnitId>();
    const missing = new Set<UnitId>();
    const ran = runProgram(invocation, {
      read(unit) {
        reads.add(unit);
        const entry = snapshot(unit);
        if (entry !== undefined) return entry;
        missing.add(unit);
        if (!guess) throw new Stopped();
        return null;
      },
      write: (unit) => void writes.add(unit),
    });
    return { set: { reads, writes }, missing: [...missing], run: missing.size === 0 ? ran : null };
  },
};

interface Storage {
  /** Null: taken for absent. */
  read(unit: UnitId): Entry | null;
  write(unit: UnitId): void;
}

/** One run; whoever stops it throws `Stopped` and does not look at what comes back. */
function runProgram({ handler, args }: Parameters<Host["runHandler"]>[0], storage: Storage): CompletedRun {
  const { operation } = decodeArgs(args);
  const seen: Record<string, string | null> = {};
  const reads = new Set<UnitId>();
  const writes = new Map<UnitId, Uint8Array | null>();
  let aborted = false;
  const look = (key: string): string | null => {
    const unit = unitOf(key);
    const written = writes.get(unit);
    if (written !== undefined) return writerOf(written);
    const entry = storage.read(unit);
    reads.add(unit);
    return (seen[key] = writerOf(entry?.value ?? null));
  };
  const write = (key: string, value: Uint8Array | null): void => {
    const unit = unitOf(key);
    storage.write(unit);
    writes.set(unit, value);
  };
  run(handler, args, {
    read: look,
    look,
    put: (key) => write(key, encoder.encode(operation)),
    remove: (key) => write(key, null),
    abort: () => {
      aborted = true;
      throw new Stopped();
    },
  });
  const told = JSON.stringify(seen);
  const outcome: Outcome = aborted
    ? { kind: "abort", status: 409, code: "there", message: told }
    : { kind: "result", value: encoder.encode(told) };
  const sorted: Write[] = [...writes]
    .map(([unit, value]) => ({ unit, value }))
    .toSorted((a, b) => (a.unit < b.unit ? -1 : 1));
  return { kind: "completed", outcome, reads: [...reads], writes: aborted ? [] : sorted };
}

function decodeArgs(args: Uint8Array): ProgramArguments {
  return JSON.parse(decoder.decode(args)) as ProgramArguments;
}

function run(handler: string, args: Uint8Array, items: Items): void {
  try {
    PROGRAMS[handler as ProgramName](items, decodeArgs(args));
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

/** A host whose read/write sets are too small for some programs. */
function wrongFor(programs: readonly ProgramName[]): Host {
  const first = (units: ReadonlySet<UnitId>): ReadonlySet<UnitId> => new Set([...units].slice(0, 1));
  return {
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
export const locationHost = wrongFor(["liar", "hooked"]);
