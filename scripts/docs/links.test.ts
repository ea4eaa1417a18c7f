/** The links of all documents, and that the check finds those which are broken. */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Tree, brokenLinks } from "./links.ts";
import { anchorsOf, slugOf } from "./markdown.ts";
import { sections } from "./pages.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

test("no document has a broken link", () => {
  const documents = ["*.md", "docs/**/*.md", "templates/*/*.md", "packages/*/*.md"].flatMap((pattern) =>
    globSync(pattern, { cwd: ROOT }),
  );
  expect(documents.length).toBeGreaterThan(100);
  const tree: Tree = {
    exists: (file) => existsSync(path.join(ROOT, file)),
    read: (file) => readFileSync(path.join(ROOT, file), "utf8"),
  };
  expect(brokenLinks(documents, tree)).toEqual([]);
});

test("each picture is on a page", () => {
  const texts = [...globSync("docs/**/*.md", { cwd: ROOT }), "README.md"].map((file) =>
    readFileSync(path.join(ROOT, file), "utf8"),
  );
  const pictures = globSync("pictures/*.{svg,webp,png}", { cwd: path.join(ROOT, "docs") });
  expect(pictures.length).toBeGreaterThan(10);
  expect(pictures.filter((picture) => !texts.some((text) => text.includes(picture)))).toEqual([]);
});

test("only pages of measurements have tables with dates and loads", () => {
  // Decisions are dated by their nature.
  const pages = globSync("docs/**/*.md", {
    cwd: ROOT,
    exclude: ["docs/internals/measurements/**", "docs/decisions/**"],
  });
  const found = pages.filter((page) =>
    /\bload(?: of)? \d|\bmeasured\b[^.\n]* on 20\d\d-|^\| 20\d\d-/m.test(readFileSync(path.join(ROOT, page), "utf8")),
  );
  expect(pages.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
});

test("each page has its place in the sidebar", () => {
  expect(
    sections()
      .flatMap(({ entries }) => entries)
      .map(({ text }) => text),
  ).not.toContain("");
});

describe("the check", () => {
  const files: Readonly<Record<string, string>> = {
    "README.md": "[docs](docs/a.md#the-radicaldev-of-a)",
    "docs/a.md": "# A\n\n## The `radical.dev` of *a*\n\n## Twice\n\n## Twice\n",
    "docs/b/c.md": "# C\n",
    "docs/picture.svg": "",
  };
  const broken = (text: string): readonly string[] => {
    const all: typeof files = { ...files, "docs/b/d.md": text };
    return brokenLinks(["docs/b/d.md"], { exists: (file) => file in all, read: (file) => all[file] ?? "" });
  };

  test("takes links to pages, headings, pictures and the web", () => {
    const links = [
      "../a.md",
      "../a.md#the-radicaldev-of-a",
      "../a.md#twice-1",
      "c.md",
      "c.md#c",
      "#d",
      "https://x.y/z",
    ];
    expect(broken(`# D\n\n${links.map((link) => `[x](${link})`).join(" ")} ![p](../picture.svg)`)).toEqual([]);
  });

  test.each([
    ["nowhere.md", "there is no such file"],
    ["../a.md#three", "there is no such heading"],
    ["../a.md#twice-2", "there is no such heading"],
    ["#c", "there is no such heading"],
    ["../../README.md", "it is not part of the site"],
    ["/a.md", "a link between documents is relative, so that it works everywhere"],
    ["../picture.svg#a", "only pages have headings"],
  ])("finds %s", (target, problem) => {
    expect(broken(`# D\n\nSee [this](${target}).`)).toEqual([`docs/b/d.md:3: ${target}: ${problem}`]);
  });

  test("leaves code and comments alone", () => {
    expect(
      broken("# D\n\n`[x](y.md)`\n\n```md\n[x](y.md)\n## Not a heading\n```\n\n<!-- [x](y.md)\n# Neither -->\n"),
    ).toEqual([]);
    expect(anchorsOf("# D\n\n```sh\n# a comment\n```\n## E\n")).toEqual(["d", "e"]);
  });

  test.each([
    ["`radical analyze [handler]`", "radical-analyze-handler"],
    ["What AssemblyScript lacks", "what-assemblyscript-lacks"],
    ["Lease, epoch and fences", "lease-epoch-and-fences"],
    ["f^rw und Größe: 1 × 2", "frw-und-größe-1--2"],
  ])("makes of %s the anchor that GitHub makes", (heading, anchor) => {
    expect(slugOf(heading.replaceAll("`", ""))).toBe(anchor);
  });
});
