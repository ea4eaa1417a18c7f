import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(`${folder}/${path}`, "utf8");

/** TypeScript's complaints about a project, without the paths. */
function typeCheck(project: string): string[] {
  const compiler = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));
  const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", `${folder}/fixtures/${project}`], {
    encoding: "utf8",
  });
  if (status !== 0 && stdout === "") throw new Error(`the compiler did not run: ${status}`);
  return stdout.split("\n").flatMap((line) => /\((\d+),\d+\): error (.*)$/.exec(line)?.slice(1, 3).join(" ") ?? []);
}

test("editors have nothing against what handlers may do", () => {
  expect(typeCheck("handlers")).toEqual([]);
});

test("editors find mistakes", () => {
  expect(typeCheck("mistakes")).toMatchInlineSnapshot(`
    [
      "2 TS2305: Module '"@radical/sdk"' has no exported member 'nothing'.",
      "7 TS2322: Type 'number' is not assignable to type 'string'.",
      "8 TS2339: Property 'nothing' does not exist on type 'typeof console'.",
      "8 TS2304: Cannot find name 'setTimeout'.",
      "9 TS2322: Type 'string | null' is not assignable to type 'string'.",
    ]
  `);
});

test("editors see what the SDK exports", () => {
  const names = (text: string): string[] =>
    [...text.matchAll(/^export (?:declare )?(?:class|function) (\w+)/gm)].map((match) => match[1]!).toSorted();
  expect(names(read("editor/index.d.ts"))).toEqual(names(read("assembly/index.ts")));
});
