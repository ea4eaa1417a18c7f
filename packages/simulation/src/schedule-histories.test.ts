import { expect, test } from "vitest";
import { simulateSchedules } from "./schedule-histories.ts";

test(
  "a tick becomes one task, over kills, takeovers, clocks that are set, deployments and pauses",
  { timeout: 300_000 },
  () => {
    const sum = { ticks: 0, complete: 0, kills: 0, replaced: 0, days: 0 };
    for (let seed = 1; seed <= 40; seed++) {
      const { problems, ...counts } = simulateSchedules({ seed });
      expect({ seed, problems }).toEqual({ seed, problems: [] });
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
    }
    // The histories have all of it.
    expect(sum.complete).toBeGreaterThan(1_000);
    for (const count of Object.values(sum)) expect(count).toBeGreaterThan(20);
  },
);
