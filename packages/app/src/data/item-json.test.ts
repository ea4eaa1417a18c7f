import { CborWriter } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DataItem, ItemProblem, itemOfJson, itemToJson, parseJson, type TableTypes } from "./item-json.ts";

const TYPES: TableTypes = {
  tables: { users: { kind: "record", name: "User" } },
  records: {
    User: {
      name: "User",
      fields: [
        { name: "name", type: { kind: "string" }, optional: false },
        { name: "score", type: { kind: "f64" }, optional: true },
        { name: "id", type: { kind: "u64" }, optional: true },
        {
          name: "friends",
          type: { kind: "array", element: { kind: "nullable", inner: { kind: "record", name: "User" } } },
          optional: true,
        },
      ],
    },
  },
};

const value = (write: (writer: CborWriter) => CborWriter): Uint8Array => write(new CborWriter()).finish();
const read = (line: string, types: TableTypes = null): DataItem => itemOfJson(parseJson(line), types);

test("a line has all of a value: floats are told from integers, integers have all their digits", () => {
  const item = {
    table: "t",
    key: "k",
    value: value((writer) =>
      writer
        .array(4)
        .float(2)
        .integer(2)
        .integer(2n ** 64n - 1n)
        .float(-0),
    ),
  };
  expect(itemToJson(item)).toBe('{"table":"t","key":"k","value":[2.0,2,18446744073709551615,-0.0]}');
  expect(read(itemToJson(item))).toEqual(item);
});

test.each([
  ["NaN", value((writer) => writer.float(Number.NaN))],
  ["an infinity within", value((writer) => writer.array(1).float(Infinity))],
  ["a field that JSON.parse puts first", value((writer) => writer.map(2).text("b").null().text("1").null())],
])("%s stands as bytes", (_name, bytes) => {
  const item = { table: "t", key: "k", value: bytes };
  expect(itemToJson(item)).toContain('"cbor":"');
  expect(read(itemToJson(item))).toEqual(item);
});

test("any value comes back byte for byte", () => {
  const write = (writer: CborWriter, json: unknown): CborWriter => {
    if (json === null) return writer.null();
    if (typeof json === "boolean") return writer.boolean(json);
    if (typeof json === "bigint") return writer.integer(json);
    if (typeof json === "number") return writer.float(json);
    if (typeof json === "string") return writer.text(json);
    if (Array.isArray(json))
      return json.reduce<CborWriter>((before, element) => write(before, element), writer.array(json.length));
    const fields = Object.entries(json as object);
    return fields.reduce<CborWriter>(
      (before, [name, field]) => write(before.text(name), field),
      writer.map(fields.length),
    );
  };
  const text = fc.string({ unit: "binary" }).filter((generated) => generated.isWellFormed());
  const { any } = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constant(null),
      fc.boolean(),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.double(),
      text,
      fc.array(tie("any"), { maxLength: 4 }),
      fc.dictionary(text, tie("any"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(any, (json) => {
      const item = { table: "t", key: "k", value: write(new CborWriter(), json).finish() };
      expect(read(itemToJson(item))).toEqual(item);
    }),
  );
});

test("a field that only another build has is neither lost nor taken for a mistake: an export comes back untyped", () => {
  const stored = value((writer) => writer.map(2).text("name").text("Ann").text("mail").array(1).float(1));
  const line = itemToJson({ table: "users", key: "ann", value: stored });
  const bytes = `{"table":"users","key":"ann","cbor":"${Buffer.from(stored).toString("base64")}"}`;
  for (const refused of [line, bytes])
    expect(() => read(refused, TYPES)).toThrow(
      'There is no field "value.mail"; --untyped writes all fields as they are',
    );
  for (const taken of [line, bytes]) expect(read(taken).value).toEqual(stored);
});

test("with types a value gets those of its table", () => {
  const item = read('{"table":"users","key":"ann","value":{"name":"Ann","score":2,"id":18446744073709551615}}', TYPES);
  expect(item.value).toEqual(
    value((writer) =>
      writer
        .map(3)
        .text("name")
        .text("Ann")
        .text("score")
        .float(2)
        .text("id")
        .integer(2n ** 64n - 1n),
    ),
  );
});

test("what comes as bytes is a value of its table too", () => {
  const line = (bytes: Uint8Array): string =>
    `{"table":"users","key":"a","cbor":"${Buffer.from(bytes).toString("base64")}"}`;
  const user = (writer: CborWriter, fields = 1): CborWriter => writer.map(fields).text("name").text("Ann");
  const right = value((writer) =>
    user(user(writer, 3).text("score").float(Number.NaN).text("friends").array(2).null()),
  );
  expect(read(line(right), TYPES).value).toEqual(right);
  for (const [wrong, message] of [
    [value((writer) => writer.integer(1)), '"value" must be of type User, not of the kind integer'],
    [value((writer) => writer.map(0)), 'The field "value.name" is missing'],
    [value((writer) => user(writer, 2).text("age").integer(1)), 'There is no field "value.age"'],
    [value((writer) => user(writer, 2).text("score").integer(1)), '"value.score" must be of type f64'],
    [value((writer) => user(writer, 2).text("id").integer(-1)), '"value.id" is out of range for u64'],
    [
      value((writer) => user(writer, 2).text("friends").array(1).map(0)),
      'The field "value.friends[0].name" is missing',
    ],
  ] as const) {
    expect(() => read(line(wrong), TYPES)).toThrow(`has a wrong value: ${message}`);
    expect(read(line(wrong)).value).toEqual(wrong);
  }
});

test("a tuple has all of its values", () => {
  const place = { kind: "tuple", elements: [{ kind: "string" }, { kind: "record", name: "Seat" }] } as const;
  const types: TableTypes = {
    tables: { places: { kind: "array", element: place } },
    records: {
      Seat: { name: "Seat", fields: [{ name: "holder", type: { kind: "string" }, optional: true, absent: true }] },
    },
  };
  const line = (parts: unknown): string => JSON.stringify({ table: "places", key: "k", value: [parts] });
  expect(itemToJson(read(line(["a", { holder: null }]), types))).toBe(line(["a", {}]));
  expect(() => read(line(["a"]), types)).toThrow('"value[0]" must have 2 values, not 1');
  const bytes = value((writer) => writer.array(1).array(1).text("a"));
  const stored = JSON.stringify({ table: "places", key: "k", cbor: Buffer.from(bytes).toString("base64") });
  expect(() => read(stored, types)).toThrow('"value[0]" must have 2 values, not 1');
});

test.each([
  ["[]", /not a JSON object/],
  ['{"table":"users"}', /no "key"/],
  ['{"table":"users","key":"a"}', /needs a "value"/],
  ['{"table":"users","key":"a","value":{},"cbor":""}', /needs a "value"/],
  ['{"table":"users","key":"a","cbor":"/w=="}', /no value in its "cbor"/],
  ['{"table":"users","key":"a","cbor":"oA"}', /no base 64/],
  ['{"table":"users","key":"a","valu":1}', /field "valu"/],
  ['{"table":"posts","key":"a","value":{}}', /table "posts", which no handler declares. The tables are: users/],
  ['{"table":"users","key":"","value":{"name":"x"}}', /has a wrong key/],
  ['{"table":"users","key":"a","value":{"name":1}}', /"value\.name" must be of type string/],
  ['{"table":"users","key":"a","value":{"name":"x","age":1}}', /There is no field "value\.age"/],
  ['{"table":"users","key":"a","value":{"name":"x","id":-1}}', /out of range for u64/],
])("%s is refused", (line, message) => {
  expect(() => read(line, TYPES)).toThrow(ItemProblem);
  expect(() => read(line, TYPES)).toThrow(message);
});

test("null for an optional member is what an earlier build stored: the member is left out", () => {
  const types: TableTypes = {
    tables: { seats: { kind: "map", value: { kind: "array", element: { kind: "record", name: "Seat" } } } },
    records: {
      Seat: {
        name: "Seat",
        fields: [
          { name: "label", type: { kind: "string" }, optional: false },
          { name: "holder", type: { kind: "string" }, optional: true, absent: true },
        ],
      },
    },
  };
  const item = read('{"table":"seats","key":"k","value":{"a":[{"label":"x","holder":null}]}}', types);
  expect(itemToJson(item)).toBe('{"table":"seats","key":"k","value":{"a":[{"label":"x"}]}}');
});

test("a field comes under the name that it had, and is stored under the present one", () => {
  const renamed: TableTypes = {
    tables: { notes: { kind: "record", name: "Note" } },
    records: {
      Note: {
        name: "Note",
        fields: [
          { name: "title", type: { kind: "string" }, optional: false, was: ["name", "topic"] },
          { name: "next", type: { kind: "nullable", inner: { kind: "record", name: "Note" } }, optional: true },
        ],
      },
    },
  };
  const line = (fields: string): string => `{"table":"notes","key":"k","value":{${fields}}}`;
  const stored = (fields: string): string => itemToJson(read(line(fields), renamed));
  expect(stored('"name":"a"')).toBe(line('"title":"a"'));
  expect(stored('"topic":"a","next":{"name":"b"}')).toBe(line('"title":"a","next":{"title":"b"}'));
  expect(stored('"name":"a","title":"b"')).toBe(line('"title":"b"'));
  expect(() => stored('"other":"a"')).toThrow("other");
  // Bytes stay as they are.
  const bytes = value((writer) => writer.map(1).text("name").text("a"));
  const given = { table: "notes", key: "k", value: bytes };
  expect(read(`{"table":"notes","key":"k","cbor":"${Buffer.from(bytes).toString("base64")}"}`, renamed)).toEqual(given);
});
