/** An ordered scan of a large table gives the same on both storages. */
import { BatchWriteItemCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { randomBytes } from "node:crypto";
import {
  commitId,
  compareKeys,
  contentHash,
  type ExecutionId,
  isKey,
  type Key,
  type ModuleHash,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { Random } from "@radical/history";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nativeAttributes } from "../../src/storage/dynamo/attributes.ts";
import { DynamoStorage } from "../../src/storage/dynamo/dynamo-storage.ts";
import { atOnce } from "../../src/storage/at-once.ts";
import { inGroups } from "../../src/storage/dynamo/dynamo.ts";
import { MAX_BATCH_WRITE } from "../../src/storage/dynamo/limits.ts";
import { Layout } from "../../src/storage/dynamo/tables.ts";
import { SqliteStorage } from "../../src/storage/sqlite-storage.ts";
import type { KeyRange, Storage, StoredUnit } from "../../src/storage/storage.ts";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb-local.ts";

const ITEMS = 100_000;
const SCANNED = 1_000;
const TABLE = "posts";
const COMMIT = commitId(1, 1);
/** Some whose order by UTF-16 code units is another than by UTF-8 bytes. */
const LETTERS = ["a", "b", "B", "-", "é", "\u{FFFD}", "\u{1F600}"];

const valueOf = (key: string): Uint8Array => new TextEncoder().encode(key.slice(0, 3));

function keys(): readonly Key[] {
  const random = new Random(1);
  const found = new Set<Key>();
  while (found.size < ITEMS) {
    const key = Array.from({ length: 3 + random.below(6) }, () => random.pick(LETTERS)).join("");
    if (isKey(key)) found.add(key);
  }
  return [...found];
}

async function fillSqlite(storage: Storage, units: readonly UnitId[]): Promise<void> {
  const { epoch } = (await storage.acquireLeadership(await storage.readLeadership(), 1_000, 0))!;
  const id = "1".padStart(32, "0") as ExecutionId;
  const done = {
    executionId: id,
    commitId: COMMIT,
    module: "a".repeat(64) as ModuleHash,
    location: "va",
    resultHash: "",
    doneAtMs: 1_000,
    call: null,
    outcome: null,
  };
  const items = units.map((unit) => ({ unit, value: valueOf(unit.slice(TABLE.length + 1)), commitId: COMMIT }));
  await storage.commit(epoch, { records: [{ id, expects: "new", becomes: { state: "done", done } }], items });
}

/** As a server leaves them, in batches: a commit of so many takes minutes there. */
async function fillDynamo(endpoint: string, prefix: string, units: readonly UnitId[]): Promise<void> {
  const client = new DynamoDBClient({ endpoint });
  const layout = new Layout(16, 64);
  const batches = inGroups(units, MAX_BATCH_WRITE);
  await atOnce(batches, async (batch) => {
    const requests = batch.map((unit) => {
      const value = valueOf(unit.slice(TABLE.length + 1));
      const version = { commit_id: { S: COMMIT }, hash: { S: contentHash(value) } };
      return { PutRequest: { Item: { ...layout.itemKey(unit), ...nativeAttributes("value", value), ...version } } };
    });
    const command = new BatchWriteItemCommand({ RequestItems: { [`${prefix}-items`]: requests } });
    const { UnprocessedItems } = await client.send(command);
    if (Object.keys(UnprocessedItems ?? {}).length > 0) throw new Error("DynamoDB Local has left some of a batch");
  });
  client.destroy();
}

describe.skipIf(!hasDynamoDbLocal())(`${SCANNED} of ${ITEMS} items`, () => {
  const drawn = keys();
  const sorted = drawn.toSorted(compareKeys);
  let local: DynamoDbLocal;
  let sqlite: SqliteStorage;
  let dynamo: DynamoStorage;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
    const prefix = randomBytes(8).toString("hex");
    sqlite = new SqliteStorage(":memory:");
    dynamo = await DynamoStorage.open({ prefix, endpoint: local.endpoint });
    const units = drawn.map((key) => unitId(TABLE, key));
    await Promise.all([fillSqlite(sqlite, units), fillDynamo(local.endpoint, prefix, units)]);
  }, 300_000);

  afterAll(async () => {
    await dynamo.close();
    await sqlite.close();
    await local.stop();
  });

  const middle = sorted[ITEMS / 2]!;
  const later = sorted[ITEMS / 2 + 500]!;
  test.each<[string, KeyRange, readonly Key[]]>([
    ["the first", { table: TABLE, from: null, to: null }, sorted.slice(0, SCANNED)],
    [
      "the last, backwards",
      { table: TABLE, from: null, to: null, isReversed: true },
      sorted.toReversed().slice(0, SCANNED),
    ],
    ["from the middle", { table: TABLE, from: middle, to: null }, sorted.slice(ITEMS / 2, ITEMS / 2 + SCANNED)],
    [
      "back from the middle",
      { table: TABLE, from: null, to: middle, isReversed: true },
      sorted.slice(ITEMS / 2 - SCANNED, ITEMS / 2).toReversed(),
    ],
    ["between two keys", { table: TABLE, from: middle, to: later }, sorted.slice(ITEMS / 2, ITEMS / 2 + 500)],
  ])("%s", async (_, range, expected) => {
    const found = expected.map((key): StoredUnit => ({
      unit: unitId(TABLE, key),
      commitId: COMMIT,
      value: valueOf(key),
    }));
    const [inSqlite, inDynamo] = await Promise.all([sqlite.scan(range, SCANNED), dynamo.scan(range, SCANNED)]);
    expect(keysOf(inSqlite)).toEqual(keysOf(found));
    expect(keysOf(inDynamo)).toEqual(keysOf(found));
    expect(await dynamo.scan(range, 20)).toEqual(found.slice(0, 20));
  });
});

/** Units, commits and values as text, in which a difference is seen at once. */
function keysOf(found: readonly StoredUnit[]): readonly string[] {
  return found.map(({ unit, commitId: commit, value }) => `${unit} ${commit} ${Buffer.from(value).toString("hex")}`);
}
