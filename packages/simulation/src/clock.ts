/** Virtual time: what is to happen when, in one deterministic order. */
import { Deadlines } from "@radical/lvi-server/core";
import type { Random } from "@radical/history";
import type { Trace } from "./trace.ts";

export class Clock {
  nowMs: number;
  readonly random: Random;
  readonly #trace: Trace;
  readonly #due = new Deadlines<() => void>();

  constructor(startMs: number, random: Random, trace: Trace) {
    this.nowMs = startMs;
    this.random = random;
    this.#trace = trace;
    trace.begin(startMs);
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
    this.#trace.at(nextMs);
    run();
    return true;
  }
}
