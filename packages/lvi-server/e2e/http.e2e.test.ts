import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { Random } from "@radical/history";
import {
  ALARMS_PATH,
  type AccessedUnit,
  byUnit,
  CONTENTION_PATH,
  type ContentionReport,
  decodeFollowupReply,
  decodeHeardReply,
  decodeLviReply,
  encodeFollowup,
  encodeHeard,
  encodeLviRequest,
  encodeModuleContent,
  entryOf,
  type ExecutionId,
  type Followup,
  FOLLOWUP_PATH,
  type Heard,
  HEARD_PATH,
  KEY_HEADER,
  LINES_TYPE,
  type ListedTask,
  LIVES_PATH,
  LOG_PATH,
  LVI_PATH,
  type LviRequest,
  MAX_ARGUMENT_BYTES,
  MAX_EFFECTS,
  MAX_RESULT_BYTES,
  MAX_TASK_ARGUMENT_BYTES,
  MAX_TASK_DELAY_MS,
  MAX_VALUE_BYTES,
  MODULE_LIST_PATH,
  handlersWith,
  type ModuleContent,
  type ModuleList,
  MODULES_PATH,
  REPLAY_WINDOW_MS,
  type RunEffect,
  SAMPLES_PATH,
  SCHEDULES_PATH,
  type ServerStatus,
  type SessionId,
  SIGNATURE_HEADER,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  type TaskList,
  TASKS_PATH,
  TIME_HEADER,
  QUIET_PATH,
  TIME_PATH,
  unitId,
  UPDATES_PATH,
  type Write,
  ADMINISTRATIVE_PATHS,
  DATA_PATH,
  DEPLOYMENT_HEADER,
  KEYS_PATH,
  NODE_HEADER,
  NONCE_HEADER,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog, type Log } from "../src/log.ts";
import { KeyRing, parseKeys } from "../src/http/keys.ts";
import { type RunningServer, type ServerOptions, startServer } from "../src/server.ts";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";
import { ADMINISTRATIVE_ROUTES, LOCATION_ROUTES, METHODS } from "../src/http/routes.ts";
import {
  ABSENT,
  ADMIN_ID,
  ADMIN_TEXT,
  incrementFollowup,
  incrementUnits,
  KEY_ID,
  KEYS_VARIABLE,
  questionOf,
  SECRET,
  signedHeaders,
  type Signing,
  TestClient,
} from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { alarmsOf } from "./test-process.ts";

/** `(module)`, and `(module (import "env" "fetch" (func)))`. */
const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const MODULE_WITH_FOREIGN_IMPORT = Buffer.concat([
  EMPTY_MODULE,
  Uint8Array.of(1, 4, 1, 0x60, 0, 0),
  Uint8Array.of(2, 13, 1, 3),
  Buffer.from("env"),
  Uint8Array.of(5),
  Buffer.from("fetch"),
  Uint8Array.of(0, 0),
]);

/** An eighth of the default: a run near storage loads one unit a round, so the time to get there grows with its square. */
const MAX_READ_BYTES = 8 * 1024 * 1024;

/** What the server logs as its own fault. */
const errors: string[] = [];
const createServerLog = (): Log =>
  createLog("info", (line) => void (line.includes('"level":"error"') && errors.push(line)));
let server: RunningServer;
let client: TestClient;
/** Another one, which gives handlers little time. */
let hasty: RunningServer;
let clientOfHasty: TestClient;

/** Longer than this machine may stop for: of times that no test waits for. */
const FAR_MS = 600_000;

async function open(
  executionLimitMs: number,
  { log = createServerLog(), ...more }: Partial<Pick<ServerOptions, "log" | "virtualTimeMs" | "deployment">> = {},
): Promise<readonly [RunningServer, TestClient]> {
  const opened = await startServer({
    storage: ":memory:",
    keys: new KeyRing(parseKeys(`${KEYS_VARIABLE},next:${randomBytes(16).toString("hex")}`)),
    workers: 1,
    executionLimitMs,
    core: { maxReadBytes: MAX_READ_BYTES, followupTimeoutMs: FAR_MS, maxWaitMs: FAR_MS },
    log,
    ...more,
    heartbeatMs: 5,
    onHalt: (reason) => {
      throw new Error(reason);
    },
  });
  const itsClient = new TestClient(opened.url, await testModule());
  if (more.deployment !== undefined) itsClient.administration = { deployment: more.deployment };
  await itsClient.register();
  return [opened, itsClient];
}

beforeAll(async () => {
  [server, client] = await open(FAR_MS);
  [hasty, clientOfHasty] = await open(2_000, { virtualTimeMs: 0 });
});

afterAll(() => Promise.all([server.close(), hasty.close()]));

const errorOf = async (response: Response): Promise<[number, string]> => {
  const { error } = (await response.json()) as { error: { code: string; message: string; hint: string } };
  expect(error.message).not.toBe("");
  expect(error.hint).not.toBe("");
  return [response.status, error.code];
};

test("writes are paused only for who says so, and never for a database, whose copies are whole at any time", async () => {
  expect(await errorOf(await client.question(QUIET_PATH, {}))).toEqual([400, "malformed_message"]);
  expect((await client.question(QUIET_PATH, { pauseWrites: true }, { isForged: true })).status).toBe(401);
  const answer = await client.question(QUIET_PATH, { pauseWrites: true });
  expect([answer.status, await answer.json()]).toEqual([200, { timeMs: null }]);
});

test("the time of a server that was not started for tests is not moved", async () => {
  expect(await errorOf(await client.question(TIME_PATH, { aheadMs: 1_000 }))).toEqual([404, "not_found"]);
  const moved = await clientOfHasty.question(TIME_PATH, { aheadMs: 1_000 });
  expect(await moved.json()).toEqual({ aheadMs: 1_000 });
  // It never goes back.
  const back = await clientOfHasty.question(TIME_PATH, { aheadMs: 10 });
  expect(await back.json()).toEqual({ aheadMs: 1_000 });
  for (const aheadMs of [-1, 0.5, null, "1000", 1e12]) {
    const wrong = await clientOfHasty.question(TIME_PATH, { aheadMs });
    expect(await errorOf(wrong)).toEqual([400, "malformed_message"]);
  }
  const unsigned = await clientOfHasty.question(TIME_PATH, { aheadMs: 1_000 }, { isForged: true });
  expect(await errorOf(unsigned)).toEqual([401, "unauthorized"]);
});

describe("executions over HTTP", () => {
  test("a valid write, its followup, and a duplicate of the followup", async () => {
    const request = client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    const reply = await client.lvi(request);
    expect(reply).toMatchObject({ kind: "valid" });
    const commit = reply.kind === "valid" ? reply.commitId! : ABSENT.version.commitId;
    const followup = incrementFollowup(request.executionId, commit, "a", ABSENT);
    expect(await client.followup(followup)).toBe("applied");
    expect(await client.followup(followup)).toBe("completed_before");
    expect(await client.read("a")).toBe(1);

    // The location's cache now holds the entry: the next read is valid, and makes no intent.
    const { version } = entryOf(commit, Uint8Array.of(1));
    const read = await client.lvi(
      client.requestOf("read", "a", [{ unit: unitId("counters", "a"), mode: "read", version }]),
    );
    expect(read).toMatchObject({ kind: "valid", commitId: null });
  });

  test("a stale write runs near storage and repairs the cache", async () => {
    const reply = await client.lvi(client.requestOf("increment", "b", incrementUnits("b", null)));
    expect(reply).toMatchObject({
      kind: "executed",
      cause: "stale",
      outcome: { kind: "result", value: Uint8Array.of(1) },
      repairs: [{ unit: "counters/b", entry: { value: Uint8Array.of(1) } }],
    });
  });

  test("a retry after the outcome is stored gets it, once", async () => {
    const request = client.requestOf("increment", "c", null);
    expect(await client.lvi(request)).toMatchObject({ kind: "executed", cause: "requested" });
    expect(await client.lvi(request)).toMatchObject({ kind: "executed", cause: "stored" });
    expect(await client.lvi({ ...request, handler: "read" })).toMatchObject({
      kind: "refused",
      code: "idempotency_key_reused",
    });
    expect(await client.read("c")).toBe(1);
  });

  test("dependent accesses, undeclared accesses and handlers without a set run near storage", async () => {
    expect(await client.lvi(client.requestOf("link", "d>e", null))).toMatchObject({ kind: "executed" });
    expect(await client.lvi(client.requestOf("incrementLinked", "d", null))).toMatchObject({
      outcome: { value: Uint8Array.of(1) },
    });
    expect(await client.read("e")).toBe(1);
    expect(await client.lvi(client.requestOf("incrementUndeclared", "f", null))).toMatchObject({ kind: "executed" });
    expect([await client.read("f"), await client.read("f-shadow")]).toEqual([1, 1]);
    expect(await client.lvi(client.requestOf("incrementNearStorage", "g", null))).toMatchObject({ kind: "executed" });
    expect(await client.read("g")).toBe(1);
    expect(await client.lvi(client.requestOf("incrementRecorded", "d", null))).toMatchObject({ kind: "executed" });
    expect(await client.read("e")).toBe(2);
  });

  test("record mode guesses absences no longer than it must: a handler that never ends on them ends", async () => {
    const ask = (handler: string) => clientOfHasty.lvi(clientOfHasty.requestOf(handler, "sought", null));
    expect(await ask("increment")).toMatchObject({ kind: "executed" });
    expect(await ask("searchNearStorage")).toMatchObject({ kind: "executed", outcome: { kind: "result" } });
    expect(await clientOfHasty.read("found")).toBe(1);
  });

  test("aborts and traps are outcomes", async () => {
    const abort = await client.lvi(client.requestOf("refuse", "h", null));
    expect(abort).toMatchObject({ kind: "executed", outcome: { kind: "abort", status: 409, code: "taken" } });
    const trap = await client.lvi(client.requestOf("trap", "h", null));
    expect(trap).toMatchObject({ kind: "executed", outcome: { kind: "trap", code: "assertion_failed" } });
  });

  test("a handler that loops for ever is ended, nothing is held, and nobody else is stopped", async () => {
    const spinning = clientOfHasty.requestOf("spin", "i", null);
    expect(await clientOfHasty.lvi(spinning)).toMatchObject({ code: "execution_failed" });
    expect(hasty.engine.load).toMatchObject({ executions: 0, running: 0, lockedUnits: 0 });
    expect((await (await fetch(`${hasty.url}/metrics`)).text()).split("\n")).toContain(
      'radical_run_seconds_count{mode="derive",ending="killed"} 1',
    );
    const looping = client.lvi(client.requestOf("spin", "i", null));
    expect(await client.lvi(client.requestOf("increment", "i", null))).toMatchObject({ kind: "executed" });
    // Others waited for it, so it may be asked for again.
    expect(await looping).toMatchObject({ kind: "refused", code: "busy", retryAfterMs: 1_000 });
    expect(server.engine.load).toMatchObject({ executions: 0, running: 0, lockedUnits: 0 });
  });

  test("unknown modules and handlers, clocks far off", async () => {
    const request = client.requestOf("increment", "j", null);
    expect(await client.lvi({ ...request, module: "0".repeat(64) as never })).toMatchObject({ code: "unknown_module" });
    expect(await client.lvi({ ...request, handler: "nobody", attempt: 2 })).toMatchObject({ code: "unknown_handler" });
    const environment = { ...request.environment, timeMs: request.environment.timeMs - 3_600_000 };
    expect(await client.lvi({ ...request, environment, attempt: 3 })).toMatchObject({ code: "clock_skew" });
  });
});

test("metrics tell what was done", async () => {
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const metrics = await response.text();
  const valueOf = (sample: string): number => {
    const line = metrics.split("\n").find((candidate) => candidate.startsWith(`${sample} `));
    return line === undefined ? 0 : Number(line.slice(sample.length + 1));
  };
  for (const sample of [
    'radical_replies_total{kind="valid",reason="intent"}',
    'radical_replies_total{kind="executed",reason="stale",outcome="result"}',
    'radical_replies_total{kind="executed",reason="stored",outcome="result"}',
    'radical_replies_total{kind="executed",reason="requested",outcome="trap"}',
    'radical_replies_total{kind="refused",reason="unknown_handler"}',
    'radical_followups_total{result="applied"}',
    'radical_validation_failures_total{table="counters"}',
    'radical_near_storage_executions_total{cause="requested"}',
    'radical_storage_operation_seconds_count{operation="store_intent"}',
    'radical_http_request_seconds_count{route="lvi",status="200"}',
    `radical_signed_requests_total{key="${KEY_ID}"}`,
    "radical_workers",
    "radical_epoch",
  ])
    expect([sample, valueOf(sample)]).toEqual([sample, expect.toSatisfy((count: number) => count > 0)]);
  expect(valueOf('radical_alarms_total{alarm="determinism"}')).toBe(0);
  expect(valueOf("radical_units_locked")).toBe(0);
});

describe("administration", () => {
  const ask = async <T>(path: string): Promise<T> => {
    const response = await client.send("GET", path, new Uint8Array());
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  };
  /** The lines of an answer that goes on, heartbeats left out. */
  const follow = async (
    path: string,
    question: object,
    asker = client,
  ): Promise<{ next: () => Promise<unknown>; end: () => void }> => {
    const response = await asker.question(path, question);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, LINES_TYPE]);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let [text, heartbeats] = ["", 0];
    const next = async (): Promise<unknown> => {
      for (;;) {
        const end = text.indexOf("\n");
        if (end < 0) {
          const { value, done } = await reader.read();
          if (done) return { heartbeats };
          text += value;
          continue;
        }
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        if (line !== "") return JSON.parse(line);
        // A connection on which nothing happens shows that it is alive.
        if (++heartbeats === 3) return "alive";
      }
    };
    return { next, end: () => void reader.cancel() };
  };

  test("the status tells state, epoch and clock", async () => {
    const status = await ask<ServerStatus>(STATUS_PATH);
    expect(status).toMatchObject({ state: "serving", epoch: server.epoch, pending: 0, overdue: 0 });
    expect(Math.abs(status.timeMs - Date.now())).toBeLessThan(REPLAY_WINDOW_MS);
  });

  test("modules are listed with what names them, and their bytes are to be had", async () => {
    const { hash, bytes } = await testModule();
    const request = client.requestOf("increment", "listed", incrementUnits("listed", ABSENT));
    const reply = await client.lvi(request);
    const { modules, retentionMs } = await ask<ModuleList>(MODULE_LIST_PATH);
    expect(retentionMs).toBe(7 * 24 * 3_600_000);
    expect(modules[0]).toMatchObject({ module: hash, registered: true, pending: 1, executions: 1 });
    expect(modules[0]!.handlers).toContain("increment");
    expect(modules[0]!.usedAtMs).toBeGreaterThanOrEqual(modules[0]!.registeredAtMs!);
    if (reply.kind !== "valid") throw new Error("not valid");
    await client.followup(incrementFollowup(request.executionId, reply.commitId!, "listed", ABSENT));
    expect((await ask<ModuleList>(MODULE_LIST_PATH)).modules[0]).toMatchObject({ pending: 0 });

    const content = await client.send("GET", `${MODULES_PATH}${hash}/content`, new Uint8Array());
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
    const unknown = `${MODULES_PATH}${"0".repeat(64)}/content`;
    expect(await errorOf(await client.send("GET", unknown, new Uint8Array()))).toEqual([404, "not_found"]);
  });

  test("the log: the last lines, then those to come, each as it was written", async () => {
    // Of a server that nobody else asks, so that it has nothing to say of its own.
    const log = createServerLog();
    const [quiet, asker] = await open(FAR_MS, { log });
    try {
      log.info("kept", { number: 1 });
      log.debug("too little");
      const lines = await follow(LOG_PATH, { lines: 1, follow: true, level: "info" }, asker);
      expect(await lines.next()).toMatchObject({ level: "info", event: "kept", number: 1 });
      expect(await lines.next()).toBe("alive");
      log.warn("to come");
      expect(await lines.next()).toMatchObject({ level: "warn", event: "to come" });
      lines.end();
      const kept = await follow(LOG_PATH, { lines: 2, follow: false, level: "info" }, asker);
      expect(await kept.next()).toMatchObject({ event: "kept" });
      expect(await kept.next()).toMatchObject({ event: "to come" });
      expect(await kept.next()).toMatchObject({ heartbeats: expect.any(Number) as number });
    } finally {
      await quiet.close();
    }
  });

  test("samples: as executions end, for four at once", async () => {
    await client.lvi(client.requestOf("increment", "sampled", null));
    const lines = await follow(SAMPLES_PATH, { every: 1, handlers: ["increment"], values: true, redact: [] });
    const next = async (): Promise<unknown> => {
      const line = await lines.next();
      return line === "alive" ? lines.next() : line;
    };
    await client.read("sampled");
    const request = client.requestOf("increment", "sampled", null);
    await client.lvi(request);
    expect(await next()).toEqual({
      kind: "sample",
      execution: request.executionId,
      path: "near-storage",
      location: "test",
      module: request.module,
      handler: "increment",
      args: Buffer.from("sampled").toString("base64"),
      timeMs: request.environment.timeMs,
      seed: Buffer.from(request.environment.seed).toString("base64"),
      caller: null,
      commit: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{12}$/) as string,
      versions: [["counters/sampled", expect.any(String) as string]],
      values: [["counters/sampled", "AQ=="]],
      ended: { outcome: expect.any(String) as string, writes: [["counters/sampled", "Ag=="]], effects: "gA==" },
      redacted: [],
    });
    const others = [];
    for (let at = 0; at < 3; at++)
      others.push(await follow(SAMPLES_PATH, { every: 1, handlers: [], values: false, redact: "all" }));
    const fifth = await follow(SAMPLES_PATH, { every: 1, handlers: [], values: false, redact: "all" });
    expect(await fifth.next()).toEqual({ kind: "ended", reason: "too many take samples already" });
    fifth.end();
    await client.read("sampled");
    await client.lvi(client.requestOf("increment", "sampled", null));
    expect(await next()).toMatchObject({ kind: "sample", handler: "increment" });
    for (const other of others) {
      let line = await other.next();
      while (line === "alive") line = await other.next();
      expect(line).toMatchObject({ kind: "sample", values: null });
      other.end();
    }
    lines.end();
  });

  test("contention: who waited for a unit, behind whom, for how long", async () => {
    const key = "contended";
    const holder = client.requestOf("increment", key, incrementUnits(key, ABSENT));
    await client.lvi(holder);
    // Its followup does not come: the next one has the server run it again, and waits for that.
    const waiter = client.requestOf("increment", key, null);
    await client.lvi(waiter);
    const answer = await client.send("GET", CONTENTION_PATH, new Uint8Array());
    const { units } = (await answer.json()) as ContentionReport;
    expect(units.find(({ unit }) => unit === `counters/${key}`)).toMatchObject({
      waits: 1,
      leasedTo: [],
      last: [{ execution: waiter.executionId, behind: holder.executionId, handler: "increment", location: "test" }],
    });
  });

  test("updates: what is applied of what a location has read, to its last listener of a name", async () => {
    const question = { location: "test", listener: "isolate" };
    const before = await follow(UPDATES_PATH, question);
    // Other bytes, as they may be signed in the same millisecond.
    const lines = await follow(UPDATES_PATH, { listener: "isolate", location: "test" });
    while ((await before.next()) === "alive");
    await client.lvi(client.requestOf("increment", "told", incrementUnits("told", ABSENT)));
    const request = client.requestOf("increment", "told", null);
    await client.lvi(request);
    const values: unknown[] = [];
    while (values.length < 2) {
      const line = await lines.next();
      if (line !== "alive") values.push(line);
    }
    expect(values).toMatchObject([
      [["counters/told", expect.any(String), expect.any(String), "AQ=="]],
      [["counters/told", expect.any(String), expect.any(String), "Ag=="]],
    ]);
    lines.end();
  });

  test("a captured question of a location that listens opens no second stream, whatever the case of its signature", async () => {
    const body = Buffer.from(JSON.stringify({ location: "captured", listener: "isolate" }));
    const headers = signedHeaders("POST", UPDATES_PATH, body);
    const send = (changed: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(server.url + UPDATES_PATH, { method: "POST", headers: { ...headers, ...changed }, body });
    const forged = await send({ [SIGNATURE_HEADER]: "0".repeat(64) });
    expect(await errorOf(forged)).toEqual([401, "unauthorized"]);
    const first = await send();
    expect(first.status).toBe(200);
    for (const again of [{}, { [SIGNATURE_HEADER]: headers[SIGNATURE_HEADER]!.toUpperCase() }])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await errorOf(await send(again))).toEqual([401, "unauthorized"]);
    await first.body?.cancel();
  });

  test("a captured question of a location that listens opens no stream at a server that has started since", async () => {
    const body = Buffer.from(JSON.stringify({ location: "captured", listener: "isolate" }));
    const captured = signedHeaders("POST", UPDATES_PATH, body);
    const keys = new KeyRing(parseKeys(KEYS_VARIABLE));
    const file = new SqliteStorage(":memory:");
    const options = { storage: file, keys, workers: 1, log: createServerLog(), onHalt: () => {} };
    // The clock has moved on, as it has when a server was started again.
    const signedAtMs = Number(captured[TIME_HEADER]);
    await expect.poll(() => Date.now()).toBeGreaterThan(signedAtMs);
    const successor = await startServer(options);
    const send = (headers: Readonly<Record<string, string>>): Promise<Response> =>
      fetch(successor.url + UPDATES_PATH, { method: "POST", headers, body });
    try {
      expect(await errorOf(await send(captured))).toEqual([503, "primary_busy"]);
      const anew = await send(signedHeaders("POST", UPDATES_PATH, body));
      expect(anew.status).toBe(200);
      await anew.body?.cancel();
    } finally {
      await successor.close();
    }
  });

  test("a session: leases come on its stream, a write waits until it has heard, and what is over stays over", async () => {
    const question = { location: "leased", listener: "isolate", session: null, heard: 0, ends: null };
    const lines = await follow(UPDATES_PATH, question);
    const next = async (): Promise<unknown> => {
      for (;;) {
        const line = await lines.next();
        if (line !== "alive") return line;
      }
    };
    const begun = (await next()) as readonly [string, SessionId, number];
    expect(begun).toEqual(["session", expect.stringMatching(/^\d+\.\d+$/), 0]);
    const [, session] = begun;
    // Nobody guesses it from that of another one.
    const other = await follow(UPDATES_PATH, { ...question, location: "next to it", ends: session });
    const [, itsSession] = (await other.next()) as readonly [string, SessionId];
    const [first, second] = [session, itsSession].map((id) => Number(id.split(".")[1]));
    expect(Math.abs(second! - first!)).toBeGreaterThan(2 ** 20);
    other.end();
    const hear = async (heard: Partial<Heard>): Promise<unknown> => {
      const body = Buffer.from(encodeHeard({ session, n: 0, served: [], ...heard }));
      const answer = await client.send("POST", HEARD_PATH, body);
      return answer.status === 200 ? decodeHeardReply(await answer.text()) : answer.status;
    };
    const kept = await hear({});
    expect(kept).toMatchObject({ kind: "renewed" });
    const units = [{ unit: unitId("counters", "leased"), mode: "read", version: ABSENT.version }] as const;
    const leased: unknown[] = [];
    const granted = next().then((line) => leased.push(line));
    // Nothing is leased before the storage knows that leases may be out.
    while (leased.length === 0) {
      const read = { ...client.requestOf("read", "leased", null), location: "leased" };
      expect(await client.lvi({ ...read, units })).toMatchObject({ kind: "valid" });
    }
    await granted;
    expect(leased[0]).toEqual(["lease", 1, [["counters/leased", expect.any(String), null]]]);
    // It is told when the session has heard.
    let isHeard = false;
    const write = client.requestOf("increment", "leased", incrementUnits("leased", ABSENT));
    const told = client.lvi(write).then((reply) => ({ reply, isHeard }));
    expect(await next()).toEqual(["revoke", 2, ["counters/leased"]]);
    isHeard = true;
    expect(await hear({ n: 2, served: [{ unit: unitId("counters", "leased"), reads: 3 }] })).toMatchObject({
      kind: "renewed",
    });
    const { reply, isHeard: wasHeard } = await told;
    expect([reply.kind, wasHeard]).toEqual(["valid", true]);
    const commit = reply.kind === "valid" ? reply.commitId! : ABSENT.version.commitId;
    await client.followup(incrementFollowup(write.executionId, commit, "leased", ABSENT));
    expect(await hear({ session: "1.999999" as SessionId })).toEqual({ kind: "lapsed" });
    expect(await hear({ session: "one" as SessionId })).toBe(400);
    expect((await fetch(`${server.url}${HEARD_PATH}`, { method: "POST", body: "{}" })).status).toBe(401);
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toMatch(/^radical_read_leases_revoked_total [1-9]/m);
    expect(text).toMatch(/^radical_clear_wait_seconds_count [1-9]/m);
    lines.end();
  });

  test("an alarm of a location is counted and logged", async () => {
    const counted = (): Promise<number> => alarmsOf(server.url, "wrote_on_get");
    const before = await counted();
    const ids = { execution: "ab".repeat(16), module: "cd".repeat(32) };
    const alarm = { alarm: "wrote_on_get", ...ids, handler: "look", location: "VA" };
    const body = Buffer.from(JSON.stringify(alarm));
    expect((await client.send("POST", ALARMS_PATH, body)).status).toBe(200);
    expect(await counted()).toBe(before + 1);
    // A location sends it again if it has no answer, and so may others who have read it.
    expect((await client.send("POST", ALARMS_PATH, body)).status).toBe(200);
    expect((await fetch(`${server.url}${ALARMS_PATH}`, { method: "POST", body })).status).toBe(401);
    for (const wrong of [{ alarm: "other" }, { execution: "1" }, { module: 1 }, { handler: "" }, { location: null }]) {
      const refused = await client.send("POST", ALARMS_PATH, Buffer.from(JSON.stringify({ ...alarm, ...wrong })));
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: "malformed_message" } }]);
    }
    expect(await counted()).toBe(before + 1);
    expect(errors.splice(0)).toEqual([
      expect.stringMatching(/"event":"wrote_on_get_alarm".*"handler":"look".*location VA/),
    ]);
  });

  test("questions that are none, and those who may not ask", async () => {
    for (const [path, question] of [
      [LOG_PATH, { lines: -1, follow: true, level: "info" }],
      [LOG_PATH, { lines: 1, follow: true, level: "loud" }],
      [SAMPLES_PATH, { every: 0, handlers: [], values: true, redact: "all" }],
      [SAMPLES_PATH, { every: 1, handlers: [1], values: true, redact: "all" }],
      [SAMPLES_PATH, { every: 1, handlers: [], redact: "all" }],
      // A command that does not know that the server redacts.
      [SAMPLES_PATH, { every: 1, handlers: [], values: true }],
      [SAMPLES_PATH, { every: 1, handlers: [], values: true, redact: ["users"] }],
      [UPDATES_PATH, { location: "test" }],
      [UPDATES_PATH, { location: "", listener: "isolate" }],
    ] as const)
      expect(await errorOf(await client.question(path, question))).toEqual([400, "malformed_message"]);
    const list = await client.send("POST", SAMPLES_PATH, Buffer.from("[]"));
    expect(await errorOf(list)).toEqual([400, "malformed_message"]);
    for (const path of [STATUS_PATH, MODULE_LIST_PATH]) {
      expect(await errorOf(await fetch(server.url + path))).toEqual([401, "unauthorized"]);
    }
    for (const path of [LOG_PATH, SAMPLES_PATH]) {
      expect(await errorOf(await client.send("POST", path, Buffer.from("{}"), { isForged: true }))).toEqual([
        401,
        "unauthorized",
      ]);
    }
  });
});

describe("who may speak", () => {
  const body = (): Uint8Array => encodeLviRequest(client.requestOf("increment", "x", null));

  test("a bad signature, an unknown key, no signature", async () => {
    expect(await errorOf(await client.send("POST", LVI_PATH, body(), { secret: randomBytes(16) }))).toEqual([
      401,
      "unauthorized",
    ]);
    expect(await errorOf(await client.send("POST", LVI_PATH, body(), { keyId: "other" }))).toEqual([
      401,
      "unauthorized",
    ]);
    expect(await errorOf(await fetch(server.url + LVI_PATH, { method: "POST", body: Buffer.from(body()) }))).toEqual([
      401,
      "unauthorized",
    ]);
  });

  test("a signature for another path", async () => {
    const response = await client.send("POST", LVI_PATH, body(), { path: FOLLOWUP_PATH });
    expect(await errorOf(response)).toEqual([401, "unauthorized"]);
  });

  test.each([TASKS_PATH, TASK_ORDERS_PATH, SCHEDULES_PATH])("%s: only who has the key", async (path) => {
    const question = questionOf({ limit: 1, action: "discard", ids: ["8".repeat(32)], handler: "read" });
    const unsigned = await fetch(server.url + path, { method: "POST", body: Buffer.from(question) });
    expect(await errorOf(unsigned)).toEqual([401, "unauthorized"]);
    for (const signing of [{ isForged: true }, { keyId: "other" }, { path: LVI_PATH }])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await errorOf(await client.send("POST", path, question, signing))).toEqual([401, "unauthorized"]);
    for (const nonsense of ["", "[]", "null"])
      // oxlint-disable-next-line no-await-in-loop -- likewise
      expect((await client.send("POST", path, Buffer.from(nonsense))).status).toBe(400);
    for (const nonsense of [{ limit: 0 }, { action: "burn", ids: [] }, { handler: 7 }])
      // oxlint-disable-next-line no-await-in-loop -- likewise
      expect((await client.question(path, nonsense)).status).toBe(400);
  });

  test("the very same bytes again, within the replay window: no second effect", async () => {
    // From here on the client has heard of this server.
    await client.read("replayed");
    const timeMs = Date.now();
    const send = async (path: string, bytes: Uint8Array): Promise<Uint8Array> => {
      const response = await client.send("POST", path, bytes, { timeMs });
      expect(response.status).toBe(200);
      return new Uint8Array(await response.arrayBuffer());
    };
    const writing = client.requestOf("increment", "replayed", incrementUnits("replayed", ABSENT));
    const valid = decodeLviReply(await send(LVI_PATH, encodeLviRequest(writing)));
    if (valid.kind !== "valid") throw new Error(`not valid: ${valid.kind}`);
    const followup = encodeFollowup(incrementFollowup(writing.executionId, valid.commitId!, "replayed", ABSENT));
    expect(decodeFollowupReply(await send(FOLLOWUP_PATH, followup))).toBe("applied");
    expect(decodeFollowupReply(await send(FOLLOWUP_PATH, followup))).toBe("completed_before");
    expect(decodeLviReply(await send(LVI_PATH, encodeLviRequest(writing)))).toMatchObject({ code: "answer_not_kept" });
    expect(await client.read("replayed")).toBe(1);

    // One that left no trace would read what is there by now: its answer was given, so it gets none.
    const { version } = entryOf(valid.commitId!, Uint8Array.of(1));
    const reading = encodeLviRequest(
      client.requestOf("read", "replayed", [{ unit: unitId("counters", "replayed"), mode: "read", version }]),
    );
    expect(decodeLviReply(await send(LVI_PATH, reading))).toMatchObject({ kind: "valid", commitId: null });
    expect(decodeLviReply(await send(LVI_PATH, reading))).toMatchObject({ kind: "refused", code: "in_doubt" });
  });

  describe("a request of a command that somebody has captured", () => {
    const SAMPLES = { every: 1, handlers: [], values: true, redact: [] };
    const LIMIT = { lines: 1, follow: false, level: "info" };
    const nothing = new Uint8Array();
    const captured = (): Signing => ({ timeMs: Date.now(), nonce: randomBytes(16).toString("hex") });

    test.each([
      ["POST", LOG_PATH, LIMIT],
      ["POST", SAMPLES_PATH, SAMPLES],
      ["POST", LIVES_PATH, { every: 1 }],
      ["POST", TASKS_PATH, { limit: 1 }],
      ["POST", TASK_ORDERS_PATH, { action: "discard", ids: ["8".repeat(32)], callAgain: false }],
      ["GET", STATUS_PATH, null],
      ["GET", MODULE_LIST_PATH, null],
      ["GET", CONTENTION_PATH, null],
    ])("%s %s: answered once", async (method, path, question) => {
      const bytes = question === null ? nothing : questionOf(question);
      const signing = captured();
      const first = await client.send(method, path, bytes, signing);
      expect(first.status).toBe(200);
      await first.body?.cancel();
      const again = await client.send(method, path, bytes, signing);
      expect([again.status, await again.json()]).toEqual([
        401,
        { error: expect.objectContaining({ message: "This request was answered before." }) as unknown },
      ]);
      // A stranger can't use up the nonce of another.
      const fresh = captured();
      expect((await client.send(method, path, bytes, { ...fresh, isForged: true })).status).toBe(401);
      const asked = await client.send(method, path, bytes, fresh);
      expect(asked.status).toBe(200);
      await asked.body?.cancel();
    });

    test("a registration counts once: an older module does not come back by it", async () => {
      const { hash, bytes } = await testModule();
      const signing = captured();
      expect((await client.send("PUT", MODULES_PATH + hash, bytes, signing)).status).toBe(204);
      expect(await errorOf(await client.send("PUT", MODULES_PATH + hash, bytes, signing))).toEqual([
        401,
        "unauthorized",
      ]);
    });

    test("with another body, to another path, by another method, at another time, with another nonce: refused", async () => {
      const bytes = questionOf(LIMIT);
      const signed = captured();
      for (const [path, changed] of [
        [LOG_PATH, { body: questionOf({ ...LIMIT, lines: 1_000 }) }],
        [SAMPLES_PATH, { path: LOG_PATH }],
      ] as const)
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        expect(await errorOf(await client.send("POST", path, bytes, { ...signed, ...changed }))).toEqual([
          401,
          "unauthorized",
        ]);
      const { hash, bytes: content } = await testModule();
      const place = MODULES_PATH + hash;
      for (const [method, query, status] of [
        ["GET", "", 401],
        ["PUT", "?aside=yes", 401],
        ["PUT", "", 204],
      ] as const) {
        const init = { method: "PUT", headers: signedHeaders(method, place, content), body: Buffer.from(content) };
        // oxlint-disable-next-line no-await-in-loop -- likewise
        expect((await fetch(server.url + place + query, init)).status).toBe(status);
      }
      const headers = signedHeaders("POST", LOG_PATH, bytes, signed);
      for (const changed of [
        { [TIME_HEADER]: String(signed.timeMs! + 1) },
        { [NONCE_HEADER]: "ab".repeat(16) },
        { [DEPLOYMENT_HEADER]: "shop" },
        { [NODE_HEADER]: "b" },
      ]) {
        const init = { method: "POST", headers: { ...headers, ...changed }, body: Buffer.from(bytes) };
        // oxlint-disable-next-line no-await-in-loop -- likewise
        expect(await errorOf(await fetch(server.url + LOG_PATH, init))).toEqual([401, "unauthorized"]);
      }
      // None of them has used up its nonce.
      expect((await client.send("POST", LOG_PATH, bytes, signed)).status).toBe(200);
    });

    test("is not answered by a server that has started since, nor by one of another deployment", async () => {
      const timeMs = Date.now() - 1;
      const [later, asker] = await open(FAR_MS, { deployment: "shop-production" });
      try {
        const to = (deployment: string, signing: Signing = {}): Promise<Response> =>
          asker.question(LOG_PATH, LIMIT, { ...signing, deployment });
        const old = await to("shop-production", { timeMs });
        expect([old.status, await old.text()]).toEqual([503, expect.stringContaining("before this server")]);
        for (const other of ["shop-staging", ""]) {
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          const refused = await to(other);
          // oxlint-disable-next-line no-await-in-loop -- likewise
          expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("to the deployment")]);
        }
        expect((await to("shop-production")).status).toBe(200);
      } finally {
        await later.close();
      }
    });
  });

  describe("locations and administration have different keys", () => {
    test.each([
      ...ADMINISTRATIVE_PATHS.map((path) => [METHODS[ADMINISTRATIVE_ROUTES[path]][0]!, path] as const),
      ["PUT", MODULES_PATH + "0".repeat(64)] as const,
      ["GET", MODULES_PATH + "0".repeat(64)] as const,
      ["GET", `${MODULES_PATH}${"0".repeat(64)}/content`] as const,
    ])("%s %s is not for a location", async (method, path) => {
      const response = await client.send(method, path, new Uint8Array(), { as: "location" });
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([
        401,
        `"${KEY_ID}" is the key of a location, and this path is for administration.`,
      ]);
    });

    test.each(Object.keys(LOCATION_ROUTES))("POST %s is not for administration", async (path) => {
      const response = await client.send("POST", path, new Uint8Array(), { as: "administration" });
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([
        401,
        `"${ADMIN_ID}" is an administration key, and this path is for locations.`,
      ]);
    });

    test("a module aside is for administration, and one of an application is not", async () => {
      const aside = new TestClient(server.url, await testModule());
      const { hash } = await testModule();
      // That of the application stays one, whatever is registered later.
      const { bytes } = await testModule();
      expect((await client.send("PUT", `${MODULES_PATH}${hash}?aside=yes`, bytes)).status).toBe(204);
      expect(await aside.read("not aside")).toBe(0);
      const asked = encodeLviRequest(client.requestOf("read", "x", null));
      expect(await errorOf(await client.send("POST", DATA_PATH, asked))).toEqual([401, "unauthorized"]);
      const { content } = await testModule();
      const other = { ...content, limits: { ...content.limits, accesses: content.limits.accesses - 1 } };
      const itsHash = moduleHash(other);
      const put = await client.send("PUT", `${MODULES_PATH}${itsHash}?aside=yes`, encodeModuleContent(other));
      expect([put.status, await put.text()]).toEqual([204, ""]);
      const toAside = encodeLviRequest({ ...client.requestOf("read", "x", null), module: itsHash });
      expect(await errorOf(await client.send("POST", LVI_PATH, toAside))).toEqual([401, "unauthorized"]);
      expect((await client.send("POST", DATA_PATH, toAside)).status).toBe(200);
    });

    test("the public halves are told to anybody, and nothing else", async () => {
      const answer = await fetch(`${server.url}${KEYS_PATH}`);
      const half = ADMIN_TEXT.split(":")[2]!;
      expect([answer.status, await answer.json()]).toEqual([200, { administration: { [ADMIN_ID]: half } }]);
    });

    test("a server without an administration key says what to do", async () => {
      const keys = new KeyRing({ locations: new Map([[KEY_ID, SECRET]]), administration: new Map() });
      const onHalt = (reason: string): never => {
        throw new Error(reason);
      };
      const before = await startServer({ storage: ":memory:", keys, workers: 1, log: createServerLog(), onHalt });
      try {
        const answer = await new TestClient(before.url, await testModule()).send("GET", STATUS_PATH, new Uint8Array());
        const { error } = (await answer.json()) as { readonly error: { readonly hint: string } };
        expect([answer.status, error.hint]).toEqual([401, expect.stringContaining("radical secrets new-keys")]);
      } finally {
        await before.close();
      }
    });
  });

  test("outside the replay window", async () => {
    for (const offsetMs of [-REPLAY_WINDOW_MS - 5_000, REPLAY_WINDOW_MS + 5_000]) {
      const response = await client.send("POST", LVI_PATH, body(), { timeMs: Date.now() + offsetMs });
      expect(await errorOf(response)).toEqual([401, "unauthorized"]);
    }
  });
});

describe("bad input", () => {
  test("malformed CBOR", async () => {
    expect(await errorOf(await client.send("POST", LVI_PATH, Uint8Array.of(0xff, 1, 2)))).toEqual([
      400,
      "malformed_message",
    ]);
    expect(await errorOf(await client.send("POST", LVI_PATH, new Uint8Array()))).toEqual([400, "malformed_message"]);
  });

  test("what is no HTTP is refused in the form of all errors", async () => {
    const { hostname, port } = new URL(server.url);
    const answerTo = (bytes: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => socket.write(bytes));
        let text = "";
        socket
          .on("data", (data) => (text += data.toString()))
          .on("end", () => resolve(text))
          .on("error", reject);
      });
    for (const [bytes, status] of [
      ["what is this\r\n\r\n", 400],
      [`POST ${UPDATES_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n`, 400],
      [`POST ${UPDATES_PATH} HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ] as const) {
      const [head = "", body = ""] = (await answerTo(bytes)).split("\r\n\r\n");
      expect(head).toContain(`HTTP/1.1 ${status} `);
      expect(JSON.parse(body)).toEqual({
        error: {
          code: "malformed_message",
          message: expect.stringContaining("no HTTP request"),
          hint: expect.any(String),
        },
      });
    }
    // One without a host is a request.
    expect(await answerTo(`POST ${UPDATES_PATH} HTTP/1.1\r\nconnection: close\r\n\r\n`)).toContain("unauthorized");
  });

  test("an oversized body is refused before it is read", async () => {
    const { hostname, port } = new URL(server.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\nabc`),
      );
      let text = "";
      socket
        .on("data", (data) => (text += data.toString()))
        .on("end", () => resolve(text))
        .on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain("message_too_large");
  });

  test("an oversized body without a length is answered", async () => {
    const { hostname, port } = new URL(server.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const socket = connect(Number(port), hostname, () => {
        socket.write(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`);
        for (let sent = 0; sent < 20; sent++) {
          socket.write(`${chunk.length.toString(16)}\r\n`);
          socket.write(chunk);
          socket.write("\r\n");
        }
        socket.write("0\r\n\r\n");
      });
      let text = "";
      socket
        .on("data", (data) => (text += data.toString()))
        .on("end", () => resolve(text))
        .on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain("message_too_large");
  });

  test("bodies that do not come to their end take bounded memory, and leave room for small ones", async () => {
    const { hostname, port } = new URL(server.url);
    const half = Buffer.alloc(15 * 1024 * 1024);
    const headers = `${KEY_HEADER}: ${KEY_ID}\r\n${TIME_HEADER}: ${Date.now()}\r\n${SIGNATURE_HEADER}: 00\r\n`;
    const sockets = Array.from({ length: 18 }, () =>
      connect(Number(port), hostname, function (this: Socket) {
        this.write(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${half.length + 1}\r\n\r\n`);
        this.write(half);
      }).on("error", () => {}),
    );
    const large = new Uint8Array(2 * 1024 * 1024);
    const statusOfLarge = async (): Promise<number> => {
      const response = await client.send("POST", LVI_PATH, large);
      await response.arrayBuffer();
      return response.status;
    };
    await expect.poll(statusOfLarge, { timeout: 100_000 }).toBe(503);
    expect(await client.read("nobody")).toBe(0);
    for (const socket of sockets) socket.destroy();
    await expect.poll(statusOfLarge, { timeout: 100_000 }).toBe(400);
  });

  test("a sender that goes away in the middle of its body is no fault of the server", async () => {
    const { hostname, port } = new URL(server.url);
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc`, () => socket.destroy());
      });
      socket.on("close", () => resolve()).on("error", reject);
    });
    expect(await client.read("nobody")).toBe(0);
    expect(errors).toEqual([]);
  });

  test("signed nonsense is malformed or refused, whatever it is, and leaves nothing behind", async () => {
    const random = new Random(1);
    const units = Array.from({ length: 20 }, (_, index) => ({
      unit: unitId("counters", `n${index}`),
      mode: "read-write" as const,
      version: null,
    }));
    for (let round = 0; round < 300; round++) {
      const bytes = encodeLviRequest(client.requestOf("increment", "n0", units));
      const cut = random.below(3) === 0 ? bytes.slice(0, random.below(bytes.length)) : bytes;
      for (let flips = random.below(4); flips > 0 && cut.length > 0; flips--)
        cut[random.below(cut.length)] = random.below(256);
      const response = await client.send("POST", random.below(4) === 0 ? FOLLOWUP_PATH : LVI_PATH, cut);
      expect([200, 400]).toContain(response.status);
      await response.arrayBuffer();
    }
    expect(server.engine.load).toMatchObject({ executions: 0, pending: 0, lockedUnits: 0 });
    expect(errors).toEqual([]);
  });

  test("names of an object's members are handlers and units like any other", async () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(await client.lvi(client.requestOf(name, "a", null))).toMatchObject({ code: "unknown_handler" });
      expect(await client.lvi(client.requestOf("increment", name, incrementUnits(name, null)))).toMatchObject({
        kind: "executed",
      });
      expect(await client.read(name)).toBe(1);
    }
  });

  test("the largest set is taken, one unit more is refused", async () => {
    const set = (count: number): AccessedUnit[] =>
      Array.from({ length: count }, (_, index) => ({ unit: unitId("counters", `many-${index}`), mode: "write" }));
    const reply = await client.lvi(client.requestOf("increment", "many-0", set(10_000)));
    expect(reply).toMatchObject({ kind: "valid" });
    expect(await client.lvi(client.requestOf("increment", "many-0", set(10_001)))).toMatchObject({
      code: "too_many_units",
    });
    // Whoever wants one of them next gets it.
    expect(await client.lvi(client.requestOf("increment", "many-9999", null))).toMatchObject({ kind: "executed" });
  });

  test("what a run near storage reads is bounded: more is refused, and nothing is held", async () => {
    const perRequest = Math.floor(MAX_RESULT_BYTES / MAX_VALUE_BYTES);
    const most = Math.floor(MAX_READ_BYTES / MAX_VALUE_BYTES);
    for (let first = 0; first <= most; first += perRequest) {
      const units = Array.from({ length: perRequest }, (_, index) => unitId("bulk", String(first + index)));
      const request = client.requestOf(
        "increment",
        "bulk",
        units.map((unit) => ({ unit, mode: "write" })),
      );
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const reply = await client.lvi(request);
      if (reply.kind !== "valid") throw new Error(reply.kind);
      const writes = units.map((unit): Write => ({ unit, value: new Uint8Array(MAX_VALUE_BYTES) })).toSorted(byUnit);
      const followup = { ...incrementFollowup(request.executionId, reply.commitId!, "bulk", ABSENT), writes };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await client.followup(followup)).toBe("applied");
    }
    const read = (count: number) => client.lvi(client.requestOf("readBulkNearStorage", String(count), null));
    expect(await read(perRequest)).toMatchObject({ kind: "executed" });
    expect(await read(most + 1)).toMatchObject({
      kind: "refused",
      code: "too_many_units",
      message: `The handler reads more than ${MAX_READ_BYTES} bytes of values.`,
    });
    expect(await client.lvi(client.requestOf("increment", "after", null))).toMatchObject({ kind: "executed" });
  });

  test("arguments, names, values, write sets and results over their limit are refused, and nothing is held", async () => {
    const request = client.requestOf("increment", "large", incrementUnits("large", null));
    const large: readonly LviRequest[] = [
      { ...request, args: new Uint8Array(MAX_ARGUMENT_BYTES + 1) },
      { ...request, handler: "h".repeat(257) },
      { ...request, location: "l".repeat(257) },
    ];
    for (const one of large) {
      const response = await client.send("POST", LVI_PATH, encodeLviRequest(one));
      expect(await errorOf(response)).toEqual([413, "message_too_large"]);
    }
    expect(server.engine.load).toMatchObject({ executions: 0, pending: 0, lockedUnits: 0 });

    const written = client.requestOf("increment", "w", incrementUnits("w", ABSENT));
    const reply = await client.lvi(written);
    if (reply.kind !== "valid") throw new Error(`not valid: ${reply.kind}`);
    const followup = incrementFollowup(written.executionId, reply.commitId!, "w", ABSENT);
    const valueOf = (index: number, length: number): Write => ({
      unit: unitId("counters", `w${index}`),
      value: new Uint8Array(length),
    });
    const tooLarge: readonly Followup[] = [
      { ...followup, writes: [valueOf(0, MAX_VALUE_BYTES + 1)] },
      { ...followup, writes: Array.from({ length: 11 }, (_, index) => valueOf(index, MAX_VALUE_BYTES)) },
      { ...followup, outcome: { kind: "result", value: new Uint8Array(MAX_RESULT_BYTES + 1) } },
    ];
    for (const one of tooLarge) {
      const response = await client.send("POST", FOLLOWUP_PATH, encodeFollowup(one));
      expect(await errorOf(response)).toEqual([413, "message_too_large"]);
    }
    // The intent is as it was: the followup that fits is applied.
    expect(await client.followup(followup)).toBe("applied");
    expect(server.engine.load).toMatchObject({ executions: 0, pending: 0, lockedUnits: 0 });
  });

  test("a followup with effects that no run may have leaves its intent as it was", async () => {
    const tasks = async (): Promise<readonly ListedTask[]> => {
      const response = await client.question(TASKS_PATH, { limit: 10 });
      return ((await response.json()) as TaskList).tasks;
    };
    const request = client.requestOf("increment", "greedy", incrementUnits("greedy", ABSENT), { mayEffect: true });
    const reply = await client.lvi(request);
    if (reply.kind !== "valid") throw new Error(`not valid: ${reply.kind}`);
    const followup = incrementFollowup(request.executionId, reply.commitId!, "greedy", ABSENT);
    const args = Uint8Array.of(0xa0);
    const task: RunEffect = { kind: "enqueue", callee: "read", args, delayMs: 0, key: null };
    const of = (effects: readonly RunEffect[]): Uint8Array => encodeFollowup({ ...followup, effects });
    for (const [bytes, status, code] of [
      [of(Array.from({ length: MAX_EFFECTS + 1 }, () => task)), 413, "message_too_large"],
      [of([{ ...task, args: new Uint8Array(MAX_TASK_ARGUMENT_BYTES + 1) }]), 413, "message_too_large"],
      [
        of(Array.from({ length: 11 }, () => ({ ...task, args: new Uint8Array(MAX_TASK_ARGUMENT_BYTES) }))),
        413,
        "message_too_large",
      ],
      [of([{ ...task, delayMs: MAX_TASK_DELAY_MS + 1 }]), 400, "malformed_message"],
      [of([{ ...task, delayMs: -1 }]), 400, "malformed_message"],
      [of([{ ...task, callee: "" }]), 400, "malformed_message"],
      [of([{ ...task, key: "" }]), 400, "malformed_message"],
      [of([{ kind: "cancel", task: "me" as ExecutionId }]), 400, "malformed_message"],
      [of([task]).slice(0, -3), 400, "malformed_message"],
    ] as const)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await errorOf(await client.send("POST", FOLLOWUP_PATH, bytes))).toEqual([status, code]);
    expect(server.engine.load).toMatchObject({ executions: 1, pending: 1 });
    // A lane that the intent does not name: the primary runs the handler itself, which asks for nothing.
    expect(await client.followup({ ...followup, effects: [{ ...task, key: "stray" }] })).toBe("not_covered");
    expect(await client.read("greedy")).toBe(1);
    expect(await tasks()).toEqual([]);
    expect(errors).toEqual([]);
  });

  test("a module that can't be run", async () => {
    const { content } = await testModule();
    const wrong: ModuleContent[] = [
      { ...content, handlers: { ...content.handlers, ...handlersWith({ nobody: "near-storage" }) } },
      { ...content, handlers: handlersWith({ increment: "sliced" }), rwWasm: EMPTY_MODULE },
      { ...content, wasm: MODULE_WITH_FOREIGN_IMPORT },
    ];
    for (const one of wrong) {
      const response = await client.send("PUT", MODULES_PATH + moduleHash(one), encodeModuleContent(one));
      expect(await errorOf(response)).toEqual([400, "malformed_message"]);
    }
  });

  test("more modules than a worker keeps, each of them run", async () => {
    const { content } = await testModule();
    const modules = await Promise.all(
      Array.from({ length: 18 }, async (_, index) => {
        const one: ModuleContent = { ...content, limits: { ...content.limits, accesses: 1_000 + index } };
        const hash = moduleHash(one);
        expect((await client.send("PUT", MODULES_PATH + hash, encodeModuleContent(one))).status).toBe(204);
        return hash;
      }),
    );
    const first = modules[0]!;
    for (const module of [...modules, first]) {
      const reply = await client.lvi(client.requestOf("increment", "builds", null, { module }));
      expect(reply).toMatchObject({ kind: "executed", outcome: { kind: "result" } });
    }
    expect(await client.read("builds")).toBe(modules.length + 1);
  });

  test("a module under a wrong hash, or that is none", async () => {
    const { bytes } = await testModule();
    expect(await errorOf(await client.send("PUT", MODULES_PATH + "0".repeat(64), bytes))).toEqual([
      400,
      "module_mismatch",
    ]);
    expect(await errorOf(await client.send("PUT", MODULES_PATH + "0".repeat(64), Uint8Array.of(1)))).toEqual([
      400,
      "malformed_message",
    ]);
  });

  test("known and unknown modules, routes and methods", async () => {
    const { hash } = await testModule();
    expect((await client.send("GET", MODULES_PATH + hash, new Uint8Array())).status).toBe(204);
    expect(await errorOf(await client.send("GET", MODULES_PATH + "0".repeat(64), new Uint8Array()))).toEqual([
      404,
      "not_found",
    ]);
    expect(await errorOf(await fetch(`${server.url}/nothing`))).toEqual([404, "not_found"]);
    expect(await errorOf(await fetch(server.url + LVI_PATH))).toEqual([405, "method_not_allowed"]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${server.url}/healthz`)).json()).toMatchObject({ status: "ok", executions: 0 });
  });
});
