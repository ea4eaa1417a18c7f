/**
 * Paths in backticks, links and scripts of package.json that the documents at the root name must exist. And the
 * specification is complete.
 */
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
    const named = [...all(/`p?npm run ([\w:-]+)/g), ...all(/`pnpm (?!install|vitest|exec|run )([\w:-]+)/g)];
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

test.each([
  ["the LVI server", "packages/lvi-server/src/core/execution.ts"],
  ["its location", "packages/runtime/src/core/execution.ts"],
])("the protocol's page tells every state of an execution at %s", (where, file) => {
  const read = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");
  const source = read(file);
  const [, type = ""] = /\nexport type Phase =([^]*?);\n\n/.exec(source) ?? [];
  const states = [...type.matchAll(/^ {2}\| (?:\{ readonly kind: "([\w-]+)"|(\w+)$)/gm)].map(
    // A member with a name of its own says its kind in its interface.
    ([, kind, name]) => kind ?? new RegExp(`\n(?:export )?interface ${name} [^]*?kind: "([\\w-]+)"`).exec(source)?.[1],
  );
  const begin = new RegExp(`\n\\*\\*Of an execution at ${where}\\*\\*([^]*?)\n\\*\\*`);
  const [, section = ""] = begin.exec(read("docs/internals/protocol.md")) ?? [];
  const told = [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, kind]) => kind);
  expect(states.length).toBeGreaterThan(5);
  expect(new Set(told)).toEqual(new Set(states));
  expect(told).toHaveLength(states.length);
});
