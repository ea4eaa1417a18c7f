/**
 * Requests that a process answers once: those of administration, and questions of locations that listen. It refuses a captured one
 * that is sent again, for as long as the signature counts. LVI requests need none of this: their execution id is their nonce.
 *
 * A server that has started anew has forgotten what the one before has answered. It takes no request of administration that was
 * signed before. It answers such a question of a location once more, since locations go on listening while servers change.
 */
import { type AdministrativeHead, RadicalError, REPLAY_WINDOW_MS } from "@radical/protocol";
import type { Claim } from "./authentication.ts";

/** The wall clock may be set. */
const SLACK_MS = REPLAY_WINDOW_MS;

/** Two windows, as a request may have been signed ahead of time, and the slack. */
const REMEMBERED_MS = 2 * REPLAY_WINDOW_MS + SLACK_MS;

/** Most that are remembered. Only the holder of a key can sign that many. */
const MOST_REMEMBERED = 100_000;

/**
 * Most questions of listeners that are remembered, by key. The most listeners that a server takes ask 50,000 in the time that it
 * remembers them, and 250,000 while their connections break every five seconds.
 */
const MOST_LISTENED = 250_000;

/** Names of requests, each of which is remembered for as long as its signature can count. */
export class LatelyAsked {
  readonly #most: number;
  /** When each name may be forgotten, by the monotonic clock. A name goes when those before it have gone, which is soon. */
  readonly #forgottenAtMs = new Map<string, number>();

  constructor(most = MOST_REMEMBERED) {
    this.#most = most;
  }

  /** Throws a RadicalError if it was asked before, or if there is no room to remember it so long. `nowMs`: by the monotonic clock. */
  check(name: string, nowMs: number, rememberedMs = REMEMBERED_MS): void {
    for (const [known, atMs] of this.#forgottenAtMs) {
      if (atMs > nowMs) break;
      this.#forgottenAtMs.delete(known);
    }
    if (this.#forgottenAtMs.has(name))
      throw new RadicalError("unauthorized", "This request was answered before.", "Sign each request anew.");
    if (this.#forgottenAtMs.size >= this.#most)
      throw new RadicalError("primary_busy", "Too many such requests came lately.", "Ask again in some minutes.");
    this.#forgottenAtMs.set(name, nowMs + rememberedMs);
  }

  forget(name: string): void {
    this.#forgottenAtMs.delete(name);
  }
}

/** Questions of locations that listen, each of which is answered once. */
export class ListenedOnce {
  readonly #most: number;
  /** By key: the holder of one fills no room of the others. */
  readonly #asked = new Map<string, LatelyAsked>();

  constructor(most = MOST_LISTENED) {
    this.#most = most;
  }

  /**
   * Answers a question whose signature is right, if it was not answered before. A question whose answer throws was not answered, and
   * takes no room. `wallMs`: by the clock to which the signature is held. `nowMs`: by the monotonic one. Throws a RadicalError.
   */
  answer<T>(
    { keyId, timeMs, signature }: Pick<Claim, "keyId" | "timeMs" | "signature">,
    wallMs: number,
    nowMs: number,
    answered: () => T,
  ): T {
    let asked = this.#asked.get(keyId);
    if (asked === undefined) this.#asked.set(keyId, (asked = new LatelyAsked(this.#most)));
    // In hexadecimal digits, of either case.
    const name = signature.toLowerCase();
    asked.check(name, nowMs, timeMs - wallMs + REPLAY_WINDOW_MS + SLACK_MS);
    try {
      return answered();
    } catch (error) {
      asked.forget(name);
      throw error;
    }
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
        `The request is to the deployment ${named}, and this server is of "${this.#deployment}".`,
        "Ask with the key and the name of this deployment.",
      );
    }
    if (timeMs < sinceMs)
      throw new RadicalError(
        "primary_busy",
        "The request was signed before this server began to serve, so nobody knows whether it was answered.",
        "Ask again; if it goes on, set the clocks of both sides.",
      );
    this.#nonces.check(nonce, nowMs);
  }
}
