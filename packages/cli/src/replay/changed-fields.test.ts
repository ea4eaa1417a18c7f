import fc from "fast-check";
import { expect, test } from "vitest";
import { changedFields } from "./changed-fields.ts";

const json = JSON.stringify;

test("a field deep in two values has its path", () => {
  const page = (text: string): string => json({ posts: [{ text: "x" }, { text, likes: 1 }], next: null });
  expect(changedFields("result", page("a"), page("b"))).toEqual([
    { path: "result.posts[1].text", was: '"a"', is: '"b"' },
  ]);
});

test("a field that one value lacks is null there", () => {
  expect(changedFields("", '{"a":1,"b":null}', '{"b":null,"c":[2]}')).toEqual([
    { path: "a", was: "1", is: null },
    { path: "c", was: null, is: "[2]" },
  ]);
});

test.each([
  ["the whole value", '"a"', "null", [{ path: "r", was: '"a"', is: "null" }]],
  ["an integer and a float", "2", "2.0", [{ path: "r", was: "2", is: "2.0" }]],
  [
    "digits beyond a double",
    "[9007199254740993]",
    "[9007199254740992]",
    [{ path: "r[0]", was: "9007199254740993", is: "9007199254740992" }],
  ],
  ["a list and an object", '{"a":[]}', '{"a":{}}', [{ path: "r.a", was: "[]", is: "{}" }]],
  [
    "names that are not identifiers",
    '{"a b":1,"x.y":{"[":2}}',
    '{"a b":2,"x.y":{"[":3}}',
    [
      { path: 'r["a b"]', was: "1", is: "2" },
      { path: 'r["x.y"]["["]', was: "2", is: "3" },
    ],
  ],
  ["an element in front", "[1,2,3]", "[0,1,2,3]", [{ path: "r[0]", was: null, is: "0" }]],
  ["an element that goes", "[1,2,3]", "[1,3]", [{ path: "r[1]", was: "2", is: null }]],
  [
    "elements in the middle",
    "[1,2,3,9]",
    "[1,5,9]",
    [
      { path: "r[1]", was: "2", is: "5" },
      { path: "r[2]", was: "3", is: null },
    ],
  ],
  ["an element twice in one list", "[1,1]", "[1,1,1]", [{ path: "r[2]", was: null, is: "1" }]],
])("%s", (_, was, is, expected) => {
  expect(changedFields("r", was, is)).toEqual(expected);
});

test.each([
  ["the bytes of a value", "cbor AA==", "1"],
  ["an item that is deleted", "1", "deleted"],
  ["another order of fields", '{"a":1,"b":2}', '{"b":2,"a":1}'],
])("%s has no paths", (_, was, is) => {
  expect(changedFields("", was, is)).toBeNull();
});

test("the value at each path is the one that is named, and without a path both values are the same", () => {
  const name = fc.constantFrom("a", "b", "c d", "[0]");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(0, 1, "x", null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, value, (was, is) => {
      const fields = changedFields("", json(was), json(is));
      if (fields === null) expect(was).toEqual(is);
      for (const { path, was: before, is: now } of fields ?? []) {
        expect(before).not.toBe(now);
        if (before !== null) expect(json(valueAt(was, path))).toBe(before);
        if (now !== null) expect(json(valueAt(is, path))).toBe(now);
      }
    }),
  );
});

function valueAt(value: unknown, path: string): unknown {
  const names = path.matchAll(/\[(\d+|"(?:[^"\\]|\\.)*")\]|([A-Za-z_$][\w$]*)/g);
  return [...names].reduce<unknown>(
    (held, [, bracketed, name]) =>
      (held as Readonly<Record<string, unknown>>)[name ?? (JSON.parse(bracketed!) as string)],
    value,
  );
}
