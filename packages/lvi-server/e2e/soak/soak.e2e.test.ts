/** A short run of `pnpm soak`. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { Soak, SOAK_MEMORY_MB } from "./soak.ts";

const TURNS = 2;

test.skipIf(!existsSync("/proc/self/status"))(
  "a server with little memory lives, whatever it is loaded with, and loses nothing",
  async () => {
    const soak = new Soak();
    try {
      await soak.start();
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      for (let turn = 0; turn < TURNS; turn++) await soak.turn();
      const { answers, peakMb, tasks, turns } = await soak.end();
      expect(turns).toBe(TURNS);
      expect(tasks).toBeGreaterThan(0);
      expect(peakMb).toBeLessThan(SOAK_MEMORY_MB);
      // It has come to where requests have no room.
      const refused = ["refused over_budget", "refused busy", "503 primary_busy"].map((words) => answers[words] ?? 0);
      expect(Math.max(...refused)).toBeGreaterThan(0);
      expect(answers["executed result"]).toBeGreaterThan(0);
    } finally {
      await soak.close();
    }
  },
);
