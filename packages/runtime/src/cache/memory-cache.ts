/**
 * The first tier: the memory of the isolate, shared by its requests and lost with it. It belongs to one Worker, and so
 * to one application; a new build of that application finds it empty.
 */
import { DEFAULT_MEMORY_BYTES, type Entry, isSpan, type UnitId } from "@radical/protocol";
import { Directories, isScanUnit, scanUnit } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import type { KnownRows } from "../core/span-look.ts";
import { AskedScans } from "./asked-scans.ts";
import { type Cache, takes } from "./cache.ts";

/**
 * The cost of an entry besides its unit and its bytes. Measured in V8, and again by the test of this bound, it is 546 in
 * the heap. That holds the map's slot, the objects and the texts of the version. The header of the buffer comes on top,
 * outside of the heap.
 */
const ENTRY_OVERHEAD_BYTES = 640;
/** The part of the memory that directories may take. */
const DIRECTORIES = 0.25;

export interface MemoryOptions {
  /** After so long everything is forgotten. Default: never. */
  readonly maxAgeMs?: number;
  readonly now?: () => number;
}

export class MemoryCache implements Cache {
  readonly #maxBytes: number;
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  #emptySinceMs: number;
  /** Items, in order of use: the least recently used first. */
  readonly #entries = new Map<UnitId, Entry>();
  #directories: Directories;
  #asked = new AskedScans();
  #bytes = 0;
  readonly directories: KnownRows;

  constructor(maxBytes = DEFAULT_MEMORY_BYTES, { maxAgeMs = Infinity, now = Date.now }: MemoryOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
    this.#emptySinceMs = now();
    this.#directories = new Directories(maxBytes * DIRECTORIES);
    this.directories = {
      walk: (query) => {
        this.#asked.add({ kind: "rows", ...query });
        return this.#directories.walk(query);
      },
      count: (interval) => {
        this.#asked.add({ kind: "count", ...interval });
        return this.#directories.count(interval);
      },
      rowsOf: (interval) => this.#directories.rowsOf(interval),
    };
  }

  /** All that it holds was put after this time. */
  get emptySinceMs(): number {
    return this.#emptySinceMs;
  }

  /**
   * Forgets everything if it is too old, or if the caches were purged since. All at once: an isolate seldom lives for so long, and
   * then fills its memory from the cache behind.
   */
  renew(purgedAtMs: number): void {
    const nowMs = this.#now();
    if (purgedAtMs <= this.#emptySinceMs && nowMs - this.#emptySinceMs < this.#maxAgeMs) return;
    this.#entries.clear();
    this.#bytes = 0;
    this.#directories = new Directories(this.#maxBytes * DIRECTORIES);
    this.#asked = new AskedScans();
    // A clock that is behind that of the purge must not purge again and again.
    this.#emptySinceMs = Math.max(nowMs, purgedAtMs);
  }

  /** The entry of an item. A look is not a use. */
  look(unit: UnitId): Entry | undefined {
    return this.#entries.get(unit);
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

  /** Returns those that were taken: the others are older than what was held. Items change the rows that are known. */
  put(puts: readonly CachePut[]): readonly CachePut[] {
    return this.#take(puts, true);
  }

  /**
   * Takes what a cache behind holds. Its items change no rows. A wrong one would do so again after each repair, and the
   * primary brings only items that are newer than the rows that are known.
   */
  fill(puts: readonly CachePut[]): void {
    this.#take(puts, false);
  }

  #take(puts: readonly CachePut[], patches: boolean): readonly CachePut[] {
    const spans = puts.filter(({ unit }) => isSpan(unit) || isScanUnit(unit));
    this.#directories.learnAll(spans);
    // A directory tells of the past of the items that came with it.
    const items = spans.length === 0 ? puts : puts.filter((put) => !spans.includes(put));
    const taken = items.filter((put) => this.#putItem(put, patches));
    this.#evict();
    return [...spans, ...taken];
  }

  #putItem(put: CachePut, patches: boolean): boolean {
    const { unit } = put;
    const held = this.#entries.get(unit)?.version;
    if (!takes(held, put)) return false;
    this.#remove(unit);
    const entry = owned(put.entry);
    this.#entries.set(unit, entry);
    this.#bytes += cost(unit, entry);
    if (patches) this.#directories.patch(unit, held, entry.version);
    return true;
  }

  #evict(): void {
    for (const unit of this.#entries.keys()) {
      if (this.#bytes + this.#directories.bytes <= this.#maxBytes) break;
      this.#remove(unit);
    }
  }

  /** Whether it knows the unit, or rows around it. Not a use of them. */
  holds(unit: UnitId): boolean {
    if (isSpan(unit)) return this.#directories.knows(unit);
    return this.#entries.has(unit) || this.#directories.covers(unit);
  }

  /** The puts for a cache behind this one: the scans whose rows have changed with these puts, as memory knows them. */
  scansAround(puts: readonly CachePut[]): readonly CachePut[] {
    return this.#asked.around(puts.map(({ unit }) => unit)).flatMap(({ span, most }) => {
      const entry = this.#directories.stored(span, most);
      return entry === null ? [] : [{ unit: scanUnit(span), entry }];
    });
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
