import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborReader, CborWriter, MAX_DEPTH } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

function failureOf(action: () => unknown): unknown {
  try {
    action();
    return null;
  } catch (error) {
    return error;
  }
}

describe("the examples of RFC 8949, appendix A", () => {
  test.each<[string, (writer: CborWriter) => unknown]>([
    ["00", (w) => w.integer(0)],
    ["17", (w) => w.integer(23)],
    ["1818", (w) => w.integer(24)],
    ["1903e8", (w) => w.integer(1000)],
    ["1a000f4240", (w) => w.integer(1_000_000)],
    ["1b000000e8d4a51000", (w) => w.integer(1_000_000_000_000)],
    ["1bffffffffffffffff", (w) => w.integer(18446744073709551615n)],
    ["20", (w) => w.integer(-1)],
    ["3863", (w) => w.integer(-100)],
    ["3903e7", (w) => w.integer(-1000)],
    ["fb3ff199999999999a", (w) => w.float(1.1)],
    ["fb7ff8000000000000", (w) => w.float(NaN)],
    ["f4", (w) => w.boolean(false)],
    ["f5", (w) => w.boolean(true)],
    ["f6", (w) => w.null()],
    ["4401020304", (w) => w.bytes(Uint8Array.of(1, 2, 3, 4))],
    ["62c3bc", (w) => w.text("ü")],
    ["83010203", (w) => w.array(3).integer(1).integer(2).integer(3)],
    ["a26161016162820203", (w) => w.map(2).text("a").integer(1).text("b").array(2).integer(2).integer(3)],
  ])("%s", (expected, write) => {
    const writer = new CborWriter();
    write(writer);
    expect(hex(writer.finish())).toBe(expected);
    const reader = new CborReader(bytes(expected));
    reader.skip();
    reader.end();
  });
});

test("integers come back exactly", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (value) => {
      const reader = new CborReader(new CborWriter().integer(value).finish());
      expect(BigInt(reader.integer())).toBe(value);
    }),
  );
  expect(() => new CborWriter().integer(2n ** 64n)).toThrow(RangeError);
  expect(() => new CborWriter().integer(1.5)).toThrow(RangeError);
});

test("floats and text come back", () => {
  fc.assert(
    fc.property(fc.double(), fc.string({ unit: "grapheme" }), (number, text) => {
      const reader = new CborReader(new CborWriter().float(number).text(text).finish());
      expect(reader.float()).toBe(number);
      expect(reader.text()).toBe(text);
      reader.end();
    }),
  );
  expect(() => new CborWriter().text("\udc00")).toThrow(RangeError);
});

describe("malformed bytes", () => {
  test.each([
    ["", "nothing"],
    ["18", "a head cut off"],
    ["1817", "a head that is not the shortest"],
    ["1b0000000000000001", "a long head that is not the shortest"],
    ["6261", "text cut off"],
    ["61ff", "text that is not UTF-8"],
    ["9a7fffffff", "an array longer than the message"],
    ["ba7fffffff", "a map longer than the message"],
    ["5b7fffffffffffffff", "bytes longer than the message"],
    ["9fff", "an indefinite array"],
    ["c001", "a tag"],
    ["f97e00", "a half float"],
    ["3bffffffffffffffff", "an integer below −2⁶³"],
    ["a10101", "a map with a key that is not text"],
  ])("%s: %s", (input) => {
    const read = (): void => {
      const reader = new CborReader(bytes(input));
      if (input.startsWith("61")) reader.text();
      else reader.skip();
    };
    expect(read).toThrow(MalformedError);
  });

  test("nesting over the limit", () => {
    expect(() => new CborReader(bytes("81".repeat(MAX_DEPTH + 2) + "00")).skip()).toThrow(MalformedError);
  });

  test("random bytes never do anything but fail cleanly", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (input) => {
        const reader = new CborReader(input);
        const failure = failureOf(() => {
          while (reader.remaining > 0) reader.skip();
        });
        expect(failure === null || failure instanceof MalformedError).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
