/** The door of a test to a cache object with a clock of the test's, which can be purged and filled. */
import type { PurgePart } from "../src/cache/purge-part.ts";
import type { PurgeAnswer } from "../src/cache/radical-cache.ts";
import type { CacheDoor } from "./location.ts";

export interface AgingDoor extends CacheDoor {
  setClock(ms: number): Promise<void>;
  /** Null: there is none. */
  alarmAt(): Promise<number | null>;
  /** As the platform does when the time of the alarm has come. */
  ring(): Promise<void>;
  purge(application: string, part: PurgePart | null): Promise<PurgeAnswer>;
  locations(): Promise<readonly string[]>;
}

/** The statement that puts many rows like that of a unit into a cache object. */
export function copies(unit: string, count: number): string {
  return `
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
    INSERT INTO entries_3 (application, unit, put_at, commit_id, hash, seal, value)
    SELECT application, unit || '-' || number, put_at, commit_id, hash, seal, value
    FROM entries_3, numbers WHERE unit = '${unit}'`;
}
