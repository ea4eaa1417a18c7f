import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import { LogRing, MAX_CHARACTERS, MAX_FOLLOWERS, MAX_LINES } from "./log-ring.ts";

test("the last lines are kept, by number and by size", () => {
  const ring = new LogRing();
  for (let i = 0; i < MAX_LINES + 10; i++) ring.add(i % 2 === 0 ? "debug" : "warn", `${i}\n`);
  expect(ring.last(3, "debug")).toEqual([`${MAX_LINES + 7}\n`, `${MAX_LINES + 8}\n`, `${MAX_LINES + 9}\n`]);
  expect(ring.last(2, "info")).toEqual([`${MAX_LINES + 7}\n`, `${MAX_LINES + 9}\n`]);
  expect(ring.last(2 * MAX_LINES, "debug")).toHaveLength(MAX_LINES);
  ring.add("error", "x".repeat(MAX_CHARACTERS));
  expect(ring.last(MAX_LINES, "debug")).toHaveLength(1);
  ring.add("error", "x".repeat(MAX_CHARACTERS + 1));
  expect(ring.last(MAX_LINES, "debug")).toEqual([]);
});

test("who follows is told of each line of the level, until it stops; no more than some follow", () => {
  const ring = new LogRing();
  const seen: string[] = [];
  const stop = ring.follow("warn", (line) => seen.push(line))!;
  ring.add("info", "1\n");
  ring.add("error", "2\n");
  stop();
  ring.add("error", "3\n");
  expect(seen).toEqual(["2\n"]);
  const stops = Array.from({ length: MAX_FOLLOWERS }, () => ring.follow("info", () => undefined));
  expect(stops.every((stopOne) => stopOne !== null)).toBe(true);
  expect(ring.follow("info", () => undefined)).toBe(null);
  stops[0]!();
  expect(ring.follow("info", () => undefined)).not.toBe(null);
});

test("a log keeps what it writes, and nothing below its level", () => {
  const written: string[] = [];
  const log = createLog("info", (line) => written.push(line));
  log.debug("dropped");
  log.info("kept", { number: 1 });
  expect(log.recent.last(10, "debug")).toEqual(written);
  expect(JSON.parse(written[0]!)).toMatchObject({ level: "info", event: "kept", number: 1 });
});
