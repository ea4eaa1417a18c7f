/** A small fast cache in front of a large slow one. */
import type { Entry, UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import type { Cache } from "./cache.ts";

export class TieredCache implements Cache {
  readonly #front: Cache;
  readonly #back: Cache;

  constructor(front: Cache, back: Cache) {
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
    await this.#front.putMany([...behind].map(([unit, entry]) => ({ unit, entry })));
    for (const [unit, entry] of behind) found.set(unit, entry);
    return found;
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    await Promise.all([this.#front.putMany(puts), this.#back.putMany(puts)]);
  }
}
