import { deriveAccessSet, recordHandler, runHandler, type AccessSet } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { annotations, findings } from "../testing/annotated.ts";
import { buildInput } from "../testing/library.ts";
import { deriveNothing } from "../testing/record-mode.ts";
import { call, invocation, moduleOf, snapshotOf, type Items } from "../testing/run.ts";
import { readTags } from "./tags.ts";

const RECORDS = `
  import { Table } from "@radical/sdk";
  export class User { friends: string[] = []; bio: string = ""; }
  export const users = new Table<User>("users");
  export const pages = new Table<string>("pages");
  export function pageOf(user: string, size: i32): string { return user + "/" + size.toString(); }
`;

const HANDLERS = `
  import { users, pages, pageOf, User } from "../lib/records";
  import { uuid } from "@radical/sdk";
  export function homepage(user: string, size: i32 = 10, note: string = ""): i32 {
    const found = users.get(user);
    if (found == null) return 0;
    for (let i = 0; i < found.friends.length; i++) users.get(found.friends[i]);
    pages.put(pageOf(user, size), note);
    return found.friends.length;
  }
  export function befriend(user: string, other: string): void {
    const found = users.get(user);
    const record = found == null ? new User() : found;
    record.friends.push(other);
    users.put(user, record);
  }
`;

/** Exported by a file of handlers, and none itself; the constant behind it stays private to its file. */
const SET = `
  const first = 0;
  /**
   * Everything that a homepage shows.
   * @readwrite homepage
   */
  export function homepageSet(size: i32 = 10, user: string): void {
    const found = users.get(user);
    if (found == null) return;
    for (let i = first; i < found.friends.length; i++) users.touch(found.friends[i]);
    pages.willPut(pageOf(user, size));
  }
`.replace("size: i32 = 10, user: string", "user: string, size: i32 = 10");

function built(handlers: string, more: Readonly<Record<string, string>> = {}): BuildResult {
  return buildWith(buildInput({ "handlers/social.ts": handlers, "lib/records.ts": RECORDS, ...more }), deriveNothing);
}

function plans({ handlers }: BuildResult): Record<string, string> {
  return Object.fromEntries(handlers.map(({ name, plan }) => [name, plan.kind]));
}

describe("given sets", () => {
  const build = built(HANDLERS + SET);

  test("are no handlers, and their handlers are not sliced", () => {
    expect(build.diagnostics.map(({ code }) => code)).toEqual(["analyzer_crash"]);
    expect(plans(build)).toEqual({ befriend: "recorded", homepage: "given" });
    const [, homepage] = build.handlers;
    expect(homepage?.plan).toMatchObject({ function: { name: "homepageSet", span: { file: "handlers/social.ts" } } });
    expect(homepage?.rwSource).toMatch(/^function homepageSet|^export function homepageSet/);
  });

  test("say what their handlers touch", () => {
    const items: Items = new Map();
    for (const other of ["b", "c"]) call(build, items, "befriend", { user: "a", other });
    const module = moduleOf(build);
    const asked = invocation(build, "homepage", { user: "a" });
    const derived = deriveAccessSet(module, asked, snapshotOf(items));
    const set: AccessSet = {
      reads: new Set(["users/a", "users/b", "users/c"]) as never,
      writes: new Set(["pages/a/10"]) as never,
    };
    expect(derived).toMatchObject({ kind: "derived", set, dependent: ["users/a"] });
    expect(recordHandler(module, asked, snapshotOf(items), { guess: false }).set).toEqual(set);
  });

  test("that are wrong are caught by the guard", () => {
    const wrong = built(HANDLERS + SET.replace("users.touch(found.friends[i]);", "users.touch(user);"));
    const items: Items = new Map();
    call(wrong, items, "befriend", { user: "a", other: "b" });
    const asked = invocation(wrong, "homepage", { user: "a" });
    const derived = deriveAccessSet(moduleOf(wrong), asked, snapshotOf(items));
    if (derived.kind === "failed") throw new Error(derived.reason);
    const run = runHandler(moduleOf(wrong), asked, snapshotOf(items), derived.set);
    expect(run).toEqual({ kind: "undeclared", unit: "users/b", mode: "read" });
  });

  test("need not be exported, nor stand beside their handler", () => {
    const set = `import { users, pages, pageOf } from "./records";\n${SET.replace("export function", "function")}\nexport const loaded = true;`;
    const other = built(`import { loaded } from "../lib/sets";\n${HANDLERS}`, { "lib/sets.ts": set });
    expect(other.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(plans(other)["homepage"]).toBe("given");
  });

  test("beside slices", () => {
    const files = { "handlers/social.ts": HANDLERS + SET, "lib/records.ts": RECORDS };
    const sliced = buildWith(buildInput(files), slicer);
    expect(plans(sliced)).toEqual({ befriend: "sliced", homepage: "given" });
    const asked = invocation(sliced, "befriend", { user: "a", other: "b" });
    expect(deriveAccessSet(moduleOf(sliced), asked, snapshotOf(new Map()))).toMatchObject({
      set: { reads: new Set(["users/a"]), writes: new Set(["users/a"]) },
    });
  });

  test("share draws with their handlers through functions that both call", () => {
    const shared = `${HANDLERS}
      function fresh(): string { return uuid(); }
      export function create(): string { const id = fresh(); pages.put(id, ""); return id; }
      /** @readwrite create */
      function createSet(): void { pages.willPut(fresh()); }`;
    const drawn = built(shared);
    expect(drawn.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const module = moduleOf(drawn);
    const asked = invocation(drawn, "create", {});
    const derived = deriveAccessSet(module, asked, snapshotOf(new Map()));
    expect(derived).toMatchObject({ set: recordHandler(module, asked, snapshotOf(new Map()), { guess: false }).set });
  });
});

describe("tags that are wrong", () => {
  test.each([
    `/** @readwrite nobody */ //! unknown_given_handler
     function a(): void {}`,
    `/** @readwrite homepage */
     function a(user: string): void {}
     /** @readwrite homepage */
     function b(user: string): void {} //! duplicate_given_set`,
    `/** @readwrite homepage */
     function a(name: string): void {} //! given_set_signature`,
    `/** @readwrite homepage */
     function a(size: i64 = 10): void {} //! given_set_signature`,
    `/** @readwrite homepage */
     function a(size: i32 = 11): void {} //! given_set_signature`,
    `/** @readwrite homepage */
     function a(user: string): string { return user; } //! given_set_signature`,
    `/** @readwrite homepage */
     function a<T>(user: string): void {} //! given_set_signature`,
    `/** @readwrite homepage */
     function a(user: string): void {
       pages.put(user, ""); //! given_set_effect
       pages.delete(user); //! given_set_effect
       pages.willPut(uuid()); //! given_set_effect
     }`,
    `/** @readwrite homepage */
     function a(user: string): void { pages.willPut(Math.random().toString()); } //! nondeterministic`,
    `/** @readwrite homepage */
     function a(user: string): void { const n: i32 = user; } //! type_error`,
    `export function early(user: string): void {
       pages.touch(user); //! given_set_only
       pages.willPut(user); //! given_set_only
       pages.willDelete(user); //! given_set_only
     }`,
    `/** @readwrite homepage */ //! misplaced_tag
     class A {}`,
    `/** @nearstorage */ //! misplaced_tag
     function a(): void {}`,
    `/** @refuse union */ //! misplaced_tag
     function a(): void {}`,
    `/** @nearstorage */ //! misplaced_tag
     export function far(): void {}
     /** @readwrite far */
     function a(): void {}`,
    `/** @speculative */ //! misplaced_tag
     function a(): void {}`,
    `/** @nearstorage
       * @speculative */ //! misplaced_tag
     export function far(): void {}`,
    `/** @speculative */ //! misplaced_tag
     export function far(): void {}
     export function speculate(): void {}`,
    `/** @speculative always */ //! unknown_tag
     export function far(): void {}`,
    `/** @speculate */ //! unknown_tag
     export function far(): void {}`,
    `/** @refuse unions */ //! unknown_tag
     export function far(): void {}`,
    `/** @refuse */ //! unknown_tag
     export function far(): void {}`,
    `/** @nearStorage */ //! unknown_tag
     export function far(): void {}`,
    `/** @readwrite homepage and more */ //! unknown_tag
     function a(): void {}`,
  ])("%s", (text) => {
    const files = { "handlers/social.ts": HANDLERS + text, "lib/records.ts": RECORDS };
    const found = built(files["handlers/social.ts"]).diagnostics.filter(({ code }) => code !== "analyzer_crash");
    expect(findings(found)).toEqual(annotations(files));
  });
});

describe("handlers with tags", () => {
  test("near storage by choice", () => {
    const near = built(HANDLERS.replace("export function befriend", "/** @nearstorage */\n  export function befriend"));
    expect(plans(near)).toEqual({ befriend: "near-storage", homepage: "recorded" });
    expect(near.handlers[0]?.plan).toMatchObject({ span: { line: 11 } });
  });

  test("a result may be seen before its confirmation, whatever the plan", () => {
    const text = HANDLERS.replace("export function befriend", "/** @speculative */\n  export function befriend");
    const { handlers, diagnostics } = built(text);
    expect(diagnostics.filter(({ code }) => code !== "analyzer_crash")).toEqual([]);
    expect(handlers.map(({ name, speculative }) => [name, speculative?.line ?? null])).toEqual([
      ["befriend", 11],
      ["homepage", null],
    ]);
  });

  test("refused transformations reach the slicer", () => {
    const refused = new Map<string, readonly string[]>();
    const text = HANDLERS.replace(
      "export function befriend",
      "/** @refuse union, widening */ @inline export function befriend",
    );
    buildWith(buildInput({ "handlers/social.ts": text, "lib/records.ts": RECORDS }), {
      ...deriveNothing,
      deriveReadWriteSets: (front) => {
        for (const handler of front.handlers) refused.set(handler.name, [...handler.refused]);
        return [];
      },
    });
    expect(Object.fromEntries(refused)).toEqual({ befriend: ["union", "widening"], homepage: [] });
  });

  test("`all` are all; other comments and other words are none", () => {
    const text = `
      /** Says what @readwrite is, and a@nearstorage.example. @refuse too. */
      // @nearstorage
      /* @nearstorage */
      /** @refuse all */
      /** @deprecated */
      export function a(): string { return "/** @nearstorage */"; }
      /** @refuse all */ export function b(): void {}`;
    const { functions, diagnostics } = readTags([{ path: "a.ts", text }]);
    expect(diagnostics.map(({ code }) => code)).toEqual(["misplaced_tag"]);
    expect(functions.map(({ name, tags }) => [name, tags])).toEqual([
      [
        "b",
        [
          {
            kind: "refuse",
            transformations: ["union", "dropped-guard", "widening"],
            span: expect.anything() as unknown,
          },
        ],
      ],
    ]);
  });
});
