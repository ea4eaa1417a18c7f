import { expect, test } from "vitest";
import { type Ahead, VirtualTime } from "./virtual-time.ts";

const STEP_MS = 60_000;

/** Something that is due at some times, and takes turns of the event loop to end. */
class World {
  readonly ahead: Ahead = { ms: 0 };
  machineMs = 1_000;
  /** So long a run takes. */
  runMs = 0;
  ended: { readonly underWay: Error; readonly later: Error } | null = null;
  readonly told: string[] = [];
  readonly #due: { readonly atMs: number; readonly name: string }[] = [];
  readonly #onStep = new Set<() => void>();
  #underWay = 0;
  readonly time = new VirtualTime({
    core: this.#core(),
    driver: this.#driver(),
    machineMs: () => this.machineMs,
    ahead: this.ahead,
  });

  get nowMs(): number {
    return this.machineMs + this.ahead.ms;
  }

  at(atMs: number, name: string): void {
    this.#due.push({ atMs, name });
  }

  step(): void {
    for (const stepped of this.#onStep) stepped();
  }

  #core() {
    const isSettled = (): boolean => this.#underWay === 0;
    const nextMs = (): number => Math.min(Infinity, ...this.#due.map(({ atMs }) => atMs));
    return {
      get areTasksSettled() {
        return isSettled();
      },
      get nextDueMs() {
        return nextMs();
      },
    };
  }

  #driver() {
    const ended = (): World["ended"] => this.ended;
    return {
      get ended() {
        return ended();
      },
      onStep: (stepped: () => void) => {
        this.#onStep.add(stepped);
        return () => void this.#onStep.delete(stepped);
      },
      wake: () => {
        const due = this.#due.filter(({ atMs }) => atMs <= this.nowMs);
        this.#due.splice(0, this.#due.length, ...this.#due.filter((each) => !due.includes(each)));
        for (const { name } of due) this.#run(name);
        this.step();
      },
    };
  }

  #run(name: string): void {
    this.#underWay++;
    this.told.push(`${name} begins at ${this.nowMs}`);
    setImmediate(() => {
      this.machineMs += this.runMs;
      if (name.startsWith("again")) this.at(this.nowMs + STEP_MS, `${name}+`);
      this.told.push(`${name} ends at ${this.nowMs}`);
      this.#underWay--;
      this.step();
    });
  }
}

test("what is due runs in order, each at its time, and ends before time goes on", async () => {
  const world = new World();
  world.at(200_000, "late");
  world.at(100_000, "again");
  expect(await world.time.moveTo(250_000)).toBe(250_000);
  expect(world.told).toEqual([
    "again begins at 100000",
    "again ends at 100000",
    "again+ begins at 160000",
    "again+ ends at 160000",
    "late begins at 200000",
    "late ends at 200000",
    "again++ begins at 220000",
    "again++ ends at 220000",
  ]);
  expect(world.nowMs).toBe(251_000);
});

test("what is due a part of a millisecond after the end of a move belongs to it", async () => {
  const world = new World();
  world.at(101_000.4, "now");
  world.at(101_002, "later");
  const passing = setInterval(() => (world.machineMs += 0.5), 0);
  expect(await world.time.moveTo(100_000)).toBe(100_000);
  clearInterval(passing);
  expect(world.told[0]).toMatch(/^now begins at 10100[01]/);
});

test("time never goes back, and moves are made one after the other", async () => {
  const world = new World();
  world.at(50_000, "first");
  const [second, first] = await Promise.all([world.time.moveTo(100_000), world.time.moveTo(60_000)]);
  expect([second, first]).toEqual([100_000, 100_000]);
  expect(world.told).toEqual(["first begins at 50000", "first ends at 50000"]);
});

test("a move that takes long tells how far it has come, and the next one goes on", async () => {
  const world = new World();
  world.runMs = 1_000;
  for (let minute = 1; minute <= 20; minute++) world.at(minute * STEP_MS, `${minute}`);
  const told: string[] = [];
  for (let reachedMs = 0; reachedMs < 30 * STEP_MS; told.push(`${world.told.length / 2}`))
    reachedMs = await world.time.moveTo(30 * STEP_MS);
  expect(told).toEqual(["5", "10", "15", "20", "20"]);
});

test("the end of the server ends a move", async () => {
  const world = new World();
  world.at(2_000, "last");
  const moving = world.time.moveTo(100_000);
  world.ended = { underWay: new Error("under way"), later: new Error("it has stopped") };
  world.step();
  await expect(moving).rejects.toThrow("it has stopped");
  await expect(world.time.moveTo(1)).rejects.toThrow("it has stopped");
});
