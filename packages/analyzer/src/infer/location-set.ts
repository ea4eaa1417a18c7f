/**
 * Sets of locations, as bits: relevance copies and joins them at every branch and loop. A location gets its number
 * when it is first met.
 */
import type { Location, SharedLocation } from "./heap.ts";

/** The locations of one analysis, in the order in which they were met. */
export class Numbering {
  readonly #numbers = new Map<Location, number>();
  readonly #locations: Location[] = [];
  /** Locations other than variables. */
  readonly shared = new LocationSet(this);

  of(location: Location): number {
    let number = this.#numbers.get(location);
    if (number !== undefined) return number;
    number = this.#locations.length;
    this.#numbers.set(location, number);
    this.#locations.push(location);
    if (isShared(location)) this.shared.add(location);
    return number;
  }

  at(number: number): Location {
    const location = this.#locations[number];
    if (location === undefined) throw new Error(`there is no location ${number}`);
    return location;
  }
}

/** Whether functions that don't know each other can mean it. */
export function isShared(location: Location): location is SharedLocation {
  return "kind" in location || "mutable" in location;
}

export class LocationSet implements Iterable<Location> {
  readonly #numbering: Numbering;
  /** 32 locations each; those that are missing are empty. */
  readonly #words: number[];

  constructor(numbering: Numbering, words: number[] = []) {
    this.#numbering = numbering;
    this.#words = words;
  }

  copy(): LocationSet {
    return new LocationSet(this.#numbering, this.#words.slice());
  }

  has(location: Location): boolean {
    const number = this.#numbering.of(location);
    return ((this.#words[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  }

  /** Whether it was not in. */
  add(location: Location): boolean {
    const number = this.#numbering.of(location);
    const index = number >>> 5;
    while (this.#words.length <= index) this.#words.push(0);
    const word = this.#words[index]!;
    this.#words[index] = word | (1 << (number & 31));
    return this.#words[index] !== word;
  }

  delete(location: Location): void {
    const number = this.#numbering.of(location);
    const index = number >>> 5;
    if (index < this.#words.length) this.#words[index] = this.#words[index]! & ~(1 << (number & 31));
  }

  /** Whether anything was not in. `within`: only what is also in there. */
  addAll(other: LocationSet, within?: LocationSet): boolean {
    const words = this.#words;
    let grew = false;
    for (let index = 0; index < other.#words.length; index++) {
      const added = within === undefined ? other.#words[index]! : other.#words[index]! & (within.#words[index] ?? 0);
      if (index === words.length) words.push(0);
      const word = words[index]!;
      if ((added & ~word) === 0) continue;
      words[index] = word | added;
      grew = true;
    }
    return grew;
  }

  become(other: LocationSet): void {
    this.#words.length = 0;
    for (const word of other.#words) this.#words.push(word);
  }

  clear(): void {
    this.#words.length = 0;
  }

  intersects(other: LocationSet): boolean {
    const length = Math.min(this.#words.length, other.#words.length);
    for (let index = 0; index < length; index++) if ((this.#words[index]! & other.#words[index]!) !== 0) return true;
    return false;
  }

  /** In the order of their numbers. */
  *[Symbol.iterator](): Iterator<Location> {
    for (const [index, word] of this.#words.entries()) {
      for (let rest = word; rest !== 0; rest &= rest - 1)
        yield this.#numbering.at(index * 32 + 31 - Math.clz32(rest & -rest));
    }
  }
}
