/**
 * Reads and writes of five locations in virtual time, by the real listeners and their policy. They show savings and costs of leases on
 * any machine. A request's time is its round trip, its waits for writers, and the waits of writers for holders.
 * Nothing else takes time, and every validation succeeds.
 */
import { Random } from "@radical/history";
import {
  type AccessedUnit,
  commitId,
  contentHash,
  type Line,
  type SenderSession,
  type Served,
  type SessionId,
  SpanMap,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { Listeners } from "../core/listeners.ts";
import type { Revocation } from "../core/sessions.ts";

const LEASE_MS = 3_000;
/** Between two messages that renew the leases of a location. */
const BEAT_MS = 1_000;
/** A handler's run, which hides as much of the round trip. */
const RUN_MS = 5;
/** Round trips of the paper's locations. */
const ROUND_TRIPS = [7, 74, 70, 93, 146];
const VERSION = { commitId: commitId(1, 1), hash: contentHash(new Uint8Array()) };

/** One kind of request: how often it comes beside the others, and what it reads or writes. */
export interface Request {
  readonly share: number;
  readonly kind: "read" | "write";
  readonly units: (random: Random, location: number) => readonly UnitId[];
}

export interface Habits {
  /** Each location sends so many a second, at times that do not depend on each other. */
  readonly perSecond: number;
  readonly seconds: number;
  readonly requests: readonly Request[];
}

export interface Measured {
  /** Means of all requests, of reads and of writes; milliseconds. */
  readonly allMs: number;
  readonly readMs: number;
  readonly writeMs: number;
  /** The part of the reads that leases answered. */
  readonly leased: number;
}

interface Location {
  readonly name: string;
  readonly number: number;
  readonly rttMs: number;
  session: SessionId | null;
  heard: number;
  readonly leases: SpanMap<true>;
  /** By unit, the reads that leases have answered since its last message. */
  served: Map<UnitId, number>;
}

interface Writer {
  readonly units: readonly UnitId[];
  readonly location: Location;
  readonly revocations: readonly Revocation[];
  readonly arrivedMs: number;
}

export class LeaseMixes {
  readonly #random: Random;
  readonly #isOn: boolean;
  readonly #listeners: Listeners;
  readonly #locations: readonly Location[];
  /** Future events, in order. */
  readonly #agenda: { readonly atMs: number; readonly act: () => void }[] = [];
  #nowMs = 0;
  /** Requests that wait for units that somebody writes, in the order in which they came. */
  #waiting: { readonly units: readonly UnitId[]; readonly begin: () => void }[] = [];
  readonly #wanted = new SpanMap<true>();
  readonly #writers = new Set<Writer>();
  #measured: { readonly kind: Request["kind"]; readonly ms: number; readonly isLeased: boolean }[] = [];

  constructor(seed: number, isOn: boolean) {
    this.#random = new Random(seed);
    this.#isOn = isOn;
    this.#listeners = new Listeners({
      epoch: 1,
      ground: { isWanted: (unit) => this.#wanted.hasOverlapping(unit), versionOf: () => VERSION, areNamed: () => true },
      emit: (effect) => {
        if (effect.kind === "tell") for (const listener of effect.listeners) this.#tell(listener, effect.line);
      },
    });
    this.#locations = ROUND_TRIPS.map((rttMs, number) => ({
      name: `at ${number}`,
      number,
      rttMs,
      session: null,
      heard: 0,
      leases: new SpanMap(),
      served: new Map(),
    }));
    for (const location of this.#locations) this.#listen(location);
    this.#runUntil(2 * BEAT_MS);
  }

  /** Requests in this proportion for so long. */
  run({ perSecond, seconds, requests }: Habits): Measured {
    this.#measured = [];
    const endMs = this.#nowMs + 1_000 * seconds;
    for (const location of this.#locations) this.#arrivals(location, perSecond, requests, endMs);
    this.#runUntil(endMs);
    const mean = (of: readonly { readonly ms: number }[]): number =>
      of.length === 0 ? 0 : of.reduce((sum, { ms }) => sum + ms, 0) / of.length;
    const reads = this.#measured.filter(({ kind }) => kind === "read");
    const writes = this.#measured.filter(({ kind }) => kind === "write");
    return {
      allMs: mean(this.#measured),
      readMs: mean(reads),
      writeMs: mean(writes),
      leased: reads.filter(({ isLeased }) => isLeased).length / Math.max(1, reads.length),
    };
  }

  #arrivals(location: Location, perSecond: number, requests: readonly Request[], endMs: number): void {
    const all = requests.reduce((sum, { share }) => sum + share, 0);
    const next = (): void => {
      const gapMs = (-Math.log(1 - this.#random.unit()) * 1_000) / perSecond;
      if (this.#nowMs + gapMs > endMs) return;
      this.#at(this.#nowMs + gapMs, () => {
        let at = this.#random.unit() * all;
        const { kind, units } = requests.find(({ share }) => (at -= share) < 0) ?? requests[0]!;
        const wanted = units(this.#random, location.number);
        if (kind === "read") this.#read(location, wanted);
        else this.#write(location, wanted);
        next();
      });
    };
    next();
  }

  // ── A location ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #read(location: Location, units: readonly UnitId[]): void {
    const beganMs = this.#nowMs;
    if (units.every((unit) => location.leases.get(unit) === true)) {
      for (const unit of units) location.served.set(unit, (location.served.get(unit) ?? 0) + 1);
      this.#measured.push({ kind: "read", ms: RUN_MS, isLeased: true });
      return;
    }
    const sender = senderOf(location);
    this.#atServer(location, units, () => {
      const accessed = units.map((unit): AccessedUnit => ({ unit, mode: "read", version: VERSION }));
      this.#listeners.leases.validated(location.name, accessed, sender, this.#term);
      this.#at(this.#nowMs + location.rttMs / 2, () =>
        this.#measured.push({ kind: "read", ms: Math.max(RUN_MS, this.#nowMs - beganMs), isLeased: false }),
      );
    });
  }

  #write(location: Location, units: readonly UnitId[]): void {
    const beganMs = this.#nowMs;
    const sender = senderOf(location);
    this.#drop(location, units);
    this.#atServer(location, units, () => {
      for (const unit of units) this.#wanted.set(unit, true);
      const accessed = units.map((unit): AccessedUnit => ({ unit, mode: "write" }));
      if (sender !== null) this.#listeners.leases.dropped(location.name, accessed, sender);
      const revocations = this.#listeners.leases.revoke(
        units.map((unit) => ({ unit, mode: "exclusive" as const })),
        this.#nowMs,
      );
      const writer: Writer = { units, location, revocations, arrivedMs: beganMs };
      this.#writers.add(writer);
      this.#lookAtWriters();
    });
  }

  /** Its leases of these units are over. */
  #drop(location: Location, units: readonly UnitId[]): void {
    for (const unit of units) for (const [leased] of location.leases.overlapping(unit)) location.leases.delete(leased);
  }

  #listen(location: Location): void {
    this.#listeners.step(
      {
        kind: "listens",
        listener: location.number,
        location: location.name,
        name: "isolate",
        session: null,
        heard: 0,
        ends: null,
      },
      this.#term,
    );
    const beat = (): void => {
      this.#hear(location);
      this.#at(this.#nowMs + BEAT_MS, beat);
    };
    this.#at(this.#nowMs + location.rttMs, beat);
  }

  #tell(listener: number, line: Line): void {
    const location = this.#locations[listener]!;
    this.#at(this.#nowMs + location.rttMs / 2, () => {
      if (line.kind === "session") location.session = line.session;
      if (!("n" in line)) return;
      location.heard = line.n;
      if (line.kind === "lease") for (const { unit } of line.units) location.leases.set(unit, true);
      if (line.kind === "revoke") this.#drop(location, line.units);
      if (line.kind !== "lease") this.#hear(location);
    });
  }

  /** The location says what it has heard. */
  #hear(location: Location): void {
    const { session, heard } = location;
    if (session === null) return;
    const served = Array.from(location.served, ([unit, reads]): Served => ({ unit, reads }));
    location.served.clear();
    this.#at(this.#nowMs + location.rttMs / 2, () => {
      this.#listeners.step({ kind: "heard", caller: 0, session, n: heard, served }, this.#term);
      this.#lookAtWriters();
    });
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  get #term(): { readonly nowMs: number; readonly untilMs: number } {
    return { nowMs: this.#nowMs, untilMs: this.#isOn ? this.#nowMs + LEASE_MS : this.#nowMs };
  }

  /** The request arrives, and has its locks as soon as nobody who came before writes its units. */
  #atServer(location: Location, units: readonly UnitId[], begin: () => void): void {
    this.#at(this.#nowMs + location.rttMs / 2, () => {
      if (units.some((unit) => this.#wanted.hasOverlapping(unit))) this.#waiting.push({ units, begin });
      else begin();
    });
  }

  /** Writers whose waits are over are answered. Their followup comes a round trip later, with the values. */
  #lookAtWriters(): void {
    for (const writer of this.#writers) {
      if (writer.revocations.some(({ fact }) => fact === null)) continue;
      this.#writers.delete(writer);
      const { location, units, arrivedMs } = writer;
      this.#at(this.#nowMs + location.rttMs / 2, () =>
        this.#measured.push({ kind: "write", ms: Math.max(RUN_MS, this.#nowMs - arrivedMs), isLeased: false }),
      );
      this.#at(this.#nowMs + location.rttMs, () => {
        for (const unit of units) this.#wanted.delete(unit);
        this.#listeners.leases.applied(
          units.map((unit) => ({ unit, value: new Uint8Array(), commitId: VERSION.commitId })),
          this.#term,
        );
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const one of waiting)
          if (one.units.some((unit) => this.#wanted.hasOverlapping(unit))) this.#waiting.push(one);
          else one.begin();
      });
    }
  }

  #at(atMs: number, act: () => void): void {
    const place = this.#agenda.findLastIndex((event) => event.atMs <= atMs) + 1;
    this.#agenda.splice(place, 0, { atMs, act });
  }

  #runUntil(endMs: number): void {
    for (let next = this.#agenda[0]; next !== undefined && next.atMs <= endMs; next = this.#agenda[0]) {
      this.#agenda.shift();
      this.#nowMs = next.atMs;
      next.act();
    }
    this.#nowMs = endMs;
  }
}

function senderOf({ session, heard }: Location): SenderSession | null {
  return session === null ? null : { id: session, heard, watches: false };
}

/** Different items of a table, by Zipf's law. */
export function drawn(table: string, count: number, of: number): Request["units"] {
  return (random) => {
    const units = new Set<UnitId>();
    while (units.size < count) units.add(unitId(table, `key-${random.zipf(of)}`));
    return [...units];
  };
}
