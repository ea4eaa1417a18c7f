/** The words of a location about itself, to anybody and to holders of the deployment's key. */
import { createHmac } from "node:crypto";
import {
  encodeLviReply,
  HEALTH_PATH,
  KEY_HEADER,
  type LviReply,
  type Manifest,
  NO_COMMIT,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type * as Health from "./health.ts";

const SECRET = Buffer.alloc(32, 5);
const MODULE = "ab".repeat(32);
const MANIFEST = { application: "shop", module: MODULE } as never as Manifest;
const NOW_MS = 1_800_000_000_000;

let health: typeof Health;
let asked = 0;
/** The answer of the primary to a call of a handler that nobody has. */
let code: (LviReply & { kind: "refused" })["code"] = "unknown_handler";
/** Until it resolves no answer comes. */
let held: Promise<void> = Promise.resolve();
let onAsked: () => void = () => undefined;

/** Resolves when the primary is asked the next time. */
function nextAsked(): Promise<void> {
  return new Promise((resolve) => (onAsked = resolve));
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  // An isolate of its own.
  vi.resetModules();
  health = await import("./health.ts");
  [asked, code, held] = [0, "unknown_handler", Promise.resolve()];
});
afterEach(() => {
  vi.useRealTimers();
});

const ENV = {
  RADICAL_KEY_ID: "main",
  RADICAL_KEY: SECRET.toString("hex"),
  RADICAL_LOCATION: "VA",
  RADICAL_PRIMARY_A: {
    fetch: async (): Promise<Response> => {
      asked++;
      onAsked();
      const reply: LviReply = { kind: "refused", code, message: "no such thing", retryAfterMs: null, asOf: NO_COMMIT };
      await held;
      return new Response(Buffer.from(encodeLviReply(reply)));
    },
  },
};

function signed(secret: Uint8Array, timeMs = Date.now()): Record<string, string> {
  const mac = createHmac("sha256", secret).update(signedBytes("GET", HEALTH_PATH, timeMs, new Uint8Array()));
  return { [KEY_HEADER]: "main", [TIME_HEADER]: String(timeMs), [SIGNATURE_HEADER]: mac.digest("hex") };
}

async function ask(headers: Record<string, string> = {}): Promise<readonly [number, unknown]> {
  const answer = (await health.healthOf(
    new Request(`https://shop.example${HEALTH_PATH}`, { headers }),
    ENV,
    MANIFEST,
  ))!;
  expect(answer.headers.get("cache-control")).toBe("no-store");
  return [answer.status, await answer.json()];
}

test("anybody is told that it serves, and it asks the primary once in five seconds for all of them", async () => {
  for (const afterMs of [0, 1, 4_998]) {
    vi.advanceTimersByTime(afterMs);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await ask()).toEqual([200, { status: "ok" }]);
  }
  expect(asked).toBe(1);
  vi.advanceTimersByTime(1);
  await ask();
  expect(asked).toBe(2);
});

test("anybody is told that it does not serve, without the words of the primary", async () => {
  code = "unknown_module";
  const [status, body] = await ask();
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body).toMatchObject({ error: { code: "unknown_module", message: "This location does not serve now." } });
  expect(JSON.stringify(body)).not.toContain("no such thing");
  // It is remembered as the other answer is.
  const asksOfOne = asked;
  expect(await ask()).toEqual([status, body]);
  expect(asked).toBe(asksOfOne);
});

/** Asks, and the answer of the primary does not come before it is told to. */
function holding() {
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  held = promise;
  const isAsked = nextAsked();
  return { isAsked, answer, told: ask() };
}

const NOT_KNOWN = [
  503,
  { error: { code: "primary_unreachable", message: "This location is finding out whether it serves." } },
];

test("while a round trip is under way, nobody makes another one: 503 at first, then the last answer", async () => {
  const first = holding();
  await first.isAsked;
  for (const afterMs of [0, 9_999]) {
    vi.advanceTimersByTime(afterMs);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await ask()).toMatchObject(NOT_KNOWN);
  }
  expect(asked).toBe(1);
  first.answer();
  expect(await first.told).toEqual([200, { status: "ok" }]);

  code = "unknown_module";
  vi.advanceTimersByTime(5_000);
  const second = holding();
  await second.isAsked;
  expect(await ask()).toEqual([200, { status: "ok" }]);
  expect(asked).toBe(2);
  second.answer();
  const failed = await second.told;
  expect(failed).toMatchObject([503, { error: { code: "unknown_module" } }]);
  expect(await ask()).toEqual(failed);
});

test("a round trip that never ends holds up nobody for longer than ten seconds", async () => {
  const lost = holding();
  await lost.isAsked;
  expect(await ask()).toMatchObject(NOT_KNOWN);
  vi.advanceTimersByTime(10_000);
  held = Promise.resolve();
  expect(await ask()).toEqual([200, { status: "ok" }]);
  expect(asked).toBe(2);
  lost.answer();
  await lost.told;
});

/** Asks as somebody who is gone once the primary is asked: its request is cancelled, and never tells its end. */
function askAndGiveUp(): Promise<"gave up" | readonly [number, unknown]> {
  held = new Promise(() => undefined);
  return Promise.race([nextAsked().then(() => "gave up" as const), ask()]);
}

test("the last answer counts for fifteen seconds", async () => {
  await ask();
  vi.setSystemTime(NOW_MS + 5_001);
  expect(await askAndGiveUp()).toBe("gave up");
  vi.setSystemTime(NOW_MS + 14_999);
  expect(await ask()).toEqual([200, { status: "ok" }]);
  vi.setSystemTime(NOW_MS + 15_000);
  expect(await ask()).toMatchObject(NOT_KNOWN);
  expect(asked).toBe(2);
});

test("a monitor that gives up before each round trip ends is not told 200 through an outage", async () => {
  await ask();
  const told = [];
  for (let atMs = 6_000; atMs <= 3_600_000; atMs += 6_000) {
    vi.setSystemTime(NOW_MS + atMs);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    told.push(await askAndGiveUp());
  }
  // Every other time a round trip that nobody waits for is under way.
  const pairs = Array.from({ length: 300 }, () => ["gave up", NOT_KNOWN]);
  expect(told).toMatchObject(["gave up", [200, { status: "ok" }], ...pairs.slice(1).flat()]);
});

test("a request with the deployment's key asks anew, and is told the rest", async () => {
  await ask();
  for (let times = 2; times <= 3; times++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await ask(signed(SECRET))).toMatchObject([200, { status: "ok", module: MODULE, location: "VA" }]);
    expect(asked).toBe(times);
  }
  code = "unknown_module";
  expect(await ask(signed(SECRET))).toMatchObject([503, { error: { message: "no such thing" } }]);
});

test.each([
  ["with another key", () => signed(Buffer.alloc(32, 6))],
  ["too long ago", () => signed(SECRET, NOW_MS - 300_001)],
  ["under another id", () => ({ ...signed(SECRET), [KEY_HEADER]: "other" })],
  ["half", () => ({ ...signed(SECRET), [SIGNATURE_HEADER]: "5e" })],
])("signed %s: refused, and the primary is not asked", async (_, headers) => {
  expect(await ask(headers())).toMatchObject([401, { error: { code: "unauthorized" } }]);
  expect(asked).toBe(0);
});
