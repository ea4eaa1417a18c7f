/** Orders about caches at a Worker of all locations, inside workerd, as the primary sends them. */
import { createHmac } from "node:crypto";
import {
  type CacheOrder,
  KEY_HEADER,
  type Manifest,
  SIGNATURE_HEADER,
  signedHead,
  TIME_HEADER,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { copies } from "./aging-door.ts";
import { Location } from "./location.ts";
import { KEY, KEY_ID, TestPrimary } from "./primary.ts";
import { buildFixture } from "./fixture/application.ts";

let location: Location | null = null;
let primary: TestPrimary | null = null;
afterEach(async () => {
  await location?.stop();
  await primary?.close();
});

async function started(manifest: Partial<Manifest> = {}): Promise<Location> {
  primary = new TestPrimary(await buildFixture());
  return (location = await Location.start({ primaryUrl: await primary.listen(), location: null, manifest }));
}

/** `secret`: of the key that signs. */
async function order(asked: object, secret = KEY): Promise<{ readonly status: number; readonly json: unknown }> {
  const body = JSON.stringify(asked);
  const timeMs = Date.now();
  const hmac = createHmac("sha256", Buffer.from(secret, "hex"));
  const response = await location!.request(WORKER_CACHES_PATH, {
    method: "POST",
    body,
    headers: {
      [KEY_HEADER]: KEY_ID,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: hmac
        .update(signedHead("POST", WORKER_CACHES_PATH, timeMs))
        .update(body)
        .digest("hex"),
    },
  });
  return { status: response.status, json: await response.json() };
}

const SOON = { timeout: 60_000 };
const PURGE: CacheOrder = { kind: "purge", location: null, table: null, key: null, after: null };

test("only the primary orders", async () => {
  await started();
  expect(await order({ kind: "look" })).toEqual({
    status: 200,
    json: { kind: "looked", cache: "durable-object", locations: [] },
  });
  expect(await order({ kind: "look" }, KEY.replace(/^../, "ff"))).toMatchObject({ status: 401 });
  expect((await location!.request(WORKER_CACHES_PATH)).status).toBe(405);
  expect(await order({ kind: "wipe" })).toMatchObject({ status: 400, json: { error: { code: "malformed_message" } } });
  expect(await order(PURGE)).toMatchObject({ status: 400 });
});

const ENTRIES = "SELECT unit FROM entries_3 ORDER BY unit";

/** A read at a data centre, which puts what the primary has into the cache there. */
async function read(key: string, colo: string, continent = "EU"): Promise<void> {
  const body = JSON.stringify({ key });
  const response = await location!.requestFrom({ colo, continent, longitude: "8" }, "/api/read", {
    method: "POST",
    body,
  });
  expect(await response.json()).toEqual({ result: null });
}

test("a location that has put something is in the list, and its cache alone is emptied", async () => {
  await started();
  // Its locations share the memory of the isolate, and not the caches behind it.
  await read("one", "AMS");
  await read("two", "WAW");
  await read("three", "WAW");
  const locations = async () => ((await order({ kind: "look" })).json as { locations: unknown }).locations;
  await expect.poll(locations, SOON).toEqual(["AMS", "WAW"]);
  const units = async (name: string) => (await (await location!.cache(name)).run(ENTRIES)).map(({ unit }) => unit);
  await expect.poll(() => units("WAW"), SOON).toEqual(["notes/three", "notes/two"]);

  const purged = { kind: "purged", entries: 1, next: null };
  expect(await order({ ...PURGE, location: "AMS" })).toEqual({ status: 200, json: purged });
  expect(await units("AMS")).toEqual([]);
  expect(await units("WAW")).toEqual(["notes/three", "notes/two"]);
  expect(await order({ ...PURGE, location: "WAW", table: "notes", key: "two" })).toEqual({ status: 200, json: purged });
  expect(await units("WAW")).toEqual(["notes/three"]);

  // The isolate has forgotten its memory too: the primary is asked again.
  await read("one", "AMS");
  await expect.poll(() => units("AMS"), SOON).toEqual(["notes/one"]);
});

test("a large cache is emptied by several orders, each of which says whether there is more", async () => {
  await started();
  await read("one", "AMS");
  const cache = await location!.cache("AMS");
  await expect.poll(() => cache.run(ENTRIES), SOON).toHaveLength(1);
  await cache.run(copies("notes/one", 25_000));
  const part = { ...PURGE, location: "AMS", table: "notes" };
  const first = await order(part);
  expect(first).toEqual({ status: 200, json: { kind: "purged", entries: 20_000, next: expect.any(String) as string } });
  const { next } = first.json as { readonly next: string };
  expect(await order({ ...part, after: next })).toEqual({
    status: 200,
    json: { kind: "purged", entries: 5_001, next: null },
  });
  expect(await cache.run(ENTRIES)).toEqual([]);
});

test("in KV all locations are emptied at once", async () => {
  await started({ cache: { kind: "kv", memoryBytes: 1_000_000, timeoutMs: 60_000, maxAgeHours: 1 } });
  expect(await order({ kind: "look" })).toMatchObject({ json: { cache: "kv", locations: null } });
  await read("one", "AMS");
  await read("two", "WAW");
  let gone = 0;
  const purge = async (): Promise<number> => {
    const { json } = await order(PURGE);
    expect(json).toMatchObject({ kind: "purged", next: null });
    return (gone += (json as { entries: number }).entries);
  };
  await expect.poll(purge, SOON).toBe(2);
});
