/** Invariants: a broken one is a fault of Radical, and the process that finds it must not go on with what it has in memory. */

/** A statement that always holds, in words. */
export function assert(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Error(`Broken invariant: ${words}`);
}

/** The value, which is always there. The words say why. */
export function present<T>(value: T | null | undefined, words: string): T {
  if (value === null || value === undefined) throw new Error(`Broken invariant: ${words}`);
  return value;
}
