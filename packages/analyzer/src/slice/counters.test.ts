/** Counters: numbers over items, whose accesses are as exact as those of tables. */
import { valueToJson } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";
import { call, type Items } from "../testing/run.ts";

function built(source: string): BuildResult {
  const text = `import { Counter, Table, abort } from "@radical/sdk";
const seats = new Counter("seats");
const log = new Table<string>("log");
${source}`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return build;
}

const NUMBERS = built(`
  export function add(key: string, n: i64): void { seats.add(key, n); }
  export function get(key: string): i64 { return seats.get(key); }
  export function atLeast(key: string, n: i64): bool { return seats.atLeast(key, n); }
  export function put(key: string, n: i64): void { seats.put(key, n); }
  export function remove(key: string): void { seats.delete(key); }`);

test("a counter is a number for each key, 0 at first; a sum that does not fit ends the handler", () => {
  const number = fc.oneof(fc.bigInt(-3n, 3n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.constant(2n ** 63n - 1n));
  const step = fc.record({
    handler: fc.constantFrom("add", "add", "get", "atLeast", "put", "remove"),
    key: fc.constantFrom("a", "b"),
    n: number,
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const items: Items = new Map();
      const model = new Map<string, bigint>();
      for (const { handler, key, n } of steps) {
        const before = model.get(key) ?? 0n;
        const takesNumber = handler === "add" || handler === "atLeast" || handler === "put";
        const { outcome, result } = call(NUMBERS, items, handler, takesNumber ? { key, n: n.toString() } : { key });
        const fits = BigInt.asIntN(64, before + n) === before + n;
        if (handler === "add" && !fits) {
          expect(outcome).toMatchObject({ kind: "trap" });
          continue;
        }
        expect(outcome.kind).toBe("result");
        // A number of JSON has fewer digits.
        if (handler === "get" && outcome.kind === "result") expect(BigInt(valueToJson(outcome.value))).toBe(before);
        if (handler === "atLeast") expect(result).toBe(before >= n);
        if (handler === "add") model.set(key, before + n);
        if (handler === "put") model.set(key, n);
        if (handler === "remove") model.delete(key);
      }
      expect(new Set(items.keys())).toEqual(new Set(Array.from(model.keys(), (key) => `seats/${key}`)));
    }),
    { numRuns: 60 },
  );
});

test("a sum that does not fit names the counter and both numbers", () => {
  const items: Items = new Map();
  call(NUMBERS, items, "put", { key: "a", n: (2n ** 63n - 1n).toString() });
  expect(call(NUMBERS, items, "add", { key: "a", n: "5" }).outcome).toMatchObject({
    kind: "trap",
    message: expect.stringContaining("seats/a: 9223372036854775807 and 5 have a sum that does not fit into an i64"),
  });
});

test("counters are sliced: only a number that decides about another access is read", () => {
  const build = built(`
    export function take(night: string, count: i32): void {
      if (!seats.atLeast(night, count)) abort(409, "full", "There is no seat left.");
      seats.add(night, -count);
      log.put(night, \`\${seats.get(night)}\`);
    }
    export function choose(a: string, b: string): i64 {
      seats.add(a, 2);
      const key = seats.get(a) > 3 ? a : b;
      log.put(key, key);
      seats.delete(b);
      return seats.get(key);
    }
    function most(counter: Counter, keys: string[]): i64 {
      let found: i64 = 0;
      for (let i = 0; i < keys.length; i++) found = max(found, counter.get(keys[i]));
      return found;
    }
    export function many(keys: string[]): i64 { seats.add(keys.join(), log.has("x") ? 1 : 2); return most(seats, keys); }`);
  expect(build.handlers.map(({ name, plan }) => [name, plan.kind])).toEqual([
    ["choose", "sliced"],
    ["many", "sliced"],
    ["take", "sliced"],
  ]);
  const [choose, many, take] = build.handlers;
  expect(take!.tables).toEqual({ reads: ["seats"], writes: ["log", "seats"] });
  expect(take!.rwSource).toContain("if (!(seats.get(night) >= <i64>count))");
  expect(choose!.rwSource).toContain("seats.put(a, seats.get(a) + 2)");
  expect(many!.rwSource).not.toContain("seats.get(");
  expect(take!.reads.map(({ pattern }) => pattern)).toContain("seats/{night}");
  expect(take!.writes.map(({ pattern }) => pattern)).toContain("seats/{night}");
  expect(build.tables).toContainEqual(expect.objectContaining({ name: "seats", type: { kind: "i64" } }));
  const found = explore(build, { strings: ["a", "b", "c"], integers: [0, 1, 3, -2], runs: 100, callsPerRun: 5 });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
});

test("a counter of a handler near storage is known by its calls", () => {
  const build = built(`
    class Row { toString(): string { seats.add("me", 1); return seats.atLeast("you", 1) ? "y" : "n"; } }
    /** @nearstorage */
    export function near(a: string): string { return \`\${new Row()}\${a}\`; }`);
  expect(build.handlers[0]?.tables).toEqual({ reads: ["seats"], writes: ["seats"] });
});

test("a given set says a counter's accesses; a handler may not", () => {
  const given = built(`
    export function take(night: string): void { seats.add(night, -1); }
    /** @readwrite take */
    export function set(night: string): void { seats.touch(night); seats.willPut(night); }`);
  expect(given.handlers[0]).toMatchObject({ plan: { kind: "given" }, tables: { reads: ["seats"], writes: ["seats"] } });
  const refused = (source: string): readonly string[] =>
    buildWith(
      { ...buildInput({ "handlers/h.ts": `import { Counter } from "@radical/sdk";\n${source}` }), modules: false },
      slicer,
    ).diagnostics.map(({ code }) => code);
  expect(refused(`const c = new Counter("c"); export function f(a: string): void { c.touch(a); }`)).toEqual([
    "given_set_only",
  ]);
  expect(refused(`export function f(a: string): void { new Counter("c").add(a, 1); }`)).toEqual(["table_not_constant"]);
  expect(refused(`const c = new Counter("2 c"); export function f(a: string): void { c.add(a, 1); }`)).toContain(
    "invalid_table_name",
  );
});
