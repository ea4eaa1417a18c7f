/** Quantiles and their intervals. */
import type { Random } from "@radical/history";
import type { Statistics } from "./result.ts";

/** By the nearest rank, of values in ascending order; NaN of none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function statisticsOf(values: readonly number[]): Statistics {
  const sorted = ascending(values);
  const at = (share: number): number | null => (sorted.length === 0 ? null : rounded(quantile(sorted, share)));
  // The number of values below the median is binomial: about normal, with this many around the middle rank.
  const around = (1.96 * Math.sqrt(sorted.length)) / 2;
  const rank = (place: number): number | null =>
    sorted.length === 0 ? null : rounded(sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(place)))]!);
  return {
    samples: sorted.length,
    meanMs: sorted.length === 0 ? null : rounded(mean(sorted)),
    p5Ms: at(0.05),
    p25Ms: at(0.25),
    p50Ms: at(0.5),
    p75Ms: at(0.75),
    p90Ms: at(0.9),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    p50LowMs: rank(sorted.length / 2 - around - 1),
    p50HighMs: rank(sorted.length / 2 + around),
  };
}

const RESAMPLES = 400;

/** Bounds of a 95 % interval of the difference of two medians, by resampling both. */
export function differenceOfMedians(
  a: readonly number[],
  b: readonly number[],
  draw: Random,
): { readonly low: number; readonly high: number } {
  const resampled = (values: readonly number[]): number => median(values.map(() => draw.pick(values)));
  const differences = ascending(Array.from({ length: RESAMPLES }, () => resampled(a) - resampled(b)));
  return { low: quantile(differences, 0.025), high: quantile(differences, 0.975) };
}

/** To the microsecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function ascending(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}
