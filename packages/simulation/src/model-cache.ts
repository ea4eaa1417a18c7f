/** A location's cache in the simulation: it may lose everything, fall back to an earlier state, or hold what never was. */
import {
  type CommitId,
  compareCommits,
  type Entry,
  entryOf,
  isIntact,
  isSpan,
  sameVersion,
  type UnitId,
  type Version,
} from "@radical/protocol";
import { type CachePut, Directories, isScanUnit, type KnownRows, spanOfScan } from "@radical/runtime/core";
import type { FaultCounts } from "./faults.ts";
import { bytesOf } from "./programs.ts";
import type { Random } from "@radical/history";

/** The commits that a damaged cache of a location may hold, although it must not know them. */
export interface KnownCommits {
  /** Whether storage has what is named by a commit id. */
  readonly isApplied: (id: CommitId) => boolean;
  /** The writes of pending intents of other locations. */
  readonly pendingElsewhere: () => readonly PendingWrite[];
}

export interface PendingWrite {
  readonly unit: UnitId;
  readonly commitId: CommitId;
}

/** All rows that are known are stored of a scan. */
const ALL_ROWS = { first: Infinity, last: Infinity } as const;

export class ModelCache {
  readonly #entries = new Map<UnitId, Entry>();
  /** The puts that the directories were made from, in order: after a damage they are made again. */
  #told: CachePut[] = [];
  #directories = new Directories(Infinity);
  #backup: ReadonlyMap<UnitId, Entry> = new Map();
  #toldBefore: readonly CachePut[] = [];

  /** As they are now. */
  get directories(): KnownRows {
    return this.#directories;
  }

  /** At any time. */
  readonly known: KnownRows = {
    walk: (query) => this.#directories.walk(query),
    rowsOf: (interval) => this.#directories.rowsOf(interval),
    count: (interval) => this.#directories.count(interval),
  };

  get hasDirectories(): boolean {
    return this.#told.length > 0;
  }

  forgetDirectories(): void {
    this.#remember([]);
  }

  #remember(told: readonly CachePut[]): void {
    this.#told = [];
    this.#directories = new Directories(Infinity);
    for (const put of told) this.#tell(put);
  }

  #tell(put: CachePut): void {
    const { unit, entry, disproved } = put;
    // Without a span no directory is known, and an item changes none.
    if (!this.hasDirectories && !isSpan(unit) && !isScanUnit(unit)) return;
    this.#told.push(put);
    if (isScanUnit(unit)) this.#directories.learn(unit, entry);
    else if (isSpan(unit)) this.#directories.learn(unit, entry, disproved);
    else this.#directories.patch(unit, undefined, entry.version);
  }

  /** The entry of a unit, if it is not damaged. */
  get(unit: UnitId): Entry | undefined {
    const span = spanOfScan(unit);
    if (span !== null) return this.#directories.stored(span, ALL_ROWS) ?? undefined;
    const entry = this.#entries.get(unit);
    return entry !== undefined && isIntact(unit, entry) ? entry : undefined;
  }

  holds(unit: UnitId): boolean {
    if (isSpan(unit)) return this.#directories.knows(unit);
    return this.#entries.has(unit) || this.#directories.covers(unit);
  }

  read(units: Iterable<UnitId>): ReadonlyMap<UnitId, Entry> {
    const entries = new Map<UnitId, Entry>();
    for (const unit of units) {
      const entry = this.get(unit);
      if (entry !== undefined) entries.set(unit, entry);
    }
    return entries;
  }

  /** Takes an entry only forward, a value in place of its like, or any in place of a version that was disproved. */
  put(unit: UnitId, entry: Entry, disproved?: Version): void {
    const put = disproved === undefined ? { unit, entry } : { unit, entry, disproved };
    if (isSpan(unit) || isScanUnit(unit)) return this.#tell(put);
    const held = this.#entries.get(unit)?.version;
    const { commitId, hash } = entry.version;
    if (
      held !== undefined &&
      compareCommits(commitId, held.commitId) <= 0 &&
      !(commitId === held.commitId && hash !== null)
    ) {
      if (disproved === undefined || !sameVersion(unit, held, disproved)) return;
    }
    this.#entries.set(unit, entry);
    this.#tell(put);
  }

  /** Takes updates, only forward. */
  refresh(updates: readonly CachePut[], counts: FaultCounts): void {
    for (const { unit, entry } of updates) {
      const held = this.#entries.get(unit);
      const isLate = held !== undefined && compareCommits(entry.version.commitId, held.version.commitId) < 0;
      counts.add(held === undefined ? "update told of more" : isLate ? "update came late" : "cache updated");
      this.put(unit, entry);
    }
  }

  /** Does something bad. */
  disturb(random: Random, counts: FaultCounts, { isApplied, pendingElsewhere }: KnownCommits): void {
    const all = [...this.#entries];
    switch (random.below(7)) {
      case 0:
        counts.add("cache lost");
        this.#entries.clear();
        this.forgetDirectories();
        break;
      case 1:
        this.#backup = new Map(all);
        this.#toldBefore = [...this.#told];
        break;
      case 2:
        if (this.#backup.size > 0) counts.add("cache rolled back");
        for (const [unit, entry] of this.#backup) this.#entries.set(unit, entry);
        this.#remember(this.#toldBefore);
        break;
      case 3:
        if (this.#backup.size > 0) counts.add("cache torn");
        for (const [unit, entry] of this.#backup) if (random.chance(0.5)) this.#entries.set(unit, entry);
        if (this.hasDirectories)
          this.#remember([...this.#toldBefore, ...random.some(this.#told, random.below(this.#told.length + 1))]);
        break;
      case 4:
      case 5: {
        // The same commit id with another value: its checksum may be wrong, or that of a history that never was.
        const [unit, entry] = all[random.below(all.length)] ?? [];
        if (unit === undefined || entry === undefined || entry.value === null) return;
        const value = bytesOf(`nobody:${random.below(1_000)}`);
        // An own write that is not applied yet is known by its commit id only, so it must be the one that was made.
        const isForeign = isApplied(entry.version.commitId) && random.chance(0.7);
        counts.add(isForeign ? "cache of another history" : "cache garbled");
        this.#damage(unit, isForeign ? entryOf(entry.version.commitId, value) : { ...entry, value });
        break;
      }
      case 6: {
        // In another history the same commit id was taken sooner.
        const pending = pendingElsewhere();
        if (pending.length === 0) return;
        counts.add("cache of another history, ahead of storage");
        const { unit, commitId } = random.pick(pending);
        this.#damage(unit, entryOf(commitId, bytesOf(`nobody:${random.below(1_000)}`)));
      }
    }
  }

  #damage(unit: UnitId, entry: Entry): void {
    this.#entries.set(unit, entry);
    this.#tell({ unit, entry });
  }
}
