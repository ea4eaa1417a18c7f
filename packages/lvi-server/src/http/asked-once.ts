/**
 * Requests that are answered once: those of administration, and questions of locations that listen. A captured one that is sent
 * again is refused for as long as its signature counts. LVI requests need none of this: their execution id is their nonce.
 */
import { type AdministrativeHead, RadicalError, REPLAY_WINDOW_MS } from "@radical/protocol";

/** Two windows, as a request may have been signed ahead of time, and a third one since the wall clock may be set. */
const REMEMBERED_MS = 3 * REPLAY_WINDOW_MS;

/** Most that are remembered. Only the holder of a key can sign that many. */
const MOST_REMEMBERED = 100_000;

/** Names of requests, each of which is remembered for as long as its signature can count. */
export class LatelyAsked {
  readonly #most: number;
  /** When each name is forgotten, by the monotonic clock; the first ones first. */
  readonly #forgottenAtMs = new Map<string, number>();

  constructor(most = MOST_REMEMBERED) {
    this.#most = most;
  }

  /** Throws a RadicalError if it was asked before, or if there is no room to remember it. `nowMs`: by the monotonic clock. */
  check(name: string, nowMs: number): void {
    for (const [known, atMs] of this.#forgottenAtMs) {
      if (atMs > nowMs) break;
      this.#forgottenAtMs.delete(known);
    }
    if (this.#forgottenAtMs.has(name))
      throw new RadicalError("unauthorized", "this request was answered before", "sign each request anew");
    if (this.#forgottenAtMs.size >= this.#most)
      throw new RadicalError("primary_busy", "too many such requests came lately", "ask again in some minutes");
    this.#forgottenAtMs.set(name, nowMs + REMEMBERED_MS);
  }
}

export interface AskedOnceOptions {
  /** The name of this server's deployment; null: it was told none, and takes requests to any. */
  readonly deployment: string | null;
  readonly mostRemembered?: number;
}

export class AskedOnce {
  readonly #deployment: string | null;
  readonly #nonces: LatelyAsked;

  constructor({ deployment, mostRemembered }: AskedOnceOptions) {
    this.#deployment = deployment;
    this.#nonces = new LatelyAsked(mostRemembered);
  }

  /**
   * Of a request whose signature is right. `sinceMs`: when whoever answers it began, by the wall clock; nobody knows what was
   * answered before. `nowMs`: by the monotonic clock. Throws a RadicalError unless it is to be answered.
   */
  check(
    { nonce, deployment, timeMs }: Pick<AdministrativeHead, "nonce" | "deployment" | "timeMs">,
    sinceMs: number,
    nowMs: number,
  ): void {
    if (this.#deployment !== null && deployment !== this.#deployment) {
      const named = deployment === "" ? "none" : `"${deployment.slice(0, 100)}"`;
      throw new RadicalError(
        "unauthorized",
        `the request is to the deployment ${named}, and this server is of "${this.#deployment}"`,
        "ask with the key and the name of this deployment",
      );
    }
    if (timeMs < sinceMs)
      throw new RadicalError(
        "primary_busy",
        "the request was signed before this server began to serve, so nobody knows whether it was answered",
        "ask again; if it goes on, set the clocks of both sides",
      );
    this.#nonces.check(nonce, nowMs);
  }
}
