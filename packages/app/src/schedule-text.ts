import type { Schedule, ScheduleStatus } from "@radical/protocol";
import { spanText } from "./times.ts";

/** A schedule as its tag says it: `0 3 * * * Europe/Berlin`, `every 5m catchUp=0`. */
export function scheduleText(schedule: Schedule | ScheduleStatus): string {
  const { catchUp, overlap } = schedule;
  const policies = `${catchUp === 1 ? "" : ` catchUp=${catchUp}`}${overlap === "wait" ? "" : ` overlap=${overlap}`}`;
  const times =
    schedule.kind === "cron" ? `${schedule.fields} ${schedule.zone}` : `every ${spanText(schedule.everyMs)}`;
  return `${times}${policies}`;
}
