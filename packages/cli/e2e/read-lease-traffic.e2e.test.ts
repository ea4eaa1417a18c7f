/**
 * The messages of leased reads, and the end of leases when nobody asks any more. Real workerd, a real LVI server; the link counts
 * the messages.
 */
import { fileURLToPath } from "node:url";
import { HEARD_PATH, LVI_PATH } from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { createFaultLink } from "./fault-link.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
/** Bounds the polls of conditions, and measures nothing. */
const SOON = { timeout: 100_000, interval: 50 };
const READS = 1_000;
const WIDTH = 4;
/** A location that answers by leases asks the primary once in so long whether the module may still run at locations. */
const CONFIRMED_FOR_MS = 60_000;
const BEAT_MS = 1_000;
const LEASE_MS = 1_500;
/** More than are written until nobody waits. */
const ITEMS = 40;

let app: TestApp | null = null;
afterEach(async () => {
  await app?.stop();
  app = null;
});

const pathOf = async (of: TestApp, name: string): Promise<string | null> => (await of.call("count", { name })).path;

test("a thousand leased reads send no request for them, and one message a second at most", async () => {
  const faults = createFaultLink();
  const started = await startTestApp({ project: BANK, locations: { near: 0 }, link: faults.link });
  app = started;
  await expect.poll(() => pathOf(started, "read"), SOON).toBe("leased");
  const sent = (path: string): number => faults.arrived.filter((request) => request.path === path).length;
  const before = { asked: sent(LVI_PATH), heard: sent(HEARD_PATH) };
  const beganAtMs = performance.now();
  const paths = new Map<string | null, number>();
  await Promise.all(
    Array.from({ length: WIDTH }, async () => {
      for (let read = 0; read < READS / WIDTH; read++) {
        const path = await pathOf(started, "read");
        paths.set(path, (paths.get(path) ?? 0) + 1);
      }
    }),
  );
  const tookMs = performance.now() - beganAtMs;
  const asked = sent(LVI_PATH) - before.asked;
  expect(asked).toBeLessThanOrEqual(Math.ceil(tookMs / CONFIRMED_FOR_MS));
  expect(paths.get("leased")).toBe(READS - asked);
  // The message that began the time is not counted, the one after its end may be.
  expect(sent(HEARD_PATH) - before.heard).toBeLessThanOrEqual(tookMs / BEAT_MS + 2);
});

test("when nobody asks a location any more, its leases end by themselves, and no write waits for them", async () => {
  const started = await startTestApp({ project: BANK, locations: { near: 0, far: 0 }, readLeaseMs: LEASE_MS });
  app = started;
  const names = Array.from({ length: ITEMS }, (_, index) => `left-${index}`);
  for (const name of names)
    await expect
      .poll(async () => (await started.call("count", { name }, { location: "far" })).path, SOON)
      .toBe("leased");
  // A revocation that is heard renews the others, so the next one comes after the time of a lease.
  const waits = async (): Promise<boolean> => {
    const before = await metricOf(started, "radical_clear_wait_seconds_count");
    await started.result("increment", { name: names.pop() ?? "" }, { location: "near" });
    return (await metricOf(started, "radical_clear_wait_seconds_count")) > before;
  };
  await expect.poll(waits, { ...SOON, interval: 2 * LEASE_MS }).toBe(false);
  for (let write = 0; write < 3; write++) expect(await waits()).toBe(false);
  expect(await metricOf(started, "radical_sessions_lapsed_total")).toBe(0);
});

async function metricOf({ lviServer }: TestApp, name: string): Promise<number> {
  const { host, port } = lviServer.address();
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}
