/** Schedules as people read them. */
import { columnsOf } from "./tasks/task-lines.ts";
import { fromNowText, scheduleText, timeText } from "@radical/app";
import { type ScheduleList, type ScheduleStatus, terminalText } from "@radical/protocol";

/** A line for each schedule, below a line of headings. */
export function scheduleLines({ schedules, timeMs }: ScheduleList): readonly string[] {
  const rows = schedules.map((schedule) => [
    terminalText(schedule.handler),
    terminalText(scheduleText(schedule)),
    schedule.lastMs === null ? "never" : `${timeText(schedule.lastMs)}${schedule.isOpen ? ", not done" : ""}`,
    nextOf(schedule, timeMs),
  ]);
  return columnsOf(["handler", "schedule", "last tick", "next tick"], rows);
}

function nextOf({ nextMs, isPaused }: ScheduleStatus, timeMs: number): string {
  if (isPaused) return "paused";
  return nextMs === null ? "never" : `${timeText(nextMs)}, ${fromNowText(Math.max(0, nextMs - timeMs))}`;
}
