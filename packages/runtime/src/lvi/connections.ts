/** The connections to a server, as far as a Worker can know of them: `fetch` tells nothing before the response. */

/** The connection that a request goes over. */
export type Connection = "open" | "new";

/** workerd closes a connection that was idle for five seconds. */
const IDLE_MS = 4_000;

export class Connections {
  /** Of each that should be open and idle: since when. */
  readonly #idleSinceMs: number[] = [];

  /** How many should be open and idle. */
  get idle(): number {
    return this.#idleSinceMs.length;
  }

  /** The platform takes the one that was used last. */
  take(nowMs: number): Connection {
    const sinceMs = this.#idleSinceMs.pop();
    if (sinceMs !== undefined && nowMs - sinceMs < IDLE_MS) return "open";
    this.#idleSinceMs.length = 0;
    return "new";
  }

  /** The connection that was taken is given back, whole or not: one that broke has rarely broken alone. */
  leave(nowMs: number, isWhole: boolean): void {
    if (isWhole) this.#idleSinceMs.push(nowMs);
    else this.#idleSinceMs.length = 0;
  }
}
