/** The alarms of a deployment on effects: what a real server logs when they go wrong, read by the filters of the template. */
import { askPrimary, loadDeploymentKeys } from "@radical/admin";
import { LOG_PATH, type LogQuestion, TASK_ORDERS_PATH, type TaskList, TASKS_PATH } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../../src/testing.ts";
import { createProject, type TemporaryProject } from "../radical-process.ts";
import { goingOff, valueOf } from "./alarm-values.ts";
import { fieldsOf } from "./metric-filter.ts";

const SERVICES = `/** @service */
export declare function charge(order: string): string;
`;
const WORKER = `import { createRadical } from "radical:worker";
export default createRadical({ services: { charge: () => Promise.resolve("receipt") } });
`;
const HANDLERS = `import { Table, abort, enqueue, sleep } from "@radical/sdk";
import { charge } from "../services";

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
  expect(events).toEqual(new Set(["task_dead", "workflow_stuck_alarm"]));
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
