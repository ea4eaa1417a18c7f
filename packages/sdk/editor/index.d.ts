/**
 * The SDK as editors and `docs/sdk.md` show it. The implementation is AssemblyScript, in `assembly/`. A test compares the
 * words of both.
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

  /** The name, as it was given. */
  readonly name: string;

  /**
   * The item under `key`, or null. Changing the returned object changes nothing in the table: `put` it. Records that were
   * read keep the fields that their classes do not know.
   */
  get(key: string): T | null;

  /** Stores `value` under `key`, in place of the item that was there. A new object has the fields of its class only. */
  put(key: string, value: T): void;

  /** Removes the item under `key`, if there is one. */
  delete(key: string): void;

  /** Whether there is an item under `key`. */
  has(key: string): bool;

  /** All items, in the order of their keys. */
  all(): Range<T>;

  /** The items whose keys begin with `text`. */
  prefix(text: string): Range<T>;

  /** The items whose keys are not before `from`, and before `to`. An empty `to` is behind all keys. */
  range(from: string, to: string): Range<T>;

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

/**
 * The items of a table whose keys are in an interval: a value that reads nothing by itself. Tables make ranges:
 *
 *     let range = posts.prefix(room + "/");
 *     if (before != null) range = range.before(before);
 *     const newest = range.last(20);
 *
 * An execution depends on the rows that it has seen, and on nothing beyond them: a new post disturbs no older page.
 */
export declare class Range<T> {
  private constructor();

  /** The rows behind the cursor of a row. */
  after(cursor: string): Range<T>;

  /** The rows before the cursor of a row. */
  before(cursor: string): Range<T>;

  /** The first `count` rows, the least key first; fewer if there are fewer. */
  first(count: i32): Row<T>[];

  /** The last `count` rows, the greatest key first; fewer if there are fewer. */
  last(count: i32): Row<T>[];

  /** The number of rows. A change of their values does not disturb it. */
  count(): i32;

  /** Only in read/write-set functions: the handler reads the first `count` rows, and they are not needed here. */
  touchFirst(count: i32): void;

  /** Only in read/write-set functions: the handler reads the last `count` rows, and they are not needed here. */
  touchLast(count: i32): void;

  /** Only in read/write-set functions: the handler reads the number of rows, and it is not needed here. */
  touchCount(): void;
}

/** An item of a {@link Range}. Changing its value changes nothing in the table: `put` it. */
export declare class Row<T> {
  private constructor();

  /** The key of the item. */
  readonly key: string;

  /** The item. */
  readonly value: T;

  /** For `after` and `before`: the place of the row in its range, which survives deployments and deletes. */
  readonly cursor: string;
}

/**
 * Bytes that a client has put, under their SHA-256. Clients send it, and handlers store and return it. No handler reads the
 * bytes or makes a Blob:
 *
 *     export class User { name: string = ""; picture: Blob | null = null; }
 *     const users = new Table<User>("users");
 *
 *     export function setPicture(name: string, picture: Blob): void {
 *       const user = users.get(name);
 *       if (user == null) return;
 *       user.picture = picture;
 *       users.put(name, user);
 *     }
 *
 * An execution that is given a Blob whose bytes are not there ends: 409 `blob_missing`.
 */
export declare class Blob {
  private constructor();

  /** The SHA-256 of the bytes, as 64 lower-case hexadecimal digits. */
  readonly hash: string;

  /** How many bytes there are. */
  readonly size: i64;

  /** Their media type, such as `image/png`. */
  readonly type: string;
}

/**
 * 16 characters that sort as the number, for keys: `${room}/${ascending(now())}-${uuid()}`. A range of such keys is in the
 * order of the numbers, negative ones too. The time is that of the location, so two locations may order two posts otherwise.
 */
export declare function ascending(value: i64): string;

/** 16 characters that sort as the number in the opposite order: the greatest number comes first. */
export declare function descending(value: i64): string;

/**
 * A table of objects of class `T` by their ids. Declared once, at module level, with a literal name:
 *
 *     export class Thread {
 *       id: string = "";
 *       posts: i32 = 0;
 *       create(): void { this.save(); }
 *       reply(): i32 { this.posts += 1; this.save(); return this.posts; }
 *     }
 *     const threads = new Objects<Thread>("threads");
 *
 * Clients call the public methods of `T`: `POST /api/Thread/<id>/reply`. The build gives `T` the method `save()`, which
 * puts the object under its `id`.
 */
export declare class Objects<T extends { id: string }> extends Table<T> {
  /** The name is as of a table, and no other table has it. */
  constructor(name: string);
}

/** The items of a range of an index: a value that reads nothing by itself. Each row is an item of the indexed table. */
export declare class IndexRange<T> {
  private constructor();

  /** The rows behind the cursor of a row. */
  after(cursor: string): IndexRange<T>;

  /** The rows before the cursor of a row. */
  before(cursor: string): IndexRange<T>;

  /** The first `count` rows, in the order of the indexed fields; fewer if there are fewer. */
  first(count: i32): Row<T>[];

  /** The last `count` rows, the last one first; fewer if there are fewer. */
  last(count: i32): Row<T>[];

  /** The number of rows. A change of a field that is not indexed does not disturb it. */
  count(): i32;
}

/** The items whose first fields have given values. */
export declare class IndexPart<T> extends IndexRange<T> {
  private constructor();

  /** The items of these whose next field has the value. */
  equal<P extends string | number | boolean>(part: P): IndexPart<T>;
}

/**
 * An index of a table, in the order of some fields of its items. Declared once, at module level, with a literal list of fields:
 *
 *     const posts = new Table<Post>("posts");
 *     const byAuthor = new Index<Post>(posts, "author, at");
 *
 *     byAuthor.equal("ann").last(10);
 *
 * The fields are texts, integers, booleans or enums. An item that lacks one of them, or has null there, is in no row.
 */
export declare class Index<T> {
  /** The fields are a literal text: their names, with commas between them. */
  constructor(table: Table<T>, fields: string);

  /** All items that have the fields. */
  all(): IndexRange<T>;

  /** The items whose first field has the value. */
  equal<P extends string | number | boolean>(part: P): IndexPart<T>;
}

/** The items whose first fields have given values; one has the next, too. */
export declare class UniquePart<T> extends IndexRange<T> {
  private constructor();

  /** The items of these whose next field has the value. */
  equal<P extends string | number | boolean>(part: P): UniquePart<T>;

  /** The item of these whose last field has the value, or null. */
  find<P extends string | number | boolean>(part: P): T | null;
}

/**
 * An index whose fields no two items have alike:
 *
 *     const users = new Table<User>("users");
 *     const byEmail = new Unique<User>(users, "email");
 *
 *     const user = byEmail.find(email);
 *
 * A `put` of a second item with the same fields ends the execution: 409 `not_unique`. Items that lack a field, or have null
 * there, do not count.
 */
export declare class Unique<T> {
  /** The fields are a literal text: their names, with commas between them. */
  constructor(table: Table<T>, fields: string);

  /** All items that have the fields. */
  all(): IndexRange<T>;

  /** The items whose first field has the value. */
  equal<P extends string | number | boolean>(part: P): UniquePart<T>;

  /** The item whose only field has the value, or null. With more fields: `byRoomAndDay.equal(room).find(day)`. */
  find<P extends string | number | boolean>(part: P): T | null;
}

/**
 * Numbers by key, each an `i64`. A number that was never set is 0. Declared once, at module level, with a literal name:
 *
 *     const seats = new Counter("seats");
 *
 * The numbers are the items of a table with that name. Keys are text of 1 to 512 UTF-8 bytes.
 */
export declare class Counter {
  /** The name is as of a table, and no other table or counter has it. */
  constructor(name: string);

  /** The name, as it was given. */
  readonly name: string;

  /** The number under `key`. */
  get(key: string): i64;

  /** Adds `n`, which may be negative. The handler ends where the sum does not fit into an `i64`. */
  add(key: string, n: i64): void;

  /** Whether the number under `key` is `n` or more. */
  atLeast(key: string, n: i64): bool;

  /** Sets the number under `key`, whatever it was. */
  put(key: string, n: i64): void;

  /** Removes the number under `key`. It is 0 from then on. */
  delete(key: string): void;

  /** Only in read/write-set functions: the handler reads the number, and its value is not needed here. */
  touch(key: string): void;

  /** Only in read/write-set functions: the handler sets the number. One that adds to it also reads it. */
  willPut(key: string): void;

  /** Only in read/write-set functions: the handler deletes the number. */
  willDelete(key: string): void;
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
 * The hash of a password, to be stored: `$scrypt$ln=14,r=8,p=5$<salt>$<hash>`. Its salt is drawn, so two hashes of one password
 * differ, and a re-execution gives the same hash. It takes 0.1 to 0.2 seconds, beside the request to the primary.
 *
 *     account.passwordHash = hashPassword(password);
 */
export declare function hashPassword(password: string): string;

/**
 * Whether `stored`, which `hashPassword` gave, is a hash of the password. Without a hash (null) the answer is false, and takes the same
 * time: so nobody learns from the time whether there is an account.
 *
 *     const account = accounts.get(name);
 *     if (!verifyPassword(password, account == null ? null : account.passwordHash)) abort(401, "wrong_password", "…");
 *
 * A stored text that is not such a hash ends the execution with an error.
 */
export declare function verifyPassword(password: string, stored: string | null): bool;

/**
 * Whether `hashPassword` would use other parameters today than those of `stored`. After a login the password is at hand to hash it
 * anew:
 *
 *     if (needsRehash(account.passwordHash)) account.passwordHash = hashPassword(password);
 */
export declare function needsRehash(stored: string): bool;

/**
 * The SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Store a random token under it, so that the table does not tell the
 * token. It is not for passwords, which can be guessed: `hashPassword` is.
 *
 *     sessions.put(sha256(token), session);
 */
export declare function sha256(text: string): string;

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

/** How a task runs. */
interface TaskOptions {
  /** Milliseconds from `now()` on, at most 3,660 days. Left out, or negative: none. */
  delay?: i64;
  /**
   * Tasks with the same key run one by one, in the order of their transactions. It is text of 1 to 512 UTF-8 bytes. Left out, or
   * null: the task waits for no other.
   */
  key?: string | null;
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
export declare function enqueue<R>(call: R, options?: TaskOptions): string;

/**
 * Gives up the task with this id, with the writes of this execution. If the task runs at that moment, or is done, nothing happens.
 * A workflow with this id is asked to end: it fails at its next wait, and undoes what it has done.
 */
export declare function cancel(id: string): void;

/** The reason why a step has failed. A step fails for good: Radical has tried it again before, where that may help. */
export declare class Failure {
  private constructor();

  /** The HTTP status of the handler's `abort`; 504 for `unknown`. */
  readonly status: i32;

  /** The code of the handler's `abort`, or of the service's refusal. `unknown`: nobody can tell whether a service has done it. */
  readonly code: string;

  /** A sentence for people. */
  readonly message: string;
}

/**
 * The result of a step that `start` has begun. The step goes on by itself; `get` and `error` wait for its end:
 *
 *     const payment = start(charge(order, cents));
 *     const failure = payment.error();
 *     if (failure != null) abort(402, failure.code, failure.message);
 *     run(confirm(order, payment.get()));
 */
export declare class Future<R> {
  private constructor();

  /** Waits for the result. If the step has failed, the workflow fails in the same way. */
  get(): R;

  /** Waits for the end of the step. Null: it has a result. */
  error(): Failure | null;
}

/**
 * Values that others send to a workflow. Declared once, at module level, with a literal name:
 *
 *     const approved = new Signal<Approval>("approved");
 *
 * Handlers and workflows send, and a workflow waits. A value that comes before the workflow waits is kept for it.
 */
export declare class Signal<T> {
  /** The name has letters, digits, `_` and `-`; at most 64; it does not start with a digit or `-`. */
  constructor(name: string);

  /** The name, as it was given. */
  readonly name: string;

  /**
   * Sends a value to the workflow with this id, together with the writes of this execution. Nothing happens if there is no such
   * workflow, or if it has ended.
   */
  send(workflow: string, value: T): void;

  /** Only in workflows: waits for the next value. */
  wait(): T;

  /** Only in workflows: waits for the next value, at most so many milliseconds. Null: none has come. */
  wait(ms: i64): T | null;
}

/**
 * Only in workflows: a step. Radical calls the handler or service once, and gives its result; the workflow is not in memory while
 * it waits. If the step fails, the workflow fails in the same way:
 *
 *     const seat = run(hold(order, caller()!));
 */
export declare function run<R>(call: R): R;

/** Only in workflows: begins a step, and goes on. The future has its result. */
export declare function start<R>(call: R): Future<R>;

/**
 * Only in workflows: a call that Radical makes if the workflow fails later. It makes them all, the newest first, each until it is
 * done. An undo that aborts with 4xx, is refused or ends as `unknown` is not made again. It sets off the alarm
 * `workflow_undo_failed`. At the end Radical tells how the workflow has failed:
 *
 *     run(hold(order, seat));
 *     undo(release(order, seat));
 */
export declare function undo<R>(call: R): void;

/**
 * Only in a workflow itself: goes on with other arguments, as if it had begun anew. The workflow keeps its id. Its `undo`s so far
 * are forgotten. A workflow that runs forever needs it, as its history is bounded:
 *
 *     return again(watch(account, round + 1));
 */
export declare function again<R>(call: R): R;

/** Only in workflows: waits so many milliseconds, which may be days. */
export declare function sleep(ms: i64): void;

/**
 * Only in workflows: waits for all of the steps, and gives their results in the order of the futures. If one has failed, the
 * workflow fails in the same way.
 */
export declare function all<R>(futures: Future<R>[]): R[];

/** Only in workflows: waits for one of the steps, and gives its future: the one that ended first, whether it has failed or not. */
export declare function any<R>(futures: Future<R>[]): Future<R>;

/** Only in workflows: the id of this one, to which others send signals. */
export declare function workflowId(): string;

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
