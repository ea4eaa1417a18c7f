/**
 * Locations that come and go: two builds of an application at once, and isolates that end between the primary's reply and
 * their followup. Real workerd, one for each location, and a real LVI server as its own process.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FOLLOWUP_PATH, LVI_PATH } from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type AppBuild, buildApp } from "../src/build/build-app.ts";
import { bundleOwnWorker } from "../src/build/bundle.ts";
import { startCompiler } from "../src/build/compile.ts";
import { loadProject } from "../src/config/load-config.ts";
import type { DeploymentKey } from "../src/dev/deployment-key.ts";
import { type LviServerProcess, startLviServer } from "../src/dev/lvi-server-process.ts";
import { type Edge, startEdge, type WorkerFiles } from "../src/dev/miniflare.ts";
import { registerModule } from "../src/dev/register-module.ts";
import { createFaultLink, type FaultLink } from "./fault-link.ts";
import { readIntents } from "./storage.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
const KEY: DeploymentKey = { id: "test", secret: randomBytes(32).toString("hex") };
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };

interface Answer {
  readonly status: number;
  readonly result: unknown;
  readonly code: string | null;
  readonly path: string | null;
  readonly retryAfter: string | null;
}

let folder: string;
let older: AppBuild;
let newer: AppBuild;
let server: LviServerProcess;
let faults: FaultLink;
const edges = new Map<string, Edge>();
const closing: (() => Promise<void>)[] = [];
const logged: Readonly<Record<string, unknown>>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-locations-"));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(BANK), compiler, { optimize: false });
  await compiler.close();
  older = app!;
  newer = anotherBuildOf(older, 1);
  faults = createFaultLink();
  server = await startLviServer({
    stateFolder: folder,
    key: KEY,
    // No timer ends an intent here.
    followupTimeoutMs: 600_000,
    onStarted: ({ address }) => registerModule(address, KEY, older),
    onDied: ({ stderr }) => expect.fail(stderr),
    onLog: (line) => logged.push(line),
  });
  await start("here", older);
  await start("there", newer);
});
afterEach(() => {
  faults.decide = () => "pass";
});
afterAll(async () => {
  for (const close of closing) await close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The same handlers under another hash. */
function anotherBuildOf(app: AppBuild, number: number): AppBuild {
  const limits = { ...app.content.limits, accesses: app.content.limits.accesses + number };
  const content = { ...app.content, limits };
  return { ...app, content, manifest: { ...app.manifest, limits, module: moduleHash(content) } };
}

function filesOf({ worker, content, manifest }: AppBuild): WorkerFiles {
  const { wasm, rwWasm } = content;
  return { worker, wasm, rwWasm, manifest: JSON.stringify(manifest), cache: manifest.cache.kind, assets: null };
}

async function start(name: string, app: AppBuild): Promise<void> {
  const link = await faults.link({ name, roundTripMs: 0 }, () => server.address());
  const edge = await startEdge(
    {
      host: "127.0.0.1",
      port: 0,
      locations: [{ name, primaries: [link.address], nearStorageOnly: false }],
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key: KEY,
      routerWorker: await bundleOwnWorker("dev/router.worker"),
      cacheFolder: join(folder, name),
      onLog: () => undefined,
    },
    filesOf(app),
  );
  edges.set(name, edge);
  closing.push(async () => {
    await edge.close();
    await link.close();
  });
}

async function call(at: string, handler: string, args: unknown, key: string = crypto.randomUUID()): Promise<Answer> {
  const response = await fetch(`${edges.get(at)!.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify(args),
    headers: { "content-type": "application/json", "idempotency-key": key },
  });
  const body = (await response.json()) as { result?: unknown; error?: { code: string } };
  return {
    status: response.status,
    result: body.result,
    code: body.error?.code ?? null,
    path: response.headers.get("x-radical-path"),
    retryAfter: response.headers.get("retry-after"),
  };
}

test("a build that the primary does not have: 503 with Retry-After, nothing held; two builds at once are one application", async () => {
  const early = await call("there", "increment", { name: "both" });
  expect(early).toMatchObject({ status: 503, code: "unknown_module" });
  expect(Number(early.retryAfter)).toBeGreaterThan(0);
  expect(await call("here", "increment", { name: "both" })).toMatchObject({ result: 1, path: "speculative" });

  await registerModule(server.address(), KEY, newer);
  for (const [index, at] of ["there", "here", "there", "there", "here"].entries())
    expect(await call(at, "increment", { name: "both" })).toMatchObject({ status: 200, result: index + 2 });

  // What the older build has promised, the primary completes with that build, while the newer one waits for it.
  faults.decide = ({ path, location }) => (path === FOLLOWUP_PATH && location === "here" ? "lose-request" : "pass");
  expect(await call("here", "increment", { name: "promised" })).toMatchObject({ result: 1, path: "speculative" });
  expect(await call("there", "increment", { name: "promised" })).toMatchObject({ result: 2 });
  expect(logged.filter(({ event }) => event === "determinism_alarm")).toEqual([]);
});

test("an isolate that ends after the primary's reply and before its followup: the execution has happened, once", async () => {
  const key = crypto.randomUUID();
  const name = "evicted";
  const answers = (): number => faults.answered.filter(({ path }) => path === LVI_PATH).length;
  expect(await call("here", "count", { name })).toMatchObject({ result: 0 });

  // The reply is on its way, and never comes.
  const before = answers();
  faults.decide = ({ path, location }) => (path === LVI_PATH && location === "here" ? "swallow-reply" : "pass");
  const cut = call("here", "increment", { name }, key).catch(() => null);
  await expect.poll(answers, SOON).toBe(before + 1);
  await edges.get("here")!.reload(filesOf(older));
  expect(await cut).toBeNull();
  faults.decide = () => "pass";

  // Nobody waits for what has ended, and its client learns what became of it.
  expect(await call("there", "increment", { name })).toMatchObject({ result: 2 });
  for (const at of ["here", "there"]) expect(await call(at, "increment", { name }, key)).toMatchObject({ result: 1 });
  expect(await call("here", "count", { name })).toMatchObject({ result: 2 });
});

test("an isolate that ends after its answer and before its followup: what was told is there", async () => {
  const name = "answered";
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const { promise: never, resolve: end } = Promise.withResolvers<"lose-request">();
  faults.decide = ({ path, location }) => {
    if (path !== FOLLOWUP_PATH || location !== "here") return "pass";
    isHeld();
    return never;
  };
  expect(await call("here", "increment", { name })).toMatchObject({ result: 1, path: "speculative" });
  await held;
  await edges.get("here")!.reload(filesOf(older));
  end("lose-request");
  faults.decide = () => "pass";
  expect(await call("there", "count", { name })).toMatchObject({ result: 1 });
  expect(await call("here", "increment", { name })).toMatchObject({ result: 2 });
  expect(await call("there", "count", { name })).toMatchObject({ result: 2 });
  await expect.poll(() => readIntents(folder).pending, SOON).toEqual([]);
});
