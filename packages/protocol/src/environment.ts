/**
 * The recorded environment: what a handler may learn besides its arguments and the items it reads.
 *
 * Departure from the paper (section 4), which forbids time and randomness: real handlers need time stamps, identifiers and
 * their caller. The location fixes all of it once per execution. It travels in the LVI request and stays in the intent, so
 * that re-execution sees the same.
 */
import { isKey } from "./ids.ts";

export interface Environment {
  /** Milliseconds since the epoch by the location's clock. */
  readonly timeMs: number;
  /** 16 random bytes from which every draw of the execution is derived. */
  readonly seed: Uint8Array;
  /**
   * The caller: the id of the principal on whose behalf the handler runs. The location's own code finds it; a client never
   * states it. Null: nobody is known.
   */
  readonly caller: string | null;
}

export const SEED_BYTES = 16;

/** Whether text can be a caller: what can be a key, so that a handler may use it as one. */
export function isCaller(text: string): boolean {
  return isKey(text);
}
