import { describe, expect, test } from "vitest";
import { check, type Operation } from "./checker.ts";
import { EdgeLocation } from "./edge-location.ts";
import { ModelLocation } from "./location.ts";
import { loadMutant, MUTANTS } from "./mutants.ts";
import type { Applied } from "./primary.ts";
import { simulate } from "./simulate.ts";

const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);
const LOCATIONS = { "the real edge core": EdgeLocation, "locations modelled after the specification": ModelLocation };
/** A wrong variant is caught by one of the first so many seeds. */
const MUTANT_SEEDS = 1_500;

describe.each(Object.entries(LOCATIONS))("the protocol under faults, with %s", (_, location) => {
  test.each(SEEDS)("seed %i, twice with the same trace", (seed) => {
    const first = simulate({ seed, location });
    expect(first.problems).toEqual([]);
    expect(first.answered).toBeGreaterThan(40);
    expect(simulate({ seed, location }).trace).toBe(first.trace);
  });

  test("every path was taken", () => {
    const notes = new Set<string>();
    const fired = new Map<string, number>();
    for (let seed = 1; seed <= 20; seed++) {
      const result = simulate({ seed, location });
      for (const name of result.notes.keys()) notes.add(name);
      for (const [name, count] of Object.entries(result.faults)) fired.set(name, (fired.get(name) ?? 0) + count);
    }
    for (const name of ["crash", "pause", "cut", "takeover", "clock step"]) expect(fired.get(name)).toBeGreaterThan(0);
    for (const name of [
      "valid",
      "stale",
      "own_write",
      "queued_behind",
      "near_storage",
      "joined",
      "stored_outcome",
      "followup_applied",
      "followup_late",
      "followup_lost",
      "re_execution",
      "re_execution_killed",
      "abandoned_intent",
      "contention_round",
      "gate",
      "storage_failed",
    ]) {
      expect(notes).toContain(name);
    }
  });
});

test("handlers in record mode are confirmed from their own runs, and fall back", () => {
  const told = { valid: 0, executed: 0 };
  for (let seed = 1; seed <= 10; seed++) {
    const recorded = new Set<string>();
    for (const line of simulate({ seed, location: EdgeLocation }).tail) {
      const caller = /request op\d+ (?:recorded|watched)\b.* \(t\/.*\) from caller (\d+)/.exec(line)?.[1];
      if (caller !== undefined) recorded.add(caller);
      const [, answered = "", kind] = /answer caller (\d+): (valid|executed)/.exec(line) ?? [];
      if (recorded.has(answered)) told[kind as keyof typeof told]++;
    }
  }
  expect(told.valid).toBeGreaterThan(0);
  expect(told.executed).toBeGreaterThan(0);
});

describe("wrong variants of the protocol are caught", () => {
  test.each(MUTANTS)("$name", { timeout: 120_000 }, async (mutant) => {
    const { core, dispose } = await loadMutant(mutant);
    try {
      const caught = (seed: number): boolean => {
        try {
          const location = seed % 2 === 0 ? EdgeLocation : ModelLocation;
          return simulate({ seed, core, location }).problems.length > 0;
        } catch {
          // An invariant of the core, or of the driver.
          return true;
        }
      };
      let seed = 1;
      while (seed <= MUTANT_SEEDS && !caught(seed)) seed++;
      expect(seed).toBeLessThanOrEqual(MUTANT_SEEDS);
    } finally {
      await dispose();
    }
  });
});

describe("the checker itself", () => {
  const encode = (seen: object): Uint8Array => new TextEncoder().encode(JSON.stringify(seen));
  const operation = (name: string, invokedAt: number, answeredAt: number, seen: object, writes = false): Operation => ({
    name,
    executionId: name as Operation["executionId"],
    invokedAt,
    answeredAt,
    outcome: { kind: "result", value: encode(seen) },
    mustBeApplied: writes,
  });
  const applied = (name: string, commit: number, seen: object, keys: readonly string[]): Applied => ({
    executionId: name as Applied["executionId"],
    commitId: `00000001-00000000000${commit}` as Applied["commitId"],
    outcome: { kind: "result", value: encode(seen) },
    writes: keys.map((key) => ({ unit: `t/${key}` as never, value: new TextEncoder().encode(name) })),
  });

  test("accepts a serial history", () => {
    const history = [operation("w", 1, 2, {}, true), operation("r", 3, 4, { a: "w" })];
    expect(check(history, [applied("w", 1, {}, ["a"])])).toEqual([]);
  });

  test("finds a stale read after an answer", () => {
    const history = [operation("w", 1, 2, {}, true), operation("r", 3, 4, { a: null })];
    expect(check(history, [applied("w", 1, {}, ["a"])])).not.toEqual([]);
  });

  test("finds write skew", () => {
    const history = [operation("v", 1, 3, { a: null }, true), operation("w", 2, 4, { b: null }, true)];
    expect(check(history, [applied("v", 1, { a: null }, ["b"]), applied("w", 2, { b: null }, ["a"])])).not.toEqual([]);
  });

  test("finds a torn read", () => {
    const history = [operation("w", 1, 4, {}, true), operation("r", 2, 3, { a: "w", b: null })];
    expect(check(history, [applied("w", 1, {}, ["a", "b"])])).not.toEqual([]);
  });

  test("finds a lost write, a doubled write and two outcomes of one execution", () => {
    expect(check([operation("w", 1, 2, {}, true)], [])).toEqual(["w was answered, but its writes are lost"]);
    const twice = [applied("w", 1, {}, ["a"]), applied("w", 2, {}, ["a"])];
    expect(check([operation("w", 1, 2, {}, true)], twice)).toContain("execution w was applied twice");
    expect(check([operation("w", 1, 2, { b: null }, true)], [applied("w", 1, {}, ["a"])])).not.toEqual([]);
  });
});
