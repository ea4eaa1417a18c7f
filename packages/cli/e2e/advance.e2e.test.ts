/** A test of an application moves time: what is due meanwhile runs in order, each at its time. */
import { askPrimary, loadDeploymentKeys } from "@radical/admin";
import { type TaskList, type TaskListQuestion, TASKS_PATH } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const HANDLERS = `import { Table, abort, cancel, enqueue, now, run, sleep } from "@radical/sdk";

const notes = new Table<string[]>("notes");

function note(list: string, text: string): void {
  const before = notes.get(list);
  const all: string[] = before == null ? [] : before;
  all.push(text);
  notes.put(list, all);
}

function hours(since: i64): string {
  return (((now() - since) / 3_600_000) as i64).toString();
}

/** @internal */
export function chained(list: string, since: i64, left: i32): void {
  note(list, \`chained \${left} at \${hours(since)}\`);
  if (left > 0) enqueue(chained(list, since, left - 1), { delay: 86_400_000 });
}

/** @internal */
export function once(list: string, since: i64): void {
  note(list, \`once at \${hours(since)}\`);
}

export function begin(list: string): i64 {
  const since = now();
  enqueue(once(list, since), { delay: 36 * 3_600_000 });
  enqueue(chained(list, since, 3), { delay: 86_400_000 });
  return since;
}

export function remind(list: string, hours: i32): string {
  return enqueue(once(list, now()), { delay: i64(hours) * 3_600_000 });
}

export function takeBack(id: string): void {
  cancel(id);
}

/** @internal */
export function failing(list: string): void {
  abort(503, "down", "It is down.");
}

export function call(list: string): void {
  enqueue(failing(list));
}

/** @workflow */
export function daily(list: string): void {
  const since = now();
  for (let day = 0; day < 3; day++) {
    sleep(86_400_000);
    run(once(list, since));
  }
}

/** @internal
 *  @cron 0 3 * * * Europe/Berlin */
export function nightly(tick: i64): void {
  note("nightly", \`\${tick} \${now() - tick < 60_000}\`);
}

export function time(): i64 {
  return now();
}

export function listed(list: string): string[] {
  const all = notes.get(list);
  return all == null ? [] : all;
}
`;

const CONFIG = 'export default { name: "time" };\n';
const DAY_MS = 86_400_000;

let project: TemporaryProject;
let app: TestApp;

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/time.ts": HANDLERS });
  app = await startTestApp({ project: project.folder });
});

afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

test("delayed tasks run in the order of their times, also those that others have asked for", async () => {
  await app.result("begin", { list: "chain" });
  await app.advance("3 days");
  const three = ["chained 3 at 24", "once at 36", "chained 2 at 48", "chained 1 at 72"];
  expect(await app.result("listed", { list: "chain" })).toEqual(three);
  await app.advance("23h");
  expect(await app.result("listed", { list: "chain" })).toEqual(three);
  await app.advance("1 hour");
  expect(await app.result("listed", { list: "chain" })).toEqual([...three, "chained 0 at 96"]);
});

// Time went on while a workflow was run: its next sleep began at the end of the move.
test("a workflow sleeps from where its run before has ended, and has gone on when time has moved", async () => {
  await app.call("daily", { list: "daily" }, { headers: { prefer: "wait=0" } });
  for (const days of [1, 2, 3]) {
    // oxlint-disable-next-line no-await-in-loop -- one day after the other
    await app.advance("1 day");
    // oxlint-disable-next-line no-await-in-loop
    expect(await app.result("listed", { list: "daily" })).toHaveLength(days);
  }
  await app.call("daily", { list: "at once" }, { headers: { prefer: "wait=0" } });
  await app.advance("3 days");
  expect(await app.result("listed", { list: "at once" })).toEqual(["once at 24", "once at 48", "once at 72"]);
});

test("a task that is taken back before it is due never runs", async () => {
  const id = await app.result<string>("remind", { list: "cancelled", hours: 24 });
  await app.result("remind", { list: "cancelled", hours: 30 });
  await app.advance("12 hours");
  await app.result("takeBack", { id });
  await app.advance("1 day");
  expect(await app.result("listed", { list: "cancelled" })).toEqual(["once at 30"]);
});

test("a task that fails is tried again after its pauses, and is dead after the last one", async () => {
  await app.result("call", { list: "retries" });
  // Eleven pauses, of 10 minutes at most, between twelve attempts.
  await app.advance("2 hours");
  const { host, port } = app.lviServer.address();
  const primary = { url: `http://${host}:${port}`, key: (await loadDeploymentKeys(app.stateFolder)).administration };
  const question: TaskListQuestion = { filter: {}, limit: 10, after: null, withArguments: false };
  const { tasks } = (await (await askPrimary(primary, "POST", TASKS_PATH, question)).json()) as TaskList;
  const failing = tasks.filter(({ handler }) => handler === "failing");
  expect(failing).toMatchObject([{ state: "dead", failures: 12, error: { code: "down" } }]);
});

test("a schedule fires at each of its ticks, and sees them as the present", async () => {
  const before = await app.result<string[]>("listed", { list: "nightly" });
  await app.advance("7 days");
  const fired = (await app.result<string[]>("listed", { list: "nightly" })).slice(before.length);
  expect(fired).toHaveLength(7);
  const ticks = fired.map((line) => Number(line.split(" ")[0]));
  for (const [index, tickMs] of ticks.entries()) {
    const clock = new Date(tickMs).toLocaleTimeString("en-GB", { timeZone: "Europe/Berlin" });
    expect([clock, fired[index]!.split(" ")[1]]).toEqual(["03:00:00", "true"]);
    if (index > 0) expect(Math.round((tickMs - ticks[index - 1]!) / DAY_MS)).toBe(1);
  }
});

test("handlers see the time that was moved at each location, and go on to after the primary was killed", async () => {
  const at = (location: string): Promise<number> => app.result<number>("time", {}, { location });
  const before = await at("near");
  await app.advance("90 days");
  expect((await at("far")) - before).toBeGreaterThanOrEqual(90 * DAY_MS);
  await app.control.change({ killServer: true });
  const after = await at("near");
  expect(after - before).toBeGreaterThanOrEqual(90 * DAY_MS);
  // Written at the primary: its time and that of locations are the same.
  await app.result("remind", { list: "killed", hours: 1 });
  await app.advance("1h");
  expect(await app.result("listed", { list: "killed" })).toEqual(["once at 1"]);
});

test("a time that can't be read is refused, and nothing moves", async () => {
  const before = await app.result<number>("time");
  for (const wrong of ["three days", "3 months", "-1h", "", -1, 1.5, Number.NaN, "40000 days"])
    await expect(app.advance(wrong)).rejects.toThrow(
      /advance\(\) takes a time up to 3,660 days, and was given .*"3 days"/,
    );
  expect((await app.result<number>("time")) - before).toBeLessThan(DAY_MS);
});

test("a task with a delay has run when its time is over", async () => {
  // #region advance
  await app.result("remind", { list: "ann", hours: 48 }); // it enqueues a task, with a delay of two days
  await app.advance("3 days");
  // The task has noted the hour in which it has run.
  expect(await app.result("listed", { list: "ann" })).toEqual(["once at 48"]);
  // #endregion
});
