/**
 * For tests: the case that catches each mutant, as `pnpm mutants --write` found it. The test suite tries that one, which
 * takes a tenth of the time that all take.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Case, Verdict } from "./mutation.ts";

const FILE = new URL("../../fixtures/caught-by.json", import.meta.url);

/** By rule. */
export function knownCases(): ReadonlyMap<string, Case> {
  return new Map(
    Object.entries(JSON.parse(readFileSync(FILE, "utf8")) as Readonly<Record<string, string>>).map(([rule, place]) => {
      const [file, handler, others] = place.split(" ") as [string, string, string?];
      return [rule, { file, handler, withOthers: others !== undefined }];
    }),
  );
}

/** Those that these verdicts name, beside those of other rules of `rules`. */
export function writeKnownCases(rules: readonly string[], verdicts: readonly Verdict[]): void {
  const cases = new Map<string, Case | null>(knownCases());
  for (const { rule, caughtBy } of verdicts) cases.set(rule, caughtBy);
  const known = rules.flatMap((rule) => {
    const found = cases.get(rule);
    return found ? [[rule, `${found.file} ${found.handler}${found.withOthers ? " others" : ""}`] as const] : [];
  });
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}
