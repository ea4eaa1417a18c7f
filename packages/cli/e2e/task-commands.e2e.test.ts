/** `radical tasks` at the server of a real application: lists, the end of dead tasks, and tasks before their time. */
import { loadDeploymentKeys, privateKeyText } from "@radical/admin";
import type { ListedTask, TaskOrderOutcome } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type Finished, type TemporaryProject, createProject, radical } from "./radical-process.ts";

const HANDLERS = `import { Table, abort, cancel, enqueue, log } from "@radical/sdk";

const state = new Table<string>("state");
const done = new Table<string[]>("done");

/**
 * @internal
 * @retry 1
 */
export function send(to: string, text: string): void {
  if (state.get("server") != "up") abort(503, "down", "The mail server is away");
  const before = done.get(to);
  const all: string[] = before == null ? [] : before;
  all.push(text);
  done.put(to, all);
  log(\`sent \${to} \${text}\`);
}

/** @internal */
export function remind(to: string): void {
  done.put(to, ["reminded"]);
  log(\`reminded \${to}\`);
}

export function mail(to: string, text: string): string {
  return enqueue(send(to, text), { key: to });
}

export function later(to: string): string {
  return enqueue(remind(to), { delay: 86_400_000 });
}

export function takeBack(id: string): void {
  cancel(id);
}

export function set(value: string): void {
  state.put("server", value);
}

export function sent(to: string): string[] {
  const all = done.get(to);
  return all == null ? [] : all;
}
`;

let project: TemporaryProject;
let app: TestApp;
let env: NodeJS.ProcessEnv;
let address: string;
const waiting = new Map<string, () => void>();
const heard: string[] = [];

/** Waits for a text of an event. */
function event(text: string): Promise<void> {
  if (heard.some((one) => one.includes(text))) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(text, resolve);
  return promise;
}

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "mails" };\n',
    "handlers/mail.ts": HANDLERS,
  });
  app = await startTestApp({
    project: project.folder,
    onEvent: (each) => {
      const text = JSON.stringify(each);
      heard.push(text);
      for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve();
    },
  });
  const { administration } = await loadDeploymentKeys(app.stateFolder);
  const { host, port } = app.lviServer.address();
  address = `http://${host}:${port}`;
  env = { RADICAL_ADMIN_KEYS: privateKeyText(administration) };
});

afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

function tasks(...args: readonly string[]): Promise<Finished> {
  return radical(["tasks", ...args, "--primary", address, "--project", project.folder], { env });
}

async function listed(...args: readonly string[]): Promise<readonly ListedTask[]> {
  const { stdout } = await tasks("list", "--json", ...args);
  return (JSON.parse(stdout) as { readonly tasks: readonly ListedTask[] }).tasks;
}

/** Asks until the attempt of the task has ended. */
async function untilDead(id: string): Promise<ListedTask> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it is asked until it is so
    const task = (await listed("--handler", "send")).find((each) => each.id === id);
    if (task?.state === "dead") return task;
  }
}

test("a dead task blocks those with its key alone, and retried it goes on in order", { timeout: 120_000 }, async () => {
  await app.result("set", { value: "down" });
  const first = await app.result<string>("mail", { to: "ann", text: "one" });
  const dead = await untilDead(first);
  expect(dead).toMatchObject({ handler: "send", lane: "ann", failures: 1, mostFailures: 1, error: { code: "down" } });
  expect(dead.args).toBe(undefined);
  const second = await app.result<string>("mail", { to: "ann", text: "two" });
  expect((await listed("--key", "ann")).map(({ id, state }) => [id, state])).toEqual([
    [first, "dead"],
    [second, "waiting"],
  ]);
  await app.result("set", { value: "up" });
  await app.result("mail", { to: "bob", text: "three" });
  await event("sent bob three");

  const shown = await tasks("show", first, "--arguments");
  expect(shown.stdout).toContain('{"to":"ann","text":"one"}');
  expect((await tasks("show", first)).stdout).not.toContain("one");
  const table = await tasks("list", "--state", "dead");
  expect(table.stdout).toContain("The mail server is away");

  const retried = await tasks("retry", "--handler", "send");
  expect(retried.stderr).toContain("1 task tried again");
  await event("sent ann two");
  expect(await app.result("sent", { to: "ann" })).toEqual(["one", "two"]);
  expect(await listed("--state", "dead")).toEqual([]);
});

test("a dead task is discarded only if somebody says so, and those behind it go on", { timeout: 120_000 }, async () => {
  await app.result("set", { value: "down" });
  const first = await app.result<string>("mail", { to: "cat", text: "one" });
  await untilDead(first);
  await app.result("set", { value: "up" });
  await app.result("mail", { to: "cat", text: "two" });
  const unasked = await tasks("discard", "--all");
  expect([unasked.code, unasked.stderr.includes("--yes")]).toEqual([2, true]);
  expect((await tasks("discard", "--all", "--yes")).code).toBe(0);
  await event("sent cat two");
  expect(await app.result("sent", { to: "cat" })).toEqual(["two"]);
});

test(
  "a task that waits begins at once, or is cancelled, by an operator or by a handler",
  { timeout: 120_000 },
  async () => {
    const outcomes = async (...args: readonly string[]): Promise<readonly TaskOrderOutcome[]> => {
      const { stdout } = await tasks(...args, "--json");
      return (
        JSON.parse(stdout) as { readonly results: readonly { readonly outcome: TaskOrderOutcome }[] }
      ).results.map(({ outcome }) => outcome);
    };
    const [one, two, three] = await Promise.all(["dan", "eve", "fay"].map((to) => app.result<string>("later", { to })));
    expect((await listed("--state", "delayed")).length).toBe(3);
    expect(await outcomes("retry", one!)).toEqual(["not-failed"]);
    expect(await outcomes("discard", one!)).toEqual(["not-dead"]);
    expect(await outcomes("run", one!)).toEqual(["done"]);
    await event("reminded dan");
    expect(await outcomes("cancel", two!, "f".repeat(32))).toEqual(["done", "unknown"]);
    await app.result("takeBack", { id: three });
    expect(await listed()).toEqual([]);
    expect((await tasks("show", three!)).stderr).toContain("There is no task");
  },
);

test(
  "all tasks of a handler are cancelled only if somebody says so, and others stay",
  { timeout: 120_000 },
  async () => {
    await app.result("set", { value: "down" });
    const dead = await app.result<string>("mail", { to: "gus", text: "one" });
    await untilDead(dead);
    await Promise.all(Array.from({ length: 60 }, (_, at) => app.result("later", { to: `guest ${at}` })));
    const unasked = await tasks("cancel", "--handler", "remind");
    expect([unasked.code, unasked.stderr.includes("Cancel all tasks of remind?")]).toEqual([2, true]);
    expect((await listed("--limit", "100")).length).toBe(61);
    const cancelled = await tasks("cancel", "--handler", "remind", "--yes");
    expect([cancelled.code, cancelled.stderr]).toEqual([0, expect.stringContaining("60 tasks cancelled")]);
    expect((await listed()).map(({ id }) => id)).toEqual([dead]);
    expect((await tasks("cancel", "--all", "--yes")).code).toBe(0);
    expect(await listed()).toEqual([]);
  },
);

test("wrong use is told, with what to do", { timeout: 120_000 }, async () => {
  expect(await tasks("show", "nobody")).toMatchObject({ code: 2 });
  expect((await tasks("cancel")).stderr).toContain("takes the ids of tasks");
  const after = await tasks("list", "--after", "nowhere");
  expect([after.code, after.stderr.includes("no place in such a list")]).toEqual([1, true]);
});
