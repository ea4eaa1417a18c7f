/** Times and spans of time in words, the same in all that operators read. */

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** The two largest units: `1d 3h`, `5m`, `0s`. */
export function spanText(ms: number): string {
  const parts: string[] = [];
  let left = Math.max(0, ms);
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? "0s" : parts.join(" ");
}

/** `in 1d 3h`, or `5m ago`. */
export function fromNowText(ms: number): string {
  return ms >= 0 ? `in ${spanText(ms)}` : `${spanText(-ms)} ago`;
}

/** `2026-11-27 02:00:00 UTC`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
