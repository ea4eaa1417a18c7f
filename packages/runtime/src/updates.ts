/** Lines of updates: what others have written of the units that a location has read, as the server tells it. */
import { type Entry, isCommitId, isContentHash, isIntact, type UnitId, type UpdateLine } from "@radical/protocol";
import { fromBase64 } from "./base64.ts";
import type { CachePut } from "./core/effects.ts";

/** What of a line is whole. */
export function entriesOf(line: string): readonly CachePut[] {
  let updates: unknown;
  try {
    updates = JSON.parse(line);
  } catch {
    return [];
  }
  if (!Array.isArray(updates)) return [];
  return (updates as UpdateLine).flatMap((update) => {
    const put = Array.isArray(update) ? putOf(update) : null;
    return put === null ? [] : [put];
  });
}

function putOf([unit, commitId, hash, text]: readonly unknown[]): CachePut | null {
  if (typeof unit !== "string" || typeof commitId !== "string" || !isCommitId(commitId)) return null;
  if (hash === null && text === null)
    return { unit: unit as UnitId, entry: { version: { commitId, hash }, value: null } };
  if (typeof hash !== "string" || !isContentHash(hash) || typeof text !== "string") return null;
  const value = fromBase64(text);
  const entry: Entry | null = value === null ? null : { version: { commitId, hash }, value };
  return entry !== null && isIntact(entry) ? { unit: unit as UnitId, entry } : null;
}
