/** Sealed storage over SQLite, with keys as files: what copies of the storage tell, and how long. */
import { cpSync, readdirSync, statSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createLog } from "../../log.ts";
import { SqliteStorage } from "../sqlite-storage.ts";
import { describeStorage } from "../storage-conformance.ts";
import { commitOf, StorageError } from "../storage.ts";
import { FileSealingKeys } from "./file-sealing-keys.ts";
import {
  bytesOf,
  completionOf,
  DAY_MS,
  idOf,
  inPlace,
  intentOf,
  lead,
  partOf,
  Place,
  START_MS,
  taskOf,
} from "./place-under-test.ts";
import { SealedStorage } from "./sealed-storage.ts";
import { Seals } from "./seals.ts";

describe("as a storage", () => {
  describeStorage({ test, expect }, async () => {
    const place = new Place(await mkdtemp(path.join(tmpdir(), "radical-sealed-")));
    const open = async (): Promise<SealedStorage> => {
      const storage = new SealedStorage(new SqliteStorage(path.join(place.folder, "data.sqlite")), {
        keys: new FileSealingKeys(place.keys),
        retentionMs: DAY_MS,
        givesUp: false,
        log: createLog("silent", () => undefined),
        nowMs: () => START_MS,
      });
      await storage.begin();
      return storage;
    };
    let storage = await open();
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = await open());
      },
      expires: false,
      dispose: async () => {
        await storage.close();
        await rm(place.folder, { recursive: true, force: true });
      },
    };
  });
});

test("arguments, seeds, callers, outcomes and journals are in no file, and come back as they were", () =>
  inPlace(async (place) => {
    const { storage, epoch } = await place.serve();
    await storage.storeIntent(epoch, intentOf(1));
    await storage.storeIntent(epoch, intentOf(2));
    const completion = completionOf(2, { tasks: [taskOf(2)], signals: [partOf(2)] });
    expect(await storage.commit(epoch, commitOf([{ expects: "pending", completion }]))).toEqual({ kind: "applied" });
    const words = ["password-of-", "seed-of-", "caller-of-", "token-of-", "signal-of-"];
    expect(place.found(words)).toEqual([]);
    // The search would find them.
    expect(place.found(["login", "mail"])).toEqual(["login", "mail"]);
    await place.stop();

    const next = await place.serve();
    expect(await next.storage.recover(next.epoch)).toEqual([intentOf(1)]);
    expect(await next.storage.lookUp(next.epoch, idOf(2))).toMatchObject({
      state: "done",
      done: { outcome: { value: completion.outcome, keeps: "retained" } },
    });
    expect(await next.storage.findTask(taskOf(2).id)).toEqual(taskOf(2));
    expect(await next.storage.partsOf(idOf(3_000))).toEqual([partOf(2)]);
    expect(place.found(words)).toEqual([]);
  }));

test("a seal is of one record, and the same again for the same content", () =>
  inPlace(async (place) => {
    const seals = new Seals(new FileSealingKeys(place.keys), () => START_MS);
    await seals.turn();
    const seal = seals.seal("task a", bytesOf("hello"));
    expect(seals.seal("task a", bytesOf("hello"))).toEqual(seal);
    expect(seals.seal("task b", bytesOf("hello"))).not.toEqual(seal);
    expect(await seals.open("task a", seal)).toEqual(bytesOf("hello"));
    await expect(seals.open("task b", seal)).rejects.toThrow("It was changed");
    for (const at of [seal.length - 1, seal.length - 17, 45]) {
      const changed = seal.slice();
      changed[at]! ^= 1;
      await expect(seals.open("task a", changed)).rejects.toThrow("It was changed");
    }
  }));

test("only their owner can read the keys", () =>
  inPlace(async (place) => {
    await place.serve();
    expect((statSync(place.keys).mode & 0o777).toString(8)).toBe("700");
    for (const name of readdirSync(place.keys))
      expect((statSync(path.join(place.keys, name)).mode & 0o777).toString(8)).toBe("600");
  }));

test("each day has a key, and it is destroyed once nothing is sealed under it: copies can't be read from then on", () =>
  inPlace(async (place) => {
    const { storage, epoch } = await place.serve();
    await storage.storeIntent(epoch, intentOf(1));
    const completion = completionOf(2, { tasks: [taskOf(2)] });
    await storage.commit(epoch, commitOf([{ expects: "new", completion }]));
    const [first] = place.keyIds;
    for (const name of ["data.sqlite", "data.sqlite-wal"])
      cpSync(path.join(place.folder, name), path.join(place.folder, name.replace("data", "copy")));

    const day = async (): Promise<void> => {
      place.nowMs += DAY_MS;
      await storage.tend();
    };
    await day();
    expect(place.keyIds).toHaveLength(2);
    // A promise and a delayed task keep theirs, however long they wait.
    for (let days = 0; days < 10; days++) await day();
    expect(place.keyIds).toContain(first);
    expect(await storage.findTask(taskOf(2).id)).toEqual(taskOf(2));
    // An attempt does not change its seal.
    const tried = taskOf(2, { attempt: 1, failures: 1, error: { code: "x", message: "y", atMs: 1 } });
    const { id } = taskOf(2);
    const changed = { id, expects: { attempt: 0, lane: null }, becomes: { state: "task", task: tried } } as const;
    expect(await storage.commit(epoch, { records: [changed], items: [] })).toEqual({ kind: "applied" });
    expect(await storage.findTask(id)).toEqual(tried);
    await day();
    expect(place.keyIds).toContain(first);

    const gone = { id, expects: { attempt: 1, lane: null }, becomes: null } as const;
    await storage.commit(epoch, { records: [gone], items: [] });
    for (let days = 0; days < 5; days++) await day();
    expect(place.keyIds).toContain(first);
    await storage.commit(epoch, commitOf([{ expects: "pending", completion: completionOf(1) }]));
    // A call that has ended since the last look is kept for a day.
    await day();
    expect(place.keyIds).toContain(first);
    await day();
    await day();
    expect(place.keyIds).not.toContain(first);
    expect(place.keyIds.length).toBeLessThanOrEqual(4);
    expect(place.logged.filter((line) => line.includes("sealing_key_destroyed") && line.includes(first!))).toHaveLength(
      1,
    );

    // The copy has the promise and the task, and nothing opens them any more.
    const copy = await place.serve({ file: "copy.sqlite" });
    await expect(copy.storage.recover(copy.epoch)).rejects.toThrow(`lacks the keys ${first}`);
    expect(await copy.storage.findTask(id)).toMatchObject({ handler: "mail", caller: null });
    expect(Buffer.from((await copy.storage.findTask(id))!.args).toString()).not.toContain("password");
  }));

test("a server that starts again keeps the day's key; one that was off for long makes a new one", () =>
  inPlace(async (place) => {
    await place.serve();
    await place.stop();
    const [first] = place.keyIds;
    place.nowMs += DAY_MS - 1;
    await place.serve();
    expect(place.keyIds).toEqual([first]);
    await place.stop();
    place.nowMs += 30 * DAY_MS;
    const { storage } = await place.serve();
    expect(place.keyIds).toHaveLength(2);
    // Until now the first one may have sealed.
    await storage.tend();
    expect(place.keyIds).toContain(first);
  }));

describe("a key that is lost", () => {
  /** A promise and a task under each of two keys, of which the first one is then away. */
  const lost = async (place: Place): Promise<{ readonly back: () => Promise<void> }> => {
    const { storage, epoch } = await place.serve();
    await storage.storeIntent(epoch, intentOf(1));
    await storage.commit(epoch, commitOf([{ expects: "new", completion: completionOf(3, { tasks: [taskOf(3)] }) }]));
    const [first] = place.keyIds;
    place.nowMs += DAY_MS;
    await storage.tend();
    await storage.storeIntent(epoch, intentOf(2));
    await storage.commit(epoch, commitOf([{ expects: "new", completion: completionOf(4, { tasks: [taskOf(4)] }) }]));
    await place.stop();
    const [from, to] = [path.join(place.keys, `${first!}.key`), path.join(place.folder, "away")];
    await rename(from, to);
    return { back: () => rename(to, from) };
  };

  test("keeps a server from starting while it has promises, and says what to do", () =>
    inPlace(async (place) => {
      const { back } = await lost(place);
      const { storage, epoch } = await place.serve();
      const refused = await storage.recover(epoch).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(StorageError);
      expect(refused).toMatchObject({
        effect: "none",
        message: expect.stringMatching(
          /^1 promised calls can't be opened .*Put the keys back.*--give-up-unreadable/s,
        ) as string,
      });
      // Just now.
      await back();
      expect(await storage.recover(epoch)).toEqual([intentOf(1), intentOf(2)]);
    }));

  test("costs what is sealed under it when it is given up, and nothing else", () =>
    inPlace(async (place) => {
      const { back } = await lost(place);
      const { storage, epoch } = await place.serve({ givesUp: true });
      expect(await storage.recover(epoch)).toEqual([intentOf(2)]);
      expect(await storage.lookUp(epoch, idOf(1))).toBe(null);
      expect(place.logged.filter((line) => line.includes("promise_given_up"))).toHaveLength(1);
      // An answer that can't be told any more, and one that can.
      expect(await storage.lookUp(epoch, idOf(3))).toMatchObject({ state: "done", done: { outcome: null } });
      expect(await storage.lookUp(epoch, idOf(4))).toMatchObject({ done: { outcome: { value: { kind: "result" } } } });
      // Tasks wait, also after a failed attempt, and can be made with the key.
      expect(await storage.findTask(taskOf(4).id)).toEqual(taskOf(4));
      const closed = (await storage.findTask(taskOf(3).id))!;
      expect(place.logged.filter((line) => line.includes("sealing_key_missing"))).toHaveLength(1);
      const dead = { ...closed, attempt: 1, failures: 1, state: "dead" } as const;
      const changed = {
        id: closed.id,
        expects: { attempt: 0, lane: null },
        becomes: { state: "task", task: dead },
      } as const;
      expect(await storage.commit(epoch, { records: [changed], items: [] })).toEqual({ kind: "applied" });
      await back();
      place.nowMs += 2_000;
      expect(await storage.findTask(closed.id)).toEqual(taskOf(3, { attempt: 1, failures: 1, state: "dead" }));
    }));
});

test("what an earlier version has stored is read as it is", () =>
  inPlace(async (place) => {
    const before = new SqliteStorage(path.join(place.folder, "data.sqlite"));
    const old = await lead(before);
    await before.storeIntent(old, intentOf(1));
    await before.commit(old, commitOf([{ expects: "new", completion: completionOf(3, { tasks: [taskOf(3)] }) }]));
    await before.close();
    const { storage, epoch } = await place.serve();
    expect(await storage.recover(epoch)).toEqual([intentOf(1)]);
    expect(await storage.findTask(taskOf(3).id)).toEqual(taskOf(3));
    expect(await storage.lookUp(epoch, idOf(3))).toMatchObject({
      done: { outcome: { value: completionOf(3).outcome } },
    });
  }));
