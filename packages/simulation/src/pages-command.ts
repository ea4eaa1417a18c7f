/** `pnpm sim:pages`: writes `docs/internals/transcripts.md`, and the table of variants in `docs/internals/verification.md`. */
import { readFileSync, writeFileSync } from "node:fs";
import { withMutantTable } from "./pages.ts";
import { transcripts } from "./stories.ts";

const DOCS = new URL("../../../docs/internals/", import.meta.url);
writeFileSync(new URL("transcripts.md", DOCS), transcripts());
const verification = new URL("verification.md", DOCS);
writeFileSync(verification, withMutantTable(readFileSync(verification, "utf8")));
