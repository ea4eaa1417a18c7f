import { describe, expect, test } from "vitest";
import { encodeArguments, valueToJson } from "./arguments.ts";
import { CborWriter } from "./cbor.ts";
import type { Parameter, RecordTypes, ValueType } from "./value-type.ts";

const records: RecordTypes = {
  Post: {
    name: "Post",
    fields: [
      { name: "text", type: { kind: "string" }, optional: false },
      { name: "tags", type: { kind: "array", element: { kind: "string" } }, optional: true },
      { name: "parent", type: { kind: "nullable", inner: { kind: "record", name: "Post" } }, optional: true },
    ],
  },
};

const parameter = (type: ValueType, optional = false): Parameter => ({ name: "x", type, optional });

function roundTrip(type: ValueType, json: unknown): unknown {
  const encoded = encodeArguments([parameter(type)], records, { x: json });
  if (encoded.kind === "problem") throw new Error(encoded.problem.message);
  return (JSON.parse(valueToJson(encoded.bytes)) as { x: unknown }).x;
}

test.each<[ValueType, unknown]>([
  [{ kind: "bool" }, true],
  [{ kind: "i32" }, -2147483648],
  [{ kind: "u64" }, 9007199254740991],
  [{ kind: "f64" }, 1.5],
  [{ kind: "string" }, "héllo 😀"],
  [{ kind: "array", element: { kind: "i32" } }, [1, 2, 3]],
  [{ kind: "nullable", inner: { kind: "string" } }, null],
  [{ kind: "nullable", inner: { kind: "string" } }, "a"],
  [{ kind: "tuple", elements: [{ kind: "string" }, { kind: "i32" }] }, ["a", 1]],
  [
    { kind: "record", name: "Post" },
    { text: "a", tags: ["b"], parent: { text: "c" } },
  ],
])("%j takes %j", (type, json) => {
  expect(roundTrip(type, json)).toEqual(json);
});

test("64-bit integers beyond 2^53 are taken as decimal strings and written with all their digits", () => {
  const encoded = encodeArguments([parameter({ kind: "u64" })], records, { x: "18446744073709551615" });
  expect(encoded.kind === "encoded" && valueToJson(encoded.bytes)).toBe('{"x":18446744073709551615}');
});

test("a parameter with a default may be left out", () => {
  const encoded = encodeArguments([parameter({ kind: "i32" }, true)], records, {});
  expect(encoded.kind === "encoded" && valueToJson(encoded.bytes)).toBe("{}");
});

describe("problems name the parameter", () => {
  test.each<[string, ValueType, unknown, string, string]>([
    ["missing", { kind: "i32" }, {}, "missing_argument", "x"],
    ["unknown", { kind: "i32" }, { x: 1, y: 2 }, "unknown_argument", "y"],
    ["wrong type", { kind: "i32" }, { x: "1" }, "invalid_argument", "x"],
    ["fraction", { kind: "i32" }, { x: 1.5 }, "invalid_argument", "x"],
    ["over i32", { kind: "i32" }, { x: 2147483648 }, "argument_out_of_range", "x"],
    ["negative u8", { kind: "u8" }, { x: -1 }, "argument_out_of_range", "x"],
    ["inexact i64", { kind: "i64" }, { x: 2 ** 53 }, "argument_out_of_range", "x"],
    ["string over i64", { kind: "i64" }, { x: "9223372036854775808" }, "argument_out_of_range", "x"],
    ["over f32", { kind: "f32" }, { x: 1e300 }, "argument_out_of_range", "x"],
    ["null", { kind: "string" }, { x: null }, "invalid_argument", "x"],
    ["lone surrogate", { kind: "string" }, { x: "\ud800" }, "invalid_argument", "x"],
    ["array element", { kind: "array", element: { kind: "i32" } }, { x: [1, "a"] }, "invalid_argument", "x[1]"],
    ["tuple of another length", { kind: "tuple", elements: [{ kind: "i32" }] }, { x: [1, 2] }, "invalid_argument", "x"],
    ["part of a tuple", { kind: "tuple", elements: [{ kind: "i32" }] }, { x: ["a"] }, "invalid_argument", "x[0]"],
    ["nested field", { kind: "record", name: "Post" }, { x: { text: 1 } }, "invalid_argument", "x.text"],
    ["missing field", { kind: "record", name: "Post" }, { x: {} }, "missing_argument", "x.text"],
    ["unknown field", { kind: "record", name: "Post" }, { x: { text: "a", z: 1 } }, "unknown_argument", "x.z"],
    [
      "inherited name",
      { kind: "record", name: "Post" },
      { x: { text: "a", constructor: 1 } },
      "unknown_argument",
      "x.constructor",
    ],
    ["not an object", { kind: "i32" }, [1], "invalid_argument", ""],
  ])("%s", (_, type, json, code, path) => {
    const encoded = encodeArguments([parameter(type)], records, json);
    expect(encoded).toMatchObject({ kind: "problem", problem: { code, path } });
  });

  test("nesting without end", () => {
    let post: unknown = { text: "a" };
    for (let i = 0; i < 10_000; i++) post = { text: "a", parent: post };
    expect(encodeArguments([parameter({ kind: "record", name: "Post" })], records, { x: post })).toMatchObject({
      kind: "problem",
    });
  });
});

test("floats that JSON lacks become null", () => {
  expect(valueToJson(new CborWriter().array(3).float(NaN).float(Infinity).float(-0).finish())).toBe("[null,null,0]");
});
