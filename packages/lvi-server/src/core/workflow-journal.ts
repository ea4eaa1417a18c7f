/**
 * The sum of the parts of a workflow: its journal, the commands that have not settled, and the arrivals since the last entry. Parts
 * read from storage give the same as one commit after the other.
 */
import {
  type Arrival,
  type ExecutionId,
  isOver,
  type JournalEntry,
  present,
  type Settled,
  stepIdOf,
  stepSeedOf,
  type Wait,
  type WorkflowCommand,
} from "@radical/protocol";
import type { TaskError } from "./task.ts";
import { isNotDone, type NotDone } from "./undo-failure.ts";
import { type Call, decodePart, roundOf, type StepName, type Workflow, type WorkflowPart } from "./workflow.ts";

/** A call that a workflow makes, or undoes. */
export interface Step extends StepName {
  readonly id: ExecutionId;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  /** The workflow's record has changed so often once its command is durable. */
  readonly changes: number;
  readonly isUndo: boolean;
}

export interface Undo {
  readonly command: number;
  readonly callee: string;
  readonly call: Call;
}

/** A command that has not settled. */
export type Open =
  | OpenStep
  /** A task that calls a service, or a workflow that undoes: its end is a part. */
  | { readonly kind: "owed" }
  /** Another workflow: likewise. `isCancelled`: it was asked to end, since this one has failed. */
  | { readonly kind: "child"; isCancelled: boolean }
  | { readonly kind: "timer" }
  | { readonly kind: "signal"; readonly name: string };

export interface OpenStep {
  readonly kind: "step";
  readonly step: Step;
  state: "delayed" | "ready" | "running";
  failures: number;
  /** Of the last attempt, since memory has the journal. */
  error: TaskError | null;
}

/** A value that was sent. */
interface Signal {
  readonly id: ExecutionId;
  readonly name: string;
  readonly value: Uint8Array;
}

export interface Loaded {
  readonly entries: JournalEntry[];
  /** The number of the next command. */
  commands: number;
  readonly open: Map<number, Open>;
  /** In the order of their commands. */
  readonly undos: Undo[];
  /** Commands of undos that have ended. */
  readonly undone: Set<number>;
  /** Undos that have ended and were not done, until the alarm is raised. */
  readonly notDone: { readonly undo: Undo; readonly end: NotDone }[];
  /** Since the last entry, in the order in which they have come. */
  arrivals: Arrival[];
  /** Signals that no command has taken, in order. */
  signals: Signal[];
  /** By the command that has settled with it: the part of a signal. */
  readonly taken: Map<number, ExecutionId>;
  /** All parts that go with this round. */
  readonly ids: Set<ExecutionId>;
}

/** `parts`: in the order of their places. */
export function loadedOf(workflow: Workflow, parts: readonly WorkflowPart[]): Loaded {
  const loaded: Loaded = {
    entries: [],
    commands: 0,
    open: new Map(),
    undos: [],
    undone: new Set(),
    notDone: [],
    arrivals: [],
    signals: [],
    taken: new Map(),
    ids: new Set(),
  };
  const taken = new Set<ExecutionId>();
  const others: WorkflowPart[] = [];
  for (const part of parts) {
    const round = roundOf(part);
    if (round !== null && round !== workflow.round) continue;
    const content = decodePart(part.content);
    if (content.kind !== "entry") {
      others.push(part);
      continue;
    }
    for (const id of content.taken) taken.add(id);
    const commands = content.entry.commands.map((trace, at) => ({ ...trace, call: content.calls[at] ?? null }));
    append(workflow, loaded, content.entry, commands);
    loaded.ids.add(part.id);
  }
  for (const part of others) {
    // variant: signal-taken
    if (taken.has(part.id)) loaded.ids.add(part.id);
    else add(workflow, loaded, part);
  }
  undoesByOthers(workflow, loaded);
  return loaded;
}

/** A command, as the journal and the calls beside it have it. */
interface Issued {
  readonly kind: WorkflowCommand["kind"];
  /** Of the callee or the signal. */
  readonly name: string;
  /** Null: it calls nothing by itself. */
  readonly call: Call | null;
}

/** Adds an entry that is durable. The steps that begin with it. */
export function append(
  workflow: Workflow,
  loaded: Loaded,
  entry: JournalEntry,
  commands: readonly Issued[],
): readonly OpenStep[] {
  loaded.entries.push(entry);
  for (const arrival of entry.arrivals) if (arrival.kind === "settled") loaded.open.delete(arrival.command);
  const seen = new Set(entry.arrivals.map(keyOf));
  loaded.arrivals = loaded.arrivals.filter((arrival) => !seen.has(keyOf(arrival)));
  const steps: OpenStep[] = [];
  for (const { kind, name, call } of commands) {
    const number = loaded.commands++;
    if (kind === "undo") loaded.undos.push({ command: number, callee: name, call: present(call, CALLS) });
    if (kind === "sleep") loaded.open.set(number, { kind: "timer" });
    if (kind === "signal") loaded.open.set(number, { kind: "signal", name });
    if (kind !== "start") continue;
    const { kind: callee, args } = present(call, CALLS);
    if (callee === "service") loaded.open.set(number, { kind: "owed" });
    else if (callee === "workflow") loaded.open.set(number, { kind: "child", isCancelled: false });
    else {
      const step = openStep(workflow, number, name, args, false);
      loaded.open.set(number, step);
      steps.push(step);
    }
  }
  matchSignals(loaded);
  return steps;
}

/** The undo that is under way by its own record. */
export function undoesByOthers({ undoing }: Workflow, { open, undone }: Loaded): void {
  // variant: undo-child
  if (undoing !== null && !undone.has(undoing)) open.set(undoing, { kind: "owed" });
}

/** A call of a workflow, as a step of it: its id and its seed are the same in each attempt. */
export function openStep(
  { id: workflow, round, seed, caller, changes }: Workflow,
  command: number,
  handler: string,
  args: Uint8Array,
  isUndo: boolean,
): OpenStep {
  const id = stepIdOf({ workflow, round }, command);
  const drawn = stepSeedOf(seed, round, command);
  const step: Step = { id, workflow, round, command, handler, args, seed: drawn, caller, changes, isUndo };
  return { kind: "step", step, state: "ready", failures: 0, error: null };
}

/** A part that is durable, and no entry. Twice is once. */
export function add({ round, undoing }: Workflow, loaded: Loaded, part: WorkflowPart): void {
  const ofRound = roundOf(part);
  if (loaded.ids.has(part.id) || (ofRound !== null && ofRound !== round)) return;
  const content = decodePart(part.content);
  switch (content.kind) {
    case "entry":
      throw new Error("Broken invariant: only the workflow itself adds an entry to its journal");
    case "signal":
      if (loaded.signals.some(({ id }) => id === part.id) || [...loaded.taken.values()].includes(part.id)) return;
      loaded.signals.push({ id: part.id, name: content.name, value: content.value });
      return matchSignals(loaded);
    case "cancelled":
      if (!isCancelled(loaded)) loaded.arrivals.push(content);
      return;
    case "settled": {
      loaded.ids.add(part.id);
      const { command, settled } = content;
      if (loaded.undos.every((undo) => undo.command !== command)) return settle(loaded, command, settled);
      // The alarm about an earlier undo was raised before this one began.
      undoEnded(loaded, command, command === undoing ? settled : null);
    }
  }
}

/** An undo has ended. `end`: null, the alarm was raised if it was not done. */
export function undoEnded(loaded: Loaded, command: number, end: Settled | null): void {
  loaded.open.delete(command);
  loaded.undone.add(command);
  const undo = present(
    loaded.undos.find((each) => each.command === command),
    "an undo that ends was asked for",
  );
  if (end !== null && isNotDone(end)) loaded.notDone.push({ undo, end });
}

/** A command settles once. */
export function settle(loaded: Loaded, command: number, settled: Settled): void {
  if (!loaded.open.delete(command)) return;
  loaded.arrivals.push({ kind: "settled", command, settled });
}

/** The first command that waits for a name takes the first value. */
function matchSignals(loaded: Loaded): void {
  for (const [command, open] of loaded.open) {
    if (open.kind !== "signal") continue;
    const at = loaded.signals.findIndex(({ name }) => name === open.name);
    const [signal] = at < 0 ? [] : loaded.signals.splice(at, 1);
    if (signal === undefined) continue;
    loaded.taken.set(command, signal.id);
    settle(loaded, command, { kind: "signal", value: signal.value });
  }
}

export function isCancelled({ arrivals, entries }: Loaded): boolean {
  return [...entries.flatMap((entry) => entry.arrivals), ...arrivals].some(({ kind }) => kind === "cancelled");
}

/** Of an arrival: the same for two of the same command. */
function keyOf(arrival: Arrival): number | "cancelled" {
  return arrival.kind === "cancelled" ? "cancelled" : arrival.command;
}

/** The signals that an entry has taken. */
export function takenBy(loaded: Loaded, { arrivals }: JournalEntry): readonly ExecutionId[] {
  return arrivals.flatMap((arrival) => {
    const id = arrival.kind === "settled" ? loaded.taken.get(arrival.command) : undefined;
    return id === undefined ? [] : [id];
  });
}

/** The wait of the last run; null: it has not run yet, or has ended. */
export function waitOf({ entries }: Loaded): Wait | null {
  return entries.at(-1)?.wait ?? null;
}

/** Whether a run would come further than the last one. */
export function needsRun(loaded: Loaded): boolean {
  const wait = waitOf(loaded);
  if (wait === null) return loaded.entries.length === 0;
  const settled = new Set(loaded.arrivals.map(keyOf));
  return settled.has("cancelled") || isOver(wait, (command) => settled.has(command));
}

/** Whether no step and no child is under way. */
export function isQuiet({ open }: Loaded): boolean {
  // variant: steps-end
  return ![...open.values()].some(({ kind }) => kind === "step" || kind === "owed" || kind === "child");
}

/** The next one to be undone: the newest of those that are left. Undefined: none is. */
export function nextUndo({ undos, undone }: Loaded): Undo | undefined {
  // An undo that has written nothing leaves no trace. Older ones are done after it only.
  const oldest = Math.min(...undone);
  // variant: undo-order
  return undos.findLast(({ command }) => command < oldest);
}

const CALLS = "a command that calls has its call beside it";
export const LOADED = "a workflow that runs has its journal in memory";
