import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { unitId } from "@radical/protocol";
import { describe, expect, test, vi } from "vitest";
import { SqliteStorage } from "./sqlite-storage.ts";
import { describeStorage, loadAll } from "./storage-conformance.ts";

async function inFolder<T>(run: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), "radical-sqlite-"));
  try {
    return await run(path.join(folder, "data.sqlite"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("in a file", () => {
  describeStorage({ test, expect }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "radical-sqlite-"));
    const file = path.join(folder, "data.sqlite");
    let storage = new SqliteStorage(file);
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = new SqliteStorage(file));
      },
      expires: false,
      dispose: async () => {
        await storage.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  });

  test("of two servers the second sees the first one's lease, and at once when that one is gone", () =>
    inFolder(async (file) => {
      const [first, second] = [new SqliteStorage(file), new SqliteStorage(file)];
      expect(await first.acquireLease(await first.readLease(), 1_000)).toEqual({ epoch: 1, beat: 0, termMs: 1_000 });
      expect(await second.readLease()).toEqual({ epoch: 1, beat: 0, termMs: 1_000 });
      // It dies without giving the lease up.
      await first.close();
      const seen = await second.readLease();
      expect(seen).toEqual({ epoch: 1, beat: 0, termMs: 0 });
      expect(await second.acquireLease(seen, 1_000)).toMatchObject({ epoch: 2 });
      await second.close();
    }));

  test("a server that took over from a stopped one is not taken for dead when that one ends", () =>
    inFolder(async (file) => {
      const [first, second, third] = [new SqliteStorage(file), new SqliteStorage(file), new SqliteStorage(file)];
      await first.acquireLease(await first.readLease(), 1_000);
      // It has waited the lease out.
      await second.acquireLease(await second.readLease(), 1_000);
      expect(await first.renewLease(1, 1_000)).toBe(false);
      await first.close();
      expect(await third.readLease()).toEqual({ epoch: 2, beat: 0, termMs: 1_000 });
      await third.close();
      await second.close();
    }));

  test("full durability: the one connection that writes has each commit flushed to disk", () =>
    inFolder(async (file) => {
      // Every connection is set up by it.
      const exec = vi.spyOn(DatabaseSync.prototype, "exec");
      const storage = new SqliteStorage(file);
      await storage.acquireLease(await storage.readLease(), 1_000);
      const [data, guard, ...others] = new Set(exec.mock.contexts as DatabaseSync[]);
      exec.mockRestore();
      expect([data?.location(), guard?.location(), others]).toEqual([file, `${file}.lock`, []]);
      // 2 is FULL, and in this mode of the journal the only one that flushes before a commit returns.
      expect(data?.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
      expect(data?.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      await storage.close();
      // It holds a lock, and writes nothing.
      expect((await stat(`${file}.lock`)).size).toBe(0);
    }));

  test("other tools can read it while the server runs", () =>
    inFolder(async (file) => {
      const storage = new SqliteStorage(file);
      await storage.acquireLease(await storage.readLease(), 1_000);
      const reader = new DatabaseSync(file, { readOnly: true });
      expect(reader.prepare("SELECT number FROM meta WHERE name = 'epoch'").get()).toMatchObject({ number: 1 });
      reader.close();
      await storage.close();
    }));

  test("a file of the second schema is upgraded: its intents have no caller", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(`
        CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
        INSERT INTO meta VALUES ('schema', 2), ('epoch', 3), ('beat', 0);
        CREATE TABLE intents (
          execution_id TEXT PRIMARY KEY, state TEXT NOT NULL, commit_id TEXT NOT NULL, module TEXT NOT NULL,
          handler TEXT NOT NULL, args BLOB NOT NULL, time_ms INTEGER NOT NULL, seed BLOB NOT NULL, location TEXT NOT NULL,
          units TEXT NOT NULL, created_at_ms INTEGER NOT NULL, done_at_ms INTEGER, outcome BLOB, writes_hash TEXT
        ) STRICT;
        CREATE TABLE modules (
          hash TEXT PRIMARY KEY, plans TEXT NOT NULL, content BLOB NOT NULL, used_at_ms INTEGER
        ) STRICT;
        INSERT INTO intents VALUES ('01', 'pending', '00000003-000000000001', 'aa', 'f', x'a0', 5, x'00', 'va', '[]', 7,
                                    NULL, NULL, NULL);
      `);
      old.close();
      const storage = new SqliteStorage(file);
      expect(await storage.recover(3)).toMatchObject([{ handler: "f", environment: { timeMs: 5, caller: null } }]);
      await storage.close();
    }));

  test("a file of the first schema is upgraded, once, and keeps its modules", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(`
        CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
        INSERT INTO meta VALUES ('schema', 1), ('epoch', 3), ('beat', 0);
        CREATE TABLE intents (execution_id TEXT PRIMARY KEY, state TEXT NOT NULL, done_at_ms INTEGER) STRICT;
        CREATE TABLE modules (hash TEXT PRIMARY KEY, plans TEXT NOT NULL, content BLOB NOT NULL) STRICT;
        INSERT INTO modules VALUES ('aa', '{"f":"sliced"}', x'01');
      `);
      old.close();
      const [first, second] = [new SqliteStorage(file), new SqliteStorage(file)];
      expect(await first.modules()).toEqual([
        { hash: "aa", plans: new Map([["f", "sliced"]]), usedAtMs: null, registeredAtMs: null },
      ]);
      expect((await second.readLease()).epoch).toBe(3);
      await Promise.all([first.close(), second.close()]);
    }));

  test("a file that is no database is refused", () =>
    inFolder(async (file) => {
      const { writeFile } = await import("node:fs/promises");
      await writeFile(file, "this is not a database, and long enough to be read as one".repeat(50));
      expect(() => new SqliteStorage(file)).toThrow(/can't be used as the data file/);
    }));

  test("a value that was changed behind our back is not served", () =>
    inFolder(async (file) => {
      const storage = new SqliteStorage(file);
      const other = new DatabaseSync(file);
      other.exec(`INSERT INTO items VALUES ('t', 'x', x'01', '00000001-000000000001', '0123456789abcdef')`);
      other.close();
      await expect(loadAll(storage, [unitId("t", "x")])).rejects.toThrow(/corrupt/);
      // The other operations of the same turn are not harmed.
      const [bad, good] = await Promise.allSettled([
        loadAll(storage, [unitId("t", "x")]),
        loadAll(storage, [unitId("t", "y")]),
      ]);
      expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
      await storage.close();
    }));
});

describe("in memory", () => {
  describeStorage({ test, expect }, () => {
    const storage = new SqliteStorage(":memory:");
    return Promise.resolve({ storage, reopen: null, expires: false, dispose: () => storage.close() });
  });
});
