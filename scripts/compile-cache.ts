/**
 * Before end-to-end tests: starts once what they start often, so that Node has kept what it compiles of it. A process
 * that is killed, as most of theirs are, keeps nothing. And bundles the compiler, which they load nearly as often.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

const APP = new URL("../packages/app/", import.meta.url);

export function setup(): void {
  const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL("scripts/bundle-compiler.mjs", APP))]);
  if (status !== 0) throw new Error(stderr.toString());
  process.env["RADICAL_COMPILER_OF_SOURCES"] = new URL("dist/compiler/analyzer.js", APP).href;
  const starts = [
    ["lvi-server/src/main.ts", "--help"],
    ["cli/src/main.ts", "--help"],
    ["local/src/location-process.ts"],
  ];
  for (const [main, ...args] of starts) {
    const path = fileURLToPath(new URL(`../packages/${main}`, import.meta.url));
    spawnSync(process.execPath, ["--conditions=source", path, ...args], { stdio: "ignore" });
  }
}
