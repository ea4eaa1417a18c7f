/** How often a value was up to each of some bounds: a histogram that costs an addition. */
export class Distribution {
  readonly bounds: readonly number[];
  /** One for each bound, and one for values that are larger than all. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = [...bounds.map(() => 0), 0];
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] ?? Infinity)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }

  /** Adds what another one with the same bounds has. */
  add({ counts, sum }: Distribution): void {
    for (const [at, count] of counts.entries()) this.counts[at] = (this.counts[at] ?? 0) + count;
    this.sum += sum;
  }
}
