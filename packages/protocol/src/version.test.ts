import { expect, test } from "vitest";
import { commitId } from "./ids.ts";
import { entryOf, isIntact, sameVersion } from "./version.ts";

const value = Uint8Array.of(1, 2, 3);
const first = commitId(1, 1);
const second = commitId(1, 2);

test("a version is a commit id bound to its content", () => {
  expect(sameVersion(entryOf(first, value).version, entryOf(first, value).version)).toBe(true);
  expect(sameVersion(entryOf(first, value).version, entryOf(second, value).version)).toBe(false);
  expect(sameVersion(entryOf(first, value).version, entryOf(first, Uint8Array.of(9)).version)).toBe(false);
});

test("absent is absent, as of whichever commit", () => {
  expect(sameVersion(entryOf(first, null).version, entryOf(second, null).version)).toBe(true);
  expect(sameVersion(entryOf(first, null).version, entryOf(first, value).version)).toBe(false);
});

test("an entry whose bytes changed is not intact", () => {
  const entry = entryOf(first, value);
  expect(isIntact(entry)).toBe(true);
  expect(isIntact({ ...entry, value: Uint8Array.of(1, 2, 4) })).toBe(false);
  expect(isIntact({ ...entry, value: null })).toBe(false);
  expect(isIntact(entryOf(first, null))).toBe(true);
});
