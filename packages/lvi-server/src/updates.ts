/**
 * Who is told of what was applied: each location that has read the unit lately, as the callbacks of a distributed file
 * system. That is bounded, in memory, and of no consequence: who is told nothing fails a validation and is repaired.
 */
import {
  type AccessedUnit,
  type CommitId,
  type Entry,
  entryOf,
  type UnitId,
  type UpdateLine,
  type Write,
} from "@radical/protocol";

export interface UpdatesBounds {
  /** Most that listen, at one location and at all. */
  readonly listenersOfLocation: number;
  readonly listeners: number;
  /** Units of a location that are remembered: at least so many of the last that it has read, at most twice as many. */
  readonly units: number;
  /** How many changes of a unit a location is told after it has read it: what it does not use is not sent for ever. */
  readonly credit: number;
  /** Of one value, and of one line. */
  readonly valueBytes: number;
  readonly lineBytes: number;
}

const DEFAULT_BOUNDS: UpdatesBounds = {
  listenersOfLocation: 64,
  listeners: 2_048,
  units: 8_192,
  credit: 4,
  valueBytes: 16 * 1024,
  lineBytes: 256 * 1024,
};

export interface Listener {
  /** False: it does not read fast enough, and this line is lost to it. */
  readonly tell: (line: string) => boolean;
  readonly end: () => void;
}

interface Reader {
  readonly listeners: Map<string, Listener>;
  /** Credit by unit, in two generations: when one is full, the older one goes. */
  recent: Map<UnitId, number>;
  older: Map<UnitId, number>;
}

export class Updates {
  readonly #bounds: UpdatesBounds;
  readonly #onTold: (isSent: boolean, units: number) => void;
  /** By location; only of those at which somebody listens. */
  readonly #readers = new Map<string, Reader>();
  #listeners = 0;

  constructor(onTold: (isSent: boolean, units: number) => void, bounds: UpdatesBounds = DEFAULT_BOUNDS) {
    this.#onTold = onTold;
    this.#bounds = bounds;
  }

  get listeners(): number {
    return this.#listeners;
  }

  /** In place of who listened by that name. Returns how to stop, or null if too many listen. */
  listen(location: string, name: string, listener: Listener): (() => void) | null {
    const { listenersOfLocation, listeners } = this.#bounds;
    const reader: Reader = this.#readers.get(location) ?? { listeners: new Map(), recent: new Map(), older: new Map() };
    const before = reader.listeners.get(name);
    if (before === undefined && (reader.listeners.size >= listenersOfLocation || this.#listeners >= listeners))
      return null;
    reader.listeners.set(name, listener);
    this.#readers.set(location, reader);
    if (before === undefined) this.#listeners++;
    else before.end();
    return () => {
      if (reader.listeners.get(name) !== listener) return;
      reader.listeners.delete(name);
      this.#listeners--;
      if (reader.listeners.size === 0) this.#readers.delete(location);
    };
  }

  /** The location has asked for an execution on these units: it has them then, by its cache or by the reply. */
  read(location: string, units: readonly AccessedUnit[]): void {
    const reader = this.#readers.get(location);
    if (reader === undefined) return;
    for (const { unit, mode } of units) if (mode !== "write") reader.recent.set(unit, this.#bounds.credit);
    if (reader.recent.size < this.#bounds.units) return;
    reader.older = reader.recent;
    reader.recent = new Map();
  }

  /** The writes are durable, and may be read by everybody. */
  applied(commitId: CommitId, writes: readonly Write[]): void {
    if (this.#readers.size === 0) return;
    const entries = new Map<UnitId, UpdateLine[number]>();
    for (const reader of this.#readers.values()) {
      const line: UpdateLine[number][] = [];
      let [bytes, leftOut] = [0, 0];
      for (const { unit, value } of writes) {
        const generation = reader.recent.has(unit) ? reader.recent : reader.older;
        const credit = generation.get(unit);
        if (credit === undefined) continue;
        const size = value?.length ?? 0;
        if (size > this.#bounds.valueBytes || bytes + size > this.#bounds.lineBytes) {
          leftOut++;
          continue;
        }
        bytes += size;
        if (credit > 1) generation.set(unit, credit - 1);
        else generation.delete(unit);
        let update = entries.get(unit);
        if (update === undefined) entries.set(unit, (update = updateOf(unit, entryOf(commitId, value))));
        line.push(update);
      }
      if (leftOut > 0) this.#onTold(false, leftOut);
      if (line.length === 0) continue;
      const text = `${JSON.stringify(line satisfies UpdateLine)}\n`;
      for (const { tell } of reader.listeners.values()) this.#onTold(tell(text), line.length);
    }
  }

  close(): void {
    for (const { listeners } of this.#readers.values()) for (const { end } of listeners.values()) end();
  }
}

function updateOf(unit: UnitId, { version, value }: Entry): UpdateLine[number] {
  const text = value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  return [unit, version.commitId, version.hash, text];
}
