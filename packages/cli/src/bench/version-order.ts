/** The versions of each unit in the order of their commits, and where in it an execution that only reads can stand. */
import { compareCommits, type UnitId } from "@radical/protocol";
import type { Versioned } from "./history.ts";

interface UnitVersion {
  /** Place of its writer among all writers, from 0. */
  readonly writer: number;
  readonly commit: string;
  readonly isPresent: boolean;
}

export class VersionOrder {
  /** In the order of their commits. */
  readonly writers: readonly Versioned[];
  readonly #versions = new Map<UnitId, UnitVersion[]>();
  readonly #initial: ReadonlySet<UnitId>;

  /** `initial`: units that are there before the first writer. */
  constructor(history: readonly Versioned[], initial: ReadonlySet<UnitId>) {
    this.#initial = initial;
    const committed = history.flatMap((executed) =>
      executed.commit === null ? [] : [{ executed, commit: executed.commit }],
    );
    const inOrder = committed.toSorted((a, b) => compareCommits(a.commit, b.commit));
    this.writers = inOrder.map(({ executed }) => executed);
    for (const [writer, { commit, executed }] of inOrder.entries()) {
      const { writes } = executed;
      for (const [unit, isPresent] of writes) {
        const versions = this.#versions.get(unit);
        const version = { writer, commit, isPresent };
        if (versions === undefined) this.#versions.set(unit, [version]);
        else versions.push(version);
      }
    }
  }

  /** Of the version that a commit has written; −1: it was there from the beginning. Null: there is no such version. */
  writerOf(unit: UnitId, commit: string): number | null {
    const found = this.#versions.get(unit)?.find((version) => version.commit === commit);
    if (found !== undefined) return found.isPresent ? found.writer : null;
    return this.#initial.has(unit) ? -1 : null;
  }

  /** The writer of the next version of a unit after that of a writer; null: there is none. */
  nextWriter(unit: UnitId, writer: number): number | null {
    return this.#versions.get(unit)?.find((version) => version.writer > writer)?.writer ?? null;
  }

  /** Who wrote the version that is current behind so many writers: −1, nobody. */
  currentAt(unit: UnitId, place: number): { readonly writer: number; readonly isPresent: boolean } {
    const version = this.#versions.get(unit)?.findLast(({ writer }) => writer < place);
    return version ?? { writer: -1, isPresent: this.#initial.has(unit) };
  }

  /**
   * The first place, as a number of writers ahead, at which all that was read was current; or why there is none. Something may
   * have been absent several times: not before those writers that were answered before the execution was asked for.
   */
  placeOf({ reads, invokedAtMs }: Versioned): number | string {
    let [least, most] = [0, this.writers.length];
    for (const [unit, commit] of reads) {
      if (commit === null) continue;
      const writer = this.writerOf(unit, commit);
      if (writer === null) return `read ${unit} as of ${commit}, which never was`;
      least = Math.max(least, writer + 1);
      most = Math.min(most, this.nextWriter(unit, writer) ?? Infinity);
    }
    const absent = Array.from(reads).flatMap(([unit, commit]) => (commit === null ? [unit] : []));
    const answered = absent.length === 0 ? 0 : this.writers.findLastIndex((one) => one.answeredAtMs < invokedAtMs) + 1;
    for (let place = answered <= most ? Math.max(least, answered) : least; place <= most;) {
      const there = absent.find((unit) => this.currentAt(unit, place).isPresent);
      if (there === undefined) return place;
      const next = this.nextWriter(there, this.currentAt(there, place).writer);
      if (next === null) break;
      place = next + 1;
    }
    return `read what was never current together: ${[...reads.keys()].slice(0, 5).join(", ")}`;
  }
}
