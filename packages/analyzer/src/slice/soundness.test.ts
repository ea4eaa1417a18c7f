/**
 * Programs that broke the law once and that need tables or files of their own. Each is run against random items, some of
 * them written when their records had fewer fields.
 */
import { expect, test } from "vitest";
import type { SourceFile } from "../diagnostics/diagnostic.ts";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const SLOW =
  "/** @wrapping */ function slow(text: string): i32 { let h = 7; for (let i = 0; i < 30000; i++) { if (i > 9) break; h = h * 33 + text.charCodeAt(i % text.length); } return (h >> 5) & 3; }";

test.each([
  [
    "an item without a key holds what the initializer refers to",
    `class Box { v: string = "b"; }
const shared = new Box();
const list: string[] = ["l"];
class Kept { key: string = ""; box: Box = shared; all: string[] = list; }
const kept = new Table<Kept>("kept");
export function h(a: string, b: string): void {
  const found = kept.get(a); if (found != null) { found.box.v = b + "v"; found.all.push("m"); }
  log.has(shared.v); log.has(list.length.toString());
}`,
  ],
  [
    "an initializer that only decoding runs calls a function",
    `const list: string[] = ["l"];
function two(): i32 { return list.length + 1; }
class Kept { key: string = ""; n: i32 = two(); }
const kept = new Table<Kept>("kept");
export function h(a: string): void { const found = kept.get(a); if (found != null) log.has(found.n.toString()); }`,
  ],
  [
    "decoding may trap in a union",
    `const list: string[] = ["l"];
function third(): string { return list[2]; }
class Kept { key: string = ""; n: string = third(); }
const kept = new Table<Kept>("kept");
export function h(a: string, b: string): void {
  if (slow(a) > 1) { const found = kept.get(a); if (found != null) log.has("n" + found.n); }
  log.has(b);
}`,
  ],
  [
    "an access that no store takes stands behind a trap that f^rw leaves out",
    `export function h(a: string, n: i32): i32 {
  log.has(a);
  assert(n > 0, "not positive");
  const picked = [1, 2][n];
  log.has("");
  return picked;
}`,
  ],
])("%s", (_, source) => {
  const { build, sources } = built(source);
  expect(explore(build, { ...CALLS, sources }).unsaid).toBe(0);
});

// The read/write-set functions of other handlers than these: they say too little, or go on where they should end.
test.each([
  [
    "an access before the trap is missing",
    "log.has(a); const picked = [1, 2][n]; log.has(''); return picked;",
    "const picked = [1, 2][n]; log.has(''); return picked;",
  ],
  [
    "a write before the trap is missing",
    "log.put(a, a); const picked = [1, 2][n]; log.has(''); return picked;",
    "log.has(a); const picked = [1, 2][n]; log.has(''); return picked;",
  ],
  [
    "accesses before the trap are in another order",
    "log.has(a); log.has(a + a); const picked = [1, 2][n]; log.has(''); return picked;",
    "log.has(a + a); log.has(a); const picked = [1, 2][n]; log.has(''); return picked;",
  ],
  [
    "a throw is left out",
    "log.has(a); if (n > 1) throw new Error('large'); if (n > 1) log.has(''); return n;",
    "log.has(a); if (n > 1) log.has(''); return n;",
  ],
  [
    "an abort is left out",
    "log.has(a); if (n > 1) abort(400, 'large', 'too large'); if (n > 1) log.has(''); return n;",
    "log.has(a); if (n > 1) log.has(''); return n;",
  ],
])("no trap excuses a set function that fails if %s", (_, handler, other) => {
  const withBody = (body: string): string =>
    `export function h(a: string, n: i32): i32 { ${body.replaceAll("'", '"')} }`;
  const { build, sources } = built(withBody(handler));
  const { rwWasm } = built(withBody(other)).build;
  const words = causeOf(() => explore({ ...build, rwWasm }, { ...CALLS, sources, shrink: false }));
  expect(words).toContain("h: the read/write-set function trapped: invalid key");
});

const CALLS = { strings: ["a", "b", "ca"], integers: [0, 1, 2, 3], runs: 50, callsPerRun: 4 };

function built(source: string): { readonly build: BuildResult; readonly sources: readonly SourceFile[] } {
  const text = `import { abort, Table } from "@radical/sdk";\nconst log = new Table<string>("log");\n${SLOW}\n${source}`;
  const input = { ...buildInput({ "handlers/h.ts": text }), optimize: false };
  const build = buildWith(input, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(build.handlers.map(({ plan }) => plan.kind)).toEqual(["sliced"]);
  return { build, sources: input.sources };
}

/** fast-check keeps what the calls came to as the cause. */
function causeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  }
  return "nothing";
}
