/** Items and entries are compared while others write: what differs is found, and nothing else is. */
import { CborWriter, compareKeys, indexOf, type Key, present, splitUnit, type UnitId, unitId } from "@radical/protocol";
import { Random } from "@radical/history";
import { describe, expect, test } from "vitest";
import { type Checked, checkIndex, type CheckPorts, type Difference } from "./check-index.ts";

const INDEX = present(indexOf("users.name"), "an index");
const UNIQUE = present(indexOf("users=name"), "a unique index");
const PAGE = 3;

const named = (name: string): Uint8Array => new CborWriter().map(1).text("name").text(name).finish();
const owner = (key: string): Uint8Array => new CborWriter().text(key).finish();
const item = (key: string): UnitId => unitId("users", key);
const entry = (key: string): UnitId => unitId(INDEX.name, key);
const unique = (key: string): UnitId => unitId(UNIQUE.name, key);

class Stored {
  readonly #values: Map<UnitId, Uint8Array>;
  /** Called before each execution. */
  meanwhile: () => void = () => undefined;
  readonly told: Difference[] = [];

  constructor(values: Readonly<Record<UnitId, Uint8Array>>) {
    this.#values = new Map(Object.entries(values) as [UnitId, Uint8Array][]);
  }

  set(unit: UnitId, value: Uint8Array | null): void {
    if (value === null) this.#values.delete(unit);
    else this.#values.set(unit, value);
  }

  get(unit: UnitId): Uint8Array | null {
    return this.#values.get(unit) ?? null;
  }

  get units(): readonly UnitId[] {
    return [...this.#values.keys()].toSorted(compareKeys);
  }

  #execution<T>(run: () => T): Promise<T> {
    this.meanwhile();
    return Promise.resolve(run());
  }

  readonly ports: CheckPorts = {
    rows: (table, from) =>
      this.#execution(() => {
        const rows = this.units
          .map((unit) => ({ ...splitUnit(unit), value: this.#values.get(unit)! }))
          .filter((row) => row.table === table && compareKeys(row.key, from as Key) >= 0)
          .map(({ key, value }) => ({ key, value }));
        return { rows: rows.slice(0, PAGE), isLast: rows.length <= PAGE };
      }),
    read: (units) => this.#execution(() => new Map(units.map((unit) => [unit, this.get(unit)]))),
    correct: (corrections) =>
      this.#execution(() =>
        corrections.map((correction) => {
          const isSame = [correction.item, correction.entry].every(
            ({ unit, value }) => String(this.get(unit)) === String(value),
          );
          if (isSame) this.set(correction.entry.unit, correction.becomes);
          return isSame;
        }),
      ),
    told: (difference) => this.told.push(difference),
    progress: () => undefined,
  };

  check(index = INDEX, isCorrecting = false): Promise<Checked> {
    return checkIndex(index, this.ports, isCorrecting, new AbortController().signal);
  }
}

describe("items that nobody changes", () => {
  test("nothing differs", async () => {
    const stored = new Stored({
      [item("a")]: named("ann"),
      [item("b")]: named("bob"),
      [item("c")]: new CborWriter().map(0).finish(),
      [entry("ann\0a")]: owner("a"),
      [entry("bob\0b")]: owner("b"),
    });
    expect(await stored.check()).toEqual({ items: 3, entries: 2, differences: 0, corrected: 0 });
  });

  const broken = (): Stored =>
    new Stored({
      [item("a")]: named("ann"),
      [item("b")]: named("bob"),
      [item("c")]: named("cleo"),
      [item("d")]: named("x".repeat(1100)),
      [item("e")]: named("eve"),
      // Of an item that has another name, of none, of nothing, and of another key.
      [entry("ben\0b")]: owner("b"),
      [entry("zoe\0z")]: owner("z"),
      [entry("cleo\0c")]: named("no owner"),
      [entry("eve\0e")]: owner("a"),
    });

  test("each difference is told once for the item and once for the entry", async () => {
    const stored = broken();
    const { differences, corrected } = await stored.check();
    expect(stored.told.map(({ kind, key, entry: at }) => [kind, key, at.slice(0, 8)])).toEqual([
      ["extra", "b", "ben\0b"],
      ["extra", null, "cleo\0c"],
      ["extra", "a", "eve\0e"],
      ["extra", "z", "zoe\0z"],
      ["missing", "a", "ann\0a"],
      ["missing", "b", "bob\0b"],
      ["missing", "c", "cleo\0c"],
      ["too-long", "d", "x".repeat(8)],
      ["missing", "e", "eve\0e"],
    ]);
    expect([differences, corrected]).toEqual([9, 0]);
  });

  test("all but what only its owner can correct is corrected", async () => {
    const stored = broken();
    const { differences, corrected } = await stored.check(INDEX, true);
    expect(differences - corrected).toBe(1);
    const again = await stored.check();
    expect(again).toMatchObject({ entries: 4, differences: 1 });
    expect(stored.told.at(-1)).toMatchObject({ kind: "too-long", key: "d" });
  });

  test("of two items with the same fields, the one without the entry is told with the other", async () => {
    const stored = new Stored({
      [item("a")]: named("ann"),
      [item("b")]: named("ann"),
      [unique("ann\0")]: owner("b"),
    });
    expect(await stored.check(UNIQUE, true)).toMatchObject({ differences: 1, corrected: 0 });
    expect(stored.told).toMatchObject([{ kind: "duplicate", key: "a", other: "b" }]);
  });

  test("an entry of a unique index goes from an item that lacks the fields to the one that has them", async () => {
    const stored = new Stored({ [item("a")]: named("ann"), [item("b")]: named("bob"), [unique("ann\0")]: owner("b") });
    expect(await stored.check(UNIQUE, true)).toMatchObject({ differences: 3, corrected: 3 });
    expect(stored.units).toEqual([item("a"), item("b"), unique("ann\0"), unique("bob\0")].toSorted(compareKeys));
    expect(stored.get(unique("ann\0"))).toEqual(owner("a"));
  });
});

test.each([INDEX, UNIQUE])(
  "others write $name between any two executions: nothing is told, and nothing is changed",
  async (index) => {
    for (let seed = 0; seed < 200; seed++) {
      const random = new Random(seed);
      const stored = new Stored({});
      const keys = ["a", "b", "c", "d", "e", "f", "g"];
      const entryKey = (name: string, key: string): UnitId =>
        unitId(index.name, index.unique ? `${name}\0` : `${name}\0${key}`);
      const names = new Map<string, string>();
      /** One transaction of a build that keeps the index. */
      const put = (key: string, name: string | null): void => {
        if (index.unique && [...names].some(([other, taken]) => other !== key && taken === name)) return;
        const before = names.get(key);
        if (before !== undefined) stored.set(entryKey(before, key), null);
        stored.set(item(key), name === null ? null : named(name));
        if (name === null) names.delete(key);
        else {
          names.set(key, name);
          stored.set(entryKey(name, key), owner(key));
        }
      };
      const write = (): void => {
        const key = random.pick(keys);
        put(key, random.chance(0.2) ? null : `n${random.below(9)}`);
      };
      for (let n = 0; n < 10; n++) write();
      let writes = 60;
      stored.meanwhile = () => {
        for (let n = random.below(4); n > 0 && writes-- > 0; n--) write();
      };
      expect(await stored.check(index, seed % 2 === 0), `seed ${seed}`).toMatchObject({ differences: 0 });
      const wanted = [...names].flatMap(([key, name]) => [item(key), entryKey(name, key)]).toSorted(compareKeys);
      expect(stored.units).toEqual(wanted);
    }
  },
);

test("a wrong entry is found and corrected while others write", async () => {
  for (let seed = 0; seed < 100; seed++) {
    const random = new Random(seed);
    const stored = new Stored({});
    for (const key of ["a", "b", "c", "d", "e"]) {
      stored.set(item(key), named(`n${key}`));
      if (key !== "c") stored.set(entry(`n${key}\0${key}`), owner(key));
    }
    stored.set(entry("old\0d"), owner("d"));
    let name = "na";
    let writes = 40;
    stored.meanwhile = () => {
      if (writes-- < 0) return;
      stored.set(entry(`${name}\0a`), null);
      name = `n${random.below(5)}`;
      stored.set(item("a"), named(name));
      stored.set(entry(`${name}\0a`), owner("a"));
    };
    expect(await stored.check(INDEX, true), `seed ${seed}`).toMatchObject({ differences: 2, corrected: 2 });
    stored.meanwhile = () => undefined;
    expect(await stored.check(), `seed ${seed}`).toMatchObject({ differences: 0 });
  }
});

test("it ends behind an execution when it is told to", async () => {
  const stored = new Stored({ [item("a")]: named("ann"), [entry("ann\0a")]: owner("a") });
  const stop = new AbortController();
  stored.meanwhile = () => stop.abort();
  const done = await checkIndex(INDEX, stored.ports, false, stop.signal);
  expect(done).toMatchObject({ items: 0, differences: 0 });
});
