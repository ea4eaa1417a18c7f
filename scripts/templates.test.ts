/** What whoever begins with a template sees in an editor: no false errors, in handlers and around them. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const TEMPLATES = fileURLToPath(new URL("../templates/", import.meta.url));
const TSC = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));

const names = readdirSync(TEMPLATES);

test("there are templates", () => {
  expect(names).toContain("social");
});

test.concurrent.each(names.flatMap((name) => [name, join(name, "handlers")]))(
  "TypeScript finds nothing in templates/%s",
  async (project) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      TSC,
      "--noEmit",
      "-p",
      join(TEMPLATES, project),
    ]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  },
);

// A static folder holds the files themselves: `radical dev` serves no link that leads out of it.
test.each(["public/ui.js", "public/style.css"])("the templates that have %s have the same one", (file) => {
  const texts = names
    .map((name) => join(TEMPLATES, name, file))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, "utf8"));
  expect(texts.length).toBeGreaterThan(1);
  expect(new Set(texts).size).toBe(1);
});
