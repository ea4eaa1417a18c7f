/**
 * For benchmarks: runs of f that take at least a given time, at whatever place runs them. Read/write-set functions take
 * what they take.
 */

/** Told of the beginning of a run of f; what it gives back is called when the run has come to its end. */
export type Pace = (handler: string) => () => void;

/**
 * Keeps the processor busy until the time of the handler is over, by the clock. Other programs on the same processor
 * would make counted work longer.
 */
export function atLeast(leastMs: (handler: string) => number, now: () => number): Pace {
  return (handler) => {
    const untilMs = now() + leastMs(handler);
    return () => {
      while (now() < untilMs);
    };
  };
}
