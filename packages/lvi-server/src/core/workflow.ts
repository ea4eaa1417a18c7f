/**
 * Workflows in storage: a record for each, and *parts* beside it.
 *
 *   open ⇄ stuck          open: it runs, or waits for a part to come
 *     └── ending ── ended
 *
 * A workflow that has ended its last run lets its steps under way end, and if it has failed, makes its undos. Until then it is
 * *ending*. So is one that goes on with an empty journal, until its steps have ended. A part is an entry of its journal, or an arrival that no entry has yet. Parts are written once. Each change of the record
 * counts: a change expects so many changes before it, so that the journal has one author.
 */
import {
  CborReader,
  CborWriter,
  decodeArrival,
  decodeEntry,
  encodeArrival,
  encodeEntry,
  type CommitId,
  type ExecutionId,
  type JournalEntry,
  idWithin,
  type ModuleHash,
  type Outcome,
  present,
  type Settled,
} from "@radical/protocol";
import type { CallHash } from "./call-hash.ts";
import type { DoneIntent, Invocation } from "./intent.ts";
import { placeOf, type TaskError } from "./task.ts";

export interface Workflow {
  readonly id: ExecutionId;
  /** Its first module: each of its runs is on this one. */
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  /** The step that it is; null: it is nobody's. */
  readonly parent: StepName | null;
  /** Of the request, for its repeats. */
  readonly call: CallHash;
  readonly createdAtMs: number;
  /** How often it has gone on with an empty journal. */
  readonly round: number;
  /** How often this record has changed since it was inserted. */
  readonly changes: number;
  /** The journal of this round. */
  readonly entries: number;
  readonly bytes: number;
  readonly state: "open" | "stuck" | "ending" | "ended";
  /** By the wall clock: its wait has a timer. */
  readonly untilMs: number | null;
  /** From the end of its last run on. Null though it has ended: storage can't open it. */
  readonly outcome: Outcome | null;
  /** Its run has asked for the next round, with these arguments. */
  readonly again: Uint8Array | null;
  /** The undo that a task or another workflow makes; null: none does. */
  readonly undoing: number | null;
  /** The reason why it is stuck. */
  readonly error: TaskError | null;
  readonly endedAtMs: number | null;
}

/** A command of a workflow that settles by itself. */
export interface StepName {
  readonly workflow: ExecutionId;
  readonly round: number;
  readonly command: number;
}

/** Written once, and removed with its workflow or with the round that it is of. */
export interface WorkflowPart {
  readonly id: ExecutionId;
  readonly workflow: ExecutionId;
  /** The order of the parts of a workflow, as text. */
  readonly place: string;
  readonly content: Uint8Array;
}

export type PartContent =
  | {
      readonly kind: "entry";
      readonly entry: JournalEntry;
      /** By the place among its commands; null: of a command that calls nothing. */
      readonly calls: readonly (Call | null)[];
      /** The signals that it has taken. */
      readonly taken: readonly ExecutionId[];
    }
  /** Of a step, an undo, or a workflow that is a step. */
  | { readonly kind: "settled"; readonly command: number; readonly settled: Settled }
  | { readonly kind: "cancelled" }
  | { readonly kind: "signal"; readonly name: string; readonly value: Uint8Array };

/** A call of a workflow. The kind of its callee was decided when it was issued. */
export interface Call {
  readonly kind: CalleeKind;
  readonly args: Uint8Array;
}
export type CalleeKind = (typeof CALLEE_KINDS)[number];
const CALLEE_KINDS = ["handler", "service", "workflow"] as const;

const ENTRY = 0;
const ARRIVAL = 1;
const SIGNAL = 2;

function encodePart(part: PartContent): Uint8Array {
  const writer = new CborWriter();
  switch (part.kind) {
    case "entry": {
      writer.array(4).integer(ENTRY).bytes(encodeEntry(part.entry)).array(part.calls.length);
      for (const call of part.calls) {
        if (call === null) writer.null();
        else writer.array(2).integer(CALLEE_KINDS.indexOf(call.kind)).bytes(call.args);
      }
      writer.array(part.taken.length);
      for (const id of part.taken) writer.text(id);
      break;
    }
    case "settled":
      writer.array(2).integer(ARRIVAL).bytes(encodeArrival(part));
      break;
    case "cancelled":
      writer.array(2).integer(ARRIVAL).bytes(encodeArrival(part));
      break;
    case "signal":
      writer.array(3).integer(SIGNAL).text(part.name).bytes(part.value);
  }
  return writer.finish();
}

/** Reads the bytes of {@link encodePart}. Throws a MalformedError. */
export function decodePart(content: Uint8Array): PartContent {
  const reader = new CborReader(content);
  reader.array();
  switch (reader.integerIn(ENTRY, SIGNAL)) {
    case ENTRY: {
      const entry = decodeEntry(reader.bytes());
      const calls = Array.from({ length: reader.array() }, () => (reader.nullIfNext() ? null : readCall(reader)));
      const taken = Array.from({ length: reader.array() }, () => reader.text() as ExecutionId);
      return { kind: "entry", entry, calls, taken };
    }
    case ARRIVAL:
      return decodeArrival(reader.bytes());
    default:
      return { kind: "signal", name: reader.text(), value: reader.copiedBytes() };
  }
}

function readCall(reader: CborReader): Call {
  reader.array();
  const kind = present(CALLEE_KINDS[reader.integerIn(0, CALLEE_KINDS.length - 1)], "it is within the kinds");
  return { kind, args: reader.copiedBytes() };
}

// ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Named = Pick<Workflow, "id" | "module" | "handler" | "args" | "seed" | "caller" | "parent" | "call">;

/** A new one. */
export function begun(named: Named, createdAtMs: number): Workflow {
  return {
    ...named,
    createdAtMs,
    round: 0,
    changes: 0,
    entries: 0,
    bytes: 0,
    state: "open",
    untilMs: null,
    outcome: null,
    again: null,
    undoing: null,
    error: null,
    endedAtMs: null,
  };
}

/** Its last run has ended: it can't be cancelled any more. */
export function isOver({ state, again }: Workflow): boolean {
  return state === "ended" || (state === "ending" && again === null);
}

/** Its last run has ended, and not with a result. */
export function hasFailed({ outcome }: Workflow): boolean {
  return outcome !== null && outcome.kind !== "result";
}

/** The same before its next change. */
export function changed(workflow: Workflow): Workflow {
  return { ...workflow, changes: workflow.changes + 1 };
}

// ── Parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const digits = (number: number): string => number.toString(16).padStart(8, "0");

/** An entry of the journal: the n-th of its round. */
export function entryPart(workflow: Workflow, n: number, content: PartContent & { kind: "entry" }): WorkflowPart {
  const { id, round } = workflow;
  return partOf(id, `entry ${digits(round)} ${digits(n)}`, content);
}

/** The result of a step that is durable with the step's own writes. */
export function stepPart({ workflow, round, command }: StepName, settled: Settled): WorkflowPart {
  return partOf(workflow, `arrival ${digits(round)} ${digits(command)}`, { kind: "settled", command, settled });
}

/**
 * It outlives the round in which it comes. `by`: the effect that asks for the end, or `parent`; empty: a client does, or an operator.
 * Each counts, and the first one is seen.
 */
export function cancellationPart(id: ExecutionId, by: string): WorkflowPart {
  return partOf(id, `cancelled ${by}`.trim(), { kind: "cancelled" });
}

/** A signal outlives the round in which it comes. `ordinal`: among the effects of its sender. */
export function signalPart(
  workflow: ExecutionId,
  commit: CommitId,
  ordinal: number,
  name: string,
  value: Uint8Array,
): WorkflowPart {
  return partOf(workflow, `signal ${placeOf(commit, ordinal)}`, { kind: "signal", name, value });
}

export function isCancellation({ place }: WorkflowPart): boolean {
  return place.startsWith("cancelled");
}

/** The round of which a part is; null: of none, since it is a signal or a cancellation. */
export function roundOf({ place }: WorkflowPart): number | null {
  const [kind, round] = place.split(" ");
  return kind === "signal" || kind === "cancelled" || round === undefined ? null : Number.parseInt(round, 16);
}

function partOf(workflow: ExecutionId, place: string, content: PartContent): WorkflowPart {
  return { id: idOf(workflow, place), workflow, place, content: encodePart(content) };
}

function idOf(workflow: ExecutionId, place: string): ExecutionId {
  return idWithin(workflow, new CborWriter().array(3).text("part").text(workflow).text(place).finish());
}

// ── Runs and ends ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A run at this time. */
export function invocationOf(workflow: Workflow, timeMs: number): Invocation {
  const { id, module, handler, args, seed, caller } = workflow;
  const environment = { timeMs, seed, caller };
  return { executionId: id, module, handler, args, environment };
}

/** The end of a workflow as its parent sees it, and that of a step. */
export function settledOf(outcome: Outcome): Settled {
  switch (outcome.kind) {
    case "result":
      return { kind: "value", value: outcome.value };
    case "abort":
      return { kind: "failed", status: outcome.status, code: outcome.code, message: outcome.message };
    case "trap":
      return { kind: "failed", status: 500, code: outcome.code, message: outcome.message };
  }
}

/** For repeats of the request, as long as the record is kept. */
export function doneOf({ id, module, call, outcome, endedAtMs }: Workflow, commitId: CommitId): DoneIntent {
  return {
    executionId: id,
    commitId,
    module,
    location: "~tasks",
    resultHash: "",
    doneAtMs: endedAtMs ?? 0,
    call,
    outcome: outcome === null ? null : { value: outcome, keeps: "retained" },
  };
}
