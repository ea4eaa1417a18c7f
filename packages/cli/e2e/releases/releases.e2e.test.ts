/**
 * Releases beside each other: a server and locations of the release before, kept in `<name>.tgz`, with those of this one.
 * Real processes and real workerd. See `pack-release.ts`.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  decodeModuleContent,
  encodeModuleContent,
  FOLLOWUP_PATH,
  LVI_PATH,
  type Manifest,
  MODULES_PATH,
  type ModuleContent,
  type ServerStatus,
  STATUS_PATH,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import { bundleRouter, type LviServerProcess, startLviServer, startEdge } from "@radical/local";
import { type AdministrationKey, type DeploymentKey, newDeploymentKeys, signedRequest } from "@radical/admin";
import { createFaultLink, type FaultLink, withoutUpdates } from "../fault-link.ts";

const KEPT = ["abi-4"] as const;
const BANK = fileURLToPath(new URL("../fixtures/bank", import.meta.url));
const KEYS = newDeploymentKeys("releases");
const TIMEOUT_MS = 60_000;

/** A server's program, and the files of a location that was built for it. */
interface Release {
  /** Null: this release. */
  readonly program: string | null;
  readonly worker: string;
  readonly manifest: Manifest;
  readonly content: ModuleContent;
}

let folder: string;
let present: Release;
const kept = new Map<string, Release>();

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-releases-"));
  for (const name of KEPT) kept.set(name, await unpacked(name));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(BANK), compiler, { optimize: false });
  await compiler.close();
  present = releaseOf(app!);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function unpacked(name: string): Promise<Release> {
  const into = await mkdtemp(path.join(folder, `${name}-`));
  await promisify(execFile)("tar", ["-xzf", path.join(import.meta.dirname, `${name}.tgz`), "-C", into]);
  return {
    program: path.join(into, "server/main.js"),
    worker: await readFile(path.join(into, "location/worker.js"), "utf8"),
    manifest: JSON.parse(await readFile(path.join(into, "location/manifest.json"), "utf8")) as Manifest,
    content: decodeModuleContent(new Uint8Array(await readFile(path.join(into, "module.cbor")))),
  };
}

function releaseOf({ worker, manifest, content }: AppBuild): Release {
  return { program: null, worker, manifest, content };
}

/** What a test has started, to be stopped in the other order. */
let started: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of started.toReversed()) await stop();
  started = [];
});

function startServer(of: Release, stateFolder: string, followupTimeoutMs: number): Promise<LviServerProcess> {
  return startLviServer({
    stateFolder,
    keys: KEYS,
    followupTimeoutMs,
    ...(of.program === null ? {} : { program: of.program, keysText: `${KEYS.location.id}:${KEYS.location.secret}` }),
    onStarted: async () => {},
    onDied: () => {},
    onLog: () => {},
  }).then((server) => {
    started.push(() => server.stop());
    operators.set(server, of.program === null ? KEYS.administration : KEYS.location);
    return server;
  });
}

/** The key that administers a server: an earlier release knows one kind of keys, which does everything. */
const operators = new WeakMap<LviServerProcess, AdministrationKey | DeploymentKey>();

async function put(server: LviServerProcess, { module }: Manifest, content: ModuleContent): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const body = encodeModuleContent(content);
  return signedRequest(originOf(server), operators.get(server)!, "PUT", `${MODULES_PATH}${module}`, body, signal);
}

async function register(server: LviServerProcess, { manifest, content }: Release): Promise<void> {
  expect((await put(server, manifest, content)).status).toBe(204);
}

function originOf(server: LviServerProcess): string {
  const { host, port } = server.address();
  return `http://${host}:${port}`;
}

interface Answer {
  readonly status: number;
  readonly path: string | null;
  readonly reason: string | null;
  readonly result?: unknown;
  readonly error?: { readonly code: string };
}

interface Locations {
  readonly faults: FaultLink;
  readonly post: (at: string, handler: string, args: object, key?: string) => Promise<Answer>;
  readonly get: (at: string, handler: string, args: Readonly<Record<string, string>>) => Promise<Answer>;
}

/** Two locations that run the Worker of one release on the module of another. `server`: the one that leads now. */
async function startLocations(worker: Release, module: Release, server: () => LviServerProcess): Promise<Locations> {
  const faults = createFaultLink();
  const names = ["here", "there"];
  const links = await Promise.all(names.map((name) => faults.link({ name, roundTripMs: 0 }, () => server().address())));
  for (const link of links) started.push(() => link.close());
  const edge = await startEdge(
    {
      locations: names.map((name, index) => ({ name, primaries: [links[index]!.address], nearStorageOnly: false })),
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key: KEYS.location,
      routerWorker: await bundleRouter(),
      storageFolder: await mkdtemp(path.join(folder, "caches-")),
      onLog: () => {},
    },
    {
      worker: worker.worker,
      wasm: module.content.wasm,
      rwWasm: module.content.rwWasm,
      manifest: JSON.stringify(readingManifest(module.manifest)),
      cache: module.manifest.cache.kind,
      assets: null,
    },
  );
  started.push(() => edge.close());
  const answerOf = async (response: Response): Promise<Answer> => ({
    status: response.status,
    path: response.headers.get("x-radical-path"),
    reason: response.headers.get("x-radical-reason"),
    ...((await response.json()) as Partial<Answer>),
  });
  return {
    faults,
    post: async (at, handler, args, key) => {
      const keyed: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
      const headers = { "content-type": "application/json", "x-radical-location": at, ...keyed };
      const body = JSON.stringify(args);
      return answerOf(await fetch(`${edge.url}/api/${handler}`, { method: "POST", body, headers }));
    },
    get: async (at, handler, args) => {
      const url = `${edge.url}/api/${handler}?${new URLSearchParams(args)}`;
      return answerOf(await fetch(url, { headers: { "x-radical-location": at } }));
    },
  };
}

/** A manifest that calls `increment` read-only, which a GET is not to be misled by. */
function readingManifest(manifest: Manifest): Manifest {
  const increment = { ...manifest.handlers["increment"]!, readOnly: true };
  return { ...manifest, handlers: { ...manifest.handlers, increment } };
}

async function ofServer(server: LviServerProcess, at: string): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return signedRequest(originOf(server), operators.get(server)!, "GET", at, new Uint8Array(), signal);
}

async function pendingAt(server: LviServerProcess): Promise<number | null> {
  return ((await (await ofServer(server, STATUS_PATH)).json()) as ServerStatus).pending;
}

async function alarmsAt(server: LviServerProcess): Promise<number> {
  const text = await (await ofServer(server, "/metrics")).text();
  return Number(/^radical_alarms_total\{alarm="wrote_on_get"\} (\d+)$/m.exec(text)![1]);
}

describe.each(KEPT)("the release %s and this one", (name) => {
  test.each([
    ["its locations with the server of this release", true],
    ["locations of this release that have its module, with its server", false],
  ])("%s", { timeout: 4 * TIMEOUT_MS }, async (_, isServerPresent) => {
    const before = kept.get(name)!;
    const state = await mkdtemp(path.join(folder, "state-"));
    const server = await startServer(isServerPresent ? present : before, state, 600_000);
    await register(server, before);
    const { faults, post, get } = await startLocations(isServerPresent ? before : present, before, () => server);

    // Reads and writes at both; a stale cache is repaired.
    faults.decide = withoutUpdates;
    expect(await post("here", "increment", { name: "a" })).toMatchObject({ result: 1, path: "speculative" });
    expect(await post("there", "increment", { name: "a" })).toMatchObject({ result: 2 });
    expect(await post("here", "increment", { name: "a" })).toMatchObject({ result: 3, reason: "stale" });
    expect(await get("here", "count", { name: "a" })).toMatchObject({ result: 3, path: "speculative" });
    expect(await post("here", "refill", { pool: "p", by: 2 })).toMatchObject({ result: 2 });
    expect(await post("there", "draw", { pool: "p", holder: "ann" })).toMatchObject({ result: "p-2" });
    expect(await post("here", "draw", { pool: "p", holder: "bob" })).toMatchObject({ result: "p-1" });
    expect(await post("there", "draw", { pool: "p", holder: "eve" })).toMatchObject({ status: 410 });
    // By the other plans: in record mode, and near storage.
    expect(await post("here", "visit", { at: 0 })).toMatchObject({ result: 1 });
    expect(await post("there", "visit", { at: 0 })).toMatchObject({ result: 2 });
    const asked = { names: ["a"], people: [], log: "l", pool: "p", wide: "w" };
    expect(await post("here", "inspect", asked)).toMatchObject({ path: "near-storage", result: { counters: [3] } });
    // More items than one transaction may take elsewhere.
    expect(await post("here", "spread", { name: "w", stamp: 7 })).toMatchObject({ status: 200 });
    const { result } = await post("there", "inspect", asked);
    expect(new Set((result as { readonly stamps: readonly number[] }).stamps)).toEqual(new Set([7]));

    // A key is executed once, whatever is lost.
    const key = randomBytes(16).toString("hex");
    faults.decide = ({ path: to, location }) => (to === LVI_PATH && location === "here" ? "lose-reply" : "pass");
    expect(await post("here", "increment", { name: "k" }, key)).toMatchObject({ status: 503 });
    faults.decide = withoutUpdates;
    expect(await post("there", "increment", { name: "k" }, key)).toMatchObject({ result: 1 });
    expect(await post("here", "increment", { name: "k" }, key)).toMatchObject({ result: 1 });
    expect(await post("here", "increment", { name: "other" }, key)).toMatchObject({ status: 422 });

    // A GET never writes, and the server counts the location's alarm.
    expect(await get("here", "increment", { name: "g" })).toMatchObject({ error: { code: "wrote_on_get" } });
    await expect.poll(() => alarmsAt(server), { timeout: TIMEOUT_MS }).toBe(1);
    expect(await get("there", "count", { name: "g" })).toMatchObject({ result: 0 });

    // Updates: a location that has read an item soon has the value that another one writes.
    faults.decide = () => "pass";
    await expect
      .poll(
        async () => {
          await get("here", "count", { name: "a" });
          const written = await post("there", "increment", { name: "a" });
          const read = await get("here", "count", { name: "a" });
          expect(read.result).toBe(written.result);
          return read.reason;
        },
        { timeout: TIMEOUT_MS },
      )
      .toBe("valid");
    await expect.poll(() => pendingAt(server), { timeout: TIMEOUT_MS }).toBe(0);
  });

  test(
    "this release completes what it has left pending, and serves its locations on",
    { timeout: 4 * TIMEOUT_MS },
    async () => {
      const before = kept.get(name)!;
      const state = await mkdtemp(path.join(folder, "state-"));
      const earlier = await startServer(before, state, 600_000);
      await register(earlier, before);
      let leader = earlier;
      const { faults, post, get } = await startLocations(before, before, () => leader);
      faults.decide = ({ path: to }) => (to === FOLLOWUP_PATH ? "lose-request" : "pass");
      const key = randomBytes(16).toString("hex");
      expect(await post("here", "increment", { name: "a" }, key)).toMatchObject({ result: 1, path: "speculative" });
      expect(await post("here", "visit", { at: 0 })).toMatchObject({ result: 1 });
      expect(await pendingAt(earlier)).toBe(2);
      await earlier.stop();

      leader = await startServer(present, state, 1);
      faults.decide = () => "pass";
      await expect.poll(() => pendingAt(leader), { timeout: TIMEOUT_MS }).toBe(0);
      expect(await get("there", "count", { name: "a" })).toMatchObject({ result: 1 });
      expect(await post("there", "increment", { name: "a" }, key)).toMatchObject({ result: 1 });
      expect(await post("here", "increment", { name: "a" })).toMatchObject({ result: 2 });
    },
  );

  test("its server refuses a module of this release, and changes nothing", { timeout: 4 * TIMEOUT_MS }, async () => {
    const before = kept.get(name)!;
    const server = await startServer(before, await mkdtemp(path.join(folder, "state-")), 600_000);
    await register(server, before);
    const { post } = await startLocations(before, before, () => server);
    const refused = await put(server, present.manifest, present.content);
    expect([refused.status, await refused.json()]).toEqual([
      400,
      {
        error: {
          code: "malformed_message",
          message: expect.stringMatching(/^the module has ABI version \d+, and this release of Radical runs/) as string,
          hint: "a newer release has built it: upgrade this one, the primary before its locations",
        },
      },
    ]);
    expect(await post("here", "increment", { name: "a" })).toMatchObject({ result: 1, path: "speculative" });
  });
});
