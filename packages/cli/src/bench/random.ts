/** What a benchmark draws from its seed: arrivals, which requests, which users, posts, rooms. */
import { createHash } from "node:crypto";
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { mersenne } from "pure-rand/generator/mersenne";
import type { RandomGenerator } from "pure-rand/types/RandomGenerator";

/** Draws under a seed. */
export class Draw {
  /** Of `zipf`; 0: each is as likely. */
  readonly exponent: number;
  readonly #seed: number;
  readonly #generator: RandomGenerator;

  constructor(seed: number, exponent: number) {
    this.exponent = exponent;
    this.#seed = seed;
    this.#generator = mersenne(seed);
  }

  /** In [0, 1). */
  unit(): number {
    return uniformFloat64(this.#generator);
  }

  /** A whole number from 0 to `count` − 1, each as likely. */
  below(count: number): number {
    return Math.floor(this.unit() * count);
  }

  /** A whole number from 0 to `count` − 1 by Zipf's law: the k-th has a weight of k to the power of −exponent. */
  zipf(count: number): number {
    const sums = sumsOf(count, this.exponent);
    const drawn = this.unit() * sums.at(-1);
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! <= drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("nothing to pick from");
    return list[this.below(list.length)]!;
  }

  /** One of the weights' indices, each as likely as it weighs. */
  weighted(weights: readonly number[]): number {
    let left = this.unit() * weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      left -= weight;
      if (left < 0) return index;
    }
    return weights.length - 1;
  }

  /** Draws of its own, by name: whatever is drawn here, there the same is drawn. */
  fork(name: string): Draw {
    const digest = createHash("sha256").update(`${this.#seed} ${name}`).digest();
    return new Draw(digest.readInt32LE(), this.exponent);
  }
}

const sums = new Map<string, Float64Array>();

/** The weights summed up, once for all draws. */
function sumsOf(count: number, exponent: number): Float64Array {
  const key = `${count} ${exponent}`;
  let found = sums.get(key);
  if (found === undefined) {
    found = new Float64Array(count);
    let sum = 0;
    for (let rank = 1; rank <= count; rank++) found[rank - 1] = sum += rank ** -exponent;
    sums.set(key, found);
  }
  return found;
}
