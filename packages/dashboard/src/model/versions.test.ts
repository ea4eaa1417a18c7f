import type { CommitId, ShownVersion } from "@radical/protocol";
import { expect, test } from "vitest";
import { ageWords, standingOf } from "./versions.ts";

const version = (sequence: number | null, isThere = true): ShownVersion => ({
  commit: sequence === null ? null : (`00000001-${String(sequence).padStart(12, "0")}` as CommitId),
  isThere,
  writtenAtMs: null,
});

test("a version is equal to the primary's, behind it, or ahead of it", () => {
  expect(standingOf(version(7), version(7))).toBe("equal");
  expect(standingOf(version(6), version(7))).toBe("behind");
  expect(standingOf(version(8), version(7))).toBe("ahead");
});

test("an absence that is cached is a version too", () => {
  expect(standingOf(version(6, false), version(7))).toBe("behind");
  expect(standingOf(version(8, false), version(7))).toBe("ahead");
  // The primary keeps no version of what is absent.
  expect(standingOf(version(6, false), version(null, false))).toBe("equal");
  expect(standingOf(version(6), version(null, false))).toBe("other");
  // Of one commit, one side says that the item is there: a cache may be garbled.
  expect(standingOf(version(7, false), version(7))).toBe("other");
});

test("an age is told in the largest unit that fits", () => {
  expect([null, 99_500, 88_000, 40_000, 100_500].map((atMs) => ageWords(atMs, 100_000))).toEqual([
    null,
    "just now",
    "12 s ago",
    "1 min ago",
    "just now",
  ]);
  expect(ageWords(0, 7_300_000)).toBe("2 h ago");
});
