/**
 * Bytes are garbled on the way between locations and server, without TLS, under load.
 *
 * A changed request is refused, whatever it says. Nobody signs replies, so a changed one may show a wrong result, as
 * docs/security.md says. Storage is right all the same, and so is each repeat.
 */
import { randomUUID } from "node:crypto";
import { drawn } from "@radical/command-line/short-tier";
import { Random } from "@radical/history";
import { afterAll, afterEach, beforeAll, expect, onTestFailed, test } from "vitest";
import { type Application, buildApplication, Deployment, LOCATIONS, type Reply } from "./deployment.ts";
import { type Direction, GarblingLink } from "./garbling-link.ts";
import { Load } from "./load.ts";
import { SQLITE } from "./storages.ts";

/** Part of the pieces of bytes that are garbled. */
const RATE = 0.05;
/** Of each kind of change. */
const CHANGES = 20;
const CALLS = 60;
/** They increment one counter. */
const CLIENTS = 8;
const MOST_ATTEMPTS = 500;
const TIMEOUT_MS = 600_000;

const directions = drawn("garbled bytes", ["requests", "replies"], 1);
const at = (direction: Direction): { readonly skip: boolean } => ({ skip: !directions.includes(direction) });
const random = new Random(Math.trunc(Math.random() * 2 ** 31));

let application: Application;
let deployment: Deployment;
let link: GarblingLink;

beforeAll(async () => {
  application = await buildApplication();
}, TIMEOUT_MS);
afterAll(() => application?.remove());
afterEach(() => deployment?.stop());

async function start(direction: Direction): Promise<void> {
  link = new GarblingLink(direction, random);
  deployment = await Deployment.start(application, SQLITE, { link: (server) => link.start(server) });
  onTestFailed(() => console.log({ ...link.counts }));
}

const isGarbledEnough = (): boolean => Object.values(link.counts).every((count) => count >= CHANGES);

test("changed requests are refused, and each call ends once", at("requests"), async () => {
  await start("requests");
  const load = new Load(deployment, random);
  await load.open();
  load.start();
  await load.ended(CALLS);
  const pid = deployment.serverPid;
  link.rate = RATE;
  while (!isGarbledEnough() && load.problems.length === 0) await load.ended(1);
  link.rate = 0;
  await load.ended(CALLS);
  await load.stop();
  await load.check();
  expect(load.problems).toEqual([]);
  expect(deployment.alarms).toEqual([]);
  expect(deployment.serverPid).toBe(pid);
  await expect.poll(() => deployment.load()).toMatchObject({ executions: 0, pending: 0 });
});

test("after changed replies storage has each call once, and its repeat tells the truth", at("replies"), async () => {
  await start("replies");
  const pid = deployment.serverPid;
  const keys = new Set<string>();
  const increment = (key: string): Promise<Reply> => answered("increment", { name: "a" }, key);
  link.rate = RATE;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (!isGarbledEnough()) {
        const key = randomUUID();
        keys.add(key);
        await increment(key);
        await answered("count", { name: "a" }, null);
      }
    }),
  );
  link.rate = 0;

  const results: unknown[] = [];
  for (const key of keys) results.push((await increment(key)).result);
  expect(lostOrDoubled(results)).toEqual([]);
  // No location keeps what it was told wrongly.
  expect(await increment(randomUUID())).toMatchObject({ status: 200, result: keys.size + 1 });
  for (const location of LOCATIONS)
    expect(await deployment.call("count", { name: "a" }, location, null)).toMatchObject({
      status: 200,
      result: keys.size + 1,
    });
  expect(deployment.serverPid).toBe(pid);
  await expect.poll(() => deployment.load()).toMatchObject({ executions: 0, pending: 0 });
});

test("the check finds an increment that is lost, and one that is doubled", () => {
  expect(lostOrDoubled([2, 1, 3])).toEqual([]);
  expect(lostOrDoubled([2, 1, 1])).toEqual([1]);
  expect(lostOrDoubled([1, 2, 4])).toEqual([4]);
});

/** Of the results of all increments of a counter, each of which was carried out once, those that can't be. */
function lostOrDoubled(results: readonly unknown[]): readonly unknown[] {
  const seen = new Set<unknown>();
  return results.filter((result) => {
    const isRight = Number(result) >= 1 && Number(result) <= results.length && !seen.has(result);
    seen.add(result);
    return !isRight;
  });
}

/** Repeats a call for as long as it has no outcome. An error that a changed reply has made is none. */
async function answered(handler: string, args: unknown, key: string | null): Promise<Reply> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const reply = await deployment.call(handler, args, random.pick(LOCATIONS), key);
    if (reply?.status === 200) return reply;
  }
  throw new Error(`${handler}: no outcome after ${MOST_ATTEMPTS} attempts`);
}
