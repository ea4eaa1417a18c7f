/**
 * Tasks: the costs of enqueueing for its caller, the rate of empty tasks, and the times of requests meanwhile. Those that are compared
 * take turns.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AccessedUnit, type Followup, type RunEffect, unitId } from "@radical/protocol";
import type { TestClient } from "../test-client.ts";
import { type Effort, type Figure, figure, median, type Progress, quantile } from "./figure.ts";
import { metricsOf, type StartedServer, withFolder, startServerProcess } from "./processes.ts";

const VALUE = Uint8Array.of(1);
/** Of callers that wait for nothing but their own answers. */
const CLIENTS = 50;
/** Near storage, as many as tasks run at once. */
const AT_ONCE = 64;
const DAY_MS = 86_400_000;
/** Effects of one execution, far below the most. */
const TASKS_OF_ONE = 500;
/** Between two requests whose times are taken. */
const PACE_MS = 5;
/** Until tasks are due that are enqueued now. */
const LEAD_MS = 4_000;
const WARM_UP = 200;

export async function benchTasks(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const costs = await withFolder(async (folder) => {
    // No renewal of the leadership among the calls.
    const args = ["--lease-ms", "60000", "--storage", `sqlite:${path.join(folder, "primary.sqlite")}`];
    const server = await startServerProcess(args);
    try {
      return [
        ...(await enqueueCalls(server)),
        ...(await enqueueTimes(server, effort, progress)),
        ...(await oneLane(server, effort, progress)),
      ];
    } finally {
      await server.process.kill("SIGTERM");
    }
  });
  return [...costs, ...(await drain(effort, progress))];
}

// ── What enqueueing costs ────────────────────────────────────────────────────────────────────────────────────────────

interface Writer {
  /** Units that it writes, and tasks that it enqueues. */
  readonly units: number;
  readonly tasks: number;
  readonly lane: string | null;
}

const PUT: Writer = { units: 1, tasks: 0, lane: null };
const TWO_PUTS: Writer = { units: 2, tasks: 0, lane: null };
const ENQUEUE: Writer = { units: 1, tasks: 1, lane: null };

function effectsOf({ tasks, lane }: Writer, delayMs: number): readonly RunEffect[] {
  return Array.from({ length: tasks }, () => ({
    kind: "enqueue" as const,
    callee: "nothing",
    args: new Uint8Array(32),
    delayMs,
    key: lane,
  }));
}

interface Times {
  readonly replyMs: number;
  readonly appliedMs: number;
}

/** One execution of a location, on units that nobody else wants: its LVI request and its followup. */
async function execute(client: TestClient, writer: Writer, delayMs = DAY_MS): Promise<Times> {
  const name = randomBytes(8).toString("hex");
  const units = Array.from({ length: writer.units }, (_, n): AccessedUnit => ({
    unit: unitId("counters", `${name}-${n}`),
    mode: "write",
  }));
  const { tasks, lane } = writer;
  const more = { mayEffect: tasks > 0, lanes: lane === null ? [] : [lane] };
  const request = client.requestOf("increment", name, units, more);
  const startedAtMs = performance.now();
  const reply = await client.lvi(request);
  const repliedAtMs = performance.now();
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  const followup: Followup = {
    executionId: request.executionId,
    commitId: reply.commitId,
    outcome: { kind: "result", value: VALUE },
    writes: units.map(({ unit }) => ({ unit, value: VALUE })),
    effects: effectsOf(writer, delayMs),
  };
  await client.followup(followup);
  return { replyMs: repliedAtMs - startedAtMs, appliedMs: performance.now() - startedAtMs };
}

async function enqueueCalls(server: StartedServer): Promise<readonly Figure[]> {
  const callsOf = async (writer: Writer): Promise<number> => {
    const before = await storageCalls(server);
    await execute(server.client, writer);
    return (await storageCalls(server)) - before;
  };
  await callsOf(PUT);
  return [
    figure("write of one unit: calls to storage", await callsOf(PUT), ""),
    figure("the same with a task: calls", await callsOf(ENQUEUE), "", { atMost: 2 }),
    figure("the same with a task in a lane: calls", await callsOf({ ...ENQUEUE, lane: "lane" }), "", { atMost: 2 }),
  ];
}

async function storageCalls({ url }: StartedServer): Promise<number> {
  const counts = [...(await metricsOf(url))].filter(([name]) =>
    name.startsWith("radical_storage_operation_seconds_count"),
  );
  return counts
    .filter(([name]) => !/_lease|due_tasks|count_tasks/.test(name))
    .reduce((sum, [, count]) => sum + count, 0);
}

async function enqueueTimes(
  { client }: StartedServer,
  { requests }: Effort,
  progress: Progress,
): Promise<readonly Figure[]> {
  progress("a task beside one more put");
  const kinds = [PUT, TWO_PUTS, ENQUEUE];
  const times = kinds.map((): Times[] => []);
  // In turns of one, so that all have the same machine.
  for (let n = 0; n < WARM_UP + requests / 4; n++)
    for (const [at, kind] of kinds.entries()) {
      const taken = await execute(client, kind);
      if (n >= WARM_UP) times[at]!.push(taken);
    }
  const [put = [], twoPuts = [], enqueue = []] = times;
  const at = (of: readonly Times[], time: keyof Times): number => median(of.map((each) => each[time]));
  return [
    figure("one at a time: write of one unit, until the reply, p50", at(put, "replyMs"), "ms"),
    figure(
      "with a task beside with one more put, until the reply",
      at(enqueue, "replyMs") / at(twoPuts, "replyMs"),
      "",
      { atMost: 1.1 },
    ),
    figure(
      "with a task beside with one more put, until all is applied",
      at(enqueue, "appliedMs") / at(twoPuts, "appliedMs"),
      "",
      { atMost: 1.1 },
    ),
  ];
}

async function oneLane(
  server: StartedServer,
  { turns, requests }: Effort,
  progress: Progress,
): Promise<readonly Figure[]> {
  const { client } = server;
  const count = Math.ceil(requests / 4);
  const rate = async (lane: string | null): Promise<Rate> => {
    let left = count;
    const before = await server.cpuSeconds();
    const startedAtMs = performance.now();
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (left-- > 0) await execute(client, { ...ENQUEUE, lane });
      }),
    );
    const perSecond = (count / (performance.now() - startedAtMs)) * 1_000;
    return { perSecond, cpuMicros: ((await server.cpuSeconds()) - before) * (1e6 / count) };
  };
  await rate("lane");
  const [without, within]: [Rate[], Rate[]] = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    progress(`one lane, turn ${turn + 1} of ${turns}`);
    without.push(await rate(null));
    within.push(await rate("lane"));
  }
  const best = (rates: readonly Rate[]): number => Math.max(...rates.map(({ perSecond }) => perSecond));
  const least = (rates: readonly Rate[]): number => Math.min(...rates.map(({ cpuMicros }) => cpuMicros));
  return [
    figure(`${CLIENTS} clients that enqueue without a key, best turn`, best(without), "/s"),
    figure("the same with one key, beside that", best(within) / best(without), "", { atLeast: 0.9 }),
    figure(
      "processor time of the server without a key, beside with one, least of the turns",
      least(without) / least(within),
      "",
      { atLeast: 0.9 },
    ),
  ];
}

interface Rate {
  readonly perSecond: number;
  /** Of the server, of one execution. */
  readonly cpuMicros: number;
}

// ── How fast tasks are carried out ───────────────────────────────────────────────────────────────────────────────────

interface Drained {
  readonly tasks: number;
  readonly nearStorage: number;
  /** Of requests of a location, while nothing else happens and while tasks are carried out. */
  readonly p99: number;
  readonly p99Meanwhile: number;
}

async function drain(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const turns: Drained[] = [];
  for (let turn = 0; turn < Math.min(effort.turns, 5); turn++) {
    progress(`tasks carried out, turn ${turn + 1}`);
    turns.push(await withFolder((folder) => drainOnce(folder, effort)));
  }
  const best = (of: (turn: Drained) => number): number => Math.max(...turns.map(of));
  const least = (of: (turn: Drained) => number): number => Math.min(...turns.map(of));
  return [
    figure(
      "writes near storage, best turn",
      best(({ nearStorage }) => nearStorage),
      "/s",
    ),
    figure(
      `${effort.intents} empty tasks, best turn`,
      best(({ tasks }) => tasks),
      "/s",
    ),
    figure(
      "tasks beside writes near storage, best turns",
      best(({ tasks }) => tasks) / best(({ nearStorage }) => nearStorage),
      "",
      { atLeast: 0.5 },
    ),
    figure(
      "requests one at a time: p99, least of the turns",
      least(({ p99 }) => p99),
      "ms",
    ),
    figure(
      "p99 while tasks are carried out, beside that, least of the turns",
      least(({ p99, p99Meanwhile }) => p99Meanwhile / p99),
      "",
      { atMost: 2 },
    ),
  ];
}

async function drainOnce(folder: string, { intents: count }: Effort): Promise<Drained> {
  const server = await startServerProcess(["--storage", `sqlite:${path.join(folder, "primary.sqlite")}`]);
  const { client } = server;
  try {
    await nearStorageRate(client, AT_ONCE * 4);
    const quiet = await requestTimes(client, () => Promise.resolve(sleep(2_000)));
    const nearStorage = await nearStorageRate(client, Math.ceil(count / 2));
    const dueAtMs = Date.now() + LEAD_MS;
    for (let left = count; left > 0; left -= TASKS_OF_ONE)
      await execute(client, { units: 1, tasks: Math.min(left, TASKS_OF_ONE), lane: null }, dueAtMs - Date.now());
    await sleep(Math.max(0, dueAtMs - Date.now()));
    let tasks = 0;
    const busy = await requestTimes(client, async () => {
      const startedAtMs = performance.now();
      while ((await tasksLeft(server)) > 0) await sleep(20);
      tasks = (count / (performance.now() - startedAtMs)) * 1_000;
    });
    return { tasks, nearStorage, p99: quantile(quiet, 0.99), p99Meanwhile: quantile(busy, 0.99) };
  } finally {
    await server.process.kill("SIGTERM");
  }
}

/** Writes of as many callers as tasks run at once: a run and a commit each, as of a task. */
async function nearStorageRate(client: TestClient, count: number): Promise<number> {
  let left = count;
  const startedAtMs = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, caller) => {
      while (left-- > 0) {
        let reply = await client.lvi(client.requestOf("incrementNearStorage", `near-${caller}`, null));
        // A slow machine has used up a location's share of the workers.
        while (reply.kind === "refused" && reply.retryAfterMs !== null) {
          await sleep(reply.retryAfterMs);
          reply = await client.lvi(client.requestOf("incrementNearStorage", `near-${caller}`, null));
        }
        if (reply.kind !== "executed") throw new Error(`not executed: ${JSON.stringify(reply)}`);
      }
    }),
  );
  return (count / (performance.now() - startedAtMs)) * 1_000;
}

/** Until the reply, of writes of a location, one after the other, for as long as something else takes. */
async function requestTimes(client: TestClient, meanwhile: () => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  const over = new AbortController();
  const sending = (async () => {
    while (!over.signal.aborted) {
      times.push((await execute(client, PUT)).replyMs);
      await sleep(PACE_MS);
    }
  })();
  await meanwhile();
  over.abort();
  await sending;
  return times;
}

async function tasksLeft({ url }: StartedServer): Promise<number> {
  const health = (await (await fetch(`${url}/healthz`)).json()) as { readonly tasks: { readonly all: number | null } };
  return health.tasks.all ?? Infinity;
}
