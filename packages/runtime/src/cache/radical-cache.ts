/**
 * The second tier: a Durable Object per application and location with its own SQLite database. It outlives isolates
 * and builds; like every cache it may be wiped.
 */
import { DurableObject } from "cloudflare:workers";
import { type Entry, MOST_LOCATIONS, prefixEnd, type UnitId } from "@radical/protocol";
import { itemsOfStored } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import { takes } from "./cache.ts";
import { type PurgePart, purgedUnits } from "./purge-part.ts";
import { sealOf, unsealed } from "./seal.ts";

/** A row of a Durable Object ends at 2 MB. */
const MAX_VALUE_BYTES = 1_900_000;
/** The part that eviction leaves, so that the next one is not needed at once. */
const KEPT_PERCENT = 90;
const EVICTION_BATCH = 256;
/** Rows that one alarm looks at. It is set again at once if there may be more that are too old. */
const ALARM_BATCH = 1_000;
/** Times of puts are rounded down to this part of the age, so that few rewrites move a row. */
const GRAINS = 168;
/** Most reads that are remembered until the next eviction. */
const MOST_USES = 65_536;
/** Most rows that one purge removes: a call is one transaction, and its time is bounded. */
const PURGE_BATCH = 20_000;

/**
 * The table's name carries the version of its layout: a later layout starts empty, and drops what was before. Rows are in the order
 * of their times. `put_at` has the time of the last put. A rewritten row keeps its place unless its time is another one then.
 */
const SCHEMA = `
  DROP TABLE IF EXISTS entries_1;
  DROP TABLE IF EXISTS totals_1;
  DROP TABLE IF EXISTS entries_2;
  CREATE TABLE IF NOT EXISTS entries_3 (
    sequence INTEGER PRIMARY KEY,
    application TEXT NOT NULL,
    unit TEXT NOT NULL,
    put_at INTEGER NOT NULL,
    commit_id TEXT NOT NULL,
    hash TEXT,
    seal TEXT NOT NULL,
    value BLOB,
    UNIQUE (application, unit)
  );
  CREATE TABLE IF NOT EXISTS marks_3 (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS locations_3 (name TEXT PRIMARY KEY) WITHOUT ROWID;`;

/**
 * `age`: the longest one, in milliseconds, that a put has named. `alarm`: when rows become too old. `purged`: when a purge was last.
 * `listed`: 1 if the list of caches has this one.
 */
type Mark = "age" | "alarm" | "purged" | "listed";

/** The bounds of a cache, and its sender: all that it has in memory was put after `sinceMs`. */
export interface PutManner {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly sinceMs: number;
}

export interface PurgeAnswer {
  /** That were there and are gone. */
  readonly entries: number;
  readonly purgedAtMs: number;
  /** Whether there may be more to remove: the same purge goes on then. */
  readonly hasMore: boolean;
}

export interface PutAnswer {
  readonly purgedAtMs: number;
  /** Whether the list of caches has this one. */
  readonly isListed: boolean;
}

/**
 * One batched call reads, one batched call writes. Entries are bound to the application that put them. A call runs
 * without a pause, so the platform makes its writes one transaction. A unit that is held already mostly keeps its place in the
 * index, so that its put is one row written.
 *
 * One object of an application holds no entries: it has the list of the locations that have some.
 */
export class RadicalCache extends DurableObject<unknown> {
  readonly #sql: SqlStorage;
  /** Null: not read yet. */
  #marks: Map<Mark, number> | null = null;
  /** The rows that were read since the last eviction, the last one at the end. */
  readonly #used = new Set<number>();

  constructor(context: DurableObjectState, env: unknown) {
    super(context, env);
    this.#sql = context.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  /** For tests, which have a clock of their own. */
  protected now(): number {
    return Date.now();
  }

  /**
   * The intact entries that are not too old, of a scan also the items of its rows. It writes nothing, so that no answer waits for the
   * disk.
   */
  getMany(application: string, units: readonly UnitId[], maxAgeMs: number): readonly CachePut[] {
    return this.#withTable(() => {
      const found = new Map<UnitId, Entry>();
      const wanted = new Set(units);
      // The items of a scan are added behind it.
      for (const unit of wanted) {
        const held = this.#held(application, unit, maxAgeMs);
        if (held === null || held.entry === null) continue;
        this.#use(held.sequence);
        found.set(unit, held.entry);
        for (const item of itemsOfStored(unit, held.entry)) wanted.add(item);
      }
      return Array.from(found, ([unit, entry]) => ({ unit, entry }));
    });
  }

  /**
   * Nothing is taken from an isolate that has not heard of the last purge. When the database has too many bytes, the rows go that were
   * put longest ago, but for those that were read since the last time.
   */
  putMany(application: string, puts: readonly CachePut[], { maxBytes, maxAgeMs, sinceMs }: PutManner): PutAnswer {
    return this.#withTable(() => {
      const purgedAtMs = this.#mark("purged");
      const answer = { purgedAtMs, isListed: this.#mark("listed") === 1 };
      if (purgedAtMs > sinceMs) return answer;
      for (const put of puts) this.#put(application, put, maxAgeMs);
      if (this.#sql.databaseSize > maxBytes) this.#evict(maxBytes * (KEPT_PERCENT / 100));
      this.#watchAge(maxAgeMs);
      return answer;
    });
  }

  // ── Age ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** There is an alarm when the first of the rows becomes too old. */
  #watchAge(maxAgeMs: number): void {
    const nowMs = this.now();
    const isNewAge = this.#mark("age") !== maxAgeMs;
    if (isNewAge) this.#setMark("age", maxAgeMs);
    // One that is long past was lost.
    const isSet = this.#mark("alarm") !== 0 && this.#mark("alarm") > nowMs - maxAgeMs / GRAINS;
    if (isSet && !isNewAge) return;
    this.#setAlarm(isNewAge && isSet ? nowMs : nowMs + maxAgeMs);
  }

  #setAlarm(atMs: number): void {
    this.#setMark("alarm", atMs);
    // Not awaited: it is a part of the call's transaction.
    void this.ctx.storage.setAlarm(atMs);
  }

  /** The rows that are too old go, whether somebody asks or not. */
  override alarm(): void {
    this.#withTable(() => {
      const maxAgeMs = this.#mark("age");
      if (maxAgeMs === 0) return;
      // The list may have been lost.
      this.#setMark("listed", 0);
      const nowMs = this.now();
      const rows = this.#sql
        .exec("SELECT sequence, put_at FROM entries_3 ORDER BY sequence LIMIT ?", ALARM_BATCH)
        .toArray();
      const left = rows.findIndex(({ put_at: putAtMs }) => Number(putAtMs) + maxAgeMs > nowMs);
      const gone = left === -1 ? rows.length : left;
      if (gone > 0) this.#sql.exec("DELETE FROM entries_3 WHERE sequence <= ?", rows[gone - 1]!["sequence"] ?? null);
      if (left !== -1) this.#setAlarm(Number(rows[left]!["put_at"]) + maxAgeMs);
      else if (rows.length === ALARM_BATCH) this.#setAlarm(nowMs);
      else this.#setMark("alarm", 0);
    });
  }

  // ── Purges ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** When the last purge was, by the clock of this object. */
  purgedAt(): number {
    return this.#withTable(() => this.#mark("purged"));
  }

  /**
   * Removes entries of the application: all of them, or those of a part, and at most some thousands in one call. Each call is a purge for
   * isolates: they forget entries that they have read between two calls, and put none of them back.
   */
  purge(application: string, part: PurgePart | null): PurgeAnswer {
    return this.#withTable(() => {
      this.#setMark("purged", this.now());
      const { beginnings, unit } = part === null ? { beginnings: [""], unit: null } : purgedUnits(part);
      let left = PURGE_BATCH;
      if (unit !== null) left -= this.#remove(left, "unit = ?", application, unit);
      for (const beginning of beginnings) {
        const end = beginning === "" ? "" : prefixEnd(beginning);
        left -=
          end === ""
            ? this.#remove(left, "unit >= ?", application, beginning)
            : this.#remove(left, "unit >= ? AND unit < ?", application, beginning, end);
      }
      return { entries: PURGE_BATCH - left, purgedAtMs: this.#mark("purged"), hasMore: left === 0 };
    });
  }

  /** Returns how many are gone. */
  #remove(most: number, which: string, application: string, ...bounds: readonly string[]): number {
    const found = `SELECT sequence FROM entries_3 WHERE application = ? AND ${which} LIMIT ?`;
    const [row] = this.#sql.exec(`SELECT count(*) AS entries FROM (${found})`, application, ...bounds, most).toArray();
    this.#sql.exec(`DELETE FROM entries_3 WHERE sequence IN (${found})`, application, ...bounds, most);
    return Number(row?.["entries"] ?? 0);
  }

  // ── The list of locations ──────────────────────────────────────────────────────────────────────────────────────────

  /** This object is in the list. */
  listed(): void {
    this.#withTable(() => this.#setMark("listed", 1));
  }

  /** Of the object that has the list. */
  list(location: string): void {
    this.#withTable(() => {
      const [row] = this.#sql.exec("SELECT count(*) AS names FROM locations_3").toArray();
      if (Number(row?.["names"]) >= MOST_LOCATIONS) return;
      this.#sql.exec("INSERT OR IGNORE INTO locations_3 (name) VALUES (?)", location);
    });
  }

  /** Of the object that has the list, in order. */
  locations(): readonly string[] {
    return this.#withTable(() =>
      this.#sql
        .exec("SELECT name FROM locations_3 ORDER BY name")
        .toArray()
        .map(({ name }) => String(name)),
    );
  }

  // ── Rows ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  #put(application: string, put: CachePut, maxAgeMs: number): void {
    const { unit, entry } = put;
    const held = this.#held(application, unit, maxAgeMs);
    if (!takes(held?.entry?.version, put) || (entry.value?.length ?? 0) > MAX_VALUE_BYTES) return;
    const grainMs = Math.max(1, Math.floor(maxAgeMs / GRAINS));
    const putAtMs = Math.floor(this.now() / grainMs) * grainMs;
    // Its place is behind all others then.
    if (held !== null && held.putAtMs !== putAtMs)
      this.#sql.exec("DELETE FROM entries_3 WHERE sequence = ?", held.sequence);
    this.#sql.exec(
      `INSERT INTO entries_3 (application, unit, put_at, commit_id, hash, seal, value) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (application, unit) DO UPDATE
       SET commit_id = excluded.commit_id, hash = excluded.hash, seal = excluded.seal, value = excluded.value`,
      application,
      unit,
      putAtMs,
      entry.version.commitId,
      entry.version.hash,
      sealOf(application, unit, entry.version),
      entry.value,
    );
  }

  /**
   * Null: there is no row. The entry is null if it is not what was put, or is too old. One query for each unit: the statement stays
   * prepared.
   */
  #held(
    application: string,
    unit: UnitId,
    maxAgeMs: number,
  ): { readonly sequence: number; readonly putAtMs: number; readonly entry: Entry | null } | null {
    const [row] = this.#sql
      .exec(
        "SELECT sequence, put_at, commit_id, hash, seal, value FROM entries_3 WHERE application = ? AND unit = ?",
        application,
        unit,
      )
      .toArray();
    if (row === undefined) return null;
    const { sequence, put_at: putAt, commit_id: commitId, hash, seal, value } = row;
    const putAtMs = Number(putAt);
    const isOld = !(putAtMs + maxAgeMs > this.now());
    const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
    const entry = isOld ? null : unsealed(application, unit, { seal, commitId, hash, value: bytes });
    return { sequence: Number(sequence), putAtMs, entry };
  }

  /** Reads write nothing, so they are remembered in memory, and forgotten when the object sleeps. */
  #use(sequence: number): void {
    this.#used.delete(sequence);
    this.#used.add(sequence);
    if (this.#used.size <= MOST_USES) return;
    const [first] = this.#used;
    if (first !== undefined) this.#used.delete(first);
  }

  /** A row that was read since the last time has a second chance: it goes if all others are not enough. */
  #evict(keptBytes: number): void {
    let after = 0;
    for (;;) {
      let excess = this.#sql.databaseSize - keptBytes;
      if (excess <= 0) return;
      const oldest = this.#sql
        .exec(
          "SELECT sequence, length(value) AS bytes FROM entries_3 WHERE sequence > ? ORDER BY sequence LIMIT ?",
          after,
          EVICTION_BATCH,
        )
        .toArray();
      if (oldest.length === 0) {
        if (after === 0) return;
        after = 0;
      }
      for (const { sequence, bytes } of oldest) {
        if (excess <= 0) break;
        after = Number(sequence);
        if (this.#used.delete(after)) continue;
        this.#sql.exec("DELETE FROM entries_3 WHERE sequence = ?", after);
        excess -= Number(bytes);
      }
    }
  }

  /** 0: there is none. */
  #mark(name: Mark): number {
    this.#marks ??= new Map(
      this.#sql
        .exec("SELECT name, number FROM marks_3")
        .toArray()
        .map((row) => [row["name"] as Mark, Number(row["number"])]),
    );
    return this.#marks.get(name) ?? 0;
  }

  #setMark(name: Mark, number: number): void {
    const whole = Math.floor(number);
    if (this.#mark(name) === whole) return;
    this.#sql.exec("INSERT OR REPLACE INTO marks_3 (name, number) VALUES (?, ?)", name, whole);
    this.#marks?.set(name, whole);
  }

  /** A failure leaves the table there for the next call, also when somebody has wiped the object or torn its file. */
  #withTable<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#marks = null;
      // No statement mends a file that SQLite can't read any more.
      if (isCorrupt(error)) this.ctx.waitUntil(this.#startOver());
      else this.#sql.exec(SCHEMA);
      throw error;
    }
  }

  #startOver(): Promise<void> {
    return this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAll();
      this.#marks = null;
      this.#sql.exec(SCHEMA);
    });
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof Error && error.message.includes("SQLITE_CORRUPT");
}
