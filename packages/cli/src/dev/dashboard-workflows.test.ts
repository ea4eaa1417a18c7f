import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  type ExecutionId,
  type ListedWorkflow,
  WORKFLOW_HISTORY_PATH,
  type WorkflowHistory,
  type WorkflowList,
} from "@radical/protocol";
import { newAdministrationKey } from "@radical/admin";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DashboardWorkflows } from "./dashboard-workflows.ts";

const [GOOD, BAD] = ["1", "2"].map((digit) => digit.repeat(32)) as [ExecutionId, ExecutionId];
const WORKFLOW: ListedWorkflow = {
  id: GOOD,
  handler: "buy",
  state: "waiting",
  module: "a".repeat(64) as ListedWorkflow["module"],
  createdAtMs: 1,
  untilMs: null,
  round: 0,
  entries: 1,
  bytes: 10,
  parent: null,
  error: null,
  endedAtMs: null,
};
const HISTORY: WorkflowHistory = {
  workflow: WORKFLOW,
  timeMs: 2,
  entries: [{ timeMs: 1, arrivals: [], commands: [], wait: null }] as WorkflowHistory["entries"],
  arrived: [],
};

let isBadReadable: boolean;
let asked: string[];
const primary = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += String(chunk)));
  request.on("end", () => {
    const answer = (status: number, json: unknown): void => void response.writeHead(status).end(JSON.stringify(json));
    if (request.url !== WORKFLOW_HISTORY_PATH) {
      const workflows = [WORKFLOW, { ...WORKFLOW, id: BAD }];
      return answer(200, { workflows, next: null, timeMs: 2, all: 2 } satisfies WorkflowList);
    }
    const { workflow } = JSON.parse(body) as { readonly workflow: ExecutionId };
    asked.push(workflow);
    const { entries, ...history } = HISTORY;
    const commands = [{ number: 0, kind: "signal", name: "approved" }];
    const [entry] = entries;
    const waits = [{ ...entry, commands, wait: { mode: "all", commands: [0], untilMs: null } }];
    if (workflow === BAD && !isBadReadable) answer(500, { error: { code: "internal_error", message: "broken" } });
    else answer(200, { ...history, entries: waits });
  });
});

beforeEach(async () => {
  [isBadReadable, asked] = [false, []];
  primary.listen(0, "127.0.0.1");
  await once(primary, "listening");
});
afterEach(() => primary.close().closeAllConnections());

test("a journal that can't be read leaves the list, and is asked for again", async () => {
  const url = `http://127.0.0.1:${(primary.address() as AddressInfo).port}`;
  const page = new DashboardWorkflows({
    asking: (ask) => ask({ url, key: newAdministrationKey("k") }),
    showsArguments: true,
  });
  const waits = async (): Promise<readonly unknown[]> =>
    (await page.list()).workflows.map(({ waitsFor }) => waitsFor?.name ?? null);
  expect(await waits()).toEqual(["approved", null]);
  isBadReadable = true;
  expect(await waits()).toEqual(["approved", "approved"]);
  // The other one was known.
  expect(asked.toSorted()).toEqual([GOOD, BAD, BAD]);
});
