/**
 * Workflows: functions that take days. A workflow waits as a handler in record mode waits: its run stops at a result that is
 * missing. It runs again from its beginning when the result is there. Its results so far are its *journal*.
 *
 * - A run is a pure function of module, invocation and journal. It issues *commands*, numbered in program order from 0.
 * - An *arrival* is the result of a command, or the request to cancel the workflow.
 * - An *activation* is a run on the journal and on all arrivals since. It adds one entry to the journal, in one commit with what
 *   its new commands ask for. All runs after it issue the commands that are written there, or the workflow is *stuck*.
 *
 * `docs/internals/protocol.md` has the words.
 */
import { UNKNOWN } from "./services.ts";
import { CborReader, CborWriter } from "./cbor.ts";
import { type ContentHash, contentHash, isContentHash } from "./content-hash.ts";
import type { ExecutionId } from "./ids.ts";
import { MalformedError, TooLargeError } from "./malformed-error.ts";
import type { LoggedLine } from "./logged-line.ts";
import type { Outcome, TrapCode } from "./outcome.ts";
import { encodeEffects, idWithin, madeSeed, MAX_CALLEE_LENGTH, MAX_TASK_DELAY_MS, type RunEffect } from "./tasks.ts";

/** A request of a run. Its number is its place among all commands of the run, from 0. */
export type WorkflowCommand =
  /** A step: to call a handler, a service or a workflow of the module. It settles. */
  | {
      readonly kind: "start";
      /** As the module names it. Its sections say which of the three it is. */
      readonly callee: string;
      /** Encoded arguments: a map by parameter name. */
      readonly args: Uint8Array;
    }
  /** To be called if the workflow fails: the newest one first, each until it is done. */
  | { readonly kind: "undo"; readonly callee: string; readonly args: Uint8Array }
  /** It settles by its timer. */
  | { readonly kind: "sleep"; readonly ms: number }
  /**
   * The next value of a signal. The commands of a name take the values that were sent under it, in their order. If the timer of a
   * command comes first, the value is for the command after it. It settles.
   */
  | { readonly kind: "signal"; readonly name: string; readonly ms: number | null }
  /** As of a handler. */
  | RunEffect;

export const COMMAND_KINDS = ["start", "undo", "sleep", "signal", "enqueue", "cancel", "send"] as const;

/** Whether a command has a result, for which a run can wait. */
export function settles({ kind }: Pick<WorkflowCommand, "kind">): boolean {
  return kind === "start" || kind === "sleep" || kind === "signal";
}

/** The result of a command, for good. */
export type Settled =
  /** Of a step: its result, as an encoded value. */
  | { readonly kind: "value"; readonly value: Uint8Array }
  /** Of a step: it has failed, and is not tried again. A handler has aborted, a service has refused, a workflow has failed. */
  | { readonly kind: "failed"; readonly status: number; readonly code: string; readonly message: string }
  /** Of a step that calls a service: nobody can tell whether the service has done it. */
  | { readonly kind: "unknown"; readonly message: string }
  /** Of a sleep or a signal: its time is over. */
  | { readonly kind: "timer" }
  /** Of a signal: an encoded value. */
  | { readonly kind: "signal"; readonly value: Uint8Array };

export type Arrival =
  | { readonly kind: "settled"; readonly command: number; readonly settled: Settled }
  /** The workflow is to end. A run sees it at the first wait that the arrivals before it do not end. */
  | { readonly kind: "cancelled" };

/** The reason why a run has stopped. All its commands settle, and had not settled when the run stopped. There is at least one. */
export interface Wait {
  /** For all of its commands, or for one of them. A cancellation ends either. */
  readonly mode: "all" | "any";
  /** In order, each once. */
  readonly commands: readonly number[];
  /** The wait is for one sleep or signal, which settles as `timer` at this time. Null: for others, or without a timer. */
  readonly untilMs: number | null;
}

/** A command as the journal remembers it. */
export interface CommandTrace {
  readonly kind: WorkflowCommand["kind"];
  /** The callee, or the name of a signal; empty: it has none. */
  readonly name: string;
  /** Of all of the command. */
  readonly hash: ContentHash;
}

/** The part of a journal that one activation has added. */
export interface JournalEntry {
  /** Of the activation. From here to the next entry `now()` says it. */
  readonly timeMs: number;
  /** In the order in which the activation saw them. No other order counts. */
  readonly arrivals: readonly Arrival[];
  /** The commands that it issued. */
  readonly commands: readonly CommandTrace[];
  /** Null: the run has ended. */
  readonly wait: Wait | null;
}

export type Journal = readonly JournalEntry[];

/** Most entries of a journal, and most bytes of all of them. A workflow that needs more goes on with an empty one, by `again`. */
export const MAX_JOURNAL_ENTRIES = 10_000;
export const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;
/** Most commands of one activation, and of all activations on one journal. */
export const MAX_ACTIVATION_COMMANDS = 1_000;
export const MAX_COMMANDS = 100_000;
/** Longest time of a sleep and of a wait for a signal. */
export const MAX_WAIT_MS = MAX_TASK_DELAY_MS;
/** A failure of a step that nobody can tell anything of, as its workflow sees it. */
export const UNKNOWN_STEP = { status: 504, code: UNKNOWN } as const;
/** The outcome of a workflow that was cancelled. */
export const CANCELLED = { status: 409, code: "cancelled", message: "The workflow was cancelled." } as const;

/** Whether a wait is over. `isSettled`: of the commands that have settled since it began. */
export function isOver({ mode, commands }: Wait, isSettled: (command: number) => boolean): boolean {
  return mode === "all" ? commands.every(isSettled) : commands.some(isSettled);
}

export function traceOf(command: WorkflowCommand): CommandTrace {
  const { kind } = command;
  return { kind, name: nameOf(command), hash: contentHash(encodeCommand(command)) };
}

function nameOf(command: WorkflowCommand): string {
  switch (command.kind) {
    case "start":
    case "undo":
    case "enqueue":
      return command.callee;
    case "signal":
    case "send":
      return command.name;
    case "sleep":
    case "cancel":
      return "";
  }
}

export function sameTrace(a: CommandTrace, b: CommandTrace): boolean {
  return a.kind === b.kind && a.name === b.name && a.hash === b.hash;
}

// ── Activations ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The past of a run, besides module and invocation. */
export interface Activation {
  readonly journal: Journal;
  /** All that have come since the last entry, in the order in which the run is to see them. */
  readonly arrivals: readonly Arrival[];
  /** The time of the new entry: not before that of the last one. */
  readonly timeMs: number;
}

export interface IssuedCommand {
  readonly number: number;
  readonly command: WorkflowCommand;
  /** In the source, for people: file, line and column. */
  readonly place: string;
}

/** The end of a run. `entry` is to be added to the journal, `commands` are those of the entry. */
export type WorkflowRun =
  | (Activated & { readonly kind: "waiting" })
  | (Activated & {
      readonly kind: "ended";
      readonly outcome: Exclude<Outcome, { kind: "trap" }>;
      /** The commands to be undone, the newest first. Empty unless the outcome is an abort. */
      readonly undos: readonly IssuedCommand[];
    })
  /** It goes on with an empty journal, in the next round, and with these arguments. The `undo`s before it are forgotten. */
  | (Activated & { readonly kind: "again"; readonly args: Uint8Array })
  /**
   * It has issued another command than the journal has under this number. Null: none, or none any more. Of equal commands the
   * waits differ. The workflow is stuck.
   */
  | {
      readonly kind: "differs";
      readonly command: number;
      readonly expected: CommandTrace | null;
      readonly found: CommandTrace | null;
      /** Of the command that was found; empty: none was. */
      readonly place: string;
    }
  /** It can't go on, and nothing is undone: the workflow is stuck. */
  | {
      readonly kind: "trap";
      readonly code: TrapCode;
      readonly message: string;
      readonly logged?: readonly LoggedLine[];
    };

interface Activated {
  readonly entry: JournalEntry;
  readonly commands: readonly IssuedCommand[];
  /** The lines that it has logged since the last entry. Left out: none. */
  readonly logged?: readonly LoggedLine[];
}

// ── Ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A workflow and the journal that it is on: `round` counts how often it has gone on by `again`. */
export interface WorkflowRound {
  readonly workflow: ExecutionId;
  readonly round: number;
}

/** The execution id of a step, an undo, or a task that the workflow enqueues: as a task's, it names the workflow (`isTaskOf`). */
export function stepIdOf({ workflow, round }: WorkflowRound, command: number): ExecutionId {
  return idWithin(
    workflow,
    new CborWriter().array(4).text("step").text(workflow).integer(round).integer(command).finish(),
  );
}

/** The seed of the execution that a command asks for; see `taskSeedOf`. */
export function stepSeedOf(seed: Uint8Array, round: number, command: number): Uint8Array {
  return madeSeed(new CborWriter().array(4).text("step").bytes(seed).integer(round).integer(command).finish());
}

/** The seed by which the runs of a round draw. */
export function roundSeedOf(seed: Uint8Array, round: number): Uint8Array {
  return round === 0 ? seed : madeSeed(new CborWriter().array(3).text("round").bytes(seed).integer(round).finish());
}

// ── Encoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The bytes of a command: two are the same if and only if these are equal. */
function encodeCommand(command: WorkflowCommand): Uint8Array {
  const writer = new CborWriter();
  const open = (fields: number): CborWriter => writer.array(fields + 1).text(command.kind);
  switch (command.kind) {
    case "start":
    case "undo":
      open(2).text(command.callee).bytes(command.args);
      break;
    case "sleep":
      open(1).integer(command.ms);
      break;
    case "signal":
      open(2).text(command.name);
      writeNullableInteger(writer, command.ms);
      break;
    case "enqueue":
    case "cancel":
    case "send":
      open(1).bytes(encodeEffects([command]));
  }
  return writer.finish();
}

/**
 * The bytes of an entry, in one form only: `[time, arrivals, commands, wait]`. An arrival is `[command, kind, …]`, with null for
 * the command of a cancellation. A command is `[kind, name, hash]`. A wait is null, or `[mode, commands, until]`.
 */
export function encodeEntry({ timeMs, arrivals, commands, wait }: JournalEntry): Uint8Array {
  const writer = new CborWriter().array(4).integer(timeMs);
  writer.array(arrivals.length);
  for (const arrival of arrivals) writeArrival(writer, arrival);
  writer.array(commands.length);
  for (const { kind, name, hash } of commands)
    writer.array(3).integer(COMMAND_KINDS.indexOf(kind)).text(name).text(hash);
  if (wait === null) return writer.null().finish();
  writer.array(3).integer(WAIT_MODES.indexOf(wait.mode));
  writer.array(wait.commands.length);
  for (const command of wait.commands) writer.integer(command);
  writeNullableInteger(writer, wait.untilMs);
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeEntry(bytes: Uint8Array): JournalEntry {
  const reader = new CborReader(bytes);
  if (reader.array() !== 4) throw new MalformedError("malformed entry of a journal");
  const timeMs = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  const arrivals = readMany(reader, MAX_COMMANDS + 1, readArrival);
  const commands = readMany(reader, MAX_ACTIVATION_COMMANDS, readTrace);
  const wait = reader.nullIfNext() ? null : readWait(reader);
  reader.end();
  return { timeMs, arrivals, commands, wait };
}

export function encodeArrival(arrival: Arrival): Uint8Array {
  const writer = new CborWriter();
  writeArrival(writer, arrival);
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeArrival(bytes: Uint8Array): Arrival {
  const reader = new CborReader(bytes);
  const arrival = readArrival(reader);
  reader.end();
  return arrival;
}

const WAIT_MODES = ["all", "any"] as const;
const SETTLED_KINDS = ["value", "failed", "unknown", "timer", "signal"] as const;
const CANCELLATION = SETTLED_KINDS.length;

function writeArrival(writer: CborWriter, arrival: Arrival): void {
  if (arrival.kind === "cancelled") return void writer.array(2).null().integer(CANCELLATION);
  const { command, settled } = arrival;
  const open = (fields: number): CborWriter =>
    writer
      .array(fields + 2)
      .integer(command)
      .integer(SETTLED_KINDS.indexOf(settled.kind));
  switch (settled.kind) {
    case "value":
    case "signal":
      open(1).bytes(settled.value);
      break;
    case "failed":
      open(3).integer(settled.status).text(settled.code).text(settled.message);
      break;
    case "unknown":
      open(1).text(settled.message);
      break;
    case "timer":
      open(0);
  }
}

function readArrival(reader: CborReader): Arrival {
  const fields = reader.array() - 2;
  if (reader.nullIfNext()) {
    if (reader.integerIn(CANCELLATION, CANCELLATION) !== CANCELLATION || fields !== 0) throw malformedArrival();
    return { kind: "cancelled" };
  }
  const command = readNumber(reader);
  return { kind: "settled", command, settled: readSettled(reader, fields) };
}

function readSettled(reader: CborReader, fields: number): Settled {
  const kind = SETTLED_KINDS[reader.integerIn(0, SETTLED_KINDS.length - 1)]!;
  const expected = kind === "timer" ? 0 : kind === "failed" ? 3 : 1;
  if (fields !== expected) throw malformedArrival();
  switch (kind) {
    case "value":
    case "signal":
      return { kind, value: reader.copiedBytes() };
    case "failed":
      return { kind, status: reader.integerIn(400, 599), code: reader.text(), message: reader.text() };
    case "unknown":
      return { kind, message: reader.text() };
    case "timer":
      return { kind };
  }
}

function malformedArrival(): MalformedError {
  return new MalformedError("malformed arrival");
}

function readTrace(reader: CborReader): CommandTrace {
  if (reader.array() !== 3) throw new MalformedError("malformed command of a journal");
  const kind = COMMAND_KINDS[reader.integerIn(0, COMMAND_KINDS.length - 1)]!;
  const name = reader.text();
  const hash = reader.text();
  if (name.length > MAX_CALLEE_LENGTH || !isContentHash(hash))
    throw new MalformedError("malformed command of a journal");
  return { kind, name, hash };
}

function readWait(reader: CborReader): Wait {
  if (reader.array() !== 3) throw new MalformedError("malformed wait");
  const mode = WAIT_MODES[reader.integerIn(0, WAIT_MODES.length - 1)]!;
  const commands = readMany(reader, MAX_COMMANDS, readNumber);
  if (commands.length === 0 || commands.some((command, at) => at > 0 && command <= commands[at - 1]!))
    throw new MalformedError("the commands of a wait are not in order");
  const untilMs = reader.nullIfNext() ? null : reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  if (untilMs !== null && commands.length > 1) throw new MalformedError("a timer of several commands");
  return { mode, commands, untilMs };
}

function readNumber(reader: CborReader): number {
  return reader.integerIn(0, MAX_COMMANDS - 1);
}

function readMany<T>(reader: CborReader, most: number, read: (reader: CborReader) => T): readonly T[] {
  const count = reader.array();
  if (count > most) throw new TooLargeError(`${count} parts of an entry of a journal; at most ${most}`);
  const many: T[] = [];
  for (let left = count; left > 0; left--) many.push(read(reader));
  return many;
}

function writeNullableInteger(writer: CborWriter, value: number | null): void {
  if (value === null) writer.null();
  else writer.integer(value);
}
