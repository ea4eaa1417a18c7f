/**
 * Results before their confirmation in `radical dev`, through all of its parts: the client for pages, the one port and workerd.
 * The link to the primary holds requests.
 */
import { loadDeploymentKeys, signedHeaders } from "@radical/admin";
import { type Health, HEALTH_PATH, LVI_PATH } from "@radical/protocol";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type CallOptions, type TestApp, startTestApp } from "../src/testing.ts";
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
  timeline(args: object): Promise<{ readonly posts: readonly Post[] }>;
  readonly speculate: { like(args: object): Speculation; unfollow(args: object): Speculation };
}

let app: TestApp;
let faults: FaultLink;
let createClient: (options: object) => Client;
let client: Client;
let zoe: CallOptions;

beforeAll(async () => {
  faults = createFaultLink();
  faults.decide = withoutUpdates;
  app = await startTestApp({ project: SOCIAL, link: faults.link, seeded: true });
  // The build has written it, and the page imports it.
  const module = (await import(/* @vite-ignore */ pathToFileURL(`${SOCIAL}/.radical/client.ts`).href)) as {
    readonly createClient: (options: object) => Client;
  };
  ({ createClient } = module);
  zoe = await register("zoe");
  client = createClient({ baseUrl: app.url, ...zoe });
});
afterAll(() => app?.stop());
beforeEach(() => {
  faults.decide = withoutUpdates;
});

/** Calls with the cookie of a new account. */
async function register(name: string): Promise<CallOptions> {
  const { headers } = await app.call("register", { name, password: "correct horse" });
  const [cookie = ""] = headers.getSetCookie().map((line) => line.split(";", 1)[0]!);
  return { headers: { cookie } };
}

/** A post of one's own, whose items the location near has in its cache. */
async function publish(): Promise<string> {
  const id = await app.result<string>("post", { text: "Hello" }, zoe);
  await expect.poll(async () => (await app.call("timeline", {}, zoe)).path, SOON).toBe("speculative");
  return id;
}

type Shown = NonNullable<Health["shown"]>;

/** The verdicts that the location near has counted. */
async function shownSoFar(): Promise<Shown> {
  const { location } = await loadDeploymentKeys(app.stateFolder);
  const headers = signedHeaders(location, "GET", HEALTH_PATH, new Uint8Array());
  const health = (await (await fetch(app.url + HEALTH_PATH, { headers })).json()) as Health;
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
  const speculation = client.speculate.like({ id });
  expect(await speculation.first).toBe(1);
  release();
  expect(await speculation.confirmed).toBe(1);
  expect((await client.timeline({})).posts.find((post) => post.id === id)?.likes).toBe(1);
  await counted("confirmed", before);
});

test("a stream that breaks off after its first line is repeated, and the call has happened once", async () => {
  const id = await publish();
  const release = hold();
  const broken = { requests: 0 };
  const breaking = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (broken.requests++ > 0) return response;
    const reader = response.body!.getReader();
    const { value = new Uint8Array() } = await reader.read();
    release();
    return new Response(value.slice(0, value.indexOf("\n".charCodeAt(0)) + 1), response);
  };
  const speculation = createClient({ baseUrl: app.url, ...zoe, fetch: breaking, maxWaitMs: 1 }).speculate.like({ id });
  expect([await speculation.first, await speculation.confirmed, broken.requests]).toEqual([1, 1, 2]);
  const executions = (): unknown[] =>
    app.events.flatMap((event) => (event.event === "request" && event.handler === "like" ? [event.execution] : []));
  // Both lines of the log name one execution.
  await expect.poll(() => new Set(executions().slice(-2)).size, SOON).toBe(1);
  expect((await client.timeline({})).posts.find((post) => post.id === id)?.likes).toBe(1);
});

test("a result on a stale cache is corrected", async () => {
  const id = await publish();
  const yan = await register("yan");
  expect(await app.result("like", { id }, { ...yan, location: "far" })).toBe(1);
  const before = await shownSoFar();
  const events: unknown[] = [];
  // On a busy machine the reply may come before the run has ended, and nothing would be shown.
  const release = hold();
  for await (const event of client.speculate.like({ id })) {
    events.push(event);
    release();
  }
  expect(events).toEqual([
    { kind: "speculative", result: 1 },
    { kind: "corrected", result: 2 },
  ]);
  await counted("corrected", before);
});

test("a result of which nothing becomes has the error of the call", async () => {
  const follow = async (): Promise<string | null> => (await app.call("follow", { name: "ada" }, zoe)).path;
  await expect.poll(follow, SOON).toBe("speculative");
  await app.result("logout", {}, { ...zoe, location: "far" });
  const before = await shownSoFar();
  const release = hold();
  const speculation = client.speculate.unfollow({ name: "ada" });
  expect(await speculation.first).toEqual(expect.any(Number));
  release();
  await expect(speculation.confirmed).rejects.toMatchObject({ code: "not_logged_in", status: 401 });
  // The log has the path and the status of the answer, as of every request.
  const lines = (): unknown[] =>
    app.events.filter((event) => event.event === "request" && event.handler === "unfollow");
  await expect
    .poll(lines, SOON)
    .toMatchObject([{ path: "near-storage", reason: "stale", status: 401, verdict: "failed" }]);
  await counted("failed", before);
});
