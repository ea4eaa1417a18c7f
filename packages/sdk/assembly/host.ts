/**
 * The functions that the host of a handler provides: the SDK's side of the table in `@radical/protocol`
 * (host-functions.ts). Internal: handlers import `@radical/sdk`.
 */

// @ts-ignore: decorator
@external("radical", "args_size")
export declare function args_size(): i32;

// @ts-ignore: decorator
@external("radical", "args_read")
export declare function args_read(destination: usize): void;

// @ts-ignore: decorator
@external("radical", "result")
export declare function result(pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "get")
export declare function get(table: string, key: string): i32;

// @ts-ignore: decorator
@external("radical", "take")
export declare function take(destination: usize): void;

// @ts-ignore: decorator
@external("radical", "has")
export declare function has(table: string, key: string): i32;

// @ts-ignore: decorator
@external("radical", "scan")
export declare function scan(table: string, lo: string, hi: string, limit: i32, reversed: i32): i32;

// @ts-ignore: decorator
@external("radical", "count")
export declare function count(table: string, lo: string, hi: string): i64;

// @ts-ignore: decorator
@external("radical", "put")
export declare function put(table: string, key: string, pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "delete")
export declare function remove(table: string, key: string): void;

// @ts-ignore: decorator
@external("radical", "now")
export declare function now(): i64;

// @ts-ignore: decorator
@external("radical", "caller")
export declare function caller(): i32;

// @ts-ignore: decorator
@external("radical", "random")
export declare function random(site: string): f64;

// @ts-ignore: decorator
@external("radical", "uuid")
export declare function uuid(site: string, destination: usize): void;

// @ts-ignore: decorator
@external("radical", "abort")
export declare function abort(status: i32, code: string, message: string): void;

// @ts-ignore: decorator
@external("radical", "log")
export declare function log(level: i32, pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "overflow")
export declare function overflow(file: string, line: i32, column: i32): void;

// @ts-ignore: decorator
@external("radical", "sha256")
export declare function sha256(destination: usize, pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "scrypt")
export declare function scrypt(
  destination: usize,
  password: usize,
  passwordLength: i32,
  salt: usize,
  saltLength: i32,
  logCost: i32,
  rounds: i32,
): void;

// @ts-ignore: decorator
@external("radical", "enqueue")
export declare function enqueue(
  destination: usize,
  callee: string,
  delay: i64,
  key: string | null,
  pointer: usize,
  length: i32,
): void;

// @ts-ignore: decorator
@external("radical", "cancel")
export declare function cancel(task: string): void;

// @ts-ignore: decorator
@external("radical", "send")
export declare function send(workflow: string, name: string, pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "start")
export declare function start(callee: string, place: string, pointer: usize, length: i32): i32;

// @ts-ignore: decorator
@external("radical", "undo")
export declare function undo(callee: string, place: string, pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "await")
export declare function awaitSteps(isForOne: i32, pointer: usize, count: i32): i32;

// @ts-ignore: decorator
@external("radical", "settled")
export declare function settled(step: i32): i32;

// @ts-ignore: decorator
@external("radical", "failure")
export declare function failure(step: i32): i32;

// @ts-ignore: decorator
@external("radical", "sleep")
export declare function sleep(ms: i64, place: string): void;

// @ts-ignore: decorator
@external("radical", "receive")
export declare function receive(name: string, ms: i64, place: string): i32;

// @ts-ignore: decorator
@external("radical", "workflow_id")
export declare function workflow_id(destination: usize): void;

// @ts-ignore: decorator
@external("radical", "again")
export declare function again(pointer: usize, length: i32): void;

// @ts-ignore: decorator
@external("radical", "touch_lane")
export declare function touch_lane(key: string): void;

// @ts-ignore: decorator
@external("radical", "touch")
export declare function touch(table: string, key: string): void;

// @ts-ignore: decorator
@external("radical", "touch_unwritten")
export declare function touch_unwritten(table: string, key: string): void;

// @ts-ignore: decorator
@external("radical", "touch_scan")
export declare function touch_scan(table: string, lo: string, hi: string, limit: i32, reversed: i32): void;

// @ts-ignore: decorator
@external("radical", "touch_count")
export declare function touch_count(table: string, lo: string, hi: string): void;

// @ts-ignore: decorator
@external("radical", "will_write")
export declare function will_write(table: string, key: string): void;
