/**
 * Primary storage in one SQLite file, by `node:sqlite`: the embedded default.
 *
 * Group commit: all operations that one turn of the event loop asks for are one transaction, flushed to disk once (WAL,
 * synchronous = FULL). The tables are made to be looked at: `sqlite3 file 'select * from items'`.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import {
  type CommitId,
  type ContentHash,
  contentHash,
  decodeOutcome,
  encodeOutcome,
  type ExecutionId,
  type HandlerPlan,
  type ModuleHash,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import type { CompleteResult, StoreResult } from "../core/events.ts";
import type { Completion, DoneIntent, Intent, IntentRecord, IntentUnit } from "../core/intent.ts";
import type { StoredItem } from "../core/version-table.ts";
import type { Lease } from "../core/lease.ts";
import { failpoint } from "../failpoints.ts";
import { type Storage, StorageError, type StoredModule } from "./storage.ts";

const SCHEMA_VERSION = 4;

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
CREATE TABLE IF NOT EXISTS intents (
  execution_id  TEXT PRIMARY KEY,
  state         TEXT NOT NULL CHECK (state IN ('pending', 'done')),
  commit_id     TEXT NOT NULL,
  module        TEXT NOT NULL,
  handler       TEXT NOT NULL,
  args          BLOB NOT NULL,
  time_ms       INTEGER NOT NULL,
  seed          BLOB NOT NULL,
  caller        TEXT,
  location      TEXT NOT NULL,
  units         TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  done_at_ms    INTEGER,
  outcome       BLOB,
  writes_hash   TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS intents_by_state ON intents (state, done_at_ms);
CREATE TABLE IF NOT EXISTS modules (
  hash       TEXT PRIMARY KEY,
  plans      TEXT NOT NULL,
  content    BLOB NOT NULL,
  used_at_ms INTEGER,
  registered_at_ms INTEGER
) STRICT;
`;

/** What makes of a schema the next one. */
const UPGRADES: Readonly<Record<number, string>> = {
  1: "ALTER TABLE modules ADD COLUMN used_at_ms INTEGER",
  2: "ALTER TABLE intents ADD COLUMN caller TEXT",
  3: "ALTER TABLE modules ADD COLUMN registered_at_ms INTEGER",
};

interface IntentRow {
  readonly execution_id: ExecutionId;
  readonly state: "pending" | "done";
  readonly commit_id: CommitId;
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly time_ms: number;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  readonly location: string;
  readonly units: string;
  readonly created_at_ms: number;
  readonly done_at_ms: number | null;
  readonly outcome: Uint8Array | null;
  readonly writes_hash: ContentHash | null;
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
  /**
   * Holds an operating-system lock as long as its process lives: who gets it knows that the holder of the lease is dead,
   * if that one had it, and need not wait its lease out.
   */
  #guard: DatabaseSync | null = null;
  /** Acquired here; null: no lease yet. */
  #epoch: number | null = null;
  readonly #statements = new Map<string, StatementSync>();
  #jobs: Job[] = [];

  /** `:memory:` keeps nothing. Throws a StorageError if the file can't be used. */
  constructor(file: string) {
    this.#file = file;
    this.isExclusive = file === ":memory:";
    try {
      this.#database = new DatabaseSync(file);
      this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;");
      this.#database.exec(SCHEMA);
      this.#upgrade();
      const version = this.#number("schema");
      if (version !== null && version !== SCHEMA_VERSION)
        throw new Error(`its schema has version ${version}, not ${SCHEMA_VERSION}`);
      this.#run("INSERT OR IGNORE INTO meta VALUES ('schema', ?), ('epoch', 0), ('beat', 0)", SCHEMA_VERSION);
      this.#run("INSERT OR IGNORE INTO meta VALUES ('term_ms', 0), ('guarded_epoch', 0)");
    } catch (error) {
      throw new StorageError("none", `${file} can't be used as the data file: ${messageOf(error)}`, error);
    }
  }

  /**
   * From schema 1, whose modules had no time of use, 2, whose intents had no caller, and 3, whose modules had no time of
   * registration. Another server may be about to do the same.
   */
  #upgrade(): void {
    if (UPGRADES[this.#number("schema") ?? SCHEMA_VERSION] === undefined) return;
    this.#database.exec("BEGIN IMMEDIATE");
    for (let from = this.#number("schema")!; UPGRADES[from] !== undefined; from++) {
      this.#database.exec(UPGRADES[from]!);
      this.#set("schema", from + 1);
    }
    this.#database.exec("COMMIT");
  }

  readLease(): Promise<Lease> {
    return this.#enqueue(() => {
      this.#guard ??= this.isExclusive ? null : lockFile(`${this.#file}.lock`);
      const lease = this.#lease();
      const isGone = this.#guard !== null && this.#number("guarded_epoch") === lease.epoch;
      return isGone && lease.epoch !== this.#epoch ? { ...lease, termMs: 0 } : lease;
    });
  }

  acquireLease(seen: Lease, termMs: number, leader?: string): Promise<Lease | null> {
    return this.#enqueue(() => {
      const { epoch, beat } = this.#lease();
      if (epoch !== seen.epoch || beat !== seen.beat) return null;
      this.#run("UPDATE meta SET number = number + 1 WHERE name = 'epoch'");
      this.#set("beat", 0);
      this.#set("term_ms", termMs);
      this.#run("DELETE FROM leader");
      if (leader !== undefined) this.#run("INSERT INTO leader VALUES (?)", leader);
      if (this.#guard !== null) this.#set("guarded_epoch", epoch + 1);
      this.#epoch = epoch + 1;
      return this.#lease();
    });
  }

  renewLease(epoch: number, termMs: number): Promise<boolean> {
    return this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) return false;
      this.#run("UPDATE meta SET number = number + 1 WHERE name = 'beat'");
      this.#set("term_ms", termMs);
      return true;
    });
  }

  recover(epoch: number): Promise<readonly Intent[]> {
    return this.#enqueue(() => {
      if (this.#number("epoch") !== epoch) throw new StorageError("none", "another server has taken over");
      const pending = this.#all<IntentRow>("SELECT * FROM intents WHERE state = 'pending' ORDER BY commit_id");
      return pending.map(intentOf);
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
          throw new StorageError("none", `the stored value of ${unit} is corrupt`);
        items.set(unit, { commitId: row.commit_id, value: row.value });
      }
      return items;
    });
  }

  storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    return this.#enqueue((): StoreResult => {
      if (this.#number("epoch") !== epoch) return { kind: "fenced" };
      const { executionId, commitId, module, handler, args, environment, location, units, createdAtMs } = intent;
      const inserted = this.#run(
        `INSERT INTO intents (execution_id, state, commit_id, module, handler, args, time_ms, seed, caller, location, units,
                              created_at_ms)
         VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
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
        createdAtMs,
      );
      return inserted === 1 ? { kind: "stored" } : { kind: "exists", record: this.#record(executionId)! };
    });
  }

  complete(epoch: number, expects: "pending" | "new", completion: Completion): Promise<CompleteResult> {
    return this.#enqueue((): CompleteResult => {
      if (this.#number("epoch") !== epoch) return { kind: "fenced" };
      const {
        executionId,
        commitId,
        module,
        handler,
        args,
        environment,
        location,
        outcome,
        writes,
        writesHash,
        doneAtMs,
      } = completion;
      const changed =
        expects === "pending"
          ? this.#run(
              `UPDATE intents SET state = 'done', commit_id = ?, outcome = ?, writes_hash = ?, done_at_ms = ?
               WHERE execution_id = ? AND state = 'pending'`,
              commitId,
              encodeOutcome(outcome),
              writesHash,
              doneAtMs,
              executionId,
            )
          : this.#run(
              `INSERT INTO intents (execution_id, state, commit_id, module, handler, args, time_ms, seed, caller, location,
                                    units, created_at_ms, outcome, writes_hash, done_at_ms)
               VALUES (?, 'done', ?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
              executionId,
              commitId,
              module,
              handler,
              args,
              environment.timeMs,
              environment.seed,
              environment.caller,
              location,
              doneAtMs,
              encodeOutcome(outcome),
              writesHash,
              doneAtMs,
            );
      if (changed === 0) return { kind: "exists", record: this.#record(executionId) };
      for (const [index, { unit, value }] of writes.entries()) {
        if (index > 0) failpoint("sqlite.half-written");
        const { table, key } = splitUnit(unit);
        if (value === null) this.#run('DELETE FROM items WHERE "table" = ? AND key = ?', table, key);
        else {
          this.#run(
            `INSERT INTO items VALUES (?, ?, ?, ?, ?)
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

  collect(doneBeforeMs: number, limit: number): Promise<number> {
    return this.#enqueue(() =>
      this.#run(
        `DELETE FROM intents
         WHERE rowid IN (SELECT rowid FROM intents WHERE state = 'done' AND done_at_ms < ? ORDER BY done_at_ms LIMIT ?)`,
        doneBeforeMs,
        limit,
      ),
    );
  }

  storeModule({ hash, plans, usedAtMs, registeredAtMs }: StoredModule, content: Uint8Array): Promise<void> {
    return this.#enqueue(() => {
      this.#run(
        `INSERT INTO modules VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET used_at_ms = excluded.used_at_ms`,
        hash,
        JSON.stringify(Object.fromEntries(plans)),
        content,
        usedAtMs,
        registeredAtMs,
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
      this.#all<{ hash: ModuleHash; plans: string; used_at_ms: number | null; registered_at_ms: number | null }>(
        "SELECT hash, plans, used_at_ms, registered_at_ms FROM modules",
      ).map(({ hash, plans, used_at_ms: usedAtMs, registered_at_ms: registeredAtMs }) => ({
        hash,
        plans: new Map(Object.entries(JSON.parse(plans) as Record<string, HandlerPlan>)),
        usedAtMs,
        registeredAtMs,
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

  #lease(): Lease {
    const lease = { epoch: this.#number("epoch")!, beat: this.#number("beat")!, termMs: this.#number("term_ms")! };
    const leader = this.#get<{ url: string }>("SELECT url FROM leader")?.url;
    return leader === undefined ? lease : { ...lease, leader };
  }

  #record(id: ExecutionId): IntentRecord | null {
    const row = this.#get<IntentRow>("SELECT * FROM intents WHERE execution_id = ?", id);
    if (row === undefined) return null;
    return row.state === "pending" ? { state: "pending", intent: intentOf(row) } : { state: "done", done: doneOf(row) };
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

/** Null: another process holds the lock. */
function lockFile(file: string): DatabaseSync | null {
  const guard = new DatabaseSync(file);
  try {
    guard.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    return guard;
  } catch {
    guard.close();
    return null;
  }
}

function intentOf(row: IntentRow): Intent {
  return {
    executionId: row.execution_id,
    commitId: row.commit_id,
    module: row.module,
    handler: row.handler,
    args: row.args,
    environment: { timeMs: row.time_ms, seed: row.seed, caller: row.caller },
    location: row.location,
    units: JSON.parse(row.units) as IntentUnit[],
    createdAtMs: row.created_at_ms,
  };
}

function doneOf(row: IntentRow): DoneIntent {
  return {
    executionId: row.execution_id,
    commitId: row.commit_id,
    module: row.module,
    handler: row.handler,
    args: row.args,
    caller: row.caller,
    location: row.location,
    outcome: decodeOutcome(row.outcome!),
    writesHash: row.writes_hash!,
    doneAtMs: row.done_at_ms!,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
