/** TypeScript, with the typings that editors have for handlers, against programs that the build accepts. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formPair } from "./form-pairs.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/", import.meta.url));
const TYPINGS = fileURLToPath(new URL("../../../sdk/editor/", import.meta.url));

/** Commas in loops, holes in lists, entries of a `Map`, operators and constructors of classes, literals that leave out fields. */
const ONLY_IN_ASSEMBLYSCRIPT: ReadonlySet<string> = new Set([
  "constructs.ts TS2695: Left side of comma operator is unused and has no side effects.",
  "functions.ts TS2322: Type '(number | undefined)[]' is not assignable to type 'number[]'.",
  "functions.ts TS2322: Type '(string | undefined)[]' is not assignable to type '(string | null)[]'.",
  "library.ts TS7052: Element implicitly has an 'any' type because type 'Map<string, number>' has no index signature. Did you mean to call 'map.set'?",
  "library.ts TS7052: Element implicitly has an 'any' type because type 'Map<string, number>' has no index signature. Did you mean to call 'map.get'?",
  "objects.ts TS2693: 'Deep' only refers to a type, but is being used as a value here.",
  "objects.ts TS2365: Operator '+' cannot be applied to types 'Vector' and 'Vector'.",
  "objects.ts TS7053: Element implicitly has an 'any' type because expression of type '1' can't be used to index type 'Vector'.",
  "objects.ts TS7053: Element implicitly has an 'any' type because expression of type '0' can't be used to index type 'Vector'.",
  "objects.ts TS2339: Property 'x' does not exist on type 'number'.",
  "objects.ts TS2678: Type 'Vector' is not comparable to type 'number'.",
  "objects.ts TS2741: Property 'next' is missing in type '{ text: string; n: number; }' but required in type 'Literal'.",
  "objects.ts TS2741: Property 'n' is missing in type '{ next: Literal; text: string; }' but required in type 'Literal'.",
]);

let project: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "radical-typings-"));
  const compilerOptions = { moduleDetection: "force", paths: { "@radical/sdk": [join(TYPINGS, "index.d.ts")] } };
  const config = { extends: join(TYPINGS, "tsconfig.json"), compilerOptions, include: ["."] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
});
afterEach(() => rmSync(project, { recursive: true }));

/** The complaints, each with the file in which it is: `forms.ts TS2322: Type …`. */
function complaints(): readonly string[] {
  const compiler = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));
  const ran = spawnSync(process.execPath, [compiler, "-p", project, "--pretty", "false"], {
    cwd: project,
    encoding: "utf8",
  });
  if (ran.status !== 0 && ran.stdout === "") throw new Error(`the compiler did not run: ${ran.status}`);
  return Array.from(
    ran.stdout.matchAll(/^(?:.*\/)?([^/\n]+)\(\d+,\d+\): error (.*)$/gm),
    ([, file = "", words = ""]) => `${file} ${words}`,
  );
}

test("fixtures have no red line but for forms that only AssemblyScript has", () => {
  for (const name of ["constructs", "dispatch", "forum", "hotel", "social", "start", "workflows"])
    for (const part of ["handlers", "lib"]) {
      const folder = join(FIXTURES, name, part);
      if (existsSync(folder)) cpSync(folder, join(project, name, part), { recursive: true });
    }
  expect(complaints().filter((words) => !ONLY_IN_ASSEMBLYSCRIPT.has(words))).toEqual([]);
});

test("random programs of everyday forms have no red line", () => {
  for (let seed = 1; seed <= 60; seed++)
    for (const [path, text] of Object.entries(formPair(seed).short)) {
      const file = join(project, String(seed), path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  // TypeScript compares no number with one that may be absent; the build does, and so does JavaScript.
  const isComparison = (words: string): boolean => / TS(2532|18048): .*possibly 'undefined'/.test(words);
  expect(complaints().filter((words) => !isComparison(words))).toEqual([]);
});
