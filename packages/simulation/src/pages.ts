/** Parts of the documents that the simulation writes about itself. */
import { MUTANTS } from "./mutants.ts";

/** The table of wrong variants. */
function mutantTable(): string {
  const rows = MUTANTS.map(
    ({ name, within, weather, isOfIndexes, isOfTasks, isOfServices }) =>
      `| ${name} | ${within} | ${isOfServices === true ? "services" : isOfTasks === true ? "tasks" : isOfIndexes === true ? "indexes" : (weather ?? "")} |`,
  );
  return ["| variant | histories | of |", "| --- | --- | --- |", ...rows].join("\n");
}

/** `docs/internals/verification.md` with its table. */
export function withMutantTable(page: string): string {
  return page.replace(/(<!-- mutants -->\n).*(<!-- \/mutants -->)/s, `$1\n${mutantTable()}\n\n$2`);
}
