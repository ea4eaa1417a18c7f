import { expect, test } from "vitest";
import { KeyRing, KeysError, keyIdsOf, parseKeys } from "./keys.ts";

const KEY = "a:00112233445566778899aabbccddeeff";

const HALF = "0f".repeat(32);

test("several keys, in one line or in many", () => {
  const one = parseKeys(`${KEY},b:ffffffffffffffffffffffffffffffff`);
  const many = parseKeys(`# old\n${KEY}\n\n  # next\n b:ffffffffffffffffffffffffffffffff\n`);
  expect(many).toEqual(one);
  expect([...one.locations.keys()]).toEqual(["a", "b"]);
});

test.each([
  ["", /no key/],
  ["# nothing", /no key/],
  ["a", /not hexadecimal/],
  ["a:00", /"a".*shorter/],
  ["a b:00112233445566778899aabbccddeeff", /not id:hex/],
  [`${KEY},a:ed25519:${HALF}`, /"a" is there twice/],
  [`${KEY},b:ed25519:00`, /"b" is neither/],
  [`${KEY},b:ed25519:${HALF}:1`, /"b" is neither/],
  [`${KEY},b:rsa:${HALF}`, /"b" is neither/],
  [`${KEY},b:ed25519-private:${HALF}`, /private half of an administration key/],
  // Nobody would serve.
  [`b:ed25519:${HALF}`, /no key/],
  [`${KEY},${KEY}`, /"a" is there twice/],
])("%j is refused", (text, message) => {
  expect(() => parseKeys(text)).toThrow(KeysError);
  expect(() => parseKeys(text)).toThrow(message);
});

test("no message shows a secret, and the ids of a wrong text are told", () => {
  const secret = "0123456789abcdef0123456789abcdeg";
  expect(() => parseKeys(`a:${secret}`)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(secret) as string }),
  );
  expect(keyIdsOf(`a:${secret},b`)).toEqual(["a", "b"]);
});

test("a ring is as it was last filled", () => {
  const ring = new KeyRing(parseKeys(KEY));
  expect([...ring.current.keys()]).toEqual(["a"]);
  ring.replace(parseKeys(`b:ffffffffffffffffffffffffffffffff\nadmin:ed25519:${HALF}`));
  expect([...ring.current.keys()]).toEqual(["b"]);
  expect(ring.publicHalves).toEqual({ admin: HALF });
  ring.replace(parseKeys("b:ffffffffffffffffffffffffffffffff"));
  expect([[...ring.administration.keys()], ring.publicHalves]).toEqual([[], {}]);
});
