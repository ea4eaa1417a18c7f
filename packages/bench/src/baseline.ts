/**
 * A handler as applications without Radical run it: the same modules on the same host, with data that is read and written in
 * steps. What differs between the systems is where this runs, and how it reads: see {@link Reading}.
 */
import {
  type Environment,
  entryOf,
  isSpan,
  NO_COMMIT,
  type Outcome,
  type Query,
  spanOf,
  type UnitId,
  NO_EXECUTION,
} from "@radical/protocol";
import {
  type CompletedRun,
  deriveAccessSet,
  type HandlerModule,
  type Invocation,
  recordHandler,
  runHandler,
  type Snapshot,
  spanSnapshot,
} from "@radical/wasm-host";
import type { Access, Accessed, StoredValue } from "./store-messages.ts";

/**
 * `in-turn`: each item as the handler comes to read it, a step each: what a handler does that awaits its database.
 * `at-once`: all in one step, found by f^rw: better than most applications do by hand.
 */
export type Reading = "in-turn" | "at-once";

export interface Surroundings {
  readonly module: HandlerModule;
  readonly reading: Reading;
  readonly access: (access: Access) => Promise<Accessed>;
  readonly now: () => number;
}

export interface Ended {
  readonly outcome: Outcome;
  /** In the order of all executions on the data. */
  readonly position: number;
  readonly wrote: boolean;
  /** Of the run that counts. */
  readonly fMs: number;
}

/** Others may change what was read again and again; more often than that never happens. */
const MOST_ATTEMPTS = 100;

export async function execute(
  surroundings: Surroundings,
  handler: string,
  args: Uint8Array,
  environment: Environment,
): Promise<Ended> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const ended = await new Attempt(surroundings, { executionId: NO_EXECUTION, handler, args, environment }).run();
    if (ended !== null) return ended;
  }
  throw new Error(`${handler}: what it read has changed ${MOST_ATTEMPTS} times`);
}

/** Items and ranges that a run has asked for and not found. */
interface Lacking {
  readonly missing: readonly UnitId[];
  readonly missingQueries: readonly Query[];
}

function isAll({ missing, missingQueries }: Lacking): boolean {
  return missing.length + missingQueries.length === 0;
}

class Attempt {
  readonly #surroundings: Surroundings;
  readonly #invocation: Invocation;
  readonly #values = new Map<UnitId, StoredValue>();
  /** The values, as the host reads them. */
  #snapshot: Snapshot = spanSnapshot([]);
  #position = 0;
  #fMs = 0;

  constructor(surroundings: Surroundings, invocation: Invocation) {
    this.#surroundings = surroundings;
    this.#invocation = invocation;
  }

  /** Null: what it read has changed. */
  async run(): Promise<Ended | null> {
    const run = this.#surroundings.reading === "at-once" ? await this.#atOnce() : await this.#inTurn();
    if (run === null) return null;
    const { outcome } = run;
    const writes = new Map(run.writes.map(({ unit, value }) => [unit, value]));
    if (writes.size > 0 && !(await this.#step({ reads: [], queries: [], writes }))) return null;
    return { outcome, position: this.#position, wrote: writes.size > 0, fMs: this.#fMs };
  }

  /** False: something has changed that was read before. */
  async #step({ reads, queries, writes }: Pick<Access, "reads" | "queries" | "writes">): Promise<boolean> {
    const expects = new Map(Array.from(this.#values, ([unit, { version }]) => [unit, version]));
    const accessed = await this.#surroundings.access({ reads, queries, expects, writes });
    if (accessed === null) return false;
    for (const [unit, value] of accessed.values) this.#values.set(unit, value);
    this.#snapshot = spanSnapshot(
      Array.from(this.#values, ([unit, { value }]) => [unit, entryOf(NO_COMMIT, value)] as const),
    );
    this.#position = accessed.position;
    return true;
  }

  #read({ missing, missingQueries }: Lacking): Promise<boolean> {
    return this.#step({ reads: missing, queries: missingQueries, writes: new Map() });
  }

  async #inTurn(): Promise<CompletedRun | null> {
    for (;;) {
      const found = this.#timed((unpaced) =>
        recordHandler(unpaced, this.#invocation, this.#snapshot, { guess: false }),
      );
      if (found.run !== null) return found.run;
      if (!(await this.#read(found))) return null;
    }
  }

  async #atOnce(): Promise<CompletedRun | null> {
    const { module } = this.#surroundings;
    for (;;) {
      const derived = deriveAccessSet(module, this.#invocation, this.#snapshot);
      // Without a set, or with a wrong one.
      if (derived.kind === "failed") return this.#recorded();
      const { set, missing, missingQueries } = derived;
      const wanted = [...set.reads].filter((unit) => !isSpan(unit) && !this.#values.has(unit));
      // Numbers that f^rw only names, since it does not need them.
      const counts = [...set.reads].flatMap((unit) => {
        const span = isSpan(unit) && !this.#values.has(unit) ? spanOf(unit) : null;
        return span?.kind === "count" ? [{ ...span, kind: "count" as const }] : [];
      });
      const queries = [...missingQueries, ...counts];
      if (wanted.length + queries.length > 0) {
        if (!(await this.#read({ missing: wanted, missingQueries: queries }))) return null;
        continue;
      }
      if (missing.length > 0) return this.#recorded();
      const { run } = this.#timed((unpaced) => ({
        run: runHandler(unpaced, this.#invocation, this.#snapshot, set),
        missing: [],
        missingQueries: [],
      }));
      return run.kind === "completed" ? run : this.#recorded();
    }
  }

  async #recorded(): Promise<CompletedRun | null> {
    for (;;) {
      const found = this.#timed((unpaced) => recordHandler(unpaced, this.#invocation, this.#snapshot, { guess: true }));
      if (found.run !== null && isAll(found)) return found.run;
      if (!(await this.#read(found))) return null;
    }
  }

  /** A run takes its time only if it is the one that counts. */
  #timed<T extends Lacking & { readonly run: { readonly kind: string } | null }>(
    work: (unpaced: HandlerModule) => T,
  ): T {
    const { module, now } = this.#surroundings;
    const beganAtMs = now();
    const ended = module.pace?.(this.#invocation.handler);
    const done = work({ ...module, pace: undefined });
    if (isAll(done) && done.run?.kind === "completed") ended?.();
    this.#fMs = now() - beganAtMs;
    return done;
  }
}
