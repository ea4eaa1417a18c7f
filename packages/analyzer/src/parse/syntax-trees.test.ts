import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { rememberingSlicer, slicer } from "../slicer.ts";
import { fixture } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";
import { edited } from "../testing/random-edit.ts";
import { as } from "./assemblyscript.ts";
import { SyntaxTrees, type SyntaxTree, type TreeKind } from "./syntax-trees.ts";

type Files = Readonly<Record<string, string>>;

function build(files: Files, trees: SyntaxTrees, using = slicer): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, using, { trees });
}

describe("the compiler changes nothing in a tree", () => {
  test.each(["social", "hotel", "forum", "constructs"])("of %s", (name) => {
    const trees = new FrozenTrees();
    const files = fixture(name);
    const first = build(files, trees);
    expect(first.ok).toBe(true);
    expect(build(files, trees)).toEqual(first);
  });

  test("and the trees of this test say so if one does", () => {
    const { source } = new FrozenTrees().get("a.ts", "export class A { b: string = ''; }");
    const declaration = source.statements[0] as as.ClassDeclaration;
    expect(() => declaration.members.push(declaration)).toThrow(TypeError);
    expect(() => (declaration.members[0]!.name.text = "c")).toThrow(TypeError);
    expect(() => source.statements.pop()).toThrow(TypeError);
  });
});

test("after any edits, a build is what it is without the builds before", () => {
  const trees = new SyntaxTrees();
  const remembering = rememberingSlicer();
  let failed = 0;
  fc.assert(
    fc.property(
      fc.constantFrom("hotel", "forum"),
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      (name, seeds) => {
        let files: Files = fixture(name);
        for (const seed of seeds) files = edited(files, seed);
        const warm = build(files, trees, remembering);
        expect(warm).toEqual(build(files, new SyntaxTrees()));
        if (!warm.ok) failed++;
      },
    ),
    { numRuns: 12, seed: 1 },
  );
  // Both what compiles and what does not was seen.
  expect(failed).toBeGreaterThan(2);
  expect(failed).toBeLessThan(10);
}, 60_000);

test("the trees of the library are those that the parser makes, though bodies of functions and long arrays are parsed on demand", () => {
  const { stdlib, sdk } = buildInput({});
  const library = [...stdlib, ...sdk.map(({ path, text }) => [`@radical/sdk/${path}`, text] as const)];
  const trees = new SyntaxTrees();
  for (const [path, text] of library) {
    const parser = new as.Parser();
    parser.parseFile(text, `~lib/${path}`, false);
    const { source, messages, imports } = trees.get(`~lib/${path}`, text);
    expect(outlineOf(source.statements)).toEqual(outlineOf(parser.sources[0]!.statements));
    expect(messages.length).toBe(parser.diagnostics.length);
    expect(new Set(imports.map(({ internalPath }) => internalPath))).toEqual(new Set(parser.backlog));
  }
}, 60_000);

/** Everything in a tree but the texts of the files, as plain data. */
function outlineOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(outlineOf);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof as.Source) return value.normalizedPath;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, outlineOf(child)]));
}

/** Trees that nobody can write into, but for what the compiler sets and takes back, and its memory of line numbers. */
class FrozenTrees extends SyntaxTrees {
  readonly #frozen = new Set<object>();

  override get(path: string, text: string, kind?: TreeKind): SyntaxTree {
    const tree = super.get(path, text, kind);
    this.#freeze(tree.source);
    return tree;
  }

  #freeze(value: unknown): void {
    if (typeof value !== "object" || value === null || this.#frozen.has(value)) return;
    this.#frozen.add(value);
    for (const child of Object.values(value)) this.#freeze(child);
    if (value instanceof as.Source) {
      Object.defineProperties(value, { statements: { writable: false }, text: { writable: false } });
      return;
    }
    if ("currentlyResolving" in value) {
      let current = false;
      const set = (next: boolean): void => void (current = next);
      Object.defineProperty(value, "currentlyResolving", { get: () => current, set });
    }
    Object.freeze(value);
  }
}
