import { expect, test } from "vitest";
import { KeyRing, KeysError, keyIdsOf, parseKeys } from "./keys.ts";

const KEY = "a:00112233445566778899aabbccddeeff";

test("several keys, in one line or in many", () => {
  const one = parseKeys(`${KEY},b:ffffffffffffffffffffffffffffffff`);
  const many = parseKeys(`# old\n${KEY}\n\n  # next\n b:ffffffffffffffffffffffffffffffff\n`);
  expect(many).toEqual(one);
  expect([...one.keys()]).toEqual(["a", "b"]);
});

test.each([
  ["", /no key/],
  ["# nothing", /no key/],
  ["a", /not hexadecimal/],
  ["a:00", /"a".*shorter/],
  ["a b:00112233445566778899aabbccddeeff", /not id:hex/],
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
  ring.replace(parseKeys("b:ffffffffffffffffffffffffffffffff"));
  expect([...ring.current.keys()]).toEqual(["b"]);
});
