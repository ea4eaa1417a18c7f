/**
 * Results before their confirmation in `radical dev`, through all of its parts: the client for pages, the one port and workerd.
 * The link to the primary holds requests.
 */
import { type Health, HEALTH_PATH, LVI_PATH } from "@radical/protocol";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { createFaultLink, type FaultLink, withoutUpdates } from "./fault-link.ts";

const SOCIAL = fileURLToPath(new URL("../../../templates/social", import.meta.url));

/** A bounded poll of a condition, not a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };

interface Post {
  readonly id: string;
  readonly likes: number;
}
interface Speculation extends AsyncIterable<unknown> {
  readonly first: Promise<number>;
  readonly confirmed: Promise<number>;
}
interface Client {
  login(args: object): Promise<{ readonly token: string }>;
  timeline(args: object): Promise<{ readonly posts: readonly Post[] }>;
  readonly speculate: { like(args: object): Speculation; unfollow(args: object): Speculation };
}

let app: TestApp;
let faults: FaultLink;
let createClient: (options: object) => Client;
let client: Client;
let token: string;

beforeAll(async () => {
  faults = createFaultLink();
  faults.decide = withoutUpdates;
  app = await startTestApp({ project: SOCIAL, link: faults.link, seeded: true });
  // The build has written it for the page.
  const module = (await import(/* @vite-ignore */ pathToFileURL(`${SOCIAL}/public/client.js`).href)) as {
    readonly createClient: (options: object) => Client;
  };
  ({ createClient } = module);
  client = createClient({ baseUrl: app.url });
  const registered = await app.result<{ token: string }>("register", { name: "zoe", password: "correct horse" });
  token = registered.token;
});
afterAll(() => app?.stop());
beforeEach(() => {
  faults.decide = withoutUpdates;
});

/** A post of one's own, whose items the location near has in its cache. */
async function publish(): Promise<string> {
  const id = await app.result<string>("post", { token, text: "Hello" });
  await expect.poll(async () => (await app.call("timeline", { token })).path, SOON).toBe("speculative");
  return id;
}

type Shown = NonNullable<Health["shown"]>;

/** The verdicts that the location near has counted. */
async function shownSoFar(): Promise<Shown> {
  const health = (await (await fetch(app.url + HEALTH_PATH)).json()) as Health;
  return health.shown!;
}

/** Settles when the location has counted one more of these. */
async function counted(verdict: string, before: Shown): Promise<void> {
  await expect.poll(shownSoFar, SOON).toEqual({ ...before, [verdict]: before[verdict]! + 1 });
}

/** Holds LVI requests until released. */
function hold(): () => void {
  const released = Promise.withResolvers<void>();
  faults.decide = async (request) => {
    if (request.path === LVI_PATH) await released.promise;
    return withoutUpdates(request);
  };
  return released.resolve;
}

test("the first result is there while nothing has reached the primary; the answer follows", async () => {
  const id = await publish();
  const before = await shownSoFar();
  const release = hold();
  const speculation = client.speculate.like({ token, id });
  expect(await speculation.first).toBe(1);
  release();
  expect(await speculation.confirmed).toBe(1);
  expect((await client.timeline({ token })).posts.find((post) => post.id === id)?.likes).toBe(1);
  await counted("confirmed", before);
});

test("a stream that breaks off after its first line is repeated, and the call has happened once", async () => {
  const id = await publish();
  const broken = { requests: 0 };
  const breaking = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (broken.requests++ > 0) return response;
    const reader = response.body!.getReader();
    const { value = new Uint8Array() } = await reader.read();
    // On a busy machine both lines come at once.
    return new Response(value.slice(0, value.indexOf("\n".charCodeAt(0)) + 1), response);
  };
  const speculation = createClient({ baseUrl: app.url, fetch: breaking, maxWaitMs: 1 }).speculate.like({ token, id });
  expect([await speculation.first, await speculation.confirmed, broken.requests]).toEqual([1, 1, 2]);
  const executions = (): unknown[] =>
    app.events.flatMap((event) => (event.event === "request" && event.handler === "like" ? [event.execution] : []));
  // Both lines of the log name one execution.
  await expect.poll(() => new Set(executions().slice(-2)).size, SOON).toBe(1);
  expect((await client.timeline({ token })).posts.find((post) => post.id === id)?.likes).toBe(1);
});

test("a result on a stale cache is corrected", async () => {
  const id = await publish();
  const other = await app.result<{ token: string }>("register", { name: "yan", password: "correct horse" });
  expect(await app.result("like", { token: other.token, id }, { location: "far" })).toBe(1);
  const before = await shownSoFar();
  const events: unknown[] = [];
  for await (const event of client.speculate.like({ token, id })) events.push(event);
  expect(events).toEqual([
    { kind: "speculative", result: 1 },
    { kind: "corrected", result: 2 },
  ]);
  await counted("corrected", before);
});

test("a result of which nothing becomes has the error of the call", async () => {
  const follow = async (): Promise<string | null> => (await app.call("follow", { token, name: "ada" })).path;
  await expect.poll(follow, SOON).toBe("speculative");
  await app.result("logout", { token }, { location: "far" });
  const before = await shownSoFar();
  const speculation = client.speculate.unfollow({ token, name: "ada" });
  expect(await speculation.first).toEqual(expect.any(Number));
  await expect(speculation.confirmed).rejects.toMatchObject({ code: "not_logged_in", status: 401 });
  // The log has the path and the status of the answer, as of every request.
  const lines = (): unknown[] =>
    app.events.filter((event) => event.event === "request" && event.handler === "unfollow");
  await expect
    .poll(lines, SOON)
    .toMatchObject([{ path: "near-storage", reason: "stale", status: 401, verdict: "failed" }]);
  await counted("failed", before);
});
