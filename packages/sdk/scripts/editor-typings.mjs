/**
 * Writes `editor/assemblyscript.d.ts`: the typings that the AssemblyScript in use ships for editors, with one change,
 * because TypeScript 7 takes no alias for the built-in type `Number`. Part of the build, and of packing the
 * package.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ALIAS = "declare type Number = _Float;";
const INTERFACE = "interface Number extends _Float {}";

const original = readFileSync(fileURLToPath(import.meta.resolve("assemblyscript/std/assembly/index.d.ts")), "utf8");
if (!original.includes(ALIAS))
  throw new Error(`AssemblyScript's typings no longer say \`${ALIAS}\`: adapt this script`);
const header =
  "// The typings of AssemblyScript (Apache-2.0, The AssemblyScript Authors); `Number` is made an interface.\n";
writeFileSync(new URL("../editor/assemblyscript.d.ts", import.meta.url), header + original.replace(ALIAS, INTERFACE));
