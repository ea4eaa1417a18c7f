/** The words of a plan about schedules and workflows, by the answers of a primary. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type ListedWorkflow,
  type ModuleHash,
  type ScheduleStatus,
  SCHEDULES_PATH,
  type TaskRules,
  WORKFLOWS_PATH,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { type AdminAddress, newAdministrationKey } from "@radical/admin";
import { olderWorkflows, olderWorkflowsWords, scheduleChanges } from "./planned-effects.ts";

const [OLD, OLDER, CURRENT] = ["a", "b", "c"].map((digit) => digit.repeat(64) as ModuleHash) as [
  ModuleHash,
  ModuleHash,
  ModuleHash,
];
const DEFAULTS = { catchUp: 1, overlap: "wait" } as const;
const NIGHTLY = { ...DEFAULTS, kind: "cron", fields: "0 3 * * *", zone: "Europe/Berlin", parameter: null } as const;
const SWEEP = { ...DEFAULTS, kind: "every", everyMs: 300_000, parameter: "tick" } as const;

let server: Server | null = null;
afterEach(() => server?.close());

/** A primary with these answers, by path; a page of workflows after the other. Null: nothing is there. */
async function primary(
  schedules: readonly object[] | null,
  pages: readonly (readonly object[])[] | null,
): Promise<AdminAddress> {
  let page = 0;
  const answer = (path: string): object | null => {
    if (path === SCHEDULES_PATH) return schedules && { schedules, timeMs: 0 };
    if (path !== WORKFLOWS_PATH || pages === null) return null;
    const workflows = pages[page++];
    return { workflows, next: page < pages.length ? String(page) : null, all: 0 };
  };
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      const body = answer(request.url ?? "");
      if (body === null) response.writeHead(404).end('{"error":{"code":"not_found","message":"nothing is here"}}');
      else response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => void server!.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { urls: [`http://127.0.0.1:${port}`], key: newAdministrationKey("main") };
}

/** As a primary lists the schedule. */
function listed(handler: string, schedule: object): Partial<ScheduleStatus> {
  return { ...schedule, handler, lastMs: 1, nextMs: 2, isPaused: false, isOpen: false };
}

const workflow = (handler: string, module: ModuleHash): Partial<ListedWorkflow> => ({ handler, module });
const RULES: Readonly<Record<string, TaskRules>> = {
  nightly: { schedule: NIGHTLY },
  sweep: { schedule: SWEEP, attempts: 3 },
  send: { attempts: 5 },
};

test("schedules that a deployment makes, changes and removes", async () => {
  const made = [
    { kind: "make", what: "schedule nightly", detail: "0 3 * * * Europe/Berlin" },
    { kind: "make", what: "schedule sweep", detail: "every 5m" },
  ];
  expect(await scheduleChanges(null, RULES)).toEqual(made);
  expect(await scheduleChanges(await primary([], []), RULES)).toEqual(made);
  const before = [listed("nightly", { ...NIGHTLY, zone: "UTC", catchUp: 0 }), listed("weekly", SWEEP)];
  expect(await scheduleChanges(await primary(before, []), RULES)).toEqual([
    {
      kind: "change",
      what: "schedule nightly",
      detail: "0 3 * * * UTC catchUp=0 before, 0 3 * * * Europe/Berlin from now on",
    },
    made[1],
    { kind: "remove", what: "schedule weekly", detail: "every 5m" },
  ]);
});

test("schedules that are there are no change, and a release without them has none", async () => {
  const there = [listed("nightly", NIGHTLY), listed("sweep", SWEEP)];
  expect(await scheduleChanges(await primary(there, []), RULES)).toEqual([]);
  expect(await scheduleChanges(await primary(null, null), { send: { attempts: 5 } })).toEqual([]);
});

test("workflows on older code, of all pages, by handler and module", async () => {
  const pages = [
    [workflow("buy", OLD), workflow("buy", CURRENT), workflow("pi", OLD)],
    [],
    [workflow("buy", OLDER), workflow("buy", OLD)],
  ];
  const older = await olderWorkflows(await primary([], pages), CURRENT);
  expect(older).toEqual([
    { handler: "buy", module: OLD, workflows: 2 },
    { handler: "pi", module: OLD, workflows: 1 },
    { handler: "buy", module: OLDER, workflows: 1 },
  ]);
  expect(olderWorkflowsWords(older)).toBe(
    "4 workflows go on with the code that they began with: 2 buy of module aaaaaaaaaaaa, 1 pi of module aaaaaaaaaaaa, 1 buy of module bbbbbbbbbbbb. Their steps run on the new code.",
  );
  expect(olderWorkflowsWords(older.slice(1, 2))).toBe(
    "1 workflow goes on with the code that it began with: 1 pi of module aaaaaaaaaaaa. Its steps run on the new code.",
  );
});

test("none are told of a primary that is still to be made, or is of a release without workflows", async () => {
  for (const admin of [null, await primary(null, null)]) {
    const older = await olderWorkflows(admin, CURRENT);
    expect([older, olderWorkflowsWords(older)]).toEqual([[], null]);
  }
});
