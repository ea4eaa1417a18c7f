import { expect, test } from "vitest";
import { QuietTimes, type QuietTime, wholeSecond } from "./quiet-times.ts";
import type { Storage } from "./storage.ts";

class World {
  monotonicMs = 0;
  wallMs = 1_000_000;
  readonly kept: QuietTime[] = [];
  /** Ends the write that is under way. */
  end: (() => void) | null = null;
  readonly times = new QuietTimes({ monotonicMs: () => this.monotonicMs, wallMs: () => this.wallMs }, (quiet) =>
    this.kept.push(quiet),
  );
  readonly storage = this.times.observing({
    isExclusive: false,
    storeIntent: () => new Promise((resolve) => (this.end = () => resolve({ kind: "stored" }))),
    lookUp: () => Promise.resolve(null),
    renewLeadership: () => Promise.resolve(true),
  } as unknown as Storage);

  pass(ms: number): void {
    this.monotonicMs += ms;
    this.wallMs += ms;
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
