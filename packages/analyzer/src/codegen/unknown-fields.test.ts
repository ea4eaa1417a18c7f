/**
 * Two builds of an application side by side: a build whose class lacks a field writes it back as it was.
 */
import { CborReader, CborWriter, valueToJson } from "@radical/protocol";
import { recordHandler } from "@radical/wasm-host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { buildInput } from "../testing/library.ts";
import { deriveNothing } from "../testing/record-mode.ts";
import { call, invocation, moduleOf, snapshotOf, type Items } from "../testing/run.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  const result = buildWith({ ...buildInput(files), optimize: false }, deriveNothing);
  expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return result;
}

/** An application in which records are nested in every way that the schema has. `more`: with the fields that were added. */
function application(more: boolean): BuildResult {
  const added = (text: string): string => (more ? text : "");
  return build({
    "lib/models.ts": `
      import { Stamp } from "./stamp";
      ${added('export class Badge { label: string = "b"; levels: i32[] = [1]; }')}
      export class Author extends Stamp { ${added('mail: string = "none";')} name: string = ""; ${added("badge: Badge | null = new Badge();")} }
      export class Editor extends Author { desk: string = ""; ${added("floor: i32 = 3;")} }
      export class Mark { ${added("weight: f64 = 0.5; seen: bool = true;")} }
      export class Post {
        ${added('language: string = "en";')}
        readonly title: string = "";
        author: Author = new Author();
        ${added("rating: f64 = 4.5; badges: Badge[] = [new Badge(), new Badge()];")}
        parent: Post | null = null;
        authors: Author[] = [];
        rows: (Editor | null)[][] = [];
        mark: Mark = new Mark();
        stars: i32 = 0;
        ${added("last: string | null = null;")}
      }`,
    "lib/stamp.ts": `export abstract class Stamp { ${added("zone: i32 = 60;")} readonly at: i64 = 0; ${added("by: string = 'someone';").replaceAll("'", '"')} }`,
    "handlers/all.ts": `
      import { Table } from "@radical/sdk";
      import { Author, Editor, Mark, Post } from "../lib/models";
      const posts = new Table<Post>("posts");
      const lists = new Table<(Editor | null)[]>("lists");
      export function save(key: string, post: Post, list: (Editor | null)[]): void { posts.put(key, post); lists.put(key, list); }
      export function star(key: string): void {
        const post = posts.get(key)!;
        post.stars++;
        post.author.name += "!";
        for (let i = 0; i < post.authors.length; i++) post.authors[i].name += "?";
        const parent = post.parent;
        if (parent != null) parent.stars += 10;
        const editor = post.rows[1][1];
        if (editor != null) editor.desk = "d";
        posts.put(key, post);
        const list = lists.get(key)!;
        const last = list[list.length - 1]!;
        last.name = "last";
        list.reverse();
        lists.put(key, list);
      }
      export function load(key: string): Post { return posts.get(key)!; }
      export function rest(key: string): (Editor | null)[] { return lists.get(key)!; }
      export function replace(key: string): void { const old = posts.get(key)!; const post = new Post(); post.author = old.author; posts.put(key, post); }
      export function move(from: string, to: string): void { posts.put(to, posts.get(from)!); posts.delete(from); }
      export function exact(key: string): void { const literal: Mark = {}; const post = posts.get(key)!; post.mark = literal; posts.put(key, post); }`,
  });
}

const POST = {
  language: "de",
  title: "é",
  author: { zone: 1, at: 2, by: "x", mail: "m", name: "n", badge: null },
  rating: -1,
  badges: [{ label: "", levels: [] }],
  parent: { title: "p", parent: { title: "pp" }, last: "l" },
  authors: [{ name: "a" }, { name: "b", mail: "@", badge: { label: "c", levels: [1, 2, 300_000] } }],
  rows: [[], [null, { desk: "e", floor: 7, name: "f", zone: 9 }]],
  mark: { weight: 2, seen: false },
  stars: 1,
  last: "z",
};
const LIST = [{ name: "one", floor: 1 }, null, { name: "two", floor: 2, mail: "two@" }];

describe("a build whose classes lack fields", () => {
  const old = application(false);
  const young = application(true);
  const saved = (): Items => {
    const items: Items = new Map();
    call(young, items, "save", { key: "k", post: POST, list: LIST });
    return items;
  };

  test("writes them back, byte for byte as the build that has them, however records are nested", () => {
    const [byOld, byYoung] = [saved(), saved()];
    for (const [items, built] of [
      [byOld, old],
      [byYoung, young],
    ] as const) {
      for (let times = 0; times < 2; times++)
        expect(call(built, items, "star", { key: "k" }).outcome.kind).toBe("result");
    }
    expect(byOld).toEqual(byYoung);
    // The item has its old fields, with the changed ones.
    expect(call(young, byOld, "load", { key: "k" }).result).toMatchObject({
      ...POST,
      stars: 3,
      author: { ...POST.author, name: "n!!" },
      parent: { title: "p", stars: 20, last: "l", language: "en" },
      authors: [{ name: "a??" }, { ...POST.authors[1], name: "b??" }],
      rows: [[], [null, { desk: "d", floor: 7, name: "f", zone: 9, by: "someone" }]],
    });
    expect(call(young, byOld, "rest", { key: "k" }).result).toMatchObject([
      { name: "last", floor: 1 },
      null,
      { name: "last", floor: 2, mail: "two@" },
    ]);
  });

  test("tells clients nothing of them", () => {
    const items = saved();
    const loaded = call(old, items, "load", { key: "k" }).result as Record<string, object>;
    expect(Object.keys(loaded)).toEqual(["title", "author", "parent", "authors", "rows", "mark", "stars"]);
    expect(loaded["author"]).toEqual({ at: 2, name: "n" });
    expect(loaded["mark"]).toEqual({});
    expect(loaded["rows"]).toEqual([[], [null, { at: 0, name: "f", desk: "e" }]]);
  });

  test("writes no fields that an argument brings", () => {
    const items = saved();
    const args = new CborWriter().map(3).text("key").text("k").text("list").array(0).text("post");
    args.map(3).text("title").text("t").text("stars").integer(5).text("injected").boolean(true);
    const invoked = { ...invocation(old, "save", { key: "k", post: { title: "" }, list: [] }), args: args.finish() };
    const { run } = recordHandler(moduleOf(old), invoked, snapshotOf(items), { guess: false });
    const written = run!.writes.find(({ unit }) => unit === "posts/k")!.value!;
    expect(JSON.parse(valueToJson(written))).toMatchObject({ title: "t", stars: 5 });
    expect(valueToJson(written)).not.toContain("injected");
  });

  test("keeps them with the record: at another key, in another record, not in a new object", () => {
    const items = saved();
    const before = items.get("posts/k")!;
    call(old, items, "move", { from: "k", to: "other" });
    expect(items.get("posts/other")).toEqual(before);
    call(old, items, "replace", { key: "other" });
    expect(call(young, items, "load", { key: "other" }).result).toMatchObject({
      language: "en",
      rating: 4.5,
      author: POST.author,
    });
    call(young, items, "save", { key: "k", post: POST, list: LIST });
    call(old, items, "exact", { key: "k" });
    expect(call(young, items, "load", { key: "k" }).result).toMatchObject({
      language: "de",
      mark: { weight: 0.5, seen: true },
    });
  });

  test("a field that is known again has its value, and one that both lack stays", () => {
    const items = saved();
    call(old, items, "star", { key: "k" });
    const bytes = items.get("posts/k")!;
    const withMore = insertedFirst(bytes, (writer) => writer.text("future").array(1).null());
    items.set("posts/k", withMore);
    for (const built of [young, old, young]) call(built, items, "star", { key: "k" });
    expect(JSON.parse(valueToJson(items.get("posts/k")!))).toMatchObject({ future: [null] });
    expect(call(young, items, "load", { key: "k" }).result).toMatchObject({
      language: "de",
      rating: -1,
      author: { zone: 1, by: "x", mail: "m", badge: null },
      stars: 5,
      last: "z",
    });
  });
});

describe("any fields that a class does not know", () => {
  const NAMES = Array.from({ length: 66 }, (_, index) => `f${index}`);
  const built = build({
    "handlers/a.ts": `import { Table } from "@radical/sdk";
      class Few { a: i32 = 0; b: Few | null = null; c: Few[] = []; }
      class Many { ${NAMES.map((name) => `${name}: i32 = 0;`).join(" ")} }
      class None { }
      const few = new Table<Few>("few");
      const many = new Table<Many>("many");
      const none = new Table<None>("none");
      export function again(): void {
        const f = few.get("1"); if (f != null) few.put("1", f);
        const m = many.get("1"); if (m != null) many.put("1", m);
        const n = none.get("1"); if (n != null) none.put("1", n);
      }`,
  });
  const again = (unit: string, value: Uint8Array): Uint8Array => {
    const items: Items = new Map([[unit, value]]);
    expect(call(built, items, "again").outcome.kind).toBe("result");
    return items.get(unit)!;
  };

  type Pair = readonly [key: string, write: (writer: CborWriter) => CborWriter];
  const record = (pairs: readonly Pair[]) => (writer: CborWriter) =>
    pairs.reduce((before, [key, write]) => write(before.text(key)), writer.map(pairs.length));
  /** Known fields in their order with others anywhere among them. */
  const mixed = (known: fc.Arbitrary<readonly Pair[]>): fc.Arbitrary<readonly Pair[]> =>
    fc
      .tuple(
        known,
        fc.uniqueArray(fc.tuple(fc.string({ unit: "grapheme", maxLength: 30 }), fc.nat(), unknownValue), {
          selector: ([key]) => key,
          maxLength: 30,
        }),
      )
      .map(([pairs, unknown]) => {
        const all: Pair[] = [...pairs];
        for (const [key, at, write] of unknown) all.splice(at % (all.length + 1), 0, [`~${key}`, write]);
        return all;
      });
  const unknownValue: fc.Arbitrary<Pair[1]> = fc.oneof(
    fc.constant<Pair[1]>((writer) => writer.null()),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map<Pair[1]>((value) => (writer) => writer.integer(value)),
    fc.double().map<Pair[1]>((value) => (writer) => writer.float(value)),
    fc.nat(1000).map<Pair[1]>((length) => (writer) => writer.text("x".repeat(length))),
    fc
      .array(fc.integer(), { maxLength: 300 })
      .map<Pair[1]>(
        (values) => (writer) =>
          values.reduce((before, value) => before.integer(value), writer.map(1).text("k").array(values.length)),
      ),
  );
  const few: fc.Arbitrary<readonly Pair[]> = fc.letrec<{ readonly few: readonly Pair[] }>((tie) => ({
    few: fc.oneof(
      { depthSize: "small" },
      mixed(
        fc.constant([
          ["a", (w) => w.integer(1)] as Pair,
          ["b", (w) => w.null()] as Pair,
          ["c", (w) => w.array(0)] as Pair,
        ]),
      ),
      mixed(
        fc.tuple(tie("few"), fc.array(tie("few"), { maxLength: 3 })).map(([b, c]): readonly Pair[] => [
          ["a", (w) => w.integer(-5000)],
          ["b", record(b)],
          ["c", (w) => c.reduce((before, one) => record(one)(before), w.array(c.length))],
        ]),
      ),
    ),
  })).few;
  const many = mixed(fc.constant(NAMES.map((name, index): Pair => [name, (w) => w.integer(index)])));

  test("stay where they stood", () => {
    fc.assert(
      fc.property(few, many, mixed(fc.constant([])), (...records) => {
        for (const [index, table] of ["few", "many", "none"].entries()) {
          const value = record(records[index]!)(new CborWriter()).finish();
          expect(again(`${table}/1`, value)).toEqual(value);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("stand behind the last known field that stood before them, also of a record in another order", () => {
    const fields = [["~1", 1], ["c"], ["~2", 2], ["a", 3], ["~3", 4]] as const;
    const stored = record(
      fields.map(([key, value]): Pair => [key, (w) => (value === undefined ? w.array(0) : w.integer(value))]),
    )(new CborWriter()).finish();
    const written = again("few/1", stored);
    const fieldsInOrder = '{"~1":1,"a":3,"b":null,"c":[],"~2":2,"~3":4}';
    expect(valueToJson(written)).toBe(fieldsInOrder);
    expect(again("few/1", written)).toEqual(written);
  });
});

/** A record with a field before all others. */
function insertedFirst(bytes: Uint8Array, pair: (writer: CborWriter) => CborWriter): Uint8Array {
  const size = new CborReader(bytes).map();
  const head = new CborWriter().map(size).finish().length;
  return Uint8Array.of(...pair(new CborWriter().map(size + 1)).finish(), ...bytes.subarray(head));
}
