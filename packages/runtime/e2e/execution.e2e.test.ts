/** Executions end to end: HTTP, workerd, WebAssembly, the caches, and a primary in another process's place. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type CommitId,
  type LviReply,
  type LviRequest,
  RadicalError,
  type UnitId,
  commitId,
  entryOf,
  unitId,
  NO_COMMIT,
} from "@radical/protocol";
import { type Request as ServiceRequest, type Response as ServiceResponse, fetch as serviceFetch } from "miniflare";
import { drawn } from "@radical/command-line/short-tier";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sealOf } from "../src/cache/seal.ts";
import { buildFixture } from "./fixture/application.ts";
import { Location, type LocationOptions } from "./location.ts";
import { TestPrimary } from "./primary.ts";

const note = (key: string) => unitId("notes", key);
/** CBOR text of less than 24 bytes, which is how the test application stores a note. */
const GUESS = { commitId: NO_COMMIT, hash: null };
const stored = (text: string): Uint8Array => Uint8Array.of(0x60 + text.length, ...Buffer.from(text));

let primary: TestPrimary;
let primaryUrl: string;
const locations: Location[] = [];
/** That stand beside the primary. */
const others: Server[] = [];

async function start(options: Partial<LocationOptions> = {}): Promise<Location> {
  const location = await Location.start({ primaryUrl, ...options });
  locations.push(location);
  return location;
}

async function call(location: Location, handler: string, args: unknown, headers: Record<string, string> = {}) {
  const response = await location.call(handler, args, { headers });
  const { result } = (await response.json()) as { result?: unknown };
  const header = (name: string) => response.headers.get(name) ?? "";
  return {
    status: response.status,
    result,
    path: header("x-radical-path"),
    reason: header("x-radical-reason"),
    timing: header("server-timing"),
    executionId: header("x-radical-execution").replace(/^execution-/, ""),
  };
}

const requests = (): readonly LviRequest[] =>
  primary.events.flatMap((event) => (event.kind === "lvi" ? [event.request] : []));
const SOON = { timeout: 100_000, interval: 20 };

/** The object of the location's cache was called so often to put something: nobody waits for that. */
async function hasPut(location: Location, times: number): Promise<void> {
  const cache = await location.cache();
  const puts = async (): Promise<number> => (await cache.calls()).filter((made) => made.startsWith("putMany")).length;
  await expect.poll(puts, SOON).toBe(times);
}
const lastUnits = (): LviRequest["units"] => requests().at(-1)!.units;

/** Holds the reply to the first request of a handler until released. */
function hold(handler: string): { readonly arrived: Promise<LviRequest>; release: () => void } {
  const released = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<LviRequest>();
  let held = false;
  primary.intercept = async (request, ownReply) => {
    if (held || request.handler !== handler) return undefined;
    held = true;
    // Decided when it arrives, told late.
    const reply: LviReply = ownReply();
    arrived.resolve(request);
    await released.promise;
    return reply;
  };
  return { arrived: arrived.promise, release: released.resolve };
}

beforeAll(async () => {
  primary = new TestPrimary(await buildFixture());
  primaryUrl = await primary.listen();
});
afterAll(() => primary.close());

beforeEach(() => primary.reset());
afterEach(async () => {
  await Promise.all(locations.splice(0).map((location) => location.stop()));
  for (const server of others.splice(0)) server.close().closeAllConnections();
  // Whatever else a test is about: every write of the edge is what the primary would have written.
  assert.deepEqual(primary.divergences, []);
  assert.deepEqual(primary.badSignatures, []);
});

/** The short tier draws two. */
const parts = drawn("a location", ["execution", "loss", "cache"], 2);

describe.runIf(parts.includes("execution"))("the path of an execution", () => {
  test("a cold cache: near storage, repaired; then speculative", async () => {
    primary.put(note("cold"), stored("a"));
    const location = await start();

    const first = await call(location, "append", { key: "cold", text: "b" });
    expect(first).toMatchObject({ result: "ab", path: "near-storage", reason: "missing" });
    // The unit is listed once although it is read and written, and it is named although it is missing: guessed absent.
    expect(lastUnits()).toEqual([{ unit: note("cold"), mode: "read-write", version: GUESS }]);

    const second = await call(location, "append", { key: "cold", text: "c" });
    expect(second).toMatchObject({ result: "abc", path: "speculative", reason: "valid" });
    expect(second.timing).toContain("f;");
    const { followup } = await primary.happened("followup");
    expect(followup).toMatchObject({
      executionId: second.executionId,
      writes: [{ unit: note("cold"), value: stored("abc") }],
    });
  });

  test("a stale cache costs latency only, and is repaired", async () => {
    primary.put(note("stale"), stored("a"));
    const location = await start();
    await call(location, "read", { key: "stale" });
    expect(await call(location, "read", { key: "stale" })).toMatchObject({ result: "a", path: "speculative" });

    primary.put(note("stale"), stored("b"));
    expect(await call(location, "read", { key: "stale" })).toMatchObject({ result: "b", path: "near-storage" });
    expect(await call(location, "read", { key: "stale" })).toMatchObject({ result: "b", path: "speculative" });
  });

  test("a first insert takes no longer than any other execution: what the cache lacks is guessed absent", async () => {
    const location = await start();
    const first = await call(location, "append", { key: "insert", text: "a" });
    expect(first).toMatchObject({ result: "a", path: "speculative", reason: "valid" });
    const { followup } = await primary.happened("followup");
    expect(followup.writes).toEqual([{ unit: note("insert"), value: stored("a") }]);

    // One that is there: a run in vain. Then such guesses wait for the reply, and hold if they are right after all.
    primary.put(note("there"), stored("b"));
    expect(await call(location, "append", { key: "there", text: "c" })).toMatchObject({
      result: "bc",
      reason: "missing",
    });
    primary.put(note("also there"), stored("b"));
    const doubted = await call(location, "append", { key: "also there", text: "c" });
    expect(doubted).toMatchObject({ result: "bc", reason: "missing" });
    const late = await call(location, "append", { key: "not there", text: "d" });
    expect(late).toMatchObject({ result: "d", path: "speculative", reason: "doubted" });
  });

  test("an item that others write time after time: the handler waits for the primary, which executes it", async () => {
    const location = await start();
    primary.put(note("hot"), stored("0"));
    await call(location, "read", { key: "hot" });
    const reasons: string[] = [];
    for (let round = 1; round <= 8; round++) {
      primary.put(note("hot"), stored(String(round)));
      const answer = await call(location, "read", { key: "hot" });
      expect(answer).toMatchObject({ result: String(round), path: "near-storage" });
      reasons.push(answer.reason);
      // Not run: its phase is not in the timing.
      if (answer.reason === "hot") expect(answer.timing).not.toContain("f;");
    }
    expect(new Set(reasons)).toEqual(new Set(["stale", "hot"]));
    expect(reasons.at(-1)).toBe("hot");
    // Nobody writes it any more: it is doubted, and then not.
    expect(await call(location, "read", { key: "hot" })).toMatchObject({ path: "speculative", reason: "doubted" });
    await expect.poll(async () => (await call(location, "read", { key: "hot" })).reason, SOON).toBe("valid");
  });

  test("what others have written of what was read is in memory before it is asked for", async () => {
    primary.put(note("told"), stored("a"));
    const location = await start();
    await call(location, "read", { key: "told" });
    const { question } = await primary.happened("listening");
    expect(question.location).toBe("VA");

    const { version } = primary.entry(note("told"));
    const applied = primary.put(note("told"), stored("b"));
    const { hash } = primary.entry(note("told")).version;
    const text = Buffer.from(stored("b")).toString("base64");
    primary.update(
      // What is no update, one of a unit that is not held, one with another content, one that is old.
      "[",
      "{}",
      "[[1]]",
      [[note("other"), applied, hash, text]],
      [[note("told"), commitId(9, 9), hash, Buffer.from("garbled").toString("base64")]],
      [[note("told"), version.commitId, null, null]],
      [[note("told"), applied, hash, text]],
    );
    const units = [{ unit: note("told"), mode: "read", version: { commitId: applied, hash } }];
    await expect
      .poll(async () => {
        await call(location, "read", { key: "told" });
        return lastUnits();
      }, SOON)
      .toEqual(units);
    expect(await call(location, "read", { key: "told" })).toMatchObject({ result: "b", reason: "valid" });
    await call(location, "read", { key: "other" });
    expect(lastUnits()).toMatchObject([{ unit: note("other"), version: GUESS }]);
    // One request listens for all, until its shift is over.
    for (let more = 0; more < 12; more++) await call(location, "read", { key: "told" });
    expect(primary.listened).toBeLessThan(requests().length / 2);
  });

  test("absent items are cached and validated", async () => {
    const location = await start();
    expect(await call(location, "read", { key: "absent" })).toMatchObject({ result: null, reason: "doubted" });
    expect(await call(location, "read", { key: "absent" })).toMatchObject({ result: null, path: "speculative" });
    primary.put(note("absent"), stored("now"));
    expect(await call(location, "read", { key: "absent" })).toMatchObject({ result: "now", path: "near-storage" });
  });

  test("deleted, and read at another location", async () => {
    primary.put(note("gone"), stored("a"));
    const [va, jp] = await Promise.all([start(), start({ location: "JP" })]);
    await call(jp, "read", { key: "gone" });
    await call(va, "remove", { key: "gone" });
    expect(await call(jp, "read", { key: "gone" })).toMatchObject({ result: null, path: "near-storage" });
    expect(await call(jp, "read", { key: "gone" })).toMatchObject({ result: null, path: "speculative" });
  });

  test("dependent reads: f^rw runs again when the value it needs is there", async () => {
    primary.put(unitId("links", "home"), stored("target"));
    primary.put(note("target"), stored("found"));
    const location = await start();
    expect(await call(location, "follow", { key: "home" })).toMatchObject({ result: "found", path: "near-storage" });
    expect(lastUnits()).toMatchObject([{ unit: "links/home", version: GUESS }]);
    expect(await call(location, "follow", { key: "home" })).toMatchObject({ result: "found", path: "speculative" });
    expect(lastUnits()).toMatchObject([{ unit: "links/home" }, { unit: "notes/target" }]);

    // The link moves: the set from the cache is wrong, which validation finds.
    primary.put(unitId("links", "home"), stored("other"));
    primary.put(note("other"), stored("moved"));
    expect(await call(location, "follow", { key: "home" })).toMatchObject({ result: "moved", path: "near-storage" });
    expect(await call(location, "follow", { key: "home" })).toMatchObject({ result: "moved", path: "speculative" });
  });

  test("time and randomness are the location's, and the primary's run of them is the same", async () => {
    const location = await start();
    expect(await call(location, "stamp", { key: "stamp" })).toMatchObject({ path: "speculative" });
    await primary.happened("followup");
    // The comparison is in afterEach.
    expect(Buffer.from(primary.entry(note("stamp")).value!).toString()).toMatch(/\d+ 0\.\d+ [0-9a-f-]{36}$/);
  });

  test("RADICAL_NEAR_STORAGE_ONLY is the central baseline", async () => {
    const location = await start({ vars: { RADICAL_NEAR_STORAGE_ONLY: "1" } });
    for (const result of ["x", "xx"]) {
      expect(await call(location, "append", { key: "central", text: "x" })).toMatchObject({
        result,
        path: "near-storage",
      });
      expect(lastUnits()).toBeNull();
    }
  });

  test("a Durable Object that fails leaves the memory of the isolate", async () => {
    const location = await start();
    await (
      await location.cache()
    ).run("CREATE TRIGGER broken BEFORE INSERT ON entries_3 BEGIN SELECT RAISE(FAIL, 'broken by the test'); END");
    await call(location, "append", { key: "memory", text: "x" });
    expect(await call(location, "append", { key: "memory", text: "x" })).toMatchObject({
      result: "xx",
      path: "speculative",
    });
  });
});

describe.runIf(parts.includes("execution"))("speculation is invisible", () => {
  test("an unconfirmed write is in no cache: others at the location send the version before it", async () => {
    const before = primary.put(note("held"), stored("a"));
    const location = await start();
    await call(location, "read", { key: "held" });

    const held = hold("append");
    const pending = call(location, "append", { key: "held", text: "b" });
    await held.arrived;
    // The primary re-executes the intent that this read meets, so it is stale; what matters is what the location sent.
    expect(await call(location, "read", { key: "held" })).toMatchObject({ result: "ab", path: "near-storage" });
    expect(lastUnits()).toMatchObject([{ unit: note("held"), version: { commitId: before } }]);
    held.release();
    expect(await pending).toMatchObject({ result: "ab", path: "speculative" });
    expect(await call(location, "read", { key: "held" })).toMatchObject({ result: "ab", path: "speculative" });
  });

  test("a late repair does not move the cache backwards", async () => {
    primary.put(note("late"), stored("a"));
    const location = await start();
    // Stale, decided now: its repair is the value of now.
    const held = hold("read");
    const reading = call(location, "read", { key: "late" });
    await held.arrived;
    primary.put(note("late"), stored("b"));
    await call(location, "append", { key: "late", text: "c" });
    held.release();
    expect(await reading).toMatchObject({ result: "a", path: "near-storage" });
    expect(await call(location, "read", { key: "late" })).toMatchObject({ result: "bc", path: "speculative" });
  });

  test("concurrent requests of one isolate keep to themselves", async () => {
    const location = await start();
    const keys = Array.from({ length: 24 }, (_, index) => `own-${index}`);
    for (let round = 1; round <= 3; round++) {
      const answers = await Promise.all(keys.map((key) => call(location, "append", { key, text: key })));
      expect(answers.map(({ result }) => result)).toEqual(keys.map((key) => key.repeat(round)));
    }
    const byKey = requests().map((request) => request.units?.map(({ unit }) => unit));
    expect(byKey.every((units) => units?.length === 1)).toBe(true);
  });
});

describe.runIf(parts.includes("execution"))("a wrong read/write set costs latency only", () => {
  test("undeclared tables: the speculation stops, the same execution is asked near storage", async () => {
    primary.put(unitId("links", "l"), stored("n"));
    primary.put(note("n"), stored("a"));
    const location = await start({ manifest: { testHooks: { undeclaredTables: ["notes"] } } });
    await call(location, "follow", { key: "l" });
    primary.reset();
    const answer = await call(location, "follow", { key: "l" });
    expect(answer).toMatchObject({ status: 200, result: "a", path: "near-storage" });
    expect(requests().map(({ executionId }) => executionId)).toEqual([answer.executionId, answer.executionId]);
    expect(requests().map(({ units }) => units?.map(({ unit }) => unit))).toEqual([["links/l"], undefined]);
    await location.logged("speculation_stopped");
  });

  test("an undeclared write happens once", async () => {
    const location = await start({ manifest: { testHooks: { undeclaredTables: ["notes"] } } });
    for (const result of ["x", "xx", "xxx"]) {
      expect(await call(location, "append", { key: "undeclared", text: "x" })).toMatchObject({
        result,
        path: "near-storage",
      });
    }
  });
});

describe.runIf(parts.includes("loss"))("what is lost", () => {
  test("an LVI reply: asked for again under the same execution id, one effect", async () => {
    primary.put(note("lost"), stored(""));
    const location = await start();
    await call(location, "read", { key: "lost" });
    let lost = 0;
    primary.intercept = async (_request, ownReply) => {
      if (lost++ > 0) return undefined;
      ownReply();
      return null;
    };
    const answer = await call(location, "append", { key: "lost", text: "x" });
    expect(answer).toMatchObject({ result: "x", path: "near-storage" });
    const [first, second] = requests().slice(-2);
    expect(second).toEqual({ ...first, attempt: 2, seen: expect.anything() });
    expect(await call(location, "read", { key: "lost" })).toMatchObject({ result: "x" });
  });

  test("an LVI request that never comes to an answer: the attempt is given up and repeated", async () => {
    const location = await start({ vars: { RADICAL_ATTEMPT_MS: "200" } });
    let swallowed = 0;
    primary.intercept = async () => (swallowed++ > 0 ? undefined : new Promise<null>(() => undefined));
    const { result, executionId } = await call(location, "append", { key: "silent", text: "x" });
    expect(result).toBe("x");
    // A machine that stops for a moment makes it repeat more than once.
    expect(requests().length).toBeGreaterThan(1);
    expect(new Set(requests().map((request) => request.executionId))).toEqual(new Set([executionId]));
  });

  test("a followup: sent again", async () => {
    const location = await start();
    let dropped = 0;
    primary.acceptFollowup = async () => dropped++ > 0;
    const { executionId } = await call(location, "write", { key: "followed", text: "x" });
    const { followup, result } = await primary.happened("followup");
    expect([followup.executionId, result]).toEqual([executionId, "applied"]);
  });

  test("a followup for good: the primary re-executes, and the cache is right all the same", async () => {
    const location = await start();
    primary.acceptFollowup = async () => false;
    const written = await call(location, "write", { key: "dropped", text: "x" });
    expect(written).toMatchObject({ path: "speculative" });
    expect(await call(location, "append", { key: "dropped", text: "y" })).toMatchObject({
      result: "xy",
      path: "speculative",
    });
  });

  test("the client: the followup is sent all the same", async () => {
    const location = await start();
    const held = hold("write");
    const client = new AbortController();
    const gone = location.call("write", { key: "gone-client", text: "x" }, { signal: client.signal });
    const { executionId } = await held.arrived;
    client.abort();
    await expect(gone).rejects.toMatchObject({ name: "AbortError" });
    // The location has served another request since: it knows that the first client has left.
    await call(location, "read", { key: "unrelated" });
    held.release();
    const { followup } = await primary.happened("followup");
    expect(followup.executionId).toBe(executionId);
  });

  test("the primary: 503 with Retry-After, and a safe repeat when it is back", async () => {
    const location = await start();
    primary.goDown();
    const response = await location.call("append", { key: "down", text: "x" });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    const told = response.headers.get("x-radical-execution")!;
    const { error } = (await response.json()) as { error: { code: string; hint: string } };
    expect(error.code).toBe("primary_unreachable");
    expect(error.hint).toContain(`"Idempotency-Key: ${told}"`);

    primary.comeBack();
    const repeat = { "idempotency-key": told };
    expect(await call(location, "append", { key: "down", text: "x" }, repeat)).toMatchObject({
      status: 200,
      result: "x",
      executionId: told.replace("execution-", ""),
    });
    expect(await call(location, "append", { key: "down", text: "x" }, repeat)).toMatchObject({
      status: 200,
      result: "x",
    });
  });

  test("the primary, which takes requests and never answers: 503 with Retry-After when the time is over", async () => {
    const location = await start({ vars: { RADICAL_ATTEMPT_MS: "100", RADICAL_TOTAL_MS: "400" } });
    primary.intercept = () => new Promise<null>(() => undefined);
    const response = await location.call("append", { key: "mute", text: "x" });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ error: { code: "primary_unreachable" } });
  });

  test("capacity: busy is tried again, then passed on", async () => {
    const location = await start();
    let refusals = 2;
    primary.intercept = async () =>
      refusals-- > 0
        ? { kind: "refused", code: "busy", message: "the queue is full", retryAfterMs: 1, asOf: null }
        : undefined;
    expect(await call(location, "append", { key: "busy", text: "x" })).toMatchObject({ status: 200, result: "x" });

    primary.intercept = async () => ({
      kind: "refused",
      code: "busy",
      message: "the queue is full",
      retryAfterMs: 3_600_000,
      asOf: null,
    });
    const response = await location.call("append", { key: "busy", text: "x" });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("3600");
    expect(await response.json()).toMatchObject({ error: { code: "primary_busy", message: "the queue is full" } });
  });
});

describe.runIf(parts.includes("loss"))("a primary of two servers", () => {
  /** A server that waits for the leadership, and counts who has asked it. */
  async function standby(): Promise<{ readonly asked: () => number; readonly url: string }> {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked++;
      response.writeHead(503).end(new RadicalError("not_leading", "another server has the leadership", "").toBody());
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    others.push(server);
    return { asked: () => asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test("each way is a binding: the standby is asked once, the leader from then on, followups too", async () => {
    const { asked, url } = await standby();
    const via =
      (origin: string) =>
      (request: ServiceRequest): Promise<ServiceResponse> =>
        serviceFetch(new URL(new URL(request.url).pathname, origin), request);
    const location = await start({
      vars: { RADICAL_PRIMARY_URL: "http://127.0.0.1:9" },
      services: { RADICAL_PRIMARY_A: via(url), RADICAL_PRIMARY_B: via(primaryUrl) },
    });
    expect(await call(location, "write", { key: "bound", text: "a" })).toMatchObject({ status: 200 });
    expect(await call(location, "write", { key: "bound", text: "b" })).toMatchObject({ status: 200 });
    await primary.happened("followup");
    expect(asked()).toBe(1);
    expect(requests().map(({ attempt }) => attempt)).toEqual([2, 1]);
  });

  test("each way is an origin; one where nothing is costs no answer", async () => {
    const { asked, url } = await standby();
    const location = await start({ primaryUrl: `${url}, http://127.0.0.1:9 ,${primaryUrl}` });
    expect(await call(location, "write", { key: "listed", text: "a" })).toMatchObject({ status: 200 });
    expect(await call(location, "write", { key: "listed", text: "b" })).toMatchObject({ status: 200 });
    expect(asked()).toBe(1);
    expect(requests().map(({ attempt }) => attempt)).toEqual([3, 1]);
  });
});

describe.runIf(parts.includes("loss"))("the place of a request", () => {
  test("is its data centre: it names the location, and the object of its cache", async () => {
    primary.put(note("placed"), stored("a"));
    const location = await start({ location: null });
    const body = JSON.stringify({ key: "placed" });
    const at = async (colo: string): Promise<string> => {
      const cf = { colo, continent: "EU" };
      const response = await location.requestFrom(cf, "/api/read", { method: "POST", body });
      await response.text();
      return response.headers.get("x-radical-location") ?? "";
    };
    expect(await at("AMS")).toBe("AMS");
    expect(requests().at(-1)?.location).toBe("AMS");
    expect(await at("WAW")).toBe("WAW");
    expect(await (await location.cache("AMS")).calls()).toContain("getMany notes/placed");
  });
});

describe.runIf(parts.includes("loss"))("the same request again", () => {
  test("at another location, with the same key: the same answer, one effect", async () => {
    const [va, jp] = await Promise.all([start(), start({ location: "JP" })]);
    const key = { "idempotency-key": "once-at-two-places" };
    const first = await call(va, "stamp", { key: "once" }, key);
    const second = await call(jp, "stamp", { key: "once" }, key);
    expect(second).toMatchObject({ status: 200, result: first.result, executionId: first.executionId });
    const value = primary.entry(note("once")).value;
    await call(jp, "stamp", { key: "once" }, key);
    expect(primary.entry(note("once")).value).toEqual(value);
  });

  test("a read-only execution with a key gives the first answer too", async () => {
    primary.put(note("retained"), stored("a"));
    const location = await start();
    await call(location, "read", { key: "retained" });
    const key = { "idempotency-key": "read-once-and-again" };
    expect(await call(location, "read", { key: "retained" }, key)).toMatchObject({ result: "a", path: "speculative" });
    await primary.happened("followup");
    primary.put(note("retained"), stored("b"));
    expect(await call(location, "read", { key: "retained" }, key)).toMatchObject({ result: "a", path: "near-storage" });
    expect(await call(location, "read", { key: "retained" })).toMatchObject({ result: "b" });
  });
});

describe.runIf(parts.includes("cache"))("the cache is never trusted", () => {
  /** The memory of the isolate holds nothing, so that every read goes to the Durable Object. */
  const objectOnly = {
    cache: { kind: "durable-object", memoryBytes: 0, objectBytes: 100_000_000, timeoutMs: 60_000, maxAgeHours: 168 },
  } as const;

  /** Under another commit id, with the seal that it would have. */
  const stamped = (id: CommitId) => (unit: UnitId) => {
    const { version } = entryOf(id, stored("a"));
    return `UPDATE entries_3 SET commit_id = '${id}', seal = '${sealOf("fixture", unit, version)}'`;
  };

  test.each<[string, (unit: UnitId) => string]>([
    ["wiped", () => "DELETE FROM entries_3"],
    ["corrupt", () => "UPDATE entries_3 SET value = x'617a'"],
    ["of another application", () => "UPDATE entries_3 SET application = 'another'"],
    ["of another version than its seal", () => "UPDATE entries_3 SET commit_id = 'ffffffff-000000000000'"],
    ["from the past", stamped(commitId(1, 0))],
    ["from the future", stamped(commitId(0xffffffff, 0))],
  ])("%s: the answer is right, and the cache is repaired", async (name, damage) => {
    const key = `damaged-${name.replaceAll(" ", "-")}`;
    primary.put(note(key), stored("a"));
    const location = await start({ manifest: objectOnly });
    await call(location, "read", { key });
    await hasPut(location, 1);
    expect(await call(location, "read", { key })).toMatchObject({ result: "a", path: "speculative" });
    await (await location.cache()).run(damage(note(key)));
    expect(await call(location, "append", { key, text: "b" })).toMatchObject({ result: "ab", path: "near-storage" });
    await hasPut(location, 2);
    expect(await call(location, "append", { key, text: "c" })).toMatchObject({ result: "abc", path: "speculative" });
  });

  test("one call reads and one call writes, and the answer waits for no write", async () => {
    primary.put(note("held"), stored("a"));
    const location = await start({ manifest: objectOnly });
    const cache = await location.cache();
    await cache.hold();
    expect(await call(location, "append", { key: "held", text: "b" })).toMatchObject({ result: "ab" });
    await hasPut(location, 1);
    expect(await cache.calls()).toEqual(["getMany notes/held", "putMany notes/held"]);
    expect(await cache.run("SELECT * FROM entries_3")).toEqual([]);
    await cache.release();
    // The second one to be called finds what the first has put.
    await call(location, "read", { key: "held" });
    expect(await cache.run("SELECT unit FROM entries_3")).toEqual([{ unit: "notes/held" }]);
  });

  test("the answer has left before a write to the cache takes the processor", async () => {
    const location = await start();
    await call(location, "write", { key: "spun", text: "a" });
    await (await location.cache()).spin();
    // It never ends: an answer that comes has left before it began.
    expect(await call(location, "write", { key: "spun", text: "b" })).toMatchObject({ status: 200 });
    await location.logged("spins" as "request");
  });

  test("a cache that is too slow is missed, and told", async () => {
    primary.put(note("slow"), stored("a"));
    const location = await start({ manifest: { cache: { ...objectOnly.cache, timeoutMs: 20 } } });
    await call(location, "read", { key: "slow" });
    await (await location.cache()).stall();
    expect(await call(location, "read", { key: "slow" })).toMatchObject({ result: "a", path: "near-storage" });
    expect(await location.logged("cache_failed")).toMatchObject({
      message: expect.stringContaining("did not answer within 20 ms") as unknown,
    });
  });

  test("the memory of an isolate belongs to one build: another one in the same isolate starts empty", async () => {
    primary.put(note("builds"), stored("a"));
    const location = await start({
      entry: `
        import { createWorker } from "../src/worker.ts";
        import f from "./module.wasm";
        import rw from "./module.rw.wasm";
        import manifest from "./manifest.json";
        export { RadicalCache } from "../src/cache/radical-cache.ts";
        const builds = { before: createWorker({ manifest, f, rw }), after: createWorker({ manifest, f, rw }) };
        export default { fetch: (request, ...rest) => builds[request.headers.get("x-build")].fetch(request, ...rest) };`,
      manifest: { cache: { kind: "memory", memoryBytes: 1_000_000, maxAgeHours: 168 } },
    });
    const pathIn = async (build: string): Promise<string> =>
      (await call(location, "read", { key: "builds" }, { "x-build": build })).path;
    expect(await pathIn("before")).toBe("near-storage");
    expect(await pathIn("before")).toBe("speculative");
    expect(await pathIn("after")).toBe("near-storage");
    expect(await pathIn("before")).toBe("speculative");
  });

  test("rolled back to an older state", async () => {
    primary.put(note("rolled"), stored("a"));
    const location = await start({ manifest: objectOnly });
    await call(location, "read", { key: "rolled" });
    await hasPut(location, 1);
    const cache = await location.cache();
    await cache.run("CREATE TABLE backup AS SELECT * FROM entries_3");
    await call(location, "append", { key: "rolled", text: "b" });
    await hasPut(location, 2);
    await cache.run("DELETE FROM entries_3");
    await cache.run("INSERT INTO entries_3 SELECT * FROM backup");
    expect(await call(location, "read", { key: "rolled" })).toMatchObject({ result: "ab", path: "near-storage" });
    await hasPut(location, 3);
    expect(await call(location, "read", { key: "rolled" })).toMatchObject({ result: "ab", path: "speculative" });
  });

  test("a primary that was restored from a backup: its older versions win", async () => {
    primary.put(note("restored"), stored("new"));
    const location = await start();
    await call(location, "read", { key: "restored" });
    const older = {
      version: { ...primary.entry(note("restored")).version, commitId: commitId(1, 1) },
      value: stored("new"),
    };
    primary.items.set(note("restored"), older);
    expect(await call(location, "read", { key: "restored" })).toMatchObject({ result: "new", path: "near-storage" });
    expect(await call(location, "read", { key: "restored" })).toMatchObject({ result: "new", path: "speculative" });
  });

  test("a broken object costs latency only", async () => {
    primary.put(note("broken"), stored("a"));
    const location = await start({ manifest: objectOnly });
    await call(location, "read", { key: "broken" });
    await (await location.cache()).breakDown().catch(() => undefined);
    expect(await call(location, "read", { key: "broken" })).toMatchObject({ status: 200, result: "a" });
  });

  test("it outlives the Worker: the first request after a restart may speculate", async () => {
    const persistTo = mkdtempSync(path.join(tmpdir(), "radical-location-"));
    try {
      primary.put(note("restart"), stored("a"));
      const before = await start({ persistTo });
      await call(before, "append", { key: "restart", text: "b" });
      await call(before, "append", { key: "restart", text: "c" });
      await hasPut(before, 2);
      await before.stop();
      const after = await start({ persistTo });
      expect(await call(after, "read", { key: "restart" })).toMatchObject({ result: "abc", path: "speculative" });
    } finally {
      await Promise.all(locations.splice(0).map((location) => location.stop()));
      rmSync(persistTo, { recursive: true, force: true });
    }
  });
});

test("a location whose key the primary does not know: 503, and its own log has the cause", async () => {
  const location = await start({ vars: { RADICAL_KEY: "ff".repeat(32) } });
  const response = await location.call("append", { key: "k", text: "x" });
  expect(response.status).toBe(503);
  const { error } = (await response.json()) as { error: { code: string } };
  expect(error.code).toBe("primary_unreachable");
  // An id of an execution may have these digits.
  expect(JSON.stringify(error)).not.toMatch(/\b401\b|signature/);
  expect(await location.logged("primary_rejected")).toMatchObject({
    level: "warn",
    message: expect.stringContaining("401") as unknown,
  });
  expect(primary.badSignatures.splice(0)).toEqual(["/v1/lvi"]);
});
