import { expect, test } from "vitest";
import { closest } from "./closest.ts";

test.each([
  ["opne", ["open", "closed"], "open"],
  ["Open", ["open", "closed"], "open"],
  ["clsd", ["open", "closed"], null],
  ["closd", ["open", "closed"], "closed"],
  ["pending", ["open", "closed"], null],
  ["friend", ["friends", "fiend"], null],
  ["friend", ["friends", "follow"], "friends"],
  ["recommned", ["recommend", "register"], "recommend"],
  ["on", ["in", "of"], null],
  ["open", ["open"], null],
])("%s of %j: %s", (word, known, expected) => {
  expect(closest(word, known)).toBe(expected);
});
