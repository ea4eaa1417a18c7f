/** Handlers with ranges: their read/write-set functions, and what they say of scans. */
import { describe, expect, test } from "vitest";
import type { BuildResult } from "../pipeline.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";
import { call, type Items } from "../testing/run.ts";

const PRELUDE = `
import { abort, ascending, caller, descending, now, Objects, Range, Row, Table, uuid } from "@radical/sdk";
export class Post { author: string = ""; text: string = ""; at: i64 = 0; likes: string[] = []; }
export class Page { texts: string[] = []; next: string | null = null; total: i32 = 0; }
const posts = new Table<Post>("posts");
const users = new Table<string>("users");
`;

function built(source: string): BuildResult {
  const build = buildWith({ ...buildInput({ "handlers/h.ts": PRELUDE + source }), optimize: false }, slicer);
  if (!build.ok) throw new Error(build.diagnostics.map(({ message }) => message).join("\n"));
  return build;
}

function sliceOf(build: BuildResult, handler: string): string {
  const { plan, rwSource } = build.handlers.find(({ name }) => name === handler)!;
  if (plan.kind === "recorded") throw new Error(plan.reason.message);
  return rwSource!;
}

/** The statements of the read/write-set function of a handler, without the rest of the file. */
function statementsOf(build: BuildResult, handler: string): string[] {
  const [, body = ""] = /\nexport function [^{]*\{\n([\s\S]*?)\n\}/.exec(sliceOf(build, handler)) ?? [];
  return body.split("\n").map((line) => line.trim().replace(/ \/\/ .*/, ""));
}

describe("the handlers of a timeline", () => {
  const build = built(`
    export function post(room: string, text: string): string {
      const me = caller();
      const post = new Post();
      post.author = me == null ? "" : me;
      post.text = text;
      post.at = now();
      const key = \`\${room}/\${ascending(post.at)}-\${uuid()}\`;
      posts.put(key, post);
      return key;
    }
    export function timeline(room: string, before: string | null, most: i32 = 20): Page {
      let range = posts.prefix(room + "/");
      if (before != null) range = range.before(before);
      const rows = range.last(most);
      const page = new Page();
      for (let i = 0; i < rows.length; i++) page.texts.push(rows[i].value.text);
      if (rows.length == most) page.next = rows[rows.length - 1].cursor;
      page.total = posts.prefix(room + "/").count();
      return page;
    }
    export function authors(room: string, after: string): string[] {
      const found: string[] = [];
      for (const { value } of posts.prefix(room + "/").after(after).first(3)) {
        const name = users.get(value.author);
        if (name != null) found.push(name);
      }
      return found;
    }
    export function clear(room: string, most: i32): i32 {
      let cleared = 0;
      for (const row of posts.prefix(room + "/").first(most)) { posts.delete(row.key); cleared++; }
      return cleared;
    }
    export function postAndRead(room: string, key: string): string[] {
      posts.put(room + "/" + key, new Post());
      posts.delete(room + "/b");
      return posts.prefix(room + "/").last(2).map<string>((row) => \`\${row.key}: \${row.value.text}\`);
    }
    export function isFull(room: string): bool {
      posts.put(room + "/a", new Post());
      if (posts.prefix(room + "/").count() > 2) abort(409, "full", "The room is full.");
      users.put(room, "open");
      return false;
    }
  `);

  test("are all sliced", () => {
    expect(build.diagnostics).toEqual([]);
    expect(build.handlers.map(({ name, plan }) => [name, plan.kind])).toEqual(
      build.handlers.map(({ name }) => [name, "sliced"]),
    );
  });

  test("do not scan where the rows are not needed, and compute bounds and numbers of rows", () => {
    expect(statementsOf(build, "timeline")).toEqual([
      'let range = posts.prefix(room + "/");',
      "if (before != null) {",
      "range = range.before(before);",
      "}",
      "range.touchLast(most);",
      'posts.prefix(room + "/").touchCount();',
    ]);
  });

  test("scan for what their other accesses depend on, with the fields that they need", () => {
    expect(sliceOf(build, "authors")).toContain('posts.prefix(room + "/").after(after).first(3)');
    expect(sliceOf(build, "authors")).toContain('class Post {\n  author: string = "";\n}');
    expect(sliceOf(build, "clear")).toContain("posts.willDelete(row.key);");
  });

  test("keep the writes before a scan whole, because the walk comes by them", () => {
    expect(statementsOf(build, "postAndRead")).toEqual([
      'posts.put(room + "/" + key, new Post());',
      'posts.delete(room + "/b");',
      'posts.prefix(room + "/").touchLast(2);',
    ]);
  });

  test("touch what they say: the observed spans are within those of the set", () => {
    const keys = { posts: ["r/a", "r/b", "r/c", "r/d", "s/a", "s/b"], users: ["a", "r"] };
    const findings = explore(build, {
      strings: ["r", "s", "a", "b", "r/b", "c"],
      integers: [0, 1, 2, 3],
      keys,
      runs: 80,
    });
    expect(findings.results).toBeGreaterThan(300);
    // The slices are exact.
    expect(findings).toMatchObject({ extraReads: 0, extraWrites: 0 });
  });

  test("are shown with their ranges", () => {
    const patterns = (handler: string): string[] =>
      build.handlers.find(({ name }) => name === handler)!.reads.map(({ pattern }) => pattern);
    expect(patterns("timeline")).toEqual([
      "posts/{room}/…, last {most}",
      "posts/{room}/… before {before}, last {most}",
      "posts/{room}/…, count",
    ]);
    expect(patterns("authors")).toEqual([
      "posts/{room}/… after {after}, first 3",
      "users/{author of each of posts/{room}/… after {after}}",
    ]);
    expect(build.handlers.find(({ name }) => name === "clear")).toMatchObject({
      readOnly: false,
      tables: { reads: ["posts"], writes: ["posts"] },
      reads: [{ dependent: true }],
    });
  });
});

test("ranges and rows go through functions, variables, callbacks and conditions", () => {
  const build = built(`
    function shown(rows: Row<Post>[]): string { return rows.map<string>((row) => row.value.text).join(); }
    function narrowed(range: Range<Post>, from: string): Range<Post> { return from == "" ? range : range.after(from); }
    function keysOf(range: Range<Post>): string[] { return range.first(2).map<string>(({ key }) => key); }
    class Wanted { constructor(public range: Range<Post>, public rows: i32) {} }
    export function passed(a: string): string { return shown(narrowed(posts.all(), a).last(2)); }
    export function chosen(a: string, b: bool): bool {
      const wanted = new Wanted(b ? posts.range(a, "c") : posts.prefix("b"), b ? 1 : 2);
      for (const key of keysOf(wanted.range)) users.has(key);
      return wanted.range.first(wanted.rows).some((row) => users.has(row.cursor));
    }
    export function rowsKept(a: string): i32 {
      const rows = posts.all().first(3);
      let best: Row<Post> | null = null;
      for (const row of rows) if (best == null || row.value.at > best.value.at) best = row;
      if (best == null) return 0;
      const post = best.value;
      post.likes.push(a);
      posts.put(best.key, post);
      return post.likes.length;
    }
    export function byNumber(n: i64): bool {
      posts.put(ascending(n), new Post());
      const rows = posts.range(ascending(-3), ascending(2)).first(9);
      return rows.length > 0 && users.has(descending(n)) && users.has(rows[0].key);
    }
  `);
  expect(build.diagnostics).toEqual([]);
  for (const { name } of build.handlers) sliceOf(build, name);
  const keys = { posts: ["a", "aa", "b", "ba", "c"], users: ["a", "b"] };
  const findings = explore(build, { strings: ["", "a", "b", "ba"], integers: [-4, -1, 0, 2], keys, runs: 80 });
  expect(findings.results).toBeGreaterThan(300);
});

test("the fixtures are sliced, also with transformations", () => {
  const { "handlers/ranges.ts": handlers, "lib/items.ts": items } = fixture("constructs");
  const files = { "handlers/ranges.ts": handlers!, "lib/items.ts": items! };
  const build = buildWith({ ...buildInput(files), optimize: false }, slicer);
  expect(build.handlers.map(({ name, plan }) => [name, plan.kind])).toEqual(
    build.handlers.map(({ name }) => [name, "sliced"]),
  );
  const transformed = build.handlers.flatMap(({ name, transformations }) =>
    transformations.map(({ kind }) => `${name}: ${kind}`),
  );
  // Behind the other union a walk would come by a write that its handler may not make.
  expect(transformed).toEqual(["scansInAUnion: union"]);
  const findings = explore(build, { strings: ["a", "b", "y", "two"], integers: [0, 1, 2, 3, 4, 5, 6, 7], runs: 60 });
  expect(findings.results).toBeGreaterThan(300);
});

test("a handler that is not sliced runs in record mode, and its module names the tables of its ranges", () => {
  const build = built(`
    /** @nearstorage */
    export function near(a: string): i32 { return posts.prefix(a).count() + (users.has(a) ? 1 : 0); }
    export function recorded(a: string): i32 { return posts.prefix(a).first(2).length + (isBig<Post>() ? 1 : 0); }
    function isBig<T>(): bool { return offsetof<T>() > 8; }
    export function given(a: string): i32 { return posts.prefix(a).last(2).length; }
    /** @readwrite given */
    export function set(a: string): void { posts.prefix(a).touchLast(2); }
  `);
  const shown = (handler: string): unknown => {
    const { plan, tables, reads } = build.handlers.find(({ name }) => name === handler)!;
    return [plan.kind, tables, reads.map(({ pattern }) => pattern)];
  };
  expect(shown("near")).toEqual([
    "near-storage",
    { reads: ["posts", "users"], writes: [] },
    ["posts/{a}…, count", "users/{a}"],
  ]);
  expect(shown("recorded")).toEqual(["recorded", { reads: ["posts"], writes: [] }, ["posts/{a}…, first 2"]]);
  expect(shown("given")).toEqual(["given", { reads: ["posts"], writes: [] }, ["posts/{a}…, last 2"]]);
  explore(build, {
    strings: ["a", "b"],
    handlers: ["recorded", "given"],
    keys: { posts: ["a", "aa", "ab", "b"] },
  });
});

test("ranges of objects are those of a table", () => {
  const build = built(`
    export class Thread { id: string = ""; title: string = ""; rename(title: string): void { this.title = title; this.save(); } }
    const threads = new Objects<Thread>("threads");
    export function rename(a: string): i32 {
      for (const row of threads.prefix(a).last(2)) { row.value.title = a; threads.put(row.key, row.value); }
      return threads.all().count();
    }
  `);
  expect(sliceOf(build, "rename")).toContain("threads.put(row.key, row.value);");
  const keys = { threads: ["a", "aa", "ab", "b"] };
  explore(build, { strings: ["a", "b", "aa"], handlers: ["rename"], keys, runs: 30 });
});

test("mistakes with ranges are told with what to write", () => {
  const told = (body: string): string => {
    const source = `${PRELUDE}export function h(a: string): i32 { ${body} }`;
    const build = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
    return build.diagnostics.map(({ code, message, help }) => `${code}: ${message} ${help}`).join("\n");
  };
  expect(told("for (const row of posts.all()) users.has(row.key); return 0;")).toContain("`posts.all().first(100)`");
  expect(told("return posts.first(2).length;")).toContain("`posts.prefix(text)`");
  expect(told("return posts.all().length;")).toContain("type 'Range<Post>'. A range has");
  expect(told("return posts.all().first(1)[0].text.length;")).toContain("type 'Row<Post>'. A row has");
  expect(told('return new Row<string>("a", "b", "a").key.length;')).toContain("a table makes its ranges");
  expect(told("const row = posts.all().first(1)[0]; row.value.text = a; return 0;")).toContain(
    "unsaved_change: The change of row.value.text is lost, because h never puts that record.",
  );
});

describe("a range", () => {
  const build = built(`
    function keysOf(rows: Row<string>[]): string[] { return rows.map<string>((row) => row.key + "=" + row.value); }
    export function put(keys: string[]): void { for (const key of keys) users.put(key, key); }
    export function all(): string[] { return keysOf(users.all().first(99)); }
    export function reversed(): string[] { return keysOf(users.all().last(99)); }
    export function prefixed(a: string): string[] { return keysOf(users.prefix(a).first(99)); }
    export function between(a: string, b: string): string[] { return keysOf(users.range(a, b).first(99)); }
    export function within(a: string, b: string): string[] { return keysOf(users.all().after(a).before(b).after("").first(99)); }
    export function number(a: string): i32 { return users.prefix(a).count(); }
    export function nothing(): i32 { return users.range("b", "b").first(9).length + users.all().before("").count() + users.all().first(-1).length; }
    export function sorted(n: i64): string { return ascending(n) + " " + descending(n); }
  `);
  const items: Items = new Map();
  const texts = [
    "a",
    "a/",
    "a0",
    "b",
    "é",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ffff}",
    "😀",
    "😀x",
    "\u{10ffff}",
    "\u{10ffff}z",
  ];
  call(build, items, "put", { keys: texts.toReversed() });
  const get = (handler: string, json: unknown = {}): unknown => {
    const { result, outcome } = call(build, items, handler, json);
    if (outcome.kind !== "result") throw new Error(JSON.stringify(outcome));
    return result;
  };
  const shown = (keys: readonly string[]): string[] => keys.map((key) => `${key}=${key}`);
  const bytes = (text: string): Buffer => Buffer.from(text);
  const isBefore = (a: string, b: string): boolean => Buffer.compare(bytes(a), bytes(b)) < 0;

  test("is in the order of UTF-8, in both directions", () => {
    expect(get("all")).toEqual(shown(texts));
    expect(get("reversed")).toEqual(shown(texts.toReversed()));
  });

  test("of a prefix has what begins with it", () => {
    for (const prefix of ["", "a", "a/", "é", "\u{d7ff}", "😀", "\u{10ffff}", "z"]) {
      const expected = texts.filter((text) => text.startsWith(prefix));
      expect(get("prefixed", { a: prefix })).toEqual(shown(expected));
      expect(get("number", { a: prefix })).toBe(expected.length);
    }
  });

  test("has its first bound and not its last, and cursors are in neither side", () => {
    for (const a of texts)
      for (const b of texts) {
        const between = texts.filter((text) => !isBefore(text, a) && isBefore(text, b));
        expect(get("between", { a, b })).toEqual(shown(between));
        expect(get("within", { a, b })).toEqual(shown(between.filter((text) => text !== a)));
      }
    expect(get("nothing")).toBe(0);
  });

  test("of ascending texts is in the order of the numbers, and of descending ones in the other", () => {
    const numbers = ["-9223372036854775808", "-4294967296", "-2", "-1", "0", "1", "4294967296", "9223372036854775807"];
    const pairs = numbers.map((n) => (get("sorted", { n }) as string).split(" ") as [string, string]);
    for (const [up, down] of pairs) expect([up.length, down.length]).toEqual([16, 16]);
    for (let i = 1; i < pairs.length; i++) {
      expect(isBefore(pairs[i - 1]![0], pairs[i]![0])).toBe(true);
      expect(isBefore(pairs[i]![1], pairs[i - 1]![1])).toBe(true);
    }
  });
});

test("a row that its table's type can't have is named by its key", () => {
  const build = built(`export function read(): i32 { return posts.all().first(2).length; }`);
  const items: Items = new Map([
    ["posts/a", Uint8Array.of(0xa0)],
    ["posts/b", Uint8Array.of(0xa1, 0x62, 0x61, 0x74, 0x61, 0x78)],
  ]);
  expect(call(build, items, "read").outcome).toMatchObject({
    kind: "trap",
    message: expect.stringContaining("posts/b, field at: expected an integer, found text") as string,
  });
});
