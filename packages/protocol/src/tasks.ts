/**
 * Tasks: calls of handlers that the primary owes itself. An execution asks for them by its *effects*, which its run buffers
 * beside its writes. They are stored in the transaction of these writes, or not at all. `docs/internals/protocol.md` has the
 * words.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { contentHash } from "./content-hash.ts";
import { SEED_BYTES } from "./environment.ts";
import { MAX_VALUE_BYTES } from "./host-functions.ts";
import { type ExecutionId, isExecutionId, isKey } from "./ids.ts";
import { MalformedError, TooLargeError } from "./malformed-error.ts";

/** A request of a run beside its writes. Its *ordinal* is its place among the effects of the run, from 0. */
export type RunEffect =
  /** A task: to call a handler of the module once, after the commit. */
  | {
      readonly kind: "enqueue";
      /** The handler to call, as its module names it. */
      readonly callee: string;
      /** Encoded arguments: a map by parameter name. */
      readonly args: Uint8Array;
      /** From the time of the execution on (`Environment.timeMs`). */
      readonly delayMs: number;
      /** Names the task's lane: those of one lane run one by one, in the order of the transactions. Null: it has none. */
      readonly key: string | null;
    }
  /**
   * A task is to be given up, unless it has begun or is done: then, and if there is no such task, nothing happens. A workflow is
   * asked to end, as a client may ask.
   */
  | { readonly kind: "cancel"; readonly task: ExecutionId }
  /** A value for a workflow that waits for it now or later. If there is no such workflow, or not any more, nothing happens. */
  | {
      readonly kind: "send";
      readonly workflow: ExecutionId;
      /** Of the signal. */
      readonly name: string;
      /** Encoded. */
      readonly value: Uint8Array;
    };

/** Most effects of one execution. */
export const MAX_EFFECTS = 1_000;
/** Most bytes of the encoded arguments of one task. With those of all values that are written: `MAX_WRITTEN_BYTES`. */
export const MAX_TASK_ARGUMENT_BYTES = MAX_VALUE_BYTES;
/** Longest delay of a task: a little over ten years. */
export const MAX_TASK_DELAY_MS = 3_660 * 86_400_000;
export const MAX_CALLEE_LENGTH = 256;

/** Tries of a task, the first one included, before it is dead; unless its handler has the tag `@retry`. */
export const DEFAULT_TASK_ATTEMPTS = 12;
/** Most that `@retry` may say. */
export const MAX_TASK_ATTEMPTS = 100;

/** Whether the text can be the key of a task: what can be a key of an item. */
export function isTaskKey(text: string): boolean {
  return isKey(text);
}

const SIGNAL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Whether the text can name a signal. */
export function isSignalName(text: string): boolean {
  return SIGNAL_NAME.test(text);
}

/** The lanes that effects name, in the order of their keys, each once. */
export function lanesOf(effects: readonly RunEffect[]): readonly string[] {
  const lanes = effects.flatMap((effect) => (effect.kind === "enqueue" && effect.key !== null ? [effect.key] : []));
  return [...new Set(lanes)].toSorted();
}

/** Bytes of the arguments of all tasks, and of the values of all signals. */
export function bytesOfEffects(effects: readonly RunEffect[]): number {
  return effects.reduce((sum, effect) => sum + bytesOf(effect), 0);
}

function bytesOf(effect: RunEffect): number {
  switch (effect.kind) {
    case "enqueue":
      return effect.args.length;
    case "send":
      return effect.value.length;
    case "cancel":
      return 0;
  }
}

// ── Ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The execution id of a task: the same for a followup and for each re-execution. Its first bit is set, as in the ids that are
 * made from keys. So no client can take it by an `Idempotency-Key`. Its first half names the parent: {@link isTaskOf}.
 */
export function taskIdOf(parent: ExecutionId, ordinal: number): ExecutionId {
  return idWithin(parent, new CborWriter().array(3).text("task").text(parent).integer(ordinal).finish());
}

/** The id that bytes make of an execution that another one asks for. */
export function idWithin(parent: ExecutionId, bytes: Uint8Array): ExecutionId {
  return `${parentHalfOf(parent)}${contentHash(bytes)}` as ExecutionId;
}

/** Whether the execution may have asked for the task. */
export function isTaskOf(parent: ExecutionId, task: ExecutionId): boolean {
  return task.startsWith(parentHalfOf(parent));
}

/** Whether the id may be that of a task. */
export function isTaskId(id: ExecutionId): boolean {
  return Number.parseInt(id[0]!, 16) >= 8;
}

function parentHalfOf(parent: ExecutionId): string {
  return withFirstBit(contentHash(new CborWriter().array(2).text("task").text(parent).finish()));
}

/** The execution id of a tick of a schedule: the call of a handler for this time. */
export function tickIdOf(handler: string, tickMs: number): ExecutionId {
  return madeId(new CborWriter().array(3).text("tick").text(handler).integer(tickMs).finish());
}

/**
 * The seed of a task, from the seed of the execution that asks for it. It is as secret as that one: draws of a task may be
 * secrets, and its id is not one.
 */
export function taskSeedOf(parentSeed: Uint8Array, ordinal: number): Uint8Array {
  return madeSeed(new CborWriter().array(3).text("seed").bytes(parentSeed).integer(ordinal).finish());
}

export function madeSeed(bytes: Uint8Array): Uint8Array {
  const hex = hash128(bytes);
  return Uint8Array.from({ length: SEED_BYTES }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
}

/** The id of an execution that nobody sends. No client can take it. */
function madeId(bytes: Uint8Array): ExecutionId {
  return withFirstBit(hash128(bytes)) as ExecutionId;
}

function withFirstBit(hex: string): string {
  return `${(Number.parseInt(hex[0]!, 16) | 8).toString(16)}${hex.slice(1)}`;
}

/** No client chooses any part of what is hashed, so the hash need not withstand anybody. */
function hash128(bytes: Uint8Array): string {
  const half = (n: number): string => contentHash(new CborWriter().array(2).integer(n).bytes(bytes).finish());
  return `${half(0)}${half(1)}`;
}

// ── Encoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const ENQUEUE = 0;
const CANCEL = 1;
const SEND = 2;
const FIELDS = [5, 2, 4];

export function writeEffects(writer: CborWriter, effects: readonly RunEffect[]): void {
  writer.array(effects.length);
  for (const effect of effects) {
    switch (effect.kind) {
      case "enqueue":
        writer.array(5).integer(ENQUEUE).text(effect.callee).bytes(effect.args).integer(effect.delayMs);
        if (effect.key === null) writer.null();
        else writer.text(effect.key);
        break;
      case "cancel":
        writer.array(2).integer(CANCEL).text(effect.task);
        break;
      case "send":
        writer.array(4).integer(SEND).text(effect.workflow).text(effect.name).bytes(effect.value);
    }
  }
}

/** Throws a MalformedError. */
export function readEffects(reader: CborReader): readonly RunEffect[] {
  const count = reader.array();
  if (count > MAX_EFFECTS) throw new TooLargeError(`${count} effects of one execution; at most ${MAX_EFFECTS}`);
  const effects: RunEffect[] = [];
  for (let left = count; left > 0; left--) effects.push(readEffect(reader));
  return effects;
}

function readEffect(reader: CborReader): RunEffect {
  const length = reader.array();
  const kind = reader.integerIn(ENQUEUE, SEND);
  if (length !== FIELDS[kind]) throw new MalformedError("malformed effect");
  if (kind === CANCEL) return { kind: "cancel", task: readTaskId(reader) };
  if (kind === SEND) {
    const workflow = readTaskId(reader);
    const name = reader.text();
    if (!isSignalName(name)) throw new MalformedError("malformed name of a signal");
    const value = reader.copiedBytes();
    if (value.length > MAX_VALUE_BYTES)
      throw new TooLargeError(`the value of a signal has ${value.length} bytes; at most ${MAX_VALUE_BYTES}`);
    return { kind: "send", workflow, name, value };
  }
  const callee = reader.text();
  if (callee === "" || callee.length > MAX_CALLEE_LENGTH) throw new MalformedError("malformed handler of a task");
  const args = reader.copiedBytes();
  if (args.length > MAX_TASK_ARGUMENT_BYTES)
    throw new TooLargeError(`the arguments of a task have ${args.length} bytes; at most ${MAX_TASK_ARGUMENT_BYTES}`);
  const delayMs = reader.integerIn(0, MAX_TASK_DELAY_MS);
  const key = reader.nullIfNext() ? null : readTaskKey(reader);
  return { kind: "enqueue", callee, args, delayMs, key };
}

function readTaskId(reader: CborReader): ExecutionId {
  const id = reader.text();
  if (!isExecutionId(id)) throw new MalformedError("malformed id of a task");
  return id;
}

export function readTaskKey(reader: CborReader): string {
  const key = reader.text();
  if (!isTaskKey(key)) throw new MalformedError("malformed key of a task");
  return key;
}

/** The bytes of effects: two runs asked for the same if and only if these are equal. */
export function encodeEffects(effects: readonly RunEffect[]): Uint8Array {
  const writer = new CborWriter();
  writeEffects(writer, effects);
  return writer.finish();
}

export function decodeEffects(bytes: Uint8Array): readonly RunEffect[] {
  const reader = new CborReader(bytes);
  const effects = readEffects(reader);
  reader.end();
  return effects;
}
