/**
 * Every call that the edge half of a deployment, a rollback or a removal makes is recorded from a good run and then fails, one after
 * the other, in each way that a call may: what served goes on serving, or it is said that it may not; the next run completes, and one
 * after that finds nothing to do. Likewise for what somebody changes by hand. What wrangler asks is asked in this process, but for one
 * call of each kind.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  ABI_VERSION,
  DEFAULT_CACHE,
  HEALTH_PATH,
  MODULE_LIST_PATH,
  type ModuleHash,
  NODES,
  type NodeName,
  SCHEDULES_PATH,
  TASKS_PATH,
  WORKFLOWS_PATH,
} from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AppBuild, loadProject, type Project, type WranglerConfig, targetOf } from "@radical/app";
import { newAdministrationKey, privateKeyText } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import {
  awsHalf,
  createCloudflareApi,
  type CloudflareApi,
  parseRecord,
  RECORD_VARIABLE,
  edgeHalf,
  workerVersions,
  createWrangler,
  type Wrangler,
  type DestroyOptions,
  type PrimaryDeployment,
  type PrimaryState,
  NO_QUOTAS,
  planSteps,
} from "@radical/deploy/testing";
import {
  type OpenEdge,
  planDestroy,
  ownPrimary,
  primaryNames,
  planRollback,
  applySteps,
  type PlannedStep,
  type StepsOutcome,
} from "@radical/deploy";
import { type Failure, type FakeCloudflare, failureOf, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { wranglerCalls } from "./cloudflare/wrangler-calls.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

const TARGET = targetOf("shop", "production");
const WORKER = TARGET.name;
const NEW_SERVES = "The new version serves.";
const STILL_SERVES = "The version that served before goes on serving.";

/** A server that is asked, and may fail as the fake of Cloudflare does. */
interface Asked {
  readonly url: string;
  readonly requests: string[];
  readonly failures: Failure[];
  stop(): Promise<void>;
}

let cloudflare: FakeCloudflare;
let account: string;
let primary: Asked;
let edge: Asked;
let folder: TemporaryProject;
let project: Project;
let api: CloudflareApi;
/** At the primary. */
const modules = new Set<string>();

beforeAll(async () => {
  cloudflare = await startFakeCloudflare();
  primary = await startServer((line) => {
    const [method = "", path = ""] = line.split(" ");
    if (method === "PUT") modules.add(path);
    if (path === MODULE_LIST_PATH) return [200, { modules: [] }];
    return modules.has(path) ? [204, null] : [404, { error: { code: "not_found", message: "no such module" } }];
  });
  edge = await startServer((line, overrides) => {
    const named = /="([^"]*)"/.exec(overrides)?.[1] ?? "";
    return line === `GET ${HEALTH_PATH}` ? [200, { status: "ok", deployment: recordOf(named)?.deployment }] : [404, {}];
  });
  folder = await createProject({ "radical.config.ts": `export default { name: "shop" };\n` });
  project = await loadProject(folder.folder);
  const authorization = { authorization: `Bearer ${cloudflare.token}` };
  const environment = { CLOUDFLARE_API_BASE_URL: cloudflare.url };
  api = createCloudflareApi({ authorization, environment, wait: () => Promise.resolve() });
  account = (await api.list<{ readonly id: string }>("/accounts"))[0]!.id;
});
afterAll(async () => {
  await cloudflare?.stop();
  await primary?.stop();
  await edge?.stop();
  await folder?.remove();
});

async function startServer(answer: (line: string, overrides: string) => readonly [number, unknown]): Promise<Asked> {
  const [requests, failures]: [string[], Failure[]] = [[], []];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const line = `${request.method} ${request.url}`;
      requests.push(line);
      const how = failureOf(failures, line)?.how;
      if (how === "hang-up") return void request.socket.destroy();
      const [status, body] = answer(line, String(request.headers["cloudflare-workers-version-overrides"] ?? ""));
      if (how === "after") return void request.socket.destroy();
      if (typeof how === "number") return void response.writeHead(how).end("made to fail");
      response.writeHead(status).end(body === null ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    failures,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What is deployed. */
interface Wanted {
  readonly app: AppBuild;
  readonly config: WranglerConfig;
}

/** An application of which nothing is run. */
function wanted(module: string, cache: "kv" | "durable-object" | "memory", cron: string): Wanted {
  const app = {
    manifest: { module: module.repeat(64) as ModuleHash, records: {}, cache: { ...DEFAULT_CACHE, kind: cache } },
    content: {
      abi: ABI_VERSION,
      limits: { memoryPages: 1, accesses: 1, fuel: 1, stackBytes: 1, speculationFuel: 1 },
      handlers: {},
      wasm: new Uint8Array([1]),
      rwWasm: new Uint8Array([2]),
    },
    worker: `export class RadicalCache {} export default { fetch: () => new Response("${module}") };\n`,
    assets: null,
  } as never as AppBuild;
  return { app, config: { triggers: { crons: [cron] } } };
}

type Ended =
  | StepsOutcome
  /** Before anything was changed. */
  | { readonly kind: "refused"; readonly error: CommandError };

const primaryHalf = () =>
  ownPrimary(
    primary.url,
    { name: "shop-test" },
    { RADICAL_KEYS: `main:${"5e".repeat(32)}`, RADICAL_ADMIN_KEYS: privateKeyText(newAdministrationKey("admin")) },
  );
const idOf = ({ app }: Wanted): string => `20261121-141503-${app.manifest.module.slice(0, 4)}`;

async function plan(what: Wanted, wrangler: Wrangler): Promise<readonly PlannedStep[]> {
  const { app, config } = what;
  const half = edgeHalf({
    project,
    target: TARGET,
    app,
    user: { file: "wrangler.jsonc", config },
    api,
    account: { id: account, name: null },
    wrangler,
    primary: primaryHalf(),
    url: edge.url,
    deployment: idOf(what),
    wait: () => Promise.resolve(),
  });
  return planSteps(half.steps);
}

/** Something that is planned, and then done step by step. */
interface Operation {
  readonly plan: () => Promise<readonly PlannedStep[]>;
  /** What may be said when something else may serve than before. */
  readonly maySay: RegExp;
  /** The module that serves in the end; null: no Worker is left. */
  readonly module: ModuleHash | null;
  /** What must be true of what it leaves. */
  readonly check?: () => void;
}

async function carryOut({ plan: planning }: Pick<Operation, "plan">): Promise<Ended> {
  let planned: readonly PlannedStep[];
  try {
    planned = await planning();
  } catch (error) {
    if (error instanceof CommandError) return { kind: "refused", error };
    throw error;
  }
  return applySteps(planned, { onEvent: () => undefined });
}

const deploy = (what: Wanted, wrangler = wranglerCalls(cloudflare, account)): Promise<Ended> =>
  carryOut({ plan: () => plan(what, wrangler) });

function deploymentOf(what: Wanted, maySay: RegExp): Operation {
  return {
    plan: () => plan(what, wranglerCalls(cloudflare, account)),
    maySay,
    module: what.app.manifest.module,
    check: () => {
      const { isOnWorkersDev, schedules } = cloudflare.workers.get(WORKER)!;
      expect(isOnWorkersDev).toBe(true);
      expect(schedules).toEqual(what.config.triggers?.crons?.map((cron) => ({ cron })));
      expect(cloudflare.namespaces.size).toBeLessThanOrEqual(1);
    },
  };
}

const openEdge = (): OpenEdge => ({
  api,
  account: { id: account, name: null },
  wrangler: wranglerCalls(cloudflare, account),
  user: null,
  worker: WORKER,
  versions: workerVersions(api, account, WORKER),
});

function rollback(to: Wanted): Operation {
  const half = primaryHalf();
  return {
    plan: () =>
      planRollback({
        project,
        edge: openEdge(),
        to: idOf(to),
        primary: { description: half.description, admin: half.admin()!, key: () => half.key()! },
        origin: edge.url,
        acceptMisfits: false,
        note: () => undefined,
        wait: () => Promise.resolve(),
      }),
    maySay: /^The version that served before may still serve\.$/,
    module: to.app.manifest.module,
  };
}

async function planRemoval(more: Partial<DestroyOptions>): Promise<readonly PlannedStep[]> {
  const removal = await planDestroy({
    project,
    target: TARGET,
    edge: openEdge(),
    primary: null,
    region: null,
    tables: true,
    strandPending: false,
    wait: () => Promise.resolve(),
    note: () => undefined,
    ...more,
  });
  return removal.planned;
}

const removal: Operation = {
  plan: () => planRemoval({ primary: primary.url }),
  maySay: /^(?:It may still serve|The Worker is removed, so nothing is served)\. What is left is found/,
  module: null,
  check: () => expect(cloudflare.namespaces.size).toBe(0),
};

function recordOf(version: string) {
  const bound = cloudflare.version(version)?.bindings.find(({ name }) => name === RECORD_VARIABLE);
  return parseRecord(bound?.["text"] as string | undefined);
}

/** Version that requests get; null: there is no Worker. */
function serving(): string | null {
  const [deployment] = cloudflare.workers.get(WORKER)?.deployments ?? [];
  return deployment?.versions.toSorted((a, b) => b.percentage - a.percentage)[0]?.version_id ?? null;
}

/** All that a deployment leaves behind, to go back to. */
function snapshot(): () => void {
  const { workers, namespaces, tunnels, services } = cloudflare;
  const maps: Map<string, unknown>[] = [workers, namespaces, tunnels, services];
  const kept = structuredClone({ maps, modules, tokens, isAtAws });
  return () => {
    const copy = structuredClone(kept);
    for (const [index, map] of maps.entries()) {
      map.clear();
      for (const [key, value] of copy.maps[index]!) map.set(key, value);
    }
    modules.clear();
    for (const module of copy.modules) modules.add(module);
    ({ tokens, isAtAws } = copy);
  };
}

/** The tokens of tunnels that are stored at AWS. */
let tokens: Record<NodeName, string | null> = { a: null, b: null };
let isAtAws = false;

/** AWS as the calls at Cloudflare meet it. What fails at AWS itself is tried with moto, in `aws-primary.e2e.test.ts`. */
const AT_AWS = {
  checkAccess: () => Promise.resolve(ACCESS),
  plan: () =>
    Promise.resolve({
      access: ACCESS,
      artefact: "0",
      changes: isAtAws ? [] : [{ kind: "make", what: "stack", detail: "" } as const],
      template: {},
      leader: null,
    }),
  quotas: () => Promise.resolve(NO_QUOTAS),
  storedTunnels: () =>
    Promise.resolve({
      a: tokens.a === null ? null : tunnelOf(tokens.a),
      b: tokens.b === null ? null : tunnelOf(tokens.b),
    }),
  apply: (_plan, given) => {
    for (const node of NODES) tokens[node] = given[node]?.token ?? tokens[node];
    isAtAws = true;
    return Promise.resolve(STATE);
  },
  state: () => Promise.resolve(isAtAws ? STATE : null),
  planDestroy: () =>
    Promise.resolve({ removes: isAtAws ? [{ kind: "remove", what: "stack", detail: "" } as const] : [], stays: [] }),
  destroy: () => {
    [tokens, isAtAws] = [{ a: null, b: null }, false];
    return Promise.resolve();
  },
  close: () => undefined,
} satisfies Partial<PrimaryDeployment> as Partial<PrimaryDeployment> as PrimaryDeployment;

const ACCESS = { account: "123456789012", region: "eu-central-1", identity: "ann", clockSkewMs: 0 };
const STATE = {
  keys: [{ id: "main", secret: "5e".repeat(32) }],
  administration: [newAdministrationKey("admin")],
  keysReadAtMs: 0,
  stack: "shop",
} as never as PrimaryState;

function tunnelOf(token: string): string {
  return (JSON.parse(Buffer.from(token, "base64").toString()) as { readonly t: string }).t;
}

/** The primary half: its steps are those at Cloudflare, around the one at AWS. */
const primaryAtAws: Operation = {
  plan: async () => {
    const half = awsHalf({
      project: folder.folder,
      target: TARGET,
      deployment: AT_AWS,
      access: ACCESS,
      only: "primary",
      api,
      account: { id: account, name: null },
      wrangler: wranglerCalls(cloudflare, account),
      originOf: () => Promise.resolve(primary.url),
      wait: () => Promise.resolve(),
      nowMs: 1,
      note: () => undefined,
    });
    return planSteps(half.steps);
  },
  maySay: /^The version that served before goes on serving\. (?:Machines that serve|The machines are there)/,
  module: null,
  check: () => {
    const { tunnels } = primaryNames(TARGET);
    for (const node of NODES) {
      const [tunnel] = [...cloudflare.tunnels.values()].filter(({ name }) => name === tunnels[node]);
      const [service] = [...cloudflare.services.values()].filter(({ name }) => name === tunnels[node]);
      expect(tunnelOf(tokens[node]!)).toBe(tunnel?.id);
      expect(service?.host).toMatchObject({ network: { tunnel_id: tunnel?.id } });
    }
    expect([cloudflare.tunnels.size, cloudflare.services.size]).toEqual([2, 2]);
    expect(cloudflare.workers.get(TARGET.relay)?.isOnWorkersDev).toBe(true);
  },
};

const removalAtAws: Operation = {
  plan: () =>
    planRemoval({
      primaryDeployment: () => Promise.resolve(AT_AWS),
      originOf: () => Promise.resolve(primary.url),
    }),
  maySay: /^The Worker is removed/,
  module: null,
  check: () => {
    const { tunnels, services, workers } = cloudflare;
    expect([tunnels.size, services.size, workers.has(TARGET.relay), isAtAws]).toEqual([0, 0, false, false]);
  },
};

interface Fault {
  /** The call, and how it fails. */
  readonly words: string;
  readonly of: "cloudflare" | "primary" | "edge";
  readonly failure: Failure;
  /** Mended by asking again, in the same run. */
  readonly isMended: boolean;
}

/** Of a version, which is another one in each run. */
const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** A removal asks for them again, until nothing is pending. */
const PENDING_PATHS = [MODULE_LIST_PATH, TASKS_PATH, WORKFLOWS_PATH, SCHEDULES_PATH];

/** What may go wrong with each call of a run. */
function faultsOf(of: Fault["of"], requests: readonly string[]): readonly Fault[] {
  const lines = requests.map((line) => `^${line.split(new RegExp(ID)).map(escaped).join(ID)}$`);
  return lines.flatMap((line, index) => {
    const skip = lines.slice(0, index).filter((other) => other === line).length;
    const at = new RegExp(line);
    const fault = (how: Failure["how"], times = 1, isMended = false): Fault => ({
      words: `${of} ${requests[index]}, call ${skip + 1}: ${how}`,
      of,
      failure: { at, how, skip, times },
      isMended,
    });
    // Asked often: Cloudflare's network learns of a version in its time, a primary that was just made leads soon, and what is
    // pending when a removal begins is soon applied.
    const isAwaited =
      of === "primary" &&
      (requests[index]?.endsWith("0".repeat(64)) === true ||
        (PENDING_PATHS.some((path) => requests[index]?.endsWith(path)) && skip > 0));
    if (of === "edge" || isAwaited) return [fault(500, Infinity), fault("hang-up", 1, true)];
    if (of === "primary") return [fault(500), fault("hang-up"), fault("after")];
    if (requests[index]?.startsWith("GET ") === true) return [fault(500, 3), fault(403), fault("hang-up", 1, true)];
    return [fault(500), fault(403), fault("hang-up"), fault("after")];
  });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

const asked = (): Readonly<Record<Fault["of"], Asked | FakeCloudflare>> => ({ cloudflare, primary, edge });

/** With each fault once, to the end, always from what is there. Says how many there were. */
async function tryAll(operation: Operation): Promise<number> {
  const back = snapshot();
  const before = serving();
  const marks = Object.entries(asked()).map(([of, { requests }]) => [of as Fault["of"], requests.length] as const);
  expect(await carryOut(operation)).toMatchObject({ kind: "done" });
  const faults = marks.flatMap(([of, mark]) => faultsOf(of, asked()[of].requests.slice(mark)));
  const versions = cloudflare.workers.get(WORKER)?.versions.length;
  for (const fault of faults) {
    back();
    try {
      await tryFault(fault, operation, before, versions);
    } catch (error) {
      throw new Error(fault.words, { cause: error });
    }
  }
  expect(cloudflare.unknown).toEqual([]);
  return faults.length;
}

/** `before`: the version that serves. `versions`: how many there are in the end, if the Worker is there. */
async function tryFault(
  { of, failure, isMended }: Fault,
  operation: Operation,
  before: string | null,
  versions: number | undefined,
): Promise<void> {
  const { maySay, module, check } = operation;
  const since = cloudflare.requests.length;
  asked()[of].failures.push({ ...failure });
  const ended = await carryOut(operation);
  asked()[of].failures.length = 0;
  if (isMended) {
    expect(ended).toMatchObject({ kind: "done" });
    return;
  }
  // What is told, and whether it is true.
  switch (ended.kind) {
    case "refused":
      expect(ended.error.hint).not.toBe("");
      expect(cloudflare.requests.slice(since).filter((line) => !line.startsWith("GET "))).toEqual([]);
      break;
    case "failed": {
      const { ifFailed } = ended.failed;
      expect(ended.error.code).not.toBe("internal_error");
      if (ifFailed === STILL_SERVES) expect(serving()).toBe(before);
      else expect(ifFailed).toMatch(maySay);
      if (ifFailed === NEW_SERVES) expect(recordOf(serving()!)?.module).toBe(module);
      if (/nothing is served/.test(ifFailed)) expect(serving()).toBeNull();
      break;
    }
    default:
      throw new Error(ended.kind);
  }

  expect(await carryOut(operation)).toMatchObject({ kind: "done" });
  const worker = cloudflare.workers.get(WORKER);
  expect(worker?.versions.length).toBe(versions);
  if (module === null) expect(worker).toBeUndefined();
  else {
    expect(worker?.deployments[0]?.versions).toEqual([{ version_id: serving(), percentage: 100 }]);
    expect(recordOf(serving()!)?.module).toBe(module);
  }
  check?.();
  expect((await operation.plan()).flatMap(({ changes }) => changes)).toEqual([]);
}

// They build upon each other, as the deployments of an application do.
describe("each call of a deployment fails once", () => {
  test("the first one, with a KV namespace", async () => {
    const first = deploymentOf(wanted("a", "kv", "0 3 * * *"), /^(?:Nothing served before|The new version serves)/);
    expect(await tryAll(first)).toBeGreaterThan(30);
    expect((await carryOut(first)).kind).toBe("done");
  });

  test("another version, with another schedule", async () => {
    const next = deploymentOf(wanted("b", "kv", "0 4 * * *"), /may still serve/);
    expect(await tryAll(next)).toBeGreaterThan(40);
    expect((await carryOut(next)).kind).toBe("done");
  });

  test("back to the one before, whose module the primary has collected", async () => {
    const back = snapshot();
    modules.clear();
    const collected = snapshot();
    expect(await tryAll(rollback(wanted("a", "kv", "0 3 * * *")))).toBeGreaterThan(15);
    // What can't be done is refused before anything is changed.
    collected();
    const gone = wanted("9", "kv", "0 3 * * *");
    expect(await carryOut(rollback(gone))).toMatchObject({ kind: "refused", error: { code: "unknown_deployment" } });
    back();
    // A module that is there is registered again: tasks run on the one that was registered last.
    const mark = primary.requests.length;
    expect(await carryOut(rollback(wanted("a", "kv", "0 3 * * *")))).toMatchObject({ kind: "done" });
    expect(primary.requests.slice(mark)).toContainEqual(expect.stringMatching(/^PUT /));
    back();
  });

  test("its removal", async () => {
    const back = snapshot();
    expect(await tryAll(removal)).toBeGreaterThan(10);
    expect(await carryOut(removal)).toMatchObject({ kind: "done" });
    back();
  });

  test("one that adds a class of Durable Objects, and so serves from its upload on", async () => {
    const next = deploymentOf(wanted("c", "durable-object", "0 5 * * *"), /^The new version (?:may serve|serves)/);
    expect(await tryAll(next)).toBeGreaterThan(30);
    expect((await carryOut(next)).kind).toBe("done");
  });

  test("that of a primary at AWS, and of one whose tunnel somebody has removed; its removal", async () => {
    const back = snapshot();
    for (const map of [cloudflare.workers, cloudflare.namespaces]) map.clear();
    expect(await tryAll(primaryAtAws)).toBeGreaterThan(40);
    expect(await carryOut(primaryAtAws)).toMatchObject({ kind: "done" });
    cloudflare.tunnels.delete([...cloudflare.tunnels.keys()][0]!);
    expect(await tryAll(primaryAtAws)).toBeGreaterThan(20);
    expect(await carryOut(primaryAtAws)).toMatchObject({ kind: "done" });
    expect(await tryAll(removalAtAws)).toBeGreaterThan(40);
    back();
  });

  test.each<[what: string, next: Wanted, failure: Failure]>([
    [
      "the upload is refused",
      wanted("d", "durable-object", "0 5 * * *"),
      { at: /^POST .*\/versions$/, how: 403, times: 1 },
    ],
    [
      "the upload is done, and nobody hears of it",
      wanted("d", "durable-object", "0 5 * * *"),
      { at: /^POST .*\/versions$/, how: "after", times: Infinity },
    ],
    [
      "the schedules are refused",
      wanted("d", "durable-object", "0 6 * * *"),
      { at: /^PUT .*\/schedules$/, how: 403, times: Infinity },
    ],
  ])("the real wrangler: %s", async (_what, next, failure) => {
    const back = snapshot();
    const before = serving();
    const environment = {
      ...process.env,
      CLOUDFLARE_API_BASE_URL: cloudflare.url,
      CLOUDFLARE_API_TOKEN: cloudflare.token,
      CLOUDFLARE_ACCOUNT_ID: account,
    };
    const wrangler = createWrangler({ project: folder.folder, environment });
    cloudflare.failures.push({ ...failure });
    const ended = await deploy(next, wrangler);
    cloudflare.failures.length = 0;
    expect(ended).toMatchObject({ kind: "failed", error: { code: "wrangler_failed" } });
    expect(serving()).toBe(before);
    expect(await deploy(next, wrangler)).toMatchObject({ kind: "done" });
    expect(recordOf(serving()!)?.module).toBe(next.app.manifest.module);
    expect((await plan(next, wrangler)).flatMap(({ changes }) => changes)).toEqual([]);
    expect(cloudflare.unknown).toEqual([]);
    back();
  });
});

/** By hand, in the dashboard or with another tool. */
function byHand(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${cloudflare.url}/accounts/${account}${path}`, {
    method,
    headers: { authorization: `Bearer ${cloudflare.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describe("what was changed by hand is repaired, and then nothing is left to do", () => {
  const what = wanted("e", "kv", "0 3 * * *");
  const script = `/workers/scripts/${WORKER}`;

  test.each<[what: string, change: () => unknown, planned: readonly string[]]>([
    ["the KV namespace", () => cloudflare.namespaces.clear(), ["KV namespace", "Worker", "version"]],
    // A version that has it is there.
    ["the key", () => byHand("DELETE", `${script}/secrets/RADICAL_KEY`), ["version"]],
    ["the name under workers.dev", () => byHand("POST", `${script}/subdomain`, { enabled: false }), ["routes"]],
    ["the schedules", () => byHand("PUT", `${script}/schedules`, []), ["routes"]],
    ["the module at the primary", () => modules.clear(), ["module"]],
    [
      "which version serves",
      () => {
        const [last, before] = cloudflare.workers.get(WORKER)!.versions.toReversed();
        const versions = [
          { version_id: last!.id, percentage: 60 },
          { version_id: before!.id, percentage: 40 },
        ];
        return byHand("POST", `${script}/deployments`, { versions, annotations: {} });
      },
      ["version"],
    ],
    ["the whole Worker", () => byHand("DELETE", script), ["Worker"]],
  ])("%s", async (_what, change, planned) => {
    const wrangler = wranglerCalls(cloudflare, account);
    expect(await deploy(what)).toMatchObject({ kind: "done" });
    expect((await plan(what, wrangler)).flatMap(({ changes }) => changes)).toEqual([]);
    await change();
    const changes = (await plan(what, wrangler)).flatMap((one) => one.changes);
    expect(changes.map((one) => planned.find((name) => one.what.startsWith(name)))).toEqual(planned);
    expect(await deploy(what)).toMatchObject({ kind: "done" });
    expect((await plan(what, wrangler)).flatMap((one) => one.changes)).toEqual([]);
    const worker = cloudflare.workers.get(WORKER)!;
    expect(worker).toMatchObject({ isOnWorkersDev: true, schedules: [{ cron: "0 3 * * *" }] });
    expect(cloudflare.version(serving()!)?.bindings).toContainEqual({
      name: "RADICAL_KEY",
      type: "secret_text",
      text: "5e".repeat(32),
    });
  });
});
