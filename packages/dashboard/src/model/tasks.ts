/** Tasks and schedules in words and numbers. */
import {
  type DashboardTask,
  type ScheduleStatus,
  TASK_STATES,
  type TaskAction,
  type TaskOrderOutcome,
  type TaskState,
} from "@radical/protocol";

export const STATE_WORDS: Readonly<Record<TaskState, string>> = {
  ready: "It begins as soon as there is room for it.",
  running: "An attempt of it is under way.",
  delayed: "Its time has not come: it was asked for with a delay, or an attempt has failed.",
  waiting: "Others of its lane are before it.",
  dead: "It begins no more by itself.",
};

export type StateCounts = Readonly<Record<TaskState, number>>;

export function stateCounts(tasks: readonly Pick<DashboardTask, "state">[]): StateCounts {
  const counts = Object.fromEntries(TASK_STATES.map((state) => [state, 0])) as Record<TaskState, number>;
  for (const { state } of tasks) counts[state]++;
  return counts;
}

/** The tasks of a handler, or of one lane of it. */
export interface TaskGroup {
  readonly handler: string;
  /** Null: those in no lane. */
  readonly lane: string | null;
  readonly counts: StateCounts;
  readonly all: number;
}

/** The groups with dead tasks first, then the largest ones. */
export function taskGroups(tasks: readonly Pick<DashboardTask, "handler" | "lane" | "state">[]): readonly TaskGroup[] {
  const found = new Map<string, (typeof tasks)[number][]>();
  for (const task of tasks) {
    const key = JSON.stringify([task.handler, task.lane]);
    const group = found.get(key);
    if (group === undefined) found.set(key, [task]);
    else group.push(task);
  }
  return Array.from(found.values(), (group): TaskGroup => {
    const [{ handler, lane } = { handler: "", lane: null }] = group;
    return { handler, lane, counts: stateCounts(group), all: group.length };
  }).toSorted((a, b) => b.counts.dead - a.counts.dead || b.all - a.all || a.handler.localeCompare(b.handler));
}

/** The orders that make sense for a task, with what each does. */
export function actionsOf({ state, error }: Pick<DashboardTask, "state" | "error">): readonly TaskAction[] {
  switch (state) {
    case "running":
      return [];
    case "dead":
      return ["retry", "discard"];
    case "ready":
      return ["cancel"];
    default:
      return error === null ? ["run", "cancel"] : ["retry", "run", "cancel"];
  }
}

export const ACTION_WORDS: Readonly<Record<TaskAction, { readonly name: string; readonly does: string }>> = {
  retry: { name: "Retry", does: "It begins at once, and its failures so far count no more." },
  run: { name: "Run now", does: "It begins at once, whatever its time. Its failures go on counting." },
  discard: { name: "Discard", does: "The dead task is removed for good. Its handler is never called." },
  cancel: { name: "Cancel", does: "The task is removed for good, unless an attempt begins first." },
};

/** Removes for good: it is asked twice. */
export function isFinal(action: TaskAction): boolean {
  return action === "discard" || action === "cancel";
}

export const OUTCOME_WORDS: Readonly<Record<TaskOrderOutcome, string>> = {
  done: "Done.",
  unknown: "There is no such task any more: it is done, or was removed.",
  running: "An attempt of it is under way, so nothing was changed.",
  "not-dead": "It is not dead, so it was not discarded.",
  "not-failed": "No attempt of it has failed, so there is nothing to retry.",
  "may-have-acted": "Nobody knows whether its service has acted for it, so it was not called again.",
};

/** `every 5 min`, or the fields of a cron with their zone. */
export function scheduleWords(schedule: ScheduleStatus): string {
  if (schedule.kind === "every") return `every ${spanWords(schedule.everyMs)}`;
  return schedule.zone === "UTC" ? schedule.fields : `${schedule.fields} (${schedule.zone})`;
}

/** A time from now: `in 12 s`, `3 min ago`, `now`. */
export function fromNow(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${spanWords(ms)}` : `${spanWords(-ms)} ago`;
}

/** A length of time by its two largest units: `1 d 3 h`. */
export function lengthWords(ms: number): string {
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  const [first, second] = at < 0 ? [] : UNITS.slice(at);
  if (first === undefined) return `${Math.round(ms)} ms`;
  const rest = second === undefined ? 0 : Math.floor((ms % first[1]) / second[1]);
  const words = `${Math.floor(ms / first[1])} ${first[0]}`;
  return rest === 0 ? words : `${words} ${rest} ${second![0]}`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** In the largest unit of which there are two, or one exactly: `90 s`, `2 min`, `1 h`. */
function spanWords(ms: number): string {
  for (const [unit, unitMs] of UNITS)
    if (ms >= 2 * unitMs || ms === unitMs) return `${Math.floor(ms / unitMs)} ${unit}`;
  return `${Math.max(1, Math.floor(ms / 1_000))} s`;
}
