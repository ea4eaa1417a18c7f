/** Real processes: kill -9 at the worst moments, restarts, signals, wrong options, parents that die. */
import { randomBytes } from "node:crypto";
import type { ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { type CommitId, entryOf, type LviReply, unitId } from "@radical/protocol";
import { flagOf } from "@radical/command-line";
import { drawn } from "@radical/command-line/short-tier";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import { SETTING_NAMES, variableOf } from "../src/options.ts";
import {
  ABSENT,
  ADMIN_ID,
  ADMIN_TEXT,
  incrementFollowup,
  incrementUnits,
  KEY_ID,
  SECRET,
  TestClient,
} from "./test-client.ts";
import { dynamoStorage, sqliteStorage, type StorageUnderTest } from "./storage-under-test.ts";
import { testModule } from "./test-module.ts";
import { logged, runToEnd, type ServerProcess, spawnServer, startProcess } from "./test-process.ts";

let folder: string;
let sqlite: StorageUnderTest;
let running: ServerProcess[];
let spawned: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-server-"));
  sqlite = sqliteStorage(path.join(folder, "data.sqlite"));
  running = [];
  spawned = [];
});

afterEach(async () => {
  for (const server of running) {
    if (server.child.exitCode === null && server.child.signalCode === null) await server.kill("SIGKILL");
  }
  for (const child of spawned) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(folder, { recursive: true, force: true });
});

const SECRETS_BY_ID: Readonly<Record<string, Buffer>> = { old: randomBytes(32), next: randomBytes(32) };

/** Of a server that is replaced once it has ended, and not because the machine has stopped it for a moment. */
const LONG_LEASE = ["--lease-ms", "15000"];

/** A server that this test ends, or what comes after it. */
function spawn(...args: Parameters<typeof spawnServer>): ChildProcess {
  const child = spawnServer(...args);
  spawned.push(child);
  return child;
}

async function start(
  storage: StorageUnderTest,
  ...args: string[]
): Promise<{ server: ServerProcess; client: TestClient }> {
  const server = await startProcess([...storage.args, "--workers", "1", ...args]);
  running.push(server);
  return { server, client: new TestClient(server.url, await testModule()) };
}

function commitOf(reply: LviReply): CommitId {
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  return reply.commitId;
}

/** On this machine alone, or on DynamoDB: the short tier draws one. */
const parts = drawn("server processes", hasDynamoDbLocal() ? ["here", "dynamodb"] : ["here"], 1);
const isHere = parts.includes("here");
/** The moments of a kill, of which it draws one too. */
const moments = drawn("server processes", ["told", "told, location dead", "not told", "any"], 1);
/** The option of a test that leaves its moment out. */
const at = (moment: string): { readonly skip: boolean } => ({ skip: !moments.includes(moment) });

describe.runIf(isHere)("on SQLite", () => {
  killed(() => sqlite);
});

describe.runIf(parts.includes("dynamodb"))("on DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });

  afterAll(() => local.stop());

  killed(() => dynamoStorage(local));

  test("a second server waits while the first lives, and takes over at once when it ends", async () => {
    const storage = dynamoStorage(local);
    const first = await start(storage, ...LONG_LEASE);
    await first.client.register();
    const child = spawn([...storage.args, "--workers", "1"]);
    expect(await logged(child, "waiting_for_leadership")).toMatchObject({ epoch: first.server.epoch });
    expect(await first.client.lvi(first.client.requestOf("increment", "a", null))).toMatchObject({ kind: "executed" });
    const serves = once(createInterface(child.stdout!), "line") as Promise<[string]>;
    expect(await first.server.kill("SIGTERM")).toBe(0);
    const { port, epoch } = JSON.parse((await serves)[0]) as { port: number; epoch: number };
    expect(epoch).toBeGreaterThan(first.server.epoch);
    const client = new TestClient(`http://127.0.0.1:${port}`, await testModule());
    expect(await client.read("a")).toBe(1);
    child.kill("SIGKILL");
    await once(child, "exit");
  });

  test("a server that was stopped past its leadership ends, and what it had promised is kept", async () => {
    const storage = dynamoStorage(local);
    const first = await start(storage, "--followup-timeout-ms", "60000");
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    const commit = commitOf(await first.client.lvi(request));
    first.server.child.kill("SIGSTOP");
    const second = await start(storage, "--followup-timeout-ms", "60000");
    expect(second.server.epoch).toBeGreaterThan(first.server.epoch);
    // The followup reaches the one that has been replaced, with a reader of what it has in memory.
    const late = [
      first.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT)),
      first.client.lvi(
        first.client.requestOf(
          "read",
          "a",
          incrementUnits("a", ABSENT).map(({ unit }) => ({ unit, mode: "read" as const, version: ABSENT.version })),
        ),
      ),
    ];
    const ended = once(first.server.child, "exit") as Promise<[number | null]>;
    first.server.child.kill("SIGCONT");
    for (const { status } of await Promise.allSettled(late)) expect(status).toBe("rejected");
    expect((await ended)[0]).toBe(1);
    expect(await storage.stored("a")).toBe(null);
    expect(await second.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe("applied");
    expect(await storage.stored("a")).toBe(1);
  });

  test("no credentials, no region: exit code 2 and what to do", async () => {
    const none = { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", AWS_EC2_METADATA_DISABLED: "true", HOME: folder };
    const keyless = await runToEnd(spawnServer(dynamoStorage(local).args, none));
    expect([keyless.code, keyless.errors]).toEqual([
      2,
      expect.stringMatching(/Can't use the table .*: There are no AWS credentials/),
    ]);
    const nowhere = await runToEnd(spawnServer(dynamoStorage(local).args, { AWS_REGION: undefined, HOME: folder }));
    expect([nowhere.code, nowhere.errors]).toEqual([2, expect.stringMatching(/There is no AWS region/)]);
  });
});

function killed(storageOf: () => StorageUnderTest): void {
  let storage: StorageUnderTest;

  beforeEach(() => {
    storage = storageOf();
  });

  test("kill -9 between reply and followup: the new server takes the followup", at("told"), async () => {
    const first = await start(storage, "--followup-timeout-ms", "60000");
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT), { retained: true });
    const commit = commitOf(await first.client.lvi(request));
    await first.server.kill("SIGKILL");
    expect(await storage.stored("a")).toBe(null);

    const second = await start(storage, "--followup-timeout-ms", "60000");
    expect(second.server.epoch).toBeGreaterThan(first.server.epoch);
    expect(await second.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe("applied");
    expect(await second.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe(
      "completed_before",
    );
    expect(await second.client.lvi(request)).toMatchObject({
      kind: "executed",
      cause: "stored",
      outcome: { value: Uint8Array.of(1) },
    });
    expect(await storage.stored("a")).toBe(1);
  });

  test(
    "kill -9 between reply and followup, and the location dies too: re-executed by the timer",
    at("told, location dead"),
    async () => {
      const first = await start(storage, "--followup-timeout-ms", "60000");
      await first.client.register();
      const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT));
      commitOf(await first.client.lvi(request));
      await first.server.kill("SIGKILL");

      const second = await start(storage, "--followup-timeout-ms", "1");
      // A reader waits for the adopted intent, so this needs no timing.
      expect(await second.client.read("a")).toBe(1);
      expect(await storage.stored("a")).toBe(1);
    },
  );

  test(
    "kill -9 before the reply reached the location: the same request gets the outcome, once",
    at("not told"),
    async () => {
      const first = await start(storage, "--followup-timeout-ms", "60000");
      await first.client.register();
      const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT), { retained: true });
      commitOf(await first.client.lvi(request));
      await first.server.kill("SIGKILL");

      const second = await start(storage, "--followup-timeout-ms", "60000");
      expect(await second.client.lvi(request)).toMatchObject({
        kind: "executed",
        cause: "stored",
        outcome: { value: Uint8Array.of(1) },
      });
      await second.server.kill("SIGKILL");
      const third = await start(storage);
      expect(await third.client.lvi(request)).toMatchObject({ kind: "executed", cause: "stored" });
      expect(await storage.stored("a")).toBe(1);
    },
  );

  test(
    "kill -9 at any time during a stream of writes: nothing that was answered is lost, nothing is doubled",
    at("any"),
    async () => {
      let { server, client } = await start(storage);
      await client.register();
      let answered = 0;
      let asked = 0;
      for (let round = 0; round < 3; round++) {
        const writing = Promise.all(
          // The counter is a small integer: it ends before 24.
          Array.from({ length: 7 }, async () => {
            asked++;
            try {
              const reply = await client.lvi(client.requestOf("increment", "a", null));
              if (reply.kind === "executed") answered++;
            } catch {
              // Killed: whether it happened is not known.
            }
            if (answered === 5 * (round + 1)) void server.kill("SIGKILL");
          }),
        );
        await writing;
        if (server.child.exitCode === null && server.child.signalCode === null) await server.kill("SIGKILL");
        ({ server, client } = await start(storage));
      }
      const value = await client.read("a");
      expect(value).toBeGreaterThanOrEqual(answered);
      expect(value).toBeLessThanOrEqual(asked);
      expect(await storage.stored("a")).toBe(value);
    },
  );
}

describe.runIf(isHere)("two servers on one file", () => {
  /** Resolves when it has taken over. */
  const standby = (...args: string[]): Promise<{ server: ServerProcess; client: TestClient }> =>
    start(sqlite, "--followup-timeout-ms", "60000", "--lease-ms", "1000", ...args);

  test("the second waits; when the first is killed it takes over, with what was pending", async () => {
    const first = await standby();
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    const commit = commitOf(await first.client.lvi(request));
    // It may be replaced from here on, whether it is killed or the machine stops it for a moment.
    const second = standby();
    await first.server.kill("SIGKILL");
    const { server, client } = await second;
    expect(server.epoch).toBeGreaterThan(first.server.epoch);
    expect(await client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe("applied");
    expect(await sqlite.stored("a")).toBe(1);
  });

  test("the first is stopped past its leadership and goes on: it ends, and has answered nothing stale", async () => {
    const first = await standby();
    await first.client.register();
    const commit = commitOf(
      await first.client.lvi(first.client.requestOf("increment", "a", incrementUnits("a", ABSENT))),
    );
    expect(await first.client.read("a")).toBe(1);
    const ended = once(first.server.child, "exit");
    await sqlite.stop(first.server);
    const second = await standby(...LONG_LEASE);
    expect(second.server.epoch).toBeGreaterThan(first.server.epoch);
    expect(await second.client.lvi(second.client.requestOf("increment", "a", null))).toMatchObject({
      kind: "executed",
      outcome: { value: Uint8Array.of(2) },
    });
    // The first has the old value in memory, and the location too.
    const version = entryOf(commit, Uint8Array.of(1)).version;
    const reading = first.client.lvi(
      first.client.requestOf("read", "a", [{ unit: unitId("counters", "a"), mode: "read", version }]),
    );
    first.server.child.kill("SIGCONT");
    await expect(reading).rejects.toThrow(/fetch failed/);
    expect((await ended)[0]).toBe(1);
    // It is started again, and waits for the second.
    const third = standby();
    expect(await second.server.kill("SIGTERM")).toBe(0);
    expect((await third).server.epoch).toBeGreaterThan(second.server.epoch);
    expect(await (await third).client.read("a")).toBe(2);
  });
});

describe.runIf(isHere)("a server that waits for the leadership", () => {
  test("says that it is alive and not ready, refuses everything else, and is ready when it has taken over", async () => {
    const advertised = "https://first.example";
    const first = await start(sqlite, "--advertise", advertised, ...LONG_LEASE);
    await first.client.register();
    const child = spawn([...sqlite.args, "--workers", "1"]);
    const serves = once(createInterface(child.stdout!), "line") as Promise<[string]>;
    const { port } = await logged(child, "http_listening");
    const url = `http://127.0.0.1:${String(port)}`;
    const readiness = async (): Promise<[number, unknown]> => {
      const response = await fetch(`${url}/readyz`);
      return [response.status, ((await response.json()) as { status: unknown }).status];
    };
    await logged(child, "waiting_for_leadership");
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(await readiness()).toEqual([503, "standby"]);
    const client = new TestClient(url, await testModule());
    await expect(client.lvi(client.requestOf("increment", "a", null))).rejects.toThrow(/^503: .*"not_leading"/);
    for (const route of ["/v1/lvi", "/v1/followup"]) {
      // Not signed, and no message: it is not looked at.
      const refused = await fetch(url + route, { method: "POST", body: "?" });
      expect([refused.status, await refused.json()]).toMatchObject([
        503,
        { error: { code: "not_leading", leader: advertised } },
      ]);
    }
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("\nradical_serving 0\n");

    await first.server.kill("SIGTERM");
    await serves;
    expect(await readiness()).toEqual([200, "ready"]);
    expect(await client.lvi(client.requestOf("increment", "a", null))).toMatchObject({ kind: "executed" });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain("\nradical_serving 1\n");
    expect(Number(/\nradical_epoch (\d+)\n/.exec(metrics)?.[1])).toBeGreaterThan(first.server.epoch);
    child.kill("SIGKILL");
    await once(child, "exit");
  });

  test("ends at once when it is told to", async () => {
    await start(sqlite);
    const child = spawn([...sqlite.args, "--workers", "1"]);
    const ended = once(child, "exit") as Promise<[number | null]>;
    await logged(child, "waiting_for_leadership");
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
  });
});

describe.runIf(isHere)("the process", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s drains and ends with 0", async (signal) => {
    const { server, client } = await start(sqlite);
    await client.register();
    expect(await client.lvi(client.requestOf("increment", "a", null))).toMatchObject({ kind: "executed" });
    expect(await server.kill(signal)).toBe(0);
    expect(await sqlite.stored("a")).toBe(1);
  });

  test("a location over its budget is refused with a hint; another one is served", async () => {
    const { client } = await start(sqlite, "--location-executions", "1", "--followup-timeout-ms", "60000");
    await client.register();
    const held = client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    const commit = commitOf(await client.lvi(held));
    const refused = await client.lvi(client.requestOf("increment", "b", incrementUnits("b", ABSENT)));
    expect(refused).toMatchObject({ kind: "refused", code: "over_budget", retryAfterMs: 1_000 });
    const other = client.requestOf("increment", "b", incrementUnits("b", ABSENT), { location: "other" });
    expect(await client.lvi(other)).toMatchObject({ kind: "valid" });
    expect(await client.followup(incrementFollowup(held.executionId, commit, "a", ABSENT))).toBe("applied");
    const again = client.requestOf("increment", "c", incrementUnits("c", ABSENT));
    expect(await client.lvi(again)).toMatchObject({ kind: "valid" });
  });

  test("keys are rotated under load, and no request fails", async () => {
    const file = path.join(folder, "keys");
    const keysOf = (...ids: string[]): string =>
      [...ids.map((id) => `${id}:${SECRETS_BY_ID[id]!.toString("hex")}`), ADMIN_TEXT].join("\n");
    // As secrets are replaced: another file under the same name.
    const replaceKeys = async (text: string): Promise<void> => {
      await writeFile(`${file}.next`, text);
      await rename(`${file}.next`, file);
    };
    await replaceKeys(keysOf("old"));
    const child = spawn([...sqlite.args, "--workers", "1", "--keys-file", file], { RADICAL_KEYS: "" });
    const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
    const client = new TestClient(
      `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`,
      await testModule(),
    );
    const signWith = (keyId: string): void => {
      client.signing = { keyId, secret: SECRETS_BY_ID[keyId]! };
    };
    signWith("old");
    await client.register();

    const answers = new EventEmitter();
    const count = { asked: 0, answered: 0 };
    const ending = new AbortController();
    const load = Array.from({ length: 4 }, async (_, index) => {
      while (!ending.signal.aborted) {
        count.asked++;
        const reply = await client.lvi(client.requestOf("increment", `counter ${index}`, null));
        if (reply.kind === "executed") count.answered++;
        answers.emit("answered");
      }
    });
    const someMore = async (): Promise<void> => {
      for (let i = 0; i < 40; i++) await once(answers, "answered");
    };
    await someMore();
    await replaceKeys(keysOf("old", "next"));
    child.kill("SIGHUP");
    expect(await logged(child, "keys_loaded")).toMatchObject({ keys: `old, next, ${ADMIN_ID}` });
    await someMore();
    signWith("next");
    await someMore();
    await replaceKeys("this is no key");
    child.kill("SIGHUP");
    expect(await logged(child, "keys_not_loaded")).toMatchObject({ level: "error" });
    await someMore();
    // Without the signal: the change is seen.
    await replaceKeys(keysOf("next"));
    expect(await logged(child, "keys_loaded")).toMatchObject({ keys: `next, ${ADMIN_ID}` });
    await someMore();
    ending.abort();
    await Promise.all(load);
    expect(count.answered).toBe(count.asked);
    signWith("old");
    await expect(client.read("a")).rejects.toThrow(/^401: .*unauthorized/);
    child.kill("SIGKILL");
    await once(child, "exit");
  });

  test("a server that starts collects outcomes that are old, in batches, and keeps a module that nobody has used", async () => {
    const first = await start(sqlite);
    await first.client.register();
    expect(await first.client.lvi(first.client.requestOf("increment", "a", null))).toMatchObject({ kind: "executed" });
    await first.server.kill("SIGTERM");

    const old = Date.now() - 8 * 24 * 3_600_000;
    const database = new DatabaseSync(path.join(folder, "data.sqlite"), { timeout: 60_000 });
    database.exec(`
      UPDATE modules SET used_at_ms = ${old};
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
      INSERT INTO done_intents
      SELECT printf('%032x', n), commit_id, module, location, call_key, call_hash, result_hash, ${old}
      FROM done_intents, numbers;
    `);
    const rows = (table: string): unknown => database.prepare(`SELECT count(*) AS count FROM ${table}`).get()!["count"];
    expect([rows("done_intents"), rows("modules")]).toEqual([2_501, 1]);

    const second = await start(sqlite);
    await expect.poll(() => [rows("done_intents"), rows("modules")], { timeout: 100_000 }).toEqual([1, 1]);
    database.close();
    expect(await second.client.read("a")).toBe(1);
  });

  test("ends with its parent's end of the pipe", async () => {
    const { server } = await start(sqlite, "--exit-with-parent");
    const ended = once(server.child, "exit");
    server.child.stdin!.end();
    expect((await ended)[0]).toBe(0);
  });

  test("a port that is taken: exit code 2, also while its parent lives", async () => {
    const { server } = await start(sqlite);
    const { port } = new URL(server.url);
    const other = sqliteStorage(path.join(folder, "other.sqlite")).args;
    const { code, errors } = await runToEnd(spawn([...other, "--port", port, "--exit-with-parent"]));
    expect(code).toBe(2);
    expect(errors).toContain(port);
  });

  test("its log is lines of JSON, begins with the configuration, and never shows a secret", async () => {
    const child = spawn([...sqlite.args, "--workers", "1", "--log-level", "debug"]);
    const ending = runToEnd(child);
    const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
    const client = new TestClient(
      `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`,
      await testModule(),
    );
    await client.register();
    await client.lvi(client.requestOf("increment", "a", null));
    const refused = await client.send("POST", "/v1/lvi", new Uint8Array(), { keyId: "other" });
    expect(refused.status).toBe(401);
    child.kill("SIGTERM");
    const { code, errors } = await ending;
    expect(code).toBe(0);
    const lines = errors
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
    expect(lines[0]).toMatchObject({
      level: "info",
      event: "configuration",
      leaseMs: "5000",
      keys: `${KEY_ID}, ${ADMIN_ID}`,
    });
    const events = lines.map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(["request", "near_storage", "stopped"]));
    // A storage that is new has lost no keys.
    expect(events).not.toContain("sealing_keys_absent");
    expect(errors).not.toContain(SECRET.toString("hex"));
  });

  test("wrong options: exit code 2 and the wrong value; help and version: 0", async () => {
    const wrong = await runToEnd(spawnServer(["--followup-timeout-ms", "soon"]));
    expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining(String.raw`\"soon\"`)]);
    const unknown = await runToEnd(spawnServer(["--nothing"]));
    expect([unknown.code, unknown.errors]).toEqual([2, expect.stringContaining("--nothing")]);
    const { configuration } = JSON.parse(wrong.errors) as { configuration: string };
    expect(configuration).toMatch(/\n {2}--followup-timeout-ms +soon +command line +<-- wrong\n/);
    const twin = await runToEnd(spawnServer([], { RADICAL_LEASE_MS: "soon" }));
    expect([twin.code, twin.errors]).toEqual([2, expect.stringContaining("RADICAL_LEASE_MS must be an integer")]);
    const keyless = await runToEnd(spawnServer([], { RADICAL_KEYS: "" }));
    expect([keyless.code, keyless.errors]).toEqual([2, expect.stringContaining("RADICAL_KEYS")]);
    // Nothing of it is plain text, which no alarm could read.
    for (const { errors } of [wrong, unknown, twin, keyless])
      expect(JSON.parse(errors)).toMatchObject({ level: "error", event: "not_started", exitCode: 2 });
    const help = await runToEnd(spawnServer(["--help"]));
    expect([help.code, help.out]).toEqual([0, expect.stringContaining("Examples:")]);
    for (const name of SETTING_NAMES) {
      expect(help.out).toContain(flagOf(name));
      expect(help.out.replace(/\s+/g, " ")).toContain(`env: ${variableOf(name)}`);
    }
    const version = await runToEnd(spawnServer(["--version"]));
    expect([version.code, version.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
