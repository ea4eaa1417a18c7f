/** The time of tasks and handlers under `radical dev` is moved over HTTP, and outlives the run until the data is deleted. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadProject } from "@radical/app";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DevEvent } from "../src/dev/dev-events.ts";
import { type DevServer, startDev } from "../src/dev/start-dev.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const DAY_MS = 86_400_000;
const SLOW = { timeout: 180_000 };

const HANDLERS = `import { Table, enqueue, now } from "@radical/sdk";

const notes = new Table<string>("notes");

/** @internal */
export function note(key: string): void {
  notes.put(key, "written");
}

export function later(key: string): void {
  enqueue(note(key), { delay: 2 * 86_400_000 });
}

export function noteOf(key: string): string {
  const found = notes.get(key);
  return found == null ? "" : found;
}

export function time(): i64 {
  return now();
}
`;

let project: TemporaryProject;
let dev: DevServer | null = null;
let events: DevEvent[] = [];

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "clock", dev: { locations: { A: 0, B: 5 } } };\n',
    "handlers/clock.ts": HANDLERS,
  });
}, SLOW.timeout);

afterAll(async () => {
  await dev?.stop();
  await project?.remove();
});

async function start(reset = false, watch = false): Promise<void> {
  await dev?.stop();
  events = [];
  const loaded = await loadProject(project.folder);
  dev = await startDev({ project: loaded, port: 0, reset, watch, onEvent: (event) => void events.push(event) });
}

async function call<T>(handler: string, args: unknown, location = "A"): Promise<T> {
  const response = await fetch(`${dev!.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-radical-location": location },
    body: JSON.stringify(args),
  });
  const body = (await response.json()) as { readonly result?: T };
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  return body.result as T;
}

async function ask(advance?: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
  const path = `${dev!.url}/__radical/time`;
  const sent =
    advance === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ advance }) };
  const response = await fetch(path, sent);
  return { status: response.status, body: await response.json() };
}

/** By how much handlers are ahead of this machine, at both locations. */
async function daysAhead(): Promise<readonly number[]> {
  const times = [await call<number>("time", {}, "A"), await call<number>("time", {}, "B")];
  return times.map((ms) => Math.round((ms - Date.now()) / DAY_MS) + 0);
}

test("time that is moved runs what is due, stays over a kill and a restart, and ends with the data", SLOW, async () => {
  await start();
  expect(await ask()).toEqual({ status: 200, body: { aheadMs: 0, movesToMs: null } });
  expect(events.some(({ event }) => event === "time")).toBe(false);
  await call("later", { key: "first" });
  expect(await ask("3 days")).toEqual({ status: 200, body: { aheadMs: 3 * DAY_MS, movesToMs: null } });
  expect(await call("noteOf", { key: "first" })).toBe("written");
  expect(await daysAhead()).toEqual([3, 3]);
  await call("later", { key: "second" });
  events = [];
  await dev!.control.change({ killServer: true });
  // The server is ahead again, and this is told.
  expect(events.filter(({ event }) => event === "time")).toEqual([
    { event: "time", aheadMs: 3 * DAY_MS, movesToMs: null },
  ]);
  expect(await daysAhead()).toEqual([3, 3]);

  await start();
  const told = events.findIndex(({ event }) => event === "time");
  expect(events[told]).toEqual({ event: "time", aheadMs: 3 * DAY_MS, movesToMs: null });
  expect(told).toBeLessThan(events.findIndex(({ event }) => event === "ready"));
  expect(await daysAhead()).toEqual([3, 3]);
  expect(await call("noteOf", { key: "second" })).toBe("");
  expect(await ask("2 days")).toEqual({ status: 200, body: { aheadMs: 5 * DAY_MS, movesToMs: null } });
  expect(await call("noteOf", { key: "second" })).toBe("written");

  await start(true);
  expect(events.some(({ event }) => event === "time")).toBe(false);
  expect(await ask()).toEqual({ status: 200, body: { aheadMs: 0, movesToMs: null } });
  expect(await daysAhead()).toEqual([0, 0]);
});

test("a time that can't be read is told, and nothing moves", SLOW, async () => {
  if (dev === null) await start(true);
  for (const advance of ["soon", -1, 0.5, null, "4000 days"])
    expect(await ask(advance)).toMatchObject({ status: 400, body: { error: { code: "invalid_time" } } });
  const simple = await fetch(`${dev!.url}/__radical/time`, { method: "POST", body: '{"advance": "1 day"}' });
  expect(simple.status).toBe(415);
  expect(await ask()).toEqual({ status: 200, body: { aheadMs: 0, movesToMs: null } });
});

const OBJECT = `import { createRadical } from "radical:worker";

export default createRadical({});
`;
const CLASS = `import { WorkerEntrypoint } from "cloudflare:workers";
import { createRadical } from "radical:worker";

const radical = createRadical({});

export default class extends WorkerEntrypoint {
  fetch(request: Request): Promise<Response> {
    return radical.fetch(request, this.env, this.ctx);
  }
}
`;

test(
  "with an entry that is a class, time that was moved before stops no save, and locations have it again later",
  SLOW,
  async () => {
    const save = async (path: string, text: string): Promise<void> => {
      const served = events.filter(({ event }) => event === "serving").length;
      await writeFile(join(project.folder, path), text);
      await expect
        .poll(() => events.filter(({ event }) => event === "serving").length, { timeout: 100_000 })
        .toBe(served + 1);
    };
    const failures = () => events.flatMap((event) => (event.event === "failed" ? [event.code] : []));
    await start(true);
    expect(await ask("1 day")).toMatchObject({ status: 200 });
    await dev!.stop();
    await mkdir(join(project.folder, "src"));
    await writeFile(join(project.folder, "src/worker.ts"), CLASS);

    await start(false, true);
    expect(failures()).toEqual(["time_not_moved"]);
    expect(await daysAhead()).toEqual([0, 0]);
    await save("handlers/clock.ts", `${HANDLERS}\nexport function more(): i32 {\n  return 1;\n}\n`);
    expect(await call("more", {})).toBe(1);
    // It was told at the start.
    expect(failures()).toEqual(["time_not_moved"]);
    expect(await ask("1 day")).toMatchObject({ body: { error: { code: "time_not_moved" } } });
    expect(await ask()).toEqual({ status: 200, body: { aheadMs: DAY_MS, movesToMs: null } });

    await save("src/worker.ts", OBJECT);
    expect(await daysAhead()).toEqual([1, 1]);
    await save("src/worker.ts", CLASS);
    expect(failures()).toEqual(["time_not_moved", "time_not_moved"]);
    expect(await daysAhead()).toEqual([0, 0]);
  },
);
