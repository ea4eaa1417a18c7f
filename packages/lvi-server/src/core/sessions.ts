/**
 * Sessions: what one isolate of a location hears of this server, line by line. Lines are numbered, and kept until they are heard,
 * so those that a broken stream has lost follow again. An isolate that is given a read lease holds it in a session.
 *
 * A session is *bound* while it may answer by a lease: it holds one, or has not heard of its end. A bound session lapses at its
 * `untilMs`. Its id is never opened again, so an isolate that stood still finds out that all it holds is over.
 */
import { type NumberedLine, type SessionId, sessionId, type UnitId } from "@radical/protocol";
import type { Fact } from "./events.ts";
import type { ListenerId, ListeningEffect } from "./listeners.ts";

/** Somebody waits until a session has heard of the end of leases, or is past its time. */
export interface Revocation {
  readonly session: SessionId;
  /** The line that ends the leases, and their units. */
  readonly n: number;
  readonly units: readonly UnitId[];
  readonly sinceMs: number;
  /** The session is given no more time before it has heard the line. */
  readonly untilMs: number;
  /** How the wait has ended; null: it has not. */
  fact: Fact | null;
}

/** One unit that a session was leased. */
export interface Holding {
  /** The number of the line that leased it. */
  readonly n: number;
  /** The end of the lease, of which the session has not heard; null: the unit is leased. */
  revocation: Revocation | null;
}

/** A line without its number. */
export type Unnumbered =
  | { readonly kind: "lease"; readonly units: (NumberedLine & { kind: "lease" })["units"] }
  | { readonly kind: "revoke" | "changed"; readonly units: readonly UnitId[] };

export interface SessionBounds {
  /** Most sessions of one location, and of all. */
  readonly sessionsOfLocation: number;
  readonly sessions: number;
  /** Most units in lines that were not heard: a session that falls further behind gets no more leases, and is to end. */
  readonly unheardUnits: number;
  /** How long a session is remembered that is not bound and has no stream. */
  readonly silentMs: number;
  /** A session that has not heard a line for so long gets no more time, though its messages come: its stream does not arrive. */
  readonly deafMs: number;
}

/** The sessions of one location. */
export interface SessionsOfLocation {
  readonly location: string;
  readonly sessions: Set<Session>;
  /** The round trip to it; null: not measured yet. */
  rttMs: number | null;
}

export class Session {
  readonly id: SessionId;
  readonly at: SessionsOfLocation;
  /** The name of its isolate. */
  readonly name: string;
  /** Its stream; null: it has none now. */
  listener: ListenerId | null = null;
  silentSinceMs: number;
  /** The latest time that was promised. */
  untilMs = -Infinity;
  readonly held = new Map<UnitId, Holding>();
  /** Waits that have not ended, in the order of their lines. */
  revocations: Revocation[] = [];
  /** It was slow when it last heard of a revocation. */
  wasSlow = false;
  readonly watched = new Set<UnitId>();
  /** It has heard its first line, which carries its id. */
  hasBegun = false;
  /** It has fallen behind too far: nothing is promised to it any more. */
  isToEnd = false;
  readonly #mostUnheardUnits: number;
  readonly #deafMs: number;
  #n = 0;
  #heard = 0;
  readonly #unheard: NumberedLine[] = [];
  /** When each of them was said. */
  readonly #saidAtMs: number[] = [];
  #unheardUnits = 0;
  /** The line whose hearing tells the round trip; null: none is under way. */
  #timed: { readonly n: number; readonly sentAtMs: number } | null = null;

  constructor(id: SessionId, at: SessionsOfLocation, name: string, bounds: SessionBounds, nowMs: number) {
    this.id = id;
    this.at = at;
    this.name = name;
    this.silentSinceMs = nowMs;
    this.#mostUnheardUnits = bounds.unheardUnits;
    this.#deafMs = bounds.deafMs;
  }

  /** The number of the last line. */
  get n(): number {
    return this.#n;
  }

  /** The number of the last line that was heard. */
  get heard(): number {
    return this.#heard;
  }

  /** Lines that were not heard, in order. */
  get unheard(): readonly NumberedLine[] {
    return this.#unheard;
  }

  /** It may answer by a lease. */
  get isBound(): boolean {
    return this.held.size > 0 || this.revocations.length > 0;
  }

  /** Its time is over: it answers by no lease any more. */
  hasLapsed(nowMs: number): boolean {
    return this.isBound && nowMs >= this.untilMs;
  }

  /** Whether something can be leased to it: a line reaches it now. */
  isListening(): boolean {
    return this.listener !== null && this.hasBegun && !this.isToEnd;
  }

  /** Lines do not reach it. */
  isDeaf(nowMs: number): boolean {
    const [saidAtMs] = this.#saidAtMs;
    return saidAtMs !== undefined && nowMs - saidAtMs >= this.#deafMs;
  }

  /** Numbers the line, and keeps it until it is heard. */
  add(line: Unnumbered, nowMs: number): NumberedLine {
    const numbered: NumberedLine = { ...line, n: ++this.#n };
    this.#unheard.push(numbered);
    this.#saidAtMs.push(nowMs);
    this.#unheardUnits += line.units.length;
    if (this.#unheardUnits > this.#mostUnheardUnits) this.isToEnd = true;
    // A lease is heard of with the next message only, and so is a change.
    if (line.kind === "revoke" && this.listener !== null) this.#timed ??= { n: this.#n, sentAtMs: nowMs };
    return numbered;
  }

  /** The first line of its first stream leaves. No message can name the id before that one has arrived. */
  begins(nowMs: number): void {
    this.#timed = { n: 0, sentAtMs: nowMs };
  }

  /** Returns the waits that have ended. */
  hear(heard: number, nowMs: number): readonly Revocation[] {
    const n = Math.min(heard, this.#n);
    this.hasBegun = true;
    if (this.#timed !== null && n >= this.#timed.n) {
      measure(this.at, nowMs - this.#timed.sentAtMs);
      this.#timed = null;
    }
    if (n <= this.#heard) return [];
    this.#heard = n;
    while (this.#unheard[0] !== undefined && this.#unheard[0].n <= n) {
      this.#unheardUnits -= this.#unheard.shift()?.units.length ?? 0;
      this.#saidAtMs.shift();
    }
    const ended = this.revocations.filter((revocation) => revocation.n <= n);
    if (ended.length === 0) return ended;
    for (const revocation of ended) revocation.fact = { kind: "heard", session: this.id, n: revocation.n };
    this.revocations = this.revocations.filter((revocation) => revocation.n > n);
    return ended;
  }
}

/** Most characters of the units of one line: a location gives a stream up that brings much longer ones. */
const LINE_LENGTH = 256 * 1024;
/** So few units never fill a line. */
const FEW_UNITS = 32;
/** Of a unit in a line, besides its name. A character of the name may take six. */
const ENTRY_LENGTH = 160;

function partsOf(line: Unnumbered): readonly Unnumbered[] {
  if (line.units.length <= FEW_UNITS) return [line];
  const ends: number[] = [];
  let length = 0;
  for (const [index, each] of line.units.entries()) {
    const more = ENTRY_LENGTH + 6 * (typeof each === "string" ? each : each.unit).length;
    if (length + more > LINE_LENGTH) {
      ends.push(index);
      length = 0;
    }
    length += more;
  }
  if (ends.length === 0) return [line];
  return [...ends, line.units.length].map((end, index) => {
    const begin = ends[index - 1] ?? 0;
    if (line.kind === "lease") return { kind: line.kind, units: line.units.slice(begin, end) };
    return { kind: line.kind, units: line.units.slice(begin, end) };
  });
}

/** Half of a second measures a slow answer rather than the way, so a longer one moves it a little only. */
function measure(at: SessionsOfLocation, ms: number): void {
  const sample = Math.max(1, ms);
  at.rttMs = at.rttMs === null || sample < at.rttMs ? sample : at.rttMs + (sample - at.rttMs) / 16;
}

export class Sessions {
  readonly #epoch: number;
  readonly #number: (n: number) => number;
  readonly #bounds: SessionBounds;
  readonly #byId = new Map<SessionId, Session>();
  readonly #byLocation = new Map<string, SessionsOfLocation>();
  readonly #emit: (effect: ListeningEffect) => void;
  readonly #gone: (session: Session) => void;
  #minted = 0;

  /** `number`: that in the id of the n-th session. `gone`: called with each session that is deleted. */
  constructor(
    epoch: number,
    number: (n: number) => number,
    bounds: SessionBounds,
    emit: (effect: ListeningEffect) => void,
    gone: (session: Session) => void,
  ) {
    this.#epoch = epoch;
    this.#number = number;
    this.#bounds = bounds;
    this.#emit = emit;
    this.#gone = gone;
  }

  get size(): number {
    return this.#byId.size;
  }

  get all(): Iterable<Session> {
    return this.#byId.values();
  }

  get(id: SessionId): Session | undefined {
    return this.#byId.get(id);
  }

  /** The sessions of a location; undefined: it has none. */
  at(location: string): SessionsOfLocation | undefined {
    return this.#byLocation.get(location);
  }

  /** A new session; null: there are too many. */
  mint(location: string, name: string, nowMs: number): Session | null {
    const at = this.#byLocation.get(location) ?? { location, sessions: new Set<Session>(), rttMs: null };
    this.#forgetSilent(at, nowMs);
    const { sessionsOfLocation, sessions } = this.#bounds;
    if (at.sessions.size >= sessionsOfLocation || this.#byId.size >= sessions) return null;
    // variant: session-minted
    const session = new Session(sessionId(this.#epoch, this.#number(++this.#minted)), at, name, this.#bounds, nowMs);
    at.sessions.add(session);
    this.#byLocation.set(location, at);
    this.#byId.set(session.id, session);
    return session;
  }

  /** Numbers the line and sends it, if the session has a stream. A long one goes in parts. Returns the last number. */
  say(session: Session, line: Unnumbered, nowMs: number): number {
    for (const part of partsOf(line)) {
      const numbered = session.add(part, nowMs);
      if (session.listener !== null) this.#emit({ kind: "tell", listeners: [session.listener], line: numbered });
    }
    return session.n;
  }

  /** It is not bound, or its isolate has given it up, or its time is over. */
  delete(session: Session): void {
    const { at } = session;
    this.#byId.delete(session.id);
    at.sessions.delete(session);
    if (at.sessions.size === 0) this.#byLocation.delete(at.location);
    this.#gone(session);
  }

  /** Those that nobody waits for and that are silent for long; more of them if the location has too many. */
  #forgetSilent(at: SessionsOfLocation, nowMs: number): void {
    const silent = [...at.sessions].filter((session) => session.listener === null && !session.isBound);
    const { sessionsOfLocation, silentMs } = this.#bounds;
    let surplus = at.sessions.size - sessionsOfLocation + 1;
    for (const session of silent.toSorted((a, b) => a.silentSinceMs - b.silentSinceMs)) {
      if (surplus-- <= 0 && nowMs - session.silentSinceMs < silentMs) break;
      this.delete(session);
    }
  }
}
