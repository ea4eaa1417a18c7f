/**
 * What every implementation of the storage port must do. A test file of each calls `describeStorage` with the test
 * functions of its runner and a way to open a fresh storage.
 */
import {
  CborWriter,
  commitId,
  compareKeys,
  INDEX_STATES,
  entryOf,
  type ExecutionId,
  type Key,
  MAX_VALUE_BYTES,
  type ModuleHash,
  type Outcome,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import type { Expectation } from "../core/events.ts";
import {
  type Completion,
  completionHash,
  doneIntentOf,
  type Intent,
  type OutcomeKept,
  type RecordChange,
  withoutOutcome,
} from "../core/intent.ts";
import type { StoredItem } from "../core/version-table.ts";
import { type CollectionDue, type Commit, commitOf, type CommitResult, type Storage, StorageError } from "./storage.ts";
import { describeTasks } from "./task-conformance.ts";
import { describeWorkflows } from "./workflow-conformance.ts";

/** The part of a test runner that the suite needs. */
export interface Runner {
  readonly test: (name: string, run: () => Promise<void>) => void;
  readonly expect: (value: unknown) => { toEqual(expected: unknown): void; toMatchObject(expected: object): void };
}

export interface StorageUnderTest {
  readonly storage: Storage;
  /** Closes it and opens what it kept; null if the implementation keeps nothing. */
  readonly reopen: (() => Promise<Storage>) | null;
  /** It deletes what has been done for long by itself. */
  readonly expires: boolean;
  readonly dispose: () => Promise<void>;
}

/** Bytes that an application may store: CBOR of every kind, and what is none. */
const VALUES: readonly Uint8Array[] = [
  ...[0, 23, 24, 255, 65_536, -1, 2n ** 53n, -(2n ** 53n), 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)].map((number) =>
    new CborWriter().integer(number).finish(),
  ),
  ...[0, -0, 1, 1.5, 0.1, -1e-7, 5e-324, 1e-130, 1e125, 1.7976931348623157e308, Number.NaN, Infinity, -Infinity].map(
    (number) => new CborWriter().float(number).finish(),
  ),
  ...["", "a", "\u{1F600} ü\0", "\uFEFFmark"].map((text) => new CborWriter().text(text).finish()),
  new CborWriter().bytes(new Uint8Array(0)).finish(),
  new CborWriter().bytes(Uint8Array.of(0, 255)).finish(),
  new CborWriter().boolean(true).finish(),
  new CborWriter().null().finish(),
  new CborWriter().array(0).finish(),
  new CborWriter().array(3).integer(1).float(1).text("1").finish(),
  new CborWriter().array(2).map(0).map(1).text("x").null().finish(),
  // Fields out of their sorted order, a float that is whole, a list of records.
  new CborWriter()
    .map(4)
    .text("z")
    .float(2)
    .text("a")
    .integer(2)
    .text('"quoted" \\ {[.f,]}')
    .boolean(false)
    .text("list")
    .array(2)
    .map(2)
    .text("b")
    .float(1)
    .text("a")
    .integer(1)
    .map(2)
    .text("b")
    .float(0.5)
    .text("a")
    .integer(2)
    .finish(),
  new CborWriter().map(1).text("").integer(1).finish(),
  new CborWriter().map(2).text("__proto__").integer(1).text("10").integer(2).finish(),
  new CborWriter().map(2).text("same").integer(1).text("same").integer(2).finish(),
  // Nested deeper than attributes go.
  Uint8Array.from([...Array<number>(60).fill(0x81), 0x01]),
  // No CBOR, CBOR with something after it, a head that is not the shortest, another NaN.
  new Uint8Array(0),
  Uint8Array.of(0xff),
  Uint8Array.of(0x01, 0x01),
  Uint8Array.of(0x18, 0x01),
  Uint8Array.of(0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1),
];

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
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
    environment: {
      timeMs: 1_700_000_000_000 + number,
      seed: new Uint8Array(16).fill(number),
      caller: number % 2 === 0 ? null : `caller ${number}`,
    },
    location: "va",
    units: [
      { unit: X, mode: "read-write", version: entryOf(commitId(0, 1), encode("x")).version },
      { unit: Y, mode: "write", version: null },
    ],
    retained: number % 3 === 0,
    mustNotWrite: number % 2 === 0,
    lanes: [],
    createdAtMs: 1_000 + number,
  };
}

function completionOf(
  intent: Intent,
  writes: readonly Write[],
  doneAtMs = 2_000,
  keeps: OutcomeKept = "retained",
): Completion {
  const { units: _, createdAtMs: __, retained: ___, mustNotWrite: ____, lanes: _____, ...invocation } = intent;
  const call = { key: "key", hash: intent.executionId.repeat(2) };
  const resultHash = completionHash(OUTCOME, writes);
  return { ...invocation, outcome: OUTCOME, writes, resultHash, doneAtMs, call, keeps, tasks: [] };
}

/** What was done before times, at most ten of each. */
const due = (doneBeforeMs: number, toldBeforeMs = 0, limit = 10): CollectionDue => ({
  doneBeforeMs,
  toldBeforeMs,
  limit,
});

/** As the LVI server ends one execution. */
export function complete(
  storage: Pick<Storage, "commit">,
  epoch: number,
  expects: Expectation,
  completion: Completion,
): Promise<CommitResult> {
  return storage.commit(epoch, commitOf([{ expects, completion }]));
}

/** However large the items are. */
export async function loadAll(
  storage: Pick<Storage, "load">,
  units: readonly UnitId[],
): Promise<ReadonlyMap<UnitId, StoredItem>> {
  const items = await storage.load(units, Number.POSITIVE_INFINITY);
  if (items === null) throw new Error("more than everything");
  return items;
}

export function describeStorage(runner: Runner, open: () => Promise<StorageUnderTest>): void {
  const { expect } = runner;
  const test = (
    name: string,
    run: (storage: Storage, reopen: StorageUnderTest["reopen"], expires: boolean) => Promise<void>,
  ): void =>
    runner.test(name, async () => {
      const { storage, reopen, expires, dispose } = await open();
      try {
        await run(storage, reopen, expires);
      } finally {
        await dispose();
      }
    });
  /** A server that starts; the one before it is given up. */
  const takeOver = async (storage: Storage): Promise<{ epoch: number; pending: readonly Intent[] }> => {
    const leadership = await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
    if (leadership === null) throw new Error("the leadership was not acquired");
    return { epoch: leadership.epoch, pending: await storage.recover(leadership.epoch) };
  };
  const loadOne = async (storage: Storage, unit: UnitId): Promise<unknown> =>
    (await loadAll(storage, [unit])).get(unit);

  test("a new storage is written in the newest schema, and there is nothing to upgrade", async (storage, reopen) => {
    const schema = await storage.readSchema();
    expect(schema.written).toEqual(schema.newest);
    const { epoch } = await takeOver(storage);
    expect(await storage.upgrade(epoch, true)).toEqual(schema);
    if (reopen !== null) expect(await (await reopen()).readSchema()).toEqual(schema);
  });

  test("the leadership is acquired as it was seen, with the next epoch; and renewed, and released", async (storage) => {
    const none = await storage.readLeadership();
    expect(none).toEqual({ epoch: 0, beat: 0, termMs: 0, readLeaseMs: 0 });
    expect(await storage.acquireLeadership(none, 1_000, 0)).toEqual({
      epoch: 1,
      beat: 0,
      termMs: 1_000,
      readLeaseMs: 0,
    });
    expect(await storage.acquireLeadership(none, 1_000, 0)).toEqual(null);

    const seen = await storage.readLeadership();
    expect(seen).toEqual({ epoch: 1, beat: 0, termMs: 1_000, readLeaseMs: 0 });
    expect(await storage.renewLeadership(1, 2_000)).toEqual(true);
    expect(await storage.readLeadership()).toEqual({ epoch: 1, beat: 1, termMs: 2_000, readLeaseMs: 0 });
    // It lives: what was seen of it is not true any more.
    expect(await storage.acquireLeadership(seen, 1_000, 0)).toEqual(null);

    expect(await storage.renewLeadership(1, 0)).toEqual(true);
    const released = await storage.readLeadership();
    expect(released).toMatchObject({ epoch: 1, termMs: 0, readLeaseMs: 0 });
    expect(await storage.acquireLeadership(released, 1_000, 0)).toMatchObject({ epoch: 2 });
    expect(await storage.renewLeadership(1, 1_000)).toEqual(false);

    // Epochs may leave others out.
    const second = await storage.readLeadership();
    expect(await storage.acquireLeadership(second, 1_000, 0, undefined, 4_000_000_000)).toMatchObject({
      epoch: 4_000_000_000,
    });
    expect(await storage.renewLeadership(4_000_000_000, 1_000)).toEqual(true);
  });

  test("the leadership says how long read leases may last, until it is given up", async (storage) => {
    expect(await storage.acquireLeadership(await storage.readLeadership(), 1_000, 300)).toMatchObject({
      readLeaseMs: 300,
    });
    await storage.renewLeadership(1, 1_000);
    const seen = await storage.readLeadership();
    expect(seen).toEqual({ epoch: 1, beat: 1, termMs: 1_000, readLeaseMs: 300 });
    // A successor that gives none may have inherited some.
    expect(await storage.acquireLeadership(seen, 1_000, 400)).toMatchObject({ epoch: 2, readLeaseMs: 400 });
    // Before it gives the first one itself, it names the time, which does not get shorter.
    expect(await storage.nameReadLeases(2, 500)).toEqual(true);
    expect(await storage.nameReadLeases(2, 300)).toEqual(true);
    expect(await storage.readLeadership()).toEqual({ epoch: 2, beat: 0, termMs: 1_000, readLeaseMs: 500 });
    expect(await storage.nameReadLeases(1, 900)).toEqual(false);
    expect(await storage.readLeadership()).toMatchObject({ readLeaseMs: 500 });
    await storage.renewLeadership(2, 0);
    expect(await storage.readLeadership()).toMatchObject({ epoch: 2, termMs: 0, readLeaseMs: 0 });
  });

  test("the leadership says where its holder can be asked, if it has said so", async (storage) => {
    const leader = "https://primary-1.example";
    expect(await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0, leader)).toMatchObject({ leader });
    await storage.renewLeadership(1, 1_000);
    const seen = await storage.readLeadership();
    expect(seen).toMatchObject({ epoch: 1, beat: 1, leader });
    expect(await storage.acquireLeadership(seen, 1_000, 0)).toEqual({
      epoch: 2,
      beat: 0,
      termMs: 1_000,
      readLeaseMs: 0,
    });
    expect(await storage.readLeadership()).toEqual({ epoch: 2, beat: 0, termMs: 1_000, readLeaseMs: 0 });
  });

  test("of two servers that see the same leadership one gets it", async (storage) => {
    const seen = await storage.readLeadership();
    const leaderships = await Promise.all([1, 2, 3].map(() => storage.acquireLeadership(seen, 1_000, 0)));
    expect(leaderships.filter((leadership) => leadership !== null)).toEqual([
      { epoch: 1, beat: 0, termMs: 1_000, readLeaseMs: 0 },
    ]);
  });

  test("absent items are not in the answer", async (storage) => {
    await takeOver(storage);
    expect((await loadAll(storage, [X, Y])).size).toEqual(0);
  });

  test("a completion of a new execution applies its writes", async (storage) => {
    const { epoch } = await takeOver(storage);
    const completion = completionOf(intentOf(1), [
      { unit: X, value: encode("1") },
      { unit: Y, value: encode("") },
    ]);
    expect(await complete(storage, epoch, "new", completion)).toEqual({ kind: "applied" });
    const items = await loadAll(storage, [Y, X]);
    expect(items.get(X)).toEqual({ commitId: completion.commitId, value: encode("1") });
    expect(items.get(Y)).toEqual({ commitId: completion.commitId, value: encode("") });
  });

  test("deletes; and keys are taken as they are", async (storage) => {
    const { epoch } = await takeOver(storage);
    const odd = unitId("t", "a/b'\"%_\u{1F600} ü");
    await complete(storage, epoch, "new", completionOf(intentOf(1), [{ unit: odd, value: encode("1") }]));
    expect(await loadOne(storage, odd)).toEqual({ commitId: commitId(1, 1), value: encode("1") });
    await complete(storage, epoch, "new", completionOf(intentOf(2), [{ unit: odd, value: null }]));
    expect(await loadOne(storage, odd)).toEqual(undefined);
    // Deleting what is absent is fine.
    expect(await complete(storage, epoch, "new", completionOf(intentOf(3), [{ unit: odd, value: null }]))).toEqual({
      kind: "applied",
    });
  });

  test("an intent is stored once; the second gets the first as it is", async (storage) => {
    const { epoch } = await takeOver(storage);
    const intent = intentOf(1);
    expect(await storage.storeIntent(epoch, intent)).toEqual({ kind: "stored" });
    const other = { ...intent, commitId: commitId(1, 99), handler: "g" };
    expect(await storage.storeIntent(epoch, other)).toEqual({ kind: "exists", record: { state: "pending", intent } });
    expect(await storage.lookUp(epoch, intent.executionId)).toEqual({ state: "pending", intent });
    expect(await storage.lookUp(epoch, executionId(7))).toEqual(null);
  });

  test("a pending intent is completed once", async (storage) => {
    const { epoch } = await takeOver(storage);
    const intent = intentOf(1);
    await storage.storeIntent(epoch, intent);
    const completion = completionOf(intent, [{ unit: X, value: encode("1") }]);
    expect(await complete(storage, epoch, "pending", completion)).toEqual({ kind: "applied" });
    const again = completionOf(intent, [{ unit: X, value: encode("2") }]);
    const done = doneIntentOf(completion);
    expect(await complete(storage, epoch, "pending", again)).toEqual({
      kind: "exists",
      id: intent.executionId,
      record: { state: "done", done },
    });
    expect(await loadOne(storage, X)).toEqual({ commitId: completion.commitId, value: encode("1") });
    expect(await storage.storeIntent(epoch, intent)).toEqual({ kind: "exists", record: { state: "done", done } });
    expect(await storage.lookUp(epoch, intent.executionId)).toEqual({ state: "done", done });
  });

  test("a completion may take another commit id than its intent", async (storage) => {
    const { epoch } = await takeOver(storage);
    const intent = intentOf(1);
    await storage.storeIntent(epoch, intent);
    const completion = completionOf({ ...intent, commitId: commitId(1, 50) }, [{ unit: X, value: encode("1") }]);
    expect(await complete(storage, epoch, "pending", completion)).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, intent.executionId)).toMatchObject({
      state: "done",
      done: { commitId: commitId(1, 50) },
    });
  });

  test("a completion whose condition fails applies nothing", async (storage) => {
    const { epoch } = await takeOver(storage);
    const completion = completionOf(intentOf(1), [{ unit: X, value: encode("1") }]);
    const { executionId: id } = completion;
    expect(await complete(storage, epoch, "pending", completion)).toEqual({ kind: "exists", id, record: null });
    await storage.storeIntent(epoch, intentOf(1));
    expect(await complete(storage, epoch, "new", completion)).toMatchObject({
      kind: "exists",
      record: { state: "pending" },
    });
    expect(await loadOne(storage, X)).toEqual(undefined);
  });

  test("outcomes of every kind are kept", async (storage) => {
    const { epoch } = await takeOver(storage);
    const outcomes: readonly Outcome[] = [
      OUTCOME,
      { kind: "abort", status: 409, code: "taken", message: "it is" },
      { kind: "trap", code: "assertion_failed", message: "no" },
    ];
    for (const [index, outcome] of outcomes.entries()) {
      await complete(storage, epoch, "new", { ...completionOf(intentOf(index + 1), []), outcome });
      expect(await storage.lookUp(epoch, executionId(index + 1))).toMatchObject({
        done: { outcome: { value: outcome } },
      });
    }
  });

  test("after a take-over the earlier server completes nothing", async (storage) => {
    const { epoch: first } = await takeOver(storage);
    await storage.storeIntent(first, intentOf(1));
    const { epoch } = await takeOver(storage);
    const completion = completionOf(intentOf(1), [{ unit: X, value: encode("1") }]);
    expect(await complete(storage, first, "pending", completion)).toEqual({ kind: "fenced" });
    expect(await complete(storage, first, "new", completionOf(intentOf(3), [{ unit: Y, value: encode("1") }]))).toEqual(
      {
        kind: "fenced",
      },
    );
    expect((await loadAll(storage, [X, Y])).size).toEqual(0);
    expect(await storage.lookUp(epoch, executionId(1))).toMatchObject({ state: "pending" });
    expect(await complete(storage, epoch, "pending", completion)).toEqual({ kind: "applied" });
    // It is told so also where its own intent was completed by the other.
    expect(await complete(storage, first, "pending", completion)).toEqual({ kind: "fenced" });
    expect(await storage.storeIntent(first, intentOf(1))).toEqual({ kind: "fenced" });
  });

  test("an intent that an earlier server stores too late counts as not there", async (storage) => {
    const { epoch: first } = await takeOver(storage);
    const { epoch: second } = await takeOver(storage);
    // Whatever it is told, it must not act on it: it has the leadership no more.
    for (const number of [1, 2, 3]) await storage.storeIntent(first, intentOf(number));
    expect(await storage.lookUp(second, executionId(1))).toEqual(null);
    const fresh = { ...intentOf(1), commitId: commitId(second, 1) };
    expect(await storage.storeIntent(second, fresh)).toEqual({ kind: "stored" });
    const other = { ...completionOf(intentOf(2), []), commitId: commitId(second, 2) };
    expect(await complete(storage, second, "new", other)).toEqual({ kind: "applied" });
    const { epoch: third, pending } = await takeOver(storage);
    expect(pending).toEqual([fresh]);
    expect(await storage.lookUp(third, executionId(2))).toMatchObject({ state: "done" });
    expect(await storage.lookUp(third, executionId(3))).toEqual(null);
  });

  test("what a server has adopted, the next one adopts too", async (storage) => {
    const { epoch } = await takeOver(storage);
    await storage.storeIntent(epoch, intentOf(1));
    for (let i = 0; i < 3; i++) expect((await takeOver(storage)).pending).toEqual([intentOf(1)]);
  });

  test("an intent of a server that was cut off while the next one recovered is adopted by the one after", async (storage) => {
    const { epoch } = await takeOver(storage);
    // The next server gets the leadership and dies before it has recovered.
    await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
    await storage.storeIntent(epoch, intentOf(1));
    const { pending } = await takeOver(storage);
    const record = await storage.lookUp(epoch + 2, executionId(1));
    // Stored or refused: what was stored is adopted.
    expect(pending.length).toEqual(record === null ? 0 : 1);
  });

  test("a server that has lost the leadership recovers nothing", async (storage) => {
    const { epoch } = await takeOver(storage);
    await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
    const failure: unknown = await storage.recover(epoch).catch((error: unknown) => error);
    expect(failure instanceof StorageError && failure.effect).toEqual("none");
  });

  test("recovery finds the pending intents", async (storage) => {
    const { epoch } = await takeOver(storage);
    for (const number of [1, 2, 3]) await storage.storeIntent(epoch, intentOf(number));
    await complete(storage, epoch, "pending", completionOf(intentOf(2), [], 5_000));
    await complete(storage, epoch, "new", completionOf(intentOf(4), [], 4_000));
    const { pending } = await takeOver(storage);
    expect(pending).toEqual([intentOf(1), intentOf(3)]);
  });

  test("old done intents are collected, pending ones never", async (storage, _, expires) => {
    const { epoch } = await takeOver(storage);
    await storage.storeIntent(epoch, intentOf(1));
    await complete(storage, epoch, "new", completionOf(intentOf(2), [{ unit: X, value: encode("1") }], 1_000));
    await complete(storage, epoch, "new", completionOf(intentOf(3), [], 2_000));
    expect(await storage.collect(due(2_000))).toEqual({ intents: expires ? 0 : 1, outcomes: 0 });
    expect((await storage.lookUp(epoch, executionId(2))) === null).toEqual(!expires);
    expect(await storage.lookUp(epoch, executionId(3))).toMatchObject({ state: "done" });
    expect(await storage.lookUp(epoch, executionId(1))).toMatchObject({ state: "pending" });
    expect(await loadOne(storage, X)).toMatchObject({ commitId: commitId(1, 2) });
  });

  test("done intents are collected in batches, the oldest first", async (storage, _, expires) => {
    const { epoch } = await takeOver(storage);
    for (const number of [3, 1, 2]) await complete(storage, epoch, "new", completionOf(intentOf(number), [], number));
    expect(await storage.collect(due(10, 0, 2))).toEqual({ intents: expires ? 0 : 2, outcomes: 0 });
    const left = await Promise.all([1, 2, 3].map((number) => storage.lookUp(epoch, executionId(number))));
    expect(left.map((record) => record !== null)).toEqual(expires ? [true, true, true] : [false, false, true]);
    expect(await storage.collect(due(10, 0, 2))).toEqual({ intents: expires ? 0 : 1, outcomes: 0 });
    expect(await storage.collect(due(10, 0, 2))).toEqual({ intents: 0, outcomes: 0 });
  });

  test("the next server finds pending intents as they were: whether the client chose the id, and whether they must not write", async (storage, reopen) => {
    const { epoch } = await takeOver(storage);
    const intents = [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ].map(([retained, mustNotWrite], index) => ({ ...intentOf(index + 1), retained, mustNotWrite }) as Intent);
    for (const intent of intents) await storage.storeIntent(epoch, intent);
    const next = reopen === null ? storage : await reopen();
    expect((await takeOver(next)).pending).toEqual(intents);
  });

  test("of a done execution its outcome is kept as long as it says, also by the next server; its arguments are not", async (storage, reopen) => {
    const { epoch } = await takeOver(storage);
    const kinds: readonly OutcomeKept[] = ["not", "briefly", "retained"];
    const completions = kinds.flatMap((keeps, index) => [
      completionOf(intentOf(2 * index + 1), [{ unit: X, value: encode("1") }], 1_000, keeps),
      completionOf(intentOf(2 * index + 2), [], 2_000, keeps),
    ]);
    for (const [index, completion] of completions.entries()) {
      // The record of one half is that of a pending intent, made done.
      if (index % 2 === 0) await storage.storeIntent(epoch, intentOf(index + 1));
      await complete(storage, epoch, index % 2 === 0 ? "pending" : "new", completion);
    }
    const expectKept = async (of: Storage, by: number, forgotten: readonly Completion[]): Promise<void> => {
      for (const completion of completions) {
        const done = doneIntentOf(completion);
        expect(await of.lookUp(by, completion.executionId)).toEqual({
          state: "done",
          done: forgotten.includes(completion) ? withoutOutcome(done) : done,
        });
      }
    };
    expect(completions.map((completion) => doneIntentOf(completion).outcome !== null)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
    await expectKept(storage, epoch, []);
    expect(await storage.collect(due(0, 1_000))).toEqual({ intents: 0, outcomes: 0 });
    expect(await storage.collect(due(0, 2_000))).toEqual({ intents: 0, outcomes: 1 });
    await expectKept(storage, epoch, [completions[2]!]);

    const next = reopen === null ? storage : await reopen();
    const { epoch: second, pending } = await takeOver(next);
    expect(pending).toEqual([]);
    await expectKept(next, second, [completions[2]!]);
    expect(await next.collect(due(0, 2_001))).toEqual({ intents: 0, outcomes: 1 });
    expect(await next.collect(due(0, 2_001))).toEqual({ intents: 0, outcomes: 0 });
    await expectKept(next, second, [completions[2]!, completions[3]!]);
  });

  test("outcomes that were kept briefly go in batches, also large ones, and of what was applied in parts", async (storage) => {
    const { epoch } = await takeOver(storage);
    const outcome: Outcome = { kind: "result", value: new Uint8Array(900_000).fill(8) };
    const writes = Array.from({ length: 120 }, (_, index) => ({
      unit: unitId("t", `many ${index}`),
      value: encode("1"),
    }));
    for (const number of [1, 2, 3]) {
      const completion = completionOf(intentOf(number), number === 1 ? writes : [], number, "briefly");
      await complete(storage, epoch, "new", { ...completion, outcome });
    }
    expect(await storage.lookUp(epoch, executionId(1))).toMatchObject({
      done: { outcome: { keeps: "briefly", value: outcome } },
    });
    expect(await storage.collect(due(0, 10, 2))).toEqual({ intents: 0, outcomes: 2 });
    expect(await storage.collect(due(0, 10, 2))).toEqual({ intents: 0, outcomes: 1 });
    for (const number of [1, 2, 3])
      expect(await storage.lookUp(epoch, executionId(number))).toMatchObject({
        state: "done",
        done: { outcome: null },
      });
    expect(
      (
        await loadAll(
          storage,
          writes.map(({ unit }) => unit),
        )
      ).size,
    ).toEqual(120);
  });

  for (const expects of ["pending", "new"] as const) {
    test(`a write set of 250 items is applied whole, if ${expects}`, async (storage) => {
      const { epoch } = await takeOver(storage);
      const units = Array.from({ length: 250 }, (_, index) => unitId("t", `many ${index}`));
      const removed = units.slice(0, 10);
      await complete(
        storage,
        epoch,
        "new",
        completionOf(
          intentOf(9),
          removed.map((unit) => ({ unit, value: encode("old") })),
        ),
      );
      if (expects === "pending") await storage.storeIntent(epoch, intentOf(1));
      const completion = completionOf(
        intentOf(1),
        units.map((unit, index) => ({ unit, value: index < removed.length ? null : encode(`value ${index}`) })),
      );
      expect(await complete(storage, epoch, expects, completion)).toEqual({ kind: "applied" });
      const items = await loadAll(storage, units);
      expect(items.size).toEqual(240);
      expect(items.get(units[249]!)).toEqual({ commitId: commitId(1, 1), value: encode("value 249") });
      // The same again finds it done.
      const done = doneIntentOf(completion);
      const record = { state: "done", done };
      const { executionId: id } = completion;
      expect(await complete(storage, epoch, expects, completion)).toEqual({ kind: "exists", id, record });
      expect((await takeOver(storage)).pending).toEqual([]);
    });
  }

  test("a write set of 4 MB in values of 300 KB is applied whole", async (storage) => {
    const { epoch } = await takeOver(storage);
    const intent = intentOf(1);
    await storage.storeIntent(epoch, intent);
    const writes = Array.from({ length: 13 }, (_, index) => ({
      unit: unitId("t", `large ${index}`),
      value: new Uint8Array(300_000).fill(index),
    }));
    expect(await complete(storage, epoch, "pending", completionOf(intent, writes))).toEqual({ kind: "applied" });
    const items = await loadAll(
      storage,
      writes.map(({ unit }) => unit),
    );
    for (const { unit, value } of writes) expect(isSame(items.get(unit)!.value, value)).toEqual(true);
    expect((await takeOver(storage)).pending).toEqual([]);
  });

  test("the largest value is kept, and the smallest", async (storage) => {
    const { epoch } = await takeOver(storage);
    const longest = unitId("t".repeat(64), "k".repeat(512));
    const value = new Uint8Array(MAX_VALUE_BYTES).fill(0x01);
    const writes = [
      { unit: longest, value },
      { unit: X, value: new Uint8Array(0) },
    ];
    expect(await complete(storage, epoch, "new", completionOf(intentOf(1), writes))).toEqual({ kind: "applied" });
    const items = await loadAll(storage, [longest, X]);
    expect(isSame(items.get(longest)!.value, value)).toEqual(true);
    expect(items.get(X)!.value.length).toEqual(0);
  });

  test("an intent of ten thousand units, and arguments and results of a megabyte", async (storage) => {
    const { epoch } = await takeOver(storage);
    const intent: Intent = {
      ...intentOf(1),
      args: new Uint8Array(1_000_000).fill(7),
      units: Array.from({ length: 10_000 }, (_, index) => ({
        unit: unitId("t", `${"k".repeat(400)}${index}`),
        mode: "write",
        version: null,
      })),
    };
    expect(await storage.storeIntent(epoch, intent)).toEqual({ kind: "stored" });
    expect((await takeOver(storage)).pending.length).toEqual(1);
    const { epoch: second, pending } = await takeOver(storage);
    expect(pending.map(({ units }) => units.length)).toEqual([10_000]);
    expect(pending[0]!.units.at(-1)).toEqual(intent.units.at(-1)!);
    const outcome: Outcome = { kind: "result", value: new Uint8Array(1_000_000).fill(8) };
    const completion = { ...completionOf(intent, [{ unit: X, value: encode("1") }]), outcome };
    expect(await complete(storage, second, "pending", completion)).toEqual({ kind: "applied" });
    const record = await storage.lookUp(second, intent.executionId);
    const kept = record?.state === "done" ? (record.done.outcome?.value ?? null) : null;
    if (kept?.kind !== "result") throw new Error("not done");
    expect(isSame(kept.value, outcome.value)).toEqual(true);
  });

  test("a thousand units at once, some twice, some absent", async (storage) => {
    const { epoch } = await takeOver(storage);
    const units = Array.from({ length: 1_000 }, (_, index) => unitId("t", `unit ${index}`));
    const written = units.slice(0, 90);
    await complete(
      storage,
      epoch,
      "new",
      completionOf(
        intentOf(1),
        written.map((unit) => ({ unit, value: encode(unit) })),
      ),
    );
    const items = await loadAll(storage, [...units, ...units.slice(0, 50)]);
    expect([...items.keys()].toSorted(compareKeys)).toEqual(written.toSorted(compareKeys));
  });

  test("no more is loaded than was asked for", async (storage) => {
    const { epoch } = await takeOver(storage);
    const units = Array.from({ length: 8 }, (_, index) => unitId("t", `large ${index}`));
    const value = encode("v".repeat(1_000));
    await complete(
      storage,
      epoch,
      "new",
      completionOf(
        intentOf(1),
        units.map((unit) => ({ unit, value })),
      ),
    );
    const all = units.length * value.length;
    expect((await storage.load(units, all))?.size).toEqual(units.length);
    expect(await storage.load(units, all - 1)).toEqual(null);
    expect((await storage.load(units.slice(1), all - 1))?.size).toEqual(units.length - 1);
    expect((await storage.load([X], 0))?.size).toEqual(0);
  });

  test("values of every kind come back byte for byte", async (storage) => {
    const { epoch } = await takeOver(storage);
    const writes = VALUES.map((value, index) => ({ unit: unitId("values", String(index)), value }));
    await complete(storage, epoch, "new", completionOf(intentOf(1), writes));
    const items = await loadAll(
      storage,
      writes.map(({ unit }) => unit),
    );
    for (const { unit, value } of writes) expect([unit, [...items.get(unit)!.value]]).toEqual([unit, [...value]]);
  });

  test("operations under way at once: one of two completions wins", async (storage) => {
    const { epoch } = await takeOver(storage);
    await storage.storeIntent(epoch, intentOf(1));
    const kinds = await Promise.all(
      ["1", "2", "3"].map((value) =>
        complete(storage, epoch, "pending", completionOf(intentOf(1), [{ unit: X, value: encode(value) }])),
      ),
    );
    expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(["applied", "exists", "exists"]);
  });

  test("many completions at once: each has its own answer", async (storage) => {
    const { epoch } = await takeOver(storage);
    const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
    const completionsOf = (value: string): readonly Completion[] =>
      numbers.map((number) =>
        completionOf(intentOf(number), [{ unit: unitId("t", `one of many ${number}`), value: encode(value) }]),
      );
    await Promise.all(numbers.map((number) => storage.storeIntent(epoch, intentOf(number))));
    const isEarly = (number: number): boolean => number % 7 === 0;
    const early = completionsOf("early").filter((_, index) => isEarly(numbers[index]!));
    for (const completion of early) await complete(storage, epoch, "pending", completion);
    const results = await Promise.all(
      completionsOf("late").map((completion) => complete(storage, epoch, "pending", completion)),
    );
    expect(results.map(({ kind }) => kind)).toEqual(numbers.map((number) => (isEarly(number) ? "exists" : "applied")));
    const items = await loadAll(
      storage,
      numbers.map((number) => unitId("t", `one of many ${number}`)),
    );
    for (const number of numbers) {
      const value = encode(isEarly(number) ? "early" : "late");
      expect(items.get(unitId("t", `one of many ${number}`))!.value).toEqual(value);
    }
    expect((await takeOver(storage)).pending).toEqual([]);
  });

  /** Of several executions that end together; what each of them writes. */
  const together = (
    ends: readonly {
      readonly number: number;
      readonly expects?: Expectation;
      readonly writes: readonly Write[];
    }[],
  ): { readonly commit: Commit; readonly completions: readonly Completion[] } => {
    const completions = ends.map(({ number, writes }) => completionOf(intentOf(number), writes));
    const commit = commitOf(
      completions.map((completion, index) => ({ expects: ends[index]!.expects ?? "new", completion })),
    );
    return { commit, completions };
  };
  const manyWrites = (count: number, text: string): readonly Write[] =>
    Array.from({ length: count }, (_, index) => ({ unit: unitId("t", `many ${index}`), value: encode(text) }));

  test("a commit changes several records and items at once, also pending and removed records", async (storage) => {
    const { epoch } = await takeOver(storage);
    for (const number of [1, 2, 3]) await storage.storeIntent(epoch, intentOf(number));
    const { commit, completions } = together([
      { number: 1, expects: "pending", writes: [{ unit: X, value: encode("1") }] },
      { number: 4, writes: [{ unit: Y, value: encode("4") }] },
    ]);
    const advanced: Intent = { ...intentOf(2), handler: "advanced" };
    const records: readonly RecordChange[] = [
      ...commit.records,
      { id: executionId(2), expects: "pending", becomes: { state: "pending", intent: advanced } },
      { id: executionId(3), expects: "pending", becomes: null },
      { id: executionId(5), expects: "new", becomes: { state: "pending", intent: intentOf(5) } },
    ];
    expect(await storage.commit(epoch, { records, items: commit.items })).toEqual({ kind: "applied" });
    for (const completion of completions)
      expect(await storage.lookUp(epoch, completion.executionId)).toEqual({
        state: "done",
        done: doneIntentOf(completion),
      });
    expect(await storage.lookUp(epoch, executionId(3))).toEqual(null);
    const items = await loadAll(storage, [X, Y]);
    expect(items.get(X)).toEqual({ commitId: commitId(1, 1), value: encode("1") });
    expect(items.get(Y)).toEqual({ commitId: commitId(1, 4), value: encode("4") });
    expect((await takeOver(storage)).pending).toEqual([advanced, intentOf(5)]);
  });

  test("if one record is not as its change expects, a commit changes nothing, and says which", async (storage) => {
    const { epoch } = await takeOver(storage);
    for (const number of [1, 2]) await storage.storeIntent(epoch, intentOf(number));
    await complete(storage, epoch, "pending", completionOf(intentOf(2), []));
    const ends = (second: Expectation, third: Expectation, writes: readonly Write[]): Commit =>
      together([
        { number: 1, expects: "pending", writes },
        { number: 2, expects: second, writes: [] },
        { number: 3, expects: third, writes: [{ unit: Y, value: encode("3") }] },
      ]).commit;
    const done = { state: "done", done: doneIntentOf(completionOf(intentOf(2), [])) };
    for (const writes of [[{ unit: X, value: encode("1") }], manyWrites(150, "1")]) {
      for (const second of ["pending", "new"] as const)
        expect(await storage.commit(epoch, ends(second, "new", writes))).toEqual({
          kind: "exists",
          id: executionId(2),
          record: done,
        });
      const { records, items } = ends("pending", "pending", writes);
      expect(await storage.commit(epoch, { records: [records[0]!, records[2]!], items })).toEqual({
        kind: "exists",
        id: executionId(3),
        record: null,
      });
      expect((await loadAll(storage, [Y, ...writes.map(({ unit }) => unit)])).size).toEqual(0);
      expect(await storage.lookUp(epoch, executionId(1))).toMatchObject({ state: "pending" });
      expect(await storage.lookUp(epoch, executionId(3))).toEqual(null);
    }
    expect((await takeOver(storage)).pending).toEqual([intentOf(1)]);
  });

  test("a unit that several executions of a commit write has what the last one writes", async (storage) => {
    const { epoch } = await takeOver(storage);
    const Z = unitId("t", "z");
    const { commit } = together([
      { number: 1, writes: [X, Y].map((unit) => ({ unit, value: encode("1") })) },
      {
        number: 2,
        writes: [
          { unit: X, value: encode("2") },
          { unit: Y, value: null },
          { unit: Z, value: null },
        ],
      },
      {
        number: 3,
        writes: [
          { unit: X, value: encode("3") },
          { unit: Z, value: encode("3") },
        ],
      },
    ]);
    expect(await storage.commit(epoch, commit)).toEqual({ kind: "applied" });
    const items = await loadAll(storage, [X, Y, Z]);
    expect(items.get(X)).toEqual({ commitId: commitId(1, 3), value: encode("3") });
    expect(items.get(Y)).toEqual(undefined);
    expect(items.get(Z)).toEqual({ commitId: commitId(1, 3), value: encode("3") });
  });

  test("a commit of forty executions with 600 writes, large outcomes and large arguments is applied whole", async (storage) => {
    const { epoch } = await takeOver(storage);
    const large = new Uint8Array(500_000).fill(9);
    const pending: Intent = { ...intentOf(1), args: large };
    await storage.storeIntent(epoch, pending);
    const { commit, completions } = together(
      Array.from({ length: 40 }, (_, index) => ({
        number: index + 1,
        expects: index === 0 ? ("pending" as const) : ("new" as const),
        writes: Array.from({ length: 15 }, (__, write) => ({
          // Each of a hundred units is written by six of them.
          unit: unitId("t", `shared ${(15 * index + write) % 100}`),
          value: encode(`${index} ${write}`),
        })),
      })),
    );
    const outcome: Outcome = { kind: "result", value: large };
    const briefly: RecordChange = {
      ...commit.records[7]!,
      becomes: {
        state: "done",
        done: { ...doneIntentOf(completions[7]!), outcome: { value: outcome, keeps: "briefly" } },
      },
    };
    const waiting: Intent = { ...intentOf(50), args: large };
    const records: readonly RecordChange[] = [
      ...commit.records.map((change, index) => (index === 7 ? briefly : change)),
      { id: executionId(50), expects: "new", becomes: { state: "pending", intent: waiting } },
    ];
    const whole = {
      records,
      items: [...commit.items, ...manyWrites(60, "and more").map((write) => ({ ...write, commitId: commitId(1, 40) }))],
    };
    expect(await storage.commit(epoch, whole)).toEqual({ kind: "applied" });
    const expected = new Map(whole.items.map(({ unit, commitId: id, value }) => [unit, { commitId: id, value }]));
    const items = await loadAll(storage, [...expected.keys()]);
    expect(Object.fromEntries(items)).toEqual(Object.fromEntries(expected));
    for (const { executionId: id } of completions)
      expect(await storage.lookUp(epoch, id)).toMatchObject({ state: "done" });
    expect(await storage.lookUp(epoch, executionId(8))).toMatchObject({ done: { outcome: { value: outcome } } });
    // The same again finds it done.
    expect(await storage.commit(epoch, whole)).toMatchObject({ kind: "exists", id: executionId(1) });
    expect(await storage.collect(due(0, 10_000))).toEqual({ intents: 0, outcomes: 1 });
    const { epoch: next, pending: left } = await takeOver(storage);
    expect(left).toEqual([waiting]);
    expect(await storage.lookUp(next, executionId(8))).toMatchObject({ done: { outcome: null } });
  });

  test("a commit over one transaction may begin with any change of a record", async (storage) => {
    const { epoch } = await takeOver(storage);
    await storage.storeIntent(epoch, intentOf(1));
    const itemsOf = (text: string, id: number): Commit["items"] =>
      manyWrites(120, text).map((write) => ({ ...write, commitId: commitId(1, id) }));
    const advanced: Intent = { ...intentOf(1), handler: "advanced" };
    const advance: RecordChange = {
      id: executionId(1),
      expects: "pending",
      becomes: { state: "pending", intent: advanced },
    };
    expect(await storage.commit(epoch, { records: [advance], items: itemsOf("1", 1) })).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, executionId(1))).toEqual({ state: "pending", intent: advanced });
    const remove: RecordChange = { id: executionId(1), expects: "pending", becomes: null };
    expect(await storage.commit(epoch, { records: [remove], items: itemsOf("2", 2) })).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, executionId(1))).toEqual(null);
    expect(await loadOne(storage, unitId("t", "many 119"))).toEqual({ commitId: commitId(1, 2), value: encode("2") });
    expect((await takeOver(storage)).pending).toEqual([]);
  });

  test("after a take-over a commit of the earlier server changes nothing", async (storage) => {
    const { epoch: first } = await takeOver(storage);
    await storage.storeIntent(first, intentOf(1));
    const { epoch } = await takeOver(storage);
    for (const writes of [[{ unit: X, value: encode("1") }], manyWrites(150, "1")]) {
      const commits = [
        together([
          { number: 1, expects: "pending", writes },
          { number: 2, writes: [] },
        ]),
        together([
          { number: 2, writes: [] },
          { number: 1, expects: "pending", writes },
        ]),
      ];
      for (const { commit } of commits) expect(await storage.commit(first, commit)).toEqual({ kind: "fenced" });
      expect(
        (
          await loadAll(
            storage,
            writes.map(({ unit }) => unit),
          )
        ).size,
      ).toEqual(0);
    }
    expect(await storage.lookUp(epoch, executionId(1))).toMatchObject({ state: "pending" });
    expect(await storage.lookUp(epoch, executionId(2))).toEqual(null);
  });

  test("a table is scanned in the order of its keys' bytes, between two keys, and backwards", async (storage) => {
    const { epoch } = await takeOver(storage);
    // By UTF-16 code units the last two change places.
    const keys = ["a", "a\0", "a!", "ab", "b", "z", "é", "\uFFFD", "\u{1F600}"];
    const many = Array.from({ length: 90 }, (_, index) => `k${String(index).padStart(3, "0")}`);
    const all = [...keys, ...many].toSorted((a, b) => compareKeys(a as Key, b as Key));
    const writes = all.map((key) => ({ unit: unitId("sorted", key), value: encode(key) }));
    await complete(storage, epoch, "new", completionOf(intentOf(1), writes));
    const beside = ["sorte", "sorted-", "sorted0"].map((table) => ({ unit: unitId(table, "m"), value: encode("m") }));
    await complete(storage, epoch, "new", completionOf(intentOf(2), beside));
    const scanned = async (
      from: string | null,
      to: string | null,
      limit = 1_000,
      isReversed = false,
    ): Promise<string[]> =>
      (await storage.scan({ table: "sorted", from: from as Key, to: to as Key, isReversed }, limit)).map(({ unit }) =>
        unit.slice("sorted/".length),
      );
    expect(await scanned(null, null)).toEqual(all);
    expect(await scanned(null, null, 1_000, true)).toEqual(all.toReversed());
    expect(await scanned(null, null, 17)).toEqual(all.slice(0, 17));
    expect(await scanned(null, null, 17, true)).toEqual(all.toReversed().slice(0, 17));
    expect(await scanned("k010", "k020")).toEqual(many.slice(10, 20));
    expect(await scanned("k010", "k020", 3, true)).toEqual(["k019", "k018", "k017"]);
    expect(await scanned("k0105", null, 2)).toEqual(["k011", "k012"]);
    expect(await scanned(null, "a!", 9)).toEqual(["a", "a\0"]);
    expect(await scanned("\uFFFD", null)).toEqual(["\uFFFD", "\u{1F600}"]);
    for (const [from, to] of [
      ["k5", "k4"],
      ["k010", "k010"],
      ["\u{1F601}", null],
    ] as const)
      expect(await scanned(from, to)).toEqual([]);
    expect(await storage.scan({ table: "nothing", from: null, to: null }, 10)).toEqual([]);
    expect(await storage.scan({ table: "sorted", from: "b" as Key, to: "c" as Key }, 1)).toEqual([
      { unit: unitId("sorted", "b"), commitId: commitId(1, 1), value: encode("b") },
    ]);
  });

  test("modules are kept, with the plans of their handlers", async (storage) => {
    const plans = new Map([
      ["f", "sliced"],
      ["g", "near-storage"],
    ] as const);
    const content = new Uint8Array(1_000_000).map((_, index) => index);
    const tables = new Map([["f", { reads: ["posts", "users"], writes: [] }]]);
    const module = { hash: MODULE, plans, tables, usedAtMs: 1_000, registeredAtMs: 900 };
    // As an earlier release has stored it.
    const { tables: _, ...older } = module;
    await storage.storeModule(older, content);
    expect(await storage.modules()).toEqual([older]);
    await storage.storeModule({ ...module, usedAtMs: 2_000, registeredAtMs: 2_000 }, content);
    expect(await storage.modules()).toEqual([{ ...module, usedAtMs: 2_000 }]);
    await storage.useModule(MODULE, 3_000);
    expect(await storage.modules()).toEqual([{ ...module, usedAtMs: 3_000 }]);
    const workerUrl = "https://shop.example";
    await storage.storeModule({ ...module, usedAtMs: 3_000, workerUrl }, content);
    await storage.storeModule({ ...module, usedAtMs: 3_000 }, content);
    expect(await storage.modules()).toEqual([{ ...module, usedAtMs: 3_000, workerUrl }]);
    expect(isSame((await storage.moduleContent(MODULE))!, content)).toEqual(true);
    expect(await storage.moduleContent("b".repeat(64) as ModuleHash)).toEqual(null);
  });

  test("a module is removed if it was not used since, and by the server that serves", async (storage) => {
    const { epoch: first } = await takeOver(storage);
    const { epoch } = await takeOver(storage);
    const plans = new Map([["f", "sliced"]] as const);
    const content = new Uint8Array(800_000).fill(7);
    const module = { hash: MODULE, plans, usedAtMs: 1_000, registeredAtMs: 1_000 };
    const other = { ...module, hash: "b".repeat(64) as ModuleHash, indexes: ["users=email", "users.name+born"] };
    await storage.storeModule(module, content);
    await storage.storeModule(other, encode("other"));
    await storage.useModule(MODULE, 2_000);
    expect(await storage.removeModule(epoch, MODULE, 1_999)).toEqual(false);
    expect(await storage.removeModule(first, MODULE, 2_000)).toEqual(false);
    expect(isSame((await storage.moduleContent(MODULE))!, content)).toEqual(true);
    expect(await storage.removeModule(epoch, MODULE, 2_000)).toEqual(true);
    expect(await storage.modules()).toEqual([other]);
    expect(await storage.moduleContent(MODULE)).toEqual(null);
    expect(await storage.removeModule(epoch, MODULE, 2_000)).toEqual(false);
    // Whoever uses what is not there changes nothing; registered again it is as it was.
    await storage.useModule(MODULE, 3_000);
    expect(await storage.modules()).toEqual([other]);
    const again = { ...module, usedAtMs: 4_000, registeredAtMs: 4_000 };
    await storage.storeModule(again, content);
    expect((await storage.modules()).toSorted((a, b) => (a.hash < b.hash ? -1 : 1))).toEqual([again, other]);
    expect(isSame((await storage.moduleContent(MODULE))!, content)).toEqual(true);
  });

  test("entries of an index and its state change with the item, and are scanned in their own tables", async (storage) => {
    const { epoch } = await takeOver(storage);
    const state = unitId(INDEX_STATES, "users.name");
    const [first, second] = ["Ann\0k2", "Ann\u0001\u0001\0k1"].map((key) => unitId("users.name", key));
    const item = unitId("users", "k1");
    const writes = [state, first!, second!, item].map((unit) => ({ unit, value: encode(unit) }));
    await complete(storage, epoch, "new", completionOf(intentOf(1), writes));
    const unitsIn = async (table: string): Promise<readonly UnitId[]> =>
      (await storage.scan({ table, from: null, to: null }, 10)).map(({ unit }) => unit);
    expect(await unitsIn("users.name")).toEqual([first, second]);
    expect(await unitsIn(INDEX_STATES)).toEqual([state]);
    expect(await unitsIn("users")).toEqual([item]);
    const after = { table: "users.name", from: "Ann\0k2\0" as Key, to: null };
    expect((await storage.scan(after, 10)).map(({ unit }) => unit)).toEqual([second]);
    await complete(storage, epoch, "new", completionOf(intentOf(2), [{ unit: state, value: null }]));
    expect(await unitsIn(INDEX_STATES)).toEqual([]);
  });

  describeTasks({
    test,
    expect,
    takeOver,
    completionOf: (number, writes) => completionOf(intentOf(number), writes),
  });
  describeWorkflows({
    test,
    expect,
    takeOver,
    completionOf: (number, writes) => completionOf(intentOf(number), writes),
  });

  test("everything is still there after closing and opening", async (storage, reopen) => {
    if (reopen === null) return;
    const { epoch } = await takeOver(storage);
    await storage.storeIntent(epoch, intentOf(1));
    await complete(storage, epoch, "new", completionOf(intentOf(2), [{ unit: X, value: encode("1") }]));
    await storage.storeModule(
      { hash: MODULE, plans: new Map(), usedAtMs: null, registeredAtMs: null },
      encode("content"),
    );
    const opened = await reopen();
    const { epoch: next, pending } = await takeOver(opened);
    expect(next).toEqual(epoch + 1);
    expect(pending).toEqual([intentOf(1)]);
    expect(await loadOne(opened, X)).toEqual({ commitId: commitId(1, 2), value: encode("1") });
    expect((await opened.modules()).length).toEqual(1);
  });
}
