/** The figures of the benchmark: each with its aim, if it has one. */

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: "×" | "ms" | "%";
  /** The most that it may be; null: it is told, and has no aim. */
  readonly most: number | null;
}

export function figure(name: string, value: number, unit: Figure["unit"], most: number | null = null): Figure {
  return { name, value: Math.round(value * 1_000) / 1_000, unit, most };
}

export function isMissed({ value, most }: Figure): boolean {
  return most !== null && !(value <= most);
}

/** A line for people. */
export function lineOf(one: Figure): string {
  const { name, value, unit, most } = one;
  const aim = most === null ? "" : `, at most ${most} ${unit}: ${isMissed(one) ? "MISSED" : "met"}`;
  return `${name.padEnd(76)} ${value.toFixed(unit === "×" ? 2 : 1).padStart(8)} ${unit}${aim}`;
}
