/** The tags `@private` and `@audited` of tables, and what they make of handlers. */
import { describe, expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

const TABLES = `import { Counter, Table, Unique, caller, enqueue } from "@radical/sdk";
export class Account { mail: string = ""; hash: string = ""; }
/**
 * With the hashes of passwords.
 *
 * @private
 * @audited
 */
export const accounts = new Table<Account>("accounts");
const byMail = new Unique<Account>(accounts, "mail");
/** @audited */ const money = new Counter("money");
const posts = new Table<string>("posts");
`;

const analysed = (body: string, modules = false) =>
  buildWith({ ...buildInput({ "handlers/a.ts": TABLES + body }), modules }, slicer);
const messages = (body: string): readonly string[] => analysed(body).diagnostics.map(({ message }) => message);

const HANDLERS = `
export function login(name: string, hash: string): bool { const a = accounts.get(name); return a != null && a.hash == hash; }
export function known(mail: string): bool { return byMail.find(mail) != null; }
export function register(name: string, mail: string): void { accounts.put(name, { mail, hash: "" }); }
function indirectly(name: string): bool { return accounts.has(name); }
export function asked(name: string): bool { return indirectly(name); }
export function post(text: string): void { posts.put("p", text); }
export function pay(to: string): void { money.add(to, 1); }
/** @workflow */ export function flow(): void {}
/** @nearstorage */ export function near(name: string): bool { return accounts.has(name); }
`;

test("tables tell their rules, and words of a doc comment stay words", () => {
  const { diagnostics, tables } = analysed(
    `${HANDLERS}\n/** A @private matter. */ const words = new Table<string>("words");\nexport function w(): bool { return words.has("a"); }`,
  );
  expect(diagnostics).toEqual([]);
  expect(tables.map(({ name, isPrivate, isAudited }) => [name, isPrivate, isAudited])).toEqual([
    ["accounts", true, true],
    ["money", false, true],
    ["posts", false, false],
    ["words", false, false],
  ]);
});

test("handlers that touch a private table or its index run at the primary, and say why; all is known of them as before", () => {
  const { diagnostics, handlers } = analysed(HANDLERS);
  expect(diagnostics).toEqual([]);
  const kept = handlers.flatMap(({ name, plan }) =>
    plan.kind === "near-storage" ? [[name, plan.keptBy?.words ?? null]] : [],
  );
  const words = "It touches the private table accounts, so it runs at the primary only.";
  expect(kept).toEqual([
    ["asked", words],
    ["known", words],
    ["login", words],
    // By its own tag.
    ["near", null],
    ["register", words],
  ]);
  const login = handlers.find(({ name }) => name === "login")!;
  expect(login.plan).toMatchObject({ kind: "near-storage", span: { line: 6 }, keptBy: { table: "accounts" } });
  expect(login).toMatchObject({
    readOnly: true,
    tables: { reads: ["accounts"], writes: [] },
    reads: [{ table: "accounts", pattern: "accounts/{name}" }],
    rwSource: null,
    steps: { readWriteSet: null },
  });
  expect(login.steps.handler).toBeGreaterThan(0);
  expect(handlers.filter(({ name }) => ["post", "pay"].includes(name)).map(({ plan }) => plan.kind)).toEqual([
    "sliced",
    "sliced",
  ]);
});

test("they have no read/write-set function in the module", () => {
  const { ok, rwWasm, wasm } = analysed(HANDLERS, true);
  expect(ok).toBe(true);
  const exportsOf = (bytes: Uint8Array): readonly string[] =>
    WebAssembly.Module.exports(new WebAssembly.Module(new Uint8Array(bytes))).map(({ name }) => name);
  expect(exportsOf(wasm)).toContain("login");
  expect(exportsOf(rwWasm)).toContain("post");
  expect(exportsOf(rwWasm)).not.toContain("login");
});

test("a handler whose tables are not known may touch it", () => {
  const { handlers } = analysed(`
function any(table: Table<string>, key: string): bool { return table.has(key); }
export function search(key: string, all: bool): bool { return any(all ? posts : posts, key); }
export function login(name: string): bool { return accounts.has(name); }
`);
  const search = handlers.find(({ name }) => name === "search")!;
  expect(search.tables === null).toBe(search.plan.kind === "near-storage");
  if (search.plan.kind === "near-storage")
    expect(search.plan.keptBy?.words).toBe(
      "It is not known which tables it touches, and accounts is private, so it runs at the primary only.",
    );
});

describe("a tag has no meaning", () => {
  test.each([
    [
      "/** @private */ export function h(): bool { return posts.has('a'); }",
      "The tag @private stands before h, which is not a table.",
    ],
    [
      "/** @audited */ const limit = 3;\nexport function h(): i32 { return limit; }",
      "The tag @audited stands before limit, which is not a table.",
    ],
    [
      "/** @private accounts */ const more = new Table<string>('more');\nexport function h(): bool { return more.has('a'); }",
      "The tag @private has no arguments.",
    ],
    [
      "/** @speculative */ export function h(name: string): bool { return accounts.has(name); }",
      "The handler h touches the private table accounts, so it runs at the primary, and a client never sees its result before its confirmation.",
    ],
    [
      "export function h(name: string): bool { return accounts.has(name); }\n/** @readwrite h */ function set(name: string): void { accounts.touch(name); }",
      "The handler h touches the private table accounts, so it runs at the primary, where its read/write set is not used.",
    ],
  ])("%s", (body, message) => {
    expect(messages(body)).toEqual([message]);
  });

  test("if it is misspelt: the fix spells it", () => {
    const { diagnostics } = analysed(
      "/** @audit */ const more = new Table<string>('more');\nexport function h(): bool { return more.has('a'); }",
    );
    expect(diagnostics[0]?.fix?.title).toBe("Write @audited");
  });
});
