/**
 * `radical deploy` with a primary at AWS: the real SDK on moto, the real wrangler on a fake of Cloudflare's API, and then exactly what it has
 * made: the server's image, as it lies in the registry, started twice as the task of each machine says, on
 * DynamoDB Local, and the Worker and the relay that were uploaded, in workerd, with the VPC services leading to those two.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DeleteParameterCommand, GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { openBackups, openItems, parseStorageAddress, type StorageAddress } from "@radical/lvi-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { itemOf, loadProject, readJson, startCompiler } from "@radical/app";
import {
  askPrimary,
  askSchedule,
  type AdministrationKey,
  type DeploymentKey,
  openWorkflows,
  signedRequest,
  waitingTasks,
} from "@radical/admin";
import {
  type DeployEvent,
  type DeployOutcome,
  deploy,
  targetOfProject,
  planDestroy,
  openEdge,
  primaryNames,
  findDeployed,
  leaderOf,
  planRotation,
  type StepsOutcome,
  applySteps,
  operatingKey,
  signingKey,
} from "@radical/deploy";
import {
  type DestroyOptions,
  AwsPrimary,
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryDeployment,
  type PrimarySettings,
} from "@radical/deploy/testing";
import {
  ADMINISTRATIVE_PATHS,
  CONTENTION_PATH,
  FOLLOWUP_PATH,
  INDEXES_PATH,
  LVI_PATH,
  METRICS_PATH,
  MODULE_LIST_PATH,
  NODES,
  type NodeName,
  PROBE_PATH,
  SCHEDULES_PATH,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  TIME_PATH,
  WORKFLOW_ORDERS_PATH,
  WORKFLOWS_PATH,
} from "@radical/protocol";
import { makeQuietTime } from "../src/data/quiet-time.ts";
import { writeItems } from "../src/data/write-items.ts";
import { samplesOf, total } from "../src/operate/metrics/prometheus-text.ts";
import { lookAtDeployment } from "../src/operate/doctor/deployment.ts";
import { examine } from "../src/operate/doctor/doctor.ts";
import { deployedSources } from "../src/operate/tail/deployed-sources.ts";
import { tailPrimary } from "../src/operate/tail/sources.ts";
import type { TailLine } from "../src/operate/tail/tail-line.ts";
import { type FakeCloudflare, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import { type FargateAccount, startFargateAccount } from "./primary/fargate-account.ts";
import { type KeptServer, keepServer } from "./primary/kept-server.ts";
import { meanwhile } from "./meanwhile.ts";
import { CREDENTIALS, hasPython, type Moto, startMoto } from "./primary/moto.ts";
import { deployedTemplate, serverTask } from "./primary/task.ts";
import { type TemporaryProject, createProject, radical } from "./radical-process.ts";

const NAME = { application: "visits", environment: "staging" };
const HANDLERS = `import { Table, enqueue, sleep } from "@radical/sdk";
export class Visits {
  count: i32 = 0;
}
const visits = new Table<Visits>("visits");
export function visit(page: string): i32 {
  const found = visits.get(page);
  const counted = found == null ? new Visits() : found;
  counted.count += 1;
  visits.put(page, counted);
  return counted.count;
}
export function visitTomorrow(page: string): string {
  return enqueue(visit(page), { delay: 86_400_000 });
}
/** @workflow */
export function tour(): string {
  sleep(86_400_000);
  return "over";
}
/** @internal
 *  @cron 0 3 1 1 * Europe/Berlin */
export function yearly(): void {
  visits.delete("home");
}
`;

const before = { ...process.env };
const machines = new Map<NodeName, KeptServer>();
/** What a machine does every half minute. */
const readKeys = new Map<NodeName, () => Promise<void>>();
/** Where the machines listen, as the network behind the VPC services has it. */
const network: Record<string, string> = {};
const events: DeployEvent[] = [];
let folder: string;
let moto: Moto;
let account: FargateAccount;
let aws: FargateAccount["proxy"];
let dynamo: DynamoDbLocal;
let cloudflare: FakeCloudflare;
let edge: FakeEdge;
let relay: FakeEdge;
let project: TemporaryProject;

const runs = hasPython() && hasDynamoDbLocal();
beforeAll(async () => {
  if (!runs) return;
  folder = await mkdtemp(join(tmpdir(), "radical-deploy-aws-"));
  [moto, dynamo, cloudflare] = await Promise.all([startMoto(), startDynamoDbLocal(), startFakeCloudflare()]);
  account = await startFargateAccount(moto);
  aws = account.proxy;
  edge = await startFakeEdge(cloudflare, "visits-staging", network);
  relay = await startFakeEdge(cloudflare, "visits-staging-primary", network);
  Object.assign(process.env, CREDENTIALS, {
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
  });
  project = await createProject({
    "radical.config.ts": `export default { name: "visits", deploy: { url: "${edge.url}", primary: { vcpu: 1 } } };\n`,
    "handlers/visits.ts": HANDLERS,
  });
});
afterAll(async () => {
  process.env = { ...before };
  await edge?.stop();
  await relay?.stop();
  for (const machine of machines.values()) machine.kill();
  await account?.stop();
  await Promise.all([moto?.stop(), dynamo?.stop(), cloudflare?.stop(), project?.remove()]);
  if (runs) await rm(folder, { recursive: true, force: true });
});

/** What all commands here are told. */
async function options() {
  const loaded = await loadProject(project.folder);
  return {
    project: loaded,
    target: targetOfProject(loaded, NAME.environment),
    primary: null,
    region: null,
    url: null,
    colours: false,
    environment: { ...process.env, CLOUDFLARE_API_BASE_URL: cloudflare.url, CLOUDFLARE_API_TOKEN: cloudflare.token },
    // What these machines do takes no minutes.
    wait: (ms: number): Promise<void> => sleep(Math.min(ms, 1_000)),
    originOf: (): Promise<string | null> => Promise.resolve(relay.url),
    primaryDeployment: (settings: PrimarySettings): Promise<PrimaryDeployment> =>
      Promise.resolve(machinesOf(new AwsPrimary(settings, { pollMs: 5, images: account.images }))),
  };
}

/** What `radical doctor --env staging` finds, but for the port of `radical dev`. */
async function problems(): Promise<Readonly<Record<string, readonly string[]>>> {
  const choice = { ...(await options()), url: edge.url };
  const { findings } = await examine(choice.project, await lookAtDeployment(choice), process.version);
  looked = findings.map(({ check }) => check);
  const found = findings.filter(({ check, problems: all }) => check !== "dev_port" && all.length > 0);
  return Object.fromEntries(found.map(({ check, problems: all }) => [check, all.map(({ message }) => message)]));
}
let looked: readonly string[] = [];

async function deployHere(only: "edge" | "primary" | null = null): Promise<DeployOutcome> {
  const outcome = await deploy({
    ...(await options()),
    only,
    strandPending: false,
    acceptMisfits: false,
    onEvent: (event) => events.push(event),
    confirm: () => Promise.resolve(true),
  });
  if (outcome.kind === "failed") throw outcome.error;
  return outcome;
}

/** moto starts no machines: they are started here, when the stack is there. */
function machinesOf(primary: AwsPrimary): AwsPrimary {
  const apply = primary.apply.bind(primary);
  primary.apply = async (...args) => {
    const state = await apply(...args);
    for (const node of NODES) if (!machines.has(node)) await startMachine(node, state.access.region);
    return state;
  };
  return primary;
}

/** As its task says, but for the places. */
async function startMachine(node: NodeName, region: string): Promise<void> {
  const template = await deployedTemplate(primaryNames(NAME).stack);
  const task = serverTask(template, node, account.registry, join(folder, node), region);
  const machine = await keepServer(task.program, task.args, {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RADICAL_"))),
    ...task.environment,
    // This machine may stop for seconds, and the leader is to be the one that was started first.
    RADICAL_LEASE_MS: "20000",
    NODE_OPTIONS: "",
  });
  machines.set(node, machine);
  readKeys.set(node, async () => {
    const already = machine.keysRead();
    machine.reload();
    await expect.poll(machine.keysRead, { timeout: 240_000 }).toBeGreaterThan(already);
  });
  network[primaryNames(NAME).tunnels[node]] = `127.0.0.1:${machine.port}`;
}

/** Calls a handler, and does not wait for the end of a workflow. */
async function answerOf<Answer>(handler: string, args: object): Promise<Answer> {
  const response = await fetch(`${edge.url}/api/${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "wait=0" },
    body: JSON.stringify(args),
  });
  expect([200, 202]).toContain(response.status);
  return (await response.json()) as Answer;
}

/** The keys of commands and of locations. */
async function administered(): Promise<{ readonly key: AdministrationKey; readonly location: DeploymentKey }> {
  const primary = new AwsPrimary({ ...DEFAULT_PRIMARY_SETTINGS, ...NAME }, { pollMs: 5 });
  const state = await primary.state();
  primary.close();
  const [key, location] = state === null ? [] : [operatingKey(state, Date.now()), signingKey(state, Date.now())];
  if (!key || !location) throw new Error("the primary has no keys");
  return { key, location };
}

async function visit(page: string): Promise<unknown> {
  const response = await fetch(`${edge.url}/api/visit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ page }),
  });
  return {
    status: response.status,
    path: response.headers.get("x-radical-path"),
    ...((await response.json()) as object),
  };
}

describe.skipIf(!runs)("radical deploy with a primary at AWS", () => {
  test("--plan shows what both halves would make, and makes nothing", async () => {
    const { code, stdout, stderr } = await radical(
      ["deploy", "--plan", "--json", "--env", NAME.environment, "--project", project.folder],
      { env: (await options()).environment },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as { plan: readonly { half: string; changes: readonly { what: string }[] }[] };
    expect(result).toMatchObject({ outcome: "planned", ...NAME, warnings: [] });
    const planned = (of: string): readonly string[] =>
      result.plan.flatMap(({ half, changes }) => (half === of ? changes.map(({ what }) => what) : []));
    const { tunnels, tablePrefix } = primaryNames(NAME);
    expect(planned("primary")).toEqual(
      expect.arrayContaining([
        `tunnel ${tunnels.a}`,
        `VPC service ${tunnels.a}`,
        "repository radical-visits-staging",
        expect.stringMatching(/^image [0-9a-f]{12}$/),
        `table ${tablePrefix}-items`,
        "network",
        "machine a",
        "machine b",
        "read leases",
        "Worker visits-staging-primary",
        "alarm: errors in the log",
        "alarm: tasks are dead",
        "alarm: a task waits for long",
        "alarm: workflows are stuck",
        "alarm: a service is down",
        "alarm: no server stands by",
        "dashboard",
      ]),
    );
    expect(planned("edge")).toEqual([
      expect.stringMatching(/^module [0-9a-f]{12} at the primary$/),
      "schedule yearly",
      "Worker visits-staging",
    ]);
    expect(cloudflare.requests.filter((line) => !line.startsWith("GET "))).toEqual([]);
    expect(aws.calls).toContain("DescribeStacks");
    expect(aws.calls.filter((call) => !/^(Get|Head|List|Describe)/.test(call))).toEqual([]);
    expect(cloudflare.unknown).toEqual([]);
  });

  test("one request goes through exactly what it has made", async () => {
    const outcome = await deployHere();
    expect(outcome).toMatchObject({ kind: "done" });
    expect(outcome.planned.map(({ step }) => step.name)).toEqual([
      "tunnels",
      "services",
      "primary",
      "relay",
      "leader",
      "module",
      "upload",
      "smoke",
      "switch",
    ]);
    expect(await visit("home")).toMatchObject({ status: 200, result: 1, path: "speculative" });
    expect(cloudflare.unknown).toEqual([]);
  });

  test("a second run changes nothing", async () => {
    const mark = cloudflare.requests.length;
    const outcome = await deployHere();
    expect(outcome).toMatchObject({ kind: "done" });
    expect(outcome.planned.flatMap(({ changes }) => changes)).toEqual([]);
    expect(cloudflare.requests.slice(mark).filter((line) => !line.startsWith("GET "))).toEqual([]);
  });

  test("radical doctor finds all of it: the leader, the standby behind the relay, tables, what is deployed", async () => {
    expect(await problems()).toEqual({});
    expect(looked).toEqual([
      "node",
      "dev_port",
      "cloudflare",
      "worker",
      "aws",
      "tables",
      "alarms",
      "primary",
      "standby",
      "read_leases",
      "locations",
      "modules",
      "clock",
    ]);

    aws.answer((call) => Promise.resolve(call === "GetCallerIdentity" ? { status: 403, body: UNKNOWN } : null));
    expect(await problems()).toEqual({ aws: [expect.stringContaining("AWS does not know these credentials")] });
    aws.answer(null);

    const { tablePrefix, parameters } = primaryNames(NAME);
    const [tables, secrets] = [new DynamoDBClient(), new SSMClient()];
    await tables.send(new DeleteTableCommand({ TableName: `${tablePrefix}-overflow` }));
    const name = parameters.tunnelTokens.b;
    const { Parameter: token } = await secrets.send(new GetParameterCommand({ Name: name, WithDecryption: true }));
    await secrets.send(new DeleteParameterCommand({ Name: name }));
    aws.answer((call) => Promise.resolve(call === "DescribeRepositories" ? NO_REPOSITORY : null));
    expect(await problems()).toEqual({
      aws: [
        "The repository radical-visits-staging is missing.",
        expect.stringMatching(/^The image [0-9a-f]{12} is missing\.$/),
        expect.stringMatching(/^The image of cloudflared \d+\.\d+\.\d+ is missing\.$/),
        `The secret ${name} is missing.`,
      ],
      tables: [`The table ${tablePrefix}-overflow is missing.`],
    });
    aws.answer(async (call, said) => {
      if (call !== "DescribeStacks") return null;
      return { status: 200, body: (await said()).body.replace(/(?<=<StackStatus>)\w+/, "UPDATE_ROLLBACK_FAILED") };
    });
    expect(await problems()).toEqual({
      aws: [
        expect.stringContaining("is in the state UPDATE_ROLLBACK_FAILED: a change failed, and so did taking it back"),
      ],
    });
    aws.answer(null);
    await secrets.send(new PutParameterCommand({ Name: name, Value: token!.Value!, Type: "SecureString" }));
    tables.destroy();
    secrets.destroy();
    const mark = cloudflare.requests.length;
    const repaired = await deployHere("primary");
    expect(repaired.kind).toBe("done");
    expect(new Set(repaired.planned.map(({ step }) => step.half))).toEqual(new Set(["primary"]));
    expect(cloudflare.requests.slice(mark).filter((line) => !line.startsWith("GET "))).toEqual([]);
    expect(await problems()).toEqual({});
  });

  test("radical tail hears both machines, and radical record finds the one that leads", async () => {
    const { servers, worker } = await deployedSources(await options());
    expect([worker, ...servers.map(({ name }) => name)]).toEqual(["visits-staging", "a", "b"]);
    const stop = new AbortController();
    const heard = new Set<string | null>();
    const onLine = ({ server }: TailLine): void => {
      heard.add(server);
      if (heard.size === servers.length) stop.abort();
    };
    const question = { lines: 10, level: "info" } as const;
    const sink = { onLine, onState: () => undefined };
    await Promise.all(servers.map((server) => tailPrimary(server, question, sink, stop.signal)));
    expect(heard).toEqual(new Set(["a", "b"]));
    const deployed = await findDeployed(await options());
    expect(await leaderOf(deployed.servers)).toMatchObject({ url: relay.url, node: "a" });
  });

  test("metrics of both machines come through the relay: of the one that leads, and of the other", async () => {
    const { servers } = await findDeployed(await options());
    const serving = await Promise.all(
      servers.map(async (server) => {
        const text = await (await askPrimary(server, "GET", METRICS_PATH)).text();
        expect(total(samplesOf(text), "process_resident_memory_bytes")).toBeGreaterThan(0);
        return [server.node, total(samplesOf(text), "radical_serving")];
      }),
    );
    expect(serving).toEqual([
      ["a", 1],
      ["b", 0],
    ]);
  });

  test("items are written through the relay, and read from the tables", async () => {
    const { servers, storage } = await findDeployed(await options());
    const compiler = await startCompiler({ colours: false });
    try {
      const written = itemOf("visits", "edited", readJson('{"count": 41}', "the value"), null);
      expect(await writeItems(await leaderOf(servers), await compiler.dataProgram("data"), [written])).toBe(1);
      const reader = await openItems(parseStorageAddress(storage!) as StorageAddress);
      expect((await reader.item("visits", "edited"))?.value).toEqual(written.value);
      await reader.close();
    } finally {
      await compiler.close();
    }
  });

  test("the tables are those that the configuration names after a restore", async () => {
    const { project: loaded, ...choice } = await options();
    const { deploy: configured } = loaded.config;
    const moved = { ...configured.aws, tables: { staging: "restored-visits" } };
    const restored = { ...loaded, config: { ...loaded.config, deploy: { ...configured, aws: moved } } };
    const [original, now] = [loaded, restored].map((one) => findDeployed({ ...choice, project: one }));
    expect((await original)?.storage).toMatch(/^dynamodb:radical-visits-staging\?region=/);
    expect((await now)?.storage).toMatch(/^dynamodb:restored-visits\?region=/);
  });

  test("a deployment that never rests makes a second to go back to: writes wait, and are all answered", async () => {
    const { servers, storage } = await findDeployed(await options());
    const address = parseStorageAddress(storage!) as StorageAddress & { kind: "dynamodb" };
    const backups = await openBackups(address);
    const beganMs = Date.now();
    const made = async () => (await backups.quietTimes()).filter(({ fromMs }) => fromMs >= beganMs);
    const ending = new AbortController();
    const answers: unknown[] = [];
    const writing = (async () => {
      while (!ending.signal.aborted) answers.push(await visit("busy"));
    })();
    try {
      await expect.poll(() => answers.length, { timeout: 100_000 }).toBeGreaterThan(3);
      await makeQuietTime({ servers, storage: null }, NAME.environment, { json: true, yes: true });
      const [quiet] = await made();
      expect((quiet?.untilMs ?? 0) - (quiet?.fromMs ?? 0)).toBeGreaterThanOrEqual(7_000);
      const mark = answers.length;
      await expect.poll(() => answers.length, { timeout: 100_000 }).toBeGreaterThan(mark + 3);
    } finally {
      ending.abort();
      await writing;
      backups.close();
    }
    expect(answers.map((answer) => (answer as { readonly result?: unknown }).result)).toEqual(
      answers.map((_, index) => index + 1),
    );
  });

  test("production that tells nobody of its alarms: doctor and the plan warn", async () => {
    const { code, stdout } = await radical(
      ["deploy", "--plan", "--json", "--env", "production", "--project", project.folder],
      { env: (await options()).environment },
    );
    const told = expect.stringMatching(/^Nobody is told when an alarm of production goes off\./) as unknown;
    expect({ code, result: JSON.parse(stdout) as unknown }).toMatchObject({ code: 0, result: { warnings: [told] } });
    const loaded = await loadProject(project.folder);
    // The machines that are there, as if they were those of production.
    const there = (): Promise<PrimaryDeployment> =>
      Promise.resolve(new AwsPrimary({ ...DEFAULT_PRIMARY_SETTINGS, ...NAME }, { pollMs: 5 }));
    const target = targetOfProject(loaded, "production");
    const { findings } = await lookAtDeployment({ ...(await options()), target, primaryDeployment: there });
    const alarms = findings.filter(({ check }) => check === "alarms").flatMap(({ problems: all }) => all);
    expect(alarms).toMatchObject([{ message: told }]);
  });

  test("--emit-template prints what was deployed, and asks no account", async () => {
    const { code, stdout, stderr } = await radical(
      ["deploy", "--emit-template", "--env", NAME.environment, "--project", project.folder],
      {
        env: { AWS_ENDPOINT_URL: "http://127.0.0.1:1", AWS_ACCESS_KEY_ID: undefined, CLOUDFLARE_API_TOKEN: undefined },
      },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('"Cpu": "1024"');
    expect(stdout).toContain('"radical.tunnel": "none"');
    const deployed = JSON.stringify(await deployedTemplate(primaryNames(NAME).stack));
    expect(JSON.stringify(JSON.parse(stdout))).toBe(
      deployed.replaceAll(/"radical\.tunnel":"[^"]*"/g, '"radical.tunnel":"none"'),
    );
  });

  test("the leader dies: the standby serves, and is administered", async () => {
    await machines.get("a")?.stop();
    expect(await visit("home")).toMatchObject({ status: 200, result: 2 });
    expect((await deployHere()).kind).toBe("done");
    expect(await problems()).toEqual({
      standby: [
        expect.stringContaining("No server stands by: the LVI server of machine a was not reached by the relay"),
      ],
    });
    const { servers } = await findDeployed(await options());
    expect(await leaderOf(servers)).toMatchObject({ node: "b" });
  });

  test("the relay forwards signed requests of operators, and nothing else", async () => {
    const { key, location } = await administered();
    const empty = { GET: new Uint8Array(), POST: Buffer.from("{}") };
    const ask = (path: string, method: "GET" | "POST"): Promise<Response> =>
      signedRequest(relay.url, key, method, path, empty[method], AbortSignal.timeout(60_000), {
        deployment: "visits-staging",
      });
    const ofGet = new Set<string>([
      STATUS_PATH,
      METRICS_PATH,
      MODULE_LIST_PATH,
      INDEXES_PATH,
      SCHEDULES_PATH,
      CONTENTION_PATH,
    ]);
    const answers: Record<string, readonly [unsigned: number, signed: number]> = {};
    for (const path of [...ADMINISTRATIVE_PATHS, LVI_PATH, FOLLOWUP_PATH, "/metrics", "/healthz", PROBE_PATH]) {
      const method = ofGet.has(path) ? "GET" : "POST";
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const [unsigned, signed] = [await fetch(`${relay.url}${path}`, { method }), await ask(path, method)];
      answers[path] = [unsigned.status, signed.status];
    }
    const stolen: Record<string, number> = {};
    for (const path of ADMINISTRATIVE_PATHS) {
      const method = ofGet.has(path) ? "GET" : "POST";
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      stolen[path] = (await signedRequest(relay.url, location, method, path, empty[method])).status;
    }
    expect(stolen).toEqual(
      Object.fromEntries(ADMINISTRATIVE_PATHS.map((path) => [path, path === TIME_PATH ? 404 : 401])),
    );
    const relayed = ADMINISTRATIVE_PATHS.filter((path) => path !== TIME_PATH);
    expect(answers).toEqual({
      // The server answers, to some that the question is empty.
      ...Object.fromEntries(relayed.map((path) => [path, [404, ofGet.has(path) ? 200 : 400]])),
      ...Object.fromEntries(
        [TIME_PATH, LVI_PATH, FOLLOWUP_PATH, "/metrics", "/healthz", PROBE_PATH].map((path) => [path, [404, 404]]),
      ),
    });
  });

  test("no secret is in what it has told", async () => {
    const primary = new AwsPrimary({ ...DEFAULT_PRIMARY_SETTINGS, ...NAME }, { pollMs: 5 });
    const { keys, administration } = (await primary.state())!;
    primary.close();
    expect([keys.length, administration.length]).toEqual([1, 1]);
    const told = JSON.stringify(events);
    for (const secret of [keys[0]!.secret, administration[0]!.privateHalf]) expect(told).not.toContain(secret);
  });

  /** `kind`: whose key. Waits pass at once, and the machine that runs reads its keys meanwhile. `waits`: called with their number. */
  const rotate = async (
    kind: "location" | "administration",
    waits: (number: number) => Promise<void> = () => Promise.resolve(),
  ) => {
    let ahead = 0;
    const waited: number[] = [];
    const rotation = await planRotation({
      ...(await options()),
      kind,
      now: () => Date.now() + ahead,
      wait: async (ms) => {
        if (ms < 30_000) return sleep(Math.min(ms, 1_000));
        waited.push(ms);
        ahead += ms;
        await readKeys.get("b")?.();
        await waits(waited.length);
      },
    });
    if (rotation.kind !== "steps") throw new Error(rotation.kind);
    const outcome = await applySteps(rotation.planned, { onEvent: () => undefined });
    rotation.close();
    expect(outcome).toMatchObject({ kind: "done" });
    await readKeys.get("b")?.();
    return { steps: rotation.planned.map(({ step }) => step.name), waited };
  };

  test("keys are rotated: a location signs with the fresh one when the servers have it, then the old one is dropped", async () => {
    const primary = new AwsPrimary({ ...DEFAULT_PRIMARY_SETTINGS, ...NAME }, { pollMs: 5 });
    const [old] = (await primary.state())!.keys;
    const { steps, waited } = await rotate("location");
    expect(steps).toEqual(["fresh-key", "read", "worker", "old-key"]);
    expect(waited).toHaveLength(2);
    expect(waited[0]).toBeGreaterThan(60_000);
    const { keys, administration } = (await primary.state())!;
    primary.close();
    expect(keys).toHaveLength(1);
    expect(keys[0]?.id).not.toBe(old?.id);
    const serving = machines.get("b")!;
    const asLocation = (key: DeploymentKey): Promise<Response> =>
      signedRequest(`http://127.0.0.1:${serving.port}`, key, "POST", LVI_PATH, new Uint8Array());
    expect((await asLocation(old!)).status).toBe(401);
    // It is taken, and there is nothing in it.
    expect((await asLocation(keys[0]!)).status).toBe(400);
    // The machines know the name of their deployment.
    const asked = { urls: [relay.url], key: administration[0]! };
    await expect(waitingTasks(asked)).rejects.toThrow('this server is of "visits-staging"');
    await expect(waitingTasks({ ...asked, deployment: "visits-production" })).rejects.toThrow(/to the deployment/);
    expect(await waitingTasks({ ...asked, deployment: "visits-staging" })).toBe(0);
    expect(await visit("home")).toMatchObject({ status: 200, result: 3 });
    const again = await deployHere();
    expect(again.planned.flatMap(({ changes }) => changes)).toEqual([]);
  });

  test("administration keys are rotated apart: commands sign with the fresh one, and no location is changed", async () => {
    const old = await administered();
    const of = { urls: [relay.url], deployment: "visits-staging" };
    // Somebody looks at the deployment, as commands do, until the wait for those that have begun.
    let looks = 0;
    const look = async (): Promise<void> => {
      expect(await waitingTasks({ ...of, key: (await administered()).key })).toBe(0);
      looks++;
    };
    const { steps, waited } = await meanwhile(look, (stop) =>
      rotate("administration", async (number) => {
        const already = looks;
        await expect.poll(() => looks, { timeout: 100_000 }).toBeGreaterThan(already);
        if (number === 2) await stop();
      }),
    );
    expect(steps).toEqual(["fresh-key", "read", "old-key"]);
    expect(waited).toHaveLength(2);
    const { key, location } = await administered();
    expect([location, key.id === old.key.id]).toEqual([old.location, false]);
    expect(await waitingTasks({ ...of, key })).toBe(0);
    // The relay remembers public halves for a while; the machine itself refuses the old one at once.
    await expect(waitingTasks({ ...of, key: old.key })).rejects.toMatchObject({ code: "primary_refused_key" });
    expect(await visit("home")).toMatchObject({ status: 200, result: 4 });
    expect((await deployHere()).planned.flatMap(({ changes }) => changes)).toEqual([]);
  });

  describe("destroyed", () => {
    const removal = async (more: Partial<DestroyOptions> = {}) => {
      const common = await options();
      const cloud = await openEdge(common.project, common.target, common.environment);
      const rest = { edge: cloud, tables: false, strandPending: false, note: () => undefined };
      return planDestroy({ ...common, ...rest, ...more });
    };
    const destroy = async (more: Partial<DestroyOptions> = {}): Promise<StepsOutcome & { readonly stays: unknown }> => {
      const { planned, stays, close } = await removal(more);
      const outcome = await applySteps(planned, { onEvent: () => undefined });
      close();
      return { ...outcome, stays };
    };

    test("not while tasks wait or workflows are open: what to do is told, and done through the relay", async () => {
      const relayed = await administered();
      const primary = { url: relay.url, key: relayed.key, deployment: "visits-staging" };
      const order = async (path: string, action: string, ids: readonly string[]): Promise<unknown> => {
        const question = path === TASK_ORDERS_PATH ? { action, ids, callAgain: false } : { action, ids };
        return (await askPrimary(primary, "POST", path, question)).json();
      };
      const { result: task } = await answerOf<{ result: string }>("visitTomorrow", { page: "home" });
      await expect(removal()).rejects.toMatchObject({
        code: "tasks_wait",
        message: expect.stringContaining("1 task waits at the primary"),
        hint: expect.stringMatching(
          /See radical tasks list --env staging\..* pause yearly with radical schedules pause <handler> --env staging\..*--strand-pending/,
        ),
      });
      expect([...cloudflare.workers.keys()]).toContain("visits-staging");
      expect(await askSchedule(primary, { handler: "yearly", action: "pause" })).toEqual({ task: null });
      await expect(removal()).rejects.toMatchObject({ hint: expect.not.stringContaining("yearly") });
      expect(await order(TASK_ORDERS_PATH, "cancel", [task])).toEqual({ results: [{ id: task, outcome: "done" }] });

      const { workflow } = await answerOf<{ workflow: string }>("tour", {});
      await expect(removal()).rejects.toMatchObject({
        code: "workflows_open",
        message: expect.stringContaining("1 workflow at the primary"),
        hint: expect.stringContaining("See radical workflows list --env staging."),
      });
      const strand = await removal({ strandPending: true });
      expect(strand.planned.some(({ changes }) => changes.length > 0)).toBe(true);
      strand.close();
      expect(await order(WORKFLOW_ORDERS_PATH, "cancel", [workflow])).toMatchObject({ results: [{ id: workflow }] });
      await expect.poll(() => openWorkflows({ ...primary, urls: [relay.url] }), { timeout: 100_000 }).toBe(0);
      const allowed = await removal();
      expect(allowed.planned.flatMap(({ changes }) => changes).length).toBeGreaterThan(0);
      allowed.close();
    });

    test("not while intents are pending, unless that is chosen", async () => {
      const pending = [2, 0];
      let refused = 0;
      const asked = createServer(({ url }, response) => {
        if ([TASKS_PATH, WORKFLOWS_PATH, SCHEDULES_PATH].includes(url ?? ""))
          return void response.end(JSON.stringify({ all: 0, tasks: [], workflows: [], schedules: [] }));
        if (pending[0] === REFUSED) {
          refused++;
          return void response.writeHead(401).end(JSON.stringify({ error: { code: "unauthorized" } }));
        }
        response.end(JSON.stringify({ modules: [{ pending: pending.shift() ?? 1 }] }));
      }).listen(0, "127.0.0.1");
      await once(asked, "listening");
      const originOf = () => Promise.resolve(`http://127.0.0.1:${(asked.address() as AddressInfo).port}`);
      await expect(removal({ originOf })).rejects.toMatchObject({
        code: "pending_intents",
        message: expect.stringContaining("2 intents of answered requests are still pending"),
      });
      // None is pending, then requests come until the Worker is gone, and then they are applied.
      const { planned, close } = await removal({ originOf });
      pending.push(3, 1, 0);
      const intents = planned.find(({ step }) => step.name === "intents")!;
      await intents.step.apply([]);
      expect(pending).toEqual([]);
      // No waiting mends that.
      pending.push(REFUSED);
      await expect(intents.step.apply([])).rejects.toMatchObject({ code: "pending_unknown" });
      expect(refused).toBe(1);
      close();
      const chosen = await removal({ originOf, strandPending: true });
      expect(chosen.planned.some(({ changes }) => changes.length > 0)).toBe(true);
      chosen.close();
      asked.close();
    });

    test("a failure leaves what is behind it, another run goes on, and tables stay until they are named", async () => {
      aws.answer((call) => Promise.resolve(call === "DeleteStack" ? { status: 403, body: DENIED } : null));
      expect(await destroy()).toMatchObject({ kind: "failed", failed: { name: "primary" } });
      expect([...cloudflare.workers.keys()]).toEqual(["visits-staging-primary"]);
      expect(cloudflare.tunnels.size).toBe(2);

      // moto deletes no networks.
      let isGone = false;
      aws.answer((call) => {
        if (call === "DeleteStack") {
          isGone = true;
          return Promise.resolve({ status: 200, body: "<DeleteStackResponse/>" });
        }
        return Promise.resolve(call === "DescribeStacks" && isGone ? GONE : null);
      });
      const done = await destroy();
      expect(done).toMatchObject({ kind: "done" });
      expect(done.stays).toHaveLength(6);
      expect(done.stays).toContain(`table ${primaryNames(NAME).tablePrefix}-items`);
      expect([cloudflare.workers.size, cloudflare.tunnels.size, cloudflare.services.size]).toEqual([0, 0, 0]);

      const rest = await removal();
      expect(rest.planned.flatMap(({ changes }) => changes)).toEqual([]);
      rest.close();
      expect(await destroy({ tables: true })).toMatchObject({ kind: "done", stays: [] });
      const nothing = await removal({ tables: true });
      expect(nothing.planned.flatMap(({ changes }) => changes)).toEqual([]);
      nothing.close();
      expect(cloudflare.unknown).toEqual([]);
    });
  });
});

/** In place of a number of pending intents: the key is not taken. */
const REFUSED = -1;
const NO_REPOSITORY = { status: 400, body: JSON.stringify({ __type: "RepositoryNotFoundException", message: "none" }) };
const UNKNOWN =
  "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidClientTokenId</Code><Message>no such token</Message></Error></ErrorResponse>";
const DENIED =
  "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized</Message></Error></ErrorResponse>";
const GONE = {
  status: 400,
  body: "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>",
};
