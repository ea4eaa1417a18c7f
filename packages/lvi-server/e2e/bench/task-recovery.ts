/**
 * A server that starts on many tasks: what it asks storage for, and how much later it serves than on none. Most of the tasks
 * are due in a day. Nobody has registered a module, so that none begins.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commitId, type ExecutionId, type ModuleHash } from "@radical/protocol";
import type { RecordChange } from "../../src/core/intent.ts";
import { placeOf, type Task } from "../../src/core/task.ts";
import { KeyRing } from "../../src/http/keys.ts";
import { openStorage, parseStorageAddress } from "../../src/storage/storage-address.ts";
import { CREDENTIALS, hasDynamoDbLocal, startDynamoDbLocal } from "../dynamodb/dynamodb-local.ts";
import { startProcess } from "../test-process.ts";
import { type Effort, type Figure, figure, type Progress } from "./figure.ts";
import { metricsOf, withFolder } from "./processes.ts";

/** Delayed tasks for each one that is due. */
const DELAYED = 10;
const DAY_MS = 86_400_000;
/** Starts on each, in turns. */
const STARTS = 3;
const IN_A_COMMIT = 90;
const COMMITS_AT_ONCE = 16;

export async function benchTaskRecovery(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const figures = await withFolder((folder) => {
    const storages = ["none", "many"].map((name) => `sqlite:${path.join(folder, `${name}.sqlite`)}`);
    return recover("SQLite", storages, effort, progress);
  });
  if (!effort.dynamodb || !hasDynamoDbLocal()) return figures;
  Object.assign(process.env, CREDENTIALS);
  const local = await startDynamoDbLocal();
  try {
    const storages = ["none", "many"].map((name) => `dynamodb:bench-${name}?endpoint=${local.endpoint}`);
    return [...figures, ...(await recover("DynamoDB Local", storages, effort, progress))];
  } finally {
    await local.stop();
  }
}

async function recover(
  name: string,
  [none = "", many = ""]: readonly string[],
  { intents: due }: Effort,
  progress: Progress,
): Promise<readonly Figure[]> {
  const delayed = due * DELAYED;
  progress(`${name}: ${due} tasks that are due and ${delayed} delayed ones are made`);
  await fill(none, 0, 0);
  await fill(many, due, delayed);
  const [without, within]: [Started[], Started[]] = [[], []];
  for (let start = 0; start < STARTS; start++) {
    progress(`${name}: start ${start + 1} of ${STARTS}`);
    without.push(await started(none, 0));
    within.push(await started(many, due));
  }
  const least = (of: readonly Started[], time: "servingMs" | "readyMs"): number =>
    Math.min(...of.map((each) => each[time]));
  const { pages, inMemory } = within[0]!;
  const of = `${name}: ${due} due tasks and ${delayed} delayed ones`;
  return [
    figure(`${of}: until it serves, beside none`, least(within, "servingMs") / least(without, "servingMs"), "", {
      atMost: 1.5,
    }),
    figure(`${of}: from then until the due ones are in memory`, least(within, "readyMs"), "ms"),
    // A page has 1,000; the last one may be of delayed ones.
    figure(`${of}: pages of tasks that it reads`, pages, "", { atMost: Math.ceil(due / 1_000) + 2 }),
    figure(`${of}: tasks in memory`, inMemory, "", { atMost: due + 1_000 }),
  ];
}

interface Started {
  readonly servingMs: number;
  readonly readyMs: number;
  readonly pages: number;
  readonly inMemory: number;
}

async function started(storage: string, due: number): Promise<Started> {
  const startedAtMs = performance.now();
  const server = await startProcess(["--storage", storage]);
  const servingAtMs = performance.now();
  try {
    for (;;) {
      const health = (await (await fetch(`${server.url}/healthz`)).json()) as {
        readonly tasks: { readonly all: number | null; readonly ready: number; readonly delayed: number };
      };
      const { all, ready, delayed } = health.tasks;
      if (all === null || ready < due) {
        await sleep(10);
        continue;
      }
      const readyMs = performance.now() - servingAtMs;
      const metrics = await metricsOf(server.url);
      const pages = [...metrics].find(
        ([key]) => key.startsWith("radical_storage_operation_seconds_count") && key.includes("due_tasks"),
      );
      return { servingMs: servingAtMs - startedAtMs, readyMs, pages: pages?.[1] ?? 0, inMemory: ready + delayed };
    }
  } finally {
    await server.kill("SIGTERM");
  }
}

/** Puts tasks into a storage that no server has. */
async function fill(address: string, due: number, delayed: number): Promise<void> {
  const parsed = parseStorageAddress(address);
  if (typeof parsed === "string") throw new Error(parsed);
  const hasher = new KeyRing(new Map([["bench", randomBytes(32)]])).callHashes;
  const storage = await openStorage(parsed, { retentionMs: DAY_MS, hasher });
  try {
    const seen = await storage.readLeadership();
    const led = await storage.acquireLeadership(seen, 0, 0);
    if (led === null) throw new Error("somebody else leads");
    await storage.recover(led.epoch);
    const nowMs = Date.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: COMMITS_AT_ONCE }, async () => {
        while (next < due + delayed) {
          const first = next;
          next += IN_A_COMMIT;
          const numbers = Array.from({ length: Math.min(IN_A_COMMIT, due + delayed - first) }, (_, n) => first + n);
          const records = numbers.map((n): RecordChange => {
            const task = taskOf(n, n < due ? nowMs - 1_000 : nowMs + DAY_MS + n);
            return { id: task.id, expects: "new", becomes: { state: "task", task } };
          });
          const result = await storage.commit(led.epoch, { records, items: [] });
          if (result.kind !== "applied") throw new Error(`not applied: ${result.kind}`);
        }
      }),
    );
  } finally {
    await storage.close();
  }
}

function taskOf(n: number, dueMs: number): Task {
  return {
    id: `8${randomBytes(16).toString("hex").slice(1)}` as ExecutionId,
    handler: "nothing",
    args: new Uint8Array(32),
    seed: randomBytes(16),
    caller: null,
    parent: n.toString(16).padStart(32, "0") as ExecutionId,
    module: "a".repeat(64) as ModuleHash,
    lane: null,
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
