/**
 * Two servers on one storage, of which one leads. It is killed under load: the locations find the other one by themselves,
 * each request goes on under its execution id, and nothing is lost or doubled.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Application, buildApplication, Deployment, LOCATIONS, type StorageChoice } from "./deployment.ts";
import { Load } from "./load.ts";
import { Random } from "@radical/history";
import { SQLITE } from "./storages.ts";

/** Calls before the leader is killed, and after its standby serves. */
const CALLS = 40;
const TIMEOUT_MS = 300_000;
/**
 * A standby leads one and a half terms after it has seen the leader last, and a location goes round the servers for eleven
 * seconds: with a short term most of them are left for a machine that does something else.
 */
const STORAGE: StorageChoice = { ...SQLITE, leaseMs: 3_000 };

let application: Application;

beforeAll(async () => {
  application = await buildApplication();
}, TIMEOUT_MS);
afterAll(() => application?.remove());

test(
  "a leader is killed, and its standby takes over",
  async () => {
    const seed = Math.trunc(Math.random() * 2 ** 31);
    const deployment = await Deployment.start(application, STORAGE);
    try {
      await deployment.startStandby();
      const load = new Load(deployment, new Random(seed));
      await load.open();
      load.start();
      await load.ended(CALLS);
      const tookOver = deployment.takeOver();
      // Of a client that does not repeat it: the location goes round the servers until one leads.
      const call = (location: string) => deployment.call("increment", { name: "own" }, location, randomUUID());
      expect(await call(LOCATIONS[0]), `seed ${seed}`).toMatchObject({ status: 200, result: 1 });
      await tookOver;
      await load.ended(CALLS);
      await load.stop();
      await load.check();
      expect(load.problems, `seed ${seed}`).toEqual([]);
      expect(deployment.alarms).toEqual([]);
      expect(await call(LOCATIONS[1])).toMatchObject({ status: 200, result: 2 });
    } finally {
      await deployment.stop();
    }
  },
  TIMEOUT_MS,
);
