import {
  commitId,
  entryOf,
  handlersWith,
  unitId,
  type Entry,
  type Outcome,
  type UnitId,
  NO_EXECUTION,
} from "@radical/protocol";
import { beforeAll, describe, expect, test } from "vitest";
import type { Invocation } from "./execution.ts";
import { moduleHash, type HandlerModule } from "./module.ts";
import {
  deriveAccessSet,
  recordHandler,
  runHandler,
  type AccessSet,
  type CompletedRun,
  type HandlerRun,
} from "./run.ts";
import type { RunStep } from "./run-step.ts";
import type { Snapshot } from "./spans.ts";
import { contentOf, programs } from "./testing/programs.ts";

const unit = (text: string): UnitId => unitId(text.slice(0, text.indexOf("/")), text.slice(text.indexOf("/") + 1));

function invoke(handler: string, args: Uint8Array = new Uint8Array(), seed = 7): Invocation {
  return {
    executionId: NO_EXECUTION,
    handler,
    args,
    environment: { timeMs: 1_700_000_000_123, seed: new Uint8Array(16).fill(seed), caller: null },
  };
}

/** A snapshot of single-byte items; null: captured as absent. */
function snapshot(items: Readonly<Record<string, number | null>>): (unit: UnitId) => Entry | undefined {
  return (wanted) => {
    const value = items[wanted];
    return value === undefined ? undefined : entryOf(commitId(1, 1), value === null ? null : Uint8Array.of(value));
  };
}

const everythingAbsent = (): Entry => entryOf(commitId(1, 1), null);

function access(reads: readonly string[], writes: readonly string[]): AccessSet {
  return { reads: new Set(reads.map(unit)), writes: new Set(writes.map(unit)) };
}

/** In record mode on a snapshot that has everything. */
function record(module: HandlerModule, invocation: Invocation, items: Snapshot): CompletedRun {
  const { run } = recordHandler(module, invocation, items, { guess: false });
  if (run === null) throw new Error("the handler did not end");
  return run;
}

function outcomeOf(run: HandlerRun): Outcome {
  if (run.kind !== "completed") throw new Error(`the handler ended as ${run.kind}`);
  return run.outcome;
}

describe("host functions", () => {
  let module: HandlerModule;
  const run = (handler: string, items: Readonly<Record<string, number | null>> = {}, args?: Uint8Array): HandlerRun =>
    record(module, invoke(handler, args), (wanted) => snapshot(items)(wanted) ?? everythingAbsent());

  beforeAll(async () => {
    module = await programs({
      f: `
        export function echo(): void { const n = host_args_size(); const b = new ArrayBuffer(n); host_args_read(changetype<usize>(b)); host_result(changetype<usize>(b), n); }
        export function nothing(): void {}
        export function time(): void { const b = new ArrayBuffer(8); store<i64>(changetype<usize>(b), host_now()); host_result(changetype<usize>(b), 8); }
        export function who(): void {
          const length = host_caller();
          if (length < 0) { host_take(0); return; }
          const b = new ArrayBuffer(length);
          host_take(changetype<usize>(b));
          host_result(changetype<usize>(b), length);
        }
        export function draws(): void {
          const b = new ArrayBuffer(88);
          const p = changetype<usize>(b);
          store<f64>(p, host_random("a.ts:1:2")); host_uuid("é", p + 8); store<f64>(p + 44, host_random("a.ts:1:2")); host_uuid("a.ts:1:2", p + 52);
          host_result(p, 88);
        }
        export function lookUp(): void { respond(get("t", "a")); }
        export function exists(): void { respond(host_has("t", "a") * 2 + host_has("t", "b")); }
        export function ownWrites(): void {
          put("t", "new", 5);
          assert(get("t", "new") == 5); assert(host_has("t", "new") == 1);
          host_delete("t", "new");
          assert(get("t", "new") == -1); assert(host_has("t", "new") == 0);
          put("t", "new", 6);
          respond(get("t", "new"));
        }
        export function readThenWrite(): void { const v = get("t", "a"); put("t", "a", v + 1); respond(get("t", "a")); }
        export function order(): void { put("z", "1", 1); put("a", "2", 1); put("a", "1", 1); put("z", "1", 2); host_delete("m", "1"); }
        export function refuse(): void { put("t", "a", 1); host_abort(409, "taken", "gone \\u{1D11E}"); }
        export function badStatus(): void { host_abort(200, "ok", ""); }
        export function loneSurrogate(): void { host_abort(400, "bad", String.fromCharCode(0xD800)); }
        export function emptyKey(): void { put("t", "", 1); }
        export function longKey(): void { put("t", "x".repeat(513), 1); }
        export function brokenKey(): void { get("t", String.fromCharCode(0xDC00)); }
        export function badTable(): void { get("no table", "x"); }
        export function takeNothing(): void { host_take(8); }
        export function outside(): void { host_result(0x7fffffff, 16); }
      `,
    });
  });

  test("arguments and result", () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index & 0xff);
    expect(outcomeOf(run("echo", {}, bytes))).toEqual({ kind: "result", value: bytes });
  });

  test("somebody who watches a run is told each step, in its order, and the run is the same", () => {
    const stepsOf = (handler: string, items: Readonly<Record<string, number | null>>): readonly RunStep[] => {
      const steps: RunStep[] = [];
      const values: Snapshot = (wanted) => snapshot(items)(wanted) ?? everythingAbsent();
      const watched = record(module, { ...invoke(handler), watch: (step) => steps.push(step) }, values);
      expect(watched).toEqual(run(handler, items));
      return steps;
    };
    const a = unit("t/a");
    expect(stepsOf("readThenWrite", { "t/a": 4 })).toEqual([
      { kind: "get", unit: a, value: Uint8Array.of(4), isOwn: false },
      { kind: "write", unit: a, value: Uint8Array.of(5) },
      { kind: "get", unit: a, value: Uint8Array.of(5), isOwn: true },
    ]);
    expect(stepsOf("exists", { "t/a": 1 })).toEqual([
      { kind: "has", unit: a, isThere: true, isOwn: false },
      { kind: "has", unit: unit("t/b"), isThere: false, isOwn: false },
    ]);
    expect(stepsOf("refuse", {})).toEqual([
      { kind: "write", unit: a, value: Uint8Array.of(1) },
      { kind: "abort", status: 409, code: "taken", message: "gone 𝄞" },
    ]);
    expect(stepsOf("time", {})).toEqual([{ kind: "now", timeMs: 1_700_000_000_123 }]);
    expect(stepsOf("draws", {}).map((step) => step.kind === "draw" && step.site)).toEqual([
      "a.ts:1:2",
      "é",
      "a.ts:1:2",
      "a.ts:1:2",
    ]);
  });

  test("a handler without a result answers null", () => {
    expect(outcomeOf(run("nothing"))).toEqual({ kind: "result", value: Uint8Array.of(0xf6) });
  });

  test("an unknown handler is a mistake of the caller", () => {
    expect(() => run("nobody")).toThrow("no handler nobody");
    expect(() => run("memory")).toThrow("no handler memory");
  });

  test("time and draws come from the environment alone", () => {
    const time = outcomeOf(run("time"));
    expect(time.kind === "result" && new DataView(time.value.buffer).getBigInt64(0, true)).toBe(1_700_000_000_123n);
    const first = outcomeOf(run("draws"));
    expect(outcomeOf(run("draws"))).toEqual(first);
    if (first.kind !== "result") throw new Error("no result");
    const view = new DataView(first.value.buffer);
    const numbers = [view.getFloat64(0, true), view.getFloat64(44, true)];
    const uuids = [8, 52].map((at) => String.fromCharCode(...first.value.subarray(at, at + 36)));
    // Golden: draws are part of the protocol, and re-executions by another version must repeat them.
    expect(numbers).toMatchInlineSnapshot(`
      [
        0.4514650217225916,
        0.726043340168979,
      ]
    `);
    expect(uuids).toMatchInlineSnapshot(`
      [
        "1951af82-a08a-46ee-8dee-d255b224a97b",
        "6e3ca69c-6fba-476d-b193-d6d36ca91c91",
      ]
    `);
    const other = record(module, invoke("draws", new Uint8Array(), 8), everythingAbsent);
    expect(outcomeOf(other)).not.toEqual(first);
  });

  test("the caller is the environment's, in UTF-8; without one there is nothing to take", () => {
    const as = (caller: string | null): Outcome => {
      const { environment, ...invocation } = invoke("who");
      return outcomeOf(record(module, { ...invocation, environment: { ...environment, caller } }, everythingAbsent));
    };
    expect(as("ann")).toEqual({ kind: "result", value: Uint8Array.from(Buffer.from("ann")) });
    expect(as("J\u00fcrgen \u{1f600}")).toEqual({
      kind: "result",
      value: Uint8Array.from(Buffer.from("J\u00fcrgen \u{1f600}")),
    });
    expect(as(null)).toMatchObject({ kind: "trap", code: "invalid_access" });
  });

  test("a seed of another length is refused", () => {
    const invocation = { ...invoke("draws"), environment: { timeMs: 0, seed: new Uint8Array(15), caller: null } };
    expect(() => record(module, invocation, everythingAbsent)).toThrow(RangeError);
  });

  test("reads are recorded", () => {
    expect(run("lookUp", { "t/a": 9 })).toEqual({
      kind: "completed",
      outcome: { kind: "result", value: Uint8Array.of(9) },
      reads: ["t/a"],
      writes: [],
      fuel: expect.any(Number) as unknown,
    });
    expect(run("exists", { "t/b": 1 })).toMatchObject({
      outcome: { value: Uint8Array.of(1) },
      reads: ["t/a", "t/b"],
      writes: [],
    });
  });

  test("own writes are seen and are not reads", () => {
    expect(run("ownWrites")).toEqual({
      kind: "completed",
      outcome: { kind: "result", value: Uint8Array.of(6) },
      reads: [],
      writes: [{ unit: "t/new", value: Uint8Array.of(6) }],
      fuel: expect.any(Number) as unknown,
    });
  });

  test("an item read before it is written is in both", () => {
    expect(run("readThenWrite", { "t/a": 3 })).toMatchObject({
      outcome: { value: Uint8Array.of(4) },
      reads: ["t/a"],
      writes: [{ unit: "t/a", value: Uint8Array.of(4) }],
    });
  });

  test("writes are sorted by unit, the last of each", () => {
    expect(run("order")).toMatchObject({
      writes: [
        { unit: "a/1", value: Uint8Array.of(1) },
        { unit: "a/2", value: Uint8Array.of(1) },
        { unit: "m/1", value: null },
        { unit: "z/1", value: Uint8Array.of(2) },
      ],
    });
  });

  test("abort: no writes", () => {
    expect(run("refuse")).toEqual({
      kind: "completed",
      outcome: { kind: "abort", status: 409, code: "taken", message: "gone 𝄞" },
      reads: [],
      writes: [],
      fuel: expect.any(Number) as unknown,
    });
    expect(outcomeOf(run("badStatus"))).toEqual({
      kind: "trap",
      code: "assertion_failed",
      message: "abort with status 200: a status is 400 to 599",
    });
    expect(outcomeOf(run("loneSurrogate"))).toEqual({ kind: "abort", status: 400, code: "bad", message: "\ufffd" });
  });

  test.each([
    ["emptyKey", 'invalid key "" in table t'],
    ["longKey", "invalid key"],
    ["brokenKey", "invalid key"],
    ["badTable", 'invalid table name "no table"'],
    ["takeNothing", "nothing to take"],
  ])("%s is an invalid access", (handler, words) => {
    expect(outcomeOf(run(handler))).toMatchObject({
      kind: "trap",
      code: "invalid_access",
      message: expect.stringContaining(words) as unknown,
    });
  });

  test("a pointer outside of memory traps and reaches nothing", () => {
    expect(outcomeOf(run("outside"))).toMatchObject({ kind: "trap", code: "memory_out_of_bounds" });
  });
});

describe("lines that a handler logs", () => {
  let module: HandlerModule;
  const run = (handler: string): CompletedRun => record(module, invoke(handler), everythingAbsent);

  beforeAll(async () => {
    module = await programs({
      f: `
        function log(level: i32, text: string): void { host_log(level, changetype<usize>(text), text.length << 1); }
        export function speaks(): void { log(1, "one"); log(0, ""); log(2, "two\\nlines"); log(3, "\u{1D11E}" + String.fromCharCode(0xD800)); }
        export function reads(): void { log(1, "before"); get("t", "a"); log(1, "after"); }
        export function aborts(): void { log(1, "about to"); host_abort(404, "gone", ""); }
        export function traps(): void { log(3, "about to"); assert(false); }
        export function longLine(): void { log(1, "x".repeat(1_000)); log(1, "y".repeat(1_001)); }
        export function manyLines(): void { for (let i = 0; i < 103; i++) log(1, i.toString()); }
        export function endless(): void { for (;;) log(1, "again"); }
        export function level(): void { host_log(4, 0, 0); }
        export function negative(): void { host_log(-1, 0, 0); }
        export function outside(): void { host_log(1, 0x7ffffff0, 2_000); }
        export function odd(): void { const at = memory.data(16); store<u16>(at + 1, 0x41); host_log(1, at + 1, 2); }
        export function silent(): void {}
      `,
      rw: `export function reads(): void { host_log(1, memory.data(16), 2); host_touch("t", "a"); }`,
      limits: { fuel: 10_000_000 },
    });
  });

  test("are told in their order with the run, each with its level", () => {
    expect(run("speaks").logged).toEqual([
      { level: "info", text: "one" },
      { level: "debug", text: "" },
      { level: "warn", text: "two\nlines" },
      { level: "error", text: "\u{1D11E}\ufffd" },
    ]);
  });

  test("are no part of a run that has none", () => {
    expect(run("silent")).not.toHaveProperty("logged");
  });

  test("are told of a run that aborts or traps", () => {
    expect(run("aborts")).toMatchObject({ outcome: { kind: "abort" }, logged: [{ level: "info", text: "about to" }] });
    expect(run("traps")).toMatchObject({ outcome: { kind: "trap" }, logged: [{ level: "error", text: "about to" }] });
  });

  test("are lost with a run that was stopped", () => {
    const { environment } = invoke("reads");
    const left = runHandler(
      module,
      { executionId: NO_EXECUTION, handler: "reads", args: new Uint8Array(), environment },
      everythingAbsent,
      {
        reads: new Set(),
        writes: new Set(),
      },
    );
    expect(left).toEqual({ kind: "undeclared", unit: "t/a", mode: "read" });
    expect(recordHandler(module, invoke("reads"), () => undefined, { guess: false }).run).toBeNull();
  });

  test("of a read/write-set function are nobody's", () => {
    const derived = deriveAccessSet(module, invoke("reads"), everythingAbsent);
    expect(derived).toEqual({
      kind: "derived",
      set: access(["t/a"], []),
      missing: [],
      missingQueries: [],
      dependent: [],
    });
  });

  test("that are long are cut, and say so", () => {
    expect(run("longLine").logged).toEqual([
      { level: "info", text: "x".repeat(1_000) },
      { level: "info", text: `${"y".repeat(1_000)}… (cut: the line has 1001 characters)` },
    ]);
  });

  test("that are too many are left out, and one more says so", () => {
    const logged = run("manyLines").logged!;
    expect(logged).toHaveLength(101);
    expect(logged.slice(98)).toEqual([
      { level: "info", text: "98" },
      { level: "info", text: "99" },
      { level: "warn", text: "… (3 more lines of this run are left out: at most 100 are kept)" },
    ]);
  });

  test("without end use up the fuel", () => {
    const { outcome, logged } = run("endless");
    expect(outcome).toMatchObject({ kind: "trap", code: "out_of_fuel" });
    expect(logged).toHaveLength(101);
  });

  test.each([
    ["level", "invalid_access"],
    ["negative", "invalid_access"],
    ["outside", "memory_out_of_bounds"],
  ])("of a program that breaks the rules end it: %s", (handler, code) => {
    expect(run(handler).outcome).toMatchObject({ kind: "trap", code });
  });

  test("may stand anywhere in memory", () => {
    expect(run("odd").logged).toEqual([{ level: "info", text: "A" }]);
  });
});

describe("traps", () => {
  const source = `
    let zero: i32 = 0;
    function down(n: i32): i32 { return n == 0 ? 0 : down(n - 1) + n; }
    export function asserts(): void { assert(false, "must hold"); }
    export function bare(): void { assert(false); }
    export function throws(): void { throw new Error("thrown \\uD800"); }
    export function index(): void { const a: i32[] = []; respond(a[3]); }
    export function outside(): void { respond(load<i32>(0x7fffffff)); }
    export function divides(): void { respond(1 / zero); }
    export function remains(): void { respond(1 % zero); }
    export function overflows(): void { respond(i32.MIN_VALUE / (zero - 1)); }
    export function deep(): void { respond(down(100000000 + zero)); }
    export function fills(): void { const all: ArrayBuffer[] = []; for (;;) all.push(new ArrayBuffer(1 << 20)); }
    export function huge(): void { respond(new ArrayBuffer(1 << 28).byteLength); }
    export function enormous(): void { respond(new ArrayBuffer(i32.MAX_VALUE).byteLength); }
    export function keyless(): void { host_touch("t", ""); }
    export function indirect(): void { changetype<() => void>(memory.data<u32>([99, 0]))(); }
    export function loops(): void { for (;;) get("t", "a"); }
    export function writesMuch(): void { const at = memory.data(1 << 18); for (let i = 0; ; i++) host_put("t", i.toString(), at, 1 << 18); }
    export function writesLarge(): void { host_put("t", "a", memory.data(1 << 20), 384 * 1024 + 1); }
    export function writesAgain(): void { const at = memory.data(1 << 18); for (let i = 0; i < 50; i++) host_put("t", "a", at, 1 << 18); }
    export function answersMuch(): void { host_result(memory.data(1 << 20), (1 << 22) + 1); }
    export function answersDeep(): void { const at = memory.data(100); memory.fill(at, 0x81, 65); store<u8>(at + 65, 0); host_result(at, 66); }
    export function many(): void { for (let i = 0; ; i++) put("t", i.toString(), 1); }
  `;
  let module: HandlerModule;
  const trap = (handler: string): Outcome => outcomeOf(record(module, invoke(handler), everythingAbsent));

  beforeAll(async () => {
    module = await programs({ f: source, rw: source, limits: { accesses: 100 } });
  });

  test.each([
    ["asserts", "assertion_failed", /^must hold \(.*:\d+:\d+\)$/],
    ["bare", "assertion_failed", /^assertion failed \(/],
    ["throws", "assertion_failed", /^thrown \ufffd \(/],
    ["index", "assertion_failed", /^Index out of range \(~lib\/array\.ts:\d+:\d+\)$/],
    ["outside", "memory_out_of_bounds", /^access outside of memory$/],
    ["divides", "integer_divide_by_zero", /^integer division by zero$/],
    ["remains", "integer_divide_by_zero", /^integer division by zero$/],
    ["overflows", "integer_overflow", /^integer overflow$/],
    ["deep", "stack_overflow", /^the handler's calls are nested too deeply$/],
    ["fills", "out_of_memory", /^the handler used up its memory$/],
    ["huge", "out_of_memory", /^the handler used up its memory$/],
    ["enormous", "assertion_failed", /^Invalid length/],
    ["indirect", "indirect_call", /^call of a function value/],
    ["loops", "invalid_access", /^more than 1600 accesses in one execution$/],
    ["many", "invalid_access", /^more than 100 items in one execution$/],
    ["writesMuch", "out_of_memory", /^the handler wrote more than 4194304 bytes$/],
    ["writesLarge", "out_of_memory", /^a value is larger than 393216 bytes$/],
    ["answersMuch", "out_of_memory", /^the result is larger than 4194304 bytes$/],
    ["answersDeep", "invalid_access", /^the result is nested deeper than 64$/],
  ])("%s", (handler, code, message) => {
    expect(trap(handler)).toEqual({ kind: "trap", code, message: expect.stringMatching(message) as unknown });
    expect(trap(handler)).toEqual(trap(handler));
  });

  test("only the last write of an item counts", () => {
    expect(trap("writesAgain").kind).toBe("result");
  });

  test("a failing read/write-set function has the set up to there; one out of memory or stack has none", () => {
    const derived = (handler: string): string => deriveAccessSet(module, invoke(handler), everythingAbsent).kind;
    expect(["asserts", "index", "divides", "outside"].map(derived)).toEqual(Array(4).fill("derived"));
    expect(["deep", "fills"].map(derived)).toEqual(Array(2).fill("failed"));
  });

  test("nor has one that makes an access that no store takes, or too many: f may do without it, and go on", () => {
    for (const handler of ["loops", "many", "keyless"])
      expect(deriveAccessSet(module, invoke(handler), everythingAbsent).kind).toBe("failed");
  });

  test("what the snapshot throws is not the handler's doing", () => {
    const broken = (): never => {
      throw new TypeError("broken snapshot");
    };
    expect(() => record(module, invoke("loops"), broken)).toThrow("broken snapshot");
    expect(() => deriveAccessSet(module, invoke("loops"), broken)).toThrow("broken snapshot");
  });
});

describe("sets", () => {
  let module: HandlerModule;

  beforeAll(async () => {
    module = await programs({
      f: `
        export function chase(): void { const a = get("t", "a"); const b = get("t", "b" + a.toString()); get("t", "c" + b.toString()); get("u", "x"); put("t", "w" + a.toString(), 1); }
        export function started(): void { respond(count); }
        let count = get("start", "up");
        export function refuses(): void { get("t", "a"); host_abort(404, "no", ""); }
      `,
      rw: `
        export function chase(): void { const a = get("t", "a"); const b = get("t", "b" + a.toString()); host_touch("t", "c" + b.toString()); host_touch("u", "x"); host_will_write("t", "w" + a.toString()); }
        export function started(): void {}
        let count = get("start", "up");
        export function refuses(): void { if (get("t", "a") != 1) host_abort(404, "no", ""); host_touch("t", "b"); }
        export function ownWrites(): void {
          host_touch_unwritten("t", "before"); host_will_write("t", "before"); host_touch_unwritten("t", "before");
          host_will_write("t", "after"); host_touch_unwritten("t", "after");
          host_will_write("t", "touched"); host_touch("t", "touched");
          host_will_write("t", "got"); get("t", "got");
          put("t", "after", 1); host_touch_unwritten("t", "after"); host_touch_unwritten("t", "other");
        }
        export function random(): void { host_touch("t", host_random("a.ts:1:2").toString()); const b = new ArrayBuffer(36); host_uuid("b.ts:1:2", changetype<usize>(b)); host_touch("t", ascii(changetype<usize>(b), 36)); }
      `,
    });
  });

  test("dependent reads are found in rounds", () => {
    const first = deriveAccessSet(module, invoke("chase"), snapshot({ "start/up": null }));
    expect(first).toMatchObject({
      kind: "derived",
      missing: ["t/a", "t/b-1"],
      missingQueries: [],
      dependent: ["start/up", "t/a", "t/b-1"],
    });
    const second = deriveAccessSet(module, invoke("chase"), snapshot({ "start/up": null, "t/a": 4, "t/b-1": null }));
    expect(second).toMatchObject({ missing: ["t/b4"] });
    const items = { "start/up": null, "t/a": 4, "t/b4": 7 };
    const last = deriveAccessSet(module, invoke("chase"), snapshot(items));
    expect(last).toEqual({
      kind: "derived",
      set: access(["start/up", "t/a", "t/b4", "t/c7", "u/x"], ["t/w4"]),
      missing: [],
      missingQueries: [],
      dependent: ["start/up", "t/a", "t/b4"],
    });
    if (last.kind !== "derived") throw new Error(last.reason);
    const all = { ...items, "t/c7": null, "u/x": 1 };
    expect(runHandler(module, invoke("chase"), snapshot(all), last.set)).toMatchObject({
      kind: "completed",
      writes: [{ unit: "t/w4" }],
    });
  });

  test("a run on invented absences is provisional, whatever it comes to", () => {
    expect(deriveAccessSet(module, invoke("refuses"), snapshot({ "start/up": 1 }))).toMatchObject({
      kind: "derived",
      missing: ["t/a"],
      missingQueries: [],
    });
    expect(deriveAccessSet(module, invoke("refuses"), snapshot({ "start/up": 1, "t/a": 2 }))).toMatchObject({
      kind: "derived",
      set: access(["start/up", "t/a"], []),
      missing: [],
      missingQueries: [],
    });
  });

  test("module-level code runs first and may read", () => {
    const run = record(module, invoke("started"), snapshot({ "start/up": 42 }));
    expect(run).toMatchObject({ outcome: { kind: "result", value: Uint8Array.of(42) }, reads: ["start/up"] });
  });

  test("f and f^rw draw the same", () => {
    const derived = deriveAccessSet(module, invoke("random"), everythingAbsent);
    expect(derived).toEqual(deriveAccessSet(module, invoke("random"), everythingAbsent));
    expect(derived.kind === "derived" && [...derived.set.reads]).toMatchInlineSnapshot(`
      [
        "start/up",
        "t/0.4514650217225916",
        "t/b3949310-fa2e-4a0c-ba81-b3bc05463c29",
      ]
    `);
  });

  test("what was said to be written is no read that is not needed, and any other read", () => {
    const derived = deriveAccessSet(module, invoke("ownWrites"), everythingAbsent);
    expect(derived).toMatchObject({
      set: access(
        ["start/up", "t/before", "t/touched", "t/got", "t/other"],
        ["t/before", "t/after", "t/touched", "t/got"],
      ),
      dependent: ["start/up", "t/got"],
    });
  });

  test("no read/write-set function: no set", () => {
    expect(deriveAccessSet(module, invoke("nobody"), everythingAbsent)).toEqual({
      kind: "failed",
      reason: "there is no read/write-set function of nobody",
    });
  });

  test("an undeclared access ends the run", () => {
    const reads = ["start/up", "t/a", "t/b-1", "t/c-1", "u/x"];
    const run = (set: AccessSet): HandlerRun => runHandler(module, invoke("chase"), everythingAbsent, set);
    expect(run(access(reads, ["t/w-1"])).kind).toBe("completed");
    expect(run(access(reads.slice(0, 4), ["t/w-1"]))).toEqual({ kind: "undeclared", unit: "u/x", mode: "read" });
    expect(run(access(reads, []))).toEqual({ kind: "undeclared", unit: "t/w-1", mode: "write" });
    // To write an item is not to be allowed to read it, nor the other way round.
    expect(run(access([...reads.slice(0, 4), "t/w-1"], ["u/x"]))).toEqual({
      kind: "undeclared",
      unit: "u/x",
      mode: "read",
    });
  });

  test("a unit outside the snapshot ends the run", () => {
    const set = access(["start/up", "t/a", "t/b-1"], []);
    const run = runHandler(module, invoke("chase"), snapshot({ "start/up": null, "t/a": null }), set);
    expect(run).toEqual({ kind: "missing", unit: "t/b-1", missingQueries: [] });
  });
});

describe("record mode", () => {
  let module: HandlerModule;

  beforeAll(async () => {
    module = await programs({
      f: `
        export function fan(): void { const n = get("t", "n"); for (let i = 0; i < n; i++) respond(get("t", i.toString())); put("t", "sum", n); get("t", "sum"); }
        export function chase(): void { const a = get("t", "a"); put("t", "b" + a.toString(), get("t", "b" + a.toString())); }
        export function refuses(): void { put("t", "w", 1); if (get("t", "a") != 1) host_abort(404, "no", ""); }
        export function traps(): void { put("t", "w", 1); assert(get("t", "a") == 1); }
        export function searches(): void { let i = 0; while (get("t", i.toString()) == -1) i++; respond(i); }
      `,
    });
  });

  test("with everything captured it is the run of the handler, and its set", () => {
    const items = { "t/n": 2, "t/0": 5, "t/1": 6 };
    const recorded = recordHandler(module, invoke("fan"), snapshot(items), { guess: true });
    // A read of its own write is none.
    expect(recorded).toEqual({
      set: access(["t/n", "t/0", "t/1"], ["t/sum"]),
      missing: [],
      missingQueries: [],
      run: runHandler(module, invoke("fan"), snapshot(items), recorded.set),
      isExhausted: false,
    });
    expect(recorded.run).toMatchObject({
      kind: "completed",
      reads: ["t/n", "t/0", "t/1"],
      writes: [{ unit: "t/sum" }],
    });
  });

  test("what is missing is collected in one run, guessing it absent, or ends the run", () => {
    const items = { "t/n": 2 };
    const guessed = recordHandler(module, invoke("fan"), snapshot(items), { guess: true });
    expect(guessed).toEqual({
      set: access(["t/n", "t/0", "t/1"], ["t/sum"]),
      missing: ["t/0", "t/1"],
      missingQueries: [],
      // The run of the handler if they are absent.
      run: runHandler(module, invoke("fan"), (wanted) => snapshot(items)(wanted) ?? everythingAbsent(), guessed.set),
      isExhausted: false,
    });
    expect(recordHandler(module, invoke("fan"), snapshot(items), { guess: false })).toEqual({
      set: access(["t/n", "t/0"], []),
      missing: ["t/0"],
      missingQueries: [],
      run: null,
      isExhausted: false,
    });
    expect(recordHandler(module, invoke("chase"), snapshot({}), { guess: true }).missing).toEqual(["t/a", "t/b-1"]);
  });

  test("an abort and a trap are outcomes; the writes that they undid are in the set", () => {
    for (const [handler, kind] of [
      ["refuses", "abort"],
      ["traps", "trap"],
    ] as const) {
      const recorded = recordHandler(module, invoke(handler), snapshot({ "t/a": 2 }), { guess: true });
      expect(recorded).toMatchObject({ set: access(["t/a"], ["t/w"]), run: { outcome: { kind }, writes: [] } });
      // So the same set lets the primary run the handler again.
      const again = runHandler(module, invoke(handler), snapshot({ "t/a": 2 }), recorded.set);
      expect(again).toEqual(recorded.run);
    }
  });

  test("a search among invented absences ends", () => {
    const { missing, run } = recordHandler(module, invoke("searches"), snapshot({}), { guess: true });
    expect(missing).toHaveLength(1_000);
    expect(run).toBeNull();
  });

  test("a handler that is not there is a fault of ours", () => {
    expect(() => recordHandler(module, invoke("nobody"), everythingAbsent, { guess: true })).toThrow(
      /no handler nobody/,
    );
  });
});

describe("the fuel of a speculation", () => {
  const CODE = `export function turns(): void { put("t", "w", 1); let n = 0; for (let i = 0; i < 1000; i++) n ^= get("t", "a"); respond(n); }`;
  const items = snapshot({ "t/a": 2 });
  const set = access(["t/a"], ["t/w"]);
  let whole: CompletedRun;
  const limited = (speculationFuel: number, fuel = whole.fuel): Promise<HandlerModule> =>
    programs({ f: CODE, limits: { fuel, speculationFuel } });

  beforeAll(async () => {
    whole = record(await programs({ f: CODE }), invoke("turns"), items);
  });

  test("one that needs more stops, with a set and in record mode; near storage it has all of the fuel", async () => {
    const module = await limited(whole.fuel - 1);
    expect(runHandler(module, invoke("turns"), items, set, { speculative: true })).toEqual({ kind: "exhausted" });
    expect(recordHandler(module, invoke("turns"), items, { guess: true, speculative: true })).toEqual({
      set,
      missing: [],
      missingQueries: [],
      run: null,
      isExhausted: true,
    });
    expect(runHandler(module, invoke("turns"), items, set)).toEqual(whole);
    expect(record(module, invoke("turns"), items)).toEqual(whole);
  });

  test("one that needs no more is the run that it is near storage", async () => {
    const module = await limited(whole.fuel, 2 * whole.fuel);
    expect(runHandler(module, invoke("turns"), items, set, { speculative: true })).toEqual(whole);
    expect(recordHandler(module, invoke("turns"), items, { guess: true, speculative: true }).run).toEqual(whole);
  });

  test("where it is all of the fuel, using it up is an outcome", async () => {
    const module = await limited(whole.fuel - 1, whole.fuel - 1);
    const run = runHandler(module, invoke("turns"), items, set, { speculative: true });
    expect(outcomeOf(run)).toMatchObject({ kind: "trap", code: "out_of_fuel" });
    expect(run).toEqual(runHandler(module, invoke("turns"), items, set));
  });
});

test("the module hash covers everything that decides what an execution does", async () => {
  const content = await contentOf({ f: "export function a(): void {}", rw: "" });
  const hashes = [
    content,
    { ...content, limits: { ...content.limits, accesses: 9 } },
    { ...content, handlers: handlersWith({ a: "near-storage" }) },
    { ...content, handlers: handlersWith({ a: "sliced" }) },
    { ...content, handlers: handlersWith({ a: "recorded" }) },
    { ...content, handlers: handlersWith({ a: "given" }) },
    { ...content, wasm: content.rwWasm },
    { ...content, rwWasm: content.wasm },
  ].map((one) => moduleHash(one));
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(moduleHash({ ...content })).toBe(hashes[0]);
});

describe("units that an instance has seen before", () => {
  test("are told apart by every character, wherever they lie", async () => {
    // "Aa" and "BB" have the same hash, as the code of the host computes it.
    const said = `
      export function said(): void {
        host_touch("t", "Aa"); host_touch("t", "BB"); host_touch("t", "Aa"); host_touch("u", "Aa"); host_touch("tt", "Aa");
        const key = "x-".concat("1");
        host_touch("t", key);
        store<u16>(changetype<usize>(key), 0x32, 4);
        host_touch("t", key);
        store<u16>(changetype<usize>(key), 0xe4, 4);
        host_touch("t", key);
      }
    `;
    const module = await programs({ f: said, rw: said });
    const units = ["t/Aa", "t/BB", "u/Aa", "tt/Aa", "t/x-1", "t/x-2", "t/x-ä"];
    for (let run = 0; run < 2; run++) {
      const derived = deriveAccessSet(module, invoke("said"), everythingAbsent);
      expect(derived).toMatchObject({ set: access(units, []), missing: [] });
      expect(record(module, invoke("said"), everythingAbsent).reads).toEqual(units);
    }
  });
});

describe("instances that run again", () => {
  let module: HandlerModule;
  const run = (handler: string, items = snapshot({ "t/a": 1 })): HandlerRun =>
    runHandler(module, invoke(handler), items, access(["t/a"], ["t/new"]));

  beforeAll(async () => {
    module = await programs({
      f: `
        let count: i32 = 3;
        const place = memory.data(64);
        export function __radical_reset(): void { count = 3; }
        function state(): i32 {
          const before = load<u8>(place) + load<u8>(40000) + load<u8>(65535);
          store<u8>(place, 1); store<u8>(40000, 1); store<u8>(65535, 1);
          return before * 100 + memory.size() * 10 + count++;
        }
        export function counts(): void { respond(state()); }
        export function traps(): void { state(); assert(false); }
        export function grows(): void { memory.grow(1); respond(state()); }
        export function reads(): void { const before = state(); respond(before + get("t", "a")); }
        export function misses(): void { state(); get("t", "b"); }
      `,
    });
  });

  test("are as good as new, however the run before ended", () => {
    const fresh = { kind: "completed", outcome: { kind: "result", value: Uint8Array.of(13) } };
    const runs = {
      counts: () => run("counts"),
      traps: () => run("traps"),
      grows: () => run("grows"),
      misses: () => run("misses"),
      breaks: () =>
        expect(() =>
          run("reads", () => {
            throw new TypeError("broken snapshot");
          }),
        ).toThrow("broken snapshot"),
      nobody: () => expect(() => run("nobody")).toThrow("no handler nobody"),
    };
    for (const before of Object.values(runs)) {
      before();
      expect(run("counts")).toMatchObject(fresh);
    }
    expect(run("grows")).toMatchObject({ outcome: { value: Uint8Array.of(23) } });
  });

  test("serve one execution at a time", () => {
    const within: HandlerRun[] = [];
    const outer = run("reads", () => {
      within.push(run("counts"));
      return entryOf(commitId(1, 1), Uint8Array.of(1));
    });
    expect(within).toMatchObject([{ outcome: { value: Uint8Array.of(13) } }]);
    expect(outer).toMatchObject({ outcome: { value: Uint8Array.of(14) } });
    expect(run("counts")).toMatchObject({ outcome: { value: Uint8Array.of(13) } });
  });
});
