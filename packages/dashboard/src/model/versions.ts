/** Versions of an item at the locations beside the primary's. */
import { compareCommits, type ShownVersion } from "@radical/protocol";

/**
 * `behind`: the primary has a newer one. `ahead`: the location has run a write that is not applied yet. `other`: the item is absent
 * at the primary, which keeps no version of that, and is there at the location.
 */
export type Standing = "equal" | "behind" | "ahead" | "other";

export function standingOf(held: ShownVersion, primary: ShownVersion): Standing {
  if (primary.commit === null || held.commit === null) return held.isThere === primary.isThere ? "equal" : "other";
  const order = compareCommits(held.commit, primary.commit);
  if (order === 0) return held.isThere === primary.isThere ? "equal" : "other";
  return order < 0 ? "behind" : "ahead";
}

/** `12 s ago`; null: not known. */
export function ageWords(writtenAtMs: number | null, nowMs: number): string | null {
  if (writtenAtMs === null) return null;
  const seconds = Math.max(0, nowMs - writtenAtMs) / 1_000;
  if (seconds < 1) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3_600)} h ago`;
}
