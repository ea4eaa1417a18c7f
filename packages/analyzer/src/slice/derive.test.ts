import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { APPLICATIONS, fixture, golden } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";
import { explore, type Findings } from "../testing/oracle.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

/** The handlers whose read/write-set functions are spelled out. */
const SPELLED_OUT: Readonly<Record<(typeof APPLICATIONS)[number]["name"], readonly string[]>> = {
  social: ["login", "register", "post", "follow", "unfollow", "timeline"],
  hotel: ["search", "book", "recommend"],
  forum: ["homepage", "exactHomepage", "titles", "vote", "view"],
  constructs: [
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
  dispatch: ["commandMap", "hooked", "factories"],
  start: ["moduleStatements", "readAtStart"],
};

describe.each(APPLICATIONS)("$name", ({ name, strings, integers }) => {
  const built = build(fixture(name));
  const plans = Object.fromEntries(built.handlers.map((handler) => [handler.name, handler]));

  test("every handler has a read/write-set function", () => {
    expect(built.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
    expect(built.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
  });

  test("handlers touch only what it said", () => {
    const found: Findings = explore(built, { strings, integers, runs: 150, callsPerRun: 6 });
    expect(found.results).toBeGreaterThan(150);
  });

  test("it says no more, but by transformations", () => {
    const exact = built.handlers.filter(({ transformations }) => transformations.length === 0);
    const handlers = exact.map((handler) => handler.name);
    const found: Findings = explore(built, { strings, integers, runs: 200, callsPerRun: 6, handlers });
    expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
  });

  test.each(SPELLED_OUT[name])("%s", async (handler) => {
    await expect(plans[handler]?.rwSource).toMatchFileSnapshot(golden(name, handler));
  });
});

test("access patterns tell tables, keys and dependent reads", () => {
  const { handlers } = build(fixture("social"));
  const post = handlers.find(({ name }) => name === "post");
  const shown = (patterns: BuildResult["handlers"][number]["reads"]): string[] =>
    patterns.map(
      ({ pattern, source, dependent, span }) =>
        `${pattern} (${source})${dependent ? " dependent" : ""} ${span.file}:${span.line}`,
    );
  expect(shown(post?.reads ?? [])).toEqual([
    "timelines/{each followers of users/{me}} (owner) handlers/social.ts:57",
    "timelines/{me} (owner) handlers/social.ts:57",
    "users/{me} (me) dependent handlers/social.ts:64",
  ]);
  expect(shown(post?.writes ?? [])).toEqual([
    "timelines/{each followers of users/{me}} (owner) handlers/social.ts:60",
    "timelines/{me} (owner) handlers/social.ts:60",
    "posts/{me}-{postCount of users/{me}} (post.id) handlers/social.ts:70",
    "users/{me} (me) handlers/social.ts:73",
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
