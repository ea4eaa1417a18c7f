/**
 * Releases beside each other: a server and locations of the release before, kept in `<name>.tgz`, with those of this one.
 * Real processes and real workerd. See `pack-release.ts`.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  ABI_VERSION,
  encodeModuleContent,
  FOLLOWUP_PATH,
  LVI_PATH,
  MODULES_PATH,
  type ServerStatus,
  STATUS_PATH,
} from "@radical/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type LviServerProcess, startLviServer } from "@radical/local";
import { type AdministrationKey, type DeploymentKey, newDeploymentKeys, signedRequest } from "@radical/admin";
import { withoutUpdates } from "../fault-link.ts";
import { KEPT } from "./kept.ts";
import { type Locations, presentRelease, type Release, startLocations, unpacked } from "./release.ts";

const KEYS = newDeploymentKeys("releases");
const TIMEOUT_MS = 60_000;

let folder: string;
let present: Release;
const kept = new Map<string, Release>();

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-releases-"));
  for (const name of KEPT) kept.set(name, await unpacked(name, folder));
  present = await presentRelease();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a test has started, to be stopped in the other order. */
let started: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of started.toReversed()) await stop();
  started = [];
});

/** The oldest one knows one kind of keys, which does everything. */
const hasOneKey = (of: Release): boolean => of === kept.get("abi-4");

function startServer(of: Release, stateFolder: string, followupTimeoutMs: number): Promise<LviServerProcess> {
  return startLviServer({
    stateFolder,
    keys: KEYS,
    followupTimeoutMs,
    ...(of.program === null ? {} : { program: of.program }),
    ...(hasOneKey(of) ? { keysText: `${KEYS.location.id}:${KEYS.location.secret}` } : {}),
    onStarted: async () => {},
    onDied: () => {},
    onLog: () => {},
  }).then((server) => {
    started.push(() => server.stop());
    operators.set(server, hasOneKey(of) ? KEYS.location : KEYS.administration);
    return server;
  });
}

/** The key that administers a server. */
const operators = new WeakMap<LviServerProcess, AdministrationKey | DeploymentKey>();

async function put(
  server: LviServerProcess,
  { module }: Release["manifest"],
  content: Release["content"],
): Promise<Response> {
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

/** `server`: the one that leads now. */
async function locationsOf(worker: Release, module: Release, server: () => LviServerProcess): Promise<Locations> {
  const locations = await startLocations({ folder, key: KEYS.location }, worker, module, () => server().address());
  started.push(() => locations.close());
  return locations;
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
    const { faults, post, get } = await locationsOf(isServerPresent ? before : present, before, () => server);

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
      const { faults, post, get } = await locationsOf(before, before, () => leader);
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

  test(
    "its server refuses a module of a release to come, and changes nothing",
    { timeout: 4 * TIMEOUT_MS },
    async () => {
      const before = kept.get(name)!;
      const server = await startServer(before, await mkdtemp(path.join(folder, "state-")), 600_000);
      await register(server, before);
      const { post } = await locationsOf(before, before, () => server);
      const refused = await put(server, present.manifest, { ...present.content, abi: ABI_VERSION + 1 });
      expect([refused.status, await refused.json()]).toEqual([
        400,
        {
          error: {
            code: "malformed_message",
            message: expect.stringMatching(
              /^the module has ABI version \d+, and this release of Radical runs/,
            ) as string,
            hint: "a newer release has built it: upgrade this one, the primary before its locations",
          },
        },
      ]);
      expect(await post("here", "increment", { name: "a" })).toMatchObject({ result: 1, path: "speculative" });
    },
  );
});
