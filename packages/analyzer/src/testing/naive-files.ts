/**
 * For tests: the files of `fixtures/naive`, as TypeScript developers write them who do not know Radical yet. Beside each
 * stands the file that they come to when they change the lines that a build refuses.
 */
import { readFileSync } from "node:fs";

export interface NaiveFile {
  /** As it was written first. */
  readonly naive: string;
  /** The same, changed until it builds. */
  readonly built: string;
}

export function naiveFile(name: string): NaiveFile {
  const read = (kind: string): string =>
    readFileSync(new URL(`../../fixtures/naive/${name}.${kind}.ts`, import.meta.url), "utf8");
  return { naive: read("naive"), built: read("built") };
}

/** Lines of a text, and the lines that another text has in their place. */
export interface Change {
  /** The first of the lines, counted from 1. */
  readonly line: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The fewest lines that make one text the other. */
export function changesBetween(before: string, after: string): Change[] {
  const [old, made] = [before.split("\n"), after.split("\n")];
  // How many lines the texts have in common from these lines on.
  const common = Array.from({ length: old.length + 1 }, () => made.map(() => 0).concat(0));
  for (let i = old.length - 1; i >= 0; i--)
    for (let k = made.length - 1; k >= 0; k--)
      common[i]![k] =
        old[i] === made[k] ? common[i + 1]![k + 1]! + 1 : Math.max(common[i + 1]![k]!, common[i]![k + 1]!);
  const changes: { line: number; before: string[]; after: string[] }[] = [];
  let isChanging = false;
  for (let i = 0, k = 0; i < old.length || k < made.length;) {
    if (i < old.length && k < made.length && old[i] === made[k]) {
      isChanging = false;
      i++;
      k++;
      continue;
    }
    const last = isChanging ? changes.at(-1) : undefined;
    const change = last ?? { line: i + 1, before: [], after: [] };
    if (last === undefined) changes.push(change);
    isChanging = true;
    if (k === made.length || (i < old.length && common[i + 1]![k]! >= common[i]![k + 1]!))
      change.before.push(old[i++]!);
    else change.after.push(made[k++]!);
  }
  return changes;
}

/** How many lines a developer changes, adds or takes away. */
export function linesOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { before, after }) => sum + Math.max(before.length, after.length), 0);
}

/** Whether a line is one of those that are changed. */
export function isChanged({ line, before }: Change, at: number): boolean {
  return line <= at && at < line + before.length;
}

/** The text with these changes. */
export function changed(text: string, changes: readonly Change[]): string {
  const lines = text.split("\n");
  for (const { line, before, after } of changes.toReversed()) lines.splice(line - 1, before.length, ...after);
  return lines.join("\n");
}
