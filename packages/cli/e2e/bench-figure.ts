/** The figures of a benchmark: each with its aim, if it has one; and what its command takes and ends with. */
import { writeFile } from "node:fs/promises";

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: "×" | "ms" | "%" | "/s" | "";
  /** Null: it is told, and has no aim. */
  readonly aim: Aim | null;
}

export type Aim = { readonly atMost: number } | { readonly atLeast: number };

export function figure(name: string, value: number, unit: Figure["unit"], aim: Aim | null = null): Figure {
  return { name, value: Math.round(value * 1_000) / 1_000, unit, aim };
}

function isMissed({ value, aim }: Figure): boolean {
  if (aim === null) return false;
  return "atMost" in aim ? !(value <= aim.atMost) : !(value >= aim.atLeast);
}

/** A line for people. */
export function lineOf(one: Figure): string {
  const { name, value, unit, aim } = one;
  const bound = aim === null ? "" : "atMost" in aim ? `, at most ${aim.atMost}` : `, at least ${aim.atLeast}`;
  const end = aim === null ? "" : `${bound} ${unit}: ${isMissed(one) ? "MISSED" : "met"}`;
  return `${name.padEnd(76)} ${value.toFixed(unit === "×" ? 2 : 1).padStart(8)} ${unit}${end}`;
}

/** Options of every command that measures figures. */
export const FIGURE_OPTIONS = {
  quick: { kind: "flag", words: "one short turn of each: to see that it works" },
  output: { kind: "text", short: "o", placeholder: "file", words: "write the figures to a file, as JSON" },
  json: { kind: "flag", words: "print the figures as JSON" },
} as const;

export const FIGURE_EXIT_CODES = [
  "all aims are met",
  "an aim is missed, or a call has failed",
  "wrong options",
] as const;

/** Tells on standard error how far it is. */
export function tellProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints the figures, writes them to the file if there is one, and sets the exit code. `setup`: what they were measured with. */
export async function endWith(
  figures: readonly Figure[],
  setup: object,
  { output, json }: { readonly output: string | null; readonly json: boolean },
): Promise<void> {
  if (figures.some(isMissed)) process.exitCode = 1;
  const result = { ...setup, figures };
  if (output !== null) await writeFile(output, `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`${json ? JSON.stringify(result) : figures.map(lineOf).join("\n")}\n`);
}
