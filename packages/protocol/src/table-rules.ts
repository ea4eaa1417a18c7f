/**
 * The rules of tables, which an application states by tags where it declares them. The primary keeps to them, whatever a location asks
 * for. A rule of a table holds for its indexes too.
 */
import type { CborReader, CborWriter } from "./cbor.ts";
import { isTableName } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";

export interface TableRules {
  /** Nothing of the table is ever at a location: handlers that touch it run at the primary. */
  readonly isPrivate: boolean;
  /** The primary runs the handler of each followup that writes to the table, and applies the followup only if both are the same. */
  readonly isAudited: boolean;
}

/** By the name of the table; a table that is left out has no rule. */
export type RulesByTable = Readonly<Record<string, TableRules>>;

export function writeTableRules(writer: CborWriter, { isPrivate, isAudited }: TableRules): void {
  writer.array(2).boolean(isPrivate).boolean(isAudited);
}

/** Throws a MalformedError. */
export function readTableRules(reader: CborReader, table: string): TableRules {
  if (!isTableName(table)) throw new MalformedError(`rules of ${JSON.stringify(table)}, which is not a table`);
  if (reader.array() !== 2) throw new MalformedError(`the rules of the table ${table} are malformed`);
  const rules = { isPrivate: reader.boolean(), isAudited: reader.boolean() };
  // One form only, since the hash of a module names the bytes.
  if (!rules.isPrivate && !rules.isAudited) throw new MalformedError(`the table ${table} has rules that say nothing`);
  return rules;
}
