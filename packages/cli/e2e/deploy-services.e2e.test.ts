/**
 * `radical deploy` of an application with services: the real wrangler against a fake of Cloudflare's API. The Worker that was
 * uploaded runs in workerd, and a real LVI server calls its services there.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AdminAddress, newDeploymentKeys, privateKeyText, registeredModules, servicesOf } from "@radical/admin";
import { loadProject } from "@radical/app";
import { deploy, type DeployOutcome, targetOfProject } from "@radical/deploy";
import { type LviServerProcess, startLviServer } from "@radical/local";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeCloudflare, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import { createProject, radical, type TemporaryProject } from "./radical-process.ts";

const WORKER = "payments-production";
const KEYS = newDeploymentKeys("main");
/** The application of the documents. */
const EXAMPLE = fileURLToPath(new URL("../../../docs/examples/payments", import.meta.url));

const EFFECTS = `import { sleep } from "@radical/sdk";
/** @workflow */
export function wait(): void {
  sleep(7 * 86_400_000);
}
/** @internal
 *  @cron 0 3 * * * Europe/Berlin */
export function nightly(): void {}
`;

let cloudflare: FakeCloudflare;
let edge: FakeEdge;
let bank: Server;
let server: LviServerProcess;
let project: TemporaryProject;
let state: string;
const charged: string[] = [];
let onCharged: () => void = () => undefined;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "radical-primary-"));
  cloudflare = await startFakeCloudflare();
  edge = await startFakeEdge(cloudflare, WORKER);
  bank = createServer((request, response) => {
    const key = request.headers["idempotency-key"];
    if (typeof key === "string") charged.push(key);
    response.end("receipt");
    onCharged();
  });
  await new Promise<void>((resolve) => bank.listen(0, "127.0.0.1", resolve));
  server = await startLviServer({
    stateFolder: state,
    keys: KEYS,
    followupTimeoutMs: null,
    onStarted: () => Promise.resolve(),
    onDied: () => undefined,
    onLog: () => undefined,
  });
  const { host, port } = server.address();
  const read = (name: string): [string, string] => [name, readFileSync(join(EXAMPLE, name), "utf8")];
  project = await createProject({
    ...Object.fromEntries(["services.ts", "handlers/shop.ts", "src/worker.ts"].map(read)),
    "radical.config.ts": `export default { name: "payments", cache: "memory", deploy: { url: "${edge.url}", primary: "http://${host}:${port}" } };\n`,
    "wrangler.jsonc": JSON.stringify({
      name: WORKER,
      main: "src/worker.ts",
      compatibility_date: "2026-11-01",
      vars: { BANK: `http://127.0.0.1:${(bank.address() as AddressInfo).port}` },
    }),
  });
});

afterAll(async () => {
  await edge?.stop();
  await cloudflare?.stop();
  await server?.stop();
  bank?.close();
  await project?.remove();
  await rm(state, { recursive: true, force: true });
});

function environmentOf(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    CLOUDFLARE_API_TOKEN: cloudflare.token,
    CLOUDFLARE_ACCOUNT_ID: undefined,
    RADICAL_KEYS: `${KEYS.location.id}:${KEYS.location.secret}`,
    RADICAL_ADMIN_KEYS: privateKeyText(KEYS.administration),
    XDG_CONFIG_HOME: state,
  };
}

function primaryOf(): AdminAddress {
  const { host, port } = server.address();
  return { urls: [`http://${host}:${port}`], key: KEYS.administration };
}

async function deployHere(): Promise<DeployOutcome> {
  const loaded = await loadProject(project.folder);
  return deploy({
    project: loaded,
    target: targetOfProject(loaded, "production"),
    only: null,
    primary: null,
    region: null,
    url: null,
    strandPending: false,
    acceptMisfits: false,
    colours: false,
    environment: environmentOf(),
    wait: () => Promise.resolve(),
    onEvent: () => undefined,
    confirm: () => Promise.resolve(true),
  });
}

test("a deployment tells the primary where to call services, and it calls them there", async () => {
  const { planned } = await deployHere();
  const made = planned.flatMap(({ changes }) => changes.map(({ kind, what }) => `${kind} ${what}`));
  expect(made).toContain(`make calls of services at ${edge.url}`);
  expect((await deployHere()).planned.flatMap(({ changes }) => changes)).toEqual([]);
  const isCharged = new Promise<void>((resolve) => (onCharged = resolve));
  const bought = await fetch(`${edge.url}/api/buy`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ order: "o1", card: "good" }),
  });
  expect(bought.status).toBe(200);
  await isCharged;
  expect(charged).toHaveLength(1);
});

test("a plan names schedules, and workflows that go on with the code that they began with, in words and as JSON", async () => {
  const began = await project.write("handlers/effects.ts", EFFECTS).then(deployHere);
  const changesOf = ({ planned }: Pick<DeployOutcome, "planned">) => planned.flatMap(({ changes }) => changes);
  expect(changesOf(began)).toContainEqual({
    kind: "make",
    what: "schedule nightly",
    detail: "0 3 * * * Europe/Berlin",
  });
  expect(began.older).toEqual([]);
  const started = await fetch(`${edge.url}/api/wait`, { method: "POST", headers: { prefer: "wait=0" }, body: "{}" });
  expect(started.status).toBe(202);
  const modules = await registeredModules(primaryOf());
  const before = modules.toSorted((a, b) => (b.registeredAtMs ?? 0) - (a.registeredAtMs ?? 0))[0]!.module;

  await project.write(
    "handlers/effects.ts",
    EFFECTS.replace("@cron 0 3 * * * Europe/Berlin", "@every 1h").replace("7 *", "8 *"),
  );
  const command = ["deploy", "--plan", "--project", project.folder];
  const env = environmentOf();
  const [words, json] = [await radical(command, { env }), await radical([...command, "--json"], { env })];
  expect([words.code, json.code, words.stdout]).toEqual([0, 0, ""]);
  expect(words.stderr).toContain("~ change schedule nightly  0 3 * * * Europe/Berlin before, every 1h from now on");
  expect(words.stderr).toContain(
    `1 workflow goes on with the code that it began with: 1 wait of module ${before.slice(0, 12)}. Its steps run on the new code.`,
  );
  const plan = JSON.parse(json.stdout) as { readonly plan: readonly { readonly changes: readonly object[] }[] };
  expect(plan).toMatchObject({
    outcome: "planned",
    workflowsOnOlderCode: [{ handler: "wait", module: before, workflows: 1 }],
  });
  expect(plan.plan.flatMap(({ changes }) => changes)).toContainEqual({
    kind: "change",
    what: "schedule nightly",
    detail: "0 3 * * * Europe/Berlin before, every 1h from now on",
  });

  // The plan comes true: another deployment says the same of the workflow, and changes nothing.
  expect((await deployHere()).kind).toBe("done");
  const after = await deployHere();
  expect([changesOf(after), after.older]).toEqual([[], [{ handler: "wait", module: before, workflows: 1 }]]);
});

test("the primary knows where to call services after a restart, too", async () => {
  await server.kill();
  expect(await servicesOf(primaryOf())).toMatchObject({ worker: edge.url, areNeeded: true });
});
