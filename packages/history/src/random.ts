/** Draws under a seed: xoshiro128** (Blackman and Vigna), seeded by splitmix32. The same seed gives the same draws. */
export class Random {
  /** The exponent of `zipf`. With 0, each number is as likely as any other. */
  readonly exponent: number;
  readonly #seed: number;
  readonly #state = new Uint32Array(4);

  constructor(seed: number, exponent = 1) {
    this.exponent = exponent;
    this.#seed = seed >>> 0;
    let x = this.#seed;
    for (let i = 0; i < 4; i++) {
      x = (x + 0x9e3779b9) >>> 0;
      let z = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      this.#state[i] = z ^ (z >>> 15);
    }
  }

  /** 32 random bits. */
  next(): number {
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
    return result;
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.next() / 2 ** 32;
  }

  /** An integer from 0 to `limit` − 1. */
  below(limit: number): number {
    return Math.floor(this.unit() * limit);
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("Nothing can be picked from an empty list.");
    return list[this.below(list.length)]!;
  }

  /** An integer from 0 to `count` − 1 by Zipf's law: the k-th of them has the weight k to the power of −`exponent`. */
  zipf(count: number): number {
    const sums = sumsOf(count, this.exponent);
    const drawn = this.unit() * sums[count - 1]!;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! <= drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** An index of `weights`, each as likely as it weighs. */
  weighted(weights: readonly number[]): number {
    let left = this.unit() * weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      left -= weight;
      if (left < 0) return index;
    }
    return weights.length - 1;
  }

  /** Some elements of a list, each once. */
  some<T>(list: readonly T[], count: number): T[] {
    const rest = [...list];
    const chosen: T[] = [];
    while (chosen.length < count && rest.length > 0) chosen.push(...rest.splice(this.below(rest.length), 1));
    return chosen;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.next();
    return bytes;
  }

  /** A generator of its own for each name. It gives the same whatever is drawn here. */
  fork(name: string): Random {
    let seed = this.#seed;
    for (let i = 0; i < name.length; i++) {
      seed = Math.imul(seed ^ name.charCodeAt(i), 0x5bd1e995);
      seed ^= seed >>> 15;
    }
    return new Random(seed ^ name.length, this.exponent);
  }
}

const sums = new Map<string, Float64Array>();

/** The sums of the first weights of Zipf's law, kept for all draws. */
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
