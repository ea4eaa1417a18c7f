/**
 * A cache that is wiped, rolled back, torn or filled with garbage changes latency and nothing else. The same calls are
 * made at three locations of one deployment, on items of their own: with no cache, and with a Durable Object and with KV
 * that are damaged between the calls and while they run. Nobody has items in memory in front, so that they are read there.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CacheChoice, type CommitId, type Entry, type UnitId, commitId, entryOf } from "@radical/protocol";
import { Log, LogLevel, Miniflare, convertV4MiniflareOptions } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import { type DeploymentKeys, loadDeploymentKeys } from "@radical/admin";
import { type LviServerProcess, startLviServer, registerModule } from "@radical/local";
import { Random } from "@radical/history";
import { readItems } from "./storage.ts";

const SEED = 20_251_121;
const STEPS = 42;
const PROJECT = fileURLToPath(new URL("fixtures/bank", import.meta.url));

/** Each with items of its own: names begin with the prefix. */
const LOCATIONS = {
  whole: { prefix: "w-", cache: { kind: "memory", memoryBytes: 1_000_000, maxAgeHours: 168 } },
  object: {
    prefix: "o-",
    cache: { kind: "durable-object", memoryBytes: 0, objectBytes: 1_000_000, timeoutMs: 60_000, maxAgeHours: 168 },
  },
  kv: { prefix: "k-", cache: { kind: "kv", memoryBytes: 0, timeoutMs: 60_000, maxAgeHours: 168 } },
} as const satisfies Record<string, { readonly prefix: string; readonly cache: CacheChoice }>;
type LocationName = keyof typeof LOCATIONS;
const NAMES = Object.keys(LOCATIONS) as readonly LocationName[];

/** In front of the Worker as it was built: opens the Durable Object to the test. */
const DOOR = `
  import worker, { RadicalCache as Base } from "./worker.js";
  export class RadicalCache extends Base {
    run(...statements) { for (const sql of statements) this.ctx.storage.sql.exec(sql).toArray(); }
  }
  export default worker;
`;

interface ObjectDoor {
  run(...statements: readonly string[]): Promise<void>;
  getMany(
    application: string,
    units: readonly string[],
    maxAgeMs: number,
  ): Promise<readonly { unit: string; entry: Entry }[]>;
  putMany(application: string, puts: readonly unknown[], manner: object): Promise<void>;
}

let folder: string;
let signing: DeploymentKeys;
let app: AppBuild;
let server: LviServerProcess;
let edge: Miniflare;
let url: URL;
const alarms: unknown[] = [];

function startLocations(): Miniflare {
  return new Miniflare({
    ...convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      log: new Log(LogLevel.NONE),
      workers: [
        {
          name: "router",
          modules: true,
          script: "export default { fetch: (request, env) => env[request.headers.get('x-location')].fetch(request) };",
          compatibilityDate: "2026-11-01",
          serviceBindings: Object.fromEntries(NAMES.map((name) => [name, name])),
        },
        ...NAMES.map((name) => ({
          name,
          compatibilityDate: "2026-11-01",
          modulesRoot: "/",
          modules: [
            { type: "ESModule" as const, path: "/door.js", contents: DOOR },
            { type: "ESModule" as const, path: "/worker.js", contents: app.worker },
            { type: "CompiledWasm" as const, path: "/module.wasm", contents: new Uint8Array(app.content.wasm) },
            { type: "CompiledWasm" as const, path: "/module.rw.wasm", contents: new Uint8Array(app.content.rwWasm) },
            {
              type: "ESModule" as const,
              path: "/manifest.json",
              contents: `export default ${JSON.stringify({ ...app.manifest, cache: LOCATIONS[name].cache })}`,
            },
          ],
          bindings: {
            RADICAL_PRIMARY_URL: `http://127.0.0.1:${server.address().port}`,
            RADICAL_KEY_ID: signing.location.id,
            RADICAL_KEY: signing.location.secret,
            RADICAL_LOCATION: name,
            RADICAL_ATTEMPT_MS: "15000",
          },
          durableObjects: { RADICAL_CACHE: { className: "RadicalCache", useSQLite: true } },
          kvNamespaces: { RADICAL_CACHE_KV: "caches" },
        })),
      ],
    }),
    resourcePersistencePath: join(folder, "cache"),
    handleStructuredLogs: () => undefined,
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-damage-"));
  await mkdir(join(folder, "cache"));
  const compiler = await startCompiler({ colours: false });
  const outcome = await buildApp(await loadProject(PROJECT), compiler, { optimize: false });
  await compiler.close();
  if (outcome.app === null) throw new Error(JSON.stringify(outcome.report.diagnostics));
  app = outcome.app;
  signing = await loadDeploymentKeys(folder);
  server = await startLviServer({
    stateFolder: folder,
    keys: signing,
    followupTimeoutMs: null,
    onStarted: ({ address }) => registerModule(address, signing.administration, app),
    onDied: (how) => alarms.push(how),
    onLog: (line) => {
      if (["determinism_alarm", "intent_alarm", "invariant_broken"].includes(String(line["event"]))) alarms.push(line);
    },
  });
  edge = startLocations();
  url = await edge.ready;
});
afterAll(async () => {
  await edge.dispose();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Told {
  readonly status: number;
  readonly body: unknown;
}

const paths = { whole: new Map<string, number>(), object: new Map<string, number>(), kv: new Map<string, number>() };

/** The answer, and the names in it without their prefix. */
async function call(at: LocationName, [handler, args]: Call): Promise<Told & { readonly path: string }> {
  const { prefix } = LOCATIONS[at];
  const response = await fetch(new URL(`/api/${handler}`, url), {
    method: "POST",
    body: JSON.stringify(args(prefix)),
    headers: { "content-type": "application/json", "x-location": at },
  });
  const path = response.headers.get("x-radical-path") ?? "none";
  paths[at].set(path, (paths[at].get(path) ?? 0) + 1);
  const text = await response.text();
  return { status: response.status, path, body: JSON.parse(text.replaceAll(prefix, "")) as unknown };
}

type Call = readonly [handler: string, args: (prefix: string) => object];

const PEOPLE = ["ann", "bob", "cid"];
const OPENING: readonly Call[] = [
  ["open", (prefix) => ({ names: PEOPLE.map((name) => prefix + name), balance: 100 })],
  ["refill", (prefix) => ({ pool: `${prefix}pool`, by: 1_000 })],
];
/** What is there to be read at the end. */
const READS: readonly Call[] = [
  ["balances", (prefix) => ({ names: PEOPLE.map((name) => prefix + name) })],
  ["follow", (prefix) => ({ pointer: `${prefix}p` })],
  ["tokens", (prefix) => ({ name: `${prefix}log` })],
  ["count", (prefix) => ({ name: `${prefix}n` })],
  ["stamps", (prefix) => ({ names: [`${prefix}x`, `${prefix}y`, `${prefix}never`] })],
  ["roll", (prefix) => ({ party: `${prefix}party` })],
  ["bookings", (prefix) => ({ night: `${prefix}night` })],
];

function randomCall(random: Random, step: number): Call {
  const from = random.pick(PEOPLE);
  const to = random.pick(PEOPLE);
  const amount = random.below(60);
  const target = random.pick(["x", "y"]);
  const guest = (prefix: string): object => ({ party: `${prefix}party`, name: from });
  return random.pick<Call>([
    ["transfer", (prefix) => ({ from: prefix + from, to: prefix + to, amount })],
    ["transfer", (prefix) => ({ from: prefix + from, to: prefix + to, amount })],
    ["increment", (prefix) => ({ name: `${prefix}n` })],
    ["append", (prefix) => ({ name: `${prefix}log`, token: `t${step}` })],
    ["swing", (prefix) => ({ pointer: `${prefix}p`, to: prefix + target, stamp: step })],
    ["draw", (prefix) => ({ pool: `${prefix}pool`, holder: from })],
    ["arrive", guest],
    ["depart", guest],
    ["book", (prefix) => ({ night: `${prefix}night`, name: `guest ${step}`, most: 3 })],
    ...READS,
  ]);
}

// ── Damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────

type Damage = (random: Random) => Promise<void>;

async function objectDoor(): Promise<ObjectDoor> {
  const namespace = await edge.getDurableObjectNamespace("RADICAL_CACHE", "object");
  return namespace.get(namespace.idFromName("bank/object")) as unknown as ObjectDoor;
}

const statements =
  (...sql: readonly string[]): Damage =>
  async () =>
    (await objectDoor()).run(...sql);

const ACCOUNT = "accounts/o-ann" as UnitId;

/** Another value than the true one, under a seal that is right: only the primary can tell. */
const lie =
  (id: CommitId): Damage =>
  async () => {
    const door = await objectDoor();
    const [held] = await door.getMany("bank", [ACCOUNT], 1e12);
    const [other] = await door.getMany("bank", ["accounts/o-bob"], 1e12);
    const entry = entryOf(id, other?.entry.value ?? null);
    await door.putMany("bank", [{ unit: ACCOUNT, entry, disproved: held?.entry.version }], {
      maxBytes: 1e9,
      maxAgeMs: 1e12,
      sinceMs: 1e15,
    });
  };

const OBJECT_DAMAGE: Readonly<Record<string, Damage>> = {
  wiped: statements("DELETE FROM entries_3"),
  "its table is gone": statements("DROP TABLE IF EXISTS entries_3"),
  "remembered, to be rolled back": statements(
    "DROP TABLE IF EXISTS earlier",
    "CREATE TABLE earlier AS SELECT * FROM entries_3",
  ),
  "rolled back": statements(
    "CREATE TABLE IF NOT EXISTS earlier AS SELECT * FROM entries_3",
    "DELETE FROM entries_3",
    "INSERT INTO entries_3 SELECT * FROM earlier",
  ),
  "half of it lost": statements("DELETE FROM entries_3 WHERE sequence % 2 = 0"),
  "torn values": statements("UPDATE entries_3 SET value = substr(value, 1, length(value) / 2)"),
  garbage: statements("UPDATE entries_3 SET value = randomblob(24), hash = hex(randomblob(8))"),
  "garbage for versions": statements("UPDATE entries_3 SET commit_id = 'ffffffff-ffffffffffff'"),
  "every value that of another unit": statements(
    `UPDATE entries_3 SET (commit_id, hash, seal, value) =
       (SELECT commit_id, hash, seal, value FROM entries_3 AS other WHERE other.sequence <> entries_3.sequence LIMIT 1)`,
  ),
  "a lie from the past": lie(commitId(1, 0)),
  "a lie from the future": lie(commitId(0xffff, 0)),
};

async function withKv(
  work: (texts: ReadonlyMap<string, string>) => ReadonlyMap<string, string | Buffer>,
): Promise<void> {
  const namespace = await edge.getKVNamespace("RADICAL_CACHE_KV", "kv");
  const { keys } = await namespace.list({ prefix: "bank/kv/" });
  const held = new Map<string, string>();
  for (const { name } of keys) held.set(name, (await namespace.get(name, "text")) ?? "");
  const next = work(held);
  await Promise.all([
    ...[...held.keys()].filter((name) => !next.has(name)).map((name) => namespace.delete(name)),
    ...Array.from(next, ([name, value]) =>
      namespace.put(name, typeof value === "string" ? value : value.toString("latin1")),
    ),
  ]);
}

let earlierTexts: ReadonlyMap<string, string> = new Map();
const each =
  (change: (text: string, random: Random, all: readonly string[]) => string): Damage =>
  (random) =>
    withKv((texts) => new Map(Array.from(texts, ([name, text]) => [name, change(text, random, [...texts.values()])])));

const KV_DAMAGE: Readonly<Record<string, Damage>> = {
  wiped: () => withKv(() => new Map()),
  "remembered, to be rolled back": () => withKv((texts) => (earlierTexts = texts)),
  "rolled back": () => withKv(() => earlierTexts),
  "half of it lost": () => withKv((texts) => new Map([...texts].filter((_, index) => index % 2 === 0))),
  torn: each((text) => text.slice(0, text.length / 2)),
  empty: each(() => ""),
  garbage: each((text, random) => Array.from(text, () => String.fromCharCode(random.below(255))).join("")),
  "a character changed": each((text, random) => {
    const at = random.below(text.length);
    return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
  }),
  "every value that of another unit": each((_text, random, all) => random.pick(all)),
};

/** Bytes of the files in which the caches lie, while nobody runs; not of the first page of a database, which names it one. */
function tearFiles(random: Random): number {
  let torn = 0;
  const cache = join(folder, "cache");
  for (const name of readdirSync(cache, { recursive: true, encoding: "utf8" })) {
    if (!/^(?:do\/object-RadicalCache\/[0-9a-f]{64}\.sqlite|kv\/caches\/blobs\/)/.test(name)) continue;
    const bytes = readFileSync(join(cache, name));
    const from = name.endsWith(".sqlite") ? 4_096 : name.endsWith("-wal") ? 32 : 0;
    for (let at = from + random.below(64); at < bytes.length; at += 64) bytes[at]! ^= 1 << random.below(8);
    writeFileSync(join(cache, name), bytes);
    torn++;
  }
  return torn;
}

test("the same answers, the same values in storage, and the caches heal", async () => {
  const random = new Random(SEED);
  for (const opening of OPENING) await Promise.all(NAMES.map((at) => call(at, opening)));

  const damages = { object: Object.values(OBJECT_DAMAGE), kv: Object.values(KV_DAMAGE) };
  for (let step = 0; step < STEPS; step++) {
    const made = randomCall(random, step);
    // Every kind of damage several times, now before the call, now while it is under way.
    const damaged =
      step % 3 === 0
        ? []
        : [damages.object[step % damages.object.length]!(random), damages.kv[step % damages.kv.length]!(random)];
    if (step % 3 === 1) await Promise.all(damaged);
    const [whole, ...others] = await Promise.all(NAMES.map((at) => call(at, made)));
    await Promise.all(damaged);
    for (const other of others)
      expect({ step, made: made[0], ...told(other) }).toEqual({ step, made: made[0], ...told(whole!) });
    if (step === STEPS / 2) {
      await edge.dispose();
      expect(tearFiles(random)).toBeGreaterThan(1);
      edge = startLocations();
      url = await edge.ready;
    }
  }

  // A range without rows is right where nothing is known.
  await Promise.all(NAMES.map((at) => call(at, ["arrive", (prefix) => ({ party: `${prefix}party`, name: "ann" })])));
  // What was damaged last is found out by the first of these, and repaired: then nobody waits for the primary's own run.
  for (const read of READS) {
    const [whole, ...others] = await Promise.all(NAMES.map((at) => call(at, read)));
    if (read[0] === "roll") expect(whole!.body).toMatchObject({ result: { names: expect.arrayContaining(["ann"]) } });
    for (const other of others) expect(told(other)).toEqual(told(whole!));
    // The put follows the answer; and a key of KV takes one write a second.
    for (const at of ["object", "kv"] as const) {
      await expect
        .poll(() => call(at, read), { timeout: 100_000 })
        .toMatchObject({ path: "speculative", ...told(whole!) });
    }
  }

  const ofLocation = (at: LocationName): unknown =>
    readItems(folder)
      .filter(({ key: name }) => name.startsWith(LOCATIONS[at].prefix))
      .map((item) => JSON.parse(JSON.stringify(item).replaceAll(LOCATIONS[at].prefix, "")) as unknown);
  await expect.poll(() => ofLocation("object"), { timeout: 100_000 }).toEqual(ofLocation("whole"));
  expect(ofLocation("kv")).toEqual(ofLocation("whole"));
  expect(readItems(folder).length).toBeGreaterThan(20);

  expect(alarms).toEqual([]);
  // Some of it did tell: damage was met, and whole entries were used in between.
  for (const at of ["object", "kv"] as const) {
    expect(paths[at].get("speculative")).toBeGreaterThan(10);
    expect(paths[at].get("near-storage")).toBeGreaterThan(paths.whole.get("near-storage") ?? 0);
  }
});

function told({ status, body }: Told): Told {
  return { status, body };
}
