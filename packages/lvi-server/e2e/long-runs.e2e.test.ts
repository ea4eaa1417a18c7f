/** Handlers that last, and modules of an earlier release: whatever was told ends, and what it held is free. Real processes. */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import {
  ABI_VERSION,
  decodeModuleContent,
  encodeModuleContent,
  type LviReply,
  MODULES_PATH,
  type ModuleHash,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sqliteStorage } from "./storage-under-test.ts";
import { ABSENT, incrementUnits, TestClient } from "./test-client.ts";
import { testModule, type TestModule } from "./test-module.ts";
import { type ServerProcess, startProcess } from "./test-process.ts";

/**
 * What a server of the last release with ABI version 3 has left behind, killed: its module, and the pending intents of
 * `increment` of b, and of `scatter` of c, four million accesses.
 */
const OF_ABI_3 = fileURLToPath(new URL("golden/primary-of-abi-3.sqlite", import.meta.url));

/** Longer than a machine that runs tests stands still for. */
const TIMEOUT_MS = 100_000;

let folder: string;
let file: string;
let running: ServerProcess[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-server-"));
  file = path.join(folder, "data.sqlite");
  running = [];
});

afterEach(async () => {
  for (const server of running) await server.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

async function start(...args: string[]): Promise<ServerProcess> {
  const server = await startProcess([...sqliteStorage(file).args, "--workers", "1", ...args]);
  running.push(server);
  return server;
}

async function metric({ url }: ServerProcess, name: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split("\n");
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
}

async function healthOf({ url }: ServerProcess): Promise<unknown> {
  return (await fetch(`${url}/healthz`)).json();
}

const NOTHING_HELD = { pending: 0, overdue: 0, lockedUnits: 0 };

function storedModule(): TestModule {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("SELECT hash, content FROM modules").get() as { hash: ModuleHash; content: Uint8Array };
  database.close();
  return { hash: row.hash, bytes: row.content, content: decodeModuleContent(row.content) };
}

test("an upgrade: pending intents of a module of ABI version 3 are completed, also one that runs longer than any run may", async () => {
  await copyFile(OF_ABI_3, file);
  const storage = sqliteStorage(file);
  const module = storedModule();
  expect([module.content.abi, module.content.limits.speculationFuel]).toEqual([3, module.content.limits.fuel]);
  expect([await storage.stored("b"), await storage.stored("c")]).toEqual([null, null]);

  // Nobody asks for them. The accesses of c need several times the limit, and its units are locked until it ends.
  const server = await start("--followup-timeout-ms", "1", "--execution-limit-ms", "50");
  await expect.poll(() => storage.stored("b"), { timeout: TIMEOUT_MS }).toBe(1);
  await expect.poll(() => storage.stored("c"), { timeout: TIMEOUT_MS }).toBe(1);
  await expect.poll(() => healthOf(server), { timeout: TIMEOUT_MS }).toMatchObject(NOTHING_HELD);
  expect(await metric(server, 'radical_alarms_total{alarm="overdue_intent"}')).toBeGreaterThan(0);
  expect(await metric(server, "radical_intents_overdue")).toBe(0);
  await server.kill("SIGKILL");

  // Locations of the earlier release go on asking for it, and deployments register it again.
  const again = await start();
  const client = new TestClient(again.url, module);
  await client.register();
  const newer = encodeModuleContent({ ...module.content, abi: ABI_VERSION + 1 });
  const refused = await client.send("PUT", MODULES_PATH + module.hash, newer);
  expect([refused.status, await refused.json()]).toEqual([
    400,
    {
      error: {
        code: "malformed_message",
        message: `the module has ABI version ${ABI_VERSION + 1}, and this release of Radical runs 3 to ${ABI_VERSION}`,
        hint: "a newer release has built it: upgrade this one, the primary before its locations",
      },
    },
  ]);
  const content = await client.send("GET", `${MODULES_PATH}${module.hash}/content`, new Uint8Array());
  expect(Buffer.compare(new Uint8Array(await content.arrayBuffer()), module.bytes)).toBe(0);
  expect([await client.read("b"), await client.read("c")]).toEqual([1, 1]);
});

/** The test module; a location may compute little. */
async function withLittleSpeculation(): Promise<TestModule> {
  const { content: whole } = await testModule();
  const content = { ...whole, limits: { ...whole.limits, speculationFuel: 20_000_000 } };
  return { content, bytes: encodeModuleContent(content), hash: moduleHash(content) };
}

test("one call that computes for longer than a run may last locks nothing: others have the item while it runs, and it ends as failed", async () => {
  const server = await start("--followup-timeout-ms", "60000", "--execution-limit-ms", "2000");
  const module = await withLittleSpeculation();
  const client = new TestClient(server.url, module);
  await client.register();
  const call = client.requestOf("scatter", "hot:100000000000", incrementUnits("hot", ABSENT), { retained: true });
  expect(await client.lvi(call)).toMatchObject({ kind: "valid" });
  expect(await healthOf(server)).toMatchObject({ pending: 1 });
  // Its location has used up the fuel of a speculation, and asks again without a set.
  const ended = client.lvi({ ...call, units: null, attempt: 2 });
  const write = client.requestOf("increment", "hot", null);
  expect(await client.lvi(write)).toMatchObject({ kind: "executed", outcome: { kind: "result" } });
  const failed = { kind: "abort", status: 500, code: "execution_failed" };
  expect(await ended).toMatchObject({ kind: "executed", outcome: failed });
  expect(await client.lvi({ ...call, attempt: 3 })).toMatchObject({ cause: "stored", outcome: failed });
  expect(await healthOf(server)).toMatchObject(NOTHING_HELD);
  expect(await metric(server, 'radical_alarms_total{alarm="overdue_intent"}')).toBe(0);
  expect(await client.read("hot")).toBe(1);
});

test("one whose location never asks again ends as well, when somebody waits for the item", async () => {
  const server = await start("--followup-timeout-ms", "60000", "--execution-limit-ms", "2000");
  const client = new TestClient(server.url, await withLittleSpeculation());
  await client.register();
  const call = client.requestOf("scatter", "hot:100000000000", incrementUnits("hot", ABSENT));
  expect(await client.lvi(call)).toMatchObject({ kind: "valid" });
  expect(await client.lvi(client.requestOf("increment", "hot", null))).toMatchObject({ kind: "executed" });
  await expect.poll(() => healthOf(server), { timeout: TIMEOUT_MS }).toMatchObject(NOTHING_HELD);
  expect(await client.read("hot")).toBe(1);
});

test("endless, aborting and trapping members of a train: the others get through, although nobody waits for a worker", async () => {
  const module = await testModule();
  // On a busy machine the runs take long enough to use up a location's share of the workers.
  const unbounded = ["--execution-limit-ms", "3600000", "--location-workers-percent", "100"];
  const server = await start(...unbounded, "--crowded-limit-ms", "200");
  const client = new TestClient(server.url, module);
  await client.register();
  await client.read("a");
  const run = (handler: string, argument = "a"): Promise<LviReply> =>
    client.lvi(client.requestOf(handler, argument, incrementUnits("a", null)));
  /** As a location does: a machine that stops for a moment makes any member last. */
  const runAgain = async (handler: string): Promise<LviReply> => {
    let reply = await run(handler);
    while (reply.kind === "refused" && reply.code === "busy") reply = await run(handler);
    return reply;
  };
  // It holds the counter for long enough that the others wait for it.
  const first = run("scatter", "a:12000000");
  await expect.poll(() => metric(server, "radical_executions_running"), { timeout: TIMEOUT_MS }).toBe(1);
  const others = ["increment", "increment", "spin", "refuse", "trap", "increment", "increment"].map((name) =>
    name === "spin" ? run(name) : runAgain(name),
  );
  const [scattered, ...ended] = await Promise.all([first, ...others]);
  expect(scattered).toMatchObject({ kind: "executed", outcome: { kind: "result" } });
  const done = { kind: "executed", outcome: { kind: "result" } };
  expect(ended).toMatchObject([
    done,
    done,
    { kind: "refused", code: "busy" },
    { kind: "executed", outcome: { kind: "abort" } },
    { kind: "executed", outcome: { kind: "trap" } },
    done,
    done,
  ]);
  expect(await client.read("a")).toBe(5);
});
