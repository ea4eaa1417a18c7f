import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  ABI_VERSION,
  CborWriter,
  commitId,
  type ContentHash,
  type ExecutionId,
  type ModuleHash,
  unitId,
} from "@radical/protocol";
import { describe, expect, test, vi } from "vitest";
import { hashOfResult, isHashedCall } from "../core/call-hash.ts";
import { completionHash, type Intent, type OutcomeKept } from "../core/intent.ts";
import { KeyRing } from "../http/keys.ts";
import { WrongSchemaError } from "./schema.ts";
import { SqliteStorage } from "./sqlite-storage.ts";
import { complete, describeStorage, loadAll } from "./storage-conformance.ts";

async function inFolder<T>(run: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), "radical-sqlite-"));
  try {
    return await run(path.join(folder, "data.sqlite"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const HASHES = new KeyRing({
  locations: new Map([["main", new Uint8Array(32).fill(1)]]),
  administration: new Map(),
}).callHashes;

/** How often the text is found in the file and those beside it. */
function timesFound(file: string, text: string): number {
  let count = 0;
  for (const name of readdirSync(path.dirname(file))) {
    const bytes = readFileSync(path.join(path.dirname(file), name));
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) count++;
  }
  return count;
}

/** Leads, as a server does before it reads anything: a file of an older schema is upgraded. Gives the epoch. */
async function lead(storage: SqliteStorage, isFinished = false): Promise<number> {
  const { epoch } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
  await storage.upgrade(epoch, isFinished);
  return epoch;
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

  test("of two servers the second sees the first one's leadership, and at once when that one is gone", () =>
    inFolder(async (file) => {
      const [first, second] = [new SqliteStorage(file), new SqliteStorage(file)];
      expect(await first.acquireLeadership(await first.readLeadership(), 1_000, 0)).toEqual({
        epoch: 1,
        beat: 0,
        termMs: 1_000,
        readLeaseMs: 0,
      });
      expect(await second.readLeadership()).toEqual({ epoch: 1, beat: 0, termMs: 1_000, readLeaseMs: 0 });
      // It dies without giving the leadership up.
      await first.close();
      const seen = await second.readLeadership();
      expect(seen).toEqual({ epoch: 1, beat: 0, termMs: 0, readLeaseMs: 0 });
      expect(await second.acquireLeadership(seen, 1_000, 0)).toMatchObject({ epoch: 2 });
      await second.close();
    }));

  test("a server that took over from a stopped one is not taken for dead when that one ends", () =>
    inFolder(async (file) => {
      const [first, second, third] = [new SqliteStorage(file), new SqliteStorage(file), new SqliteStorage(file)];
      await first.acquireLeadership(await first.readLeadership(), 1_000, 0);
      // It has waited the leadership out.
      await second.acquireLeadership(await second.readLeadership(), 1_000, 0);
      expect(await first.renewLeadership(1, 1_000)).toBe(false);
      await first.close();
      expect(await third.readLeadership()).toEqual({ epoch: 2, beat: 0, termMs: 1_000, readLeaseMs: 0 });
      await third.close();
      await second.close();
    }));

  test("full durability: the one connection that writes has each commit flushed to disk", () =>
    inFolder(async (file) => {
      // Every connection is set up by it.
      const exec = vi.spyOn(DatabaseSync.prototype, "exec");
      const storage = new SqliteStorage(file);
      await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
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
      await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
      const reader = new DatabaseSync(file, { readOnly: true });
      expect(reader.prepare("SELECT number FROM meta WHERE name = 'epoch'").get()).toMatchObject({ number: 1 });
      reader.close();
      await storage.close();
    }));

  test("a file of the sixth schema is upgraded: its modules name no index", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(`
        CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
        INSERT INTO meta VALUES ('schema', 6), ('epoch', 3), ('beat', 0);
        CREATE TABLE modules (
          hash TEXT PRIMARY KEY, plans TEXT NOT NULL, content BLOB NOT NULL, used_at_ms INTEGER, registered_at_ms INTEGER
        ) STRICT;
        INSERT INTO modules VALUES ('aa', '{"f":"sliced"}', x'00', 5, 4);
      `);
      old.close();
      const storage = new SqliteStorage(file);
      await lead(storage);
      const known = { hash: "aa", plans: new Map([["f", "sliced"]]), usedAtMs: 5, registeredAtMs: 4 };
      expect(await storage.modules()).toEqual([known]);
      const named = { ...known, hash: "bb" as ModuleHash, plans: new Map(), indexes: ["users=email"] };
      await storage.storeModule(named, Uint8Array.of(1));
      expect(await storage.modules()).toContainEqual(named);
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
      expect(await storage.recover(await lead(storage))).toMatchObject([
        { handler: "f", environment: { timeMs: 5, caller: null } },
      ]);
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
      expect(await first.readSchema()).toEqual({ written: 1, readableFrom: 1, newest: 8, abi: ABI_VERSION });
      expect(await lead(first)).toBe(4);
      expect(await first.modules()).toEqual([
        { hash: "aa", plans: new Map([["f", "sliced"]]), usedAtMs: null, registeredAtMs: null },
      ]);
      expect(await second.readLeadership()).toMatchObject({ epoch: 4, beat: 1 });
      expect(await second.readSchema()).toMatchObject({ written: 8, readableFrom: 8 });
      await Promise.all([first.close(), second.close()]);
    }));

  test("a file of the fourth schema is upgraded: done intents are kept as hashes, with their outcomes, and nothing of the rest", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-4.sql", import.meta.url), "utf8"));
      // What it has deleted is in pages that are free.
      old.exec("CREATE TABLE deleted (text TEXT); INSERT INTO deleted VALUES ('Sup3rSecret'); DROP TABLE deleted");
      old.close();
      expect(timesFound(file, "Sup3rSecret")).toBe(2);
      const storage = new SqliteStorage(file, HASHES);
      const epoch = await lead(storage);
      const [done, pending] = ["1", "2"].map((digit) => digit.padStart(32, "0") as ExecutionId);
      const record = await storage.lookUp(epoch, done!);
      if (record?.state !== "done") throw new Error("not done");
      const value = new CborWriter().text("t0ken-of-ann").finish();
      expect(record.done).toMatchObject({
        doneAtMs: 8,
        outcome: { keeps: "retained", value: { kind: "result", value } },
      });
      const args = new CborWriter().map(1).text("password").text("Sup3rSecret").finish();
      const asked = { handler: "login", args, caller: "ann" };
      expect(isHashedCall(record.done.call, asked, HASHES)).toBe(true);
      expect(isHashedCall(record.done.call, { ...asked, caller: "bob" }, HASHES)).toBe(false);
      const writesHash = "0123456789abcdef" as ContentHash;
      expect(record.done.resultHash).toBe(hashOfResult(record.done.call!, writesHash, HASHES));
      // It would tell who has the file whether an outcome that he tries is the one.
      expect(timesFound(file, writesHash)).toBe(0);
      expect(await storage.recover(epoch)).toMatchObject([
        {
          executionId: pending,
          retained: true,
          mustNotWrite: false,
          lanes: [],
          units: [{ unit: "users/bob" }],
          environment: { caller: "bob" },
        },
      ]);
      expect((await storage.modules()).length).toBe(1);
      // Also while the server runs, and in the pages that are free.
      expect(timesFound(file, "Sup3rSecret")).toBe(0);
      await storage.collect({ doneBeforeMs: 9, toldBeforeMs: 0, limit: 10 });
      expect(timesFound(file, "t0ken-of-ann")).toBe(0);
      await storage.close();
    }));

  test("a disk without room for a second copy of the file: it is upgraded, a notice says what is left in it, and the next start rewrites it", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-4.sql", import.meta.url), "utf8"));
      old.close();
      // oxlint-disable-next-line typescript/unbound-method -- called with its object below
      const whole = DatabaseSync.prototype.exec;
      const full = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
        if (sql === "VACUUM") throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
        whole.call(this, sql);
      });
      const first = new SqliteStorage(file, HASHES);
      const epoch = await lead(first);
      full.mockRestore();
      expect(first.notice).toMatch(/could not be rewritten \(database or disk is full\)/);
      expect(await first.recover(epoch)).toMatchObject([{ handler: "login" }]);
      await first.close();
      const second = new SqliteStorage(file, HASHES);
      await lead(second);
      expect(second.notice).toBe(null);
      expect(timesFound(file, "Sup3rSecret")).toBe(0);
      await second.close();
    }));

  test("a file of the fifth schema is upgraded: its leader has given no read leases", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-5.sql", import.meta.url), "utf8"));
      old.close();
      const storage = new SqliteStorage(file, HASHES);
      expect(await storage.readLeadership()).toEqual({ epoch: 3, beat: 7, termMs: 5_000, readLeaseMs: 0 });
      const claimed = await storage.acquireLeadership(await storage.readLeadership(), 1_000, 300);
      await storage.upgrade(4, false);
      expect(await storage.lookUp(4, "2".padStart(32, "0") as ExecutionId)).toMatchObject({ state: "pending" });
      expect(claimed).toMatchObject({ epoch: 4, readLeaseMs: 300 });
      await storage.close();
      const again = new SqliteStorage(file, HASHES);
      // The server of epoch 4 has died, and what it may have leased is known.
      expect(await again.readLeadership()).toMatchObject({ epoch: 4, termMs: 0, readLeaseMs: 300 });
      await again.close();
    }));

  test("without the keys a file of the fourth schema is upgraded too: no call can be compared with its done intents", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-4.sql", import.meta.url), "utf8"));
      old.close();
      const storage = new SqliteStorage(file);
      const epoch = await lead(storage);
      expect(await storage.lookUp(epoch, "1".padStart(32, "0") as ExecutionId)).toMatchObject({ done: { call: null } });
      expect(timesFound(file, "Sup3rSecret")).toBe(0);
      await storage.close();
    }));

  test("a file of an older schema is not upgraded by a server that only opens it, nor under another one", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-4.sql", import.meta.url), "utf8"));
      const server = new DatabaseSync(`${file}.lock`);
      server.exec("BEGIN EXCLUSIVE");
      const storage = new SqliteStorage(file);
      await storage.readLeadership();
      expect(old.prepare("SELECT count(*) AS n FROM intents").get()).toEqual({ n: 2 });
      await expect(lead(storage)).rejects.toThrow(`${file} can't be upgraded from schema 4: another server uses it`);
      expect(old.prepare("SELECT count(*) AS n FROM intents").get()).toEqual({ n: 2 });
      expect(await storage.readSchema()).toMatchObject({ written: 4 });
      server.close();
      old.close();
      await storage.close();
    }));

  test("a server that has lost the leadership upgrades nothing", () =>
    inFolder(async (file) => {
      const old = new DatabaseSync(file);
      old.exec(await readFile(new URL("fixtures/schema-5.sql", import.meta.url), "utf8"));
      old.close();
      const [first, second] = [new SqliteStorage(file, HASHES), new SqliteStorage(file, HASHES)];
      const { epoch } = (await first.acquireLeadership(await first.readLeadership(), 1_000, 0))!;
      await second.acquireLeadership(await second.readLeadership(), 1_000, 0);
      expect(await first.upgrade(epoch, true)).toBe(null);
      expect(await first.readSchema()).toMatchObject({ written: 5 });
      await Promise.all([first.close(), second.close()]);
    }));

  /** As a later release leaves it. */
  const later = (file: string, readableFrom: number): void => {
    const database = new DatabaseSync(file);
    database.exec(`UPDATE meta SET number = 9 WHERE name = 'written';
      UPDATE meta SET number = ${readableFrom} WHERE name = 'schema';
      UPDATE meta SET number = number + 1 WHERE name = 'beat'`);
    if (readableFrom === 8) database.exec("ALTER TABLE items ADD COLUMN later TEXT");
    database.close();
  };

  test("a schema of a later release that this one can serve is served, and kept", () =>
    inFolder(async (file) => {
      await new SqliteStorage(file).close();
      later(file, 8);
      const storage = new SqliteStorage(file);
      const epoch = await lead(storage, true);
      expect(await storage.readSchema()).toEqual({ written: 9, readableFrom: 8, newest: 8, abi: ABI_VERSION });
      const write = { unit: unitId("t", "x"), value: Uint8Array.of(1), commitId: commitId(epoch, 1) };
      const id = "1".padStart(32, "0") as ExecutionId;
      expect(await storage.commit(epoch, { records: [{ id, expects: "new", becomes: null }], items: [write] })).toEqual(
        {
          kind: "applied",
        },
      );
      expect(await storage.load([write.unit], 10)).toEqual(
        new Map([[write.unit, { commitId: write.commitId, value: write.value }]]),
      );
      await storage.close();
    }));

  test("a schema of a later release is refused at the start, and by a server that waits already", () =>
    inFolder(async (file) => {
      const storage = new SqliteStorage(file);
      const seen = await storage.readLeadership();
      later(file, 9);
      // It has seen the leadership before.
      expect(await storage.acquireLeadership(seen, 1_000, 0)).toBe(null);
      await expect(storage.readLeadership()).rejects.toThrow(WrongSchemaError);
      await storage.close();
      expect(() => new SqliteStorage(file)).toThrow(
        `${file} has schema 9, which servers read that know schema 9, and this one knows up to 8. A later release has finished its upgrade here`,
      );
    }));

  test("arguments and outcomes whose time is over are in none of the files, however they came and went", () =>
    inFolder(async (file) => {
      const storage = new SqliteStorage(file);
      const { epoch } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
      // Of sizes from few bytes to several pages; the same in each run.
      let state = 1;
      const below = (bound: number): number => (state = (state * 48_271) % 2_147_483_647) % bound;
      const secret = (): Uint8Array => Buffer.from(`S3cretWord${"x".repeat(below(below(20) === 0 ? 9_000 : 300))}`);
      const pending: Intent[] = [];
      const finish = async (intent: Intent): Promise<void> => {
        const { units: _, createdAtMs, retained: __, mustNotWrite: ___, ...invocation } = intent;
        const outcome = { kind: "result", value: secret() } as const;
        const keeps = (["not", "briefly", "retained"] as const satisfies readonly OutcomeKept[])[below(3)]!;
        const call = HASHES.hash(secret());
        const resultHash = completionHash(outcome, []);
        const end = { outcome, writes: [], resultHash, doneAtMs: createdAtMs, call, keeps, tasks: [] };
        const completion = { ...invocation, ...end };
        expect(await complete(storage, epoch, "pending", completion)).toEqual({ kind: "applied" });
      };
      for (let turn = 0; turn < 150; turn++) {
        const stored: Promise<unknown>[] = [];
        for (let left = below(8); left > 0; left--) {
          const number = turn * 10 + left;
          const intent: Intent = {
            // Anywhere in the index.
            executionId: (number * 2_654_435_761).toString(16).padStart(32, "0") as ExecutionId,
            commitId: commitId(epoch, number + 1),
            module: "a".repeat(64) as ModuleHash,
            handler: "login",
            args: secret(),
            environment: { timeMs: 1, seed: new Uint8Array(16), caller: null },
            location: "va",
            units: [{ unit: unitId("sessions", "S3cretWord"), mode: "write", version: null }],
            retained: true,
            mustNotWrite: false,
            lanes: [],
            createdAtMs: turn,
          };
          pending.push(intent);
          stored.push(storage.storeIntent(epoch, intent));
        }
        await Promise.all(stored);
        while (pending.length > below(40)) await finish(pending.splice(below(pending.length), 1)[0]!);
        if (turn % 40 === 39) await storage.collect({ doneBeforeMs: turn - 60, toldBeforeMs: turn - 20, limit: 1_000 });
      }
      for (const intent of pending) await finish(intent);
      expect(timesFound(file, "S3cretWord")).toBeGreaterThan(0);
      await storage.collect({ doneBeforeMs: 1_000, toldBeforeMs: 1_000, limit: 1_000 });
      expect(timesFound(file, "S3cretWord")).toBe(0);
      await storage.close();
    }));

  test("only the owner of the files may read them, also where an older version left it to others", () =>
    inFolder(async (file) => {
      const modes = (): readonly number[] => ["", "-wal", "-shm"].map((end) => statSync(`${file}${end}`).mode & 0o777);
      const umask = process.umask(0o022);
      try {
        const storage = new SqliteStorage(file);
        await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
        expect(modes()).toEqual([0o600, 0o600, 0o600]);
        for (const end of ["", "-wal", "-shm"]) await chmod(`${file}${end}`, 0o644);
        const other = new SqliteStorage(file);
        expect(modes()).toEqual([0o600, 0o600, 0o600]);
        await Promise.all([storage.close(), other.close()]);
      } finally {
        process.umask(umask);
      }
    }));

  test("a file that somebody keeps locked is waited for, and then named with what to do", () =>
    inFolder((file) => {
      const holder = new DatabaseSync(file);
      try {
        holder.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
        expect(() => new SqliteStorage(file, null, 1)).toThrow(
          `${file} can't be used as the data file: Another process has kept it locked for 0.001 s. End what holds a transaction on it`,
        );
      } finally {
        holder.close();
      }
      return Promise.resolve();
    }));

  test("a file that is no database is refused", () =>
    inFolder(async (file) => {
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
