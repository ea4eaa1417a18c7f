/**
 * Who is told of what was applied: each location that has read the unit lately, as the callbacks of a distributed file
 * system. That is bounded, in memory, and of no consequence: who is told nothing fails a validation and is repaired.
 */
import {
  type AccessedUnit,
  type CommitId,
  type Entry,
  entryOf,
  type Repair,
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
  /** Most locations at which nobody listens whose units are remembered: they read before they listen, and between two times. */
  readonly silent: number;
  /** How many changes of a unit a location is told after it has read it: what it does not use is not sent for ever. */
  readonly credit: number;
  /** Of one value, and of the values of one line; lines for one execution. */
  readonly valueBytes: number;
  readonly lineBytes: number;
  readonly lines: number;
}

const DEFAULT_BOUNDS: UpdatesBounds = {
  listenersOfLocation: 64,
  listeners: 2_048,
  units: 8_192,
  silent: 64,
  credit: 16,
  valueBytes: 16 * 1024,
  lineBytes: 256 * 1024,
  lines: 3,
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
  /** By location; those at which nobody listens in the order in which that began. */
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
    const reader = this.#readers.get(location) ?? newReader();
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
      if (reader.listeners.size > 0) return;
      this.#readers.delete(location);
      this.#readers.set(location, reader);
      this.#forgetSilent();
    };
  }

  #forgetSilent(): void {
    const silent = [...this.#readers].filter(([, { listeners }]) => listeners.size === 0);
    for (const [location] of silent.slice(0, Math.max(0, silent.length - this.#bounds.silent)))
      this.#readers.delete(location);
  }

  /** The location has asked for an execution on these units: it has them then, by its cache or by the reply. */
  read(location: string, units: readonly AccessedUnit[]): void {
    this.#remember(location, units, ({ mode }) => mode !== "write");
  }

  /** The reply to the location brings these, as what its execution read near storage without having been asked for. */
  repaired(location: string, repairs: readonly Repair[]): void {
    this.#remember(location, repairs, () => true);
  }

  #remember<T extends { readonly unit: UnitId }>(location: string, units: readonly T[], has: (of: T) => boolean): void {
    let reader = this.#readers.get(location);
    if (reader === undefined) {
      this.#readers.set(location, (reader = newReader()));
      this.#forgetSilent();
    }
    for (const one of units) if (has(one)) reader.recent.set(one.unit, this.#bounds.credit);
    if (reader.recent.size < this.#bounds.units) return;
    reader.older = reader.recent;
    reader.recent = new Map();
  }

  /**
   * The writes are durable, and may be read by everybody. `blind`: those of them that were not read before, as what is new: they
   * go to the locations that read something else of what was written, because that is how they will come to know of them.
   */
  applied(commitId: CommitId, writes: readonly Write[], blind: ReadonlySet<UnitId>): void {
    if (this.#listeners === 0) return;
    const updates = new Map<UnitId, UpdateLine[number]>();
    const updateFor = ({ unit, value }: Write): UpdateLine[number] => {
      let update = updates.get(unit);
      if (update === undefined) updates.set(unit, (update = updateOf(unit, entryOf(commitId, value))));
      return update;
    };
    for (const reader of this.#readers.values()) {
      if (reader.listeners.size === 0) continue;
      const known = writes.filter(({ unit }) => reader.recent.has(unit) || reader.older.has(unit));
      if (known.length === 0) continue;
      const unknown = writes.filter((write) => blind.has(write.unit) && !known.includes(write));
      const { lines, leftOut } = this.#lines([...unknown, ...known]);
      if (leftOut > 0) this.#onTold(false, leftOut);
      for (const line of lines) {
        for (const { unit } of line) spend(reader, unit);
        const text = `${JSON.stringify(line.map(updateFor) satisfies UpdateLine)}\n`;
        for (const { tell } of reader.listeners.values()) this.#onTold(tell(text), line.length);
      }
    }
  }

  #lines(writes: readonly Write[]): { readonly lines: readonly (readonly Write[])[]; readonly leftOut: number } {
    const { valueBytes, lineBytes, lines: mostLines } = this.#bounds;
    const lines: Write[][] = [];
    let [bytes, leftOut] = [Infinity, 0];
    for (const write of writes) {
      const size = write.value?.length ?? 0;
      const isFull = bytes + size > lineBytes;
      if (size > valueBytes || (isFull && lines.length === mostLines)) {
        leftOut++;
        continue;
      }
      if (isFull) [bytes, lines[lines.length]] = [0, []];
      bytes += size;
      lines.at(-1)!.push(write);
    }
    return { lines, leftOut };
  }

  close(): void {
    for (const { listeners } of this.#readers.values()) for (const { end } of listeners.values()) end();
  }
}

function newReader(): Reader {
  return { listeners: new Map(), recent: new Map(), older: new Map() };
}

/** One of the changes of the unit that the location is told. */
function spend({ recent, older }: Reader, unit: UnitId): void {
  const generation = recent.has(unit) ? recent : older;
  const credit = generation.get(unit);
  if (credit === undefined) return;
  if (credit > 1) generation.set(unit, credit - 1);
  else generation.delete(unit);
}

function updateOf(unit: UnitId, { version, value }: Entry): UpdateLine[number] {
  const text = value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  return [unit, version.commitId, version.hash, text];
}
