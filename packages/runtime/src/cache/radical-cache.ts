/**
 * The second tier: a Durable Object per application and location with its own SQLite database. It outlives isolates
 * and builds; like every cache it may be wiped.
 */
import { DurableObject } from "cloudflare:workers";
import type { Entry, UnitId } from "@radical/protocol";
import { itemsOfStored } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import { takes } from "./cache.ts";
import { sealOf, unsealed } from "./seal.ts";

/** A row of a Durable Object ends at 2 MB. */
const MAX_VALUE_BYTES = 1_900_000;
/** The part that eviction leaves, so that the next one is not needed at once. */
const KEPT_PERCENT = 90;
const EVICTION_BATCH = 256;

/** The table's name carries the version of its layout: a later layout starts empty, and drops what was before. */
const SCHEMA = `
  DROP TABLE IF EXISTS entries_1;
  DROP TABLE IF EXISTS totals_1;
  CREATE TABLE IF NOT EXISTS entries_2 (
    sequence INTEGER PRIMARY KEY,
    application TEXT NOT NULL,
    unit TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    hash TEXT,
    seal TEXT NOT NULL,
    value BLOB,
    UNIQUE (application, unit)
  );`;

/**
 * One batched call reads, one batched call writes. Entries are bound to the application that put them. A call runs
 * without a pause, so the platform makes its writes one transaction. A unit that is held already keeps its place in the
 * index, so that its put is one row written.
 */
export class RadicalCache extends DurableObject<unknown> {
  readonly #sql: SqlStorage;

  constructor(context: DurableObjectState, env: unknown) {
    super(context, env);
    this.#sql = context.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  /** The intact entries, of a scan also the items of its rows. It writes nothing, so that no answer waits for the disk. */
  getMany(application: string, units: readonly UnitId[]): readonly CachePut[] {
    return this.#withTable(() => {
      const found = new Map<UnitId, Entry>();
      const wanted = new Set(units);
      // The items of a scan are added behind it.
      for (const unit of wanted) {
        const entry = this.#held(application, unit);
        if (entry === null) continue;
        found.set(unit, entry);
        for (const item of itemsOfStored(unit, entry)) wanted.add(item);
      }
      return Array.from(found, ([unit, entry]) => ({ unit, entry }));
    });
  }

  /** Those that came first go when the database has more than `maxBytes`. */
  putMany(application: string, puts: readonly CachePut[], maxBytes: number): void {
    this.#withTable(() => {
      for (const put of puts) this.#put(application, put);
      if (this.#sql.databaseSize > maxBytes) this.#evict(maxBytes * (KEPT_PERCENT / 100));
    });
  }

  #put(application: string, put: CachePut): void {
    const { unit, entry } = put;
    const held = this.#held(application, unit);
    if (!takes(held?.version, put) || (entry.value?.length ?? 0) > MAX_VALUE_BYTES) return;
    this.#sql.exec(
      `INSERT INTO entries_2 (application, unit, commit_id, hash, seal, value) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (application, unit) DO UPDATE
       SET commit_id = excluded.commit_id, hash = excluded.hash, seal = excluded.seal, value = excluded.value`,
      application,
      unit,
      entry.version.commitId,
      entry.version.hash,
      sealOf(application, unit, entry.version),
      entry.value,
    );
  }

  /** Null also for a row that is not what was put. One query for each unit: the statement stays prepared. */
  #held(application: string, unit: UnitId): Entry | null {
    const [row] = this.#sql
      .exec("SELECT commit_id, hash, seal, value FROM entries_2 WHERE application = ? AND unit = ?", application, unit)
      .toArray();
    if (row === undefined) return null;
    const { commit_id: commitId, hash, seal, value } = row;
    const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
    return unsealed(application, unit, { seal, commitId, hash, value: bytes });
  }

  /** A failure leaves the table there for the next call, also when somebody has wiped the object or torn its file. */
  #withTable<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      // No statement mends a file that SQLite can't read any more.
      if (isCorrupt(error)) this.ctx.waitUntil(this.#startOver());
      else this.#sql.exec(SCHEMA);
      throw error;
    }
  }

  #startOver(): Promise<void> {
    return this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAll();
      this.#sql.exec(SCHEMA);
    });
  }

  #evict(keptBytes: number): void {
    for (;;) {
      let excess = this.#sql.databaseSize - keptBytes;
      if (excess <= 0) return;
      const oldest = this.#sql
        .exec("SELECT sequence, length(value) AS bytes FROM entries_2 ORDER BY sequence LIMIT ?", EVICTION_BATCH)
        .toArray();
      if (oldest.length === 0) return;
      for (const { sequence, bytes } of oldest) {
        if (excess <= 0) break;
        this.#sql.exec("DELETE FROM entries_2 WHERE sequence = ?", sequence ?? null);
        excess -= Number(bytes);
      }
    }
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof Error && error.message.includes("SQLITE_CORRUPT");
}
