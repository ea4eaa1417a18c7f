/**
 * Strict serializability of what Radical has done in a benchmark. The primary tells which commit wrote what each execution read. Of
 * each range that was read it tells the digest. Commit ids order the versions of one unit only: a writer that waits until leases of
 * a unit have ended has its commit id already. A leased read may come before it, and have seen later commits of other units.
 */
import { type Scan, type SerialOrder, serialOrder, type Version } from "@radical/history";
import {
  type CommitId,
  compareCommits,
  type ContentHash,
  contains,
  Digest,
  type Key,
  present,
  spanOf,
  splitUnit,
  unitId,
  type UnitId,
} from "@radical/protocol";
import type { InitialVersions, Versioned } from "./history.ts";

/** An order of the history, and what is wrong, in words. `initial`: of what is there before the first writer. */
export function orderOf(history: readonly Versioned[], initial: InitialVersions): SerialOrder {
  const versions = new Map<UnitId, Version[]>();
  const rows = new Rows();
  const begin = (unit: UnitId): Version[] => {
    const first = initial.get(unit);
    const all: Version[] = [{ writer: null, value: first?.commitId ?? null }];
    versions.set(unit, all);
    rows.add(unit);
    if (first !== undefined) rows.weigh(unit, first.commitId, first.hash);
    return all;
  };
  for (const unit of initial.keys()) begin(unit);
  const writers = Array.from(history.entries()).flatMap(([writer, { commit, writes }]) =>
    commit === null ? [] : [{ writer, commit, writes }],
  );
  for (const { writer, commit, writes } of writers.toSorted((a, b) => compareCommits(a.commit, b.commit))) {
    for (const [unit, hash] of writes) {
      (versions.get(unit) ?? begin(unit)).push({ writer, value: hash === null ? null : commit });
      if (hash !== null) rows.weigh(unit, commit, hash);
    }
  }
  const transactions = history.map(({ handler, id, invokedAtMs, answeredAtMs, reads, scans }) => ({
    name: `${handler} ${id}`,
    invokedAt: invokedAtMs,
    answeredAt: answeredAtMs,
    reads,
    scans: Array.from(scans, ([unit, digest]) => rows.scan(unit, digest)),
  }));
  return serialOrder(transactions, versions);
}

/** The rows that there ever were, and what each of them adds to a digest. */
class Rows {
  /** By table. */
  readonly #keys = new Map<string, Key[]>();
  readonly #weights = new Map<UnitId, Map<string, bigint>>();
  /** The units in each span that was asked for. */
  readonly #within = new Map<UnitId, readonly UnitId[]>();

  add(unit: UnitId): void {
    const { table, key } = splitUnit(unit);
    const keys = this.#keys.get(table);
    if (keys === undefined) this.#keys.set(table, [key]);
    else keys.push(key);
  }

  weigh(unit: UnitId, commitId: CommitId, hash: ContentHash): void {
    let weights = this.#weights.get(unit);
    if (weights === undefined) this.#weights.set(unit, (weights = new Map<CommitId, bigint>()));
    weights.set(commitId, BigInt(`0x${new Digest().add({ key: splitUnit(unit).key, commitId, hash }).hash}`));
  }

  scan(name: UnitId, digest: ContentHash): Scan {
    const span = present(spanOf(name), "a unit with a digest is a span");
    let units = this.#within.get(name);
    if (units === undefined) {
      const keys = this.#keys.get(span.table) ?? [];
      units = keys.filter((key) => contains(span, key)).map((key) => unitId(span.table, key));
      this.#within.set(name, units);
    }
    return {
      name,
      units,
      sum: BigInt(`0x${digest}`),
      weightOf:
        span.kind === "count" ? () => 1n : (unit, commit) => this.#weights.get(unit as UnitId)?.get(commit) ?? 0n,
    };
  }
}
