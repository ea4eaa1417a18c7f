/**
 * The lock table: units held shared or exclusively by executions (paper, section 3.6).
 *
 * An execution asks for its units in sorted order and waits for one at a time, first come first served, so that no
 * cycle of waiting executions can form. Watchers wait without asking for anything: they are told when a unit is
 * released. An owner may also take units *behind* others that hold them: it holds them as well, and its user sees to it
 * that those act first. Nothing here is durable: the intents are.
 */
import type { UnitId } from "@radical/protocol";

export type LockMode = "shared" | "exclusive";

export interface LockRequest {
  readonly unit: UnitId;
  readonly mode: LockMode;
}

export interface Released<Owner> {
  /** Owners that now hold everything they waited for, in the order in which they got it. */
  readonly granted: readonly Owner[];
  /** Owners whose watch on a unit has ended. */
  readonly notified: readonly Owner[];
  /** Owners that got a unit, but wait for the next one now. */
  readonly advanced: readonly Owner[];
}

interface Lock<Owner> {
  /** First those whom later ones are behind. */
  readonly holders: Map<Owner, LockMode>;
  /** How many of them hold it exclusively: more than one only behind each other. */
  exclusive: number;
  readonly queue: { readonly owner: Owner; readonly mode: LockMode }[];
  readonly watchers: Set<Owner>;
}

interface Waiting {
  readonly requests: readonly LockRequest[];
  /** Index of the request that waits. */
  at: number;
}

export class LockTable<Owner extends object> {
  readonly #locks = new Map<UnitId, Lock<Owner>>();
  readonly #held = new Map<Owner, Set<UnitId>>();
  readonly #waiting = new Map<Owner, Waiting>();
  readonly #watching = new Map<Owner, Set<UnitId>>();

  /**
   * Asks for units, sorted. True: all are held now. False: the owner waits, and a later release names it.
   * The owner holds nothing and waits for nothing before.
   */
  acquire(owner: Owner, requests: readonly LockRequest[]): boolean {
    const waiting: Waiting = { requests, at: 0 };
    if (this.#advance(owner, waiting)) return true;
    this.#waiting.set(owner, waiting);
    return false;
  }

  /** Takes more units for an owner if all are free now, else none; upgrades a unit that it alone holds shared. */
  tryAcquire(owner: Owner, requests: readonly LockRequest[]): boolean {
    const free = requests.every(({ unit, mode }) => {
      const lock = this.#locks.get(unit);
      if (lock === undefined) return true;
      const own = lock.holders.get(owner);
      // variant: lock-strengthened
      if (own !== undefined) return own === "exclusive" || mode === "shared" || lock.holders.size === 1;
      return lock.queue.length === 0 && compatible(lock, mode);
    });
    if (!free) return false;
    for (const { unit, mode } of requests) this.#hold(owner, unit, mode);
    return true;
  }

  /**
   * Takes all units at once, or none, although others hold some of them if it may be behind these. Says behind whom it
   * is, or null. The owner holds nothing before. Who waits for a unit already is not overtaken.
   */
  acquireBehind(
    owner: Owner,
    requests: readonly LockRequest[],
    mayBeBehind: (holder: Owner) => boolean,
  ): ReadonlySet<Owner> | null {
    const ahead = new Set<Owner>();
    for (const { unit, mode } of requests) {
      const lock = this.#locks.get(unit);
      if (lock === undefined) continue;
      if (lock.queue.length > 0 || lock.watchers.size > 0) return null;
      // However many share it: of the gate, all that hold anything.
      if (mode === "shared" && lock.exclusive === 0) continue;
      for (const [holder, held] of lock.holders) {
        if (mode === "shared" && held === "shared") continue;
        if (!mayBeBehind(holder)) return null;
        ahead.add(holder);
      }
    }
    for (const { unit, mode } of requests) this.#hold(owner, unit, mode);
    return ahead;
  }

  /** Watches units: the next release of any of them names the owner. */
  watch(owner: Owner, units: Iterable<UnitId>): void {
    let watched = this.#watching.get(owner);
    if (watched === undefined) this.#watching.set(owner, (watched = new Set()));
    for (const unit of units) {
      this.#lock(unit).watchers.add(owner);
      watched.add(unit);
    }
  }

  /** Gives up everything the owner holds, waits for and watches. */
  release(owner: Owner): Released<Owner> {
    const touched = new Set<UnitId>();
    const notified: Owner[] = [];
    for (const unit of this.#watching.get(owner) ?? []) {
      this.#locks.get(unit)?.watchers.delete(owner);
      touched.add(unit);
    }
    this.#watching.delete(owner);
    const waiting = this.#waiting.get(owner);
    if (waiting !== undefined) {
      this.#waiting.delete(owner);
      const unit = waiting.requests[waiting.at]!.unit;
      const { queue } = this.#locks.get(unit)!;
      queue.splice(
        queue.findIndex((entry) => entry.owner === owner),
        1,
      );
      touched.add(unit);
    }
    for (const unit of this.#held.get(owner) ?? []) {
      const lock = this.#locks.get(unit)!;
      if (lock.holders.get(owner) === "exclusive") lock.exclusive--;
      lock.holders.delete(owner);
      for (const watcher of lock.watchers) {
        this.#unwatch(watcher);
        notified.push(watcher);
      }
      touched.add(unit);
    }
    this.#held.delete(owner);
    const granted: Owner[] = [];
    const advanced: Owner[] = [];
    for (const unit of touched) this.#grant(unit, granted, advanced);
    return { granted, notified, advanced };
  }

  /** The mode in which the owner holds the unit, if it does. */
  modeOf(owner: Owner, unit: UnitId): LockMode | undefined {
    return this.#locks.get(unit)?.holders.get(owner);
  }

  /** Who holds anything. */
  owners(): Iterable<Owner> {
    return this.#held.keys();
  }

  heldBy(owner: Owner): ReadonlySet<UnitId> {
    return this.#held.get(owner) ?? new Set();
  }

  /** Whether the unit is held, waited for or watched. */
  isLocked(unit: UnitId): boolean {
    return this.#locks.size > 0 && this.#locks.has(unit);
  }

  /** Who holds the unit exclusively, each behind those before it. */
  exclusiveHolders(unit: UnitId): readonly Owner[] {
    const lock = this.#locks.get(unit);
    if (lock === undefined || lock.exclusive === 0) return [];
    const holders: Owner[] = [];
    for (const [holder, mode] of lock.holders) if (mode === "exclusive") holders.push(holder);
    return holders;
  }

  /** The executions that keep a waiting owner from its next unit. */
  blockers(owner: Owner): readonly Owner[] {
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) return [];
    const { unit } = waiting.requests[waiting.at]!;
    return [...this.#locks.get(unit)!.holders.keys()];
  }

  /** Whether somebody waits for a unit that the owner holds, or watches it. */
  isContended(owner: Owner): boolean {
    for (const unit of this.heldBy(owner)) {
      const lock = this.#locks.get(unit)!;
      if (lock.queue.length > 0 || lock.watchers.size > 0) return true;
    }
    return false;
  }

  /** How many wait in the queue of a unit. */
  queueLength(unit: UnitId): number {
    return this.#locks.get(unit)?.queue.length ?? 0;
  }

  /** How many units are held, waited for or watched. */
  get size(): number {
    return this.#locks.size;
  }

  /** No unit is held, waited for or watched. */
  get isEmpty(): boolean {
    return this.#locks.size === 0 && this.#held.size === 0 && this.#waiting.size === 0 && this.#watching.size === 0;
  }

  #lock(unit: UnitId): Lock<Owner> {
    let lock = this.#locks.get(unit);
    if (lock === undefined)
      this.#locks.set(unit, (lock = { holders: new Map(), exclusive: 0, queue: [], watchers: new Set() }));
    return lock;
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

  /** Takes units as long as they are free; queues for the first that is not. */
  #advance(owner: Owner, waiting: Waiting): boolean {
    for (; waiting.at < waiting.requests.length; waiting.at++) {
      const { unit, mode } = waiting.requests[waiting.at]!;
      const lock = this.#lock(unit);
      if (lock.queue.length > 0 || !compatible(lock, mode)) {
        lock.queue.push({ owner, mode });
        return false;
      }
      this.#hold(owner, unit, mode);
    }
    return true;
  }

  #grant(unit: UnitId, granted: Owner[], advanced: Owner[]): void {
    const lock = this.#locks.get(unit);
    if (lock === undefined) return;
    for (let next = lock.queue[0]; next !== undefined && compatible(lock, next.mode); next = lock.queue[0]) {
      lock.queue.shift();
      this.#hold(next.owner, unit, next.mode);
      const waiting = this.#waiting.get(next.owner)!;
      waiting.at++;
      if (this.#advance(next.owner, waiting)) {
        this.#waiting.delete(next.owner);
        granted.push(next.owner);
      } else advanced.push(next.owner);
    }
    if (lock.holders.size === 0 && lock.queue.length === 0 && lock.watchers.size === 0) this.#locks.delete(unit);
  }

  #unwatch(owner: Owner): void {
    for (const unit of this.#watching.get(owner) ?? []) {
      const lock = this.#locks.get(unit);
      if (lock === undefined) continue;
      lock.watchers.delete(owner);
      if (lock.holders.size === 0 && lock.queue.length === 0 && lock.watchers.size === 0) this.#locks.delete(unit);
    }
    this.#watching.delete(owner);
  }
}

function compatible<Owner>(lock: Lock<Owner>, mode: LockMode): boolean {
  // variant: locks-compatible
  return lock.holders.size === 0 || (mode === "shared" && lock.exclusive === 0);
}
