/**
 * Garbage that V8 has not collected. Bodies and values lie outside of its heap, where it lets hundreds of megabytes of garbage
 * be: with little memory, those are what fills it. So the server collects when much of its memory is in use.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Part of the memory in use from which garbage is collected. */
const CROWDED = 0.6;
/** A collection takes some ten milliseconds, so that it takes a small part of the time. */
const PAUSE_MS = 1_000;

export class Garbage {
  readonly #mostBytes: number;
  readonly #collect: () => void;
  #collectedAtMs = -Infinity;

  /** `mostBytes`: the memory that the process may take. */
  constructor(mostBytes: number, collect: () => void = collector()) {
    this.#mostBytes = mostBytes;
    this.#collect = collect;
  }

  look(memoryBytes: number, nowMs: number): void {
    if (memoryBytes <= this.#mostBytes * CROWDED || nowMs - this.#collectedAtMs < PAUSE_MS) return;
    this.#collectedAtMs = nowMs;
    this.#collect();
  }
}

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  return collect;
}
