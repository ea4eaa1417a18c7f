/** The verdict of the simulation on a wrong variant of the protocol. */
import type { Mutant } from "./mutants.ts";
import type { simulate } from "./simulate.ts";

/** Caught or not, after so many histories. */
export type Verdict = { readonly name: string; readonly histories: number } & (
  | { readonly kind: "caught"; readonly problem: string }
  | { readonly kind: "not-caught" }
  /** Its code throws an error that is not an assertion: it says nothing about the checkers. */
  | { readonly kind: "throws"; readonly error: string }
);

/** Tries at most so many seeds from `from` on, until a history of the variant is wrong. */
export function verdictOn(
  { name, weather }: Pick<Mutant, "name" | "weather">,
  run: (options: Parameters<typeof simulate>[0]) => Pick<ReturnType<typeof simulate>, "problems">,
  from: number,
  most: number,
): Verdict {
  for (let histories = 1; histories <= most; histories++) {
    try {
      const [problem] = run({ seed: from + histories - 1, ...(weather === undefined ? {} : { weather }) }).problems;
      if (problem !== undefined) return { name, kind: "caught", histories, problem };
    } catch (error) {
      if (isOfVariant(error)) return { name, kind: "throws", histories, error: firstLines(error) };
      // An invariant of the core, or of its driver.
      return { name, kind: "caught", histories, problem: String(error) };
    }
  }
  return { name, kind: "not-caught", histories: most };
}

/** The words of a verdict for the lines of a command. */
export function wordsOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case "caught":
      return verdict.problem;
    case "not-caught":
      return "not caught";
    case "throws":
      return `the variant itself throws, in history ${verdict.histories}: ${verdict.error}`;
  }
}

/** Assertions are plain errors. These errors say that the code of the variant makes no sense. */
function isOfVariant(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}

/** The error, and the place that threw it. */
function firstLines({ stack, message }: Error): string {
  const lines = (stack ?? message).split("\n").slice(0, 2);
  return lines.map((line) => line.trim()).join(" ");
}
