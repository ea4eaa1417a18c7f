/** `pnpm mutants`: which rules of the analysis can be broken, and what notices. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine } from "@radical/command-line";
import { writeKnownCases } from "./known-cases.ts";
import { verdictsOn } from "./mutation-threads.ts";
import { MUTANTS, readAnchors, variantOf } from "./mutants.ts";
import type { Caught } from "./mutation.ts";

const { only, json, threads, write } = commandLine({
  name: "pnpm mutants",
  words: "Break each rule of the analysis in turn, and see which handler of the fixtures notices.",
  options: {
    only: { kind: "text", placeholder: "text", words: "only rules and files with this text in them" },
    threads: { kind: "number", default: 2, least: 1, words: "how many at a time" },
    write: { kind: "flag", words: "note what notices each, which is what the test suite tries" },
    json: { kind: "flag", words: "the verdicts as JSON instead of a table" },
  },
  exitCodes: ["every mutant is caught", "one survives, or can't be made", "wrong options"],
  examples: [
    ["pnpm mutants", "all"],
    ["pnpm mutants --only widening", "some"],
    ["pnpm mutants --only 'set in rounds' --write", "one that its known case does not notice any more"],
  ],
});
const anchors = readAnchors();
const faults = anchors.problems(MUTANTS.map(variantOf));
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exit(1);
const SOURCES = fileURLToPath(new URL("../", import.meta.url));
const mutants = MUTANTS.map((mutant) => {
  const files = [...anchors.changes(variantOf(mutant)).keys()];
  return { mutant, rule: mutant.rule, file: files.map((file) => path.relative(SOURCES, file)).join(", ") };
});
const chosen = mutants.filter(({ rule, file }) => only === null || rule.includes(only) || file.includes(only));
let done = 0;
const verdicts = await verdictsOn(
  chosen.map(({ mutant }) => mutant),
  threads,
  new Map(),
  ({ rule, caughtBy, seconds }) => {
    const noticed = caughtBy === null ? "NOTHING NOTICES" : `${caughtBy.sign}: ${wordsOf(caughtBy)}`;
    process.stderr.write(`${++done} of ${chosen.length}: ${rule}: ${noticed} (${seconds.toFixed(1)} s)\n`);
  },
);
if (write)
  writeKnownCases(
    MUTANTS.map(({ rule }) => rule),
    verdicts,
  );
if (json) console.log(JSON.stringify(verdicts));
else {
  console.log("| rule | in | shows as | caught by | seconds |\n| --- | --- | --- | --- | ---: |");
  for (const { rule, file } of chosen) {
    const verdict = verdicts.find((other) => other.rule === rule);
    const noticed = verdict?.caughtBy ? wordsOf(verdict.caughtBy) : "**nothing**";
    console.log(
      `| ${rule} | ${file} | ${verdict?.caughtBy?.sign ?? ""} | ${noticed} | ${verdict?.seconds.toFixed(1) ?? ""} |`,
    );
  }
  const caught = verdicts.filter(({ caughtBy }) => caughtBy !== null).length;
  const thrown = verdicts.filter(({ caughtBy }) => caughtBy?.sign === "throws").length;
  console.log(`\n${caught} of ${chosen.length} are caught, ${thrown} of them only because they throw.`);
}
process.exitCode = verdicts.every(({ caughtBy }) => caughtBy !== null) ? 0 : 1;

function wordsOf({ handler, words }: Caught): string {
  return words.startsWith(handler) ? words : `${handler} ${words}`;
}
