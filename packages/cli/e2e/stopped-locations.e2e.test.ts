/**
 * Locations that stand still or die while they hold read leases: writers go on, and nothing stale is read afterwards. Each
 * location is a process of its own, with a real workerd, and the LVI server is another one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AppBuild, buildApp } from "../src/build/build-app.ts";
import { startCompiler } from "../src/build/compile.ts";
import { loadProject } from "../src/config/load-config.ts";
import type { Child } from "../src/local/child.ts";
import { LocalDeployment } from "../src/local/deployment.ts";
import { BUILD_FILES } from "../src/local/location-input.ts";
import { registerModule } from "../src/local/register-module.ts";
import { writeBuild } from "../src/local/write-build.ts";
import { descendantsOf } from "./radical-process.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };
const NAMES = ["a", "b", "c"];

interface Answer {
  readonly result?: unknown;
  readonly path: string | null;
}

let buildFolder: string;
let deployment: LocalDeployment;
const locations = new Map<string, { readonly child: Child; readonly url: string }>();

beforeAll(async () => {
  buildFolder = await mkdtemp(join(tmpdir(), "radical-stopped-build-"));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(BANK), compiler, { optimize: false });
  await compiler.close();
  const build: AppBuild = app!;
  await writeBuild(buildFolder, build);
  deployment = await LocalDeployment.temporary("stopped");
  await deployment.startServer({
    followupTimeoutMs: 600_000,
    readLeaseMs: 1_500,
    onStarted: ({ address }) => registerModule(address, deployment.key, build),
    onDied: ({ stderr }) => expect.fail(stderr),
    onLog: () => undefined,
  });
  for (const name of ["here", "stopped", "killed"]) await startLocation(name);
});
afterAll(async () => {
  // A process that stands still does not end.
  for (const name of locations.keys()) await signal(name, "SIGCONT");
  await deployment?.stop();
  await rm(buildFolder, { recursive: true, force: true });
});

async function startLocation(name: string): Promise<void> {
  const { child, urls } = await deployment.startLocations({
    buildFolder,
    edges: [
      {
        name,
        worker: BUILD_FILES.worker,
        locations: [{ name, primaries: [deployment.server.address()], nearStorageOnly: false }],
        cacheFolder: join(deployment.folder, `cache-${name}`),
        vars: { RADICAL_ATTEMPT_MS: "15000" },
      },
    ],
    logs: "lines",
  });
  locations.set(name, { child, url: urls[name]! });
}

async function signal(name: string, what: "SIGSTOP" | "SIGCONT" | "SIGKILL"): Promise<void> {
  const { child } = locations.get(name)!;
  if (child.pid === undefined || child.hasEnded) return;
  for (const pid of await descendantsOf(child.pid)) process.kill(pid, what);
}

async function call(at: string, handler: string, name: string): Promise<Answer> {
  const response = await fetch(`${locations.get(at)!.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify({ name }),
    headers: { "content-type": "application/json" },
  });
  const { result } = (await response.json()) as { readonly result?: unknown };
  return { result, path: response.headers.get("x-radical-path") };
}

async function leasedAt(location: string, name: string): Promise<void> {
  await expect.poll(async () => (await call(location, "count", name)).path, SOON).toBe("leased");
}

test("a location that stands still holds a write up at most until its leases are over, and reads nothing stale when it goes on", async () => {
  for (const name of NAMES) await leasedAt("stopped", name);
  await signal("stopped", "SIGSTOP");
  // Requests come while it stands still, and run before it hears anything of the writes.
  const before = NAMES.map((name) => call("stopped", "count", name));
  for (const name of NAMES) expect(await call("here", "increment", name)).toMatchObject({ result: 1 });
  const after = NAMES.map((name) => call("stopped", "count", name));
  await signal("stopped", "SIGCONT");
  // The first ones were made before the writes were answered: either is right.
  for (const answer of before) expect([0, 1]).toContain((await answer).result);
  for (const answer of after) expect(await answer).toMatchObject({ result: 1 });
  for (const name of NAMES) {
    expect(await call("here", "increment", name)).toMatchObject({ result: 2 });
    expect(await call("stopped", "count", name)).toMatchObject({ result: 2 });
  }
});

test("a location that is killed while it holds leases holds nobody up for good", async () => {
  await leasedAt("killed", "k");
  await signal("killed", "SIGKILL");
  for (let i = 1; i <= 3; i++) expect(await call("here", "increment", "k")).toMatchObject({ result: i });
  await startLocation("killed");
  expect(await call("killed", "count", "k")).toMatchObject({ result: 3 });
});
