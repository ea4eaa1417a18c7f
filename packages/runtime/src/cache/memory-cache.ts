/**
 * The first tier: the memory of the isolate, shared by its requests and lost with it. It belongs to one Worker, and so
 * to one application; a new build of that application finds it empty.
 */
import type { Entry, UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { type Cache, takes } from "./cache.ts";

/** An isolate has 128 MB for everything. */
export const DEFAULT_MEMORY_CACHE_BYTES = 16 * 1024 * 1024;

/** What an entry costs besides key and value: the map's slot, the objects, the version. An estimate. */
const ENTRY_OVERHEAD_BYTES = 256;

export class MemoryCache implements Cache {
  readonly #maxBytes: number;
  /** In order of use: the least recently used first. */
  readonly #entries = new Map<UnitId, Entry>();
  #bytes = 0;

  constructor(maxBytes = DEFAULT_MEMORY_CACHE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  peek(unit: UnitId): Entry | undefined {
    const entry = this.#entries.get(unit);
    if (entry === undefined) return undefined;
    this.#entries.delete(unit);
    this.#entries.set(unit, entry);
    return entry;
  }

  // oxlint-disable-next-line typescript/require-await -- the port is asynchronous, this tier is not
  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const found = new Map<UnitId, Entry>();
    for (const unit of units) {
      const entry = this.peek(unit);
      if (entry !== undefined) found.set(unit, entry);
    }
    return found;
  }

  // oxlint-disable-next-line typescript/require-await -- as above
  async putMany(puts: readonly CachePut[]): Promise<void> {
    for (const put of puts) {
      if (!takes(this.#entries.get(put.unit)?.version, put)) continue;
      this.#remove(put.unit);
      this.#entries.set(put.unit, put.entry);
      this.#bytes += cost(put.unit, put.entry);
    }
    for (const unit of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(unit);
    }
  }

  #remove(unit: UnitId): void {
    const entry = this.#entries.get(unit);
    if (entry === undefined) return;
    this.#entries.delete(unit);
    this.#bytes -= cost(unit, entry);
  }
}

function cost(unit: UnitId, entry: Entry): number {
  return ENTRY_OVERHEAD_BYTES + 2 * unit.length + (entry.value?.length ?? 0);
}
