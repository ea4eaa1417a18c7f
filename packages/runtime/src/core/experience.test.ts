import { unitId, type UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { Experience } from "./experience.ts";

const MINUTE_MS = 60_000;
const hot = unitId("posts", "hot");
const BOUNDS = {
  tables: 2,
  units: 2,
  handlers: 2,
  guessWeight: 0.25,
  staleWeight: 0.25,
  hot: 0.75,
  longWeight: 0.5,
  long: 0.5,
  halfLifeMs: MINUTE_MS,
};

function compare(experience: Experience, unit: UnitId, results: string, atMs = 0): void {
  for (const result of results) experience.compared(unit, result === "s", atMs);
}

test.each([
  ["", null],
  ["ssss", null],
  ["sssss", "hot"],
  // Valid now and then: it is worth a run, until it is stale often enough again.
  ["sssssv", null],
  ["ssssssssssv", null],
  ["ssssssssssvs", "hot"],
  ["svsvsvsvsvsvsvsv", null],
] as const)("staleness after %j: %j", (results, doubt) => {
  const experience = new Experience();
  compare(experience, hot, results);
  expect(experience.doubt("view", [], [unitId("posts", "cold"), hot], 0)).toBe(doubt);
});

test("staleness is forgotten by halves", () => {
  const experience = new Experience();
  compare(experience, hot, "s".repeat(40));
  expect(experience.doubt("view", [], [hot], 0.4 * MINUTE_MS)).toBe("hot");
  expect(experience.doubt("view", [], [hot], 0.5 * MINUTE_MS)).toBeNull();
});

test("of units that were stale longest ago nothing is kept", () => {
  const experience = new Experience(BOUNDS);
  for (const key of ["a", "b", "c"]) compare(experience, unitId("posts", key), "ssssssss");
  const known = ["a", "b", "c"].map((key) => experience.doubt("view", [], [unitId("posts", key)], 0));
  expect(known).toEqual([null, "hot", "hot"]);
});

test("guesses are known by handler, table, and whether the handler writes the unit", () => {
  const experience = new Experience();
  const like = { unit: unitId("likes", "ann first"), written: true };
  for (const right of [false, false]) experience.guessed("like", like, right);
  expect(experience.doubt("like", [{ unit: unitId("likes", "bob second"), written: true }], [], 0)).toBe("guess");
  expect(experience.doubt("like", [{ unit: unitId("posts", "first"), written: true }], [], 0)).toBeNull();
  expect(experience.doubt("unlike", [like], [], 0)).toBeNull();
  // Nothing is known of it, and what is only read is there as a rule.
  expect(experience.doubt("unlike", [{ ...like, written: false }], [], 0)).toBe("guess");
});

test("one unlikely guess is enough to wait", () => {
  const experience = new Experience();
  const insert = { unit: unitId("likes", "ann first"), written: true };
  for (let times = 0; times < 10; times++) experience.guessed("like", insert, true);
  expect(experience.doubt("like", [insert], [], 0)).toBeNull();
  expect(experience.doubt("like", [insert, { unit: unitId("users", "ann"), written: false }], [], 0)).toBe("guess");
});

test("of tables whose guesses were told longest ago nothing is kept", () => {
  const experience = new Experience(BOUNDS);
  const read = (table: string) => ({ unit: unitId(table, "k"), written: true });
  for (const table of ["a", "b", "c"]) experience.guessed("like", read(table), false);
  const doubts = ["a", "b", "c"].map((table) => experience.doubt("like", [read(table)], [], 0));
  expect(doubts).toEqual([null, "guess", "guess"]);
});

test("a handler that uses up the fuel of a speculation time after time is long, for some time", () => {
  const experience = new Experience(BOUNDS);
  experience.ran("sum", true, 0);
  expect(experience.isLong("sum", 1)).toBe(false);
  experience.ran("sum", true, 1);
  expect([experience.isLong("sum", 2), experience.isLong("view", 2)]).toEqual([true, false]);
  expect(experience.isLong("sum", MINUTE_MS)).toBe(false);
  experience.ran("sum", true, MINUTE_MS);
  expect(experience.isLong("sum", MINUTE_MS)).toBe(true);
  experience.ran("sum", false, MINUTE_MS);
  expect(experience.isLong("sum", MINUTE_MS)).toBe(false);
});

test("of handlers that were long longest ago nothing is kept", () => {
  const experience = new Experience(BOUNDS);
  for (const handler of ["a", "b", "c"]) for (let runs = 0; runs < 8; runs++) experience.ran(handler, true, 0);
  expect(["a", "b", "c"].map((handler) => experience.isLong(handler, 0))).toEqual([false, true, true]);
});
