import { type ExecutionId, type Schedule, tickIdOf } from "@radical/protocol";
import { expect, test } from "vitest";
import { decodeScheduleState, encodeScheduleState, type ScheduleState } from "./schedule-state.ts";
import { type ScheduleChange, Schedules } from "./schedules.ts";
import { latestTicks, nextTick } from "./ticks.ts";

const HOUR = 3_600_000;
/** Of each hour, as a server would find it. */
const hourly = (_fields: string, _zone: string, afterMs: number): number => (Math.floor(afterMs / HOUR) + 1) * HOUR;

const every = (more: Partial<Schedule> = {}): Schedule =>
  ({ kind: "every", everyMs: HOUR, catchUp: 1, overlap: "wait", parameter: null, ...more }) as Schedule;

/** Schedules whose changes are stored at once, but for those that fail. */
class Story {
  readonly open = new Set<ExecutionId>();
  nowMs = 0;
  wallMs = 100 * HOUR + 1;
  schedules: Schedules;
  readonly #stored = new Map<string, ScheduleState>();

  constructor() {
    this.schedules = this.#begin();
  }

  #begin(): Schedules {
    return new Schedules(new Map(this.#stored), hourly, (task) => this.open.has(task));
  }

  restart(): void {
    this.schedules = this.#begin();
  }

  /** The names of rules are those of handlers. */
  name(rules: Readonly<Record<string, Schedule>>): void {
    this.schedules.name(Object.fromEntries(Object.entries(rules).map(([name, schedule]) => [name, { schedule }])));
  }

  pass(ms: number): readonly string[] {
    this.nowMs += ms;
    this.wallMs += ms;
    return this.go();
  }

  /** The changes that are due, as text: the ticks by their hour. */
  go(isStored = true, mayTick = true): readonly string[] {
    const told: string[] = [];
    for (;;) {
      const change = this.schedules.take({ nowMs: this.nowMs, wallMs: this.wallMs }, mayTick);
      if (change === null) return told;
      told.push(this.#end(change, isStored));
    }
  }

  #end(change: ScheduleChange, isStored: boolean): string {
    const { handler, becomes, ticks, missed, ask } = change;
    if (isStored) {
      this.#stored.set(handler, decodeScheduleState(encodeScheduleState(becomes)));
      for (const tick of ticks) this.open.add(tickIdOf(handler, tick));
    }
    this.schedules.ended(change, isStored, this.nowMs + 100);
    const words = ticks.map((tick) => tick / HOUR).join(",");
    return `${handler}${words === "" ? "" : ` ${words}`}${missed === 0 ? "" : ` missed ${missed}`}${ask === null ? "" : ` ${ask.action}`}`;
  }

  done(handler: string, hour: number): readonly string[] {
    if (!this.open.delete(tickIdOf(handler, hour * HOUR))) throw new Error(`tick ${hour} of ${handler} is not open`);
    return this.go();
  }
}

test("a schedule begins when it is known, and makes each tick once", () => {
  const story = new Story();
  story.name({ a: every({ overlap: "allow" }) });
  expect(story.go()).toEqual(["a"]);
  expect(story.pass(HOUR - 2)).toEqual([]);
  expect(story.pass(1)).toEqual(["a 101"]);
  expect(story.go()).toEqual([]);
  // A clock that is set back makes no tick again.
  story.wallMs -= 3 * HOUR;
  expect(story.pass(2 * HOUR)).toEqual([]);
  expect(story.pass(2 * HOUR)).toEqual(["a 102"]);
});

test("the next tick is known as long as nothing keeps it back", () => {
  const story = new Story();
  const dueInMs = (): number => story.schedules.dueAtMs({ nowMs: story.nowMs, wallMs: story.wallMs }) - story.nowMs;
  expect(dueInMs()).toBe(Infinity);
  story.name({ a: every(), b: every({ overlap: "allow" }) });
  story.go();
  expect(dueInMs()).toBe(HOUR - 1);
  expect(story.pass(HOUR - 1)).toEqual(["a 101", "b 101"]);
  expect(dueInMs()).toBe(HOUR);
  // `a` waits for its last tick, and `b` is paused: nothing comes by time alone.
  expect(story.pass(HOUR)).toEqual(["b 102"]);
  story.schedules.ask({ caller: 1, handler: "b", action: "pause" });
  expect(story.go()).toEqual(["b pause"]);
  expect(dueInMs()).toBe(Infinity);
  // A change that storage did not take comes again soon.
  story.schedules.ask({ caller: 1, handler: "b", action: "resume" });
  expect(story.go(false)).toEqual(["b resume"]);
  expect(dueInMs()).toBe(100);
});

test("late ticks are made up for as the schedule says", () => {
  const story = new Story();
  story.name({
    all: every({ catchUp: 100, overlap: "allow" }),
    none: every({ catchUp: 0, overlap: "allow" }),
    one: every({ overlap: "allow" }),
    skips: every({ overlap: "skip" }),
    three: every({ catchUp: 3, overlap: "allow" }),
  });
  story.go();
  story.restart();
  story.name({
    all: every({ catchUp: 100, overlap: "allow" }),
    none: every({ catchUp: 0, overlap: "allow" }),
    one: every({ overlap: "allow" }),
    skips: every({ overlap: "skip" }),
    three: every({ catchUp: 3, overlap: "allow" }),
  });
  expect(story.pass(5 * HOUR + HOUR / 2)).toEqual([
    "all 101,102,103,104,105",
    "none missed 5",
    "one 105 missed 4",
    "skips 105 missed 4",
    "three 103,104,105 missed 2",
  ]);
});

test("a tick waits for the one before, is left out, or does not care", () => {
  const story = new Story();
  story.name({ b: every({ overlap: "allow" }), s: every({ overlap: "skip" }), w: every(), x: every({ catchUp: 9 }) });
  story.go();
  expect(story.pass(HOUR)).toEqual(["b 101", "s 101", "w 101", "x 101"]);
  expect(story.pass(HOUR)).toEqual(["b 102", "s missed 1"]);
  expect(story.pass(HOUR)).toEqual(["b 103", "s missed 1"]);
  expect(story.done("s", 101)).toEqual([]);
  expect(story.done("w", 101)).toEqual(["w 103 missed 1"]);
  expect(story.done("x", 101)).toEqual(["x 102"]);
  expect(story.done("x", 102)).toEqual(["x 103"]);
  expect(story.done("x", 103)).toEqual([]);
  // A server that starts knows that the tick is open.
  story.restart();
  story.name({ w: every() });
  expect(story.go()).toEqual(["b", "s", "x"]);
  expect(story.pass(HOUR)).toEqual([]);
  expect(story.done("w", 103)).toEqual(["w 104"]);
});

test("a build that changes, lacks or brings back a schedule makes up for nothing", () => {
  const story = new Story();
  story.name({ a: every({ overlap: "allow", catchUp: 9 }) });
  story.go();
  story.pass(3 * HOUR);
  story.name({});
  expect(story.go()).toEqual(["a"]);
  expect(story.pass(5 * HOUR)).toEqual([]);
  story.name({ a: every({ overlap: "allow", catchUp: 9 }) });
  expect(story.go()).toEqual(["a"]);
  // The same times with other policies go on.
  story.name({ a: every({ overlap: "allow", catchUp: 8 }) });
  expect(story.pass(HOUR)).toEqual(["a 109"]);
  story.name({ a: { ...every({ catchUp: 9 }), kind: "cron", fields: "0 * * * *", zone: "UTC" } });
  expect(story.go()).toEqual(["a"]);
});

test("a pause lasts, its ticks are left out, and an operator may run the handler", () => {
  const story = new Story();
  const ask = (action: "run" | "pause" | "resume", handler = "a"): boolean =>
    story.schedules.ask({ caller: 1, handler, action });
  story.name({ a: every({ overlap: "allow", catchUp: 9 }) });
  story.go();
  expect(ask("pause", "nobody")).toBe(false);
  expect(ask("pause")).toBe(true);
  expect(story.go()).toEqual(["a pause"]);
  story.restart();
  story.name({ a: every({ overlap: "allow", catchUp: 9 }) });
  expect(story.pass(3 * HOUR)).toEqual([]);
  expect(story.schedules.list(story.wallMs)).toMatchObject([{ handler: "a", isPaused: true, nextMs: null }]);
  ask("run");
  expect(story.go()).toEqual(["a run"]);
  ask("resume");
  expect(story.go()).toEqual(["a resume"]);
  expect(story.pass(HOUR)).toEqual(["a 104"]);
  expect(story.schedules.list(story.wallMs)).toMatchObject([{ lastMs: 104 * HOUR, nextMs: 105 * HOUR }]);
});

test("a change that could not be stored is made again later, with the wish that it fulfils", () => {
  const story = new Story();
  story.name({ a: every({ overlap: "allow" }) });
  story.go();
  story.schedules.ask({ caller: 1, handler: "a", action: "pause" });
  expect(story.go(false)).toEqual(["a pause"]);
  expect(story.go()).toEqual([]);
  expect(story.pass(100)).toEqual(["a pause"]);
});

test("no tick comes while ticks may not become tasks", () => {
  const story = new Story();
  story.name({ a: every({ overlap: "allow" }) });
  story.go();
  story.wallMs += HOUR;
  story.nowMs += HOUR;
  expect(story.go(true, false)).toEqual([]);
  expect(story.pass(30_000)).toEqual(["a 101"]);
});

test("after a long absence the latest ticks are found, of fields too", () => {
  const cron: Schedule = { ...every(), kind: "cron", fields: "0 * * * *", zone: "UTC" };
  for (const schedule of [every(), cron]) {
    expect(nextTick(schedule, 5 * HOUR, hourly)).toBe(6 * HOUR);
    expect(latestTicks(schedule, 0, 1_000 * HOUR + 1, 3, hourly)).toEqual([998 * HOUR, 999 * HOUR, 1_000 * HOUR]);
    expect(latestTicks(schedule, 998 * HOUR, 1_000 * HOUR, 3, hourly)).toEqual([999 * HOUR, 1_000 * HOUR]);
    expect(latestTicks(schedule, 1_000 * HOUR, 900 * HOUR, 3, hourly)).toEqual([]);
  }
});
