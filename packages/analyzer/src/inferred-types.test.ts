/** Types that nobody wrote: those of object literals, and of the results of functions. */
import { formatValueType } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { JavaScriptHandlers } from "./testing/as-javascript.ts";
import { buildInput } from "./testing/library.ts";
import { call, type Items } from "./testing/run.ts";

const PATH = "handlers/all.ts";

function built(text: string): BuildResult {
  return buildWith({ ...buildInput({ [PATH]: text }), optimize: false }, slicer);
}

/** A build whose handlers are all sliced. */
function build(text: string): BuildResult {
  const application = built(text);
  expect(application.diagnostics).toEqual([]);
  expect(application.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
  return application;
}

function problems(text: string): string[] {
  return built(text).diagnostics.map(({ code, primary, message }) => `${primary.line}: ${code}: ${message}`);
}

/** The types that clients know: `list: ListResult[]`, `ListResult { id: string; who?: string }`. */
function knownTo({ handlers, records }: BuildResult): string[] {
  return [
    ...handlers.map(({ name, result }) => `${name}: ${result === null ? "void" : formatValueType(result)}`),
    ...Object.values(records).map(({ name, fields }) => {
      const members = fields.map(
        (field) => `${field.name}${field.absent === true ? "?" : ""}: ${formatValueType(field.type)}`,
      );
      return `${name} { ${members.join("; ")} }`;
    }),
  ];
}

type Call = readonly [handler: string, json: Readonly<Record<string, unknown>>];

/** The results of calls, which are those of the same file as JavaScript. */
function results(text: string, calls: readonly Call[]): unknown[] {
  const application = build(text);
  const javaScript = new JavaScriptHandlers(text.replaceAll(/^ {4}/gm, "").trim());
  const items: Items = new Map();
  return calls.map(([handler, json]) => {
    const { parameters } = application.handlers.find(({ name }) => name === handler)!;
    const args = parameters.map(({ name }) => json[name]);
    const wanted = javaScript.call({ handler, args, caller: null, timeMs: 1_700_000_000_000 });
    const found = call(application, items, handler, json);
    expect([handler, found.outcome.kind, found.result]).toEqual([
      handler,
      wanted.kind,
      wanted.kind === "result" ? wanted.result : undefined,
    ]);
    return found.result;
  });
}

describe("object literals without a written type", () => {
  test("have the types of their values, and are one object for all who name it", () => {
    const text = `
    import { Table } from "@radical/sdk";
    const notes = new Table<string>("notes");
    let drawn = 0;
    function next(): i32 { drawn += 1; return drawn; }
    export function count(key: string): string {
      drawn = 0;
      const seen = { b: next(), a: next(), text: notes.get(key) ?? "none", inner: { many: [1.5, 2] } };
      const same = seen;
      same.a += 10;
      same.inner.many.push(4);
      seen.text += "!";
      notes.put(key, seen.text);
      return \`\${seen.a} \${seen.b} \${same.text} \${seen.inner.many.join("+")}\`;
    }
    export function pick(n: i32): string {
      const list = [{ n: 1, s: "one" }, { n: 2, s: "two" }, { s: "three", n: 3 }];
      const found = list.filter((each) => each.n > n).map((each) => ({ s: each.s, twice: each.n * 2 }));
      const last = found.length > 1 ? { s: "many", twice: found.length } : found[0];
      return found.map(({ s, twice }) => s + twice.toString()).join() + last.s;
    }`;
    const calls: Call[] = [
      ["count", { key: "a" }],
      ["count", { key: "a" }],
      ["pick", { n: 0 }],
      ["pick", { n: 2 }],
    ];
    expect(results(text, calls)).toEqual([
      "12 1 none! 1.5+2+4",
      "12 1 none!! 1.5+2+4",
      "one2,two4,three6many",
      "three6three",
    ]);
  });

  test("are the one record of the program that they fit", () => {
    const text = `
    import { Table, now } from "@radical/sdk";
    type Status = "open" | "done";
    interface Change { field: string; before: string }
    interface Entry { at: number; what: string; changes: Change[]; status: Status; note?: string }
    const entries = new Table<Entry>("entries");
    const logs = new Table<Entry[]>("logs");
    export function add(key: string, status: Status): Entry {
      const changes = [{ field: "what", before: "" }];
      const entry = { what: "added", at: now(), changes, status };
      entries.put(key, entry);
      logs.put(key, [entry, ...(logs.get(key) ?? [])].slice(0, 2));
      entry.at /= 2;
      return entry;
    }
    export function list(key: string): Entry[] { return logs.get(key) ?? []; }
    export function other(key: string): string {
      const status: string = "open" + key;
      const entry = { what: "other", at: 1, changes: [] as Change[], status };
      return entry.status;
    }`;
    const entry = { at: 850_000_000_000, what: "added", changes: [{ field: "what", before: "" }], status: "open" };
    const calls: Call[] = [
      ["add", { key: "a", status: "open" }],
      ["add", { key: "a", status: "done" }],
      ["list", { key: "a" }],
      ["other", { key: "x" }],
    ];
    expect(results(text, calls)).toEqual([
      entry,
      { ...entry, status: "done" },
      [
        { ...entry, at: 1_700_000_000_000, status: "done" },
        { ...entry, at: 1_700_000_000_000 },
      ],
      "openx",
    ]);
  });

  test("leave members out of JSON that are undefined, and say null for null", () => {
    const text = `
    import { Table } from "@radical/sdk";
    interface User { name: string; nick?: string; mail: string | null }
    const users = new Table<User>("users");
    const sets = new Table<Record<string, number>>("sets");
    export function put(id: string, name: string, nick?: string, mail: string | null = null): void {
      users.put(id, { name, nick, mail });
    }
    export function cards(ids: string[], more?: string) {
      const all = ids.map((id) => users.get(id)).filter((user) => user != null);
      const shortest = all.find(({ name }) => name.length < 4);
      return all.map((user) => ({
        name: user.name,
        nick: user.nick,
        first: user.nick?.charAt(0),
        mail: user.mail,
        more,
        votes: sets.get(user.name) == null ? null : 1.5,
        shortest,
        chosen: user.nick ?? user.name,
      }));
    }
    export function lists(n: i32) {
      return [{ id: n, tag: "a" }, { id: n + 1 }, { id: n + 2, tag: n > 1 ? "b" : undefined }];
    }`;
    const calls: Call[] = [
      ["put", { id: "a", name: "ann", nick: "annie" }],
      ["put", { id: "b", name: "bobby", mail: "b@x" }],
      ["cards", { ids: ["a", "b", "c"] }],
      ["cards", { ids: ["b"], more: "m" }],
      ["lists", { n: 1 }],
      ["lists", { n: 2 }],
    ];
    expect(results(text, calls).slice(4)).toEqual([
      [{ id: 1, tag: "a" }, { id: 2 }, { id: 3 }],
      [{ id: 2, tag: "a" }, { id: 3 }, { id: 4, tag: "b" }],
    ]);
    expect(knownTo(build(text))).toContain(
      "CardsResult { name: string; nick?: string; first?: string; mail: string | null; more?: string; votes: f64 | null; shortest?: User; chosen: string }",
    );
  });

  test("have unions of texts where their values have", () => {
    const application = build(`
    import { Table } from "@radical/sdk";
    type Status = "open" | "done";
    interface Item { id: string; status: Status; owner: string }
    const items = new Table<Item>("items");
    function other(status: Status): Status { return status == "open" ? "done" : "open"; }
    export function show(id: string, wanted: Status) {
      const item = items.get(id);
      if (item == null) return null;
      const { status } = item;
      return { status, other: other(wanted), wanted, kind: "item", either: wanted == "open" ? wanted : item.status };
    }`);
    expect(knownTo(application)).toEqual([
      "show: ShowResult | null",
      'ShowResult { status: "open" | "done"; other: "open" | "done"; wanted: "open" | "done"; kind: string; either: "open" | "done" }',
      'Item { id: string; status: "open" | "done"; owner: string }',
    ]);
  });

  test("go to generic functions, and hold what closures give", () => {
    const text = `
    import { Table } from "@radical/sdk";
    const items = new Table<number[]>("items");
    function twice<T>(one: T): T[] { return [one, one]; }
    function each<T, R>(list: T[], give: (one: T) => R): R[] { const all: R[] = []; for (const one of list) all.push(give(one)); return all; }
    export function put(key: string, values: number[]): void { items.put(key, values); }
    export function sums(keys: string[], by: number) {
      const scaled = (value: number): number => value * by;
      const rows = each(keys, (key) => {
        const values = items.get(key) ?? [];
        return { key, values, sum: values.map((value) => scaled(value)).reduce((a, b) => a + b, 0.0) };
      });
      const groups = new Map<string, number>();
      for (const { key, sum } of rows) groups.set(key, (groups.get(key) ?? 0) + sum);
      return { rows: twice(rows).map((list) => list.length), total: rows.reduce((sum, row) => sum + row.sum, 0.0), rest: rows, size: groups.size };
    }`;
    const calls: Call[] = [
      ["put", { key: "a", values: [1, 2.5] }],
      ["sums", { keys: ["a", "b", "a"], by: 2 }],
    ];
    expect(results(text, calls)[1]).toMatchObject({ rows: [3, 3], total: 14, size: 2 });
  });

  test("are refused where nothing says a type, with the form to write", () => {
    expect(
      problems(`export function h(n: i32): i32 {
        const post = { id: n, tags: [] };
        return post.id;
      }`),
    ).toEqual(["2: object_literal: The type of this value is not known, so this object literal has no type."]);
    expect(
      problems(`export function h(note: string | null, nick?: string): i32 {
        let some = nick;
        if (note != null) some = note;
        const card = { some, n: 1 };
        return card.n;
      }`),
    ).toEqual([
      "4: object_literal: This value may be null, and nothing says whether JSON has null then or leaves the member out.",
    ]);
    expect(problems(`export function h(n: i32): i32 { const card = { n: missing + 1 }; return card.n; }`)).toEqual([
      "1: type_error: Cannot find name 'missing'.",
    ]);
  });
});

describe("results without a written type", () => {
  test("are what the function returns, behind the tests before it", () => {
    const text = `
    import { Table, abort } from "@radical/sdk";
    class User { name: string = ""; age: i32 = 0; boss: string | null = null; }
    const users = new Table<User>("users");
    function find(id: string) {
      const user = users.get(id);
      if (user == null || user.age < 1) abort(404, "no_user", id);
      return user;
    }
    function maybe(id: string) { return users.get(id); }
    function nameOf(id: string) { const user = maybe(id); return user ? user.name : "nobody"; }
    class Team {
      names: string[] = [];
      get size() { return this.names.length; }
      add(name: string) { this.names.push(name); return this; }
      static of(names: string[]) { const team = new Team(); for (const name of names) team.add(name); return team; }
    }
    function pairOf<A, B>(a: A, b: B) { return { a, b }; }
    function placeOf(ids: string[], id: string) { for (const [at, one] of ids.entries()) if (one == id) return { at, one }; return null; }
    export function place(ids: string[], id: string) { return placeOf(ids, id); }
    export function put(id: string, name: string, age: i32): void { const user = new User(); user.name = name; user.age = age; users.put(id, user); }
    export function get(id: string) { return find(id); }
    export function look(id: string) { return maybe(id); }
    export function names(ids: string[]) { return ids.map((id) => nameOf(id)); }
    export function size(ids: string[]) { return Team.of(ids).add("x").size; }
    export function pairs(id: string, n: i32) { return [pairOf(id, n), pairOf("z", 1)]; }
    export function isKnown(id: string) { return users.has(id); }
    export function ratio(a: number, b: number) { if (b == 0) return null; return a / b; }
    export function touch(id: string) { if (maybe(id) == null) return; const user = find(id); user.age += 1; users.put(id, user); }`;
    const calls: Call[] = [
      ["put", { id: "a", name: "ann", age: 3 }],
      ["get", { id: "a" }],
      ["get", { id: "b" }],
      ["look", { id: "b" }],
      ["names", { ids: ["a", "b"] }],
      ["size", { ids: ["a", "b"] }],
      ["pairs", { id: "a", n: 2 }],
      ["place", { ids: ["a", "b"], id: "b" }],
      ["place", { ids: ["a", "b"], id: "c" }],
      ["isKnown", { id: "a" }],
      ["ratio", { a: 1, b: 0 }],
      ["ratio", { a: 1, b: 2 }],
      ["touch", { id: "a" }],
      ["look", { id: "a" }],
    ];
    results(text, calls);
    expect(knownTo(build(text)).slice(0, 10)).toEqual([
      "get: User",
      "isKnown: bool",
      "look: User | null",
      "names: string[]",
      "pairs: PairsResult[]",
      "place: PlaceResult | null",
      "put: void",
      "ratio: f64 | null",
      "size: i32",
      "touch: void",
    ]);
  });

  test("are refused where they follow from themselves, or from nothing", () => {
    expect(
      problems(`function depth(n: i32) { return n < 1 ? 0 : depth(n - 1) + 1; }
        export function h(n: i32): i32 { return depth(n); }`),
    ).toEqual(["1: missing_type: The result has no type, because this function calls itself in what it returns."]);
    expect(
      problems(`function either(n: i32) { if (n > 1) return "many"; return n; }
        export function h(n: i32): string { return \`\${either(n)}\`; }`),
    ).toEqual([
      "1: missing_type: The result has no type: what this function returns has none, or several without a type in common.",
    ]);
    expect(
      problems(`function wrong(n: i32) { return n + missing; }
        export function h(n: i32) { return wrong(n); }`),
    ).toEqual(["1: type_error: Cannot find name 'missing'."]);
  });
});
