import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Changes, PARTS, type Part, changesOf, commitOf, filesOf, selection, sourcesOf } from "./tier-parts.ts";

const REPOSITORY = path.dirname(import.meta.dirname);

describe("the parts of this repository", () => {
  test.each(PARTS.map((part) => [part.name, part] as const))("%s: its globs match files", (_, part) => {
    const patterns = part.kind === "cases" ? [part.file] : part.files;
    for (const pattern of patterns)
      expect(filesOf(REPOSITORY, { ...part, kind: "files", files: [pattern] })).not.toEqual([]);
    const inputs = part.inputs.map((input) => ({
      input,
      files: filesOf(REPOSITORY, { ...part, kind: "files", files: [input] }),
    }));
    expect(inputs.filter(({ files }) => files.length === 0)).toEqual([]);
  });

  const cases = PARTS.filter((part) => part.kind === "cases");

  test.each(cases.map(({ name, file }) => [file, name] as const))("%s draws by the name of its part", (file, name) => {
    const text = readFileSync(path.join(REPOSITORY, file), "utf8");
    expect(text).toMatch(new RegExp(`drawn(?:Seed)?\\(\\s*"${name}"`));
  });

  test("no file is in two of them, and no name is there twice", () => {
    const files = PARTS.flatMap((part) => filesOf(REPOSITORY, part));
    expect(files.filter((file, at) => files.indexOf(file) !== at)).toEqual([]);
    expect(new Set(PARTS.map(({ name }) => name)).size).toBe(PARTS.length);
  });
});

let root = "";
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "radical-tiers-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(file: string, text = ""): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

const DEPLOY: Part = { kind: "files", name: "deploy", files: ["e2e/deploy*.test.ts"], inputs: ["src/deploy/**"] };
const PROGRAMS: Part = {
  kind: "one-of",
  name: "programs",
  files: ["e2e/programs-*.test.ts"],
  inputs: ["src/analyzer/**"],
};
const KILLS: Part = { kind: "cases", name: "kills", file: "e2e/crash.test.ts", inputs: ["src/server/**"] };
const ALL = [DEPLOY, PROGRAMS, KILLS];
const changed = (...files: readonly string[]): Changes => ({ kind: "known", base: "b", files });

describe("the short tier", () => {
  beforeEach(() => {
    for (const name of ["deploy", "deploy-aws", "programs-1", "programs-2", "programs-3", "crash", "other"])
      write(`e2e/${name}.test.ts`);
  });
  const select = (changes: Changes, draw = "a") => selection(root, draw, changes, ALL);

  test("without a change leaves out what depends on changes, and draws the rest", () => {
    const { whole, leftOut, words } = select(changed("README.md", "e2e/other.test.ts"));
    expect(whole).toEqual([]);
    expect(leftOut).toHaveLength(4);
    expect(leftOut).toEqual(expect.arrayContaining(["e2e/deploy-aws.test.ts", "e2e/deploy.test.ts"]));
    expect(words.map((line) => line.split(":")[0])).toEqual(["deploy", "programs", "kills"]);
  });

  test("draws each file of a part for some commit", () => {
    const run = Array.from({ length: 30 }, (_, commit) => {
      const { leftOut } = select(changed(), `${commit}`);
      return ["e2e/programs-1.test.ts", "e2e/programs-2.test.ts", "e2e/programs-3.test.ts"].filter(
        (file) => !leftOut.includes(file),
      );
    });
    for (const files of run) expect(files).toHaveLength(1);
    expect(new Set(run.flat()).size).toBe(3);
  });

  test.each([
    ["an input of a part", "src/deploy/plan.ts", "deploy"],
    ["a test file of a part", "e2e/deploy-aws.test.ts", "deploy"],
    ["an input of files of which one is drawn", "src/analyzer/slice/unions.ts", "programs"],
    ["an input of cases", "src/server/storage.ts", "kills"],
    ["the file with the cases", "e2e/crash.test.ts", "kills"],
  ])("has %s whole when it has changed", (_, file, part) => {
    const { whole, leftOut, words } = select(changed("README.md", file));
    expect(whole).toEqual([part]);
    expect(leftOut.filter((name) => name.includes(part))).toEqual([]);
    expect(words.filter((line) => line.startsWith(part))).toEqual([]);
  });

  test.each<[string, Changes]>([
    ["dependencies have changed", changed("pnpm-lock.yaml")],
    ["the configuration of the tests has", changed("vitest.config.ts")],
    ["the selection itself has", changed("scripts/tier-parts.ts")],
    ["nobody knows what has", { kind: "unknown", why: "of a test" }],
  ])("has everything when %s", (_, changes) => {
    expect(select(changes)).toMatchObject({ whole: ["deploy", "programs", "kills"], leftOut: [], words: [] });
  });
});

describe("what has changed in a clone", () => {
  const git = (folder: string, ...args: readonly string[]): void => {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
    const { status, stderr } = spawnSync("git", ["-C", folder, ...identity, ...args], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  const filesIn = (folder: string): unknown => {
    const changes = changesOf(folder);
    return changes.kind === "known" ? changes.files.toSorted() : changes;
  };
  let clone = "";

  beforeEach(() => {
    write("origin/a.ts", "a\n".repeat(20));
    write("origin/b.ts");
    write("origin/.gitignore", "built\n");
    const origin = path.join(root, "origin");
    git(root, "init", "--quiet", "--initial-branch=main", "origin");
    git(origin, "add", ".");
    git(origin, "commit", "--quiet", "--message=first");
    git(root, "clone", "--quiet", origin, "clone");
    clone = path.join(root, "clone");
  });

  test("is nothing at first", () => {
    expect(filesIn(clone)).toEqual([]);
    expect(commitOf(clone)).toMatch(/^[0-9a-f]{40}$/);
  });

  test("is what differs in commits since, in the index, in the working tree, and what is new", () => {
    write("clone/b.ts", "committed");
    expect(sourcesOf(clone)).toBe(`${commitOf(clone)} with changes that are not committed`);
    git(clone, "commit", "--quiet", "--all", "--message=second");
    expect(sourcesOf(clone)).toBe(commitOf(clone));
    write("clone/staged.ts");
    git(clone, "add", "staged.ts");
    write("clone/a.ts", "edited");
    write("clone/new folder/new é.ts");
    write("clone/built/ignored.js");
    expect(filesIn(clone)).toEqual(["a.ts", "b.ts", "new folder/new é.ts", "staged.ts"]);
  });

  test("are both names of a file that was renamed, and one that was deleted", () => {
    renameSync(path.join(clone, "a.ts"), path.join(clone, "c.ts"));
    rmSync(path.join(clone, "b.ts"));
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "--message=second");
    expect(filesIn(clone)).toEqual(["a.ts", "b.ts", "c.ts"]);
  });

  test("is not what the upstream has changed meanwhile", () => {
    write("origin/b.ts", "upstream");
    git(path.join(root, "origin"), "commit", "--quiet", "--all", "--message=theirs");
    git(clone, "fetch", "--quiet");
    write("clone/a.ts", "ours");
    expect(filesIn(clone)).toEqual(["a.ts"]);
  });

  test("is unknown without an upstream, and without git", () => {
    expect(changesOf(path.join(root, "origin"))).toMatchObject({ kind: "unknown" });
    write("plain/a.ts");
    const plain = path.join(root, "plain");
    expect([changesOf(plain).kind, commitOf(plain)]).toEqual(["unknown", null]);
  });
});
