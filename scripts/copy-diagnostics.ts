/** Copies the pages about diagnostics into the CLI before it is packed (its `prepack`), for `radical explain`. */
import { cpSync, rmSync } from "node:fs";

const from = new URL("../docs/diagnostics/", import.meta.url);
const to = new URL("../packages/cli/diagnostics/", import.meta.url);

rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true });
