/** Counters and objects of a real application: the last seat from five locations, and methods by HTTP. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

const LOCATIONS = ["DE", "JP", "US", "BR", "AU"];
const SEATS = 1000;
const ASKED_TOO_MUCH = 50;
/** Calls that each location has open at once. */
const AT_ONCE = 20;

let project: TemporaryProject;
let app: TestApp;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "theatre" };\n',
    "handlers/seats.ts": `import { Counter, Objects, Table, abort } from "@radical/sdk";
const seats = new Counter("seats");
const tickets = new Table<string>("tickets");
export function open(night: string, count: i32): void { seats.put(night, count); }
export function left(night: string): i64 { return seats.get(night); }
export function take(night: string, ticket: string): void {
  if (!seats.atLeast(night, 1)) abort(409, "full", "There is no seat left.");
  seats.add(night, -1);
  tickets.put(ticket, night);
}
export class Thread {
  id: string = "";
  posts: string[] = [];
  create(): void { this.save(); }
  reply(text: string): i32 { this.posts.push(text); this.save(); return this.posts.length; }
  all(): string[] { return this.posts; }
}
const threads = new Objects<Thread>("threads");
`,
  });
  app = await startTestApp({
    project: project.folder,
    locations: Object.fromEntries(LOCATIONS.map((location) => [location, 0])),
  });
});
afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

test("1,000 seats are sold from five locations: exactly 1,000", async () => {
  await app.result("open", { night: "friday", count: SEATS });
  let next = 0;
  const answers: string[] = [];
  const clerk = async (location: string): Promise<void> => {
    while (next < SEATS + ASKED_TOO_MUCH) {
      const ticket = `ticket-${next++}`;
      const { status, error } = await app.call("take", { night: "friday", ticket }, { location });
      answers.push(status === 200 ? "taken" : (error?.code ?? "none"));
    }
  };
  await Promise.all(LOCATIONS.flatMap((location) => Array.from({ length: AT_ONCE }, () => clerk(location))));
  const count = (wanted: string): number => answers.filter((answer) => answer === wanted).length;
  expect([count("taken"), count("full"), answers.length]).toEqual([SEATS, ASKED_TOO_MUCH, SEATS + ASKED_TOO_MUCH]);
  expect(await app.result("left", { night: "friday" })).toBe(0);
});

test("methods of objects are called by HTTP, with the id in the path", async () => {
  const call = async (method: string, path: string, body?: object): Promise<readonly unknown[]> => {
    const response = await fetch(`${app.url}/api/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { result, error } = (await response.json()) as {
      readonly result?: unknown;
      readonly error?: { readonly code: string };
    };
    return [response.status, error?.code ?? result];
  };
  expect(await call("POST", "Thread/a%2Fb/reply", { text: "x" })).toEqual([404, "not_found"]);
  expect(await call("POST", "Thread/a%2Fb/create")).toEqual([200, null]);
  expect(await call("POST", "Thread/a%2Fb/create")).toEqual([409, "already_exists"]);
  expect(await call("POST", "Thread/a%2Fb/reply", { text: "x" })).toEqual([200, 1]);
  expect(await call("GET", "Thread/a%2Fb/all")).toEqual([200, ["x"]]);
  expect(await call("GET", "Thread/a%2Fb/reply?text=y")).toEqual([405, "method_not_allowed"]);
  expect(await call("POST", "Thread/a%2Fb/reply", { id: "c", text: "y" })).toEqual([400, "unknown_argument"]);
  expect(await call("POST", `Thread/${"a".repeat(513)}/create`)).toEqual([400, "invalid_argument"]);
  expect(await call("POST", "Thread.reply", { id: "a/b", text: "y" })).toEqual([404, "unknown_handler"]);
  expect(await app.result("Thread.reply", { id: "a/b", text: "y" })).toBe(2);
});
