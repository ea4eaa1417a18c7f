import { expect, test } from "vitest";
import { simulateServices } from "./service-histories.ts";

const nothingYet = () => ({
  calls: 0,
  lost: 0,
  done: 0,
  refused: 0,
  unknown: 0,
  dead: 0,
  kills: 0,
  probes: 0,
  effects: 0,
});

test("what is confirmed was done once, and nothing is done twice, whatever fails", { timeout: 300_000 }, () => {
  const sum = nothingYet();
  for (let seed = 1; seed <= 300; seed++) {
    const { problems, ...counts } = simulateServices({ seed });
    expect({ seed, problems }).toEqual({ seed, problems: [] });
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
  }
  // The histories have all of it.
  for (const [name, count] of Object.entries(sum)) expect([name, count > 50]).toEqual([name, true]);
});

test("so it is if the server is killed before any one of its effects", { timeout: 300_000 }, () => {
  const sum = nothingYet();
  for (const seed of [1, 2, 3, 4, 5]) {
    const { effects } = simulateServices({ seed, killAt: Infinity });
    for (let killAt = 1; killAt <= effects; killAt++) {
      const { problems, ...counts } = simulateServices({ seed, killAt });
      expect({ seed, killAt, problems, kills: counts.kills }).toEqual({ seed, killAt, problems: [], kills: 1 });
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
    }
  }
  // The histories have all of it.
  for (const [name, count] of Object.entries(sum)) expect([name, count > 50]).toEqual([name, true]);
});
