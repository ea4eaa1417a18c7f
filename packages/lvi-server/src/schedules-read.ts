/** The schedules of a starting server. */
import { SCHEDULE_STATES } from "@radical/protocol";
import type { Recovered } from "./core/lvi-core.ts";
import { latestTickIds, scheduleStates } from "./core/schedule-state.ts";
import { atOnce } from "./storage/at-once.ts";
import type { Storage } from "./storage/storage.ts";

/** Schedules whose states a starting server reads. */
const MOST_SCHEDULES = 100_000;

/** How far schedules have come, and which of their latest ticks are not done. Nobody writes meanwhile. */
export async function readSchedules(
  storage: Pick<Storage, "scan" | "findTask">,
): Promise<NonNullable<Recovered["schedules"]>> {
  const states = scheduleStates(await storage.scan({ table: SCHEDULE_STATES, from: null, to: null }, MOST_SCHEDULES));
  const tasks = await atOnce(latestTickIds(states), (id) => storage.findTask(id));
  return { states, open: tasks.flatMap((task) => (task?.state === "open" ? [task.id] : [])) };
}
