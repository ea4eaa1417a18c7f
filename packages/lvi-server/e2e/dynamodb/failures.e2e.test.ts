/**
 * The error table of docs/internals/storage.md: each row is injected on the wire before a real storage, and a second
 * one, without faults, says what was done.
 */
import { DeleteTableCommand, DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { randomBytes } from "node:crypto";
import {
  commitId,
  compareKeys,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  unitId,
  type Write,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Completion, completionHash, type Intent } from "../../src/core/intent.ts";
import { DynamoStorage } from "../../src/storage/dynamo/dynamo-storage.ts";
import type { RequestOptions } from "../../src/storage/dynamo/requests.ts";
import { Layout } from "../../src/storage/dynamo/tables.ts";
import { complete, loadAll } from "../../src/storage/storage-conformance.ts";
import { type Commit, commitOf, StorageError } from "../../src/storage/storage.ts";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb-local.ts";
import { cancellation, type Fault, FaultyProxy, refusal } from "./faulty-proxy.ts";

/** Whoever is to succeed has time to, also if the machine stops for a moment; whoever is to fail has none to lose. */
const PATIENT: RequestOptions = { attemptMs: 60_000, deadlineMs: 120_000, pauseMs: 1, maxPauseMs: 5, width: 64 };
const IMPATIENT: RequestOptions = { attemptMs: 10_000, deadlineMs: 200, pauseMs: 20, maxPauseMs: 20, width: 64 };
/** Also for an answer. */
const HASTY: RequestOptions = { ...IMPATIENT, attemptMs: 80 };
/** Most rounds until one was long enough for a second attempt. */
const MOST_ROUNDS = 10;

const X = unitId("t", "x");
const Y = unitId("t", "y");
const OUTCOME: Outcome = { kind: "result", value: Uint8Array.of(1) };

function intentOf(number: number, epoch: number): Intent {
  return {
    executionId: number.toString(16).padStart(32, "0") as ExecutionId,
    commitId: commitId(epoch, number),
    module: "a".repeat(64) as ModuleHash,
    handler: "f",
    args: Uint8Array.of(0x80),
    environment: { timeMs: 1_700_000_000_000, seed: new Uint8Array(16), caller: null },
    location: "va",
    units: [{ unit: X, mode: "write", version: null }],
    retained: false,
    mustNotWrite: false,
    lanes: [],
    createdAtMs: 1_000,
  };
}

function completionOf(intent: Intent, writes: readonly Write[]): Completion {
  const { units: _, createdAtMs: __, retained: ___, mustNotWrite: ____, ...invocation } = intent;
  const call = { key: "key", hash: "ab".repeat(32) };
  const resultHash = completionHash(OUTCOME, writes);
  return { ...invocation, outcome: OUTCOME, writes, resultHash, doneAtMs: 2_000, call, keeps: "retained", tasks: [] };
}

const WRITES: readonly Write[] = [
  { unit: X, value: Uint8Array.of(1) },
  { unit: Y, value: Uint8Array.of(2) },
];

describe.skipIf(!hasDynamoDbLocal())("when DynamoDB fails", () => {
  let local: DynamoDbLocal;
  let proxy: FaultyProxy;
  let prefix: string;
  let epoch: number;
  /** Without faults. */
  let direct: DynamoStorage;
  /** Through the proxy. */
  let storage: DynamoStorage;
  let opened: DynamoStorage[];
  let clients: DynamoDBClient[];

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
    proxy = await FaultyProxy.start(local.port);
  });

  afterAll(async () => {
    await proxy.stop();
    await local.stop();
  });

  /** It opens with patience, whatever it is to have later. */
  const open = async (endpoint: string, later: RequestOptions = PATIENT): Promise<DynamoStorage> => {
    let options = PATIENT;
    const requests = new Proxy(PATIENT, { get: (_, name: keyof RequestOptions) => options[name] });
    const one = await DynamoStorage.open({ prefix, endpoint, requests });
    options = later;
    opened.push(one);
    return one;
  };

  /** Gives up the first attempt alone. */
  const openSoonImpatient = (): Promise<DynamoStorage> => {
    let attempts = 0;
    const firstAttempt = { ...PATIENT, attemptMs: 1_000 };
    return open(
      proxy.endpoint,
      new Proxy(PATIENT, {
        get: (_, name: keyof RequestOptions) =>
          (name === "attemptMs" && attempts++ === 0 ? firstAttempt : PATIENT)[name],
      }),
    );
  };

  beforeEach(async () => {
    prefix = randomBytes(8).toString("hex");
    opened = [];
    clients = [];
    direct = await open(local.endpoint);
    epoch = (await direct.acquireLeadership(await direct.readLeadership(), 1_000, 0))!.epoch;
    await direct.recover(epoch);
    storage = await open(proxy.endpoint);
    proxy.reset();
  });

  afterEach(async () => {
    for (const one of opened) await one.close();
    for (const client of clients) client.destroy();
    proxy.reset();
  });

  const client = (): DynamoDBClient => {
    const one = new DynamoDBClient({ endpoint: local.endpoint });
    clients.push(one);
    return one;
  };

  /** What each operation asks DynamoDB for, the operation itself, and how to see whether it was done. */
  const OPERATIONS = {
    "store an intent": {
      request: "PutItem",
      run: (by: DynamoStorage) => by.storeIntent(epoch, intentOf(1, epoch)),
      done: { kind: "stored" },
      isDone: async () => (await direct.lookUp(epoch, intentOf(1, epoch).executionId)) !== null,
    },
    "complete a new execution": {
      request: "TransactWriteItems",
      run: (by: DynamoStorage) => complete(by, epoch, "new", completionOf(intentOf(1, epoch), WRITES)),
      done: { kind: "applied" },
      isDone: async () => {
        const { size } = await loadAll(direct, [X, Y]);
        if (size === 1) throw new Error("one of two writes");
        return size === 2;
      },
    },
    load: {
      request: "BatchGetItem",
      run: (by: DynamoStorage) => loadAll(by, [X]),
      done: new Map(),
      isDone: () => Promise.resolve(false),
    },
    "look up": {
      request: "GetItem",
      run: (by: DynamoStorage) => by.lookUp(epoch, intentOf(9, epoch).executionId),
      done: null,
      isDone: () => Promise.resolve(false),
    },
  } as const;
  type OperationName = keyof typeof OPERATIONS;
  const ALL = Object.keys(OPERATIONS) as OperationName[];
  const CHANGING: readonly OperationName[] = ["store an intent", "complete a new execution"];

  const failureOf = async (run: Promise<unknown>): Promise<[string, string]> => {
    const error = await run.then(
      () => null,
      (failure: unknown) => failure,
    );
    if (!(error instanceof StorageError)) throw new Error(`no StorageError: ${String(error)}`);
    return [error.effect, error.message];
  };

  /** A failure that passes is not seen: the request is sent again. */
  const expectPasses = async (name: OperationName, fault: Fault): Promise<void> => {
    const { request, run, done, isDone } = OPERATIONS[name];
    proxy.plan(request, fault, fault);
    expect(await run(storage)).toEqual(done);
    expect(proxy.calls.filter((call) => call === request).length).toBe(3);
    if (CHANGING.includes(name)) expect(await isDone()).toBe(true);
  };

  /** One that stays is told, with its effect and its words. */
  const expectFails = async (
    name: OperationName,
    fault: Fault,
    effect: string,
    words: RegExp,
    attempts: "one" | "several",
  ): Promise<void> => {
    const { request, run, isDone } = OPERATIONS[name];
    const impatient = await open(proxy.endpoint, fault.kind === "stall" ? HASTY : IMPATIENT);
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      proxy.reset();
      proxy.always(request, fault);
      expect(await failureOf(run(impatient))).toEqual([effect, expect.stringMatching(words)]);
      // A machine that stops for a moment leaves no time for a second attempt.
      if (attempts === "one" || proxy.calls.length > 1) break;
    }
    expect(proxy.calls.length > 1).toBe(attempts === "several");
    expect(await isDone()).toBe(false);
  };

  describe("throttled", () => {
    const faultOf = (name: OperationName): Fault =>
      name === "complete a new execution"
        ? cancellation("ThrottlingError")
        : refusal(name === "load" ? "ThrottlingException" : "ProvisionedThroughputExceededException");
    test.each(ALL)("%s: sent again", (name) => expectPasses(name, faultOf(name)));
    test.each(ALL)("%s: in the end `none`", (name) => expectFails(name, faultOf(name), "none", /throttles/, "several"));
  });

  describe("5xx", () => {
    const fault = refusal("InternalServerError", 500);
    test.each(ALL)("%s: sent again", (name) => expectPasses(name, fault));
    test.each(CHANGING)("%s: in the end `unknown`", (name) => expectFails(name, fault, "unknown", /failed/, "several"));
    test.each(["load", "look up"] as const)("%s: in the end `none`", (name) =>
      expectFails(name, fault, "none", /failed/, "several"),
    );
    test("another status of that kind", () => expectPasses("look up", refusal("SomethingNew", 503)));
  });

  describe.each([
    ["no answer in time", "stall", /did not answer in time/],
    ["connection lost", "break", /connection .* lost/],
  ] as const)("%s", (_, kind, words) => {
    let patient: DynamoStorage;

    beforeEach(async () => {
      patient = kind === "stall" ? await openSoonImpatient() : storage;
    });

    test.each(ALL)("not applied, %s: sent again", async (name) => {
      const { request, run, done } = OPERATIONS[name];
      proxy.plan(request, { kind, applied: false });
      expect(await run(patient)).toEqual(done);
    });

    test("applied, a transaction: known by its token", async () => {
      proxy.plan("TransactWriteItems", { kind, applied: true });
      const { run, done, isDone } = OPERATIONS["complete a new execution"];
      expect(await run(patient)).toEqual(done);
      expect(await isDone()).toBe(true);
    });

    test("applied, the insert of an intent: it meets itself", async () => {
      proxy.plan("PutItem", { kind, applied: true });
      const intent = intentOf(1, epoch);
      expect(await patient.storeIntent(epoch, intent)).toEqual({
        kind: "exists",
        record: { state: "pending", intent },
      });
    });

    test.each(CHANGING)("%s: in the end `unknown`", (name) =>
      expectFails(name, { kind, applied: false }, "unknown", words, "several"),
    );
  });

  test("applied although every answer was lost: `unknown`, and the same completion again finds out", async () => {
    const impatient = await open(proxy.endpoint, IMPATIENT);
    proxy.always("TransactWriteItems", { kind: "break", applied: true });
    const { run, isDone } = OPERATIONS["complete a new execution"];
    expect((await failureOf(run(impatient)))[0]).toBe("unknown");
    expect(await isDone()).toBe(true);
    proxy.reset();
    expect(await run(storage)).toMatchObject({
      kind: "exists",
      record: { state: "done", done: { commitId: commitId(epoch, 1) } },
    });
  });

  test("nobody listens: `none`", async () => {
    const closed = await FaultyProxy.startApart(local.port);
    const { endpoint } = closed;
    const unreachable = await open(endpoint, IMPATIENT);
    await closed.stop();
    // A connection that was open breaks first, which is another row.
    await failureOf(OPERATIONS["look up"].run(unreachable));
    expect(await failureOf(OPERATIONS["store an intent"].run(unreachable))).toEqual([
      "none",
      expect.stringMatching(/can't be reached/),
    ]);
  });

  describe("conflicts", () => {
    test("an insert", () => expectPasses("store an intent", refusal("TransactionConflictException")));
    test("a transaction", () => expectPasses("complete a new execution", cancellation("TransactionConflict")));
    test("the same transaction still under way", () =>
      expectPasses("complete a new execution", refusal("TransactionInProgressException")));
    test("in the end `none`", () =>
      expectFails(
        "complete a new execution",
        cancellation("TransactionConflict"),
        "none",
        /Another transaction/,
        "several",
      ));
  });

  describe("a part of a batch", () => {
    const units = Array.from({ length: 30 }, (_, index) => unitId("t", `k${index}`));
    const fill = (): Promise<unknown> =>
      complete(
        direct,
        epoch,
        "new",
        completionOf(
          intentOf(5, epoch),
          units.slice(0, 20).map((unit) => ({ unit, value: Uint8Array.of(7) })),
        ),
      );

    test("what is left is asked for again; what is not there is absent", async () => {
      await fill();
      proxy.plan(
        "BatchGetItem",
        { kind: "partial", count: 7 },
        { kind: "partial", count: 0 },
        { kind: "partial", count: 20 },
      );
      const items = await loadAll(storage, units);
      expect([...items.keys()].toSorted(compareKeys)).toEqual(units.slice(0, 20).toSorted(compareKeys));
      expect(proxy.calls.length).toBe(4);
    });

    test("with nothing left to wait for, no part is given", async () => {
      await fill();
      const impatient = await open(proxy.endpoint, IMPATIENT);
      proxy.plan("BatchGetItem", { kind: "partial", count: 7 });
      proxy.always("BatchGetItem", { kind: "partial", count: 0 });
      expect(await failureOf(loadAll(impatient, units))).toEqual(["none", expect.stringMatching(/23 keys are left/)]);
    });
  });

  describe("refused", () => {
    test.each([
      ["access denied", refusal("AccessDeniedException"), /Access is denied/],
      ["wrong signature", refusal("InvalidSignatureException"), /Access is denied/],
      ["unknown client", refusal("UnrecognizedClientException"), /Access is denied/],
      [
        "item too large",
        refusal("ValidationException", 400, { message: "Item size has exceeded the maximum allowed size" }),
        /larger than DynamoDB takes/,
      ],
      ["item collection too large", refusal("ItemCollectionSizeLimitExceededException"), /larger than DynamoDB takes/],
      ["anything else", refusal("ValidationException"), /refuses the request .*ValidationException, injected/],
    ] as const)("%s: `none`, at once", (_, fault, words) =>
      expectFails("store an intent", fault, "none", words, "one"),
    );

    test("expired credentials: sent again, in the end `none`", async () => {
      await expectPasses("store an intent", refusal("ExpiredTokenException"));
      proxy.reset();
      await expectFails("look up", refusal("ExpiredTokenException"), "none", /expired/, "several");
    });

    test("a value that no item can hold: `none`, and nothing of it is applied", async () => {
      const writes = [...WRITES, { unit: unitId("t", "z"), value: new Uint8Array(500_000) }];
      expect(await failureOf(complete(storage, epoch, "new", completionOf(intentOf(1, epoch), writes)))).toEqual([
        "none",
        expect.stringMatching(/larger than DynamoDB takes.*t\/z has 500000 bytes/),
      ]);
      expect((await loadAll(direct, [X, Y])).size).toBe(0);
    });

    test("a table that is missing: `none`; the next start makes it again", async () => {
      await client().send(new DeleteTableCommand({ TableName: `${prefix}-items` }));
      expect(await failureOf(loadAll(storage, [X]))).toEqual(["none", expect.stringMatching(/A table is missing/)]);
      const reopened = await open(local.endpoint);
      expect((await loadAll(reopened, [X])).size).toBe(0);
    });

    test("what may not be done at a start is named with its table", async () => {
      proxy.always("DescribeTable", refusal("AccessDeniedException"));
      expect(await failureOf(open(proxy.endpoint))).toEqual([
        "none",
        expect.stringMatching(/Can't use the table .*-\w+: Access is denied/),
      ]);
      proxy.reset();
      prefix = randomBytes(8).toString("hex");
      proxy.always("CreateTable", refusal("AccessDeniedException"));
      expect(await failureOf(open(proxy.endpoint))).toEqual([
        "none",
        expect.stringMatching(/Can't make the table .*: Access is denied/),
      ]);
    });
  });

  test("a value that was changed behind our back is not served", async () => {
    await complete(direct, epoch, "new", completionOf(intentOf(1, epoch), WRITES));
    await client().send(
      new UpdateItemCommand({
        TableName: `${prefix}-items`,
        Key: new Layout(16, 64).itemKey(X),
        UpdateExpression: "SET #value = :value",
        ExpressionAttributeNames: { "#value": "value" },
        ExpressionAttributeValues: { ":value": { N: "99" } },
      }),
    );
    expect(await failureOf(loadAll(storage, [X]))).toEqual(["none", expect.stringMatching(/value of t\/x is corrupt/)]);
    expect((await loadAll(storage, [Y])).size).toBe(1);
  });

  describe("the leadership", () => {
    test.each([true, false])("acquired, with the answer lost (applied: %s)", async (applied) => {
      proxy.plan("TransactWriteItems", { kind: "break", applied });
      expect(await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0)).toMatchObject({
        epoch: epoch + 1,
      });
      expect(await direct.readLeadership()).toMatchObject({ epoch: epoch + 1 });
    });

    test("renewed, with the answer lost: renewed again", async () => {
      proxy.plan("UpdateItem", { kind: "break", applied: true });
      expect(await storage.renewLeadership(epoch, 1_000)).toBe(true);
    });
  });

  describe("recovery", () => {
    test("reads all pages, and all of each batch", async () => {
      const intents = Array.from({ length: 40 }, (_, index) => intentOf(1_000 + 64 * index, epoch));
      for (const intent of intents) await direct.storeIntent(epoch, intent);
      proxy.always("Query", { kind: "page", length: 3 });
      proxy.plan("BatchGetItem", { kind: "partial", count: 11 }, refusal("ThrottlingException"));
      const { epoch: next } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
      expect(await storage.recover(next)).toEqual(intents);
    });

    test("a server that is replaced while it recovers leaves the parts of its successor alone", async () => {
      let release = (): void => {};
      proxy.plan("Scan", { kind: "hold", until: new Promise((resolve) => (release = resolve)) });
      const slow = await open(proxy.endpoint, IMPATIENT);
      const { epoch: first } = (await slow.acquireLeadership(await slow.readLeadership(), 1_000, 0))!;
      const recovering = failureOf(slow.recover(first));
      await expect.poll(() => proxy.calls, { timeout: 100_000 }).toContain("Scan");
      const { epoch: second } = (await direct.acquireLeadership(await direct.readLeadership(), 1_000, 0))!;
      await direct.recover(second);
      const large = { ...intentOf(1, second), args: new Uint8Array(1_000_000) };
      expect(await direct.storeIntent(second, large)).toEqual({ kind: "stored" });
      release();
      expect(await recovering).toEqual(["none", expect.stringMatching(/Another server has taken over/)]);
      const record = await direct.lookUp(second, large.executionId);
      expect(record?.state === "pending" && record.intent.args.length).toBe(1_000_000);
    });

    /** Sends 250 writes and is cut off when so many transactions have succeeded; then the next server starts. */
    const cutOff = async (
      expects: "pending" | "new",
      after: number,
    ): Promise<{ applied: number; pending: number; found: number }> => {
      const units = Array.from({ length: 250 }, (_, index) => unitId("t", `many ${index}`));
      const completion = completionOf(
        intentOf(1, epoch),
        units.map((unit) => ({ unit, value: Uint8Array.of(3) })),
      );
      if (expects === "pending") await direct.storeIntent(epoch, intentOf(1, epoch));
      const dying = await open(proxy.endpoint, IMPATIENT);
      proxy.reset();
      proxy.plan("TransactWriteItems", ...Array.from({ length: after }, (): Fault => ({ kind: "pass" })));
      proxy.always("TransactWriteItems", { kind: "break", applied: false });
      expect((await failureOf(complete(dying, epoch, expects, completion)))[0]).toBe("unknown");
      const applied = (await loadAll(direct, units)).size;
      const { epoch: next } = (await direct.acquireLeadership(await direct.readLeadership(), 1_000, 0))!;
      const pending = await direct.recover(next);
      const { size: found } = await loadAll(direct, units);
      // The one before goes on: it finds out, and changes nothing.
      proxy.reset();
      expect(await complete(dying, epoch, expects, completion)).toEqual({ kind: "fenced" });
      const record = await direct.lookUp(next, completion.executionId);
      expect(record?.state ?? "none").toBe(found === 0 ? (expects === "pending" ? "pending" : "none") : "done");
      return { applied, pending: pending.length, found };
    };

    test("a part of a commit that arrives after others have written its items changes nothing", async () => {
      const units = Array.from({ length: 250 }, (_, index) => unitId("t", `many ${index}`));
      const writing = (number: number): Completion =>
        completionOf(
          intentOf(number, epoch),
          units.map((unit) => ({ unit, value: Uint8Array.of(number) })),
        );
      let release = (): void => {};
      const until = new Promise<void>((resolve) => (release = resolve));
      proxy.plan("TransactWriteItems", { kind: "pass" });
      proxy.always("TransactWriteItems", { kind: "hold", until });
      const late = complete(storage, epoch, "new", writing(1));
      const transactions = (): number => proxy.calls.filter((call) => call === "TransactWriteItems").length;
      await expect.poll(transactions, { timeout: 100_000 }).toBeGreaterThan(1);
      // The same server asks again, and the commit is finished. The locks are free.
      expect(await complete(direct, epoch, "new", writing(1))).toMatchObject({ record: { state: "done" } });
      expect(await complete(direct, epoch, "new", writing(2))).toEqual({ kind: "applied" });
      release();
      expect(await late).toEqual({ kind: "applied" });
      const values = Array.from((await loadAll(direct, units)).values(), ({ value }) => value[0]);
      expect(new Set(values)).toEqual(new Set([2]));
    });

    describe("a commit of several executions", () => {
      const [reExecuted, followed, fresh] = [1, 2, 3] as const;
      /** The first two are pending; the third is new. Each writes a hundred units, of which ten are those of the next. */
      const commitOfThree = (): Commit => {
        return commitOf(
          [reExecuted, followed, fresh].map((number, index) => ({
            expects: number === fresh ? ("new" as const) : ("pending" as const),
            completion: completionOf(
              intentOf(number, epoch),
              Array.from({ length: 100 }, (_, unit) => ({
                unit: unitId("t", `many ${90 * index + unit}`),
                value: Uint8Array.of(number),
              })),
            ),
          })),
        );
      };
      const units = Array.from({ length: 280 }, (_, index) => unitId("t", `many ${index}`));

      /** As above: the number of transactions that succeed. */
      const cutOffAfter = async (
        after: number,
      ): Promise<{ storage: DynamoStorage; applied: number; commit: Commit }> => {
        for (const number of [reExecuted, followed]) await direct.storeIntent(epoch, intentOf(number, epoch));
        const dying = await open(proxy.endpoint, IMPATIENT);
        proxy.reset();
        proxy.plan("TransactWriteItems", ...Array.from({ length: after }, (): Fault => ({ kind: "pass" })));
        proxy.always("TransactWriteItems", { kind: "break", applied: false });
        const commit = commitOfThree();
        expect((await failureOf(dying.commit(epoch, commit)))[0]).toBe("unknown");
        return { storage: dying, applied: (await loadAll(direct, units)).size, commit };
      };
      const statesAt = async (at: number): Promise<readonly string[]> => {
        const records = [reExecuted, followed, fresh].map((number) =>
          direct.lookUp(at, intentOf(number, epoch).executionId),
        );
        return (await Promise.all(records)).map((record) => record?.state ?? "none");
      };

      test.each([
        [0, ["pending", "pending", "none"]],
        [1, ["done", "done", "done"]],
        [2, ["done", "done", "done"]],
      ] as const)("cut off after %i transactions: all or nothing, at the next server", async (after, states) => {
        const { storage: dying, applied, commit } = await cutOffAfter(after);
        if (after < 2) expect(applied).toBe(0);
        const { epoch: next } = (await direct.acquireLeadership(await direct.readLeadership(), 1_000, 0))!;
        const pending = await direct.recover(next);
        expect(pending.length).toBe(after === 0 ? 2 : 0);
        expect(await statesAt(next)).toEqual(states);
        const items = await loadAll(direct, units);
        expect(items.size).toBe(after === 0 ? 0 : units.length);
        // Of two that write a unit the later one counts.
        if (after > 0)
          expect(units.slice(85, 105).map((unit) => items.get(unit)!.value[0])).toEqual([
            ...Array<number>(5).fill(reExecuted),
            ...Array<number>(15).fill(followed),
          ]);
        proxy.reset();
        expect(await dying.commit(epoch, commit)).toEqual({ kind: "fenced" });
      });

      test("cut off and sent again by the same server: it is finished once", async () => {
        const { applied, commit } = await cutOffAfter(2);
        expect(applied).toBeGreaterThan(0);
        expect(applied).toBeLessThan(units.length);
        const { executionId: id } = intentOf(reExecuted, epoch);
        expect(await direct.commit(epoch, commit)).toMatchObject({ kind: "exists", id, record: { state: "done" } });
        expect(await statesAt(epoch)).toEqual(["done", "done", "done"]);
        expect((await loadAll(direct, units)).size).toBe(units.length);
      });
    });

    test.each(["TransactWriteItems", "BatchGetItem"])(
      "one that was decided is never said not to be done: %s is refused",
      async (request) => {
        const units = Array.from({ length: 250 }, (_, index) => unitId("t", `many ${index}`));
        const completion = completionOf(
          intentOf(1, epoch),
          units.map((unit) => ({ unit, value: Uint8Array.of(3) })),
        );
        const throttled = await open(proxy.endpoint, IMPATIENT);
        proxy.reset();
        if (request === "TransactWriteItems") proxy.plan(request, { kind: "pass" });
        proxy.always(request, refusal("ThrottlingException"));
        expect(await failureOf(complete(throttled, epoch, "new", completion))).toEqual([
          "unknown",
          expect.stringMatching(/throttles/),
        ]);
        proxy.reset();
        expect(await complete(throttled, epoch, "new", completion)).toMatchObject({ record: { state: "done" } });
        expect((await loadAll(direct, units)).size).toBe(units.length);
      },
    );

    test("a write set that was not decided is as if it had not been sent", async () => {
      expect(await cutOff("pending", 0)).toEqual({ applied: 0, pending: 1, found: 0 });
    });

    test("one that was not decided, of a new execution", async () => {
      expect(await cutOff("new", 0)).toEqual({ applied: 0, pending: 0, found: 0 });
    });

    test("one that was decided is finished", async () => {
      expect(await cutOff("pending", 1)).toEqual({ applied: 0, pending: 0, found: 250 });
    });

    test("one of which a part was applied is finished", async () => {
      const { applied, ...rest } = await cutOff("new", 2);
      expect(applied).toBeGreaterThan(0);
      expect(applied).toBeLessThan(250);
      expect(rest).toEqual({ pending: 0, found: 250 });
    });
  });
});
