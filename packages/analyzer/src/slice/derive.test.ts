import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture, golden } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";
import { explore, type Findings } from "../testing/oracle.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

/** Applications, what they are explored with, and the handlers whose read/write-set functions are spelled out. */
const APPLICATIONS = [
  {
    name: "social",
    strings: ["ann", "bob", "ann-0", "c"],
    integers: [0, 1, 2, 3],
    golden: ["login", "register", "post", "follow", "unfollow", "timeline"],
  },
  { name: "hotel", strings: ["a", "b", "r0", "0_0"], integers: [0, 1, 2, 3], golden: ["search", "book", "recommend"] },
  {
    name: "forum",
    strings: ["a", "b", "front", "ua"],
    integers: [0, 1, 2, 5],
    golden: ["homepage", "titles", "vote", "view"],
  },
  {
    name: "constructs",
    strings: ["a", "b", "y", "two"],
    integers: [0, 1, 2, 3, 4, 5, 6, 7],
    golden: [
      "loops",
      "switches",
      "shortCircuits",
      "nested",
      "draws",
      "readInsideValue",
      "readsItsWrites",
      "overridden",
      "names",
      "aborts",
      "interfaces",
      "operators",
      "accessors",
      "objectLiterals",
      "dependentDefaults",
      "switchesWithEffects",
    ],
  },
  {
    name: "start",
    strings: ["a", "b", "configuration"],
    integers: [0, 1, 2, 3],
    golden: ["moduleStatements", "readAtStart"],
  },
] as const;

describe.each(APPLICATIONS)("$name", ({ name, strings, integers, golden: spelledOut }) => {
  const built = build(fixture(name));
  const plans = Object.fromEntries(built.handlers.map((handler) => [handler.name, handler]));

  test("every handler has a read/write-set function", () => {
    expect(built.diagnostics).toEqual([]);
    expect(built.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
  });

  test("handlers touch only what it said, and it says no more", () => {
    const found: Findings = explore(built, { strings, integers, runs: 300, callsPerRun: 6 });
    expect(found.results).toBeGreaterThan(300);
    // Guards with an expensive condition are left out.
    const tolerated = name === "constructs" ? 0.005 : 0;
    expect((found.extraReads + found.extraWrites) / found.calls).toBeLessThanOrEqual(tolerated);
  });

  test.each(spelledOut)("%s", async (handler) => {
    await expect(plans[handler]?.rwSource).toMatchFileSnapshot(golden(name, handler));
  });
});

test("access patterns tell tables, keys and dependent reads", () => {
  const { handlers } = build(fixture("social"));
  const post = handlers.find(({ name }) => name === "post");
  const shown = (patterns: BuildResult["handlers"][number]["reads"]): string[] =>
    patterns.map(
      ({ table, key, dependent, span }) => `${table}[${key}]${dependent ? " dependent" : ""} ${span.file}:${span.line}`,
    );
  expect(shown(post?.reads ?? [])).toEqual([
    "timelines[owner] handlers/social.ts:57",
    "users[me] dependent handlers/social.ts:64",
  ]);
  expect(shown(post?.writes ?? [])).toEqual([
    "timelines[owner] handlers/social.ts:60",
    "posts[post.id] handlers/social.ts:70",
    "users[me] handlers/social.ts:73",
  ]);
  expect(handlers.filter(({ readOnly }) => readOnly).map(({ name }) => name)).toEqual(["profile", "timeline"]);
});

describe("what can't be followed runs near storage", () => {
  const HEAD =
    'import { Table, random } from "@radical/sdk";\nclass Item { n: i32 = 0; }\nconst items = new Table<Item>("items");\n';
  test.each([
    ["not_sliced_library", "nameof", "export function h(a: string): void { items.get(a + nameof<Item>()); }"],
    [
      "not_sliced_module_code",
      "salt",
      "const salt = random();\nexport function h(): void { items.get(salt.toString()); }",
    ],
    [
      "not_sliced_module_code",
      "Part",
      "let made: i32 = 0;\nfunction count(): i32 { return ++made; }\nclass Part { n: i32 = count(); }\nexport function h(a: string): void { const part = new Part(); items.get(a + part.n.toString() + made.toString()); }",
    ],
    [
      "not_sliced_library",
      "all.join()",
      "export function h(a: string): void { const all = [[a]]; items.get(a + all.join()); }",
    ],
    [
      "not_sliced_operator_overload",
      "all.includes",
      'class V { x: i32 = 1; @operator("==") static same(l: V, r: V): bool { return items.has(l.x.toString()); } }\nexport function h(): bool { const all = [new V()]; return all.includes(new V()); }',
    ],
    [
      "not_sliced_operator_overload",
      "all.set",
      'class V { x: i32 = 1; @operator("==") same(o: V): bool { return items.has(o.x.toString()); } }\nexport function h(a: string): void { const all = new Map<V, string>(); all.set(new V(), a); }',
    ],
    [
      "not_sliced_syntax",
      "super(s)",
      "class A { constructor(public s: string, public t: string = s) {} }\nclass B extends A { constructor(s: string) { super(s); } }\nexport function h(a: string): void { items.get(new B(a).t); }",
    ],
    [
      "not_sliced_syntax",
      "return other",
      "@final class A { s: string = ''; constructor(s: string, other: A | null) { if (other) return other; this.s = s; } }\nexport function h(a: string): void { items.get(new A(a, null).s); }",
    ],
    [
      "not_sliced_syntax",
      "['x', , a]",
      "export function h(a: string): void { const all: string[] = ['x', , a]; items.get(all[0]); }",
    ],
  ])("%s: %s", (code, marked, source) => {
    const text = HEAD + source;
    const { handlers, diagnostics } = build({ "handlers/h.ts": text });
    const [handler] = handlers;
    expect(handler?.plan ?? diagnostics).toMatchObject({
      kind: "recorded",
      reason: { code, class: "unsupported" },
    });
    if (handler?.plan.kind !== "recorded") return;
    const { start, end } = handler.plan.reason.primary;
    expect(text.slice(start, end)).toContain(marked);
  });

  test("what runs at the start and has no rule concerns only handlers that can notice", () => {
    const { handlers } = build({
      "handlers/h.ts": `${HEAD}const salt = random();
class Settings { text: string = "t"; }
const settings = new Settings();
const shared = [settings];
function tweak(): string { shared[0].text = [[1]].join(); return ""; }
const tweaked = tweak();
let other: i32 = 3;
export function a(k: string): void { items.get(k + other.toString() + random().toString()); }
export function b(k: string): void { items.get(k + settings.text); }
export function c(k: string): void { items.get(k + salt.toString()); }
class Own { text: string = "t"; }
export function d(k: string): void { const mine = new Own(); items.get(k + mine.text); }`,
    });
    expect(handlers.map(({ name, plan }) => `${name}: ${plan.kind}`)).toEqual([
      "a: sliced",
      "b: recorded",
      "c: recorded",
      "d: sliced",
    ]);
  });

  test("an access at the start that has no rule concerns all handlers", () => {
    const { handlers } = build({
      "handlers/h.ts": `${HEAD}const start = [[items.has("s") ? 1 : 2]].join();
export function a(k: string): void { items.get(k); }`,
    });
    expect(handlers.map(({ name, plan }) => `${name}: ${plan.kind}`)).toEqual(["a: recorded"]);
  });

  test("one handler's trouble is not another's", () => {
    const { handlers } = build({
      "handlers/h.ts": `${HEAD}export function bad(a: string): void { items.get(nameof<Item>() + a); }\nexport function good(a: string): void { items.get(a); }`,
    });
    expect(handlers.map(({ name, plan }) => `${name}: ${plan.kind}`)).toEqual(["bad: recorded", "good: sliced"]);
  });
});
