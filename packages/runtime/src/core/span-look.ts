/**
 * The look of one run at the spans that it reads: at the directories in memory, with the items that the execution has captured.
 *
 * A digest is right only for the very values that the run sees. So a row has the version of its captured item, whatever the
 * directory says of it. A row without an item is left out of scans, and its item is looked for. Each span that the run has read
 * then becomes an entry, whose directory names the items of the snapshot.
 */
import {
  type CommitId,
  compareCommits,
  countEntry,
  digestOf,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  isSpan,
  type KeyInterval,
  NO_COMMIT,
  present,
  type Query,
  type Span,
  spanId,
  spanOf,
  type UnitId,
  type Version,
} from "@radical/protocol";
import type { Scanned } from "@radical/wasm-host";
import type { Directories } from "./directories.ts";

/** The part of the directories that runs look at. */
export type KnownRows = Pick<Directories, "walk" | "rowsOf" | "count">;

/** A memory without directories. */
export const NO_ROWS: KnownRows = { walk: () => undefined, rowsOf: () => undefined, count: () => undefined };

/** The entry of a span, as a run has seen it. */
export interface CapturedSpan {
  readonly entry: Entry;
  /** The whole interval of the query that has read it. Its bounds stay when rows come and go. */
  readonly of: UnitId;
  /** The entry that the cache learns if the primary confirms this one; null: it has told this one. */
  readonly guess: Entry | null;
  /** The version of the rows that the cache has told, whatever their items are. It is wrong if this entry is. */
  readonly told: Version;
}

interface Rows {
  readonly rows: readonly DirectoryRow[];
  /** The primary has more to tell of items that are newer than this. */
  readonly asOf: CommitId;
  /** The latest commit id of a row without an item; null: there is none. */
  readonly lacking: CommitId | null;
  /** Each row is the one that the directory names. */
  readonly isAsTold: boolean;
}

export class SpanLook {
  readonly #known: KnownRows;
  readonly #itemOf: (unit: UnitId) => Entry | undefined;
  readonly #queries: Query[] = [];
  readonly #lacking = new Set<UnitId>();

  /** @param itemOf the captured entry of an item, or that in memory, which is captured then */
  constructor(known: KnownRows, itemOf: (unit: UnitId) => Entry | undefined) {
    this.#known = known;
    this.#itemOf = itemOf;
  }

  /** Items of rows that the run would have seen. */
  get lacking(): readonly UnitId[] {
    return [...this.#lacking];
  }

  /** Undefined: nothing is known at the start of the walk, or the number is not. */
  scan(query: Query): Scanned | undefined {
    this.#queries.push(query);
    if (query.kind === "count") return this.#count(query);
    for (let limit = query.limit; ;) {
      const walk = this.#known.walk({ ...query, limit });
      if (walk === undefined) return undefined;
      const { rows } = this.#settle(query.table, walk);
      if (rows.length === query.limit) return { rows, reachesEnd: false };
      if (walk.rows.length < limit) {
        const { reachesEnd, reach } = walk;
        return reach === undefined ? { rows, reachesEnd } : { rows, reachesEnd, reach };
      }
      // Rows that are left out make the walk go on.
      limit += query.limit - rows.length;
    }
  }

  #count(interval: KeyInterval): { readonly count: number } | undefined {
    const known = this.#known.count(interval);
    return known === undefined ? undefined : { count: known.count };
  }

  /** The entries of the spans among the units that a run has read, as far as they are known. */
  capture(reads: Iterable<UnitId>): ReadonlyMap<UnitId, CapturedSpan> {
    const captured = new Map<UnitId, CapturedSpan>();
    for (const unit of reads) {
      const span = isSpan(unit) ? present(spanOf(unit), "a run reads legal units") : null;
      const entries = span === null ? null : this.#entriesOf(span);
      if (span !== null && entries !== null) captured.set(unit, { ...entries, of: this.#queryOf(span) });
    }
    return captured;
  }

  #entriesOf(span: Span): Omit<CapturedSpan, "of"> | null {
    if (span.kind === "count") {
      const known = this.#known.count(span);
      if (known === undefined) return null;
      const entry = countEntry(known.asOf, known.count);
      return { entry, guess: null, told: entry.version };
    }
    const known = this.#known.rowsOf(span);
    if (known === undefined) return null;
    const { rows, asOf, lacking, isAsTold } = this.#settle(span.table, known);
    const entry = directoryEntry(asOf, rows);
    const told = isAsTold ? entry.version : { commitId: known.asOf, hash: digestOf(known.rows) };
    if (lacking === null) return { entry, guess: null, told };
    // If the rows without items are gone indeed, they are gone as of their own commit ids at least.
    const goneAsOf = compareCommits(lacking, known.asOf) > 0 ? lacking : known.asOf;
    return { entry, guess: directoryEntry(goneAsOf, rows), told };
  }

  #settle(table: string, known: { readonly rows: readonly DirectoryRow[]; readonly asOf: CommitId }): Rows {
    const rows: DirectoryRow[] = [];
    let isAsTold = true;
    let lacking: CommitId | null = null;
    for (const row of known.rows) {
      const unit = `${table}/${row.key}` as UnitId;
      const item = this.#itemOf(unit);
      if (item === undefined) {
        this.#lacking.add(unit);
        if (lacking === null || compareCommits(row.commitId, lacking) > 0) lacking = row.commitId;
        isAsTold = false;
        continue;
      }
      const { commitId, hash } = item.version;
      if (hash !== null) rows.push({ key: row.key, commitId, hash });
      if (commitId !== row.commitId || hash !== row.hash) isAsTold = false;
    }
    // The primary brings only items that are newer. Where an item is lacking, or is another one, all have to come again.
    return { rows, asOf: isAsTold ? known.asOf : NO_COMMIT, lacking, isAsTold };
  }

  /** Two queries around the same span are as good as each other. */
  #queryOf(span: Span): UnitId {
    const query = this.#queries.find(
      ({ kind, table, lo, hi }) => kind === span.kind && table === span.table && (lo === span.lo || hi === span.hi),
    );
    const { table, lo, hi } = query ?? span;
    return spanId({ kind: span.kind, table, lo, hi });
  }
}
