import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

/** The sets as `radical analyze` shows them. */
function shown({ handlers }: BuildResult): string {
  return handlers
    .map(({ name, reads, writes }) => {
      const lines = [
        ...reads.map(({ pattern, dependent }) => `  reads  ${pattern}${dependent ? "  dependent" : ""}\n`),
        ...writes.map(({ pattern }) => `  writes ${pattern}\n`),
      ];
      return `${name}\n${[...new Set(lines)].join("")}`;
    })
    .join("\n");
}

test.each(["social", "hotel", "forum"])("the key patterns of %s", async (name) => {
  const file = fileURLToPath(new URL(`../../fixtures/${name}/golden/key-patterns.txt`, import.meta.url));
  await expect(shown(build(fixture(name)))).toMatchFileSnapshot(file);
});

test("whatever a key is made of, each access has patterns on one line, with closed braces", () => {
  const { handlers } = build(fixture("constructs"));
  const accesses = handlers.flatMap(({ reads, writes }) => [...reads, ...writes]);
  expect(accesses.length).toBeGreaterThan(100);
  for (const { table, pattern } of accesses) {
    expect(pattern.startsWith(`${table}/`)).toBe(true);
    expect(pattern).not.toMatch(/[\n\t]/);
    // Source text in a pattern may have braces of its own.
    if (!pattern.includes("{= ")) expect(pattern.split("{").length).toBe(pattern.split("}").length);
  }
});

describe("the little language", () => {
  const HEAD = `
    import { Table, abort, caller, now, random, uuid } from "@radical/sdk";
    export class User { name: string = ""; friends: string[] = []; n: i32 = 0; }
    export class Query { name: string = ""; names: string[] = []; }
    const users = new Table<User>("users");
    const lists = new Table<string[]>("lists");
    const names = new Table<string>("names");
    const PREFIX = "p-";
    function keyOf(name: string): string { return PREFIX + name; }
    function friendOf(user: User, at: i32): string { return user.friends[at]; }
    function visit(id: string, depth: i32): void {
      const user = users.get(id);
      if (user == null || depth > 3) return;
      for (let i = 0; i < user.friends.length; i++) visit(user.friends[i], depth + 1);
    }
    `;
  test.each([
    ["a parameter", "(a: string): void { names.get(a); }", ["names/{a}"]],
    ["a literal", '(): void { names.get("all"); }', ["names/all"]],
    ["braces of the text", '(): void { names.get("{a}"); }', ["names/{{a}}"]],
    ["templates and +", "(a: string, n: i32): void { names.get(`${a}/${n}` + a); }", ["names/{a}/{n}{a}"]],
    ["constants and helpers", "(a: string): void { names.get(keyOf(a)); }", ["names/p-{a}"]],
    ["fields of record arguments", "(q: Query): void { names.get(q.name); }", ["names/{name of q}"]],
    [
      "elements of arguments",
      "(q: Query, all: string[]): void { for (let i = 0; i < all.length; i++) names.has(all[i] + q.names[i]); }",
      ["names/{each all}{each names of q}"],
    ],
    ["one element", "(all: string[]): void { names.has(all[0]); }", ["names/{all[0]}"]],
    [
      "fields of dependent reads",
      "(a: string): void { const u = users.get(a); if (u != null) names.get(u.name); }",
      ["names/{name of users/{a}}", "users/{a}"],
    ],
    [
      "elements of dependent reads, through a callback",
      "(a: string): void { const l = lists.get(a); if (l != null) l.forEach((one) => { names.get(one); }); }",
      ["lists/{a}", "names/{each of lists/{a}}"],
    ],
    [
      "what a value of a table is",
      "(a: string): void { const n = names.get(a); if (n != null) names.get(n); }",
      ["names/{a}", "names/{names/{a}}"],
    ],
    [
      "choices",
      '(a: string, b: bool): void { let key = a; if (b) key = "b"; names.get(b ? key : "c"); }',
      ["names/b", "names/c", "names/{a}"],
    ],
    [
      "containers made here",
      '(a: string): void { const keys = ["x"]; keys.push(a); for (let i = 0; i < keys.length; i++) names.get(keys[i]); }',
      ["names/x", "names/{a}"],
    ],
    ["records made here", "(a: string): void { const u = new User(); u.name = a; names.get(u.name); }", ["names/{a}"]],
    [
      "time and chance",
      "(): void { names.get(uuid()); names.get(now().toString() + random().toString()); }",
      ["names/{now}{random}", "names/{uuid}"],
    ],
    [
      "the caller",
      '(): void { const me = caller(); if (me == null) abort(401, "no", "no"); names.get("of/" + me); users.get(me!); }',
      ["names/of/{caller}", "users/{caller}"],
    ],
    ["recursion", "(a: string): void { visit(a, 0); }", ["users/{a}", "users/{each friends of users/{…}}"]],
    [
      "what is computed",
      "(a: string, n: i32): void { names.get(a.toUpperCase() + (n * 2).toString()); }",
      ["names/{= a.toUpperCase()}{= n * 2}"],
    ],
    [
      "arguments of a helper",
      "(a: string): void { const u = users.get(a); if (u != null) names.get(friendOf(u, 1)); }",
      ["names/{each friends of users/{a}}", "users/{a}"],
    ],
  ])("%s", (_, handler, expected) => {
    const { handlers, diagnostics } = build({ "handlers/h.ts": `${HEAD}export function h${handler}` });
    expect(diagnostics).toEqual([]);
    const patterns = handlers.flatMap(({ reads, writes }) => [...reads, ...writes].map(({ pattern }) => pattern));
    expect([...new Set(patterns)].toSorted()).toEqual(expected.toSorted());
  });
});

describe("of handlers without a slice", () => {
  const HEAD = `
    import { Table, random } from "@radical/sdk";
    class Item { n: i32 = 0; }
    const items = new Table<Item>("items");
    const lists = new Table<string[]>("lists");
    let current = items;
    function remove(key: string): void { items.delete("old-" + key); }
    class V { x: i32 = 1; @operator("==") static same(l: V, r: V): bool { return items.has("same"); } }
    class Named { toString(): string { items.put("named", new Item()); return "n"; } }
    `;
  const of = (source: string): string => {
    const { handlers, diagnostics } = build({ "handlers/h.ts": HEAD + source });
    const [handler] = handlers;
    if (handler === undefined) return diagnostics[0]?.message ?? "";
    const { plan, readOnly, reads, writes } = handler;
    const patterns = [
      ...reads.map(({ pattern, dependent }) => `reads ${pattern}${dependent ? " dependent" : ""}`),
      ...writes.map(({ pattern }) => `writes ${pattern}`),
    ];
    return [plan.kind, readOnly ? "reads only" : "writes", ...new Set(patterns)].join(", ");
  };

  test.each([
    ["(a: string): void { items.get(nameof<Item>() + a); }", "recorded, reads only, reads items/{?}{a}"],
    [
      "(a: string): void { const all = lists.get(a); if (all == null) return; for (let i = 0; i < all.length; i++) items.put(all[i], new Item()); remove(a); items.has(typeof (a + a)); }",
      "recorded, writes, reads lists/{a}, reads items/{?}, writes items/old-{a}, writes items/{each of lists/{a}}",
    ],
    [
      "(a: string): void { const r: ArrayBufferView = new Uint8Array(2); items.has(r.byteLength.toString() + a); }",
      "recorded, reads only, reads items/{?}{a}",
    ],
    ['(a: string): void { items.get([[items.has(a) ? "x" : "y"]].join()); }', "recorded, reads only, reads items/{?}"],
    ["(): bool { return [new V()].includes(new V()); }", "recorded, reads only, reads items/{?}"],
    [
      "(): void { items.get(nameof<Item>() + [[new Named()]].join()); }",
      "recorded, writes, reads items/{?}{?}, writes items/{?}",
    ],
    [
      "(a: string): void { const f = (key: string): void => { current.put(key, new Item()); }; f(nameof<Item>() + a); }",
      "recorded, writes, writes items/{= key}",
    ],
    [
      "(a: string): void { items.get(salt.toString() + a); } const salt = random();",
      "recorded, reads only, reads items/{random}{a}",
    ],
  ])("recorded: %s", (source, expected) => {
    expect(of(`export function h${source}`)).toBe(expected);
  });

  test("near storage", () => {
    expect(of("/** @nearstorage */ export function h(a: string): void { items.put(a, new Item()); }")).toBe(
      "near-storage, writes, writes items/{a}",
    );
  });

  test("given: those of the given function", () => {
    const set = `export function h(user: string, size: i32 = 10): void { items.put(user, new Item()); }
      /** @readwrite h */
      function touched(user: string): void {
        const all = lists.get(user);
        if (all == null) return;
        for (let i = 0; i < all.length; i++) items.touch(all[i]);
        items.willPut(\`p-\${user}\`);
        items.willDelete(nameof<Item>() + user);
      }`;
    expect(of(set)).toBe(
      "given, writes, reads lists/{user} dependent, reads items/{each of lists/{user}}, writes items/p-{user}, writes items/{?}{user}",
    );
    expect(
      of(`export function h(a: string): void { items.put(a, new Item()); }
      /** @readwrite h */ function none(a: string): void { items.touch(a); }`),
    ).toBe("given, writes, reads items/{a}");
    // Whether a handler writes is its own matter.
    expect(
      of(`export function h(a: string): void { items.get(a); }
      /** @readwrite h */ function more(a: string): void { items.touch(a); items.willPut(a); }`),
    ).toBe("given, reads only, reads items/{a}, writes items/{a}");
  });
});
