/**
 * Workflows sleep for 30 days under `radical dev`. Meanwhile another build is served, and then the old one again. Each workflow ends
 * on the code that it began on, and its steps run on the code that is current.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadProject } from "@radical/app";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DevEvent } from "../src/dev/dev-events.ts";
import { type DevServer, startDev } from "../src/dev/start-dev.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const SLOW = { timeout: 300_000 };
const HANDLERS = "handlers/trial.ts";

const handlersOf = (build: string): string => `import { Table, run, sleep } from "@radical/sdk";

const notes = new Table<string[]>("notes");
const DAY: i64 = 86_400_000;

/** @internal */
export function note(key: string, text: string): void {
  const all = notes.get(key) ?? [];
  all.push(text + ", step of ${build}");
  notes.put(key, all);
}

/** @workflow */
export function trial(key: string): string {
  run(note(key, "begun by ${build}"));
  sleep(10 * DAY);
  run(note(key, "after 10 days by ${build}"));
  sleep(20 * DAY);
  run(note(key, "after 30 days by ${build}"));
  return "${build}";
}

export function notesOf(key: string): string[] {
  return notes.get(key) ?? [];
}
`;

let project: TemporaryProject;
let dev: DevServer | null = null;
const events: DevEvent[] = [];
const waiting: (() => void)[] = [];

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "trials", dev: { locations: { A: 0 } } };\n',
    [HANDLERS]: handlersOf("old"),
  });
}, SLOW.timeout);

afterAll(async () => {
  await dev?.stop();
  await project?.remove();
});

/** Resolves with the first such event from the place `from` on. */
async function heard(isIt: (event: DevEvent) => boolean, from = 0): Promise<DevEvent> {
  for (;;) {
    const found = events.slice(from).find(isIt);
    if (found !== undefined) return found;
    // oxlint-disable-next-line no-await-in-loop -- one event after the other
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
}

function onEvent(event: DevEvent): void {
  events.push(event);
  for (const resolve of waiting.splice(0)) resolve();
}

/** Serves a build; the hash of its module. */
async function serve(build: string): Promise<string> {
  const from = events.length;
  await writeFile(join(project.folder, HANDLERS), handlersOf(build));
  const served = await heard(({ event }) => event === "serving", from);
  return served.event === "serving" ? served.module : "";
}

async function ask(path: string, method: string, body: unknown, prefer: string): Promise<Response> {
  const headers = { "content-type": "application/json", prefer };
  return fetch(`${dev!.url}${path}`, { method, headers, ...(body !== null && { body: JSON.stringify(body) }) });
}

/** Starts one, which then sleeps; its path. */
async function started(key: string): Promise<string> {
  const response = await ask("/api/trial", "POST", { key }, "wait=0");
  expect(response.status).toBe(202);
  const path = response.headers.get("location")!;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it is asked until it is so
    const { state } = (await (await ask(path, "GET", null, "wait=0")).json()) as { readonly state?: string };
    // oxlint-disable-next-line no-await-in-loop
    if (state === "waiting" && (await notesOf(key)).length === 1) return path;
  }
}

async function notesOf(key: string): Promise<readonly string[]> {
  const response = await ask("/api/notesOf", "POST", { key }, "wait=10");
  return ((await response.json()) as { readonly result: readonly string[] }).result;
}

async function move(advance: string): Promise<void> {
  expect((await ask("/__radical/time", "POST", { advance }, "wait=10")).status).toBe(200);
}

test(
  "a workflow ends on its own code after a build and the old one again, and its steps run on the current one",
  SLOW,
  async () => {
    const loaded = await loadProject(project.folder);
    dev = await startDev({ project: loaded, port: 0, watch: true, onEvent });
    const first = await heard(({ event }) => event === "built");
    const ofOld = await started("of-old");
    const newer = await serve("new");
    const ofNew = await started("of-new");
    await move("10 days");
    const again = await serve("old");
    expect([first.event === "built" && first.module, newer === again]).toEqual([again, false]);
    await dev.control.change({ killServer: true });
    await move("20 days");

    const results = await Promise.all(
      [ofOld, ofNew].map(async (path): Promise<unknown> => (await ask(path, "GET", null, "wait=60")).json()),
    );
    expect(results).toEqual([{ result: "old" }, { result: "new" }]);
    expect(await notesOf("of-old")).toEqual([
      "begun by old, step of old",
      "after 10 days by old, step of new",
      "after 30 days by old, step of old",
    ]);
    expect(await notesOf("of-new")).toEqual([
      "begun by new, step of new",
      "after 10 days by new, step of new",
      "after 30 days by new, step of old",
    ]);
  },
);
