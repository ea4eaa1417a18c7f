/** Handlers that touch a private table run at the primary, as if they had the tag `@nearstorage`: its items are never at a location. */
import type { HandlerTables } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { Derived } from "../front.ts";
import { spanOfRange } from "../parse/span.ts";
import type { Directions } from "../schema/directions.ts";
import type { HandlerSchema, Schema } from "../schema/schema.ts";
import type { KnownByHandler } from "./directed-accesses.ts";

/** The private table that keeps a handler at the primary. */
export interface KeptBy {
  readonly table: string;
  /** False: nobody knows which tables the handler touches, and this one may be among them. */
  readonly isCertain: boolean;
  /** Why the handler runs at the primary, for people. */
  readonly words: string;
  /** Place of the tag `@private`. */
  readonly span: Span;
}

/** The directions and accesses by which the rest of a build goes. */
export interface Kept {
  readonly directions: Directions;
  readonly derived: ReadonlyMap<string, Derived>;
  readonly known: KnownByHandler;
  /** By handler. */
  readonly keptBy: ReadonlyMap<string, KeptBy>;
  /** Tags that have no meaning at the primary. */
  readonly diagnostics: readonly Diagnostic[];
}

export function keptAtPrimary(
  schema: Pick<Schema, "handlers" | "indexes">,
  directions: Directions,
  derived: ReadonlyMap<string, Derived>,
  known: KnownByHandler,
): Kept {
  const kept = new Map<string, KeptBy>();
  if (directions.privateTables.size > 0)
    for (const { name } of schema.handlers) {
      // A workflow touches no table, and its steps are handlers.
      if (directions.workflows.has(name) || directions.nearStorage.has(name)) continue;
      const { tables = null } = derived.get(name) ?? known.get(name) ?? {};
      const by = privateAmong(tables, directions, schema);
      if (by !== null) kept.set(name, by);
    }
  if (kept.size === 0) return { directions, derived, known, keptBy: kept, diagnostics: [] };
  const isKept = ([name]: readonly [string, unknown]): boolean => kept.has(name);
  const found = [...derived].filter(isKept).map(([name, { readOnly, reads, writes, tables, steps }]) => {
    return [name, { readOnly, reads, writes, tables, steps: steps.handler }] as const;
  });
  return {
    directions: {
      ...directions,
      given: new Map([...directions.given].filter((entry) => !isKept(entry))),
      nearStorage: new Map([...directions.nearStorage, ...[...kept].map(([name, { span }]) => [name, span] as const)]),
    },
    derived: new Map([...derived].filter((entry) => !isKept(entry))),
    known: new Map([...known, ...found]),
    keptBy: kept,
    diagnostics: schema.handlers.flatMap((handler) => mistakesOf(handler, directions, kept.get(handler.name))),
  };
}

function keptBy(table: string, isCertain: boolean, span: Span): KeptBy {
  const words = isCertain
    ? `It touches the private table ${table}, so it runs at the primary only.`
    : `It is not known which tables it touches, and ${table} is private, so it runs at the primary only.`;
  return { table, isCertain, words, span };
}

function privateAmong(
  tables: HandlerTables | null,
  { privateTables }: Directions,
  { indexes }: Pick<Schema, "indexes">,
): KeptBy | null {
  const touched = tables === null ? null : new Set([...tables.reads, ...tables.writes]);
  for (const [table, span] of privateTables) {
    if (touched === null) return keptBy(table, false, span);
    const names = [table, ...indexes.flatMap((index) => (index.table === table ? [index.name] : []))];
    if (names.some((name) => touched.has(name))) return keptBy(table, true, span);
  }
  return null;
}

function mistakesOf(
  { name, declaration }: HandlerSchema,
  { given, speculative }: Directions,
  by: KeptBy | undefined,
): Diagnostic[] {
  if (by === undefined) return [];
  const { table, isCertain, span } = by;
  const because = isCertain
    ? `The handler ${name} touches the private table ${table}`
    : `The handler ${name} may touch the private table ${table}`;
  const related = [{ span, label: "the tag that makes the table private" }];
  const found: Diagnostic[] = [];
  const set = given.get(name);
  if (set !== undefined)
    found.push(
      diagnostic("misplaced_tag", {
        message: `${because}, so it runs at the primary, where its read/write set is not used.`,
        primary: set.span,
        related,
        help: `Remove the function ${set.name} with its tag @readwrite, or the tag @private of the table.`,
      }),
    );
  const tag = speculative.get(name);
  if (tag !== undefined)
    found.push(
      diagnostic("misplaced_tag", {
        message: `${because}, so it runs at the primary, and a client never sees its result before its confirmation.`,
        primary: tag,
        related: [...related, { span: spanOfRange(declaration.name.range), label: "the handler" }],
        help: "Remove the tag @speculative, or the tag @private of the table.",
      }),
    );
  return found;
}
