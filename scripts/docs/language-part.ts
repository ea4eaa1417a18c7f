/**
 * The forms of TypeScript that handlers can't use, with the forms in their place. They are the lines by which the two
 * examples on the page of each diagnostic differ. Tests of the analyzer hold these pages to its behaviour.
 */
import { CATALOGUE, type DiagnosticCode } from "../../packages/analyzer/src/diagnostics/catalogue.ts";
import { readPage } from "./pages.ts";

export function languagePart(): string {
  return (Object.keys(CATALOGUE) as DiagnosticCode[])
    .filter((code) => CATALOGUE[code].severity === "error" && CATALOGUE[code].class === "unsupported")
    .flatMap((code) => {
      const page = readPage(`diagnostics/${code}.md`);
      const [refused, accepted] = [exampleOf(page, "Example"), exampleOf(page, "Accepted")];
      if (refused === null || accepted === null) return [];
      const words = /^# .*\n\n([^]*?)\n\n/.exec(page)?.[1] ?? "";
      return `${words} [\`${code}\`](diagnostics/${code}.md)\n\n\`\`\`diff\n${differenceOf(refused, accepted).join("\n")}\n\`\`\``;
    })
    .join("\n\n");
}

/** The lines of all blocks of code in a section; null if there are none. */
function exampleOf(page: string, heading: string): readonly string[] | null {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const code = [...section.matchAll(/^```ts\n([^]*?)\n```/gm)].flatMap(([, text = ""]) => text.split("\n"));
  return code.length === 0 ? null : code;
}

/** The lines of the first text only (`-`) and of the second only (`+`), in order. Each stands after the common line before it. */
function differenceOf(before: readonly string[], after: readonly string[]): readonly string[] {
  const common = longestCommon(before, after);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  for (const [a, b] of [...common, [before.length, after.length] as const]) {
    if ((a > i || b > j) && i > 0) {
      const context = `  ${before[i - 1]}`;
      if (lines.at(-1) !== context) lines.push(context);
    }
    lines.push(...before.slice(i, a).map((line) => `- ${line}`), ...after.slice(j, b).map((line) => `+ ${line}`));
    [i, j] = [a + 1, b + 1];
  }
  return lines;
}

/** The places of a longest common subsequence. */
function longestCommon(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const lengths = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i]![j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return found;
}
