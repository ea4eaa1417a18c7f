import {
  type Activation,
  type Arrival,
  CANCELLED,
  CborReader,
  decodeEntry,
  encodeEntry,
  type ExecutionId,
  isOver,
  type Journal,
  type JournalEntry,
  MAX_ACTIVATION_COMMANDS,
  type Outcome,
  type Settled,
  stepIdOf,
  type Wait,
  type WorkflowCommand,
  type WorkflowRun,
} from "@radical/protocol";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { HandlerModule } from "./module.ts";
import { programs } from "./testing/programs.ts";
import { type Arrived, type FollowedRun, followWorkflow, runWorkflow } from "./workflow.ts";

/** Byte by byte: what the workflow `script` does next. Its operand is the byte behind it. */
const Step = {
  start: 1,
  undo: 2,
  sleep: 3,
  receive: 4,
  all: 5,
  any: 6,
  send: 7,
  enqueue: 8,
  draw: 9,
  abort: 10,
} as const;

const PROGRAM = `
  const held = memory.data(4096);
  function step(callee: string, value: i32): i32 { store<u8>(held, value); return host_start(callee, "h.ts:1:" + value.toString(), held, 1); }
  function wait(mode: i32, from: i32, to: i32): i32 {
    for (let i = from; i < to; i++) store<i32>(held + (i - from) * 4, i);
    return host_await(mode, held, to - from);
  }
  function valueOf(number: i32): i32 {
    if (host_settled(number) < 0) return 255;
    host_take(held);
    return load<u8>(held);
  }
  /** Each result goes into the arguments of the steps after it. */
  export function script(): void {
    const length = host_args_size();
    const code = new StaticArray<u8>(length);
    host_args_read(changetype<usize>(code));
    const steps: i32[] = [];
    let sum = 0;
    for (let at = 0; at + 1 < length; at += 2) {
      const operand: i32 = code[at + 1];
      switch (code[at]) {
        case 1: steps.push(step("f" + operand.toString(), sum & 255)); break;
        case 2: store<u8>(held, sum & 255); host_undo("g", "h.ts:2:1", held, 1); break;
        case 3: host_sleep(operand, "h.ts:3:1"); break;
        case 4: {
          const length = host_receive("s" + (operand & 1).toString(), operand < 128 ? -1 : operand, "h.ts:4:1");
          if (length < 0) { sum = sum * 31 + 1; break; }
          host_take(held);
          sum = sum * 31 + load<u8>(held);
          break;
        }
        case 5:
        case 6: {
          if (steps.length == 0) break;
          for (let i = 0; i < steps.length; i++) store<i32>(held + i * 4, steps[i]);
          const first = host_await(code[at] == 6 ? 1 : 0, held, steps.length);
          sum = sum * 31 + first;
          if (code[at] == 5) { for (let i = 0; i < steps.length; i++) sum = sum * 31 + valueOf(steps[i]); steps.length = 0; }
          else { sum = sum * 31 + valueOf(first); steps.splice(steps.indexOf(first), 1); }
          break;
        }
        case 7: store<u8>(held, sum & 255); host_send("${"0".repeat(32)}", "s" + (operand & 1).toString(), held, 1); break;
        case 8: host_enqueue(held, "t", operand, "k", held, 1); break;
        case 9: host_uuid("h.ts:9:1", held); sum = sum * 31 + load<u8>(held); break;
        case 10: if (operand == 0) host_abort(409, "no", "it failed"); break;
      }
    }
    respond(sum & 127);
  }
  export function two(): void {
    const a = step("a", 1);
    const b = step("b", 2);
    const first = wait(1, 0, 2);
    assert(first == a || first == b);
    wait(0, 0, 2);
    respond(first);
  }
  export function failing(): void {
    wait(0, step("a", 1), 1);
    const length = host_failure(0);
    if (length < 0) { respond(valueOf(0)); return; }
    host_take(held);
    host_result(held, length);
  }
  export function clock(): void {
    store<i64>(held, host_now());
    host_sleep(1000, "h.ts:1:1");
    store<i64>(held + 8, host_now());
    host_result(held, 16);
  }
  export function undoing(): void {
    store<u8>(held, 1); host_undo("first", "h.ts:1:1", held, 1);
    store<u8>(held, 2); host_undo("second", "h.ts:2:1", held, 1);
    wait(0, step("a", 1), 3);
    if (valueOf(2) != 0) host_abort(402, "declined", "no money");
  }
  export function anew(): void { store<u8>(held, 7); host_again(held, 1); }
  export function logs(): void {
    host_log(1, changetype<usize>("one"), 6);
    wait(0, step("a", 1), 1);
    host_log(1, changetype<usize>("two"), 6);
    wait(0, step("a", 1), 2);
    host_log(1, changetype<usize>("three"), 10);
  }
  export function ids(): void {
    host_workflow_id(held);
    host_uuid("h.ts:1:1", held + 32);
    host_enqueue(held + 68, "t", 0, "k", held, 1);
    host_result(held, 100);
  }
  export function wide(): void { for (let i = 0; i < 1001; i++) step("a", 1); }
  export function bytes(): void {
    const many = new StaticArray<u8>(200_000);
    for (let i = 0; i < 30; i++) { host_start("a", "", changetype<usize>(many), 200_000); wait(0, i, i + 1); }
  }
  export function burst(): void {
    const many = new StaticArray<u8>(200_000);
    for (let i = 0; i < 30; i++) host_start("a", "", changetype<usize>(many), 200_000);
  }
  export function early(): void { wait(0, step("a", 1), 1); host_settled(5); }
  export function none(): void { wait(1, 0, 0); }
  export function table(): void { get("t", "a"); }
  export function longest(): void { host_sleep(400 * 1000 * 86400000, "h.ts:1:1"); }
  export function nobody(): void { host_send("ann", "s", held, 1); }
  export function nameless(): void { host_receive("a b", -1, ""); }
  export function deep(): void { for (let i = 0; i < 3; i++) step("a", i); wait(0, 0, 3); assert(false, "after the steps"); }
`;

const workflow = "000102030405060708090a0b0c0d0e0f" as ExecutionId;
const START_MS = 1_700_000_000_000;
let module: HandlerModule;

beforeAll(async () => {
  module = await programs({ f: PROGRAM });
});

const INVOCATION = {
  executionId: workflow,
  environment: { timeMs: 5, seed: new Uint8Array(16).fill(7), caller: "ann" },
};

function run(handler: string, activation: Partial<Activation> = {}, args: Uint8Array = new Uint8Array(), round = 0) {
  const invocation = { ...INVOCATION, handler, args, round };
  return runWorkflow(module, invocation, { journal: [], arrivals: [], timeMs: START_MS, ...activation });
}

function followed(arrived: readonly Arrived[], args: Uint8Array, handler = "script"): FollowedRun {
  return followWorkflow(module, { ...INVOCATION, handler, args, round: 0 }, arrived);
}

type Went = Extract<WorkflowRun, { readonly entry: JournalEntry }>;

function went(ran: WorkflowRun): Went {
  if (!("entry" in ran)) throw new Error(JSON.stringify(ran));
  return ran;
}

const value = (command: number, byte: number): Arrival => ({
  kind: "settled",
  command,
  settled: { kind: "value", value: Uint8Array.of(byte) },
});

/** Runs to the end, one activation for each list of arrivals. */
function play(handler: string, activations: readonly (readonly Arrival[])[]): { journal: Journal; last: WorkflowRun } {
  const journal: JournalEntry[] = [];
  let last = run(handler);
  for (const [at, arrivals] of activations.entries()) {
    journal.push(went(last).entry);
    last = run(handler, { journal, arrivals, timeMs: START_MS + 10 * (at + 1) });
  }
  return { journal, last };
}

describe("an activation", () => {
  test("issues commands, numbered in program order, and stops at a wait that is not over", () => {
    const first = went(run("two"));
    expect(first).toMatchObject({
      kind: "waiting",
      entry: { timeMs: START_MS, arrivals: [], wait: { mode: "any", commands: [0, 1], untilMs: null } },
    });
    expect(first.commands).toEqual([
      { number: 0, command: { kind: "start", callee: "a", args: Uint8Array.of(1) }, place: "h.ts:1:1" },
      { number: 1, command: { kind: "start", callee: "b", args: Uint8Array.of(2) }, place: "h.ts:1:2" },
    ]);
    const second = went(run("two", { journal: [first.entry], arrivals: [value(1, 9)] }));
    expect(second).toMatchObject({ kind: "waiting", commands: [], entry: { wait: { mode: "all", commands: [0] } } });
    const journal = [first.entry, second.entry];
    expect(run("two", { journal, arrivals: [value(0, 8)] })).toMatchObject({
      kind: "ended",
      outcome: { kind: "result", value: Uint8Array.of(1) },
      entry: { arrivals: [value(0, 8)], commands: [], wait: null },
    });
  });

  test("sees arrivals in their order, which decides which of two was first", () => {
    for (const [arrivals, first] of [
      [[value(0, 1), value(1, 2)], 0],
      [[value(1, 2), value(0, 1)], 1],
    ] as const) {
      const { last } = play("two", [arrivals]);
      expect(last).toMatchObject({ kind: "ended", outcome: { value: Uint8Array.of(first) } });
    }
  });

  test("sees the time of its entry, in each run after it too", () => {
    const { journal, last } = play("clock", [[{ kind: "settled", command: 0, settled: { kind: "timer" } }]]);
    expect(journal[0]!.wait).toEqual({ mode: "all", commands: [0], untilMs: START_MS + 1_000 });
    const outcome = went(last).kind === "ended" && "outcome" in last ? last.outcome : null;
    const { value: bytes } = outcome as Extract<Outcome, { kind: "result" }>;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    expect([0, 8].map((at) => Number(view.getBigInt64(at, true)))).toEqual([START_MS, START_MS + 10]);
  });

  test("that comes before its wait is over waits for the same", () => {
    const { journal, last } = play("two", [[]]);
    expect(went(last).entry).toEqual({ ...journal[0], timeMs: START_MS + 10, commands: [] });
    expect(play("two", [[], [value(1, 2)], [value(0, 1)]]).last).toMatchObject({ kind: "ended" });
  });

  test("logs its own lines, and not those of the activations before it", () => {
    const lines = [[], [value(0, 1)], [value(1, 1)]].map((_, at, all) => {
      const { logged = [] } = play("logs", all.slice(1, at + 1)).last as Went;
      return logged.map(({ text }) => text);
    });
    expect(lines).toEqual([["one"], ["two"], ["three"]]);
  });

  test("may have as many bytes of arguments as a handler writes; those of earlier ones don't count", () => {
    const arrivals = Array.from({ length: 30 }, (_, number) => [value(number, 1)]);
    expect(play("bytes", arrivals).last).toMatchObject({ kind: "ended", outcome: { kind: "result" } });
    expect(run("burst")).toMatchObject({ kind: "trap", code: "out_of_memory" });
  });
});

describe("the result of a step", () => {
  const after = (settled: Settled): WorkflowRun => play("failing", [[{ kind: "settled", command: 0, settled }]]).last;
  const failure = (ran: WorkflowRun): unknown => {
    if (ran.kind !== "ended" || ran.outcome.kind !== "result") throw new Error(JSON.stringify(ran));
    const reader = new CborReader(ran.outcome.value);
    reader.array();
    return [reader.integer(), reader.text(), reader.text()];
  };

  test("is its value, or its failure", () => {
    expect(after({ kind: "value", value: Uint8Array.of(4) })).toMatchObject({ outcome: { value: Uint8Array.of(4) } });
    const declined = { kind: "failed", status: 402, code: "declined", message: "no money" } as const;
    expect(failure(after(declined))).toEqual([402, "declined", "no money"]);
    expect(failure(after({ kind: "unknown", message: "who knows" }))).toEqual([504, "unknown", "who knows"]);
  });

  test("counts once: another one for the same command is passed over", () => {
    expect(play("failing", [[value(0, 4), value(0, 5)]]).last).toMatchObject({ outcome: { value: Uint8Array.of(4) } });
  });
});

describe("the end", () => {
  test("of a workflow that fails says what is to be undone, the newest first", () => {
    const { last } = play("undoing", [[value(2, 1)]]);
    expect(last).toMatchObject({
      kind: "ended",
      outcome: { kind: "abort", status: 402, code: "declined", message: "no money" },
      undos: [
        { number: 1, command: { kind: "undo", callee: "second", args: Uint8Array.of(2) }, place: "h.ts:2:1" },
        { number: 0, command: { kind: "undo", callee: "first", args: Uint8Array.of(1) }, place: "h.ts:1:1" },
      ],
    });
    expect(play("undoing", [[value(2, 0)]]).last).toMatchObject({ outcome: { kind: "result" }, undos: [] });
  });

  test("a cancellation ends it at the first wait that is not over by what came before", () => {
    const cancelled = { kind: "cancelled" } as const;
    const outcome = { kind: "abort", ...CANCELLED };
    expect(play("undoing", [[cancelled]]).last).toMatchObject({ kind: "ended", outcome, undos: [{}, {}] });
    expect(play("undoing", [[cancelled, value(2, 0)]]).last).toMatchObject({ outcome });
    expect(play("undoing", [[value(2, 0), cancelled]]).last).toMatchObject({ outcome: { kind: "result" } });
    expect(play("two", [[value(1, 1), cancelled, value(0, 1)]]).last).toMatchObject({
      outcome,
      entry: { arrivals: [value(1, 1), cancelled, value(0, 1)], wait: null },
    });
  });

  test("with an empty journal and other arguments is none: the draws of the next round are others", () => {
    expect(run("anew")).toMatchObject({ kind: "again", args: Uint8Array.of(7), commands: [], entry: { wait: null } });
    const ofRound = (round: number): string => {
      const ran = run("ids", {}, new Uint8Array(), round);
      if (ran.kind !== "ended" || ran.outcome.kind !== "result") throw new Error(JSON.stringify(ran));
      return Buffer.from(ran.outcome.value).toString();
    };
    expect(ofRound(0).slice(0, 32)).toBe(workflow);
    expect(ofRound(1).slice(0, 32)).toBe(workflow);
    expect(ofRound(0).slice(32, 68)).not.toBe(ofRound(1).slice(32, 68));
    for (const round of [0, 1]) expect(ofRound(round).slice(68)).toBe(stepIdOf({ workflow, round }, 0));
  });

  test.each([
    ["wide", "more than 1000 commands without a wait"],
    ["early", "command 5 has no result yet"],
    ["none", "a wait for one of no steps"],
    ["table", "a workflow has no tables"],
    ["longest", "a wait of 34560000000000 ms"],
    ["nobody", 'send to "ann", which is not the id of a workflow'],
    ["nameless", 'invalid name "a b" of a signal'],
  ])("a trap: %s", (handler, words) => {
    const ran = handler === "early" ? play(handler, [[value(0, 1)]]).last : run(handler);
    expect(ran).toMatchObject({
      kind: "trap",
      code: "invalid_access",
      message: expect.stringContaining(words) as string,
    });
  });

  test("a trap in a replay is one too", () => {
    const { last } = play("deep", [[value(0, 1)], [value(1, 1), value(2, 1)]]);
    expect(last).toMatchObject({ kind: "trap", code: "assertion_failed" });
  });

  test("as many commands as an activation may have", () => {
    expect(MAX_ACTIVATION_COMMANDS).toBe(1_000);
  });
});

describe("a run that goes another way than the journal", () => {
  const { start } = Step;
  const script = (...codes: readonly number[]): Uint8Array => Uint8Array.from(codes);
  const before = script(start, 1, start, 2, Step.all, 0, start, 3, Step.all, 0);

  function differs(after: Uint8Array): WorkflowRun {
    const first = went(run("script", {}, before)).entry;
    const arrivals = [value(0, 1), value(1, 1)];
    const second = went(run("script", { journal: [first], arrivals }, before)).entry;
    return run("script", { journal: [first, second], arrivals: [value(2, 1)] }, after);
  }

  test("is the same run with the same program", () => {
    expect(differs(before)).toMatchObject({ kind: "ended" });
  });

  test.each<[string, Uint8Array, number, string | null, string | null]>([
    ["another callee", script(start, 1, start, 9, Step.all, 0, start, 3, Step.all, 0), 1, "f2", "f9"],
    ["another kind", script(start, 1, Step.undo, 0, Step.all, 0, start, 3, Step.all, 0), 1, "f2", "g"],
    ["one more", script(start, 1, start, 2, start, 4, Step.all, 0, Step.all, 0), 2, null, "f4"],
    ["one less", script(start, 1, Step.all, 0, start, 3, Step.all, 0), 1, "f2", null],
    ["other arguments", script(start, 1, Step.draw, 0, start, 2, Step.all, 0, start, 3, Step.all, 0), 1, "f2", "f2"],
    ["another wait", script(start, 1, start, 2, Step.any, 0, start, 3, Step.all, 0), 2, null, null],
    ["an end", script(start, 1, start, 2), 2, null, null],
    ["an abort", script(start, 1, start, 2, Step.all, 0, Step.abort, 0), 2, "f3", null],
    ["an end later", script(start, 1, start, 2, Step.all, 0, start, 3), 3, null, null],
  ])("%s", (_what, after, command, expected, found) => {
    const ran = differs(after);
    expect(ran).toMatchObject({ kind: "differs", command });
    if (ran.kind === "differs")
      expect([ran.expected?.name ?? null, ran.found?.name ?? null]).toEqual([expected, found]);
    if (ran.kind === "differs" && ran.found !== null) expect(ran.place).toMatch(/^h\.ts:\d/);
  });
});

describe("a run that follows what has arrived", () => {
  const follow = (handler: string, arrived: readonly (readonly Arrival[])[]): FollowedRun =>
    followed(
      arrived.map((arrivals, at) => ({ arrivals, timeMs: START_MS + 10 * at })),
      new Uint8Array(),
      handler,
    );

  test("makes the journal, with the commands in full, and stops where that has stopped", () => {
    const { journal, last } = play("undoing", [[value(2, 1)]]);
    const { run: again, entries } = follow("undoing", [[], [value(2, 1)]]);
    expect(again).toEqual(last);
    expect(entries.map(({ entry }) => entry)).toEqual([...journal, went(last).entry]);
    expect(entries.map(({ commands }) => commands.map(({ number, command }) => [number, command.kind]))).toEqual([
      [
        [0, "undo"],
        [1, "undo"],
        [2, "start"],
      ],
      [],
    ]);
    expect(follow("two", [[]]).run).toEqual(run("two"));
  });

  test("that ends before has fewer entries, and one that traps none for that activation", () => {
    const { entries } = follow("anew", [[], [], []]);
    expect(entries.map(({ entry }) => [entry.timeMs, entry.wait])).toEqual([[START_MS, null]]);
    const { run: trapped, entries: before } = follow("early", [[], [value(0, 1)]]);
    expect([trapped.kind, before.length]).toEqual(["trap", 1]);
  });

  test("is told to those who watch", () => {
    const kinds: string[] = [];
    const invocation = { ...INVOCATION, handler: "failing", args: new Uint8Array(), round: 0 };
    const arrived = [
      { arrivals: [], timeMs: 1 },
      { arrivals: [value(0, 4)], timeMs: 2 },
    ];
    followWorkflow(module, { ...invocation, watch: ({ kind }) => void kinds.push(kind) }, arrived);
    expect(kinds).toEqual(["command", "wait", "settled", "settled"]);
  });
});

// ── Properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The part of the engine that these tests need: it settles each command of a workflow at some time. */
class Engine {
  readonly journal: JournalEntry[] = [];
  readonly issued: WorkflowCommand[] = [];
  readonly seen: Arrival[] = [];
  readonly #script: Uint8Array;
  ran: WorkflowRun;

  constructor(script: Uint8Array) {
    this.#script = script;
    this.ran = this.#take(run("script", {}, script));
  }

  #take(ran: WorkflowRun): WorkflowRun {
    const { entry, commands } = went(ran);
    this.journal.push(entry);
    this.issued.push(...commands.map(({ command }) => command));
    this.seen.push(...entry.arrivals);
    return ran;
  }

  get wait(): Wait | null {
    return this.ran.kind === "waiting" ? this.ran.entry.wait : null;
  }

  /** Commands that settle, and have not. */
  get open(): readonly number[] {
    const settled = new Set(this.seen.map((one) => (one.kind === "settled" ? one.command : -1)));
    return [...this.issued.keys()].filter(
      (number) => ["start", "sleep", "signal"].includes(this.issued[number]!.kind) && !settled.has(number),
    );
  }

  activate(arrivals: readonly Arrival[]): void {
    const timeMs = START_MS + this.journal.length;
    this.ran = this.#take(run("script", { journal: this.journal, arrivals, timeMs }, this.#script));
  }
}

/** The result of a command, by a number that is drawn. */
function settledOf({ kind }: WorkflowCommand, drawn: number): Settled {
  if (kind === "sleep") return { kind: "timer" };
  if (kind === "signal")
    return drawn % 3 === 0 ? { kind: "timer" } : { kind: "signal", value: Uint8Array.of(drawn & 127) };
  if (drawn % 5 === 0) return { kind: "failed", status: 409, code: "no", message: "" };
  return drawn % 7 === 0 ? { kind: "unknown", message: "" } : { kind: "value", value: Uint8Array.of(drawn & 127) };
}

const code = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 14 })
  .map((steps) => Uint8Array.from(steps.flat()));
const draws = fc.array(fc.nat(1_000), { minLength: 40, maxLength: 40 });

/** Lets a workflow go on until it ends. `most`: how many arrivals one activation takes besides those that end its wait. */
function finish(engine: Engine, drawn: readonly number[], most: number): void {
  let at = 0;
  const draw = (): number => drawn[at++ % drawn.length]!;
  for (;;) {
    const { wait } = engine;
    if (wait === null) return;
    const open = [...engine.open];
    const arrivals: Arrival[] = [];
    const isHere = (command: number): boolean =>
      arrivals.some((one) => one.kind === "settled" && one.command === command);
    const isEnough = (): boolean => isOver(wait, isHere) && draw() % (most + 1) <= arrivals.length;
    while (open.length > 0 && !isEnough()) {
      const [command] = open.splice(draw() % open.length, 1) as [number];
      // The result of a command is the same whenever it comes.
      arrivals.push({
        kind: "settled",
        command,
        settled: settledOf(engine.issued[command]!, 13 * command + drawn[0]!),
      });
    }
    engine.activate(arrivals);
  }
}

describe("for any program and any arrivals", () => {
  test("a run that follows the arrivals makes the journal again, and issues the same commands", () => {
    fc.assert(
      fc.property(code, draws, fc.nat(3), fc.nat(20), (script, drawn, most, length) => {
        const engine = new Engine(script);
        finish(engine, drawn, most);
        const part = engine.journal.slice(0, 1 + (length % engine.journal.length));
        const { run: last, entries } = followed(part, script);
        expect(entries.map(({ entry }) => entry)).toEqual(part);
        const issued = entries.flatMap(({ commands }) => commands.map(({ command }) => command));
        expect(issued).toEqual(engine.issued.slice(0, issued.length));
        expect(last.kind).toBe(part.length < engine.journal.length ? "waiting" : engine.ran.kind);
      }),
      { numRuns: 100 },
    );
  });

  test("a run on any part of the journal issues what the journal says, and comes to the same wait", () => {
    fc.assert(
      fc.property(code, draws, fc.nat(3), (script, drawn, most) => {
        const engine = new Engine(script);
        finish(engine, drawn, most);
        const stored = engine.journal.map((entry) => decodeEntry(encodeEntry(entry)));
        for (let at = 0; at < stored.length; at++) {
          const { arrivals, timeMs } = stored[at]!;
          const again = run("script", { journal: stored.slice(0, at), arrivals, timeMs }, script);
          expect(went(again).entry).toEqual(stored[at]);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("the commands and the end follow from the order of arrivals alone, however activations divide it", () => {
    fc.assert(
      fc.property(code, draws, fc.nat(4), (script, drawn, most) => {
        const one = new Engine(script);
        finish(one, drawn, most);
        // One by one: an activation for each, also where its wait is not over.
        const other = new Engine(script);
        for (const arrival of one.seen) if (other.wait !== null) other.activate([arrival]);
        expect(other.issued).toEqual(one.issued);
        const [a, b] = [went(one.ran), went(other.ran)];
        expect(b.kind).toBe(a.kind);
        if (a.kind === "ended" && b.kind === "ended") expect([b.outcome, b.undos]).toEqual([a.outcome, a.undos]);
      }),
      { numRuns: 150 },
    );
  });

  test("a journal with one other command is refused at that command", () => {
    fc.assert(
      fc.property(code, draws, fc.nat(), (script, drawn, chosen) => {
        const engine = new Engine(script);
        finish(engine, drawn, 1);
        const earlier = engine.journal.slice(0, -1);
        const count = earlier.reduce((sum, { commands }) => sum + commands.length, 0);
        if (count === 0) return;
        let left = chosen % count;
        const changed = earlier.map((entry) => {
          const commands = entry.commands.map((trace) => (left-- === 0 ? { ...trace, name: `${trace.name}x` } : trace));
          return { ...entry, commands };
        });
        const arrivals = engine.journal.at(-1)?.arrivals ?? [];
        expect(run("script", { journal: changed, arrivals }, script)).toMatchObject({
          kind: "differs",
          command: chosen % count,
        });
      }),
      { numRuns: 100 },
    );
  });

  test("a workflow that is cancelled at any wait ends there", () => {
    fc.assert(
      fc.property(code, draws, fc.nat(5), (script, drawn, after) => {
        const engine = new Engine(script);
        finish(engine, drawn, 1);
        const waits = engine.journal.filter(({ wait }) => wait !== null).length;
        if (waits === 0) return;
        const journal = engine.journal.slice(0, 1 + (after % waits));
        expect(run("script", { journal, arrivals: [{ kind: "cancelled" }] }, script)).toMatchObject({
          kind: "ended",
          outcome: { kind: "abort", code: "cancelled" },
          commands: [],
        });
      }),
      { numRuns: 100 },
    );
  });
});
