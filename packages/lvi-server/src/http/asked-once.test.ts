import { REPLAY_WINDOW_MS } from "@radical/protocol";
import { expect, test } from "vitest";
import { AskedOnce } from "./asked-once.ts";

const SINCE_MS = 1_000_000;
const nonce = (number: number): string => number.toString(16).padStart(32, "0");
const asked = (options: { readonly deployment?: string; readonly mostRemembered?: number } = {}): AskedOnce =>
  new AskedOnce({ deployment: null, sinceMs: SINCE_MS, ...options });
const unauthorized = (words: string): unknown =>
  expect.objectContaining({ code: "unauthorized", message: expect.stringContaining(words) as unknown });

test("a question is answered once, for as long as its signature can count", () => {
  const once = asked();
  const ask = (number: number, atMs: number) => () => once.check({ nonce: nonce(number) }, SINCE_MS + atMs, atMs);
  expect(ask(1, 0)).not.toThrow();
  expect(ask(2, 5)).not.toThrow();
  for (const atMs of [0, 5, 2 * REPLAY_WINDOW_MS, 3 * REPLAY_WINDOW_MS - 1])
    expect(ask(1, atMs)).toThrow(unauthorized("asked before"));
  // Each for a time of its own.
  expect(ask(1, 3 * REPLAY_WINDOW_MS)).not.toThrow();
  expect(ask(2, 3 * REPLAY_WINDOW_MS)).toThrow(unauthorized("asked before"));
  expect(ask(2, 3 * REPLAY_WINDOW_MS + 5)).not.toThrow();
});

test("nothing is answered that was signed before the memory began", () => {
  const once = asked();
  // Asked anew it may be answered, so a command goes on.
  expect(() => once.check({ nonce: nonce(1) }, SINCE_MS - 1, 0)).toThrow(
    expect.objectContaining({ code: "primary_busy" }),
  );
  expect(() => once.check({ nonce: nonce(1) }, SINCE_MS, 0)).not.toThrow();
});

test("a question to another deployment, or to none, is refused by a server that knows its own", () => {
  const once = asked({ deployment: "shop-production" });
  const to = (deployment?: unknown) => () => once.check({ nonce: nonce(1), deployment }, SINCE_MS, 0);
  expect(to("shop-staging")).toThrow(unauthorized('to the deployment "shop-staging"'));
  for (const none of [undefined, null, 7]) expect(to(none)).toThrow(unauthorized("to the deployment none"));
  // None of them was remembered.
  expect(to("shop-production")).not.toThrow();
  expect(() => asked().check({ nonce: nonce(1), deployment: "any" }, SINCE_MS, 0)).not.toThrow();
});

test.each([undefined, null, 7, "", "a".repeat(31), "A".repeat(32), "g".repeat(32), "a".repeat(33)])(
  "%j is not a nonce",
  (wrong) => {
    expect(() => asked().check({ nonce: wrong }, SINCE_MS, 0)).toThrow("the question has no nonce");
  },
);

test("when the memory is full nothing is answered until it has room", () => {
  const once = asked({ mostRemembered: 2 });
  const ask = (number: number, atMs: number) => () => once.check({ nonce: nonce(number) }, SINCE_MS + atMs, atMs);
  expect(ask(1, 0)).not.toThrow();
  expect(ask(2, 1)).not.toThrow();
  expect(ask(3, 2)).toThrow(expect.objectContaining({ code: "primary_busy" }));
  expect(ask(1, 2)).toThrow(unauthorized("asked before"));
  expect(ask(3, 3 * REPLAY_WINDOW_MS)).not.toThrow();
});
