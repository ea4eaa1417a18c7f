import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(`${folder}/${path}`, "utf8");

/** TypeScript's complaints about a project, without the paths. */
function typeCheck(project: string): string[] {
  const compiler = fileURLToPath(new URL("../bin/tsc", import.meta.resolve("typescript/package.json")));
  const { stdout } = spawnSync(process.execPath, [compiler, "-p", `${folder}/fixtures/${project}`], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => /\((\d+),\d+\): error (.*)$/.exec(line)?.slice(1, 3).join(" ") ?? []);
}

test("editors have nothing against what handlers may do", () => {
  expect(typeCheck("handlers")).toEqual([]);
});

test("editors find mistakes", () => {
  expect(typeCheck("mistakes")).toMatchInlineSnapshot(`[]`);
});

test("the typings are AssemblyScript's, but for the one change", () => {
  const original = readFileSync(fileURLToPath(import.meta.resolve("assemblyscript/std/assembly/index.d.ts")), "utf8");
  const changed = original.replace("declare type Number = _Float;", "interface Number extends _Float {}");
  expect(changed).not.toBe(original);
  expect(read("editor/assemblyscript.d.ts").split("\n").slice(2).join("\n")).toBe(changed);
});

test("editors see what the SDK exports", () => {
  const names = (text: string): string[] =>
    [...text.matchAll(/^export (?:declare )?(?:class|function) (\w+)/gm)].map((match) => match[1]!).toSorted();
  expect(names(read("editor/index.d.ts"))).toEqual(names(read("assembly/index.ts")));
});
