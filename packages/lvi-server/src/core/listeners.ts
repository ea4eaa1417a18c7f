/**
 * The registry of listeners, by unit, in three strengths.
 *
 * A *hint*: a location listens to the units that it has read lately, as a client of a distributed file system asks for callbacks. It
 * is bounded, in memory, and of no consequence: a location that misses one fails a validation and is repaired. So a location may
 * listen at a server without leadership. That server sends hints again when it leads again.
 *
 * A *watch*: a session hears of the next change of a unit, in a numbered line that nobody waits for. That line spends the watch.
 *
 * A *read lease*: `read-leases.ts`. Writers wait for its holders.
 */
import {
  type AccessedUnit,
  type CommitId,
  type Entry,
  entryOf,
  type HeardReply,
  type Line,
  type Repair,
  type SenderSession,
  type Served,
  type SessionId,
  SpanMap,
  type UnitId,
  type UnitMap,
  type Write,
} from "@radical/protocol";
import { countIn } from "./captured-spans.ts";
import type { CallerId, Fact } from "./events.ts";
import { type HintBounds, hintsOf } from "./hints.ts";
import { DEFAULT_LEASE_POLICY, type LeasePolicy } from "./lease-policy.ts";
import { type Ground, type LeaseBounds, ReadLeases, type Term } from "./read-leases.ts";
import { veiled } from "./ruled-tables.ts";
import { type Session, type SessionBounds, Sessions } from "./sessions.ts";

/** Names one answer that goes on. */
export type ListenerId = number;

export type ListeningEvent =
  /** An isolate of a location listens from now on, in place of the listener that had its name. */
  | {
      readonly kind: "listens";
      readonly listener: ListenerId;
      readonly location: string;
      readonly name: string;
      /** The session to go on with; null: a new one; undefined: none. */
      readonly session: SessionId | null | undefined;
      readonly heard: number;
      readonly ends: SessionId | null;
    }
  /** The answer has ended. */
  | { readonly kind: "stopped-listening"; readonly listener: ListenerId }
  /** A session has processed its lines up to this one, and asks for more time. */
  | {
      readonly kind: "heard";
      readonly caller: CallerId;
      readonly session: SessionId;
      readonly n: number;
      readonly served: readonly Served[];
    };

export type ListeningEffect =
  /** Write the line to each of them. A listener that does not read fast enough loses it. */
  | {
      readonly kind: "tell";
      readonly listeners: readonly ListenerId[];
      readonly line: Line;
      /** Of a line that leases; left out: it has waited for nothing. */
      readonly after?: readonly Fact[];
    }
  /** So many units were too large, or too many, to tell a location of them. */
  | { readonly kind: "hints-left-out"; readonly units: number }
  /** The answer ends. `refused`: too many listen, and it has not begun. */
  | { readonly kind: "end-listening"; readonly listener: ListenerId; readonly isRefused: boolean }
  | { readonly kind: "heard-reply"; readonly caller: CallerId; readonly reply: HeardReply }
  /** The message counts for nothing: only a server that leads can take it. */
  | { readonly kind: "not-leading"; readonly caller: CallerId }
  /** Nothing names the session from now on but effects that have waited for it. */
  | { readonly kind: "session-over"; readonly session: SessionId };

export interface ListenerBounds extends HintBounds, SessionBounds, LeaseBounds {
  /** Most listeners, at one location and at all. */
  readonly listenersOfLocation: number;
  readonly listeners: number;
  /** The units of a location that are remembered: at least so many of the last that it has read, at most twice as many. */
  readonly units: number;
  /** Most locations without a listener whose units are remembered. They read before they listen, and between two times. */
  readonly silent: number;
  /** The changes of a unit that a location hears of until it reads the unit again. A unit that nobody uses is not sent forever. */
  readonly credit: number;
  /** Most units that one session watches: the first ones are told as changed. */
  readonly watched: number;
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
  watched: 16_384,
  sessionsOfLocation: 64,
  sessions: 2_048,
  unheardUnits: 20_000,
  silentMs: 60_000,
  deafMs: 3_000,
  unitsOfLocation: 8_192,
  holdings: 500_000,
  firstUnits: 1_000,
  counted: 16_384,
  locations: 64,
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
  session: Session | null;
}

export interface ListenersOptions {
  readonly epoch: number;
  readonly ground: Ground;
  readonly emit: (effect: ListeningEffect) => void;
  /** Null: memory lacks rows of the span. Left out: no hint brings spans. */
  readonly entryOfSpan?: (span: UnitId) => Entry | null;
  readonly policy?: LeasePolicy;
  readonly bounds?: ListenerBounds;
  /** Whether nothing of the unit is told to a location. Left out: of no unit. */
  readonly isPrivate?: (unit: UnitId) => boolean;
  /** As in the options of the core. */
  readonly sessionNumber?: (n: number) => number;
}

export class Listeners {
  readonly #bounds: ListenerBounds;
  /** By location; those without a listener in the order in which that began. */
  readonly #readers = new Map<string, Reader>();
  readonly #places = new Map<ListenerId, Place>();
  readonly #emit: (effect: ListeningEffect) => void;
  readonly #entryOf: (unit: UnitId) => Entry | null;
  readonly #isPrivate: (unit: UnitId) => boolean;
  readonly #sessions: Sessions;
  readonly #watchers: UnitMap<Set<Session>> = new SpanMap();
  readonly leases: ReadLeases;
  #isEnding = false;

  constructor({
    epoch,
    ground,
    emit,
    entryOfSpan,
    policy,
    bounds = DEFAULT_BOUNDS,
    isPrivate,
    sessionNumber = (n) => n,
  }: ListenersOptions) {
    this.#bounds = bounds;
    this.#entryOf = entryOfSpan ?? (() => null);
    this.#isPrivate = isPrivate ?? (() => false);
    this.#emit = emit;
    this.#sessions = new Sessions(epoch, sessionNumber, bounds, emit, (session) => this.#gone(session));
    this.leases = new ReadLeases(bounds, this.#sessions, ground, policy ?? DEFAULT_LEASE_POLICY);
  }

  get size(): number {
    return this.#places.size;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Undefined: it is over, or never was. */
  session(id: SessionId): Session | undefined {
    return this.#sessions.get(id);
  }

  /** No session may answer by a lease. */
  get isClear(): boolean {
    for (const session of this.#sessions.all) if (session.isBound) return false;
    return true;
  }

  step(event: ListeningEvent, term: Term): void {
    switch (event.kind) {
      case "listens":
        if (!this.#listens(event.listener, event.location, event.name)) return;
        return this.#open(event, term.nowMs);
      case "stopped-listening":
        return this.#stopped(event.listener, term.nowMs);
      case "heard":
        return this.#heard(event, term);
    }
  }

  /** False: too many listen. */
  #listens(listener: ListenerId, location: string, name: string): boolean {
    const { listenersOfLocation, listeners } = this.#bounds;
    const reader = this.#readers.get(location) ?? newReader(location);
    const before = reader.listeners.get(name);
    const isFull = reader.listeners.size >= listenersOfLocation || this.#places.size >= listeners;
    if (before === undefined && isFull) {
      this.#emit({ kind: "end-listening", listener, isRefused: true });
      return false;
    }
    const session = before === undefined ? null : (this.#places.get(before)?.session ?? null);
    if (session !== null) session.listener = null;
    this.#readers.set(location, reader);
    reader.listeners.set(name, listener);
    this.#places.set(listener, { reader, name, session: null });
    if (before === undefined) return true;
    this.#places.delete(before);
    this.#emit({ kind: "end-listening", listener: before, isRefused: false });
    return true;
  }

  #stopped(listener: ListenerId, nowMs: number): void {
    const place = this.#places.get(listener);
    if (place === undefined) return;
    const { reader, name, session } = place;
    if (session !== null) [session.listener, session.silentSinceMs] = [null, nowMs];
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

  /** The server ends the answer. */
  #close(listener: ListenerId, nowMs: number): void {
    if (!this.#places.has(listener)) return;
    this.#stopped(listener, nowMs);
    this.#emit({ kind: "end-listening", listener, isRefused: false });
  }

  /**
   * The server is about to stop: leases end, and so do all answers but those that sessions still hear of that by. Returns the
   * times up to which sessions may answer by a lease.
   */
  end(nowMs: number): readonly number[] {
    this.#isEnding = true;
    this.leases.end(nowMs);
    for (const [listener, { session }] of this.#places) if (session?.isBound !== true) this.#close(listener, nowMs);
    return Array.from(this.#sessions.all).flatMap(({ isBound, untilMs }) => (isBound ? [untilMs] : []));
  }

  // ── Sessions ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The answer to a question with a session begins. */
  #open(
    { listener, location, name, session: id, heard, ends }: ListeningEvent & { kind: "listens" },
    nowMs: number,
  ): void {
    for (const session of this.#sessions.at(location)?.sessions ?? [])
      if (session.hasLapsed(nowMs)) this.leases.lapse(session, nowMs);
    const isItsOwn = (session: Session | undefined): session is Session =>
      session !== undefined && session.at.location === location && session.name === name;
    const over = ends === null ? undefined : this.#sessions.get(ends);
    if (isItsOwn(over)) this.leases.giveUp(over);
    else if (ends !== null && over === undefined) this.#emit({ kind: "session-over", session: ends });
    if (id === undefined) return;
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && known === undefined) this.#emit({ kind: "session-over", session: id });
    let session: Session | null = isItsOwn(known) ? known : null;
    if (session !== null) this.#hear(session, heard, nowMs);
    // variant: session-known
    if (session === null || (session.isToEnd && !session.isBound)) {
      if (session !== null) this.#sessions.delete(session);
      session = this.#sessions.mint(location, name, nowMs);
      session?.begins(nowMs);
    }
    const place = this.#places.get(listener);
    // Too many sessions: the location gets hints.
    if (session === null || place === undefined) return;
    session.listener = listener;
    place.session = session;
    const tell = (line: Line): void => this.#emit({ kind: "tell", listeners: [listener], line });
    tell({ kind: "session", session: session.id, n: session.heard });
    for (const line of session.unheard) tell(line);
  }

  #heard({ caller, session: id, n, served }: ListeningEvent & { kind: "heard" }, term: Term): void {
    const { nowMs } = term;
    const reply = (answer: HeardReply): void => this.#emit({ kind: "heard-reply", caller, reply: answer });
    const session = this.#sessions.get(id);
    // variant: lapsed-renewed
    if (session?.hasLapsed(nowMs) === true) {
      this.leases.lapse(session, nowMs);
      return reply({ kind: "lapsed" });
    }
    if (session === undefined) {
      this.#emit({ kind: "session-over", session: id });
      return reply({ kind: "lapsed" });
    }
    const { hasBegun } = session;
    this.leases.served(session, served, nowMs);
    this.#hear(session, n, nowMs);
    this.leases.review(session, nowMs);
    // It misses changes of units that it reads: its isolate is to ask for another one, and to read anew.
    const isToEnd = session.isToEnd || session.isDeaf(nowMs);
    if (isToEnd && !session.isBound) {
      this.#sessions.delete(session);
      return reply({ kind: "lapsed" });
    }
    // A session that has not heard of a revocation gets no more time: its writer would wait without end.
    // variant: renewed-unheard
    if (session.revocations.length === 0 && !isToEnd && !this.#isEnding)
      session.untilMs = Math.max(session.untilMs, term.untilMs);
    reply({ kind: "renewed", untilMs: Math.max(session.untilMs, nowMs), nowMs });
    if (!hasBegun) this.leases.begun(session, term);
  }

  #hear(session: Session, n: number, nowMs: number): void {
    this.leases.heard(session, session.hear(n, nowMs), nowMs);
    if (this.#isEnding && !session.isBound && session.listener !== null) this.#close(session.listener, nowMs);
  }

  /** Sessions whose time is over lapse. */
  lapse(nowMs: number): void {
    for (const session of this.#sessions.all) if (session.hasLapsed(nowMs)) this.leases.lapse(session, nowMs);
  }

  #gone(session: Session): void {
    this.leases.forget(session);
    for (const unit of session.watched) this.#unwatch(session, unit);
    const { listener, id } = session;
    // The location finds out that the session is over as soon as it asks again.
    if (listener !== null) this.#close(listener, session.silentSinceMs);
    this.#emit({ kind: "session-over", session: id });
  }

  // ── Watches ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The sender reads these units in this step. Its session hears of the next change of each. */
  watch(sender: SenderSession, units: Iterable<UnitId>, nowMs: number): void {
    const session = this.#sessions.get(sender.id);
    if (session === undefined || session.isToEnd) return;
    for (const unit of units) {
      session.watched.add(unit);
      const watchers = this.#watchers.get(unit);
      if (watchers === undefined) this.#watchers.set(unit, new Set([session]));
      else watchers.add(session);
    }
    const surplus = session.watched.size - this.#bounds.watched;
    if (surplus > 0) this.#changed(session, [...session.watched].slice(0, surplus), nowMs);
  }

  #changed(session: Session, units: readonly UnitId[], nowMs: number): void {
    for (const unit of units) this.#unwatch(session, unit);
    // A query whose units its location does not know runs again at each line.
    const told = new Set(units.map((unit) => (this.#isPrivate(unit) ? veiled(unit) : unit)));
    this.#sessions.say(session, { kind: "changed", units: [...told] }, nowMs);
    // It does not hear: what it has missed it finds out when it must ask for another session.
    if (session.isToEnd && !session.isBound) this.#sessions.delete(session);
  }

  #unwatch(session: Session, unit: UnitId): void {
    session.watched.delete(unit);
    const watchers = this.#watchers.get(unit);
    watchers?.delete(session);
    if (watchers?.size === 0) this.#watchers.delete(unit);
  }

  #tellWatchers(writes: readonly Write[], nowMs: number): void {
    const changed = new Map<Session, UnitId[]>();
    for (const { unit: written } of writes) {
      // variant: watched-overlap
      for (const [unit, watchers] of this.#watchers.overlapping(written)) {
        for (const session of watchers) {
          const units = changed.get(session);
          if (units === undefined) changed.set(session, [unit]);
          else units.push(unit);
        }
      }
    }
    for (const [session, units] of changed) this.#changed(session, units, nowMs);
  }

  // ── Hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    reader.recent = new SpanMap();
  }

  /** The writes are durable, and may be read by everybody. `blindOf`: those of them that the execution has not read. */
  applied(commitId: CommitId, writes: readonly Write[], blindOf: () => ReadonlySet<UnitId>, term: Term): void {
    if (writes.length === 0) return;
    const shared = writes.filter(({ unit }) => !this.#isPrivate(unit));
    if (this.#places.size > 0) this.#hint(commitId, shared, blindOf);
    if (this.#watchers.size > 0) this.#tellWatchers(writes, term.nowMs);
    this.leases.applied(shared, term);
  }

  #numberOf(unit: UnitId): readonly Repair[] {
    const entry = this.#entryOf(unit);
    return entry === null ? [] : [{ unit, entry }];
  }

  #hint(commitId: CommitId, writes: readonly Write[], blindOf: () => ReadonlySet<UnitId>): void {
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
      if (hints.leftOut > 0) this.#emit({ kind: "hints-left-out", units: hints.leftOut });
      // A put does not say whether it changes a number of rows.
      let numbers = hints.lines.length === 0 ? [] : countsAround(reader, writes);
      for (const written of hints.lines) {
        for (const { unit } of written) spend(reader, unit);
        const name = [...written.map(({ unit }) => unit), ...numbers].map((unit) => `${unit.length}:${unit}`).join();
        let told = lines.get(name);
        if (told === undefined) {
          const repairs = [...written.map(entryFor), ...numbers.flatMap((unit) => this.#numberOf(unit))];
          told = { listeners: [], line: { kind: "hint", entries: repairs } };
          lines.set(name, told);
        }
        told.listeners.push(...reader.listeners.values());
        numbers = [];
      }
    }
    // Now the lists of listeners are whole.
    for (const told of lines.values()) this.#emit({ kind: "tell", ...told });
  }
}

/** The spans of kind `count` that the location knows, and in which rows have changed. */
function countsAround({ recent, older }: Reader, writes: readonly Write[]): readonly UnitId[] {
  const counts = new Set<UnitId>();
  for (const generation of [recent, older])
    for (const { unit } of writes)
      for (const [known] of generation.overlapping(unit)) if (countIn(known) !== null) counts.add(known);
  return [...counts];
}

function newReader(location: string): Reader {
  return { location, listeners: new Map(), recent: new SpanMap(), older: new SpanMap() };
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
