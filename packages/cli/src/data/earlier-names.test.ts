import type { Field, StoredTypes, ValueType } from "@radical/protocol";
import { expect, test } from "vitest";
import { earlierNames } from "./earlier-names.ts";

const TEXT: ValueType = { kind: "string" };
const LINE: ValueType = { kind: "record", name: "Line" };

const field = (name: string, was: readonly string[] = [], type: ValueType = TEXT): Field => ({
  name,
  type,
  optional: true,
  ...(was.length === 0 ? {} : { was }),
});

const types = (note: readonly Field[], line: readonly Field[] = []): StoredTypes => ({
  tables: { notes: { kind: "record", name: "Note" } },
  records: { Note: { name: "Note", fields: note }, Line: { name: "Line", fields: line } },
});

test("a build that reads the present name under any tag has no earlier name", () => {
  const present = types([field("text", ["body", "words"])]);
  expect(earlierNames("notes", present, present)).toEqual([]);
  expect(earlierNames("notes", present, types([field("words", ["text"])]))).toEqual([]);
  expect(earlierNames("notes", present, types([field("other")]))).toEqual([]);
  expect(earlierNames("other", present, types([field("body")]))).toEqual([]);
});

test("a build that reads a former name only is told, also within arrays, maps, tuples and what may be null", () => {
  const present = types([field("text", ["body", "words"])]);
  expect(earlierNames("notes", present, types([field("body")]))).toEqual(["notes[].body"]);
  expect(earlierNames("notes", present, types([field("words", ["body"])]))).toEqual(["notes[].words"]);
  const within = (type: ValueType, line: Field): StoredTypes => types([field("lines", [], type)], [line]);
  for (const [type, path] of [
    [{ kind: "array", element: LINE }, "notes[].lines[].body"],
    [{ kind: "map", value: LINE }, "notes[].lines[].body"],
    [{ kind: "tuple", elements: [TEXT, LINE] }, "notes[].lines[1].body"],
    [{ kind: "nullable", inner: LINE }, "notes[].lines.body"],
  ] as const)
    expect(earlierNames("notes", within(type, field("text", ["body"])), within(type, field("body")))).toEqual([path]);
});

test("a record within itself is compared once", () => {
  const nested = (name: string, was: readonly string[]): StoredTypes =>
    types([field("lines", [], LINE)], [field(name, was), field("inner", [], { kind: "nullable", inner: LINE })]);
  expect(earlierNames("notes", nested("text", ["body"]), nested("body", []))).toEqual(["notes[].lines.body"]);
});
