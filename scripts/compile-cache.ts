/**
 * Before end-to-end tests: starts once what they start often, so that Node has kept what it compiles of it. A process
 * that is killed, as most of theirs are, keeps nothing.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

export function setup(): void {
  for (const main of ["lvi-server/src/main.ts", "cli/src/main.ts", "cli/e2e/crash/location-process.ts"]) {
    const path = fileURLToPath(new URL(`../packages/${main}`, import.meta.url));
    spawnSync(process.execPath, ["--conditions=source", path, "--help"], { stdio: "ignore" });
  }
}
