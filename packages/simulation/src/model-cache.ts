/** A location's cache in the simulation: it may lose everything, fall back to an earlier state, or garble values. */
import { type Entry, isIntact, sameVersion, type UnitId, type Version } from "@radical/protocol";
import type { Random } from "./random.ts";

export class ModelCache {
  readonly #entries = new Map<UnitId, Entry>();
  #backup: ReadonlyMap<UnitId, Entry> = new Map();

  /** What is held of the units and not damaged. */
  read(units: Iterable<UnitId>): ReadonlyMap<UnitId, Entry> {
    const entries = new Map<UnitId, Entry>();
    for (const unit of units) {
      const entry = this.#entries.get(unit);
      if (entry !== undefined && isIntact(entry)) entries.set(unit, entry);
    }
    return entries;
  }

  /** Takes an entry only forward, or in place of a version that the primary has disproved. */
  put(unit: UnitId, entry: Entry, disproved?: Version): void {
    const held = this.#entries.get(unit);
    const newer = held === undefined || entry.version.commitId > held.version.commitId;
    const wrong = held !== undefined && disproved !== undefined && sameVersion(held.version, disproved);
    if (newer || wrong) this.#entries.set(unit, entry);
  }

  disturb(random: Random): void {
    const all = [...this.#entries];
    switch (random.below(4)) {
      case 0:
        this.#entries.clear();
        break;
      case 1:
        this.#backup = new Map(all);
        break;
      case 2:
        // Rolled back, in whole or in part.
        for (const [unit, entry] of this.#backup) if (random.chance(0.7)) this.#entries.set(unit, entry);
        break;
      case 3: {
        const garbled = all[random.below(all.length)];
        if (garbled !== undefined && garbled[1].value !== null) {
          this.#entries.set(garbled[0], { ...garbled[1], value: random.bytes(3) });
        }
      }
    }
  }
}
