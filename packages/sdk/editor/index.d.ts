/**
 * The SDK as editors see it. The implementation is AssemblyScript, in `assembly/`; documentation is kept the same in
 * both.
 */
/// <reference path="./assemblyscript.d.ts" />
/// <reference path="./everyday.d.ts" />

/**
 * A table of items of type `T` by key. Declared once, at module level, with a literal name:
 *
 *     export class User { name: string = ""; followers: string[] = []; }
 *     const users = new Table<User>("users");
 *
 * `T` is a record class, a string or an array. Keys are text of 1 to 512 UTF-8 bytes.
 */
export declare class Table<T> {
  /** The name has letters, digits, `_` and `-`; at most 64; it does not start with a digit or `-`. */
  constructor(name: string);

  readonly name: string;

  /** The item under `key`, or null. Changing the returned object changes nothing in the table: `put` it. */
  get(key: string): T | null;

  /** Stores `value` under `key`, in place of what was there. */
  put(key: string, value: T): void;

  /** Removes the item under `key`, if there is one. */
  delete(key: string): void;

  /** Whether there is an item under `key`. */
  has(key: string): bool;

  /**
   * Only in read/write-set functions, those with the tag `@readwrite <handler>`: the handler reads the item under
   * `key`, and its value is not needed here. An item whose value *is* needed to find others is read with `get` or `has`.
   */
  touch(key: string): void;

  /** Only in read/write-set functions: the handler puts an item under `key`. */
  willPut(key: string): void;

  /** Only in read/write-set functions: the handler deletes the item under `key`. */
  willDelete(key: string): void;
}

/** The time of this execution in milliseconds since the epoch: the same in every call of one execution. */
export declare function now(): i64;

/**
 * The milliseconds since the epoch that a text names, or null if it is not a date. A date is ISO 8601, as ECMAScript has it:
 * `2026-01-31`, `2026-01-31T12:30:59.999Z`, an offset like `+05:30`. Without an offset the time is UTC:
 *
 *     const starts = parseTime(text);
 *     if (starts == null) abort(400, "bad_date", `${text} is not a date.`);
 */
export declare function parseTime(text: string): i64 | null;

/**
 * On whose behalf this execution runs: the id that the application's `authenticate` gave the request, or null. No client
 * can choose it.
 */
export declare function caller(): string | null;

/** A random number from 0 (inclusive) to 1 (exclusive). */
export declare function random(): f64;

/** A random version 4 UUID: `"3f2b8c1e-…"`. */
export declare function uuid(): string;

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
export declare function abort(status: i32, code: string, message: string): never;

/**
 * Logs a line at the level `info`. The line belongs to the execution, and is shown once: by `radical dev`, `radical tail` and
 * `radical replay`, never for a run that was thrown away:
 *
 *     log(`${name} follows ${other}`);
 *     log.warn("the cart is empty");
 *
 * At most 100 lines of an execution are kept, and 1,000 characters of each.
 */
export declare function log(text: string): void;

export declare namespace log {
  /** Logs a line at the level `debug`. */
  export function debug(text: string): void;

  /** Logs a line at the level `warn`. */
  export function warn(text: string): void;

  /** Logs a line at the level `error`. The execution goes on. */
  export function error(text: string): void;
}
