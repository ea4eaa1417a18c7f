/**
 * The recorded environment: what a handler may learn besides its arguments and the items it reads.
 *
 * Departure from the paper (section 4), which forbids time and randomness: real handlers need time stamps and
 * identifiers. The location fixes both once per execution; they travel in the LVI request and stay in the intent,
 * so that re-execution sees the same.
 */
export interface Environment {
  /** Milliseconds since the epoch by the location's clock. */
  readonly timeMs: number;
  /** 16 random bytes from which every draw of the execution is derived. */
  readonly seed: Uint8Array;
}

export const SEED_BYTES = 16;
