/**
 * Garbage that V8 has not collected. Bodies and values lie outside of its heap, where it lets hundreds of megabytes of garbage
 * be: with little memory, those are what fills it. So the server collects when much of its memory is in use. More of it must
 * lie outside of the heap than after the last collection. A server that refuses requests for lack of memory collects all the same.
 * It makes too few objects for V8 to begin by itself, so it would refuse them for good.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Part of the memory in use from which garbage is collected. */
const CROWDED = 0.5;
/** Part of the memory by which it must have grown outside of the heap. */
const GROWN = 0.05;
/** Collections take a twentieth of the time at most, however large the heap is. */
const PAUSES = 20;
/**
 * Part of the memory in use from which they may take more, if so much has grown. A machine that is busy with others makes each one long, and
 * bodies that come meanwhile would fill the rest.
 */
const PRESSING = 0.75;

export interface GarbagePorts {
  readonly now: () => number;
  /** Bytes in use, as the system counts them. */
  readonly resident: () => number;
  /** Bytes outside of the heap. */
  readonly external: () => number;
  readonly collect: () => void;
}

export class Garbage {
  readonly #mostBytes: number;
  readonly #ports: GarbagePorts;
  #notBeforeMs = -Infinity;
  #external = 0;
  #received = 0;

  /** `mostBytes`: the memory that the process may take. */
  constructor(mostBytes: number, ports: GarbagePorts = processPorts()) {
    this.#mostBytes = mostBytes;
    this.#ports = ports;
  }

  /** Bodies can bring more in one turn of the event loop than there is room for. So these bytes of them wait for no look of the timer. */
  received(bytes: number): void {
    this.#received += bytes;
    if (this.#received < this.#mostBytes * GROWN) return;
    this.#received = 0;
    this.look(this.#ports.resident(), false);
  }

  /** `isFull`: requests are refused for lack of memory. */
  look(memoryBytes: number, isFull: boolean): void {
    const { now, external, collect } = this.#ports;
    if (memoryBytes <= this.#mostBytes * CROWDED) return;
    const [beganAtMs, before] = [now(), external()];
    // Another thread frees buffers some time after a collection, and V8 collects by itself too.
    this.#external = Math.min(this.#external, before);
    const hasGrown = before - this.#external >= this.#mostBytes * GROWN;
    const isPressing = hasGrown && memoryBytes > this.#mostBytes * PRESSING;
    if (beganAtMs < this.#notBeforeMs && !isPressing) return;
    if (!hasGrown && !isFull) return;
    collect();
    this.#external = external();
    const endedAtMs = now();
    this.#notBeforeMs = endedAtMs + (endedAtMs - beganAtMs) * PAUSES;
  }
}

function processPorts(): GarbagePorts {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
  setFlagsFromString("--no-expose-gc");
  const collect = (): void => {
    gc();
    // Another thread frees the buffers, when it comes to it. The next collection, a short one, waits for that.
    gc({ type: "minor" });
  };
  return {
    now: () => performance.now(),
    resident: () => process.memoryUsage.rss(),
    external: () => process.memoryUsage().external,
    collect,
  };
}
