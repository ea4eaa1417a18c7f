/**
 * A server that starts on much owed work: tasks that are due, ten times as many delayed ones, and waiting workflows. The
 * figures are its reads, its memory and its times, and the work that was lost or done twice.
 */
import path from "node:path";
import { CREDENTIALS, hasDynamoDbLocal, startDynamoDbLocal } from "../dynamodb/dynamodb-local.ts";
import {
  endWorkflows,
  lanesOfWork,
  leaveWork,
  type OwedWork,
  storageCallsOf,
  untilTasks,
  untilWorkflowsWait,
  wrongIn,
} from "../owed-work.ts";
import type { TestModule } from "../test-module.ts";
import { type ServerProcess, startProcess } from "../test-process.ts";
import { workflowModule } from "../workflow-module.ts";
import { type Effort, type Figure, figure, type Progress } from "./figure.ts";
import { metricsOf, withFolder } from "./processes.ts";

/** Of each ten thousand tasks that are due. */
const DELAYED = 10;
const WORKFLOWS = 0.1;
/** Starts on nothing. */
const STARTS = 3;
const PAGE = 1_000;
const MiB = 1024 * 1024;

export async function benchOwedWork(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const { intents: due } = effort;
  const work: OwedWork = { due, delayed: due * DELAYED, workflows: Math.ceil(due * WORKFLOWS) };
  const module = await workflowModule(1);
  const figures = await withFolder((folder) => {
    const [none = "", many = ""] = ["none", "many"].map((name) => `sqlite:${path.join(folder, `${name}.sqlite`)}`);
    return recover({ name: "SQLite", none, many, work, module, progress });
  });
  if (!effort.dynamodb || !hasDynamoDbLocal()) return figures;
  Object.assign(process.env, CREDENTIALS);
  const local = await startDynamoDbLocal();
  try {
    const [none = "", many = ""] = ["none", "many"].map((name) => `dynamodb:bench-${name}?endpoint=${local.endpoint}`);
    return [...figures, ...(await recover({ name: "DynamoDB Local", none, many, work, module, progress }))];
  } finally {
    await local.stop();
  }
}

interface Recovery {
  readonly name: string;
  /** Storages with nothing, and with the work. */
  readonly none: string;
  readonly many: string;
  readonly work: OwedWork;
  readonly module: TestModule;
  readonly progress: Progress;
}

/** A start on a storage. */
async function start(storage: string): Promise<{ readonly server: ServerProcess; readonly servingMs: number }> {
  const startedAtMs = performance.now();
  const server = await startProcess(["--storage", storage]);
  return { server, servingMs: performance.now() - startedAtMs };
}

async function recover({ name, none, many, work, module, progress }: Recovery): Promise<readonly Figure[]> {
  const { due, delayed, workflows } = work;
  const lanes = lanesOfWork(work);
  progress(`${name}: ${due} due tasks, ${delayed} delayed ones and ${workflows} waiting workflows are made`);
  await leaveWork(["--storage", none], none, module, { due: 0, delayed: 0, workflows: 0 });
  await leaveWork(["--storage", many], many, module, work);

  const idle: number[] = [];
  let idleBytes = 0;
  for (let n = 0; n < STARTS; n++) {
    const { server, servingMs } = await start(none);
    idle.push(servingMs);
    idleBytes = (await metricsOf(server.url)).get("process_resident_memory_bytes") ?? 0;
    await server.kill("SIGTERM");
  }

  progress(`${name}: recovering`);
  const { server, servingMs } = await start(many);
  const servingAtMs = performance.now();
  let [mostInMemory, mostBytes] = [0, 0];
  await untilTasks(server, ({ all, running }) => running > 0 || (all !== null && all < due + delayed));
  const begunMs = performance.now() - servingAtMs;
  await untilTasks(
    server,
    ({ all }) => all === delayed,
    ({ ready, running, delayed: later, argumentBytes }) => {
      mostInMemory = Math.max(mostInMemory, ready + running + later);
      mostBytes = Math.max(mostBytes, argumentBytes);
    },
  );
  const doneMs = performance.now() - servingAtMs;
  await untilWorkflowsWait(server, workflows);
  const knownMs = performance.now() - servingAtMs;
  const calls = await storageCallsOf(server);
  const bytes = (await metricsOf(server.url)).get("process_resident_memory_bytes") ?? 0;
  progress(`${name}: the workflows end`);
  await endWorkflows(server, module, workflows);
  const { all: left } = await untilTasks(server, ({ all }) => all !== null);
  await server.kill("SIGTERM");
  const wrong = await wrongIn(many, work);
  for (const words of wrong.slice(0, 10)) progress(`${name}: ${words}`);

  const pages = (number: number, more: number): { readonly atMost: number } => ({
    atMost: Math.ceil(number / PAGE) + more,
  });
  const of = `${name}: ${due} due tasks, ${delayed} delayed, ${lanes} lanes, ${workflows} workflows`;
  return [
    figure(`${of}: until it serves, beside none`, servingMs / Math.min(...idle), "", { atMost: 1.5 }),
    figure(`${name}: from then until the first task begins`, begunMs, "ms"),
    figure(`${name}: until all due tasks are done`, doneMs / 1_000, "s"),
    figure(`${name}: until all workflows are known, and wait`, knownMs / 1_000, "s"),
    figure(`${name}: pages of due tasks that it reads`, calls("due_tasks"), "", pages(due, 3)),
    figure(`${name}: pages of first tasks of lanes`, calls("lane_heads"), "", pages(lanes, 1)),
    figure(`${name}: reads of tasks of lanes, by lane`, calls("lane_tasks"), ""),
    figure(`${name}: reads of arguments, of up to 16 tasks`, calls("read_tasks"), ""),
    figure(`${name}: pages of workflows`, calls("open_workflows"), "", pages(workflows, 1)),
    figure(`${name}: reads of journals`, calls("parts_of"), "", { atMost: workflows }),
    figure(`${name}: tasks in memory, at most`, mostInMemory, "", { atMost: 10_000 + lanes + PAGE }),
    figure(`${name}: their arguments in memory, at most`, mostBytes / 1_000, "KB"),
    figure(`${name}: memory of the process afterwards, more than on none`, (bytes - idleBytes) / MiB, "MiB"),
    figure(`${name}: tasks and workflows that were lost, doubled or early`, wrong.length, "", { atMost: 0 }),
    figure(`${name}: delayed tasks that are lacking`, delayed - (left ?? 0), "", { atMost: 0 }),
  ];
}
