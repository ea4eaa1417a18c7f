/**
 * An instance of a module with its memory and the host functions it is bound to. It serves one execution at a time.
 *
 * Every execution starts from the state of a fresh instance, and nothing of an earlier one can be seen. Making an
 * instance costs more than most read/write-set functions, so one that is as good as new is kept for each module. The
 * state of an instance is its globals, its memory and its tables:
 *
 * - globals: the build adds a function that sets every global that can change to its initial value (`METER_EXPORTS`);
 * - memory: all of it is overwritten with what it was before any code had run. One that has grown is not used again;
 * - tables: nothing that AssemblyScript emits changes one, and handlers are refused the builtins that could.
 *
 * The module-level code then runs again, as it may use the time, draws and items of the execution.
 */
import {
  ASSEMBLYSCRIPT_ABORT,
  HOST_NAMESPACE,
  METER_EXPORTS,
  type HostFunctionName,
  type Limits,
} from "@radical/protocol";
import { Instance, type CompiledModule, type Memory } from "./web-assembly.ts";

/** The host functions as an instance calls them; operands of kind `string` and `pointer` are addresses. */
export interface HostCalls {
  args_size(): number;
  args_read(destination: number): void;
  result(pointer: number, length: number): void;
  get(table: number, key: number): number;
  take(destination: number): void;
  has(table: number, key: number): number;
  scan(table: number, lo: number, hi: number, limit: number, reversed: number): number;
  count(table: number, lo: number, hi: number): bigint;
  put(table: number, key: number, pointer: number, length: number): void;
  delete(table: number, key: number): void;
  now(): bigint;
  caller(): number;
  random(site: number): number;
  uuid(site: number, destination: number): void;
  abort(status: number, code: number, message: number): void;
  log(level: number, pointer: number, length: number): void;
  overflow(file: number, line: number, column: number): void;
  sha256(destination: number, pointer: number, length: number): void;
  scrypt(
    destination: number,
    password: number,
    passwordLength: number,
    salt: number,
    saltLength: number,
    logCost: number,
    rounds: number,
  ): void;
  enqueue(destination: number, callee: number, delayMs: bigint, key: number, pointer: number, length: number): void;
  cancel(task: number): void;
  send(workflow: number, name: number, pointer: number, length: number): void;
  start(callee: number, place: number, pointer: number, length: number): number;
  undo(callee: number, place: number, pointer: number, length: number): void;
  await(isForOne: number, pointer: number, count: number): number;
  settled(command: number): number;
  failure(command: number): number;
  sleep(ms: bigint, place: number): void;
  receive(name: number, ms: bigint, place: number): number;
  workflow_id(destination: number): void;
  again(pointer: number, length: number): void;
  touch_lane(key: number): void;
  touch(table: number, key: number): void;
  touch_unwritten(table: number, key: number): void;
  touch_scan(table: number, lo: number, hi: number, limit: number, reversed: number): void;
  touch_count(table: number, lo: number, hi: number): void;
  will_write(table: number, key: number): void;
  /** AssemblyScript's own import. */
  assertionFailed(message: number, file: number, line: number, column: number): void;
}

/** The instance of each module that waits for its next execution. */
const idle = new WeakMap<CompiledModule, Guest>();

/** The memory of a module's instances before any code has run. */
interface InitialMemory {
  readonly size: number;
  /** Its first bytes; all behind them are zero. */
  readonly image: Uint8Array;
}

const initialMemories = new WeakMap<CompiledModule, InitialMemory>();

/** The calls that an instance serves. Nothing calls it while it has none. */
interface Service {
  calls: HostCalls | null;
}

export class Guest {
  readonly #module: CompiledModule;
  readonly #instance: Instance;
  readonly #memory: Memory;
  readonly #initial: InitialMemory;
  readonly #meter: Meter;
  readonly #service: Service;
  /** Views of the memory; empty once it has grown. */
  #bytes = new Uint8Array();
  #units = new Uint16Array();
  /**
   * Units that `plainUnit` gave before, also in earlier executions, by a hash. A unit is often accessed again, and a set
   * finds the same string without looking into it.
   */
  readonly #known = Array.from<KnownUnit | undefined>({ length: KNOWN_UNITS });

  /** An instance in its initial state, for one execution. Throws the engine's error if there can't be one. */
  static enter(module: CompiledModule, calls: HostCalls, { fuel, stackBytes }: Allowance): Guest {
    let guest = idle.get(module);
    // It is not there for a run within this one.
    if (guest === undefined) guest = new Guest(module);
    else idle.delete(module);
    guest.#service.calls = calls;
    guest.#meter.begin(fuel, stackBytes);
    return guest;
  }

  private constructor(module: CompiledModule) {
    this.#module = module;
    this.#service = { calls: null };
    this.#instance = new Instance(module, importsOf(this.#service));
    this.#memory = this.#instance.memory;
    this.#meter = meterOf(this.#instance);
    let initial = initialMemories.get(module);
    if (initial === undefined) initialMemories.set(module, (initial = initialMemory(this.#memory)));
    this.#initial = initial;
  }

  /** The exported function of that name, or null. */
  function(name: string): (() => void) | null {
    return this.#instance.function(name);
  }

  /** The fuel that is left; negative if it has run out. */
  get fuel(): number {
    return this.#meter.fuel();
  }

  /** The bytes of stack that are left; negative if calls were nested too deeply. */
  get stack(): number {
    return this.#meter.stack();
  }

  /** Ends the execution: its state is overwritten, or the instance given up. */
  leave(): void {
    this.#service.calls = null;
    const memory = this.#allBytes();
    const { size, image } = this.#initial;
    if (memory.length !== size) return;
    memory.fill(0, image.length);
    memory.set(image);
    idle.set(this.#module, this);
  }

  /** A copy of a part of the memory; null outside of it. */
  read(pointer: number, length: number): Uint8Array | null {
    const start = pointer >>> 0;
    const end = start + (length >>> 0);
    const memory = this.#allBytes();
    return end > memory.length ? null : memory.slice(start, end);
  }

  /** Copies bytes into the memory; false if they do not fit. */
  write(pointer: number, bytes: Uint8Array): boolean {
    const start = pointer >>> 0;
    const memory = this.#allBytes();
    if (start + bytes.length > memory.length) return false;
    memory.set(bytes, start);
    return true;
  }

  /** An AssemblyScript string: UTF-16, its byte length before it; empty for a null pointer; null outside of memory. */
  text(pointer: number): string | null {
    if (pointer === 0) return "";
    const start = pointer >>> 0;
    const bytes = this.#allBytes();
    if (start < 4 || start > bytes.length) return null;
    return this.utf16(start, sizeAt(bytes, start));
  }

  /** Text of so many bytes of UTF-16, an even number; null outside of memory. */
  utf16(pointer: number, size: number): string | null {
    const start = pointer >>> 0;
    const bytes = this.#allBytes();
    if (start + size > bytes.length) return null;
    return (start & 1) === 0
      ? textOf(this.#units, start >> 1, size >> 1)
      : textOf(new Uint16Array(bytes.slice(start, start + size).buffer), 0, size >> 1);
  }

  /**
   * The unit of two strings if both are as most are: a table's name, and 1 to 512 characters of ASCII. Null: whoever
   * asks looks at each of them.
   */
  plainUnit(table: number, key: number): string | null {
    const bytes = this.#allBytes();
    const tableStart = table >>> 0;
    const keyStart = key >>> 0;
    if (((tableStart | keyStart) & 1) !== 0) return null;
    if (tableStart < 4 || tableStart > bytes.length || keyStart < 4 || keyStart > bytes.length) return null;
    const tableSize = sizeAt(bytes, tableStart);
    const keySize = sizeAt(bytes, keyStart);
    if (tableStart + tableSize > bytes.length || keyStart + keySize > bytes.length) return null;
    const tableLength = tableSize >> 1;
    const keyLength = keySize >> 1;
    if (tableLength < 1 || tableLength > 64 || keyLength < 1 || keyLength > 512) return null;
    const units = this.#units;
    // Tables often have the same keys.
    let hash = tableLength * 0x80 + units[tableStart >> 1]!;
    for (let at = keyStart >> 1; at < (keyStart >> 1) + keyLength; at++) hash = (Math.imul(hash, 31) + units[at]!) | 0;
    // Keys that count upwards get slots beside each other.
    hash &= KNOWN_UNITS - 1;
    const known = this.#known[hash];
    if (known !== undefined && isUnitOf(known.codes, units, tableStart >> 1, tableLength, keyStart >> 1, keyLength))
      return known.unit;
    // oxlint-disable-next-line unicorn/no-new-array -- the length is known: an array that grows takes half as long again
    const codes = new Array<number>(tableLength + 1 + keyLength);
    for (let at = 0; at < tableLength; at++) {
      const unit = units[(tableStart >> 1) + at]!;
      if (unit > 0x7f || NAME_CHARACTERS[unit]! <= Number(at === 0)) return null;
      codes[at] = unit;
    }
    codes[tableLength] = 0x2f;
    for (let at = 0; at < keyLength; at++) {
      const unit = units[(keyStart >> 1) + at]!;
      if (unit > 0x7f) return null;
      codes[tableLength + 1 + at] = unit;
    }
    const unit = String.fromCharCode.apply(null, codes);
    this.#known[hash] = { codes, unit };
    return unit;
  }

  /** The whole memory: growing it takes its earlier buffer away. */
  #allBytes(): Uint8Array {
    if (this.#bytes.length === 0) {
      const { buffer } = this.#memory;
      this.#bytes = new Uint8Array(buffer);
      this.#units = new Uint16Array(buffer);
    }
    return this.#bytes;
  }
}

/** A string for a unit, and its characters. */
interface KnownUnit {
  readonly codes: readonly number[];
  readonly unit: string;
}

/** How many are kept: a power of two. */
const KNOWN_UNITS = 512;

/** Whether a unit is that of a table and a key in memory. */
function isUnitOf(
  codes: readonly number[],
  units: Uint16Array,
  table: number,
  tableLength: number,
  key: number,
  keyLength: number,
): boolean {
  if (codes.length !== tableLength + 1 + keyLength || codes[tableLength] !== 0x2f) return false;
  for (let at = 0; at < keyLength; at++) if (codes[tableLength + 1 + at] !== units[key + at]) return false;
  for (let at = 0; at < tableLength; at++) if (codes[at] !== units[table + at]) return false;
  return true;
}

/** For ASCII: 2 for what a table's name may begin with, 1 for what else may be in it. */
const NAME_CHARACTERS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z_]/.test(character) ? 2 : Number(/[0-9-]/.test(character));
});

/** The byte length of the string at a pointer, made even. */
function sizeAt(bytes: Uint8Array, start: number): number {
  const size = bytes[start - 4]! | (bytes[start - 3]! << 8) | (bytes[start - 2]! << 16) | (bytes[start - 1]! << 24);
  return (size & ~1) >>> 0;
}

/** Most arguments of one call. */
const CHUNK = 4096;

function textOf(units: Uint16Array, start: number, length: number): string {
  let text = "";
  for (let done = 0; done < length; done += CHUNK) {
    const count = Math.min(CHUNK, length - done);
    // oxlint-disable-next-line unicorn/no-new-array -- as above
    const codes = new Array<number>(count);
    for (let at = 0; at < count; at++) codes[at] = units[start + done + at]!;
    text += String.fromCharCode.apply(null, codes);
  }
  return text;
}

function initialMemory(memory: Memory | undefined): InitialMemory {
  if (memory === undefined) return { size: 0, image: new Uint8Array() };
  const bytes = new Uint8Array(memory.buffer);
  let used = bytes.length;
  while (used > 0 && bytes[used - 1] === 0) used--;
  return { size: bytes.length, image: bytes.slice(0, used) };
}

/** The fuel and stack that a run may use. */
export type Allowance = Pick<Limits, "fuel" | "stackBytes">;

interface Meter {
  begin(fuel: number, stackBytes: number): void;
  fuel(): number;
  stack(): number;
}

function meterOf(instance: Instance): Meter {
  const { begin, fuel, stack } = METER_EXPORTS;
  const exported = (name: string): never => {
    const found = instance.function(name);
    if (found === null) throw new Error(`the program lacks ${name}: it was not metered`);
    return found as never;
  };
  return { begin: exported(begin), fuel: exported(fuel), stack: exported(stack) };
}

type HostFunction = (...operands: never[]) => unknown;

function importsOf(service: Service): Readonly<Record<string, Readonly<Record<string, HostFunction>>>> {
  const functions: Record<HostFunctionName, HostFunction> = {
    args_size: () => service.calls!.args_size(),
    args_read: (destination: number) => service.calls!.args_read(destination),
    result: (pointer: number, length: number) => service.calls!.result(pointer, length),
    get: (table: number, key: number) => service.calls!.get(table, key),
    take: (destination: number) => service.calls!.take(destination),
    has: (table: number, key: number) => service.calls!.has(table, key),
    scan: (table: number, lo: number, hi: number, limit: number, reversed: number) =>
      service.calls!.scan(table, lo, hi, limit, reversed),
    count: (table: number, lo: number, hi: number) => service.calls!.count(table, lo, hi),
    put: (table: number, key: number, pointer: number, length: number) =>
      service.calls!.put(table, key, pointer, length),
    delete: (table: number, key: number) => service.calls!.delete(table, key),
    now: () => service.calls!.now(),
    caller: () => service.calls!.caller(),
    random: (site: number) => service.calls!.random(site),
    uuid: (site: number, destination: number) => service.calls!.uuid(site, destination),
    overflow: (file: number, line: number, column: number) => service.calls!.overflow(file, line, column),
    abort: (status: number, code: number, message: number) => service.calls!.abort(status, code, message),
    sha256: (destination: number, pointer: number, length: number) =>
      service.calls!.sha256(destination, pointer, length),
    scrypt: (...operands: Parameters<HostCalls["scrypt"]>) => service.calls!.scrypt(...operands),
    log: (level: number, pointer: number, length: number) => service.calls!.log(level, pointer, length),
    enqueue: (...operands: Parameters<HostCalls["enqueue"]>) => service.calls!.enqueue(...operands),
    cancel: (task: number) => service.calls!.cancel(task),
    send: (...operands: Parameters<HostCalls["send"]>) => service.calls!.send(...operands),
    start: (...operands: Parameters<HostCalls["start"]>) => service.calls!.start(...operands),
    undo: (...operands: Parameters<HostCalls["undo"]>) => service.calls!.undo(...operands),
    await: (isForOne: number, pointer: number, count: number) => service.calls!.await(isForOne, pointer, count),
    settled: (command: number) => service.calls!.settled(command),
    failure: (command: number) => service.calls!.failure(command),
    sleep: (ms: bigint, place: number) => service.calls!.sleep(ms, place),
    receive: (name: number, ms: bigint, place: number) => service.calls!.receive(name, ms, place),
    workflow_id: (destination: number) => service.calls!.workflow_id(destination),
    again: (pointer: number, length: number) => service.calls!.again(pointer, length),
    touch_lane: (key: number) => service.calls!.touch_lane(key),
    touch: (table: number, key: number) => service.calls!.touch(table, key),
    touch_unwritten: (table: number, key: number) => service.calls!.touch_unwritten(table, key),
    touch_scan: (table: number, lo: number, hi: number, limit: number, reversed: number) =>
      service.calls!.touch_scan(table, lo, hi, limit, reversed),
    touch_count: (table: number, lo: number, hi: number) => service.calls!.touch_count(table, lo, hi),
    will_write: (table: number, key: number) => service.calls!.will_write(table, key),
  };
  const assertionFailed = (message: number, file: number, line: number, column: number): void =>
    service.calls!.assertionFailed(message, file, line, column);
  return {
    [HOST_NAMESPACE]: functions,
    [ASSEMBLYSCRIPT_ABORT.module]: { [ASSEMBLYSCRIPT_ABORT.name]: assertionFailed },
  };
}
