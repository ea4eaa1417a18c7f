/** The tables that a module names for each handler: at least those that its runs touch. */
import { expect, test } from "vitest";
import type { BuildResult } from "../pipeline.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const PRELUDE = `import { abort, Table } from "@radical/sdk";
const posts = new Table<string>("posts");
const likes = new Table<string>("likes");
const users = new Table<string>("users");
`;

function built(source: string): BuildResult {
  const build = buildWith({ ...buildInput({ "handlers/h.ts": PRELUDE + source }), optimize: false }, slicer);
  expect(build.ok).toBe(true);
  return build;
}

function tablesIn(source: string): unknown {
  return Object.fromEntries(
    built(source).handlers.map(({ name, plan, tables }) => [name, { plan: plan.kind, tables }]),
  );
}

test("a sliced handler: those of its read/write-set function", () => {
  expect(
    tablesIn(`export function h(a: string): void {
      if (users.has(a)) { likes.put(a, posts.get(a)!); }
    }`),
  ).toEqual({ h: { plan: "sliced", tables: { reads: ["posts", "users"], writes: ["likes"] } } });
});

test("a handler near storage or with a given set: those that the compiler finds, and those of the set", () => {
  expect(
    tablesIn(`
    function helper(a: string): void { likes.delete(a); }
    class Row { toString(): string { return users.get("me")!; } }
    /** @nearstorage */
    export function near(a: string): string { helper(a); return posts.has(a) ? \`\${new Row()}\` : ""; }
    export function given(a: string): void { posts.put(a, a); }
    /** @readwrite given */
    export function set(a: string): void { posts.willPut(a); users.touch(a); }`),
  ).toEqual({
    near: { plan: "near-storage", tables: { reads: ["posts", "users"], writes: ["likes"] } },
    given: { plan: "given", tables: { reads: ["users"], writes: ["posts"] } },
  });
});

test("a table that is not named where it is accessed is not known, and with it none", () => {
  expect(
    tablesIn(`
    function first(table: Table<string>, a: string): bool { return table.has(a); }
    /** @nearstorage */
    export function h(a: string): bool { return posts.has(a) && first(users, a); }`),
  ).toEqual({ h: { plan: "near-storage", tables: null } });
});

test("the exploration of handlers finds a table that the module does not name", () => {
  const build = built(`export function h(a: string): bool { likes.put(a, a); return posts.has(a); }`);
  const naming = (reads: readonly string[], writes: readonly string[]): BuildResult => ({
    ...build,
    handlers: build.handlers.map((handler) => ({ ...handler, tables: { reads, writes } })),
  });
  const explored = (of: BuildResult) => (): unknown =>
    explore(of, { strings: ["a", "b"], runs: 5, callsPerRun: 3, shrink: false });
  expect(explored(build)).not.toThrow();
  expect(causeOf(explored(naming([], ["likes"])))).toContain("does not name the table of the read posts/");
  expect(causeOf(explored(naming(["posts"], [])))).toContain("does not name the table of the write likes/");
});

/** fast-check keeps the error of the calls as the cause. */
function causeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  }
  return "nothing";
}
