/**
 * `pnpm sim:mutants [--from N] [--most M]`: how many histories it takes to catch each known-wrong variant, from a seed on.
 */
import { parseArgs } from "node:util";
import { checkMutants } from "./mutation.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    most: { type: "string", default: "5000" },
    threads: { type: "string", default: "2" },
  },
});
const verdicts = await checkMutants(Number(values.threads), Number(values.from), Number(values.most));
for (const { name, histories, problem } of verdicts.toSorted((a, b) => (a.histories ?? 1e9) - (b.histories ?? 1e9)))
  process.stdout.write(`${String(histories ?? "—").padStart(6)}  ${name}: ${problem ?? "not caught"}\n`);
process.exitCode = verdicts.some(({ histories }) => histories === null) ? 1 : 0;
