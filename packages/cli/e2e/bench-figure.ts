/** The figures of a benchmark: each with its aim, if it has one. */

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

export function isMissed({ value, aim }: Figure): boolean {
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
