/** The door of a test to a cache object with a clock of the test's, which can be purged. */
import type { PurgePart } from "../src/cache/purge-part.ts";
import type { CacheDoor } from "./location.ts";

export interface AgingDoor extends CacheDoor {
  setClock(ms: number): Promise<void>;
  /** Null: there is none. */
  alarmAt(): Promise<number | null>;
  /** As the platform does when the time of the alarm has come. */
  ring(): Promise<void>;
  purge(
    application: string,
    part: PurgePart | null,
  ): Promise<{ readonly entries: number; readonly purgedAtMs: number }>;
  locations(): Promise<readonly string[]>;
}
