/**
 * Reads without a request to the primary, and the writes that wait for them. Real workerd with two locations, a real LVI server
 * as its own process on SQLite; only the link between them is under control.
 */
import { fileURLToPath } from "node:url";
import { HEARD_PATH, LVI_PATH } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type TestApp, startTestApp } from "../src/testing.ts";
import { createFaultLink, type Fate, type FaultLink } from "./fault-link.ts";
import { meanwhile } from "./meanwhile.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };
const LONG_MS = 60_000;
const SHORT_MS = 1_500;

let app: TestApp;
const faults: FaultLink = createFaultLink();

async function start(readLeaseMs: number): Promise<void> {
  app = await startTestApp({ project: BANK, link: faults.link, readLeaseMs });
}

beforeAll(() => start(LONG_MS));
afterAll(() => app?.stop());

const count = (name: string, location: string): Promise<Answer> => app.call("count", { name }, { location });
const increment = (name: string, location: string): Promise<Answer> => app.call("increment", { name }, { location });
const asked = (location: string): number =>
  faults.arrived.filter((request) => request.path === LVI_PATH && request.location === location).length;

async function leasedAt(name: string, location: string): Promise<Answer> {
  let answer: Answer | undefined;
  await expect.poll(async () => (answer = await count(name, location)).path, SOON).toBe("leased");
  return answer!;
}

/** From now on the server hears nothing of the location's leases, until the returned function is called. */
function holdHeard(of: string): () => void {
  const { promise: fate, resolve } = Promise.withResolvers<Fate>();
  faults.decide = ({ path, location }) => (path === HEARD_PATH && location === of ? fate : "pass");
  return () => {
    faults.decide = () => "pass";
    resolve("pass");
  };
}

test("what nobody writes is read without a request, absent or not, at both locations", async () => {
  for (const location of ["near", "far"]) {
    expect(await leasedAt("untouched", location)).toMatchObject({ status: 200, result: 0 });
    const before = asked(location);
    for (let i = 0; i < 20; i++) {
      const answer = await count("untouched", location);
      expect(answer).toMatchObject({ result: 0, path: "leased" });
      expect(answer.headers.get("x-radical-reason")).toBe("unchanged");
      expect(answer.headers.get("server-timing")).toMatch(/^rw;dur=.*f;dur=/);
      expect(answer.headers.get("server-timing")).not.toContain("lvi");
    }
    expect(asked(location)).toBe(before);
  }
});

test("a write is not answered before each location that holds a lease has heard, and then every read has it", async () => {
  for (const location of ["near", "far"]) expect(await leasedAt("awaited", location)).toMatchObject({ result: 0 });
  const goOn = holdHeard("far");
  let isAnswered = false;
  const writing = increment("awaited", "near").finally(() => (isAnswered = true));
  // The location drops its lease when it is told, and says so. Meanwhile others read what was before.
  await expect.poll(async () => (await count("awaited", "far")).path, SOON).not.toBe("leased");
  expect(await count("awaited", "far")).toMatchObject({ result: 0 });
  expect(isAnswered).toBe(false);
  goOn();
  expect(await writing).toMatchObject({ result: 1 });
  for (const location of ["far", "near"]) expect(await count("awaited", location)).toMatchObject({ result: 1 });
  for (const location of ["far", "near"]) expect(await leasedAt("awaited", location)).toMatchObject({ result: 1 });
});

test("a location reads its own writes, whatever it has leased", async () => {
  for (let i = 1; i <= 2; i++) {
    await leasedAt("own", "near");
    expect(await increment("own", "near")).toMatchObject({ result: i });
    expect(await count("own", "near")).toMatchObject({ result: i });
    expect(await count("own", "far")).toMatchObject({ result: i });
  }
});

test("a repeat of a read under its key gets the first answer, also where all is leased", async () => {
  await leasedAt("repeated", "near");
  const idempotencyKey = crypto.randomUUID();
  const first = await app.call("count", { name: "repeated" }, { location: "near", idempotencyKey });
  expect(first).toMatchObject({ result: 0 });
  expect(first.path).not.toBe("leased");
  await increment("repeated", "far");
  expect(await app.call("count", { name: "repeated" }, { location: "near", idempotencyKey })).toMatchObject({
    result: 0,
  });
  expect(await count("repeated", "near")).toMatchObject({ result: 1 });
});

test("a location that is not heard holds a write up until its leases are over, and reads nothing stale then", async () => {
  await app.stop();
  faults.decide = () => "pass";
  await start(SHORT_MS);
  expect(await leasedAt("unheard", "far")).toMatchObject({ result: 0 });
  holdHeard("far");
  let told = 0;
  const read = async (): Promise<void> => {
    const least = told;
    const answer = await count("unheard", "far");
    expect(answer.status).toBe(200);
    expect(answer.result).toBeGreaterThanOrEqual(least);
  };
  await meanwhile(read, async () => {
    for (let i = 1; i <= 3; i++) {
      const answer = await increment("unheard", "near");
      expect(answer).toMatchObject({ result: i });
      told = i;
    }
  });
  expect(await count("unheard", "far")).toMatchObject({ result: 3 });
});
