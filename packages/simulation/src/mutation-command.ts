/** `pnpm sim:mutants`: how many histories it takes to catch each known-wrong variant, from a seed on. */
import { commandLine } from "@radical/command-line";
import { checkMutants } from "./mutation.ts";

const { from, most, threads } = commandLine({
  name: "pnpm sim:mutants",
  words: "Say how many histories it takes to catch each known-wrong variant of the protocol.",
  options: {
    from: { kind: "number", default: 1, least: 0, words: "the first seed" },
    most: { kind: "number", default: 5_000, least: 1, words: "histories after which a variant counts as not caught" },
    threads: { kind: "number", default: 2, least: 1, words: "how many variants at a time" },
  },
  exitCodes: ["all are caught", "one is not", "wrong options"],
  examples: [
    ["pnpm sim:mutants", "all, from the seed with which the test suite begins"],
    ["pnpm sim:mutants --from 50000 --most 20000", "on other seeds: whether what a variant says of itself is luck"],
  ],
});
const verdicts = await checkMutants(threads, from, most);
for (const { name, histories, problem } of verdicts.toSorted((a, b) => (a.histories ?? 1e9) - (b.histories ?? 1e9)))
  process.stdout.write(`${String(histories ?? "—").padStart(6)}  ${name}: ${problem ?? "not caught"}\n`);
process.exitCode = verdicts.some(({ histories }) => histories === null) ? 1 : 0;
