/**
 * Sends requests to DynamoDB until they are answered: again after failures that pass, with growing, random pauses,
 * until a deadline. What is sent again is the same request, so that it takes effect once: writes are conditional, and
 * transactions carry a token by which DynamoDB knows them.
 *
 * So many are on their way at once, and the others wait in line, which is no part of their time: ten thousand sent together
 * would all be too late, and be sent again, and be too late again. The leadership waits in no line.
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
  /** Most attempts on their way at once. */
  readonly width: number;
}

export const DEFAULT_REQUEST_OPTIONS: RequestOptions = {
  attemptMs: 2_000,
  deadlineMs: 8_000,
  pauseMs: 25,
  maxPauseMs: 1_000,
  width: 64,
};

type Send<T> = (signal: AbortSignal) => Promise<T>;

export class Requests {
  readonly #options: RequestOptions;
  readonly #line: Line;
  /** How many requests, or parts of a batch, were throttled, whether they succeeded later or not. */
  throttles = 0;

  constructor(options: RequestOptions) {
    this.#options = options;
    this.#line = new Line(options.width);
  }

  /** A request that changes nothing. */
  read<T>(send: Send<T>): Promise<T> {
    return this.#send(send, false);
  }

  /** Conditions that failed are thrown as the SDK has them. */
  write<T>(send: Send<T>): Promise<T> {
    return this.#send(send, true);
  }

  /** The same, past all that wait. */
  writeAtOnce<T>(send: Send<T>): Promise<T> {
    return this.#send(send, true, null);
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
    const time = this.#newTime();
    let left = all;
    for (let attempt = 0; ; attempt++) {
      const unprocessed = await this.#send((signal) => send(left, signal), changes, this.#line, time);
      if (unprocessed.length === 0) return;
      this.throttles++;
      // With nothing carried out the next attempt waits longer, as after a failure.
      if (unprocessed.length < left.length) attempt = 0;
      left = unprocessed;
      if (!(await this.#pause(attempt, time)))
        throw new StorageError(
          changes ? "unknown" : "none",
          `${FAILURES.throttled.words}; ${left.length} keys are left.`,
        );
    }
  }

  async #send<T>(
    send: Send<T>,
    changes: boolean,
    line: Line | null = this.#line,
    time: Time = this.#newTime(),
  ): Promise<T> {
    let doubtful = false;
    for (let attempt = 0; ; attempt++) {
      await line?.enter();
      const sentAtMs = performance.now();
      const signal = AbortSignal.timeout(this.#options.attemptMs);
      let failure: unknown;
      try {
        return await send(signal);
      } catch (error) {
        failure = error;
      } finally {
        line?.leave();
        time.leftMs -= performance.now() - sentAtMs;
      }
      // It was answered, and the answer is of no use: it would be the same again.
      if (failure instanceof StorageError) throw failure;
      const kind = signal.aborted ? "timed_out" : failureOf(failure);
      if (kind === null) throw failure;
      if (kind === "throttled") this.throttles++;
      const { effect, retry, words } = FAILURES[kind];
      doubtful ||= changes && effect === "unknown";
      if (retry && (await this.#pause(attempt, time))) continue;
      const cause = failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
      throw new StorageError(doubtful ? "unknown" : "none", `${words} (${cause}).`, failure);
    }
  }

  #newTime(): Time {
    return { leftMs: this.#options.deadlineMs };
  }

  /** Full jitter, so that those who failed together don't come back together. False: there is no time left. */
  async #pause(attempt: number, time: Time): Promise<boolean> {
    const { pauseMs, maxPauseMs } = this.#options;
    const pause = Math.random() * Math.min(maxPauseMs, pauseMs * 2 ** attempt);
    if (pause >= time.leftMs) return false;
    time.leftMs -= pause;
    await sleep(pause);
    return true;
  }
}

/** What a request may still take, without its waits in line. */
interface Time {
  leftMs: number;
}

/** First come first served. */
class Line {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  async enter(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
