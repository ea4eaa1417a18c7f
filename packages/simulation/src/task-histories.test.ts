import { expect, test } from "vitest";
import { simulateTasks } from "./task-histories.ts";

test("every task happens exactly once, in the order of its lane, whatever fails", { timeout: 300_000 }, () => {
  const sum = {
    answered: 0,
    tasks: 0,
    attempts: 0,
    dead: 0,
    cancelled: 0,
    ordered: 0,
    kills: 0,
    takeovers: 0,
    repeats: 0,
  };
  for (let seed = 1; seed <= 800; seed++) {
    const { problems, ...counts } = simulateTasks({ seed });
    expect({ seed, problems }).toEqual({ seed, problems: [] });
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
  }
  // The histories have all of it.
  for (const count of Object.values(sum)) expect(count).toBeGreaterThan(50);
});

test("so it does if the server is killed before any one of its effects", { timeout: 300_000 }, () => {
  let kills = 0;
  for (const seed of [1, 2, 3, 4, 5]) {
    const { effects } = simulateTasks({ seed, killAt: Infinity });
    for (let killAt = 1; killAt <= effects; killAt++) {
      const { problems, ...counts } = simulateTasks({ seed, killAt });
      expect({ seed, killAt, problems }).toEqual({ seed, killAt, problems: [] });
      kills += counts.kills;
    }
    expect(kills).toBeGreaterThanOrEqual(effects);
  }
});
