/**
 * Servers that start on owed work and are killed in the middle of it. Nothing is lost or doubled, and a start reads a part: so many
 * calls to storage, whatever the machine is like. `pnpm bench:server owed` does the same with 10,000 tasks that are due, 100,000
 * delayed ones and 1,000 workflows.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import {
  endWorkflows,
  lanesOfWork,
  leaveWork,
  type OwedWork,
  storageCallsOf,
  tasksOf,
  untilTasks,
  untilWorkflowsWait,
  wrongIn,
} from "./owed-work.ts";
import type { TestModule } from "./test-module.ts";
import { startProcess } from "./test-process.ts";
import { workflowModule } from "./workflow-module.ts";

const WORK: OwedWork = { due: 300, delayed: 3_000, workflows: 30 };
const TIMEOUT_MS = 300_000;
/** Tasks of one page. */
const PAGE = 1_000;

let folder: string;
let module: TestModule;
let local: DynamoDbLocal | null = null;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-owed-"));
  module = await workflowModule(1);
  if (!hasDynamoDbLocal()) return;
  Object.assign(process.env, CREDENTIALS);
  local = await startDynamoDbLocal();
}, TIMEOUT_MS);

afterAll(async () => {
  await local?.stop();
  rmSync(folder, { recursive: true });
});

function addressOf(kind: "sqlite" | "dynamodb"): string {
  if (kind === "sqlite" || local === null) return `sqlite:${path.join(folder, "owed.sqlite")}`;
  return `dynamodb:${randomBytes(8).toString("hex")}?endpoint=${local.endpoint}`;
}

const KINDS = hasDynamoDbLocal() ? (["sqlite", "dynamodb"] as const) : (["sqlite"] as const);

describe.each(KINDS)("on %s", (kind) => {
  test(
    "servers that are killed in the middle of owed work lose none of it and double none",
    { timeout: TIMEOUT_MS },
    async () => {
      const address = addressOf(kind);
      const args = ["--storage", address];
      await leaveWork(args, address, module, WORK);
      const all = WORK.due + WORK.delayed;
      for (const part of [0.3, 0.6]) {
        const server = await startProcess(args);
        await untilTasks(server, (tasks) => tasks.all !== null && tasks.all <= all - part * WORK.due);
        await server.kill("SIGKILL");
      }

      const server = await startProcess(args);
      try {
        await untilTasks(server, (tasks) => tasks.all === WORK.delayed);
        await untilWorkflowsWait(server, WORK.workflows);
        const calls = await storageCallsOf(server);
        const lanes = lanesOfWork(WORK);
        expect(calls("due_tasks")).toBeLessThanOrEqual(Math.ceil(all / PAGE) + 2);
        expect(calls("lane_heads")).toBeLessThanOrEqual(Math.ceil(lanes / PAGE) + 1);
        // One for each first task that has gone, and one that finds the end of its lane.
        expect(calls("lane_tasks")).toBeLessThanOrEqual(WORK.due);
        expect(calls("read_tasks")).toBeLessThanOrEqual(WORK.due);
        expect(calls("open_workflows")).toBeLessThanOrEqual(2);
        expect(calls("parts_of")).toBe(WORK.workflows);
        const { delayed, ready, argumentBytes } = await tasksOf(server);
        expect(ready).toBe(0);
        expect(delayed).toBeLessThanOrEqual(WORK.delayed);
        // The delayed tasks in lanes are there without arguments.
        expect(argumentBytes).toBeLessThanOrEqual(delayed * "delayed-9999".length);

        await endWorkflows(server, module, WORK.workflows);
        expect((await tasksOf(server)).all).toBe(WORK.delayed);
      } finally {
        await server.kill("SIGTERM");
      }
      expect(await wrongIn(address, WORK)).toEqual([]);
    },
  );
});

test("work that is lost, doubled or early is found", { timeout: TIMEOUT_MS }, async () => {
  const address = `sqlite:${path.join(folder, "wrong.sqlite")}`;
  const work: OwedWork = { due: 4, delayed: 0, workflows: 0 };
  await leaveWork(["--storage", address], address, module, work);
  const server = await startProcess(["--storage", address]);
  await untilTasks(server, (tasks) => tasks.all === 0);
  await server.kill("SIGTERM");
  expect(await wrongIn(address, work)).toEqual([]);
  expect(await wrongIn(address, { ...work, due: 5 })).toEqual(["counters/due-4 was not done"]);
  expect(await wrongIn(address, { ...work, due: 3 })).toEqual(["due-3 was done, and is not due"]);
  // Each is done once more.
  await leaveWork(["--storage", address], address, module, work);
  const again = await startProcess(["--storage", address]);
  await untilTasks(again, (tasks) => tasks.all === 0);
  await again.kill("SIGTERM");
  expect(await wrongIn(address, work)).toEqual([0, 1, 2, 3].map((n) => `due-${n} was done 2 times`));
});
