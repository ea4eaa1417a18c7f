/** Leases of several servers on one storage, in the time of the test. */
import { beforeEach, expect, test } from "vitest";
import { type MonotonicClock, ServerLease } from "./lease.ts";
import { createLog } from "./log.ts";
import type { Lease, Storage } from "./storage/storage.ts";

const TERM_MS = 1_000;
const log = createLog("silent", () => {});

class TestClock implements MonotonicClock {
  #nowMs = 0;
  #calls: { readonly atMs: number; readonly call: () => void }[] = [];
  /** How fast it runs. */
  rate = 1;

  now(): number {
    return this.#nowMs * this.rate;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { atMs: this.#nowMs + ms / this.rate, call };
    this.#calls.push(entry);
    return () => (this.#calls = this.#calls.filter((other) => other !== entry));
  }

  /** Lets so much time of the test pass; what it calls is done by the end. */
  async advance(ms: number, frozen = false): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const due = this.#calls.filter(({ atMs }) => !frozen && atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#calls = this.#calls.filter((other) => other !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.call();
      await settled();
    }
    this.#nowMs = endMs;
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let stored: Lease;
/** What is done to a renewal before storage gets it. */
let hinder: () => Promise<void>;
const storage = {
  isExclusive: false,
  readLease: () => Promise.resolve(stored),
  acquireLease: (seen: Lease, termMs: number) => {
    if (seen.epoch !== stored.epoch || seen.beat !== stored.beat) return Promise.resolve(null);
    return Promise.resolve((stored = { epoch: stored.epoch + 1, beat: 0, termMs }));
  },
  renewLease: async (epoch: number, termMs: number) => {
    await hinder();
    if (epoch !== stored.epoch) return false;
    stored = { epoch, beat: stored.beat + 1, termMs };
    return true;
  },
} as Storage;

beforeEach(() => {
  stored = { epoch: 0, beat: 0, termMs: 0 };
  hinder = () => Promise.resolve();
});

interface Server {
  readonly clock: TestClock;
  lease: ServerLease | null;
}

function start(rate = 1): Server {
  const server: Server = { clock: new TestClock(), lease: null };
  server.clock.rate = rate;
  const options = { storage, termMs: TERM_MS, log, clock: server.clock };
  void ServerLease.acquire(options).then((lease) => (server.lease = lease));
  return server;
}

test("the first server gets it at once, and holds it as long as it renews it", async () => {
  const first = start();
  await first.clock.advance(0);
  expect(first.lease).toMatchObject({ epoch: 1, isHeld: true });
  await first.clock.advance(20 * TERM_MS);
  expect(first.lease!.isHeld).toBe(true);
});

test("a second one waits as long as the first lives", async () => {
  const [first, second] = [start(), start()];
  await first.clock.advance(0);
  for (let i = 0; i < 100; i++) {
    await first.clock.advance(TERM_MS / 10);
    await second.clock.advance(TERM_MS / 10);
  }
  expect([first.lease!.isHeld, second.lease]).toEqual([true, null]);
});

test("a second one takes over a term after the first died, not before its lease is over", async () => {
  const first = start();
  await first.clock.advance(0);
  const second = start();
  // The first is stopped, and counts time without doing anything.
  let waitedMs = 0;
  while (second.lease === null && waitedMs < 10 * TERM_MS) {
    await first.clock.advance(10, true);
    await second.clock.advance(10);
    waitedMs += 10;
  }
  expect(second.lease).toMatchObject({ epoch: 2, isHeld: true });
  expect(first.lease!.isHeld).toBe(false);
  expect(waitedMs).toBeLessThan(1.3 * TERM_MS);
  // It goes on, and finds itself replaced.
  await first.clock.advance(TERM_MS);
  expect(first.lease!.isHeld).toBe(false);
  expect(second.lease!.isHeld).toBe(true);
});

test.each([0.95, 1, 1.05])("two never hold it, with a clock that runs %d as fast", async (rate) => {
  const first = start(rate);
  await first.clock.advance(0);
  const second = start(1 / rate);
  for (let i = 0; i < 400; i++) {
    await first.clock.advance(5, true);
    await second.clock.advance(5);
    expect(first.lease!.isHeld && second.lease?.isHeld === true).toBe(false);
  }
  expect(second.lease!.isHeld).toBe(true);
});

test("a renewal that was under way for long counts from when it was sent", async () => {
  const first = start();
  await first.clock.advance(0);
  let arrive = (): void => {};
  hinder = () => new Promise((resolve) => (arrive = resolve));
  await first.clock.advance(TERM_MS / 4);
  await first.clock.advance(0.6 * TERM_MS);
  expect(first.lease!.isHeld).toBe(true);
  arrive();
  await settled();
  // Renewed for a term from then.
  await first.clock.advance(0.3 * TERM_MS, true);
  expect(first.lease!.isHeld).toBe(true);
  await first.clock.advance(0.1 * TERM_MS, true);
  expect(first.lease!.isHeld).toBe(false);
});

test("failed renewals end it when its time is over; one that succeeds in time keeps it", async () => {
  const first = start();
  await first.clock.advance(0);
  hinder = () => Promise.reject(new Error("storage is down"));
  await first.clock.advance(0.9 * TERM_MS);
  expect(first.lease!.isHeld).toBe(true);
  hinder = () => Promise.resolve();
  await first.clock.advance(TERM_MS);
  expect(first.lease!.isHeld).toBe(true);
  hinder = () => Promise.reject(new Error("storage is down"));
  await first.clock.advance(TERM_MS);
  expect(first.lease!.isHeld).toBe(false);
});

test("one that was released is taken at once", async () => {
  const first = start();
  await first.clock.advance(0);
  await first.lease!.release();
  expect(first.lease!.isHeld).toBe(false);
  const second = start();
  await second.clock.advance(0);
  expect(second.lease).toMatchObject({ epoch: 2, isHeld: true });
});

test("storage that nobody else can open needs no renewal", async () => {
  const clock = new TestClock();
  hinder = () => Promise.reject(new Error("renewed"));
  const lease = await ServerLease.acquire({ storage: { ...storage, isExclusive: true }, termMs: TERM_MS, log, clock });
  await clock.advance(100 * TERM_MS);
  expect(lease.isHeld).toBe(true);
});
