/**
 * `pnpm sim --seed N --histories M [--forever]`: runs histories from a seed on, each twice, and ends at the first one
 * that is wrong, with the end of its trace.
 */
import { parseArgs } from "node:util";
import { EdgeLocation } from "./edge-location.ts";
import { ModelLocation } from "./location.ts";
import { simulate, type SimulationResult } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    histories: { type: "string", default: "100" },
    forever: { type: "boolean", default: false },
  },
});
const first = Number(values.seed);
const count = values.forever ? Infinity : Number(values.histories);
if (!Number.isInteger(first) || Number.isNaN(count)) throw new Error("--seed and --histories are whole numbers");

/** Lines of the trace that are shown. */
const SHOWN = 200;
const startedAtMs = performance.now();
const faults = new Map<string, number>();
let done = 0;
for (; done < count; done++) {
  const seed = first + done;
  const location = seed % 2 === 0 ? EdgeLocation : ModelLocation;
  const result: SimulationResult = simulate({ seed, location });
  const problems = [...result.problems];
  if (simulate({ seed, location }).trace !== result.trace) problems.push("the second run of the seed took another way");
  for (const [name, times] of Object.entries(result.faults)) faults.set(name, (faults.get(name) ?? 0) + times);
  if (problems.length > 0) {
    process.stdout.write(`${result.tail.slice(-SHOWN).join("\n")}\nseed ${seed}: ${problems.join("; ")}\n`);
    process.exitCode = 1;
    break;
  }
  if (done % 1_000 === 999) report();
}
report();

function report(): void {
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const counts = [...faults].map(([name, times]) => `${times} × ${name}`).join(", ");
  process.stdout.write(`${done} histories in ${seconds.toFixed(1)} s; ${counts}\n`);
}
