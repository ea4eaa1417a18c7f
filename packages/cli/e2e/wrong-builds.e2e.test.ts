/**
 * Builds that are wrong: a manifest that calls writing handlers read-only, and a set that leaves units out. And clients that
 * repeat by an id that they were told. Real workerd, and a real LVI server as its own process.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LVI_PATH, type ServerStatus, STATUS_PATH } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import {
  bundleRouter,
  type LviServerProcess,
  startLviServer,
  type Edge,
  startEdge,
  registerModule,
} from "@radical/local";
import { newDeploymentKeys, signedRequest } from "@radical/admin";
import { createFaultLink, type FaultLink, withoutUpdates } from "./fault-link.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

const KEYS = newDeploymentKeys("test");

const HANDLERS = `import { Table } from "@radical/sdk";

const counts = new Table<i32[]>("counts");

function count(key: string): i32 {
  const found = counts.get(key);
  const before = found == null ? 0 : found[0];
  counts.put(key, [before + 1]);
  return before + 1;
}

export function look(key: string): i32 {
  const found = counts.get(key);
  return found == null ? 0 : found[0];
}

export function sliced(key: string): i32 {
  return count(key);
}

/** The analysis can't follow the date into its key. */
export function recorded(key: string): i32 {
  return count(key + new Date(0).toISOString().slice(0, 0));
}

/** @nearstorage */
export function near(key: string): i32 {
  return count(key);
}

export function given(key: string): i32 {
  return count(key);
}

/**
 * It forgets the write.
 * @readwrite given
 */
function givenSet(key: string): void {
  counts.touch(key);
}

export function tally(key: string): i32 {
  return count(key) + count("all");
}

/**
 * It forgets the sum.
 * @readwrite tally
 */
function tallySet(key: string): void {
  counts.touch(key);
  counts.willPut(key);
}
`;

type Line = Readonly<Record<string, unknown>>;

let project: TemporaryProject;
let folder: string;
let server: LviServerProcess;
let edge: Edge;
let faults: FaultLink;
let closeLinks: (() => Promise<void>)[] = [];
/** What the primary and the locations have logged. */
const primaryLines: Line[] = [];
const edgeLines: Line[] = [];

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": `export default { name: "wrong" };\n`,
    "handlers/wrong.ts": HANDLERS,
  });
  folder = await mkdtemp(join(tmpdir(), "radical-wrong-"));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(project.folder), compiler, { optimize: false });
  await compiler.close();
  const lying = withoutWrites(app!);
  faults = createFaultLink();
  faults.decide = withoutUpdates;
  server = await startLviServer({
    stateFolder: folder,
    keys: KEYS,
    followupTimeoutMs: 600_000,
    onStarted: ({ address }) => registerModule(address, KEYS.administration, lying),
    onDied: ({ stderr }) => expect.fail(stderr),
    onLog: (line) => primaryLines.push(line),
  });
  const names = ["here", "there", "central"];
  const links = await Promise.all(names.map((name) => faults.link({ name, roundTripMs: 0 }, () => server.address())));
  closeLinks = links.map((link) => () => link.close());
  const { wasm, rwWasm } = lying.content;
  edge = await startEdge(
    {
      locations: names.map((name, index) => ({
        name,
        primaries: [links[index]!.address],
        nearStorageOnly: name === "central",
      })),
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key: KEYS.location,
      routerWorker: await bundleRouter(),
      storageFolder: join(folder, "caches"),
      onLog: (_level, message) => edgeLines.push(JSON.parse(message) as Line),
    },
    {
      worker: lying.worker,
      wasm,
      rwWasm,
      manifest: JSON.stringify(lying.manifest),
      cache: lying.manifest.cache.kind,
      assets: null,
    },
  );
});
afterAll(async () => {
  await edge?.close();
  for (const close of closeLinks) await close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
  await project.remove();
});

/** The manifest says of all handlers that they only read. */
function withoutWrites(app: AppBuild): AppBuild {
  const handlers = Object.entries(app.manifest.handlers).map(([name, handler]) => [
    name,
    { ...handler, readOnly: true },
  ]);
  return {
    ...app,
    manifest: { ...app.manifest, handlers: Object.fromEntries(handlers) as typeof app.manifest.handlers },
  };
}

interface Answer {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
  readonly headers: Headers;
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, ...((await response.json()) as Partial<Answer>) };
}

async function get(at: string, handler: string, key: string, headers: Record<string, string> = {}): Promise<Answer> {
  const url = `${edge.url}/api/${handler}?key=${key}`;
  return answerOf(await fetch(url, { headers: { "x-radical-location": at, ...headers } }));
}

async function post(at: string, handler: string, key: string, headers: Record<string, string> = {}): Promise<Answer> {
  const sent = { "content-type": "application/json", "x-radical-location": at, ...headers };
  return answerOf(
    await fetch(`${edge.url}/api/${handler}`, { method: "POST", body: JSON.stringify({ key }), headers: sent }),
  );
}

async function ofPrimary(path: string): Promise<Response> {
  const { host, port } = server.address();
  const signal = AbortSignal.timeout(60_000);
  return signedRequest(`http://${host}:${port}`, KEYS.administration, "GET", path, new Uint8Array(), signal, {});
}

async function alarms(): Promise<number> {
  const text = await (await ofPrimary("/metrics")).text();
  return Number(/^radical_alarms_total\{alarm="wrote_on_get"\} (\d+)$/m.exec(text)![1]);
}

describe("a GET never writes, whatever the manifest says", () => {
  test.each(["sliced", "recorded", "near", "given"])(
    "%s: at a location, with a key, and at the primary",
    async (handler) => {
      const keyed = { "idempotency-key": crypto.randomUUID() };
      for (const [at, headers] of [
        ["here", {}],
        ["here", keyed],
        ["central", {}],
        // Also where it has left an intent.
        ["central", keyed],
      ] as const) {
        const counted = await alarms();
        const { status, error } = await get(at, handler, handler, headers);
        expect([status, error?.code]).toEqual([500, "wrote_on_get"]);
        expect(error?.message).toContain(`"${handler}"`);
        // What the location has ended itself is told to the primary after the answer.
        await expect.poll(async () => (await alarms()) - counted, { timeout: 60_000 }).toBe(1);
      }
      expect(edgeLines).toContainEqual(expect.objectContaining({ level: "error", event: "wrote_on_get", handler }));
      expect(primaryLines).toContainEqual(expect.objectContaining({ event: "wrote_on_get_alarm", handler }));
      expect(await get("there", "look", handler)).toMatchObject({ status: 200, result: 0 });
      // With POST it writes, as it should.
      expect(await post("here", handler, handler)).toMatchObject({ status: 200, result: 1 });
      expect(await get("there", "look", handler)).toMatchObject({ status: 200, result: 1 });
    },
  );

  test("nothing is left of what was refused", async () => {
    expect(await (await ofPrimary(STATUS_PATH)).json()).toMatchObject({ pending: 0 });
  });
});

describe("a set that leaves units out", () => {
  test("is given up at a location after two calls, which the primary has counted", async () => {
    const call = async (): Promise<readonly unknown[]> => {
      const { result, headers } = await post("here", "tally", "mine");
      return [result, headers.get("x-radical-path"), headers.get("x-radical-reason")];
    };
    expect(await call()).toEqual([2, "near-storage", "undeclared"]);
    expect(await call()).toEqual([4, "near-storage", "undeclared"]);
    expect(await call()).toEqual([6, "speculative", "valid"]);
    expect(await call()).toEqual([8, "speculative", "valid"]);
    const told = edgeLines.filter(({ event }) => event === "set_left");
    expect(told).toMatchObject([{ level: "warn", location: "here", handler: "tally" }]);

    const { setsLeft } = (await (await ofPrimary(STATUS_PATH)).json()) as ServerStatus;
    expect(setsLeft).toContainEqual({ module: expect.any(String) as unknown, handler: "tally", times: 2 });
    const text = await (await ofPrimary("/metrics")).text();
    expect(text).toMatch(/^radical_sets_left_total\{module="[0-9a-f]{64}",handler="tally"\} 2$/m);
    const lines = primaryLines.filter(({ event, handler }) => event === "set_left" && handler === "tally");
    expect(lines).toMatchObject([{ level: "warn" }]);
  });
});

describe("a repeat by the id that a 503 has told", () => {
  test("happens once, whether or not the first was carried out", async () => {
    for (const fate of ["lose-request", "lose-reply"] as const) {
      faults.decide = ({ path, location }) => (path === LVI_PATH && location === "here" ? fate : "pass");
      const lost = await post("here", "sliced", fate);
      faults.decide = withoutUpdates;
      expect([lost.status, lost.error?.code]).toEqual([503, "primary_unreachable"]);
      const told = lost.headers.get("x-radical-execution")!;
      expect(told).toMatch(/^execution-[0-9a-f]{32}$/);
      expect(lost.error?.hint).toContain(`"Idempotency-Key: ${told}"`);

      const repeat = { "idempotency-key": told };
      for (const at of ["here", "there", "here"]) {
        expect(await post(at, "sliced", fate, repeat)).toMatchObject({ status: 200, result: 1 });
      }
      expect(await post("there", "sliced", `not ${fate}`, repeat)).toMatchObject({ status: 422 });
      expect(await post("there", "recorded", fate, repeat)).toMatchObject({ status: 422 });
      expect(await post("there", "look", fate)).toMatchObject({ result: 1 });
    }
  });
});
