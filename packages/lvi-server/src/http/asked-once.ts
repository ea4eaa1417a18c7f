/**
 * Requests that a process answers once: those of administration, and questions of locations that listen. It refuses a captured one
 * that is sent again, for as long as the signature counts. LVI requests need none of this: their execution id is their nonce.
 *
 * A server that has started anew has forgotten what the one before has answered. It takes nothing that was signed before. A location
 * whose clock is behind listens again when its clock has come so far.
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
 * Most questions of listeners that are remembered, of all keys. The most listeners that a server takes ask 51,200 in the time that it
 * remembers them. So there is room for them twice, while the key is replaced.
 */
const MOST_LISTENED = 110_000;

/** Bytes of one: its name, and its place in a set that is half full. */
const LISTENED_BYTES = 72;

/** Most memory that questions of listeners take. */
export const MOST_LISTENED_BYTES = MOST_LISTENED * LISTENED_BYTES;

/** Names that may be forgotten at about the same time are forgotten together. */
const TOGETHER_MS = 10_000;

/** Names of requests, each of which is remembered for as long as its signature can count, and a little longer. */
export class LatelyAsked {
  /** By the time, in parts of {@link TOGETHER_MS} by the monotonic clock, from which on they may be forgotten. */
  readonly #names = new Map<number, Set<string>>();

  get size(): number {
    let size = 0;
    for (const names of this.#names.values()) size += names.size;
    return size;
  }

  /**
   * Throws a RadicalError if it was asked before, or if there is no room to remember it so long. `nowMs`: by the monotonic clock. `most`:
   * that are remembered at once.
   */
  check(name: string, nowMs: number, rememberedMs: number, most: number): void {
    this.forgetUntil(nowMs);
    for (const names of this.#names.values())
      if (names.has(name))
        throw new RadicalError("unauthorized", "This request was answered before.", "Sign each request anew.");
    if (this.size >= most)
      throw new RadicalError("primary_busy", "Too many such requests came lately.", "Ask again in some minutes.");
    const until = Math.ceil((nowMs + rememberedMs) / TOGETHER_MS);
    const together = this.#names.get(until);
    if (together === undefined) this.#names.set(until, new Set([name]));
    else together.add(name);
  }

  forget(name: string): void {
    for (const names of this.#names.values()) names.delete(name);
  }

  /** Those whose signatures don't count any more. */
  forgetUntil(nowMs: number): void {
    for (const until of this.#names.keys()) if (until * TOGETHER_MS <= nowMs) this.#names.delete(until);
  }
}

/**
 * Tells when something began that begins now, by the wall clock as it is when it is asked. The clock may be set meanwhile: one that
 * was ahead at the start would have the server refuse all that is signed by right clocks. `nowMs`: by the monotonic clock.
 */
export function beginning(wallMs: () => number, nowMs = (): number => performance.now()): () => number {
  const beganAtMs = nowMs();
  // Signatures have whole milliseconds.
  return () => Math.floor(wallMs() - (nowMs() - beganAtMs));
}

/** `sinceMs`: when whoever answers began, by the wall clock. Throws a RadicalError for what was signed before. */
export function checkSignedSince(timeMs: number, sinceMs: number): void {
  if (timeMs >= sinceMs) return;
  throw new RadicalError(
    "primary_busy",
    "The request was signed before this server began to serve, so nobody knows whether it was answered.",
    "Ask again; if it goes on, set the clocks of both sides.",
  );
}

/** Questions of locations that listen, each of which is answered once. */
export class ListenedOnce {
  readonly #keys: () => ReadonlyMap<string, unknown>;
  readonly #most: number;
  /** By key: the holder of one fills no room of the others. */
  readonly #asked = new Map<string, LatelyAsked>();

  /** `keys`: those that the server takes as of now. Each has an equal part of the room. */
  constructor(keys: () => ReadonlyMap<string, unknown>, most = MOST_LISTENED) {
    this.#keys = keys;
    this.#most = most;
  }

  /** Questions that are remembered. */
  get size(): number {
    let size = 0;
    for (const asked of this.#asked.values()) size += asked.size;
    return size;
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
    const keys = this.#keys();
    // A key that was taken out signs nothing that is answered.
    for (const [id, asked] of this.#asked) {
      if (keys.has(id)) asked.forgetUntil(nowMs);
      else this.#asked.delete(id);
    }
    let asked = this.#asked.get(keyId);
    if (asked === undefined) this.#asked.set(keyId, (asked = new LatelyAsked()));
    // Of the room of others some may be taken by questions of a time with fewer keys.
    const most = Math.min(Math.floor(this.#most / Math.max(1, keys.size)), this.#most - this.size + asked.size);
    const name = nameOf(signature);
    asked.check(name, nowMs, timeMs - wallMs + REPLAY_WINDOW_MS + SLACK_MS, most);
    try {
      return answered();
    } catch (error) {
      asked.forget(name);
      throw error;
    }
  }
}

/** 128 bits of a signature, as a text of 16 bytes. Signatures are in hexadecimal digits, of either case. */
function nameOf(signature: string): string {
  return Buffer.from(signature.slice(0, 32), "hex").toString("latin1");
}

export interface AskedOnceOptions {
  /** The name of this server's deployment; null: it was told none, and takes requests to any. */
  readonly deployment: string | null;
  readonly mostRemembered?: number;
}

export class AskedOnce {
  readonly #deployment: string | null;
  readonly #most: number;
  readonly #nonces = new LatelyAsked();

  constructor({ deployment, mostRemembered = MOST_REMEMBERED }: AskedOnceOptions) {
    this.#deployment = deployment;
    this.#most = mostRemembered;
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
    checkSignedSince(timeMs, sinceMs);
    this.#nonces.check(nonce, nowMs, REMEMBERED_MS, this.#most);
  }
}
