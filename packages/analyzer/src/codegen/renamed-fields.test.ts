/** Fields with the tag `@was`: what builds have stored under other names is read, checked and written under the present one. */
import {
  CborReader,
  CborWriter,
  compareStoredTypes,
  problemOfStored,
  type StoredTypes,
  type UnitId,
} from "@radical/protocol";
import { deriveAccessSet } from "@radical/wasm-host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type BuildResult, buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call, invocation, type Items, moduleOf, snapshotOf } from "../testing/run.ts";

const HANDLERS = `
  const notes = new Table<Note>("notes");
  const tags = new Table<string>("tags");`;

function buildOf(fields: string, handlers = ""): BuildResult {
  const source = `import { Table } from "@radical/sdk";\nexport class Note { ${fields} }\n${HANDLERS}\n${handlers}`;
  return buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
}

function built(fields: string, handlers: string): BuildResult {
  const build = buildOf(fields, handlers);
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return build;
}

const NEW = built(
  `
  /**
   * The heading.
   * @was name
   * @was topic
   */
  title: string = "none";
  /** @was count */ readonly size: i64 = 0;`,
  `
  export function show(key: string): string { const note = notes.get(key); return note == null ? "" : note.title + ":" + note.size.toString(); }
  export function copy(key: string): void { const note = notes.get(key); if (note != null) notes.put(key, note); }
  export function tag(key: string): void { const note = notes.get(key); if (note != null) tags.put(note.title, key); }`,
);

function itemOf(fields: readonly (readonly [name: string, value: string | number])[]): Uint8Array {
  const writer = new CborWriter().map(fields.length);
  for (const [name, value] of fields) {
    writer.text(name);
    if (typeof value === "string") writer.text(value);
    else writer.integer(value);
  }
  return writer.finish();
}

function fieldsOf(item: Uint8Array): Readonly<Record<string, unknown>> {
  const reader = new CborReader(item);
  const found: [string, unknown][] = [];
  for (let left = reader.map(); left > 0; left--)
    found.push([reader.text(), reader.peek() === "text" ? reader.text() : Number(reader.integer())]);
  return Object.fromEntries(found);
}

const stored = fc.uniqueArray(
  fc.constantFrom(
    ["title", "new"] as const,
    ["name", "old"] as const,
    ["topic", "older"] as const,
    ["size", 1] as const,
    ["count", 2] as const,
    ["other", "kept"] as const,
  ),
  { selector: ([name]) => name },
);

test("a stored field is read under each of its names, the present one first, and stored under that", () => {
  fc.assert(
    fc.property(stored, (fields) => {
      const items: Items = new Map([["notes/a", itemOf(fields)]]);
      const has = (name: string): boolean => fields.some(([one]) => one === name);
      const former = fields.find(([name]) => name === "name" || name === "topic");
      const title = has("title") ? "new" : (former?.[1] ?? "none");
      const size = has("size") ? 1 : has("count") ? 2 : 0;
      expect(call(NEW, items, "show", { key: "a" }).result).toBe(`${title}:${size}`);
      call(NEW, items, "copy", { key: "a" });
      expect(fieldsOf(items.get("notes/a")!)).toEqual({ title, size, ...(has("other") ? { other: "kept" } : {}) });
    }),
    { numRuns: 40 },
  );
});

test("a read/write-set function reads the earlier names too", () => {
  const snapshot = snapshotOf(new Map([["notes/a", itemOf([["topic", "red"]])]]));
  expect(NEW.handlers.find(({ name }) => name === "tag")?.plan.kind).toBe("sliced");
  const derived = deriveAccessSet(moduleOf(NEW), invocation(NEW, "tag", { key: "a" }), snapshot);
  if (derived.kind !== "derived") throw new Error(derived.kind);
  expect([...derived.set.writes]).toEqual(["tags/red"]);
});

function typesOf({ tables, records }: BuildResult): StoredTypes {
  return { tables: Object.fromEntries(tables.map(({ name, type }) => [name, type])), records };
}

const FLOW = `export function show(key: string): string { const note = notes.get(key); return note == null ? "" : "there"; }`;

test("the comparison of types follows the names", () => {
  const [old, newer, newest] = [
    `name: string = "";`,
    `/** @was name */ title: string = "";`,
    `/** @was title */ heading: string = "";`,
  ].map((fields) => typesOf(built(fields, FLOW)));
  const number = typesOf(built(`/** @was name */ title: i32 = 0;`, FLOW));
  const none = { misfits: [], dropped: [] };
  expect(compareStoredTypes(old!, newer!)).toEqual(none);
  expect(compareStoredTypes(newer!, newer!)).toEqual(none);
  // Items of the first build may still be there.
  expect(compareStoredTypes(newer!, newest!)).toEqual({ misfits: [], dropped: ["notes[].name"] });
  expect(compareStoredTypes(newer!, old!)).toEqual({ misfits: [], dropped: ["notes[].title"] });
  const misfit = (path: string): object => ({ table: "notes", path, before: "string", after: "i32" });
  expect(compareStoredTypes(old!, number)).toEqual({ misfits: [misfit("notes[].name")], dropped: [] });
  expect(compareStoredTypes(newer!, number)).toEqual({
    misfits: [misfit("notes[].title"), misfit("notes[].name")],
    dropped: [],
  });
  const unit = "notes/a" as UnitId;
  const problem = (fields: readonly (readonly [string, string | number])[]): string | null =>
    problemOfStored(unit, itemOf(fields), number);
  expect(problem([["name", "x"]])).toBe("notes/a, field name: expected an integer, found text");
  expect(problem([["title", 1], ["name", "x"]])).toBeNull(); // prettier-ignore
  expect(problem([["name", 1]])).toBeNull();
});

test("a name that two fields would read is refused", () => {
  const codes = (fields: string): readonly string[] => buildOf(fields, FLOW).diagnostics.map(({ code }) => code);
  expect(codes(`/** @was name */ title: string = ""; name: string = "";`)).toEqual(["unknown_tag"]);
  expect(codes(`/** @was name */ title: string = ""; /** @was name */ text: string = "";`)).toEqual([
    "unknown_tag",
    "unknown_tag",
  ]);
  expect(codes(`/** @was title */ title: string = "";`)).toEqual(["unknown_tag"]);
  expect(codes(`/** @was the old name */ title: string = "";`)).toEqual(["unknown_tag"]);
  expect(codes(`/** @was name */ title: string = "";`)).toEqual([]);
});
