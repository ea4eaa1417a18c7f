/** `pnpm sim:pages`: writes `docs/internals/transcripts.md`, and the table of variants in `docs/internals/verification.md`. */
import { readFileSync, writeFileSync } from "node:fs";
import { commandLine } from "@radical/command-line";
import { withMutantTable } from "./pages.ts";
import { transcripts } from "./stories.ts";

commandLine({
  name: "pnpm sim:pages",
  words: "Write what the documents have from the simulation: the transcripts and the table of wrong variants.",
  options: {},
  exitCodes: ["written"],
  examples: [["pnpm sim:pages", "after a change of the cores that a test of the pages has noticed"]],
});

const DOCS = new URL("../../../docs/internals/", import.meta.url);
writeFileSync(new URL("transcripts.md", DOCS), transcripts());
const verification = new URL("verification.md", DOCS);
writeFileSync(verification, withMutantTable(readFileSync(verification, "utf8")));
