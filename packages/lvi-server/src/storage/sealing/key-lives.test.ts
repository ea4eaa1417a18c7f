/** How long keys live: as long as anything needs them that is sealed under them, and not much longer. */
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { chmod, rename } from "node:fs/promises";
import path from "node:path";
import type { ExecutionId } from "@radical/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { IntentRecord, RecordChange } from "../../core/intent.ts";
import { begun, type Workflow } from "../../core/workflow.ts";
import type { KnownSecrets } from "../../known-secrets.ts";
import { listTasks } from "../../task-list.ts";
import { type Storage, StorageError } from "../storage.ts";
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
  type Place,
  START_MS,
  taskOf,
} from "./place-under-test.ts";
import type { SealedStorage } from "./sealed-storage.ts";
import { newSealingKey } from "./sealing-key.ts";

const HOUR_MS = 3_600_000;

const workflowOf = (number: number, more: Partial<Workflow> = {}): Workflow => ({
  ...begun(
    {
      id: idOf(3_000 + number),
      module: intentOf(1).module,
      handler: "flow",
      args: bytesOf(`password-of-workflow-${number}`),
      seed: bytesOf("seed-of-workflow"),
      caller: "caller-of-workflow",
      parent: null,
      call: { key: "k", hash: "f".repeat(64) },
    },
    1,
  ),
  ...more,
});

const inserted = (record: IntentRecord, id: ExecutionId): RecordChange => ({ id, expects: "new", becomes: record });
const task = (number: number, more: Parameters<typeof taskOf>[1] = {}): RecordChange =>
  inserted({ state: "task", task: taskOf(number, more) }, taskOf(number).id);
const workflow = (one: Workflow): RecordChange => inserted({ state: "workflow", workflow: one }, one.id);
const part = (number: number): RecordChange => inserted({ state: "part", part: partOf(number) }, partOf(number).id);

async function put(storage: Storage, epoch: number, ...records: readonly RecordChange[]): Promise<void> {
  expect(await storage.commit(epoch, { records, items: [] })).toEqual({ kind: "applied" });
}

async function change(storage: Storage, epoch: number, before: Workflow, more: Partial<Workflow>): Promise<Workflow> {
  const after = { ...before, ...more, changes: before.changes + 1 };
  const becomes = { state: "workflow", workflow: after } as const;
  await put(storage, epoch, { id: before.id, expects: { changes: before.changes }, becomes });
  return after;
}

async function workflowIn(storage: Storage, epoch: number, id: ExecutionId): Promise<Workflow> {
  const record = await storage.lookUp(epoch, id);
  if (record?.state !== "workflow") throw new Error(`no workflow: ${record?.state}`);
  return record.workflow;
}

/** A workflow waits, and no server serves for ten days. */
async function leftWaiting(place: Place): Promise<void> {
  const { storage, epoch } = await place.serve();
  await put(storage, epoch, workflow(WAITING));
  place.nowMs += DAY_MS;
  await storage.tend();
  await place.stop();
  place.nowMs += 10 * DAY_MS;
}

async function pass(place: Place, storage: SealedStorage, days: number): Promise<void> {
  for (let hours = 0; hours < days * 24; hours += 6) {
    place.nowMs += 6 * HOUR_MS;
    // oxlint-disable-next-line no-await-in-loop -- one walk after the other
    await storage.tend();
  }
}

interface Kept {
  readonly what: string;
  /** Under the first key. */
  readonly store: (storage: SealedStorage, epoch: number) => Promise<unknown>;
  /** Under the second one. */
  readonly onNextDay?: (storage: SealedStorage, epoch: number) => Promise<unknown>;
  /** After ten days more. */
  readonly read: (storage: SealedStorage, epoch: number) => Promise<unknown>;
  readonly is: unknown;
}

const WAITING = workflowOf(0);
const FRESH = { args: bytesOf("password-of-later") };
const RESULT = { kind: "result", value: bytesOf("token-of-workflow") } as const;

const KEPT: readonly Kept[] = [
  {
    what: "a promise",
    store: (storage, epoch) => storage.storeIntent(epoch, intentOf(1)),
    read: (storage, epoch) => storage.recover(epoch),
    is: [intentOf(1)],
  },
  {
    what: "a task",
    store: (storage, epoch) => put(storage, epoch, task(1)),
    read: (storage) => storage.findTask(taskOf(1).id),
    is: taskOf(1),
  },
  {
    what: "a task in a lane",
    store: (storage, epoch) => put(storage, epoch, task(1, { lane: "l" })),
    read: (storage) => storage.findTask(taskOf(1).id),
    is: taskOf(1, { lane: "l" }),
  },
  {
    what: "a dead task",
    store: (storage, epoch) => put(storage, epoch, task(1, { state: "dead" })),
    read: (storage) => storage.findTask(taskOf(1).id),
    is: taskOf(1, { state: "dead" }),
  },
  {
    what: "a signal to a workflow that has not begun",
    store: (storage, epoch) => put(storage, epoch, part(1)),
    onNextDay: (storage, epoch) =>
      put(storage, epoch, inserted({ state: "task", task: { ...taskOf(1), id: WAITING.id } }, WAITING.id)),
    read: (storage) => storage.partsOf(WAITING.id),
    is: [partOf(1)],
  },
  {
    what: "a part of a workflow",
    store: (storage, epoch) => put(storage, epoch, part(1)),
    onNextDay: (storage, epoch) => put(storage, epoch, workflow(WAITING)),
    read: (storage) => storage.partsOf(WAITING.id),
    is: [partOf(1)],
  },
  {
    what: "arguments of a workflow",
    store: (storage, epoch) => put(storage, epoch, workflow(WAITING)),
    read: (storage, epoch) => workflowIn(storage, epoch, WAITING.id),
    is: WAITING,
  },
  {
    what: "arguments of the next round of a workflow",
    store: (storage, epoch) => put(storage, epoch, workflow({ ...WAITING, again: bytesOf("again") })),
    onNextDay: async (storage, epoch) =>
      change(storage, epoch, await workflowIn(storage, epoch, WAITING.id), { args: FRESH.args }),
    read: async (storage, epoch) => (await workflowIn(storage, epoch, WAITING.id)).again,
    is: bytesOf("again"),
  },
  {
    what: "the outcome of a workflow that is ending",
    store: (storage, epoch) => put(storage, epoch, workflow(WAITING)),
    onNextDay: async (storage, epoch) => {
      const found = await workflowIn(storage, epoch, WAITING.id);
      await change(storage, epoch, found, { state: "ending", outcome: RESULT });
    },
    read: async (storage, epoch) => (await workflowIn(storage, epoch, WAITING.id)).outcome,
    is: RESULT,
  },
];

describe("a key is kept for", () => {
  test.each(KEPT)("$what", ({ store, onNextDay, read, is }) =>
    inPlace(async (place) => {
      const { storage, epoch } = await place.serve();
      await store(storage, epoch);
      place.nowMs += DAY_MS;
      await storage.tend();
      await onNextDay?.(storage, epoch);
      await pass(place, storage, 10);
      expect(await read(storage, epoch)).toEqual(is);
      // Others have gone meanwhile.
      expect(place.keyIds.length).toBeLessThanOrEqual(6);
    }),
  );

  test("a promise that a server has taken over", () =>
    inPlace(async (place) => {
      const first = await place.serve();
      await first.storage.storeIntent(first.epoch, intentOf(1));
      await place.stop();
      place.nowMs += DAY_MS;
      const { storage, epoch } = await place.serve();
      expect(await storage.recover(epoch)).toEqual([intentOf(1)]);
      await pass(place, storage, 10);
      expect(await storage.lookUp(epoch, idOf(1))).toEqual({ state: "pending", intent: intentOf(1) });
    }));

  test("a promise of which the answer of storage was lost, also if a repeat fails or finds it", () =>
    inPlace(async (place) => {
      const { storage, epoch, inner } = await place.serve();
      const lost = new StorageError("unknown", "the answer was lost");
      const store = inner.storeIntent.bind(inner);
      const stores = vi.spyOn(inner, "storeIntent");
      const losing: typeof store = async (...args) => {
        await store(...args);
        throw lost;
      };
      for (const number of [1, 2]) {
        stores.mockImplementationOnce(losing);
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await expect(storage.storeIntent(epoch, intentOf(number))).rejects.toThrow("lost");
      }
      place.nowMs += DAY_MS;
      await storage.tend();
      stores.mockRejectedValueOnce(new StorageError("none", "nothing was sent"));
      await expect(storage.storeIntent(epoch, intentOf(1))).rejects.toThrow("nothing was sent");
      expect(await storage.storeIntent(epoch, intentOf(2))).toMatchObject({ kind: "exists" });
      await pass(place, storage, 10);
      const found = await Promise.all([1, 2].map((number) => storage.lookUp(epoch, idOf(number))));
      expect(found).toEqual([1, 2].map((number) => ({ state: "pending", intent: intentOf(number) })));
    }));

  test("what has ended since the last walk, for as long as that is kept, after days without a server", () =>
    inPlace(async (place) => {
      await leftWaiting(place);
      const { storage, epoch } = await place.serve();
      expect(await storage.recover(epoch)).toEqual([]);
      const [found] = (await storage.openWorkflows(null, 10)).workflows;
      const ended = await change(storage, epoch, found!, { state: "ended", outcome: RESULT, endedAtMs: place.nowMs });
      place.nowMs += HOUR_MS;
      await storage.tend();
      await pass(place, storage, 1);
      expect(await workflowIn(storage, epoch, WAITING.id)).toEqual(ended);
    }));

  test("what was opened since the last walk that could be made", () =>
    inPlace(async (place) => {
      await leftWaiting(place);
      const { storage, epoch, inner } = await place.serve();
      vi.spyOn(inner, "listTasks").mockRejectedValueOnce(new StorageError("none", "busy"));
      await storage.recover(epoch);
      expect(place.logged.filter((line) => line.includes("sealing_keys_not_tended"))).toHaveLength(1);
      const [found] = (await storage.openWorkflows(null, 10)).workflows;
      const ended = await change(storage, epoch, found!, { state: "ended", outcome: RESULT, endedAtMs: place.nowMs });
      place.nowMs += HOUR_MS;
      await storage.tend();
      expect(await workflowIn(storage, epoch, WAITING.id)).toEqual(ended);
    }));
});

describe("a key goes", () => {
  test("although no server lives for an hour", () =>
    inPlace(async (place) => {
      for (let day = 0; day < 6; day++) {
        // oxlint-disable-next-line no-await-in-loop -- one server after the other
        const { storage, epoch } = await place.serve();
        // oxlint-disable-next-line no-await-in-loop -- one server after the other
        await storage.recover(epoch);
        // oxlint-disable-next-line no-await-in-loop -- one server after the other
        await place.stop();
        place.nowMs += DAY_MS;
      }
      expect(place.keyIds.length).toBeLessThanOrEqual(4);
    }));

  test("although it was made while the clock was a year ahead, and seals no more before", () =>
    inPlace(async (place) => {
      place.nowMs = START_MS + 365 * DAY_MS;
      await place.serve();
      await place.stop();
      const [ahead] = place.keyIds;
      place.nowMs = START_MS;
      const { storage } = await place.serve();
      const [right] = place.keyIds.filter((id) => id !== ahead);
      expect(right).toMatch(/^2026-11-01-/);
      await storage.tend();
      // The keys of the next days come one a day.
      await pass(place, storage, 4);
      expect(place.keyIds).not.toContain(ahead);
      expect(place.keyIds.length).toBeLessThanOrEqual(4);
    }));
});

describe("a walk", () => {
  test("asks for the parts of those tasks only that may become workflows, and takes a few records at once", () =>
    inPlace(async (place) => {
      const { storage, epoch, inner } = await place.serve();
      const plans = new Map([["mail", "recorded"] as const, ["flow", "workflow"] as const]);
      const module = { hash: intentOf(1).module, plans, usedAtMs: 1, registeredAtMs: 1 };
      await storage.storeModule(module, bytesOf("module"));
      const handlers = ["mail", "flow", "unknown"];
      await put(storage, epoch, ...handlers.map((handler, number) => task(number, { handler })));
      const asked = vi.spyOn(inner, "partsOf");
      const listed = vi.spyOn(inner, "listTasks");
      place.nowMs += DAY_MS;
      await storage.tend();
      expect(asked.mock.calls.map(([id]) => id).toSorted()).toEqual([taskOf(1).id, taskOf(2).id]);
      expect(Math.max(...listed.mock.calls.map(([, , limit]) => limit))).toBeLessThanOrEqual(20);
    }));

  test("is one at a time, ends before the storage is closed, and destroys nothing from then on", () =>
    inPlace(async (place) => {
      const { storage, inner } = await place.serve();
      const [first] = place.keyIds;
      place.nowMs += 10 * DAY_MS;
      const steps: string[] = [];
      let goOn = (): void => undefined;
      const listed = vi.spyOn(inner, "listTasks").mockImplementation(() => {
        steps.push("asked");
        return new Promise((resolve) => (goOn = () => resolve({ tasks: [], next: null })));
      });
      const walks = [storage.tend(), storage.tend()];
      await vi.waitFor(() => expect(listed).toHaveBeenCalledOnce());
      const closed = place.stop().then(() => steps.push("closed"));
      goOn();
      await Promise.all(walks.map((walk) => walk.then(() => steps.push("walked"))));
      await closed;
      expect(steps).toEqual(["asked", "walked", "walked", "closed"]);
      expect(place.keyIds).toContain(first);
    }));
});

describe("the folder of keys", () => {
  afterEach(() => void vi.useRealTimers());

  test("loses what a crash has left of a key that was being destroyed, or made", () =>
    inPlace(async (place) => {
      const { storage, epoch } = await place.serve();
      await storage.storeIntent(epoch, intentOf(1));
      const [first] = place.keyIds;
      const keys = new FileSealingKeys(place.keys);
      const old = newSealingKey(START_MS);
      await keys.add(old);
      const fileOf = (ending: string): string => path.join(place.keys, `${old.id}${ending}`);
      await rename(fileOf(".key"), fileOf(".gone"));
      expect((await keys.list()).map(({ id }) => id)).toEqual([first]);
      writeFileSync(fileOf(".gone"), Buffer.alloc(78));
      writeFileSync(fileOf(".new"), "half");
      await keys.list();
      // Another server may be about to finish it.
      expect(readdirSync(place.keys).toSorted()).toEqual([`${first}.key`, `${old.id}.new`].toSorted());
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * HOUR_MS });
      await keys.list();
      expect(readdirSync(place.keys)).toEqual([`${first}.key`]);
      expect(await storage.lookUp(epoch, idOf(1))).toMatchObject({ state: "pending" });
    }));

  test("keeps the time when a key was last needed, from the beginning", () =>
    inPlace(async (place) => {
      const keys = new FileSealingKeys(path.join(place.keys, "deep", "folder"));
      const key = newSealingKey(START_MS);
      await keys.add(key);
      expect(await keys.list()).toEqual([{ ...key, secret: Buffer.from(key.secret) }]);
      await keys.need(key.id, START_MS + HOUR_MS);
      expect(await keys.list()).toMatchObject([{ neededAtMs: START_MS + HOUR_MS }]);
      await keys.destroy(key.id);
      await keys.destroy(key.id);
      expect(readdirSync(keys.place)).toEqual([]);
    }));

  test("that is missing is made for a new key only, and the log tells if the storage had a server before", () =>
    inPlace(async (place) => {
      expect(await new FileSealingKeys(place.keys).list()).toEqual([]);
      expect(existsSync(place.keys)).toBe(false);
      const warned = (): number => place.logged.filter((line) => line.includes("sealing_keys_absent")).length;
      await place.serve();
      await place.stop();
      await place.serve();
      await place.stop();
      expect(warned()).toBe(0);
      rmSync(place.keys, { recursive: true });
      await place.serve();
      expect(warned()).toBe(1);
      expect(statSync(place.keys).mode & 0o777).toBe(0o700);
    }));

  test("that others may list is told, and served", () =>
    inPlace(async (place) => {
      await place.serve();
      await place.stop();
      await chmod(place.keys, 0o755);
      await place.serve();
      const told = place.logged.filter((line) => line.includes("sealing_keys_notice"));
      expect(told).toHaveLength(1);
      expect(told[0]).toContain("mode 0755");
    }));
});

describe("without its key", () => {
  const lost = async (place: Place, ...records: readonly RecordChange[]): Promise<void> => {
    const { storage, epoch } = await place.serve();
    await storage.storeIntent(epoch, intentOf(1));
    if (records.length > 0) await put(storage, epoch, ...records);
    await place.stop();
    await rename(place.keys, `${place.keys}.away`);
  };

  test("a task says that its arguments can't be read", () =>
    inPlace(async (place) => {
      await lost(place, task(1));
      const { storage } = await place.serve();
      expect(await storage.findTask(taskOf(1).id)).toMatchObject({ isUnreadable: true, caller: null });
      const core = {
        taskStateOf: () => "ready" as const,
        canRun: () => true,
        taskAttemptsOf: () => 10,
        openTasks: 1,
        currentModule: null,
      } as const;
      const secrets = { learn: () => Promise.resolve(), of: () => [] } as unknown as KnownSecrets;
      const question = { filter: {}, limit: 1, after: null, withArguments: true };
      const [listed] = (await listTasks(storage, core, { secrets, wallMs: 1 }, question)).tasks;
      expect(listed).toMatchObject({ caller: null, error: { code: "arguments", atMs: null } });
      expect(listed).not.toHaveProperty("args");
    }));

  test("a workflow that has ended has no outcome, and one that has not can't be read", () =>
    inPlace(async (place) => {
      await lost(
        place,
        workflow({ ...WAITING, state: "ended", outcome: RESULT, endedAtMs: 1 }),
        workflow(workflowOf(1)),
      );
      const { storage, epoch } = await place.serve();
      expect(await workflowIn(storage, epoch, WAITING.id)).toMatchObject({
        state: "ended",
        outcome: null,
        endedAtMs: 1,
      });
      await expect(storage.lookUp(epoch, workflowOf(1).id)).rejects.toThrow("can't be opened: Its key");
      expect((await storage.openWorkflows(null, 10)).workflows).toEqual([]);
    }));

  test("an outcome that is kept is not told, and the log says why", () =>
    inPlace(async (place) => {
      const completion = completionOf(3);
      const { storage, epoch } = await place.serve();
      const { outcome, call } = completion;
      const done = {
        executionId: idOf(3),
        commitId: completion.commitId,
        module: completion.module,
        location: "here",
        resultHash: "e".repeat(64),
        doneAtMs: 5,
        call,
        outcome: { value: outcome, keeps: "retained" },
      } as const;
      await put(storage, epoch, inserted({ state: "done", done }, idOf(3)));
      await place.stop();
      await rename(place.keys, `${place.keys}.away`);
      const next = await place.serve();
      expect(await next.storage.lookUp(next.epoch, idOf(3))).toMatchObject({ state: "done", done: { outcome: null } });
      expect(place.logged.filter((line) => line.includes("sealing_key_missing"))).toHaveLength(1);
    }));

  test("a promise is not given up by a server that was replaced", () =>
    inPlace(async (place) => {
      await lost(place);
      const { storage, epoch, inner } = await place.serve({ givesUp: true });
      const commit = inner.commit.bind(inner);
      vi.spyOn(inner, "commit").mockImplementationOnce(async (...args) => {
        await lead(inner);
        return commit(...args);
      });
      await expect(storage.recover(epoch)).rejects.toThrow("can't be given up: another server has taken over");
      expect(place.logged.filter((line) => line.includes("promise_given_up"))).toEqual([]);
    }));
});
