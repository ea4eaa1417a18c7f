/**
 * The parts that samples must not hold. The LVI server redacts before anything leaves it. The operator runs the execution
 * again on redacted values. So its outcome and writes have nothing of those parts either, and a replay still finds the
 * same.
 *
 * Redacted by name, fields lose their texts and numbers. Redacted whole, every text gets a pseudonym of its length. A text
 * has the same pseudonym wherever it stands, in the keys of items too, so the run finds its items. The rows of a span are
 * in the order of their pseudonyms, and each has the hash of its redacted value.
 *
 * Secrets (`secret.ts`) are redacted whatever is asked for.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { type ContentHash, contentHash } from "./content-hash.ts";
import { isExecutionId, isTableName, type Key, splitUnit, tableOf, type UnitId, unitId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import { SHOWN_SECRET } from "./secret.ts";
import {
  compareBounds,
  decodeDirectory,
  type DirectoryRow,
  encodeDirectory,
  isSpan,
  keySuccessor,
  prefixEnd,
  type Span,
  spanId,
  spanOf,
} from "./span.ts";
import type { Arrival, Journal } from "./workflows.ts";

/** `all`; or names: `users.email`, `users.*`, `@arguments.password`, `@caller`. */
export type RedactionQuestion = "all" | readonly string[];

/** Of an execution, what may be redacted. */
export interface Redactable {
  /** Encoded. */
  readonly args: Uint8Array;
  /** The names of the arguments that are secrets. */
  readonly secrets: readonly string[];
  readonly seed: Uint8Array;
  readonly caller: string | null;
  /** The values that it read, encoded; null for an absent one. Of a span its directory, or its number of rows. Null: not wanted. */
  readonly values: ReadonlyMap<UnitId, Uint8Array | null> | null;
  /** All units that are named. */
  readonly units: readonly UnitId[];
  /** The entries of the journal that it runs on. Left out: it is not a run of a workflow. */
  readonly journal?: Journal;
}

export interface Redacted extends Omit<Redactable, "secrets"> {
  /** The names that something was found for; `*`: all. */
  readonly redacted: readonly string[];
}

export interface RedactionSecrets {
  /** Of any text, one that tells nothing but its length. */
  readonly pseudonym: (text: string) => string;
  /** In place of one from which an execution has drawn. */
  readonly seed: () => Uint8Array;
}

const ARGUMENTS = "@arguments";
const CALLER = "@caller";
const ALL = "*";
const REDACTED_CALLER = "redacted";

/** Throws a MalformedError that says which name is none. */
export function checkRedaction(question: unknown): RedactionQuestion {
  if (question === "all") return question;
  if (!Array.isArray(question) || question.some((name) => typeof name !== "string"))
    throw new MalformedError(
      'The question does not say what to redact. Ask with "redact": "all", or a list of names. A newer radical command does',
    );
  const names = question as readonly string[];
  for (const name of names) {
    if (name === CALLER) continue;
    const dot = name.indexOf(".");
    const [table, field] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
    if (dot < 0 || field === "" || (table !== ARGUMENTS && !isTableName(table)))
      throw new MalformedError(
        `"${name}" names nothing to redact. Use <table>.<field>, <table>.*, ${ARGUMENTS}.<name> or ${CALLER}`,
      );
  }
  return names;
}

/** Whether something else is sent than the execution ran on. Secrets are redacted, whatever was asked for. */
export function isRedacted(question: RedactionQuestion, redacted: readonly string[]): boolean {
  return question === "all" || question.length > 0 || redacted.length > 0;
}

export function redact(question: RedactionQuestion, whole: Redactable, secrets: RedactionSecrets): Redacted {
  const found: string[] = [];
  const args = withoutSecrets(whole.args, whole.secrets, (name) => found.push(`${ARGUMENTS}.${name}`));
  if (question === "all") return redactAll({ ...whole, args }, secrets);
  // A result of a step may have the secret in it.
  const { journal } = whole;
  const hidden = journal !== undefined && found.length > 0 ? { journal: redactedJournal(journal, EMPTY) } : {};
  const named = redactNamed(
    question.filter((name) => !found.includes(name)),
    { ...whole, args, ...hidden },
  );
  return { ...named, redacted: [...found, ...named.redacted] };
}

/** The encoded arguments with {@link SHOWN_SECRET} in the place of secrets; those that are null stay. A name `*`: all of them. */
export function withoutSecrets(
  args: Uint8Array,
  names: readonly string[],
  onFound: (name: string) => void = () => undefined,
): Uint8Array {
  return names.length === 0 ? args : withoutFields(args, new Set(names), onFound, SECRET);
}

// ── Whole ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function redactAll(whole: Redactable, { pseudonym, seed }: RedactionSecrets): Redacted {
  const { args, caller, values, units, journal } = whole;
  const keys = units.flatMap(keysOf);
  const texts = new Set<string>(caller === null ? [] : [caller]);
  const noted = (text: string): string => {
    texts.add(text);
    return text;
  };
  const note: Change = { text: noted, number: () => true };
  changed(args, note);
  for (const [unit, value] of values ?? []) if (value !== null && !isSpan(unit)) changed(value, note);
  const inKeys = [...texts].filter((text) => keys.some((key) => placesOf(text, key).length > 0));
  const keyOf = (key: string): string => {
    let rest = key;
    const pieces: string[] = [];
    while (rest !== "") {
      // The longest of those that begin there: one may be a part of another.
      const [first] = inKeys
        .flatMap((text) => placesOf(text, key).map((at) => ({ text, at: at - (key.length - rest.length) })))
        .filter(({ at }) => at >= 0)
        .toSorted((a, b) => a.at - b.at || b.text.length - a.text.length);
      if (first === undefined) break;
      pieces.push(rest.slice(0, first.at), pseudonym(first.text));
      rest = rest.slice(first.at + first.text.length);
    }
    return pieces.join("") + rest;
  };
  const unitOf = (unit: UnitId): UnitId => {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span !== null) return spanId(renamedSpan(span, rowsOf(span, values?.get(unit)), keyOf));
    const { table, key } = splitUnit(unit);
    return unitId(table, keyOf(key));
  };
  const change: Change = {
    text: (text) => (text === SHOWN_SECRET ? text : pseudonym(text)),
    // One that is a part of a key is told by it.
    number: (number) => keys.some((key) => placesOf(String(number), key).length > 0),
  };
  return {
    args: changed(args, change),
    seed: seed(),
    caller: caller === null ? null : pseudonym(caller),
    values:
      values === null ? null : redactedValues(values, (_table, value) => changed(value, change), { unitOf, keyOf }),
    units: units.map(unitOf),
    ...(journal && { journal: redactedJournal(journal, change) }),
    redacted: [ALL],
  };
}

/** Where the text stands in a key, not as a part of a longer word. */
function placesOf(text: string, key: string): readonly number[] {
  const places: number[] = [];
  if (text === "") return places;
  const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = key.indexOf(text); at >= 0; at = key.indexOf(text, at + 1)) {
    if (!isWord(key[at - 1]) && !isWord(key[at + text.length])) places.push(at);
  }
  return places;
}

// ── By name ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function redactNamed(names: readonly string[], { secrets: _secrets, ...whole }: Redactable): Redacted {
  const found = new Set<string>();
  const valueOf = (table: string, value: Uint8Array): Uint8Array => {
    const prefix = `${table}.`;
    const fields = new Set(names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : [])));
    return fields.size === 0 ? value : withoutFields(value, fields, (field) => found.add(prefix + field));
  };
  const hasCaller = whole.caller !== null && names.includes(CALLER);
  if (hasCaller) found.add(CALLER);
  const { journal } = whole;
  return {
    ...whole,
    // Results of other executions may have anything of what the names are about.
    ...(journal && names.length > 0 && { journal: redactedJournal(journal, EMPTY) }),
    args: valueOf(ARGUMENTS, whole.args),
    caller: hasCaller ? REDACTED_CALLER : whole.caller,
    values: whole.values === null ? null : redactedValues(whole.values, valueOf, AS_NAMED),
    redacted: [...found],
  };
}

/**
 * Arguments that a run has made, of a task, a step or the next round. Those that the names cover have {@link SHOWN_SECRET} in their
 * place: nothing runs on them, and some are secrets of the callee.
 */
export function redactArguments(
  names: readonly string[],
  args: Uint8Array,
): { readonly args: Uint8Array; readonly redacted: readonly string[] } {
  const prefix = `${ARGUMENTS}.`;
  const wanted = names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  const found = new Set<string>();
  return { args: withoutSecrets(args, wanted, (name) => found.add(prefix + name)), redacted: [...found] };
}

/** A value that is not a record is redacted whole, if all fields are. */
function withoutFields(
  value: Uint8Array,
  fields: ReadonlySet<string>,
  onFound: (field: string) => void,
  change: Change = EMPTY,
): Uint8Array {
  try {
    const reader = new CborReader(value);
    const writer = new CborWriter();
    if (reader.peek() !== "map") {
      if (!fields.has(ALL)) return value;
      onFound(ALL);
      copy(reader, writer, change);
      return writer.finish();
    }
    const size = reader.map();
    writer.map(size);
    for (let left = size; left > 0; left--) {
      const name = reader.text();
      writer.text(name);
      const match = fields.has(name) ? name : fields.has(ALL) ? ALL : null;
      if (match !== null) onFound(match);
      copy(reader, writer, match === null ? null : change);
    }
    reader.end();
    return writer.finish();
  } catch (error) {
    // Nobody can say where in it the fields are.
    if (error instanceof MalformedError) return new CborWriter().null().finish();
    throw error;
  }
}

// ── Spans ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Names {
  readonly unitOf: (unit: UnitId) => UnitId;
  readonly keyOf: (key: string) => string;
}

const AS_NAMED: Names = { unitOf: (unit) => unit, keyOf: (key) => key };

/** The directory of a span has the hashes of values, which tell short ones: it gets those of the redacted values. */
function redactedValues(
  values: ReadonlyMap<UnitId, Uint8Array | null>,
  valueOf: (table: string, value: Uint8Array) => Uint8Array,
  { unitOf, keyOf }: Names,
): ReadonlyMap<UnitId, Uint8Array | null> {
  const redacted = new Map<UnitId, Uint8Array | null>();
  for (const [unit, value] of values)
    if (!isSpan(unit)) redacted.set(unitOf(unit), value === null ? null : valueOf(tableOf(unit), value));
  for (const [unit, value] of values) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span === null) continue;
    const rows = new Map<string, DirectoryRow>();
    for (const { key: plain, commitId } of rowsOf(span, value)) {
      const key = keyOf(plain) as Key;
      const hash = contentHash(redacted.get(`${span.table}/${key}` as UnitId) ?? new Uint8Array());
      rows.set(key, { key, commitId, hash });
    }
    const sorted = [...rows.values()].toSorted((a, b) => compareBounds(a.key, b.key));
    redacted.set(unitOf(unit), span.kind === "count" ? value : encodeDirectory(sorted));
  }
  return redacted;
}

/** The rows in the directory of a span; none if it is not known, and none of a number. */
function rowsOf({ kind }: Span, value: Uint8Array | null | undefined): readonly DirectoryRow[] {
  return kind === "count" || value === undefined || value === null ? [] : decodeDirectory(value);
}

/** The texts in a unit that may hold something to redact. */
function keysOf(unit: UnitId): readonly string[] {
  const span = isSpan(unit) ? spanOf(unit) : null;
  return span === null ? [splitUnit(unit).key] : [span.lo, span.hi];
}

/** A bound that was a row's key is so again: the rows come in another order. A bound that was the end of a prefix is that of the renamed prefix. */
function renamedSpan(span: Span, rows: readonly DirectoryRow[], keyOf: (key: string) => string): Span {
  const { table, kind, lo, hi } = span;
  const renamed = rows.map(({ key }) => keyOf(key)).toSorted(compareBounds);
  const [first, last] = [rows[0]?.key, rows.at(-1)?.key];
  const boundOf = (bound: string): string =>
    bound.endsWith("\0") ? keySuccessor(keyOf(bound.slice(0, -1))) : keyOf(bound);
  const from = lo === first ? (renamed[0] ?? lo) : boundOf(lo);
  if (last !== undefined && hi === keySuccessor(last))
    return { table, kind, lo: from, hi: keySuccessor(renamed.at(-1) ?? last) };
  const prefix = hi === "" ? undefined : prefixesOf(lo).find((text) => prefixEnd(text) === hi);
  return { table, kind, lo: from, hi: prefix === undefined ? boundOf(hi) : prefixEnd(keyOf(prefix)) };
}

function prefixesOf(text: string): readonly string[] {
  const characters = Array.from(text);
  return characters.map((_, index) => characters.slice(0, index + 1).join(""));
}

// ── Journals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A hash tells short arguments, and a time that a run waits for is the sum of a number. A run on what is left finds its own. */
function redactedJournal(journal: Journal, change: Change): Journal {
  return journal.map(({ timeMs, arrivals, commands }) => ({
    timeMs,
    arrivals: arrivals.map((arrival) => redactedArrival(arrival, change)),
    commands: commands.map(({ kind, name }) => ({ kind, name, hash: NO_HASH })),
    wait: null,
  }));
}

const NO_HASH = "0".repeat(16) as ContentHash;

function redactedArrival(arrival: Arrival, change: Change): Arrival {
  if (arrival.kind === "cancelled") return arrival;
  const { kind, command, settled } = arrival;
  switch (settled.kind) {
    case "value":
    case "signal":
      return { kind, command, settled: { ...settled, value: changed(settled.value, change) } };
    case "failed": {
      const { status, code, message } = settled;
      return {
        kind,
        command,
        settled: { kind: "failed", status, code: change.text(code), message: change.text(message) },
      };
    }
    case "unknown":
      return { kind, command, settled: { kind: "unknown", message: change.text(settled.message) } };
    case "timer":
      return arrival;
  }
}

// ── Values ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Change {
  readonly text: (text: string) => string;
  /** Whether a number stays. */
  readonly number: (number: number | bigint) => boolean;
}

const SECRET: Change = { text: () => SHOWN_SECRET, number: () => false };
/** The id of a task or a workflow stays one: else who names it would trap. */
const EMPTY: Change = {
  text: (text) => (isExecutionId(text) ? "0" : "x").repeat(text.length),
  number: () => false,
};

/** Bytes that can't be read may hold anything. */
function changed(value: Uint8Array, change: Change): Uint8Array {
  try {
    const reader = new CborReader(value);
    const writer = new CborWriter();
    copy(reader, writer, change);
    reader.end();
    return writer.finish();
  } catch (error) {
    if (error instanceof MalformedError) return new CborWriter().null().finish();
    throw error;
  }
}

/** Redacted, a value keeps its kind and containers their elements; bytes become zeros, and `true` false. Null: it stays as it is. */
function copy(reader: CborReader, writer: CborWriter, change: Change | null): void {
  switch (reader.peek()) {
    case "null":
      reader.nullIfNext();
      writer.null();
      return;
    case "boolean": {
      const value = reader.boolean();
      writer.boolean(value && change === null);
      return;
    }
    case "integer": {
      const value = reader.integer();
      writer.integer(change === null || change.number(value) ? value : 0);
      return;
    }
    case "float": {
      const value = reader.float();
      writer.float(change === null || change.number(value) ? value : 0);
      return;
    }
    case "text": {
      const value = reader.text();
      writer.text(change === null ? value : change.text(value));
      return;
    }
    case "bytes": {
      const value = reader.bytes();
      writer.bytes(change === null ? value : new Uint8Array(value.length));
      return;
    }
    case "array": {
      const length = reader.array();
      writer.array(length);
      for (let left = length; left > 0; left--) copy(reader, writer, change);
      return;
    }
    case "map": {
      const size = reader.map();
      writer.map(size);
      for (let left = size; left > 0; left--) {
        writer.text(reader.text());
        copy(reader, writer, change);
      }
    }
  }
}
