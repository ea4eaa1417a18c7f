/**
 * Sends requests to DynamoDB until they are answered: again after failures that pass, with growing, random pauses,
 * until a deadline. What is sent again is the same request, so that it takes effect once: writes are conditional, and
 * transactions carry a token by which DynamoDB knows them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "../storage.ts";
import { failureOf, FAILURES } from "./failures.ts";

export interface RequestOptions {
  /** Longest wait for one answer. */
  readonly attemptMs: number;
  /** After which no further attempt begins. */
  readonly deadlineMs: number;
  /** Longest pause after the first failure; it doubles with each. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

export const DEFAULT_REQUEST_OPTIONS: RequestOptions = {
  attemptMs: 2_000,
  deadlineMs: 8_000,
  pauseMs: 25,
  maxPauseMs: 1_000,
};

type Send<T> = (signal: AbortSignal) => Promise<T>;

export class Requests {
  readonly #options: RequestOptions;

  constructor(options: RequestOptions) {
    this.#options = options;
  }

  /** A request that changes nothing. */
  read<T>(send: Send<T>): Promise<T> {
    return this.#send(send, false);
  }

  /** Conditions that failed are thrown as the SDK has them. */
  write<T>(send: Send<T>): Promise<T> {
    return this.#send(send, true);
  }

  /**
   * A batch of which DynamoDB may carry out a part: sent again with what is left, until nothing is. `send` answers with
   * what was not carried out; empty is the end.
   */
  async batch<T>(
    all: readonly T[],
    changes: boolean,
    send: (left: readonly T[], signal: AbortSignal) => Promise<readonly T[]>,
  ): Promise<void> {
    const endsAtMs = this.#endsAtMs();
    let left = all;
    for (let attempt = 0; ; attempt++) {
      const unprocessed = await this.#send((signal) => send(left, signal), changes, endsAtMs);
      if (unprocessed.length === 0) return;
      // With nothing carried out the next attempt waits longer, as after a failure.
      if (unprocessed.length < left.length) attempt = 0;
      left = unprocessed;
      if (!(await this.#pause(attempt, endsAtMs)))
        throw new StorageError(
          changes ? "unknown" : "none",
          `${FAILURES.throttled.words}; ${left.length} keys are left`,
        );
    }
  }

  async #send<T>(send: Send<T>, changes: boolean, endsAtMs = this.#endsAtMs()): Promise<T> {
    let doubtful = false;
    for (let attempt = 0; ; attempt++) {
      const signal = AbortSignal.timeout(this.#options.attemptMs);
      try {
        return await send(signal);
      } catch (error) {
        // It was answered, and the answer is of no use: it would be the same again.
        if (error instanceof StorageError) throw error;
        const kind = signal.aborted ? "timed_out" : failureOf(error);
        if (kind === null) throw error;
        const { effect, retry, words } = FAILURES[kind];
        doubtful ||= changes && effect === "unknown";
        if (retry && (await this.#pause(attempt, endsAtMs))) continue;
        const cause = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        throw new StorageError(doubtful ? "unknown" : "none", `${words} (${cause})`, error);
      }
    }
  }

  #endsAtMs(): number {
    return performance.now() + this.#options.deadlineMs;
  }

  /** Full jitter, so that those who failed together don't come back together. False: there is no time left. */
  async #pause(attempt: number, endsAtMs: number): Promise<boolean> {
    const { pauseMs, maxPauseMs } = this.#options;
    const pause = Math.random() * Math.min(maxPauseMs, pauseMs * 2 ** attempt);
    if (performance.now() + pause >= endsAtMs) return false;
    await sleep(pause);
    return true;
  }
}
