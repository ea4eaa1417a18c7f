/** `pnpm mutants`: which rules of the analysis can be broken, and what notices. Exit code 1 if nothing does. */
import { allVerdicts } from "./mutation-threads.ts";
import { faultOf } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

const faults = MUTANTS.flatMap((mutant) => faultOf(mutant) ?? []);
for (const fault of faults) console.log(`can't be made: ${fault}`);
const verdicts = faults.length === 0 ? await allVerdicts() : [];
console.log("| rule | in | caught by |\n| --- | --- | --- |");
for (const { rule, file } of MUTANTS) {
  const verdict = verdicts.find((other) => other.rule === rule);
  console.log(`| ${rule} | ${file} | ${verdict?.caughtBy ?? "**nothing**"} |`);
}
process.exitCode = verdicts.length === MUTANTS.length && verdicts.every(({ caughtBy }) => caughtBy !== null) ? 0 : 1;
