/** What a request costs in calls to storage, counted on the wire, and what locations see when these calls fail. */
import { randomBytes } from "node:crypto";
import {
  type AccessedUnit,
  byUnit,
  type CommitId,
  entryOf,
  type Followup,
  type LviReply,
  unitId,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { KeyRing, parseKeys } from "../../src/http/keys.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { DynamoStorage } from "../../src/storage/dynamo/dynamo-storage.ts";
import { ABSENT, incrementFollowup, incrementUnits, KEYS_VARIABLE, TestClient } from "../test-client.ts";
import { testModule } from "../test-module.ts";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb-local.ts";
import { cancellation, FaultyProxy, refusal } from "./faulty-proxy.ts";

describe.skipIf(!hasDynamoDbLocal())("a server on DynamoDB", () => {
  let local: DynamoDbLocal;
  let proxy: FaultyProxy;
  let server: RunningServer;
  let client: TestClient;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
    proxy = await FaultyProxy.start(local.port);
    const requests = { attemptMs: 60_000, deadlineMs: 100, pauseMs: 5, maxPauseMs: 5, width: 64 };
    const patient = { ...requests, deadlineMs: 120_000 };
    const storage = await DynamoStorage.open({
      prefix: randomBytes(8).toString("hex"),
      endpoint: proxy.endpoint,
      requests: patient,
    });
    server = await startServer({
      storage,
      keys: new KeyRing(parseKeys(KEYS_VARIABLE)),
      workers: 1,
      // No renewal among the calls.
      leaseMs: 3_600_000,
      core: { followupTimeoutMs: 3_600_000, maxWaitMs: 3_600_000, retryMs: 10 },
      log: createLog("silent", () => {}),
      onHalt: (reason) => {
        throw new Error(reason);
      },
    });
    Object.assign(patient, requests);
    client = new TestClient(server.url, await testModule());
    await client.register();
    // From here on the client has heard of this server.
    await client.read("nothing");
  });

  afterAll(async () => {
    await server.close();
    await proxy.stop();
    await local.stop();
  });

  afterEach(() => proxy.reset());

  const callsOf = async <T>(run: () => Promise<T>): Promise<[T, string[]]> => {
    proxy.calls = [];
    const answer = await run();
    // Nothing else queries: a start and a new module look for dead tasks that may fit, beside all requests.
    return [answer, proxy.calls.filter((call) => call !== "Query")];
  };

  const commitOf = (reply: LviReply): CommitId => {
    if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
    return reply.commitId;
  };

  describe("calls", () => {
    test("a write: one on the reply path, one with the followup", async () => {
      const request = client.requestOf("increment", "a", incrementUnits("a", ABSENT));
      // Cold: what is read is loaded first.
      const [first, cold] = await callsOf(() => client.lvi(request));
      expect(cold).toEqual(["BatchGetItem", "PutItem"]);
      const followup = incrementFollowup(request.executionId, commitOf(first), "a", ABSENT);
      expect((await callsOf(() => client.followup(followup)))[1]).toEqual(["TransactWriteItems"]);
      expect((await callsOf(() => client.followup(followup)))[1]).toEqual([]);

      const entry = entryOf(followup.commitId, Uint8Array.of(1));
      const again = client.requestOf("increment", "a", incrementUnits("a", entry));
      const [reply, hot] = await callsOf(() => client.lvi(again));
      expect(hot).toEqual(["PutItem"]);
      await client.followup(incrementFollowup(again.executionId, commitOf(reply), "a", entry));
    });

    test("a write of 500 units: one on the reply path", async () => {
      const units: AccessedUnit[] = Array.from({ length: 500 }, (_, index) => ({
        unit: unitId("counters", `many ${index}`),
        mode: "write",
      }));
      const request = client.requestOf("increment", "many 0", units);
      const [reply, calls] = await callsOf(() => client.lvi(request));
      expect(calls).toEqual(["PutItem"]);
      const followup: Followup = {
        executionId: request.executionId,
        commitId: commitOf(reply),
        outcome: { kind: "result", value: Uint8Array.of(1) },
        writes: units.map(({ unit }) => ({ unit, value: Uint8Array.of(1) })).toSorted(byUnit),
        effects: [],
      };
      // Parts, decision, six transactions, done, parts away.
      const [, applied] = await callsOf(() => client.followup(followup));
      expect(applied.filter((call) => call === "TransactWriteItems").length).toBe(1 + Math.ceil(500 / 98));
      expect(await client.read("many 499")).toBe(1);
    });

    test("reads of hot units: none", async () => {
      await client.lvi(client.requestOf("increment", "hot", null));
      const [reply] = await callsOf(() =>
        client.lvi(client.requestOf("read", "hot", [{ unit: unitId("counters", "hot"), mode: "read", version: null }])),
      );
      if (reply.kind !== "executed") throw new Error("not executed");
      const { version } = reply.repairs[0]!.entry;
      const read = () =>
        client.lvi(client.requestOf("read", "hot", [{ unit: unitId("counters", "hot"), mode: "read", version }]));
      for (let i = 0; i < 20; i++) {
        const [valid, calls] = await callsOf(read);
        expect([valid.kind, calls]).toEqual(["valid", []]);
      }
    });

    test("reads of cold units: one batch per hundred", async () => {
      const units: AccessedUnit[] = Array.from({ length: 150 }, (_, index) => ({
        unit: unitId("counters", `cold ${index}`),
        mode: "read",
        version: ABSENT.version,
      }));
      const [reply, calls] = await callsOf(() => client.lvi(client.requestOf("read", "cold 0", units)));
      expect([reply.kind, calls]).toEqual(["valid", ["BatchGetItem", "BatchGetItem"]]);
    });

    test("a location that has not heard of this server yet: one look-up more", async () => {
      const stranger = new TestClient(server.url, await testModule());
      const read = () =>
        stranger.requestOf(
          "read",
          "nothing",
          incrementUnits("nothing", ABSENT).map(({ unit }) => ({ unit, mode: "read", version: ABSENT.version })),
        );
      expect((await callsOf(() => stranger.lvi(read())))[1]).toEqual(["GetItem"]);
      expect((await callsOf(() => stranger.lvi(read())))[1]).toEqual([]);
    });

    test("a near-storage execution that writes: one; asked for again: none", async () => {
      await client.read("near");
      const request = client.requestOf("increment", "near", null);
      const [reply, calls] = await callsOf(() => client.lvi(request));
      expect([reply.kind, calls]).toEqual(["executed", ["TransactWriteItems"]]);
      const [, repeated] = await callsOf(() => client.lvi(request));
      expect(repeated).toEqual([]);
    });
  });

  describe("failures", () => {
    test("the answer to an intent is lost: `valid` is told once it is found", async () => {
      await client.read("lost");
      proxy.plan("PutItem", { kind: "break", applied: true });
      const request = client.requestOf("increment", "lost", incrementUnits("lost", ABSENT));
      const commit = commitOf(await client.lvi(request));
      expect(await client.followup(incrementFollowup(request.executionId, commit, "lost", ABSENT))).toBe("applied");
      expect(await client.read("lost")).toBe(1);
    });

    test("an intent can't be stored: busy, and nothing is held", async () => {
      await client.read("full");
      proxy.always("PutItem", refusal("ProvisionedThroughputExceededException"));
      const request = client.requestOf("increment", "full", incrementUnits("full", ABSENT));
      expect(await client.lvi(request)).toMatchObject({ kind: "refused", code: "busy" });
      expect(server.engine.load).toMatchObject({ executions: 0 });
      proxy.reset();
      expect(await client.lvi({ ...request, attempt: request.attempt + 1 })).toMatchObject({ kind: "valid" });
      expect(await client.read("full")).toBe(1);
    });

    test("a completion fails for long: the followup is answered when it is done", async () => {
      await client.read("slow");
      const request = client.requestOf("increment", "slow", incrementUnits("slow", ABSENT));
      const commit = commitOf(await client.lvi(request));
      proxy.plan(
        "TransactWriteItems",
        ...Array.from({ length: 40 }, () => cancellation("TransactionConflict")),
        { kind: "break", applied: true },
        refusal("InternalServerError", 500),
      );
      expect(await client.followup(incrementFollowup(request.executionId, commit, "slow", ABSENT))).toBe("applied");
      expect(await client.read("slow")).toBe(1);
    });

    test("values can't be read: busy", async () => {
      proxy.always("BatchGetItem", refusal("InternalServerError", 500));
      const request = client.requestOf("increment", "unread", incrementUnits("unread", ABSENT));
      expect(await client.lvi(request)).toMatchObject({ kind: "refused", code: "busy" });
      expect(server.engine.load).toMatchObject({ executions: 0 });
    });
  });
});
