/** `radical data rewrite`: items are stored anew by the classes of their table. */
import {
  ABI_VERSION,
  CborReader,
  CborWriter,
  DEFAULT_LIMITS,
  handlersWith,
  problemOfStored,
  NO_EXECUTION,
} from "@radical/protocol";
import { compileModule, recordHandler, type CompletedRun } from "@radical/wasm-host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type BuildResult, buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call, type Items, snapshotOf } from "../testing/run.ts";

const SOURCES = {
  "handlers/notes.ts": `
    import { Counter, Table, Unique } from "@radical/sdk";
    import { Line } from "../lines";
    import { other } from "../settings";
    export class Note {
      /**
       * @was name
       * @was topic
       */
      title: string = other.get("title") ?? "none";
      size: f64 = 0;
      lines: Line[] = [];
      state: "open" | "done" = "open";
      remark?: string;
    }
    const notes = new Table<Note>("notes");
    const words = new Table<Record<string, Line>>("words");
    const names = new Table<string>("names");
    const seen = new Counter("seen");
    const addressed = new Table<User>("addressed");
    const byEmail = new Unique<User>(addressed, "email");
    export class User {
      /** @was address */
      email: string = "";
    }
    export function find(email: string): bool { return byEmail.find(email) != null; }
    export function add(key: string, email: string): void { addressed.put(key, { email }); }
    export function put(key: string): void { notes.put(key, notes.get(key) ?? new Note()); seen.add(key, 1); }
    export function putWords(key: string): void { const found = words.get(key); if (found != null) words.put(key, found); }
    export function nameOf(key: string): string { return names.get(key) ?? ""; }`,
  "lines.ts": `export class Line { text: string = "x".repeat(2); count: i64 = 1; }`,
  "settings.ts": `import { Table } from "@radical/sdk"; export const other = new Table<string>("other");`,
};

const built = (rewritten?: string): BuildResult => {
  const build = buildWith(
    { ...buildInput(SOURCES), optimize: false, ...(rewritten === undefined ? {} : { rewritten }) },
    slicer,
  );
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return build;
};

const HANDLERS = built();
const NOTES = built("notes");

type Arguments = (writer: CborWriter) => unknown;

function run(build: BuildResult, items: Items, handler: "keys" | "rewrite", args: Arguments): CompletedRun {
  const content = {
    abi: ABI_VERSION,
    limits: DEFAULT_LIMITS,
    wasm: build.wasm,
    rwWasm: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0),
  };
  const module = compileModule({
    ...content,
    handlers: handlersWith({ keys: "near-storage", rewrite: "near-storage" }),
  });
  const writer = new CborWriter();
  args(writer);
  const environment = { timeMs: 1_700_000_000_000, seed: new Uint8Array(16), caller: null };
  const ended = recordHandler(
    module,
    { executionId: NO_EXECUTION, handler, args: writer.finish(), environment },
    snapshotOf(items),
    {
      guess: false,
    },
  ).run;
  if (ended === null) throw new Error("the handler did not end");
  return ended;
}

/** How many items change, or why the run trapped; the writes are applied. */
function rewrite(build: BuildResult, items: Items, keys: readonly string[], isDry = false): number | string {
  const { outcome, writes } = run(build, items, "rewrite", (writer) => {
    writer.array(2).boolean(isDry).array(keys.length);
    for (const key of keys) writer.text(key);
  });
  for (const { unit, value } of writes) items.set(unit, value!);
  if (outcome.kind !== "result") return outcome.message;
  return new CborReader(outcome.value).integerIn(0, 1_000);
}

type Stored = null | string | number | boolean | readonly Stored[] | { readonly [name: string]: Stored };

function encoded(value: Stored): Uint8Array {
  const writer = new CborWriter();
  const write = (one: Stored): void => {
    if (one === null) writer.null();
    else if (typeof one === "string") writer.text(one);
    else if (typeof one === "boolean") writer.boolean(one);
    else if (typeof one === "number" && Number.isInteger(one)) writer.integer(one);
    else if (typeof one === "number") writer.float(one);
    else if (Array.isArray(one)) {
      writer.array(one.length);
      one.forEach(write);
    } else {
      const pairs = Object.entries(one);
      writer.map(pairs.length);
      for (const [name, held] of pairs) {
        writer.text(name);
        write(held);
      }
    }
  };
  write(value);
  return writer.finish();
}

const line = fc.record(
  { text: fc.string({ unit: "grapheme-ascii" }), count: fc.nat(300), more: fc.nat(9) },
  { requiredKeys: [] },
);
const note = fc
  .record(
    {
      title: fc.constantFrom("a", "b"),
      name: fc.constantFrom("c", "d"),
      topic: fc.constantFrom("e", "f"),
      size: fc.constantFrom(0, 7, 2.5),
      lines: fc.array(line, { maxLength: 3 }),
      state: fc.constantFrom("open", "done"),
      remark: fc.constantFrom("r", null),
      unknown: fc.constantFrom(1, "u", [true]),
    },
    { requiredKeys: [] },
  )
  .map((fields) => encoded(fields as Stored));

test("a rewritten item has the bytes that a read and put in a handler stores, and is rewritten once", () => {
  fc.assert(
    fc.property(fc.array(note, { minLength: 1, maxLength: 4 }), fc.boolean(), (values, hasTitle) => {
      const before: Items = new Map(values.map((value, index) => [`notes/${index}`, value]));
      if (hasTitle) before.set("other/title", encoded("from another table"));
      const [expected, items] = [new Map(before), new Map(before)];
      const keys = values.map((_, index) => String(index));
      for (const key of keys) call(HANDLERS, expected, "put", { key });
      for (const key of keys) expected.delete(`seen/${key}`);
      const changed = keys.filter(
        (key) => Buffer.compare(before.get(`notes/${key}`)!, expected.get(`notes/${key}`)!) !== 0,
      ).length;
      expect(rewrite(NOTES, items, keys, true)).toBe(changed);
      expect(items).toEqual(before);
      expect(rewrite(NOTES, items, [...keys, "none"])).toBe(changed);
      expect(items).toEqual(expected);
      const { writes } = run(NOTES, items, "rewrite", (writer) => {
        writer.array(2).boolean(false).array(keys.length);
        for (const key of keys) writer.text(key);
      });
      expect(writes).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test("an item that does not fit is told as a handler tells it, and nothing of its run is stored", () => {
  const wrong = encoded({ lines: [{ count: "many" }] });
  const items: Items = new Map([
    ["notes/a", encoded({ name: "old" })],
    ["notes/b", wrong],
  ]);
  const words = "notes/b, field lines[0].count: expected an integer, found text";
  expect(rewrite(NOTES, items, ["a", "b"])).toBe(words);
  const records = NOTES.records;
  expect(
    problemOfStored("notes/b" as never, wrong, { tables: { notes: { kind: "record", name: "Note" } }, records }),
  ).toBe(words);
  expect([...items.keys()]).toEqual(["notes/a", "notes/b"]);
  expect(items.get("notes/a")).toEqual(encoded({ name: "old" }));
});

test("tables of maps, texts and numbers are rewritten too", () => {
  const items: Items = new Map([
    ["words/a", encoded({ x: { text: "y" } })],
    ["names/a", encoded("Ann")],
    ["seen/a", encoded(3)],
  ]);
  expect(rewrite(built("words"), items, ["a"])).toBe(1);
  expect(items.get("words/a")).toEqual(encoded({ x: { text: "y", count: 1 } }));
  expect(rewrite(built("names"), items, ["a"])).toBe(0);
  expect(rewrite(built("seen"), items, ["a"])).toBe(0);
});

test("keys come in order, with the bytes of their values, whatever those are", () => {
  const items: Items = new Map([
    ["notes/b", encoded("no note")],
    ["notes/a", encoded({})],
    ["notes/c", encoded({ name: "x".repeat(300) })],
    ["other/a", encoded("x")],
  ]);
  const keys = (from: string, count: number): readonly unknown[] => {
    const { outcome } = run(NOTES, items, "keys", (writer) => writer.array(2).text(from).integer(count));
    if (outcome.kind !== "result") throw new Error(outcome.message);
    const reader = new CborReader(outcome.value);
    return Array.from({ length: reader.array() }, () =>
      reader.peek() === "text" ? reader.text() : Number(reader.integer()),
    );
  };
  const sizes = ["a", "b", "c"].map((key) => items.get(`notes/${key}`)!.length);
  const all = keys("", 90);
  expect(all.filter((one) => typeof one === "string")).toEqual(["a", "b", "c"]);
  // Each with the head of its byte string.
  all
    .filter((one) => typeof one === "number")
    .forEach((size, index) => expect(size - sizes[index]!).toBeLessThanOrEqual(3));
  expect(keys("b", 1)).toEqual(["b", all[3]]);
  expect(keys("b\0", 9)).toEqual(["c", all[5]]);
  expect(keys("d", 9)).toEqual([]);
});

test("a table with an index is rewritten alone: the server keeps the index of a module that has none", () => {
  const items: Items = new Map([["addressed/a", encoded({ address: "a@b" })]]);
  expect(rewrite(built("addressed"), items, ["a"])).toBe(1);
  expect([...items]).toEqual([["addressed/a", encoded({ email: "a@b" })]]);
});

test("a build for a table that is not there has no program", () => {
  expect(built("nothing").wasm).toHaveLength(0);
});
