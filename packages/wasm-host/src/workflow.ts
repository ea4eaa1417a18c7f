/**
 * A run of a workflow on its journal. It takes the same way as the runs before it, up to where they stopped. From there on it
 * goes by what has arrived since, until it waits for something else or ends.
 */
import {
  type Activation,
  type Arrival,
  CANCELLED,
  type CommandTrace,
  type ExecutionId,
  type IssuedCommand,
  type JournalEntry,
  MAX_ACTIVATION_COMMANDS,
  MAX_COMMANDS,
  present,
  roundSeedOf,
  sameTrace,
  type Settled,
  stepIdOf,
  traceOf,
  type Wait,
  type WorkflowCommand,
  type WorkflowRun,
} from "@radical/protocol";
import { Execution, type Invocation, type Items } from "./execution.ts";
import type { HandlerModule } from "./module.ts";
import type { WorkflowCalls } from "./requests.ts";

/** A run of a workflow. `executionId` is the id of the workflow, and `environment.seed` the seed with which it was started. */
export interface WorkflowInvocation extends Invocation {
  /** How often it has gone on with an empty journal. */
  readonly round: number;
}

type Stop =
  | { readonly kind: "waiting"; readonly wait: Wait }
  | { readonly kind: "cancelled" }
  | { readonly kind: "again"; readonly args: Uint8Array }
  | Extract<WorkflowRun, { kind: "differs" }>;

/** The time of an activation, and all that a run meets in it. */
export type Arrived = Pick<JournalEntry, "timeMs" | "arrivals">;

/** An entry of a journal with its commands in full. */
export interface FollowedEntry {
  readonly entry: JournalEntry;
  readonly commands: readonly IssuedCommand[];
}

/** A run on arrivals alone. */
export interface FollowedRun {
  readonly run: Exclude<WorkflowRun, { kind: "differs" }>;
  /** By activation, as far as the run has come: fewer than there are arrivals for, if it has ended before. */
  readonly entries: readonly FollowedEntry[];
}

/**
 * Runs a workflow on its journal and the arrivals since. The same module, invocation and activation give the same run, anywhere.
 * Throws if the module has no such function.
 */
export function runWorkflow(
  module: HandlerModule,
  invocation: WorkflowInvocation,
  activation: Activation,
): WorkflowRun {
  return ended(module, invocation, activation, null);
}

/**
 * Runs a workflow on what has arrived in each of its activations, whatever its commands were then: so it makes a journal of its
 * own. With the module that has made the recorded one it makes that one again.
 */
export function followWorkflow(
  module: HandlerModule,
  invocation: WorkflowInvocation,
  arrived: readonly Arrived[],
): FollowedRun {
  const last = present(arrived.at(-1), "a run has an activation");
  const journal = arrived.slice(0, -1).map((each): JournalEntry => ({ ...each, commands: [], wait: null }));
  const entries: FollowedEntry[] = [];
  const run = ended(module, invocation, { journal, ...last }, entries);
  if (run.kind === "differs")
    throw new Error("Broken invariant: a run that follows arrivals has no journal to differ from");
  if (run.kind !== "trap") entries.push({ entry: run.entry, commands: run.commands });
  return { run, entries };
}

/**
 * `followed` null: the run has to take the way of its journal. If there is a list, the run takes a way of its own, and its entries
 * before the last go into the list.
 */
function ended(
  module: HandlerModule,
  invocation: WorkflowInvocation,
  activation: Activation,
  followed: FollowedEntry[] | null,
): WorkflowRun {
  const { executionId: workflow, environment, handler, round } = invocation;
  const seed = roundSeedOf(environment.seed, round);
  const replay = new Replay(activation, (command) => stepIdOf({ workflow, round }, command), followed);
  const execution = new Execution<Stop>(
    { ...invocation, environment: { ...environment, seed } },
    module.limits,
    WITHOUT_ITEMS,
    replay,
  );
  const ending = execution.run(module.f);
  if (ending === null) throw new Error(`the module has no workflow ${handler}`);
  const { logged } = execution;
  const lines = logged === null ? {} : { logged };
  if (ending.kind === "stopped") {
    const { stop } = ending;
    switch (stop.kind) {
      case "waiting":
        return { kind: "waiting", ...replay.activated(stop.wait), ...lines };
      case "cancelled":
        return {
          kind: "ended",
          outcome: { kind: "abort", ...CANCELLED },
          undos: replay.undos,
          ...replay.activated(null),
          ...lines,
        };
      case "again":
        return replay.early() ?? { kind: "again", args: stop.args, ...replay.activated(null), ...lines };
      case "differs":
        return stop;
    }
  }
  const { outcome } = ending;
  // A trap is the same wherever it comes: the run can't go on.
  if (outcome.kind === "trap") return { ...outcome, ...lines };
  const undos = outcome.kind === "abort" ? replay.undos : [];
  return replay.early() ?? { kind: "ended", outcome, undos, ...replay.activated(null), ...lines };
}

/** A journal, as one run goes along it. */
class Replay implements WorkflowCalls<Stop> {
  readonly #activation: Activation;
  readonly #idOf: (command: number) => ExecutionId;
  readonly #followed: FollowedEntry[] | null;
  /** The entry that the run is at. One behind the last: the run does what no run has done before. */
  #at = 0;
  /** The number of the first command of that entry, and of the next one to be issued. */
  #first = 0;
  #next = 0;
  /** Its new commands. */
  #issued: IssuedCommand[] = [];
  readonly #undos: IssuedCommand[] = [];
  /** Results in the order in which the run sees them. */
  readonly #settled = new Map<number, Settled>();
  readonly #order = new Map<number, number>();
  #isCancelled = false;
  /** When sleeps and signals that end by time are due. */
  readonly #due = new Map<number, number>();

  constructor(activation: Activation, idOf: (command: number) => ExecutionId, followed: FollowedEntry[] | null) {
    this.#activation = activation;
    this.#idOf = idOf;
    this.#followed = followed;
    this.#see(this.#entry?.arrivals ?? activation.arrivals);
  }

  /** Of the journal; undefined: the run is beyond it. */
  get #entry(): JournalEntry | undefined {
    return this.#activation.journal[this.#at];
  }

  /** The entry whose commands and wait the run has to repeat; undefined: it is free. */
  get #written(): JournalEntry | undefined {
    return this.#followed === null ? this.#entry : undefined;
  }

  get timeMs(): number {
    return (this.#entry ?? this.#activation).timeMs;
  }

  /** The newest first. */
  get undos(): readonly IssuedCommand[] {
    return this.#undos.toReversed();
  }

  idOf(command: number): ExecutionId {
    return this.#idOf(command);
  }

  settled(command: number): Settled | undefined {
    return this.#settled.get(command);
  }

  issue(command: WorkflowCommand, place: string, run: Execution<Stop>): number {
    const number = this.#next;
    const entry = this.#written;
    run.watch?.({ kind: "command", number, command, place });
    if (entry === undefined) {
      if (number - this.#first >= MAX_ACTIVATION_COMMANDS)
        run.trap(
          "invalid_access",
          `more than ${MAX_ACTIVATION_COMMANDS} commands without a wait: wait for some of them before the next ones`,
        );
      if (number >= MAX_COMMANDS)
        run.trap("invalid_access", `more than ${MAX_COMMANDS} commands: go on with an empty journal, by again()`);
      this.#issued.push({ number, command, place });
    } else {
      const expected = entry.commands[number - this.#first] ?? null;
      const found = traceOf(command);
      if (expected === null || !sameTrace(expected, found))
        run.stop({ kind: "differs", command: number, expected, found, place });
    }
    this.#next++;
    if (command.kind === "undo") this.#undos.push({ number, command, place });
    if ((command.kind === "sleep" || command.kind === "signal") && command.ms !== null)
      this.#due.set(number, this.timeMs + command.ms);
    return number;
  }

  await(mode: Wait["mode"], commands: readonly number[], run: Execution<Stop>): number {
    const awaited = [...new Set(commands)].toSorted((a, b) => a - b);
    if (awaited.length === 0) run.trap("invalid_access", "a wait for one of no steps");
    for (;;) {
      const lacking = awaited.filter((command) => !this.#settled.has(command));
      if (mode === "all" ? lacking.length === 0 : lacking.length < awaited.length) return this.#firstOf(awaited);
      const untilMs = this.#due.get(awaited[0]!) ?? null;
      this.#stopAt({ mode, commands: lacking, untilMs }, run);
    }
  }

  again(args: Uint8Array, run: Execution<Stop>): never {
    return run.stop({ kind: "again", args });
  }

  /** The run stops, unless it has stopped here before and goes on. */
  #stopAt(wait: Wait, run: Execution<Stop>): void {
    const entry = this.#written;
    run.watch?.({ kind: "wait", wait });
    if (this.#isCancelled) run.stop(this.early() ?? { kind: "cancelled" });
    if (this.#entry === undefined) return run.stop({ kind: "waiting", wait });
    const missing = entry?.commands[this.#next - this.#first];
    if (entry !== undefined && (missing !== undefined || !sameWait(entry.wait, wait)))
      run.stop({ kind: "differs", command: this.#next, expected: missing ?? null, found: null, place: "" });
    this.#followed?.push(this.activated(wait));
    this.#issued = [];
    this.#at++;
    this.#first = this.#next;
    run.beginActivation();
    this.#see((this.#entry ?? this.#activation).arrivals);
  }

  #see(arrivals: readonly Arrival[]): void {
    for (const arrival of arrivals) {
      // Later arrivals were not there when the workflow was to end.
      if (this.#isCancelled) return;
      if (arrival.kind === "cancelled") this.#isCancelled = true;
      else if (!this.#settled.has(arrival.command)) {
        this.#order.set(arrival.command, this.#order.size);
        this.#settled.set(arrival.command, arrival.settled);
      }
    }
  }

  #firstOf(commands: readonly number[]): number {
    const placeOf = (command: number): number => this.#order.get(command) ?? Infinity;
    return commands.reduce((first, command) => (placeOf(command) < placeOf(first) ? command : first));
  }

  /** The run has ended where earlier ones went on; null: it has not. */
  early(): Extract<WorkflowRun, { kind: "differs" }> | null {
    const entry = this.#written;
    if (entry === undefined) return null;
    const expected = entry.commands[this.#next - this.#first] ?? null;
    return { kind: "differs", command: this.#next, expected, found: null, place: "" };
  }

  /** The new entry. */
  activated(wait: Wait | null): { readonly entry: JournalEntry; readonly commands: readonly IssuedCommand[] } {
    const { timeMs, arrivals } = this.#entry ?? this.#activation;
    const commands = this.#issued.map(({ command }): CommandTrace => traceOf(command));
    return { entry: { timeMs, arrivals, commands, wait }, commands: this.#issued };
  }
}

function sameWait(a: Wait | null, b: Wait): boolean {
  return (
    a !== null &&
    a.mode === b.mode &&
    a.untilMs === b.untilMs &&
    a.commands.length === b.commands.length &&
    a.commands.every((command, index) => command === b.commands[index])
  );
}

const noItems = (_what: unknown, run: Execution<Stop>): never =>
  run.trap("invalid_access", "a workflow has no tables: a handler that it runs as a step has them");

/** The build refuses a workflow that would need one. */
const WITHOUT_ITEMS: Items<Stop> = {
  read: noItems,
  touch: noItems,
  touchUnwritten: noItems,
  write: noItems,
  lane: () => {},
  scan: noItems,
  count: noItems,
  touchCount: noItems,
};
