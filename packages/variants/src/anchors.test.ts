import { describe, expect, test } from "vitest";
import { Anchors } from "./anchors.ts";
import { after, argument, before, condition, type Edit, expression, remove, replace, returns, value } from "./edits.ts";

/** The source as the edits leave it. */
function changed(source: string, ...edits: readonly Edit[]): string {
  const anchors = new Anchors(new Map([["core.ts", source]]));
  const variant = { name: "wrong", edits };
  expect(anchors.problems([variant])).toEqual([]);
  return anchors.apply(variant).get("core.ts")!;
}

/** The problems of a variant of a source. */
function problemsOf(source: string, ...edits: readonly Edit[]): readonly string[] {
  return new Anchors(new Map([["core.ts", source]])).problems([{ name: "wrong", edits }]);
}

describe("an edit changes the named part of the code at its anchor", () => {
  test.each<[string, string, Edit, string]>([
    ["a statement goes", "// variant: a\nf();\ng();", remove("a"), ";\ng();"],
    ["the statement of an if goes", "if (x)\n  // variant: a\n  f();\nelse g();", remove("a"), "if (x) ;\nelse g();"],
    ["a member goes", "class C {\n  // variant: a\n  f(): void {}\n}", remove("a"), "class C { ;\n}"],
    [
      "the label of a case goes",
      "switch (x) {\n  case 1:\n  // variant: a\n  case 2:\n  case 3:\n}",
      remove("a"),
      "switch (x) {\n  case 1: case 3:\n}",
    ],
    [
      "the label of a case goes, and its statements stay",
      "switch (x) {\n  // variant: a\n  case y ? 1 : 2: f();\n}",
      remove("a"),
      "switch (x) { f();\n}",
    ],
    ["a statement is another", "// variant: a\nf(1);", replace("a", "if (x) $"), "if (x) f(1);"],
    ["code runs before", "// variant: a\nf();", before("a", "g();"), "g();\nf();"],
    ["code runs after", "// variant: a\nf();\nh();", after("a", "g();"), "f();\ng();\n\nh();"],
    [
      "code runs before the only statement",
      "while (x)\n  // variant: a\n  f();",
      before("a", "g();"),
      "while (x) { g();\nf(); }",
    ],
    [
      "code runs after the only statement",
      "while (x)\n  // variant: a\n  f();",
      after("a", "g();"),
      "while (x) { f();\ng(); }",
    ],
    [
      "a member comes after",
      "class C {\n  // variant: a\n  b = 1;\n}",
      after("a", "c = 2;"),
      "class C { b = 1;\nc = 2;\n\n}",
    ],
    [
      "the condition of an if",
      "// variant: a\nif (x || y) f();",
      condition("a", "$ && z"),
      "if (((x || y) && z)) f();",
    ],
    [
      "the condition of an else if",
      "if (x) f();\n// variant: a\nelse if (y) g();",
      condition("a", "z"),
      "if (x) f(); else if ((z)) g();",
    ],
    ["the condition of a loop", "// variant: a\nwhile (x) f();", condition("a", "z"), "while ((z)) f();"],
    ["the condition of ?:", "// variant: a\nconst b = x ? 1 : 2;", condition("a", "!$"), "const b = (!(x)) ? 1 : 2;"],
    [
      "what is returned",
      "function f() {\n  // variant: a\n  return x;\n}",
      returns("a", "$ + 1"),
      "function f() { return ((x) + 1);\n}",
    ],
    ["a first value", "// variant: a\nconst b = 1;", value("a", "{}"), "const b = ({});"],
    ["an assigned value", "// variant: a\nthis.#b.c ||= 1;", value("a", "2"), "this.#b.c ||= (2);"],
    ["the value of a member", "class C {\n  // variant: a\n  #b = 1;\n}", value("a", "2"), "class C { #b = (2);\n}"],
    [
      "what a loop goes through",
      "// variant: a\nfor (const b of c) f(b);",
      value("a", "[]"),
      "for (const b of ([])) f(b);",
    ],
    ["an argument", "// variant: a\nthis.g(f(1, x));", argument("a", "f", 1, "y"), "this.g(f(1, (y)));"],
    [
      "an argument of a constructor",
      "// variant: a\nx = new Map(y);",
      argument("a", "Map", 0, "[]"),
      "x = new Map(([]));",
    ],
    [
      "an expression",
      "// variant: a\nf(x && this.#y, z);",
      expression("a", "x && this.#y", "$ && w"),
      "f(((x && this.#y) && w), z);",
    ],
    ["an expression in a template", "// variant: a\nf(`${x}`);", expression("a", "x", "`${$}`"), "f(`${(`${(x)}`)}`);"],
    ["a name stays the name of its member", "// variant: a\nx.y = y;", expression("a", "y", "z"), "x.y = (z);"],
    [
      "the value of a short member",
      "// variant: a\nf({ x, y });",
      expression("a", "y", "{ ...$ }"),
      "f({ x, y: ({ ...(y) }) });",
    ],
  ])("%s", (_, source, edit, result) => {
    const withoutAnchor = changed(source, edit).replaceAll(/\s*\/\/ variant: .*\n\s*/g, " ");
    expect(withoutAnchor.trim()).toBe(result);
  });

  test("several edits, of several files", () => {
    const anchors = new Anchors(
      new Map([
        ["core.ts", "// variant: a\nif (x) f();\n// variant: b\ng();"],
        ["table.ts", "// variant: c\nh();"],
        ["other.ts", "i();"],
      ]),
    );
    const edits = [remove("c"), before("a", "before();"), condition("a", "y"), remove("b")];
    expect(Object.fromEntries(anchors.apply({ name: "wrong", edits }))).toEqual({
      "core.ts": "// variant: a\n\nbefore();\nif ((y)) f();\n// variant: b\n;",
      "table.ts": "// variant: c\n;",
    });
  });
});

describe("layout makes no difference", () => {
  const edits = [
    condition("guard", "$ && isLate"),
    argument("noted", "note", 1, "$ + 1"),
    expression("told", 'kind === "shared" || (mode.size > 0 && !isFree)', "true"),
    returns("result", "[...$]"),
    remove("pause"),
    value("limit", "0"),
  ];
  const source = `export class Core {
  step(kind: Kind): readonly Effect[] {
    // variant: limit
    const limit = kind === "shared" ? 1 : 2;
    // variant: guard
    if (kind === "exclusive" && limit > 1) return [];
    // why it is told
    // variant: told
    this.#effects.push({ kind, after: kind === "shared" || (mode.size > 0 && !isFree) ? limit : 0 });
    // variant: pause
    for (const each of this.#all) each.pause();
    // variant: noted
    this.#log.note("told", limit);
    // variant: result
    return this.#effects;
  }
}
`;
  /** The same in another layout: lines joined and split, other quotes, more parentheses, and moved. */
  const laidOutAnew = `export class Core {
    other() { return "shared" }

    step(kind: Kind): readonly Effect[] {
    // variant: limit

    // another word
    const limit = ((kind) === 'shared')
      ? 1
      : 2
    // variant: guard
    /* and another */ if (
      kind === 'exclusive' &&
      (limit > 1)
    ) return []
    // variant: told
    // why it is told
    this.#effects.push(
      {
        kind,
        after:
          kind === 'shared' ||
          mode.size > 0 && !isFree
            ? limit
            : 0,
      },
    )
    // variant: pause
    for (
      const each of this.#all
    ) each.pause()
    // variant: noted
    this.#log
      .note(
        'told', limit)
    // variant: result
    return (
      this.#effects
    )
  }
}`;

  test("all edits still apply, and come to the same", () => {
    const tokens = (text: string): string =>
      changed(text, ...edits)
        .replaceAll(/\/\/.*|\/\*.*\*\/|[\s;()]|,(?=\s*[})])/g, "")
        .replaceAll("'", '"')
        .replace('other{return"shared"}', "");
    expect(tokens(laidOutAnew)).toBe(tokens(source));
    expect(tokens(source)).toContain("&&isLate");
  });

  test("the code may move to another file", () => {
    const variant = { name: "wrong", edits };
    const [right] = new Anchors(new Map([["core.ts", source]])).apply(variant).values();
    const moved = new Anchors(
      new Map([
        ["core.ts", "export {};"],
        ["told.ts", source],
      ]),
    );
    expect(moved.problems([variant])).toEqual([]);
    expect([...moved.apply(variant)]).toEqual([["told.ts", right]]);
  });
});

describe("a mistake has a message with name and place", () => {
  const place = "core.ts:2";
  test.each<[string, string, Edit, string]>([
    ["no anchor", "f();", remove("a"), '"a" is in no source'],
    [
      "two anchors",
      "f();\n// variant: a\ng();\n// variant: a\nh();",
      remove("a"),
      'core.ts:4: The anchor "a" is at core.ts:2 too',
    ],
    ["an anchor behind code", "f();\ng(); // variant: a\n", remove("a"), `${place}: The anchor "a" stands behind code`],
    [
      "an anchor before nothing",
      "f();\n// variant: a\n",
      remove("a"),
      `${place}: The anchor "a" stands before nothing`,
    ],
    [
      "an anchor in an expression",
      "f(\n  // variant: a\n  x,\n);\ng();",
      remove("a"),
      `${place}: The anchor "a" stands before nothing`,
    ],
    ["two names at once", "f();\n// variant: a, b\ng();", remove("a"), `${place}: The anchor "a, b" has no good name`],
    [
      "no condition",
      "f();\n// variant: a\ng();",
      condition("a", "x"),
      `${place}: The variant "wrong" does not fit: the code has 0 conditions`,
    ],
    [
      "two conditions",
      "f();\n// variant: a\ng(x ? y : z ? 1 : 2);",
      condition("a", "x"),
      `${place}: The variant "wrong" does not fit: the code has 2 conditions`,
    ],
    [
      "nothing returned",
      "function f() {\n// variant: a\nreturn;\n}",
      returns("a", "x"),
      `${place}: The variant "wrong" does not fit: the code returns no value`,
    ],
    [
      "no return",
      "f();\n// variant: a\ng();",
      returns("a", "x"),
      `${place}: The variant "wrong" does not fit: the code returns no value`,
    ],
    [
      "no value",
      "f();\n// variant: a\ng();",
      value("a", "x"),
      `${place}: The variant "wrong" does not fit: the code gives nothing`,
    ],
    [
      "two values",
      "f();\n// variant: a\nlet x = 1, y = 2;",
      value("a", "x"),
      `${place}: The variant "wrong" does not fit: the code gives nothing, or more`,
    ],
    [
      "no call",
      "f();\n// variant: a\ng(1);",
      argument("a", "f", 0, "x"),
      `${place}: The variant "wrong" does not fit: the code has 0 calls of f`,
    ],
    [
      "two calls",
      "f();\n// variant: a\ng(g(1));",
      argument("a", "g", 0, "x"),
      `${place}: The variant "wrong" does not fit: the code has 2 calls of g`,
    ],
    [
      "no argument",
      "f();\n// variant: a\ng(1);",
      argument("a", "g", 1, "x"),
      `${place}: The variant "wrong" does not fit: the call of g has no argument 1`,
    ],
    [
      "no expression",
      "f();\n// variant: a\ng(1);",
      expression("a", "x", "y"),
      `${place}: The variant "wrong" does not fit: the code has 0 expressions x`,
    ],
    [
      "two expressions",
      "f();\n// variant: a\ng(x, x);",
      expression("a", "x", "y"),
      `${place}: The variant "wrong" does not fit: the code has 2 expressions x`,
    ],
    ["no snippet", "f();\n// variant: a\ng(x);", expression("a", "x +", "y"), "expression.ts can't be parsed"],
  ])("%s", (_, source, edit, message) => {
    const problems = problemsOf(source, edit);
    expect(problems.join("\n")).toContain(message);
  });

  test("an anchor that no variant uses", () => {
    expect(problemsOf("f();\n// variant: a\ng();\n// variant: b\nh();", remove("b"))).toEqual([
      'core.ts:2: No variant uses the anchor "a". Remove it.',
    ]);
  });

  test("two edits of the same code", () => {
    expect(problemsOf("// variant: a\nf(x);", remove("a"), argument("a", "f", 0, "y")).join()).toContain(
      'core.ts: Two edits of the variant "wrong" change the same code. Make one of them.',
    );
  });

  test("words in a string or another comment are no anchor", () => {
    const source = "f(`\n// variant: a\n`);\n/* variant: a */\n// a variant: a\n// variant: b\ng();";
    expect(problemsOf(source, remove("b"))).toEqual([]);
  });
});
