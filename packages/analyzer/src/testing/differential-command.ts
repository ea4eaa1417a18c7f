/** `pnpm differential`: the differential test of the two hosts at length. Ctrl-C ends it with the totals so far. */
import { commandLine, type Command, type Option } from "@radical/command-line";
import {
  compareHosts,
  limitsProgram,
  randomDifferentialProgram,
  templatePrograms,
  type DifferentialCounts,
  type DifferentialProgram,
} from "./differential.ts";

const COMMAND = {
  name: "pnpm differential",
  words:
    "Run handlers in Node and in workerd, and compare: reads, writes, outcome and fuel must be the same. The handlers are\nthose of the templates, some that end at each limit, and random ones.",
  options: {
    programs: { kind: "number", default: 200, least: 0, words: "how many random programs" },
    seed: { kind: "number", default: 0, least: 0, words: "of the first; same seed, same program" },
    runs: { kind: "number", default: 10, least: 1, words: "stores for each handler, with up to three calls on each" },
  },
  exitCodes: ["no difference", "a difference", "wrong options"],
  examples: [
    ["pnpm differential --programs 5000", "a long run"],
    ["pnpm differential --programs 1 --seed 1234 --runs 50", "one program again"],
  ],
} as const satisfies Command<Readonly<Record<string, Option>>>;

/** In one workerd. */
const PROGRAMS_TOGETHER = 10;

const { programs, seed, runs } = commandLine(COMMAND);
const counts: DifferentialCounts = { programs: 0, executions: 0, outcomes: new Map() };
const started = performance.now();
let differences = 0;

const tell = (): void => {
  const outcomes = [...counts.outcomes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, count]) => `${count} ${kind}`);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `${counts.programs} programs, ${counts.executions} executions, ${differences} differences, ${seconds} s: ${outcomes.join(", ")}`,
  );
};
const compare = async (some: readonly DifferentialProgram[]): Promise<void> => {
  for (const { program, execution, node, workerd } of await compareHosts(some, seed, counts)) {
    differences++;
    console.log(`${program}: ${JSON.stringify(execution)}\n  node    ${node}\n  workerd ${workerd}`);
  }
  tell();
};

process.once("SIGINT", () => {
  tell();
  process.exit(differences === 0 ? 0 : 1);
});
await compare([...templatePrograms(runs), limitsProgram(runs, true), limitsProgram(runs, false)]);
for (let next = seed; next < seed + programs; next += PROGRAMS_TOGETHER) {
  const count = Math.min(PROGRAMS_TOGETHER, seed + programs - next);
  await compare(Array.from({ length: count }, (_, index) => randomDifferentialProgram(runs, next + index)));
}
process.exitCode = differences === 0 ? 0 : 1;
