/** Virtual time: what is to happen when, in one deterministic order. */
import { Deadlines } from "@radical/lvi-server";
import type { Random } from "./random.ts";

export class Clock {
  nowMs: number;
  readonly random: Random;
  readonly #due = new Deadlines<() => void>();

  constructor(startMs: number, random: Random) {
    this.nowMs = startMs;
    this.random = random;
  }

  after(ms: number, run: () => void): void {
    this.#due.add(this.nowMs + ms, run);
  }

  /** Runs the next thing; false if there is none until then. */
  step(untilMs: number): boolean {
    const nextMs = this.#due.nextMs;
    const run = this.#due.takeDue(untilMs);
    if (run === undefined || nextMs === null) return false;
    this.nowMs = nextMs;
    run();
    return true;
  }
}
