/**
 * Locations and servers that die or stand still while read leases are held: writers go on, and nothing stale is read. Each is a process
 * of its own, on SQLite and on DynamoDB Local.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { StorageChoice } from "./crash/deployment.ts";
import { dynamoDb, SQLITE } from "./crash/storages.ts";
import { type Built, built, type Times, World } from "./process-world.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
const NAMES = ["a", "b", "c"];

let application: Built;
beforeAll(async () => {
  application = await built(BANK);
});
afterAll(() => application?.remove());

describe("on SQLite", () => {
  cases(() => SQLITE);
});

describe.runIf(hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;
  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterAll(() => local?.stop());
  cases(() => dynamoDb(local.endpoint));
});

function cases(storageOf: () => StorageChoice): void {
  describe("a location", () => {
    let world: World;
    beforeAll(async () => {
      const times = { leaseMs: 60_000, readLeaseMs: 1_500, attemptMs: 15_000 };
      world = await World.start(application, storageOf(), times, ["here", "stopped", "killed"]);
    });
    afterAll(() => world?.stop());

    test("that stands still holds a write up at most until its leases are over, and reads nothing stale when it goes on", async () => {
      const call = world.call.bind(world);
      for (const name of NAMES) await world.leasedAt("stopped", name);
      await world.signal("stopped", "SIGSTOP");
      // Requests come while it stands still, and run before it hears anything of the writes.
      const before = NAMES.map((name) => call("stopped", "count", name));
      for (const name of NAMES) expect(await call("here", "increment", name)).toMatchObject({ result: 1 });
      const after = NAMES.map((name) => call("stopped", "count", name));
      await world.signal("stopped", "SIGCONT");
      // The first ones were made before the writes were answered: either is right.
      for (const answer of before) expect([0, 1]).toContain((await answer).result);
      for (const answer of after) expect(await answer).toMatchObject({ result: 1 });
      for (const name of NAMES) {
        expect(await call("here", "increment", name)).toMatchObject({ result: 2 });
        expect(await call("stopped", "count", name)).toMatchObject({ result: 2 });
      }
    });

    test("that is killed while it holds leases holds nobody up for good", async () => {
      await world.leasedAt("killed", "k");
      await world.signal("killed", "SIGKILL");
      for (let i = 1; i <= 3; i++) expect(await world.call("here", "increment", "k")).toMatchObject({ result: i });
      await world.startLocation("killed");
      expect(await world.call("killed", "count", "k")).toMatchObject({ result: 3 });
    });
  });

  describe("a leader with a standby", () => {
    let world: World;
    let told: { count: number; isOver: boolean };
    let times: Times;
    beforeEach(() => {
      told = { count: 0, isOver: false };
      // The standby looks at the leadership four times a term: after a kill it leads while leases of the dead leader live.
      times = { leaseMs: 8_000, readLeaseMs: 6_000, attemptMs: 15_000 };
    });
    afterEach(async () => {
      told.isOver = true;
      await world?.stop();
    });

    const increments = async (count: number): Promise<void> => {
      for (let i = 1; i <= count; i++) {
        expect(await world.call("here", "increment", "k")).toMatchObject({ result: i });
        told.count = i;
      }
    };

    test("that is killed while its leases are held: nothing is read by them that the new leader has overwritten", async () => {
      world = await World.start(application, storageOf(), times, ["here", "far"], true);
      await world.leasedAt("far", "k");
      const killing = world.killLeader();
      const reading = world.readAll("far", "k", told);
      await killing;
      await increments(3);
      told.isOver = true;
      expect(await reading).toBeGreaterThan(0);
      expect(await world.waits()).toBeGreaterThan(0);
      expect(await world.call("far", "count", "k")).toMatchObject({ result: 3 });
    });

    test("that has leased nothing is killed: no write waits at the new leader", async () => {
      world = await World.start(application, storageOf(), times, ["here", "far"], true);
      await world.call("here", "increment", "other");
      await world.call("far", "increment", "other");
      await world.killLeader();
      await increments(3);
      expect(await world.waits()).toBe(0);
    });

    test("that stands still past its leadership while its leases are held, and goes on: nothing stale is read", async () => {
      times = { leaseMs: 2_000, readLeaseMs: 2_000, attemptMs: 1_500 };
      world = await World.start(application, storageOf(), times, ["here", "far"], true);
      await world.leasedAt("far", "k");
      const reading = world.readAll("far", "k", told);
      const goesOn = await world.stopLeader();
      await increments(3);
      // It finds out that it was replaced, and tells nobody anything.
      expect(await goesOn()).toBe(1);
      expect(await world.call("here", "increment", "k")).toMatchObject({ result: 4 });
      told.count = 4;
      expect(await world.call("far", "count", "k")).toMatchObject({ result: 4 });
      told.isOver = true;
      expect(await reading).toBeGreaterThan(0);
    });
  });
}
