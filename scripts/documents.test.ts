/** What the documents at the root name must exist: paths in backticks, links, scripts of package.json. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = path.dirname(import.meta.dirname);
const { scripts } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { scripts: object };

describe.each(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])("%s", (file) => {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const all = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = ""]) => found);

  test("names only files that exist", () => {
    const named = all(/`((?:packages|scripts|templates|docs|\.ci)\/[^`*<\s]*)`/g);
    const linked = all(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g);
    expect([...named, ...linked].filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });

  test("names only scripts that exist", () => {
    const named = [...all(/`p?npm run ([\w:-]+)/g), ...all(/`pnpm (?!install|vitest|exec)([\w:-]+)/g)];
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
