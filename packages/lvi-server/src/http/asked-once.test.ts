import { REPLAY_WINDOW_MS } from "@radical/protocol";
import { expect, test } from "vitest";
import { AskedOnce, ListenedOnce } from "./asked-once.ts";

const SINCE_MS = 1_000_000;
const nonce = (number: number): string => number.toString(16).padStart(32, "0");
const asked = (options: { readonly deployment?: string; readonly mostRemembered?: number } = {}): AskedOnce =>
  new AskedOnce({ deployment: null, ...options });
/** A request that was signed so long after the memory began. */
const check = (once: AskedOnce, number: number, afterMs: number, nowMs: number, deployment = ""): void =>
  once.check({ nonce: nonce(number), deployment, timeMs: SINCE_MS + afterMs }, SINCE_MS, nowMs);
const unauthorized = (words: string): unknown =>
  expect.objectContaining({ code: "unauthorized", message: expect.stringContaining(words) as unknown });

test("a request is answered once, for as long as its signature can count", () => {
  const once = asked();
  const ask = (number: number, atMs: number) => () => check(once, number, atMs, atMs);
  expect(ask(1, 0)).not.toThrow();
  expect(ask(2, 5)).not.toThrow();
  for (const atMs of [0, 5, 2 * REPLAY_WINDOW_MS, 3 * REPLAY_WINDOW_MS - 1])
    expect(ask(1, atMs)).toThrow(unauthorized("answered before"));
  // Each for a time of its own.
  expect(ask(1, 3 * REPLAY_WINDOW_MS)).not.toThrow();
  expect(ask(2, 3 * REPLAY_WINDOW_MS)).toThrow(unauthorized("answered before"));
  expect(ask(2, 3 * REPLAY_WINDOW_MS + 5)).not.toThrow();
});

test("nothing is answered that was signed before the memory began", () => {
  const once = asked();
  // Asked anew it may be answered, so a command goes on.
  expect(() => check(once, 1, -1, 0)).toThrow(expect.objectContaining({ code: "primary_busy" }));
  expect(() => check(once, 1, 0, 0)).not.toThrow();
});

test("a request to another deployment, or to none, is refused by a server that knows its own", () => {
  const once = asked({ deployment: "shop-production" });
  const to = (deployment: string) => () => check(once, 1, 0, 0, deployment);
  expect(to("shop-staging")).toThrow(unauthorized('to the deployment "shop-staging"'));
  expect(to("")).toThrow(unauthorized("to the deployment none"));
  // None of them was remembered.
  expect(to("shop-production")).not.toThrow();
  expect(() => check(asked(), 1, 0, 0, "any")).not.toThrow();
});

test("when the memory is full nothing is answered until it has room", () => {
  const once = asked({ mostRemembered: 2 });
  const ask = (number: number, atMs: number) => () => check(once, number, atMs, atMs);
  expect(ask(1, 0)).not.toThrow();
  expect(ask(2, 1)).not.toThrow();
  expect(ask(3, 2)).toThrow(expect.objectContaining({ code: "primary_busy" }));
  expect(ask(1, 2)).toThrow(unauthorized("answered before"));
  expect(ask(3, 3 * REPLAY_WINDOW_MS)).not.toThrow();
});

/** Questions of listeners, signed at a time of the wall clock that shows the same as the monotonic one. */
class Listening {
  readonly #once: ListenedOnce;
  answered = 0;

  constructor(most?: number) {
    this.#once = new ListenedOnce(most);
  }

  ask(signature: string, atMs: number, { keyId = "a", signedAtMs = atMs, isRefused = false } = {}): () => void {
    return () =>
      this.#once.answer({ keyId, timeMs: signedAtMs, signature }, atMs, atMs, () => {
        if (isRefused) throw new Error("too many listen");
        this.answered++;
      });
  }
}

test("a question of a listener is answered once, for as long as its signature counts", () => {
  const listening = new Listening();
  expect(listening.ask("aa", 0)).not.toThrow();
  for (const atMs of [0, REPLAY_WINDOW_MS]) {
    expect(listening.ask("aa", atMs, { signedAtMs: 0 })).toThrow(unauthorized("answered before"));
    expect(listening.ask("AA", atMs, { signedAtMs: 0 })).toThrow(unauthorized("answered before"));
  }
  // Signed ahead of time, it counts longer.
  expect(listening.ask("bb", 0, { signedAtMs: REPLAY_WINDOW_MS })).not.toThrow();
  expect(listening.ask("bb", 2 * REPLAY_WINDOW_MS, { signedAtMs: REPLAY_WINDOW_MS })).toThrow(
    unauthorized("answered before"),
  );
  expect(listening.answered).toBe(2);
});

test("a question of a listener that was refused takes no room, and may be asked again", () => {
  const listening = new Listening(1);
  for (const signature of ["aa", "bb", "cc", "aa"])
    expect(listening.ask(signature, 0, { isRefused: true })).toThrow("too many listen");
  expect(listening.ask("aa", 1)).not.toThrow();
  expect(listening.ask("bb", 1)).toThrow(expect.objectContaining({ code: "primary_busy" }));
  // Each key has room of its own, and one that was signed a window ago takes it for less time.
  expect(listening.ask("bb", 1, { keyId: "b", signedAtMs: 1 - REPLAY_WINDOW_MS })).not.toThrow();
  expect(listening.ask("cc", 1 + REPLAY_WINDOW_MS, { keyId: "b" })).not.toThrow();
  expect(listening.answered).toBe(3);
});

test("as many as may listen find room for all of their questions", () => {
  const listening = new Listening();
  const [listeners, everyMs] = [2_048, 25_000];
  for (let round = 0; round * everyMs < 4 * REPLAY_WINDOW_MS; round++)
    for (let each = 0; each < listeners; each++) listening.ask(`${round}/${each}`, round * everyMs)();
  expect(listening.answered).toBe(listeners * Math.ceil((4 * REPLAY_WINDOW_MS) / everyMs));
});
