/**
 * Time that can be moved, for tests of an application: its tasks, schedules and workflows wait for days, and a test does not. The time of
 * tasks is the machine's, and some way *ahead* of it. It moves from one due time to the next, and waits at each until all has ended
 * that was due. So what happens is in the order in which it would happen in time.
 *
 * Leadership, read leases and waits of requests keep to the machine's time: nothing that others rely on ends early.
 */
import type { Driver } from "./driver.ts";

export interface VirtualTimeOptions {
  readonly core: {
    readonly areTasksSettled: boolean;
    readonly nextDueMs: number;
  };
  readonly driver: Pick<Driver, "onStep" | "wake" | "ended">;
  /** The monotonic time of this machine. */
  readonly machineMs: () => number;
  readonly ahead: Ahead;
}

/** By how much the time of tasks is ahead of this machine's. */
export interface Ahead {
  ms: number;
}

/** After so long the way that is left is told, and another request moves time on. */
const MOVES_FOR_MS = 5_000;

/** Times so near are the same. */
const SAME_MS = 1;

export class VirtualTime {
  readonly #options: VirtualTimeOptions;
  /** One move at a time: each waits until nothing is due. */
  #moving: Promise<unknown> = Promise.resolve();

  constructor(options: VirtualTimeOptions) {
    this.#options = options;
  }

  /**
   * Moves time until it is so far ahead, or for some seconds. Resolves with how far it is, once all has ended that is due by then. Never
   * moves it back. Throws if the server ends.
   */
  moveTo(aheadMs: number): Promise<number> {
    const moved = this.#moving.then(() => this.#moveTo(aheadMs));
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  async #moveTo(aheadMs: number): Promise<number> {
    const { core, driver, machineMs, ahead } = this.#options;
    const untilMs = machineMs() + MOVES_FOR_MS;
    for (;;) {
      await this.#settled();
      if (machineMs() >= untilMs) return ahead.ms;
      const dueInMs = core.nextDueMs - machineMs() - ahead.ms;
      // A wall clock of whole milliseconds and a finer one name the same moment. Soon it has come by both.
      if (ahead.ms >= aheadMs && dueInMs > SAME_MS) return ahead.ms;
      // It may be due since the last step: no clock has told of it yet.
      ahead.ms = Math.max(ahead.ms, Math.min(aheadMs, ahead.ms + Math.max(SAME_MS, Math.ceil(dueInMs))));
      driver.wake();
    }
  }

  /** Never in the same turn: others have theirs, however often nothing is due. */
  #settled(): Promise<void> {
    const { core, driver } = this.#options;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (driver.ended === null && !core.areTasksSettled) return;
        stop();
        if (driver.ended === null) resolve();
        else reject(driver.ended.later);
      };
      const stop = driver.onStep(look);
      setImmediate(look);
    });
  }
}
