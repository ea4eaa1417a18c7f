/** Templates in an editor after their first build: no false errors, in handlers and around them. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildApp } from "../packages/app/src/build/build-app.ts";
import { startCompiler } from "../packages/app/src/build/compile.ts";
import { writeSources } from "../packages/app/src/build/write-build.ts";
import { loadProject } from "../packages/app/src/config/load-config.ts";
import { beforeAll, expect, test } from "vitest";

const TEMPLATES = fileURLToPath(new URL("../templates/", import.meta.url));
const TSC = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));

const names = readdirSync(TEMPLATES);

// Tests import the client of the handlers, and Workers the types of their module: a build writes both.
beforeAll(async () => {
  const compiler = await startCompiler({ colours: false, isKept: true });
  try {
    for (const name of names) {
      const project = await loadProject(join(TEMPLATES, name));
      const { app } = await buildApp(project, compiler, { optimize: false });
      if (app === null) throw new Error(`${name} can't be built`);
      await writeSources(project, app);
    }
  } finally {
    await compiler.close();
  }
}, 60_000);

test("there are templates", () => {
  expect(names).toContain("social");
});

/** These can't be links: `scripts/copy-templates.ts` says why. */
const COPIED = [".gitignore", "public/_headers"];

/** Files and folders that a tool or a build leaves. */
const MADE = new Set(["node_modules", ".radical", "dist", "client.js", "page.js"]);

test("templates have no file twice but those that can't be links", () => {
  const files = names.flatMap((name) => filesOf(name));
  expect(files.length).toBeGreaterThan(50);
  const byContent = Map.groupBy(files, (file) => readFileSync(join(TEMPLATES, file), "utf8"));
  const twice = [...byContent.values()].filter((same) => same.length > 1).flat();
  expect(twice.filter((file) => !COPIED.some((copied) => file.endsWith(`/${copied}`)))).toEqual([]);
});

/** Files of a folder of templates, without links. */
function filesOf(folder: string): readonly string[] {
  return readdirSync(join(TEMPLATES, folder), { withFileTypes: true })
    .filter(({ name }) => !MADE.has(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return filesOf(path);
      return entry.isFile() ? [path] : [];
    });
}

test.concurrent.each(
  names.flatMap((name) =>
    [".", "handlers", "src", "page"]
      .map((part) => join(name, part))
      .filter((project) => existsSync(join(TEMPLATES, project, "tsconfig.json"))),
  ),
)("TypeScript finds nothing in templates/%s", async (project) => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    TSC,
    "--noEmit",
    "-p",
    join(TEMPLATES, project),
  ]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});
