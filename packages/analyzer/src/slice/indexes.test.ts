/** Handlers with indexes: the entries that they keep, their read/write-set functions, and the mistakes in declarations. */
import { splitUnit, type UnitId } from "@radical/protocol";
import { deriveAccessSet, recordHandler } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { entriesOf } from "../testing/entries.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";
import { call, invocation, moduleOf, snapshotOf, type Answer, type Items } from "../testing/run.ts";

const PRELUDE = `
import { abort, caller, Counter, Index, IndexRange, now, Objects, Row, Table, Unique, uuid } from "@radical/sdk";
export enum Role { guest, member, admin }
export class Post { author: string = ""; text: string = ""; at: i64 = 0; }
export class User { email: string | null = null; name: string = ""; role: Role = Role.guest; active: bool = true; age: i32 | null = null; code: u64 = 0; }
const posts = new Table<Post>("posts");
const byAuthor = new Index<Post>(posts, "author, at");
const users = new Table<User>("users");
const byEmail = new Unique<User>(users, "email");
const byRole = new Index<User>(users, "role, active");
const byAge = new Index<User>(users, "age");
const byNameAndCode = new Unique<User>(users, "name,code");
`;

function tried(source: string, prelude = PRELUDE): BuildResult {
  return buildWith({ ...buildInput({ "handlers/h.ts": prelude + source }), optimize: false }, slicer);
}

function built(source: string): BuildResult {
  const build = tried(source);
  if (!build.ok) throw new Error(build.diagnostics.map(({ message }) => message).join("\n"));
  return build;
}

function sourceOf(build: BuildResult, handler: string): string {
  const { plan, rwSource } = build.handlers.find(({ name }) => name === handler)!;
  if (plan.kind === "recorded") throw new Error(plan.reason.message);
  return rwSource!;
}

/** An entry exists exactly if its item has these fields. */
function expectEntries(build: BuildResult, items: Items): void {
  const isEntry = ([unit]: readonly [string, unknown]): boolean => /[.=]/.test(splitUnit(unit as UnitId).table);
  const stored = [...items].filter((item) => !isEntry(item));
  expect(new Map([...items].filter(isEntry))).toEqual(new Map(entriesOf(build.indexes, stored)));
}

describe("the handlers of a forum", () => {
  const build = built(`
    export function post(key: string, author: string, at: i64): void {
      const post = new Post();
      post.author = author;
      post.at = at;
      posts.put(key, post);
    }
    export function postNow(room: string, text: string): string {
      const me = caller();
      const key = \`\${room}/\${uuid()}\`;
      posts.put(key, { author: me ?? "", text, at: now() });
      return key;
    }
    export function edit(key: string, text: string): void {
      const post = posts.get(key);
      if (post == null) abort(404, "no_post", "There is no such post.");
      post.text = text;
      posts.put(key, post);
    }
    export function give(key: string, author: string): void {
      const post = posts.get(key);
      if (post == null) abort(404, "no_post", "There is no such post.");
      post.author = author;
      posts.put(key, post);
    }
    export function twice(key: string, one: string, other: string): i32 {
      posts.put(key, { author: one, text: "", at: 1 });
      posts.put(key, { author: other, text: "", at: 2 });
      return byAuthor.equal(one).count() + 10 * byAuthor.equal(other).count();
    }
    export function remove(key: string): void { posts.delete(key); }
    export function mine(author: string): i32 { return byAuthor.equal(author).last(10).length; }
    export function page(author: string, before: string | null, most: i32): string[] {
      const all = byAuthor.equal(author);
      const rows = before == null ? all.last(most) : all.before(before).last(most);
      return rows.map<string>((row) => \`\${row.key}: \${row.value.text}\`);
    }
    export function cursors(): string[] { return byAuthor.all().first(20).map<string>((row) => row.cursor); }
    export function at(author: string, time: i64): string[] {
      return byAuthor.equal(author).equal(time).first(5).map<string>((row) => row.key);
    }
    export function clear(author: string): i32 {
      const rows = byAuthor.equal(author).first(5);
      for (const row of rows) posts.delete(row.key);
      return rows.length;
    }
    export function count(author: string): i32 { return byAuthor.equal(author).count(); }
    export function signUp(id: string, email: string | null, name: string): void {
      const user = new User();
      user.email = email;
      user.name = name;
      users.put(id, user);
    }
    export function grow(id: string, age: i32 | null, admin: bool): void {
      const user = users.get(id);
      if (user == null) abort(404, "no_user", "There is no such user.");
      user.age = age;
      user.role = admin ? Role.admin : Role.member;
      users.put(id, user);
    }
    export function whoIs(email: string): string { const user = byEmail.find(email); return user == null ? "" : user.name; }
    export function named(name: string, code: u64): string | null {
      const user = byNameAndCode.equal(name).find(code);
      return user == null ? null : user.email;
    }
    export function ofAge(age: i32): i32 { return byAge.equal(age).count() + 10 * byAge.all().count(); }
    export function active(admin: bool): i32 {
      return byRole.equal(admin ? Role.admin : Role.member).equal(true).first(9).length;
    }
  `);

  const run = (items: Items, handler: string, json: unknown): Answer => {
    const answer = call(build, items, handler, json);
    expectEntries(build, items);
    return answer;
  };

  test("are all sliced", () => {
    expect(build.diagnostics).toEqual([]);
    expect(build.handlers.filter(({ plan }) => plan.kind !== "sliced").map(({ name }) => name)).toEqual([]);
    expect(build.indexes.map(({ name }) => name)).toEqual([
      "posts.author+at",
      "users.age",
      "users.role+active",
      "users=email",
      "users=name+code",
    ]);
  });

  test("keep the entries of what they store, change and remove", () => {
    const items: Items = new Map();
    run(items, "post", { key: "a", author: "ann", at: "-5" });
    run(items, "post", { key: "b", author: "ann", at: "7" });
    run(items, "post", { key: "c", author: "ann\u0000\u0001", at: "7" });
    expect(run(items, "mine", { author: "ann" }).result).toBe(2);
    expect(run(items, "page", { author: "ann", before: null, most: 5 }).result).toEqual(["b: ", "a: "]);
    run(items, "edit", { key: "a", text: "new" });
    run(items, "give", { key: "b", author: "bob" });
    expect(run(items, "page", { author: "ann", before: null, most: 5 }).result).toEqual(["a: new"]);
    expect(run(items, "at", { author: "bob", time: "7" }).result).toEqual(["b"]);
    const [first, second] = run(items, "cursors", {}).result as string[];
    expect([first, second]).toEqual([
      "ann\0-fffffffffffffffb\0a",
      "ann\u0001\u0001\u0001\u0002\u00000000000000000007\0c",
    ]);
    for (const at of ["-9223372036854775808", "9223372036854775807", "-1", "0"])
      run(items, "post", { key: "d", author: "", at });
    run(items, "remove", { key: "d" });
    run(items, "remove", { key: "c" });
    run(items, "remove", { key: "nothing" });
    expect(run(items, "clear", { author: "ann" }).result).toBe(1);
    expect(run(items, "count", { author: "ann" }).result).toBe(0);
  });

  test("see their own entries, also where they store an item twice", () => {
    const items: Items = new Map();
    expect(run(items, "twice", { key: "a", one: "ann", other: "bob" }).result).toBe(10);
    expect(run(items, "twice", { key: "a", one: "ann", other: "ann" }).result).toBe(11);
  });

  test("write no entry that stays as it is", () => {
    const items: Items = new Map();
    run(items, "post", { key: "a", author: "ann", at: "1" });
    const { writes } = run(items, "edit", { key: "a", text: "new" }).run;
    expect(writes.map(({ unit }) => unit)).toEqual(["posts/a"]);
  });

  test("refuse a second item with the same fields, and no item without them", () => {
    const items: Items = new Map();
    run(items, "signUp", { id: "1", email: "a@b", name: "ann" });
    expect(run(items, "signUp", { id: "2", email: "a@b", name: "bob" }).outcome).toMatchObject({
      kind: "abort",
      status: 409,
      code: "not_unique",
      message: "Another item of users has the same email.",
    });
    expect(run(items, "signUp", { id: "2", email: null, name: "ann" }).outcome).toMatchObject({
      message: "Another item of users has the same name, code.",
    });
    run(items, "signUp", { id: "1", email: "a@b", name: "ann" });
    run(items, "signUp", { id: "2", email: null, name: "bob" });
    run(items, "signUp", { id: "3", email: null, name: "cleo" });
    expect(run(items, "whoIs", { email: "a@b" }).result).toBe("ann");
    expect(run(items, "whoIs", { email: "" }).result).toBe("");
    expect(run(items, "named", { name: "ann", code: "0" }).result).toBe("a@b");
    run(items, "signUp", { id: "1", email: "c@d", name: "ann" });
    run(items, "signUp", { id: "3", email: "a@b", name: "cleo" });
    expect(run(items, "whoIs", { email: "a@b" }).result).toBe("cleo");
    expect(build.handlers.find(({ name }) => name === "signUp")!.abortCodes).toEqual(["not_unique"]);
    expect(build.handlers.find(({ name }) => name === "post")!.abortCodes).toEqual([]);
  });

  test("find enums, booleans and numbers that may be null", () => {
    const items: Items = new Map();
    for (const id of ["1", "2", "3"]) run(items, "signUp", { id, email: null, name: id });
    run(items, "grow", { id: "1", age: 0, admin: true });
    run(items, "grow", { id: "2", age: null, admin: false });
    run(items, "grow", { id: "3", age: 0, admin: true });
    expect([run(items, "ofAge", { age: 0 }).result, run(items, "active", { admin: true }).result]).toEqual([22, 2]);
    run(items, "grow", { id: "3", age: null, admin: false });
    expect([run(items, "ofAge", { age: 0 }).result, run(items, "active", { admin: true }).result]).toEqual([11, 1]);
  });

  test("end where an entry is too long, with its place and what to do", () => {
    const items: Items = new Map();
    const { outcome } = run(items, "post", { key: "a", author: "é".repeat(600), at: "1" });
    expect(outcome).toMatchObject({
      kind: "trap",
      message: expect.stringContaining(
        "posts/a: its entry in the index posts.author+at takes 1219 bytes, of 1024; shorten the fields",
      ) as string,
    });
  });

  test("touch what they say, and the slices are exact", () => {
    const findings = explore(build, {
      strings: ["ann", "bob", "a", "b", "", "ann\0"],
      integers: [0, 1, -1, 7],
      keys: { posts: ["a", "b", "c"], users: ["a", "b", "1"] },
      runs: 40,
    });
    expect(findings.results).toBeGreaterThan(150);
    expect(findings).toMatchObject({ extraReads: 0, extraWrites: 0 });
  });

  test("are shown with their entries", () => {
    const { reads, writes, tables } = build.handlers.find(({ name }) => name === "mine")!;
    expect(reads.map(({ pattern }) => pattern)).toEqual([
      "posts.author+at/{author}·…, last 10",
      "posts/{each of posts.author+at/{author}·…}",
    ]);
    expect([writes, tables]).toEqual([[], { reads: ["posts", "posts.author+at"], writes: [] }]);
    const post = build.handlers.find(({ name }) => name === "post")!;
    expect(post.reads.map(({ pattern, dependent }) => [pattern, dependent])).toEqual([["posts/{key}", true]]);
    expect(post.writes.map(({ pattern }) => pattern)).toContain("posts.author+at/{author}·{at}·{key}");
  });

  test("read one range and no values for a page of which only the keys count", () => {
    const source = sourceOf(build, "mine");
    expect(source).toContain(".last(");
    expect(source).toContain("posts.touch(key);");
    expect(source).toContain("class Post {}");
  });
});

test("objects and base classes keep their entries, from anywhere", () => {
  const build = built(`
    export class Named { label: string = ""; }
    export class Thread extends Named {
      id: string = "";
      create(label: string): void { this.label = label; this.save(); }
      rename(label: string): void { this.label = label; this.save(); }
    }
    export const threads = new Objects<Thread>("threads");
    const byLabel = new Unique<Thread>(threads, "label");
    export function idOf(label: string): string | null { const found = byLabel.find(label); return found == null ? null : found.id; }
    function store(id: string, thread: Thread): void { threads.put(id, thread); }
    export function copy(from: string, to: string, label: string): void {
      const thread = threads.get(from);
      if (thread == null) abort(404, "none", "There is none.");
      thread.id = to;
      thread.label = label;
      store(to, thread);
    }
  `);
  expect(build.diagnostics).toEqual([]);
  expect(build.handlers.map(({ plan }) => plan.kind)).toEqual(build.handlers.map(() => "sliced"));
  const items: Items = new Map();
  const run = (handler: string, json: unknown): Answer => {
    const answer = call(build, items, handler, json);
    expectEntries(build, items);
    return answer;
  };
  run("Thread.create", { id: "1", label: "one" });
  run("Thread.rename", { id: "1", label: "two" });
  run("copy", { from: "1", to: "2", label: "three" });
  expect(run("Thread.rename", { id: "2", label: "two" }).outcome).toMatchObject({ code: "not_unique" });
  expect(run("idOf", { label: "three" }).result).toBe("2");
  const strings = ["one", "two", "1", "2"];
  expect(explore(build, { strings, keys: { threads: ["1", "2"] }, runs: 60 })).toMatchObject({
    extraReads: 0,
    extraWrites: 0,
  });
});

test("a table that comes as a value keeps its entries, in record mode", () => {
  const build = built(`
    function store(table: Table<Post>, key: string, author: string): void {
      const post = new Post();
      post.author = author;
      table.put(key, post);
    }
    export function add(key: string, author: string): void { store(posts, key, author); }
  `);
  expect(build.handlers[0]!.plan).toMatchObject({ kind: "recorded", reason: { code: "not_sliced_table_value" } });
  const items: Items = new Map();
  call(build, items, "add", { key: "a", author: "ann" });
  expect(items.size).toBe(2);
  expectEntries(build, items);
});

test("the tables of a handler near storage have the entries that it keeps and finds", () => {
  const build = built(`
    /** @nearstorage */
    export function move(key: string, email: string): void {
      const user = byEmail.find(email);
      if (user != null) posts.put(key, { author: user.name, text: "", at: 0 });
    }
    /** @nearstorage */
    export function rows(author: string): i32 { return byAuthor.equal(author).equal(1).first(3).length; }
  `);
  expect(build.handlers.map(({ tables }) => tables)).toEqual([
    { reads: ["posts", "users", "users=email"], writes: ["posts", "posts.author+at"] },
    { reads: ["posts", "posts.author+at"], writes: [] },
  ]);
});

describe("a declaration", () => {
  const declared = (declaration: string): string[] =>
    tried(`${declaration}\nexport function f(): void {}`).diagnostics.map(
      ({ code, message, help }) => `${code}: ${message} ${help}`,
    );

  test.each([
    [
      'const wrong = new Index<Post>(posts, "auther");',
      'invalid_index: The class Post has no field "auther" for the index wrong. Write `author`.',
    ],
    [
      'const wrong = new Index<Post>(posts, "zzz");',
      'invalid_index: The class Post has no field "zzz" for the index wrong. Name a field of Post.',
    ],
    [
      'const wrong = new Index<Post>(posts, "");',
      'invalid_index: The index wrong does not say its fields as a literal text. Write the names of fields, with commas between them: `"author, at"`.',
    ],
    [
      'const wrong = new Index<Post>(posts, "at, at");',
      "invalid_index: The index wrong names the field at twice. Name it once.",
    ],
    [
      'export class Place { x: f64 = 0; } const places = new Table<Place>("places"); const wrong = new Index<Place>(places, "x");',
      "invalid_index: The field x can't be in an index, because it is of type f64. Name fields that are texts, integers, booleans or enums. For a time or a price, store an integer.",
    ],
    [
      'const names = new Table<string>("names"); const wrong = new Index<string>(names, "length");',
      "invalid_index: The table names can't have an index, because its items are not records. Store a record with the value in a field of it.",
    ],
    [
      'const again = new Index<Post>(posts, "author,at");',
      "duplicate_index: The index again has the table and the fields of byAuthor. Export one index from a file, and import it in the others.",
    ],
    [
      'function made(): i32 { return new Index<Post>(posts, "text").all().count(); } export function g(): i32 { return made(); }',
      'table_not_constant: This index is not a constant at the top of a file with a literal name, so the build does not know it. Declare it outside of functions: `const byAuthor = new Index<Post>(posts, "author, at");`.',
    ],
  ])("%s is refused", (declaration, problem) => {
    expect(declared(declaration)).toEqual([problem]);
  });

  test("of a counter is refused", () => {
    const [first] = declared('const seats = new Counter("seats"); const wrong = new Index<Post>(seats, "at");');
    expect(first).toContain("Counter");
  });
});

describe("a value of an index", () => {
  const asked = (expression: string): string[] =>
    tried(
      `export function f(text: string, n: i32, some: string | null): i32 { return ${expression} ? 1 : 0; }`,
    ).diagnostics.map(({ code, message, help }) => `${code}: ${message} ${help}`);

  test.each([
    [
      "byAuthor.equal(n).count() > 0",
      "index_part: The field author of the index byAuthor is a text, and this value is of type i32. Give a text.",
    ],
    [
      "byAuthor.equal(text).equal(text).count() > 0",
      "index_part: The field at of the index byAuthor is an integer, and this value is of type string. Give an integer.",
    ],
    [
      "byAuthor.equal(text).equal(n).equal(n).count() > 0",
      "index_part: The index byAuthor has no field for this `equal`. Give at most 2 values: `byAuthor.equal(author).equal(at)`.",
    ],
    [
      "byEmail.find(some) != null",
      "index_part: The field email of the index byEmail is a text, and this value is of type string | null. Test the value first: an item with null in the field is not in the index.",
    ],
    [
      "byNameAndCode.find(text) != null",
      "index_part: This `find` gives 1 of the 2 fields of byNameAndCode, so several items may fit. Give all of them: `byNameAndCode.equal(name).find(code)`.",
    ],
  ])("%s is refused", (expression, problem) => {
    expect(asked(expression)).toEqual([problem]);
  });

  test("that stands behind another value than an index is refused", () => {
    const { diagnostics } = tried(
      "export function f(text: string): i32 { const part = byAuthor.equal(text); return part.equal(1).count(); }",
    );
    expect(diagnostics.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "index_part: The build can't tell which field this `equal` is about, because it does not stand behind an index.",
    ]);
  });
});

describe("two indexed tables of one class", () => {
  const build = built(`
    const drafts = new Table<Post>("drafts");
    const draftsByAuthor = new Index<Post>(drafts, "author");
    const draftsByText = new Unique<Post>(drafts, "text");
    const bare = new Table<Post>("bare");
    export function draft(key: string, author: string): void { drafts.put(key, { author, text: key, at: 1 }); }
    export function post(key: string, author: string): void { posts.put(key, { author, text: key, at: 1 }); }
    export function keep(key: string, author: string): void { bare.put(key, { author, text: key, at: 1 }); }
    export function publish(key: string): void {
      const draft = drafts.get(key);
      if (draft == null) abort(404, "no_draft", "There is no such draft.");
      drafts.delete(key);
      posts.put(key, draft);
    }
    export function retract(key: string): void {
      const post = posts.get(key);
      if (post == null) abort(404, "no_post", "There is no such post.");
      posts.delete(key);
      drafts.put(key, post);
    }
    export function all(author: string): i32 {
      return 100 * draftsByAuthor.equal(author).count() + byAuthor.equal(author).count();
    }
    export function pageOf(author: string, before: string | null): string[] {
      let range = draftsByAuthor.equal(author) as IndexRange<Post>;
      if (before != null) range = range.before(before);
      return range.last(3).map<string>((row) => row.key);
    }
    export function either(author: string, before: string | null): string[] {
      const own = byAuthor.equal(author);
      const rows = before == null ? own.last(3) : own.before(before).last(3);
      return rows.map<string>((row) => row.key);
    }
    export function which(text: string): string | null {
      const draft = draftsByText.find(text);
      return draft == null ? null : draft.author;
    }
  `);

  test("are sliced, and each keeps its own indexes", () => {
    expect(build.diagnostics).toEqual([]);
    expect(build.handlers.filter(({ plan }) => plan.kind !== "sliced").map(({ name }) => name)).toEqual([]);
    const items: Items = new Map();
    const run = (handler: string, json: unknown): Answer => {
      const answer = call(build, items, handler, json);
      expectEntries(build, items);
      return answer;
    };
    run("draft", { key: "a", author: "ann" });
    run("post", { key: "b", author: "ann" });
    run("keep", { key: "c", author: "ann" });
    expect([...items.keys()].filter((unit) => unit.startsWith("bare"))).toEqual(["bare/c"]);
    expect(run("all", { author: "ann" }).result).toBe(101);
    expect(run("which", { text: "a" }).result).toBe("ann");
    expect(run("pageOf", { author: "ann", before: null }).result).toEqual(["a"]);
    expect(run("either", { author: "ann", before: null }).result).toEqual(["b"]);
    run("publish", { key: "a" });
    expect(run("all", { author: "ann" }).result).toBe(2);
    run("retract", { key: "b" });
    expect(run("all", { author: "ann" }).result).toBe(101);
    expect(run("which", { text: "a" }).result).toBe(null);
  });

  test("no handler says a unit that its run does not touch, and each says all that it touches", () => {
    const items: Items = new Map();
    call(build, items, "draft", { key: "a", author: "ann" });
    call(build, items, "post", { key: "b", author: "bob" });
    const module = moduleOf(build);
    const calls: readonly (readonly [string, unknown])[] = [
      ["draft", { key: "c", author: "cleo" }],
      ["draft", { key: "a", author: "bob" }],
      ["post", { key: "c", author: "cleo" }],
      ["keep", { key: "c", author: "cleo" }],
      ["publish", { key: "a" }],
      ["retract", { key: "b" }],
      ["all", { author: "ann" }],
      ["pageOf", { author: "ann", before: null }],
      ["pageOf", { author: "ann", before: "ann\0z" }],
      ["either", { author: "bob", before: null }],
      ["either", { author: "bob", before: "bob\0" }],
      ["which", { text: "a" }],
    ];
    for (const [handler, json] of calls) {
      const invoked = invocation(build, handler, json);
      const derived = deriveAccessSet(module, invoked, snapshotOf(items));
      const { run } = recordHandler(module, invoked, snapshotOf(items), { guess: false });
      expect(derived.kind).toBe("derived");
      if (derived.kind !== "derived" || run === null) continue;
      const written = new Set(run.writes.map(({ unit }) => unit));
      expect([handler, new Set(derived.set.reads)]).toEqual([handler, new Set(run.reads)]);
      expect([handler, new Set(derived.set.writes)]).toEqual([handler, written]);
    }
  });
});

test("an indexed put takes less than three times the fuel of a plain one, and no more where the fields stay", () => {
  const build = built(`
    const bare = new Table<Post>("bare");
    const one = new Table<Post>("one");
    const ofOne = new Index<Post>(one, "author, at");
    const three = new Table<Post>("three");
    const first = new Index<Post>(three, "author, at");
    const second = new Index<Post>(three, "author");
    const third = new Index<Post>(three, "at");
    const single = new Table<Post>("single");
    const ofSingle = new Unique<Post>(single, "author");
    const TEXT = "Some words about nothing in particular, as long as a post of somebody. ".repeat(3);
    export function putBare(author: string): void { bare.put("k", { author, text: TEXT, at: 1_700_000_000_000 }); }
    export function putOne(author: string): void { one.put("k", { author, text: TEXT, at: 1_700_000_000_000 }); }
    export function putThree(author: string): void { three.put("k", { author, text: TEXT, at: 1_700_000_000_000 }); }
    export function putSingle(author: string): void { single.put("k", { author, text: TEXT, at: 1_700_000_000_000 }); }
  `);
  const items: Items = new Map();
  const fuel = (handler: string, author: string): number => call(build, items, handler, { author }).run.fuel;
  const bare = fuel("putBare", "ann");
  const prices = Object.fromEntries(
    ["putBare", "putOne", "putThree", "putSingle"].map((handler) => {
      const [added, same, moved] = ["ann", "ann", "bob"].map((author) => fuel(handler, author) / bare);
      return [handler, [added, same, moved].map((price) => price!.toFixed(2))];
    }),
  );
  for (const [added, same, moved] of Object.values(prices)) {
    expect(Math.max(Number(added), Number(moved))).toBeLessThan(3);
    expect(Number(same)).toBeLessThanOrEqual(Number(moved));
  }
});
