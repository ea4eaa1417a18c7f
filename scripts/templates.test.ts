/** Templates and the documents' applications in an editor after their first build: no false errors, in handlers and around them. */
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildApp } from "../packages/app/src/build/build-app.ts";
import { startCompiler } from "../packages/app/src/build/compile.ts";
import { writeSources } from "../packages/app/src/build/write-build.ts";
import { loadProject } from "../packages/app/src/config/load-config.ts";
import { beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TEMPLATES = join(ROOT, "templates");
const TSC = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));

const names = readdirSync(TEMPLATES);
/** Relative to the repository. `docs/examples/output` is not an application. */
const examples = globSync("docs/examples/*/radical.config.ts", { cwd: ROOT }).map((config) => dirname(config));
const applications = [...names.map((name) => join("templates", name)), ...examples];

/** The TypeScript projects of an application. */
function projectsOf(application: string): readonly string[] {
  return [".", "handlers", "src", "page"]
    .map((part) => join(application, part))
    .filter((project) => existsSync(join(ROOT, project, "tsconfig.json")));
}

// Tests import the client of the handlers, and Workers the types of their module: a build writes both.
beforeAll(async () => {
  const compiler = await startCompiler({ colours: false, isKept: true });
  try {
    for (const application of applications) {
      const project = await loadProject(join(ROOT, application));
      const { app } = await buildApp(project, compiler, { optimize: false });
      if (app === null) throw new Error(`${application} can't be built`);
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

/** The findings of the compiler in a project, and the files that it has looked at. */
async function checked(project: string): Promise<{ readonly problems: string; readonly files: readonly string[] }> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [TSC, "--noEmit", "--listFiles", "-p", join(ROOT, project)],
    { maxBuffer: 16_000_000 },
  ).catch((error: { stdout: string }) => error);
  const lines = stdout.split("\n");
  return {
    problems: lines
      .filter((line) => !isAbsolute(line))
      .join("\n")
      .trim(),
    files: lines.filter((line) => isAbsolute(line)),
  };
}

test.concurrent.each(applications.flatMap(projectsOf))("TypeScript finds nothing in %s", async (project) => {
  expect((await checked(project)).problems).toBe("");
});

test.concurrent.each(examples)(
  "the code of %s that documents show is a handler, or is in a project",
  async (example) => {
    const code = globSync("{src,page,public,tests}/**/*.{ts,js}", { cwd: join(ROOT, example) });
    const shown = code.filter((file) => !MADE.has(basename(file)));
    const projects = await Promise.all(projectsOf(example).map(checked));
    const files = new Set(projects.flatMap((project) => project.files));
    expect(shown.filter((file) => !files.has(join(ROOT, example, file)))).toEqual([]);
  },
);
