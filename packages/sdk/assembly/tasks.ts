/**
 * Tasks as the host takes them. Internal: `enqueue(remind(order), { key })` is compiled as a sequence of calls of these, behind the
 * evaluation of all arguments. The sequence runs no other code, so one buffer serves all of them.
 */
import { Writer, encodeValue } from "./codec";
import * as host from "./host";

let callee: string = "";
let args: Writer | null = null;

/** The task calls a handler with so many arguments, which follow. */
export function beginTask(handler: string, count: i32): void {
  const writer = new Writer();
  writer.map(count);
  callee = handler;
  args = writer;
}

export function taskArgument<T>(name: string, value: T): void {
  const writer = args!;
  writer.text(name);
  encodeValue<T>(writer, value);
}

/** The callee and the arguments of the call that was put together last. */
export function quotedCallee(): string {
  return callee;
}

export function quotedArguments(): Writer {
  return args!;
}

/** The task has this key. Read/write-set functions say it by `touchLane`. */
export function nameLane(key: string | null): void {}

/** Gives the task's id. */
export function enqueueTask(delay: i64, key: string | null): string {
  const writer = args!;
  const id = new StaticArray<u8>(32);
  host.enqueue(changetype<usize>(id), callee, delay, key, writer.start, writer.length);
  args = null;
  return String.UTF8.decodeUnsafe(changetype<usize>(id), 32);
}

export function cancelTask(id: string): void {
  host.cancel(id);
}

/** Only in derived read/write-set functions: the handler asks for a task with this key. */
export function touchLane(key: string | null): void {
  if (key !== null) host.touch_lane(key);
}
