/**
 * An upgrade, and the way back: servers of two releases on one storage, and locations of both. One takes over from the other, in both
 * directions, until the upgrade is finished; from then on the earlier release refuses the storage. Real processes and real workerd.
 * The release to come is this one with one more schema, ABI and framing (`fixtures/next`).
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type AdminAddress,
  newDeploymentKeys,
  newRecordingKey,
  finishUpgrade,
  PrimaryError,
  recordingKey,
  signedRequest,
  upgradeOf,
} from "@radical/admin";
import { type Child, launchServer, type Line, putModule } from "@radical/local";
import {
  ABI_VERSION,
  encodeModuleContent,
  FOLLOWUP_PATH,
  LVI_PATH,
  MODULES_PATH,
  type ModuleContent,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { bundleServer } from "./bundle-server.ts";
import { BEFORE } from "./kept.ts";
import { type Locations, presentRelease, type Release, startLocations, unpacked } from "./release.ts";

const KEYS = newDeploymentKeys("upgrade");
const KEY = KEYS.administration;
const TIMEOUT_MS = 240_000;
/** A leader that is killed is waited for so long on DynamoDB. */
const LEASE_MS = 1_500;

let folder: string;
let before: Release;
let present: Release;
/** The program of the release to come. Its locations send what this one's send. */
let next: Release;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-upgrade-"));
  before = await unpacked(BEFORE, folder);
  present = await presentRelease();
  next = { ...present, program: await bundleServer(await mkdtemp(path.join(folder, "next-")), true) };
}, TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

let started: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of started.toReversed()) await stop();
  started = [];
});

/** A server that serves, or waits. */
class Server {
  readonly child: Child;
  readonly lines: Line[] = [];
  #port: number | null = null;

  constructor(release: Release, storage: string) {
    this.child = launchServer({
      ...(release.program === null ? {} : { program: release.program }),
      stateFolder: folder,
      keys: KEYS,
      // Nothing but a takeover completes what a followup was lost for.
      followupTimeoutMs: 600_000,
      storage,
      leaseMs: LEASE_MS,
      environment: CREDENTIALS,
      args: ["--workers", "1"],
      onLog: (line) => this.lines.push(line),
    });
    started.push(() => this.child.kill());
  }

  async leading(): Promise<this> {
    this.#port = (await this.child.listening())["port"] as number;
    return this;
  }

  async waiting(): Promise<this> {
    await this.child.told("waiting_for_leadership");
    return this;
  }

  get port(): number {
    if (this.#port === null) throw new Error("the server does not serve");
    return this.#port;
  }

  get admin(): AdminAddress & { readonly url: string } {
    const url = `http://127.0.0.1:${this.port}`;
    return { url, urls: [url], key: KEY };
  }

  /** Why it did not start, with its exit code. */
  async refusal(): Promise<readonly [string, unknown]> {
    const code = await this.child.closed;
    return [String(this.lines.find(({ event }) => event === "not_started")?.["reason"]), code];
  }
}

interface Upgrade {
  readonly storage: string;
  leader: Server;
  readonly older: Locations;
  readonly newer: Locations;
}

/** A server of the older release, and locations of both, on the module of the older one. */
async function deployed(storage: string, older: Release, newer: Release): Promise<Upgrade> {
  const leader = await new Server(older, storage).leading();
  await putModule(leader.admin.url, KEY, older.manifest.module, older.content);
  const of = { leader };
  const address = (): { host: string; port: number } => ({ host: "127.0.0.1", port: of.leader.port });
  const locations: Locations[] = [];
  for (const worker of [older, newer]) {
    const one = await startLocations({ folder, key: KEYS.location }, worker, older, address);
    started.push(() => one.close());
    locations.push(one);
  }
  return Object.assign(of, { storage, older: locations[0]!, newer: locations[1]! });
}

/** Leaves a write of each release's location pending, and answered. */
async function leavePending({ older, newer }: Upgrade, keys: readonly [string, string]): Promise<void> {
  for (const [index, locations] of [older, newer].entries()) {
    locations.faults.decide = ({ path: to }) => (to === FOLLOWUP_PATH ? "lose-request" : "pass");
    const name = `counter-${index}`;
    expect(await locations.post("here", "increment", { name }, keys[index])).toMatchObject({ status: 200 });
    locations.faults.decide = () => "pass";
  }
}

/** The leader is killed, and a server of the release takes over that waits already. It completes everything that is pending, once. */
async function takenOver(upgrade: Upgrade, by: Release, value: number): Promise<void> {
  const successor = await new Server(by, upgrade.storage).waiting();
  const keys = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")] as const;
  await leavePending(upgrade, keys);
  await upgrade.leader.child.kill();
  upgrade.leader = await successor.leading();
  for (const [index, locations] of [upgrade.older, upgrade.newer].entries()) {
    const name = `counter-${index}`;
    // The same request again finds that it was carried out, at the location of the other release too.
    for (const asked of [locations, index === 0 ? upgrade.newer : upgrade.older])
      expect(await asked.post("there", "increment", { name }, keys[index])).toMatchObject({ result: value });
    for (const asked of [upgrade.older, upgrade.newer])
      expect(await asked.get("here", "count", { name })).toMatchObject({ result: value });
    // Without a set, so the server runs the handler.
    const visits = 2 * (value - 1) + index + 1;
    expect(await locations.post("there", "visit", { at: index })).toMatchObject({ result: visits });
  }
}

function ofNextAbi(content: ModuleContent): ModuleContent {
  return { ...content, abi: ABI_VERSION + 1 };
}

async function register(server: Server, content: ModuleContent): Promise<Response> {
  const to = `${MODULES_PATH}${moduleHash(content)}`;
  return signedRequest(server.admin.url, KEY, "PUT", to, encodeModuleContent(content), undefined, {});
}

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

function upgrades(storageOf: () => Promise<string>, schema: number): void {
  test.each([
    ["the release before, and this one", () => [before, present] as const],
    ["this release, and one to come", () => [present, next] as const],
  ])("%s: each takes over from the other, and serves locations of both", { timeout: TIMEOUT_MS }, async (_, pair) => {
    const [older, newer] = pair();
    const upgrade = await deployed(await storageOf(), older, newer);
    await takenOver(upgrade, newer, 1);
    const key = await newRecordingKey(upgrade.leader.admin);
    await takenOver(upgrade, older, 2);
    // The release before makes no keys of recordings, and neither seals with one nor loses it.
    if (older === before)
      await expect(newRecordingKey(upgrade.leader.admin)).rejects.toMatchObject({ isNothingThere: true });
    await takenOver(upgrade, newer, 3);
    expect(await recordingKey(upgrade.leader.admin, key!.id)).toEqual(key);
    expect(await upgradeOf(upgrade.leader.admin)).toMatchObject({ written: schema });
  });

  test("a finished upgrade has no way back, and says so", { timeout: TIMEOUT_MS }, async () => {
    const upgrade = await deployed(await storageOf(), present, next);
    await takenOver(upgrade, next, 1);
    const { leader } = upgrade;
    expect(await upgradeOf(leader.admin)).toMatchObject({ written: schema, newest: schema + 1 });
    expect(leader.lines).toContainEqual(
      expect.objectContaining({ event: "upgrade_not_finished", written: schema, newest: schema + 1 }),
    );

    // A module that the release before could not run is not taken yet.
    const content = ofNextAbi(present.content);
    const early = await register(leader, content);
    expect([early.status, ((await early.json()) as Failure).error]).toEqual([
      409,
      {
        code: "upgrade_not_finished",
        message: `The module has ABI version ${ABI_VERSION + 1}, and the storage has schema ${schema}, whose servers run versions up to ${ABI_VERSION}.`,
        hint: "Finish the upgrade first, after which no earlier release can serve: radical deploy --finalize",
      },
    ]);

    // An order means one schema, whoever leads.
    await expect(finishUpgrade(leader.admin, schema + 2)).rejects.toThrow(PrimaryError);
    expect(await upgradeOf(leader.admin)).toMatchObject({ written: schema });

    const waiting = await new Server(present, upgrade.storage).waiting();
    expect(await finishUpgrade(leader.admin, schema + 1)).toMatchObject({ written: schema + 1, newest: schema + 1 });
    expect(await finishUpgrade(leader.admin, schema + 1)).toMatchObject({ written: schema + 1 });

    // The one that waits ends, and one that starts does too.
    const reason = new RegExp(
      `has schema ${schema + 1}, which servers read that know schema ${schema + 1}, and this one knows up to ${schema}\\. A later release has finished its upgrade here`,
    );
    for (const server of [waiting, new Server(present, upgrade.storage)])
      expect(await server.refusal()).toEqual([expect.stringMatching(reason), 2]);
    // So does the release before.
    const earlier = await new Server(before, upgrade.storage).refusal();
    expect(earlier).toEqual([expect.stringMatching(new RegExp(`has schema ${schema + 1}\\b`)), 2]);

    // Both locations are served on, also by a server that starts on the new schema.
    expect((await register(leader, content)).status).toBe(204);
    await takenOver(upgrade, next, 2);
    expect(await upgradeOf(upgrade.leader.admin)).toMatchObject({ written: schema + 1 });
  });
}

describe("on SQLite", () => {
  upgrades(async () => `sqlite:${path.join(await mkdtemp(path.join(folder, "sqlite-")), "data.sqlite")}`, 8);

  test(
    "a message of a framing to come is taken by its release, and refused with the remedy by this one",
    { timeout: TIMEOUT_MS },
    async () => {
      for (const [release, expected] of [
        [
          present,
          { status: 400, message: /^the message has protocol version 2, and this release of Radical takes 1 to 1$/ },
        ],
        [next, { status: 400, message: /^Malformed message: / }],
      ] as const) {
        const storage = `sqlite:${path.join(await mkdtemp(path.join(folder, "framing-")), "data.sqlite")}`;
        const server = await new Server(release, storage).leading();
        // An array of one field, which is the version.
        const refused = await signedRequest(
          server.admin.url,
          KEYS.location,
          "POST",
          LVI_PATH,
          Uint8Array.of(0x81, 2),
          undefined,
          {},
        );
        const { error } = (await refused.json()) as Failure;
        expect(refused.status).toBe(expected.status);
        expect(error.message).toMatch(expected.message);
        if (release === present)
          expect(error.hint).toBe("a newer release has sent it: upgrade this side, the primary before its locations");
      }
    },
  );
});

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;
  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterAll(() => local.stop());

  upgrades(() => Promise.resolve(`dynamodb:${randomBytes(8).toString("hex")}?endpoint=${local.endpoint}`), 3);
});
