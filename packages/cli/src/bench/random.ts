/** What a benchmark draws from its seed: arrivals, which requests, which users, posts, rooms. */

/** Draws under a seed: xoshiro128** (Blackman and Vigna), seeded by splitmix32. */
export class Draw {
  /** Of `zipf`; 0: each is as likely. */
  readonly exponent: number;
  readonly #state = new Uint32Array(4);

  constructor(seed: number, exponent: number) {
    this.exponent = exponent;
    let x = seed >>> 0;
    for (let i = 0; i < 4; i++) {
      x = (x + 0x9e3779b9) >>> 0;
      let z = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      this.#state[i] = z ^ (z >>> 15);
    }
  }

  /** In [0, 1). */
  unit(): number {
    const s = this.#state;
    const product = Math.imul(s[1]!, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const t = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= t;
    s[3] = (s[3]! << 11) | (s[3]! >>> 21);
    return result / 2 ** 32;
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

  /** A time between two events of a Poisson process, in the unit of the mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.unit()) * mean;
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

  /** Draws of its own, by name: what is drawn here and there does not depend on each other. */
  fork(name: string): Draw {
    let hash = 0x811c9dc5;
    for (const word of [...this.#state, ...Array.from(name, (letter) => letter.codePointAt(0)!)])
      hash = Math.imul(hash ^ word, 0x01000193) >>> 0;
    return new Draw(hash, this.exponent);
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
