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
  ["a", /Key 1 is neither/],
  ["a:00", /Key 1 is shorter/],
  ["a b:00112233445566778899aabbccddeeff", /Key 1 is neither/],
  [`${KEY},a:ed25519:${HALF}`, /"a" is there twice/],
  [`${KEY},b:ed25519:00`, /Key 2 does not have the 32 bytes/],
  [`${KEY},b:ed25519:${HALF}:1`, /Key 2 is neither/],
  [`${KEY},b:rsa:${HALF}`, /Key 2 is neither/],
  [`${KEY},b:ed25519-private:${HALF}`, /"b" is the private half of an administration key/],
  // Nobody would serve.
  [`b:ed25519:${HALF}`, /no key/],
  [`${KEY},${KEY}`, /"a" is there twice/],
])("%j is refused", (text, message) => {
  expect(() => parseKeys(text)).toThrow(KeysError);
  expect(() => parseKeys(text)).toThrow(message);
});

const SECRET = "0123456789abcdef".repeat(4);

test.each([
  SECRET,
  `${SECRET}:a`,
  `${SECRET}:00`,
  `${SECRET}:${SECRET}`,
  `${SECRET}:ed25519:${HALF}`,
  `${SECRET}:ed25519-private:${HALF}`,
  `a:${SECRET}g`,
  `a:${SECRET}0`,
  `a:ed25519:${SECRET}00`,
  `a:ed25519-private:${SECRET}`,
  `a:${SECRET}:${SECRET}`,
  `a=${SECRET}`,
  "AAECAwQFBgcICQoLDA0ODw",
])("no message and no id shows a secret: %s", (wrong) => {
  const secret = /[0-9a-f]{64}|AAEC\w+/.exec(wrong)![0];
  for (const text of [wrong, `${KEY},${wrong}`]) {
    expect(() => parseKeys(text)).toThrow(KeysError);
    expect(() => parseKeys(text)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) as string }),
    );
    expect(keyIdsOf(text).join()).not.toContain(secret);
  }
});

test("the ids of a wrong text are told, of keys that have their form", () => {
  expect(keyIdsOf(`${KEY},${SECRET},b,c:ed25519:${HALF}`)).toEqual(["a", "c"]);
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
