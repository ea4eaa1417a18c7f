/**
 * Alarms of locations. A location has no counters that could be asked, so it tells the primary, which counts alarms, of what only
 * the location has seen. Nothing depends on that: an alarm may be lost, and the log of the location has it too.
 */
import type { ExecutionId, ModuleHash } from "./ids.ts";

/** `POST` of a {@link LocationAlarm}. An older server has no such path. */
export const ALARMS_PATH = "/v1/alarms";

export interface LocationAlarm {
  /** An execution that must not write was about to: the location has ended it, without effect. */
  readonly alarm: "wrote_on_get";
  readonly execution: ExecutionId;
  readonly module: ModuleHash;
  readonly handler: string;
  readonly location: string;
}
