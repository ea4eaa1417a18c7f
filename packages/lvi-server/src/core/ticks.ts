/** The times of a schedule's ticks. Pure: a port tells those of five fields in a time zone. */
import {
  CborWriter,
  type CommitId,
  type ExecutionId,
  type Schedule,
  SEED_BYTES,
  taskIdOf,
  tickIdOf,
} from "@radical/protocol";
import type { CallHasher } from "./call-hash.ts";
import type { Invocation } from "./intent.ts";
import type { ScheduleChange } from "./schedules.ts";
import { placeOf, type Task } from "./task.ts";

/** The first time after another at which the fields fit the clock of a zone. Null: there is none, or this machine does not know the zone. */
export type NextCron = (fields: string, zone: string, afterMs: number) => number | null;

/** Ticks of the same text come at the same times. */
export function dueText(schedule: Schedule): string {
  return schedule.kind === "cron" ? `${schedule.fields} ${schedule.zone}` : `@every ${schedule.everyMs}`;
}

/** The first tick after the time. Infinity: there is none. */
export function nextTick(schedule: Schedule, afterMs: number, nextCron: NextCron): number {
  if (schedule.kind === "cron") return nextCron(schedule.fields, schedule.zone, afterMs) ?? Infinity;
  return (Math.floor(afterMs / schedule.everyMs) + 1) * schedule.everyMs;
}

/** The latest ticks after one time and up to another, in order, `most` at most. */
export function latestTicks(
  schedule: Schedule,
  afterMs: number,
  untilMs: number,
  most: number,
  nextCron: NextCron,
): readonly number[] {
  if (schedule.kind === "every") {
    const last = Math.floor(untilMs / schedule.everyMs);
    const count = Math.min(most, Math.max(0, last - Math.floor(afterMs / schedule.everyMs)));
    return Array.from({ length: count }, (_, index) => (last - count + 1 + index) * schedule.everyMs);
  }
  // After a long time there may be many: they are looked for from its end.
  for (let spanMs = most * MINUTE_MS; ; spanMs *= 2) {
    const fromMs = Math.max(afterMs, untilMs - spanMs);
    const found: number[] = [];
    for (let tickMs = nextTick(schedule, fromMs, nextCron); tickMs <= untilMs;) {
      found.push(tickMs);
      tickMs = nextTick(schedule, tickMs, nextCron);
    }
    if (fromMs === afterMs || found.length >= most) return found.slice(-most);
  }
}

/** The tasks that a change of a schedule makes, if it commits. */
export function tickTasks(
  { handler, schedule, ticks, ask }: ScheduleChange,
  { executionId: parent, module, environment: { timeMs } }: Invocation,
  commit: CommitId,
  hasher: CallHasher,
): readonly Task[] {
  if (schedule === null) return [];
  const taskAt = (id: ExecutionId, tickMs: number, ordinal: number): Task => ({
    id,
    handler,
    args: tickArguments(schedule, tickMs),
    seed: seedOf(id, hasher),
    caller: null,
    parent,
    module,
    lane: null,
    place: placeOf(commit, ordinal),
    createdAtMs: timeMs,
    dueMs: tickMs,
    attempt: 0,
    failures: 0,
    sentAtMs: null,
    state: "open",
    error: null,
  });
  const made = ticks.map((tickMs, ordinal) => taskAt(tickIdOf(handler, tickMs), tickMs, ordinal));
  return ask?.action === "run" ? [...made, taskAt(taskIdOf(parent, 0), timeMs, made.length)] : made;
}

/** The id of a tick is known to everybody, and its draws may be secrets. */
function seedOf(id: ExecutionId, hasher: CallHasher): Uint8Array {
  const { hash } = hasher.hash(new CborWriter().array(2).text("seed of a tick").text(id).finish());
  return Uint8Array.from({ length: SEED_BYTES }, (_, at) => Number.parseInt(hash.slice(2 * at, 2 * at + 2), 16));
}

/** The arguments with which the handler of a schedule is called. */
function tickArguments({ parameter }: Schedule, tickMs: number): Uint8Array {
  const writer = new CborWriter();
  if (parameter === null) return writer.map(0).finish();
  return writer.map(1).text(parameter).integer(tickMs).finish();
}

const MINUTE_MS = 60_000;
