/**
 * The first tier: the memory of the isolate, shared by its requests and lost with it. It belongs to one Worker, and so
 * to one application; a new build of that application finds it empty.
 */
import { DEFAULT_MEMORY_BYTES, type Entry, type UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { type Cache, takes } from "./cache.ts";

/**
 * The cost of an entry besides its unit and its bytes. Measured in V8, and again by the test of this bound, it is 546 in
 * the heap. That holds the map's slot, the objects and the texts of the version. The header of the buffer comes on top,
 * outside of the heap.
 */
const ENTRY_OVERHEAD_BYTES = 640;

export class MemoryCache implements Cache {
  readonly #maxBytes: number;
  /** In order of use: the least recently used first. */
  readonly #entries = new Map<UnitId, Entry>();
  #bytes = 0;

  constructor(maxBytes = DEFAULT_MEMORY_BYTES) {
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
    this.put(puts);
  }

  /** Returns those that were taken: the others are older than what was held. */
  put(puts: readonly CachePut[]): readonly CachePut[] {
    const taken = puts.filter((put) => {
      if (!takes(this.#entries.get(put.unit)?.version, put)) return false;
      this.#remove(put.unit);
      const entry = owned(put.entry);
      this.#entries.set(put.unit, entry);
      this.#bytes += cost(put.unit, entry);
      return true;
    });
    for (const unit of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(unit);
    }
    return taken;
  }

  /** Not a use of the entry. */
  holds(unit: UnitId): boolean {
    return this.#entries.has(unit);
  }

  #remove(unit: UnitId): void {
    const entry = this.#entries.get(unit);
    if (entry === undefined) return;
    this.#entries.delete(unit);
    this.#bytes -= cost(unit, entry);
  }
}

/** With bytes of its own: a part of a message would keep the whole message in memory. */
function owned(entry: Entry): Entry {
  const { version, value } = entry;
  return value === null || value.byteLength === value.buffer.byteLength ? entry : { version, value: value.slice() };
}

function cost(unit: UnitId, entry: Entry): number {
  return ENTRY_OVERHEAD_BYTES + 2 * unit.length + (entry.value?.length ?? 0);
}
