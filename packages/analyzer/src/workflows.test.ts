/** Workflows, from the source to runs on journals, and the mistakes that the build refuses. */
import { readFileSync } from "node:fs";
import { CborWriter, encodeArguments, type Settled } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { WorkflowEngine } from "./testing/workflow-engine.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  const built = buildWith({ ...buildInput(files), optimize: false }, slicer);
  expect(built.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(built.ok).toBe(true);
  return built;
}

const SHOP = `
  import { abort, all, any, again, caller, enqueue, Future, now, run, Signal, sleep, start, Table, undo, uuid, workflowId }
    from "@radical/sdk";
  export class Order { seat: string = ""; buyer: string | null = null; paid: string = ""; }
  export class Approval { by: string = ""; limit: i64 = 0; }
  const DAY: i64 = 86_400_000;
  const orders = new Table<Order>("orders");
  const approved = new Signal<Approval>("approved");
  const counts = new Signal<i32>("counts");
  /** @internal */
  export function hold(order: string, seat: string): i64 {
    const held = new Order();
    held.seat = seat;
    held.buyer = caller();
    orders.put(order, held);
    return seat.length > 1 ? 200_000 : 50;
  }
  /** @internal */
  export function release(order: string, reason: string = "none"): void { orders.delete(order); }
  /** @internal */
  export function charge(order: string, cents: i64): string { return "receipt of " + order; }
  /** @internal */
  export function confirm(order: string, receipt: string): void {
    const held = orders.get(order);
    if (held == null) abort(404, "no_order", order);
    held.paid = receipt;
    orders.put(order, held);
  }
  /** @workflow */
  export function buy(order: string, seat: string): string {
    const cents = run(hold(order, seat));
    undo(release(order));
    if (cents > 100_000) {
      const approval = approved.wait(2 * DAY);
      if (approval == null) abort(403, "not_approved", "nobody approved");
      if (approval.limit < cents) abort(403, "not_approved", "by " + approval.by);
    }
    const payment = start(charge(order, cents));
    const failure = payment.error();
    if (failure != null) abort(402, failure.code, failure.message);
    run(confirm(order, payment.get()));
    return order;
  }
  export function approve(workflow: string, by: string, limit: i64): void {
    const approval = new Approval();
    approval.by = by;
    approval.limit = limit;
    approved.send(workflow, approval);
  }
  export function tell(workflow: string, n: i32): void { counts.send(workflow, n); }
  export function later(order: string, seat: string): string { return enqueue(buy(order, seat)); }
  /** @workflow */
  export function both(order: string): string {
    const ids = workflowId();
    approve2(ids);
    const first = counts.wait(DAY);
    const second = counts.wait();
    sleep(3 * DAY);
    return (first == null ? "none" : first.toString()) + " " + second.toString() + " " + now().toString();
  }
  function approve2(workflow: string): void { counts.send(workflow, 7); }
  /** @workflow */
  export function parts(n: i32): i64 {
    const steps: Future<i64>[] = [];
    for (let i = 0; i < n; i++) steps.push(start(hold("o" + i.toString(), "A")));
    let sum: i64 = 0;
    for (const cents of all(steps)) sum += cents;
    sum += any(steps).get();
    const none: Future<void>[] = [];
    for (let i = 0; i < n; i++) none.push(start(release("o" + i.toString())));
    all(none);
    const child = start(countdown(3, 0));
    return sum + child.get();
  }
  /** @workflow */
  export function countdown(n: i32, sum: i64): i64 {
    const cents = run(hold("c" + n.toString(), "A"));
    if (n > 0) return again(countdown(n - 1, sum + cents));
    return sum;
  }
  /** @workflow */
  export function quietly(order: string): void { run(release(order)); enqueue(release(order, "twice"), { key: order }); }
`;

const shop = build({ "handlers/shop.ts": SHOP });
const DAY = 86_400_000;

describe("a workflow", () => {
  test("runs its steps one after the other, each on behalf of its caller", () => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("buy", { order: "o1", seat: "A" });
    expect(engine.answer(id)).toBe("o1");
    expect(engine.calls).toEqual(["hold", "charge", "confirm"]);
    const [order] = engine.items.values();
    expect(Buffer.from(order!).toString()).toContain("ann");
    expect(Buffer.from(order!).toString()).toContain("receipt of o1");
    expect(engine.journal(id).map(({ commands }) => commands.map(({ kind, name }) => `${kind} ${name}`))).toEqual([
      ["start hold"],
      ["undo release", "start charge"],
      ["start confirm"],
      [],
    ]);
  });

  test("issues a step with the arguments that a client would send, and says where it stands", () => {
    const engine = new WorkflowEngine(shop, new Map([["hold", { kind: "unknown", message: "x" }]]));
    const id = engine.start("buy", { order: "o1", seat: "A" });
    const { parameters } = shop.handlers.find(({ name }) => name === "hold")!;
    const encoded = encodeArguments(parameters, shop.records, { order: "o1", seat: "A" });
    const first = engine.journal(id)[0]!;
    expect(first).toMatchObject({ wait: { mode: "all", commands: [0], untilMs: null } });
    expect(encoded.kind).toBe("encoded");
    expect(engine.answer(id)).toEqual({ kind: "abort", status: 504, code: "unknown", message: "x" });
  });

  test("waits for a signal, and undoes its steps when none comes", () => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("buy", { order: "o1", seat: "AA" });
    expect(engine.ran(id)).toMatchObject({
      kind: "waiting",
      entry: { wait: { commands: [2], untilMs: engine.timeMs + 2 * DAY } },
    });
    engine.advance(2 * DAY - 1);
    expect(engine.ran(id).kind).toBe("waiting");
    expect(engine.items.size).toBe(1);
    engine.advance(1);
    expect(engine.answer(id)).toMatchObject({ status: 403, code: "not_approved", message: "nobody approved" });
    expect(engine.calls).toEqual(["hold", "release"]);
    expect(engine.items.size).toBe(0);
  });

  test.each([
    [200_000, "o1"],
    [5, { kind: "abort", status: 403, code: "not_approved", message: "by bob" }],
  ])("goes by the value of a signal that a handler has sent", (limit, answer) => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("buy", { order: "o1", seat: "AA" });
    expect(engine.call("approve", { workflow: id, by: "bob", limit })).toMatchObject({ kind: "result" });
    expect(engine.answer(id)).toEqual(answer);
  });

  test("sees how a step has failed, and fails like a step that it runs", () => {
    const declined: Settled = { kind: "failed", status: 409, code: "declined", message: "no money" };
    const failing = new WorkflowEngine(shop, new Map([["charge", declined]]));
    expect(failing.answer(failing.start("buy", { order: "o1", seat: "A" }))).toMatchObject({
      status: 402,
      code: "declined",
    });
    expect(failing.calls).toEqual(["hold", "charge", "release"]);
    const engine = new WorkflowEngine(shop, new Map([["hold", { ...declined, status: 503 }]]));
    expect(engine.answer(engine.start("buy", { order: "o1", seat: "A" }))).toMatchObject({
      status: 503,
      code: "declined",
      message: "no money",
    });
  });

  test("gets the values of a signal in their order, also one that came before, and sleeps", () => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("both", { order: "o" });
    engine.call("tell", { workflow: id, n: 9 });
    const { timeMs } = engine;
    engine.advance(3 * DAY);
    expect(engine.answer(id)).toBe(`7 9 ${timeMs + 3 * DAY}`);
  });

  test("starts many at once, and takes the results in the order of the futures", () => {
    const engine = new WorkflowEngine(shop);
    expect(engine.answer(engine.start("parts", { n: 5 }))).toBe(5 * 50 + 50 + 3 * 50);
    expect(engine.items.size).toBe(4);
  });

  test("goes on with an empty journal, under its id", () => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("countdown", { n: 50, sum: 0 });
    expect(engine.answer(id)).toBe(50 * 50);
    expect(engine.journal(id)).toHaveLength(2);
  });

  test("is begun by a handler, with the commit", () => {
    const engine = new WorkflowEngine(shop);
    engine.call("later", { order: "o7", seat: "A" });
    expect(engine.calls).toEqual(["hold", "charge", "confirm"]);
    expect([...engine.items.keys()]).toEqual(["orders/o7"]);
  });

  test("enqueues tasks, and returns nothing if it says so", () => {
    const engine = new WorkflowEngine(shop);
    expect(engine.answer(engine.start("quietly", { order: "o" }))).toBeNull();
  });

  test("is cancelled at a wait, and undoes", () => {
    const engine = new WorkflowEngine(shop);
    const id = engine.start("buy", { order: "o1", seat: "AA" });
    engine.cancel(id);
    expect(engine.answer(id)).toMatchObject({ status: 409, code: "cancelled" });
    expect(engine.calls).toEqual(["hold", "release"]);
  });
});

describe("steps stand in everyday forms", () => {
  const FORMS: readonly (readonly [type: string, body: string, answer: unknown])[] = [
    ["i32[]", 'return all(["a", "bb"].map((seat) => start(hold(seat))));', [1, 2]],
    ["i32[]", 'return all([start(hold("a")), start(hold("bbb"))]);', [1, 3]],
    ["i32", 'return run(twice(run(hold("abc"))));', 6],
    ["i32", "return run(sums(4))[0].n;", 4],
    ["void", "for (let i = 0; i < 3; i++) run(nothing(i)); all([start(nothing(1))]);", null],
    [
      "i32",
      'const first = any([start(hold("abc")), start(hold("a"))]); return first.error() == null ? first.get() : -1;',
      3,
    ],
    ["i32", 'return part("abcd").get() + start(hold("x")).get();', 5],
    ["string", 'return `${run(hold("abc"))} of ${run(hold("a"))}`;', "3 of 1"],
    ["f64", "done.send(workflowId(), 1.5); return done.wait(5) ?? 0;", 1.5],
    ["i32", 'let sum = 0; ["a", "b"].forEach((seat) => { sum += run(hold(seat)); }); return sum;', 2],
    ["i32", 'const step = start(hold("abc")); return step.error()?.status ?? step.get();', 3],
  ];
  const built = build({
    "handlers/forms.ts": `
      import { all, any, Future, run, Signal, start, workflowId } from "@radical/sdk";
      export class Sum { n: i32 = 0; }
      const done = new Signal<f64>("done");
      /** @internal */ export function hold(seat: string): i32 { return seat.length; }
      /** @internal */ export function twice(n: i32): i32 { return 2 * n; }
      /** @internal */ export function sums(n: i32): Sum[] { return [{ n }]; }
      /** @internal */ export function nothing(n: i32): void {}
      function part(seat: string): Future<i32> { return start(hold(seat)); }
      ${FORMS.map(([type, body], at) => `/** @workflow */ export function w${at}(): ${type} { ${body} }`).join("\n")}
    `,
  });

  test.each(FORMS.map(([, body, answer], at) => [body, `w${at}`, answer] as const))("%s", (_body, name, answer) => {
    const engine = new WorkflowEngine(built);
    expect(engine.answer(engine.start(name, {}))).toEqual(answer);
  });
});

test("a step calls a service by its name, and takes its result, a record too", () => {
  const built = build({
    "services.ts": `
      export class Receipt { id: string = ""; cents: i64 = 0; }
      /** @service */
      export declare function charge(order: string, cents: i64): Receipt;
      /** @service */
      export declare function mail(to: string): void;
    `,
    "handlers/pay.ts": `
      import { abort, run, start } from "@radical/sdk";
      import { charge, mail } from "../services";
      /** @workflow */
      export function pay(order: string): string {
        const receipt = run(charge(order, 500));
        const sent = start(mail("ann")).error();
        return receipt.id + " " + receipt.cents.toString() + " " + (sent == null ? "sent" : sent.code);
      }
    `,
  });
  const receipt = new CborWriter().map(2).text("id").text("r1").text("cents").integer(500).finish();
  const engine = new WorkflowEngine(
    built,
    new Map<string, Settled>([
      ["charge", { kind: "value", value: receipt }],
      ["mail", { kind: "unknown", message: "the line was cut" }],
    ]),
  );
  const id = engine.start("pay", { order: "o1" });
  expect(engine.answer(id)).toBe("r1 500 unknown");
  expect(engine.journal(id).flatMap(({ commands }) => commands.map(({ kind, name }) => `${kind} ${name}`))).toEqual([
    "start charge",
    "start mail",
  ]);
});

test("the report of a workflow, and of handlers that send", () => {
  const reports = new Map(shop.handlers.map((handler) => [handler.name, handler]));
  expect(reports.get("buy")).toMatchObject({
    plan: { kind: "workflow" },
    mayEffect: true,
    readOnly: false,
    reads: [],
    writes: [],
    tables: { reads: [], writes: [] },
    abortCodes: null,
    rwSource: null,
  });
  for (const name of ["approve", "tell", "later"])
    expect(reports.get(name)).toMatchObject({ plan: { kind: "sliced" }, mayEffect: true, readOnly: false });
  expect(reports.get("hold")).toMatchObject({ mayEffect: false });
});

describe("Crucial's examples", () => {
  const read = (name: string): string =>
    readFileSync(new URL(`../fixtures/workflows/handlers/${name}.ts`, import.meta.url), "utf8");
  const built = build({ "handlers/pi.ts": read("pi"), "handlers/k-means.ts": read("k-means") });

  test("pi by Monte Carlo: each task has its own draws", () => {
    const engine = new WorkflowEngine(built);
    const id = engine.start("pi", { tasks: 40, points: 500 });
    expect(engine.answer(id)).toBeCloseTo(Math.PI, 1);
    expect(engine.journal(id)).toHaveLength(2);
    const results = engine
      .journal(id)[1]!
      .arrivals.map((arrival) =>
        arrival.kind === "settled" && arrival.settled.kind === "value"
          ? Buffer.from(arrival.settled.value).toString("hex")
          : "",
      );
    expect(new Set(results).size).toBeGreaterThan(10);
  });

  test("k-means finds the middles of clusters", () => {
    const engine = new WorkflowEngine(built);
    const middles = [
      [0, 0],
      [10, 0],
      [0, 10],
    ] as const;
    for (let part = 0; part < 4; part++) {
      const points = middles.flatMap(([x, y]) =>
        [-1, 1].flatMap((dx) => [-1, 1].map((dy) => ({ x: x + dx, y: y + dy }))),
      );
      engine.call("putPoints", { set: "s", part, points });
    }
    const first = [
      { x: 1, y: 1 },
      { x: 7, y: 2 },
      { x: 2, y: 5 },
    ];
    const id = engine.start("cluster", { set: "s", first, rounds: 20 });
    expect(engine.answer(id)).toEqual(middles.map(([x, y]) => ({ x, y })));
    expect(engine.journal(id).length).toBeGreaterThan(2);
  });
});

const HEAD = `import { again, all, any, enqueue, Future, run, Signal, sleep, start, Table, undo, workflowId } from "@radical/sdk";
  const log = new Table<string>("log");
  const said = new Signal<string>("said");
  /** @internal */
  export function note(text: string, times: i32 = 1): string { log.put(text, text); return text; }
  function helper(text: string): string { return text; }
  class Pen { write(text: string): string { return text; } }
  /** @workflow */
  export function other(n: i32): i32 { return n; }
`;

function errorsOf(text: string, more: Readonly<Record<string, string>> = {}) {
  const input = { ...buildInput({ "handlers/h.ts": text, ...more }), optimize: false };
  return buildWith(input, slicer).diagnostics.filter(({ severity }) => severity === "error");
}

describe("a misuse in a workflow is refused at its place, with the form to write", () => {
  const MISUSES: readonly (readonly [call: string, at: string, code: string, words: string])[] = [
    ["run(note)", "note)", "quoted_call", "run(hold(order))"],
    ["run(1)", "1)", "quoted_call", "written out"],
    ["run()", "run()", "quoted_call", "written out"],
    ['run(note("a"), 1)', 'run(note("a"), 1)', "quoted_call", "only argument"],
    ['start(helper("a"))', 'helper("a', "quoted_call", "no file of handlers exports it"],
    ['undo(new Pen().write("a"))', 'new Pen().write("a', "quoted_call", "not a method"],
    ["run(note())", "note())", "quoted_call", "another number of arguments"],
    ["run(note(5))", "5)", "type_error", "i32"],
    ["again(other(5))", "other(5)", "quoted_call", "in whose body it stands"],
    ['let n: i32 = run(note("a"))', 'run(note("a"))', "type_error", "i32"],
    ["sleep()", "sleep()", "type_error", "milliseconds"],
    ['sleep("long")', '"long"', "type_error", "i64"],
    ["said.send(workflowId())", "said.send", "type_error", "the id of a workflow and a value"],
    ["said.send(workflowId(), 5)", "5)", "type_error", "i32"],
    ["said.wait(1, 2)", "said.wait(1, 2)", "type_error", "milliseconds, or nothing"],
    ["const s = said; s.wait()", "s.wait", "invalid_signal", "constant at the top of a file"],
    ['new Signal<string>("x").wait()', 'new Signal<string>("x")', "invalid_signal", "constant at the top of a file"],
    ['log.put("a", "b")', 'log.put("a", "b")', "table_in_workflow", "run that as a step"],
    ["other(3)", "other(3)", "workflow_called", "run(other(…))"],
    ['start(note("a")).get().length.foo()', "foo", "type_error", "foo"],
    ["all([1, 2])", "[1, 2]", "type_error", "Future"],
  ];

  test.each(MISUSES)("%s", (call, at, code, words) => {
    const text = `${HEAD}  /** @workflow */\n  export function w(): void { ${call}; }\n`;
    const errors = errorsOf(text);
    const told = errors.map(({ message, help = "" }) => `${message} ${help}`).join("\n");
    expect(told).toContain(words);
    expect(errors[0]!.code).toBe(code);
    expect(errors[0]!.primary.start).toBe(text.indexOf(at, text.indexOf("function w")));
    expect(new Set(errors.map(({ primary }) => primary.start)).size).toBeLessThanOrEqual(2);
  });
});

describe("only a workflow has steps and waits", () => {
  test.each([
    ['run(note("a"))'],
    ['start(note("a"))'],
    ['undo(note("a"))'],
    ["sleep(5)"],
    ["said.wait()"],
    ["said.wait(5)"],
    ["workflowId()"],
    ["all<string>([])"],
    ['[""].forEach((text) => { run(note(text)); })'],
  ])("%s in a handler is refused at its place", (call) => {
    const text = `${HEAD}  export function h(): void { ${call}; }\n`;
    const errors = errorsOf(text);
    expect(errors).toMatchObject([{ code: "workflow_only", message: expect.stringContaining("handler h") as string }]);
    expect(errors[0]!.help).toContain("@workflow");
    const { start, end } = errors[0]!.primary;
    expect(text.slice(text.indexOf("function h"))).toContain(text.slice(start, end));
  });

  test("in a helper of a handler too, and once for several handlers", () => {
    const lib = `import { run } from "@radical/sdk";
      import { note } from "../handlers/h";
      export function noted(text: string): string { return run(note(text)); }`;
    const text = `import { noted } from "../lib/noted";\n${HEAD}
      export function a(): string { return noted("a"); }
      export function b(): string { return noted("b"); }
      /** @workflow */ export function c(): string { return noted("c"); }`;
    const errors = errorsOf(text, { "lib/noted.ts": lib });
    expect(errors).toMatchObject([{ code: "workflow_only", primary: { file: "lib/noted.ts" } }]);
  });

  test("a handler may send a signal, and enqueue a workflow", () => {
    expect(
      errorsOf(`${HEAD}  export function h(id: string): void { said.send(id, "a"); enqueue(other(1)); }\n`),
    ).toEqual([]);
  });
});

describe("a workflow touches no table", () => {
  test.each([
    ['helper2("a")', 'log.get("b")'],
    ["new Reader().read()", 'log.has("c")'],
    ['["a"].forEach((text) => { log.put(text, text); })', "log.put(text, text)"],
    ["log.all().count()", "log.all()"],
  ])("in %s", (call, at) => {
    const text = `${HEAD}
      function helper2(text: string): void { log.get("b"); }
      class Reader { read(): bool { return log.has("c"); } }
      /** @workflow */ export function w(): void { ${call}; }`;
    const errors = errorsOf(text);
    expect(errors).toMatchObject([{ code: "table_in_workflow" }]);
    expect(text.slice(errors[0]!.primary.start, errors[0]!.primary.end)).toBe(at);
  });
});

describe("signals", () => {
  test.each([
    ['const a = new Signal<string>("a b");', "can't have the name"],
    ['const a = new Signal<string>("said");', "declared twice"],
    ['const a = new Signal("a");', "type argument is missing"],
    ['const a = new Signal<string | null>("a");', "can't be null"],
    ['let a = new Signal<string>("a");', "not a constant"],
    ['function f(): void { new Signal<string>("a"); }', "not a constant"],
    ['const name = "a"; const a = new Signal<string>(name); function f(): void { a.send("", ""); }', "not a constant"],
  ])("%s is refused", (declaration, words) => {
    const errors = errorsOf(
      `${HEAD}  ${declaration}\n  export function h(): void { ${declaration.includes("function") ? "f();" : ""} }\n`,
    );
    const told = errors.map(({ message }) => message).join("\n");
    expect(errors.length === 0 ? "" : told).toContain(words);
  });
});

describe("the tag", () => {
  test.each([
    ["@nearstorage", "nearstorage"],
    ["@speculative", "speculative"],
    ["@refuse union", "refuse"],
    ["@retry 3", "retry"],
    ["@limit 3", "limit"],
  ])("has no meaning beside %s", (tag, name) => {
    const errors = errorsOf(`/** @workflow\n *  ${tag} */\nexport function w(): void {}\n`);
    expect(errors).toMatchObject([{ code: "misplaced_tag", message: expect.stringContaining(`@${name}`) as string }]);
  });

  test("stands before an exported function, and takes no words", () => {
    expect(errorsOf("/** @workflow */ function f(): void {}\nexport function h(): void { f(); }")).toMatchObject([
      { code: "misplaced_tag" },
    ]);
    expect(errorsOf("/** @workflow long */ export function h(): void {}")).toMatchObject([{ code: "unknown_tag" }]);
    expect(errorsOf("/** @workflows */ export function h(): void {}")).toMatchObject([{ code: "unknown_tag" }]);
    const thread = `import { Objects } from "@radical/sdk";
      export class Thread { id: string = ""; /** @workflow */ create(): void {} }
      const threads = new Objects<Thread>("threads");
      export function h(): void {}`;
    expect(errorsOf(thread)).toMatchObject([
      { code: "misplaced_tag", message: expect.stringContaining("Thread.create") as string },
    ]);
  });
});
