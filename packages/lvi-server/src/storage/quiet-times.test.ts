import { expect, test } from "vitest";
import { QuietTimes, type QuietTime, wholeSecond } from "./quiet-times.ts";
import { type Storage, StorageError } from "./storage.ts";

class World {
  monotonicMs = 0;
  wallMs = 1_000_000;
  readonly kept: QuietTime[] = [];
  /** Until then nothing is kept; null: it is kept at once. */
  keeping: Promise<void> | null = null;
  /** Another server leads, so nothing is kept. */
  isReplaced = false;
  /** Ends the write that is under way. */
  end: (() => void) | null = null;
  /** Writes that storage was asked for. */
  begun = 0;
  readonly #timers = new Set<{ readonly atMs: number; readonly ring: () => void }>();
  readonly times = new QuietTimes(
    {
      monotonicMs: () => this.monotonicMs,
      wallMs: () => this.wallMs,
      wait: (ms, signal) =>
        new Promise((ring, abort) => {
          this.#timers.add({ atMs: this.monotonicMs + ms, ring });
          signal?.addEventListener("abort", () => abort(new Error("aborted")));
        }),
    },
    (quiet) => {
      if (this.isReplaced) return Promise.resolve(false);
      const keep = (): boolean => this.kept.push(quiet) > 0;
      return this.keeping === null ? Promise.resolve(keep()) : this.keeping.then(keep);
    },
  );
  readonly storage = this.times.observing({
    isExclusive: false,
    storeIntent: () => {
      this.begun++;
      return new Promise((resolve) => (this.end = () => resolve({ kind: "stored" })));
    },
    lookUp: () => Promise.resolve(null),
    renewLeadership: () => Promise.resolve(true),
  } as unknown as Storage);

  pass(ms: number): void {
    this.monotonicMs += ms;
    this.wallMs += ms;
    for (const timer of this.#timers) {
      if (timer.atMs > this.monotonicMs) continue;
      this.#timers.delete(timer);
      timer.ring();
    }
  }

  async write(tookMs: number): Promise<void> {
    const written = this.storage.storeIntent(1, {} as never);
    this.pass(tookMs);
    this.end?.();
    await written;
  }
}

test("the time between two writes is kept, if it is long enough, whatever is read meanwhile", async () => {
  const world = new World();
  world.pass(60_000);
  world.times.look();
  expect(world.kept).toEqual([]);
  await world.write(10);
  world.pass(6_999);
  await world.write(10);
  expect(world.kept).toEqual([]);
  await world.storage.lookUp(1, "a" as never);
  await world.storage.renewLeadership(1, 1_000);
  world.pass(7_000);
  await world.write(10_000);
  expect(world.kept).toEqual([{ fromMs: 1_067_019, untilMs: 1_074_019 }]);
});

test("a write that takes long is no quiet time", async () => {
  const world = new World();
  await world.write(60_000);
  await world.write(10);
  expect(world.kept).toEqual([]);
});

test("a quiet time that goes on is kept so far, and is the same one later", async () => {
  const world = new World();
  await world.write(0);
  world.pass(60_000);
  world.times.look();
  world.pass(60_000);
  world.times.look();
  expect(world.kept).toEqual([
    { fromMs: 1_000_000, untilMs: 1_060_000 },
    { fromMs: 1_000_000, untilMs: 1_120_000 },
  ]);
});

test("of short ones that follow one another one a minute is kept", async () => {
  const world = new World();
  for (let n = 0; n < 20; n++) {
    await world.write(0);
    world.pass(8_000);
  }
  expect(world.kept.map(({ fromMs }) => fromMs)).toEqual([1_000_000, 1_064_000, 1_128_000]);
});

test("nothing is kept of a time in which the clock was set", async () => {
  const world = new World();
  await world.write(0);
  world.pass(20_000);
  world.wallMs -= 5_000;
  world.times.look();
  expect(world.kept).toEqual([]);
});

/** All that can go on without time has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a pause lets writes end, has others wait for seven seconds, and keeps that time", async () => {
  const world = new World();
  const first = world.storage.storeIntent(1, {} as never);
  const endOfFirst = world.end;
  const pause = world.times.pause();
  // Another question meanwhile gets the same one.
  expect(world.times.pause()).toBe(pause);
  const second = world.storage.storeIntent(1, {} as never);
  world.pass(500);
  await settled();
  expect(world.begun).toBe(1);
  endOfFirst?.();
  await first;
  await settled();
  world.pass(6_999);
  await settled();
  expect([world.begun, world.kept]).toEqual([1, []]);
  await world.storage.lookUp(1, "a" as never);
  await world.storage.renewLeadership(1, 1_000);
  world.pass(1);
  expect(await pause).toBe(1_004_000);
  // The write that waited has ended it.
  expect(world.kept).toEqual([1, 2].map(() => ({ fromMs: 1_000_500, untilMs: 1_007_500 })));
  await settled();
  expect(world.begun).toBe(2);
  world.end?.();
  await second;
});

test("a pause of a storage that has been quiet for long takes no time, whatever was kept shortly before", async () => {
  const world = new World();
  await world.write(0);
  world.pass(8_000);
  await world.write(0);
  world.pass(9_000);
  expect(await world.times.pause()).toBe(1_014_000);
  expect(world.kept).toEqual([
    { fromMs: 1_000_000, untilMs: 1_008_000 },
    { fromMs: 1_008_000, untilMs: 1_017_000 },
  ]);
});

test.each([
  ["a write does not end", { end: false, set: 0, isReplaced: false }, /A write takes longer than 2 s/],
  ["the clock is set", { end: true, set: 2_000, isReplaced: false }, /clock of the server was set/],
  ["another server leads", { end: true, set: 0, isReplaced: true }, /another server leads/],
])("a pause is given up when %s, and writes go on", async (_, { end, set, isReplaced }, why) => {
  const world = new World();
  world.isReplaced = isReplaced;
  const first = world.storage.storeIntent(1, {} as never);
  const endOfFirst = world.end;
  const pause = world.times.pause();
  const failure = pause.then(
    () => null,
    (error: unknown) => error,
  );
  if (end) endOfFirst?.();
  await settled();
  const second = world.storage.storeIntent(1, {} as never);
  world.wallMs += set;
  world.pass(10_000);
  expect(await failure).toBeInstanceOf(StorageError);
  expect(String(await failure)).toMatch(why);
  expect(world.kept).toEqual([]);
  await settled();
  expect(world.begun).toBe(2);
  world.end?.();
  endOfFirst?.();
  await Promise.all([first, second]);
});

test("writes go on when the time is over, before it is kept", async () => {
  const world = new World();
  await world.write(0);
  let keep: (() => void) | undefined;
  world.keeping = new Promise((resolve) => (keep = resolve));
  const pause = world.times.pause();
  const written = world.storage.storeIntent(1, {} as never);
  await settled();
  expect(world.begun).toBe(1);
  world.pass(7_000);
  await settled();
  expect([world.begun, world.kept]).toEqual([2, []]);
  keep?.();
  expect(await pause).toBe(1_004_000);
  world.end?.();
  await written;
});

test("a time in which the clock was set is no part of a pause", async () => {
  const world = new World();
  await world.write(0);
  world.pass(20_000);
  world.wallMs += 5_000;
  const pause = world.times.pause();
  await settled();
  world.pass(7_000);
  expect(await pause).toBe(1_029_000);
  expect(world.kept).toEqual([{ fromMs: 1_025_000, untilMs: 1_032_000 }]);
});

test.each([
  ["while a write is under way", true],
  ["while it waits", false],
])("a server that ends gives a pause up %s: the writes that wait are done", async (_, isWriting) => {
  const world = new World();
  await world.write(0);
  const first = isWriting ? world.storage.storeIntent(1, {} as never) : null;
  const endOfFirst = world.end;
  const failure = world.times.pause().then(
    () => null,
    (error: unknown) => error,
  );
  await settled();
  const begun = world.begun;
  const second = world.storage.storeIntent(1, {} as never);
  await settled();
  expect(world.begun).toBe(begun);
  world.times.stop();
  expect(String(await failure)).toContain("The server is being stopped.");
  await settled();
  expect(world.begun).toBe(begun + 1);
  expect(world.kept).toEqual([]);
  world.end?.();
  endOfFirst?.();
  await Promise.all([first, second]);
});

test("the last whole second that is far enough from both ends", () => {
  const quiet = [
    { fromMs: 10_500, untilMs: 17_500 },
    { fromMs: 100_000, untilMs: 900_000 },
  ];
  expect(wholeSecond(quiet, 13_999)).toBe(null);
  expect(wholeSecond(quiet, 14_000)).toBe(14_000);
  expect(wholeSecond(quiet, 99_000)).toBe(14_000);
  expect(wholeSecond(quiet, 102_999)).toBe(14_000);
  expect(wholeSecond(quiet, 500_400)).toBe(500_000);
  expect(wholeSecond(quiet, 10_000_000)).toBe(897_000);
  expect(wholeSecond([], 10_000)).toBe(null);
});
