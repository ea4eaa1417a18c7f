import { expect, test } from "vitest";
import { contentHash } from "./content-hash.ts";
import { encodeUtf8 } from "./text.ts";

// First 64 bits of MurmurHash3_x86_128 with seed 0, from an independent implementation.
test.each([
  ["", "0000000000000000"],
  ["a", "a794933c5556b01b"],
  ["hello", "2b2444a0db91def7"],
  ["The quick brown fox jumps over the lazy dog", "2f1583c3ecee2c67"],
  ["\x07".repeat(31), "dc7f971672007354"],
])("hash of %j", (text, expected) => {
  expect(contentHash(encodeUtf8(text))).toBe(expected);
});

test("every length of the tail changes the hash", () => {
  const seen = new Set<string>();
  for (let length = 0; length <= 64; length++) seen.add(contentHash(new Uint8Array(length).fill(7)));
  expect(seen.size).toBe(65);
});
