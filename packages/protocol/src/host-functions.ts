/**
 * The table of host functions: everything a handler's WebAssembly may import.
 *
 * The SDK declares these imports, both hosts provide them and the build refuses any other import, so a
 * function is added here first. `string` is a pointer to an AssemblyScript string (UTF-16, its byte length
 * as u32 at pointer − 4); `pointer` is an address in the instance's memory.
 */
import { OLDEST_ABI_VERSION } from "./wire-version.ts";

/** Most bytes that the values written by one execution may take together, and most bytes of its result. */
export const MAX_WRITTEN_BYTES = 4 * 1024 * 1024;
export const MAX_RESULT_BYTES = 4 * 1024 * 1024;
/** Most bytes of one value: with its key it fits into an item of DynamoDB. */
export const MAX_VALUE_BYTES = 384 * 1024;

/**
 * Fuel of one run of a read/write-set function. Its loops are copies of the handler's, but some items that it runs on are
 * missing, and then a loop might never end. A handler that needs more takes so long that running it near storage costs
 * nothing.
 */
export const READ_WRITE_SET_FUEL = 2_000_000_000;

/**
 * Stack of one run of a read/write-set function: its frames may be larger than the handler's. Less than what engines have
 * (see `MAX_LIMITS`), though a run that meets their limit would have no consequences either.
 */
export const READ_WRITE_SET_STACK_BYTES = 768 * 1024;

/**
 * Most bytes of the salt of scrypt, which is hashed once for each block: a longer one would take time that nobody has paid for.
 */
export const MAX_SCRYPT_SALT_BYTES = 1_024;

/**
 * Bounds of scrypt: the binary logarithm of its cost, and its parallelization. The first bounds the memory of a hash to 32 MiB, of
 * the 128 MiB that an isolate has.
 */
export const MAX_SCRYPT_LOG_COST = 15;
export const MAX_SCRYPT_PARALLELIZATION = 64;

/** Exports that the build adds to each program, for the host: what counts is in the program itself. */
export const METER_EXPORTS = {
  /**
   * `(fuel: f64, stackBytes: i32)`: what a run may use, and every other global that can change as it was at first. With
   * it a host may run an instance again, once its memory is what it was.
   */
  begin: "__radical_begin",
  /** `() → f64`: the fuel that is left; negative if it has run out. */
  fuel: "__radical_fuel",
  /** `() → i32`: the bytes of stack that are left; negative if calls were nested too deeply. */
  stack: "__radical_stack",
} as const;

/** Import namespace of every host function below. */
export const HOST_NAMESPACE = "radical";

export type HostValueType = "i32" | "i64" | "f64" | "string" | "pointer";

export interface HostFunction {
  readonly parameters: readonly HostValueType[];
  readonly result: "i32" | "i64" | "f64" | null;
  /** The programs of a module that may import it: handlers, read/write-set functions, or both. */
  readonly program: "both" | "handlers" | "read-write-set";
  /** The price in fuel of each unit of its last operand. Left out: 1 for each byte that the last two operands hand over. */
  readonly unitFuel?: number;
  /** Version of the ABI that added it; left out: every version that hosts run has it. */
  readonly since?: number;
}

export const HOST_FUNCTIONS = {
  /** Length in bytes of the encoded arguments. */
  args_size: { parameters: [], result: "i32", program: "both" },
  /** Copies the encoded arguments to the pointer. */
  args_read: { parameters: ["pointer"], result: null, program: "both" },
  /** Hands over the encoded result: pointer, length in bytes. */
  result: { parameters: ["pointer", "i32"], result: null, program: "both" },
  /** Reads an item: length of its value in bytes, or −1 if absent. The value is held for `take`. */
  get: { parameters: ["string", "string"], result: "i32", program: "both" },
  /** Copies what the last `get`, `scan`, `caller`, `settled`, `failure` or `receive` found to the pointer. */
  take: { parameters: ["pointer"], result: null, program: "both" },
  /** Reads whether an item exists: 1 or 0. */
  has: { parameters: ["string", "string"], result: "i32", program: "both" },
  /**
   * Reads the first rows of a range: table, first key, end (exclusive; empty: none), number of rows, whether from the end
   * backward. It gives the length in bytes of an encoded array, held for `take`: of each row the key as text and the value as bytes.
   */
  scan: { parameters: ["string", "string", "string", "i32", "i32"], result: "i32", program: "both", since: 7 },
  /** Reads how many items are in a range: table, first key, end. */
  count: { parameters: ["string", "string", "string"], result: "i64", program: "both", since: 7 },
  /** Buffers a write: table, key, pointer and length of the value. */
  put: { parameters: ["string", "string", "pointer", "i32"], result: null, program: "both" },
  /** Buffers a delete. */
  delete: { parameters: ["string", "string"], result: null, program: "both" },
  /** The execution's time in milliseconds since the epoch, fixed by the location. */
  now: { parameters: [], result: "i64", program: "both" },
  /**
   * The execution's caller, fixed by the location: its length in bytes of UTF-8, or −1 if there is none. It is held for
   * `take`.
   */
  caller: { parameters: [], result: "i32", program: "both" },
  /** The next draw of a call site as a number in [0, 1). */
  random: { parameters: ["string"], result: "f64", program: "both" },
  /** Writes the next draw of a call site as a version 4 UUID: 36 ASCII bytes. */
  uuid: { parameters: ["string", "pointer"], result: null, program: "both" },
  /** Ends the execution without writes: HTTP status, error code, message. Does not return. */
  abort: { parameters: ["i32", "string", "string"], result: null, program: "both" },
  /** Logs a line: level, pointer to its UTF-16 units, their length in bytes. A read/write-set function logs nothing. */
  log: { parameters: ["i32", "pointer", "i32"], result: null, program: "both", since: 6 },
  /** Writes the SHA-256 of bytes, 32 of them, to the first pointer. */
  sha256: { parameters: ["pointer", "pointer", "i32"], result: null, program: "both", unitFuel: 20, since: 9 },
  /**
   * Writes the scrypt hash (RFC 7914) of a password, 32 bytes, to the first pointer. Then come the password and the salt, each as
   * pointer and length, and the binary logarithm of the cost N. The last operand is N times the parallelization. The block size is 8.
   */
  scrypt: {
    parameters: ["pointer", "pointer", "i32", "pointer", "i32", "i32", "i32"],
    result: null,
    program: "handlers",
    unitFuel: 8_000,
    since: 9,
  },
  /**
   * Buffers a task. The first pointer says where its id goes, as 32 hexadecimal digits in ASCII. Then come the callee, the delay
   * in milliseconds, the key (a null pointer: none), and pointer and length of the encoded arguments. A negative delay counts as
   * none. A read/write-set function asks for nothing by it, but names the lane.
   */
  enqueue: {
    parameters: ["pointer", "string", "i64", "string", "pointer", "i32"],
    result: null,
    program: "both",
    since: 11,
  },
  /** Buffers that a task is given up, unless it has begun, or that a workflow is asked to end: its id. */
  cancel: { parameters: ["string"], result: null, program: "both", since: 11 },
  /** Buffers a value for a workflow: its id, the name of the signal, pointer and length of the encoded value. */
  send: { parameters: ["string", "string", "pointer", "i32"], result: null, program: "both", since: 11 },
  /**
   * Only in workflows, as those below: issues a step. It takes the callee, the place of the call in the source, and pointer and
   * length of the encoded arguments. It gives the number of the command.
   */
  start: { parameters: ["string", "string", "pointer", "i32"], result: "i32", program: "handlers", since: 11 },
  /** Issues a call that is made if the workflow fails; likewise. */
  undo: { parameters: ["string", "string", "pointer", "i32"], result: null, program: "handlers", since: 11 },
  /** Waits for steps: 0 for all of them, 1 for one; pointer to their numbers, and how many. It gives the one that was first. */
  await: { parameters: ["i32", "pointer", "i32"], result: "i32", program: "handlers", since: 11 },
  /** Of a step that has settled: the length in bytes of its value, held for `take`, or −1: it has failed. */
  settled: { parameters: ["i32"], result: "i32", program: "handlers", since: 11 },
  /**
   * Of a step that has settled: the length in bytes of an encoded array, held for `take`, or −1: it has not failed. The array has
   * the status, the code and the message of the failure.
   */
  failure: { parameters: ["i32"], result: "i32", program: "handlers", since: 11 },
  /** Waits for so many milliseconds. The place of the call comes last. */
  sleep: { parameters: ["i64", "string"], result: null, program: "handlers", since: 11 },
  /**
   * Waits for the next value of a signal: its name, the longest time in milliseconds (negative: no end), the place of the call. It
   * gives the length in bytes of the value, held for `take`, or −1: the time is over.
   */
  receive: { parameters: ["string", "i64", "string"], result: "i32", program: "handlers", since: 11 },
  /** Writes the id of the workflow to the pointer, as 32 hexadecimal digits in ASCII. */
  workflow_id: { parameters: ["pointer"], result: null, program: "handlers", since: 11 },
  /** Ends the run. The workflow goes on with an empty journal and these encoded arguments. Does not return. */
  again: { parameters: ["pointer", "i32"], result: null, program: "handlers", since: 11 },
  /** Ends the execution without writes: an integer does not fit, at this file, line and column. Does not return. */
  overflow: { parameters: ["string", "i32", "i32"], result: null, program: "both", since: 6 },
  /** Records a read whose value the read/write-set function does not need. */
  touch: { parameters: ["string", "string"], result: null, program: "read-write-set" },
  /** The same, unless the execution said before that it writes the item: the handler would see its own write. */
  touch_unwritten: { parameters: ["string", "string"], result: null, program: "read-write-set" },
  /** Records a scan whose rows the read/write-set function does not need. */
  touch_scan: {
    parameters: ["string", "string", "string", "i32", "i32"],
    result: null,
    program: "read-write-set",
    since: 7,
  },
  /** Records a count that the read/write-set function does not need. */
  touch_count: { parameters: ["string", "string", "string"], result: null, program: "read-write-set", since: 7 },
  /** Records the key of a task: the handler names this lane. */
  touch_lane: { parameters: ["string"], result: null, program: "read-write-set", since: 11 },
  /** Records a write whose value the read/write-set function does not know. */
  will_write: { parameters: ["string", "string"], result: null, program: "read-write-set" },
} as const satisfies Record<string, HostFunction>;

export type HostFunctionName = keyof typeof HOST_FUNCTIONS;

/** The least version of the ABI that has all of these host functions. */
export function abiOfImports(
  imports: Iterable<string>,
  functions: Readonly<Record<string, HostFunction>> = HOST_FUNCTIONS,
): number {
  let abi = OLDEST_ABI_VERSION;
  for (const name of imports) abi = Math.max(abi, functions[name]?.since ?? OLDEST_ABI_VERSION);
  return abi;
}

/** AssemblyScript's own import for failed assertions and `throw`: message, file, line, column. */
export const ASSEMBLYSCRIPT_ABORT = { module: "env", name: "abort" } as const;
