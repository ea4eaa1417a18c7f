/** Parts of the documents that the simulation writes about itself. */
import { type Mutant, MUTANTS } from "./mutants.ts";

/** The table of wrong variants. */
function mutantTable(): string {
  const rows = MUTANTS.map((mutant) => `| ${mutant.name} | ${mutant.within} | ${histories(mutant)} |`);
  return ["| variant | histories | of |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The histories that catch it; empty: any. */
function histories({ weather, isOfIndexes, isOfTasks, isOfServices, isOfSchedules, isOfWorkflows }: Mutant): string {
  if (isOfIndexes === true) return "indexes";
  if (isOfTasks === true) return "tasks";
  if (isOfServices === true) return "services";
  if (isOfWorkflows === true) return "workflows";
  return isOfSchedules === true ? "schedules" : (weather ?? "");
}

/** `docs/internals/verification.md` with its table. */
export function withMutantTable(page: string): string {
  return page.replace(/(<!-- mutants -->\n).*(<!-- \/mutants -->)/s, `$1\n${mutantTable()}\n\n$2`);
}
