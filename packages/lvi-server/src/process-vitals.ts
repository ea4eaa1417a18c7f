/** How the process itself does: its memory, beside the memory that it may take, and how late its event loop is. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often the loop is looked at. */
const LOOK_MS = 10;
const NS_PER_MS = 1e6;
/** Of the delays, so that one long turn in a minute is none. */
const PERCENTILE = 99;

export class ProcessVitals {
  /** The memory that it may take. */
  readonly memoryBoundBytes: number;
  readonly #delay = monitorEventLoopDelay({ resolution: LOOK_MS });

  constructor(memoryBoundBytes: number) {
    this.memoryBoundBytes = memoryBoundBytes;
    this.#delay.enable();
  }

  /** Resident. */
  get memoryBytes(): number {
    return process.memoryUsage.rss();
  }

  /** The 99th percentile since this was last called. */
  takeLoopDelayMs(): number {
    const tookMs = this.#delay.percentile(PERCENTILE) / NS_PER_MS;
    this.#delay.reset();
    // Each look is due a while after the one before.
    return Math.max(0, tookMs - LOOK_MS);
  }

  stop(): void {
    this.#delay.disable();
  }
}
