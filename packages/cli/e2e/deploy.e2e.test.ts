/**
 * `radical deploy` with a primary of the developer's own: the real command and the real wrangler against a fake of Cloudflare's API,
 * and what was uploaded is then run in workerd against a real LVI server.
 */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { loadProject } from "@radical/app";
import {
  hasModule,
  linesOf,
  newDeploymentKeys,
  parseAdministrationKeys,
  privateKeyText,
  publicKeyText,
} from "@radical/admin";
import { parseKeys } from "@radical/lvi-server";
import { type DeployOptions, checkNothingStranded, createWrangler } from "@radical/deploy/testing";
import {
  type DeployOutcome,
  type PrimaryChoice,
  deploy,
  deployedPrimary,
  targetOfProject,
  listDeployments,
  openEdge,
  planDestroy,
  planRollback,
  type Change,
  deleteSecret,
  listSecrets,
  setSecret,
} from "@radical/deploy";
import {
  DASHBOARD_CALL_PATH,
  DASHBOARD_CONTENTION_PATH,
  DASHBOARD_DATA_PATH,
  DASHBOARD_FAULTS_PATH,
  DASHBOARD_RECORDS_PATH,
  DASHBOARD_REPLAY_PATH,
  DASHBOARD_STREAM_PATH,
  DASHBOARD_TASK_ORDERS_PATH,
  DASHBOARD_TIME_PATH,
  DASHBOARD_TOKEN_HEADER,
  DASHBOARD_WORKFLOW_ORDERS_PATH,
  DASHBOARD_WORKFLOWS_PATH,
  DASHBOARD_WRITE_PATH,
  type DashboardLine,
  type DashboardRecords,
  type ModuleHash,
} from "@radical/protocol";
import {
  type DelayProxy,
  NO_LINK_FAULTS,
  startDelayProxy,
  type LviServerProcess,
  startLviServer,
} from "@radical/local";
import { lookAtDeployment } from "../src/operate/doctor/deployment.ts";
import { type Diagnosis, examine } from "../src/operate/doctor/doctor.ts";
import type { Finding } from "../src/operate/doctor/finding.ts";
import type { TailLine } from "../src/operate/tail/tail-line.ts";
import {
  type FakeBinding,
  type FakeCloudflare,
  type FakeModule,
  type FakeWorker,
  startFakeCloudflare,
} from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import {
  type Finished,
  type TemporaryProject,
  createProject,
  descendantsOf,
  isAlive,
  radical,
  spawnRadical,
} from "./radical-process.ts";
import { CTRL_C, type FinishedAtTerminal, radicalAtTerminal } from "./terminal.ts";

const WORKER = "visits-production";
const KEYS = newDeploymentKeys("main");
/** What the developer's configuration names, and whose it is. */
const ROUTED = [
  ["example.com/api/*", WORKER],
  ["visits.example.com", WORKER],
];
const HANDLERS = (step: number): string => `import { log, Table } from "@radical/sdk";
export class Visits {
  count: i32 = 0;
}
const visits = new Table<Visits>("visits");
export function visit(page: string): i32 {
  const found = visits.get(page);
  const counted = found == null ? new Visits() : found;
  counted.count += ${step};
  log(\`\${page} is visited\`);
  visits.put(page, counted);
  return counted.count;
}
`;

let cloudflare: FakeCloudflare;
let edge: FakeEdge;
let server: LviServerProcess;
/** Between the locations and the server. */
let link: DelayProxy;
let project: TemporaryProject;
let state: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "radical-primary-"));
  cloudflare = await startFakeCloudflare();
  edge = await startFakeEdge(cloudflare, WORKER);
  server = await startServer(state);
  link = await startDelayProxy({ roundTripMs: 0, target: () => server.address() });
  project = await createProject({
    "radical.config.ts": `export default { name: "visits", cache: "kv", deploy: { url: "${edge.url}", primary: "http://127.0.0.1:${link.address.port}" } };\n`,
    "handlers/visits.ts": HANDLERS(1),
    "public/index.html": "<p>visits</p>\n",
    "wrangler.jsonc": `{
      // What the developer has.
      "vars": { "GREETING": "hello" },
      "triggers": { "crons": ["0 3 * * *"] },
      "routes": ["example.com/api/*", { "pattern": "visits.example.com", "custom_domain": true }],
      "env": { "staging": { "vars": { "GREETING": "hello there" } } }
    }`,
  });
  environment = {
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    CLOUDFLARE_API_TOKEN: cloudflare.token,
    CLOUDFLARE_ACCOUNT_ID: undefined,
    RADICAL_KEYS: `${KEYS.location.id}:${KEYS.location.secret}`,
    RADICAL_ADMIN_KEYS: privateKeyText(KEYS.administration),
    XDG_CONFIG_HOME: state,
  };
});
afterAll(async () => {
  await edge?.stop();
  await cloudflare?.stop();
  await link?.close();
  await server?.stop();
  await project?.remove();
  await rm(state, { recursive: true, force: true });
});

async function startServer(stateFolder: string): Promise<LviServerProcess> {
  await mkdir(stateFolder, { recursive: true });
  return startLviServer({
    stateFolder,
    keys: KEYS,
    // What is pending stays so.
    followupTimeoutMs: 600_000,
    onStarted: () => Promise.resolve(),
    onDied: () => undefined,
    onLog: () => undefined,
  });
}

function run(...args: readonly string[]): Promise<Finished> {
  return radical([...args, "--project", project.folder], { env: environment });
}

/** In this process, where nothing waits. */
async function deployHere(url = edge.url, more: Partial<DeployOptions> = {}): Promise<DeployOutcome> {
  const loaded = await loadProject(project.folder);
  return deploy({
    project: loaded,
    target: targetOfProject(loaded, "production"),
    only: null,
    primary: null,
    region: null,
    url,
    strandPending: false,
    acceptMisfits: false,
    colours: false,
    environment: { ...process.env, ...environment },
    wait: () => Promise.resolve(),
    onEvent: () => undefined,
    confirm: () => Promise.resolve(true),
    ...more,
  });
}

/** `keys` are typed when it asks. */
function answered(command: string, keys: string): Promise<FinishedAtTerminal> {
  return radicalAtTerminal([command, "--project", project.folder], [{ at: "[y/N] ", keys }], environment);
}

function changesOf({ planned }: DeployOutcome): readonly Change[] {
  return planned.flatMap(({ changes }) => changes);
}

function worker(): FakeWorker {
  return cloudflare.workers.get(WORKER)!;
}

/** Percentages by version. */
function serving(): Readonly<Record<string, number>> {
  return Object.fromEntries(
    worker().deployments[0]!.versions.map(({ version_id: id, percentage }) => [id, percentage]),
  );
}

/** `version`: the one that is to answer, though it gets no other requests. */
async function visit(page: string, version?: string): Promise<number> {
  const named = version === undefined ? {} : { "cloudflare-workers-version-overrides": `${WORKER}="${version}"` };
  const response = await fetch(`${edge.url}/api/visit`, {
    method: "POST",
    headers: { "content-type": "application/json", ...named },
    body: JSON.stringify({ page }),
  });
  const { result } = (await response.json()) as { result: number };
  return result;
}

/** What was asked since, but for what only reads. */
function changing(since: number): readonly string[] {
  return cloudflare.requests.slice(since).filter((line) => !line.startsWith("GET "));
}

function byName(a: FakeBinding, b: FakeBinding): number {
  return a.name.localeCompare(b.name);
}

function isWasm({ type }: FakeModule): boolean {
  return type === "application/wasm";
}

// They build upon each other, as the deployments of an application do.
describe("radical deploy", () => {
  let first = "";

  test("--plan shows what would change, and changes nothing", async () => {
    const { code, stderr, stdout } = await run("deploy", "--plan");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/\+ make KV namespace visits-production-cache/);
    expect(stderr).toMatch(/\+ make module [0-9a-f]{12} at the primary/);
    expect(stderr).toMatch(/\+ make Worker visits-production/);
    expect(stderr).toContain("Nothing was changed.");
    expect(stdout).toBe("");
    expect(changing(0)).toEqual([]);
  });

  test("a first deployment serves, with the developer's own configuration in it", async () => {
    const { code, shown } = await answered("deploy", "y\r");
    expect({ code, shown }).toMatchObject({ code: 0 });
    expect(shown.endsWith(`${edge.url}\n`)).toBe(true);
    expect(shown).not.toContain(KEYS.location.secret);
    expect(shown).not.toContain(KEYS.administration.privateHalf);
    expect(await visit("home")).toBe(1);
    expect(await (await fetch(edge.url)).text()).toContain("visits");
    const [version] = worker().versions;
    expect(version?.bindings).toContainEqual({ name: "GREETING", type: "plain_text", text: "hello" });
    expect(version?.annotations["workers/message"]).toMatch(/^at once: module [0-9a-f]{64} build [0-9a-f]{12}$/);
    expect(worker().schedules).toEqual([{ cron: "0 3 * * *" }]);
    expect([...cloudflare.routes, ...cloudflare.domains]).toEqual(ROUTED);
    expect(worker().isOnWorkersDev).toBe(false);
    expect([...cloudflare.namespaces.values()]).toEqual(["visits-production-cache"]);
    expect(cloudflare.unknown).toEqual([]);
  });

  test("its caches are emptied by the name of the environment", async () => {
    const purged = async (...args: readonly string[]): Promise<unknown> => {
      const { code, stdout } = await run("cache", "purge", "--env", "production", "--json", ...args);
      return { code, ...(JSON.parse(stdout) as object) };
    };
    const ofOne = (entries: number) => ({ code: 0, purged: [{ location: null, entries }], stopped: false });
    // The put follows the answer.
    await expect.poll(() => purged("--table", "visits", "--key", "home"), { timeout: 120_000 }).toEqual(ofOne(1));
    expect(await purged()).toEqual(ofOne(0));
    expect(await purged("--url", "http://127.0.0.1:1")).toMatchObject({
      code: 1,
      error: { message: expect.stringContaining("empties no caches") as unknown },
    });
  });

  test("its items are written by the name of the environment, and read where the storage is named", async () => {
    const put = await run("data", "put", "visits", "edited", '{"count": 41}', "--env", "production", "--json");
    expect(put).toMatchObject({ code: 0, stdout: '{"written":1,"tables":["visits"]}\n' });
    expect(await visit("edited")).toBe(42);
    const get = ["data", "get", "visits", "edited", "--env", "production"];
    const unread = await run(...get);
    expect(unread).toMatchObject({ code: 2, stderr: expect.stringContaining("does not say where that is") as unknown });
    const read = await run(...get, "--storage", `sqlite:${join(state, "data.sqlite")}`);
    expect(read).toMatchObject({ code: 0, stdout: '{"count":42}\n' });
    const nowhere = await run("data", "put", "visits", "edited", "1", "--region", "eu-central-1");
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("no environment is named") as unknown });
    const half = await run("deploy", "--finalize", "--only", "edge", "--yes");
    expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining("--only edge leaves it out") as unknown });
    const two = await run(...get, "--server", `http://127.0.0.1:${link.address.port}`);
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining("--server another server") as unknown });
  });

  test("a second run changes nothing and says so", async () => {
    const mark = cloudflare.requests.length;
    const { stdout } = await run("deploy", "--yes", "--json");
    const result = JSON.parse(stdout) as { outcome: string; version: string; steps: readonly { outcome: string }[] };
    expect(result).toMatchObject({ outcome: "unchanged", urls: [edge.url], worker: WORKER });
    expect(result.steps.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => "unchanged"));
    expect(changing(mark)).toEqual([]);
    first = result.version;
  });

  test("it is listed once, though it has served twice: at its upload, and when its routes were right", async () => {
    expect(worker().deployments).toHaveLength(2);
    const { stdout } = await run("deployments", "--json");
    const { deployments } = JSON.parse(stdout) as { deployments: readonly object[] };
    expect(deployments).toMatchObject([{ live: true, versions: [{ version: first, percentage: 100 }] }]);
    expect(deployments).toHaveLength(1);
  });

  test("a version that does not answer never serves, and the next run goes on from there", async () => {
    await project.write("handlers/visits.ts", HANDLERS(10));
    // Nobody listens there.
    const failed = await deployHere("http://127.0.0.1:1");
    expect(failed).toMatchObject({
      kind: "failed",
      failed: { name: "smoke" },
      error: { code: "smoke_request_failed" },
    });
    const beside = worker().versions[1]!.id;
    expect(serving()).toEqual({ [first]: 100, [beside]: 0 });
    expect(await visit("home")).toBe(2);
    // The primary runs with both at once, each with its own module.
    expect(Math.max(...(await Promise.all([visit("both"), visit("both", beside)])))).toBe(11);

    const mark = cloudflare.requests.length;
    expect((await deployHere()).kind).toBe("done");
    // What the other run has uploaded is taken.
    expect(changing(mark)).toEqual([`POST /workers/scripts/${WORKER}/deployments`]);
    expect(serving()).toEqual({ [worker().versions[1]!.id]: 100 });
    expect(await visit("home")).toBe(12);
  });

  test("broken off while it uploads, by Ctrl-C or killed: the old version serves on, and the next run completes", async () => {
    await project.write("handlers/visits.ts", HANDLERS(100));
    const [before] = Object.keys(serving());
    for (const signal of ["SIGINT", "SIGKILL"] as const) {
      const mark = cloudflare.requests.length;
      const child = spawnRadical(["deploy", "--yes", "--project", project.folder], { env: environment });
      let told = "";
      child.stderr?.on("data", (chunk: Buffer) => (told += chunk.toString()));
      const ended = new Promise((resolve) => child.once("close", resolve));
      // Nobody answers.
      cloudflare.failures.push({ at: /^POST .*\/versions$/, how: "silence" });
      await expect
        .poll(() => cloudflare.requests.slice(mark), { timeout: 100_000, interval: 10 })
        .toContain(`POST /workers/scripts/${WORKER}/versions`);
      const below = await descendantsOf(child.pid!);
      child.kill(signal);
      expect(await ended).toBe(signal === "SIGINT" ? 1 : null);
      // The wrangler of one that is killed goes on waiting.
      for (const pid of below.filter(isAlive)) process.kill(pid, "SIGKILL");
      cloudflare.failures.length = 0;
      if (signal === "SIGINT") {
        expect(told).toContain("Stopping: the step under way is given up.");
        expect(told).toMatch(
          /stopped during "Upload the Worker"\. Done before: module\. The version that served before goes on serving\./,
        );
        expect(told).toContain(`run \`radical deploy --yes --project ${project.folder}\` to go on`);
      }
      expect(Object.keys(serving())).toContain(before);
      expect(await visit("home")).toBeLessThan(100);
    }
    expect((await deployHere()).kind).toBe("done");
    expect(await visit("home")).toBeGreaterThan(100);
  });

  test("what was changed behind its back is repaired", async () => {
    cloudflare.namespaces.clear();
    cloudflare.routes.clear();
    cloudflare.domains.clear();
    // It is reached where its routes lead to, which is here.
    const loaded = await loadProject(project.folder);
    const routed = { ...loaded, config: { ...loaded.config, deploy: { ...loaded.config.deploy, url: null } } };
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
      fetch(url.replace(/^https:\/\/example\.com(?=\/)/, edge.url), init),
    );
    const outcome = await deployHere(edge.url, { project: routed, url: null }).finally(() => vi.unstubAllGlobals());
    expect(outcome).toMatchObject({
      kind: "done",
      edge: { urls: ["https://example.com", "https://visits.example.com"] },
    });
    expect([...cloudflare.routes, ...cloudflare.domains]).toEqual(ROUTED);
    expect(changesOf(outcome)).toMatchObject([
      { kind: "make", what: "KV namespace visits-production-cache" },
      { kind: "change", what: `Worker ${WORKER}` },
      { kind: "change" },
      { kind: "repair", what: `routes and schedules of ${WORKER}` },
    ]);
    expect(await visit("home")).toBeGreaterThan(200);
  });

  test("a rollback has the version before serve again, with its module, which the primary may have collected", async () => {
    const loaded = await loadProject(project.folder);
    const target = targetOfProject(loaded, "production");
    const cloud = await openEdge(loaded, target, { ...process.env, ...environment });
    const listed = await listDeployments(cloud);
    expect(listed[0]).toMatchObject({ live: true, by: "ann@example.com", versions: [{ percentage: 100 }] });
    const options = { project: loaded, target, primary: null, region: null, url: null, environment };
    const reached = {
      ...(await deployedPrimary(options, cloud)),
      acceptMisfits: false,
      note: (): void => undefined,
    };
    const { module: old, deployment } = listed.findLast(({ versions }) => versions.length === 1)!.versions[0]!;
    expect(old).not.toBe(listed[0]?.versions[0]?.module);

    // Another server, on other storage: it has none of the modules.
    const elsewhere = await startServer(join(state, "elsewhere"));
    const admin = { ...reached.primary.admin, urls: [`http://127.0.0.1:${elsewhere.address().port}`] };
    const to = deployment!;
    const planned = await planRollback({
      project: loaded,
      edge: cloud,
      to,
      ...reached,
      primary: { ...reached.primary, admin },
    });
    expect(planned.flatMap(({ changes }) => changes)).toMatchObject([{ kind: "make" }, { kind: "change" }]);
    const [module] = planned;
    expect(await module?.step.apply([])).toBe(old?.slice(0, 12));
    expect(await hasModule(admin, old as ModuleHash)).toBe(true);
    await elsewhere.stop();

    const mark = cloudflare.requests.length;
    const [no, interrupted] = await Promise.all([answered("rollback", "\r"), answered("rollback", CTRL_C)]);
    expect(no).toMatchObject({ code: 1, shown: expect.stringMatching(/\[y\/N\] \s*Nothing was changed\.\n$/) });
    expect(interrupted).toMatchObject({
      code: 1,
      shown: expect.stringMatching(
        /\[y\/N\] \s*error The command was told to stop\.\n {2}Run the same command again\.\nNothing was changed\.\n$/,
      ),
    });
    expect(changing(mark)).toEqual([]);

    const { code, stdout, stderr } = await run("rollback", to, "--yes", "--json");
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "rolled-back",
      steps: [{}, { name: "smoke" }, { name: "switch" }],
    });
    const count = await visit("home");
    expect(await visit("home")).toBe(count + 1);
    expect((await listDeployments(cloud))[0]?.versions).toMatchObject([
      { deployment: to, module: old, percentage: 100 },
    ]);
    await expect(planRollback({ project: loaded, edge: cloud, to: "nobody", ...reached })).rejects.toThrow(
      /No deployment or version/,
    );
    const other = { ...reached.primary, description: "https://other.example.com" };
    await expect(planRollback({ project: loaded, edge: cloud, to: null, ...reached, primary: other })).rejects.toThrow(
      /was made for another primary/,
    );
  });

  test("types that stored items may not fit are refused, planned or not, unless they are accepted", async () => {
    const handlers = (type: string): string =>
      HANDLERS(1)
        .replace("count: i32 = 0;", `note: ${type};`)
        .replaceAll(/counted\.count( \+= 1)?/g, "1");
    const before = worker().versions.length;
    // A field that is new, and one that is gone, fit.
    await project.write("handlers/visits.ts", handlers('string = "new"'));
    expect((await deployHere()).kind).toBe("done");
    await visit("home");
    await project.write("handlers/visits.ts", handlers("f64 = 0"));
    const { code, stderr } = await run("deploy", "--plan");
    expect(code).toBe(1);
    expect(stderr).toContain("The stored data does not fit the types of this build:\n  visits[].note: string → f64\n");
    expect(stderr).toContain("--accept-misfits");
    await expect(deployHere()).rejects.toMatchObject({ code: "data_does_not_fit" });
    // The field of an earlier build is in the items still.
    await project.write(
      "handlers/visits.ts",
      HANDLERS(1)
        .replace("count: i32 = 0;", 'count: string = "";')
        .replaceAll(/counted\.count( \+= 1)?/g, "1"),
    );
    await expect(deployHere()).rejects.toMatchObject({
      message: expect.stringContaining("visits[].count: i32 → string"),
    });
    expect(worker().versions).toHaveLength(before + 1);
    const accepted = await run("deploy", "--plan", "--accept-misfits");
    expect(accepted).toMatchObject({ code: 0, stderr: expect.stringContaining("Nothing was changed.") });
    await project.write("handlers/visits.ts", HANDLERS(1));
    expect((await deployHere()).kind).toBe("done");
  });

  test("items that share the fields of a new unique index stop a deployment before it uploads, with their keys", async () => {
    const indexed = HANDLERS(1)
      .replace("log, Table", "log, Table, Unique")
      .replace("count: i32 = 0;", 'count: i32 = 0; owner: string = "me";')
      .replace('new Table<Visits>("visits");', '$&\nconst byOwner = new Unique<Visits>(visits, "owner");')
      .concat("export function of(owner: string): bool { return byOwner.find(owner) != null; }\n");
    await project.write("handlers/visits.ts", indexed.replace(/const byOwner.*\n|export function of.*\n/g, ""));
    expect((await deployHere()).kind).toBe("done");
    for (const page of ["one", "two"]) await visit(page);
    const before = worker().versions.length;
    const serves = serving();

    await project.write("handlers/visits.ts", indexed);
    const { code, stderr } = await run("deploy", "--yes", "--url", edge.url);
    expect(stderr).toContain(
      "The index visits=owner can't be built: some items of visits can't be indexed as they are.\n",
    );
    expect(stderr).toMatch(/owner "me": the keys (home, )?one, two/);
    expect(stderr).toContain("radical data delete visits <key>");
    expect(code).toBe(1);
    // Nothing was shipped, and the version before serves on.
    expect(worker().versions).toHaveLength(before);
    expect(serving()).toEqual(serves);
    expect(await visit("one")).toBeGreaterThan(1);

    // Another build than any before, so that the newest version is the one that serves.
    await project.write("handlers/visits.ts", HANDLERS(2));
    expect((await deployHere()).kind).toBe("done");
  });

  test("plain wrangler deploy finds what was deployed", async () => {
    const count = worker().versions.length;
    const [before] = worker().versions.slice(-1);
    await createWrangler({ project: project.folder, environment: { ...process.env, ...environment } }).run(["deploy"]);
    expect(worker().versions).toHaveLength(count + 1);
    const [version] = worker().versions.slice(-1);
    // Secrets stay.
    expect(version?.bindings.toSorted(byName)).toEqual(before?.bindings.toSorted(byName));
    // The bundle has paths in its comments.
    expect(version?.modules.filter(isWasm)).toEqual(before?.modules.filter(isWasm));
    expect(version?.modules.filter(isWasm)).toHaveLength(2);
    // It counts on from what the versions before it have stored.
    expect(await visit("home")).toBeGreaterThan(200);
    expect(cloudflare.unknown).toEqual([]);
  });
});

describe("radical secrets", () => {
  const openCloud = async (environmentName = "production") => {
    const loaded = await loadProject(project.folder);
    return openEdge(loaded, targetOfProject(loaded, environmentName), { ...process.env, ...environment });
  };

  test("a secret is set by standard input, told to nobody, kept by a deployment, and deleted", async () => {
    const value = "5up3r 5ecret";
    const options = { env: environment, input: `${value}\n` };
    const { code, stdout, stderr } = await radical(
      ["secrets", "set", "SESSION_SECRET", "--project", project.folder, "--json"],
      options,
    );
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${JSON.stringify({ outcome: "set", secret: "SESSION_SECRET" })}\n`,
      stderr: "",
    });
    const bound = { name: "SESSION_SECRET", type: "secret_text", text: value };
    expect(worker().versions.at(-1)?.bindings).toContainEqual(bound);
    expect(serving()).toEqual({ [worker().versions.at(-1)?.id ?? ""]: 100 });
    const cloud = await openCloud();
    expect(await listSecrets(cloud)).toEqual(["SESSION_SECRET"]);

    // It is no reason to deploy anything, and what is deployed has it.
    expect(changesOf(await deployHere())).toEqual([]);
    await project.write("handlers/visits.ts", HANDLERS(1000));
    expect((await deployHere()).kind).toBe("done");
    expect(cloudflare.version(Object.keys(serving())[0]!)?.bindings).toContainEqual(bound);

    await deleteSecret(cloud, "SESSION_SECRET");
    expect(await listSecrets(cloud)).toEqual([]);
    expect(await visit("home")).toBeGreaterThan(1000);
    expect(cloudflare.unknown).toEqual([]);
  });

  test("what can't be changed, and why", async () => {
    const cloud = await openCloud();
    const value = (): Promise<string> => Promise.reject(new Error("asked for too early"));
    await expect(setSecret(cloud, "RADICAL_KEY", value)).rejects.toMatchObject({ code: "usage", exitCode: 2 });
    await expect(setSecret(cloud, "a-b", value)).rejects.toMatchObject({ code: "usage" });
    await expect(setSecret(cloud, "EMPTY", () => Promise.resolve("\n"))).rejects.toThrow(
      "The value of EMPTY is empty.",
    );
    await expect(deleteSecret(cloud, "SESSION_SECRET")).rejects.toMatchObject({ code: "unknown_secret" });
    await expect(setSecret(await openCloud("staging"), "A", value)).rejects.toMatchObject({ code: "not_deployed" });
  });

  test("keys of a server of one's own: what to do there", async () => {
    const { code, stdout } = await run("secrets", "rotate-keys", "--json");
    expect(code).toBe(0);
    const { outcome, steps } = JSON.parse(stdout) as { outcome: string; steps: readonly string[] };
    expect(outcome).toBe("by-hand");
    expect(steps[1]).toContain(`http://127.0.0.1:${link.address.port}`);
    const admin = await run("secrets", "rotate-keys", "--kind", "administration", "--json");
    const { steps: itsSteps } = JSON.parse(admin.stdout) as { steps: readonly string[] };
    expect(itsSteps).toEqual([
      "make a key: radical secrets new-keys --kind administration",
      expect.stringContaining("add its public half"),
      expect.stringContaining("RADICAL_ADMIN_KEYS"),
      expect.stringContaining("radical_signed_requests_total"),
    ]);
  });

  test("keys are made for a server of one's own, which takes them, and administers nothing with the half of the other", async () => {
    const made = await radical(["secrets", "new-keys", "--json"], {});
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const given = JSON.parse(made.stdout) as Readonly<Record<"server" | "RADICAL_KEYS" | "RADICAL_ADMIN_KEYS", string>>;
    const [location, half] = given.server.split(",");
    expect(location).toBe(given.RADICAL_KEYS);
    const [key] = parseAdministrationKeys(given.RADICAL_ADMIN_KEYS)!;
    expect(half).toBe(publicKeyText(key!));
    expect([...parseKeys(given.server).administration.keys()]).toEqual([key!.id]);
    expect(() => parseKeys(`${given.RADICAL_KEYS},${given.RADICAL_ADMIN_KEYS}`)).toThrow("private half");
    const out = join(state, "my-keys.json");
    const filed = await radical(["secrets", "new-keys", "--out", out], {});
    expect([filed.code, filed.stdout, filed.stderr]).toEqual([0, "", expect.stringContaining(out)]);
    const written = JSON.parse(await readFile(out, "utf8")) as typeof given;
    expect(parseKeys(written.server).locations.size).toBe(1);
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const again = await radical(["secrets", "new-keys", "--out", out, "--json"], {});
    expect([again.code, again.stdout]).toEqual([2, expect.stringContaining("is there already")]);
    expect(JSON.parse(await readFile(out, "utf8"))).toEqual(written);
    const one = await radical(["secrets", "new-keys", "--kind", "administration"], {});
    expect(one.stdout).toMatch(
      /^# .*\n(a[0-9a-f]{8}):ed25519:[0-9a-f]{64}\n# .*\nRADICAL_ADMIN_KEYS=\1:ed25519-private:[0-9a-f]{64}\n$/,
    );
  });
});

describe("a deployment with another primary", () => {
  const elsewhere = (): string => `http://127.0.0.1:${server.address().port}`;

  test("is refused while intents are pending at the one that serves, and if that can't be asked", async () => {
    link.setFaults({ ...NO_LINK_FAULTS, dropFollowups: true });
    await visit("held");
    await expect(deployHere(edge.url, { primary: elsewhere() })).rejects.toMatchObject({
      code: "pending_intents",
      message: expect.stringContaining("1 intent of answered requests is still pending"),
      hint: expect.stringContaining("--strand-pending"),
    });
    const confirm = (): Promise<boolean> => Promise.resolve(false);
    const chosen = await deployHere(edge.url, { primary: elsewhere(), strandPending: true, confirm });
    expect(chosen.kind).toBe("declined");

    const loaded = await loadProject(project.folder);
    const target = targetOfProject(loaded, "production");
    const given = { project: loaded, target, region: null, environment: { ...process.env, ...environment } };
    const cloud = await openEdge(loaded, target, given.environment);
    const check = (primary: string) => checkNothingStranded(given, cloud, primary, () => Promise.resolve(null));
    link.setFaults({ ...NO_LINK_FAULTS, down: true });
    await expect(check(elsewhere())).rejects.toMatchObject({ code: "pending_unknown" });
    // A standby beside it: the same primary.
    await check(`http://127.0.0.1:${link.address.port},${elsewhere()}`);
    link.setFaults(NO_LINK_FAULTS);
  });
});

describe("radical tail and radical record of a deployment", () => {
  test("tail: a line of each half, the Worker's by the real wrangler; Ctrl-C ends both", async () => {
    const child = spawnRadical(["tail", "--env", "production", "--json", "--project", project.folder], {
      env: environment,
    });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    const [lines, notes]: [TailLine[], string[]] = [[], []];
    createInterface(child.stdout!).on("line", (line) => lines.push(JSON.parse(line) as TailLine));
    createInterface(child.stderr!).on("line", (line) => notes.push(line));
    const has = (found: () => unknown): Promise<void> => expect.poll(found, { timeout: 100_000 }).toBeTruthy();
    await has(() => notes.includes("primary: connected"));
    await has(() => cloudflare.requests.includes(`POST /workers/scripts/${WORKER}/tails`));
    await visit("tailed");
    await has(() => lines.some(({ half, handler }) => half === "edge" && handler === "visit"));
    await has(() => lines.some(({ half }) => half === "primary"));
    const logged = (): readonly TailLine[] => lines.filter(({ line }) => line["message"] === "tailed is visited");
    await has(() => logged().length > 0);
    expect(logged()).toMatchObject([{ half: "edge", handler: "visit", level: "info", line: { event: "handler_log" } }]);
    child.kill("SIGINT");
    expect(await closed).toBe(0);
    await has(() => cloudflare.requests.some((line) => /^DELETE .*\/tails\//.test(line)));
    expect(cloudflare.unknown).toEqual([]);
  });

  test("dashboard: the page of a deployment tells both halves, and no route of it writes", async () => {
    const child = spawnRadical(
      ["dashboard", "--env", "production", "--values", "--json", "--project", project.folder],
      {
        env: environment,
      },
    );
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    const told = createInterface(child.stdout!)[Symbol.asyncIterator]().next();
    const first = await Promise.race([told, closed.then((code) => Promise.reject(new Error(`it ended: ${code}`)))]);
    const { url } = JSON.parse(String(first.value)) as { readonly url: string };
    const { origin, hash, hostname } = new URL(url);
    expect(hostname).toBe("127.0.0.1");
    const headers = { [DASHBOARD_TOKEN_HEADER]: hash.slice(1), "content-type": "application/json" };
    expect((await fetch(origin + DASHBOARD_CONTENTION_PATH)).status).toBe(401);
    for (const path of [
      DASHBOARD_CALL_PATH,
      DASHBOARD_DATA_PATH,
      DASHBOARD_FAULTS_PATH,
      DASHBOARD_TASK_ORDERS_PATH,
      DASHBOARD_TIME_PATH,
      DASHBOARD_WORKFLOW_ORDERS_PATH,
      DASHBOARD_WRITE_PATH,
    ])
      expect((await fetch(origin + path, { method: "POST", headers, body: "{}" })).status).toBe(404);

    const lines: DashboardLine[] = [];
    const stream = await fetch(origin + DASHBOARD_STREAM_PATH, { headers });
    const reading = (async () => {
      for await (const line of linesOf(stream)) lines.push(JSON.parse(line) as DashboardLine);
    })().catch(() => undefined);
    const has = (found: () => unknown): Promise<void> => expect.poll(found, { timeout: 100_000 }).toBeTruthy();
    const stateLine = (): DashboardLine | undefined => lines.findLast(({ kind }) => kind === "state");
    const source = { kind: "deployment", name: "visits · production", hasRecords: true };
    await has(() => cloudflare.requests.includes(`POST /workers/scripts/${WORKER}/tails`));
    await has(stateLine);
    expect(stateLine()).toMatchObject({ source, module: null });
    // Its halves may not be heard from the first moment on.
    await has(async () => {
      await visit("shown");
      const sides = lines.flatMap((line) => (line.kind === "life" && line.handler === "visit" ? [line.side] : []));
      return new Set(sides).size === 2;
    });
    await has(() => JSON.stringify(stateLine()).includes('"lost":[]'));

    let records: DashboardRecords["records"] = [];
    // Samples come by a stream of their own, which may be heard later than the lives.
    await has(async () => {
      await visit("shown");
      ({ records } = (await (await fetch(origin + DASHBOARD_RECORDS_PATH, { headers })).json()) as DashboardRecords);
      return records.length > 0;
    });
    const body = JSON.stringify({ execution: records[0]?.execution, build: "present" });
    const replay = await fetch(origin + DASHBOARD_REPLAY_PATH, { method: "POST", headers, body });
    const text = await replay.text();
    expect({ status: replay.status, text }).toMatchObject({ status: 200 });
    expect(JSON.parse(text)).toMatchObject({ differences: [], reason: null });
    // The primary has redacted it.
    expect(text).not.toContain("shown");
    expect(await (await fetch(origin + DASHBOARD_CONTENTION_PATH, { headers })).json()).toMatchObject({
      units: expect.any(Array) as unknown,
    });
    expect(await (await fetch(origin + DASHBOARD_WORKFLOWS_PATH, { headers })).json()).toMatchObject({
      workflows: [],
      isMore: false,
    });
    const unknown = JSON.stringify({ workflow: "0".repeat(32) });
    const history = await fetch(origin + DASHBOARD_WORKFLOWS_PATH, { method: "POST", headers, body: unknown });
    expect([history.status, await history.json()]).toEqual([200, null]);
    child.kill("SIGINT");
    expect(await closed).toBe(0);
    await reading;
    expect(cloudflare.unknown).toEqual([]);
  });

  test("record: of the server that leads; an environment that is not deployed is told", async () => {
    const child = spawnRadical(
      ["record", "--env", "production", "--count", "1", "--output", "-", "--project", project.folder],
      { env: environment },
    );
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    let stdout = "";
    child.stdout!.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    const started = new Promise<void>((resolve) => {
      createInterface(child.stderr!).on("line", (line) => {
        if (line.startsWith("recording ")) resolve();
      });
    });
    await Promise.race([started, closed]);
    // A record is told when the primary has what its run wrote.
    await visit("recorded");
    expect(await closed).toBe(0);
    // Sealed on its way to standard output too. The file names the environment, so nobody needs to.
    expect(stdout).not.toContain('visit"');
    const file = join(state, "sealed.jsonl");
    await writeFile(file, stdout);
    expect(JSON.parse(stdout.split("\n")[0]!)).toMatchObject({ environment: "production", deployment: WORKER });
    const replayed = await run("replay", file, "--json");
    expect([replayed.code, JSON.parse(replayed.stdout)]).toMatchObject([
      0,
      { records: 1, isSealed: true, isWhole: true, differing: [] },
    ]);
    const other = join(state, "other.jsonl");
    await writeFile(other, stdout.replace(WORKER, "visits-staging"));
    const refused = await run("replay", other);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("of the deployment visits-staging")]);

    const staging = await run("tail", "--env", "staging");
    expect([staging.code, staging.stderr]).toEqual([
      1,
      expect.stringContaining("The Worker visits-staging does not exist."),
    ]);
  });
});

describe("radical doctor of a deployment", () => {
  const problems = async (
    environmentName: string,
    more: NodeJS.ProcessEnv = {},
    choice: Partial<PrimaryChoice> = {},
  ): Promise<unknown> => {
    const loaded = await loadProject(project.folder);
    const { findings } = await examine(
      loaded,
      await lookAtDeployment({
        project: loaded,
        target: targetOfProject(loaded, environmentName),
        primary: null,
        region: null,
        url: edge.url,
        environment: { ...process.env, ...environment, ...more },
        ...choice,
      }),
      process.version,
    );
    return findings
      .filter(({ check, problems: found }) => check !== "dev_port" && found.length > 0)
      .map(({ check, problems: found }) => [check, ...found.map(({ message }) => message)]);
  };

  test("the command finds all of it by the name of the environment", async () => {
    const { code, stdout } = await run("doctor", "--env", "production", "--json");
    const { checks, roundTrips } = JSON.parse(stdout) as Diagnosis & { readonly checks: readonly Finding[] };
    expect(checks.filter(({ check, problems: found }) => check !== "dev_port" && found.length > 0)).toEqual([]);
    expect(checks.map(({ check }) => check)).toEqual([
      "node",
      "dev_port",
      "cloudflare",
      "worker",
      "primary",
      "read_leases",
      "locations",
      "modules",
      "clock",
    ]);
    expect(roundTrips).toHaveLength(1);
    // The port of radical dev may be somebody else's on this machine.
    expect([0, 1]).toContain(code);
  });

  test("versions that serve: one of another primary, one whose module the server lacks, one of somebody else", async () => {
    const elsewhere = await startServer(join(state, "without-modules"));
    const primary = `http://127.0.0.1:${elsewhere.address().port}`;
    const [version] = Object.keys(serving());
    try {
      expect(await problems("production", {}, { primary })).toEqual([
        ["worker", expect.stringContaining(`Version ${version} of the Worker ${WORKER} was made for the primary `)],
        ["modules", expect.stringMatching(/^The location \S+ runs module [0-9a-f]{12}, which the LVI server does not/)],
      ]);
    } finally {
      await elsewhere.stop();
    }
    const { bindings } = cloudflare.version(version!)!;
    const record = bindings.findIndex(({ name }) => name === "RADICAL_DEPLOYMENT");
    const [taken] = (bindings as FakeBinding[]).splice(record, 1);
    expect(await problems("production")).toEqual([
      ["worker", `Version ${version} of the Worker ${WORKER} was not made by radical deploy.`],
    ]);
    (bindings as FakeBinding[]).splice(record, 0, taken!);
  });

  test("a placement that was set in the dashboard", async () => {
    worker().placement = { mode: "smart" };
    expect(await problems("production")).toEqual([
      [
        "worker",
        `The Worker ${WORKER} has the placement mode smart: it runs away from its users, so that calls take as long as at the primary.`,
      ],
    ]);
    worker().placement = { mode: "off" };
    expect(await problems("production")).toEqual([]);
    worker().placement = undefined;
  });

  test("all is well; a wrong token, an environment that is not deployed", async () => {
    expect(await problems("production")).toEqual([]);
    expect(await problems("production", { CLOUDFLARE_API_TOKEN: "wrong" })).toEqual([
      ["cloudflare", expect.stringMatching(/^Cloudflare does not take these credentials: /)],
    ]);
    expect(await problems("staging")).toEqual([["worker", "The Worker visits-staging is not deployed."]]);
  });

  test("nobody at Cloudflare, and none logged in", async () => {
    const away = { CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:1" };
    expect(await problems("production", away)).toEqual([["cloudflare", expect.stringContaining("was not reached")]]);
    expect(await problems("production", { CLOUDFLARE_API_TOKEN: "" })).toEqual([
      ["cloudflare", "wrangler is not logged in at Cloudflare."],
    ]);
  });

  test("the server is killed: it is told, and that the location does not reach it", async () => {
    await server.stop();
    expect(await problems("production")).toMatchObject([
      ["primary", expect.stringMatching(/^the LVI server at \S+ was not reached/)],
      ["locations", expect.stringContaining("The primary did not answer")],
    ]);
  });
});

describe("radical destroy of a deployment with a primary of one's own", () => {
  test("asks, goes on where it was, leaves the primary alone, and finds nothing at last", async () => {
    const unasked = await run("destroy");
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("- remove Worker visits-production");
    expect(unasked.stderr).toContain("must ask whether to remove visits-production");
    expect(cloudflare.workers.has(WORKER)).toBe(true);

    cloudflare.failures.push({ at: /^DELETE \/storage/, how: 500, times: 1 });
    const broken = await run("destroy", "--yes", "--json");
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.stdout)).toMatchObject({ outcome: "failed", failed: "cache" });
    expect(cloudflare.workers.has(WORKER)).toBe(false);

    const { code, stdout, stderr } = await run("destroy", "--yes");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("- remove KV namespace visits-production-cache");
    expect(stderr).toContain(`stays: the LVI server at http://127.0.0.1:${link.address.port}, with its storage`);
    expect(cloudflare.namespaces.size).toBe(0);

    const loaded = await loadProject(project.folder);
    const target = targetOfProject(loaded, "production");
    const cloud = await openEdge(loaded, target, { ...process.env, ...environment });
    const rest = { primary: null, region: null, tables: false, strandPending: false, note: () => undefined };
    const { planned } = await planDestroy({ project: loaded, target, edge: cloud, environment, ...rest });
    expect(planned.flatMap(({ changes }) => changes)).toEqual([]);
    expect(cloudflare.unknown).toEqual([]);
  });
});
