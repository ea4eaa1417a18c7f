import type { DashboardTime } from "@radical/protocol";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Control } from "./control-server.ts";
import { FaultSwitches } from "@radical/local";
import { type KeyInput, listenToKeys } from "./dev-keys.ts";
import { type DevFaultChange, NO_DEV_FAULTS } from "./service-faults.ts";
import { createTerminal } from "../terminal/terminal.ts";

function start(): {
  readonly press: (keys: string) => void;
  readonly changes: DevFaultChange[];
  readonly moves: number[];
  readonly raw: boolean[];
  readonly shown: () => string;
  readonly interrupts: () => number;
  readonly stop: () => void;
} {
  const switches = new FaultSwitches(new Map(["VA", "JP"].map((name) => [name, {}])));
  const changes: DevFaultChange[] = [];
  const moves: number[] = [];
  const time = (): DashboardTime => ({ aheadMs: moves.reduce((sum, ms) => sum + ms, 0), movesToMs: null });
  const control: Control = {
    openApi: () => "{}",
    locations: ["VA", "JP"],
    places: [],
    faults: () => ({ ...NO_DEV_FAULTS, ...switches.faults }),
    change: (change) => {
      changes.push(change);
      return Promise.resolve({ ...NO_DEV_FAULTS, ...switches.set(change) });
    },
    manifest: () => {
      throw new Error("No key asks for it.");
    },
    time,
    moveTime: (byMs) => {
      moves.push(byMs);
      return Promise.resolve(time());
    },
  };
  const raw: boolean[] = [];
  const input = Object.assign(new EventEmitter(), {
    setRawMode: (mode: boolean) => raw.push(mode),
    resume: () => undefined,
    pause: () => undefined,
  }) as unknown as KeyInput & EventEmitter;
  const stream = new PassThrough();
  let interrupts = 0;
  const stop = listenToKeys(input, {
    control,
    terminal: createTerminal({ stream: stream as unknown as NodeJS.WriteStream, environment: {} }),
    onInterrupt: () => interrupts++,
    onError: (error) => {
      throw error;
    },
  });
  return {
    press: (keys) => input.emit("data", Buffer.from(keys)),
    changes,
    moves,
    raw,
    shown: () => String(stream.read() ?? ""),
    interrupts: () => interrupts,
    stop,
  };
}

test("each key switches its fault on and off again", () => {
  const { press, changes } = start();
  press("p");
  press("p");
  press("2f");
  press("12");
  press("rwk");
  expect(changes).toEqual([
    { primaryDown: true },
    { primaryDown: false },
    { partitioned: ["JP"] },
    { dropFollowups: true },
    { partitioned: ["JP", "VA"] },
    { partitioned: ["VA"] },
    { primaryDown: false, partitioned: [], dropFollowups: false, distances: {}, services: {} },
    { wipeCaches: ["VA", "JP"] },
    { killServer: true },
  ]);
});

test("? shows the keys with what is on; others do nothing", () => {
  const { press, changes, shown } = start();
  press("p");
  press("?");
  expect(shown()).toMatch(/p {2}the primary is down, or up again {2}\(on\)[^]*2 {2}JP is cut off from the primary\n/);
  press("x39\u001b[A");
  expect(changes).toHaveLength(1);
});

test("Ctrl-C comes as a key; the terminal is left as it was", () => {
  const { press, interrupts, raw, stop } = start();
  press("\u0003");
  expect(interrupts()).toBe(1);
  stop();
  expect(raw).toEqual([true, false]);
});

test("t moves time by an hour, T by a day, and ? says how far it is ahead", () => {
  const { press, moves, changes, shown } = start();
  press("?");
  expect(shown()).not.toContain("ahead)");
  press("tTt");
  expect([moves, changes]).toEqual([[3_600_000, 86_400_000, 3_600_000], []]);
  press("?");
  expect(shown()).toContain("(1d 2h ahead)");
});
