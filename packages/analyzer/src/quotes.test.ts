/** Quoted calls: `enqueue(remind(order), { delay, key })`, from the source to the effects of a run and to f^rw. */
import { encodeArguments, NO_EXECUTION, type RunEffect, taskIdOf } from "@radical/protocol";
import { deriveAccessSet, runHandler } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import type { Diagnostic, Edit } from "./diagnostics/diagnostic.ts";
import { slicer } from "./slicer.ts";
import { readCron, readEvery } from "./schema/task-tags.ts";
import { buildInput } from "./testing/library.ts";
import { call, invocation, moduleOf, snapshotOf } from "./testing/run.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  const built = buildWith({ ...buildInput(files), optimize: false }, slicer);
  expect(built.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(built.ok).toBe(true);
  return built;
}

const SHOP = `
  import { Table, enqueue, cancel, uuid, abort } from "@radical/sdk";
  export class Line { item: string = ""; count: i32 = 0; }
  export class Order { buyer: string = ""; reminder: string = ""; lines: Line[] = []; }
  const orders = new Table<Order>("orders");
  const sent = new Table<string>("sent");
  /** @internal */
  export function remind(id: string, times: i64 = 1): void { sent.put(id, times.toString()); }
  /** @internal */
  export function mail(to: string, subject: string, lines: Line[], urgent: bool, note: string | null): void {
    sent.put(to, subject);
  }
  export function order(id: string, buyer: string, lines: Line[]): string {
    const order = new Order();
    order.buyer = buyer;
    order.lines = lines;
    const day: i64 = 86_400_000;
    order.reminder = enqueue(remind(id), { delay: 7 * day });
    orders.put(id, order);
    enqueue(mail(buyer, "Order " + id, lines, lines.length > 1, null), { key: buyer });
    return order.reminder;
  }
  export function pay(id: string): void {
    const order = orders.get(id);
    if (order == null) abort(404, "no_order", id);
    cancel(order.reminder);
    if (order.lines.length == 0) abort(409, "empty", id);
  }
  export function many(n: i32): void {
    for (let i = 0; i < n; i++) enqueue(remind("r" + i.toString(), i), { delay: -5 });
  }
  export function perhaps(id: string, key: string | null): void { enqueue(remind(id), { key }); }
`;

function effectsOf(built: BuildResult, handler: string, json: unknown, items = new Map<string, Uint8Array>()) {
  return call(built, items, handler, json).run.effects ?? [];
}

function argsOf(built: BuildResult, callee: string, json: unknown): Uint8Array {
  const { parameters } = built.handlers.find(({ name }) => name === callee)!;
  const encoded = encodeArguments(parameters, built.records, json);
  if (encoded.kind === "problem") throw new Error(encoded.problem.message);
  return encoded.bytes;
}

const built = build({ "handlers/shop.ts": SHOP });
const lines = [
  { item: "pen", count: 2 },
  { item: "ink", count: 1 },
];

describe("a quoted call", () => {
  test("calls nothing, and is an effect of the run: handler, arguments as a client would send them, delay, key", () => {
    const { run, result } = call(built, new Map(), "order", { id: "o1", buyer: "ann", lines });
    expect(run.effects).toEqual([
      {
        kind: "enqueue",
        callee: "remind",
        args: argsOf(built, "remind", { id: "o1" }),
        delayMs: 604_800_000,
        key: null,
      },
      {
        kind: "enqueue",
        callee: "mail",
        args: argsOf(built, "mail", { to: "ann", subject: "Order o1", lines, urgent: true, note: null }),
        delayMs: 0,
        key: "ann",
      },
    ] satisfies RunEffect[]);
    expect(run.writes.map(({ unit }) => unit)).toEqual(["orders/o1"]);
    expect(result).toBe(taskIdOf(NO_EXECUTION, 0));
  });

  test("is dropped with the writes when the run aborts", () => {
    const items = new Map<string, Uint8Array>();
    call(built, items, "order", { id: "o1", buyer: "ann", lines: [] });
    const { run, outcome } = call(built, items, "pay", { id: "o1" });
    expect(outcome).toMatchObject({ kind: "abort", code: "empty" });
    expect([run.writes, run.effects]).toEqual([[], undefined]);
  });

  test("is taken back by the id that it gave", () => {
    const items = new Map<string, Uint8Array>();
    const { run } = call(built, items, "order", { id: "o1", buyer: "ann", lines });
    const paid = call(built, items, "pay", { id: "o1" });
    expect(paid.run.effects).toEqual([{ kind: "cancel", task: taskIdOf(NO_EXECUTION, 0) }]);
    expect(run.effects).toHaveLength(2);
  });

  test("a delay that is over counts as none, and the last arguments may be left out", () => {
    const effects = effectsOf(built, "many", { n: 3 });
    expect(effects).toMatchObject(
      [0, 1, 2].map((n) => ({ delayMs: 0, args: argsOf(built, "remind", { id: `r${n}`, times: n }) })),
    );
    expect(effectsOf(built, "perhaps", { id: "a", key: null })).toMatchObject([{ key: null }]);
    expect(effectsOf(built, "perhaps", { id: "a", key: "k" })).toMatchObject([{ key: "k" }]);
  });

  test("1,000 are as many as an execution may ask for", () => {
    expect(effectsOf(built, "many", { n: 1000 })).toHaveLength(1000);
    const { run, outcome } = call(built, new Map(), "many", { n: 1001 });
    expect(outcome).toMatchObject({
      kind: "trap",
      message: "more than 1000 tasks, cancellations and signals in one execution: let a task ask for the others",
    });
    expect(run.effects).toBeUndefined();
  });
});

describe("the read/write-set function", () => {
  const report = (handler: string): BuildResult["handlers"][number] =>
    built.handlers.find(({ name }) => name === handler)!;

  test.each(["order", "pay", "many", "perhaps"])("of %s is derived", (handler) => {
    expect(report(handler).plan.kind).toBe("sliced");
  });

  test("keeps the keys of tasks, and drops their arguments", () => {
    const { rwSource } = report("order");
    expect(rwSource).toContain("const key: string = buyer;\n  touchLane(key);");
    expect(rwSource).not.toContain('"Order "');
    expect(rwSource).not.toContain("enqueueTask");
    expect(report("many").rwSource).not.toContain("for (");
  });

  test.each([
    ["order", { id: "o1", buyer: "ann", lines }, ["ann"]],
    ["perhaps", { id: "o1", key: "k" }, ["k"]],
    ["perhaps", { id: "o1", key: null }, []],
  ])("of %s says the lanes that a run under its set may name", (handler, json, lanes) => {
    const module = moduleOf(built);
    const invoked = invocation(built, handler, json);
    const derived = deriveAccessSet(module, invoked, snapshotOf(new Map()));
    if (derived.kind === "failed") throw new Error(derived.reason);
    expect([...(derived.set.lanes ?? [])]).toEqual(lanes);
    expect(runHandler(module, invoked, snapshotOf(new Map()), derived.set)).toMatchObject({ kind: "completed" });
    const without = { reads: derived.set.reads, writes: derived.set.writes };
    if (lanes.length > 0)
      expect(runHandler(module, invoked, snapshotOf(new Map()), without)).toEqual({
        kind: "undeclared-lane",
        lane: lanes[0],
      });
  });
});

describe("the report of a handler", () => {
  const files = {
    "lib/ask.ts": `
      import { enqueue, cancel } from "@radical/sdk";
      import { note } from "../handlers/h";
      export function ask(text: string): string { return enqueue(note(text)); }
      export class Asker { run(): void { ask("a"); } }
      export function drop(id: string): void { cancel(id); }
    `,
    "handlers/h.ts": `
      import { Table } from "@radical/sdk";
      import { ask, Asker, drop } from "../lib/ask";
      const notes = new Table<string>("notes");
      /** @internal */
      export function note(text: string): void { notes.put(text, text); }
      export function reads(text: string): bool { return notes.has(text); }
      export function asks(text: string): bool { ask(text); return notes.has(text); }
      export function method(): void { new Asker().run(); }
      export function value(): void { const f: (text: string) => string = ask; f("a"); }
      export function list(): void { ["a"].forEach((text) => { ask(text); }); }
      export function gives(id: string): void { drop(id); }
      /** @nearstorage */
      export function near(): void { ask("a"); }
      export function given(): void { ask("a"); }
      /** @readwrite given */
      function says(): void { notes.touch("a"); }
      export function keyed(): void { notes.put(ask("a"), "a"); }
      /** @retry 3
       *  @limit 2 10/m */
      export function limited(): void { notes.delete("n"); }
    `,
  };
  const handlers = new Map(build(files).handlers.map((handler) => [handler.name, handler]));

  test("says which handlers may ask for tasks, whatever way leads there; those do not only read", () => {
    const asking = ["asks", "method", "value", "list", "gives", "near", "given", "keyed"];
    for (const [name, { mayEffect, readOnly }] of handlers) {
      expect([name, mayEffect]).toEqual([name, asking.includes(name)]);
      expect([name, readOnly]).toEqual([name, name === "reads"]);
    }
  });

  test("says which have no route, and the rules of their tasks", () => {
    expect([...handlers.values()].filter(({ internal }) => internal).map(({ name }) => name)).toEqual(["note"]);
    expect(handlers.get("limited")!.tasks).toEqual({
      attempts: 3,
      limit: { running: 2, rate: { count: 10, perMs: 60_000 } },
    });
    expect(handlers.get("asks")!.tasks).toBeNull();
  });

  test("a handler whose items depend on the id of a task is not sliced", () => {
    expect(handlers.get("keyed")!.plan).toMatchObject({ kind: "recorded", reason: { code: "not_sliced_task_id" } });
  });
});

describe("tags", () => {
  test("a schedule is read: fields, zone, steps, and what happens to late ticks", () => {
    expect(readCron("30 3 * * mon-FRI,0 Europe/Berlin catchUp=7 overlap=allow".split(" "))).toEqual({
      kind: "cron",
      fields: "30 3 * * mon-FRI,0",
      zone: "Europe/Berlin",
      catchUp: 7,
      overlap: "allow",
    });
    expect(readEvery(["90s"])).toEqual({ kind: "every", everyMs: 90_000, catchUp: 1, overlap: "wait" });
  });

  test.each([
    ["@retry", "number of tries"],
    ["@retry 0", "number of tries"],
    ["@retry 3 4", "number of tries"],
    ["@retrys 3", "does not exist"],
    ["@intern", "does not exist"],
    ["@Internal", "does not exist"],
    ["@limit", "how many tasks run at once"],
    ["@limit 3 4", "how many tasks run at once"],
    ["@limit 10/y", "how many tasks run at once"],
  ])("%s is refused", (tag, words) => {
    const text = `/** ${tag} */\nexport function h(): void {}\n`;
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    const errors = refused.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code: "unknown_tag", message: expect.stringContaining(words) as string }]);
  });

  test.each([
    ["@every", "needs a time"],
    ["@every 5", "needs a time"],
    ["@every 500d", "needs a time"],
    ["@every 5m often", "does not know"],
    ["@every 5m overlap=never", "does not know"],
    ["@cron 0 3 * *", "five fields"],
    ["@cron 60 3 * * *", "is not a minute"],
    ["@cron 0 3 * foo *", "is not a month"],
    ["@cron 0 3 5-2 * *", "is not a day"],
    ["@cron 0 3 * * * Europe/Nowhere", "does not exist"],
    ["@cron 0 3 * * * catchUp=many", "does not know"],
    ["@cron 0 3 * * * catchUp=3 overlap=skip", "at most one tick is made up for"],
    ["@cron 0 3 31 2,4-5/2 *", "fit no day"],
    ["@cron 0 3 30-31 FEB *", "fit no day"],
  ])("%s is refused", (tag, words) => {
    const text = `/** ${tag} */\nexport function h(): void {}\n`;
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    const errors = refused.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code: "invalid_schedule", message: expect.stringContaining(words) as string }]);
    const [{ primary }] = errors as [Diagnostic];
    expect(text.slice(primary.start, primary.end)).toBe(tag);
  });

  test.each(["0 3 31 2 MON", "0 3 29 2 *", "0 3 1-31/30 * *", "0 3 31 1,2 *", "0,30 0-23/6 * JAN-DEC/3 SUN"])(
    "%s fits some day",
    (fields) => {
      expect(readCron(fields.split(" "))).toEqual({ kind: "cron", fields, zone: "UTC", catchUp: 1, overlap: "wait" });
    },
  );

  test.each([
    ["/** @every 5m\n * @cron 0 3 * * * */ export function h(): void {}", "Two tags"],
    ["/** @retry 5\n * @retry 6 */ export function h(): void {}", "Two tags"],
    ["/** @retry 5 */ function f(): void {} export function h(): void { f(); }", "not a handler"],
  ])("%s is refused", (text, words) => {
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    const errors = refused.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code: "misplaced_tag", message: expect.stringContaining(words) as string }]);
  });

  test("the module has the schedules of handlers, with the parameter for the time of a tick", () => {
    const { handlers } = build({
      "handlers/h.ts": `
        /** @cron 0 3 * * *  Europe/Berlin
         *  @internal */
        export function nightly(tick: i64): void {}
        /** @every 5m catchUp=0 overlap=skip
         *  @retry 2 */
        export function sweep(): void {}
      `,
    });
    const schedule = { catchUp: 1, overlap: "wait", parameter: "tick" };
    expect(handlers.map(({ name, tasks }) => [name, tasks])).toEqual([
      ["nightly", { schedule: { kind: "cron", fields: "0 3 * * *", zone: "Europe/Berlin", ...schedule } }],
      [
        "sweep",
        { attempts: 2, schedule: { kind: "every", everyMs: 300_000, catchUp: 0, overlap: "skip", parameter: null } },
      ],
    ]);
  });

  test.each([
    ["export function h(tick: i32): void {}", "tick: i32", "is not an `i64`"],
    ["export function h(tick: string): void {}", "tick: string", "is not an `i64`"],
    ['export function h(tick: i64, more: string = ""): void {}', 'more: string = ""', "one argument at most"],
  ])("a tick can't call %s", (declared, at, words) => {
    const text = `/** @every 5m */\n${declared}\n`;
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    const errors = refused.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code: "schedule_signature", message: expect.stringContaining(words) as string }]);
    expect(text.slice(errors[0]!.primary.start, errors[0]!.primary.end)).toBe(at);
  });

  test("a caller that must be there is told, wherever the handler of a schedule reaches it", () => {
    const text = `import { caller, Table } from "@radical/sdk";
      const log = new Table<string>("log");
      function who(): string { return caller()!; }
      /** @every 5m */ export function h(): void { log.put("a", who()); }
      /** @every 5m */ export function tested(): void { if (caller() != null) log.put("a", "b"); if (caller()!= null) log.put("b", "b"); }
      export function called(): void { log.put("a", caller()!); }
    `;
    const { diagnostics } = build({ "handlers/h.ts": text });
    expect(diagnostics).toMatchObject([{ code: "schedule_caller", severity: "warning" }]);
    expect(diagnostics[0]!.primary.start).toBe(text.indexOf("caller()!"));
  });

  test.each([
    ["/** @cron */5 * * * * */", "0-59/5"],
    ["/**\n * Sweeps.\n * @cron 0 */2 * * *\n * @internal\n */", "0-23/2"],
    ["/** @cron 0,30 3 */2 * * Europe/Berlin */", "1-31/2"],
    ["/** @cron 0 0-23/6 * */3 * */", "1-12/3"],
  ])("a step that ends its comment is told, and nothing else: %s", (comment, field) => {
    const text = `${comment}\nexport function h(): void {}\n`;
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    expect(refused.diagnostics.map(({ code }) => code)).toEqual(["schedule_comment"]);
    const [{ fix, help }] = refused.diagnostics as [Diagnostic];
    expect(help).toContain(field);
    const [{ span, text: put }] = fix!.edits as [Edit];
    const fixed = text.slice(0, span.start) + put + text.slice(span.end);
    expect(build({ "handlers/h.ts": fixed }).handlers[0]!.tasks).toMatchObject({ schedule: { kind: "cron" } });
  });
});

test("a function that only asks for a task counts like one that accesses an item", () => {
  const text = `import { enqueue } from "@radical/sdk";
    export function later(text: string): void {}
    let count: i32 = 3;
    class Base {
      constructor(text: string) {}
      step(): i32 { enqueue(later(""), { key: count.toString() }); return 0; }
    }
    class Derived extends Base {}
    function base(text: string): Base { return new Derived(text); }
    export function h(a: string): void { const found: Base = base(a); found.step(); }`;
  const shop = build({ "handlers/h.ts": text });
  const derived = deriveAccessSet(moduleOf(shop), invocation(shop, "h", { a: "" }), snapshotOf(new Map()));
  expect(derived).toMatchObject({ kind: "derived", set: { lanes: new Set(["3"]) } });
});

const HEAD = `import { Table, enqueue } from "@radical/sdk";
  const log = new Table<string>("log");
  export function note(text: string, times: i32 = 1): void { log.put(text, text); }
  function helper(text: string): void {}
  class Pen { write(text: string): void {} }
`;

describe("a misuse is refused at its place, with the form to write", () => {
  const MISUSES: readonly (readonly [call: string, at: string, words: string])[] = [
    ["enqueue(note)", "note)", "a call of a handler or service, written out"],
    ["enqueue((() => 1)())", "() => 1", "this is not one"],
    ["enqueue(1)", "1)", "a call of a handler or service, written out"],
    ["enqueue()", "enqueue()", "a call of a handler or service, written out"],
    ['enqueue(helper("a"))', 'helper("a', "no file of handlers exports it"],
    ['enqueue(new Pen().write("a"))', 'new Pen().write("a', "not a method"],
    ["enqueue(note())", "note())", "another number of arguments"],
    ['enqueue(note("a", 1, 2))', 'note("a", 1, 2)', "another number of arguments"],
    ['enqueue(note("a"), { delays: 3 })', "delays", "`delay` and `key`"],
    ['enqueue(note("a"), { delay: 3, delay: 4 })', "delay: 4", "`delay` and `key`"],
    ['enqueue(note("a"), 3)', "3)", "`delay` and `key`"],
    ["enqueue(note(5))", "5)", "i32"],
    ['enqueue(note("a"), { key: 5 })', "5 }", "i32"],
    ['enqueue(note("a"), { delay: "soon" })', '"soon"', "i64"],
    ["enqueue(unknown(5))", "unknown", "unknown"],
  ];

  test.each(MISUSES)("%s", (code, at, words) => {
    const text = `${HEAD}  export function h(): void { ${code}; }
`;
    const refused = buildWith({ ...buildInput({ "handlers/h.ts": text }), optimize: false }, slicer);
    const errors = refused.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ message, help = "" }) => `${message} ${help}`).join("\n")).toContain(words);
    const start = text.indexOf(at.replaceAll("\\", ""), text.indexOf("function h"));
    expect(errors[0]!.primary.start).toBe(start);
    expect(errors).toHaveLength(1);
  });
});
