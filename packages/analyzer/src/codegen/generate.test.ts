import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { deriveNothing } from "../testing/record-mode.ts";
import { buildInput } from "../testing/library.ts";
import { call } from "../testing/run.ts";
import { CborWriter, valueToJson } from "@radical/protocol";

function build(files: Readonly<Record<string, string>>): BuildResult {
  const result = buildWith(buildInput(files), deriveNothing);
  expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return result;
}

describe("handlers of every parameter and result type", () => {
  const built = build({
    "lib/models.ts": `
      export class Base { id: string = "none"; readonly made: i64 = 7; }
      class Author extends Base { name: string = ""; tags: string[] = ["new"]; }
      export { Author };
      export class Post {
        constructor(public title: string, public stars: i32 = 5) {}
        author: Author = new Author();
        parent: Post | null = null;
        scores: f64[] = [];
      }`,
    "handlers/all.ts": `
      import { Table, abort, caller, now, random, uuid } from "@radical/sdk";
      import { Author, Post } from "../lib/models";
      const posts = new Table<Post>("posts");
      const names = new Table<string>("names");
      const lists = new Table<Array<Author | null>>("lists");

      export function numbers(a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64, i: f32, j: f64, k: bool): string {
        return a.toString() + " " + b.toString() + " " + c.toString() + " " + d.toString() + " " + e.toString() + " " + f.toString() + " " +
          g.toString() + " " + h.toString() + " " + i.toString() + " " + j.toString() + " " + k.toString();
      }
      export function same(post: Post): Post { return post; }
      export function nested(values: i32[][], maybe: string[] | null): i32[][] | null { return maybe == null ? null : values; }
      export function nothing(): void {}
      export function defaults(a: i32, b: i32 = a * 2, c: string = "x" + b.toString()): string { return a.toString() + b.toString() + c; }
      export function save(key: string, post: Post): void { posts.put(key, post); names.put(key, post.title); lists.put(key, [post.author, null]); }
      export function load(key: string): Post | null { return posts.get(key); }
      export function name(key: string): string { const name = names.get(key); if (name == null) abort(404, "no_name", "There is no " + key); return name; }
      export function list(key: string): (Author | null)[] { const all = lists.get(key); return all == null ? [] : all; }
      export function remove(key: string): bool { posts.delete(key); return posts.has(key) || names.has(key); }
      export function who(): string | null { return caller(); }
      export function environment(): string { return now().toString() + " " + random().toString() + " " + uuid(); }
      export function nan(zero: f64): f64 { return zero / zero; }
      class Link { next: Link | null = null; }
      function chain(n: i32): Link { const link = new Link(); if (n > 0) link.next = chain(n - 1); return link; }
      export function deep(n: i32): bool { return chain(n).next == null; }
      export function index(values: i32[]): i32 { return values[3]; }
    `,
  });

  test("numbers keep their values to the bounds", () => {
    const json = {
      a: -128,
      b: 255,
      c: -32768,
      d: 65535,
      e: -2147483648,
      f: 4294967295,
      g: "-9223372036854775808",
      h: "18446744073709551615",
      i: 1.5,
      j: -0.1,
      k: true,
    };
    expect(call(built, new Map(), "numbers", json).result).toBe(
      "-128 255 -32768 65535 -2147483648 4294967295 -9223372036854775808 18446744073709551615 1.5 -0.1 true",
    );
  });

  test("records: given fields are kept, missing ones initialized", () => {
    const full = {
      title: "é𝄞",
      stars: 1,
      author: { id: "1", made: 9, name: "n", tags: [] },
      parent: null,
      scores: [1, 2.5],
    };
    expect(call(built, new Map(), "same", { post: full }).result).toEqual(full);
    expect(
      call(built, new Map(), "same", { post: { title: "t", parent: { title: "p", author: { name: "a" } } } }).result,
    ).toEqual({
      title: "t",
      stars: 5,
      author: { id: "none", made: 7, name: "", tags: ["new"] },
      parent: {
        title: "p",
        stars: 5,
        author: { id: "none", made: 7, name: "a", tags: ["new"] },
        parent: null,
        scores: [],
      },
      scores: [],
    });
  });

  test("arrays, null and nothing", () => {
    expect(call(built, new Map(), "nested", { values: [[1], [], [2, 3]], maybe: ["x"] }).result).toEqual([
      [1],
      [],
      [2, 3],
    ]);
    expect(call(built, new Map(), "nested", { values: [], maybe: null }).result).toBeNull();
    expect(call(built, new Map(), "nothing").result).toBeNull();
  });

  test("a default may use the parameters before it", () => {
    expect(call(built, new Map(), "defaults", { a: 2 }).result).toBe("24x4");
    expect(call(built, new Map(), "defaults", { a: 2, c: "!" }).result).toBe("24!");
    expect(call(built, new Map(), "defaults", { a: 2, b: 1 }).result).toBe("21x1");
  });

  test("items are stored and read again", () => {
    const items = new Map<string, Uint8Array>();
    const post = {
      title: "t",
      stars: 3,
      author: { id: "i", made: 1, name: "n", tags: ["a", "b"] },
      parent: null,
      scores: [0.5],
    };
    expect(call(built, items, "save", { key: "k/1", post }).result).toBeNull();
    expect([...items.keys()].toSorted()).toEqual(["lists/k/1", "names/k/1", "posts/k/1"]);
    expect(JSON.parse(valueToJson(items.get("posts/k/1")!))).toEqual(post);
    expect(call(built, items, "load", { key: "k/1" }).result).toEqual(post);
    expect(call(built, items, "list", { key: "k/1" }).result).toEqual([post.author, null]);
    expect(call(built, items, "name", { key: "k/1" }).result).toBe("t");
    expect(call(built, items, "remove", { key: "k/1" }).result).toBe(true);
    expect(call(built, items, "load", { key: "k/1" }).result).toBeNull();
  });

  test("stored records evolve: unknown keys are skipped, new fields are initialized", () => {
    const items = new Map<string, Uint8Array>();
    const old = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        export class Item { gone: Array<Array<string>> = []; count: i32 = 0; alsoGone: Item | null = null; }
        const items = new Table<Item>("items");
        export function save(item: Item): void { items.put("1", item); }`,
    });
    const young = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        let made: i32 = 0;
        class Part { size!: i64; label!: string; }
        export class Item { readonly added: string = "new" + (++made).toString(); count!: f64; part!: Part; parts!: Part[]; maybe: Part | null; flag!: bool; }
        const items = new Table<Item>("items");
        export function load(): Item | null { return items.get("1"); }`,
    });
    call(old, items, "save", {
      item: { gone: [["a"], []], count: -3, alsoGone: { gone: [], count: 1, alsoGone: null } },
    });
    expect(call(young, items, "load").result).toEqual({
      added: "new1",
      count: -3,
      part: { size: 0, label: "" },
      parts: [],
      maybe: null,
      flag: false,
    });
  });

  test("decoding an item may read another one", () => {
    const items = new Map<string, Uint8Array>();
    const old = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        class Item { name: string = ""; }
        const lists = new Table<Item[]>("lists");
        const texts = new Table<string>("texts");
        export function save(list: Item[], text: string): void { lists.put("1", list); texts.put("1", text); }`,
    });
    const young = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        class Item { name: string = ""; added: string = texts.get("1")!; }
        const lists = new Table<Item[]>("lists");
        const texts = new Table<string>("texts");
        export function load(): Item[] { texts.get("1"); return lists.get("1")!; }`,
    });
    // Shorter and longer than what else is read.
    for (const text of ["t", "t".repeat(1000)]) {
      const list = ["a", "b", "c"].map((name) => ({ name }));
      call(old, items, "save", { list, text });
      expect(call(young, items, "load").result).toEqual(list.map(({ name }) => ({ name, added: text })));
    }
  });

  test("text of any length, with other characters anywhere", () => {
    for (const character of ["", "\u007f", "\u0080", "\u4e2d", "\u{1f600}"]) {
      for (let length = 0; length < 10; length++) {
        for (let at = 0; at <= length; at++) {
          const name = `${"a".repeat(at)}${character}${"b".repeat(length - at)}`;
          const items = new Map([["names/k", new CborWriter().text(name).finish()]]);
          expect(call(built, items, "name", { key: "k" }).result).toBe(name);
        }
      }
    }
  });

  test("a stored value that is cut off, or goes on, is refused, also where it is skipped", () => {
    const writer = new CborWriter().map(7);
    writer
      .text("t")
      .text("text")
      .text("n")
      .integer(-5000)
      .text("f")
      .float(0.5)
      .text("b")
      .boolean(true)
      .text("z")
      .null();
    writer.text("l").array(3).array(1).text("a").array(0).text("x".repeat(300));
    const bytes = writer.text("m").map(1).text("k").integer(70_000).finish();
    const reading = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        class Nothing { none: i32 = 1; }
        const items = new Table<Nothing>("items");
        export function load(): i32 { return items.get("1")!.none; }`,
    });
    const load = (value: Uint8Array): unknown => {
      const { outcome, result } = call(reading, new Map([["items/1", value]]), "load");
      return outcome.kind === "trap" ? /malformed value/.exec(outcome.message)?.[0] : result;
    };
    expect(load(bytes)).toBe(1);
    for (let length = 1; length < bytes.length; length++)
      expect(load(bytes.slice(0, length)), `${length} bytes`).toBe("malformed value");
    expect(load(Uint8Array.of(...bytes, 0xf6))).toBe("malformed value");
    // Reserved lengths, indefinite ones, other simple values and floats.
    for (const initial of [0x1c, 0x5f, 0x7f, 0x9f, 0xbf, 0xf7, 0xf8, 0xf9, 0xfa, 0xff])
      expect(load(Uint8Array.of(0xa1, 0x61, 0x78, initial, 0, 0, 0, 0)), `${initial}`).toBe("malformed value");
  });

  test("a stored value that does not fit is told with table, key, field and kinds", () => {
    const item = (write: (writer: CborWriter) => CborWriter): Uint8Array =>
      write(new CborWriter().map(2).text("title").text("t").text("parts").array(2)).finish();
    const part = (writer: CborWriter): CborWriter => writer.map(2).text("é").boolean(true).text("size");
    const good = (writer: CborWriter): CborWriter => part(writer).integer(1);
    const reading = build({
      "handlers/a.ts": `import { Table } from "@radical/sdk";
        class Part { size: u8 = 0; }
        class Item { parts: Part[] = []; title: string = ""; }
        const items = new Table<Item>("items");
        const texts = new Table<string>("texts");
        const ratios = new Table<f64[]>("ratios");
        const signed = new Table<i8[]>("signed");
        export function load(key: string): i32 {
          const ratio = ratios.get(key), one = signed.get(key), text = texts.get(key);
          if (ratio != null || one != null || text != null) return 0;
          return items.get(key)!.parts.length;
        }`,
    });
    const load = (unit: string, value: Uint8Array): unknown => {
      const { outcome, result } = call(reading, new Map([[unit, value]]), "load", { key: "5c/67" });
      return outcome.kind === "trap" ? outcome.message : result;
    };
    const items = "items/5c/67";
    expect(
      load(
        items,
        item((writer) => good(good(writer))),
      ),
    ).toBe(2);
    expect(
      load(
        items,
        item((writer) => part(good(writer)).text("x")),
      ),
    ).toBe(`${items}, field parts[1].size: expected an integer, found text`);
    expect(
      load(
        items,
        item((writer) => part(good(writer)).integer(256)),
      ),
    ).toBe(`${items}, field parts[1].size: expected an integer from 0 to 255, found 256`);
    expect(
      load(
        items,
        item((writer) => part(good(writer)).integer(-1)),
      ),
    ).toBe(`${items}, field parts[1].size: expected an integer from 0 to 255, found -1`);
    expect(
      load(
        items,
        item((writer) => good(writer).null()),
      ),
    ).toBe(`${items}, field parts[1]: expected a record, found null`);
    expect(load(items, new CborWriter().map(1).text("title").float(1.5).finish())).toBe(
      `${items}, field title: expected text, found a float`,
    );
    expect(load(items, new CborWriter().array(1).text("x").finish())).toBe(
      `${items}: expected a record, found an array`,
    );
    expect(load("texts/5c/67", new CborWriter().integer(7).finish())).toBe(
      "texts/5c/67: expected text, found an integer",
    );
    expect(load("ratios/5c/67", new CborWriter().array(2).integer(7).boolean(true).finish())).toBe(
      "ratios/5c/67, field [1]: expected a number, found a boolean",
    );
    expect(load("signed/5c/67", new CborWriter().array(2).integer(-128).integer(-129).finish())).toBe(
      "signed/5c/67, field [1]: expected an integer from -128 to 127, found -129",
    );
  });

  test("abort ends the handler with its status, code and message", () => {
    expect(call(built, new Map(), "name", { key: "x" }).outcome).toEqual({
      kind: "abort",
      status: 404,
      code: "no_name",
      message: "There is no x",
    });
  });

  test("traps name the developer's or the library's line", () => {
    expect(call(built, new Map(), "index", { values: [] }).outcome).toMatchObject({
      kind: "trap",
      code: "assertion_failed",
      message: expect.stringMatching(/^Index out of range \(~lib\/array\.ts:/),
    });
  });

  test("calls that hold objects are nested to the same depth everywhere", () => {
    expect(call(built, new Map(), "deep", { n: 1000 }).result).toBe(false);
    expect(call(built, new Map(), "deep", { n: 1000000 }).outcome).toEqual({
      kind: "trap",
      code: "stack_overflow",
      message: "the handler's calls are nested too deeply",
    });
  });

  test("the environment is the recorded one", () => {
    const first = call(built, new Map(), "environment").result;
    expect(first).toMatch(/^1700000000000 0\.\d+ [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(call(built, new Map(), "environment").result).toBe(first);
    expect(call(built, new Map(), "environment", {}, 2).result).not.toBe(first);
  });

  test("the caller is the recorded one, with all of its characters, or null", () => {
    for (const caller of ["ann", "J\u00fcrgen \u{1f600} \u4e2d", "x".repeat(512), null])
      expect(call(built, new Map(), "who", {}, 1, caller).result).toBe(caller);
  });

  test("every NaN is the same", () => {
    expect(call(built, new Map(), "nan", { zero: 0 }).outcome).toEqual({
      kind: "result",
      value: Uint8Array.of(0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0),
    });
  });

  test("default exports, aliases, enums, base classes of other files, names that two files share", () => {
    const odd = build({
      "lib/base.ts": `const START: string = "base"; export type Id = string; export enum Kind { A, B }
        export class Base { id: Id = START; kind: Kind = Kind.B; }`,
      "lib/entity.ts": `import { Base } from "./base"; const START: i32 = 3;
        export default class Entity extends Base { count: i32 = START; more: Entity[] = []; }`,
      "handlers/a.ts": `import Entity from "../lib/entity"; import { Id, Kind } from "../lib/base";
        const START: f64 = 1.5;
        export function make(id: Id, kind: Kind = Kind.A, factor: f64 = START): Entity {
          const made = new Entity(); made.id = id; made.kind = kind; made.count = (made.count * factor) as i32; return made;
        }
        export function same(entity: Entity): Entity { return entity; }`,
    });
    expect(call(odd, new Map(), "make", { id: "x" }).result).toEqual({ id: "x", kind: 0, count: 4, more: [] });
    expect(call(odd, new Map(), "same", { entity: { more: [{ count: 1 }] } }).result).toEqual({
      id: "base",
      kind: 1,
      count: 3,
      more: [{ id: "base", kind: 1, count: 1, more: [] }],
    });
  });

  test("more fields and parameters than a word has bits", () => {
    const names = Array.from({ length: 70 }, (_, index) => `f${index}`);
    const wide = build({
      "handlers/a.ts": `export class Wide { ${names.map((name, index) => `${name}: i32 = ${index};`).join(" ")} }
        export function wide(${names.map((name, index) => `${name}: i32 = ${index}`).join(", ")}): Wide { const w = new Wide(); w.f69 = f0 + f69; return w; }
        export function same(wide: Wide): Wide { return wide; }`,
    });
    expect(call(wide, new Map(), "wide", { f69: 100 }).result).toMatchObject({ f0: 0, f63: 63, f64: 64, f69: 100 });
    expect(call(wide, new Map(), "same", { wide: { f64: -1 } }).result).toMatchObject({
      f0: 0,
      f63: 63,
      f64: -1,
      f69: 69,
    });
  });

  test("the manifest's view", () => {
    expect(built.records["Post"]).toMatchInlineSnapshot(`
      {
        "fields": [
          {
            "name": "title",
            "optional": false,
            "type": {
              "kind": "string",
            },
          },
          {
            "name": "stars",
            "optional": true,
            "type": {
              "kind": "i32",
            },
          },
          {
            "name": "author",
            "optional": true,
            "type": {
              "kind": "record",
              "name": "Author",
            },
          },
          {
            "name": "parent",
            "optional": true,
            "type": {
              "inner": {
                "kind": "record",
                "name": "Post",
              },
              "kind": "nullable",
            },
          },
          {
            "name": "scores",
            "optional": true,
            "type": {
              "element": {
                "kind": "f64",
              },
              "kind": "array",
            },
          },
        ],
        "name": "Post",
      }
    `);
    expect(built.handlers.find(({ name }) => name === "defaults")).toMatchInlineSnapshot(`
      {
        "abortCodes": [],
        "description": null,
        "explanations": [],
        "file": "handlers/all.ts",
        "internal": false,
        "line": 15,
        "mayEffect": false,
        "name": "defaults",
        "parameters": [
          {
            "name": "a",
            "optional": false,
            "type": {
              "kind": "i32",
            },
          },
          {
            "name": "b",
            "optional": true,
            "type": {
              "kind": "i32",
            },
          },
          {
            "name": "c",
            "optional": true,
            "type": {
              "kind": "string",
            },
          },
        ],
        "plan": {
          "kind": "recorded",
          "reason": {
            "class": "internal",
            "code": "analyzer_crash",
            "message": "defaults is not analyzed",
            "primary": {
              "column": 23,
              "end": 933,
              "file": "handlers/all.ts",
              "line": 15,
              "start": 925,
            },
            "related": [],
            "severity": "warning",
          },
        },
        "products": [],
        "readOnly": false,
        "reads": [],
        "result": {
          "kind": "string",
        },
        "rwSource": null,
        "span": {
          "column": 23,
          "end": 933,
          "file": "handlers/all.ts",
          "line": 15,
          "start": 925,
        },
        "speculative": null,
        "steps": {
          "handler": null,
          "readWriteSet": null,
        },
        "tables": null,
        "tasks": null,
        "transformations": [],
        "writes": [],
      }
    `);
  });
});
