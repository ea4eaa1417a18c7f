/** How the calls of this isolate were answered since it began: for `radical doctor`, by the location's health. */
import type { ExecutionPath } from "./core/effects.ts";

const counts: Record<ExecutionPath, number> = { leased: 0, speculative: 0, "near-storage": 0 };

export function countAnswer(path: ExecutionPath): void {
  counts[path]++;
}

export function answeredSoFar(): Readonly<Record<ExecutionPath, number>> {
  return { ...counts };
}
