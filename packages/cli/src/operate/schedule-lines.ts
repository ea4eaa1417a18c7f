/** Schedules as people read them. */
import { columnsOf } from "./tasks/task-lines.ts";
import { type ScheduleList, type ScheduleStatus, terminalText } from "@radical/protocol";

/** A line for each schedule, below a line of headings. */
export function scheduleLines({ schedules, timeMs }: ScheduleList): readonly string[] {
  const rows = schedules.map((schedule) => [
    terminalText(schedule.handler),
    timesOf(schedule),
    schedule.lastMs === null ? "never" : `${timeText(schedule.lastMs)}${schedule.isOpen ? ", not done" : ""}`,
    nextOf(schedule, timeMs),
  ]);
  return columnsOf(["handler", "schedule", "last tick", "next tick"], rows);
}

/** As the tag says it. */
function timesOf(schedule: ScheduleStatus): string {
  const { catchUp, overlap } = schedule;
  const policies = `${catchUp === 1 ? "" : ` catchUp=${catchUp}`}${overlap === "wait" ? "" : ` overlap=${overlap}`}`;
  const times =
    schedule.kind === "cron" ? `${schedule.fields} ${schedule.zone}` : `every ${durationText(schedule.everyMs)}`;
  return terminalText(`${times}${policies}`);
}

function nextOf({ nextMs, isPaused }: ScheduleStatus, timeMs: number): string {
  if (isPaused) return "paused";
  return nextMs === null ? "never" : `${timeText(nextMs)}, in ${durationText(Math.max(0, nextMs - timeMs))}`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** The two largest units: `1d 3h`, `5m`, `0s`. */
function durationText(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? "0s" : parts.join(" ");
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
