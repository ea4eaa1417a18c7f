import { unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import type { Difference } from "../replay/differences.ts";
import { createTerminal } from "../terminal/terminal.ts";
import { differingLines } from "./replay.ts";

const plain = createTerminal({ quiet: true, environment: { NO_COLOR: "1" } });

function linesOf(...differences: readonly Difference[]): readonly string[] {
  const [head, ...lines] = differingLines({ execution: "e", handler: "read", differences }, plain);
  expect(head).toBe("read e");
  return lines;
}

const result = (value: unknown): string => JSON.stringify({ kind: "result", value });
const unit = unitId("users", "ann");

test("a difference is shown as the paths of the fields", () => {
  const page = (text: string, likes: number): unknown => ({ posts: [{ text: "x" }, { text, likes }] });
  expect(linesOf({ kind: "outcome", was: result(page("a", 1)), is: result(page("b", 2)) })).toEqual([
    '  result.posts[1].text: "a" → "b"',
    "  result.posts[1].likes: 1 → 2",
  ]);
  expect(linesOf({ kind: "outcome", was: result(1), is: result(2) })).toEqual(["  result: 1 → 2"]);
  expect(linesOf({ kind: "write", unit, was: '{"name":"ann"}', is: '{"name":"ann","age":7}' })).toEqual([
    "  writes users/ann: age: absent → 7",
  ]);
  expect(linesOf({ kind: "write", unit, was: "1", is: "2" })).toEqual(["  writes users/ann: 1 → 2"]);
});

test("aborts differ by their fields, an abort and a result as a whole", () => {
  const abort = (message: string): string => JSON.stringify({ kind: "abort", status: 409, code: "full", message });
  expect(linesOf({ kind: "outcome", was: abort("a"), is: abort("b") })).toEqual(['  abort.message: "a" → "b"']);
  expect(linesOf({ kind: "outcome", was: abort("a"), is: result(1) })).toEqual([
    `  outcome: ${abort("a")} → ${result(1)}`,
  ]);
});

test("values that have no paths are shown whole", () => {
  const bytes = '{"kind":"result","cbor":"+38A"}';
  expect(linesOf({ kind: "outcome", was: bytes, is: result(1) })).toEqual([`  outcome: ${bytes} → ${result(1)}`]);
  expect(linesOf({ kind: "write", unit, was: "deleted", is: '{"a":1}' })).toEqual([
    '  writes users/ann: deleted → {"a":1}',
  ]);
  expect(linesOf({ kind: "write", unit, was: '{"a":1,"b":2}', is: '{"b":2,"a":1}' })).toEqual([
    '  writes users/ann: {"a":1,"b":2} → {"b":2,"a":1}',
  ]);
});

test("long values are cut around the place where they differ", () => {
  const text = (word: string): string => `${"x".repeat(1_000)}${word}${"y".repeat(1_000)}`;
  const [line] = linesOf({ kind: "outcome", was: result(text("a")), is: result(text("b")) });
  const shown = (word: string): string => `…${"x".repeat(40)}${word}${"y".repeat(159)}…`;
  expect(line).toBe(`  result: ${shown("a")} → ${shown("b")}`);
});

test("of many fields the first ones are shown, and the others counted", () => {
  const list = (from: number): string => JSON.stringify(Array.from({ length: 13 }, (_, index) => from + index));
  const lines = linesOf({ kind: "write", unit, was: list(0), is: list(100) });
  expect(lines).toHaveLength(11);
  expect(lines[0]).toBe("  writes users/ann: [0]: 0 → 100");
  expect(lines[10]).toBe("  writes users/ann: … and 3 more fields; --json has the whole values");
});

test("effects and commands are told by their paths, and a workflow's other way in words", () => {
  expect(
    linesOf(
      { kind: "effect", path: "effects[0].args.to", was: '"ann"', is: '"bob"' },
      { kind: "effect", path: "effects[1]", was: '{"kind":"cancel"}', is: null },
      { kind: "effect", path: "effects[2]", was: null, is: '{"kind":"cancel"}' },
    ),
  ).toEqual([
    '  effects[0].args.to: "ann" → "bob"',
    '  effects[1] is missing: it was {"kind":"cancel"}',
    '  effects[2] is new: {"kind":"cancel"}',
  ]);
  expect(linesOf({ kind: "way", path: "commands[2].callee", was: '"a"', is: '"b"', place: "h.ts:1:2" })).toEqual([
    '  commands[2].callee: "a" → "b" (h.ts:1:2)',
    "  It takes another way than its journal: in this build the workflow would be stuck.",
  ]);
});
