/** The comparison of stored types tells of the codec what it really reads: values that one build stores, read by another. */
import {
  CborWriter,
  compareStoredTypes,
  formatValueType,
  INTEGER_RANGES,
  problemOfStored,
  type RecordType,
  type StoredTypes,
  type UnitId,
  type ValueType,
  valueToJson,
} from "@radical/protocol";
import { type HandlerModule, recordHandler } from "@radical/wasm-host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BuildResult, buildWith } from "../pipeline.ts";
import { buildInput } from "../testing/library.ts";
import { deriveNothing } from "../testing/record-mode.ts";
import { invocation, type Items, moduleOf, snapshotOf } from "../testing/run.ts";

// ── Random types ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A type with its records in it. */
type Shape =
  | Exclude<ValueType, { readonly kind: "array" | "map" | "nullable" | "record" | "tuple" }>
  | { readonly kind: "array" | "nullable"; readonly inner: Shape }
  | { readonly kind: "tuple"; readonly parts: readonly Shape[] }
  | { readonly kind: "record"; readonly fields: Readonly<Record<string, Shape>> };

const SCALARS = ["bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "string"] as const;
const scalar: fc.Arbitrary<Shape> = fc.constantFrom(...SCALARS.map((kind) => ({ kind })));
const name = fc.constantFrom("a", "b", "c");

const { shape, record: recordShape } = fc.letrec<{ readonly shape: Shape; readonly record: Shape }>((tie) => ({
  shape: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    scalar,
    tie("shape").map((inner) => ({ kind: "array", inner }) as const),
    fc.array(tie("shape"), { minLength: 1, maxLength: 3 }).map((parts) => ({ kind: "tuple", parts }) as const),
    tie("record").map((inner) => ({ kind: "nullable", inner }) as const),
    fc.constant({ kind: "nullable", inner: { kind: "string" } } as const),
    tie("record"),
  ),
  record: fc
    .dictionary(name, tie("shape"), { minKeys: 1, maxKeys: 3, noNullPrototype: true })
    .map((fields) => ({ kind: "record", fields }) as const),
}));

/** A type that differs from another one in a place or two, or not at all. */
function changed(from: Shape): fc.Arbitrary<Shape> {
  const inside: fc.Arbitrary<Shape> =
    from.kind === "array"
      ? changed(from.inner).map((inner) => ({ kind: "array", inner }))
      : from.kind === "nullable"
        ? // A nullable type stays one of references.
          (from.inner.kind === "record" ? changedRecord(from.inner) : fc.constant(from.inner)).map((inner) => ({
            kind: "nullable",
            inner,
          }))
        : from.kind === "record"
          ? changedRecord(from)
          : from.kind === "tuple"
            ? changedTuple(from.parts)
            : fc.constant(from);
  const nullable: fc.Arbitrary<Shape> =
    from.kind === "string" || from.kind === "record" || from.kind === "array"
      ? fc.constant({ kind: "nullable", inner: from })
      : from.kind === "nullable"
        ? fc.constant(from.inner)
        : scalar;
  return fc.oneof(
    { weight: 6, arbitrary: inside },
    { weight: 1, arbitrary: shape },
    { weight: 1, arbitrary: nullable },
  );
}

function changedTuple([first, ...others]: readonly Shape[]): fc.Arbitrary<Shape> {
  return fc.oneof(
    changed(first!).map((part): Shape => ({ kind: "tuple", parts: [part, ...others] })),
    fc.constant<Shape>({ kind: "tuple", parts: [first!, first!, ...others] }),
    fc.constant<Shape>({ kind: "array", inner: first! }),
  );
}

function changedRecord(from: Shape): fc.Arbitrary<Shape> {
  if (from.kind !== "record") return fc.constant(from);
  const entries = Object.entries(from.fields);
  return fc
    .tuple(
      fc.tuple(...entries.map(([, inner]) => changed(inner))),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: entries.length, maxLength: entries.length }),
      fc.option(fc.tuple(name, shape), { freq: 3 }),
    )
    .map(([types, kept, added]) => {
      const fields = Object.fromEntries(
        entries.flatMap(([field], index) => (kept[index] === 0 ? [] : [[field, types[index]!]])),
      );
      if (added !== null && fields[added[0]] === undefined) fields[added[0]] = added[1];
      return { kind: "record", fields: Object.keys(fields).length === 0 ? from.fields : fields };
    });
}

const pair = recordShape.chain((before) => changedRecord(before).map((after) => ({ before, after })));

/** The types of tables t0, t1, … as a build has them. */
function storedTypes(shapes: readonly Shape[]): StoredTypes {
  const records: Record<string, RecordType> = {};
  const typeOf = (of: Shape): ValueType => {
    switch (of.kind) {
      case "array":
        return { kind: "array", element: typeOf(of.inner) };
      case "nullable":
        return { kind: "nullable", inner: typeOf(of.inner) };
      case "tuple":
        return { kind: "tuple", elements: of.parts.map(typeOf) };
      case "record": {
        const fields = Object.entries(of.fields).map(([field, inner]) => ({
          name: field,
          type: typeOf(inner),
          optional: false,
        }));
        const named = `R${Object.keys(records).length}`;
        records[named] = { name: named, fields };
        return { kind: "record", name: named };
      }
      default:
        return of;
    }
  };
  return { tables: Object.fromEntries(shapes.map((of, index) => [`t${index}`, typeOf(of)])), records };
}

interface Built {
  readonly result: BuildResult;
  readonly module: HandlerModule;
}

function build({ tables, records }: StoredTypes): Built {
  const classes = Object.values(records).map(
    (one) =>
      `class ${one.name} {\n${one.fields.map((field) => `  ${field.name}${field.type.kind === "nullable" ? "" : "!"}: ${formatValueType(field.type)};\n`).join("")}}\n`,
  );
  const handlers = Object.entries(tables).map(
    ([table, type]) =>
      `const ${table} = new Table<${formatValueType(type)}>("${table}");
export function put_${table}(value: ${formatValueType(type)}): void { ${table}.put("k", value); }
export function get_${table}(): ${formatValueType(type)} | null { return ${table}.get("k"); }\n`,
  );
  const text = `import { Table } from "@radical/sdk";\n${classes.join("")}${handlers.join("")}`;
  const result = buildWith({ ...buildInput({ "handlers/a.ts": text }), optimize: false }, deriveNothing);
  expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return { result, module: moduleOf(result) };
}

function run({ result, module }: Built, items: Items, handler: string, json: unknown) {
  const { run: done } = recordHandler(module, invocation(result, handler, json), snapshotOf(items), { guess: false });
  return done!;
}

// ── Random values ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Values to whose ends a type must go: the JSON that a client sends. */
function valueOf(of: Shape): fc.Arbitrary<unknown> {
  switch (of.kind) {
    case "bool":
      return fc.boolean();
    case "string":
      return fc.constantFrom("", "text", "é𝄞");
    case "f32":
    case "f64":
      return fc.constantFrom(0.1, -2, 2 ** 40, -(2 ** 60));
    case "array":
      return fc.array(valueOf(of.inner), { minLength: 1, maxLength: 2 });
    case "tuple":
      return fc.tuple(...of.parts.map(valueOf));
    case "nullable":
      return fc.option(valueOf(of.inner), { freq: 3 });
    case "record":
      return fc.record(Object.fromEntries(Object.entries(of.fields).map(([field, inner]) => [field, valueOf(inner)])), {
        noNullPrototype: true,
      });
    default: {
      const [min, max] = INTEGER_RANGES[of.kind];
      const ends = [min, max, 0n, 1n];
      const isLong = of.kind === "i64" || of.kind === "u64";
      return fc.constantFrom(...ends.map((end) => (isLong ? String(end) : Number(end))));
    }
  }
}

/** Numbers with all their digits. */
function exactJson(value: Uint8Array): unknown {
  return JSON.parse(valueToJson(value), (_name, part: unknown, context?: { readonly source?: string }) =>
    typeof part === "number" ? { digits: context!.source! } : part,
  );
}

/** Whether what was read has all that was stored and that the reader knows. */
function isSame(stored: unknown, read: unknown, after: Shape): boolean {
  if (after.kind === "nullable") return stored === null ? read === null : isSame(stored, read, after.inner);
  if (after.kind === "array")
    return (stored as unknown[]).every((one, index) => isSame(one, (read as unknown[])[index], after.inner));
  if (after.kind === "tuple")
    return after.parts.every((part, index) => isSame((stored as unknown[])[index], (read as unknown[])[index], part));
  if (after.kind === "record")
    return Object.entries(after.fields).every(([field, inner]) => {
      const one = (stored as Readonly<Record<string, unknown>>)[field];
      return one === undefined || isSame(one, (read as Readonly<Record<string, unknown>>)[field], inner);
    });
  if (typeof stored === "object" && stored !== null) {
    const [a, b] = [(stored as { digits: string }).digits, (read as { digits: string }).digits];
    return a === b || (!(/^-?\d+$/.test(a) && /^-?\d+$/.test(b)) && Number(a) === Number(b));
  }
  return stored === read;
}

// ── The properties ───────────────────────────────────────────────────────────────────────────────────────────────────

const PAIRS = 24;
const VALUES = 16;

test("values of the build before are read if no misfit is found; problems have the words of the trap", () => {
  let misfitting = 0;
  fc.assert(
    fc.property(fc.array(pair, { minLength: PAIRS, maxLength: PAIRS }), fc.nat(), (pairs, seed) => {
      const before = storedTypes(pairs.map((one) => one.before));
      const after = storedTypes(pairs.map((one) => one.after));
      const [old, young] = [build(before), build(after)];
      const misfits = new Set(compareStoredTypes(before, after).misfits.map(({ table }) => table));
      pairs.forEach((one, index) => {
        const table = `t${index}`;
        const unit = `${table}/k` as UnitId;
        let isRead = true;
        for (const value of fc.sample(valueOf(one.before), { seed, numRuns: VALUES })) {
          const stored = run(old, new Map(), `put_${table}`, { value }).writes[0]!.value!;
          const { outcome } = run(young, new Map([[unit, stored]]), `get_${table}`, {});
          expect(problemOfStored(unit, stored, after)).toBe(outcome.kind === "trap" ? outcome.message : null);
          isRead &&= outcome.kind === "result" && isSame(exactJson(stored), exactJson(outcome.value), one.after);
        }
        const words = `${formatShape(one.before)} → ${formatShape(one.after)}`;
        // A misfit is one: some value is not read, or not as it was.
        expect([words, isRead]).toEqual([words, !misfits.has(table)]);
        misfitting += Number(misfits.has(table));
      });
    }),
    // Each run builds two programs: a smaller case is not looked for.
    { numRuns: 2, seed: 20, endOnFailure: true },
  );
  // Both sides were tried.
  expect(misfitting).toBeGreaterThan(PAIRS / 2);
  expect(misfitting).toBeLessThan(PAIRS * 1.5);
});

function formatShape(of: Shape): string {
  switch (of.kind) {
    case "array":
      return `(${formatShape(of.inner)})[]`;
    case "tuple":
      return `[${of.parts.map(formatShape).join(", ")}]`;
    case "nullable":
      return `${formatShape(of.inner)} | null`;
    case "record":
      return `{ ${Object.entries(of.fields)
        .map(([field, inner]) => `${field}: ${formatShape(inner)}`)
        .join(", ")} }`;
    default:
      return of.kind;
  }
}

describe("misfits by name", () => {
  const event = (title: ValueType, seats: ValueType): StoredTypes => ({
    tables: { events: { kind: "record", name: "Event" }, texts: { kind: "string" } },
    records: {
      Event: {
        name: "Event",
        fields: [
          { name: "title", type: title, optional: false },
          { name: "sections", type: { kind: "array", element: { kind: "record", name: "Section" } }, optional: false },
        ],
      },
      Section: {
        name: "Section",
        fields: [
          { name: "seats", type: seats, optional: false },
          {
            name: "inner",
            type: { kind: "nullable", inner: { kind: "record", name: "Section" } },
            optional: true,
          },
        ],
      },
    },
  });
  const text: ValueType = { kind: "string" };

  test("each has its path and both types; records that contain themselves end", () => {
    const before = event(text, { kind: "i32" });
    const misfitsOf = (was: StoredTypes, is: StoredTypes) => compareStoredTypes(was, is).misfits;
    expect(compareStoredTypes(before, before)).toEqual({ misfits: [], dropped: [] });
    expect(misfitsOf(before, event({ kind: "i32" }, { kind: "u32" }))).toEqual([
      { table: "events", path: "events[].title", before: "string", after: "i32" },
      { table: "events", path: "events[].sections[].seats", before: "i32", after: "u32" },
    ]);
    expect(misfitsOf(event({ kind: "nullable", inner: text }, { kind: "i64" }), event(text, { kind: "f64" }))).toEqual([
      { table: "events", path: "events[].title", before: "string | null", after: "string" },
      { table: "events", path: "events[].sections[].seats", before: "i64", after: "f64" },
    ]);
  });

  test("texts of a few, maps and absent members", () => {
    const some = (...oneOf: readonly string[]): ValueType => ({ kind: "string", oneOf });
    const map = (value: ValueType): ValueType => ({ kind: "map", value });
    const typed = (type: ValueType, absent = false): StoredTypes => ({
      tables: { items: { kind: "record", name: "Item" } },
      records: { Item: { name: "Item", fields: [{ name: "f", type, optional: true, ...(absent ? { absent } : {}) }] } },
    });
    const fits = (before: StoredTypes, after: StoredTypes): boolean =>
      compareStoredTypes(before, after).misfits.length === 0;
    expect(fits(typed(some("a")), typed(some("b", "a")))).toBe(true);
    expect(fits(typed(some("a")), typed(text))).toBe(true);
    expect(fits(typed(some("a", "b")), typed(some("a")))).toBe(false);
    expect(fits(typed(text), typed(some("a")))).toBe(false);
    expect(fits(typed(map({ kind: "i32" })), typed(map({ kind: "i64" })))).toBe(true);
    expect(fits(typed(map({ kind: "i32" })), typed(map(text)))).toBe(false);
    expect(fits(typed(map(text)), typed({ kind: "array", element: text }))).toBe(false);
    const nullable: ValueType = { kind: "nullable", inner: text };
    expect(fits(typed(nullable), typed(text, true))).toBe(true);
    expect(fits(typed(text, true), typed(nullable))).toBe(true);
    expect(fits(typed(text, true), typed(text))).toBe(true);
    const stored = new CborWriter().map(1).text("f");
    const item = stored.null().finish();
    expect(problemOfStored("items/1" as UnitId, item, typed(text, true))).toBeNull();
    expect(problemOfStored("items/1" as UnitId, item, typed(some("a", "b")))).toBe(
      "items/1, field f: expected text, found null",
    );
    expect(
      problemOfStored("items/1" as UnitId, new CborWriter().map(1).text("f").text("c").finish(), typed(some("a", "b"))),
    ).toBe('items/1, field f: expected "a" or "b", found another text');
  });

  test("tables and fields that are dropped are told apart, and fit", () => {
    const before = event(text, { kind: "i32" });
    const { Section } = before.records;
    const after: StoredTypes = {
      tables: { events: before.tables["events"]! },
      records: { Section: Section!, Event: { name: "Event", fields: before.records["Event"]!.fields.slice(1) } },
    };
    expect(compareStoredTypes(before, after)).toEqual({ misfits: [], dropped: ["events[].title", "texts"] });
    expect(compareStoredTypes(after, before)).toEqual({ misfits: [], dropped: [] });
  });
});
