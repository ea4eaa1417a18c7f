/**
 * A recorded execution as a line of JSON: all that it depended on, and all that came of it. Values are JSON as `radical data`
 * writes it: 2 is an integer, 2.0 a float. A value that JSON can't say stands as its bytes, `cbor` in base 64.
 */
import {
  decodeCount,
  encodeCount,
  type ExecutionId,
  isBound,
  isModuleHash,
  isSpan,
  isStoredTable,
  LOG_LINE_LEVELS,
  type LoggedLine,
  MalformedError,
  type Outcome,
  type RunEffect,
  type Span,
  spanId,
  spanOf,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import { encodeUntyped, isObject, ItemProblem, type Json } from "@radical/app";
import { journalOf, journalToJson, type RecordedJournal } from "./recorded-activation.ts";
import { commandToJson, effectOf, idOf } from "./recorded-commands.ts";
import { outcomeOf, outcomeToJson } from "./recorded-outcome.ts";
import { RecordedPart, RecordProblem, valueFields, valueIn } from "./recorded-part.ts";
import { directoryOf, rowsOfValue } from "./recorded-spans.ts";

/** Of the line; others are refused. */
const FORMAT = 1;

/** Of every record. */
export interface RecordedCall {
  readonly execution: string;
  /** How it came to its end: `valid`, `followup`, `re-execution`, `near-storage`; of a workflow `activation`. */
  readonly path: string;
  readonly location: string;
  readonly module: string;
  readonly handler: string;
  /** Encoded. */
  readonly args: Uint8Array;
  readonly timeMs: number;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  /** The task of which it is an attempt, the first one being 1; null: it is none. */
  readonly task: { readonly attempt: number; readonly parent: ExecutionId } | null;
  /** The step of a workflow that it is; null: it is none. */
  readonly step: { readonly workflow: ExecutionId; readonly round: number; readonly command: number } | null;
  /** Call sites of its draws, in the order of the first draw of each. */
  readonly drawSites: readonly string[];
  /** The lines that it has logged; null: an earlier release has recorded it. */
  readonly logged: readonly LoggedLine[] | null;
  /** The parts that were made unreadable before it ran, as `--redact` names them. */
  readonly redacted: readonly string[];
}

export interface RecordedExecution extends RecordedCall {
  readonly kind: "execution";
  /** The values that it read, in the order of the first read; null: absent. Of a span a directory, whose rows are among them. */
  readonly reads: ReadonlyMap<UnitId, Uint8Array | null>;
  readonly outcome: Outcome;
  /** Null: deleted. */
  readonly writes: ReadonlyMap<UnitId, Uint8Array | null>;
  /** Tasks, cancellations and signals that it has asked for, in order; null: an earlier release has recorded it. */
  readonly effects: readonly RunEffect[] | null;
  readonly fuel: number;
}

/** A run of a workflow. */
export interface RecordedActivation extends RecordedCall {
  readonly kind: "activation";
  readonly journal: RecordedJournal;
}

export type Recorded = RecordedExecution | RecordedActivation;

export function recordToLine(record: Recorded): string {
  const { execution, path, location, module, handler, timeMs, caller, task, step, drawSites, redacted } = record;
  const named = {
    execution,
    path,
    location,
    module,
    handler,
    timeMs,
    caller,
    ...(task && { task }),
    ...(step && { step }),
    drawSites,
    redacted,
  };
  const fields = [
    `"radicalRecord":${FORMAT}`,
    ...Object.entries(named).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`),
    `"seed":"${Buffer.from(record.seed).toString("base64")}"`,
    `"args":{${valueFields(record.args)}}`,
    ...(record.kind === "execution" ? executionFields(record) : [`"activation":${journalToJson(record.journal)}`]),
    ...(record.logged === null ? [] : [`"logged":${JSON.stringify(record.logged)}`]),
  ];
  return `{${fields.join(",")}}`;
}

function executionFields({ fuel, reads, outcome, writes, effects }: RecordedExecution): readonly string[] {
  return [
    `"fuel":${fuel}`,
    `"reads":${itemsToJson(reads)}`,
    `"outcome":${outcomeToJson(outcome)}`,
    `"writes":${itemsToJson(writes)}`,
    ...(effects === null ? [] : [`"effects":[${effects.map(commandToJson).join(",")}]`]),
  ];
}

function itemsToJson(items: ReadonlyMap<UnitId, Uint8Array | null>): string {
  const texts = Array.from(items, ([unit, value]) => {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span !== null) return spanToJson(span, unit, value);
    const { table, key } = splitUnit(unit);
    const place = `"table":${JSON.stringify(table)},"key":${JSON.stringify(key)}`;
    return `{${place},${value === null ? '"absent":true' : valueFields(value)}}`;
  });
  return `[${texts.join(",")}]`;
}

/** The bounds of the span, with the keys of its rows, or their number. */
function spanToJson({ table, kind, lo, hi }: Span, unit: UnitId, value: Uint8Array | null): string {
  const keys = rowsOfValue(unit, value).map((item) => splitUnit(item).key);
  return JSON.stringify({ table, from: lo, to: hi, ...(kind === "rows" ? { keys } : { count: countOf(value) }) });
}

function countOf(value: Uint8Array | null): number {
  return value === null ? 0 : decodeCount(value);
}

/** Throws a RecordProblem. */
export function recordOfLine(line: string): Recorded {
  const part = RecordedPart.ofLine(line);
  if (part.get("radicalRecord") !== FORMAT)
    throw new RecordProblem(`is not a record of format ${FORMAT}, as radical record writes them`);
  try {
    const call: RecordedCall = {
      execution: part.text("execution"),
      path: part.text("path"),
      location: part.text("location"),
      module: part.checked("module", (hash) => typeof hash === "string" && isModuleHash(hash)) as string,
      handler: part.text("handler"),
      args: part.field("args").value,
      timeMs: part.number("timeMs"),
      seed: new Uint8Array(Buffer.from(part.text("seed"), "base64")),
      caller: part.textOrNull("caller"),
      task: part.get("task") === undefined ? null : taskOf(part.field("task")),
      step: part.get("step") === undefined ? null : stepOf(part.field("step")),
      drawSites: part.texts("drawSites"),
      logged: part.get("logged") === undefined ? null : loggedOf(part),
      redacted: part.texts("redacted"),
    };
    if (part.get("activation") !== undefined)
      return { kind: "activation", ...call, journal: journalOf(part.field("activation")) };
    return {
      kind: "execution",
      ...call,
      reads: itemsOf(part.field("reads").exact),
      outcome: outcomeOf(part.field("outcome")),
      writes: itemsOf(part.field("writes").exact),
      effects: part.get("effects") === undefined ? null : part.list("effects").map(effectOf),
      fuel: part.number("fuel"),
    };
  } catch (error) {
    if (error instanceof ItemProblem) throw new RecordProblem(error.message);
    throw error;
  }
}

function taskOf(part: RecordedPart): RecordedCall["task"] {
  return { attempt: part.number("attempt"), parent: idOf(part, "parent") };
}

function stepOf(part: RecordedPart): RecordedCall["step"] {
  return { workflow: idOf(part, "workflow"), round: part.number("round"), command: part.number("command") };
}

function itemsOf(json: Json | undefined): ReadonlyMap<UnitId, Uint8Array | null> {
  if (!Array.isArray(json)) throw new RecordProblem("lacks a list of items");
  const items = new Map<UnitId, Uint8Array | null>();
  const directories: (() => void)[] = [];
  for (const item of json as readonly Json[]) {
    if (!isObject(item)) throw new RecordProblem("has an item that is not an object");
    const { table, key, absent, from, to, keys, count } = item;
    if (typeof table !== "string" || !isStoredTable(table)) throw new RecordProblem("has an item without table or key");
    if (typeof from === "string" && typeof to === "string" && isBound(from, table) && isBound(to, table)) {
      const unit = spanId({ table, kind: keys === undefined ? "count" : "rows", lo: from, hi: to });
      items.set(unit, keys === undefined ? countIn(count) : null);
      // Its rows may stand behind it.
      if (keys !== undefined) directories.push(() => items.set(unit, directoryOf(table, keysIn(keys), items)));
    } else if (typeof key === "string") items.set(`${table}/${key}` as UnitId, absent === true ? null : valueIn(item));
    else throw new RecordProblem("has an item without table or key");
  }
  for (const complete of directories) complete();
  return items;
}

function countIn(count: Json | undefined): Uint8Array {
  try {
    const encoded = encodeUntyped(count ?? null);
    return encodeCount(decodeCount(encoded));
  } catch (error) {
    if (error instanceof MalformedError) throw new RecordProblem("has a span without keys or count");
    throw error;
  }
}

function keysIn(keys: Json): readonly string[] {
  if (Array.isArray(keys) && keys.every((key) => typeof key === "string")) return keys;
  throw new RecordProblem("has rows without keys");
}

function loggedOf(part: RecordedPart): readonly LoggedLine[] {
  const isLine = (line: unknown): boolean => {
    const { level, text } = (line ?? {}) as Readonly<Record<string, unknown>>;
    return LOG_LINE_LEVELS.some((known) => known === level) && typeof text === "string";
  };
  return part.checked("logged", (lines) => Array.isArray(lines) && lines.every(isLine)) as readonly LoggedLine[];
}
