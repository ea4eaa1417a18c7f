/**
 * Updates: what others have written reaches the caches of the locations that have read it lately, without their asking.
 * Like a repair an update is a hint. It brings only what is applied, a cache takes it only forward, and whatever a location
 * uses is validated; so that a lost, late or doubled update changes latency and nothing else.
 */
import type { ContentHash } from "./content-hash.ts";
import type { CommitId, UnitId } from "./ids.ts";

/** `POST` of an {@link UpdatesQuestion}: {@link UpdateLine}s for each execution that wrote, and empty lines between. */
export const UPDATES_PATH = "/v1/updates";

/** After which the server ends an answer, and its location asks again. */
export const UPDATES_MS = 25_000;

export interface UpdatesQuestion {
  readonly location: string;
  /** Who listens there: asked for again, the answer before ends. */
  readonly listener: string;
}

/** The values in base 64; hash and value of a unit that was deleted are null. */
export type UpdateLine = readonly (readonly [
  unit: UnitId,
  commitId: CommitId,
  hash: ContentHash | null,
  value: string | null,
])[];
