/** `pnpm sim:mutants`: how many histories it takes to catch each known-wrong variant, from a seed on. */
import { commandLine } from "@radical/command-line";
import { MUTANTS } from "./mutants.ts";
import { checkMutants } from "./mutation.ts";
import { type Verdict, wordsOf } from "./verdict.ts";

const { from, most, threads, only } = commandLine({
  name: "pnpm sim:mutants",
  words: "Say how many histories it takes to catch each known-wrong variant of the protocol.",
  options: {
    from: { kind: "number", default: 1, least: 0, words: "the first seed" },
    most: { kind: "number", default: 5_000, least: 1, words: "histories after which a variant counts as not caught" },
    threads: { kind: "number", default: 2, least: 1, words: "how many variants at a time" },
    only: { kind: "list", placeholder: "words", words: "the variants with these words in their names; none: all" },
  },
  exitCodes: ["all are caught", "one is not, or throws", "wrong options"],
  examples: [
    ["pnpm sim:mutants", "all, from the seed with which the test suite begins"],
    ["pnpm sim:mutants --only span --only lease", "some of them"],
    ["pnpm sim:mutants --from 50000 --most 20000", "on other seeds: whether what a variant says of itself is luck"],
  ],
});
const verdicts = await checkMutants(
  threads,
  from,
  most,
  MUTANTS.map(({ name }) => name).filter((name) => only.length === 0 || only.some((words) => name.includes(words))),
);
const rankOf = ({ kind, histories }: Verdict): number => (kind === "caught" ? histories : Infinity);
for (const verdict of verdicts.toSorted((a, b) => rankOf(a) - rankOf(b) || 0)) {
  const histories = verdict.kind === "caught" ? String(verdict.histories) : "—";
  process.stdout.write(`${histories.padStart(6)}  ${verdict.name}: ${wordsOf(verdict)}\n`);
}
process.exitCode = verdicts.some(({ kind }) => kind !== "caught") ? 1 : 0;
