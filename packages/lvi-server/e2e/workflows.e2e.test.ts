/**
 * Workflows on real servers and real storages: servers that are killed wherever something of a workflow is on its way, and what a
 * workflow costs.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { type ExecutionId, type LviReply, taskIdOf } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import { dynamoStorage, sqliteStorage, type StorageUnderTest } from "./storage-under-test.ts";
import { TestClient } from "./test-client.ts";
import type { TestModule } from "./test-module.ts";
import { type ServerProcess, spawnServer, startProcess } from "./test-process.ts";
import { WORKFLOW_FAILPOINTS } from "./workflow-failpoints.ts";
import { workflowModule } from "./workflow-module.ts";

const FAILPOINTS = [...WORKFLOW_FAILPOINTS, "run.task-unsent", "run.task-ended"];
/** Those that a starting server reaches, if it finds workflows. */
const AT_START = /-read$/;
const TIMEOUT_MS = 300_000;

let folder: string;
let module: TestModule;
let newer: TestModule;
let local: DynamoDbLocal | null = null;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-workflows-"));
  [module, newer] = await Promise.all([workflowModule(1), workflowModule(2)]);
  if (!hasDynamoDbLocal()) return;
  Object.assign(process.env, CREDENTIALS);
  local = await startDynamoDbLocal();
}, TIMEOUT_MS);

afterAll(async () => {
  await local?.stop();
  rmSync(folder, { recursive: true });
});

let names = 0;

/** A storage that nobody has used. */
function storageOf(kind: "sqlite" | "dynamodb"): StorageUnderTest {
  if (kind === "dynamodb" && local !== null) return dynamoStorage(local);
  return sqliteStorage(path.join(folder, `${++names}.sqlite`));
}

function idOf(number: number): ExecutionId {
  return number.toString(16).padStart(32, "0") as ExecutionId;
}

/** Asks until the workflow has ended. */
async function ended(client: TestClient, id: ExecutionId, handler: string, argument: string): Promise<LviReply> {
  const request = client.requestOf(handler, argument, null, { executionId: id, retained: true, waitMs: 20_000 });
  for (let asked = 0; asked < 100; asked++) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const reply = await client.lvi(request);
    if (reply.kind === "executed") return reply;
    if (reply.kind === "refused" && reply.retryAfterMs === null) throw new Error(`${reply.code}: ${reply.message}`);
  }
  throw new Error(`the workflow ${id} does not end`);
}

function resultOf(reply: LviReply): number | string | undefined {
  if (reply.kind !== "executed") return reply.kind;
  return reply.outcome.kind === "result" ? reply.outcome.value[0] : reply.outcome.code;
}

/** The commits of a server so far. */
async function commitsOf({ url }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, count = "0"] = /^radical_storage_operation_seconds_count\{operation="complete"\} (\d+)$/m.exec(text) ?? [];
  return Number(count);
}

async function killedAt(server: ServerProcess, failpoint: string, work: () => Promise<unknown>): Promise<boolean> {
  const reached = new Promise<boolean>((resolve) => {
    server.child.stdout!.on("data", (data: Buffer) => {
      if (data.toString().includes(failpoint)) resolve(true);
    });
    server.child.once("exit", () => resolve(false));
  });
  const done = work().then(
    () => false,
    () => false,
  );
  const isReached = await Promise.race([reached, done]);
  await server.kill("SIGKILL");
  return isReached;
}

/** Whether a server that starts on this storage has come to the failpoint, where it is killed. Nobody asks it for anything. */
async function killedAtStart(storage: StorageUnderTest, failpoint: string): Promise<boolean> {
  const child = spawnServer(["--log-level", "error", ...storage.args], { RADICAL_FAILPOINT: failpoint });
  const exit = once(child, "exit");
  for await (const line of createInterface(child.stdout!)) {
    const { event, name } = JSON.parse(line) as { readonly event?: string; readonly name?: string };
    if (event !== "failpoint" || name !== failpoint) continue;
    child.kill("SIGKILL");
    await exit;
    return true;
  }
  return false;
}

const KINDS = hasDynamoDbLocal() ? (["sqlite", "dynamodb"] as const) : (["sqlite"] as const);

describe.each(KINDS)("on %s", (kind) => {
  test.each(FAILPOINTS.filter((name) => kind === "sqlite" || !name.startsWith("sqlite.")))(
    "a server that is killed at %s loses no step and doubles none",
    { timeout: TIMEOUT_MS },
    async (failpoint) => {
      const storage = storageOf(kind);
      const isAtStart = AT_START.test(failpoint);
      // The third time, so that something is under way.
      const time = failpoint.startsWith("storage.workflow") ? 1 : 3;
      const armed = isAtStart ? "storage.entry-stored:5" : `${failpoint}:${time}`;
      const first = await startProcess(storage.args, { RADICAL_FAILPOINT: armed });
      const client = new TestClient(first.url, module);
      await client.register();
      const [reached = ""] = armed.split(":");
      const isReached = await killedAt(first, reached, () =>
        Promise.all([ended(client, idOf(1), "journey", "good"), ended(client, idOf(2), "journey", "bad")]),
      );
      expect(isReached).toBe(true);
      if (isAtStart) {
        // One successor after the other dies before it has heard what it owes.
        expect(await killedAtStart(storage, failpoint)).toBe(true);
        expect(await killedAtStart(storage, failpoint)).toBe(true);
      }
      const second = await startProcess(storage.args);
      try {
        const again = new TestClient(second.url, module);
        expect(resultOf(await ended(again, idOf(1), "journey", "good"))).toBe(1);
        expect(resultOf(await ended(again, idOf(2), "journey", "bad"))).toBe("declined");
        const counts = await Promise.all(
          ["good", "bad"].flatMap((key) =>
            ["a", "b", "x", "y", "undone"].map((name) => storage.stored(`${key}-${name}`)),
          ),
        );
        expect(counts).toEqual([1, 1, 1, 1, null, 1, 1, 1, 1, 1]);
      } finally {
        await second.kill("SIGTERM");
      }
    },
  );
});

describe.each(KINDS)("a workflow that a handler has enqueued, on %s", (kind) => {
  /** The id of the execution. A machine that stops for a moment makes callers wait too long: they ask again. */
  const call = async (client: TestClient, handler: string, argument: string): Promise<ExecutionId> => {
    const request = client.requestOf(handler, argument, null, { mayEffect: true });
    for (let attempt = 1; attempt <= 100; attempt++) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      const reply = await client.lvi({ ...request, attempt });
      if (reply.kind === "executed") return request.executionId;
      if (reply.kind !== "refused" || reply.retryAfterMs === null) break;
    }
    throw new Error(`${handler} is not executed`);
  };
  const hire = async (client: TestClient, argument: string): Promise<ExecutionId> =>
    taskIdOf(await call(client, "hire", argument), 0);
  const endOf = async (client: TestClient, workflow: ExecutionId, cancels: boolean): Promise<LviReply> => {
    // One that has not begun is told at once.
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one question after the other
      const reply = await client.workflow({ workflow, handler: "listen", cancels, waitMs: 20_000 });
      if (reply.kind === "executed") return reply;
      if (reply.kind === "refused" && reply.retryAfterMs === null) throw new Error(`${reply.code}: ${reply.message}`);
    }
  };

  test(
    "takes a signal that has come before it began, once, though its server dies",
    { timeout: TIMEOUT_MS },
    async () => {
      const storage = storageOf(kind);
      const first = await startProcess(storage.args);
      const client = new TestClient(first.url, module);
      await client.register();
      const id = await hire(client, "2000:early");
      await call(client, "tell", id);
      await first.kill("SIGKILL");
      const second = await startProcess(storage.args);
      try {
        expect(resultOf(await endOf(new TestClient(second.url, module), id, false))).toBe(1);
        expect(await storage.stored("early")).toBe(1);
      } finally {
        await second.kill("SIGTERM");
      }
    },
  );

  test(
    "never begins once it was cancelled, and is found as such by the next server",
    { timeout: TIMEOUT_MS },
    async () => {
      const storage = storageOf(kind);
      const first = await startProcess(storage.args);
      const client = new TestClient(first.url, module);
      await client.register();
      const id = await hire(client, "86400000:late");
      expect(resultOf(await endOf(client, id, true))).toBe("cancelled");
      await first.kill("SIGKILL");
      const second = await startProcess(storage.args);
      try {
        expect(resultOf(await endOf(new TestClient(second.url, module), id, false))).toBe("cancelled");
        expect(await storage.stored("late")).toBe(null);
      } finally {
        await second.kill("SIGTERM");
      }
    },
  );
});

describe("the cost", () => {
  let server: ServerProcess;
  let client: TestClient;

  beforeAll(async () => {
    server = await startProcess(storageOf("sqlite").args);
    client = new TestClient(server.url, module);
    await client.register();
  }, TIMEOUT_MS);

  afterAll(async () => {
    await server.kill("SIGTERM");
  });

  async function cost(id: number, handler: string, argument: string): Promise<number> {
    const before = await commitsOf(server);
    expect(resultOf(await ended(client, idOf(id), handler, argument))).toBe(1);
    return (await commitsOf(server)) - before;
  }

  test("a thousand steps at once that only read are a few commits", { timeout: TIMEOUT_MS }, async () => {
    expect(await cost(10, "fan", "read:1000:r")).toBeLessThanOrEqual(12);
  });

  test("a step that writes is one commit", { timeout: TIMEOUT_MS }, async () => {
    expect(await cost(11, "fan", "increment:100:w")).toBeLessThanOrEqual(110);
  });

  test(
    "steps one after the other have a commit each for their command, and one if they write",
    { timeout: TIMEOUT_MS },
    async () => {
      expect(await cost(12, "sequence", "read:50:r")).toBeLessThanOrEqual(53);
      expect(await cost(13, "sequence", "increment:50:s")).toBeLessThanOrEqual(103);
    },
  );
});

test(
  "a workflow ends on its module, whatever was deployed since, and its steps are on the current one",
  { timeout: TIMEOUT_MS },
  async () => {
    const storage = storageOf("sqlite");
    const first = await startProcess(storage.args);
    const old = new TestClient(first.url, module);
    await old.register();
    const started = await old.lvi(
      old.requestOf("listen", "heard", null, { executionId: idOf(1), retained: true, waitMs: 0 }),
    );
    expect(started.kind).toBe("working");
    // Two deploys and a rollback.
    await new TestClient(first.url, newer).register();
    await old.register();
    await new TestClient(first.url, newer).register();
    await first.kill("SIGKILL");
    const second = await startProcess(storage.args);
    try {
      const client = new TestClient(second.url, newer);
      const told = await client.lvi(client.requestOf("tell", idOf(1), null, { mayEffect: true }));
      expect(told.kind).toBe("executed");
      const again = new TestClient(second.url, module);
      expect(resultOf(await ended(again, idOf(1), "listen", "heard"))).toBe(1);
      expect(resultOf(await ended(client, idOf(2), "rounds", "3:r"))).toBe(2);
      expect(await storage.stored("heard")).toBe(1);
      expect(await storage.stored("r")).toBe(3);
    } finally {
      await second.kill("SIGTERM");
    }
  },
);

test("a workflow that traps is stuck, and undoes nothing", { timeout: TIMEOUT_MS }, async () => {
  const storage = storageOf("sqlite");
  const server = await startProcess(storage.args);
  try {
    const client = new TestClient(server.url, module);
    await client.register();
    const request = client.requestOf("faulty", "f", null, { executionId: idOf(1), retained: true, waitMs: 0 });
    let state = "";
    while (state !== "stuck") {
      // oxlint-disable-next-line no-await-in-loop -- one question after the other
      const reply = await client.lvi(request);
      if (reply.kind !== "working") throw new Error(`it is ${reply.kind}`);
      ({ state } = reply);
    }
    expect(await storage.stored("f")).toBe(1);
  } finally {
    await server.kill("SIGTERM");
  }
});
