/**
 * A recorded execution as a line of JSON: all that it depended on, and its effects. Values are JSON as `radical data`
 * writes it: 2 is an integer, 2.0 a float. A value that JSON can't say stands as its bytes, `cbor` in base 64.
 */
import {
  decodeCount,
  encodeCount,
  isBound,
  isModuleHash,
  isSpan,
  isStoredTable,
  LOG_LINE_LEVELS,
  type LoggedLine,
  MalformedError,
  type Outcome,
  type Span,
  spanId,
  spanOf,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import { bytesOf, encodeUntyped, isObject, ItemProblem, type Json, parseJson, valueToExactJson } from "@radical/app";

import { directoryOf, rowsOfValue } from "./recorded-spans.ts";

/** Of the line; others are refused. */
const FORMAT = 1;

export interface Recorded {
  readonly execution: string;
  /** How it came to its end: `valid`, `followup`, `re-execution`, `near-storage`. */
  readonly path: string;
  readonly location: string;
  readonly module: string;
  readonly handler: string;
  /** Encoded. */
  readonly args: Uint8Array;
  readonly timeMs: number;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  /** Call sites of its draws, in the order of the first draw of each. */
  readonly drawSites: readonly string[];
  /** The values that it read, in the order of the first read; null: absent. Of a span a directory, whose rows are among them. */
  readonly reads: ReadonlyMap<UnitId, Uint8Array | null>;
  readonly outcome: Outcome;
  /** Null: deleted. */
  readonly writes: ReadonlyMap<UnitId, Uint8Array | null>;
  readonly fuel: number;
  /** The lines that it has logged; null: an earlier release has recorded it. */
  readonly logged: readonly LoggedLine[] | null;
  /** The parts that were made unreadable before it ran, as `--redact` names them. */
  readonly redacted: readonly string[];
}

export function recordToLine(record: Recorded): string {
  const { execution, path, location, module, handler, args, timeMs, seed, caller, drawSites, fuel, redacted } = record;
  const fields = [
    `"radicalRecord":${FORMAT}`,
    ...Object.entries({ execution, path, location, module, handler, timeMs, caller, drawSites, fuel, redacted }).map(
      ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
    ),
    `"seed":"${Buffer.from(seed).toString("base64")}"`,
    `"args":{${valueFields(args)}}`,
    `"reads":${itemsToJson(record.reads)}`,
    `"outcome":${outcomeToJson(record.outcome)}`,
    `"writes":${itemsToJson(record.writes)}`,
    ...(record.logged === null ? [] : [`"logged":${JSON.stringify(record.logged)}`]),
  ];
  return `{${fields.join(",")}}`;
}

/** The value as JSON text for people; what JSON can't say as its bytes. */
export function shownValue(value: Uint8Array | null): string {
  if (value === null) return "absent";
  return exactJson(value) ?? `cbor ${Buffer.from(value).toString("base64")}`;
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

export function outcomeToJson(outcome: Outcome): string {
  return outcome.kind === "result" ? `{"kind":"result",${valueFields(outcome.value)}}` : JSON.stringify(outcome);
}

function valueFields(value: Uint8Array): string {
  const json = exactJson(value);
  return json === null ? `"cbor":"${Buffer.from(value).toString("base64")}"` : `"value":${json}`;
}

/** Null unless the JSON gives the very same bytes again. */
function exactJson(value: Uint8Array): string | null {
  try {
    const json = valueToExactJson(value);
    return json !== null && Buffer.compare(encodeUntyped(parseJson(json)), value) === 0 ? json : null;
  } catch (error) {
    // A handler's arguments and items may be any bytes.
    if (error instanceof MalformedError) return null;
    throw error;
  }
}

/** The reason why a line is not a record. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
}

/** Throws a RecordProblem. */
export function recordOfLine(line: string): Recorded {
  let plain: Readonly<Record<string, unknown>>;
  let exact: Json;
  try {
    plain = JSON.parse(line) as Readonly<Record<string, unknown>>;
    exact = parseJson(line);
  } catch (error) {
    throw new RecordProblem(`is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(exact) || plain["radicalRecord"] !== FORMAT)
    throw new RecordProblem(`is not a record of format ${FORMAT}, as radical record writes them`);
  const text = (name: string): string => checked(plain[name], name, (value) => typeof value === "string") as string;
  const number = (name: string): number => checked(plain[name], name, Number.isSafeInteger) as number;
  const texts = (name: string): readonly string[] =>
    checked(plain[name], name, (value) => Array.isArray(value) && value.every((one) => typeof one === "string")) as [];
  try {
    return {
      execution: text("execution"),
      path: text("path"),
      location: text("location"),
      module: checked(plain["module"], "module", (hash) => typeof hash === "string" && isModuleHash(hash)) as string,
      handler: text("handler"),
      args: valueOf(exact["args"]),
      timeMs: number("timeMs"),
      seed: new Uint8Array(Buffer.from(text("seed"), "base64")),
      caller: checked(plain["caller"], "caller", (id) => id === null || typeof id === "string") as string | null,
      drawSites: texts("drawSites"),
      reads: itemsOf(exact["reads"]),
      outcome: outcomeOf(exact["outcome"], plain["outcome"]),
      writes: itemsOf(exact["writes"]),
      fuel: number("fuel"),
      logged: plain["logged"] === undefined ? null : loggedOf(plain["logged"]),
      redacted: texts("redacted"),
    };
  } catch (error) {
    if (error instanceof ItemProblem) throw new RecordProblem(error.message);
    throw error;
  }
}

function checked(value: unknown, name: string, isRight: (value: unknown) => boolean): unknown {
  if (isRight(value)) return value;
  throw new RecordProblem(`has a wrong "${name}"`);
}

function valueOf(json: Json | undefined): Uint8Array {
  if (json !== undefined && isObject(json)) {
    const { value, cbor } = json;
    if (value !== undefined) return encodeUntyped(value);
    if (typeof cbor === "string") return bytesOf(cbor, "unchecked");
  }
  throw new RecordProblem("lacks a value");
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
    } else if (typeof key === "string") items.set(`${table}/${key}` as UnitId, absent === true ? null : valueOf(item));
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

function loggedOf(lines: unknown): readonly LoggedLine[] {
  const isLine = (line: unknown): boolean => {
    const { level, text } = (line ?? {}) as Readonly<Record<string, unknown>>;
    return LOG_LINE_LEVELS.some((known) => known === level) && typeof text === "string";
  };
  return checked(lines, "logged", () => Array.isArray(lines) && lines.every(isLine)) as readonly LoggedLine[];
}

function outcomeOf(exact: Json | undefined, plain: unknown): Outcome {
  const outcome = plain as Outcome | undefined;
  if (outcome?.kind === "result") return { kind: "result", value: valueOf(exact) };
  if (outcome?.kind === "abort" || outcome?.kind === "trap") return outcome;
  throw new RecordProblem("has no outcome");
}
