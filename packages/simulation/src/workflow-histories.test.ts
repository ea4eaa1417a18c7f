import { expect, test } from "vitest";
import { noCounts, simulateWorkflows } from "./workflow-histories.ts";

test("every workflow comes to one end by one journal, and each of its steps happens once", { timeout: 300_000 }, () => {
  const sum = noCounts();
  for (let seed = 1; seed <= 300; seed++) {
    const { problems, ...counts } = simulateWorkflows({ seed });
    expect({ seed, problems }).toEqual({ seed, problems: [] });
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
  }
  // The histories have all of it.
  for (const count of Object.values(sum)) expect(count).toBeGreaterThan(50);
});

test("so it does if the server is killed before any one of its effects", { timeout: 300_000 }, () => {
  const sum = noCounts();
  for (const seed of [10, 18, 20, 29]) {
    const { effects } = simulateWorkflows({ seed, killAt: Infinity });
    for (let killAt = 1; killAt <= effects; killAt++) {
      const { problems, ...counts } = simulateWorkflows({ seed, killAt });
      expect({ seed, killAt, problems, kills: counts.kills }).toEqual({ seed, killAt, problems: [], kills: 1 });
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
    }
  }
  // The histories have all of it.
  for (const [name, count] of Object.entries(sum)) expect([name, count > 50]).toEqual([name, true]);
});
