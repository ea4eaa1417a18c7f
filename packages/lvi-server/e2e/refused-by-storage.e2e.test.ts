/** Orders that the storage refuses: the server goes on as if nobody had given them. And it says so, if the storage refuses for long. */
import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  DATA_PATH,
  encodeLviRequest,
  LVI_PATH,
  MODULES_PATH,
  type ServerStatus,
  STATUS_PATH,
  UPGRADE_PATH,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { KeyRing, parseKeys } from "../src/http/keys.ts";
import { createLog } from "../src/log.ts";
import { type RunningServer, startServer } from "../src/server.ts";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";
import { StorageError } from "../src/storage/storage.ts";
import { KEYS_VARIABLE, TestClient } from "./test-client.ts";
import { type TestModule, testModule } from "./test-module.ts";

const REFUSED = new StorageError("none", "the disk is full");

const storage = new SqliteStorage(":memory:");
const lines = new EventEmitter();
const log = createLog("info", (line) => {
  const { level, event, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  lines.emit("line", `${String(level)} ${String(event)}`, fields);
});
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
  const answers = await Promise.all([LVI_PATH, DATA_PATH].map((each) => client.send("POST", each, request)));
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

/** Resolves with the fields of the next such line. */
function logged(line: string): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve) => {
    const heard = (name: string, fields: Readonly<Record<string, unknown>>): void => {
      if (name !== line) return;
      lines.off("line", heard);
      resolve(fields);
    };
    lines.on("line", heard);
  });
}

describe("a storage that refuses for long", () => {
  let folder: string;
  let file: SqliteStorage;
  let leader: RunningServer;
  let requests: TestClient;
  const errors: string[] = [];
  const remember = (name: string): void => void (name.startsWith("error") && errors.push(name));

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "radical-refused-"));
    file = new SqliteStorage(path.join(folder, "data.sqlite"));
    const keys = new KeyRing(parseKeys(KEYS_VARIABLE));
    const watch = { storagePatienceMs: 100 };
    leader = await startServer({ storage: file, keys, workers: 1, leaseMs: 200, watch, log, onHalt: () => {} });
    requests = new TestClient(leader.url, module);
    await requests.register();
    lines.on("line", remember);
  });
  beforeEach(() => {
    errors.length = 0;
  });
  afterAll(async () => {
    lines.off("line", remember);
    await leader.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("to renew the leadership is one error, and over when the server leads again", async () => {
    const full = vi.spyOn(file, "renewLeadership").mockRejectedValue(REFUSED);
    const [told] = await Promise.all([logged("error storage_unusable"), logged("warn leadership_run_out")]);
    expect(told).toMatchObject({ work: "lead", reason: "StorageError: the disk is full" });
    const over = Promise.all([logged("info storage_usable"), logged("warn leadership_regained")]);
    full.mockRestore();
    await over;
    expect(errors).toEqual(["error storage_unusable"]);
  });

  test("to store what calls do is one error, and over with the next call", async () => {
    const full = vi.spyOn(file, "commit").mockRejectedValue(REFUSED);
    const call = async (): Promise<string> => (await requests.lvi(requests.requestOf("increment", "x", null))).kind;
    const told = logged("error storage_unusable");
    // oxlint-disable-next-line no-await-in-loop -- one call after the other, until somebody is called
    while (errors.length === 0) expect(await call()).toBe("refused");
    expect(await told).toMatchObject({ work: "write" });
    const over = logged("info storage_usable");
    full.mockRestore();
    expect(await call()).toBe("executed");
    await over;
    expect(errors).toEqual(["error storage_unusable"]);
  });
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
