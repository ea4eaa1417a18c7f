/** Lengths of time as text. */

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `5m`, `12h`, `1d`; null: another text. */
export function durationMs(text: string): number | null {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNITS[unit]!;
}

/** The same, and in words: `90 seconds`, `1 hour`, `3 days`, `2 weeks`. Null: another text. */
export function spokenDurationMs(text: string): number | null {
  const [, count, word] = /^(\d{1,9}) (second|minute|hour|day|week)s?$/.exec(text) ?? [];
  if (count === undefined || word === undefined) return durationMs(text);
  return word === "week" ? Number(count) * 7 * UNITS["d"]! : durationMs(`${count}${word[0]}`);
}
