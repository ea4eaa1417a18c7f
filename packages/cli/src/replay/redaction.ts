/**
 * What records shall not hold: fields of items and arguments, and the caller. They are made unreadable before the execution
 * is run again for its record, so its outcome and writes have nothing of them either, and a replay still finds the same.
 */
import { CborReader, CborWriter, isTableName, MalformedError, splitUnit, type UnitId } from "@radical/protocol";
import { CommandError, EXIT_USAGE } from "../command-error.ts";

export interface Redaction {
  value(unit: UnitId, value: Uint8Array): Uint8Array;
  args(args: Uint8Array): Uint8Array;
  caller(caller: string | null): string | null;
  /** Those of the names that nothing was found for. */
  readonly unused: readonly string[];
}

/** Names of fields by what they belong to. */
type Fields = ReadonlySet<string>;

const ARGUMENTS = "@arguments";
const CALLER = "@caller";
const ALL = "*";

/** `names`: `users.email`, `users.*`, `@arguments.password`, `@caller`. Throws a CommandError for one that is none of these. */
export function redactionOf(names: readonly string[]): Redaction {
  const tables = new Map<string, Set<string>>();
  for (const name of names) {
    if (name === CALLER) continue;
    const dot = name.indexOf(".");
    const [table, field] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
    if (dot < 0 || field === "" || (table !== ARGUMENTS && !isTableName(table))) {
      throw new CommandError(
        "usage",
        `--redact ${name} names nothing`,
        `use <table>.<field>, <table>.*, ${ARGUMENTS}.<name> or ${CALLER}`,
        { exitCode: EXIT_USAGE },
      );
    }
    tables.set(table, (tables.get(table) ?? new Set()).add(field));
  }
  const used = new Set<string>();
  const redact = (table: string, value: Uint8Array): Uint8Array => {
    const fields = tables.get(table);
    return fields === undefined ? value : redactFields(value, fields, (field) => used.add(`${table}.${field}`));
  };
  return {
    value: (unit, value) => redact(splitUnit(unit).table, value),
    args: (args) => redact(ARGUMENTS, args),
    caller: (caller) => {
      if (caller === null || !names.includes(CALLER)) return caller;
      used.add(CALLER);
      return REDACTED_CALLER;
    },
    get unused() {
      return names.filter((name) => !used.has(name));
    },
  };
}

const REDACTED_CALLER = "redacted";

/** What is no record is redacted whole, if all fields are. */
function redactFields(value: Uint8Array, fields: Fields, onFound: (field: string) => void): Uint8Array {
  try {
    const reader = new CborReader(value);
    const writer = new CborWriter();
    if (reader.peek() !== "map") {
      if (!fields.has(ALL)) return value;
      onFound(ALL);
      copy(reader, writer, true);
      return writer.finish();
    }
    const size = reader.map();
    writer.map(size);
    for (let left = size; left > 0; left--) {
      const name = reader.text();
      writer.text(name);
      const found = fields.has(name) ? name : fields.has(ALL) ? ALL : null;
      if (found !== null) onFound(found);
      copy(reader, writer, found !== null);
    }
    reader.end();
    return writer.finish();
  } catch (error) {
    // Nobody can say where in it the fields are.
    if (error instanceof MalformedError) return new CborWriter().null().finish();
    throw error;
  }
}

/** Redacted, a value keeps its kind: texts their length, containers their elements; numbers become 0. */
function copy(reader: CborReader, writer: CborWriter, isRedacted: boolean): void {
  switch (reader.peek()) {
    case "null":
      reader.nullIfNext();
      writer.null();
      return;
    case "boolean": {
      const value = reader.boolean();
      writer.boolean(value && !isRedacted);
      return;
    }
    case "integer": {
      const value = reader.integer();
      writer.integer(isRedacted ? 0 : value);
      return;
    }
    case "float": {
      const value = reader.float();
      writer.float(isRedacted ? 0 : value);
      return;
    }
    case "text": {
      const value = reader.text();
      writer.text(isRedacted ? "x".repeat(value.length) : value);
      return;
    }
    case "bytes": {
      const value = reader.bytes();
      writer.bytes(isRedacted ? new Uint8Array(value.length) : value);
      return;
    }
    case "array": {
      const length = reader.array();
      writer.array(length);
      for (let left = length; left > 0; left--) copy(reader, writer, isRedacted);
      return;
    }
    case "map": {
      const size = reader.map();
      writer.map(size);
      for (let left = size; left > 0; left--) {
        writer.text(reader.text());
        copy(reader, writer, isRedacted);
      }
    }
  }
}
