/** Each diagnostic has a page in docs/diagnostics, whose examples do what they say. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { buildApplication } from "../index.ts";
import type { BuildResult } from "../pipeline.ts";
import { applied } from "../testing/applied-fixes.ts";
import { buildInput } from "../testing/library.ts";
import { expectWholeSentences } from "../testing/whole-sentences.ts";
import { CATALOGUE, type DiagnosticCode } from "./catalogue.ts";

const FOLDER = fileURLToPath(new URL("../../../../docs/diagnostics/", import.meta.url));
const INDEX = "README.md";
const CODES = Object.keys(CATALOGUE) as readonly DiagnosticCode[];

/**
 * Codes that no source of a page's length brings about: our own mistakes, guards against unknown cases, and code that is
 * nested too deeply.
 */
const WITHOUT_EXAMPLE = new Set<DiagnosticCode>([
  "nested_too_deeply",
  "read_write_set_not_compiled",
  "sliced_without_transformations",
  "compiler_crash",
  "analyzer_crash",
  "not_sliced_table_value",
  "not_sliced_type",
]);

/** Empty if there is none. */
function pageOf(code: string): string {
  const path = `${FOLDER}${code}.md`;
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** The files of a section: one, `handlers/example.ts`, or several that begin with their path. */
function filesOf(page: string, heading: string): Record<string, string> {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return Object.fromEntries(
    Array.from(section.matchAll(/^```ts\n(.*?)^```/gms), ([, text = ""]) => {
      const path = /^\/\/ (\S+\.ts)\n/.exec(text)?.[1];
      return [path ?? "handlers/example.ts", text];
    }),
  );
}

function build(files: Readonly<Record<string, string>>): Promise<BuildResult> {
  return buildApplication({ ...buildInput(files), optimize: false });
}

test("a page for each code, and a code for each page", () => {
  const pages = readdirSync(FOLDER).filter((name) => name !== INDEX);
  expect(pages.toSorted()).toEqual(CODES.map((code) => `${code}.md`).toSorted());
});

test("the index has the first sentence of each", async () => {
  const lines = CODES.map((code) => {
    const [, sentence = ""] = /^# .*\n\n(.*?[.:])(?:\s|$)/.exec(pageOf(code)) ?? [];
    return `* [${code}](${code}.md): ${sentence.replace(/:$/, ".")}\n`;
  });
  const text = `# Diagnostics\n\nThe diagnostics of the analyzer about handlers, by code. \`radical explain <code>\` shows a page in the terminal.\n\n${lines.join("")}`;
  await expect(text).toMatchFileSnapshot(`${FOLDER}${INDEX}`);
});

test.each(CODES)("%s has the form of a page", (code) => {
  const page = pageOf(code);
  expect(page).toMatch(new RegExp(`^# ${code}\n\n\\S`));
  const hasExample = Object.keys(filesOf(page, "Example")).length > 0;
  expect(hasExample).toBe(!WITHOUT_EXAMPLE.has(code));
  expect(Object.keys(filesOf(page, "Accepted")).length > 0).toBe(hasExample);
});

test.each(CODES.filter((code) => !WITHOUT_EXAMPLE.has(code)))(
  "%s: its example, and its accepted form",
  async (code) => {
    const page = pageOf(code);
    const { diagnostics } = await build(filesOf(page, "Example"));
    expect([...new Set(diagnostics.map((found) => found.code))]).toEqual([code]);
    expectWholeSentences(diagnostics);
    expect(await build(filesOf(page, "Accepted"))).toMatchObject({ ok: true, diagnostics: [] });
  },
);

test.each(CODES.filter((code) => !WITHOUT_EXAMPLE.has(code)))(
  "%s: a fix of its example leaves nothing to tell of that kind, and no syntax error",
  async (code) => {
    const files = filesOf(pageOf(code), "Example");
    const { diagnostics } = await build(files);
    const fixes = diagnostics.flatMap(({ fix }) => fix ?? []);
    if (fixes.length === 0) return;
    const after = await build(applied(files, fixes));
    expect(after.diagnostics.filter((found) => found.code === code || found.code === "syntax_error")).toEqual([]);
  },
);
