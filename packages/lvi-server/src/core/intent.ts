/**
 * Write intents: the durable promise that an execution's writes will be applied, with all that is needed to re-execute it
 * (paper, sections 3.2 and 3.4).
 *
 * Departure from the paper, which stores a status bit, and in its replicated server every lock beside it. Here one intent
 * names every locked unit with its mode. So it is the durable record of the locks, and one storage write makes it whatever
 * their number.
 */
import {
  type CommitId,
  type ContentHash,
  contentHash,
  encodeEffects,
  encodeOutcome,
  type Environment,
  type ExecutionId,
  isSpan,
  type ModuleHash,
  type Outcome,
  type RunEffect,
  type UnitId,
  type Version,
  type Write,
} from "@radical/protocol";
import type { CallHash } from "./call-hash.ts";
import type { Expectation, ExpectedCompletion } from "./events.ts";
import type { Task } from "./task.ts";
import type { Workflow, WorkflowPart } from "./workflow.ts";

/** The run of a handler: the same at a location, near storage and in a re-execution. */
export interface Invocation {
  readonly executionId: ExecutionId;
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly environment: Environment;
}

/** A unit that the intent holds: shared if it is only read, else exclusive. */
export interface IntentUnit {
  readonly unit: UnitId;
  readonly mode: "read" | "write" | "read-write";
  /** As validated; null for a blind write. */
  readonly version: Version | null;
}

export interface Intent extends Invocation {
  /** Names the writes in every cache that takes them. */
  readonly commitId: CommitId;
  readonly location: string;
  /** Sorted by unit. */
  readonly units: readonly IntentUnit[];
  /** The lanes in which it may enqueue, in order. They are not locked. */
  readonly lanes: readonly string[];
  /** Whether the client chose the id, and may ask again for as long as done intents are kept. */
  readonly retained: boolean;
  /** Whether it came as a GET: if its run near storage writes, it ends without effect. */
  readonly mustNotWrite: boolean;
  readonly createdAtMs: number;
}

/** How long the outcome of a done execution is kept. */
export type OutcomeKept =
  /** Nobody asks for it: its location has told it, and has sent the followup. */
  | "not"
  /** As long as a location repeats a request. */
  | "briefly"
  /** As long as the done intent: the client chose the id, and may ask again. */
  | "retained";

/** How an execution ended. {@link doneIntentOf} has the part that storage keeps. */
export interface Completion extends Invocation {
  /** Of the writes; differs from the pending intent's if the execution had to be run with other locks. */
  readonly commitId: CommitId;
  readonly location: string;
  readonly outcome: Outcome;
  /** Sorted by unit. */
  readonly writes: readonly Write[];
  /** Of outcome and writes, with a secret: `hashOfResult`. */
  readonly resultHash: string;
  readonly doneAtMs: number;
  readonly call: CallHash;
  readonly keeps: OutcomeKept;
  /** Tasks that it has enqueued. Left out: none. */
  readonly tasks?: readonly Task[];
  /** Tasks that it takes back, as their records are. Left out: none. */
  readonly cancelled?: readonly Withdrawal[];
  /** Of a task: its record from then on, null: it is gone. Undefined: the execution is not a task. */
  readonly settled?: Task | null;
  /** Of a step of a workflow: it arrives there, and leaves no other record. Left out: the execution is not a step. */
  readonly arrival?: WorkflowPart;
  /** Signals that it has sent. Left out: none. */
  readonly signals?: readonly WorkflowPart[];
}

/** A task that is taken back before it has begun. */
export interface Withdrawal {
  readonly task: Task;
  /** A task that was to become a workflow leaves one that has ended as cancelled: somebody may ask for it. Null: nothing is left. */
  readonly leaves: Workflow | null;
}

/** The change of its record, in a commit that names another record before. */
export function withdrawalOf({ task: { id, lane }, leaves: workflow }: Withdrawal): RecordChange {
  return { id, expects: { attempt: null, lane }, becomes: workflow === null ? null : { state: "workflow", workflow } };
}

/**
 * The record of a done execution, for repeats and late followups: that it is done, its call, and perhaps its outcome. The
 * values are in the items. The execution never runs again, so nothing is kept that a run would need.
 */
export interface DoneIntent {
  readonly executionId: ExecutionId;
  readonly commitId: CommitId;
  readonly module: ModuleHash;
  readonly location: string;
  /** To compare a late followup with, as `call`. */
  readonly resultHash: string;
  readonly doneAtMs: number;
  /** Null: no request can be compared with it. */
  readonly call: CallHash | null;
  /** Null: not kept, or not any more. */
  readonly outcome: { readonly value: Outcome; readonly keeps: Exclude<OutcomeKept, "not"> } | null;
}

/** The id of the record that a completion makes. */
export function recordIdOf({ executionId, arrival }: Completion): ExecutionId {
  return arrival?.id ?? executionId;
}

export function doneIntentOf(completion: Completion): DoneIntent {
  const { executionId, commitId, module, location, resultHash, doneAtMs, call, keeps, outcome } = completion;
  return {
    executionId,
    commitId,
    module,
    location,
    resultHash,
    doneAtMs,
    call,
    outcome: keeps === "not" ? null : { value: outcome, keeps },
  };
}

/** The same without an outcome whose time is over. */
export function withoutOutcome(done: DoneIntent): DoneIntent {
  return { ...done, outcome: null };
}

export type IntentRecord =
  | { readonly state: "pending"; readonly intent: Intent }
  | { readonly state: "done"; readonly done: DoneIntent }
  | { readonly state: "task"; readonly task: Task }
  | { readonly state: "workflow"; readonly workflow: Workflow }
  | { readonly state: "part"; readonly part: WorkflowPart };

/** A record that a commit changes. */
export interface RecordChange {
  readonly id: ExecutionId;
  /**
   * Whether a task, a part or a workflow is new that another execution asks for, the record says which the same commit names
   * before.
   */
  readonly expects: Expectation | CancelledTask;
  /** Null: it is removed. */
  readonly becomes: IntentRecord | null;
}

/**
 * The record of a task that is cancelled, whatever its attempts. The server knows it, and the record of the canceller decides, which
 * the same commit names before.
 */
export interface CancelledTask {
  readonly attempt: null;
  readonly lane: string | null;
}

/**
 * Whether the record of an execution is the one that a completion makes. If a completion meets it, an earlier attempt of that
 * completion has been carried out. Of a task nobody but its one attempt changes the record.
 */
export function isRecordAfter({ expects, completion }: ExpectedCompletion, record: IntentRecord | null): boolean {
  if (typeof expects === "object")
    return (
      record === null || (record.state === "task" && "attempt" in expects && record.task.attempt > expects.attempt)
    );
  if (completion.arrival !== undefined) return record?.state === "part";
  return record?.state === "done" && record.done.commitId === completion.commitId;
}

/** Equal for two runs if and only if (but for hash collisions) they had the same outcome, the same writes and the same effects. */
export function completionHash(
  outcome: Outcome,
  writes: readonly Write[],
  effects: readonly RunEffect[] = [],
): ContentHash {
  const parts = [contentHash(encodeOutcome(outcome)) as string];
  for (const { unit, value } of writes) parts.push(unit, value === null ? "" : contentHash(value));
  if (effects.length > 0) parts.push("effects", contentHash(encodeEffects(effects)));
  const text = parts.join("\n");
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bytes[2 * i] = code & 0xff;
    bytes[2 * i + 1] = code >> 8;
  }
  return contentHash(bytes);
}

/** The units whose values it was validated on, spans among them. */
export function readsOf(intent: Intent): readonly UnitId[] {
  return intent.units.filter(({ mode }) => mode !== "write").map(({ unit }) => unit);
}

/** The items whose values it was validated on, but for the rows of its spans. */
export function itemsReadBy(intent: Intent): readonly UnitId[] {
  return readsOf(intent).filter((unit) => !isSpan(unit));
}
