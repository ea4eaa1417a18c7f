/**
 * Copies of a SQLite file, and putting one back. A copy is of one moment, beside whatever server serves. It holds no sealing keys: those
 * of the file stay where they are, so that a key that is destroyed stays so for every copy.
 *
 * A copy that is put back gets a leadership of its own (`setBackLeadership`), before it takes the place of the file. The file that it
 * replaces stays, under another name.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { copyFile, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { backup as copyPages, DatabaseSync } from "node:sqlite";
import { isHiddenTable, tableOf } from "@radical/protocol";
import { type Leadership, setBackLeadership } from "../core/leadership.ts";
import type { BackupContent } from "./backup-content.ts";
import { openItems } from "./items.ts";
import { isServed } from "./schema.ts";
import { SQLITE_SCHEMAS } from "./schemas.ts";
import { leadershipIn, lockFile, schemaIn, setLeadershipIn } from "./sqlite-storage.ts";
import { StorageError } from "./storage.ts";

export interface PutBack extends BackupContent {
  /** The epoch from which the file goes on. */
  readonly epoch: number;
  /** Where the file is that was there before; null: there was none. */
  readonly kept: string | null;
  /** How long the next server waits before others see its writes: read leases of the lost time may live so long. */
  readonly readLeaseMs: number;
}

const OWNER_ONLY = 0o600;
const OWNERS_FOLDER = 0o700;
/** All pages at once: a copy in several parts begins anew whenever a server writes between them. */
const ALL_PAGES = 2 ** 31 - 1;
const COUNTS = {
  pendingIntents: "SELECT count(*) AS n FROM pending_intents",
  tasks: "SELECT count(*) AS n FROM tasks",
  workflows: "SELECT count(*) AS n FROM workflows WHERE state <> 'ended'",
} as const;

/** Writes a copy, which is there whole or not at all. Throws a StorageError. */
export async function backUpSqlite(file: string, to: string): Promise<BackupContent> {
  if (!existsSync(file)) throw new StorageError("none", `There is no file ${file}.`);
  if (existsSync(to)) throw new StorageError("none", `${to} is there already.`);
  const unfinished = `${to}.unfinished`;
  return naming(`${file} can't be copied to ${to}`, async () => {
    await mkdir(path.dirname(to), { recursive: true, mode: OWNERS_FOLDER });
    await rm(unfinished, { force: true });
    try {
      closeSync(openSync(unfinished, "wx", OWNER_ONLY));
      const source = new DatabaseSync(file, { readOnly: true });
      try {
        source.exec("PRAGMA busy_timeout = 5000");
        await copyPages(source, unfinished, { rate: ALL_PAGES });
      } finally {
        source.close();
      }
      // One file, without a log beside it.
      const copy = new DatabaseSync(unfinished);
      copy.exec("PRAGMA journal_mode = DELETE");
      copy.close();
      const content = await checkBackup(unfinished);
      syncPath(unfinished);
      renameSync(unfinished, to);
      syncPath(path.dirname(to));
      return content;
    } finally {
      await rm(unfinished, { force: true });
    }
  });
}

/** Looks at every page, and at the hash of every item. Throws a StorageError that says what is wrong. */
export async function checkBackup(file: string): Promise<BackupContent> {
  if (!existsSync(file)) throw new StorageError("none", `There is no file ${file}.`);
  return naming(`${file} is not a whole copy`, async () => {
    const database = new DatabaseSync(file, { readOnly: true });
    let counts: Omit<BackupContent, "items">;
    try {
      const [fault] = database.prepare("PRAGMA integrity_check(1)").all() as { readonly integrity_check: string }[];
      if (fault?.integrity_check !== "ok") throw new Error(fault?.integrity_check ?? "SQLite can't check it");
      const schema = schemaIn(database);
      if (!isServed(schema, SQLITE_SCHEMAS))
        throw new Error(
          `it has schema ${schema.written}, which this release does not serve. Use the release of Radical that has made it`,
        );
      const countOf = (sql: string): number => (database.prepare(sql).get() as { readonly n: number }).n;
      counts = {
        pendingIntents: countOf(COUNTS.pendingIntents),
        tasks: countOf(COUNTS.tasks),
        workflows: countOf(COUNTS.workflows),
      };
    } finally {
      database.close();
    }
    const reader = await openItems({ kind: "sqlite", file });
    let items = 0;
    try {
      // The reader compares each value with its hash.
      for await (const { unit } of reader.items(null)) if (!isHiddenTable(tableOf(unit))) items++;
    } finally {
      await reader.close();
    }
    return { items, ...counts };
  });
}

/**
 * Puts a copy in the place of a file that no server uses. `keptAs`: the new name of the file that is there. A command that was broken
 * off is run again: until the last step the file is the one that was there before. Only a log that could not be moved into the file is
 * gone from it one step earlier, and stands beside `keptAs`. Throws a StorageError.
 */
export async function putBackSqlite(file: string, from: string, keptAs: string, nowMs: number): Promise<PutBack> {
  const content = await checkBackup(from);
  return naming(`${from} can't be put in the place of ${file}`, async () => {
    await mkdir(path.dirname(file), { recursive: true, mode: OWNERS_FOLDER });
    const guard = lockFile(`${file}.lock`);
    if (guard === null) throw new Error("an LVI server uses the file. Stop it first");
    try {
      const lost = settle(file);
      const next = `${file}.restored`;
      for (const ending of ["", "-wal", "-shm", "-journal"]) await rm(`${next}${ending}`, { force: true });
      await copyFile(from, next);
      chmodSync(next, OWNER_ONLY);
      const { epoch, readLeaseMs } = setBack(next, lost, nowMs);
      const isThere = existsSync(file);
      if (isThere) keep(file, keptAs);
      syncPath(next);
      renameSync(next, file);
      syncPath(path.dirname(file));
      return { ...content, epoch, kept: isThere ? keptAs : null, readLeaseMs };
    } finally {
      guard.close();
    }
  });
}

/** Moves the log of the file into it. Its leadership; null: the file is not there, or can't be read. */
function settle(file: string): Leadership | null {
  if (!existsSync(file)) return null;
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(file);
    database.exec("PRAGMA busy_timeout = 5000");
    const leadership = leadershipIn(database);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return leadership;
  } catch {
    // It may be broken, which is why it is replaced.
    return null;
  } finally {
    database?.close();
  }
}

function setBack(file: string, lost: Leadership | null, nowMs: number): Leadership {
  const database = new DatabaseSync(file);
  try {
    database.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    // The lock of the file proves that no server leads, so that its term is not waited for.
    const leadership = setBackLeadership(leadershipIn(database), lost === null ? null : { ...lost, termMs: 0 }, nowMs);
    setLeadershipIn(database, leadership);
    database.exec("COMMIT");
    return leadership;
  } finally {
    database.close();
  }
}

/**
 * The file has both names until another one takes its place. Its log, if it could not be moved into it, goes with the new name. The log
 * loses its old name first. SQLite would read a log beside the restored file as a part of that file.
 */
function keep(file: string, as: string): void {
  linkSync(file, as);
  for (const ending of ["-wal", "-shm"]) {
    const log = `${file}${ending}`;
    if (!existsSync(log)) continue;
    if (statSync(log).size > 0 && ending === "-wal") renameSync(log, `${as}${ending}`);
    else rmSync(log);
  }
}

async function naming<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError("none", `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** A file, or the names in a folder, are on disk. */
function syncPath(place: string): void {
  const opened = openSync(place, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
