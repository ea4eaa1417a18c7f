/**
 * Workflows. `run`, `start`, `undo`, `again`, `sleep` and the methods of signals are compiled in the place of their calls. They
 * become calls of the functions at the end of this file, behind the evaluation of all arguments.
 */
import { Reader, Writer, encodeValue, takeValue } from "./codec";
import * as host from "./host";
import { quotedArguments, quotedCallee } from "./tasks";

/** The reason why a step has failed. A step fails for good: Radical has tried it again before, where that may help. */
export class Failure {
  constructor(
    /** The HTTP status of the handler's `abort`; 504 for `unknown`. */
    readonly status: i32,
    /** The code of the handler's `abort`, or of the service's refusal. `unknown`: nobody can tell whether a service has done it. */
    readonly code: string,
    /** A sentence for people. */
    readonly message: string,
  ) {}
}

/**
 * The result of a step that `start` has begun. The step goes on by itself; `get` and `error` wait for its end:
 *
 *     const payment = start(charge(order, cents));
 *     const failure = payment.error();
 *     if (failure != null) abort(402, failure.code, failure.message);
 *     run(confirm(order, payment.get()));
 */
export class Future<R> {
  constructor(
    /** The number of its command. Internal. */
    readonly step: i32,
  ) {}

  /** Waits for the result. If the step has failed, the workflow fails in the same way. */
  get(): R {
    waitFor(this.step);
    return resultOf<R>(this.step);
  }

  /** Waits for the end of the step. Null: it has a result. */
  error(): Failure | null {
    waitFor(this.step);
    return failureOf(this.step);
  }
}

/**
 * Values that others send to a workflow. Declared once, at module level, with a literal name:
 *
 *     const approved = new Signal<Approval>("approved");
 *
 * Handlers and workflows send, and a workflow waits. A value that comes before the workflow waits is kept for it.
 */
export class Signal<T> {
  constructor(
    /** Letters, digits, `_` and `-`; at most 64; not starting with a digit or `-`. */
    readonly name: string,
  ) {}

  /**
   * Sends a value to the workflow with this id, together with the writes of this execution. Nothing happens if there is no such
   * workflow, or if it has ended.
   */
  send(workflow: string, value: T): void {
    ERROR("send is compiled in the place of its call");
  }

  /** Only in workflows: waits for the next value, at most so many milliseconds. Null: none has come. */
  wait(ms: i64 = -1): T {
    ERROR("wait is compiled in the place of its call");
  }
}

/**
 * Only in workflows: a step. Radical calls the handler or service once, and gives its result; the workflow is not in memory while
 * it waits. If the step fails, the workflow fails in the same way:
 *
 *     const seat = run(hold(order, caller()!));
 */
export function run<R>(call: R): R {
  ERROR("run is compiled in the place of its call");
}

/** Only in workflows: begins a step, and goes on. The future has its result. */
export function start<R>(call: R): Future<R> {
  ERROR("start is compiled in the place of its call");
}

/**
 * Only in workflows: a call that Radical makes if the workflow fails later. It makes them all, the newest first, each until it is
 * done. An undo that aborts with 4xx, is refused or ends as `unknown` is not made again. It sets off the alarm
 * `workflow_undo_failed`. At the end Radical tells how the workflow has failed:
 *
 *     run(hold(order, seat));
 *     undo(release(order, seat));
 */
export function undo<R>(call: R): void {
  ERROR("undo is compiled in the place of its call");
}

/**
 * Only in a workflow itself: goes on with other arguments, as if it had begun anew. The workflow keeps its id. Its `undo`s so far
 * are forgotten. A workflow that runs forever needs it, as its history is bounded:
 *
 *     return again(watch(account, round + 1));
 */
export function again<R>(call: R): R {
  ERROR("again is compiled in the place of its call");
}

/** Only in workflows: waits so many milliseconds, which may be days. */
export function sleep(ms: i64): void {
  ERROR("sleep is compiled in the place of its call");
}

/**
 * Only in workflows: waits for all of the steps, and gives their results in the order of the futures. If one has failed, the
 * workflow fails in the same way.
 */
export function all<R>(futures: Future<R>[]): R[] {
  waitForAll<R>(futures);
  const results: R[] = [];
  for (let i = 0; i < futures.length; i++) results.push(resultOf<R>(futures[i].step));
  return results;
}

/** Only in workflows: waits for one of the steps, and gives its future: the one that ended first, whether it has failed or not. */
export function any<R>(futures: Future<R>[]): Future<R> {
  const step = host.awaitSteps(1, stepsOf<R>(futures), futures.length);
  for (let i = 0; i < futures.length; i++) if (futures[i].step == step) return futures[i];
  return futures[0];
}

/** Only in workflows: the id of this one, to which others send signals. */
export function workflowId(): string {
  const id = new StaticArray<u8>(32);
  host.workflow_id(changetype<usize>(id));
  return String.UTF8.decodeUnsafe(changetype<usize>(id), 32);
}

// ── As the host takes them. Internal. ────────────────────────────────────────────────────────────────────────────────

/** The numbers that the host reads. */
let numbers: StaticArray<i32> = new StaticArray<i32>(1);

function stepsOf<R>(futures: Future<R>[]): usize {
  const count = futures.length;
  if (numbers.length < count) numbers = new StaticArray<i32>(count);
  for (let i = 0; i < count; i++) numbers[i] = futures[i].step;
  return changetype<usize>(numbers);
}

function waitFor(step: i32): void {
  numbers[0] = step;
  host.awaitSteps(0, changetype<usize>(numbers), 1);
}

function waitForAll<R>(futures: Future<R>[]): void {
  if (futures.length > 0) host.awaitSteps(0, stepsOf<R>(futures), futures.length);
}

/** `all`, of steps without results. */
export function allDone<R>(futures: Future<R>[]): void {
  waitForAll<R>(futures);
  for (let i = 0; i < futures.length; i++) succeed(futures[i].step);
}

function failureOf(step: i32): Failure | null {
  const length = host.failure(step);
  if (length < 0) return null;
  return takeFailure(length);
}

function takeFailure(length: i32): Failure {
  const reader = new Reader();
  host.take(reader.expect(length));
  reader.array();
  const status = reader.signed(400, 599) as i32;
  const code = reader.text();
  return new Failure(status, code, reader.text());
}

/** Ends the workflow as the step has ended, if that has failed. */
function succeed(step: i32): void {
  const failure = failureOf(step);
  if (failure != null) host.abort(failure.status, failure.code, failure.message);
}

function resultOf<R>(step: i32): R {
  succeed(step);
  if (isVoid<R>()) {
    return;
  } else {
    return takeValue<R>(host.settled(step), "the result of step", step.toString());
  }
}

export function startStep<R>(place: string): Future<R> {
  const args = quotedArguments();
  return new Future<R>(host.start(quotedCallee(), place, args.start, args.length));
}

export function runStep<R>(place: string): R {
  const args = quotedArguments();
  const step = host.start(quotedCallee(), place, args.start, args.length);
  waitFor(step);
  return resultOf<R>(step);
}

export function undoStep(place: string): void {
  const args = quotedArguments();
  host.undo(quotedCallee(), place, args.start, args.length);
}

export function goOnAgain<R>(): R {
  const args = quotedArguments();
  host.again(args.start, args.length);
  return unreachable();
}

export function sleepAt(ms: i64, place: string): void {
  host.sleep(ms, place);
}

export function sendSignal<T>(name: string, workflow: string, value: T): void {
  const writer = new Writer();
  encodeValue<T>(writer, value);
  host.send(workflow, name, writer.start, writer.length);
}

/** Only in workflows: waits for the next value. */
export function receiveSignal<T>(name: string, place: string): T {
  return takeValue<T>(host.receive(name, -1, place), "the signal", name);
}

/** `T`: of the value, or null. */
export function receiveWithin<T>(name: string, ms: i64, place: string): T {
  const length = host.receive(name, max<i64>(ms, 0), place);
  return length < 0 ? changetype<T>(0) : takeValue<T>(length, "the signal", name);
}
