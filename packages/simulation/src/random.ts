/** Randomness under a seed: xoshiro128** (Blackman and Vigna), seeded by splitmix32. */
export class Random {
  readonly #state = new Uint32Array(4);

  constructor(seed: number) {
    let x = seed >>> 0;
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

  /** An integer from 0 to `limit` − 1. */
  below(limit: number): number {
    return Math.floor((this.next() / 2 ** 32) * limit);
  }

  /** From `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.next() / 2 ** 32 < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** The first of a list most often, the second half as often, the third a third as often, and so on. */
  zipf<T>(list: readonly T[]): T {
    let sum = 0;
    for (let rank = 1; rank <= list.length; rank++) sum += 1 / rank;
    let left = (this.next() / 2 ** 32) * sum;
    let rank = 1;
    while (rank < list.length && left >= 1 / rank) left -= 1 / rank++;
    return list[rank - 1]!;
  }

  /** Some of a list, each once. */
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
}
