/** A `throw` ends with the message of the error that is thrown, whatever made it. With `abort` it ends with the abort. */
import { expect, test } from "vitest";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call } from "./testing/run.ts";

const HEAD = `
  import { Table, abort as stop, abort } from "@radical/sdk";
  const items = new Table<string>("items");
  class NotFound extends Error {
    constructor(what: string) { super("not found: " + what); this.name = "NotFound"; }
  }
  class Plain extends Error {}
  class Coded extends Plain {
    code: i32 = 0;
    constructor(code: i32) { super("code " + code.toString()); this.code = code; }
  }
  class Known extends Error {
    constructor(key: string) {
      const found = items.get(key);
      super(found == null ? "unknown" : found);
      items.put(key + "!", key);
    }
  }
  class Other { n: i32 = 1; }
  function fail(what: string): void { abort(410, "gone", what + " is gone"); }
  function silent(): void {}
  function made(what: string): NotFound { return new NotFound(what); }
  function pick<T>(value: T): T { return value; }
`;

const trap = (message: string): object => ({
  kind: "trap",
  code: "assertion_failed",
  message: expect.stringMatching(new RegExp(`^${message} \\(handlers/a\\.ts:\\d+:\\d+\\)$`)) as unknown,
});
const aborted = (status: number, code: string, message: string): object => ({ kind: "abort", status, code, message });

const FORMS: readonly (readonly [statement: string, outcome: object])[] = [
  ['throw abort(404, "no_user", "There is no " + k + ".");', aborted(404, "no_user", "There is no a.")],
  ['throw stop(404, "x", "y");', aborted(404, "x", "y")],
  ['throw (abort(400, "x", "y"));', aborted(400, "x", "y")],
  ['throw fail("It");', aborted(410, "gone", "It is gone")],
  ["throw silent();", trap("assertion failed")],
  ['throw new Error("m " + k);', trap("m a")],
  ['throw (new RangeError("range"));', trap("range")],
  ["throw new Error();", trap("assertion failed")],
  ['throw new NotFound("seat");', trap("not found: seat")],
  ['throw new Plain("plain");', trap("plain")],
  ["throw new Coded(7);", trap("code 7")],
  ['throw made("x");', trap("not found: x")],
  ['const error = new Error("kept"); throw error;', trap("kept")],
  ['throw k == "a" ? new Error("first") : new Error("second");', trap("first")],
  ['throw pick<Plain>(new Plain("generic"));', trap("generic")],
  ['throw "text " + k;', trap("text a")],
];

test("each form of throw ends as it says, in handlers that are sliced", () => {
  const handlers = FORMS.map(
    ([statement], index) =>
      `export function h${index}(k: string): i32 { items.get(k); if (k.length > 0) { ${statement} } items.put(k, k); return 1; }`,
  );
  const built = buildWith(
    { ...buildInput({ "handlers/a.ts": `${HEAD}${handlers.join("\n")}` }), optimize: false },
    slicer,
  );
  expect(built.diagnostics).toEqual([]);
  for (const [index, [statement, outcome]] of FORMS.entries()) {
    const { outcome: ended } = call(built, new Map(), `h${index}`, { k: "a" });
    const plan = built.handlers.find(({ name }) => name === `h${index}`)?.plan.kind;
    expect([statement, ended, plan]).toEqual([statement, outcome, "sliced"]);
  }
});

test("an own error in a variable of the library's class has its message, in record mode", () => {
  const source = `${HEAD}export function h(): void { const error: Error = new NotFound("kept"); throw error; }`;
  const built = buildWith({ ...buildInput({ "handlers/a.ts": source }), optimize: false }, slicer);
  expect(built.handlers[0]?.plan.kind).toBe("recorded");
  expect(call(built, new Map(), "h").outcome).toEqual(trap("not found: kept"));
});

test("what is thrown is part of the read/write set: its arguments, its constructor", () => {
  const source = `${HEAD}
    export function aborting(k: string, n: i32): i32 {
      const v = items.get(k);
      if (n > 1) throw abort(400, "x", v == null ? "" : items.get(v + "?")!);
      items.put(k, k);
      return 1;
    }
    export function constructing(k: string, n: i32): i32 { if (n > 1) throw new Known(k); items.put(k, k); return 1; }
    export function calling(k: string, n: i32): i32 { if (n > 1) throw made(items.get(k + "1")!); items.put(k, k); return 1; }`;
  const built = buildWith({ ...buildInput({ "handlers/a.ts": source }), optimize: false }, slicer);
  expect(built.handlers.map(({ plan }) => plan.kind)).toEqual(["sliced", "sliced", "sliced"]);
  expect(built.handlers.find(({ name }) => name === "constructing")?.rwSource).toContain('willPut(key + "!")');
  const found = explore(built, {
    strings: ["a", "b", "a1"],
    runs: 40,
    callsPerRun: 6,
    sources: [{ path: "handlers/a.ts", text: source }],
  });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
  expect(found.aborts).toBeGreaterThan(0);
  expect(found.traps).toBeGreaterThan(0);
});

test.each(["new Other()", "n", "true", "null", "new Map<string, i32>()", "[n]"])(
  "throw %s is refused, with place and accepted form",
  (value) => {
    const source = `${HEAD}export function h(n: i32): i32 { if (n > 1) throw ${value}; return 1; }`;
    const { ok, diagnostics } = buildWith(buildInput({ "handlers/a.ts": source }), slicer);
    expect(ok).toBe(false);
    const [found] = diagnostics;
    expect(diagnostics).toHaveLength(1);
    expect(found).toMatchObject({ code: "thrown_value", help: expect.stringContaining("abort(404,") as unknown });
    expect(source.slice(found!.primary.start, found!.primary.end)).toBe(value);
  },
);

test("an error that may be null is tested first", () => {
  const source = `${HEAD}export function h(n: i32): i32 { const error: Error | null = n > 1 ? new Error("m") : null; if (n > 0) throw error; return 1; }`;
  const { diagnostics } = buildWith(buildInput({ "handlers/a.ts": source }), slicer);
  expect(diagnostics.map(({ code, help }) => [code, help?.split(":")[0]])).toEqual([
    ["type_error", "Test for null first"],
  ]);
});

// Minimized: the rest of the loop accesses an item, so its end is kept. Later it shows that the loop ends there anyway.
test.each([
  ["an abort", 'abort(409, "stopped", k);'],
  ["a throw", "throw new Plain(k);"],
])("the condition of %s that is kept is kept with it", (_what, end) => {
  const source = `${HEAD}
    function lengthOf(text: string): i32 { return text.length; }
    function touched(text: string): string { items.has(text); return text + "x"; }
    export function h(k: string): void {
      for (let i = 0; i < 3; i++, items.has(k)) {
        if (k == "c") {
          if (lengthOf(touched(k)) == 5) ${end}
          return;
        }
      }
    }`;
  const built = buildWith({ ...buildInput({ "handlers/a.ts": source }), optimize: false }, slicer);
  expect(built.diagnostics).toEqual([]);
  expect(built.handlers[0]?.plan.kind).toBe("sliced");
  expect(built.handlers[0]?.rwSource).toContain("lengthOf(touched(k)) == 5");
});
