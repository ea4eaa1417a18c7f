/** Tasks of a real application: asked for at a location or near storage, run at the primary. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const HANDLERS = `import { Table, abort, cancel, enqueue, log } from "@radical/sdk";

const orders = new Table<string>("orders");
const sent = new Table<string[]>("sent");

/** @internal */
export function tell(to: string, text: string): void {
  const before = sent.get(to);
  const all: string[] = before == null ? [] : before;
  all.push(text);
  sent.put(to, all);
  log(\`told \${to} \${text}\`);
}

export function order(id: string, buyer: string, count: i32): string {
  orders.put(id, buyer);
  for (let i = 1; i <= count; i++) enqueue(tell(buyer, \`\${id}.\${i}\`), { key: buyer });
  return enqueue(tell(buyer, \`\${id} reminder\`), { delay: 86_400_000 });
}

/** @nearstorage */
export function orderNear(id: string, buyer: string): string {
  return enqueue(tell(buyer, id), { key: buyer });
}

export function orderAndAbort(buyer: string): void {
  enqueue(tell(buyer, "never"));
  abort(409, "sold_out", "There are no seats.");
}

export function takeBack(id: string): void {
  cancel(id);
}

export function told(to: string): string[] {
  const all = sent.get(to);
  return all == null ? [] : all;
}
`;

const CONFIG = 'export default { name: "tasks" };\n';

let project: TemporaryProject;
let app: TestApp;
const waiting = new Map<string, () => void>();
const heard: string[] = [];

/** Waits for a line of a handler. */
function line(text: string): Promise<void> {
  if (heard.some((one) => one.includes(text))) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(text, resolve);
  return promise;
}

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/shop.ts": HANDLERS });
  app = await startTestApp({
    project: project.folder,
    onEvent: (event) => {
      const text = JSON.stringify(event);
      heard.push(text);
      for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve();
    },
  });
});

afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

test("tasks of one key run once each, in the order of the transactions", async () => {
  await app.result("order", { id: "a", buyer: "ann", count: 3 });
  await app.result("order", { id: "b", buyer: "ann", count: 2 }, { location: "far" });
  await line("told ann b.2");
  expect(await app.result("told", { to: "ann" })).toEqual(["a.1", "a.2", "a.3", "b.1", "b.2"]);
});

test("a task that was asked for near storage runs too, and a repeat of the request asks for none", async () => {
  const again = { idempotencyKey: "a-key-of-16-characters" };
  const id = await app.result("orderNear", { id: "c", buyer: "bob" }, again);
  expect(await app.result("orderNear", { id: "c", buyer: "bob" }, again)).toBe(id);
  await line("told bob c");
  await app.result("orderNear", { id: "d", buyer: "bob" });
  await line("told bob d");
  expect(await app.result("told", { to: "bob" })).toEqual(["c", "d"]);
});

test("an abort asks for nothing", async () => {
  expect(await app.call("orderAndAbort", { buyer: "eve" })).toMatchObject({ status: 409 });
  await app.result("order", { id: "e", buyer: "eve", count: 1 });
  await line("told eve e.1");
  expect(await app.result("told", { to: "eve" })).toEqual(["e.1"]);
});

test("a task that waits is taken back", async () => {
  const id = await app.result<string>("order", { id: "f", buyer: "fay", count: 0 });
  expect(id).toMatch(/^[89a-f][0-9a-f]{31}$/);
  expect(await app.call("takeBack", { id })).toMatchObject({ status: 200 });
  expect(await app.call("takeBack", { id: "nobody" })).toMatchObject({ status: 500 });
});

test("a test calls a handler that has no route", async () => {
  await app.result("tell", { to: "gus", text: "hello" });
  expect(await app.result("told", { to: "gus" })).toEqual(["hello"]);
});
