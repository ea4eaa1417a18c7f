/** The time of a call, from its spans. All times are microseconds from the start of the call at its location. */
import type { Life, LifeSpan, LifeSpanName } from "@radical/protocol";
import type { Call } from "./join.ts";

export interface Bar {
  readonly startUs: number;
  readonly tookUs: number;
}

/** The last round trip to the primary, and what of it was spent there. It is reckoned to lie in the middle: clocks are not compared. */
export interface RoundTrip {
  readonly there: Bar;
  readonly at: Bar;
  readonly back: Bar;
  /** The reply is there, and the location is busy: nobody reads it. */
  readonly unread: Bar;
  /** How often the request was sent before. */
  readonly before: number;
}

export function spansOf(life: Life, name: LifeSpanName): readonly LifeSpan[] {
  return life.spans.filter(([span]) => span === name);
}

export function sumOf(life: Life, name: LifeSpanName): number {
  return spansOf(life, name).reduce((sum, [, , tookUs]) => sum + tookUs, 0);
}

/**
 * Null: nothing was asked, or the primary's half is not known. `leastUs`: the shortest way of the place that was seen; null: none
 * was. If the handler ran here meanwhile, the reply has waited for the rest of that time to be read.
 */
export function roundTripOf({ life, primary }: Call, leastUs: number | null): RoundTrip | null {
  const sends = spansOf(life, "send");
  const last = sends.at(-1);
  if (last === undefined || primary === null) return null;
  const [, startUs, tookUs] = last;
  const atUs = Math.min(primary.tookUs, tookUs);
  const endUs = startUs + tookUs;
  const ranUntilUs = Math.max(
    ...spansOf(life, "run").map(([, ranUs, forUs]) => Math.min(endUs, ranUs + forUs)),
    startUs,
  );
  const leastEndUs = startUs + atUs + (leastUs ?? Infinity);
  const unreadUs = Math.max(0, Math.min(ranUntilUs, endUs) - Math.min(leastEndUs, endUs));
  const wayUs = (tookUs - atUs - unreadUs) / 2;
  return {
    there: { startUs, tookUs: wayUs },
    at: { startUs: startUs + wayUs, tookUs: atUs },
    back: { startUs: startUs + wayUs + atUs, tookUs: wayUs },
    unread: { startUs: endUs - unreadUs, tookUs: unreadUs },
    before: sends.length - 1,
  };
}

export const PARTS = ["run", "set", "fetch", "send", "rest"] as const;
export type Part = (typeof PARTS)[number];

/** The time of the caller, as parts that add up to it. Each moment counts once, for the first of {@link PARTS} that was under way. */
export function partsOf(life: Life): Readonly<Record<Part, number>> {
  const edges = new Set([0, life.tookUs]);
  for (const [, startUs, tookUs] of life.spans)
    for (const edge of [startUs, startUs + tookUs]) if (edge > 0 && edge < life.tookUs) edges.add(edge);
  const times = [...edges].toSorted((a, b) => a - b);
  const parts = { run: 0, set: 0, fetch: 0, send: 0, rest: 0 };
  for (const [index, from] of times.entries()) {
    const to = times[index + 1];
    if (to === undefined) break;
    const under = life.spans.filter(([, startUs, tookUs]) => startUs <= from && startUs + tookUs >= to);
    const part = PARTS.find((name) => under.some(([span]) => span === name)) ?? "rest";
    parts[part] += to - from;
  }
  return parts;
}

/** How long the caller waited for the primary when the run here was over, or without one. */
export function waitOf(life: Life): Bar | null {
  const last = spansOf(life, "send").at(-1);
  if (last === undefined) return null;
  const [, sentUs, tookUs] = last;
  const endUs = sentUs + tookUs;
  // One that began when the reply was there has waited for it.
  const runs = spansOf(life, "run").filter(([, startUs]) => startUs < endUs);
  const fromUs = Math.max(sentUs, ...runs.map(([, startUs, ranUs]) => Math.min(endUs, startUs + ranUs)));
  return { startUs: fromUs, tookUs: endUs - fromUs };
}
