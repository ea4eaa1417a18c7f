/** The memory of the isolate in front of a cache that is shared by isolates. */
import type { Entry, UnitId } from "@radical/protocol";
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

  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const found = new Map(await this.#front.getMany(units));
    const rest = units.filter((unit) => !found.has(unit));
    if (rest.length === 0) return found;
    const behind = await this.#back.getMany(rest);
    this.#front.put([...behind].map(([unit, entry]) => ({ unit, entry })));
    // An entry that came to the front meanwhile is newer.
    for (const [unit, entry] of behind) found.set(unit, this.#front.peek(unit) ?? entry);
    return found;
  }

  /**
   * An entry that the front knows to be old does not reach the back, which may be unable to compare. A disproved version
   * does: it may be held there only.
   */
  async putMany(puts: readonly CachePut[]): Promise<void> {
    const taken = new Set(this.#front.put(puts));
    const news = puts.filter((put) => taken.has(put) || put.disproved !== undefined);
    if (news.length > 0) await this.#back.putMany(news);
  }
}
