/** How the calls of this isolate were answered since it began: for `radical doctor`, by the location's health. */
import type { ExecutionPath, Verdict } from "./core/effects.ts";

const answered: Record<ExecutionPath, number> = { leased: 0, speculative: 0, "near-storage": 0 };
const shown: Record<Verdict, number> = { confirmed: 0, corrected: 0, failed: 0 };

/** `path`: null if there is no outcome. `verdict`: on the result that was shown before the answer; null: none was. */
export function countAnswer(path: ExecutionPath | null, verdict: Verdict | null): void {
  if (path !== null) answered[path]++;
  if (verdict !== null) shown[verdict]++;
}

export interface AnswersSoFar {
  readonly answered: Readonly<Record<ExecutionPath, number>>;
  readonly shown: Readonly<Record<Verdict, number>>;
}

export function answersSoFar(): AnswersSoFar {
  return { answered: { ...answered }, shown: { ...shown } };
}
