/**
 * A server goes on under load while a thing that it rests on fails. Its disk is full, DynamoDB does not answer, or its wall clock is
 * set. Clients go on too. In the end nothing is lost or doubled, and nothing is held.
 */
import { join } from "node:path";
import process from "node:process";
import { drawn } from "@radical/command-line/short-tier";
import { Random } from "@radical/history";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Application,
  buildApplication,
  Deployment,
  type DeploymentOptions,
  type StorageChoice,
} from "./deployment.ts";
import { Load } from "./load.ts";
import { SMALL_DISKS } from "./small-disk.ts";
import { dynamoDb, SQLITE } from "./storages.ts";

/** Calls before a fault, and after it. */
const CALLS = 60;
/** Attempts without an answer during a fault. */
const FAILED = 10;
const ROUNDS = 2;
/** Short, so that it runs out in a fault. */
const LEASE_MS = 3_000;
const TIMEOUT_MS = 600_000;
const MINUTE_MS = 60_000;
/** Within which signatures are good. */
const GOOD_MINUTES = 5;

const STANDS_STILL = "for longer than a leadership lasts";
/** How far ahead the clock of a server is set, in minutes. */
const CLOCKS: Readonly<Record<string, number>> = {
  "four minutes ahead": 4,
  "four minutes behind": -4,
  "a quarter of an hour ahead": 15,
  "a quarter of an hour behind": -15,
  "two hours ahead": 120,
  "two hours behind": -120,
};

/** The schedule of the load makes up for 1,000 ticks of a second each. It leaves the others out. */
const TICKS_LEFT_OUT =
  "rounds by the schedule that came again, and that did not come: [0,1] in storage, [0,0] were told";

const cases = drawn("outages", [...Object.keys(SMALL_DISKS), STANDS_STILL, ...Object.keys(CLOCKS)], 1);
const disks = Object.keys(SMALL_DISKS).filter((name) => cases.includes(name) && isHere(name));
const clocks = Object.keys(CLOCKS).filter((name) => cases.includes(name));

function isHere(name: string): boolean {
  const why = SMALL_DISKS[name]!.whyNot();
  if (why !== null) process.stderr.write(`skipped: the disk is full, ${name}: ${why}\n`);
  return why === null;
}

const seed = Math.trunc(Math.random() * 2 ** 31);

let application: Application;
let deployment: Deployment;
let load: Load;

beforeAll(async () => {
  application = await buildApplication();
}, TIMEOUT_MS);
afterAll(() => application?.remove());
afterEach(() => deployment?.stop());

async function start(storage: StorageChoice, options: DeploymentOptions): Promise<void> {
  deployment = await Deployment.start(application, storage, options);
  load = new Load(deployment, new Random(seed));
  await load.open();
  load.start();
  await load.ended(CALLS);
}

/** All that was told is there, once, and no execution is under way. `leftOut`: the words about ticks that may be. */
async function expectWhole(leftOut: string | null = null): Promise<void> {
  await load.stop();
  await load.check();
  expect(
    load.problems.filter((problem) => problem !== leftOut),
    `seed ${seed}`,
  ).toEqual([]);
  expect(deployment.alarms).toEqual([]);
  await expect.poll(() => deployment.load(), { timeout: TIMEOUT_MS }).toMatchObject({ executions: 0, pending: 0 });
}

describe.runIf(disks.length > 0)("the disk of SQLite is full, and has room again", () => {
  const folderOf = (folder: string): string => join(folder, "disk");
  const onDisk: StorageChoice = {
    ...SQLITE,
    leaseMs: LEASE_MS,
    address: (folder) => `sqlite:${join(folderOf(folder), "data.sqlite")}`,
  };

  test.each(disks)("%s", async (name) => {
    const disk = SMALL_DISKS[name]!;
    await start(onDisk, { serversUnder: (folder) => disk.under(folderOf(folder)) });
    const pid = deployment.serverPid;
    for (let round = 0; round < ROUNDS; round++) {
      const failed = deployment.logged("storage_failed");
      const ranOut = deployment.logged("leadership_run_out");
      await disk.fill(pid, folderOf(deployment.folder));
      expect(await failed).toMatchObject({ level: "warn" });
      await load.failed(FAILED);
      // Bytes that a file has are written over without room.
      if (name === "no file may be written") await ranOut;
      expect((await deployment.asked("/healthz")).status).toBe(200);
      await disk.empty(pid, folderOf(deployment.folder));
      await load.ended(CALLS);
    }
    await expectWhole();
    expect(deployment.serverPid).toBe(pid);
  });
});

describe.runIf(cases.includes(STANDS_STILL) && hasDynamoDbLocal())("DynamoDB does not answer, and goes on", () => {
  let local: DynamoDbLocal;

  beforeEach(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterEach(() => local.stop());

  test.each([STANDS_STILL])("%s", async () => {
    await start({ ...dynamoDb(local.endpoint), leaseMs: LEASE_MS }, {});
    const pid = deployment.serverPid;
    for (let round = 0; round < ROUNDS; round++) {
      const ranOut = deployment.logged("leadership_run_out");
      local.signal("SIGSTOP");
      await ranOut;
      await load.failed(FAILED);
      expect((await deployment.asked("/healthz")).status).toBe(200);
      const regained = deployment.logged("leadership_regained");
      local.signal("SIGCONT");
      await regained;
      await load.ended(CALLS);
    }
    await expectWhole();
    expect(deployment.serverPid).toBe(pid);
  });
});

describe.runIf(clocks.length > 0)("the wall clock of the server is set, and set right again", () => {
  test.each(clocks)("%s", async (name) => {
    const minutes = CLOCKS[name]!;
    await start({ ...SQLITE, leaseMs: LEASE_MS }, { setsClock: true });
    const pid = deployment.serverPid;
    await deployment.setClock(minutes * MINUTE_MS);
    await (Math.abs(minutes) < GOOD_MINUTES ? load.ended(CALLS) : load.failed(FAILED));
    if (minutes > 0) {
      await deployment.setClock(0);
      await load.ended(CALLS);
      expect(deployment.serverPid).toBe(pid);
    } else {
      // Tasks of locations, which seem to be ahead, would wait for as long in the memory of this server. The next one reads them anew.
      await deployment.killServer();
      await deployment.setClock(0);
      await deployment.startServer();
      await load.ended(CALLS);
    }
    await expectWhole(name === "two hours ahead" ? TICKS_LEFT_OUT : null);
  });
});
