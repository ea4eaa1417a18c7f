/**
 * An execution under way at the server. Its phase says where it is, and carries the data that are legal there and nowhere
 * else:
 *
 *   arrived ── looking-up ─┬─ (validate) ── storing ── pending ─┬──────────────── completing ── ended
 *                          └─ (capture) ── running ── (confirm) ─────────────────┘
 *                                 └────────── abandoned ────────┘
 *
 * In the phases `waiting`, `watching` and `loading` an execution waits for what a *stage* needs: validate, capture or
 * confirm. In the phase `clearing`, before it is told or completes, it waits for read leases to end.
 */
import type {
  AccessedUnit,
  CommitId,
  ContentHash,
  Entry,
  ExecutedCause,
  ExecutionId,
  Followup,
  FollowupVerdict,
  LoggedLine,
  LviRequest,
  ModuleHash,
  Outcome,
  RunEffect,
  SamplePath,
  SenderSession,
  UnitId,
  Write,
} from "@radical/protocol";
import type { Audit } from "./audits.ts";
import type { Usage } from "./budgets.ts";
import type { Queries } from "./captured-spans.ts";
import type { CallerId, Expectation, OperationId, ReExecutionCause } from "./events.ts";
import type { RunResult } from "./run.ts";
import type { Completion, Intent, Invocation } from "./intent.ts";
import type { Page } from "./index-pages.ts";
import type { IndexState } from "./index-state.ts";
import type { Ticket } from "./lock-table.ts";
import { NO_REVOCATIONS } from "./read-leases.ts";
import type { SampleEffect } from "./sampling.ts";
import type { ScheduleChange } from "./schedules.ts";
import type { Revocation } from "./sessions.ts";
import type { Task } from "./task.ts";
import type { Step } from "./workflow-journal.ts";

export interface Caller {
  readonly id: CallerId;
  readonly request: LviRequest;
  readonly receivedAtMs: number;
  readonly deadlineMs: number;
}

/** The set that a location sent, and the caller whose speculation ran under it. Only that caller may be told `valid`. */
export interface Declared {
  readonly units: readonly AccessedUnit[];
  /** The lanes in which it may enqueue. */
  readonly lanes: readonly string[];
  readonly mayEffect: boolean;
  readonly speculator: Caller;
}

/** A run near storage that came to its end: the values that it ran on, and its result. */
export interface Ran {
  readonly snapshot: ReadonlyMap<UnitId, Entry>;
  readonly result: RunResult & { readonly kind: "completed" };
}

/** An execution near storage, across all its runs and rounds. */
export interface NearStorage {
  readonly cause: ExecutedCause;
  /** The intent that the execution has, if its location gave up before its end. It stays pending until the execution is done. */
  readonly abandoned: Abandoned | null;
  /** The handler has no f^rw, or its set proved wrong: f runs in record mode. */
  recording: boolean;
  /** Record mode takes missing values for absent, until a run on such values has not ended. */
  guessing: boolean;
  /** Items to capture. */
  wanted: Set<UnitId>;
  /** Queries to answer. */
  queries: Queries;
  runs: number;
  /** Rounds lost to contention. */
  rounds: number;
  /** It holds the gate, and with it every unit. */
  gated: boolean;
}

/** A place where an execution goes on once it has what it waits for, with the data that it needs there. */
export type Stage = Validate | Capture | Confirm;

/** Compares the declared versions with the primary's. */
export interface Validate {
  readonly kind: "validate";
  readonly declared: Declared;
}

/** Takes the wanted values and runs the handler on them. */
export interface Capture {
  readonly kind: "capture";
  readonly near: NearStorage;
}

/** Compares what the run has read with what is there, under locks of all that it has touched. */
export interface Confirm {
  readonly kind: "confirm";
  readonly near: NearStorage;
  readonly ran: Ran;
}

export type Phase =
  | { readonly kind: "arrived" }
  /** Storage is asked whether it knows the execution id. */
  | { readonly kind: "looking-up" }
  /** For all its locks, under its ticket. */
  | { readonly kind: "waiting"; readonly stage: Stage; readonly sinceMs: number; readonly on: WaitedFor | null }
  /** Waits until units are released or applied, and asks for no lock. */
  | { readonly kind: "watching"; readonly stage: Stage; readonly sinceMs: number; readonly on: WaitedFor | null }
  /** Storage is asked for values. */
  | { readonly kind: "loading"; readonly stage: Stage }
  | Storing
  | Clearing
  | Pending
  /** The handler runs near storage. */
  | { readonly kind: "running"; readonly near: NearStorage; readonly snapshot: ReadonlyMap<UnitId, Entry> }
  | Abandoned
  | Completing
  /** `hash`: of the completion by which it ended, to compare with a run that ends later; null: it left no trace. */
  | { readonly kind: "ended"; readonly hash: ContentHash | null };

/** The first unit that an execution waits for, and who was in its way when it began to. */
export interface WaitedFor {
  readonly unit: UnitId;
  /** Null: an execution that has ended here, and whose writes are on their way to storage. */
  readonly behind: ExecutionId | null;
}

/** The intent is on its way to storage. */
export interface Storing {
  readonly kind: "storing";
  readonly intent: Intent;
  /** Of the intent's commit id. */
  readonly sequence: number;
  readonly speculator: Caller;
}

/** Some sessions may still answer by read leases on what it writes, or more is to be known of tasks that it cancels. */
export interface Clearing {
  readonly kind: "clearing";
  readonly next: Tell | Complete;
  readonly sinceMs: number;
}

/** The intent is durable, and its success is about to be told. */
export interface Tell {
  readonly kind: "tell";
  readonly storing: Storing;
  /** That stored the intent. */
  readonly operation: OperationId;
}

/** Writes and outcome are about to be stored. */
export interface Complete {
  readonly kind: "complete";
  readonly ending: Ending;
  /** All that end in the same commit, in order; the execution is one of them. */
  readonly members: readonly Ending[];
}

/** How an execution is about to end. */
export interface Ending {
  readonly execution: Execution;
  /** The execution as it was before: told, or run near storage. */
  readonly of: Pending | RanNearStorage;
  /** The id under which its writes are applied. `sequence`: as in the phase `completing`. */
  readonly commit: { readonly id: CommitId; readonly sequence: number | null };
  readonly ended: Ended;
  /** Null: it has failed. */
  readonly path: SamplePath | null;
  /** As in the phase `completing`. */
  readonly followups: Completing["followups"];
}

/** The end of an execution: its outcome, and its writes. */
export interface Ended {
  readonly outcome: Outcome;
  readonly writes: readonly Write[];
  /** Tasks, cancellations and signals that its run has asked for. Left out: none. */
  readonly effects?: readonly RunEffect[];
  /** By the run that has ended it, if it ran here. */
  readonly logged?: readonly LoggedLine[];
}

/** Told: the intent is durable, and the execution waits for its followup. */
export interface Pending {
  readonly kind: "pending";
  readonly intent: Intent;
  /** Of the intent's commit id; null: an earlier server took it. */
  readonly sequence: number | null;
  /** The re-execution in place of the followup. */
  replay: "loading" | "running" | "paused" | null;
  /** Why to re-execute as soon as nobody is ahead; null: nobody wants it. */
  wanted: ReExecutionCause | null;
  /** Followups that came while somebody was ahead. */
  early: CalledFollowup[];
  /** The audit of its followup, until the run with which that is compared has ended; null: none. */
  audit: Audit | null;
  /** How many runs of the intent were ended from outside. */
  kills: number;
  /** How many times it has paused for that, or because storage could not be read. */
  pauses: number;
}

/** A followup, and who waits for the answer to it. */
export interface CalledFollowup {
  readonly caller: CallerId;
  readonly followup: Followup;
}

/**
 * The intent is durable, and no location was told a success of it: the execution runs near storage, now or after a pause.
 */
export interface Abandoned {
  readonly kind: "abandoned";
  readonly intent: Intent;
  /** As of a pending one, from here on. */
  kills: number;
  pauses: number;
  /** Its handler was counted among those that leave their read/write set. */
  hasLeftSet: boolean;
}

/** An execution near storage whose last run ended; `ran` null: no run of it can end, so that it fails. */
export interface RanNearStorage {
  readonly kind: "near-storage";
  readonly near: NearStorage;
  readonly ran: Ran | null;
}

/** Writes and outcome are on their way to storage. */
export interface Completing {
  readonly kind: "completing";
  /** The execution as it was before: told, or run near storage. */
  readonly of: Pending | RanNearStorage;
  readonly expects: Expectation;
  readonly completion: Completion;
  /** Of the completion's commit id; null: an earlier server took it. */
  readonly sequence: number | null;
  /** Of outcome and writes, to compare with another run. */
  readonly hash: ContentHash;
  /** The samples that leave when the completion is durable. */
  readonly sampled: readonly SampleEffect[];
  /** Lines that are told when the completion is durable. */
  readonly logged: readonly LoggedLine[];
  /** Followups that are answered when the completion is durable. */
  readonly followups: { readonly caller: CallerId; readonly result: FollowupVerdict }[];
}

export interface Execution {
  readonly id: ExecutionId;
  /** Its place among those that wait for locks, however often it asks for some. */
  readonly ticket: Ticket;
  readonly invocation: Invocation;
  readonly location: string;
  /** Its part of its location's budget. */
  usage: Usage;
  readonly retained: boolean;
  /** The client chose the id, or has asked again under the id that it was told: it may ask for the outcome later, too. */
  clientMayAsk: boolean;
  /** A run that writes ends it without effect. */
  readonly mustNotWrite: boolean;
  /** Null: the location sent no set, or an earlier server has met the request. */
  readonly declared: Declared | null;
  /** The session of the isolate that has begun it; null: it has none. */
  readonly sender: SenderSession | null;
  /** Ends of read leases that it waits for, or has waited for, before it is told or completes. */
  revocations: readonly Revocation[];
  callers: Caller[];
  /** The page of an index that the server turns by itself; null: a location has asked for the execution. */
  readonly turning: Turning | null;
  /** The change of a schedule that the server makes by itself; null: it makes none. */
  readonly schedule: ScheduleChange | null;
  /** The task of which it is an attempt; null: it is none. */
  readonly task: Task | null;
  /** The step of a workflow of which it is an attempt; null: it is none. */
  readonly step: Step | null;
  phase: Phase;
  /** How often it waited without asking for locks, and how often it loaded values. */
  watches: number;
  loads: number;
  /** Rows that storage was asked for. */
  scanned: number;
  /** When its wait for locks is over, unless it has an intent. */
  readonly giveUpAtMs: number;
  /** Executions that are applied first: it has read their writes, or takes units of theirs. */
  ahead: Set<Execution>;
  /** Executions that are applied after this one. */
  readonly behind: Set<Execution>;
}

/** A page that is on its way. */
export interface Turning {
  readonly page: Page;
  /** As of which the index is when the page is stored; null: it is no more. Undefined: the page was not turned yet. */
  next: IndexState | null | undefined;
}

/** The first state of each execution, of a request or of a task. */
function begun(): Omit<Execution, "id" | "ticket" | "invocation" | "location" | "usage"> {
  return {
    retained: false,
    clientMayAsk: false,
    mustNotWrite: false,
    declared: null,
    sender: null,
    revocations: NO_REVOCATIONS,
    callers: [],
    turning: null,
    schedule: null,
    task: null,
    step: null,
    phase: { kind: "arrived" },
    watches: 0,
    loads: 0,
    scanned: 0,
    giveUpAtMs: Infinity,
    ahead: new Set(),
    behind: new Set(),
  };
}

/** An execution of the server's own, which no location and no handler has a part in. */
export function turningOf(page: Page, id: ExecutionId, ticket: Ticket, wallMs: number): Execution {
  return {
    ...begun(),
    id,
    ticket,
    invocation: { executionId: id, ...NO_HANDLER, environment: { timeMs: wallMs, seed: NO_SEED, caller: null } },
    location: BACKGROUND,
    usage: usageOf(NO_HANDLER.args, []),
    turning: { page, next: undefined },
  };
}

/** An execution of the server's own that changes a schedule. */
export function schedulingOf(
  schedule: ScheduleChange,
  module: ModuleHash,
  id: ExecutionId,
  ticket: Ticket,
  wallMs: number,
): Execution {
  const environment = { timeMs: wallMs, seed: NO_SEED, caller: null };
  return {
    ...begun(),
    id,
    ticket,
    invocation: { executionId: id, ...NO_HANDLER, module, environment },
    location: TASKS,
    usage: usageOf(NO_HANDLER.args, []),
    schedule,
  };
}

/** In the place of a location's name, which cannot begin like this. */
const BACKGROUND = "~background";
/** Likewise, of tasks. */
export const TASKS = "~tasks";
const NO_SEED = new Uint8Array(32);
const NO_HANDLER = { module: "0".repeat(64) as ModuleHash, handler: BACKGROUND, args: new Uint8Array() };

/** An attempt of a task. */
export function attemptOf(task: Task, module: ModuleHash, ticket: Ticket, wallMs: number): Execution {
  // variant: task-seed
  const attempt = owed(task, module, ticket, wallMs);
  return { ...attempt, task };
}

/** An attempt of a step of a workflow. */
export function stepAttemptOf(step: Step, module: ModuleHash, ticket: Ticket, wallMs: number): Execution {
  return { ...owed(step, module, ticket, wallMs), step };
}

/** Whether nobody waits for it, and the primary owes it. */
export function isOwed({ task, step }: Execution): boolean {
  return task !== null || step !== null;
}

function owed(
  { id, handler, args, seed, caller }: Pick<Task, "id" | "handler" | "args" | "seed" | "caller">,
  module: ModuleHash,
  ticket: Ticket,
  wallMs: number,
): Execution {
  return {
    ...begun(),
    id,
    ticket,
    invocation: { executionId: id, module, handler, args, environment: { timeMs: wallMs, seed, caller } },
    location: TASKS,
    usage: usageOf(args, []),
  };
}

/** The server makes it by itself: nobody waits for its outcome. */
export function isOwn({ turning, schedule, task, step }: Execution): boolean {
  return turning !== null || schedule !== null || task !== null || step !== null;
}

/** A new execution, known by its request alone. */
export function requested(caller: Caller, usage: Usage, ticket: Ticket): Execution {
  const { executionId, module, handler, args, environment, location, retained, units, mustNotWrite } = caller.request;
  const { lanes, mayEffect } = caller.request;
  return {
    ...begun(),
    id: executionId,
    ticket,
    invocation: { executionId, module, handler, args, environment },
    location,
    usage,
    retained,
    clientMayAsk: retained,
    mustNotWrite,
    declared: units === null ? null : { units, lanes, mayEffect, speculator: caller },
    sender: caller.request.session,
    callers: [caller],
    giveUpAtMs: caller.deadlineMs,
  };
}

/** An execution that an earlier server left pending. Its reply may have left. */
export function adopted(intent: Intent, ticket: Ticket, phase: Pending | Abandoned): Execution {
  const { executionId, module, handler, args, environment, location, units, retained, mustNotWrite } = intent;
  return {
    ...begun(),
    id: executionId,
    ticket,
    invocation: { executionId, module, handler, args, environment },
    location,
    usage: usageOf(args, units),
    retained,
    clientMayAsk: retained,
    mustNotWrite,
    phase,
  };
}

export function pendingOn(intent: Intent, sequence: number | null): Pending {
  return { kind: "pending", intent, sequence, replay: null, wanted: null, early: [], audit: null, kills: 0, pauses: 0 };
}

export function abandonedOf(intent: Intent, pauses: number, hasLeftSet: boolean): Abandoned {
  return { kind: "abandoned", intent, kills: 0, pauses, hasLeftSet };
}

/** Whether its success may have left the server while its writes are not in storage yet. */
export function isTold({ phase }: Execution): boolean {
  return phase.kind === "pending" || completes(phase)?.of.kind === "pending";
}

/** The units that the execution is promised to write, or is about to; null: it has not come so far. */
export function writesOf({ phase }: Execution): readonly UnitId[] | null {
  const completion = completes(phase);
  if (completion !== null)
    return ("completion" in completion ? completion.completion : completion.ended).writes.map(({ unit }) => unit);
  switch (phase.kind) {
    case "storing":
    case "pending":
      return writesIn(phase.intent);
    case "clearing":
      return phase.next.kind === "tell" ? writesIn(phase.next.storing.intent) : null;
    default:
      return null;
  }
}

function writesIn({ units }: Intent): readonly UnitId[] {
  return units.filter(({ mode }) => mode !== "read").map(({ unit }) => unit);
}

/** The completion that the execution has begun, or waits to begin; null: neither. */
export function completes(phase: Phase): Ending | Completing | null {
  if (phase.kind === "completing") return phase;
  return phase.kind === "clearing" && phase.next.kind === "complete" ? phase.next.ending : null;
}

/** The pending intent that storage has of the execution; null: none. */
export function intentOf({ phase }: Execution): Intent | null {
  switch (phase.kind) {
    case "pending":
    case "abandoned":
      return phase.intent;
    case "waiting":
    case "watching":
    case "loading":
      return phase.stage.kind === "validate" ? null : (phase.stage.near.abandoned?.intent ?? null);
    case "running":
      return phase.near.abandoned?.intent ?? null;
    case "clearing":
      return phase.next.kind === "tell" ? phase.next.storing.intent : intentBefore(phase.next.ending.of);
    case "completing":
      return intentBefore(phase.of);
    case "arrived":
    case "looking-up":
    case "storing":
    case "ended":
      return null;
  }
}

function intentBefore(of: Pending | RanNearStorage): Intent | null {
  return of.kind === "pending" ? of.intent : (of.near.abandoned?.intent ?? null);
}

/** Sequence of the commit id that this server has taken under the locks of the execution; null: none. */
export function sequenceOf({ phase }: Execution): number | null {
  switch (phase.kind) {
    case "storing":
    case "pending":
    case "completing":
      return phase.sequence;
    case "clearing": {
      const { next } = phase;
      return next.kind === "tell" ? next.storing.sequence : next.ending.commit.sequence;
    }
    default:
      return null;
  }
}

/** Rough memory of an execution, and of a unit, besides their arguments and names. */
const EXECUTION_BYTES = 2_000;
const UNIT_BYTES = 400;

export function usageOf(args: Uint8Array, units: readonly { readonly unit: UnitId }[]): Usage {
  let bytes = EXECUTION_BYTES + args.length;
  for (const { unit } of units) bytes += UNIT_BYTES + unit.length;
  return { units: units.length, bytes };
}
