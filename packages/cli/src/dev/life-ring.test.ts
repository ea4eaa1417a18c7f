import { type CommitId, type Life, MAX_KEPT_LIVES } from "@radical/protocol";
import { expect, test } from "vitest";
import { LifeRing } from "./life-ring.ts";

const life = (attempt: number): Life => ({ attempt }) as Life;

test("followers hear what comes, until they stop", () => {
  const ring = new LifeRing();
  const heard: string[] = [];
  ring.add(life(1));
  const stop = ring.follow((line) => heard.push(line));
  ring.add(life(2));
  stop?.();
  ring.add(life(3));
  expect(heard).toEqual(['{"attempt":2}\n']);
  expect(ring.lines).toHaveLength(3);
});

test("it keeps the last ones, of both sides", () => {
  const ring = new LifeRing();
  for (let at = 0; at < 3 * MAX_KEPT_LIVES; at++) ring.add(life(at));
  expect(ring.lines.length).toBeLessThanOrEqual(2 * MAX_KEPT_LIVES);
  expect(ring.lines.length).toBeGreaterThan(MAX_KEPT_LIVES);
  expect(ring.lines.at(-1)).toBe(`{"attempt":${3 * MAX_KEPT_LIVES - 1}}\n`);
});

test("no more than so many follow", () => {
  const ring = new LifeRing();
  const stops = Array.from({ length: 16 }, () => ring.follow(() => undefined));
  expect(stops.every((stop) => stop !== null)).toBe(true);
  expect(ring.follow(() => undefined)).toBeNull();
});

test("a commit of the primary is remembered with its time, those of locations and the oldest are not", () => {
  const ring = new LifeRing();
  const told = (side: Life["side"], at: number): Life => ({ side, atMs: at, commit: commitOf(at) }) as Life;
  ring.add(told("location", 1));
  ring.add(told("primary", 2));
  expect([1, 2, 3].map((at) => ring.writtenAtMs(commitOf(at)))).toEqual([null, 2, null]);
  for (let at = 3; at <= MAX_KEPT_LIVES + 2; at++) ring.add(told("primary", at));
  expect([2, 3].map((at) => ring.writtenAtMs(commitOf(at)))).toEqual([null, 3]);
});

function commitOf(sequence: number): CommitId {
  return `00000001-${String(sequence).padStart(12, "0")}` as CommitId;
}
