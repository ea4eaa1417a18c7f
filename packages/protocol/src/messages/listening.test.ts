/** Golden lines stay in the tree, and must decode forever. */
import { describe, expect, test } from "vitest";
import { commitId, sessionId, unitId } from "../ids.ts";
import { MalformedError } from "../malformed-error.ts";
import { BASE64, heard, heardReplies, hint, lines } from "../testing/messages.ts";
import { entryOf } from "../version.ts";
import {
  checkHeard,
  checkListeningQuestion,
  decodeHeardReply,
  decodeLine,
  encodeHeard,
  encodeHeardReply,
  encodeLine,
} from "./listening.ts";

const GOLDEN_HINT =
  '[["users/ann","00000003-00000000004d","cfda230602136f95","Y2FiYw=="],["users/bob","00000003-00000000004d",null,null],["posts/a \\"key\\" €","00000003-00000000004d","52313586d18910ff","AP7/"]]\n';

const UNIT = unitId("notes", "a");
const { version } = entryOf(commitId(1, 1), Uint8Array.of(7));
const { commitId: id, hash } = version;
const WHOLE = { unit: UNIT, entry: { version, value: Uint8Array.of(7) } };
const whole = [UNIT, id, hash, "Bw=="];

const GOLDEN_LINES = [
  '["session","3.17",4]\n',
  '["lease",5,[["users/ann","00000003-00000000004d","cfda230602136f95"],["users/bob","00000003-00000000004d",null]]]\n',
  '["revoke",6,["users/ann","posts/a \\"key\\" €"]]\n',
  '["changed",7,["users/bob"]]\n',
];
const GOLDEN_HEARD = '{"session":"3.17","n":7,"served":[["users/ann",12],["posts/a \\"key\\" €",0]]}';
const GOLDEN_HEARD_REPLIES = ['{"until":93000.25,"now":90000.25}', '{"lapsed":true}'];

test("golden line of a hint", () => {
  expect(encodeLine(hint, BASE64)).toBe(GOLDEN_HINT);
  expect(decodeLine(GOLDEN_HINT, BASE64)).toEqual(hint);
});

test("golden lines of a session", () => {
  expect(lines.map((line) => encodeLine(line, BASE64))).toEqual(GOLDEN_LINES);
  expect(GOLDEN_LINES.map((text) => decodeLine(text, BASE64))).toEqual(lines);
});

test("golden text of heard and its answers", () => {
  expect(encodeHeard(heard)).toBe(GOLDEN_HEARD);
  expect(checkHeard(JSON.parse(GOLDEN_HEARD) as Record<string, unknown>)).toEqual(heard);
  expect(heardReplies.map(encodeHeardReply)).toEqual(GOLDEN_HEARD_REPLIES);
  expect(GOLDEN_HEARD_REPLIES.map(decodeHeardReply)).toEqual(heardReplies);
});

describe("a line", () => {
  test("that is none, or of a kind that is not known, is null", () => {
    for (const line of ["", "\n", "[", "{}", "null", "7", '"hint"', '["later",1,[]]', '["lease"]'])
      expect(decodeLine(line, BASE64)).toBeNull();
  });

  test("without anything whole is a hint of nothing", () => {
    for (const line of ["[]", "[null]", "[[]]", "[1]"])
      expect(decodeLine(line, BASE64)).toEqual({ kind: "hint", entries: [] });
  });

  test.each([
    ["no unit", [1, id, hash, "Bw=="]],
    ["a unit that is none", ["notes", id, hash, "Bw=="]],
    ["no commit id", [UNIT, "soon", hash, "Bw=="]],
    ["no hash", [UNIT, id, "hash", "Bw=="]],
    ["a value without a hash", [UNIT, id, null, "Bw=="]],
    ["a hash without a value", [UNIT, id, hash, null]],
    ["another value than of its hash", [UNIT, id, hash, "Cw=="]],
    ["a value that is not base 64", [UNIT, id, hash, "%"]],
  ])("passes over an entry with %s, and takes the others", (_what, damaged) => {
    expect(decodeLine(JSON.stringify([damaged, whole]), BASE64)).toEqual({ kind: "hint", entries: [WHOLE] });
  });

  test("may have entries with fields that a later sender has added", () => {
    expect(decodeLine(JSON.stringify([[...whole, "more"]]), BASE64)).toEqual({ kind: "hint", entries: [WHOLE] });
  });

  test("says absent of a unit that was deleted", () => {
    const line = decodeLine(JSON.stringify([[UNIT, id, null, null]]), BASE64);
    expect(line).toEqual({ kind: "hint", entries: [{ unit: UNIT, entry: entryOf(id, null) }] });
  });
});

describe("a numbered line with anything damaged is null, so its number is missing", () => {
  test.each([
    ["a session whose id is none", ["session", "3", 4]],
    ["a session without a number", ["session", "3.17"]],
    ["a lease without a number", ["lease", [UNIT]]],
    ["a lease of no list", ["lease", 5, "all"]],
    ["a leased unit that is none", ["lease", 5, [whole.slice(0, 3), ["notes", id, null]]]],
    ["a leased unit without a version", ["lease", 5, [[UNIT, id]]]],
    ["a leased unit with a version that is none", ["lease", 5, [[UNIT, "soon", null]]]],
    ["a leased unit with a hash that is none", ["lease", 5, [[UNIT, id, "hash"]]]],
    ["a number below 0", ["revoke", -1, [UNIT]]],
    ["a number that is none", ["revoke", "1", [UNIT]]],
    ["a unit to revoke that is none", ["revoke", 6, [UNIT, "notes"]]],
    ["a changed unit that is none", ["changed", 6, [7]]],
  ])("%s", (_what, line) => {
    expect(decodeLine(JSON.stringify(line), BASE64)).toBeNull();
  });

  test("but fields that a later sender has added are passed over", () => {
    const later = ["lease", 5, [[UNIT, id, hash, "more"]], "more"];
    expect(decodeLine(JSON.stringify(later), BASE64)).toEqual({
      kind: "lease",
      n: 5,
      units: [{ unit: UNIT, version }],
    });
  });
});

test("a message of heard has a session, a number, and reads of units", () => {
  const session = sessionId(3, 17);
  expect(checkHeard({ session, n: 0 })).toEqual({ session, n: 0, served: [] });
  for (const wrong of [
    { n: 1 },
    { session: "3", n: 1 },
    { session },
    { session, n: 1.5 },
    { session, n: 1, served: 7 },
    { session, n: 1, served: [UNIT] },
    { session, n: 1, served: [["notes", 1]] },
    { session, n: 1, served: [[UNIT, -1]] },
    { session, n: 1, served: Array.from({ length: 10_001 }, () => [UNIT, 1]) },
  ])
    expect(() => checkHeard(wrong)).toThrow(MalformedError);
});

test("an answer to heard that is none is null", () => {
  for (const text of ["", "null", "[]", "{}", '{"until":1}', '{"until":1,"now":"2"}', '{"lapsed":1}'])
    expect(decodeHeardReply(text)).toBeNull();
});

test("a question names its location and its listener", () => {
  const asked = { location: "VA", listener: "one" };
  expect(checkListeningQuestion({ ...asked, more: 1 })).toEqual({
    ...asked,
    session: undefined,
    heard: 0,
    ends: null,
  });
  const session = sessionId(3, 17);
  const goesOn = { ...asked, session, heard: 7, ends: sessionId(3, 16) };
  expect(checkListeningQuestion(goesOn)).toEqual(goesOn);
  const begins = { ...asked, session: null, heard: 0, ends: null };
  expect(checkListeningQuestion(JSON.parse(JSON.stringify(begins)) as typeof begins)).toEqual(begins);
  for (const wrong of [
    {},
    { location: "VA" },
    { location: "", listener: "one" },
    { location: 1, listener: "one" },
    { location: "VA", listener: "x".repeat(257) },
    { ...asked, session: 3 },
    { ...asked, session: "3" },
    { ...asked, session, heard: -1 },
    { ...asked, session, ends: "3.x" },
  ])
    expect(() => checkListeningQuestion(wrong)).toThrow(MalformedError);
});
