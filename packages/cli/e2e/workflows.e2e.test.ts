/** Workflows of a real application: started, asked for and cancelled over HTTP, with a bank that fails, on a server that is killed. */
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadDeploymentKeys, privateKeyText } from "@radical/admin";
import type { ListedWorkflow } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { Bank } from "./fake-bank.ts";
import { type Finished, type TemporaryProject, createProject, radical } from "./radical-process.ts";

const fixture = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const TICKETS = fixture("fixtures/tickets");
/** Pi, and the middles of points. */
const PARALLEL = fixture("../../analyzer/fixtures/workflows/handlers");
const SLOW = { timeout: 180_000 };
const ANN = { "x-name": "ann" };

let project: TemporaryProject;
let bank: Bank;
let app: TestApp;
const waiting = new Map<string, () => void>();
const heard: string[] = [];

/** Waits for a text of an event, from the place `from` on. */
function event(text: string, from = 0): Promise<void> {
  if (heard.slice(from).some((one) => one.includes(text))) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(text, resolve);
  return promise;
}

beforeAll(async () => {
  project = await createProject({});
  cpSync(TICKETS, project.folder, { recursive: true });
  cpSync(PARALLEL, `${project.folder}/handlers`, { recursive: true });
  bank = new Bank();
  const BANK = await bank.start();
  app = await startTestApp({
    project: project.folder,
    vars: { BANK },
    onEvent: (each) => {
      const text = JSON.stringify(each);
      heard.push(text);
      for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve();
    },
  });
}, SLOW.timeout);

afterAll(async () => {
  await app?.stop();
  bank?.close();
  await project?.remove();
});

interface Working {
  readonly workflow: string;
  readonly state: string;
}

interface Told {
  readonly status: number;
  readonly body: Partial<Working> & { readonly result?: unknown; readonly error?: { readonly code: string } };
}

/** Starts one, and does not wait for its end. */
async function started(handler: string, args: unknown, key?: string): Promise<Working & { readonly path: string }> {
  const response = await fetch(`${app.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait=0", ...ANN, ...(key && { "idempotency-key": key }) },
    body: JSON.stringify(args),
  });
  const body = (await response.json()) as Working;
  expect([response.status, response.headers.get("location")]).toEqual([202, `/api/${handler}/${body.workflow}`]);
  return { ...body, path: response.headers.get("location")! };
}

async function ask(path: string, method = "GET", headers: Readonly<Record<string, string>> = ANN): Promise<Told> {
  const response = await fetch(`${app.url}${path}`, { method, headers });
  return { status: response.status, body: (await response.json()) as Told["body"] };
}

/** Asks until the workflow has ended. */
async function ended(path: string): Promise<Told> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it is asked until it is so
    const answer = await ask(path, "GET", { ...ANN, prefer: "wait=60" });
    if (answer.status !== 202) return answer;
  }
}

/** Asks until the workflow stands so. */
async function untilState(path: string, wanted: string): Promise<void> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it is asked until it is so
    const { status, body } = await ask(path);
    expect(status).toBe(202);
    if (body.state === wanted) return;
  }
}

function result<T>(handler: string, args: unknown): Promise<T> {
  return app.result<T>(handler, args, { headers: ANN });
}

describe("a workflow", () => {
  test("ends while its client waits: each step once, and the mail after them", SLOW, async () => {
    const mailed = new Promise<void>((resolve) => (bank.onMail = resolve));
    const order = await result<string>("buy", { seat: "B1", card: "good" });
    expect(bank.of(order)).toBe(1);
    expect(await result("receiptOf", { order })).toBe(`receipt of ${order}`);
    expect(await result("ownerOf", { seat: "B1" })).toBe("ann");
    await mailed;
    expect(bank.mails).toEqual(["ann"]);
  });

  test("that fails undoes what it has done, and tells why", SLOW, async () => {
    const answer = await app.call("buy", { seat: "B2", card: "declined" }, { headers: ANN });
    expect([answer.status, answer.error?.code, answer.error?.message]).toEqual([
      402,
      "declined",
      expect.stringContaining("the card is blocked"),
    ]);
    await event("released B2");
    expect(await result("ownerOf", { seat: "B2" })).toBe("nobody");
    // The seat is another one's: the step has nothing to undo.
    const taken = await app.call("buy", { seat: "B1", card: "good" }, { headers: { "x-name": "bob" } });
    expect([taken.status, taken.error?.code]).toEqual([409, "taken"]);
    expect(await result("ownerOf", { seat: "B1" })).toBe("ann");
  });

  test("whose bank loses its answer charges once", SLOW, async () => {
    const { path } = await started("buy", { seat: "B3", card: "lost" });
    const { status, body } = await ended(path);
    expect(status).toBe(200);
    expect(bank.of(body.result as string)).toBe(1);
  });

  test("waits for a signal, is its caller's, and starts once for a key", SLOW, async () => {
    const { workflow, path } = await started("buy", { seat: "A1", card: "good" }, "one-order");
    await untilState(path, "waiting");
    expect((await ask(path, "GET", { "x-name": "bob" })).body).toMatchObject({ error: { code: "unknown_workflow" } });
    expect((await started("buy", { seat: "A1", card: "good" }, "one-order")).workflow).toBe(workflow);
    await result("approve", { workflow, by: "boss" });
    const { status, body } = await ended(path);
    expect(status).toBe(200);
    const again = await app.call("buy", { seat: "A1", card: "good" }, { headers: ANN, idempotencyKey: "one-order" });
    expect([again.status, again.result]).toEqual([200, body.result]);
    expect(bank.of(body.result as string)).toBe(1);
  });

  test("is cancelled by its client, and by a handler", SLOW, async () => {
    const byClient = await started("buy", { seat: "A2", card: "good" });
    await untilState(byClient.path, "waiting");
    expect((await ask(byClient.path, "DELETE")).status).toBeOneOf([202, 409]);
    // Its id has the first bit only if it is made of a key.
    const byHandler = [
      await started("buy", { seat: "A3", card: "good" }),
      await started("buy", { seat: "A4", card: "good" }, "a4"),
    ];
    for (const { workflow, path } of byHandler) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await untilState(path, "waiting");
      // oxlint-disable-next-line no-await-in-loop -- as above
      await result("giveUp", { workflow });
    }
    for (const { path } of [byClient, ...byHandler])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await ended(path)).toMatchObject({ status: 409, body: { error: { code: "cancelled" } } });
    const owners = await Promise.all(["A2", "A3", "A4"].map((seat) => result("ownerOf", { seat })));
    expect(owners).toEqual(["nobody", "nobody", "nobody"]);
  });

  test("calls other workflows, and fails as one of them does", SLOW, async () => {
    const { path } = await started("buyAll", { wanted: ["C1", "C2", "C3"], card: "good" });
    const { status, body } = await ended(path);
    expect([status, new Set(body.result as string[]).size]).toEqual([200, 3]);
    const failed = await started("buyAll", { wanted: ["C4", "C1"], card: "good" });
    expect(await ended(failed.path)).toMatchObject({ status: 409, body: { error: { code: "taken" } } });
    expect(await result("ownerOf", { seat: "C1" })).toBe("ann");
  });

  test("is asked for by a handler, at once or later, and given up before it begins", SLOW, async () => {
    const id = await result<string>("buyLater", { seat: "D1", card: "good", delay: 0 });
    expect(await ended(`/api/buy/${id}`)).toMatchObject({ status: 200 });
    const later = await result<string>("buyLater", { seat: "D2", card: "good", delay: 86_400_000 });
    expect(await ask(`/api/buy/${later}`)).toEqual({ status: 202, body: { workflow: later, state: "waiting" } });
    await result("giveUp", { workflow: later });
    const cancelled = { status: 409, body: { error: { code: "cancelled" } } };
    expect(await ask(`/api/buy/${later}`)).toMatchObject(cancelled);
    const last = await result<string>("buyLater", { seat: "D3", card: "good", delay: 86_400_000 });
    // By its client, who finds it as such afterwards.
    for (const method of ["DELETE", "GET", "DELETE"])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await ask(`/api/buy/${last}`, method)).toMatchObject(cancelled);
  });

  test("goes on with an empty journal", SLOW, async () => {
    const { path } = await started("rounds", { name: "laps", left: 20 });
    expect(await ended(path)).toMatchObject({ status: 200, body: { result: 20 } });
  });
});

describe("an operator", () => {
  const cli = (...args: readonly string[]): Promise<string> => command("workflows", ...args);
  const finished = async (...args: readonly string[]): Promise<Finished> => {
    const { administration } = await loadDeploymentKeys(app.stateFolder);
    const { host, port } = app.lviServer.address();
    return radical([...args, "--primary", `http://${host}:${port}`, "--project", project.folder], {
      env: { RADICAL_ADMIN_KEYS: privateKeyText(administration) },
    });
  };
  const command = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await finished(...args);
    expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };
  const listed = async (...args: readonly string[]): Promise<readonly ListedWorkflow[]> =>
    (JSON.parse(await cli("list", "--json", ...args)) as { readonly workflows: readonly ListedWorkflow[] }).workflows;

  test("cancels all workflows of a name only if it is said so, and tries all stuck ones again", SLOW, async () => {
    const begun = await Promise.all(["A7", "A8"].map((seat) => started("buy", { seat, card: "good" })));
    await Promise.all(begun.map(({ path }) => untilState(path, "waiting")));
    expect(await finished("workflows", "cancel", "--handler", "buy")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Cancel all workflows of buy?") as unknown,
    });
    expect(JSON.parse(await cli("cancel", "--handler", "nothing", "--yes", "--json"))).toMatchObject({ results: [] });
    const told = JSON.parse(await cli("cancel", "--handler", "buy", "--yes", "--json")) as {
      readonly results: readonly { readonly id: string; readonly outcome: string }[];
    };
    expect(told.results.map(({ id }) => id).toSorted()).toEqual(begun.map(({ workflow }) => workflow).toSorted());
    expect(new Set(told.results.map(({ outcome }) => outcome))).toEqual(new Set(["done"]));
    for (const { body } of await Promise.all(begun.map(({ path }) => ended(path))))
      expect(body.error?.code).toBe("cancelled");
    expect(JSON.parse(await cli("retry", "--all", "--json"))).toEqual({ action: "retry", results: [], stopped: false });
  });

  test("sees what workflows wait for, and their arguments only if asked for", SLOW, async () => {
    const { workflow, path } = await started("buy", { seat: "A9", card: "good" });
    await untilState(path, "waiting");
    expect(await listed()).toMatchObject([{ id: workflow, handler: "buy", state: "waiting", entries: 2 }]);
    const [head, line] = (await cli("list")).split("\n");
    expect([head, line]).toEqual([
      expect.stringMatching(/^id +state +started +workflow +timer/),
      expect.stringMatching(/ waiting .* buy +in 1d/),
    ]);
    const timeline = await cli("show", workflow);
    expect(timeline).toContain("→ 0 start hold\n  … waits for 0 start hold");
    expect(timeline).toContain("← 0 start hold: done\n  → 1 undo release\n  → 2 signal approved");
    expect(timeline).not.toContain("A9");
    expect(await cli("show", workflow, "--arguments")).toContain('{"seat":"A9","card":"good"}');
    await cli("cancel", workflow);
    expect(await ended(path)).toMatchObject({ status: 409, body: { error: { code: "cancelled" } } });
    expect(await cli("show", workflow)).toContain("cancelled: The workflow was cancelled.");
  });

  test("tries a stuck workflow again, and gives it up", SLOW, async () => {
    const { workflow, path } = await started("stray", { seat: "B9" });
    await untilState(path, "stuck");
    expect(await listed("--state", "stuck")).toMatchObject([{ id: workflow, error: { code: expect.any(String) } }]);
    const from = heard.length;
    await cli("retry", workflow);
    // Its code is the same, so it is stuck again.
    await event("workflow_stuck", from);
    expect(await result("ownerOf", { seat: "B9" })).toBe("ann");
    await cli("cancel", workflow);
    expect(await ended(path)).toMatchObject({ status: 409, body: { error: { code: "cancelled" } } });
    expect(await result("ownerOf", { seat: "B9" })).toBe("nobody");
    expect(await listed()).toEqual([]);
  });

  test("cancels a workflow that has not begun", SLOW, async () => {
    const later = await result<string>("buyLater", { seat: "D4", card: "good", delay: 86_400_000 });
    await cli("cancel", later);
    expect(await ended(`/api/buy/${later}`)).toMatchObject({ status: 409, body: { error: { code: "cancelled" } } });
    expect(await cli("show", later)).toContain("cancelled: The workflow was cancelled.");
  });

  test("begins a workflow that has a schedule", SLOW, async () => {
    expect(await command("schedules", "run", "yearly")).toContain("yearly is called");
    await event("years 1");
  });
});

describe("many steps at once", () => {
  test("give pi", SLOW, async () => {
    const { path } = await started("pi", { tasks: 300, points: 2_000 });
    const { status, body } = await ended(path);
    expect(status).toBe(200);
    // 600,000 darts: the deviation is 0.002.
    expect(Math.abs((body.result as number) - Math.PI)).toBeLessThan(0.05);
  });

  test("find the middles of points", SLOW, async () => {
    const at = (x: number, y: number): { readonly x: number; readonly y: number } => ({ x, y });
    await result("putPoints", { set: "s", part: 0, points: [at(0, 0), at(0, 2), at(100, 100)] });
    await result("putPoints", { set: "s", part: 1, points: [at(2, 0), at(2, 2), at(102, 100), at(101, 103)] });
    const { path } = await started("cluster", { set: "s", first: [at(0, 0), at(1, 1)], rounds: 50 });
    const { status, body } = await ended(path);
    expect([status, body.result]).toEqual([200, [at(1, 1), at(101, 101)]]);
  });
});

test("a server that is killed loses no workflow, and cancels those that it has not read yet", SLOW, async () => {
  const [approved, cancelled] = [
    await started("buy", { seat: "A7", card: "good" }),
    await started("buy", { seat: "A8", card: "good" }),
  ];
  await Promise.all([approved, cancelled].map(({ path }) => untilState(path, "waiting")));
  const from = heard.length;
  process.kill(app.lviServer.pid()!, "SIGKILL");
  await event('"event":"server_started"', from);
  await result("giveUp", { workflow: cancelled.workflow });
  await result("approve", { workflow: approved.workflow, by: "boss" });
  const { status, body } = await ended(approved.path);
  expect([status, bank.of(body.result as string)]).toEqual([200, 1]);
  expect(await ended(cancelled.path)).toMatchObject({ status: 409, body: { error: { code: "cancelled" } } });
  expect(await result("ownerOf", { seat: "A8" })).toBe("nobody");
});
