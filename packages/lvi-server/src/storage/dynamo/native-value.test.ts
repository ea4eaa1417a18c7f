import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { CborWriter } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sizeOfAttribute } from "./limits.ts";
import { fromNative, type NativeValue, toNative } from "./native-value.ts";

type Value = null | boolean | bigint | number | string | Uint8Array | Value[] | Map<string, Value>;

/** Numbers are floats, bigints integers. */
function encode(value: Value, writer = new CborWriter()): CborWriter {
  if (value === null) writer.null();
  else if (typeof value === "boolean") writer.boolean(value);
  else if (typeof value === "bigint") writer.integer(value);
  else if (typeof value === "number") writer.float(value);
  else if (typeof value === "string") writer.text(value);
  else if (value instanceof Uint8Array) writer.bytes(value);
  else if (Array.isArray(value)) {
    writer.array(value.length);
    for (const element of value) encode(element, writer);
  } else {
    writer.map(value.size);
    for (const [key, entry] of value) encode(entry, writer.text(key));
  }
  return writer;
}

const native = (value: Value): NativeValue => toNative(encode(value).finish());

/** What DynamoDB does to an item: maps in another order, numbers written another way. */
function stored(value: AttributeValue): AttributeValue {
  if (value.M !== undefined) {
    const entries = Object.entries(value.M).map(([key, entry]) => [key, stored(entry)] as const);
    return { M: Object.fromEntries(entries.toReversed()) };
  }
  if (value.L !== undefined) return { L: value.L.map(stored) };
  if (value.N !== undefined && /e/.test(value.N)) {
    const [, sign, digits, fraction, exponent] = /^(-?)(\d)\.?(\d*)e([+-]\d+)$/.exec(value.N)!;
    const all = digits! + fraction!;
    const shift = Number(exponent);
    if (shift < 0) return { N: `${sign}0.${"0".repeat(-shift - 1)}${all}` };
    return { N: sign + all.padEnd(shift + 1, "0") };
  }
  return value;
}

describe("readable", () => {
  test("a record is a map of its fields; floats and order stand in the shape", () => {
    const user = new Map<string, Value>([
      ["name", "Ann"],
      ["balance", 1],
      ["age", 42n],
      ["followers", ["bob", "cem"]],
      ["places", [new Map([["x", 0.5]]), new Map([["x", 1]])]],
      ["picture", null],
    ]);
    expect(native(user)).toEqual({
      value: {
        M: {
          name: { S: "Ann" },
          balance: { N: "1" },
          age: { N: "42" },
          followers: { L: [{ S: "bob" }, { S: "cem" }] },
          places: { L: [{ M: { x: { N: "0.5" } } }, { M: { x: { N: "1" } } }] },
          picture: { NULL: true },
        },
      },
      shape: '{"name":.,"balance":f,"age":.,"followers":.,"places":[{"x":f}],"picture":.}',
    });
  });

  test("values without records have no shape", () => {
    for (const value of ["text", 7n, true, null, ["a", 1n], [], Uint8Array.of(1)] as Value[])
      expect(native(value).shape).toBe(null);
  });

  test("numbers that DynamoDB lacks are text", () => {
    for (const float of [Number.NaN, -0, Infinity, -Infinity, 1e300, 5e-324])
      expect(native(float)).toEqual({ value: { S: Object.is(float, -0) ? "-0" : String(float) }, shape: "f" });
    expect(native(2n ** 64n - 1n).value).toEqual({ N: "18446744073709551615" });
  });

  test("what has no form is raw", () => {
    const raw = [
      Uint8Array.of(0xff),
      new Uint8Array(0),
      Uint8Array.of(0x18, 0x01),
      encode(new Map([["", 1n]])).finish(),
    ];
    for (const bytes of raw) expect(toNative(bytes)).toEqual({ value: { B: bytes }, shape: "raw" });
    const long = encode(Array.from({ length: 150_000 }, () => true)).finish();
    expect(toNative(long).shape).toBe("raw");
  });
});

describe("lossless", () => {
  const { value: values } = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant(null),
      fc.boolean(),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.double(),
      fc.string({ unit: "binary" }),
      fc.uint8Array({ maxLength: 20 }),
      fc.array(tie("value"), { maxLength: 5 }),
      fc
        .array(
          fc.tuple(
            fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "__proto__", "10", '"', "\\")),
            tie("value"),
          ),
          { maxLength: 5 },
        )
        .map((entries) => new Map(entries)),
    ),
  }));

  test("any value comes back byte for byte", () => {
    fc.assert(
      fc.property(values, (value) => {
        const bytes = encode(value).finish();
        const { value: attribute, shape } = toNative(bytes);
        expect(fromNative({ value: stored(attribute), shape })).toEqual(bytes);
      }),
      { numRuns: 500 },
    );
  });

  test("any bytes come back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const { value, shape } = toNative(bytes);
        expect(fromNative({ value: stored(value), shape })).toEqual(bytes);
      }),
      { numRuns: 500 },
    );
  });

  test("what was changed in the console is refused or other bytes, never a hang", () => {
    const { value } = native(new Map([["a", 1n]]));
    for (const shape of ["", "{", '{"a', '{"a":', '{"b":.}', "[.", "[.,.]", "x", '{"a":.}.', "f"]) {
      let bytes: Uint8Array | null = null;
      try {
        bytes = fromNative({ value, shape });
      } catch {
        continue;
      }
      expect(bytes).not.toEqual(encode(new Map([["a", 1n]])).finish());
    }
  });
});

test("sizes are those of DynamoDB, or a little more", () => {
  expect(sizeOfAttribute({ S: "ü" })).toBe(2);
  expect(sizeOfAttribute({ N: "12345" })).toBe(5);
  expect(sizeOfAttribute({ L: [{ BOOL: true }, { NULL: true }] })).toBe(3 + 2 * 2);
  expect(sizeOfAttribute({ M: { ab: { B: new Uint8Array(10) } } })).toBe(3 + 1 + 2 + 10);
});
