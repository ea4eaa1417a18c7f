/**
 * One run of a handler, or of its read/write-set function, in a freshly reset instance. It serves the host functions, and
 * keeps the buffered writes and the count of accesses. The caller defines how an item is read and written.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import {
  CborWriter,
  isEmptyInterval,
  isTooDeep,
  LOG_LINE_LEVELS,
  type LoggedLine,
  MAX_DEPTH,
  MAX_RESULT_BYTES,
  MAX_SCRYPT_LOG_COST,
  MAX_SCRYPT_PARALLELIZATION,
  MAX_SCRYPT_SALT_BYTES,
  MAX_VALUE_BYTES,
  MAX_WRITTEN_BYTES,
  unitId,
  type Environment,
  type ExecutionId,
  type KeyInterval,
  type Limits,
  type Outcome,
  type RunEffect,
  type ScanQuery,
  spanId,
  type TrapCode,
  type UnitId,
} from "@radical/protocol";
import { Draws } from "./draws.ts";
import { Guest, type HostCalls } from "./guest.ts";
import { LoggedLines } from "./logged-lines.ts";
import { Requests, type WorkflowCalls } from "./requests.ts";
import type { RunStep } from "./run-step.ts";
import { scryptHash } from "./scrypt.ts";
import { ownIn, type WalkedRow } from "./spans.ts";
import { assertionTrap, tidy, trapOf } from "./traps.ts";
import type { CompiledModule } from "./web-assembly.ts";

/** A call to run. */
export interface Invocation {
  /** The ids of its tasks follow from it. */
  readonly executionId: ExecutionId;
  readonly handler: string;
  /** The arguments: an encoded map by parameter name. */
  readonly args: Uint8Array;
  readonly environment: Environment;
  /**
   * Gives the site to draw from for the call site of a draw. So another build, whose call sites stand elsewhere, draws
   * the same. Default: the same site.
   */
  readonly drawSite?: (site: string) => string;
  /** Told each step of the run, before the handler goes on. Left out: nobody watches. */
  readonly watch?: (step: RunStep) => void;
}

/** The items of one run. Each method may end the run by calling `Execution.stop`. */
export interface Items<Stop> {
  /** Reads an item that this run did not write: its value, null if absent. */
  read(unit: UnitId, run: Execution<Stop>): Uint8Array | null;
  /** Records a read whose value is not needed. */
  touch(unit: UnitId, run: Execution<Stop>): void;
  /** Records one of an item that the run did not say it writes. */
  touchUnwritten(unit: UnitId, run: Execution<Stop>): void;
  /** Records a write, before it is buffered. */
  write(unit: UnitId, run: Execution<Stop>): void;
  /** Records that the run names a lane, before the task is buffered. */
  lane(key: string, run: Execution<Stop>): void;
  /** Reads the rows of a range that is not empty, as the run sees them. `isNeeded`: with their values. */
  scan(query: ScanQuery, run: Execution<Stop>, isNeeded: boolean): readonly WalkedRow[];
  /** Reads how many items are stored in a range that is not empty. */
  count(interval: KeyInterval, run: Execution<Stop>): number;
  /** Records such a read whose number is not needed. */
  touchCount(interval: KeyInterval, run: Execution<Stop>): void;
}

/** How a run ended: by itself, with the fuel that it has used, or because `stop` was called. */
export type Ending<Stop> =
  | { readonly kind: "ended"; readonly outcome: Outcome; readonly fuel: number }
  | { readonly kind: "stopped"; readonly stop: Stop };

/** Name of the export that runs module-level code, called before the handler. */
const START = "_start";

/** Accesses of the same items count too: this many times the limit. */
const REPEATED_ACCESSES = 16;

/** A page of a WebAssembly memory. */
const PAGE_BYTES = 64 * 1024;

/** An encoded null: the result of a handler that returns nothing. */
const NULL_RESULT = Uint8Array.of(0xf6);

/**
 * Unwinds a run: handlers can't catch, so what a host function throws always reaches `run`. Why is in the
 * execution; the error itself says nothing and never leaves this file.
 */
const UNWIND = new Error("a run was ended");

export class Execution<Stop> implements HostCalls {
  /** Buffered writes in order of first write; null deletes. */
  readonly writes = new Map<UnitId, Uint8Array | null>();
  /** Tasks, cancellations and signals that the run has asked for, in order. */
  readonly effects: RunEffect[] = [];
  readonly #invocation: Invocation;
  readonly #limits: Limits;
  readonly #items: Items<Stop>;
  /** Null: the run is not one of a workflow. */
  readonly #workflow: WorkflowCalls<Stop> | null;
  #asks: Requests<Stop> | null = null;
  readonly #draws: Draws;
  /** Told each step; undefined: nobody watches. */
  readonly watch: Invocation["watch"];
  /** The units of all accesses while they are fewer than an execution may touch: hardly any has more. */
  readonly #accessed: UnitId[] = [];
  /** Those of more, each once. */
  #touched: Set<UnitId> | null = null;
  #furtherAccesses = 0;
  /** Bytes of the buffered writes, and of the arguments of tasks. */
  #written = 0;
  #guest!: Guest;
  /** The bytes that `take` copies. */
  #held: Uint8Array | null = null;
  #result: Uint8Array | null = null;
  /** Null: it has logged nothing, as most runs. */
  #logged: LoggedLines | null = null;
  #ending: { readonly kind: "ended"; readonly outcome: Outcome } | Extract<Ending<Stop>, { kind: "stopped" }> | null =
    null;

  constructor(invocation: Invocation, limits: Limits, items: Items<Stop>, workflow: WorkflowCalls<Stop> | null = null) {
    this.#invocation = invocation;
    this.#limits = limits;
    this.#items = items;
    this.#workflow = workflow;
    this.watch = invocation.watch;
    this.#draws = new Draws(invocation.environment.seed, invocation.drawSite);
  }

  /**
   * Runs the invocation's handler. Null if the module has no such function. Errors of the handler are outcomes. It throws
   * errors of the items. It also throws those of the engine for its own lack of stack or memory, or for a module that
   * can't be instantiated.
   */
  run(module: CompiledModule): Ending<Stop> | null {
    const guest = Guest.enter(module, this, this.#limits);
    this.#guest = guest;
    let fuel = 0;
    try {
      const handler = guest.function(this.#invocation.handler);
      if (handler === null) return null;
      guest.function(START)?.();
      handler();
    } catch (error) {
      if (this.#ending === null) {
        const trap = trapOf(error, guest);
        if (trap === null) throw error;
        this.#ending = { kind: "ended", outcome: { kind: "trap", ...trap } };
      }
    } finally {
      fuel = this.#limits.fuel - Math.max(0, guest.fuel);
      guest.leave();
    }
    this.#ending ??= { kind: "ended", outcome: { kind: "result", value: this.#result ?? NULL_RESULT } };
    return this.#ending.kind === "stopped" ? this.#ending : { ...this.#ending, fuel };
  }

  /** The lines that it has logged so far; null: none. */
  get logged(): readonly LoggedLine[] | null {
    return this.#logged?.all ?? null;
  }

  /** Ends the run. */
  stop(stop: Stop): never {
    this.#ending = { kind: "stopped", stop };
    throw UNWIND;
  }

  /** Ends the run with a trap. */
  trap(code: TrapCode, message: string): never {
    return this.#trap(code, message);
  }

  /** A workflow comes to what earlier runs have not done: lines and bytes before it are theirs. */
  beginActivation(): void {
    this.#logged = null;
    this.#written = 0;
  }

  #end(outcome: Outcome): never {
    this.#ending = { kind: "ended", outcome };
    throw UNWIND;
  }

  #trap(code: TrapCode, message: string): never {
    return this.#end({ kind: "trap", code, message });
  }

  // ── Host functions ─────────────────────────────────────────────────────────────────────────────────────────────────

  args_size(): number {
    return this.#invocation.args.length;
  }

  args_read(destination: number): void {
    this.#copyIn(destination, this.#invocation.args);
  }

  result(pointer: number, length: number): void {
    if (length >>> 0 > MAX_RESULT_BYTES) {
      this.#trap("out_of_memory", `the result is larger than ${MAX_RESULT_BYTES} bytes`);
    }
    const value = this.#copyOut(pointer, length);
    // Found here it is an outcome; found by who reads it, the writes would have happened without an answer.
    if (isTooDeep(value)) this.#trap("invalid_access", `the result is nested deeper than ${MAX_DEPTH}`);
    this.#result = value;
  }

  get(table: number, key: number): number {
    const unit = this.#access(table, key);
    const value = (this.#held = this.#value(unit));
    this.watch?.({ kind: "get", unit, value, isOwn: this.writes.has(unit) });
    return this.#held === null ? -1 : this.#held.length;
  }

  take(destination: number): void {
    if (this.#held === null) this.#trap("invalid_access", "there is nothing to take");
    this.#copyIn(destination, this.#held);
  }

  has(table: number, key: number): number {
    const unit = this.#access(table, key);
    const isThere = this.#value(unit) !== null;
    this.watch?.({ kind: "has", unit, isThere, isOwn: this.writes.has(unit) });
    return isThere ? 1 : 0;
  }

  scan(table: number, lo: number, hi: number, limit: number, reversed: number): number {
    const interval = this.#interval(table, lo, hi);
    const rows = this.#scan(interval, limit, reversed !== 0, true);
    if (interval !== null) {
      const unit = spanId({ ...interval, kind: "rows" });
      this.watch?.({ kind: "scan", unit, keys: rows.map(({ key }) => key) });
    }
    const size = rows.reduce((sum, { value }) => sum + value.length, 0);
    // They are outside of the instance's memory, into which they will not fit.
    if (size > this.#limits.memoryPages * PAGE_BYTES)
      this.#trap("out_of_memory", `the rows of a range have ${size} bytes`);
    const writer = new CborWriter().array(2 * rows.length);
    for (const { key, value } of rows) writer.text(key).bytes(value);
    this.#held = writer.finish();
    return this.#held.length;
  }

  count(table: number, lo: number, hi: number): bigint {
    const interval = this.#interval(table, lo, hi);
    if (interval === null) return 0n;
    const unit = spanId({ ...interval, kind: "count" });
    this.#touch(unit);
    let count = this.#items.count(interval, this);
    for (const [key, value] of ownIn(interval, this.writes)) {
      const isStored = this.#items.read(this.#item(interval, key), this) !== null;
      count += Number(value !== null) - Number(isStored);
    }
    this.watch?.({ kind: "count", unit, count });
    return BigInt(count);
  }

  put(table: number, key: number, pointer: number, length: number): void {
    if (length >>> 0 > MAX_VALUE_BYTES) {
      this.#trap("out_of_memory", `a value is larger than ${MAX_VALUE_BYTES} bytes`);
    }
    this.#write(this.#access(table, key), this.#copyOut(pointer, length));
  }

  delete(table: number, key: number): void {
    this.#write(this.#access(table, key), null);
  }

  caller(): number {
    const { caller } = this.#invocation.environment;
    this.watch?.({ kind: "caller", caller });
    this.#held = caller === null ? null : utf8ToBytes(caller);
    return this.#held?.length ?? -1;
  }

  now(): bigint {
    const { timeMs } = this.#workflow ?? this.#invocation.environment;
    this.watch?.({ kind: "now", timeMs });
    return BigInt(timeMs);
  }

  random(site: number): number {
    const place = this.#text(site);
    const drawn = this.#draws.number(place);
    this.watch?.({ kind: "draw", site: place, drawn: String(drawn) });
    return drawn;
  }

  uuid(site: number, destination: number): void {
    const place = this.#text(site);
    const drawn = this.#draws.uuid(place);
    this.watch?.({ kind: "draw", site: place, drawn });
    this.#copyIn(destination, utf8ToBytes(drawn));
  }

  log(level: number, pointer: number, length: number): void {
    const name = LOG_LINE_LEVELS[level];
    if (name === undefined) this.#trap("invalid_access", `log with level ${level}: a level is 0 to 3`);
    this.#logged ??= new LoggedLines();
    // All of it was paid for; no more than what is kept is read.
    this.#logged.add(name, length >>> 1, (units) => this.#guest.utf16(pointer, 2 * units) ?? this.#outside());
    if (this.watch !== undefined) {
      const line = this.#logged.all.at(-1);
      if (line !== undefined) this.watch({ kind: "log", ...line });
    }
  }

  abort(status: number, code: number, message: number): void {
    if (status < 400 || status > 599) {
      this.#trap("assertion_failed", `abort with status ${status}: a status is 400 to 599`);
    }
    const aborted = {
      kind: "abort",
      status,
      code: tidy(this.#text(code)),
      message: tidy(this.#text(message)),
    } as const;
    this.watch?.(aborted);
    this.#end(aborted);
  }

  overflow(file: number, line: number, column: number): void {
    const place = `${this.#text(file)}:${line >>> 0}:${column >>> 0}`;
    this.#trap("integer_overflow", `the result does not fit into its type of integer (${place})`);
  }

  sha256(destination: number, pointer: number, length: number): void {
    this.#copyIn(destination, sha256(this.#copyOut(pointer, length)));
  }

  scrypt(
    destination: number,
    password: number,
    passwordLength: number,
    salt: number,
    saltLength: number,
    logCost: number,
    rounds: number,
  ): void {
    // The program has paid for the rounds.
    const parallelization = rounds >>> logCost;
    const isPossible =
      logCost >= 1 &&
      logCost <= MAX_SCRYPT_LOG_COST &&
      parallelization >= 1 &&
      parallelization <= MAX_SCRYPT_PARALLELIZATION &&
      parallelization << logCost === rounds;
    if (!isPossible) this.#trap("invalid_access", `scrypt of ${rounds} rounds with a cost of 2^${logCost}`);
    if (saltLength >>> 0 > MAX_SCRYPT_SALT_BYTES)
      this.#trap("invalid_access", `a salt of scrypt with more than ${MAX_SCRYPT_SALT_BYTES} bytes`);
    const hash = scryptHash(this.#copyOut(password, passwordLength), this.#copyOut(salt, saltLength), {
      cost: 2 ** logCost,
      parallelization,
    });
    this.#copyIn(destination, hash);
  }

  enqueue(destination: number, callee: number, delayMs: bigint, key: number, pointer: number, length: number): void {
    this.#requests.enqueue(destination, callee, delayMs, key, pointer, length);
  }

  cancel(task: number): void {
    this.#requests.cancel(task);
  }

  touch_lane(key: number): void {
    this.#requests.lane(key);
  }

  send(workflow: number, name: number, pointer: number, length: number): void {
    this.#requests.send(workflow, name, pointer, length);
  }

  start(callee: number, place: number, pointer: number, length: number): number {
    return this.#requests.call("start", callee, place, pointer, length);
  }

  undo(callee: number, place: number, pointer: number, length: number): void {
    this.#requests.call("undo", callee, place, pointer, length);
  }

  await(isForOne: number, pointer: number, count: number): number {
    return this.#requests.await(isForOne !== 0, pointer, count);
  }

  settled(command: number): number {
    this.#held = this.#requests.value(command);
    return this.#held?.length ?? -1;
  }

  failure(command: number): number {
    this.#held = this.#requests.failure(command);
    return this.#held?.length ?? -1;
  }

  sleep(ms: bigint, place: number): void {
    this.#requests.sleep(ms, place);
  }

  receive(name: number, ms: bigint, place: number): number {
    this.#held = this.#requests.receive(name, ms, place);
    return this.#held?.length ?? -1;
  }

  workflow_id(destination: number): void {
    this.#copyIn(destination, utf8ToBytes(this.#requests.workflowId));
  }

  again(pointer: number, length: number): void {
    this.#requests.again(pointer, length);
  }

  touch(table: number, key: number): void {
    this.#items.touch(this.#access(table, key), this);
  }

  touch_unwritten(table: number, key: number): void {
    this.#items.touchUnwritten(this.#access(table, key), this);
  }

  touch_scan(table: number, lo: number, hi: number, limit: number, reversed: number): void {
    this.#scan(this.#interval(table, lo, hi), limit, reversed !== 0, false);
  }

  touch_count(table: number, lo: number, hi: number): void {
    const interval = this.#interval(table, lo, hi);
    if (interval === null) return;
    this.#touch(spanId({ ...interval, kind: "count" }));
    this.#items.touchCount(interval, this);
    for (const [key] of ownIn(interval, this.writes)) this.#items.touch(this.#item(interval, key), this);
  }

  will_write(table: number, key: number): void {
    this.#items.write(this.#access(table, key), this);
  }

  assertionFailed(message: number, file: number, line: number, column: number): never {
    const trap = assertionTrap(this.#text(message), this.#text(file), line >>> 0, column >>> 0);
    return this.#trap(trap.code, trap.message);
  }

  // ── Requests ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Most runs ask for nothing. */
  get #requests(): Requests<Stop> {
    return (this.#asks ??= new Requests<Stop>(this, this.#invocation.executionId, this.#workflow, {
      text: (pointer) => this.#text(pointer),
      copyIn: (destination, bytes) => this.#copyIn(destination, bytes),
      copyOut: (pointer, length) => this.#copyOut(pointer, length),
      addWritten: (bytes) => this.#addWritten(bytes),
      nameLane: (key) => this.#items.lane(key, this),
    }));
  }

  // ── Accesses ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The unit of an access, after the checks that every access passes. */
  #access(table: number, key: number): UnitId {
    const unit = (this.#guest.plainUnit(table, key) as UnitId | null) ?? this.#checkedUnit(table, key);
    this.#touch(unit);
    return unit;
  }

  /** Counts an access. */
  #touch(unit: UnitId): void {
    if (this.#accessed.length < this.#limits.accesses) this.#accessed.push(unit);
    else this.#countTouched(unit);
  }

  /** The range of a walk, after the checks that every access passes; null: no key is in it. */
  #interval(table: number, lo: number, hi: number): KeyInterval | null {
    const interval = { table: this.#text(table), lo: this.#text(lo), hi: this.#text(hi) };
    try {
      spanId({ ...interval, kind: "rows" });
    } catch (error) {
      if (error instanceof RangeError) this.#trap("invalid_access", tidy(error.message));
      throw error;
    }
    return isEmptyInterval(interval) ? null : interval;
  }

  #scan(interval: KeyInterval | null, limit: number, isReversed: boolean, isNeeded: boolean): readonly WalkedRow[] {
    if (interval === null || limit <= 0) return [];
    // A run with more rows traps. So nobody looks for more.
    const most = Math.min(limit, this.#limits.accesses + 1);
    const rows = this.#items.scan({ ...interval, limit: most, isReversed }, this, isNeeded);
    this.#touch(spanId({ ...interval, kind: "rows" }));
    for (const { unit } of rows) this.#touch(unit);
    return rows;
  }

  /** The item under a key of a range, which counts as an access. */
  #item({ table }: KeyInterval, key: string): UnitId {
    const unit = unitId(table, key);
    this.#touch(unit);
    return unit;
  }

  #countTouched(unit: UnitId): void {
    this.#touched ??= new Set(this.#accessed);
    this.#touched.add(unit);
    const { accesses } = this.#limits;
    if (this.#touched.size > accesses) this.#trap("invalid_access", `more than ${accesses} items in one execution`);
    const most = accesses * REPEATED_ACCESSES;
    if (accesses + ++this.#furtherAccesses > most)
      this.#trap("invalid_access", `more than ${most} accesses in one execution`);
  }

  #checkedUnit(table: number, key: number): UnitId {
    try {
      return unitId(this.#text(table), this.#text(key));
    } catch (error) {
      if (error instanceof RangeError) this.#trap("invalid_access", tidy(error.message));
      throw error;
    }
  }

  /** Read your writes: a buffered write is seen, and does not count as a read of the item. */
  #value(unit: UnitId): Uint8Array | null {
    const buffered = this.writes.get(unit);
    return buffered === undefined ? this.#items.read(unit, this) : buffered;
  }

  #write(unit: UnitId, value: Uint8Array | null): void {
    this.#items.write(unit, this);
    // They are outside of the instance's memory, whose limit they don't meet.
    this.#addWritten((value?.length ?? 0) - (this.writes.get(unit)?.length ?? 0));
    this.writes.set(unit, value);
    this.watch?.({ kind: "write", unit, value });
  }

  #addWritten(bytes: number): void {
    this.#written += bytes;
    if (this.#written > MAX_WRITTEN_BYTES) {
      this.#trap("out_of_memory", `the handler wrote more than ${MAX_WRITTEN_BYTES} bytes`);
    }
  }

  #text(pointer: number): string {
    return this.#guest.text(pointer) ?? this.#outside();
  }

  #copyIn(destination: number, bytes: Uint8Array): void {
    if (!this.#guest.write(destination, bytes)) this.#outside();
  }

  #copyOut(pointer: number, length: number): Uint8Array {
    return this.#guest.read(pointer, length) ?? this.#outside();
  }

  #outside(): never {
    return this.#trap("memory_out_of_bounds", "access outside of memory");
  }
}
