/**
 * The lock table: units held shared or exclusively by executions (paper, section 3.6).
 *
 * Departure from the paper, which takes one lock after the other in sorted order: an owner gets all its units at once. It
 * waits for each holder in its way, and for each waiter in its way with a smaller ticket. A waiter holds nothing, so no
 * circle of waiting owners can form, whichever units overlap. The ticket is the caller's; a waiter that comes again with
 * its old ticket keeps its place.
 *
 * The table remembers one owner in the way of each waiter, the nearest: as long as that one waits or holds, so does the
 * waiter. When it has gone, its waiters look for the next. So a release costs as much as the waiters that it lets go on.
 *
 * An owner may also take units *behind* others that hold them. It holds them as well, and its user makes those act first. An observer asks for no unit, and is told when one is released. Nothing here is durable: the intents are.
 */
import { assert, SpanMap, type UnitId, type UnitMap } from "@radical/protocol";

export type LockMode = "shared" | "exclusive";

/** Two accesses *conflict* if their units overlap and one of them is exclusive. */
export interface Access {
  readonly unit: UnitId;
  readonly mode: LockMode;
}

/** The order of those that wait: smaller ones first. Each owner has a ticket of its own. */
export type Ticket = number;

function compareTickets(a: Ticket, b: Ticket): number {
  return a - b;
}

export interface Released<Owner> {
  /** Owners that now hold everything they waited for, in the order of their tickets. */
  readonly granted: readonly Owner[];
  /** Owners that waited for the release of a unit. */
  readonly notified: readonly Owner[];
}

interface Lock<Owner> {
  /** First those whom later ones are behind. */
  readonly holders: Map<Owner, LockMode>;
  /** How many of them hold it exclusively: more than one only behind each other. */
  exclusive: number;
  /** Null: nobody waits for it. */
  queue: Queue<Owner> | null;
  /** Owners that hear when it is released; null: none. */
  observers: Set<Owner> | null;
}

/** Both in the order of tickets. */
interface Queue<Owner> {
  readonly all: Waiting<Owner>[];
  /** Those of them that want it exclusively. */
  readonly exclusive: Waiting<Owner>[];
}

/** An owner's wait for its units. Each wait is an object of its own. */
export interface Wait<Owner> {
  readonly owner: Owner;
  readonly ticket: Ticket;
  readonly accesses: readonly Access[];
}

interface Waiting<Owner> extends Wait<Owner> {
  /** The access for which somebody was in its way when it looked last. */
  at: number;
  inWay: Owner;
}

export class LockTable<Owner extends object> {
  readonly #locks: UnitMap<Lock<Owner>>;
  readonly #held = new Map<Owner, Set<UnitId>>();
  readonly #waiting = new Map<Owner, Waiting<Owner>>();
  /** By the owner that is in their way. */
  readonly #blocked = new Map<Owner, Set<Waiting<Owner>>>();
  readonly #observing = new Map<Owner, Set<UnitId>>();

  constructor(locks: UnitMap<Lock<Owner>> = new SpanMap()) {
    this.#locks = locks;
  }

  /**
   * Asks for units, each once. True: all are held now. False: the owner waits, and a later release names it.
   * The owner holds nothing and waits for nothing before.
   */
  acquire(owner: Owner, accesses: readonly Access[], ticket: Ticket): boolean {
    let at = 0;
    for (const access of accesses) {
      const inWay = this.#inWay(owner, access, ticket);
      if (inWay !== undefined) {
        const waiting: Waiting<Owner> = { owner, ticket, accesses, at, inWay };
        this.#waiting.set(owner, waiting);
        for (const wanted of accesses) this.#enqueue(waiting, wanted);
        this.#block(waiting);
        return false;
      }
      at++;
    }
    for (const { unit, mode } of accesses) this.#hold(owner, unit, mode);
    return true;
  }

  /**
   * Takes more units for an owner if nobody is in its way now, else none; upgrades a unit that it alone holds shared. A
   * waiter that waits for the owner already is in nobody's way.
   */
  tryAcquire(owner: Owner, accesses: readonly Access[], ticket: Ticket): boolean {
    for (const { unit, mode } of accesses) {
      for (const [, lock] of this.#locks.overlapping(unit)) {
        if (conflictingHolder(lock, owner, mode) !== undefined) return false;
        for (const waiting of conflictingWaiters(lock, mode)) {
          if (compareTickets(waiting.ticket, ticket) >= 0) break;
          // variant: waiter-not-overtaken
          if (!this.#waitsFor(waiting, owner)) return false;
        }
      }
    }
    for (const { unit, mode } of accesses) this.#hold(owner, unit, mode);
    return true;
  }

  /**
   * Takes all units at once, or none, although others hold some of them if it may be behind these. Says behind whom it
   * is, or null. The owner holds nothing before; if it waits, it waits for just these units, and no more if it gets them.
   * It overtakes no waiter with a smaller ticket, and no observer.
   */
  acquireBehind(
    owner: Owner,
    accesses: readonly Access[],
    ticket: Ticket,
    mayBeBehind: (holder: Owner) => boolean,
  ): ReadonlySet<Owner> | null {
    const ahead = new Set<Owner>();
    for (const { unit, mode } of accesses) {
      for (const [, lock] of this.#locks.overlapping(unit)) {
        // variant: waiter-ahead
        if (lock.observers !== null || placeOf(conflictingWaiters(lock, mode), ticket) > 0) return null;
        // However many share it: of the gate, all that hold anything.
        if (mode === "shared" && lock.exclusive === 0) continue;
        for (const [holder, held] of lock.holders) {
          if (mode === "shared" && held === "shared") continue;
          if (!mayBeBehind(holder)) return null;
          ahead.add(holder);
        }
      }
    }
    // It stays in the way of those that it was in the way of: as a holder, where it was a waiter.
    const waiting = this.#waiting.get(owner);
    if (waiting !== undefined) {
      this.#dequeue(waiting);
      this.#unblock(waiting);
    }
    for (const { unit, mode } of accesses) this.#hold(owner, unit, mode);
    return ahead;
  }

  /** The next release of one of the units names the owner. It asks for no lock. */
  onRelease(owner: Owner, units: Iterable<UnitId>): void {
    let observing = this.#observing.get(owner);
    if (observing === undefined) this.#observing.set(owner, (observing = new Set()));
    for (const unit of units) {
      const lock = this.#lock(unit);
      (lock.observers ??= new Set()).add(owner);
      observing.add(unit);
    }
  }

  /** Gives up everything that the owner holds, waits for and observes. */
  release(owner: Owner): Released<Owner> {
    this.#observeNoMore(owner);
    const waiting = this.#waiting.get(owner);
    if (waiting !== undefined) {
      this.#dequeue(waiting);
      this.#unblock(waiting);
    }
    const notified = new Set<Owner>();
    for (const unit of this.#held.get(owner) ?? []) {
      for (const [, lock] of this.#locks.overlapping(unit)) for (const each of lock.observers ?? []) notified.add(each);
      const lock = this.#locks.get(unit);
      assert(lock !== undefined, "a unit that somebody holds is in the table");
      if (lock.holders.get(owner) === "exclusive") lock.exclusive--;
      lock.holders.delete(owner);
      this.#tidy(unit, lock);
    }
    this.#held.delete(owner);
    for (const each of notified) this.#observeNoMore(each);
    // variant: released-let-go
    return { granted: this.#letGo(owner), notified: [...notified] };
  }

  /** The mode in which the owner holds the unit, if it does. */
  modeOf(owner: Owner, unit: UnitId): LockMode | undefined {
    return this.#locks.get(unit)?.holders.get(owner);
  }

  /** Owners that hold anything. */
  owners(): Iterable<Owner> {
    return this.#held.keys();
  }

  /** The way in which the owner waits: for its locks, or for a release; null: it does not wait. */
  waitOf(owner: Owner): "locks" | "release" | null {
    if (this.#waiting.has(owner)) return "locks";
    return this.#observing.has(owner) ? "release" : null;
  }

  /** The waits of all owners that wait for their units. */
  waits(): Iterable<Wait<Owner>> {
    return this.#waiting.values();
  }

  heldBy(owner: Owner): ReadonlySet<UnitId> {
    return this.#held.get(owner) ?? new Set();
  }

  /** Whether somebody holds, waits for or observes a unit that overlaps this one. */
  isLocked(unit: UnitId): boolean {
    return this.#locks.size > 0 && this.#locks.hasOverlapping(unit);
  }

  /** Whether somebody holds the unit, or one that overlaps it, exclusively, or waits to. */
  isWantedExclusively(unit: UnitId): boolean {
    if (this.#locks.size === 0) return false;
    return this.#locks
      .overlapping(unit)
      .some(([, { exclusive, queue }]) => exclusive > 0 || (queue !== null && queue.exclusive.length > 0));
  }

  /** Exclusive holders of the unit, or of one that overlaps it. Of one unit each is behind those before it. */
  exclusiveHolders(unit: UnitId): readonly Owner[] {
    const holders: Owner[] = [];
    for (const [, lock] of this.#locks.overlapping(unit)) {
      if (lock.exclusive === 0) continue;
      for (const [holder, mode] of lock.holders) if (mode === "exclusive") holders.push(holder);
    }
    return holders;
  }

  /** Every holder in the way of a waiting owner. */
  blockers(owner: Owner): Iterable<Owner> {
    const blockers = new Set<Owner>();
    for (const { unit, mode } of this.#waiting.get(owner)?.accesses ?? []) {
      for (const [, lock] of this.#locks.overlapping(unit)) {
        if (mode === "shared" && lock.exclusive === 0) continue;
        for (const [holder, held] of lock.holders)
          if (mode === "exclusive" || held === "exclusive") blockers.add(holder);
      }
    }
    return blockers;
  }

  /** Whether the owner is in the way of a waiter, or somebody observes a unit that it holds. */
  isContended(owner: Owner): boolean {
    for (const unit of this.heldBy(owner)) {
      const mode = this.modeOf(owner, unit);
      assert(mode !== undefined, "a unit that somebody holds is in the table");
      for (const [, lock] of this.#locks.overlapping(unit))
        if (lock.observers !== null || conflictingWaiters(lock, mode).length > 0) return true;
    }
    return false;
  }

  /** Waiters that have the owner in their way, in the order of their tickets; at most so many. */
  waitersBehind(owner: Owner, most: number): readonly Owner[] {
    const queues: (readonly Waiting<Owner>[])[] = [];
    for (const unit of this.heldBy(owner)) {
      const mode = this.modeOf(owner, unit);
      assert(mode !== undefined, "a unit that somebody holds is in the table");
      for (const [, lock] of this.#locks.overlapping(unit)) {
        const waiters = conflictingWaiters(lock, mode);
        if (waiters.length > 0) queues.push(waiters.slice(0, most));
      }
    }
    const [only = NONE] = queues;
    if (queues.length <= 1) return only.map((waiting) => waiting.owner);
    const all = [...new Set(queues.flat())].toSorted((a, b) => compareTickets(a.ticket, b.ticket));
    return all.slice(0, most).map((waiting) => waiting.owner);
  }

  /** Whether the owner waits for the unit, and nobody else waits for it or holds it. */
  isWantedBy(owner: Owner, unit: UnitId): boolean {
    return this.#locks.overlapping(unit).every(([, { holders, queue }]) => {
      const isWaitedFor = queue?.all.some((waiting) => waiting.owner !== owner) === true;
      return holders.size === 0 && !isWaitedFor;
    });
  }

  /** The access for which somebody is in the owner's way, and who that is; null: it waits for no lock. */
  inWayOf(owner: Owner): { readonly unit: UnitId; readonly inWay: Owner } | null {
    const waiting = this.#waiting.get(owner);
    const access = waiting?.accesses[waiting.at];
    return waiting === undefined || access === undefined ? null : { unit: access.unit, inWay: waiting.inWay };
  }

  /** All that the owner waits for; empty: it waits for no lock. */
  wantedBy(owner: Owner): readonly Access[] {
    return this.#waiting.get(owner)?.accesses ?? NONE;
  }

  /** How many owners wait for a unit that overlaps, and are in the way of an access under this ticket. */
  waitersInWay({ unit, mode }: Access, ticket: Ticket): number {
    let count = 0;
    for (const [, lock] of this.#locks.overlapping(unit)) count += placeOf(conflictingWaiters(lock, mode), ticket);
    return count;
  }

  /** How many units somebody holds, waits for or observes. */
  get size(): number {
    return this.#locks.size;
  }

  /** Nobody holds, waits for or observes a unit. */
  get isEmpty(): boolean {
    const { size } = this.#locks;
    return size + this.#held.size + this.#waiting.size + this.#blocked.size + this.#observing.size === 0;
  }

  /** The nearest owner in the way of an access. It is a waiter rather than a holder, so that waiters for one unit form a line. */
  #inWay(owner: Owner, { unit, mode }: Access, ticket: Ticket): Owner | undefined {
    for (const [, lock] of this.#locks.overlapping(unit)) {
      const waiters = conflictingWaiters(lock, mode);
      // variant: waiter-in-way
      const inWay = waiters[placeOf(waiters, ticket) - 1]?.owner ?? conflictingHolder(lock, owner, mode);
      if (inWay !== undefined) return inWay;
    }
    return undefined;
  }

  /** Whether the owner holds a unit that is in the way of the waiter. */
  #waitsFor({ accesses }: Waiting<Owner>, owner: Owner): boolean {
    return accesses.some(({ unit, mode }) =>
      this.#locks.overlapping(unit).some(([, { holders }]) => {
        const held = holders.get(owner);
        return held === "exclusive" || (held === "shared" && mode === "exclusive");
      }),
    );
  }

  /** The waiters in whose way the owner was look again, and get their units or another one in their way. */
  #letGo(owner: Owner): readonly Owner[] {
    const blocked = this.#blocked.get(owner);
    if (blocked === undefined) return [];
    this.#blocked.delete(owner);
    const granted: Owner[] = [];
    for (const waiting of [...blocked].toSorted((a, b) => compareTickets(a.ticket, b.ticket))) {
      const { accesses, ticket, at: last } = waiting;
      let inWay: Owner | undefined;
      // Where somebody was in its way, the next one is likely to be.
      for (let count = 0; count < accesses.length && inWay === undefined; count++) {
        waiting.at = (last + count) % accesses.length;
        const access = accesses[waiting.at];
        assert(access !== undefined, "a waiter looks at its own accesses");
        inWay = this.#inWay(waiting.owner, access, ticket);
      }
      if (inWay === undefined) {
        for (const { unit, mode } of accesses) this.#hold(waiting.owner, unit, mode);
        this.#dequeue(waiting);
        granted.push(waiting.owner);
      } else {
        waiting.inWay = inWay;
        this.#block(waiting);
      }
    }
    return granted;
  }

  #lock(unit: UnitId): Lock<Owner> {
    let lock = this.#locks.get(unit);
    if (lock === undefined)
      this.#locks.set(unit, (lock = { holders: new Map(), exclusive: 0, queue: null, observers: null }));
    return lock;
  }

  /** Forgets a unit that nobody holds, waits for or observes. */
  #tidy(unit: UnitId, { holders, queue, observers }: Lock<Owner>): void {
    if (holders.size === 0 && queue === null && observers === null) this.#locks.delete(unit);
  }

  #hold(owner: Owner, unit: UnitId, mode: LockMode): void {
    const lock = this.#lock(unit);
    if (lock.holders.get(owner) !== "exclusive") {
      lock.holders.set(owner, mode);
      if (mode === "exclusive") lock.exclusive++;
    }
    let held = this.#held.get(owner);
    if (held === undefined) this.#held.set(owner, (held = new Set()));
    held.add(unit);
  }

  #enqueue(waiting: Waiting<Owner>, { unit, mode }: Access): void {
    const lock = this.#lock(unit);
    const queue = (lock.queue ??= { all: [], exclusive: [] });
    queue.all.splice(placeOf(queue.all, waiting.ticket), 0, waiting);
    if (mode === "exclusive") queue.exclusive.splice(placeOf(queue.exclusive, waiting.ticket), 0, waiting);
  }

  #dequeue(waiting: Waiting<Owner>): void {
    this.#waiting.delete(waiting.owner);
    for (const { unit, mode } of waiting.accesses) {
      const lock = this.#locks.get(unit);
      const queue = lock?.queue ?? null;
      assert(lock !== undefined && queue !== null, "a unit that somebody waits for has a queue");
      const { all, exclusive } = queue;
      all.splice(placeOf(all, waiting.ticket), 1);
      if (mode === "exclusive") exclusive.splice(placeOf(exclusive, waiting.ticket), 1);
      if (all.length === 0) lock.queue = null;
      this.#tidy(unit, lock);
    }
  }

  #block(waiting: Waiting<Owner>): void {
    const blocked = this.#blocked.get(waiting.inWay);
    if (blocked === undefined) this.#blocked.set(waiting.inWay, new Set([waiting]));
    else blocked.add(waiting);
  }

  #unblock(waiting: Waiting<Owner>): void {
    const blocked = this.#blocked.get(waiting.inWay);
    blocked?.delete(waiting);
    if (blocked?.size === 0) this.#blocked.delete(waiting.inWay);
  }

  #observeNoMore(owner: Owner): void {
    for (const unit of this.#observing.get(owner) ?? []) {
      const lock = this.#locks.get(unit);
      if (lock === undefined) continue;
      lock.observers?.delete(owner);
      if (lock.observers?.size === 0) lock.observers = null;
      this.#tidy(unit, lock);
    }
    this.#observing.delete(owner);
  }
}

const NONE: readonly never[] = [];

/** In the order of tickets. */
function conflictingWaiters<Owner>({ queue }: Lock<Owner>, mode: LockMode): readonly Waiting<Owner>[] {
  return queue === null ? NONE : mode === "exclusive" ? queue.all : queue.exclusive;
}

/** Somebody else who holds it in a mode that excludes this one. */
function conflictingHolder<Owner>(lock: Lock<Owner>, owner: Owner, mode: LockMode): Owner | undefined {
  // variant: locks-compatible
  if (mode === "shared" && lock.exclusive === 0) return undefined;
  for (const [holder, held] of lock.holders) {
    // variant: lock-strengthened
    if (holder !== owner && (mode === "exclusive" || held === "exclusive")) return holder;
  }
  return undefined;
}

/** How many of the waiters have a smaller ticket. */
function placeOf<Owner>(waiters: readonly Waiting<Owner>[], ticket: Ticket): number {
  const last = waiters.at(-1);
  // As a rule the ticket is newer than all of them.
  if (last === undefined || compareTickets(last.ticket, ticket) < 0) return waiters.length;
  let low = 0;
  let high = waiters.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const waiting = waiters[middle];
    assert(waiting !== undefined, "the middle is among the waiters");
    if (compareTickets(waiting.ticket, ticket) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
