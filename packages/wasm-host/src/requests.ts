/**
 * The part of a run by which it asks for more than reads and writes: tasks, signals, and the steps and waits of workflows. A run of
 * a handler buffers its requests as effects. Of a workflow they are commands of its journal.
 */
import {
  CborWriter,
  type ExecutionId,
  isExecutionId,
  isSignalName,
  isTaskKey,
  isTooDeep,
  MAX_DEPTH,
  MAX_EFFECTS,
  MAX_TASK_ARGUMENT_BYTES,
  MAX_TASK_DELAY_MS,
  MAX_WAIT_MS,
  type RunEffect,
  type Settled,
  taskIdOf,
  UNKNOWN_STEP,
  type Wait,
  type WorkflowCommand,
} from "@radical/protocol";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Execution } from "./execution.ts";
import { tidy } from "./traps.ts";

/** The journal of a workflow, for one of its runs. Each method may end the run. */
export interface WorkflowCalls<Stop> {
  /** The time that the run sees. */
  readonly timeMs: number;
  /** Gives the number of the command. */
  issue(command: WorkflowCommand, place: string, run: Execution<Stop>): number;
  /** The execution that a command asks for. */
  idOf(command: number): ExecutionId;
  /** Goes on when the wait for these commands is over. Gives the one that settled first. */
  await(mode: Wait["mode"], commands: readonly number[], run: Execution<Stop>): number;
  /** Undefined: it has not settled, or there is no such command. */
  settled(command: number): Settled | undefined;
  again(args: Uint8Array, run: Execution<Stop>): never;
}

/** The memory and the accounts of a run, as its requests use them. Each of them may end the run. */
interface RunMemory {
  readonly text: (pointer: number) => string;
  readonly copyIn: (destination: number, bytes: Uint8Array) => void;
  readonly copyOut: (pointer: number, length: number) => Uint8Array;
  readonly addWritten: (bytes: number) => void;
  readonly nameLane: (key: string) => void;
}

/** Pointers and numbers are those of the host functions of the same names. */
export class Requests<Stop> {
  readonly #run: Execution<Stop>;
  readonly #executionId: ExecutionId;
  readonly #workflow: WorkflowCalls<Stop> | null;
  readonly #memory: RunMemory;

  /** `workflow` null: the run is not one of a workflow. */
  constructor(run: Execution<Stop>, executionId: ExecutionId, workflow: WorkflowCalls<Stop> | null, memory: RunMemory) {
    this.#run = run;
    this.#executionId = executionId;
    this.#workflow = workflow;
    this.#memory = memory;
  }

  // ── Of every run ───────────────────────────────────────────────────────────────────────────────────────────────────

  enqueue(destination: number, callee: number, delayMs: bigint, key: number, pointer: number, length: number): void {
    if (delayMs > BigInt(MAX_TASK_DELAY_MS))
      this.#invalid(`a task with a delay of ${delayMs} ms: at most ${MAX_TASK_DELAY_MS}`);
    const lane = key === 0 ? null : this.lane(key);
    const id = this.#effect({
      kind: "enqueue",
      callee: this.#memory.text(callee),
      args: this.#taken(pointer, length, "the arguments of a task"),
      delayMs: Math.max(0, Number(delayMs)),
      key: lane,
    });
    this.#memory.copyIn(destination, utf8ToBytes(id));
  }

  cancel(task: number): void {
    const id = this.#memory.text(task);
    if (!isExecutionId(id)) this.#invalid(`cancel of ${quoted(id)}, which is not the id of a task`);
    this.#effect({ kind: "cancel", task: id });
  }

  send(workflow: number, name: number, pointer: number, length: number): void {
    const id = this.#memory.text(workflow);
    if (!isExecutionId(id)) this.#invalid(`send to ${quoted(id)}, which is not the id of a workflow`);
    const value = this.#taken(pointer, length, "the value of a signal");
    this.#effect({ kind: "send", workflow: id, name: this.#signal(name), value });
  }

  /** The key of a lane, after the checks that each passes. */
  lane(pointer: number): string {
    const key = this.#memory.text(pointer);
    if (!isTaskKey(key))
      this.#invalid(`invalid key ${quoted(key)} of a task: it is well-formed text of 1 to 512 UTF-8 bytes`);
    this.#memory.nameLane(key);
    return key;
  }

  /** Gives the id of the task that it asks for. */
  #effect(effect: RunEffect): ExecutionId {
    if (this.#workflow !== null) return this.#workflow.idOf(this.#workflow.issue(effect, "", this.#run));
    const { effects } = this.#run;
    if (effects.length >= MAX_EFFECTS)
      this.#invalid(
        `more than ${MAX_EFFECTS} tasks, cancellations and signals in one execution: let a task ask for the others`,
      );
    this.#run.watch?.({ kind: "effect", ordinal: effects.length, effect });
    effects.push(effect);
    return taskIdOf(this.#executionId, effects.length - 1);
  }

  // ── Of workflows ───────────────────────────────────────────────────────────────────────────────────────────────────

  get workflowId(): ExecutionId {
    void this.#journal;
    return this.#executionId;
  }

  call(kind: "start" | "undo", callee: number, place: number, pointer: number, length: number): number {
    const args = this.#taken(pointer, length, "the arguments of a step");
    return this.#issue({ kind, callee: this.#memory.text(callee), args }, place);
  }

  await(isForOne: boolean, pointer: number, count: number): number {
    const bytes = this.#memory.copyOut(pointer, 4 * (count >>> 0));
    return this.#journal.await(isForOne ? "any" : "all", [...new Int32Array(bytes.buffer)], this.#run);
  }

  /** Null: the step has failed. */
  value(command: number): Uint8Array | null {
    const settled = this.#settled(command);
    return settled.kind === "value" ? settled.value : null;
  }

  /** The failure of a step as its workflow reads it; null: it has none. */
  failure(command: number): Uint8Array | null {
    const settled = this.#settled(command);
    const encoded = (status: number, code: string, message: string): Uint8Array =>
      new CborWriter().array(3).integer(status).text(code).text(message).finish();
    if (settled.kind === "failed") return encoded(settled.status, settled.code, settled.message);
    return settled.kind === "unknown" ? encoded(UNKNOWN_STEP.status, UNKNOWN_STEP.code, settled.message) : null;
  }

  sleep(ms: bigint, place: number): void {
    const command = this.#issue({ kind: "sleep", ms: Math.max(0, this.#waitMs(ms)) }, place);
    this.#journal.await("all", [command], this.#run);
  }

  /** Null: the time is over. */
  receive(name: number, ms: bigint, place: number): Uint8Array | null {
    const longest = ms < 0n ? null : this.#waitMs(ms);
    const command = this.#issue({ kind: "signal", name: this.#signal(name), ms: longest }, place);
    this.#journal.await("all", [command], this.#run);
    const settled = this.#settled(command);
    return settled.kind === "signal" ? settled.value : null;
  }

  again(pointer: number, length: number): void {
    this.#journal.again(this.#taken(pointer, length, "the arguments of a workflow"), this.#run);
  }

  get #journal(): WorkflowCalls<Stop> {
    return this.#workflow ?? this.#invalid("only a workflow has steps and waits");
  }

  #issue(command: WorkflowCommand, place: number): number {
    return this.#journal.issue(command, this.#memory.text(place), this.#run);
  }

  #settled(command: number): Settled {
    const settled = this.#journal.settled(command) ?? this.#invalid(`command ${command} has no result yet`);
    this.#run.watch?.({ kind: "settled", command, settled });
    return settled;
  }

  // ── Operands ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Encoded arguments, or a value, that leave the run. */
  #taken(pointer: number, length: number, what: string): Uint8Array {
    if (length >>> 0 > MAX_TASK_ARGUMENT_BYTES)
      this.#run.trap("out_of_memory", `more than ${MAX_TASK_ARGUMENT_BYTES} bytes in ${what}`);
    const bytes = this.#memory.copyOut(pointer, length);
    if (isTooDeep(bytes)) this.#invalid(`more than ${MAX_DEPTH} levels in ${what}`);
    this.#memory.addWritten(bytes.length);
    return bytes;
  }

  #signal(pointer: number): string {
    const name = this.#memory.text(pointer);
    if (!isSignalName(name)) this.#invalid(`invalid name ${quoted(name)} of a signal`);
    return name;
  }

  #waitMs(ms: bigint): number {
    if (ms > BigInt(MAX_WAIT_MS)) this.#invalid(`a wait of ${ms} ms: at most ${MAX_WAIT_MS}`);
    return Number(ms);
  }

  #invalid(message: string): never {
    return this.#run.trap("invalid_access", message);
  }
}

/** Text of a program, for a message. */
function quoted(text: string): string {
  return tidy(JSON.stringify(text.slice(0, 80)));
}
