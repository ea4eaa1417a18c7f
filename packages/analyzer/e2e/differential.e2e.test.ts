/** Node and workerd perform the same executions, and show the same. `pnpm differential` is the long version. */
import { expect, test } from "vitest";
import {
  compareHosts,
  limitsProgram,
  passwordsProgram,
  randomDifferentialProgram,
  templatePrograms,
  type DifferentialCounts,
} from "../src/testing/differential.ts";
import { startWorker } from "../src/testing/workerd.ts";

const OUTCOMES = ["result", "abort", "assertion_failed", "out_of_fuel", "stack_overflow", "out_of_memory"];

test("reads, writes, outcome and fuel are the same in Node and in workerd", { timeout: 300_000 }, async () => {
  const written = counted();
  const programs = [...templatePrograms(2), limitsProgram(2, true), limitsProgram(2, false)];
  expect(await compareHosts(programs, 1, written)).toEqual([]);
  expect(written.executions).toBeGreaterThan(1_000);
  expect([...written.outcomes.keys()]).toEqual(expect.arrayContaining(OUTCOMES));

  // A program costs more to build than a thousand executions of it take.
  const random = counted();
  const randomPrograms = [0, 1, 3].map((seed) => randomDifferentialProgram(100, seed));
  expect(await compareHosts(randomPrograms, 1, random)).toEqual([]);
  expect(random.executions).toBeGreaterThan(5_000);
});

test("both hosts hash passwords to the same bytes", { timeout: 300_000 }, async () => {
  const counts = counted();
  expect(await compareHosts([passwordsProgram(4)], 1, counts)).toEqual([]);
  expect(counts.outcomes.get("result")).toBeGreaterThan(5);
  expect(counts.outcomes.get("out_of_fuel")).toBeGreaterThan(0);
});

test(
  "workerd hashes passwords natively, and the portable way gives the same bytes there",
  { timeout: 60_000 },
  async () => {
    const worker = await startWorker(
      `
    import { nativeScrypt, portableScrypt } from "../../../wasm-host/src/scrypt.ts";
    const text = (value) => new TextEncoder().encode(value);
    const digits = (scrypt, ...cost) => Array.from(scrypt(text("pleaseletmein"), text("SodiumChloride"), ...cost), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const cost = { cost: 2 ** 14, parallelization: 1 };
    const largest = { cost: 2 ** 15, parallelization: 1 };
    export default {
      fetch: () => Response.json([digits(nativeScrypt(), cost), digits(portableScrypt, cost), digits(nativeScrypt(), largest) === digits(portableScrypt, largest)]),
    };`,
      {},
    );
    try {
      const hash = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2";
      expect(await (await fetch(worker.url)).json()).toEqual([hash, hash, true]);
    } finally {
      await worker.close();
    }
  },
);

function counted(): DifferentialCounts {
  return { programs: 0, executions: 0, outcomes: new Map() };
}
