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
