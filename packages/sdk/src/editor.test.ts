import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(`${folder}/${path}`, "utf8");

/** TypeScript's complaints about a project. */
function complaints(path: string): string[] {
  const compiler = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));
  const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", path], { cwd: path, encoding: "utf8" });
  if (status !== 0 && stdout === "") throw new Error(`the compiler did not run: ${status}`);
  return stdout.split("\n").filter((line) => line.includes(": error "));
}

/** Those about a fixture, without the paths. */
function typeCheck(fixture: string): string[] {
  return complaints(join(folder, "fixtures", fixture)).flatMap(
    (line) => /\((\d+),\d+\): error (.*)$/.exec(line)?.slice(1, 3).join(" ") ?? [],
  );
}

/** The code of a document that the build accepts: of a diagnostic's page its last section, of another page all. */
function acceptedIn(document: string): readonly (readonly [path: string, code: string])[] {
  const text = readFileSync(document, "utf8");
  const section = text.includes("\n## Example\n") ? (text.split(/^## Accepted$/m)[1] ?? "") : text;
  return Array.from(section.matchAll(/^```ts\n(.*?)^```/gms), ([, code = ""]) => [
    /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? "handlers/example.ts",
    code,
  ]);
}

test("editors have nothing against what handlers may do", () => {
  expect(typeCheck("handlers")).toEqual([]);
});

test("editors have nothing against what the documents say is accepted", () => {
  const docs = join(folder, "../../docs");
  const pages = readdirSync(join(docs, "diagnostics")).map((name) => join(docs, "diagnostics", name));
  const project = mkdtempSync(join(tmpdir(), "radical-accepted-"));
  try {
    let count = 0;
    for (const page of [...pages, join(docs, "language.md")])
      for (const [path, code] of acceptedIn(page)) {
        const file = join(project, basename(page, ".md"), path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, code);
        count++;
      }
    expect(count).toBeGreaterThan(80);
    const compilerOptions = {
      moduleDetection: "force",
      paths: { "@radical/sdk": [join(folder, "editor/index.d.ts")] },
    };
    const config = { extends: join(folder, "editor/tsconfig.json"), compilerOptions, include: ["."] };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
    expect(complaints(project)).toEqual([]);
  } finally {
    rmSync(project, { recursive: true });
  }
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

test("the words that editors show are those of the code", () => {
  const COMMENT = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(\w+)/g;
  // The comments of constructors are for editors: the code has them at the parameters.
  const words = (text: string): string[] =>
    Array.from(text.replaceAll(/^\/\/ @ts-ignore.*\n@final\n/gm, "").matchAll(COMMENT))
      .filter(([, , next]) => next !== "constructor")
      .map(([, comment = ""]) =>
        comment
          .replaceAll(/\n\s*\*/g, "")
          .replaceAll(/\s+/g, " ")
          .trim(),
      );
  const known = new Set([
    ...readdirSync(join(folder, "assembly")).flatMap((name) => words(read(`assembly/${name}`))),
    "The name, as it was given.",
  ]);
  const shown = words(read("editor/index.d.ts")).slice(1);
  expect(shown.length).toBeGreaterThan(60);
  expect(shown.filter((text) => !known.has(text))).toEqual([]);
});

test("editors see what the SDK exports", () => {
  const names = (text: string): string[] => {
    const declared = Array.from(text.matchAll(/^export (?:declare )?(?:class|function) (\w+)/gm), (match) => match[1]!);
    const passedOn = Array.from(text.matchAll(/^export \{ (.+) \} from/gm), (match) => match[1]!.split(", "));
    return [...declared, ...passedOn.flat()].toSorted();
  };
  expect(names(read("editor/index.d.ts"))).toEqual(names(read("assembly/index.ts")));
});
