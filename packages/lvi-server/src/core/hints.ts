/** The choice of the hints for one location: a function of a commit, of the units that the location knows, and of bounds. */
import type { UnitId, Write } from "@radical/protocol";

export interface HintBounds {
  /** Most bytes of one value, and of the values of one line. */
  readonly valueBytes: number;
  readonly lineBytes: number;
  /** Most lines for one commit. */
  readonly lines: number;
}

/** The writes of each line in its order, and the number of units that fit none. */
export interface Hints {
  readonly lines: readonly (readonly Write[])[];
  readonly leftOut: number;
}

/**
 * The location hears of the units that it `knows`, and of the `blind` ones, which the execution has written without reading them.
 * Blind ones are new, as a rule: a location that reads a list will ask for the entry that was put on it. They come first, since a
 * cache that has the list wants the entry.
 */
export function hintsOf(
  writes: readonly Write[],
  blind: ReadonlySet<UnitId>,
  knows: (unit: UnitId) => boolean,
  { valueBytes, lineBytes, lines: mostLines }: HintBounds,
): Hints {
  const known: Write[] = [];
  const unknown: Write[] = [];
  for (const write of writes) {
    if (knows(write.unit)) known.push(write);
    else if (blind.has(write.unit)) unknown.push(write);
  }
  const lines: Write[][] = [];
  let [bytes, leftOut] = [Infinity, 0];
  if (known.length === 0) return { lines, leftOut };
  for (const write of [...unknown, ...known]) {
    const size = write.value?.length ?? 0;
    const isFull = bytes + size > lineBytes;
    if (size > valueBytes || (isFull && lines.length === mostLines)) {
      leftOut++;
      continue;
    }
    if (isFull) [bytes, lines[lines.length]] = [0, []];
    bytes += size;
    lines.at(-1)?.push(write);
  }
  return { lines, leftOut };
}
