/**
 * The SDK, which handlers import as `@radical/sdk`.
 *
 * A handler is an exported function of a file in `handlers/`. One call of it is one strictly serializable
 * transaction over everything it reads and writes through tables.
 */
import { Boxed } from "./boxed";
import { Writer, encodeValue, takeValue } from "./codec";
import { isDate } from "./dates";
import { randomAt, uuidAt } from "./draws";
import * as host from "./host";
import { Keeper } from "./keeper";
import { LEAST_LEVEL } from "./log-level";
import { prefixEnd, Range } from "./ranges";
import { cancelTask } from "./tasks";

export { ascending, descending, Range } from "./ranges";
export { Row } from "./rows";

export { Blob } from "./blob";
export { Counter } from "./counters";
export { Index, IndexPart, IndexRange, Unique, UniquePart } from "./indexes";
export { Objects } from "./objects";
export { hashPassword, needsRehash, sha256, verifyPassword } from "./passwords";
export { again, all, any, Failure, Future, run, Signal, sleep, start, undo, workflowId } from "./workflows";

/**
 * A table of items of type `T` by key. Declared once, at module level, with a literal name:
 *
 *     export class User { name: string = ""; followers: string[] = []; }
 *     const users = new Table<User>("users");
 *
 * `T` is a record class, a string or an array. Keys are text of 1 to 512 UTF-8 bytes.
 */
export class Table<T> {
  /** Keeps the indexes of the table; null: it has none. Internal. */
  keeper: Keeper | null = null;

  constructor(
    /** Letters, digits, `_` and `-`; at most 64; not starting with a digit or `-`. */
    readonly name: string,
  ) {}

  /**
   * The item under `key`, or null. Changing the returned object changes nothing in the table: `put` it. Records that were
   * read keep the fields that their classes do not know.
   */
  get(key: string): T | null {
    const length = host.get(this.name, key);
    return length < 0 ? null : takeValue<T>(length, this.name, key);
  }

  /** Stores `value` under `key`, in place of the item that was there. A new object has the fields of its class only. */
  put(key: string, value: T): void {
    const writer = new Writer(true, this.name, key);
    encodeValue<T>(writer, value);
    const keeper = this.keeper;
    if (keeper != null) keeper.put(this.name, key, writer.start, writer.length);
    host.put(this.name, key, writer.start, writer.length);
  }

  /** Removes the item under `key`, if there is one. */
  delete(key: string): void {
    const keeper = this.keeper;
    if (keeper != null) keeper.remove(this.name, key);
    host.remove(this.name, key);
  }

  /** Whether there is an item under `key`. */
  has(key: string): bool {
    return host.has(this.name, key) != 0;
  }

  /** All items, in the order of their keys. */
  all(): Range<T> {
    return new Range<T>(this.name, "", "");
  }

  /** The items whose keys begin with `text`. */
  prefix(text: string): Range<T> {
    return new Range<T>(this.name, text, prefixEnd(text));
  }

  /** The items whose keys are not before `from`, and before `to`. An empty `to` is behind all keys. */
  range(from: string, to: string): Range<T> {
    return new Range<T>(this.name, from, to);
  }

  /**
   * Only in read/write-set functions, those with the tag `@readwrite <handler>`: the handler reads the item under
   * `key`, and its value is not needed here. An item whose value *is* needed to find others is read with `get` or `has`.
   */
  touch(key: string): void {
    host.touch(this.name, key);
  }

  /** Only in derived read/write-set functions: the same, unless they said before that the item is written. */
  touchUnwritten(key: string): void {
    host.touch_unwritten(this.name, key);
  }

  /** Only in read/write-set functions: the handler puts an item under `key`. */
  willPut(key: string): void {
    host.will_write(this.name, key);
  }

  /** Only in read/write-set functions: the handler deletes the item under `key`. */
  willDelete(key: string): void {
    host.will_write(this.name, key);
  }
}

/**
 * The type of a parameter whose value nobody is shown: a password, or a token. It is a `string` in all else. Samples, records,
 * lists of tasks and the dashboard have `‹secret›` in its place, and no `GET` takes it:
 *
 *     export function login(name: string, password: Secret): bool {
 *       const account = accounts.get(name);
 *       return verifyPassword(password, account == null ? null : account.passwordHash);
 *     }
 *
 * Only a parameter of a handler or a service can be a `Secret`. A handler must not log it, or put it into an item or a message.
 */
export type Secret = string;

/** The time of this execution in milliseconds since the epoch: the same in every call of one execution. */
export function now(): i64 {
  return host.now();
}

/**
 * The milliseconds since the epoch that a text names, or null if it is not a date. A date is ISO 8601, as ECMAScript has it:
 * `2026-01-31`, `2026-01-31T12:30:59.999Z`, an offset like `+05:30`. Without an offset the time is UTC:
 *
 *     const starts = parseTime(text);
 *     if (starts == null) abort(400, "bad_date", `${text} is not a date.`);
 */
export function parseTime(text: string): Boxed<i64> | null {
  return isDate(text) ? new Boxed<i64>(Date.fromString(text).getTime()) : null;
}

/**
 * On whose behalf this execution runs: the id that the application's `authenticate` gave the request, or null. No client
 * can choose it.
 */
export function caller(): string | null {
  const length = host.caller();
  if (length < 0) return null;
  const bytes = new ArrayBuffer(length);
  host.take(changetype<usize>(bytes));
  return String.UTF8.decode(bytes);
}

/** A random number from 0 (inclusive) to 1 (exclusive). */
export function random(): f64 {
  // A call is compiled as one of `randomAt` with its place: this runs for function values only.
  return randomAt("");
}

/** A random version 4 UUID: `"3f2b8c1e-…"`. */
export function uuid(): string {
  return uuidAt("");
}

/**
 * Ends the execution without any write; the client gets the HTTP status, code and message. It does not return, so
 * the code behind it may rely on the condition before it:
 *
 *     const user = users.get(name);
 *     if (user == null) abort(404, "no_such_user", `There is no user ${name}.`);
 *     return user.followers;
 *
 * `status` is 400 to 599; `code` is a snake_case word for programs, `message` a sentence for people.
 */
export function abort(status: i32, code: string, message: string): void {
  host.abort(status, code, message);
}

/** How a task runs. */
class TaskOptions {
  /** Milliseconds from `now()` on, at most 3,660 days. Left out, or negative: none. */
  delay: i64 = 0;
  /**
   * Tasks with the same key run one by one, in the order of their transactions. It is text of 1 to 512 UTF-8 bytes. Left out, or
   * null: the task waits for no other.
   */
  key: string | null = null;
}

/**
 * Asks for a task: the primary makes the call later, once, after this execution has committed. Nothing is called now: the
 * arguments are evaluated, and the call is written down with the writes. It is gone with them if the execution aborts.
 *
 *     enqueue(sendReminder(order), { delay: 7 * 86_400_000, key: order });
 *
 * The call is one of a handler, a service or a workflow of this application, written out. The result is the id of the task or of the
 * workflow, for `cancel`.
 */
export function enqueue<R>(call: R, options: TaskOptions = new TaskOptions()): string {
  ERROR("enqueue is compiled in the place of its call");
}

/**
 * Gives up the task with this id, with the writes of this execution. If the task runs at that moment, or is done, nothing happens.
 * A workflow with this id is asked to end: it fails at its next wait, and undoes what it has done.
 */
export function cancel(id: string): void {
  cancelTask(id);
}

/**
 * Logs a line at the level `info`. The line belongs to the execution, and is shown once: by `radical dev`, `radical tail` and
 * `radical replay`, never for a run that was thrown away:
 *
 *     log(`${name} follows ${other}`);
 *     log.warn("the cart is empty");
 *
 * At most 100 lines of an execution are kept, and 1,000 characters of each.
 */
export function log(text: string): void {
  if (LEAST_LEVEL <= 1) logAt(1, text);
}

export namespace log {
  /** Logs a line at the level `debug`. */
  export function debug(text: string): void {
    if (LEAST_LEVEL <= 0) logAt(0, text);
  }

  /** Logs a line at the level `warn`. */
  export function warn(text: string): void {
    if (LEAST_LEVEL <= 2) logAt(2, text);
  }

  /** Logs a line at the level `error`. The execution goes on. */
  export function error(text: string): void {
    if (LEAST_LEVEL <= 3) logAt(3, text);
  }
}

function logAt(level: i32, text: string): void {
  host.log(level, changetype<usize>(text), text.length << 1);
}
