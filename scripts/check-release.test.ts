import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { problemsOfRelease } from "./check-release.mjs";

const ROOT = path.dirname(import.meta.dirname);
let root: string;

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "radical-release-"));
  for (const [name, version] of [
    ["cli", "0.2.0"],
    ["sdk", "0.2.0"],
  ] as const) {
    await mkdir(path.join(root, "packages", name), { recursive: true });
    await writeFile(path.join(root, "packages", name, "package.json"), JSON.stringify({ version, repository: "r" }));
  }
  await writeFile(path.join(root, "package.json"), '{ "repository": "r" }');
  await writeFile(
    path.join(root, "CHANGELOG.md"),
    "# Changelog\n\n## 0.2.0, 2027-01-31\n\n## 0.1.0, not published yet\n",
  );
});
afterAll(() => rm(root, { recursive: true, force: true }));

test("a release is whole if all packages have its version and the changelog its day", () => {
  expect(problemsOfRelease("v0.2.0", root)).toEqual([]);
});

test("npm states the provenance of a package that names its repository", async () => {
  const file = path.join(root, "packages", "cli", "package.json");
  await writeFile(file, JSON.stringify({ version: "0.2.0" }));
  expect(problemsOfRelease("v0.2.0", root)).toEqual([
    expect.stringMatching(/^packages\/cli\/package\.json has no "repository"/),
  ]);
  await writeFile(file, JSON.stringify({ version: "0.2.0", repository: "r" }));
});

test("the site links to the source of a release", async () => {
  const file = path.join(root, "package.json");
  await writeFile(file, "{}");
  expect(problemsOfRelease("v0.2.0", root)).toEqual([expect.stringMatching(/^package\.json has no "repository"/)]);
  await writeFile(file, '{ "repository": "r" }');
});

test.each([
  ["0.2.0", [/is not a version like v0\.1\.0/]],
  ["v0.3.0", [/cli\/package\.json has version 0\.2\.0, not 0\.3\.0/, /sdk/, /no section "## 0\.3\.0, <date>"/]],
  ["v0.1.0", [/cli/, /sdk/, /The section of 0\.1\.0 in CHANGELOG\.md has no date/]],
])("%s is not released", (tag, expected) => {
  const problems = problemsOfRelease(tag, root);
  expect(problems).toHaveLength(expected.length);
  for (const [index, words] of expected.entries()) expect(problems[index]).toMatch(words);
});

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly uses?: string }[] }>>;
}

test.each([".github/workflows/release.yml", "docs/examples/booking/.github/workflows/ci.yml"])(
  "each action of %s is named by a commit, with its version beside it",
  async (file) => {
    const text = await readFile(path.join(ROOT, file), "utf8");
    const { jobs } = parse(text) as Workflow;
    const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    expect(used.length).toBeGreaterThan(0);
    for (const action of used) {
      expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40}$/);
      expect(text).toMatch(new RegExp(`${action} # v\\d+\\.\\d+\\.\\d+\\n`));
    }
  },
);
