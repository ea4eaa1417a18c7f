/** The journal of a workflow as a timeline of its steps. */
import type {
  DashboardListedWorkflow,
  DashboardWorkflow,
  ExecutionId,
  ListedWorkflow,
  ShownArrival,
  ShownAttempts,
  ShownCommand,
  ShownEntry,
  WorkflowAction,
  WorkflowOrderOutcome,
} from "@radical/protocol";
import { fromNow, lengthWords } from "./tasks.ts";

type History = NonNullable<DashboardWorkflow>;

/** A command of a workflow, and what came of it. */
export interface TimelineStep {
  readonly number: number;
  readonly kind: ShownCommand["kind"];
  readonly name: string;
  readonly callee: NonNullable<ShownCommand["callee"]> | null;
  /** The id of its execution or task; null: it has none. */
  readonly execution: ExecutionId | null;
  readonly args: string | null;
  readonly state: StepState;
  /** When the run asked for it, and when a run has seen its end; null: none has. */
  readonly beganMs: number;
  readonly endedMs: number | null;
  /** How it has failed, in words. */
  readonly failure: string | null;
  /** Its result, or the value of the signal, as JSON. */
  readonly value: string | null;
  readonly attempts: ShownAttempts | null;
  /** The workflow waits for it now. */
  readonly isAwaited: boolean;
}

export type StepState =
  | "done"
  | "failed"
  /** Nobody knows whether its service has acted. */
  | "unknown"
  /** The time of a sleep or of a wait for a signal is over. */
  | "over"
  | "open"
  /** An undo of a workflow that has not failed. */
  | "kept"
  | "undoing"
  | "undone"
  /** An undo that is not needed any more. */
  | "dropped";

export interface Timeline {
  readonly steps: readonly TimelineStep[];
  /** Undos of a workflow that has failed: the newest first, as they are made. */
  readonly undos: readonly TimelineStep[];
  /** When a run has seen that somebody asks for its end; `seenMs` is null if none has. Null: nobody has asked. */
  readonly cancelled: { readonly seenMs: number | null } | null;
  /** Signals that were sent, and that nothing has waited for yet. */
  readonly unseen: readonly { readonly name: string; readonly value: string | null }[];
  /** The end of its last run; null: it has not come. */
  readonly endedRunMs: number | null;
  readonly mode: "all" | "any" | null;
}

export function timelineOf({ workflow, entries, arrived }: History): Timeline {
  const ends = endsOf(entries, arrived);
  const wait = entries.at(-1)?.wait ?? null;
  const commands = entries.flatMap((entry) => entry.commands.map((command) => ({ command, timeMs: entry.timeMs })));
  const undone = undoneIn(commands, workflow, ends);
  const awaited = new Set(wait !== null && isGoing(workflow) ? wait.commands : []);
  const steps = commands.map(({ command, timeMs }): TimelineStep => {
    const end = ends.get(command.number) ?? null;
    const { state, failure } = command.kind === "undo" ? undone(command) : stateOf(command, end?.arrival ?? null);
    return {
      number: command.number,
      kind: command.kind,
      name: command.name,
      callee: command.callee ?? null,
      execution: command.execution ?? null,
      args: command.args ?? null,
      state,
      beganMs: timeMs,
      endedMs: end?.seenMs ?? null,
      failure,
      value: end?.arrival.value ?? null,
      attempts: command.attempts ?? null,
      isAwaited: awaited.has(command.number) && end === null,
    };
  });
  const hasFailed = workflow.error !== null && workflow.state !== "stuck";
  return {
    steps,
    undos: hasFailed ? steps.filter(({ kind }) => kind === "undo").toReversed() : [],
    cancelled: cancellationIn(entries, arrived),
    unseen: arrived
      .filter(({ kind, command }) => kind === "signal" && command === null)
      .map(({ words = "", value = null }) => ({ name: words, value })),
    endedRunMs: entries.find((entry) => entry.wait === null)?.timeMs ?? null,
    mode: awaited.size > 1 ? (wait?.mode ?? null) : null,
  };
}

/** Whether its code has more to do. */
function isGoing({ state }: ListedWorkflow): boolean {
  return state === "running" || state === "waiting" || state === "cancelling";
}

interface End {
  readonly arrival: ShownArrival;
  /** Null: it has come, and no run has seen it yet. */
  readonly seenMs: number | null;
}

function endsOf(entries: readonly ShownEntry[], arrived: readonly ShownArrival[]): ReadonlyMap<number, End> {
  const seen = entries.flatMap(({ arrivals, timeMs }) => arrivals.map((arrival) => ({ arrival, seenMs: timeMs })));
  const all: readonly End[] = [...seen, ...arrived.map((arrival) => ({ arrival, seenMs: null }))];
  return new Map(all.flatMap((end) => (end.arrival.command === null ? [] : [[end.arrival.command, end]])));
}

function cancellationIn(entries: readonly ShownEntry[], arrived: readonly ShownArrival[]): Timeline["cancelled"] {
  const isAsked = ({ kind }: ShownArrival): boolean => kind === "cancelled";
  const entry = entries.find(({ arrivals }) => arrivals.some(isAsked));
  if (entry !== undefined) return { seenMs: entry.timeMs };
  return arrived.some(isAsked) ? { seenMs: null } : null;
}

interface Told {
  readonly state: StepState;
  readonly failure: string | null;
}

function stateOf({ kind }: ShownCommand, arrival: ShownArrival | null): Told {
  // These have their effect with the entry.
  if (kind === "enqueue" || kind === "cancel" || kind === "send") return { state: "done", failure: null };
  if (arrival === null) return { state: "open", failure: null };
  switch (arrival.kind) {
    case "failed":
      return { state: "failed", failure: arrival.words ?? null };
    case "unknown":
      return { state: "unknown", failure: arrival.words ?? null };
    case "timer":
      return { state: kind === "sleep" ? "done" : "over", failure: null };
    default:
      return { state: "done", failure: null };
  }
}

/** Undos are made one after the other, the newest first. One that has written nothing leaves no trace. */
function undoneIn(
  commands: readonly { readonly command: ShownCommand }[],
  { state, error }: ListedWorkflow,
  ends: ReadonlyMap<number, End>,
): (undo: ShownCommand) => Told {
  const undos = commands.map(({ command }) => command).filter(({ kind }) => kind === "undo");
  const oldest = Math.min(...undos.filter(({ number }) => ends.has(number)).map(({ number }) => number));
  const underWay = undos.find(({ attempts }) => attempts !== undefined)?.number ?? Infinity;
  const stateOfUndo = (number: number): StepState => {
    if (state === "ended") return error === null ? "dropped" : "undone";
    if (state === "undoing" && number === underWay) return "undoing";
    return state === "undoing" && (number >= oldest || number > underWay) ? "undone" : "kept";
  };
  return ({ number }) => ({ state: stateOfUndo(number), failure: null });
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const WORKFLOW_STATE_WORDS: Readonly<Record<ListedWorkflow["state"], string>> = {
  running: "It runs, or its steps do.",
  waiting: "It waits for time or for a signal.",
  cancelling: "It is asked to end, and sees that at its next wait.",
  undoing: "It has failed, and what it had done is being undone, the newest first.",
  stuck: "It can’t go on until somebody sees to it. Nothing of it is undone.",
  ended: "It has ended.",
};

const KIND_WORDS: Readonly<Record<ShownCommand["kind"], string>> = {
  start: "step",
  undo: "undo",
  sleep: "sleep",
  signal: "signal",
  enqueue: "task",
  cancel: "cancel",
  send: "send",
};

/** `service`, `workflow`, `undo`. */
export function kindWords({ kind, callee }: Pick<TimelineStep, "kind" | "callee">): string {
  if (kind === "start" && callee !== null) return callee;
  return KIND_WORDS[kind];
}

export const STEP_WORDS: Readonly<Record<StepState, string>> = {
  done: "done",
  failed: "failed",
  unknown: "unknown",
  over: "time over",
  open: "open",
  kept: "if it fails",
  undoing: "being undone",
  undone: "undone",
  dropped: "not needed",
};

/** The wait of a workflow of the list; null: nothing is known of it. */
export function waitWords({ waitsFor, untilMs }: DashboardListedWorkflow, nowMs: number): string | null {
  const left = untilMs === null ? null : `in ${lengthWords(Math.max(0, untilMs - nowMs))}`;
  if (waitsFor === null) return left === null ? null : `time, ${left}`;
  const { mode, commands, kind, name } = waitsFor;
  if (commands > 1) return `${mode === "all" ? "all" : "one"} of ${commands} steps`;
  if (kind === "sleep") return left === null ? "time" : `time, ${left}`;
  return `${kind === "signal" ? "signal " : ""}${name}${left === null ? "" : `, ${left} at the latest`}`;
}

/** The effect of an order on a workflow. */
export function effectOf(action: WorkflowAction, { state }: ListedWorkflow): string {
  if (action === "retry") return "It runs again from its journal, on the build that has started it.";
  const when = state === "stuck" ? "at once" : "at its next wait";
  return `It fails with 409 cancelled ${when}, and undoes what it has done.`;
}

/** The orders that make sense for a workflow. */
export function workflowActionsOf({ state }: ListedWorkflow): readonly WorkflowAction[] {
  if (state === "stuck") return ["retry", "cancel"];
  return state === "running" || state === "waiting" ? ["cancel"] : [];
}

export const WORKFLOW_ACTION_NAMES: Readonly<Record<WorkflowAction, string>> = { retry: "Retry", cancel: "Cancel" };

export const WORKFLOW_OUTCOME_WORDS: Readonly<Record<WorkflowOrderOutcome, string>> = {
  done: "Done.",
  unknown: "There is no such workflow any more: it has ended.",
  "not-stuck": "It is not stuck, so it was not tried again.",
  ending: "Its last run has ended: it only waits for its steps, and for what it undoes.",
  "in-doubt": "The server has stopped, and nobody knows whether it was done. Give the same order again.",
};

/** Between two moments, as short as people say it: `340 ms`, `2.1 s`, `3 min`, `2 d`. */
export function spanBetween(fromMs: number, toMs: number): string {
  const ms = Math.max(0, toMs - fromMs);
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return fromNow(ms, 0).replace(/^in /, "");
}
