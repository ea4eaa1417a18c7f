import { byUnit, compareKeys, ItemMap, overlaps, spanId, type UnitId, unitId } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Access, type LockMode, LockTable, type Ticket } from "./lock-table.ts";

interface Owner {
  readonly name: string;
  readonly ticket: Ticket;
}

interface Instance {
  readonly name: string;
  readonly units: readonly UnitId[];
}

const ITEMS = ["a", "b", "c", "d"].map((key) => unitId("t", key));
const SPANS = [
  spanId({ table: "t", kind: "rows", lo: "a", hi: "c" }),
  spanId({ table: "t", kind: "rows", lo: "b", hi: "e" }),
  spanId({ table: "t", kind: "count", lo: "", hi: "" }),
  spanId({ table: "u", kind: "rows", lo: "", hi: "" }),
];
const INSTANCES: readonly Instance[] = [
  { name: "items", units: ITEMS },
  { name: "items and spans", units: [...ITEMS, unitId("u", "a"), ...SPANS] },
];

const inOrder = (count: number): Owner[] =>
  Array.from({ length: count }, (_, index) => ({ name: String.fromCodePoint(97 + index), ticket: index + 1 }));
/** `x` shared, `X` exclusive. */
const accesses = (text: string): Access[] =>
  text.split("").map((letter) => ({
    unit: letter.toLowerCase() as UnitId,
    mode: letter === letter.toLowerCase() ? "shared" : "exclusive",
  }));
const names = (owners: Iterable<Owner>): string => Array.from(owners, ({ name }) => name).join("");
const ask = (locks: LockTable<Owner>, owner: Owner, text: string): boolean =>
  locks.acquire(owner, accesses(text), owner.ticket);

describe("all at once", () => {
  test("shared locks go together, an exclusive one alone, in the order of tickets", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
    expect(ask(locks, a, "x")).toBe(true);
    expect(ask(locks, b, "x")).toBe(true);
    expect(ask(locks, c, "X")).toBe(false);
    // A reader that came after a waiting writer waits behind it.
    expect(ask(locks, d, "x")).toBe(false);
    expect(names(locks.blockers(c))).toBe("ab");
    expect(locks.isContended(a)).toBe(true);
    expect(names(locks.release(a).granted)).toBe("");
    expect(names(locks.release(b).granted)).toBe("c");
    expect(locks.exclusiveHolders("x" as UnitId)).toEqual([c]);
    expect(names(locks.release(c).granted)).toBe("d");
    locks.release(d);
    expect(locks.isEmpty).toBe(true);
  });

  test("a waiter holds nothing, and whoever comes later waits for it", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
    ask(locks, a, "Y");
    expect(ask(locks, b, "XY")).toBe(false);
    expect(locks.heldBy(b).size).toBe(0);
    expect(locks.exclusiveHolders("x" as UnitId)).toEqual([]);
    expect(ask(locks, c, "X")).toBe(false);
    expect(names(locks.blockers(c))).toBe("");
    expect(ask(locks, d, "z")).toBe(true);
    expect(names(locks.release(a).granted)).toBe("b");
    expect(names(locks.blockers(c))).toBe("b");
    expect(names(locks.release(b).granted)).toBe("c");
  });

  test("who waits names the unit, and the nearest one in its way", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c] = inOrder(3) as [Owner, Owner, Owner];
    ask(locks, a, "y");
    expect(locks.inWayOf(a)).toBeNull();
    ask(locks, b, "xY");
    ask(locks, c, "Y");
    expect(locks.inWayOf(b)).toEqual({ unit: "y", inWay: a });
    // Those that wait for one unit form a line.
    expect(locks.inWayOf(c)).toEqual({ unit: "y", inWay: b });
    locks.release(a);
    expect(locks.inWayOf(b)).toBeNull();
  });

  test("one that asks again with its old ticket goes before all that came later", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
    ask(locks, b, "X");
    ask(locks, c, "X");
    ask(locks, d, "XY");
    expect(ask(locks, a, "X")).toBe(false);
    expect(names(locks.release(b).granted)).toBe("a");
    expect(names(locks.release(a).granted)).toBe("c");
    expect(names(locks.release(c).granted)).toBe("d");
  });

  test("whoever gives up waiting lets those behind it go on", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c] = inOrder(3) as [Owner, Owner, Owner];
    ask(locks, a, "x");
    ask(locks, b, "X");
    ask(locks, c, "x");
    expect(names(locks.release(b).granted)).toBe("c");
  });

  test("every holder in the way is told of, whichever of the units it holds", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
    ask(locks, a, "x");
    ask(locks, b, "Y");
    ask(locks, c, "z");
    ask(locks, d, "Xyz");
    expect(names(locks.blockers(d))).toBe("ab");
  });

  test("a waiter counts for an access that it is in the way of: it conflicts, and its ticket is smaller", () => {
    const locks = new LockTable<Owner>();
    const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
    ask(locks, a, "gX");
    ask(locks, b, "gX");
    ask(locks, c, "gXy");
    ask(locks, d, "gx");
    const counts = (ticket: Ticket): number[] => accesses("gGxXyY").map((each) => locks.waitersInWay(each, ticket));
    expect(counts(5)).toEqual([0, 3, 2, 3, 0, 1]);
    expect(counts(2.5)).toEqual([0, 1, 1, 1, 0, 0]);
  });
});

test("taking more is all or nothing, never waits, and upgrades", () => {
  const locks = new LockTable<Owner>();
  const [a, b] = inOrder(2) as [Owner, Owner];
  const more = (text: string): boolean => locks.tryAcquire(a, accesses(text), a.ticket);
  ask(locks, a, "x");
  ask(locks, b, "xz");
  expect(more("yZ")).toBe(false);
  expect(locks.modeOf(a, "y" as UnitId)).toBe(undefined);
  expect(more("X")).toBe(false);
  locks.release(b);
  expect(more("XYZ")).toBe(true);
  expect(locks.modeOf(a, "x" as UnitId)).toBe("exclusive");
});

test("taking more overtakes nobody with a smaller ticket, except those that wait for the owner already", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
  ask(locks, c, "X");
  ask(locks, d, "W");
  // Waits for c, and no longer counts for it.
  ask(locks, a, "XY");
  expect(locks.tryAcquire(c, accesses("Y"), c.ticket)).toBe(true);
  // Waits for d.
  ask(locks, b, "WZ");
  expect(locks.tryAcquire(c, accesses("Z"), c.ticket)).toBe(false);
  expect(locks.tryAcquire(d, accesses("Z"), d.ticket)).toBe(true);
});

test("an owner is behind those that it may be behind, and overtakes nobody that waits", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
  const behind = (owner: Owner, text: string, ...first: Owner[]): ReadonlySet<Owner> | null =>
    locks.acquireBehind(owner, accesses(text), owner.ticket, (holder) => first.includes(holder));
  ask(locks, a, "XY");
  expect(behind(b, "X")).toBe(null);
  expect(behind(b, "XZ", a)).toEqual(new Set([a]));
  expect(locks.exclusiveHolders("x" as UnitId)).toEqual([a, b]);
  expect(locks.isContended(a)).toBe(false);
  ask(locks, c, "Y");
  expect(behind(d, "Y", a)).toBe(null);
  expect(behind(d, "X", a, b)).toEqual(new Set([a, b]));
  expect(names(locks.release(a).granted)).toBe("c");
});

test("an observer is told once and then observes nothing; nobody gets behind a holder that is observed", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c, d] = inOrder(4) as [Owner, Owner, Owner, Owner];
  ask(locks, a, "X");
  ask(locks, b, "Y");
  locks.onRelease(c, ["x" as UnitId, "y" as UnitId]);
  expect(locks.isContended(a)).toBe(true);
  expect(locks.acquireBehind(d, accesses("X"), d.ticket, () => true)).toBe(null);
  expect(names(locks.release(a).notified)).toBe("c");
  expect(names(locks.release(b).notified)).toBe("");
  expect(locks.isEmpty).toBe(true);
});

// ── Beside a table that goes through everybody ───────────────────────────────────────────────────────────────────────

/** The rules of the table, as plainly as can be: it goes through everybody at each step. */
class NaiveTable {
  readonly holders = new Map<Owner, Access[]>();
  readonly waiters: { readonly owner: Owner; readonly accesses: readonly Access[] }[] = [];
  conflict(some: readonly Access[], others: readonly Access[]): boolean {
    return some.some((a) =>
      others.some((b) => (a.mode === "exclusive" || b.mode === "exclusive") && overlaps(a.unit, b.unit)),
    );
  }

  holdersInWay(owner: Owner, wanted: readonly Access[]): Owner[] {
    return [...this.holders].flatMap(([each, held]) => (each !== owner && this.conflict(wanted, held) ? [each] : []));
  }

  waitersInWay(owner: Owner, wanted: readonly Access[]): Owner[] {
    const held = this.holders.get(owner) ?? [];
    return this.waiters.flatMap(({ owner: each, accesses: asked }) =>
      each.ticket < owner.ticket && this.conflict(wanted, asked) && !this.conflict(asked, held) ? [each] : [],
    );
  }

  /** Those that get their units now, in the order of tickets. */
  grant(): Owner[] {
    const granted: Owner[] = [];
    for (const waiting of this.waiters.toSorted((a, b) => a.owner.ticket - b.owner.ticket)) {
      const { owner, accesses: asked } = waiting;
      if (this.holdersInWay(owner, asked).length + this.waitersInWay(owner, asked).length > 0) continue;
      this.waiters.splice(this.waiters.indexOf(waiting), 1);
      this.holders.set(owner, [...asked]);
      granted.push(owner);
    }
    return granted;
  }

  release(owner: Owner): void {
    this.holders.delete(owner);
    const at = this.waiters.findIndex((waiting) => waiting.owner === owner);
    if (at >= 0) this.waiters.splice(at, 1);
  }
}

const MODES: readonly LockMode[] = ["shared", "exclusive"];

describe.each(INSTANCES)("locks of $name", ({ units }) => {
  const action = fc.record({
    kind: fc.constantFrom("acquire", "acquire", "release", "more", "behind", "follow", "observe"),
    owner: fc.nat(7),
    units: fc.uniqueArray(fc.constantFrom(...units), { minLength: 1, maxLength: 4 }),
    modes: fc.array(fc.constantFrom(...MODES), { minLength: 4, maxLength: 4 }),
    keepsTicket: fc.boolean(),
  });

  test("property: who holds and who waits is as in a naive table; all are served in the end, and nothing is left", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const locks = new LockTable<Owner>();
        const naive = new NaiveTable();
        const owners = inOrder(8);
        let tickets = owners.length;
        const observing = new Map<Owner, readonly UnitId[]>();
        const release = (owner: Owner): void => {
          const held = naive.holders.get(owner) ?? [];
          observing.delete(owner);
          const told = [...observing].filter(([, observed]) =>
            observed.some((unit) => held.some((access) => overlaps(unit, access.unit))),
          );
          naive.release(owner);
          const { granted, notified } = locks.release(owner);
          expect(names(granted)).toBe(names(naive.grant()));
          expect(new Set(notified)).toEqual(new Set(told.map(([each]) => each)));
          for (const each of notified) observing.delete(each);
        };
        const check = (): void => {
          for (const owner of owners) {
            const held = naive.holders.get(owner) ?? [];
            expect([...locks.heldBy(owner)].toSorted(compareKeys)).toEqual(
              held.toSorted(byUnit).map(({ unit }) => unit),
            );
            for (const { unit, mode } of held) expect(locks.modeOf(owner, unit)).toBe(mode);
            const waiting = naive.waiters.find((each) => each.owner === owner);
            const inWay = naive.holdersInWay(owner, waiting?.accesses ?? []);
            expect(new Set(locks.blockers(owner))).toEqual(new Set(inWay));
            const isWaitedFor = naive.waiters.some(({ accesses: asked }) => naive.conflict(asked, held));
            const isObserved = held.some(({ unit }) =>
              [...observing.values()].flat().some((each) => overlaps(each, unit)),
            );
            expect(locks.isContended(owner)).toBe(isWaitedFor || isObserved);
            const behind = naive.waiters.filter(({ accesses: asked }) => naive.conflict(asked, held));
            const inOrderOfTickets = behind.map((each) => each.owner).toSorted((a, b) => a.ticket - b.ticket);
            for (const most of [1, 8])
              expect(names(locks.waitersBehind(owner, most))).toBe(names(inOrderOfTickets.slice(0, most)));
            expect(locks.wantedBy(owner)).toEqual(waiting?.accesses ?? []);
            for (const { unit } of waiting?.accesses ?? []) {
              const touches = (asked: readonly Access[]): boolean => asked.some((each) => overlaps(each.unit, unit));
              const isHeld = [...naive.holders.values()].some(touches);
              const isWanted = naive.waiters.some((each) => each.owner !== owner && touches(each.accesses));
              expect(locks.isWantedBy(owner, unit)).toBe(!isHeld && !isWanted);
            }
          }
        };
        for (const { kind, owner: index, units: named, modes, keepsTicket } of actions) {
          let owner = owners[index]!;
          const wanted = named.map((unit, at): Access => ({ unit, mode: modes[at]! }));
          const isIdle = !naive.holders.has(owner) && naive.waiters.every((each) => each.owner !== owner);
          if (isIdle && !keepsTicket && (kind === "acquire" || kind === "behind")) {
            release(owner);
            owners[index] = owner = { ...owner, ticket: ++tickets };
          }
          if (kind === "release") release(owner);
          else if (kind === "acquire" && isIdle) {
            naive.waiters.push({ owner, accesses: wanted });
            expect(locks.acquire(owner, wanted, owner.ticket)).toBe(naive.grant().includes(owner));
          } else if (kind === "more" && naive.holders.has(owner)) {
            const held = naive.holders.get(owner)!;
            const lacking = wanted.filter(({ unit, mode }) =>
              held.every((access) => access.unit !== unit || (access.mode === "shared" && mode === "exclusive")),
            );
            const isFree = naive.holdersInWay(owner, lacking).length + naive.waitersInWay(owner, lacking).length === 0;
            expect(locks.tryAcquire(owner, lacking, owner.ticket)).toBe(isFree);
            const kept = held.filter(({ unit }) => lacking.every((access) => access.unit !== unit));
            if (isFree) naive.holders.set(owner, [...kept, ...lacking]);
          } else if (kind === "behind" && isIdle) {
            const inWay = naive.holdersInWay(owner, wanted);
            const isObserved = wanted.some(({ unit }) =>
              [...observing.values()].flat().some((each) => overlaps(each, unit)),
            );
            const mayBe = !isObserved && naive.waitersInWay(owner, wanted).length === 0;
            const ahead = locks.acquireBehind(owner, wanted, owner.ticket, () => true);
            expect(ahead).toEqual(mayBe ? new Set(inWay) : null);
            if (mayBe) naive.holders.set(owner, wanted);
          } else if (kind === "follow" && naive.waiters.some((each) => each.owner === owner)) {
            const { accesses: asked } = naive.waiters.find((each) => each.owner === owner)!;
            const inWay = naive.holdersInWay(owner, asked);
            const isObserved = asked.some(({ unit }) =>
              [...observing.values()].flat().some((each) => overlaps(each, unit)),
            );
            const mayBe = !isObserved && naive.waitersInWay(owner, asked).length === 0;
            const ahead = locks.acquireBehind(owner, asked, owner.ticket, () => true);
            expect(ahead).toEqual(mayBe ? new Set(inWay) : null);
            if (mayBe) {
              naive.waiters.splice(
                naive.waiters.findIndex((each) => each.owner === owner),
                1,
              );
              naive.holders.set(owner, [...asked]);
            }
          } else if (kind === "observe" && isIdle) {
            observing.set(owner, [...(observing.get(owner) ?? []), ...named]);
            locks.onRelease(owner, named);
          }
          check();
        }
        // As long as holders end, everybody is served.
        for (let holder = naive.holders.keys().next().value; holder !== undefined;) {
          release(holder);
          check();
          holder = naive.holders.keys().next().value;
        }
        expect(naive.waiters).toEqual([]);
        for (const owner of owners) locks.release(owner);
        expect(locks.isEmpty).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("property: under endless load conflicting owners are served in the order of their tickets", () => {
    const asked = fc.array(
      fc.record({
        units: fc.uniqueArray(fc.constantFrom(...units), { minLength: 1, maxLength: 3 }),
        mode: fc.constantFrom(...MODES),
      }),
      { minLength: 20, maxLength: 60 },
    );
    fc.assert(
      fc.property(asked, fc.infiniteStream(fc.nat(1_000)), (all, draws) => {
        const locks = new LockTable<Owner>();
        const holding: Owner[] = [];
        const served: Owner[] = [];
        const end = (): void => {
          const at = draws.next().value! % holding.length;
          const [owner] = holding.splice(at, 1);
          served.push(owner!);
          holding.push(...locks.release(owner!).granted);
        };
        for (const [index, { units: named, mode }] of all.entries()) {
          const owner = { name: String(index), ticket: index };
          const wanted = named.map((unit) => ({ unit, mode }));
          if (locks.acquire(owner, wanted, owner.ticket)) holding.push(owner);
          if (index >= 8) end();
        }
        while (holding.length > 0) end();
        expect(served.length).toBe(all.length);
        for (const [at, later] of served.entries())
          for (const earlier of served.slice(at + 1)) {
            if (earlier.ticket > later.ticket) continue;
            const [x, y] = [all[earlier.ticket]!, all[later.ticket]!];
            const isConflict =
              (x.mode === "exclusive" || y.mode === "exclusive") &&
              x.units.some((a) => y.units.some((b) => overlaps(a, b)));
            expect(isConflict).toBe(false);
          }
      }),
    );
  });
});

// ── How much it does ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Counts the questions of the table. */
class CountedMap<Value> extends ItemMap<Value> {
  count = 0;

  override get(unit: UnitId): Value | undefined {
    this.count++;
    return super.get(unit);
  }

  override overlapping(unit: UnitId): readonly (readonly [UnitId, Value])[] {
    this.count++;
    return super.overlapping(unit);
  }
}

test("a release costs as much as the waiters that it lets go on, however many wait", () => {
  const WAITERS = 1_000;
  const map = new CountedMap<never>();
  const locks = new LockTable<Owner>(map);
  const owners = Array.from({ length: WAITERS + 1 }, (_, index) => ({ name: "", ticket: index }));
  // Each holds the gate shared, as executions do, and units of its own beside the hot one.
  const wanted = ({ ticket }: Owner): Access[] => [
    { unit: "" as UnitId, mode: "shared" },
    { unit: "hot" as UnitId, mode: "exclusive" },
    { unit: `own/${ticket}` as UnitId, mode: "exclusive" },
    { unit: "list" as UnitId, mode: ticket % 2 === 0 ? "shared" : "exclusive" },
  ];
  for (const [index, owner] of owners.entries()) {
    map.count = 0;
    expect(locks.acquire(owner, wanted(owner), owner.ticket)).toBe(index === 0);
    expect(map.count).toBeLessThan(20);
  }
  for (const [index, owner] of owners.entries()) {
    map.count = 0;
    expect(locks.release(owner).granted).toEqual(index === WAITERS ? [] : [owners[index + 1]]);
    expect(map.count).toBeLessThan(40);
  }
  expect(locks.isEmpty).toBe(true);
});

test("readers that wait for one writer cost a writer behind them no more than once each", () => {
  const READERS = 1_000;
  const map = new CountedMap<never>();
  const locks = new LockTable<Owner>(map);
  const owners = Array.from({ length: READERS + 2 }, (_, index) => ({ name: "", ticket: index }));
  for (const [index, owner] of owners.entries()) ask(locks, owner, index === 0 || index === READERS + 1 ? "X" : "x");
  map.count = 0;
  expect(locks.release(owners[0]!).granted.length).toBe(READERS);
  for (const reader of owners.slice(1, -1)) locks.release(reader);
  expect(locks.exclusiveHolders("x" as UnitId)).toEqual([owners.at(-1)]);
  expect(map.count).toBeLessThan(20 * READERS);
});

// ── The variant that is wrong ────────────────────────────────────────────────────────────────────────────────────────

/** Takes one unit after the other in sorted order, and holds what it has while it waits, as in the paper. */
class PiecewiseLocks {
  readonly #held = new Map<Owner, Access[]>();
  readonly #lines: { readonly owner: Owner; readonly rest: Access[] }[] = [];

  acquire(owner: Owner, wanted: readonly Access[]): boolean {
    this.#lines.push({ owner, rest: wanted.toSorted(byUnit) });
    return this.#advance().includes(owner);
  }

  release(owner: Owner): readonly Owner[] {
    this.#held.delete(owner);
    return this.#advance();
  }

  #advance(): readonly Owner[] {
    const done: Owner[] = [];
    for (const line of this.#lines.slice()) {
      for (let next = line.rest[0]; next !== undefined && this.#isFree(line.owner, next); next = line.rest[0]) {
        line.rest.shift();
        this.#held.set(line.owner, [...(this.#held.get(line.owner) ?? []), next]);
      }
      if (line.rest.length > 0) continue;
      this.#lines.splice(this.#lines.indexOf(line), 1);
      done.push(line.owner);
    }
    return done;
  }

  #isFree(owner: Owner, { unit, mode }: Access): boolean {
    return [...this.#held].every(
      ([each, held]) =>
        each === owner ||
        held.every((access) => (mode === "shared" && access.mode === "shared") || !overlaps(unit, access.unit)),
    );
  }
}

interface AnyLocks {
  readonly acquire: (owner: Owner, wanted: readonly Access[]) => boolean;
  readonly release: (owner: Owner) => readonly Owner[];
}

/** Whether owners still wait when each holder has ended. */
function isStuck({ acquire, release }: AnyLocks, schedule: readonly (readonly Access[])[]): boolean {
  const holding: Owner[] = [];
  for (const [ticket, wanted] of schedule.entries()) {
    const owner = { name: String(ticket), ticket };
    if (acquire(owner, wanted)) holding.push(owner);
  }
  let ended = 0;
  for (let owner = holding.shift(); owner !== undefined; owner = holding.shift()) {
    holding.push(...release(owner));
    ended++;
  }
  return ended < schedule.length;
}

/** How many of so many random schedules get stuck; the seed is fixed. */
function stuckOf(createLocks: () => AnyLocks, units: readonly UnitId[]): number {
  const access = fc.record({ unit: fc.constantFrom(...units), mode: fc.constantFrom(...MODES) });
  const wanted = fc.uniqueArray(access, { minLength: 1, maxLength: 3, selector: ({ unit }) => unit });
  const schedules = fc.sample(fc.array(wanted, { minLength: 3, maxLength: 8 }), { numRuns: 2_000, seed: 1 });
  return schedules.filter((schedule) => isStuck(createLocks(), schedule)).length;
}

test("sorted piecewise acquisition gets stuck as soon as units overlap; tickets never do", () => {
  const piecewise = (): AnyLocks => {
    const locks = new PiecewiseLocks();
    return { acquire: (owner, wanted) => locks.acquire(owner, wanted), release: (owner) => locks.release(owner) };
  };
  const byTicket = (): AnyLocks => {
    const locks = new LockTable<Owner>();
    return {
      acquire: (owner, wanted) => locks.acquire(owner, wanted, owner.ticket),
      release: (owner) => locks.release(owner).granted,
    };
  };
  const [items, spans] = INSTANCES as [Instance, Instance];
  expect(stuckOf(piecewise, items.units)).toBe(0);
  expect(stuckOf(piecewise, spans.units)).toBeGreaterThan(10);
  expect(stuckOf(byTicket, items.units)).toBe(0);
  expect(stuckOf(byTicket, spans.units)).toBe(0);
});

test("two executions that each write into the span that the other one reads don't wait for each other", () => {
  const locks = new LockTable<Owner>();
  const [a, b] = inOrder(2) as [Owner, Owner];
  const span = (lo: string, hi: string): Access => ({
    unit: spanId({ table: "t", kind: "rows", lo, hi }),
    mode: "shared",
  });
  const row = (key: string): Access => ({ unit: unitId("t", key), mode: "exclusive" });
  expect(locks.acquire(a, [span("1", "9"), row("3")], a.ticket)).toBe(true);
  expect(locks.acquire(b, [span("2", "4"), row("5")], b.ticket)).toBe(false);
  expect(names(locks.blockers(b))).toBe("a");
  expect(names(locks.release(a).granted)).toBe("b");
});

test("a span waits for writers inside, those that wait too, and holds no insert of another key off", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c, d, e] = inOrder(5) as [Owner, Owner, Owner, Owner, Owner];
  const page: Access = { unit: spanId({ table: "t", kind: "rows", lo: "b", hi: "d" }), mode: "shared" };
  const row = (key: string): Access => ({ unit: unitId("t", key), mode: "exclusive" });
  expect(locks.acquire(a, [{ ...row("c"), mode: "shared" }], a.ticket)).toBe(true);
  expect(locks.acquire(b, [row("c")], b.ticket)).toBe(false);
  // The writer that waits is in its way.
  expect(locks.acquire(c, [page], c.ticket)).toBe(false);
  expect(locks.acquire(d, [row("d")], d.ticket)).toBe(true);
  expect(locks.acquire(e, [row("b")], e.ticket)).toBe(false);
  expect(names(locks.release(a).granted)).toBe("b");
  expect(names(locks.release(b).granted)).toBe("c");
  expect(locks.exclusiveHolders(page.unit)).toEqual([]);
  expect(names(locks.release(c).granted)).toBe("e");
  expect(locks.exclusiveHolders(page.unit)).toEqual([e]);
  expect(locks.isWantedExclusively(page.unit)).toBe(true);
});
