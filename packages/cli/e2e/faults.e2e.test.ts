/**
 * What may go wrong between a location and the primary, and what clients see of it: nothing. Real workerd, a real LVI
 * server as its own process, real storage; only the link between them is under control.
 */
import { FOLLOWUP_PATH, LVI_PATH } from "@radical/protocol";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type Fate, type FaultLink, createFaultLink, withoutUpdates } from "./fault-link.ts";
import { readIntents, readItem } from "./storage.ts";

const MINIMAL = fileURLToPath(new URL("../../../templates/minimal", import.meta.url));

/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };

function stored(app: TestApp): number {
  return (readItem(app.stateFolder, "counters", "all") ?? 0) as number;
}

describe("with followups that are waited for long", () => {
  let app: TestApp;
  let faults: FaultLink;

  beforeAll(async () => {
    faults = createFaultLink();
    faults.decide = withoutUpdates;
    // No timer ends an intent here: only a followup, contention or a restart does.
    app = await startTestApp({ project: MINIMAL, link: faults.link, followupTimeoutMs: 600_000 });
  });
  afterAll(() => app?.stop());

  beforeEach(async () => {
    // Both locations know the counter.
    for (const location of ["near", "far", "near", "far"]) await app.result("count", {}, { location });
  });
  afterEach(() => {
    faults.decide = withoutUpdates;
  });

  test("a warm location answers from its own run, a stale one from the primary's, and is repaired by it", async () => {
    const near = await app.call("increment", {}, { location: "near" });
    expect(near.path).toBe("speculative");
    await expect.poll(() => stored(app), SOON).toBe(near.result);

    const stale = await app.call("count", {}, { location: "far" });
    expect(stale).toMatchObject({ result: near.result, path: "near-storage" });
    const repaired = await app.call("count", {}, { location: "far" });
    expect(repaired).toMatchObject({ result: near.result, path: "speculative" });
  });

  test("kill -9 of the LVI server between its reply and the followup: nothing is lost, nothing happens twice", async () => {
    const before = await app.result<number>("count");
    const { promise: fate, resolve: decideFate } = Promise.withResolvers<Fate>();
    const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
    faults.decide = ({ path }) => {
      if (path !== FOLLOWUP_PATH) return "pass";
      isHeld();
      return fate;
    };
    const idempotencyKey = crypto.randomUUID();
    const answer = await app.call("increment", {}, { location: "near", idempotencyKey });
    expect(answer).toMatchObject({ result: before + 1, path: "speculative" });
    await held;
    expect(stored(app)).toBe(before);

    await killServer(app);
    // The server that has recovered owns the intent: who reads waits for its writes.
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 1);
    // The followup comes late.
    decideFate("pass");
    faults.decide = () => "pass";
    const repeated = await app.call("increment", {}, { location: "far", idempotencyKey });
    expect(repeated.result).toBe(before + 1);
    expect(await app.result("count", {}, { location: "near" })).toBe(before + 1);
    await expect.poll(() => stored(app), SOON).toBe(before + 1);
  });

  test("a followup that comes twice, and one that comes after the primary has run the handler: one effect", async () => {
    const before = await app.result<number>("count", {}, { location: "near" });
    faults.decide = ({ path }) => (path === FOLLOWUP_PATH ? "duplicate" : "pass");
    expect(await app.call("increment", {}, { location: "near" })).toMatchObject({ path: "speculative" });
    await expect.poll(() => stored(app), SOON).toBe(before + 1);

    const { promise: fate, resolve: decideFate } = Promise.withResolvers<Fate>();
    faults.decide = ({ path }) => (path === FOLLOWUP_PATH ? fate : "pass");
    expect(await app.call("increment", {}, { location: "near" })).toMatchObject({ path: "speculative" });
    // Who wants the counter does not wait for the followup.
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 2);
    const followups = (): number => faults.answered.filter(({ path }) => path === FOLLOWUP_PATH).length;
    const sofar = followups();
    decideFate("pass");
    await expect.poll(followups, SOON).toBe(sofar + 1);
    faults.decide = () => "pass";
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 2);
    expect(stored(app)).toBe(before + 2);
  });

  test("LVI replies that are lost for good: 503 with Retry-After, and no lock is left; the same key tells what happened", async () => {
    const before = await app.result<number>("count", {}, { location: "far" });
    faults.decide = ({ path, location }) => (path === LVI_PATH && location === "near" ? "lose-reply" : "pass");
    const idempotencyKey = crypto.randomUUID();
    const answer = await app.call("increment", {}, { location: "near", idempotencyKey });
    expect(answer).toMatchObject({ status: 503, error: { code: "primary_unreachable" } });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    // It has happened, as the primary knows, and nobody waits for it.
    expect(await app.result("increment", {}, { location: "far" })).toBe(before + 2);
    faults.decide = () => "pass";
    expect(await app.result("increment", {}, { location: "near", idempotencyKey })).toBe(before + 1);
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 2);
  });

  test("a lost LVI reply is asked for again: one effect", async () => {
    const before = await app.result<number>("count");
    let lost = 0;
    faults.decide = ({ path }) => (path === LVI_PATH && lost++ === 0 ? "lose-reply" : "pass");
    expect(await app.result("increment", {}, { location: "near" })).toBe(before + 1);
    expect(lost).toBeGreaterThan(1);
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 1);
  });

  test("a lost LVI request is sent again", async () => {
    const before = await app.result<number>("count");
    let lost = 0;
    faults.decide = ({ path }) => (path === LVI_PATH && lost++ === 0 ? "lose-request" : "pass");
    expect(await app.result("increment", {}, { location: "near" })).toBe(before + 1);
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 1);
  });

  test("a repeat with the same Idempotency-Key gets the same answer at any location, and counts once", async () => {
    const before = await app.result<number>("count");
    const idempotencyKey = crypto.randomUUID();
    const first = await app.call("increment", { by: 3 }, { location: "near", idempotencyKey });
    for (const location of ["near", "far"]) {
      const repeated = await app.call("increment", { by: 3 }, { location, idempotencyKey });
      expect(repeated).toMatchObject({ status: 200, result: before + 3, execution: first.execution });
    }
    expect(await app.result("count", {}, { location: "far" })).toBe(before + 3);

    const reused = await app.call("increment", { by: 4 }, { location: "near", idempotencyKey });
    expect(reused).toMatchObject({ status: 422, error: { code: "idempotency_key_reused" } });
  });

  test("a primary that can't be reached: 503 with Retry-After, nothing held, and the same key works later", async () => {
    const before = await app.result<number>("count");
    faults.decide = ({ location }) => (location === "near" ? "lose-request" : "pass");
    const idempotencyKey = crypto.randomUUID();
    const answer = await app.call("increment", {}, { location: "near", idempotencyKey });
    expect(answer).toMatchObject({ status: 503, error: { code: "primary_unreachable" } });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    // Nobody else waits for it.
    expect(await app.result("increment", {}, { location: "far" })).toBe(before + 1);
    faults.decide = () => "pass";
    expect(await app.result("increment", {}, { location: "near", idempotencyKey })).toBe(before + 2);
  });

  test("clients that repeat until they are answered count exactly once each, whatever is killed meanwhile", async () => {
    const before = await app.result<number>("count");
    const clients = Array.from({ length: 24 }, async (_, index) => {
      const idempotencyKey = crypto.randomUUID();
      const location = index % 2 === 0 ? "near" : "far";
      for (;;) {
        const { status } = await app.call("increment", {}, { location, idempotencyKey });
        if (status === 200) return;
        expect(status).toBe(503);
      }
    });
    await expect.poll(() => stored(app), SOON).toBeGreaterThan(before + 2);
    await killServer(app);
    await Promise.all(clients);
    expect(await app.result("count", {}, { location: "far" })).toBe(before + clients.length);
    expect(await app.result("count", {}, { location: "near" })).toBe(before + clients.length);
  });
});

test("a followup that never arrives: the primary runs the handler itself when its timer ends", async () => {
  const faults = createFaultLink();
  const app = await startTestApp({ project: MINIMAL, link: faults.link, followupTimeoutMs: 200 });
  try {
    await app.result("count");
    faults.decide = ({ path }) => (path === FOLLOWUP_PATH ? "lose-request" : "pass");
    const answer = await app.call("increment", { by: 7 });
    expect(answer).toMatchObject({ result: 7, path: "speculative" });
    // Nobody asks for the counter: it is the timer.
    await expect.poll(() => stored(app), SOON).toBe(7);
    expect(readIntents(app.stateFolder)).toEqual({ pending: [], done: 1 });
    expect(faults.arrived.some(({ path }) => path === FOLLOWUP_PATH)).toBe(true);
    expect(await app.result("count", {}, { location: "far" })).toBe(7);
  } finally {
    await app.stop();
  }
});

test("a wrong read/write set costs latency only", async () => {
  // The locations leave the notes and the counter out of every set.
  const app = await startTestApp({ project: MINIMAL, testHooks: { undeclaredTables: ["notes", "counters"] } });
  try {
    for (let i = 1; i <= 3; i++) {
      const answer = await app.call("increment", {}, { location: i % 2 === 0 ? "near" : "far" });
      expect(answer).toMatchObject({ result: i, path: "near-storage" });
    }
    const note = await app.result("addNote", { text: "still right" });
    for (const location of ["near", "far"]) {
      expect(await app.call("listNotes", {}, { location })).toMatchObject({ result: [note], path: "near-storage" });
      expect(await app.result("count", {}, { location })).toBe(3);
    }
  } finally {
    await app.stop();
  }
});

/** kill -9, and wait until another process serves. */
async function killServer(app: TestApp): Promise<void> {
  const restarts = (): number =>
    app.events.filter((event) => event.event === "server_started" && event.restarted).length;
  const before = restarts();
  const pid = app.lviServer.pid();
  if (pid === undefined) throw new Error("no server runs");
  process.kill(pid, "SIGKILL");
  await expect.poll(restarts, SOON).toBeGreaterThan(before);
}
