import { LIVES_PATH, type Life } from "@radical/protocol";
import { expect, test } from "vitest";
import { followLives } from "./primary-lines.ts";

const LIFE = {
  v: 1,
  kind: "life",
  side: "primary",
  execution: "a".repeat(32),
  attempt: 1,
  trace: null,
  place: "JP",
  handler: "like",
  module: "m",
  atMs: 1,
  tookUs: 2,
  path: null,
  reason: "valid",
  code: null,
  commit: null,
  because: null,
  spans: [],
  units: [],
  unitsLeftOut: 0,
  waited: [],
  fuel: null,
} as unknown as Life;

test("lives are told, and how many were left out; other lines are nothing", async () => {
  const ending = new AbortController();
  const lines = [
    "",
    JSON.stringify({ kind: "left-out", count: 7 }),
    "no JSON",
    '{"kind": "left-out"}',
    JSON.stringify(LIFE),
  ];
  const heard: unknown[] = [];
  const ask = (path: string): Promise<Response> => {
    expect(path).toBe(LIVES_PATH);
    return Promise.resolve(new Response(`${lines.join("\n")}\n`));
  };
  await followLives(
    { ask, signal: ending.signal, pauseMs: 0 },
    { every: 1 },
    {
      leaveOut: (count) => heard.push(count),
      add: (life) => {
        heard.push(life);
        ending.abort();
      },
    },
  );
  expect(heard).toEqual([7, LIFE]);
});
