/**
 * Work that the last server of a storage has left: due and delayed tasks, and workflows that wait for a signal. Some of the tasks are
 * in lanes. Each task counts in an item of its own, so that a lost one and a doubled one are seen.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { commitId, type ExecutionId, type LviReply, type LviRequest, splitUnit, unitId } from "@radical/protocol";
import type { RecordChange } from "../src/core/intent.ts";
import { placeOf, type Task } from "../src/core/task.ts";
import { KeyRing } from "../src/http/keys.ts";
import { openItems } from "../src/storage/items.ts";
import { openStorage, parseStorageAddress, type StorageAddress } from "../src/storage/storage-address.ts";
import { metricsOf } from "./bench/processes.ts";
import { TestClient } from "./test-client.ts";
import type { TestModule } from "./test-module.ts";
import { type ServerProcess, startProcess } from "./test-process.ts";

export interface OwedWork {
  /** Tasks that are due, and those that are due in a day. */
  readonly due: number;
  readonly delayed: number;
  readonly workflows: number;
}

/** Of ten tasks that are due, so many are in lanes of two tasks. */
const IN_LANES = 4;
/** Of ten delayed tasks, one is in a lane of its own. */
const IN_A_LANE = 1;
const DAY_MS = 86_400_000;
const IN_A_COMMIT = 90;
const COMMITS_AT_ONCE = 16;
const CALLS_AT_ONCE = 32;
const TABLE = "counters";

/** By a server that is killed then, and into its storage. */
export async function leaveWork(
  args: readonly string[],
  address: string,
  module: TestModule,
  work: OwedWork,
): Promise<void> {
  const server = await startProcess(args);
  const client = new TestClient(server.url, module);
  await client.register();
  await forEach(work.workflows, async (n) => {
    const more = { executionId: workflowIdOf(n), retained: true, waitMs: 0 };
    const reply = await taken(client, client.requestOf("listen", `heard-${n}`, null, more));
    if (reply.kind !== "working") throw new Error(`workflow ${n}: ${JSON.stringify(reply)}`);
  });
  await untilWorkflowsWait(server, work.workflows);
  await server.kill("SIGKILL");
  await putTasks(parsed(address), work);
}

/** As the commits of their parents would. */
async function putTasks(address: StorageAddress, { due, delayed }: OwedWork): Promise<void> {
  const hasher = new KeyRing({ locations: new Map([["owed", randomBytes(32)]]), administration: new Map() }).callHashes;
  const storage = await openStorage(address, { retentionMs: DAY_MS, hasher });
  try {
    const led = await storage.acquireLeadership(await storage.readLeadership(), 0, 0);
    if (led === null) throw new Error("somebody else leads");
    await storage.recover(led.epoch);
    const nowMs = Date.now();
    const tasks = [
      ...Array.from({ length: due }, (_, n) => taskOf(`due-${n}`, dueLaneOf(n), n, nowMs - 1_000)),
      ...Array.from({ length: delayed }, (_, n) => {
        const lane = n % 10 < IN_A_LANE ? `delayed-${n}` : null;
        return taskOf(`delayed-${n}`, lane, due + n, nowMs + DAY_MS + n);
      }),
    ];
    await forEach(
      Math.ceil(tasks.length / IN_A_COMMIT),
      async (n) => {
        const some = tasks.slice(n * IN_A_COMMIT, (n + 1) * IN_A_COMMIT);
        const records = some.map((task): RecordChange => ({
          id: task.id,
          expects: "new",
          becomes: { state: "task", task },
        }));
        const result = await storage.commit(led.epoch, { records, items: [] });
        if (result.kind !== "applied") throw new Error(`not applied: ${result.kind}`);
      },
      COMMITS_AT_ONCE,
    );
  } finally {
    await storage.close();
  }
}

function dueLaneOf(n: number): string | null {
  return n % 10 < IN_LANES ? `due-${Math.floor(n / 2)}` : null;
}

/** How many lanes have tasks. */
export function lanesOfWork({ due, delayed }: OwedWork): number {
  const lanes = new Set(Array.from({ length: due }, (_, n) => dueLaneOf(n)).filter((lane) => lane !== null));
  return lanes.size + Math.ceil((delayed * IN_A_LANE) / 10);
}

function taskOf(key: string, lane: string | null, n: number, dueMs: number): Task {
  return {
    id: `8${randomBytes(16).toString("hex").slice(1)}` as ExecutionId,
    handler: "increment",
    args: new TextEncoder().encode(key),
    seed: randomBytes(16),
    caller: null,
    parent: n.toString(16).padStart(32, "0") as ExecutionId,
    module: "a".repeat(64) as Task["module"],
    lane,
    place: placeOf(commitId(1, n + 1), 0),
    createdAtMs: dueMs - 1_000,
    dueMs,
    sentAtMs: null,
    attempt: 0,
    failures: 0,
    state: "open",
    error: null,
  };
}

function workflowIdOf(n: number): ExecutionId {
  return (n + 1).toString(16).padStart(32, "0") as ExecutionId;
}

// ── A successor ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface TasksInMemory {
  /** Null: storage has not counted them yet. */
  readonly all: number | null;
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
  readonly argumentBytes: number;
}

export async function tasksOf({ url }: ServerProcess): Promise<TasksInMemory> {
  const health = (await (await fetch(`${url}/healthz`)).json()) as { readonly tasks: TasksInMemory };
  return health.tasks;
}

/** Asks until it is so, and says how the tasks are then. */
export async function untilTasks(
  server: ServerProcess,
  isSo: (tasks: TasksInMemory) => boolean,
  seen: (tasks: TasksInMemory) => void = () => {},
): Promise<TasksInMemory> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const tasks = await tasksOf(server);
    seen(tasks);
    if (isSo(tasks)) return tasks;
    // oxlint-disable-next-line no-await-in-loop -- likewise
    await sleep(5);
  }
}

/** Until the server knows that so many wait. */
export async function untilWorkflowsWait(server: ServerProcess, number: number): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one question after the other
  while ((await metricsOf(server.url)).get("radical_workflows_waiting") !== number) await sleep(10);
}

/** Sends each workflow the signal that it waits for, and waits for its end. */
export async function endWorkflows(server: ServerProcess, module: TestModule, number: number): Promise<void> {
  const client = new TestClient(server.url, module);
  await forEach(number, async (n) => {
    const id = workflowIdOf(n);
    const told = await taken(client, client.requestOf("tell", id, null, { mayEffect: true, retained: true }));
    if (told.kind !== "executed") throw new Error(`the signal for workflow ${n}: ${JSON.stringify(told)}`);
    const more = { executionId: id, retained: true, waitMs: 20_000 };
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one question after the other
      const reply = await taken(client, client.requestOf("listen", `heard-${n}`, null, more));
      if (reply.kind === "executed") return;
      if (reply.kind !== "working") throw new Error(`workflow ${n}: ${JSON.stringify(reply)}`);
    }
  });
}

/** The answer to a request. A busy machine lets a server's leadership run out now and then, and the server refuses until it has it again. */
async function taken(client: TestClient, request: LviRequest): Promise<LviReply> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one try after the other
    const reply = await client.lvi(request);
    if (reply.kind !== "refused" || reply.retryAfterMs === null) return reply;
    // oxlint-disable-next-line no-await-in-loop -- likewise
    await sleep(100);
  }
}

/** Work that is lost, or was done more than once, or too early, in words; none: all is right. */
export async function wrongIn(address: string, { due, workflows }: OwedWork): Promise<readonly string[]> {
  const wanted = new Set([
    ...Array.from({ length: due }, (_, n) => `due-${n}`),
    ...Array.from({ length: workflows }, (_, n) => `heard-${n}`),
  ]);
  const wrong: string[] = [];
  const reader = await openItems(parsed(address));
  try {
    for await (const { unit, value } of reader.items(TABLE)) {
      const { key } = splitUnit(unit);
      const times = value?.[0] ?? 0;
      if (!wanted.delete(key)) wrong.push(`${key} was done, and is not due`);
      else if (times !== 1) wrong.push(`${key} was done ${times} times`);
    }
  } finally {
    await reader.close();
  }
  return [...wrong, ...Array.from(wanted, (key) => `${unitId(TABLE, key)} was not done`)];
}

/** Calls to storage, by operation. */
export async function storageCallsOf({ url }: ServerProcess): Promise<(operation: string) => number> {
  const metrics = await metricsOf(url);
  return (operation) => metrics.get(`radical_storage_operation_seconds_count{operation="${operation}"}`) ?? 0;
}

function parsed(address: string): StorageAddress {
  const storage = parseStorageAddress(address);
  if (typeof storage === "string") throw new Error(`the storage ${storage}`);
  return storage;
}

async function forEach(number: number, act: (n: number) => Promise<void>, atOnce = CALLS_AT_ONCE): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(atOnce, number) }, async () => {
      // oxlint-disable-next-line no-await-in-loop -- each worker has one call at a time
      for (let n = next++; n < number; n = next++) await act(n);
    }),
  );
}
