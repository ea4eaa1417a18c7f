/** The storage suite on DynamoDB, and what only DynamoDB has. */
import {
  type AttributeValue,
  CreateTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { randomBytes } from "node:crypto";
import {
  CborWriter,
  commitId,
  contentHash,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  unitId,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Completion, completionHash, type Intent } from "../../src/core/intent.ts";
import { createLog } from "../../src/log.ts";
import { DynamoStorage } from "../../src/storage/dynamo/dynamo-storage.ts";
import type { RequestOptions } from "../../src/storage/dynamo/requests.ts";
import { Layout } from "../../src/storage/dynamo/tables.ts";
import { SealedStorage } from "../../src/storage/sealing/sealed-storage.ts";
import { newSealingKey } from "../../src/storage/sealing/sealing-key.ts";
import { openItems } from "../../src/storage/items.ts";
import { openBackups } from "../../src/storage/open-backups.ts";
import { complete, describeStorage } from "../../src/storage/storage-conformance.ts";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb-local.ts";

/** On a machine that does other things too; how a server gives up is shown by the tests of failures. */
const PATIENT: RequestOptions = { attemptMs: 30_000, deadlineMs: 120_000, pauseMs: 25, maxPauseMs: 1_000, width: 64 };

test("a machine without Java skips what needs it, but CI may not", () => {
  try {
    vi.stubEnv("PATH", "/nowhere");
    vi.stubEnv("CI", "");
    expect(hasDynamoDbLocal()).toBe(false);
    vi.stubEnv("CI", "true");
    expect(hasDynamoDbLocal).toThrow("CI may not skip its tests");
  } finally {
    vi.unstubAllEnvs();
  }
});

describe.skipIf(!hasDynamoDbLocal())("DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });

  afterAll(() => local.stop());

  const open = (prefix = randomBytes(8).toString("hex")): Promise<DynamoStorage> =>
    DynamoStorage.open({ prefix, endpoint: local.endpoint, requests: PATIENT });

  describeStorage({ test, expect }, async () => {
    const prefix = randomBytes(8).toString("hex");
    let storage = await open(prefix);
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = await open(prefix));
      },
      expires: true,
      dispose: () => storage.close(),
    };
  });

  describe("sealed", () => {
    describeStorage({ test, expect }, async () => {
      const prefix = randomBytes(8).toString("hex");
      const openSealed = async (): Promise<SealedStorage> => {
        const inner = await open(prefix);
        const storage = new SealedStorage(inner, {
          keys: inner.keyPlaces.keys,
          retentionMs: 86_400_000,
          givesUp: false,
          log: createLog("silent", () => undefined),
          nowMs: () => 1_700_000_000_000,
        });
        await storage.begin();
        return storage;
      };
      let storage = await openSealed();
      return {
        storage,
        reopen: async () => {
          await storage.close();
          return (storage = await openSealed());
        },
        expires: true,
        dispose: () => storage.close(),
      };
    });

    test("keys are kept, needed and destroyed one by one", async () => {
      const storage = await open();
      const keys = storage.keyPlaces.keys;
      const [first, second] = [newSealingKey(1_700_000_000_000), newSealingKey(1_700_000_000_001)];
      await keys.add(first);
      await keys.add(second);
      await keys.need(first.id, 1_700_000_000_002);
      const found = await keys.list();
      expect(found.toSorted((a, b) => a.createdAtMs - b.createdAtMs)).toEqual([
        { ...first, secret: new Uint8Array(first.secret), neededAtMs: 1_700_000_000_002 },
        { ...second, secret: new Uint8Array(second.secret) },
      ]);
      await keys.destroy(first.id);
      await keys.destroy(first.id);
      expect((await keys.list()).map(({ id }) => id)).toEqual([second.id]);
      await storage.close();
    });

    test("keys of recordings lie beside them, and a server of an earlier release never seals with one", async () => {
      const prefix = randomBytes(8).toString("hex");
      const storage = await open(prefix);
      const { keys, recordings } = storage.keyPlaces;
      const [sealing, recording] = [newSealingKey(1_700_000_000_000), newSealingKey(1_700_000_000_001)];
      await keys.add(sealing);
      await recordings.add(recording);
      await recordings.need(recording.id, 1_700_000_000_002);
      expect((await keys.list()).map(({ id }) => id)).toEqual([sealing.id]);
      expect(await recordings.list()).toEqual([
        { ...recording, secret: new Uint8Array(recording.secret), neededAtMs: 1_700_000_000_002 },
      ]);
      // It reads each item of the table as a key, and seals with the youngest.
      const client = new DynamoDBClient({ endpoint: local.endpoint });
      const { Items = [] } = await client.send(new ScanCommand({ TableName: `${prefix}-keys` }));
      client.destroy();
      expect(Items.map(({ created_at_ms: created }) => Number(created?.N)).toSorted((a, b) => a - b)).toEqual([
        0,
        sealing.createdAtMs,
      ]);
      await keys.destroy(recording.id);
      expect(await recordings.list()).toHaveLength(1);
      await recordings.destroy(recording.id);
      await recordings.destroy(recording.id);
      expect([(await keys.list()).length, (await recordings.list()).length]).toEqual([1, 0]);
      await storage.close();
    });
  });

  describe("tables", () => {
    let prefix: string;
    let storage: DynamoStorage;
    let client: DynamoDBClient;

    beforeEach(async () => {
      prefix = randomBytes(8).toString("hex");
      client = new DynamoDBClient({ endpoint: local.endpoint });
      storage = await open(prefix);
    });

    afterEach(async () => {
      await storage.close();
      client.destroy();
    });

    const intent: Intent = {
      executionId: "7".padStart(32, "0") as ExecutionId,
      commitId: commitId(1, 1),
      module: "a".repeat(64) as ModuleHash,
      handler: "follow",
      args: new CborWriter().array(2).text("ann").text("bob").finish(),
      environment: { timeMs: 1_700_000_000_000, seed: new Uint8Array(16), caller: null },
      location: "va",
      units: [{ unit: unitId("users", "bob"), mode: "write", version: null }],
      retained: false,
      mustNotWrite: false,
      lanes: [],
      createdAtMs: 1_700_000_000_000,
    };
    const user = new CborWriter().map(2).text("name").text("Bob").text("balance").float(1).finish();
    const { units: _, createdAtMs: __, retained: ___, mustNotWrite: ____, ...invocation } = intent;
    const call = { key: "key", hash: "ab".repeat(32) };
    const outcome: Outcome = { kind: "result", value: new CborWriter().integer(1).finish() };
    const writes = [{ unit: unitId("users", "bob"), value: user }];
    const resultHash = completionHash(outcome, writes);
    const completion: Completion = {
      ...invocation,
      tasks: [],
      outcome,
      writes,
      resultHash,
      doneAtMs: 1_700_000_060_000,
      call,
      keeps: "retained",
    };
    const record = { bucket: { S: "07" }, id: { S: intent.executionId } };

    const changeLayout = async (change: string, value: string, names?: Record<string, string>): Promise<void> => {
      await client.send(
        new UpdateItemCommand({
          TableName: `${prefix}-meta`,
          Key: { kind: { S: "layout" }, name: { S: "current" } },
          UpdateExpression: change,
          ...(names === undefined ? {} : { ExpressionAttributeNames: names }),
          ExpressionAttributeValues: { ":value": { N: value } },
        }),
      );
    };

    const itemOf = async (table: string, key: Record<string, AttributeValue>): Promise<unknown> =>
      (await client.send(new GetItemCommand({ TableName: `${prefix}-${table}`, Key: key }))).Item;

    test("what is stored can be looked at beside the server: one item, those of a table, all", async () => {
      const leadership = await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
      const many = ["0", "1", "2"].map((key) => ({ unit: unitId("posts", key), value: user }));
      const applied = { ...completion, writes: [...writes, ...many] };
      expect(await complete(storage, leadership!.epoch, "new", applied)).toEqual({ kind: "applied" });
      const reader = await openItems({ kind: "dynamodb", prefix, endpoint: local.endpoint });
      const unitsOf = async (table: string | null): Promise<readonly string[]> => {
        const units: string[] = [];
        for await (const { unit } of reader.items(table)) units.push(unit);
        return units;
      };
      try {
        expect(await reader.item("users", "bob")).toMatchObject({ commitId: completion.commitId, value: user });
        expect(await reader.item("users", "ann")).toBe(null);
        expect(await unitsOf("posts")).toEqual(["posts/0", "posts/1", "posts/2"]);
        expect((await unitsOf(null)).toSorted()).toEqual(["posts/0", "posts/1", "posts/2", "users/bob"]);
      } finally {
        await reader.close();
      }
    });

    test("a server that was replaced keeps no quiet time, and old ones go", async () => {
      const quietTimes = async (): Promise<readonly unknown[]> => {
        const backups = await openBackups({ kind: "dynamodb", prefix, endpoint: local.endpoint });
        const found = await backups.quietTimes();
        backups.close();
        return found;
      };
      const { epoch: first } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
      const old = { fromMs: 1_000, untilMs: 60_000 };
      await storage.keepQuietTime(first, old);
      expect(await quietTimes()).toEqual([old]);
      await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0);
      const later = { fromMs: 40 * 86_400_000, untilMs: 41 * 86_400_000 };
      await storage.keepQuietTime(first, later);
      expect(await quietTimes()).toEqual([old]);
      await storage.keepQuietTime(first + 1, later);
      expect(await quietTimes()).toEqual([later]);
    });

    test("a person can read them", async () => {
      const { epoch } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
      await storage.storeIntent(epoch, intent);
      expect(await itemOf("executions", record)).toMatchObject({
        status: { S: "pending" },
        handler: { S: "follow" },
        args: { L: [{ S: "ann" }, { S: "bob" }] },
        units: { S: '[{"unit":"users/bob","mode":"write","version":null}]' },
      });
      await complete(storage, epoch, "pending", completion);
      const place = new Layout(16, 64).itemKey(unitId("users", "bob"));
      expect(place).toEqual({ bucket: { S: expect.stringMatching(/^users#\d\d$/) as string }, key: { S: "bob" } });
      expect(await itemOf("items", place)).toEqual({
        ...place,
        value: { M: { name: { S: "Bob" }, balance: { N: "1" } } },
        value_shape: { S: '{"name":.,"balance":f}' },
        commit_id: { S: intent.commitId },
        hash: { S: contentHash(user) },
      });
      expect(await itemOf("executions", record)).toEqual({
        ...record,
        status: { S: "done 2023-11-14T22:14:20.000Z" },
        owner: { N: "1" },
        commit_id: { S: intent.commitId },
        module: { S: intent.module },
        location: { S: "va" },
        call_key: { S: "key" },
        call_hash: { S: "ab".repeat(32) },
        result_hash: { S: resultHash },
        done_at_ms: { N: "1700000060000" },
        expires_at: { N: String(1_700_000_060 + 86_400) },
        keeps: { S: "retained" },
        outcome: { M: { kind: { S: "result" }, value: { N: "1" } } },
      });
    });

    test("done intents expire a day later, pending ones and items never", async () => {
      const { epoch } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
      await storage.storeIntent(epoch, intent);
      expect(await itemOf("executions", record)).not.toHaveProperty("expires_at");
      await complete(storage, epoch, "pending", completion);
      expect(await itemOf("executions", record)).toMatchObject({ expires_at: { N: String(1_700_000_060 + 86_400) } });
      const expiries = await Promise.all(
        ["items", "executions", "parts", "overflow", "keys", "meta"].map(async (table) => {
          const { TimeToLiveDescription: expiry } = await client.send(
            new DescribeTimeToLiveCommand({ TableName: `${prefix}-${table}` }),
          );
          return [table, expiry?.AttributeName ?? null];
        }),
      );
      expect(Object.fromEntries(expiries)).toEqual({
        items: null,
        executions: "expires_at",
        parts: null,
        overflow: "expires_at",
        keys: null,
        meta: null,
      });
    });

    test("those of somebody else are refused by name", async () => {
      const other = randomBytes(8).toString("hex");
      await client.send(
        new CreateTableCommand({
          TableName: `${other}-items`,
          BillingMode: "PAY_PER_REQUEST",
          KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
          AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
        }),
      );
      await expect(open(other)).rejects.toThrow(
        `The table ${other}-items is not one of this server: its keys are pk, not bucket, key`,
      );
    });

    test("a deployment keeps the numbers of buckets that it was made with", async () => {
      await changeLayout("SET item_buckets = :value", "3");
      const reopened = await open(prefix);
      try {
        const { epoch } = (await reopened.acquireLeadership(await reopened.readLeadership(), 1_000, 0))!;
        await complete(reopened, epoch, "new", completion);
        expect(await itemOf("items", new Layout(3, 64).itemKey(unitId("users", "bob")))).toMatchObject({
          key: { S: "bob" },
        });
      } finally {
        await reopened.close();
      }
    });

    test("those of another schema are refused", async () => {
      await changeLayout("SET #schema = :value, written = :value", "4", { "#schema": "schema" });
      await expect(open(prefix)).rejects.toThrow(
        `The table ${prefix}-meta has schema 4, which servers read that know schema 4, and this one knows up to 3`,
      );
      await changeLayout("SET #schema = :value, written = :value", "2", { "#schema": "schema" });
      await expect(open(prefix)).rejects.toThrow("has schema 2, and this release upgrades none before 3");
    });

    test("those of a schema that a later release has added to are served, and kept", async () => {
      await changeLayout("SET written = :value", "4");
      const reopened = await open(prefix);
      try {
        const { epoch } = (await reopened.acquireLeadership(await reopened.readLeadership(), 1_000, 0))!;
        expect(await reopened.upgrade(epoch, true)).toMatchObject({ written: 4, readableFrom: 3, newest: 3 });
      } finally {
        await reopened.close();
      }
    });

    test("beside those of somebody else none is made", async () => {
      const other = randomBytes(8).toString("hex");
      await client.send(
        new CreateTableCommand({
          TableName: `${other}-meta`,
          BillingMode: "PAY_PER_REQUEST",
          KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
          AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
        }),
      );
      await expect(open(other)).rejects.toThrow("is not one of this server");
      const { TableNames = [] } = await client.send(
        new ListTablesCommand({ ExclusiveStartTableName: `${other}-`, Limit: 5 }),
      );
      expect(TableNames.filter((name) => name.startsWith(other))).toEqual([`${other}-meta`]);
    });
  });
});
