/**
 * What every implementation of the storage port must do. A test file of each calls `describeStorage` with the test
 * functions of its runner and a way to open a fresh storage.
 */
import {
  commitId,
  entryOf,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { type Completion, completionHash, type Intent } from "../core/intent.ts";
import type { Storage } from "./storage.ts";

/** The part of a test runner that the suite needs. */
export interface Runner {
  readonly test: (name: string, run: () => Promise<void>) => void;
  readonly expect: (value: unknown) => { toEqual(expected: unknown): void; toMatchObject(expected: object): void };
}

export interface StorageUnderTest {
  readonly storage: Storage;
  /** Closes it and opens what it kept; null if the implementation keeps nothing. */
  readonly reopen: (() => Promise<Storage>) | null;
  readonly dispose: () => Promise<void>;
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const MODULE = "a".repeat(64) as ModuleHash;
const X = unitId("t", "x");
const Y = unitId("t", "y");
const OUTCOME: Outcome = { kind: "result", value: encode("ok") };

function executionId(number: number): ExecutionId {
  return number.toString(16).padStart(32, "0") as ExecutionId;
}

function intentOf(number: number, epoch = 1): Intent {
  return {
    executionId: executionId(number),
    commitId: commitId(epoch, number),
    module: MODULE,
    handler: "f",
    args: encode(`args ${number}`),
    environment: { timeMs: 1_700_000_000_000 + number, seed: new Uint8Array(16).fill(number) },
    location: "va",
    units: [
      { unit: X, mode: "read-write", version: entryOf(commitId(0, 1), encode("x")).version },
      { unit: Y, mode: "write", version: null },
    ],
    createdAtMs: 1_000 + number,
  };
}

function completionOf(intent: Intent, writes: readonly Write[], doneAtMs = 2_000): Completion {
  const { units: _, createdAtMs: __, ...call } = intent;
  return { ...call, outcome: OUTCOME, writes, writesHash: completionHash(OUTCOME, writes), doneAtMs };
}

export function describeStorage(runner: Runner, open: () => Promise<StorageUnderTest>): void {
  const { expect } = runner;
  const test = (name: string, run: (storage: Storage, reopen: StorageUnderTest["reopen"]) => Promise<void>): void =>
    runner.test(name, async () => {
      const { storage, reopen, dispose } = await open();
      try {
        await run(storage, reopen);
      } finally {
        await dispose();
      }
    });
  const loadOne = async (storage: Storage, unit: UnitId): Promise<unknown> => (await storage.load([unit])).get(unit);

  test("the epoch grows with every take-over", async (storage) => {
    const epochs = [];
    for (let i = 0; i < 3; i++) epochs.push((await storage.takeOver()).epoch);
    expect(epochs).toEqual([1, 2, 3]);
  });

  test("absent items are not in the answer", async (storage) => {
    await storage.takeOver();
    expect((await storage.load([X, Y])).size).toEqual(0);
  });

  test("a completion of a new execution applies its writes", async (storage) => {
    const { epoch } = await storage.takeOver();
    const completion = completionOf(intentOf(1), [
      { unit: X, value: encode("1") },
      { unit: Y, value: encode("") },
    ]);
    expect(await storage.complete(epoch, "new", completion)).toEqual({ kind: "applied" });
    const items = await storage.load([Y, X]);
    expect(items.get(X)).toEqual({ commitId: completion.commitId, value: encode("1") });
    expect(items.get(Y)).toEqual({ commitId: completion.commitId, value: encode("") });
  });

  test("deletes; and keys are taken as they are", async (storage) => {
    const { epoch } = await storage.takeOver();
    const odd = unitId("t", "a/b'\"%_\u{1F600} ü");
    await storage.complete(epoch, "new", completionOf(intentOf(1), [{ unit: odd, value: encode("1") }]));
    expect(await loadOne(storage, odd)).toEqual({ commitId: commitId(1, 1), value: encode("1") });
    await storage.complete(epoch, "new", completionOf(intentOf(2), [{ unit: odd, value: null }]));
    expect(await loadOne(storage, odd)).toEqual(undefined);
    // Deleting what is absent is fine.
    expect(await storage.complete(epoch, "new", completionOf(intentOf(3), [{ unit: odd, value: null }]))).toEqual({
      kind: "applied",
    });
  });

  test("an intent is stored once; the second gets the first as it is", async (storage) => {
    const { epoch } = await storage.takeOver();
    const intent = intentOf(1);
    expect(await storage.storeIntent(epoch, intent)).toEqual({ kind: "stored" });
    const other = { ...intent, commitId: commitId(1, 99), handler: "g" };
    expect(await storage.storeIntent(epoch, other)).toEqual({ kind: "exists", record: { state: "pending", intent } });
    expect(await storage.lookUp(intent.executionId)).toEqual({ state: "pending", intent });
    expect(await storage.lookUp(executionId(7))).toEqual(null);
  });

  test("a pending intent is completed once", async (storage) => {
    const { epoch } = await storage.takeOver();
    const intent = intentOf(1);
    await storage.storeIntent(epoch, intent);
    const completion = completionOf(intent, [{ unit: X, value: encode("1") }]);
    expect(await storage.complete(epoch, "pending", completion)).toEqual({ kind: "applied" });
    const again = completionOf(intent, [{ unit: X, value: encode("2") }]);
    const { writes: _, environment: __, ...done } = completion;
    expect(await storage.complete(epoch, "pending", again)).toEqual({
      kind: "exists",
      record: { state: "done", done },
    });
    expect(await loadOne(storage, X)).toEqual({ commitId: completion.commitId, value: encode("1") });
    expect(await storage.storeIntent(epoch, intent)).toEqual({ kind: "exists", record: { state: "done", done } });
    expect(await storage.lookUp(intent.executionId)).toEqual({ state: "done", done });
  });

  test("a completion may take another commit id than its intent", async (storage) => {
    const { epoch } = await storage.takeOver();
    const intent = intentOf(1);
    await storage.storeIntent(epoch, intent);
    const completion = completionOf({ ...intent, commitId: commitId(1, 50) }, [{ unit: X, value: encode("1") }]);
    expect(await storage.complete(epoch, "pending", completion)).toEqual({ kind: "applied" });
    expect(await storage.lookUp(intent.executionId)).toMatchObject({
      state: "done",
      done: { commitId: commitId(1, 50) },
    });
  });

  test("a completion whose condition fails applies nothing", async (storage) => {
    const { epoch } = await storage.takeOver();
    const completion = completionOf(intentOf(1), [{ unit: X, value: encode("1") }]);
    expect(await storage.complete(epoch, "pending", completion)).toEqual({ kind: "exists", record: null });
    await storage.storeIntent(epoch, intentOf(1));
    expect(await storage.complete(epoch, "new", completion)).toMatchObject({
      kind: "exists",
      record: { state: "pending" },
    });
    expect(await loadOne(storage, X)).toEqual(undefined);
  });

  test("outcomes of every kind are kept", async (storage) => {
    const { epoch } = await storage.takeOver();
    const outcomes: readonly Outcome[] = [
      OUTCOME,
      { kind: "abort", status: 409, code: "taken", message: "it is" },
      { kind: "trap", code: "assertion_failed", message: "no" },
    ];
    for (const [index, outcome] of outcomes.entries()) {
      await storage.complete(epoch, "new", { ...completionOf(intentOf(index + 1), []), outcome });
      expect(await storage.lookUp(executionId(index + 1))).toMatchObject({ done: { outcome } });
    }
  });

  test("after a take-over the earlier server can change nothing", async (storage) => {
    const { epoch } = await storage.takeOver();
    await storage.storeIntent(epoch, intentOf(1));
    await storage.takeOver();
    expect(await storage.storeIntent(epoch, intentOf(2))).toEqual({ kind: "fenced" });
    const completion = completionOf(intentOf(1), [{ unit: X, value: encode("1") }]);
    expect(await storage.complete(epoch, "pending", completion)).toEqual({ kind: "fenced" });
    expect(await storage.complete(epoch, "new", completionOf(intentOf(3), []))).toEqual({ kind: "fenced" });
    expect(await loadOne(storage, X)).toEqual(undefined);
    expect(await storage.lookUp(executionId(1))).toMatchObject({ state: "pending" });
  });

  test("a take-over finds the pending intents", async (storage) => {
    const { epoch } = await storage.takeOver();
    for (const number of [1, 2, 3]) await storage.storeIntent(epoch, intentOf(number));
    await storage.complete(epoch, "pending", completionOf(intentOf(2), [], 5_000));
    await storage.complete(epoch, "new", completionOf(intentOf(4), [], 4_000));
    const { pending } = await storage.takeOver();
    expect(pending).toEqual([intentOf(1), intentOf(3)]);
  });

  test("old done intents are collected, pending ones never", async (storage) => {
    const { epoch } = await storage.takeOver();
    await storage.storeIntent(epoch, intentOf(1));
    await storage.complete(epoch, "new", completionOf(intentOf(2), [{ unit: X, value: encode("1") }], 1_000));
    await storage.complete(epoch, "new", completionOf(intentOf(3), [], 2_000));
    expect(await storage.collect(2_000)).toEqual(1);
    expect(await storage.lookUp(executionId(2))).toEqual(null);
    expect(await storage.lookUp(executionId(3))).toMatchObject({ state: "done" });
    expect(await storage.lookUp(executionId(1))).toMatchObject({ state: "pending" });
    expect(await loadOne(storage, X)).toMatchObject({ commitId: commitId(1, 2) });
  });

  test("operations under way at once: one of two completions wins", async (storage) => {
    const { epoch } = await storage.takeOver();
    await storage.storeIntent(epoch, intentOf(1));
    const kinds = await Promise.all(
      ["1", "2", "3"].map((value) =>
        storage.complete(epoch, "pending", completionOf(intentOf(1), [{ unit: X, value: encode(value) }])),
      ),
    );
    expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(["applied", "exists", "exists"]);
  });

  test("modules are kept, with the plans of their handlers", async (storage) => {
    const plans = new Map([
      ["f", "sliced"],
      ["g", "near-storage"],
    ] as const);
    await storage.storeModule({ hash: MODULE, plans }, encode("content"));
    await storage.storeModule({ hash: MODULE, plans }, encode("content"));
    expect(await storage.modules()).toEqual([{ hash: MODULE, plans }]);
    expect(await storage.moduleContent(MODULE)).toEqual(encode("content"));
    expect(await storage.moduleContent("b".repeat(64) as ModuleHash)).toEqual(null);
  });

  test("everything is still there after closing and opening", async (storage, reopen) => {
    if (reopen === null) return;
    const { epoch } = await storage.takeOver();
    await storage.storeIntent(epoch, intentOf(1));
    await storage.complete(epoch, "new", completionOf(intentOf(2), [{ unit: X, value: encode("1") }]));
    await storage.storeModule({ hash: MODULE, plans: new Map() }, encode("content"));
    const opened = await reopen();
    const { epoch: next, pending } = await opened.takeOver();
    expect(next).toEqual(epoch + 1);
    expect(pending).toEqual([intentOf(1)]);
    expect(await loadOne(opened, X)).toEqual({ commitId: commitId(1, 2), value: encode("1") });
    expect((await opened.modules()).length).toEqual(1);
  });
}
