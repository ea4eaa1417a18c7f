/** What a benchmark has found. */

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What it is to be; null: it only explains others. */
  readonly goal: Goal | null;
}

export type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** A benchmark tells what it is doing, since some take long. */
export type Progress = (words: string) => void;

export interface Effort {
  /** How often those that are compared take turns. */
  readonly turns: number;
  /** Requests of each turn. */
  readonly requests: number;
  /** Of the disturbance by endless handlers. */
  readonly rounds: number;
  /** Intents that are pending when a server starts. */
  readonly intents: number;
  /** Whether recovery is measured on DynamoDB Local too. */
  readonly dynamodb: boolean;
  /** Versions in memory. */
  readonly versions: number;
  /** Of the table that is walked. */
  readonly rows: number;
  /** Of the table whose index is built. */
  readonly items: number;
}

export function figure(what: string, value: number, unit: string, goal: Goal | null = null): Figure {
  return { what, value, unit, goal };
}

export function isMet({ value, goal }: Figure): boolean | null {
  if (goal === null) return null;
  return "atLeast" in goal ? value >= goal.atLeast : value <= goal.atMost;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
