/** Schedules of an application that runs here: by the clock, by hand, paused over a restart and in another build. */
import type { ScheduleList } from "@radical/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { DevEvent } from "../src/dev/dev-events.ts";
import { createProject, radical, type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const HANDLERS = `import { caller, log, now, Table } from "@radical/sdk";

const ticks = new Table<i64>("ticks");

/** @internal
 *  @every 1s */
export function often(tick: i64): void {
  ticks.put("often", tick);
  log(\`often \${tick}\`);
}

/** @cron 0 3 1 1 * Europe/Berlin */
export function yearly(tick: i64): string {
  log(\`yearly \${now() - tick < 60_000} \${caller() == null}\`);
  return "called";
}

export function last(): i64 {
  return ticks.get("often") ?? 0;
}
`;
const WITHOUT = HANDLERS.replace("@cron 0 3 1 1 * Europe/Berlin", "Has no schedule.");

const SOON = { timeout: 100_000, interval: 30 };

let project: TemporaryProject;
let dev: RadicalDev;

/** The first event of `radical dev` from now on for which the function has a value. */
function later<T>(found: (event: DevEvent) => T | null): Promise<T> {
  const from = dev.events.length;
  const first = (): T | undefined =>
    dev.events
      .slice(from)
      .map(found)
      .find((value) => value !== null);
  return vi.waitUntil(first, SOON) as Promise<T>;
}

/** The next line that a handler logs which begins with the word. */
function logged(word: string): Promise<string> {
  return later((event) =>
    event.event === "handler_log" && event.message.startsWith(`${word} `) ? event.message : null,
  );
}

/** The time that the next tick of `often` has logged. */
async function nextTick(): Promise<number> {
  return Number((await logged("often")).split(" ")[1]);
}

async function cli(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await radical(["schedules", ...args, "--project", project.folder]);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return stdout;
}

async function listed(): Promise<ScheduleList> {
  return JSON.parse(await cli("list", "--json")) as ScheduleList;
}

async function stop(): Promise<void> {
  process.kill(dev.child.pid!, "SIGINT");
  await dev.closed;
}

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "clock" };\n',
    "handlers/clock.ts": HANDLERS,
  });
  dev = await radicalDev(project.folder);
});

afterAll(async () => {
  await stop();
  await project.remove();
});

test("a handler is called at its ticks, with their times", async () => {
  const first = await nextTick();
  expect(first % 1_000).toBe(0);
  const second = await nextTick();
  expect(second % 1_000).toBe(0);
  expect(second).toBeGreaterThan(first);
});

test("schedules are listed, and fired by hand", async () => {
  const { schedules } = await listed();
  expect(schedules).toMatchObject([
    { handler: "often", kind: "every", everyMs: 1_000, catchUp: 1, overlap: "wait", isPaused: false },
    { handler: "yearly", kind: "cron", fields: "0 3 1 1 *", zone: "Europe/Berlin", lastMs: null },
  ]);
  const { nextMs } = schedules[1]!;
  expect(new Date(nextMs!).toISOString()).toMatch(/-01-01T02:00:00\.000Z$/);
  expect(await cli("list")).toMatch(
    /^handler +schedule +last tick +next tick\noften .*\nyearly +0 3 1 1 \* Europe\/Berlin +never /,
  );
  const called = logged("yearly");
  expect(await cli("run", "yearly")).toMatch(/^yearly is called, as task [89a-f][0-9a-f]{31}\.\n$/);
  expect(await called).toBe("yearly true true");
  // A call by hand is not a tick.
  expect((await listed()).schedules[1]).toMatchObject({ lastMs: null, nextMs });
});

test("a pause outlasts a restart, and resuming leaves its ticks out", async () => {
  expect(await cli("pause", "often")).toBe("The schedule of often is paused.\n");
  await stop();
  dev = await radicalDev(project.folder);
  const paused = (await listed()).schedules[0]!;
  expect(paused).toMatchObject({ handler: "often", isPaused: true, nextMs: null });
  const resumed = nextTick();
  expect(JSON.parse(await cli("resume", "often", "--json"))).toEqual({
    handler: "often",
    action: "resume",
    task: null,
  });
  expect(await resumed).toBeGreaterThan(paused.lastMs!);
});

test("another build has other schedules, and a wrong name is told with those that there are", async () => {
  const rebuilt = later(({ event }) => (event === "serving" ? event : null));
  await project.write("handlers/clock.ts", WITHOUT);
  await rebuilt;
  const { code, stderr } = await radical(["schedules", "run", "yearly", "--project", project.folder]);
  expect(code).toBe(2);
  expect(stderr).toContain('The handler "yearly" has no schedule.');
  expect(stderr).toContain("Name one of: often.");
});
