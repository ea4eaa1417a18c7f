/**
 * Strict serializability of what Radical has done in a benchmark: the primary tells which commit wrote what each execution read.
 * Commit ids order the versions of one unit only. A writer that waits until leases of a unit have ended has its commit id already,
 * and a leased read may come before it that has seen later commits of other units.
 */
import { type SerialOrder, serialOrder, type Version } from "@radical/history";
import { compareCommits, type UnitId } from "@radical/protocol";
import type { Versioned } from "./history.ts";

/** The version of a unit that was there before the first writer, whatever commit has put it there. */
const FIRST = "the first version";

/** An order of the history, and what is wrong, in words. `initial`: units that are there before the first writer. */
export function orderOf(history: readonly Versioned[], initial: ReadonlySet<UnitId>): SerialOrder {
  const versions = new Map<UnitId, Version[]>();
  const commits = new Set<string>();
  const writers = Array.from(history.entries()).flatMap(([writer, { commit, writes }]) =>
    commit === null ? [] : [{ writer, commit, writes }],
  );
  for (const { writer, commit, writes } of writers.toSorted((a, b) => compareCommits(a.commit, b.commit))) {
    commits.add(commit);
    for (const [unit, isPresent] of writes) {
      let all = versions.get(unit);
      if (all === undefined) versions.set(unit, (all = [firstOf(unit, initial)]));
      all.push({ writer, value: isPresent ? commit : null });
    }
  }
  for (const unit of initial) if (!versions.has(unit)) versions.set(unit, [firstOf(unit, initial)]);
  const transactions = history.map(({ handler, id, invokedAtMs, answeredAtMs, reads }) => ({
    name: `${handler} ${id}`,
    invokedAt: invokedAtMs,
    answeredAt: answeredAtMs,
    reads: Array.from(
      reads,
      ([unit, commit]) =>
        [unit, commit !== null && !commits.has(commit) && initial.has(unit) ? FIRST : commit] as const,
    ),
  }));
  return serialOrder(transactions, versions);
}

function firstOf(unit: UnitId, initial: ReadonlySet<UnitId>): Version {
  return { writer: null, value: initial.has(unit) ? FIRST : null };
}
