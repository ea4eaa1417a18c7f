/** The memory of the isolate in front of a cache that is shared by isolates. */
import { type Entry, isSpan, type UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import type { Cache } from "./cache.ts";
import type { MemoryCache } from "./memory-cache.ts";

export class TieredCache implements Cache {
  readonly #front: MemoryCache;
  readonly #back: Cache;

  constructor(front: MemoryCache, back: Cache) {
    this.#front = front;
    this.#back = back;
  }

  peek(unit: UnitId): Entry | undefined {
    return this.#front.peek(unit);
  }

  get directories(): Cache["directories"] {
    return this.#front.directories;
  }

  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const found = new Map(await this.#front.getMany(units));
    const rest = units.filter((unit) => !found.has(unit));
    if (rest.length === 0) return found;
    const behind = await this.#back.getMany(rest);
    this.#front.fill([...behind].map(([unit, entry]) => ({ unit, entry })));
    // An entry that came to the front meanwhile is newer.
    for (const [unit, entry] of behind) found.set(unit, this.#front.peek(unit) ?? entry);
    return found;
  }

  /**
   * An entry that the front knows to be old does not reach the back, which may be unable to compare. A disproved version
   * does: it may be held there only.
   */
  async putMany(puts: readonly CachePut[]): Promise<void> {
    const taken = this.#front.put(puts);
    const scans = this.#front.scansAround(taken);
    const isNew = new Set(taken);
    // Spans are behind only in the form of scans.
    const items = puts.filter((put) => !isSpan(put.unit) && (isNew.has(put) || put.disproved !== undefined));
    if (items.length + scans.length > 0) await this.#back.putMany([...items, ...scans]);
  }
}
