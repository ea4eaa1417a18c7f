/**
 * One run of f after the other, with a gap between them in which the event loop turns. An isolate has one thread. Without
 * gaps, runs that are ready together would go back to back, and the answer of the first would leave after the last one.
 *
 * Shared by the requests of an isolate. Each waits by its own turns: no request can wake another one.
 */

/** Turns in which a reply that came meanwhile is read, and the response to it written. */
const GAP_TURNS = 8;
/** After which these turns were, whoever took them. */
const GAP_MS = 1;
/** In which an answer is written. */
const ANSWER_MS = 1;

/** The lane of a request that was cut off in it is never left; the others go on after so many turns. */
const MOST_TURNS = 1_000;

export class SpeculationLane {
  #occupied = false;
  #runs = 0;
  /** The run whose gap is not over; 0: none. */
  #gapAfter = 0;

  /** Resolves when it is this request's turn. */
  async enter(): Promise<void> {
    // Between the look and the taking nobody else may run.
    for (let turn = 0; this.#occupied && turn < MOST_TURNS; turn++) await turns(1);
    this.#occupied = true;
    if (this.#gapAfter !== 0) await turns(GAP_TURNS);
  }

  /**
   * After the run, while its result is already on its way. The next run to enter leaves the gap, unless it is over by then.
   */
  async leave(): Promise<void> {
    this.#occupied = false;
    const run = ++this.#runs;
    this.#gapAfter = run;
    await scheduler.wait(GAP_MS);
    if (this.#gapAfter === run) this.#gapAfter = 0;
  }
}

/**
 * A pause in which an answer leaves before later work begins. A Durable Object may run in this very thread, and its writes
 * to disk would hold the answer up.
 */
export function answerLeaves(): Promise<void> {
  return scheduler.wait(ANSWER_MS);
}

/** Lets the event loop turn. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await scheduler.wait(0);
}
