/** Orders that the storage refuses: the server goes on as if nobody had given them. */
import {
  DATA_PATH,
  encodeLviRequest,
  LVI_PATH,
  MODULES_PATH,
  type ServerStatus,
  STATUS_PATH,
  UPGRADE_PATH,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { KeyRing, parseKeys } from "../src/http/keys.ts";
import { createLog } from "../src/log.ts";
import { type RunningServer, startServer } from "../src/server.ts";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";
import { StorageError } from "../src/storage/storage.ts";
import { KEYS_VARIABLE, TestClient } from "./test-client.ts";
import { type TestModule, testModule } from "./test-module.ts";

const REFUSED = new StorageError("none", "the disk is full");

const storage = new SqliteStorage(":memory:");
let server: RunningServer;
let module: TestModule;
let client: TestClient;

beforeAll(async () => {
  module = await testModule();
  server = await startServer({
    storage,
    keys: new KeyRing(parseKeys(KEYS_VARIABLE)),
    workers: 1,
    log: createLog("error", () => {}),
    onHalt: (reason) => {
      throw new Error(reason);
    },
  });
  client = new TestClient(server.url, module);
});
afterAll(() => server.close());
afterEach(() => {
  vi.restoreAllMocks();
});

const put = async (query = ""): Promise<number> =>
  (await client.send("PUT", `${MODULES_PATH}${module.hash}${query}`, module.bytes)).status;

/** Statuses of a request of a location, and of one of administration. */
async function called(): Promise<readonly number[]> {
  const request = encodeLviRequest(client.requestOf("read", "x", null));
  const answers = await Promise.all([LVI_PATH, DATA_PATH].map((path) => client.send("POST", path, request)));
  return answers.map(({ status }) => status);
}

test("a module is for administration or for an application as it was, if its registration is refused", async () => {
  const [unknown] = await called();
  vi.spyOn(storage, "storeModule").mockRejectedValueOnce(REFUSED);
  expect(await put("?aside=yes")).toBe(500);
  expect(await called()).toEqual([unknown, 401]);

  expect(await put("?aside=yes")).toBe(204);
  expect(await called()).toEqual([401, 200]);
  vi.spyOn(storage, "storeModule").mockRejectedValueOnce(REFUSED);
  expect(await put()).toBe(500);
  expect(await called()).toEqual([401, 200]);

  expect(await put()).toBe(204);
  expect(await called()).toEqual([200, 401]);
});

test("the schema is known as it was, if an upgrade is refused", async () => {
  const status = async (): Promise<ServerStatus> =>
    (await (await client.send("GET", STATUS_PATH, new Uint8Array())).json()) as ServerStatus;
  const { upgrade } = await status();
  expect(upgrade).not.toBe(null);
  vi.spyOn(storage, "upgrade").mockResolvedValueOnce(null).mockRejectedValueOnce(REFUSED);
  for (let attempt = 0; attempt < 2; attempt++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect((await client.question(UPGRADE_PATH, { to: upgrade!.newest })).status).toBe(500);
    // oxlint-disable-next-line no-await-in-loop -- and what is known then
    expect((await status()).upgrade).toEqual(upgrade);
  }
  expect((await client.question(UPGRADE_PATH, { to: upgrade!.newest })).status).toBe(200);
});
