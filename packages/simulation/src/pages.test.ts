import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CI_HISTORIES } from "./batch.ts";
import { MUTANTS } from "./mutants.ts";
import { readAnchors } from "./mutation.ts";
import { withMutantTable } from "./pages.ts";
import { transcripts } from "./stories.ts";

const page = (name: string): string =>
  readFileSync(new URL(`../../../docs/internals/${name}`, import.meta.url), "utf8");

test("the transcripts in the documents are what the cores do", () => {
  expect(transcripts()).toBe(page("transcripts.md"));
});

test("every variant fits its source, and every anchor is used", () => {
  expect(readAnchors().problems(MUTANTS)).toEqual([]);
});

test("the variants in the documents are those that are tried", () => {
  const verification = page("verification.md");
  expect(verification).toContain("<!-- mutants -->\n\n| variant |");
  expect(withMutantTable(verification)).toBe(verification);
  expect(verification).toContain(`runs ${CI_HISTORIES.toLocaleString("en")} histories`);
});
