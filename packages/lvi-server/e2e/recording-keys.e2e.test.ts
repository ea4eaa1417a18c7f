/** Keys of recordings in real server processes: what was handed out survives a kill, and is destroyed when its time is over. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RecordingKey, type RecordingKeyAnswer, RECORDING_KEYS_PATH } from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import { dynamoStorage, sqliteStorage } from "./storage-under-test.ts";
import { TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { type ServerProcess, startProcess } from "./test-process.ts";

/** A bounded poll of a condition. */
const SOON = { timeout: 100_000 };

describe("on SQLite", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "radical-recording-keys-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  keepsKeys(() => sqliteStorage(path.join(folder, "data.sqlite")).args);

  test("they lie in a folder of their own, and a storage in memory has none", async () => {
    const server = await startProcess(sqliteStorage(path.join(folder, "data.sqlite")).args);
    const key = await keyOf(server, null);
    expect(await readdir(path.join(folder, "data.sqlite.keys", "recordings"))).toEqual([`${key!.id}.key`]);
    await server.kill("SIGTERM");
    const inMemory = await startProcess(["--storage", "sqlite::memory:"]);
    expect([await keyOf(inMemory, null), await keyOf(inMemory, key!.id)]).toEqual([null, null]);
    await inMemory.kill("SIGTERM");
  });
});

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterAll(() => local.stop());

  keepsKeys(() => dynamoStorage(local).args);
});

function keepsKeys(argsOf: () => readonly string[]): void {
  test("a key that was handed out survives a kill, and is gone when its time is over", async () => {
    const args = argsOf();
    const first = await startProcess(args);
    const [key, other] = [await keyOf(first, null), await keyOf(first, null)];
    await first.kill("SIGKILL");
    const second = await startProcess(args);
    expect(await keyOf(second, key!.id)).toEqual(key);
    expect(await keyOf(second, other!.id)).toEqual(other);
    expect(other!.secret).not.toBe(key!.secret);
    await second.kill("SIGTERM");

    // Another retention in place of 30 days that pass.
    const third = await startProcess([...args, "--recording-retention-ms", "1000"]);
    for (const { id } of [key!, other!]) await expect.poll(() => keyOf(third, id), SOON).toBeNull();
    await third.kill("SIGTERM");
    const fourth = await startProcess(args);
    expect([await keyOf(fourth, key!.id), await keyOf(fourth, other!.id)]).toEqual([null, null]);
    await fourth.kill("SIGTERM");
  });

  test("a question that is none is refused, and makes no key", async () => {
    const server = await startProcess(argsOf());
    for (const question of [{}, { key: "" }, { key: "../2026-11-01-0123abcd" }, { key: 1 }])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await (await clientOf(server)).question(RECORDING_KEYS_PATH, question)).status).toBe(400);
    await server.kill("SIGTERM");
  });
}

async function clientOf({ url }: ServerProcess): Promise<TestClient> {
  return new TestClient(url, await testModule());
}

async function keyOf(server: ServerProcess, key: string | null): Promise<RecordingKey | null> {
  const answer = await (await clientOf(server)).question(RECORDING_KEYS_PATH, { key });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as RecordingKeyAnswer).key;
}
