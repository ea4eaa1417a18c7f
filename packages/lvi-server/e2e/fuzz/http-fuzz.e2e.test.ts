/** A short run of `pnpm fuzz:http`, each time under another seed, and what it once found. */
import { expect, test } from "vitest";
import { startFuzzed } from "./fuzzed-process.ts";
import { HttpFuzzer, MEMORY_LIMIT_BYTES } from "./http-fuzzer.ts";
import { Random } from "@radical/history";

const BATCHES = 8;

test("whatever is sent: the server lives, holds nothing, does nothing twice", async () => {
  const seed = Math.trunc(Math.random() * 2 ** 31);
  const server = await startFuzzed();
  const fuzzer = new HttpFuzzer(server, server.module, new Random(seed));
  try {
    for (let batch = 0; batch < BATCHES; batch++) {
      await fuzzer.batch().catch((error: unknown) => {
        throw new Error(`in batch ${batch} of seed ${seed}: ${String(error)}`, { cause: error });
      });
    }
    const { actions, statuses, largestMemoryBytes } = fuzzer.report;
    // It has come to where it should: refused for all reasons, and executed.
    for (const status of [200, 400, 401, 404, 413]) expect(statuses[status], `seed ${seed}`).toBeGreaterThan(0);
    expect(Object.values(actions).reduce((total, count) => total + count, 0)).toBe(BATCHES * 60);
    expect(largestMemoryBytes).toBeLessThan(MEMORY_LIMIT_BYTES);
  } finally {
    fuzzer.close();
    await server.process.kill("SIGKILL");
  }
});
