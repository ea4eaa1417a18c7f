/**
 * The order in which a starting server takes the locks of the intents that an earlier one left pending.
 *
 * Two of them overlap for one of two reasons. Either the younger one has read a write of the older one, its location's own
 * write. Then it is behind the older one, and is applied after it. Or the older one was abandoned and its locks were given
 * to the younger one. Nobody was told a success of it, so it may run near storage later.
 */
import { type CommitId, compareCommits, isSpan, SpanMap, type UnitMap } from "@radical/protocol";
import type { Intent, IntentUnit } from "./intent.ts";

export interface Adoption {
  readonly intent: Intent;
  /** The intents that it may be behind; null: it was abandoned. */
  readonly first: ReadonlySet<CommitId> | null;
}

/** A younger intent that has a unit. */
interface Holder {
  readonly first: ReadonlySet<CommitId>;
  readonly mode: IntentUnit["mode"];
}

/** Oldest first. */
export function adoptionOrder(pending: readonly Intent[]): readonly Adoption[] {
  const byCommit = new Map(pending.map((intent) => [intent.commitId, intent]));
  const oldestFirst = pending.toSorted((a, b) => compareCommits(a.commitId, b.commitId));
  const firstOf = new Map<Intent, ReadonlySet<CommitId>>();
  const ordered = oldestFirst.map((intent) => {
    const first = new Set<CommitId>();
    for (const { unit, version } of intent.units) {
      // The commit id of an absence, or of a span, says as of when, and not who wrote it.
      if (version === null || version.hash === null || isSpan(unit)) continue;
      const read = byCommit.get(version.commitId);
      if (read === undefined || read === intent) continue;
      first.add(read.commitId);
      for (const before of firstOf.get(read) ?? []) first.add(before);
    }
    firstOf.set(intent, first);
    return { intent, first };
  });

  const holders: UnitMap<Holder[]> = new SpanMap();
  const abandoned = new Set<Intent>();
  for (const { intent, first } of ordered.toReversed()) {
    // variant: intents-overlap
    const overlaps = intent.units.some(({ unit, mode }) =>
      holders
        .overlapping(unit)
        .some(([, all]) =>
          all.some((younger) => (mode !== "read" || younger.mode !== "read") && !younger.first.has(intent.commitId)),
        ),
    );
    if (overlaps) {
      abandoned.add(intent);
      continue;
    }
    for (const { unit, mode } of intent.units) {
      const list = holders.get(unit);
      if (list === undefined) holders.set(unit, [{ first, mode }]);
      else list.push({ first, mode });
    }
  }
  return ordered.map(({ intent, first }) => ({ intent, first: abandoned.has(intent) ? null : first }));
}
