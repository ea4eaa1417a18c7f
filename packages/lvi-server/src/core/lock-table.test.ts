import type { UnitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LockMode, type LockRequest, LockTable } from "./lock-table.ts";

interface Owner {
  readonly name: string;
}

const owner = (name: string): Owner => ({ name });
/** `x` shared, `X` exclusive. */
const requests = (text: string): LockRequest[] =>
  text.split("").map((letter) => ({
    unit: letter.toLowerCase() as UnitId,
    mode: letter === letter.toLowerCase() ? "shared" : "exclusive",
  }));
const names = (owners: readonly Owner[]): string => owners.map(({ name }) => name).join("");

test("shared locks go together, an exclusive one alone, first come first served", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map(owner) as [Owner, Owner, Owner, Owner];
  expect(locks.acquire(a, requests("x"))).toBe(true);
  expect(locks.acquire(b, requests("x"))).toBe(true);
  expect(locks.acquire(c, requests("X"))).toBe(false);
  // A reader that came after a waiting writer waits behind it.
  expect(locks.acquire(d, requests("x"))).toBe(false);
  expect(names(locks.blockers(c))).toBe("ab");
  expect(locks.isContended(a)).toBe(true);
  expect(names(locks.release(a).granted)).toBe("");
  expect(names(locks.release(b).granted)).toBe("c");
  expect(locks.exclusiveHolders("x" as UnitId)).toEqual([c]);
  expect(names(locks.release(c).granted)).toBe("d");
  locks.release(d);
  expect(locks.isEmpty).toBe(true);
});

test("an owner holds what it has while it waits for the next unit, and says so when it moves on", () => {
  const locks = new LockTable<Owner>();
  const [a, b, c] = ["a", "b", "c"].map(owner) as [Owner, Owner, Owner];
  locks.acquire(a, requests("X"));
  locks.acquire(b, requests("Y"));
  expect(locks.acquire(c, requests("XY"))).toBe(false);
  const released = locks.release(a);
  expect([names(released.granted), names(released.advanced)]).toEqual(["", "c"]);
  expect(names(locks.blockers(c))).toBe("b");
  expect(names(locks.release(b).granted)).toBe("c");
});

test("taking more is all or nothing, never waits, and upgrades", () => {
  const locks = new LockTable<Owner>();
  const [a, b] = ["a", "b"].map(owner) as [Owner, Owner];
  locks.acquire(a, requests("x"));
  locks.acquire(b, requests("xz"));
  expect(locks.tryAcquire(a, requests("yZ"))).toBe(false);
  expect(locks.modeOf(a, "y" as UnitId)).toBe(undefined);
  expect(locks.tryAcquire(a, requests("X"))).toBe(false);
  locks.release(b);
  expect(locks.tryAcquire(a, requests("XYZ"))).toBe(true);
  expect(locks.modeOf(a, "x" as UnitId)).toBe("exclusive");
});

test("a watcher is told once and then watches nothing", () => {
  const locks = new LockTable<Owner>();
  const [a, b, w] = ["a", "b", "w"].map(owner) as [Owner, Owner, Owner];
  locks.acquire(a, requests("X"));
  locks.acquire(b, requests("Y"));
  locks.watch(w, ["x" as UnitId, "y" as UnitId]);
  expect(names(locks.release(a).notified)).toBe("w");
  expect(names(locks.release(b).notified)).toBe("");
  expect(locks.isEmpty).toBe(true);
});

test("property: no conflict is ever held, nobody waits for free units, everybody is served, nothing is left", () => {
  const action = fc.record({
    kind: fc.constantFrom("acquire", "release", "more", "watch"),
    owner: fc.nat(7),
    units: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 }),
    modes: fc.array(fc.constantFrom<LockMode>("shared", "exclusive"), { minLength: 4, maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const locks = new LockTable<Owner>();
      const owners = Array.from({ length: 8 }, (_, index) => owner(String(index)));
      const states = new Map<Owner, "idle" | "waiting" | "holding">(owners.map((each) => [each, "idle"]));
      const release = (each: Owner): void => {
        states.set(each, "idle");
        for (const granted of locks.release(each).granted) {
          expect(states.get(granted)).toBe("waiting");
          states.set(granted, "holding");
        }
      };
      const checkHeld = (): void => {
        for (const unit of ["a", "b", "c", "d"] as UnitId[]) {
          const held = owners.map((each) => locks.modeOf(each, unit)).filter((mode) => mode !== undefined);
          expect(held.length <= 1 || held.every((mode) => mode === "shared")).toBe(true);
        }
        for (const [each, state] of states)
          if (state === "waiting") expect(locks.blockers(each).length).toBeGreaterThan(0);
      };
      for (const { kind, owner: index, units, modes } of actions) {
        const each = owners[index]!;
        const wanted = units.toSorted().map((unit, at) => ({ unit: unit as UnitId, mode: modes[at]! }));
        if (kind === "release") release(each);
        else if (kind === "acquire" && states.get(each) === "idle") {
          locks.release(each);
          states.set(each, locks.acquire(each, wanted) ? "holding" : "waiting");
        } else if (kind === "more" && states.get(each) === "holding") locks.tryAcquire(each, wanted);
        else if (kind === "watch" && states.get(each) === "idle") locks.watch(each, units as UnitId[]);
        checkHeld();
      }
      // Holders end one after the other; in sorted order nobody can wait for ever.
      for (let holder = owners.find((each) => states.get(each) === "holding"); holder !== undefined;) {
        release(holder);
        checkHeld();
        holder = owners.find((each) => states.get(each) === "holding");
      }
      expect([...states.values()].every((state) => state === "idle")).toBe(true);
      for (const each of owners) locks.release(each);
      expect(locks.isEmpty).toBe(true);
    }),
  );
});
