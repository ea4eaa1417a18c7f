/**
 * Programs that broke the law once and that need tables or files of their own. Each is run against random items, some of
 * them written when their records had fewer fields.
 */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const SLOW =
  "function slow(text: string): i32 { let h = 7; for (let i = 0; i < 30000; i++) { if (i > 9) break; h = h * 33 + text.charCodeAt(i % text.length); } return (h >> 5) & 3; }";

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
])("%s", (_, source) => {
  const text = `import { Table } from "@radical/sdk";\nconst log = new Table<string>("log");\n${SLOW}\n${source}`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(build.handlers.map(({ plan }) => plan.kind)).toEqual(["sliced"]);
  explore(build, { strings: ["a", "b", "ca"], integers: [0, 1, 2, 3], runs: 50, callsPerRun: 4 });
});
