/** Accesses of the IR as what the developer is shown of them. */
import type { HandlerTables } from "@radical/protocol";
import type { AccessPattern } from "../front.ts";
import type { PointsTo } from "../infer/points-to.ts";
import { tableOf, type Access, type Scan } from "../lower/ir.ts";
import type { KeyPatterns } from "./key-patterns.ts";

/** The reads and writes of a handler, in words. */
export interface AccessPatterns {
  /** Nothing is written. */
  readonly readOnly: boolean;
  readonly reads: readonly AccessPattern[];
  readonly writes: readonly AccessPattern[];
  /** Every table that a run may touch; null: that is not known. */
  readonly tables: HandlerTables | null;
}

/** `accesses`: each with whether a read's value is needed to go on. */
export function accessPatterns(
  accesses: Iterable<readonly [Access | Scan, { readonly dependent: boolean }]>,
  pointsTo: PointsTo,
  keys: KeyPatterns,
): AccessPatterns {
  const reads: AccessPattern[] = [];
  const writes: AccessPattern[] = [];
  for (const [access, { dependent }] of accesses) {
    const patterns = isRead(access) ? reads : writes;
    for (const { name } of pointsTo.tablesOf(tableOf(access))) {
      for (const pattern of keys.of(access, name)) {
        const source = keys.source(access.kind === "scan" ? access.span : access.key.span);
        const isDependent = isRead(access) && dependent;
        patterns.push({ table: name, pattern, source, dependent: isDependent, span: access.span });
      }
    }
  }
  return sortedPatterns(reads, writes);
}

export function isRead({ operation }: Pick<Access | Scan, "operation">): boolean {
  switch (operation) {
    case "put":
    case "delete":
    case "willPut":
    case "willDelete":
      return false;
    default:
      return true;
  }
}

/** By place; of several for one access with the same words one, dependent if any is. */
export function sortedPatterns(reads: readonly AccessPattern[], writes: readonly AccessPattern[]): AccessPatterns {
  const tables = tablesNamed(
    reads.map(({ table }) => table),
    writes.map(({ table }) => table),
  );
  return { readOnly: writes.length === 0, reads: sorted(reads), writes: sorted(writes), tables };
}

/** Stands for a table that the analyzer does not know. */
export const UNKNOWN_TABLE = "?";

/** Null if one of them is not known. */
export function tablesNamed(reads: readonly string[], writes: readonly string[]): HandlerTables | null {
  if (reads.includes(UNKNOWN_TABLE) || writes.includes(UNKNOWN_TABLE)) return null;
  return { reads: [...new Set(reads)].toSorted(), writes: [...new Set(writes)].toSorted() };
}

function sorted(patterns: readonly AccessPattern[]): AccessPattern[] {
  const byPlace = new Map<string, AccessPattern>();
  for (const pattern of patterns) {
    const { file, start } = pattern.span;
    // The slice may have several copies of an access.
    const place = `${file}:${start}:${pattern.pattern}`;
    byPlace.set(place, { ...pattern, dependent: pattern.dependent || (byPlace.get(place)?.dependent ?? false) });
  }
  return [...byPlace.values()].toSorted(({ span: a }, { span: b }) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.start - b.start,
  );
}
