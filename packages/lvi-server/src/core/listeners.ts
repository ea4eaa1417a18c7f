/**
 * The registry of listeners, by unit. A location listens to the units that it has read lately, as a client of a distributed file system
 * asks for callbacks. A *hint* is bounded, in memory, and of no consequence: a location that misses one fails a validation and is
 * repaired. So a location may listen at a server without leadership. That server sends hints again when it leads again.
 */
import {
  type AccessedUnit,
  type CommitId,
  entryOf,
  ItemMap,
  type Line,
  type Repair,
  type UnitId,
  type UnitMap,
  type Write,
} from "@radical/protocol";
import { type HintBounds, hintsOf } from "./hints.ts";

/** Names one answer that goes on. */
export type ListenerId = number;

export type ListeningEvent =
  /** An isolate of a location listens from now on, in place of the listener that had its name. */
  | { readonly kind: "listens"; readonly listener: ListenerId; readonly location: string; readonly name: string }
  /** The answer has ended. */
  | { readonly kind: "stopped-listening"; readonly listener: ListenerId };

export type ListeningEffect =
  /** Write the line to each of them. A listener that does not read fast enough loses it. */
  | { readonly kind: "tell"; readonly listeners: readonly ListenerId[]; readonly line: Line }
  /** So many units were too large, or too many, to tell a location of them. */
  | { readonly kind: "hints-left-out"; readonly units: number }
  /** The answer ends. `refused`: too many listen, and it has not begun. */
  | { readonly kind: "end-listening"; readonly listener: ListenerId; readonly isRefused: boolean };

export interface ListenerBounds extends HintBounds {
  /** Most listeners, at one location and at all. */
  readonly listenersOfLocation: number;
  readonly listeners: number;
  /** The units of a location that are remembered: at least so many of the last that it has read, at most twice as many. */
  readonly units: number;
  /** Most locations without a listener whose units are remembered. They read before they listen, and between two times. */
  readonly silent: number;
  /** The changes of a unit that a location hears of until it reads the unit again. A unit that nobody uses is not sent forever. */
  readonly credit: number;
}

const DEFAULT_BOUNDS: ListenerBounds = {
  listenersOfLocation: 64,
  listeners: 2_048,
  units: 8_192,
  silent: 64,
  credit: 16,
  valueBytes: 16 * 1024,
  lineBytes: 256 * 1024,
  lines: 3,
};

/** A location that reads. */
interface Reader {
  readonly location: string;
  /** By the names of its isolates. */
  readonly listeners: Map<string, ListenerId>;
  /** Credit by unit, in two generations: when one is full, the older one goes. */
  recent: UnitMap<number>;
  older: UnitMap<number>;
}

interface Place {
  readonly reader: Reader;
  readonly name: string;
}

export class Listeners {
  readonly #bounds: ListenerBounds;
  /** By location; those without a listener in the order in which that began. */
  readonly #readers = new Map<string, Reader>();
  readonly #places = new Map<ListenerId, Place>();

  constructor(bounds: ListenerBounds = DEFAULT_BOUNDS) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#places.size;
  }

  step(event: ListeningEvent): readonly ListeningEffect[] {
    switch (event.kind) {
      case "listens":
        return this.#listens(event.listener, event.location, event.name);
      case "stopped-listening":
        this.#stopped(event.listener);
        return [];
    }
  }

  #listens(listener: ListenerId, location: string, name: string): readonly ListeningEffect[] {
    const { listenersOfLocation, listeners } = this.#bounds;
    const reader = this.#readers.get(location) ?? newReader(location);
    const before = reader.listeners.get(name);
    const isFull = reader.listeners.size >= listenersOfLocation || this.#places.size >= listeners;
    if (before === undefined && isFull) return [{ kind: "end-listening", listener, isRefused: true }];
    this.#readers.set(location, reader);
    reader.listeners.set(name, listener);
    this.#places.set(listener, { reader, name });
    if (before === undefined) return [];
    this.#places.delete(before);
    return [{ kind: "end-listening", listener: before, isRefused: false }];
  }

  #stopped(listener: ListenerId): void {
    const place = this.#places.get(listener);
    if (place === undefined) return;
    const { reader, name } = place;
    this.#places.delete(listener);
    reader.listeners.delete(name);
    if (reader.listeners.size > 0) return;
    // The last one that became silent.
    this.#readers.delete(reader.location);
    this.#readers.set(reader.location, reader);
    this.#forgetSilent();
  }

  #forgetSilent(): void {
    const silent = [...this.#readers.values()].filter(({ listeners }) => listeners.size === 0);
    for (const { location } of silent.slice(0, Math.max(0, silent.length - this.#bounds.silent)))
      this.#readers.delete(location);
  }

  /** The server is about to stop: all answers end. */
  end(): readonly ListeningEffect[] {
    const all = [...this.#places.keys()];
    this.#places.clear();
    for (const { listeners } of this.#readers.values()) listeners.clear();
    return all.map((listener) => ({ kind: "end-listening", listener, isRefused: false }));
  }

  /** The location has asked for an execution on these units. It has them then, by its cache or by the reply. */
  read(location: string, units: readonly AccessedUnit[]): void {
    const reader = this.#readerAt(location);
    for (const { unit, mode } of units) if (mode !== "write") reader.recent.set(unit, this.#bounds.credit);
    this.#age(reader);
  }

  /** A reply brings these to the location, of which its execution near storage has read some that it did not ask for. */
  repaired(location: string, repairs: readonly Repair[]): void {
    const reader = this.#readerAt(location);
    for (const { unit } of repairs) reader.recent.set(unit, this.#bounds.credit);
    this.#age(reader);
  }

  #readerAt(location: string): Reader {
    const known = this.#readers.get(location);
    if (known !== undefined) return known;
    const reader = newReader(location);
    this.#readers.set(location, reader);
    this.#forgetSilent();
    return reader;
  }

  #age(reader: Reader): void {
    if (reader.recent.size < this.#bounds.units) return;
    reader.older = reader.recent;
    reader.recent = new ItemMap();
  }

  /** The writes are durable, and may be read by everybody. `blindOf`: those of them that the execution has not read. */
  applied(
    commitId: CommitId,
    writes: readonly Write[],
    blindOf: () => ReadonlySet<UnitId>,
  ): readonly ListeningEffect[] {
    if (this.#places.size === 0 || writes.length === 0) return NOTHING;
    const effects: ListeningEffect[] = [];
    const blind = blindOf();
    const entries = new Map<UnitId, Repair>();
    const entryFor = ({ unit, value }: Write): Repair => {
      let entry = entries.get(unit);
      if (entry === undefined) entries.set(unit, (entry = { unit, entry: entryOf(commitId, value) }));
      return entry;
    };
    /** By the units of the line: locations that have read the same get the same line. */
    const lines = new Map<string, { readonly listeners: ListenerId[]; readonly line: Line }>();
    for (const reader of this.#readers.values()) {
      if (reader.listeners.size === 0) continue;
      const hints = hintsOf(writes, blind, (unit) => isKnown(reader, unit), this.#bounds);
      if (hints.leftOut > 0) effects.push({ kind: "hints-left-out", units: hints.leftOut });
      for (const written of hints.lines) {
        for (const { unit } of written) spend(reader, unit);
        const name = written.map(({ unit }) => `${unit.length}:${unit}`).join();
        let told = lines.get(name);
        if (told === undefined) {
          told = { listeners: [], line: { kind: "hint", entries: written.map(entryFor) } };
          lines.set(name, told);
          effects.push({ kind: "tell", ...told });
        }
        told.listeners.push(...reader.listeners.values());
      }
    }
    return effects;
  }
}

const NOTHING: readonly ListeningEffect[] = [];

function newReader(location: string): Reader {
  return { location, listeners: new Map(), recent: new ItemMap(), older: new ItemMap() };
}

function isKnown({ recent, older }: Reader, unit: UnitId): boolean {
  return recent.hasOverlapping(unit) || older.hasOverlapping(unit);
}

/** Takes one change from the credit of the units that it changes. */
function spend({ recent, older }: Reader, changed: UnitId): void {
  const generation = recent.hasOverlapping(changed) ? recent : older;
  for (const [unit, credit] of generation.overlapping(changed)) {
    if (credit > 1) generation.set(unit, credit - 1);
    else generation.delete(unit);
  }
}
