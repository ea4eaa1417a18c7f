/**
 * The second tier: a Durable Object per application and location with its own SQLite database. It outlives isolates
 * and builds; like every cache it may be wiped.
 */
import { DurableObject } from "cloudflare:workers";
import { type Entry, type UnitId, isCommitId, isContentHash, isIntact } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { takes } from "./cache.ts";

const DEFAULT_MAX_BYTES = 512 * 1024 * 1024;
/** What a row costs besides unit and value: version, application, index. An estimate. */
const ROW_OVERHEAD_BYTES = 256;
/** A row of a Durable Object ends at 2 MB. */
const MAX_VALUE_BYTES = 1_900_000;
const EVICTION_BATCH = 256;

/** The tables' names carry the version of their layout: a later layout starts empty. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries_1 (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    application TEXT NOT NULL,
    unit TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    hash TEXT,
    bytes INTEGER NOT NULL,
    value BLOB,
    UNIQUE (application, unit)
  );
  CREATE TABLE IF NOT EXISTS totals_1 (bytes INTEGER NOT NULL);
  INSERT INTO totals_1 SELECT 0 WHERE NOT EXISTS (SELECT * FROM totals_1);`;

interface Row {
  readonly sequence: number;
  readonly bytes: number;
  /** Null: what is stored is not what was put. */
  readonly entry: Entry | null;
}

export interface RadicalCacheVars {
  /** Most bytes that the entries of a location may take; the longest unwritten go first. */
  readonly RADICAL_CACHE_MAX_BYTES?: string;
}

/**
 * One batched call reads, one batched call writes. Entries are bound to the application that put them. A call runs
 * without a pause, so the platform makes its writes one transaction.
 */
export class RadicalCache extends DurableObject<RadicalCacheVars> {
  readonly #sql: SqlStorage;
  readonly #maxBytes: number;

  constructor(context: DurableObjectState, env: RadicalCacheVars) {
    super(context, env);
    this.#sql = context.storage.sql;
    this.#maxBytes = Number(env.RADICAL_CACHE_MAX_BYTES ?? DEFAULT_MAX_BYTES);
    this.#sql.exec(SCHEMA);
  }

  /** The intact entries; a damaged one is removed, so that its repair finds the place free. */
  getMany(application: string, units: readonly UnitId[]): readonly CachePut[] {
    return this.#withTables(() => {
      const found: CachePut[] = [];
      for (const unit of units) {
        const row = this.#row(application, unit);
        if (row === null) continue;
        if (row.entry === null) this.#remove(row);
        else found.push({ unit, entry: row.entry });
      }
      return found;
    });
  }

  putMany(application: string, puts: readonly CachePut[]): void {
    this.#withTables(() => {
      for (const put of puts) this.#put(application, put);
      this.#evict();
    });
  }

  #put(application: string, put: CachePut): void {
    const { unit, entry } = put;
    const held = this.#row(application, unit);
    const length = entry.value?.length ?? 0;
    if (!takes(held?.entry?.version, put) || length > MAX_VALUE_BYTES) return;
    if (held !== null) this.#remove(held);
    const bytes = ROW_OVERHEAD_BYTES + 2 * unit.length + length;
    this.#sql.exec(
      "INSERT INTO entries_1 (application, unit, commit_id, hash, bytes, value) VALUES (?, ?, ?, ?, ?, ?)",
      application,
      unit,
      entry.version.commitId,
      entry.version.hash,
      bytes,
      entry.value,
    );
    this.#count(bytes);
  }

  /** One query for each unit: the database is in the same process, and the statement stays prepared. */
  #row(application: string, unit: UnitId): Row | null {
    const [row] = this.#sql
      .exec(
        "SELECT sequence, bytes, commit_id, hash, value FROM entries_1 WHERE application = ? AND unit = ?",
        application,
        unit,
      )
      .toArray();
    if (row === undefined) return null;
    const { sequence, bytes, commit_id: commitId, hash, value } = row;
    return { sequence: Number(sequence), bytes: Number(bytes), entry: entryFrom(commitId, hash, value) };
  }

  /** A failure leaves the tables there for the next call, also when somebody has wiped the object. */
  #withTables<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#sql.exec(SCHEMA);
      throw error;
    }
  }

  #remove({ sequence, bytes }: Row): void {
    this.#sql.exec("DELETE FROM entries_1 WHERE sequence = ?", sequence);
    this.#count(-bytes);
  }

  #count(bytes: number): void {
    this.#sql.exec("UPDATE totals_1 SET bytes = bytes + ?", bytes);
  }

  #evict(): void {
    let excess = Number(this.#sql.exec("SELECT bytes FROM totals_1").one()["bytes"]) - this.#maxBytes;
    while (excess > 0) {
      const oldest = this.#sql
        .exec("SELECT sequence, bytes FROM entries_1 ORDER BY sequence LIMIT ?", EVICTION_BATCH)
        .toArray();
      let removed = 0;
      for (const { sequence, bytes } of oldest) {
        if (removed >= excess) break;
        this.#sql.exec("DELETE FROM entries_1 WHERE sequence = ?", sequence ?? null);
        removed += Number(bytes);
      }
      if (removed === 0) break;
      this.#count(-removed);
      excess -= removed;
    }
  }
}

function entryFrom(commitId: unknown, hash: unknown, value: unknown): Entry | null {
  if (typeof commitId !== "string" || !isCommitId(commitId)) return null;
  let entry: Entry;
  if (hash === null && value === null) entry = { version: { commitId, hash: null }, value: null };
  else if (typeof hash === "string" && isContentHash(hash) && value instanceof ArrayBuffer) {
    entry = { version: { commitId, hash }, value: new Uint8Array(value) };
  } else return null;
  return isIntact(entry) ? entry : null;
}
