/** Code of any depth is analyzed or refused at its place; no stack overflows. */
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

function built(source: string): BuildResult {
  const head = 'import { Table } from "@radical/sdk";\nconst items = new Table<string>("items");\n';
  return buildWith({ ...buildInput({ "handlers/h.ts": head + source }), optimize: false }, slicer);
}

const key = (text: string): string => `export function h(a: i32): void { items.get((${text}).toString()); }`;
const block = (text: string): string => `export function h(a: i32): void { ${text} }`;
const joined = (count: number, text: string, separator: string): string =>
  Array.from({ length: count }, () => text).join(separator);
const around = (count: number, open: string, inner: string, close: string): string =>
  open.repeat(count) + inner + close.repeat(count);

/** Code of about as many levels; `elseIf` and `negation` without brackets. */
const SHAPES: Readonly<Record<string, (levels: number) => string>> = {
  sum: (levels) => key(joined(levels, "a", " + ")),
  texts: (levels) => block(`items.get(${joined(levels, '"x"', " + ")});`),
  parentheses: (levels) => key(around(levels, "(", "a", ")")),
  calls: (levels) => `function f(a: i32): i32 { return a; }\n${key(around(levels, "f(", "a", ")"))}`,
  blocks: (levels) => block(around(levels, "{", 'items.get("x");', "}")),
  loops: (levels) => block(around(levels / 2, "while (a > 1) {", 'items.get("x");', "}")),
  conditional: (levels) => key(`${joined(levels, "a == 1 ? 1 : ", "")}0`),
  elseIf: (levels) => block(joined(levels, 'if (a == 1) items.get("x");', " else ")),
  negation: (levels) => key(`${"- ".repeat(levels)}a`),
};

describe.each(Object.entries(SHAPES))("%s", (_name, shape) => {
  test("480 levels are sliced", () => {
    const { ok, handlers } = built(shape(480));
    expect(ok).toBe(true);
    expect(handlers[0]?.plan.kind).toBe("sliced");
  });

  test("3,000 levels are refused", () => {
    const { diagnostics } = built(shape(3_000));
    expect(diagnostics.map(({ code }) => code)).toEqual(["nested_too_deeply"]);
    expect(diagnostics[0]?.primary.line).toBeGreaterThan(2);
  });
});

test.each(["parentheses", "conditional", "negation"])("100,000 levels of %s are refused at their place", (name) => {
  const { diagnostics } = built(SHAPES[name]!(100_000));
  expect(diagnostics.map(({ code }) => code)).toEqual(["nested_too_deeply"]);
  expect(diagnostics[0]?.primary.line).toBe(3);
});

test("of 70,000 mistakes in 2 MB the first ones are told", () => {
  const { diagnostics } = built("async function x(): void {}\n".repeat(70_000));
  expect(diagnostics.map(({ code, primary }) => `${code} ${primary.line}`)).toEqual(
    Array.from({ length: 200 }, (_, index) => `async_function ${index + 3}`),
  );
});

test("thousands of statements and elements are no depth", () => {
  const { ok, handlers } = built(
    block(`const all = [${joined(3_000, "1", ", ")}]; ${'items.get("x");'.repeat(3_000)}`),
  );
  expect(ok).toBe(true);
  expect(handlers[0]?.plan.kind).toBe("sliced");
});
