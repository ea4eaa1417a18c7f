import { hash } from "node:crypto";
import { REPLAY_WINDOW_MS } from "@radical/protocol";
import { expect, test } from "vitest";
import { AskedOnce, beginning, checkSignedSince, ListenedOnce } from "./asked-once.ts";

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
  // Each for a time of its own, and up to ten seconds more.
  expect(ask(1, 3 * REPLAY_WINDOW_MS)).not.toThrow();
  for (const atMs of [3 * REPLAY_WINDOW_MS, 3 * REPLAY_WINDOW_MS + 4])
    expect(ask(2, atMs)).toThrow(unauthorized("answered before"));
  expect(ask(2, 3 * REPLAY_WINDOW_MS + 10_000)).not.toThrow();
});

test("nothing is answered that was signed before the memory began", () => {
  const once = asked();
  // Asked anew it may be answered, so a command goes on.
  expect(() => check(once, 1, -1, 0)).toThrow(expect.objectContaining({ code: "primary_busy" }));
  expect(() => check(once, 1, 0, 0)).not.toThrow();
});

test("the beginning is that of the clock as it is now, though the clock was ahead or behind when it began", () => {
  const HOUR = 3_600_000;
  for (const wrongBy of [2 * HOUR, -2 * HOUR, 0]) {
    let [wallMs, nowMs] = [1e12 + wrongBy, 50];
    const began = beginning(
      () => wallMs,
      () => nowMs,
    );
    expect(began()).toBe(1e12 + wrongBy);
    nowMs += 1_000.5;
    wallMs += 1_000;
    expect(Math.abs(began() - (1e12 + wrongBy))).toBeLessThanOrEqual(1);
    // The clock is set right.
    wallMs -= wrongBy;
    expect(() => checkSignedSince(wallMs, began())).not.toThrow();
    expect(() => checkSignedSince(1e12 - 2, began())).toThrow(expect.objectContaining({ code: "primary_busy" }));
  }
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
  keys: readonly string[] = ["a"];
  answered = 0;

  constructor(most?: number) {
    this.#once = new ListenedOnce(() => new Map(this.keys.map((id) => [id, null])), most);
  }

  get size(): number {
    return this.#once.size;
  }

  ask(words: string, atMs: number, { keyId = "a", signedAtMs = atMs, isRefused = false, isUpper = false } = {}) {
    const signature = hash("sha256", words);
    return (): void =>
      this.#once.answer(
        { keyId, timeMs: signedAtMs, signature: isUpper ? signature.toUpperCase() : signature },
        atMs,
        atMs,
        () => {
          if (isRefused) throw new Error("too many listen");
          this.answered++;
        },
      );
  }
}

const busy: unknown = expect.objectContaining({ code: "primary_busy" });

test("a question of a listener is answered once, for as long as its signature counts", () => {
  const listening = new Listening();
  expect(listening.ask("one", 0)).not.toThrow();
  for (const atMs of [0, REPLAY_WINDOW_MS])
    for (const isUpper of [false, true])
      expect(listening.ask("one", atMs, { signedAtMs: 0, isUpper })).toThrow(unauthorized("answered before"));
  // Signed ahead of time, it counts longer.
  expect(listening.ask("two", 0, { signedAtMs: REPLAY_WINDOW_MS })).not.toThrow();
  expect(listening.ask("two", 2 * REPLAY_WINDOW_MS, { signedAtMs: REPLAY_WINDOW_MS })).toThrow(
    unauthorized("answered before"),
  );
  expect(listening.answered).toBe(2);
  listening.ask("three", 4 * REPLAY_WINDOW_MS)();
  expect(listening.size).toBe(1);
});

test("a question of a listener that was refused takes no room, and may be asked again", () => {
  const listening = new Listening(1);
  for (const words of ["one", "two", "three", "one"])
    expect(listening.ask(words, 0, { isRefused: true })).toThrow("too many listen");
  expect(listening.ask("one", 1)).not.toThrow();
  expect(listening.ask("two", 1)).toThrow(busy);
  expect([listening.answered, listening.size]).toEqual([1, 1]);
});

test("the room is that of all keys, each of which has its part", () => {
  const listening = new Listening(4);
  for (const words of ["one", "two", "three", "four"]) listening.ask(words, 0)();
  expect(listening.ask("five", 0)).toThrow(busy);
  // Another key has no room until the first one's questions of before are forgotten, and then half of it.
  listening.keys = ["a", "b"];
  expect(listening.ask("five", 0, { keyId: "b" })).toThrow(busy);
  const laterMs = 3 * REPLAY_WINDOW_MS;
  for (const words of ["five", "six"]) listening.ask(words, laterMs, { keyId: "b" })();
  expect(listening.ask("seven", laterMs, { keyId: "b" })).toThrow(busy);
  // The holder of one fills no room of the others.
  for (const words of ["five", "six"]) listening.ask(words, laterMs)();
  expect(listening.ask("seven", laterMs)).toThrow(busy);
  expect([listening.answered, listening.size]).toEqual([8, 4]);
});

test("the questions under a key that was taken out take no room", () => {
  const listening = new Listening(4);
  listening.keys = ["a", "b"];
  for (const words of ["one", "two"]) for (const keyId of ["a", "b"]) listening.ask(words, 0, { keyId })();
  expect(listening.size).toBe(4);
  listening.keys = ["b"];
  expect(listening.ask("one", 1, { keyId: "b", signedAtMs: 0 })).toThrow(unauthorized("answered before"));
  expect(listening.size).toBe(2);
  for (const words of ["three", "four"]) listening.ask(words, 1, { keyId: "b" })();
  expect(listening.size).toBe(4);
});

test("as many as may listen find room for all of their questions, with either key of a replacement", () => {
  for (const keys of [["a"], ["a", "b"]]) {
    const listening = new Listening();
    listening.keys = keys;
    const [listeners, everyMs] = [2_048, 25_000];
    for (let round = 0; round * everyMs < 4 * REPLAY_WINDOW_MS; round++)
      for (let each = 0; each < listeners; each++) listening.ask(`${round}/${each}`, round * everyMs)();
    expect(listening.answered).toBe(listeners * Math.ceil((4 * REPLAY_WINDOW_MS) / everyMs));
  }
});
