/**
 * `radical deploy` with a primary at AWS: the real SDK on moto, the real wrangler on a fake of Cloudflare's API, and then exactly what it has
 * made: the server's artefact, fetched from the bucket and started on two machines as their unit says, on
 * DynamoDB Local, and the Worker and the relay that were uploaded, in workerd, with the VPC services leading to those two.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadProject } from "../src/config/load-config.ts";
import { type DeployEvent, type DeployOutcome, deploy, targetOfProject } from "../src/deploy/deploy.ts";
import { AwsPrimary } from "../src/deploy/primary/aws-primary.ts";
import { NODES, type NodeName, bucketName, primaryNames } from "../src/deploy/primary/names.ts";
import { DEFAULT_PRIMARY_SETTINGS } from "../src/deploy/primary/primary-deployment.ts";
import { fetchArtefact, nodeEnvironment } from "../src/deploy/primary/user-data.ts";
import { type FakeCloudflare, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import { CREDENTIALS, hasPython, installMoto, type Moto, startMoto } from "./primary/moto.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const NAME = { application: "visits", environment: "staging" };
const HANDLERS = `import { Table } from "@radical/sdk";
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
`;

const run = promisify(execFile);
const before = { ...process.env };
const machines = new Map<NodeName, ChildProcess>();
/** Where the machines listen, as the network behind the VPC services has it. */
const network: Record<string, string> = {};
const events: DeployEvent[] = [];
let folder: string;
let moto: Moto;
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
  edge = await startFakeEdge(cloudflare, "visits-staging", network);
  relay = await startFakeEdge(cloudflare, "visits-staging-primary", network);
  Object.assign(process.env, CREDENTIALS, {
    AWS_ENDPOINT_URL: moto.endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
  });
  project = await createProject({
    "radical.config.ts": `export default { name: "visits", deploy: { url: "${edge.url}" } };\n`,
    "handlers/visits.ts": HANDLERS,
  });
});
afterAll(async () => {
  process.env = { ...before };
  await edge?.stop();
  await relay?.stop();
  for (const machine of machines.values()) machine.kill("SIGKILL");
  await Promise.all([moto?.stop(), dynamo?.stop(), cloudflare?.stop(), project?.remove()]);
  if (runs) await rm(folder, { recursive: true, force: true });
});

async function deployHere(): Promise<DeployOutcome> {
  const loaded = await loadProject(project.folder);
  return deploy({
    project: loaded,
    target: targetOfProject(loaded, NAME.environment),
    only: null,
    primary: null,
    region: null,
    url: null,
    colours: false,
    environment: { ...process.env, CLOUDFLARE_API_BASE_URL: cloudflare.url, CLOUDFLARE_API_TOKEN: cloudflare.token },
    wait: () => new Promise((resolve) => setImmediate(resolve)),
    originOf: () => Promise.resolve(relay.url),
    primaryDeployment: (settings) => Promise.resolve(machinesOf(new AwsPrimary(settings, { pollMs: 5 }))),
    onEvent: (event) => events.push(event),
    confirm: () => Promise.resolve(true),
  });
}

/** moto starts no machines: they are started here, when the stack is there. */
function machinesOf(primary: AwsPrimary): AwsPrimary {
  const apply = primary.apply.bind(primary);
  primary.apply = async (...args) => {
    const state = await apply(...args);
    for (const node of NODES) if (!machines.has(node)) await startMachine(node, state.artefact, state.access);
    return state;
  };
  return primary;
}

/** As its user data and its unit say, but for the places. */
async function startMachine(node: NodeName, artefact: string, of: { account: string; region: string }): Promise<void> {
  const [etc, bin, installedAt] = [join(folder, node, "etc"), join(folder, node, "bin"), join(folder, node, "radical")];
  await Promise.all([etc, bin].map((path) => mkdir(path, { recursive: true })));
  await writeFile(join(etc, "node.env"), nodeEnvironment(NAME, node, of.region));
  await writeFile(join(bin, "systemctl"), "#!/bin/sh\n");
  await chmod(join(bin, "systemctl"), 0o755);
  const environment = {
    ...process.env,
    RADICAL_ETC: etc,
    PATH: [bin, join(installMoto(), "bin"), process.env["PATH"]].join(delimiter),
  };
  const fetched = fetchArtefact(bucketName(NAME, of.account, of.region), artefact, installedAt);
  await run("bash", ["-euo", "pipefail", "-c", fetched], { env: environment });
  await run(join(installedAt, "node/parameters.sh"), [], { env: environment });

  const unit = await readFile(join(installedAt, "radical-lvi-server.service"), "utf8");
  const settingsOf = (name: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
  const placed = (path: string): string =>
    path.replace("/opt/radical", installedAt).replace("/etc/radical", etc).replace("/usr/bin/node", process.execPath);
  const [program = "", ...args] = (settingsOf("ExecStart")[0] ?? "").split(" ").map(placed);
  const ofFile = (await readFile(placed(settingsOf("EnvironmentFile")[0] ?? ""), "utf8")).trim().split("\n");
  const variables = [...settingsOf("Environment"), ...ofFile].map((line) => line.split(/=(.*)/s).slice(0, 2));
  const machine = spawn(program, args, {
    env: {
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("RADICAL_"))),
      ...(Object.fromEntries(variables) as Record<string, string>),
      NODE_OPTIONS: "",
      RADICAL_PORT: "0",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  machines.set(node, machine);
  let log = "";
  const port = await new Promise<number>((resolve, reject) => {
    createInterface(machine.stderr).on("line", (line) => {
      log += `${line}\n`;
      if (!line.startsWith("{")) return;
      const logged = JSON.parse(line) as { event: string; port?: number };
      if (logged.event === "http_listening" && logged.port !== undefined) resolve(logged.port);
    });
    machine.once("exit", () => reject(new Error(log)));
  });
  network[primaryNames(NAME).tunnels[node]] = `127.0.0.1:${port}`;
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

  test("the leader dies: the standby serves, and is administered", async () => {
    machines.get("a")?.kill("SIGTERM");
    await once(machines.get("a")!, "exit");
    expect(await visit("home")).toMatchObject({ status: 200, result: 2 });
    expect((await deployHere()).kind).toBe("done");
  });

  test("no secret is in what it has told", async () => {
    const primary = new AwsPrimary({ ...DEFAULT_PRIMARY_SETTINGS, ...NAME }, { pollMs: 5 });
    const keys = (await primary.state())?.keys ?? [];
    primary.close();
    expect(keys).toHaveLength(1);
    const told = JSON.stringify(events);
    for (const { secret } of keys) expect(told).not.toContain(secret);
  });
});
