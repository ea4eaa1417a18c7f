/**
 * Read leases: which session holds which unit, and what their end waits for. A lease promises that its unit keeps its version,
 * until the session has heard that it is revoked, or until the session's time is over.
 *
 *   No session is granted a unit that an execution wants exclusively, from when it asks for it until it ends.
 *   Asking revokes: in the same step a line leaves to each session that holds the unit.
 *   An execution that writes the unit waits for each of them: until it has heard that line, or its time is over.
 *
 * Leases are given to a location: all its sessions are told. `lease-policy.ts` says to whom it pays.
 */
import {
  type AccessedUnit,
  type LeasedLocation,
  type LeasedUnit,
  type SenderSession,
  type Served,
  SpanMap,
  isSpan,
  tableOf,
  type UnitId,
  type UnitMap,
  type Version,
  type Write,
} from "@radical/protocol";
import { FadingCount, keepMost, leaseDistance, type LeasePolicy, type UnitReader } from "./lease-policy.ts";
import type { Access } from "./lock-table.ts";
import type { Session, Sessions, SessionsOfLocation, Revocation } from "./sessions.ts";

export interface LeaseBounds {
  /** Most units that are leased to one location, and most pairs of a session and a unit. */
  readonly unitsOfLocation: number;
  readonly holdings: number;
  /** How many of the last leases of its location a new session gets. */
  readonly firstUnits: number;
  /** Units that are counted; twice as many at most. */
  readonly counted: number;
  readonly locations: number;
}

/** The core's knowledge of a unit. */
export interface Ground {
  /** Somebody holds the unit exclusively, or waits for it. */
  readonly isWanted: (unit: UnitId) => boolean;
  /** Null: it is not in memory. */
  readonly versionOf: (unit: UnitId) => Version | null;
  /** Whether storage names the time of read leases, so that a successor waits for them. Asks storage to name it if it does not. */
  readonly areNamed: () => boolean;
}

/** The instant of a step, and the time up to which it may promise something. */
export interface Term {
  readonly nowMs: number;
  readonly untilMs: number;
}

/** Since the server has started. */
export interface LeaseCounts {
  granted: number;
  revoked: number;
  /** Sessions whose time was over while somebody waited for them. */
  lapsed: number;
}

/** Of an execution whose units nobody has leased. */
export const NO_REVOCATIONS: readonly Revocation[] = [];
const NO_UNITS: readonly UnitId[] = [];

/** A set that is a larger part of what a location may be leased gets nothing: it would put out all else, and soon itself. */
const LARGEST_SET = 1 / 2;

/** A location that does not hold the unit counts for less, so that leases do not come and go. */
const NEWCOMER = 0.75;

/**
 * A read of several units saves one round trip. The units share it by how often they are written, since only that costs something.
 * This much everyone gets.
 */
const LEAST_WEIGHT = 1e-4;

/** How often somebody has read and written something. */
interface Counts {
  readonly reads: FadingCount;
  readonly writes: FadingCount;
}

/**
 * A read is answered by leases only if all its units are leased. So a lease is worth the part of its unit's reads for which the
 * others were leased too. The reads of late say how large that part is.
 */
interface TableCounts extends Counts {
  /** Reads of leased units, by the unit's share: those that leases answered, and those that asked the primary for another unit. */
  readonly answered: FadingCount;
  readonly asked: FadingCount;
}

/** A unit that somebody reads. Others are not counted: how often they are written says nothing about leases. */
interface UnitCount extends Counts {
  readonly table: TableCounts;
  /** By location. */
  readonly uses: Map<string, Use>;
}

/** A location's use of a unit. */
interface Use {
  readonly reads: FadingCount;
  /** The part that it had of its last read: see `LEAST_WEIGHT`. */
  share: number;
  /** Its last lease was revoked, and nobody has decided on the next one. */
  wasLeased: boolean;
  lookAgainAtMs: number;
}

/** Those that may have a unit leased. */
interface Holders {
  readonly places: Set<Place>;
  /** With those that have not heard of its revocation. */
  readonly sessions: Set<Session>;
}

/** A location that reads. */
interface Place {
  readonly location: string;
  /** In the order in which they were granted. */
  readonly leased: Map<UnitId, Version>;
  /** Goes round the leases: see `review`. */
  review: MapIterator<UnitId>;
  reviewedAtMs: number;
  refusedUntilMs: number;
  backoffMs: number;
  readonly waits: Waits;
}

/** The waits for a location so far. */
interface Waits {
  revocations: number;
  waitedMs: number;
  longestWaitMs: number;
  lapsed: number;
}

export class ReadLeases {
  readonly #bounds: LeaseBounds;
  readonly #sessions: Sessions;
  readonly #ground: Ground;
  readonly #policy: LeasePolicy;
  readonly #holders: UnitMap<Holders> = new SpanMap();
  /** Units that were revoked, and that nobody has decided on since. */
  #revoked: UnitMap<true> = new SpanMap();
  #holdings = 0;
  readonly #places = new Map<string, Place>();
  #counts: UnitMap<UnitCount> = new SpanMap();
  #olderCounts: UnitMap<UnitCount> = new SpanMap();
  readonly #tables = new Map<string, TableCounts>();
  #isEnding = false;
  readonly counts: LeaseCounts = { granted: 0, revoked: 0, lapsed: 0 };

  constructor(bounds: LeaseBounds, sessions: Sessions, ground: Ground, policy: LeasePolicy) {
    this.#bounds = bounds;
    this.#sessions = sessions;
    this.#ground = ground;
    this.#policy = policy;
  }

  /** How many pairs there are of a session and a unit that it may answer for. */
  get size(): number {
    return this.#holdings;
  }

  /** Nothing is leased, and nobody has to hear of a revocation. */
  get isEmpty(): boolean {
    return this.#holders.size === 0;
  }

  // ── Grants ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * An execution of the location that only reads has these units in their current versions, in this step. If all of them are
   * worth a lease, its sessions get those that they lack.
   */
  validated(location: string, units: readonly AccessedUnit[], sender: SenderSession | null, term: Term): void {
    const at = this.#sessions.at(location);
    if (at === undefined || this.#isEnding || units.length === 0 || term.untilMs <= term.nowMs) return;
    if (units.length > this.#bounds.unitsOfLocation * LARGEST_SET) return;
    const place = this.#placeOf(location);
    const weighed = units.map(({ unit }) => {
      const count = this.#countOf(unit);
      return { unit, count, weight: LEAST_WEIGHT + this.#writesPerRead(count, term.nowMs) };
    });
    const all = weighed.reduce((sum, { weight }) => sum + weight, 0);
    const missing = units.map(({ unit }) => unit).filter((unit) => !place.leased.has(unit));
    for (const { unit, count, weight } of weighed) {
      const use = useOf(count, place);
      use.share = weight / all;
      this.#countReads(count, use, 1, term.nowMs);
      if (missing.length > 0 && place.leased.has(unit)) this.#countLease(count.table, 0, use.share, term.nowMs);
    }
    if (term.nowMs < place.refusedUntilMs) return;
    if (missing.length > 0) {
      for (const unit of missing) {
        // variant: grant-wanted
        if (this.#ground.isWanted(unit)) return;
        if (!this.#pays(at, place, unit, term.nowMs)) return;
      }
      // variant: leases-named
      if (!this.#ground.areNamed()) return;
      return this.#grant(at, place, missing, term);
    }
    // The sender has dropped its own, or has come later.
    const session = sender === null ? undefined : this.#sessions.get(sender.id);
    if (session?.at !== at) return;
    const lacking = units.filter(({ unit }) => !session.held.has(unit)).map(({ unit }) => unit);
    if (lacking.length > 0) this.#tell(session, leasedOf(place, lacking), term);
  }

  /** These writes are applied, and their execution has ended. Units that were leased before are leased again, if it pays still. */
  applied(writes: readonly Write[], term: Term): void {
    if (this.#places.size === 0) return;
    const revoked = this.#revoked.size === 0 ? NO_UNITS : changedIn([this.#revoked], writes);
    this.#countWrites(changedIn([this.#counts, this.#olderCounts], writes), revoked.length, term.nowMs);
    if (this.#isEnding || revoked.length === 0 || term.untilMs <= term.nowMs) return;
    const free = revoked.filter((unit) => !this.#ground.isWanted(unit));
    for (const unit of free) this.#revoked.delete(unit);
    for (const place of this.#places.values()) {
      const again = free.filter((unit) => this.#usedAt(place, unit)?.wasLeased === true);
      const at = again.length === 0 ? undefined : this.#sessions.at(place.location);
      if (at === undefined || term.nowMs < place.refusedUntilMs) continue;
      const paying = again.filter((unit) => this.#pays(at, place, unit, term.nowMs));
      if (paying.length > 0) this.#grant(at, place, paying, term);
    }
  }

  /** A session has begun: it gets the last leases of its location. */
  begun(session: Session, term: Term): void {
    const place = this.#places.get(session.at.location);
    if (place === undefined || this.#isEnding || term.nowMs < place.refusedUntilMs || term.untilMs <= term.nowMs)
      return;
    const last = [...place.leased.keys()].slice(-this.#bounds.firstUnits);
    if (last.length > 0) this.#tell(session, leasedOf(place, last), term);
  }

  /** The session was answered by its leases so often, since it has said so before. */
  served(session: Session, served: readonly Served[], nowMs: number): void {
    const place = this.#places.get(session.at.location);
    if (place === undefined) return;
    for (const { unit, reads } of served) {
      const count = this.#counted(unit);
      const use = count?.uses.get(place.location);
      if (count === undefined || use === undefined) continue;
      this.#countReads(count, use, reads, nowMs);
      this.#countLease(count.table, reads * use.share, 0, nowMs);
    }
  }

  #grant(at: SessionsOfLocation, place: Place, units: readonly UnitId[], term: Term): void {
    const granted: LeasedUnit[] = [];
    for (const unit of units) {
      const version = this.#ground.versionOf(unit);
      if (version === null) continue;
      granted.push({ unit, version });
      place.leased.set(unit, version);
      this.#holdersOf(unit).places.add(place);
      const use = this.#usedAt(place, unit);
      if (use !== undefined) use.wasLeased = false;
    }
    for (const session of at.sessions) {
      const lacking = granted.filter(({ unit }) => !session.held.has(unit));
      if (lacking.length > 0) this.#tell(session, lacking, term);
    }
    this.#makeRoom(at, place, term.nowMs);
  }

  /** A lease goes only to a session that hears now. */
  #tell(session: Session, units: readonly LeasedUnit[], { nowMs, untilMs }: Term): void {
    if (!session.isListening() || session.hasLapsed(nowMs)) return;
    if (this.#holdings + units.length > this.#bounds.holdings) return;
    // A session that has not heard of a revocation gets no more time: a writer waits for the time that it has.
    // variant: lease-renewed-unheard
    if (session.revocations.length === 0) session.untilMs = Math.max(session.untilMs, untilMs);
    const n = this.#sessions.say(session, { kind: "lease", units }, nowMs);
    for (const { unit } of units) {
      session.held.set(unit, { n, revocation: null });
      this.#holdersOf(unit).sessions.add(session);
    }
    this.#holdings += units.length;
    this.counts.granted += units.length;
  }

  /** Leases beyond the bound end, the oldest first: a part of them at a time. */
  #makeRoom(at: SessionsOfLocation, place: Place, nowMs: number): void {
    const surplus = place.leased.size - this.#bounds.unitsOfLocation;
    if (surplus <= 0) return;
    const oldest = [...place.leased.keys()].slice(0, surplus + Math.ceil(this.#bounds.unitsOfLocation / 16));
    this.#takeBack(at, place, oldest, nowMs);
  }

  /**
   * Leases of the session's location that pay no more are taken back, before somebody waits for them: some of them at a time. Where half
   * of them go, the next ones are looked at with the next message.
   */
  review(session: Session, nowMs: number): void {
    const { at } = session;
    const place = this.#places.get(at.location);
    if (place === undefined || nowMs - place.reviewedAtMs < this.#policy.reviewMs) return;
    const paysNoMore: UnitId[] = [];
    const count = Math.min(this.#policy.reviewed, place.leased.size);
    for (let looked = 0; looked < count; looked++) {
      let next = place.review.next();
      if (next.done === true) next = (place.review = place.leased.keys()).next();
      if (next.done === true) break;
      if (!this.#pays(at, place, next.value, nowMs)) paysNoMore.push(next.value);
    }
    if (paysNoMore.length < count / 2) place.reviewedAtMs = nowMs;
    this.#takeBack(at, place, paysNoMore, nowMs);
  }

  #takeBack(at: SessionsOfLocation, place: Place, units: readonly UnitId[], nowMs: number): void {
    for (const unit of units) this.#endAt(place, unit);
    for (const session of at.sessions) {
      const held = units.filter((unit) => session.held.get(unit)?.revocation === null);
      if (held.length > 0) this.#revokeFrom(session, held, nowMs);
    }
  }

  // ── Revocation ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A request of the location came with these units. Before its isolate sent it, that has dropped its leases on what it writes, and on
   * spans around it. So nobody waits for this session, whatever becomes of the request, and the session may be leased them again. A
   * lease that was on its way was not dropped.
   */
  dropped(location: string, units: readonly AccessedUnit[], { id, heard }: SenderSession): void {
    const session = this.#sessions.get(id);
    if (session === undefined || session.at.location !== location || session.held.size === 0) return;
    for (const { unit: written, mode } of units) {
      if (mode === "read") continue;
      for (const [unit] of this.#holders.overlapping(written)) {
        const holding = session.held.get(unit);
        // variant: grant-on-its-way
        if (holding !== undefined && holding.n > heard) continue;
        // variant: holders-waited-for
        this.#drop(session, unit);
      }
    }
  }

  /**
   * Somebody wants these units exclusively from now on. Their leases end. The answer is what an execution waits for before it is told or
   * applied.
   */
  revoke(accesses: readonly Access[], nowMs: number): readonly Revocation[] {
    if (this.#holders.size === 0) return NO_REVOCATIONS;
    let revocations: Set<Revocation> | null = null;
    let revoked: Map<Session, UnitId[]> | null = null;
    for (const { unit: wanted, mode } of accesses) {
      // variant: exclusive-revokes
      if (mode !== "exclusive") continue;
      // variant: span-revoked
      for (const [unit, holders] of this.#holders.overlapping(wanted)) {
        for (const place of holders.places) this.#revokeAt(place, unit);
        for (const session of holders.sessions) {
          const holding = session.held.get(unit);
          if (holding === undefined) continue;
          if (session.hasLapsed(nowMs)) this.lapse(session, nowMs);
          else if (holding.revocation !== null) (revocations ??= new Set()).add(holding.revocation);
          else {
            revoked ??= new Map();
            const units = revoked.get(session);
            if (units === undefined) revoked.set(session, [unit]);
            else units.push(unit);
          }
        }
      }
    }
    for (const [session, units] of revoked ?? [])
      (revocations ??= new Set()).add(this.#revokeFrom(session, units, nowMs));
    return revocations === null ? NO_REVOCATIONS : [...revocations];
  }

  /** No session of the location gets the unit any more, before its writer has ended. */
  #revokeAt(place: Place, unit: UnitId): void {
    this.#endAt(place, unit);
    const use = this.#usedAt(place, unit);
    if (use !== undefined) use.wasLeased = true;
    if (this.#revoked.size >= this.#bounds.counted) this.#revoked = new SpanMap();
    this.#revoked.set(unit, true);
  }

  #endAt(place: Place, unit: UnitId): void {
    place.leased.delete(unit);
    const holders = this.#holders.get(unit);
    holders?.places.delete(place);
    if (holders !== undefined) this.#tidy(unit, holders);
  }

  #revokeFrom(session: Session, units: readonly UnitId[], nowMs: number): Revocation {
    const n = this.#sessions.say(session, { kind: "revoke", units }, nowMs);
    const revocation: Revocation = {
      session: session.id,
      n,
      units,
      sinceMs: nowMs,
      untilMs: session.untilMs,
      fact: null,
    };
    session.revocations.push(revocation);
    for (const unit of units) {
      const holding = session.held.get(unit);
      if (holding !== undefined) holding.revocation = revocation;
    }
    this.counts.revoked += units.length;
    return revocation;
  }

  /** The server is about to stop: all leases end, and none is granted any more. */
  end(nowMs: number): void {
    this.#isEnding = true;
    for (const session of this.#sessions.all) {
      const held = [...session.held].filter(([, { revocation }]) => revocation === null).map(([unit]) => unit);
      if (held.length > 0) this.#revokeFrom(session, held, nowMs);
    }
    for (const place of this.#places.values()) for (const unit of place.leased.keys()) this.#endAt(place, unit);
  }

  /** The session has heard of these revocations. */
  heard(session: Session, ended: readonly Revocation[], nowMs: number): void {
    const [first] = ended;
    if (first === undefined) return;
    this.#waited(session, ended, nowMs);
    const isSlow = nowMs - first.sinceMs > this.#policy.slowMs;
    if (isSlow && session.wasSlow) this.#backOff(this.#placeOf(session.at.location), nowMs);
    session.wasSlow = isSlow;
    for (const revocation of ended)
      for (const unit of revocation.units)
        if (session.held.get(unit)?.revocation === revocation) this.#drop(session, unit);
  }

  /** Its time is over. */
  lapse(session: Session, nowMs: number): void {
    if (session.revocations.length > 0) {
      this.#waited(session, session.revocations, nowMs);
      const place = this.#placeOf(session.at.location);
      this.counts.lapsed++;
      place.waits.lapsed++;
      this.#backOff(place, nowMs);
    }
    for (const revocation of session.revocations) revocation.fact = { kind: "passed", atMs: revocation.untilMs };
    session.revocations = [];
    // variant: lapsed-forgotten
    this.#sessions.delete(session);
  }

  /** Its isolate has dropped all that it held, and has another session. */
  giveUp(session: Session): void {
    for (const revocation of session.revocations)
      revocation.fact = { kind: "heard", session: session.id, n: revocation.n };
    session.revocations = [];
    this.#sessions.delete(session);
  }

  /** The session is over. */
  forget(session: Session): void {
    for (const unit of session.held.keys()) this.#drop(session, unit);
  }

  #drop(session: Session, unit: UnitId): void {
    if (!session.held.delete(unit)) return;
    this.#holdings--;
    const holders = this.#holders.get(unit);
    holders?.sessions.delete(session);
    if (holders !== undefined) this.#tidy(unit, holders);
  }

  #holdersOf(unit: UnitId): Holders {
    let holders = this.#holders.get(unit);
    if (holders === undefined) this.#holders.set(unit, (holders = { places: new Set(), sessions: new Set() }));
    return holders;
  }

  #tidy(unit: UnitId, { places, sessions }: Holders): void {
    if (places.size + sessions.size === 0) this.#holders.delete(unit);
  }

  #waited({ at }: Session, ended: readonly Revocation[], nowMs: number): void {
    const { waits } = this.#placeOf(at.location);
    for (const { sinceMs } of ended) {
      const waitedMs = nowMs - sinceMs;
      waits.revocations++;
      waits.waitedMs += waitedMs;
      waits.longestWaitMs = Math.max(waits.longestWaitMs, waitedMs);
    }
  }

  #backOff(place: Place, nowMs: number): void {
    const { backoffMs, mostBackoffMs } = this.#policy;
    if (nowMs < place.refusedUntilMs) return;
    // It has done well for long.
    if (nowMs > place.refusedUntilMs + mostBackoffMs) place.backoffMs = backoffMs;
    place.refusedUntilMs = nowMs + place.backoffMs;
    place.backoffMs = Math.min(2 * place.backoffMs, mostBackoffMs);
  }

  /** The locations that hold the unit. */
  leasedTo(unit: UnitId): readonly string[] {
    return [...(this.#holders.get(unit)?.places ?? [])].map(({ location }) => location);
  }

  /** For people, by location. */
  locations(nowMs: number): readonly LeasedLocation[] {
    return Array.from(this.#places.values(), ({ location, leased, refusedUntilMs, waits }) => {
      const at = this.#sessions.at(location);
      return {
        location,
        sessions: at?.sessions.size ?? 0,
        units: leased.size,
        roundTripMs: at?.rttMs ?? null,
        ...waits,
        refusedForMs: Math.max(0, refusedUntilMs - nowMs),
      };
    });
  }

  /** A rule that the leases break; null: none. */
  faultOf(): string | null {
    let holdings = 0;
    for (const [unit, { places, sessions }] of this.#holders) {
      const isWanted = this.#ground.isWanted(unit);
      if (places.size + sessions.size === 0) return `${unit} is held by nobody`;
      if (isWanted && places.size > 0) return `${unit} is leased, and somebody wants it exclusively`;
      for (const session of sessions) {
        const holding = session.held.get(unit);
        if (holding === undefined) return `session ${session.id} is said to hold ${unit}`;
        if (isWanted && holding.revocation === null) return `session ${session.id} holds ${unit}, which somebody wants`;
        if (this.#sessions.get(session.id) !== session) return `session ${session.id} holds ${unit}, and is over`;
        holdings++;
      }
    }
    return holdings === this.#holdings ? null : `${holdings} units are held, and ${this.#holdings} counted`;
  }

  #countReads(count: UnitCount, use: Use, reads: number, nowMs: number): void {
    use.reads.add(reads * use.share, nowMs);
    count.reads.add(reads, nowMs);
    count.table.reads.add(reads, nowMs);
    this.#keepMost(count, nowMs);
  }

  #countLease({ answered, asked }: TableCounts, byLeases: number, byThePrimary: number, nowMs: number): void {
    answered.add(byLeases, nowMs);
    asked.add(byThePrimary, nowMs);
    keepMost(this.#policy.leaseEvents, nowMs, [answered, asked]);
  }

  #keepMost({ reads, writes, table, uses }: UnitCount, nowMs: number): void {
    const { unitEvents, tableEvents } = this.#policy;
    keepMost(unitEvents, nowMs, [reads, writes], () => Array.from(uses.values(), (use) => use.reads));
    keepMost(tableEvents, nowMs, [table.reads, table.writes]);
  }

  /**
   * An execution waits once for all units that it writes, so they share the cost. Units that were leased have all of it. Others
   * have the part that they would have if all were leased.
   */
  #countWrites(units: readonly UnitId[], revoked: number, nowMs: number): void {
    for (const unit of units) {
      const count = this.#countOf(unit);
      const part = 1 / (this.#revoked.get(unit) === undefined ? units.length : revoked);
      count.writes.add(part, nowMs);
      count.table.writes.add(part, nowMs);
      this.#keepMost(count, nowMs);
    }
  }

  // ── Policy ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the location is near enough to be worth a lease of the unit. */
  #pays(at: SessionsOfLocation, place: Place, unit: UnitId, nowMs: number): boolean {
    const count = this.#countOf(unit);
    const use = useOf(count, place);
    if (at.rttMs === null || nowMs < use.lookAgainAtMs) return false;
    const { writes, table, uses } = count;
    const worth = this.#answeredPart(table, nowMs);
    const readers: UnitReader[] = [];
    for (const [location, { reads, wasLeased }] of uses) {
      const other = this.#places.get(location);
      const rttMs = this.#sessions.at(location)?.rttMs ?? null;
      if (other === undefined || rttMs === null || nowMs < other.refusedUntilMs) continue;
      const isHolder = other.leased.has(unit) || wasLeased;
      readers.push({ rttMs, reads: reads.at(nowMs) * worth * (isHolder ? 1 : NEWCOMER) });
    }
    const doesPay = at.rttMs <= leaseDistance(readers, writes.at(nowMs) + this.#prior(table, nowMs));
    if (!doesPay) {
      use.lookAgainAtMs = nowMs + this.#policy.lookAgainMs;
      use.wasLeased = false;
    }
    return doesPay;
  }

  /** The writes that a unit of the table has over `priorReads`. */
  #prior({ reads, writes }: Counts, nowMs: number): number {
    return (this.#policy.priorReads * writes.at(nowMs)) / Math.max(1, reads.at(nowMs));
  }

  /** The part of a leased unit's reads that leases answer. One read counts for yes, so that a table can show it again. */
  #answeredPart({ answered, asked }: TableCounts, nowMs: number): number {
    const known = answered.at(nowMs) + 1;
    return known / (known + asked.at(nowMs));
  }

  #writesPerRead({ reads, writes, table }: UnitCount, nowMs: number): number {
    return (writes.at(nowMs) + this.#prior(table, nowMs)) / (reads.at(nowMs) + this.#policy.priorReads);
  }

  #placeOf(location: string): Place {
    let place = this.#places.get(location);
    if (place !== undefined) return place;
    for (const other of this.#places.values())
      if (this.#places.size >= this.#bounds.locations && this.#sessions.at(other.location) === undefined) {
        for (const unit of other.leased.keys()) this.#endAt(other, unit);
        this.#places.delete(other.location);
      }
    place = {
      location,
      leased: new Map(),
      review: new Map<UnitId, Version>().keys(),
      reviewedAtMs: -Infinity,
      refusedUntilMs: -Infinity,
      backoffMs: this.#policy.backoffMs,
      waits: { revocations: 0, waitedMs: 0, longestWaitMs: 0, lapsed: 0 },
    };
    this.#places.set(location, place);
    return place;
  }

  /** Undefined: nobody reads it, or not for long. */
  #counted(unit: UnitId): UnitCount | undefined {
    return this.#counts.get(unit) ?? this.#olderCounts.get(unit);
  }

  #usedAt(place: Place, unit: UnitId): Use | undefined {
    return this.#counted(unit)?.uses.get(place.location);
  }

  #countOf(unit: UnitId): UnitCount {
    let count = this.#counts.get(unit);
    if (count !== undefined) return count;
    count = this.#olderCounts.get(unit) ?? {
      table: this.#tableOf(unit),
      reads: new FadingCount(),
      writes: new FadingCount(),
      uses: new Map<string, Use>(),
    };
    if (this.#counts.size >= this.#bounds.counted)
      [this.#olderCounts, this.#counts] = [this.#counts, new SpanMap<UnitCount>()];
    this.#counts.set(unit, count);
    return count;
  }

  #tableOf(unit: UnitId): TableCounts {
    // An item that is new changes spans, and no item that was read before. So the two are counted apart.
    const name = isSpan(unit) ? `${tableOf(unit)}:` : tableOf(unit);
    let table = this.#tables.get(name);
    if (table !== undefined) return table;
    if (this.#tables.size >= this.#bounds.counted) this.#tables.clear();
    table = {
      reads: new FadingCount(),
      writes: new FadingCount(),
      answered: new FadingCount(),
      asked: new FadingCount(),
    };
    this.#tables.set(name, table);
    return table;
  }
}

/** The units of these maps that the writes change: the items themselves, and the spans around them. */
function changedIn(maps: readonly UnitMap<unknown>[], writes: readonly Write[]): readonly UnitId[] {
  const changed = new Set<UnitId>();
  for (const map of maps) for (const { unit } of writes) for (const [each] of map.overlapping(unit)) changed.add(each);
  return [...changed];
}

function useOf({ uses }: UnitCount, { location }: Place): Use {
  let use = uses.get(location);
  if (use !== undefined) return use;
  use = { reads: new FadingCount(), share: 1, wasLeased: false, lookAgainAtMs: -Infinity };
  uses.set(location, use);
  return use;
}

function leasedOf({ leased }: Place, units: readonly UnitId[]): readonly LeasedUnit[] {
  return units.flatMap((unit) => {
    const version = leased.get(unit);
    return version === undefined ? [] : [{ unit, version }];
  });
}
