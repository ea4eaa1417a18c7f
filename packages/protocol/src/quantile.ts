/** Quantiles of a histogram, as far as its buckets tell them apart. */

/**
 * The value below which this part of all observations lies. `bounds`: upper ones, ascending. `counts`: of each bucket alone, with one more
 * for values above all bounds, which count as the last bound. Null: nothing was observed.
 */
export function quantileOf(bounds: readonly number[], counts: readonly number[], part: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let before = 0;
  for (const [at, upper] of bounds.entries()) {
    const count = counts[at] ?? 0;
    const wanted = part * all - before;
    if (count > 0 && wanted <= count) {
      const lower = bounds[at - 1] ?? 0;
      return lower + (upper - lower) * Math.max(0, wanted / count);
    }
    before += count;
  }
  return bounds.at(-1) ?? null;
}
