/**
 * The holder of a location's key against a real server: it names a handler, and units of its own choice. The accounts are the people
 * of the test module, the sessions its links.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import {
  type AccessedUnit,
  type CommitId,
  DATA_PATH,
  encodeLviRequest,
  encodeModuleContent,
  type Followup,
  type HandlerTables,
  LIVES_PATH,
  LOG_PATH,
  type LviReply,
  MODULE_LIST_PATH,
  MODULES_PATH,
  SAMPLES_PATH,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  unitId,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Signing, TestClient } from "./test-client.ts";
import { type TestModule, testModule } from "./test-module.ts";
import {
  alarmsOf,
  logged as loggedBy,
  loggedAlarms,
  type ServerProcess,
  spawnServer,
  startProcess,
} from "./test-process.ts";

const SOON = { timeout: 100_000 };

/** As a build names them. `signIn` stands for a login, which reads accounts and makes sessions; `link` for a logout. */
const TABLES: Readonly<Record<string, HandlerTables>> = {
  increment: { reads: ["counters"], writes: ["counters"] },
  read: { reads: ["counters"], writes: [] },
  remember: { reads: [], writes: ["people"] },
  signIn: { reads: ["counters", "people"], writes: ["counters", "links"] },
  link: { reads: [], writes: ["links"] },
};
const VICTIM = unitId("people", "victim");
const RECORD = Buffer.from("a1646e616d6565526f62696e", "hex");

let folder: string;
let module: TestModule;
let server: ServerProcess;
let thief: TestClient;
/** The alarms in the log of the server that runs. */
let logged: ReturnType<typeof loggedAlarms> = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-stolen-key-"));
  const { content: any } = await testModule();
  const handlers = Object.fromEntries(
    Object.entries(any.handlers).map(([name, { plan }]) => [name, { plan, tables: TABLES[name] ?? null }]),
  );
  const content = { ...any, handlers };
  module = { content, bytes: encodeModuleContent(content), hash: moduleHash(content) };
  await start();
  await thief.register();
  const set = [{ unit: VICTIM, mode: "write" }] as const;
  await carriedOut("remember", "victim=Robin", set, [{ unit: VICTIM, value: RECORD }]);
});
afterAll(async () => {
  await server.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const storage = `sqlite:${path.join(folder, "data.sqlite")}`;
  server = await startProcess(["--storage", storage, "--workers", "1", "--followup-timeout-ms", "600000"]);
  logged = loggedAlarms(server);
  thief = new TestClient(server.url, module);
  // It hears of the server, so that nothing is in doubt.
  await thief.lvi(thief.requestOf("incrementNearStorage", "known", null)).catch(() => undefined);
}

/** The followup of a location that says what it likes. */
async function carriedOut(
  handler: string,
  argument: string,
  units: readonly AccessedUnit[],
  writes: Followup["writes"],
): Promise<void> {
  const request = thief.requestOf(handler, argument, units);
  const commit = commitOf(await thief.lvi(request));
  const outcome = { kind: "result", value: new Uint8Array() } as const;
  const followup = { executionId: request.executionId, commitId: commit, outcome, writes, effects: [] };
  expect(await thief.followup(followup)).toBe("applied");
}

function commitOf(reply: LviReply): CommitId {
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  return reply.commitId;
}

async function expectRefused(handler: string, set: readonly AccessedUnit[], words: string): Promise<void> {
  const before = await alarmsOf(server.url, "outside_tables");
  const request = thief.requestOf(handler, "a>b", set, { location: "stolen" });
  const reply = await thief.lvi(request);
  expect(reply).toMatchObject({ kind: "refused", code: "outside_tables", retryAfterMs: null });
  expect(JSON.stringify(reply)).not.toContain("repairs");
  const alarm = (): unknown => logged.find(({ execution }) => execution === request.executionId);
  await expect.poll(alarm, SOON).toMatchObject({
    level: "error",
    event: "outside_tables_alarm",
    module: module.hash,
    handler,
    detail: `${handler} never ${words}, and its set has a unit of it; the location stolen has sent it`,
  });
  expect(await alarmsOf(server.url, "outside_tables")).toBe(before + 1);
}

describe("is refused, and the alarm names the location", () => {
  const attacks = (): void => {
    test("the write of an account in the name of a handler that writes none", () =>
      expectRefused("link", [{ unit: VICTIM, mode: "write" }], "writes the table people"));

    test("the write of an account in the name of a handler that only reads them", () =>
      expectRefused("signIn", [{ unit: VICTIM, mode: "write" }], "writes the table people"));

    test("a table that no handler has", () =>
      expectRefused("link", [{ unit: unitId("nosuchtable", "zzz"), mode: "write" }], "writes the table nosuchtable"));

    test("a session that is made up in the name of a handler that makes none", () =>
      expectRefused("remember", [{ unit: unitId("links", "made-up"), mode: "write" }], "writes the table links"));

    test("the read of an account, which a repair would bring, in the name of a handler that reads none", () =>
      expectRefused("read", [{ unit: VICTIM, mode: "read", version: null }], "reads the table people"));

    test("among units that the handler accesses", () =>
      expectRefused(
        "increment",
        [
          { unit: unitId("counters", "mine"), mode: "read-write", version: null },
          { unit: VICTIM, mode: "read", version: null },
        ],
        "reads the table people",
      ));
  };

  describe("by the server at which the module was registered", () => {
    attacks();
  });

  describe("by a server that has found the module in storage", () => {
    beforeAll(async () => {
      await server.kill("SIGKILL");
      await start();
    });
    attacks();
  });
});

test("nothing was changed by what was refused", async () => {
  // A set that proves stale brings what is stored.
  const request = thief.requestOf("signIn", "any:secret", [{ unit: VICTIM, mode: "read", version: null }]);
  const { repairs } = (await thief.lvi(request)) as LviReply & { kind: "executed" };
  expect(repairs.find(({ unit }) => unit === VICTIM)?.entry.value).toEqual(new Uint8Array(RECORD));
});

/** As docs/security.md says, the word of a location about the writes of its own executions is taken. */
describe("is not refused", () => {
  test("a write of any value in the name of a handler that writes the table", async () => {
    const forged = unitId("links", "forged");
    const value = Buffer.from("6176696374696d", "hex");
    await carriedOut("signIn", "ann:x", [{ unit: forged, mode: "write" }], [{ unit: forged, value }]);
    const found = thief.requestOf("incrementLinked", "forged", [{ unit: forged, mode: "read", version: null }]);
    expect(await thief.lvi(found)).toMatchObject({ kind: "executed" });
  });
});

/** Requests of commands, and what somebody gains who sends them. */
const ADMINISTRATION: readonly (readonly [method: string, path: string, question: object | null])[] = [
  ["GET", STATUS_PATH, null],
  ["GET", MODULE_LIST_PATH, null],
  ["POST", LOG_PATH, { lines: 100, follow: true, level: "debug" }],
  ["POST", SAMPLES_PATH, { every: 1, handlers: [], values: true, redact: [] }],
  ["POST", LIVES_PATH, { every: 1 }],
  ["POST", TASKS_PATH, { limit: 100, withArguments: true }],
  ["POST", TASK_ORDERS_PATH, { action: "discard", ids: ["8".repeat(32)], callAgain: false }],
];
const bytesOf = (question: object | null): Uint8Array =>
  question === null ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(question));

describe("a key of locations administers nothing", () => {
  test.each(ADMINISTRATION)("%s %s", async (method, route, question) => {
    const refused = await thief.send(method, route, bytesOf(question), { as: "location" });
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("is the key of a location")]);
  });

  test("no module is registered, and none is aside for the items of all tables", async () => {
    const own = { ...module.content, limits: { ...module.content.limits, accesses: 7 } };
    const hash = moduleHash(own);
    for (const query of ["", "?aside=yes", "?worker=https%3A%2F%2Fthief.example"]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const refused = await thief.send("PUT", `${MODULES_PATH}${hash}${query}`, encodeModuleContent(own), {
        as: "location",
      });
      expect(refused.status).toBe(401);
    }
    const wanted = thief.requestOf("increment", "a", null, { module: hash });
    expect(await thief.lvi(wanted)).toMatchObject({ kind: "refused", code: "unknown_module" });
  });

  test("nor does it run the module by which an operator changes items", async () => {
    const aside = { ...module.content, limits: { ...module.content.limits, accesses: 9 } };
    const hash = moduleHash(aside);
    const put = await thief.send("PUT", `${MODULES_PATH}${hash}?aside=yes`, encodeModuleContent(aside));
    expect(put.status).toBe(204);
    const asked = thief.requestOf("increment", "a", null, { module: hash });
    await expect(thief.lvi(asked)).rejects.toThrow(/^401: .*The module is for administration/);
    // It is known as such after a restart, too.
    await server.kill("SIGKILL");
    await start();
    const again = thief.requestOf("increment", "a", null, { module: hash });
    await expect(thief.lvi(again)).rejects.toThrow(/^401: .*The module is for administration/);
    const bytes = encodeLviRequest(thief.requestOf("increment", "a", null, { module: hash }));
    expect((await thief.send("POST", DATA_PATH, bytes)).status).toBe(200);
    expect((await thief.send("POST", DATA_PATH, bytes, { as: "location" })).status).toBe(401);
  });
});

describe("a captured request of administration", () => {
  const captured = (): Signing => ({ timeMs: Date.now(), nonce: randomBytes(16).toString("hex") });

  test.each(ADMINISTRATION)("%s %s is answered once, and not after a start", async (method, route, question) => {
    const signing = captured();
    const first = await thief.send(method, route, bytesOf(question), signing);
    expect(first.status).toBe(200);
    await first.body?.cancel();
    expect((await thief.send(method, route, bytesOf(question), signing)).status).toBe(401);
    await server.kill("SIGKILL");
    await start();
    const later = await thief.send(method, route, bytesOf(question), signing);
    expect([later.status, await later.text()]).toEqual([503, expect.stringContaining("before this server")]);
  });

  test("to one deployment is not one to another that has the same keys", async () => {
    const other = await startProcess([
      "--storage",
      "sqlite::memory:",
      "--workers",
      "1",
      "--deployment",
      "shop-staging",
    ]);
    try {
      const client = new TestClient(other.url, module);
      const to = async (deployment: string): Promise<number> =>
        (await client.send("GET", STATUS_PATH, new Uint8Array(), { deployment })).status;
      expect([await to("shop-production"), await to(""), await to("shop-staging")]).toEqual([401, 401, 200]);
    } finally {
      await other.kill("SIGKILL");
    }
  });

  test("is not answered by the server that takes over, which has run all the while", async () => {
    const own = await mkdtemp(path.join(tmpdir(), "radical-taken-over-"));
    const args = ["--storage", `sqlite:${path.join(own, "data.sqlite")}`, "--workers", "1", "--lease-ms", "500"];
    const leader = await startProcess(args);
    const standby = spawnServer([...args, "--log-level", "info"]);
    try {
      const serves = once(createInterface(standby.stdout!), "line") as Promise<[string]>;
      await loggedBy(standby, "waiting_for_leadership");
      const signing = captured();
      const first = new TestClient(leader.url, module);
      expect((await first.send("GET", MODULE_LIST_PATH, new Uint8Array(), signing)).status).toBe(200);
      await leader.kill("SIGKILL");
      const { port } = JSON.parse((await serves)[0]) as { readonly port: number };
      const next = new TestClient(`http://127.0.0.1:${port}`, module);
      const again = await next.send("GET", MODULE_LIST_PATH, new Uint8Array(), signing);
      expect([again.status, await again.text()]).toEqual([503, expect.stringContaining("primary_busy")]);
      expect((await next.send("GET", MODULE_LIST_PATH, new Uint8Array())).status).toBe(200);
    } finally {
      standby.kill("SIGKILL");
      await once(standby, "exit");
      await rm(own, { recursive: true, force: true });
    }
  });
});
