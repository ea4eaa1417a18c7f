/** The page Effects is all that a developer needs, and short enough to be read at once. */
import { expect, test } from "vitest";
import { readPage } from "./pages.ts";

/** Words that people read: without code, comments and the targets of links. */
function wordsOf(markdown: string): readonly string[] {
  const text = markdown
    .replaceAll(/^```.*?^```$/gms, "")
    .replaceAll(/<!--.*?-->/gs, "")
    .replaceAll(/\]\([^)]*\)/g, "]");
  return text.split(/\s+/).filter((word) => /\w/.test(word));
}

test("the page Effects has at most 900 words, and all four kinds of effects", () => {
  const page = readPage("how-to/effects.md");
  const count = wordsOf(page).length;
  expect(count).toBeGreaterThan(500);
  expect(count).toBeLessThanOrEqual(900);
  for (const kind of ["Tasks", "Schedules", "Services", "Workflows"]) expect(page).toContain(`\n## ${kind}\n`);
});

test("code, comments and targets of links are not words", () => {
  expect(wordsOf("# A b\n\n<!-- c d -->\n\n```ts\ne f\n```\n\n[g h](i/j k.md) - | --- |\n")).toEqual([
    "A",
    "b",
    "[g",
    "h]",
  ]);
});
