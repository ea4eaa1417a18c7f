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
import { servicesOf } from "@radical/admin";
import { loadProject } from "@radical/app";
import { deploy, type DeployOutcome, targetOfProject } from "@radical/deploy";
import { type LviServerProcess, startLviServer } from "@radical/local";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeCloudflare, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

const WORKER = "payments-production";
const KEY = { id: "main", secret: "5e".repeat(32) };
/** The application of the documents. */
const EXAMPLE = fileURLToPath(new URL("../../../docs/examples/payments", import.meta.url));

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
    key: KEY,
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
    environment: {
      ...process.env,
      CLOUDFLARE_API_BASE_URL: cloudflare.url,
      CLOUDFLARE_API_TOKEN: cloudflare.token,
      CLOUDFLARE_ACCOUNT_ID: undefined,
      RADICAL_KEYS: `${KEY.id}:${KEY.secret}`,
      XDG_CONFIG_HOME: state,
    },
    wait: () => Promise.resolve(),
    onEvent: () => undefined,
    confirm: () => Promise.resolve(true),
  });
}

test("a deployment tells the primary where to call services, and it calls them there, also after a restart", async () => {
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
  await server.kill();
  const { host, port } = server.address();
  const primary = { urls: [`http://${host}:${port}`], key: KEY };
  expect(await servicesOf(primary)).toMatchObject({ worker: edge.url, areNeeded: true });
});
