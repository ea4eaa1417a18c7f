/** The alarms of a deployment on effects: what a real server logs when they go wrong, read by the filters of the template. */
import { askPrimary, loadDeploymentKeys } from "@radical/admin";
import { LOG_PATH, type LogQuestion, TASK_ORDERS_PATH, type TaskList, TASKS_PATH } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Refused, type TestApp, startTestApp } from "../../src/testing.ts";
import { createProject, type TemporaryProject } from "../radical-process.ts";
import { alarmsOf } from "@radical/lvi-server/e2e/test-process";
import { goingOff, valueOf } from "./alarm-values.ts";
import { fieldsOf } from "./metric-filter.ts";

const SERVICES = `/** @service */
export declare function charge(order: string): string;

/** @service */
export declare function refund(order: string): string;
`;
const WORKER = `import { createRadical } from "radical:worker";
export default createRadical({ services: { charge: () => Promise.resolve("receipt"), refund: () => Promise.resolve("receipt") } });
`;
const HANDLERS = `import { Table, abort, enqueue, run, sleep, undo } from "@radical/sdk";
import { charge, refund } from "../services";

const state = new Table<string>("state");

/** @internal
 *  @retry 1 */
export function failing(): void {
  abort(500, "broken", "It is broken.");
}

/** @internal
 *  @limit 1/d */
export function seldom(): void {
  state.put("seldom", "done");
}

/** @workflow */
export function trapping(): i32 {
  sleep(1);
  const none: i32[] = [];
  return none[1];
}

/** @internal */
export function release(): void {
  abort(404, "not_held", "Nobody holds it.");
}

/** @workflow */
export function undoing(): void {
  abort(418, "teapot", "It undoes what it has done.");
}

/** @workflow */
export function buying(): void {
  undo(refund("o1"));
  undo(release());
  undo(undoing());
  sleep(1);
  abort(402, "declined", "The card is declined.");
}

export function fail(): void {
  enqueue(failing());
}

export function wait(): void {
  enqueue(seldom());
  enqueue(seldom());
}

export function pay(): void {
  for (let i = 0; i < 5; i++) enqueue(charge(i.toString()));
}
`;

const ID = /^[0-9a-f]{32}$/;
const KEY = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const OF_EFFECTS = ["DeadTasks", "OldestTask", "StuckWorkflows", "ServicesDown"];

let project: TemporaryProject;
let app: TestApp;
let isDown = true;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "effects" };\n',
    "services.ts": SERVICES,
    "src/worker.ts": WORKER,
    "handlers/effects.ts": HANDLERS,
  });
  app = await startTestApp({
    project: project.folder,
    services: {
      charge: () => {
        if (isDown) throw new Error("The bank is closed.");
        return "receipt";
      },
      refund: () => {
        throw new Refused("closed", "The account is closed.");
      },
    },
  });
});

afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

async function ask(path: string, question: object): Promise<string> {
  const { host, port } = app.lviServer.address();
  const primary = { url: `http://${host}:${port}`, key: (await loadDeploymentKeys(app.stateFolder)).administration };
  return (await askPrimary(primary, "POST", path, question)).text();
}

/** The lines that the server has logged behind so many. */
async function logged(since = 0): Promise<readonly string[]> {
  const question: LogQuestion = { lines: 1_000, follow: false, level: "debug" };
  const lines = (await ask(LOG_PATH, question)).split("\n").filter((line) => line !== "");
  return lines.slice(since);
}

test("a server whose effects are well sets off none", async () => {
  await app.advance("1h");
  expect(goingOff(await logged())).toEqual([]);
});

test("each undo that was not done sets off an alarm, which names the workflow, the callee, its key and the reason", async () => {
  const { length } = await logged();
  const response = await fetch(`${app.url}/api/buying`, { method: "POST", headers: { prefer: "wait=0" } });
  const { workflow } = (await response.json()) as { readonly workflow: string };
  await app.advance("1 minute");
  const lines = await logged(length);
  expect(goingOff(lines)).toEqual(["FailedUndos"]);
  const told = lines.map((line) => fieldsOf(line) ?? {}).filter(({ level }) => level === "error");
  const about = { event: "workflow_undo_failed", execution: workflow };
  expect(told).toMatchObject([
    { ...about, handler: "undoing", key: expect.stringMatching(ID), detail: expect.stringContaining("teapot") },
    { ...about, handler: "release", key: expect.stringMatching(ID), detail: expect.stringContaining("not_held") },
    { ...about, handler: "refund", key: expect.stringMatching(KEY), detail: expect.stringContaining("closed") },
  ]);
  const { host, port } = app.lviServer.address();
  expect(await alarmsOf(`http://${host}:${port}`, "workflow_undo_failed")).toBe(3);
});

test("dead tasks, tasks that wait, stuck workflows and services that are down: each sets off its own alarm", async () => {
  const steps = [
    ["fail", "1 minute", ["DeadTasks"]],
    ["wait", "11 minutes", ["DeadTasks", "OldestTask"]],
    ["trapping", "1 minute", ["DeadTasks", "OldestTask", "StuckWorkflows"]],
    ["pay", "3 minutes", OF_EFFECTS],
  ] as const;
  for (const [handler, time, alarms] of steps) {
    // oxlint-disable-next-line no-await-in-loop -- one trouble after the other
    const { length } = await logged();
    // oxlint-disable-next-line no-await-in-loop
    await fetch(`${app.url}/api/${handler}`, { method: "POST", headers: { prefer: "wait=0" } });
    // oxlint-disable-next-line no-await-in-loop
    await app.advance(time);
    // oxlint-disable-next-line no-await-in-loop
    expect(goingOff(await logged(length))).toEqual(alarms);
  }
  const lines = await logged();
  const all = lines.map((line) => fieldsOf(line) ?? {});
  const events = new Set(all.filter(({ level }) => level === "error").map(({ event }) => event));
  expect(events).toEqual(new Set(["task_dead", "workflow_stuck_alarm", "workflow_undo_failed"]));
  // They have alarms for themselves.
  expect(valueOf("Errors", lines)).toBe(null);
  expect(all.findLast(({ event }) => event === "effects_wait")).toMatchObject({ level: "warn", services: "charge" });
});

test("the alarms end when somebody has seen to their causes", async () => {
  isDown = false;
  const { tasks } = JSON.parse(
    await ask(TASKS_PATH, { filter: { state: "dead" }, limit: 10, after: null, withArguments: false }),
  ) as TaskList;
  expect(tasks.map(({ handler }) => handler)).toEqual(["failing"]);
  await ask(TASK_ORDERS_PATH, { action: "discard", ids: tasks.map(({ id }) => id), callAgain: false });
  // The limit lets the second one begin, and the service is called again.
  await app.advance("1 day");
  const { length } = await logged();
  await app.advance("1 minute");
  expect(goingOff(await logged(length))).toEqual(["StuckWorkflows"]);
});
