import { expect, test, vi } from "vitest";
import type { ShedReason } from "./core/events.ts";
import { Garbage } from "./garbage.ts";
import { LoadShedding, watchLoad } from "./load-shedding.ts";
import { createLog } from "./log.ts";

const ROOM = 500;

function shed({ mostLateMs = 100 } = {}) {
  const lines: string[] = [];
  const changes: (ShedReason | null)[] = [];
  const log = createLog("info", (line) => lines.push((JSON.parse(line) as { event: string }).event));
  const shedding = new LoadShedding({
    mostLateMs,
    memoryBytes: 1_000,
    log,
    changed: (reason) => changes.push(reason),
  });
  const late = (...looks: readonly number[]): ShedReason | null => {
    for (const lateMs of looks) shedding.look({ lateMs, memoryBytes: ROOM });
    return shedding.reason;
  };
  const full = (...looks: readonly number[]): ShedReason | null => {
    for (const memoryBytes of looks) shedding.look({ lateMs: 0, memoryBytes });
    return shedding.reason;
  };
  return { lines, changes, late, full, shedding };
}

test("one long turn of the event loop sheds nothing, and several in a row do", () => {
  const { late } = shed();
  expect(late(60_000, 0, 0, 0)).toBe(null);
  expect(late(60_000, 60_000)).toBe(null);
  expect(late(60_000)).toBe("event_loop");
});

test("a load that stays just over the bound sheds, and one just below does not", () => {
  const below = shed();
  expect(below.late(...Array.from({ length: 1_000 }, () => 99))).toBe(null);
  const over = shed();
  expect(over.late(...Array.from({ length: 1_000 }, () => 101))).toBe("event_loop");
});

test("requests are taken again when the loop is calm, and a loop between the two values changes nothing", () => {
  const { late, lines, changes } = shed();
  late(200, 200, 200, 200);
  expect(late(...Array.from({ length: 1_000 }, () => 60))).toBe("event_loop");
  expect(late(...Array.from({ length: 100 }, () => 40))).toBe(null);
  expect(late(...Array.from({ length: 1_000 }, () => 90))).toBe(null);
  // Once for each change.
  expect(changes).toEqual(["event_loop", null]);
  expect(lines).toEqual(["shedding_load", "shedding_ended"]);
});

test("memory over 95 % of the budget sheds until it is below 90 %", () => {
  const { full, changes } = shed();
  expect(full(950)).toBe(null);
  expect(full(951)).toBe("memory");
  expect(full(901)).toBe("memory");
  expect(full(900)).toBe(null);
  expect(full(951)).toBe("memory");
  expect(changes).toEqual(["memory", null, "memory"]);
});

test("an event loop that is never looked at sheds nothing, and memory still does", () => {
  const { late, full } = shed({ mostLateMs: 0 });
  expect(late(...Array.from({ length: 100 }, () => 60_000))).toBe(null);
  expect(full(1_000)).toBe("memory");
});

test("a server that sheds collects garbage of its heap too, until it has room or a twentieth of the time is used", () => {
  vi.useFakeTimers();
  const { shedding } = shed();
  const now = (): number => Date.now();
  const beganAtMs = now();
  let memoryBytes = 940;
  const collectedAtMs: number[] = [];
  const collect = (): void => {
    collectedAtMs.push(now() - beganAtMs);
    vi.setSystemTime(now() + 50);
    if (collectedAtMs.length === 4) memoryBytes = 900;
  };
  // Nothing outside of the heap has grown since the first collection.
  const garbage = new Garbage(1_000, { now, resident: () => memoryBytes, external: () => 100, collect });
  const stop = watchLoad(shedding, garbage, now, () => memoryBytes);
  try {
    vi.advanceTimersByTime(10_000);
    expect(collectedAtMs).toEqual([100]);
    expect(shedding.reason).toBe(null);
    memoryBytes = 960;
    vi.advanceTimersByTime(10_000);
    expect(shedding.reason).toBe(null);
    const pauses = collectedAtMs.slice(2).map((atMs, index) => atMs - collectedAtMs[index + 1]!);
    expect(collectedAtMs).toHaveLength(4);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1_000);
  } finally {
    stop();
    vi.useRealTimers();
  }
});
