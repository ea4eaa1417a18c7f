/**
 * Events and effects of the protocol core: `step(event) → effects`. A driver carries the effects out and decides nothing.
 *
 * Order is data. An effect that leaves the server names the facts that it has waited for. The core holds it back until they
 * are true. The driver checks each of them for itself, and sends nothing before.
 */
import type {
  CommitId,
  ExecutedCause,
  ExecutionId,
  Followup,
  FollowupVerdict,
  LoggedLine,
  LviReply,
  LviRequest,
  ModuleHash,
  ScheduleAnswer,
  SessionId,
  UnitId,
  WorkflowAction,
  WorkflowOrderOutcome,
  WorkflowQuestion,
  TaskOrder,
  TaskOrderAnswer,
} from "@radical/protocol";
import type { EndedRun, Run } from "./run.ts";
import type { Completion, Intent, IntentRecord, RecordChange } from "./intent.ts";
import type { ListeningEffect, ListeningEvent } from "./listeners.ts";
import type { ModuleUse, Registration } from "./module-table.ts";
import type { Hole, StoredRow } from "./range-table.ts";
import type { SampleEffect, Sampling } from "./sampling.ts";
import type { ScheduleAsk } from "./schedules.ts";
import type { CallAnswer, CallId, TaskChange } from "./services.ts";
import type { TaskAnswer, TaskCounts, TaskQuestion } from "./task-table.ts";
import type { StoredItem } from "./version-table.ts";
import type { WorkflowsAnswer, WorkflowsQuestion } from "./workflow-table.ts";

/** Names a request whose sender waits for a reply. */
export type CallerId = number;
/** Names a storage operation. */
export type OperationId = number;
/** Names a run of a handler. */
export type RunId = number;

/** Something that an effect has waited for. */
export type Fact =
  /** A storage operation has succeeded. */
  | { readonly kind: "operation"; readonly operation: OperationId }
  /** A session has heard its messages up to this one. */
  | { readonly kind: "heard"; readonly session: SessionId; readonly n: number }
  /** The monotonic clock shows this time, or a later one. */
  | { readonly kind: "passed"; readonly atMs: number }
  /** Storage owes this attempt of a task, or a later one. */
  | { readonly kind: "owed"; readonly task: ExecutionId; readonly attempt: number }
  /** Storage has the record of a workflow after so many changes, and all parts of it up to then. */
  | { readonly kind: "journaled"; readonly workflow: ExecutionId; readonly changes: number }
  /** Storage has the mark that the service of a task is called, as of that time. */
  | { readonly kind: "marked"; readonly task: ExecutionId; readonly sentAtMs: number };

/** An effect that has waited for nothing. */
export const NO_FACTS: readonly Fact[] = [];

export type Event =
  | { readonly kind: "lvi-request"; readonly caller: CallerId; readonly request: LviRequest }
  | { readonly kind: "followup"; readonly caller: CallerId; readonly followup: Followup }
  | { readonly kind: "workflow-question"; readonly caller: CallerId; readonly question: WorkflowQuestion }
  | ({ readonly kind: "module-registered" } & Registration)
  | { readonly kind: "looked-up"; readonly operation: OperationId; readonly record: IntentRecord | null }
  | { readonly kind: "loaded"; readonly operation: OperationId; readonly items: ReadonlyMap<UnitId, StoredItem> }
  /** The rows that were asked for, in the order of the walk. */
  | { readonly kind: "scanned"; readonly operation: OperationId; readonly rows: readonly StoredRow[] }
  /** The values have more bytes than were asked for. */
  | { readonly kind: "too-much-to-load"; readonly operation: OperationId }
  | { readonly kind: "intent-stored"; readonly operation: OperationId; readonly result: StoreResult }
  | { readonly kind: "completed"; readonly operation: OperationId; readonly result: CompleteResult }
  | { readonly kind: "tasks-read"; readonly operation: OperationId; readonly answer: TaskAnswer }
  | { readonly kind: "workflows-read"; readonly operation: OperationId; readonly answer: WorkflowsAnswer }
  | { readonly kind: "advanced"; readonly operation: OperationId; readonly result: CompleteResult }
  | {
      readonly kind: "workflow-order";
      readonly caller: CallerId;
      readonly action: WorkflowAction;
      readonly workflow: ExecutionId;
    }
  | { readonly kind: "task-order"; readonly caller: CallerId; readonly order: TaskOrder }
  | { readonly kind: "order-carried-out"; readonly operation: OperationId; readonly result: CompleteResult }
  | ({ readonly kind: "schedule-asked" } & ScheduleAsk)
  | { readonly kind: "task-changed"; readonly operation: OperationId; readonly result: CompleteResult }
  | { readonly kind: "called"; readonly call: CallId; readonly answer: CallAnswer }
  /** Not held: another server leads. */
  | { readonly kind: "leadership-renewed"; readonly operation: OperationId; readonly isHeld: boolean }
  | { readonly kind: "read-leases-named"; readonly operation: OperationId; readonly isHeld: boolean }
  /** `none`: the operation did nothing. `unknown`: it may have been done. */
  | {
      readonly kind: "storage-failed";
      readonly operation: OperationId;
      readonly effect: "none" | "unknown";
      readonly reason: string;
    }
  /** `tookMs`: of a worker, without the wait for one. */
  | ({ readonly kind: "executed"; readonly run: RunId } & EndedRun)
  | ListeningEvent
  /** `wakeAtMs` was reached. */
  | { readonly kind: "clock" }
  /** The rules by which executions are sampled from now on. */
  | { readonly kind: "sampling"; readonly samplings: readonly Sampling[] }
  /** Time to collect what was kept long enough. */
  | { readonly kind: "collect" }
  /** A batch was collected: so many of each kind. */
  | { readonly kind: "collected"; readonly intents: number; readonly outcomes: number }
  /** New executions are refused from now on, and for which reason; null: they are taken again. */
  | { readonly kind: "shed"; readonly reason: ShedReason | null }
  /** The server is about to stop: new executions are refused, known ones end. */
  | { readonly kind: "drain" };

/** The resource of the server that is used up. */
export type ShedReason = "event_loop" | "memory";

export type StoreResult =
  | { readonly kind: "stored" }
  /** The execution id is taken. */
  | { readonly kind: "exists"; readonly record: IntentRecord }
  /** Another server has taken over. */
  | { readonly kind: "fenced" };

export type CompleteResult =
  | { readonly kind: "applied" }
  /** The condition of this execution failed: this is the intent as it is. Nothing of the commit was done. */
  | { readonly kind: "exists"; readonly id: ExecutionId; readonly record: IntentRecord | null }
  | { readonly kind: "fenced" };

export type Effect =
  | {
      readonly kind: "reply";
      readonly caller: CallerId;
      readonly reply: LviReply;
      readonly after: readonly Fact[];
    }
  | {
      readonly kind: "followup-reply";
      readonly caller: CallerId;
      readonly result: FollowupVerdict;
      readonly after: readonly Fact[];
    }
  /** Read the intent of an execution, strongly consistent. */
  | { readonly kind: "look-up"; readonly operation: OperationId; readonly executionId: ExecutionId }
  /** Read items, strongly consistent, in one batch. */
  | {
      readonly kind: "load";
      readonly operation: OperationId;
      /** That needs them. */
      readonly executionId: ExecutionId;
      readonly units: readonly UnitId[];
      /** Of all values together. */
      readonly mostBytes: number;
    }
  /** Read the first rows of an interval, strongly consistent. */
  | {
      readonly kind: "scan";
      readonly operation: OperationId;
      /** That needs them. */
      readonly executionId: ExecutionId;
      readonly hole: Hole;
      readonly limit: number;
    }
  /** Insert a pending intent if the execution id is new. */
  | { readonly kind: "store-intent"; readonly operation: OperationId; readonly intent: Intent }
  /** In one transaction: if each intent is as expected, apply the writes in this order and make all of them done. */
  | {
      readonly kind: "complete";
      readonly operation: OperationId;
      readonly completions: readonly ExpectedCompletion[];
      readonly after: readonly Fact[];
    }
  /** In one transaction, if the records are as expected: a workflow starts, goes on or ends, or is asked to end. */
  | { readonly kind: "advance"; readonly operation: OperationId; readonly records: readonly RecordChange[] }
  /** For another term from when this effect is carried out. */
  | { readonly kind: "renew-leadership"; readonly operation: OperationId; readonly termMs: number }
  /** The stored leadership is to name this time: read leases are about to be given. */
  | { readonly kind: "name-read-leases"; readonly operation: OperationId; readonly readLeaseMs: number }
  /**
   * Delete a batch of intents that were done before one time, and of outcomes that were kept briefly, of executions done
   * before another. Store when modules were used. Remove modules that have not been used since the time that goes with
   * them.
   */
  | {
      readonly kind: "collect";
      readonly doneBeforeMs: number;
      readonly toldBeforeMs: number;
      readonly limit: number;
      readonly used: readonly ModuleUse[];
      readonly unused: readonly ModuleUse[];
    }
  | SampleEffect
  | ListeningEffect
  /** Those of several locations take turns. */
  | {
      readonly kind: "execute";
      readonly run: Run;
      readonly location: string;
      /** Of the run, and of its followers in their order. */
      readonly executions: readonly ExecutionId[];
      readonly after: readonly Fact[];
    }
  /** Read tasks, strongly consistent. */
  | { readonly kind: "read-tasks"; readonly operation: OperationId; readonly question: TaskQuestion }
  /** Read workflows, or the parts of one, strongly consistent. */
  | { readonly kind: "read-workflows"; readonly operation: OperationId; readonly question: WorkflowsQuestion }
  /** As an operator has ordered. */
  | {
      readonly kind: "carry-out-order";
      readonly operation: OperationId;
      readonly changes: readonly TaskChange[];
      readonly after: readonly Fact[];
    }
  | {
      readonly kind: "task-order-reply";
      readonly caller: CallerId;
      readonly answer: TaskOrderAnswer;
      readonly after: readonly Fact[];
    }
  | {
      readonly kind: "workflow-order-reply";
      readonly caller: CallerId;
      readonly outcome: WorkflowOrderOutcome;
      readonly after: readonly Fact[];
    }
  /** Null: there is no such schedule. */
  | {
      readonly kind: "schedule-reply";
      readonly caller: CallerId;
      readonly answer: ScheduleAnswer | null;
      readonly after: readonly Fact[];
    }
  /** Change the record of a task, if it is as expected. */
  | { readonly kind: "change-task"; readonly operation: OperationId; readonly change: TaskChange }
  /** Call a service of the application's Worker, under the key of the task. */
  | {
      readonly kind: "call-service";
      readonly call: CallId;
      readonly task: ExecutionId;
      readonly service: string;
      /** All attempts of the task have this one, on each server. */
      readonly key: string;
      /** Encoded. */
      readonly args: Uint8Array;
      readonly timeoutMs: number;
      readonly after: readonly Fact[];
    }
  | { readonly kind: "note"; readonly note: Note }
  /** Events that were put off: the driver hands them back at once, in this order. */
  | { readonly kind: "resume"; readonly events: readonly Event[] }
  /** This server may serve no more. */
  | { readonly kind: "halt"; readonly reason: string };

/**
 * `new`: there is no record. `attempt`: it is that of a task after so many attempts, in a lane or in none. `changes`: it is that of a
 * workflow after so many changes. `partOf`: it is a part of a workflow whose record the same commit names before.
 */
export type Expectation =
  | "pending"
  | "new"
  | { readonly attempt: number; readonly lane: string | null }
  | { readonly changes: number }
  | { readonly partOf: ExecutionId };

export interface ExpectedCompletion {
  readonly expects: Expectation;
  readonly completion: Completion;
}

/** Something worth counting and logging, as data: what is made of it is the driver's. */
export interface Note {
  readonly name: NoteName;
  readonly executionId?: ExecutionId | undefined;
  readonly module?: ModuleHash | undefined;
  /** For people. */
  readonly detail?: string;
  /** Of a near-storage execution, or of a re-execution. */
  readonly cause?: ExecutedCause | ReExecutionCause | ShedReason;
  /** The units whose versions were not the primary's, or those that were waited for. */
  readonly units?: readonly UnitId[];
  /** Those of them that the location had in an old version: of the others it had none. */
  readonly old?: readonly UnitId[];
  /** The version of the first of these units here; null: it was never written. */
  readonly version?: CommitId | null;
  /** The first execution that it waited for. */
  readonly behind?: ExecutionId | null;
  /** For units that others held, or for read leases to end. */
  readonly waitedMs?: number;
  readonly handler?: string;
  readonly location?: string;
  /** Lines of the handler, and the run that has logged them. The location may have told of those of a re-execution before. */
  readonly logged?: readonly LoggedLine[];
  readonly path?: "near-storage" | "re-execution";
  /** By which the callee knows the call: for a service, or the id of an execution. */
  readonly key?: string;
  /** Of the call of a service. */
  readonly answer?: CallAnswer["kind"];
  /** How often it has happened to this handler of this module. */
  readonly times?: number;
}

/** Why the handler of a pending intent is run in place of its followup. */
export type ReExecutionCause =
  /** Somebody waits for a unit that the intent holds. */
  | "contention"
  /** A later write of the same location is to be applied after it. */
  | "own_write"
  | "asked_again"
  | "followup_lost"
  | "followup_not_covered"
  /** Somebody cancels a task that it may have enqueued. */
  | "cancelled"
  /** Its followup has come, and is compared with the run before it is applied. */
  | "audit"
  /** An earlier re-execution was killed, or what it reads could not be loaded. */
  | "tried_again";

/** The executions under way that name a module. */
export interface ModuleLoad {
  readonly executions: number;
  /** Those that are pending intents. */
  readonly pending: number;
}

/** The executions under way, and the contents of memory. */
export interface Load {
  readonly executions: number;
  /** Executions whose intent is durable and not applied yet. */
  readonly pending: number;
  /** The age of the oldest of them, by the clock of the storage's servers; 0: there are none. */
  readonly oldestPendingMs: number;
  /** Pending and told ones whose re-execution was ended from outside. */
  readonly overdue: number;
  /** Those that wait for units that others hold. */
  readonly waiting: number;
  /** Those that wait for read leases to end. */
  readonly clearing: number;
  /** Those whose handler runs here, re-executions included. */
  readonly running: number;
  readonly lockedUnits: number;
  /** Units in the version table, and their bytes. */
  readonly hotUnits: number;
  readonly hotBytes: number;
  /** Done executions whose outcome is in memory, and requests that are remembered because they left no trace. */
  readonly finished: number;
  readonly answered: number;
  readonly tasks: TaskCounts;
  /** The number of those that have not ended; null: not all of them are known yet. */
  readonly workflows: number | null;
  /** Sessions of locations, and pairs of a session and a unit that it may answer for by a read lease. */
  readonly sessions: number;
  readonly leasedUnits: number;
}

export type NoteName =
  | "valid"
  | "stale"
  /** It was valid, and ran near storage at once, because others waited for its units. */
  | "contended"
  /** It was refused, because the server can't keep up. */
  | "shed"
  /** Executions that waited for its units follow a run near storage: so many members. */
  | "train"
  /** A member of a train was not done with it, and runs again. */
  | "train_left"
  /** A version was that of an intent not applied yet. */
  | "own_write"
  /** A write took its units behind an intent not applied yet. */
  | "queued_behind"
  | "near_storage"
  /** A task is gone: its handler has ended, or has aborted with an answer. */
  | "task_done"
  /** An attempt has failed, and another one follows. */
  | "task_failed"
  /** The attempts of a task are over. */
  | "task_dead"
  | "workflow_started"
  /** Each attempt of a step has failed: its workflow is told. */
  | "workflow_step_failed"
  /** It has failed, and what it had done is being undone. */
  | "workflow_undoing"
  | "workflow_ended"
  /** It can't go on until somebody sees to it. */
  | "workflow_stuck_alarm"
  /** An undo of it was not done, and is not tried again; or it has failed so often that a task would be dead. */
  | "workflow_undo_failed"
  /** The canceller of a task is durable. */
  | "task_cancelled"
  /** An operator has changed or removed it. */
  | "task_ordered"
  /** Ticks of a schedule have become tasks. */
  | "ticks_made"
  /** Ticks of a schedule were left out, since it was too late for them or another one was running. */
  | "ticks_missed"
  | "service_called"
  /** A service has refused: its task is gone. */
  | "service_refused"
  /** Nobody knows whether the service has acted for a task, and it is not called again. */
  | "service_unknown"
  /** Calls of a service fail, so its breaker is open; and closed again. */
  | "service_down"
  | "service_up"
  /** The run by which an execution has ended here has logged lines. */
  | "handler_log"
  | "joined"
  | "stored_outcome"
  | "refused"
  | "followup_applied"
  | "followup_late"
  | "followup_unknown"
  | "followup_not_covered"
  /** An audit has ended: the followup is what the handler does, or nobody could tell. */
  | "audit_passed"
  | "audit_given_up"
  | "followup_lost"
  | "re_execution"
  | "re_execution_killed"
  | "abandoned_intent"
  /** An execution got what it has waited for. */
  | "waited"
  /** An execution was clear: no read lease of what it writes was left. */
  | "cleared"
  | "contention_round"
  | "gate"
  | "storage_failed"
  /** The leadership was not renewed in time: nothing is done until it is. */
  | "leadership_run_out"
  | "leadership_regained"
  /** An index has come to another phase of its build. */
  | "index_turned"
  /** A run has left the set that f^rw said on the same current values: f^rw, or the set that was given, is wrong. */
  | "set_left"
  /** Two runs of the same execution differed: the module's handlers run near storage from now on. */
  | "determinism_alarm"
  /** A location holds a version that is newer than the primary's. */
  | "lost_write_alarm"
  /** An execution that must not write has named a unit to write, or has written: it had no effect. */
  | "wrote_on_get_alarm"
  /** A location has named a unit of a table that the handler can't access: nothing was done for it. */
  | "outside_tables_alarm"
  /** A followup says otherwise than two runs of the handler here: it was not applied, and the run was. */
  | "forged_alarm"
  /** A pending intent does not fit the rest of the state. */
  | "intent_alarm"
  /** A re-execution was ended from outside: what its intent holds stays locked until one comes to its end. */
  | "overdue_intent_alarm";
