/**
 * One run of f after the other, with a gap between them in which the event loop turns. An isolate has one thread: runs
 * that are ready together would go back to back, and the answer of the first would leave after the last one.
 *
 * Shared by the requests of an isolate. Each waits by its own turns: no request can wake another one.
 */

/** Turns in which a reply that came meanwhile is read, and the response to it written. */
const GAP_TURNS = 8;

/** The lane of a request that was cut off in its gap is never left; the others go on after so many turns. */
const MOST_TURNS = 1_000;

export class SpeculationLane {
  #occupied = false;

  /** Resolves when it is this request's turn. */
  async enter(): Promise<void> {
    // Between the look and the taking nobody else may run.
    for (let turn = 0; this.#occupied && turn < MOST_TURNS; turn++) await turns(1);
    this.#occupied = true;
  }

  /** After the run, while its result is already on its way: leaves the gap, then the lane. */
  async leave(): Promise<void> {
    // Also if nobody waits: the next one may be ready at the very next turn.
    await turns(GAP_TURNS);
    this.#occupied = false;
  }
}

/**
 * Turns in which an answer leaves before what comes after it begins: a Durable Object may run in this very thread, and its
 * writes to disk would hold the answer up.
 */
export const TURNS_AFTER_ANSWER = 12;

/** Lets the event loop turn; a turn takes about 10 µs. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await scheduler.wait(0);
}
