/**
 * Workflows of the simulation: random programs, and their runs on a journal. The runs here know the rules of journals by themselves,
 * and share no code with the hosts of real modules.
 */
import type { Random } from "@radical/history";
import {
  type Activation,
  type Arrival,
  CANCELLED,
  type ExecutionId,
  type IssuedCommand,
  type JournalEntry,
  sameTrace,
  type Settled,
  traceOf,
  type Wait,
  type WorkflowCommand,
  type WorkflowRun,
} from "@radical/protocol";

/** The call of a step. It writes its name into an item, or reads how many bytes are there. */
export interface StepCall {
  readonly handler: "step" | "tell";
  readonly name: string;
  readonly item: string;
  readonly writes: boolean;
  readonly aborts: boolean;
  readonly fails: number;
  /** The results that its workflow has seen so far: a run that has seen others makes another call. */
  readonly seen: string;
}

/** A call as a program has it. */
type Planned = Pick<StepCall, "item" | "writes" | "aborts" | "fails">;

export type Statement =
  | { readonly kind: "run"; readonly call: Planned; readonly isStrict: boolean }
  | { readonly kind: "begin"; readonly call: Planned }
  | { readonly kind: "all" | "any"; readonly calls: readonly Planned[] }
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "signal"; readonly name: string; readonly ms: number | null }
  /** `aborts`: for good, so it is not done. */
  | {
      readonly kind: "undo";
      readonly by: "step" | "charge" | "mail" | "flow";
      readonly fails: number;
      readonly writes: boolean;
      readonly aborts?: boolean;
    }
  | { readonly kind: "charge" }
  /** `isLone`: nobody waits for it. Default: somebody does, and it is another `flow`. */
  | { readonly kind: "child"; readonly program: Program; readonly callee?: string; readonly isLone?: true }
  | { readonly kind: "task"; readonly lane: string | null }
  /** A workflow that it does not wait for begins after the delay, unless it is taken back. It may get a signal before. */
  | {
      readonly kind: "hire";
      readonly program: Program;
      readonly delayMs: number;
      readonly pauseMs: number | null;
      readonly acts: readonly ("signal" | "cancel")[];
    }
  | { readonly kind: "again"; readonly program: Program }
  | { readonly kind: "abort" };
export type Program = readonly Statement[];

const DAY = 86_400_000;

function plannedIn(random: Random): Planned {
  return {
    item: random.pick(["x", "y", "z"]),
    writes: random.chance(0.6),
    aborts: random.chance(0.1),
    fails: random.pick([0, 0, 0, 0, 1, 2, 50]),
  };
}

export function programIn(random: Random, depth: number): Program {
  return Array.from({ length: random.between(1, depth === 0 ? 6 : 3) }, () => statementIn(random, depth));
}

function statementIn(random: Random, depth: number): Statement {
  const calls = (most: number): readonly Planned[] =>
    Array.from({ length: random.between(1, most) }, () => plannedIn(random));
  const kinds = [
    "run",
    "run",
    "run",
    "begin",
    "all",
    "any",
    "any",
    "sleep",
    "signal",
    "signal",
    "undo",
    "undo",
    "undo",
    "undo",
    "charge",
    "task",
    "abort",
  ] as const;
  const kind =
    depth < 2 && random.chance(0.16) ? random.pick(["child", "child", "again", "hire"] as const) : random.pick(kinds);
  switch (kind) {
    case "run":
      return { kind, call: plannedIn(random), isStrict: random.chance(0.5) };
    case "begin":
      return { kind, call: plannedIn(random) };
    case "all":
    case "any":
      return { kind, calls: calls(4) };
    case "sleep":
      return { kind, ms: random.pick([0, 500, DAY, 30 * DAY]) };
    case "signal":
      return { kind, name: random.pick(["red", "blue"]), ms: random.pick([null, null, 400, DAY]) };
    case "undo":
      return {
        kind,
        by: random.pick(["step", "step", "step", "step", "charge", "mail", "flow"]),
        fails: random.pick([0, 0, 1, 20]),
        writes: random.chance(0.8),
        aborts: random.chance(0.25),
      };
    case "charge":
    case "child":
    case "again":
      return { kind, program: programIn(random, depth + 1) };
    case "hire":
      return {
        kind,
        program: programIn(random, depth + 1),
        delayMs: random.pick([0, 0, 500, DAY]),
        pauseMs: random.pick([null, 0, 400]),
        acts: random.pick([
          ["signal"],
          ["signal"],
          ["signal", "signal"],
          ["cancel"],
          ["signal", "cancel"],
          [],
        ] as const),
      };
    case "task":
      return { kind, lane: random.pick([null, "one"]) };
    case "abort":
      return { kind };
  }
}

export function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only the caller knows what was encoded
export function decode<T>(bytes: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}

/** A run ends here, and does not return. */
class Stopped extends Error {
  readonly run: (journal: Replay) => WorkflowRun;

  constructor(run: (journal: Replay) => WorkflowRun) {
    super("stopped");
    this.run = run;
  }
}

class Replay {
  readonly #activation: Activation;
  #at = 0;
  #next = 0;
  #first = 0;
  #isCancelled = false;
  readonly settled = new Map<number, Settled>();
  readonly order: number[] = [];
  readonly issued: IssuedCommand[] = [];
  readonly undos: IssuedCommand[] = [];
  readonly #due = new Map<number, number>();

  constructor(activation: Activation) {
    this.#activation = activation;
    this.#see((activation.journal[0] ?? activation).arrivals);
  }

  get next(): number {
    return this.#next;
  }

  get #entry(): JournalEntry | undefined {
    return this.#activation.journal[this.#at];
  }

  issue(command: WorkflowCommand): number {
    const number = this.#next++;
    const issued = { number, command, place: "" };
    if (this.#entry === undefined) this.issued.push(issued);
    else {
      const expected = this.#entry.commands[number - this.#first] ?? null;
      const found = traceOf(command);
      if (expected === null || !sameTrace(expected, found))
        throw new Stopped(() => ({ kind: "differs", command: number, expected, found, place: "" }));
    }
    if (command.kind === "undo") this.undos.push(issued);
    if ((command.kind === "sleep" || command.kind === "signal") && command.ms !== null)
      this.#due.set(number, (this.#entry ?? this.#activation).timeMs + command.ms);
    return number;
  }

  /** The first of them that has settled. */
  wait(mode: Wait["mode"], commands: readonly number[]): number {
    for (;;) {
      const left = commands.filter((command) => !this.settled.has(command));
      if (mode === "all" ? left.length === 0 : left.length < commands.length)
        return this.order.find((command) => commands.includes(command))!;
      if (this.#isCancelled)
        throw new Stopped((replay) => ({
          kind: "ended",
          outcome: { kind: "abort", ...CANCELLED },
          undos: [],
          ...replay.made(null),
        }));
      const wait: Wait = { mode, commands: left, untilMs: this.#due.get(commands[0]!) ?? null };
      const entry = this.#entry;
      if (entry === undefined) throw new Stopped((replay) => ({ kind: "waiting", ...replay.made(wait) }));
      if (JSON.stringify(entry.wait) !== JSON.stringify(wait)) throw this.differs();
      this.#at++;
      this.#first = this.#next;
      this.#see((this.#entry ?? this.#activation).arrivals);
    }
  }

  differs(): Stopped {
    const command = this.#next;
    return new Stopped(() => ({ kind: "differs", command, expected: null, found: null, place: "a wait" }));
  }

  /** Whether the journal goes on behind the end of the run. */
  get isEarly(): boolean {
    return this.#entry !== undefined;
  }

  #see(arrivals: readonly Arrival[]): void {
    for (const arrival of arrivals) {
      if (this.#isCancelled) return;
      if (arrival.kind === "cancelled") this.#isCancelled = true;
      else if (!this.settled.has(arrival.command)) {
        this.settled.set(arrival.command, arrival.settled);
        this.order.push(arrival.command);
      }
    }
  }

  made(wait: Wait | null): { readonly entry: JournalEntry; readonly commands: readonly IssuedCommand[] } {
    const { arrivals, timeMs } = this.#activation;
    const commands = this.issued.map(({ command }) => traceOf(command));
    return { entry: { timeMs, arrivals, commands, wait }, commands: this.issued };
  }
}

/** Runs a program. `name`: of the workflow and its round. `taskOf`: the id of what a command enqueues. */
export function runProgram(
  name: string,
  program: Program,
  activation: Activation,
  taskOf: (command: number) => ExecutionId,
): WorkflowRun {
  const replay = new Replay(activation);
  try {
    const outcome = interpret(name, program, replay, taskOf);
    if (replay.isEarly) throw replay.differs();
    if (outcome.kind === "again") return { ...outcome, ...replay.made(null) };
    return { kind: "ended", outcome, undos: [], ...replay.made(null) };
  } catch (error) {
    if (error instanceof Stopped) return error.run(replay);
    throw error;
  }
}

type End =
  | { readonly kind: "result"; readonly value: Uint8Array }
  | { readonly kind: "abort"; readonly status: number; readonly code: string; readonly message: string }
  | { readonly kind: "again"; readonly args: Uint8Array };

function interpret(name: string, program: Program, replay: Replay, taskOf: (command: number) => ExecutionId): End {
  const seen: string[] = [];
  const failed = (code: string): End => ({ kind: "abort", status: 402, code, message: name });
  const start = (call: Planned): number => {
    const named: StepCall = { ...call, handler: "step", name: `${name}c${replay.next}.`, seen: seen.join(" ") };
    return replay.issue({ kind: "start", callee: "step", args: encode(named) });
  };
  const get = (command: number): Settled => {
    const settled = replay.settled.get(command)!;
    seen.push(`${command}:${wordOf(settled)}`);
    return settled;
  };
  for (const statement of program) {
    switch (statement.kind) {
      case "run": {
        const command = start(statement.call);
        replay.wait("all", [command]);
        if (get(command).kind !== "value" && statement.isStrict) return failed("step_failed");
        break;
      }
      case "begin":
        start(statement.call);
        break;
      case "all": {
        const commands = statement.calls.map(start);
        replay.wait("all", commands);
        for (const command of commands) get(command);
        break;
      }
      case "any":
        get(replay.wait("any", statement.calls.map(start)));
        break;
      case "sleep": {
        const command = replay.issue({ kind: "sleep", ms: statement.ms });
        replay.wait("all", [command]);
        get(command);
        break;
      }
      case "signal": {
        const command = replay.issue({ kind: "signal", name: statement.name, ms: statement.ms });
        replay.wait("all", [command]);
        get(command);
        break;
      }
      case "undo": {
        const { aborts = false } = statement;
        const undo: StepCall = {
          handler: "step",
          name: `${name}u${replay.next}.`,
          item: `undone-${name.slice(0, name.indexOf("r"))}`,
          writes: statement.writes,
          aborts,
          fails: statement.fails,
          seen: "",
        };
        const flow: Program = [
          { kind: "run", call: { item: "x", writes: true, aborts: false, fails: 0 }, isStrict: false },
          ...(aborts ? [{ kind: "abort" } as const] : []),
        ];
        const args = statement.by === "flow" ? encode(flow) : encode(undo);
        replay.issue({ kind: "undo", callee: statement.by, args });
        break;
      }
      case "charge": {
        const call = { name: `${name}s${replay.next}.`, seen: seen.join(" ") };
        const command = replay.issue({ kind: "start", callee: "charge", args: encode(call) });
        replay.wait("all", [command]);
        get(command);
        break;
      }
      case "child": {
        const { callee = "flow", isLone = false } = statement;
        const command = replay.issue({ kind: "start", callee, args: encode(statement.program) });
        if (isLone) break;
        replay.wait("all", [command]);
        get(command);
        break;
      }
      case "task": {
        const call: StepCall = {
          handler: "step",
          name: `${name}t${replay.next}.`,
          item: "x",
          writes: true,
          aborts: false,
          fails: 0,
          seen: seen.join(" "),
        };
        replay.issue({ kind: "enqueue", callee: "step", args: encode(call), delayMs: 0, key: statement.lane });
        break;
      }
      case "hire": {
        const { delayMs, pauseMs } = statement;
        const args = encode(statement.program);
        const task = taskOf(replay.issue({ kind: "enqueue", callee: "flow", args, delayMs, key: null }));
        if (pauseMs !== null) replay.wait("all", [replay.issue({ kind: "sleep", ms: pauseMs })]);
        for (const act of statement.acts) {
          const value = new TextEncoder().encode(`${name}h${replay.next}.`);
          replay.issue(
            act === "cancel" ? { kind: "cancel", task } : { kind: "send", workflow: task, name: "red", value },
          );
        }
        break;
      }
      case "again":
        return { kind: "again", args: encode(statement.program) };
      case "abort":
        return failed("aborted");
    }
  }
  return { kind: "result", value: encode(seen.join(" ")) };
}

function wordOf(settled: Settled): string {
  switch (settled.kind) {
    case "value":
    case "signal":
      return new TextDecoder().decode(settled.value);
    case "failed":
      return settled.code;
    case "unknown":
    case "timer":
      return settled.kind;
  }
}
