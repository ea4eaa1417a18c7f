/**
 * Questions of operators' commands, each of which is answered once. A captured one that is sent again is refused for as long as its
 * signature counts. LVI requests need none of this: their execution id is their nonce.
 */
import { isNonce, MalformedError, RadicalError, REPLAY_WINDOW_MS } from "@radical/protocol";

/** Two windows, as a question may have been signed ahead of time, and a third one since the wall clock may be set. */
const REMEMBERED_MS = 3 * REPLAY_WINDOW_MS;

/** Most that are remembered. Only the holder of a key can sign that many. */
const MOST_REMEMBERED = 100_000;

export interface AskedOnceOptions {
  /** The name of this server's deployment; null: it was told none, and takes questions to any. */
  readonly deployment: string | null;
  /** When the memory begins, by the wall clock: nobody knows what was answered before. */
  readonly sinceMs: number;
  readonly mostRemembered?: number;
}

export class AskedOnce {
  readonly #deployment: string | null;
  readonly #sinceMs: number;
  readonly #mostRemembered: number;
  /** When each nonce is forgotten, by the monotonic clock; the first ones first. */
  readonly #forgottenAtMs = new Map<string, number>();

  constructor({ deployment, sinceMs, mostRemembered = MOST_REMEMBERED }: AskedOnceOptions) {
    this.#deployment = deployment;
    this.#sinceMs = sinceMs;
    this.#mostRemembered = mostRemembered;
  }

  /** Of a question whose signature is right. Throws a RadicalError or a MalformedError unless it is to be answered. */
  check({ nonce, deployment = null }: Readonly<Record<string, unknown>>, signedAtMs: number, nowMs: number): void {
    if (typeof nonce !== "string" || !isNonce(nonce)) throw new MalformedError("the question has no nonce");
    if (this.#deployment !== null && deployment !== this.#deployment) {
      const named = typeof deployment === "string" ? `"${deployment.slice(0, 100)}"` : "none";
      throw new RadicalError(
        "unauthorized",
        `the question is to the deployment ${named}, and this server is of "${this.#deployment}"`,
        "ask with the key and the name of this deployment",
      );
    }
    if (signedAtMs < this.#sinceMs)
      throw new RadicalError(
        "primary_busy",
        "the question was signed before this server started, so nobody knows whether it was answered",
        "ask again; if it goes on, set the clocks of both sides",
      );
    for (const [known, atMs] of this.#forgottenAtMs) {
      if (atMs > nowMs) break;
      this.#forgottenAtMs.delete(known);
    }
    if (this.#forgottenAtMs.has(nonce))
      throw new RadicalError("unauthorized", "this question was asked before", "sign each question anew");
    if (this.#forgottenAtMs.size >= this.#mostRemembered)
      throw new RadicalError("primary_busy", "too many questions were asked lately", "ask again in some minutes");
    this.#forgottenAtMs.set(nonce, nowMs + REMEMBERED_MS);
  }
}
