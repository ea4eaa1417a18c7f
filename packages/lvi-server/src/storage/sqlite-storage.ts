/**
 * Primary storage in one SQLite file, by `node:sqlite`: the embedded default.
 *
 * Group commit: all operations that one turn of the event loop asks for are one transaction, flushed to disk once (WAL,
 * synchronous = FULL). The tables are made to be looked at: `sqlite3 file 'select * from items'`.
 */
import { chmodSync, closeSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type CommitId,
  type ContentHash,
  contentHash,
  decodeOutcome,
  encodeOutcome,
  type ExecutionId,
  type HandlerPlan,
  type HandlerTables,
  type ModuleHash,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";
import type { StoreResult } from "../core/events.ts";
import { bytesOfCall, type CallHasher, hashOfResult } from "../core/call-hash.ts";
import type { DoneIntent, Intent, IntentRecord, IntentUnit, RecordChange } from "../core/intent.ts";
import type { Task, TaskName, TaskPlace } from "../core/task.ts";
import type { TaskNumbers } from "../core/task-count.ts";
import type { StoredItem } from "../core/version-table.ts";
import type { WorkflowPart } from "../core/workflow.ts";
import type { Leadership } from "../core/leadership.ts";
import { failpoint } from "../failpoints.ts";
import {
  type Collected,
  type CollectionDue,
  type Commit,
  type CommitResult,
  type KeyRange,
  type LaneCursor,
  type LanePage,
  type SchemaState,
  type Storage,
  StorageError,
  type StorageSchema,
  type StoredModule,
  type StoredUnit,
  type TaskListCursor,
  type TaskListPage,
  type TaskPage,
  type WorkflowPage,
  type TaskSelection,
} from "./storage.ts";
import { checkSchema, newestOf, schemasAhead, stateOf, WrongSchemaError } from "./schema.ts";
import { SQLITE_SCHEMAS } from "./schemas.ts";
import { type Rows, SqliteTasks, TASKS_SCHEMA } from "./sqlite-tasks.ts";
import { SqliteWorkflows, WORKFLOWS_SCHEMA } from "./sqlite-workflows.ts";

/** The schema of the statements below: what a file of an earlier one is made. Later ones have theirs in `schemas.ts`. */
const BASE_SCHEMA = 8;

/** A scan of more rows takes enough time of one turn of the loop. */
const ROWS_OF_TURN = 100;

/**
 * What must be gone when its time is over, arguments and outcomes, stands in tables of its own, in the order in which it came.
 * All of a page then goes at about one time, and a page that is free is overwritten (`secure_delete`). In a table that keeps
 * its rows SQLite leaves bytes of what it has moved between them.
 *
 *   pending_intents   promised, not applied
 *   done_intents      what is known of a done execution
 *   brief_outcomes    outcomes that only a location asks for
 *   outcomes          outcomes that a client asks for, as long as the done intent
 *   tasks             what the primary owes itself (`sqlite-tasks.ts`)
 *   workflows         and workflow_parts: their journals, and what has arrived for them (`sqlite-workflows.ts`)
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS leader (url TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS items (
  "table"   TEXT NOT NULL,
  key       TEXT NOT NULL,
  value     BLOB NOT NULL,
  commit_id TEXT NOT NULL,
  hash      TEXT NOT NULL,
  PRIMARY KEY ("table", key)
) STRICT;
CREATE TABLE IF NOT EXISTS pending_intents (
  number         INTEGER PRIMARY KEY,
  execution_id   TEXT NOT NULL UNIQUE,
  commit_id      TEXT NOT NULL,
  module         TEXT NOT NULL,
  handler        TEXT NOT NULL,
  args           BLOB NOT NULL,
  time_ms        INTEGER NOT NULL,
  seed           BLOB NOT NULL,
  caller         TEXT,
  location       TEXT NOT NULL,
  units          TEXT NOT NULL,
  retained       INTEGER NOT NULL,
  must_not_write INTEGER NOT NULL,
  created_at_ms  INTEGER NOT NULL,
  lanes          TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS done_intents (
  execution_id TEXT PRIMARY KEY,
  commit_id    TEXT NOT NULL,
  module       TEXT NOT NULL,
  location     TEXT NOT NULL,
  call_key     TEXT,
  call_hash    TEXT,
  result_hash  TEXT NOT NULL,
  done_at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS done_intents_by_time ON done_intents (done_at_ms);
CREATE TABLE IF NOT EXISTS brief_outcomes (
  number       INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  outcome      BLOB NOT NULL,
  done_at_ms   INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS brief_outcomes_by_time ON brief_outcomes (done_at_ms);
CREATE TABLE IF NOT EXISTS outcomes (
  number       INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  outcome      BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS modules (
  hash       TEXT PRIMARY KEY,
  plans      TEXT NOT NULL,
  content    BLOB NOT NULL,
  used_at_ms INTEGER,
  registered_at_ms INTEGER,
  indexes    TEXT,
  put_at_ms  INTEGER,
  worker_url TEXT,
  tables     TEXT
) STRICT;
${TASKS_SCHEMA}${WORKFLOWS_SCHEMA}`;

/**
 * What makes of a schema the next one. Schema 4 needs the hashes of calls as well: `#split`. Those that are left out have new tables
 * or new rows of `meta` only.
 */
const UPGRADES: Readonly<Record<number, string>> = {
  1: "ALTER TABLE modules ADD COLUMN used_at_ms INTEGER",
  2: "ALTER TABLE intents ADD COLUMN caller TEXT",
  3: "ALTER TABLE modules ADD COLUMN registered_at_ms INTEGER",
  6: "ALTER TABLE modules ADD COLUMN indexes TEXT",
  7: "ALTER TABLE modules ADD COLUMN put_at_ms INTEGER; ALTER TABLE modules ADD COLUMN worker_url TEXT; ALTER TABLE modules ADD COLUMN tables TEXT",
};

/** The last schema whose intents stand in one table. */
const LAST_UNSPLIT = 4;

/** How long a server that starts waits for others that are using the file. */
const OPEN_MS = 10_000;
const OPEN_PAUSE_MS = 20;
/** Longest that SQLite waits by itself, where it does. */
const OPEN_BUSY_MS = 1_000;
/** How long a transaction waits for that of another process. */
const BUSY_MS = 5_000;
const OWNER_ONLY = 0o600;

interface PendingRow {
  readonly execution_id: ExecutionId;
  readonly commit_id: CommitId;
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly time_ms: number;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  readonly location: string;
  readonly units: string;
  readonly retained: number;
  readonly must_not_write: number;
  readonly created_at_ms: number;
  readonly lanes: string | null;
}

interface DoneRow {
  readonly execution_id: ExecutionId;
  readonly commit_id: CommitId;
  readonly module: ModuleHash;
  readonly location: string;
  readonly call_key: string | null;
  readonly call_hash: string | null;
  readonly result_hash: string;
  readonly done_at_ms: number;
  readonly outcome: Uint8Array | null;
  readonly brief_outcome: Uint8Array | null;
}

interface ModuleRow {
  readonly hash: ModuleHash;
  readonly plans: string;
  readonly used_at_ms: number | null;
  readonly registered_at_ms: number | null;
  readonly indexes: string | null;
  readonly put_at_ms: number | null;
  readonly worker_url: string | null;
  readonly tables: string | null;
}

/** Of schema 4, in which pending and done intents were one table. */
interface OldRow
  extends
    Omit<PendingRow, "retained" | "must_not_write" | "lanes">,
    Omit<DoneRow, "call_key" | "call_hash" | "brief_outcome" | "result_hash"> {
  readonly state: "pending" | "done";
  readonly writes_hash: ContentHash;
}

interface NumberRow {
  readonly name: string;
  readonly number: number;
}

interface Job {
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export class SqliteStorage implements Storage {
  readonly isExclusive: boolean;
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #hasher: CallHasher | null;
  /**
   * Holds an operating-system lock as long as its process lives: who gets it knows that the holder of the leadership is dead,
   * if that one had it, and need not wait its leadership out.
   */
  #guard: DatabaseSync | null = null;
  /** Acquired here; null: no leadership yet. */
  #epoch: number | null = null;
  readonly #statements = new Map<string, StatementSync>();
  readonly #rows: Rows = {
    run: (sql, ...values) => this.#run(sql, ...values),
    all: (sql, ...values) => this.#all(sql, ...values),
  };
  readonly #tasks = new SqliteTasks(this.#rows);
  readonly #workflows = new SqliteWorkflows(this.#rows);
  #jobs: Job[] = [];
  #notice: string | null = null;

  /**
   * `:memory:` keeps nothing. `hasher`: for the intents of an older schema; without it their repeats can't be told from other
   * calls. `openMs`: how long others that are using the file are waited for. Throws a StorageError if the file can't be used.
   */
  constructor(file: string, hasher: CallHasher | null = null, openMs = OPEN_MS) {
    this.#file = file;
    this.#hasher = hasher;
    this.isExclusive = file === ":memory:";
    let database: DatabaseSync | null = null;
    try {
      if (!this.isExclusive) ownersOnly(file);
      this.#database = database = new DatabaseSync(file);
      // First of all: whoever starts at the same time has to be waited for.
      const busyMs = Math.min(OPEN_BUSY_MS, openMs);
      this.#database.exec(`PRAGMA busy_timeout = ${busyMs}; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;`);
      patiently(openMs, () => this.#database.exec("PRAGMA journal_mode = WAL"));
      patiently(openMs, () => this.#makeTables());
      this.#checkSchema();
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    } catch (error) {
      database?.close();
      if (error instanceof WrongSchemaError) throw error;
      throw new StorageError("none", `${file} can't be used as the data file: ${messageOf(error)}`, error);
    }
  }

  /** Of a new file. One that is there stays as it is until its server leads: `upgrade`. */
  #makeTables(): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#database.exec("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT");
      if (this.#number("schema") === null) {
        this.#database.exec(SCHEMA);
        const { versions } = SQLITE_SCHEMAS;
        for (const { change } of versions) this.#database.exec(change);
        const { schema, readableFrom } = newestOf(SQLITE_SCHEMAS);
        this.#run("INSERT INTO meta VALUES ('schema', ?), ('written', ?)", readableFrom, schema);
        this.#addLeadership();
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Files of earlier schemas lack some of it. Their servers pass over what they do not know. */
  #addLeadership(): void {
    this.#database.exec("CREATE TABLE IF NOT EXISTS leader (url TEXT NOT NULL) STRICT");
    this.#run(
      `INSERT OR IGNORE INTO meta VALUES ('epoch', 0), ('beat', 0), ('term_ms', 0), ('guarded_epoch', 0), ('has_old_pages', 0),
         ('read_lease_ms', 0)`,
    );
  }

  /** Throws a WrongSchemaError. */
  #checkSchema(): StorageSchema {
    const kept = schemaOf((name) => this.#number(name));
    checkSchema(this.#file, kept, SQLITE_SCHEMAS);
    return kept;
  }

  readSchema(): Promise<SchemaState> {
    return this.#enqueue(() => stateOf(this.#checkSchema(), SQLITE_SCHEMAS));
  }

  async upgrade(epoch: number, isFinished: boolean): Promise<SchemaState | null> {
    const moved = await this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) return null;
      const kept = this.#checkSchema();
      const ahead = schemasAhead(kept, SQLITE_SCHEMAS, isFinished);
      if (kept.written <= BASE_SCHEMA) this.#makeBase(kept.written);
      for (const { schema, change } of ahead) if (schema > BASE_SCHEMA) this.#database.exec(change);
      const last = ahead.at(-1);
      if (last === undefined) return stateOf(kept, SQLITE_SCHEMAS);
      this.#run("INSERT OR IGNORE INTO meta VALUES ('written', 0)");
      this.#set("schema", last.readableFrom);
      this.#set("written", last.schema);
      // A server that waits sees the schema before it takes over.
      this.#run("UPDATE meta SET number = number + 1 WHERE name = 'beat'");
      return stateOf({ written: last.schema, readableFrom: last.readableFrom }, SQLITE_SCHEMAS);
    });
    if (moved !== null && this.#number("has_old_pages") === 1) this.#dropOldPages();
    return moved;
  }

  /** Of an earlier schema. The base itself grows until the first release: it gets what it lacks. */
  #makeBase(schema: number): void {
    // A server of an earlier version that goes on would look for tables that are no longer there.
    if (schema < BASE_SCHEMA && !this.isExclusive && this.#guard === null)
      throw new StorageError(
        "none",
        `${this.#file} can't be upgraded from schema ${schema}: another server uses it. Stop that server before this one starts.`,
      );
    for (let from = schema; from < BASE_SCHEMA; from++) this.#database.exec(UPGRADES[from] ?? "");
    this.#database.exec(SCHEMA);
    this.#addLanes();
    if (schema > LAST_UNSPLIT) return;
    this.#split(this.#hasher);
    this.#set("has_old_pages", 1);
  }

  /** Up to schema 7 intents name no lanes. Up to schema 4 there is no table of pending intents before this. */
  #addLanes(): void {
    const columns = this.#database.prepare("SELECT name FROM pragma_table_info('pending_intents')").all();
    if (columns.some(({ name }) => name === "lanes")) return;
    this.#database.exec("ALTER TABLE pending_intents ADD COLUMN lanes TEXT");
  }

  /** From schema 4, whose done intents kept arguments and outcome. */
  #split(hasher: CallHasher | null): void {
    for (const row of this.#database.prepare("SELECT * FROM intents").iterate() as Iterable<unknown>) {
      const old = row as OldRow;
      // Whether the client chose the id was not kept: then it may have. No request said that it must not write.
      if (old.state === "pending")
        this.#insertPending(intentOf({ ...old, retained: 1, must_not_write: 0, lanes: null }));
      else {
        const call = hasher?.hash(bytesOfCall(old)) ?? null;
        this.#insertDone({
          executionId: old.execution_id,
          commitId: old.commit_id,
          module: old.module,
          location: old.location,
          resultHash: hasher === null || call === null ? "" : hashOfResult(call, old.writes_hash, hasher)!,
          doneAtMs: old.done_at_ms,
          call,
          outcome: old.outcome === null ? null : { value: decodeOutcome(old.outcome), keeps: "retained" },
        });
      }
    }
    this.#statements.clear();
    this.#database.exec("DROP TABLE intents");
  }

  /** What an older version left in pages without overwriting them. Without room for a second copy of the file, the next time. */
  #dropOldPages(): void {
    try {
      this.#database.exec("VACUUM");
    } catch (error) {
      if (!NO_ROOM.has(errorCode(error))) throw error;
      this.#notice =
        `${this.#file} still has what an older version left in it: it could not be rewritten (${messageOf(error)}). ` +
        "Make room for a second copy of it on its disk and in the folder for temporary files, and start the server again.";
      return;
    }
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#set("has_old_pages", 0);
  }

  /** What the operator should know of the file; null: nothing. */
  get notice(): string | null {
    return this.#notice;
  }

  readLeadership(): Promise<Leadership> {
    return this.#enqueue(() => {
      this.#checkSchema();
      this.#guard ??= this.isExclusive ? null : lockFile(`${this.#file}.lock`);
      const leadership = this.#leadership();
      const isGone = this.#guard !== null && this.#number("guarded_epoch") === leadership.epoch;
      return isGone && leadership.epoch !== this.#epoch ? { ...leadership, termMs: 0 } : leadership;
    });
  }

  acquireLeadership(
    seen: Leadership,
    termMs: number,
    readLeaseMs: number,
    leader?: string,
    epoch = seen.epoch + 1,
  ): Promise<Leadership | null> {
    return this.#enqueue(() => {
      const now = this.#leadership();
      if (now.epoch !== seen.epoch || now.beat !== seen.beat) return null;
      this.#addLeadership();
      this.#set("epoch", epoch);
      this.#set("beat", 0);
      this.#set("term_ms", termMs);
      this.#set("read_lease_ms", readLeaseMs);
      this.#run("DELETE FROM leader");
      if (leader !== undefined) this.#run("INSERT INTO leader VALUES (?)", leader);
      if (this.#guard !== null) this.#set("guarded_epoch", epoch);
      this.#epoch = epoch;
      return this.#leadership();
    });
  }

  renewLeadership(epoch: number, termMs: number): Promise<boolean> {
    return this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) return false;
      this.#run("UPDATE meta SET number = number + 1 WHERE name = 'beat'");
      this.#set("term_ms", termMs);
      if (termMs === 0) this.#set("read_lease_ms", 0);
      return true;
    });
  }

  nameReadLeases(epoch: number, readLeaseMs: number): Promise<boolean> {
    return this.#enqueue(() => {
      const named = this.#leadership();
      if (named.epoch !== epoch) return false;
      if (named.readLeaseMs < readLeaseMs) this.#set("read_lease_ms", readLeaseMs);
      return true;
    });
  }

  recover(epoch: number): Promise<readonly Intent[]> {
    return this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) throw new StorageError("none", "Another server has taken over.");
      // The order of their bytes is that of `compareCommits`.
      return this.#all<PendingRow>("SELECT * FROM pending_intents ORDER BY commit_id").map(intentOf);
    });
  }

  lookUp(_epoch: number, id: ExecutionId): Promise<IntentRecord | null> {
    return this.#enqueue(() => this.#record(id));
  }

  load(units: readonly UnitId[], mostBytes: number): Promise<ReadonlyMap<UnitId, StoredItem> | null> {
    return this.#enqueue(() => {
      const items = new Map<UnitId, StoredItem>();
      let bytes = 0;
      for (const unit of units) {
        const { table, key } = splitUnit(unit);
        const row = this.#get<{ value: Uint8Array; commit_id: CommitId; hash: string }>(
          'SELECT value, commit_id, hash FROM items WHERE "table" = ? AND key = ?',
          table,
          key,
        );
        if (row === undefined) continue;
        bytes += row.value.length;
        if (bytes > mostBytes) return null;
        if (contentHash(row.value) !== row.hash)
          throw new StorageError("none", `The stored value of ${unit} is corrupt.`);
        items.set(unit, { commitId: row.commit_id, value: row.value });
      }
      return items;
    });
  }

  async scan(range: KeyRange, limit: number): Promise<readonly StoredUnit[]> {
    const rows = await this.#enqueue(() => this.#scan(range, limit));
    // Many rows take the loop long enough: the work on them has a turn of its own.
    if (rows.length > ROWS_OF_TURN) await nextTurn();
    return rows;
  }

  #scan({ table, from, to, isReversed }: KeyRange, limit: number): readonly StoredUnit[] {
    // The collation of a key is binary, so that its UTF-8 bytes are compared.
    return this.#all<{ key: string; value: Uint8Array; commit_id: CommitId; hash: string }>(
      `SELECT key, value, commit_id, hash FROM items WHERE "table" = ? AND key >= ?${to === null ? "" : " AND key < ?"}
         ORDER BY key ${isReversed === true ? "DESC" : "ASC"} LIMIT ?`,
      table,
      from ?? "",
      ...(to === null ? [] : [to]),
      limit,
    ).map(({ key, value, commit_id: commitId, hash }) => {
      const unit = unitId(table, key);
      if (contentHash(value) !== hash) throw new StorageError("none", `The stored value of ${unit} is corrupt.`);
      return { unit, commitId, value };
    });
  }

  storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    return this.#enqueue((): StoreResult => {
      if (this.#number("epoch") !== epoch) return { kind: "fenced" };
      const { executionId } = intent;
      if (this.#isDone(executionId) || this.#isOwed(executionId) || !this.#insertPending(intent))
        return { kind: "exists", record: this.#record(executionId)! };
      return { kind: "stored" };
    });
  }

  commit(epoch: number, { records, items }: Commit): Promise<CommitResult> {
    return this.#enqueue((): CommitResult => {
      if (this.#number("epoch") !== epoch) return { kind: "fenced" };
      for (const { id, expects } of records) {
        if (!this.#isAsExpected(id, expects)) return { kind: "exists", id, record: this.#record(id) };
      }
      for (const { id, expects, becomes } of records) {
        if (expects === "pending") this.#run("DELETE FROM pending_intents WHERE execution_id = ?", id);
        if (typeof expects === "object" && "attempt" in expects && becomes?.state !== "task") {
          this.#tasks.remove(id);
          if (items.length > 0) failpoint("sqlite.half-settled");
        }
        switch (becomes?.state) {
          case "task":
            if (expects === "new") this.#tasks.insert(becomes.task);
            else this.#tasks.update(becomes.task);
            if (expects === "new" && items.length > 0) failpoint("sqlite.half-enqueued");
            break;
          case "pending":
            this.#insertPending(becomes.intent);
            break;
          case "done":
            this.#insertDone(becomes.done);
            break;
          case "workflow":
            this.#workflows.put(becomes.workflow);
            break;
          case "part":
            this.#workflows.putPart(becomes.part);
            if (items.length > 0) failpoint("sqlite.half-arrived");
            break;
          case undefined:
            if (typeof expects === "object" && "partOf" in expects) this.#workflows.removePart(id);
        }
      }
      for (const [index, { unit, value, commitId }] of items.entries()) {
        if (index > 0) failpoint("sqlite.half-written");
        const { table, key } = splitUnit(unit);
        if (value === null) this.#run('DELETE FROM items WHERE "table" = ? AND key = ?', table, key);
        else {
          this.#run(
            `INSERT INTO items ("table", key, value, commit_id, hash) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET value = excluded.value, commit_id = excluded.commit_id, hash = excluded.hash`,
            table,
            key,
            value,
            commitId,
            contentHash(value),
          );
        }
      }
      return { kind: "applied" };
    });
  }

  #isAsExpected(id: ExecutionId, expects: RecordChange["expects"]): boolean {
    if (typeof expects === "object") {
      if ("changes" in expects) return this.#workflows.find(id)?.changes === expects.changes;
      if ("partOf" in expects) return this.#workflows.findPart(id)?.workflow === expects.partOf;
      return expects.attempt === null || this.#tasks.find(id)?.attempt === expects.attempt;
    }
    if (this.#isPending(id)) return expects === "pending";
    return expects === "new" && !this.#isDone(id) && !this.#isOwed(id);
  }

  #isOwed(id: ExecutionId): boolean {
    return this.#tasks.find(id) !== null || this.#workflows.find(id) !== null || this.#workflows.findPart(id) !== null;
  }

  openWorkflows(after: string | null, limit: number): Promise<WorkflowPage> {
    return this.#enqueue(() => this.#workflows.open(after, limit));
  }

  partsOf(workflow: ExecutionId): Promise<readonly WorkflowPart[]> {
    return this.#enqueue(() => this.#workflows.partsOf(workflow));
  }

  dueTasks(after: TaskPlace | null, limit: number): Promise<TaskPage<TaskPlace>> {
    return this.#enqueue(() => this.#tasks.due(after, limit));
  }

  laneTasks(lane: string, limit: number): Promise<TaskPage<string>> {
    return this.#enqueue(() => this.#tasks.inLane(lane, limit));
  }

  laneHeads(after: LaneCursor | null, limit: number): Promise<LanePage> {
    return this.#enqueue(() => this.#tasks.laneHeads(after, limit));
  }

  readTasks(tasks: readonly TaskName[]): Promise<readonly Task[]> {
    return this.#enqueue(() => tasks.flatMap(({ id }) => this.#tasks.find(id) ?? []));
  }

  countTasks(): Promise<TaskNumbers> {
    return this.#enqueue(() => this.#tasks.count());
  }

  listTasks(selection: TaskSelection, after: TaskListCursor | null, limit: number): Promise<TaskListPage> {
    return this.#enqueue(() => this.#tasks.list(selection, after, limit));
  }

  findTask(id: ExecutionId): Promise<Task | null> {
    return this.#enqueue(() => this.#tasks.find(id));
  }

  async collect({ doneBeforeMs, toldBeforeMs, limit }: CollectionDue): Promise<Collected> {
    const collected = await this.#enqueue((): Collected => {
      const old = this.#all<{ execution_id: string }>(
        "SELECT execution_id FROM done_intents WHERE done_at_ms < ? ORDER BY done_at_ms LIMIT ?",
        doneBeforeMs,
        limit,
      );
      for (const { execution_id: id } of old) {
        this.#run("DELETE FROM done_intents WHERE execution_id = ?", id);
        this.#run("DELETE FROM outcomes WHERE execution_id = ?", id);
        this.#run("DELETE FROM brief_outcomes WHERE execution_id = ?", id);
      }
      const outcomes = this.#run(
        `DELETE FROM brief_outcomes
         WHERE number IN (SELECT number FROM brief_outcomes WHERE done_at_ms < ? ORDER BY done_at_ms LIMIT ?)`,
        toldBeforeMs,
        limit,
      );
      const workflows = this.#workflows.collect(doneBeforeMs, limit);
      return { intents: Math.max(old.length, workflows), outcomes };
    });
    // The log of the database has earlier states of its pages. Who reads at the moment is not waited for: the next time.
    this.#database.exec("PRAGMA busy_timeout = 0");
    try {
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
    return collected;
  }

  storeModule(module: StoredModule, content: Uint8Array): Promise<void> {
    const { hash, plans, tables = new Map(), usedAtMs, registeredAtMs, indexes = [] } = module;
    const { putAtMs = null, workerUrl = null } = module;
    return this.#enqueue(() => {
      this.#run(
        `INSERT INTO modules (hash, plans, content, used_at_ms, registered_at_ms, indexes, put_at_ms, worker_url, tables)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET used_at_ms = excluded.used_at_ms, tables = excluded.tables,
           put_at_ms = COALESCE(excluded.put_at_ms, put_at_ms), worker_url = COALESCE(excluded.worker_url, worker_url)`,
        hash,
        JSON.stringify(Object.fromEntries(plans)),
        content,
        usedAtMs,
        registeredAtMs,
        indexes.length === 0 ? null : JSON.stringify(indexes),
        putAtMs,
        workerUrl,
        tables.size === 0 ? null : JSON.stringify(Object.fromEntries(tables)),
      );
    });
  }

  useModule(hash: ModuleHash, usedAtMs: number): Promise<void> {
    return this.#enqueue(() => {
      this.#run("UPDATE modules SET used_at_ms = ? WHERE hash = ?", usedAtMs, hash);
    });
  }

  removeModule(epoch: number, hash: ModuleHash, usedAtMs: number): Promise<boolean> {
    return this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) return false;
      return this.#run("DELETE FROM modules WHERE hash = ? AND used_at_ms <= ?", hash, usedAtMs) === 1;
    });
  }

  modules(): Promise<readonly StoredModule[]> {
    return this.#enqueue(() =>
      this.#all<ModuleRow>(
        "SELECT hash, plans, used_at_ms, registered_at_ms, indexes, put_at_ms, worker_url, tables FROM modules",
      ).map((row) => ({
        hash: row.hash,
        plans: new Map(Object.entries(JSON.parse(row.plans) as Record<string, HandlerPlan>)),
        ...(row.tables === null
          ? {}
          : { tables: new Map(Object.entries(JSON.parse(row.tables) as Record<string, HandlerTables>)) }),
        ...(row.indexes === null ? {} : { indexes: JSON.parse(row.indexes) as readonly string[] }),
        usedAtMs: row.used_at_ms,
        registeredAtMs: row.registered_at_ms,
        ...(row.put_at_ms === null ? {} : { putAtMs: row.put_at_ms }),
        ...(row.worker_url === null ? {} : { workerUrl: row.worker_url }),
      })),
    );
  }

  moduleContent(hash: ModuleHash): Promise<Uint8Array | null> {
    return this.#enqueue(
      () => this.#get<{ content: Uint8Array }>("SELECT content FROM modules WHERE hash = ?", hash)?.content ?? null,
    );
  }

  async close(): Promise<void> {
    await this.#enqueue(() => undefined);
    this.#database.close();
    this.#guard?.close();
  }

  #enqueue<T>(run: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#jobs.length === 0) setImmediate(() => this.#flush());
      this.#jobs.push({ run, resolve, reject });
    });
  }

  /** One transaction for all jobs: an answer leaves when it is on disk. */
  #flush(): void {
    const jobs = this.#jobs;
    this.#jobs = [];
    const answers: (() => void)[] = [];
    let committing = false;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      failpoint("sqlite.begun");
      for (const job of jobs) {
        try {
          const answer = job.run();
          answers.push(() => job.resolve(answer as never));
        } catch (error) {
          // What a job itself reports, it reports before it writes anything.
          if (!(error instanceof StorageError)) throw error;
          answers.push(() => job.reject(error));
        }
      }
      failpoint("sqlite.uncommitted");
      committing = true;
      this.#database.exec("COMMIT");
      failpoint("sqlite.committed");
    } catch (error) {
      this.#rollBack();
      const failure = new StorageError(committing ? "unknown" : "none", messageOf(error), error);
      for (const job of jobs) job.reject(failure);
      return;
    }
    for (const answer of answers) answer();
  }

  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    } catch {
      // The next transaction will say what is wrong.
    }
  }

  #leadership(): Leadership {
    const number = (name: string): number | null => this.#number(name);
    // A file of an earlier schema may lack the table.
    const hasLeader = this.#get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'leader'") !== undefined;
    return leadershipOf(number, hasLeader ? this.#get<{ url: string }>("SELECT url FROM leader")?.url : undefined);
  }

  #record(id: ExecutionId): IntentRecord | null {
    const pending = this.#get<PendingRow>("SELECT * FROM pending_intents WHERE execution_id = ?", id);
    if (pending !== undefined) return { state: "pending", intent: intentOf(pending) };
    const done = this.#get<DoneRow>(
      `SELECT done_intents.*, outcomes.outcome AS outcome, brief_outcomes.outcome AS brief_outcome
       FROM done_intents LEFT JOIN outcomes USING (execution_id) LEFT JOIN brief_outcomes USING (execution_id)
       WHERE execution_id = ?`,
      id,
    );
    if (done !== undefined) return { state: "done", done: doneOf(done) };
    const task = this.#tasks.find(id);
    if (task !== null) return { state: "task", task };
    const workflow = this.#workflows.find(id);
    if (workflow !== null) return { state: "workflow", workflow };
    const part = this.#workflows.findPart(id);
    return part === null ? null : { state: "part", part };
  }

  #isPending(id: ExecutionId): boolean {
    return this.#get("SELECT 1 FROM pending_intents WHERE execution_id = ?", id) !== undefined;
  }

  #isDone(id: ExecutionId): boolean {
    return this.#get("SELECT 1 FROM done_intents WHERE execution_id = ?", id) !== undefined;
  }

  /** False: there is one under its execution id. */
  #insertPending(intent: Intent): boolean {
    const { executionId, commitId, module, handler, args, environment, location, units, lanes } = intent;
    const { retained, mustNotWrite, createdAtMs } = intent;
    const inserted = this.#run(
      `INSERT INTO pending_intents (execution_id, commit_id, module, handler, args, time_ms, seed, caller, location, units,
                                    retained, must_not_write, created_at_ms, lanes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      executionId,
      commitId,
      module,
      handler,
      args,
      environment.timeMs,
      environment.seed,
      environment.caller,
      location,
      JSON.stringify(units),
      retained ? 1 : 0,
      mustNotWrite ? 1 : 0,
      createdAtMs,
      lanes.length === 0 ? null : JSON.stringify(lanes),
    );
    return inserted === 1;
  }

  #insertDone({ executionId, commitId, module, location, resultHash, doneAtMs, call, outcome }: DoneIntent): void {
    this.#run(
      `INSERT INTO done_intents (execution_id, commit_id, module, location, call_key, call_hash, result_hash, done_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      executionId,
      commitId,
      module,
      location,
      call?.key ?? null,
      call?.hash ?? null,
      resultHash,
      doneAtMs,
    );
    if (outcome === null) return;
    const bytes = encodeOutcome(outcome.value);
    if (outcome.keeps === "retained")
      this.#run("INSERT INTO outcomes (execution_id, outcome) VALUES (?, ?)", executionId, bytes);
    else
      this.#run(
        "INSERT INTO brief_outcomes (execution_id, outcome, done_at_ms) VALUES (?, ?, ?)",
        executionId,
        bytes,
        doneAtMs,
      );
  }

  #number(name: string): number | null {
    return this.#get<{ number: number }>("SELECT number FROM meta WHERE name = ?", name)?.number ?? null;
  }

  #set(name: string, number: number): void {
    this.#run("UPDATE meta SET number = ? WHERE name = ?", number, name);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }

  /** The number of rows changed. */
  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only the caller knows the columns of its statement
  #get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  #all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }
}

/** As a file has it that no server uses. */
export function leadershipIn(database: DatabaseSync): Leadership {
  const rows = database.prepare("SELECT name, number FROM meta").all() as unknown as NumberRow[];
  const numbers = new Map(rows.map(({ name, number }) => [name, number]));
  return leadershipOf((name) => numbers.get(name) ?? null);
}

/** Of a file that no server has open. */
export function schemaIn(database: DatabaseSync): StorageSchema {
  const numberOf = database.prepare("SELECT number FROM meta WHERE name = ?");
  return schemaOf((name) => (numberOf.get(name) as { readonly number: number } | undefined)?.number ?? null);
}

function schemaOf(number: (name: string) => number | null): StorageSchema {
  // An earlier server compares this number with its own.
  const readableFrom = number("schema") ?? 0;
  return { readableFrom, written: number("written") ?? readableFrom };
}

/** Of a file that no server uses: nobody holds it from then on. */
export function setLeadershipIn(database: DatabaseSync, leadership: Leadership): void {
  const { epoch, beat, termMs, readLeaseMs, setBackEpoch } = leadership;
  const set = database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)");
  set.run("epoch", epoch);
  set.run("beat", beat);
  set.run("term_ms", termMs);
  set.run("read_lease_ms", readLeaseMs);
  set.run("guarded_epoch", 0);
  if (setBackEpoch !== undefined) set.run("set_back_epoch", setBackEpoch);
  database.exec("DELETE FROM leader");
}

function leadershipOf(number: (name: string) => number | null, leader?: string): Leadership {
  const setBackEpoch = number("set_back_epoch");
  return {
    epoch: number("epoch") ?? 0,
    beat: number("beat") ?? 0,
    termMs: number("term_ms") ?? 0,
    readLeaseMs: number("read_lease_ms") ?? 0,
    ...(leader === undefined ? {} : { leader }),
    ...(setBackEpoch === null ? {} : { setBackEpoch }),
  };
}

/** Null: another process holds the lock. */
export function lockFile(file: string): DatabaseSync | null {
  const guard = new DatabaseSync(file);
  try {
    guard.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    return guard;
  } catch {
    guard.close();
    return null;
  }
}

function intentOf(row: PendingRow): Intent {
  return {
    executionId: row.execution_id,
    commitId: row.commit_id,
    module: row.module,
    handler: row.handler,
    args: row.args,
    environment: { timeMs: row.time_ms, seed: row.seed, caller: row.caller },
    location: row.location,
    units: JSON.parse(row.units) as IntentUnit[],
    lanes: row.lanes === null ? [] : (JSON.parse(row.lanes) as string[]),
    retained: row.retained === 1,
    mustNotWrite: row.must_not_write === 1,
    createdAtMs: row.created_at_ms,
  };
}

function doneOf(row: DoneRow): DoneIntent {
  const { call_key: key, call_hash: hash, outcome, brief_outcome: brief } = row;
  const kept = outcome ?? brief;
  return {
    executionId: row.execution_id,
    commitId: row.commit_id,
    module: row.module,
    location: row.location,
    resultHash: row.result_hash,
    doneAtMs: row.done_at_ms,
    call: key === null || hash === null ? null : { key, hash },
    outcome: kept === null ? null : { value: decodeOutcome(kept), keeps: outcome === null ? "briefly" : "retained" },
  };
}

/** The file, and those that SQLite makes beside it with the same mode, from their first byte on: also one of an older version. */
function ownersOnly(file: string): void {
  closeSync(openSync(file, "a", OWNER_ONLY));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      chmodSync(each, OWNER_ONLY);
    } catch (error) {
      // There is none; or it belongs to somebody else, who has decided on its mode.
      if (!["ENOENT", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

/**
 * Several servers may start at one moment, and SQLite does not wait in all the places in which it finds a file locked, as when
 * it changes the journal's mode. Nothing is served yet, so that the process may stand still.
 */
function patiently(openMs: number, act: () => void): void {
  const endsAtMs = performance.now() + openMs;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= endsAtMs)
        throw new Error(
          `Another process has kept it locked for ${openMs / 1_000} s. End what holds a transaction on it, such as an open sqlite3`,
          { cause: error },
        );
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_PAUSE_MS);
    }
  }
}

const BUSY = 5;
/** SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: the disk, or the folder for temporary files. */
const NO_ROOM: ReadonlySet<number | null> = new Set([10, 13, 14]);

/** SQLITE_BUSY, with whatever it was busy in. */
function isBusy(error: unknown): boolean {
  return errorCode(error) === BUSY;
}

/** Of SQLite, without what more it says. */
function errorCode(error: unknown): number | null {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
