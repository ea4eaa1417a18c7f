import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DashboardTime } from "@radical/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DevTime, type DevTimePorts, readTimeAdvance } from "./dev-time.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let folder: string;
let told: string[];
let states: DashboardTime[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-time-"));
  told = [];
  states = [];
});
afterEach(() => rm(folder, { recursive: true }));

const kept = async (): Promise<unknown> => JSON.parse(await readFile(join(folder, "time.json"), "utf8")) as unknown;

function ports(more: Partial<DevTimePorts> = {}): DevTimePorts {
  return {
    tellLocations: (aheadMs) => Promise.resolve(void told.push(`locations ${aheadMs}`)),
    movePrimary: (aheadMs) => Promise.resolve(void told.push(`primary ${aheadMs}`)),
    reachedMs: () => Promise.resolve(null),
    onChange: (state) => void states.push(state),
    ...more,
  };
}

test("locations follow the primary, and the next start is as far ahead", async () => {
  const time = await DevTime.open(folder);
  expect([time.aheadMs, time.state]).toEqual([0, { aheadMs: 0, movesToMs: null }]);
  expect(await time.move(DAY_MS, ports())).toEqual({ aheadMs: DAY_MS, movesToMs: null });
  expect(told).toEqual(["locations 0", `primary ${DAY_MS}`, `locations ${DAY_MS}`]);
  expect((await DevTime.open(folder)).state).toEqual({ aheadMs: DAY_MS, movesToMs: null });
});

test("moves wait for each other, and add up", async () => {
  const time = await DevTime.open(folder);
  await Promise.all([time.move(HOUR_MS, ports()), time.move(DAY_MS, ports())]);
  expect(told).toEqual([
    "locations 0",
    `primary ${HOUR_MS}`,
    `locations ${HOUR_MS}`,
    `locations ${HOUR_MS}`,
    `primary ${DAY_MS + HOUR_MS}`,
    `locations ${DAY_MS + HOUR_MS}`,
  ]);
});

test("the way is told while time moves", async () => {
  const time = await DevTime.open(folder);
  const movePrimary: DevTimePorts["movePrimary"] = (_, onReached) => Promise.resolve(onReached(HOUR_MS));
  await time.move(DAY_MS, ports({ movePrimary }));
  expect(states).toEqual([
    { aheadMs: 0, movesToMs: DAY_MS },
    { aheadMs: HOUR_MS, movesToMs: DAY_MS },
    { aheadMs: DAY_MS, movesToMs: null },
  ]);
});

test("a location that can't be told keeps time where it is", async () => {
  const time = await DevTime.open(folder);
  const tellLocations = (): Promise<void> => Promise.reject(new Error("a class"));
  await expect(time.move(DAY_MS, ports({ tellLocations }))).rejects.toThrow("a class");
  expect([time.aheadMs, told, states]).toEqual([0, [], []]);
  await expect(kept()).rejects.toThrow("ENOENT");
});

test("a server that is killed on the way starts where time was to go, and time moves on from there", async () => {
  const time = await DevTime.open(folder);
  const movePrimary: DevTimePorts["movePrimary"] = (_, onReached) => {
    onReached(HOUR_MS);
    return Promise.reject(new Error("gone"));
  };
  await expect(time.move(DAY_MS, ports({ movePrimary }))).rejects.toThrow("gone");
  expect([time.aheadMs, time.state]).toEqual([DAY_MS, { aheadMs: HOUR_MS, movesToMs: null }]);
  expect(states.at(-1)).toEqual(time.state);
  time.started();
  expect(time.state).toEqual({ aheadMs: DAY_MS, movesToMs: null });
  await time.move(HOUR_MS, ports());
  expect(await kept()).toEqual({ aheadMs: DAY_MS + HOUR_MS });
});

test("a move that fails at once leaves time where it was, so it can be tried again", async () => {
  const time = await DevTime.open(folder);
  await time.move(HOUR_MS, ports());
  const movePrimary: DevTimePorts["movePrimary"] = () => Promise.reject(new Error("busy"));
  const reachedMs = (): Promise<number> => Promise.resolve(HOUR_MS);
  await expect(time.move(DAY_MS, ports({ movePrimary, reachedMs }))).rejects.toMatchObject({
    message: "Time was not moved to the end: busy",
    hint: "Time is 1h ahead of this machine's.",
  });
  expect([time.aheadMs, await kept()]).toEqual([HOUR_MS, { aheadMs: HOUR_MS }]);
  expect(await time.move(DAY_MS, ports())).toEqual({ aheadMs: DAY_MS + HOUR_MS, movesToMs: null });
});

test("a move that fails on the way keeps what the primary has reached, and locations have it", async () => {
  const time = await DevTime.open(folder);
  const movePrimary: DevTimePorts["movePrimary"] = (_, onReached) => {
    onReached(HOUR_MS);
    return Promise.reject(new Error("busy"));
  };
  const reachedMs = (): Promise<number> => Promise.resolve(2 * HOUR_MS);
  await expect(time.move(DAY_MS, ports({ movePrimary, reachedMs }))).rejects.toThrow("busy");
  expect([time.aheadMs, time.state, states.at(-1)]).toEqual([
    2 * HOUR_MS,
    { aheadMs: 2 * HOUR_MS, movesToMs: null },
    { aheadMs: 2 * HOUR_MS, movesToMs: null },
  ]);
  expect([told, await kept()]).toEqual([["locations 0", `locations ${2 * HOUR_MS}`], { aheadMs: 2 * HOUR_MS }]);
});

test("time goes no further than tasks do", async () => {
  const time = await DevTime.open(folder);
  await time.move(3_660 * DAY_MS, ports());
  await expect(time.move(1, ports())).rejects.toMatchObject({ code: "time_too_far" });
  expect(time.aheadMs).toBe(3_660 * DAY_MS);
});

test.each(["", "{}", '{"aheadMs": -1}', '{"aheadMs": "1"}'])("a file with %j is told, and what to do", async (text) => {
  await writeFile(join(folder, "time.json"), text);
  await expect(DevTime.open(folder)).rejects.toMatchObject({ code: "unreadable_time" });
});

test("an advance is a length of time in words, or milliseconds", () => {
  expect(["3 days", "12h", "1 hour", 90_000, 0].map((advance) => readTimeAdvance({ advance }))).toEqual([
    3 * DAY_MS,
    12 * HOUR_MS,
    HOUR_MS,
    90_000,
    0,
  ]);
  for (const json of [null, {}, { advance: -1 }, { advance: 1.5 }, { advance: "soon" }, { advance: "4000 days" }])
    expect(() => readTimeAdvance(json)).toThrow(/^The field advance must be a time up to 3660 days/);
});
