/**
 * `pnpm sim`: runs histories from a seed on, each twice. It ends at the first one that is wrong, with a smaller case of it
 * and its trace.
 */
import { commandLine } from "@radical/command-line";
import { isOther, OTHER_KINDS, type Tally, tallies, together } from "./batch.ts";
import { minimize } from "./minimize.ts";
import { WEATHERS } from "./weather.ts";

const {
  seed: first,
  threads,
  weather: kind,
  once,
  ...wanted
} = commandLine({
  name: "pnpm sim",
  words:
    "Run histories of the protocol under faults, each under a seed of its own and twice, and check what came of them.\nAt the first one that is wrong a smaller case is looked for, and shown with its trace.",
  options: {
    seed: { kind: "number", default: 1, least: 0, words: "the first seed; same seed, same history" },
    histories: { kind: "number", default: 1_000, least: 1, words: "how many" },
    threads: { kind: "number", default: 2, least: 1, words: "how many at a time" },
    weather: {
      kind: "choice",
      of: [...WEATHERS, ...OTHER_KINDS],
      default: null,
      words:
        "one kind of weather for all, instead of that of their seeds; indexes: an index is built and dropped while others write; tasks: handlers enqueue others; services, schedules, workflows: each in a world of its own",
    },
    once: { kind: "flag", words: "each runs once instead of twice: twice as many in the same time" },
    forever: { kind: "flag", words: "until one is wrong, whatever --histories says" },
  },
  exitCodes: ["all are right", "one is wrong", "wrong options"],
  examples: [
    ["pnpm sim --histories 100000", "a long run"],
    ["pnpm sim --seed 1234 --histories 1", "one history again"],
    ["pnpm sim --seed 2000000 --histories 100000 --weather ranges", "only scans, inserts and deletes of rows"],
    ["pnpm sim --seed 1000000 --histories 100000 --weather indexes", "only builds of an index"],
    ["pnpm sim --seed 1000000 --histories 100000 --weather tasks", "only tasks"],
    ["pnpm sim --seed 1000000 --histories 100000 --weather workflows", "only workflows"],
    ["pnpm sim --seed 1000000 --forever", "a soak, on seeds that nobody has run"],
  ],
});
const count = wanted.forever ? Infinity : wanted.histories;

/** How many histories lie between two reports. */
const REPORTED = 10_000;
const startedAtMs = performance.now();
let total = together([]);

await Promise.all(
  Array.from({ length: threads }, async (_, thread) => {
    for await (const tally of tallies({ from: first + thread, to: first + count, step: threads, kind, once })) {
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
  if (isOther(kind)) {
    process.stdout.write(`seed ${seed}: ${problems.join("; ")}\n`);
    continue;
  }
  const small = minimize(seed, kind);
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
