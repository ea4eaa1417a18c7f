import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backUpSqlite, putBackSqlite } from "./sqlite-backup.ts";
import { SqliteStorage } from "./sqlite-storage.ts";

const BROKEN = Buffer.alloc(100, "x");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-backup-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the log of a file that is broken is kept with it, and is no part of the restored file", async () => {
  const at = (name: string): string => path.join(folder, name);
  const [file, copy, keptAs] = [at("data.sqlite"), at("copy"), at("kept")];
  const storage = new SqliteStorage(file);
  await backUpSqlite(file, copy);
  await storage.close();
  // A kill leaves a log that was not moved into the file, and then the file breaks.
  const writer = new DatabaseSync(file);
  writer.exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE lost (x); INSERT INTO lost VALUES (1)");
  const log = readFileSync(`${file}-wal`);
  writer.close();
  writeFileSync(`${file}-wal`, log);
  writeFileSync(file, BROKEN);

  expect(await putBackSqlite(file, copy, keptAs, Date.now())).toMatchObject({ kept: keptAs });
  expect(readFileSync(keptAs)).toEqual(BROKEN);
  expect(readFileSync(`${keptAs}-wal`)).toEqual(log);
  expect(existsSync(`${file}-wal`)).toBe(false);
  const restored = new DatabaseSync(file, { readOnly: true });
  const tables = restored.prepare("SELECT name FROM sqlite_master WHERE name IN ('lost', 'meta')").all();
  restored.close();
  expect(tables.map(({ name }) => name)).toEqual(["meta"]);
});
