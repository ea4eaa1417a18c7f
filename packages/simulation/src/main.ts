/**
 * `pnpm sim --seed N --histories M [--threads T] [--forever]`: runs histories from a seed on, each twice, and ends at the
 * first one that is wrong, with a smaller case of it and its trace.
 */
import { parseArgs } from "node:util";
import { type Tally, tallies, together } from "./batch.ts";
import { minimize } from "./minimize.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    histories: { type: "string", default: "1000" },
    threads: { type: "string", default: "2" },
    forever: { type: "boolean", default: false },
  },
});
const first = Number(values.seed);
const threads = Number(values.threads);
const count = values.forever ? Infinity : Number(values.histories);
if (!Number.isInteger(first) || !Number.isInteger(threads) || Number.isNaN(count))
  throw new Error("--seed, --histories and --threads are whole numbers");

/** How many histories lie between two reports. */
const REPORTED = 10_000;
const startedAtMs = performance.now();
let total = together([]);

await Promise.all(
  Array.from({ length: threads }, async (_, thread) => {
    for await (const tally of tallies({ from: first + thread, to: first + count, step: threads })) {
      const before = total.histories;
      total = together([total, tally]);
      if (Math.floor(before / REPORTED) < Math.floor(total.histories / REPORTED)) report(total);
      if (total.found.length > 0) break;
    }
  }),
);
report(total);
for (const [name, times] of [...total.counts].toSorted(([, a], [, b]) => b - a))
  process.stdout.write(`${String(times).padStart(10)} × ${name}\n`);
for (const { seed, problems } of total.found) {
  process.exitCode = 1;
  const small = minimize(seed);
  process.stdout.write(`${small.result?.lines.join("\n") ?? ""}\n`);
  process.stdout.write(`seed ${seed}: ${problems.join("; ")}\n`);
  const { seed: smallSeed, operations, without, problems: left } = small;
  process.stdout.write(
    `above: seed ${smallSeed}, ${operations} operations, without ${without.join(", ")}: ${left.join("; ")}\n`,
  );
}

function report({ histories, answered, applied }: Tally): void {
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1_000 / Math.max(1, histories);
  process.stdout.write(
    `${histories} histories, ${answered} answers, ${applied} executions in storage, ${seconds.toFixed(0)} s, ${cpuMs.toFixed(1)} ms of CPU each\n`,
  );
}
