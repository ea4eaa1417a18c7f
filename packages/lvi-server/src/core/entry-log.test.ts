import { commitId, type Entry, entryOf, type UnitId, type Version } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EntryLog } from "./entry-log.ts";

const entry: fc.Arbitrary<Entry> = fc
  .record({
    epoch: fc.nat(0xffff_ffff),
    sequence: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    value: fc.option(fc.uint8Array({ maxLength: 40 }), { nil: null }),
  })
  .map(({ epoch, sequence, value }) => entryOf(commitId(epoch, sequence), value));

/** Few units, so that they are met again; of one byte and of two bytes a character, and long ones. */
const unit = fc
  .oneof(
    fc.nat(30).map((key) => `t/${key}`),
    fc.nat(5).map((key) => `t/ключ-${key}-🔑`),
    fc.nat(3).map((key) => `t/${"k".repeat(500)}${key}`),
    fc.nat(5).map((key) => `t/\u00e9${key}`),
  )
  .map((text) => text as UnitId);

type Action =
  | { readonly kind: "put"; readonly unit: UnitId; readonly entry: Entry }
  | { readonly kind: "look"; readonly unit: UnitId; readonly other: Entry }
  | { readonly kind: "shrink" };

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("put" as const), unit, entry }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("look" as const), unit, other: entry }) },
  { weight: 1, arbitrary: fc.constant({ kind: "shrink" as const }) },
);

/** Each part of a version is a part of what is compared. */
function variantsOf({ commitId: commit, hash }: Version, other: Version): readonly Version[] {
  return [
    { commitId: other.commitId, hash },
    { commitId: commit, hash: other.hash },
    { commitId: commit, hash: null },
  ];
}

function isSame(a: Version, b: Version): boolean {
  return a.hash === null || b.hash === null ? a.hash === b.hash : a.commitId === b.commitId && a.hash === b.hash;
}

function check(log: EntryLog, model: ReadonlyMap<UnitId, Entry>, of: UnitId, other: Entry): boolean {
  const known = model.get(of);
  const isThere = log.has(of);
  const got = log.get(of);
  expect(got !== undefined).toBe(isThere);
  if (!isThere || known === undefined) {
    expect(got).toBeUndefined();
    expect(log.holds(of, other.version)).toBe(false);
    return isThere;
  }
  expect(got).toEqual(known);
  expect(log.holds(of, known.version)).toBe(true);
  for (const version of variantsOf(known.version, other.version))
    expect(log.holds(of, version)).toBe(isSame(version, known.version));
  return true;
}

/** A replaced version is held no more, also if it was asked for just before, and with the very same object. */
function checkReplaced(log: EntryLog, before: Version | undefined, put: Action & { kind: "put" }): void {
  if (before !== undefined) expect(log.holds(put.unit, before)).toBe(log.has(put.unit));
  log.put(put.unit, put.entry);
  if (before !== undefined) expect(log.holds(put.unit, before)).toBe(isSame(before, put.entry.version));
}

function run(log: EntryLog, actions: readonly Action[], maxBytes: number): Map<UnitId, Entry> {
  const model = new Map<UnitId, Entry>();
  for (const one of actions) {
    switch (one.kind) {
      case "put":
        checkReplaced(log, model.get(one.unit)?.version, one);
        model.set(one.unit, one.entry);
        // Until it is shrunk, what was put is there.
        expect(log.has(one.unit)).toBe(true);
        break;
      case "look":
        check(log, model, one.unit, one.other);
        break;
      case "shrink":
        log.shrink();
        if (maxBytes > 0) expect(log.bytes).toBeLessThanOrEqual(Math.max(maxBytes, 16 * 8 * 16));
        for (const [known, { version }] of model) {
          if (log.has(known)) continue;
          expect(log.holds(known, version)).toBe(false);
          model.delete(known);
        }
    }
    expect(log.size).toBe([...model.keys()].filter((known) => log.has(known)).length);
  }
  return model;
}

describe("an entry log", () => {
  test("property: without a bound it is a map", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 300 }), fc.nat(), entry, (actions, seed, other) => {
        const log = new EntryLog(Number.POSITIVE_INFINITY, seed);
        const put = new Set(actions.flatMap((one) => (one.kind === "put" ? [one.unit] : [])));
        const model = run(log, actions, Number.POSITIVE_INFINITY);
        expect(log.size).toBe(put.size);
        for (const known of put) expect(check(log, model, known, other)).toBe(true);
      }),
    );
  });

  test("property: within a bound, what it still has is what a map has", () => {
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 300 }),
        fc.constantFrom(0, 500, 3_000, 20_000),
        fc.nat(),
        entry,
        (actions, maxBytes, seed, other) => {
          const log = new EntryLog(maxBytes, seed);
          const model = run(log, actions, maxBytes);
          log.shrink();
          for (const known of model.keys()) check(log, model, known, other);
        },
      ),
    );
  });

  test("with no room it is empty after each step", () => {
    const log = new EntryLog(0, 1);
    log.put("t/a" as UnitId, entryOf(commitId(1, 1), Uint8Array.of(1)));
    expect(log.size).toBe(1);
    log.shrink();
    expect(log.size).toBe(0);
  });

  test("what is used stays, however much else comes and goes", () => {
    const log = new EntryLog(50_000, 1);
    const hot = Array.from({ length: 50 }, (_, index) => `hot/${index}` as UnitId);
    const value = entryOf(commitId(1, 1), new Uint8Array(32));
    for (const one of hot) log.put(one, value);
    for (let index = 0; index < 10_000; index++) {
      log.put(`cold/${index}` as UnitId, value);
      if (!hot.every((one) => log.holds(one, value.version))) throw new Error(`lost after ${index} others`);
      log.shrink();
      if (log.bytes > 50_000) throw new Error(`${log.bytes} bytes after ${index} others`);
    }
    expect(log.size).toBeGreaterThan(hot.length);
  });

  test("a unit that is written again and again with values of other sizes takes no more and more memory", () => {
    const log = new EntryLog(Number.POSITIVE_INFINITY, 1);
    const fixed = Array.from({ length: 100 }, (_, index) => `fixed/${index}` as UnitId);
    for (const one of fixed) log.put(one, entryOf(commitId(1, 1), new Uint8Array(1_000)));
    for (let index = 0; index < 50_000; index++) {
      log.put("t/counter" as UnitId, entryOf(commitId(2, index), new Uint8Array(index % 997)));
      log.shrink();
    }
    // A segment that is being filled, and dead records of another.
    expect(log.bytes).toBeLessThan(4 * 2 ** 20);
    for (const one of fixed) expect(log.get(one)?.value?.length).toBe(1_000);
    expect(log.get("t/counter" as UnitId)).toEqual(entryOf(commitId(2, 49_999), new Uint8Array(49_999 % 997)));
  });

  test("a value that was handed out does not change with the unit", () => {
    const log = new EntryLog(Number.POSITIVE_INFINITY, 1);
    log.put("t/a" as UnitId, entryOf(commitId(1, 1), Uint8Array.of(1)));
    const before = log.get("t/a" as UnitId)!;
    log.put("t/a" as UnitId, entryOf(commitId(1, 2), Uint8Array.of(2)));
    expect(before).toEqual(entryOf(commitId(1, 1), Uint8Array.of(1)));
  });

  test("a value larger than a segment", () => {
    const log = new EntryLog(100_000, 1);
    const large = entryOf(commitId(1, 1), new Uint8Array(60_000).fill(3));
    log.put("t/large" as UnitId, large);
    log.put("t/small" as UnitId, entryOf(commitId(1, 1), Uint8Array.of(1)));
    log.shrink();
    expect(log.get("t/large" as UnitId)).toEqual(large);
  });
});
