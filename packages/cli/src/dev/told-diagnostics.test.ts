import type { Diagnostic } from "@radical/analyzer";
import { expect, test } from "vitest";
import { ToldDiagnostics } from "./told-diagnostics.ts";

function diagnostic(line: number, severity: Diagnostic["severity"] = "warning"): Diagnostic {
  const primary = { file: "handlers/a.ts", start: 0, end: 1, line, column: 1 };
  return { code: "not_sliced_library", severity, class: "unsupported", message: "no", primary, related: [] };
}

function build(...found: readonly (readonly [Diagnostic, string])[]): {
  readonly diagnostics: readonly Diagnostic[];
  readonly frames: ReadonlyMap<Diagnostic, string>;
} {
  return { diagnostics: found.map(([one]) => one), frames: new Map(found) };
}

const frame = (line: number, code: string): string =>
  `warning[not_sliced_library]: no\n ${" ".repeat(String(line).length)}--> handlers/a.ts:${line}:1\n   |\n${line} | ${code}\n   | ^`;

test("a warning is told once, wherever its line moves, and again if it was gone or changed", () => {
  const told = new ToldDiagnostics();
  expect(told.untold(build([diagnostic(9), frame(9, "new Date(0)")]))).toHaveLength(1);
  expect(told.untold(build([diagnostic(12), frame(12, "new Date(0)")]))).toEqual([]);
  expect(told.untold(build([diagnostic(12), frame(12, "new Date(1)")]))).toHaveLength(1);
  expect(told.untold(build())).toEqual([]);
  expect(told.untold(build([diagnostic(12), frame(12, "new Date(1)")]))).toHaveLength(1);
});

test("a warning is not told again after a build that an error stopped", () => {
  const told = new ToldDiagnostics();
  expect(told.untold(build([diagnostic(9), frame(9, "new Date(0)")]))).toHaveLength(1);
  expect(told.untold(build([diagnostic(1, "error"), frame(1, "x")]))).toHaveLength(1);
  expect(told.untold(build([diagnostic(9), frame(9, "new Date(0)")]))).toEqual([]);
  expect(told.untold(build())).toEqual([]);
  expect(told.untold(build([diagnostic(9), frame(9, "new Date(0)")]))).toHaveLength(1);
});

test("an error is told always", () => {
  const told = new ToldDiagnostics();
  const broken = build([diagnostic(1, "error"), frame(1, "x")]);
  expect([told.untold(broken), told.untold(broken)].map((frames) => frames.length)).toEqual([1, 1]);
});
