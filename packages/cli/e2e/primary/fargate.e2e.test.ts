/**
 * A primary on Fargate: the real AWS SDK on moto, images in a registry of this machine, and each call failed once. Then the two tasks run
 * as the deployed template says, on DynamoDB Local, with keys from the parameter of the account.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { TestClient } from "@radical/lvi-server/e2e/test-client";
import { type TestModule, testModule } from "@radical/lvi-server/e2e/test-module";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { primaryNames } from "@radical/deploy";
import {
  AwsPrimary,
  type AwsPrimaryOptions,
  buildServerLayer,
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryProgress,
  type PrimarySettings,
  type PrimaryState,
  refuseExceeded,
  serverTag,
  type ServerLayer,
  TUNNEL_TAG,
} from "@radical/deploy/testing";
import type { NodeName } from "@radical/protocol";
import { type FargateAccount, startFargateAccount } from "./fargate-account.ts";
import { goingOff, valueOf } from "./alarm-values.ts";
import { denied } from "./fault-proxy.ts";
import { lead } from "./lead.ts";
import { toolOf } from "./machine.ts";
import { fieldsOf } from "./metric-filter.ts";
import { CREDENTIALS, hasPython, type Moto, startMoto } from "./moto.ts";
import { deployedTemplate, serverTask } from "./task.ts";

/** DynamoDB Local knows nothing of the protection that tables of production have. */
const SETTINGS: PrimarySettings = { ...DEFAULT_PRIMARY_SETTINGS, application: "shop", environment: "staging" };
const NAMES = primaryNames(SETTINGS);
const REPOSITORY = NAMES.repository;
const TUNNELS = { a: { id: "1", token: tokenOf("1") }, b: { id: "2", token: tokenOf("2") } };
const STORED = { a: null, b: null };

const before = { ...process.env };
let folder: string;
let moto: Moto;
let dynamo: DynamoDbLocal;
let account: FargateAccount;
let first: ServerLayer;
let module: TestModule;
const servers: ChildProcess[] = [];
/** The plans and the progress, which may hold no secret. */
const told: unknown[] = [];
const tell = (event: PrimaryProgress): void => void told.push(event);

const runs = hasPython() && hasDynamoDbLocal();

beforeAll(async () => {
  if (!runs) return;
  folder = mkdtempSync(join(tmpdir(), "radical-fargate-"));
  // The user of the image reads there, and writes nothing.
  chmodSync(folder, 0o755);
  [moto, dynamo, first, module] = await Promise.all([
    startMoto(),
    startDynamoDbLocal(),
    buildServerLayer(),
    testModule(),
  ]);
  account = await startFargateAccount(moto);
  Object.assign(process.env, CREDENTIALS, {
    AWS_ENDPOINT_URL: account.proxy.endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
  });
});
afterAll(async () => {
  process.env = { ...before };
  for (const server of servers) if (server.exitCode === null) server.kill("SIGKILL");
  await account?.stop();
  await Promise.all([moto?.stop(), dynamo?.stop()]);
  if (runs) rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  if (!runs) return;
  account.proxy.answer(null);
  account.proxy.forget();
  account.registry.fail(null);
  account.registry.forget();
});

function primary(layer = first, settings = SETTINGS): AwsPrimary {
  return new AwsPrimary(settings, {
    pollMs: 5,
    layer: () => Promise.resolve(layer),
    images: account.images,
    cloudflared: toolOf("cloudflared"),
  } satisfies AwsPrimaryOptions);
}

function other(): ServerLayer {
  return { ...first, sha256: "5e".repeat(32) };
}

describe.skipIf(!runs)("a primary on Fargate", () => {
  test("a plan of a first deployment names what will be made, and changes nothing", async () => {
    const one = primary();
    const plan = await one.plan();
    const what = plan.changes.map((change) => change.what);
    expect(what).toEqual(
      expect.arrayContaining([
        `repository ${REPOSITORY}`,
        `image ${first.sha256.slice(0, 12)}`,
        expect.stringMatching(/^image of cloudflared \d/),
        "table radical-shop-staging-items",
        "secret /radical/shop/staging/keys",
        "network",
        "cluster of the machines",
        "role of the machines",
        "role that starts the machines",
        "machine a",
        "machine b",
      ]),
    );
    expect(what.some((each) => each.startsWith("bucket "))).toBe(false);
    expect(new Set(plan.changes.map(({ kind }) => kind))).toEqual(new Set(["make"]));
    expect(account.proxy.calls.filter((call) => !/^(?:Get|Head|List|Describe)/.test(call))).toEqual([]);
    expect(account.registry.requests).toEqual([]);

    const { uses } = await one.quotas(plan);
    expect(uses.find(({ what: of }) => of === "roles (IAM)")).toMatchObject({ adds: 2 });
    refuseExceeded(uses);
    account.proxy.answer((call) => {
      if (call === "GetServiceQuota") return Promise.resolve({ status: 200, body: '{"Quota":{"Value":2}}' });
      if (call === "ListClusters")
        return Promise.resolve({
          status: 200,
          body: JSON.stringify({ clusterArns: ["arn:1/x", `arn:1/${NAMES.stack}`] }),
        });
      if (call === "ListTasks") return Promise.resolve({ status: 200, body: '{"taskArns":["t"]}' });
      if (call === "DescribeTasks") return Promise.resolve({ status: 200, body: '{"tasks":[{"cpu":"1536"}]}' });
      return Promise.resolve(null);
    });
    const look = await one.quotas(plan);
    expect(look.uses).toContainEqual(
      expect.objectContaining({ what: "vCPUs on Fargate (on demand) in us-east-1", used: 1.5, adds: 1, limit: 2 }),
    );
    expect(() => refuseExceeded(look.uses)).toThrow(
      /vCPUs on Fargate .*: 1.5 of 2 in use, and this deployment needs 1 more/,
    );
  });

  test("refused at each call that changes something, it says which, and the next run goes on from there", async () => {
    const calls = [
      "CreateRepository",
      "GetAuthorizationToken",
      "CreateTable",
      "PutParameter",
      "CreateChangeSet",
      "ExecuteChangeSet",
    ];
    const refused = new Set<string>();
    for (const name of calls) {
      const one = primary();
      const plan = await one.plan();
      account.proxy.answer((call) => {
        if (call !== name) return Promise.resolve(null);
        refused.add(name);
        return Promise.resolve(denied(name));
      });
      if (name === "CreateTable") process.env["AWS_ENDPOINT_URL_DYNAMODB"] = account.proxy.endpoint;
      const failure = await one.apply(plan, TUNNELS, tell).catch((error: unknown) => error);
      process.env["AWS_ENDPOINT_URL_DYNAMODB"] = dynamo.endpoint;
      account.proxy.answer(null);
      expect([name, failure]).toMatchObject([name, { code: "aws_access_denied" }]);
      expect(await one.state()).toBeNull();
      told.push(plan);
      if (name === "GetAuthorizationToken") await failAtTheRegistry();
    }
    expect([...refused]).toEqual(calls);
  });

  /** Each request that changes the registry fails for good; what was sent before stays there. */
  async function failAtTheRegistry(): Promise<void> {
    for (const kind of ["POST uploads", "PATCH uploads", "PUT uploads", "PUT manifests"]) {
      const one = primary();
      const plan = await one.plan();
      account.registry.fail((line) => (line === kind ? 403 : null));
      const failure = await one.apply(plan, TUNNELS, tell).catch((error: unknown) => error);
      account.registry.fail(null);
      expect([kind, failure]).toMatchObject([
        kind,
        { code: "registry_failed", message: expect.stringContaining("403") },
      ]);
    }
  }

  test("then it is deployed, told step by step; a second time nothing is to be done", async () => {
    const one = primary();
    const steps: string[] = [];
    const state = await one.apply(await one.plan(), TUNNELS, (event) => {
      tell(event);
      if (event.kind === "step-done") steps.push(`${event.step} ${event.changed ? "changed" : "was there"}`);
    });
    expect(steps).toEqual([
      "repository was there",
      "images was there",
      "tables was there",
      "parameters was there",
      "stack changed",
    ]);
    expect(state).toMatchObject({ artefact: first.sha256, nodes: [{ host: "127.0.0.1", port: 8788 }, {}] });
    for (const tag of [serverTag(first.sha256), TUNNEL_TAG])
      expect(account.registry.manifest(REPOSITORY, tag)).toBeDefined();
    expect((await primary().plan()).changes).toEqual([]);
    expect(await one.drift(state)).toEqual([]);
    account.registry.forget();
    await primary().apply(await primary().plan(), STORED, tell);
    expect(account.registry.requests).toEqual([]);
  });

  test("no secret is in what was told, nor in the template", async () => {
    const { keys, administration } = (await primary().state())!;
    const all = JSON.stringify([told, await deployedTemplate(NAMES.stack)]);
    for (const secret of [keys[0]!.secret, administration[0]!.privateHalf, TUNNELS.a.token, TUNNELS.b.token])
      expect(all).not.toContain(secret);
  });

  test("two tasks serve as one: one leads, the other takes over; keys are replaced while they run", async () => {
    const state = (await primary().state())!;
    const tunnel = await answering(200);
    const a = await started("a", tunnel.url);
    const url = await a.listening;
    const b = await started("b", tunnel.url);
    await b.logged("waiting_for_leadership");
    expect(a.health(new URL(url).port)).toBe(0);
    expect(a.health("9")).toBe(1);

    const client = clientOf(url, state);
    await client.register();
    expect(await client.lvi(client.requestOf("increment", "visits", null))).toMatchObject({ kind: "executed" });
    expect((await primary().plan()).leader).toBe("a");

    const rotated = await primary().addKey("location");
    a.process.kill("SIGHUP");
    await a.logged("keys_loaded");
    expect(await clientOf(url, rotated).read("visits")).toBe(1);
    // A parameter that is wrong changes nothing.
    const secrets = new SSMClient();
    const store = (Value: string): Promise<unknown> =>
      secrets.send(
        new PutParameterCommand({ Name: NAMES.parameters.keys, Value, Type: "SecureString", Overwrite: true }),
      );
    const { Parameter: right } = await secrets.send(
      new GetParameterCommand({ Name: NAMES.parameters.keys, WithDecryption: true }),
    );
    await store("no key at all");
    a.process.kill("SIGHUP");
    await a.logged("keys_not_loaded");
    expect(await clientOf(url, rotated).read("visits")).toBe(1);
    await store(right!.Value!);
    secrets.destroy();

    a.process.kill("SIGTERM");
    expect((await once(a.process, "exit"))[0]).toBe(0);
    const taken = await b.listening;
    expect(await clientOf(taken, state).read("visits")).toBe(1);
    expect((await primary().plan()).leader).toBe("b");
    b.process.kill("SIGTERM");
    expect((await once(b.process, "exit"))[0]).toBe(0);
    tunnel.stop();
    await primary().dropOldKeys("location");
    expect([a.written(), b.written()]).toEqual([[], []]);
  });

  test("without its keys a task does not start, and says why in a line that the alarm counts", async () => {
    const task = await started("a", "http://127.0.0.1:9/ready", { RADICAL_KEYS_PARAMETER: "/nobody/has/this" });
    const ended = once(task.process, "exit");
    expect(await task.logged("not_started")).toMatchObject({
      level: "error",
      exitCode: 1,
      reason: expect.stringContaining("/nobody/has/this"),
    });
    expect((await ended)[0]).toBe(1);
    expect(valueOf("Errors", task.lines)).toBe(1);
    expect(goingOff(task.lines)).toContain("Errors");
  });

  test("another tunnel is another task of that machine, and of no other", async () => {
    const one = primary();
    const steps: string[] = [];
    await one.apply(await one.plan(), { a: null, b: { id: "3", token: tokenOf("3") } }, (event) => {
      if (event.kind === "step-done" && event.changed) steps.push(event.step);
    });
    expect(steps).toEqual(["parameters", "stack"]);
    expect(JSON.stringify(await deployedTemplate(NAMES.stack))).toContain('"radical.tunnel":"3"');
    expect((await primary().plan()).changes).toEqual([]);
  });

  test("a run that ended between the secret and the stack is gone on with", async () => {
    const one = primary();
    account.proxy.answer((call) => Promise.resolve(call === "CreateChangeSet" ? denied(call) : null));
    const given = { a: null, b: { id: "4", token: tokenOf("4") } };
    await expect(one.apply(await one.plan(), given, tell)).rejects.toMatchObject({
      code: "aws_access_denied",
    });
    account.proxy.answer(null);
    const plan = await one.plan();
    expect(plan.changes.map(({ kind, what }) => `${kind} ${what}`)).toEqual(["replace machine b"]);
    await one.apply(plan, STORED, tell);
    expect((await primary().plan()).changes).toEqual([]);
  });

  test("another server: both machines are replaced, the one that leads last, and only its image is kept", async () => {
    await lead(SETTINGS, "b");
    const two = primary(other());
    const plan = await two.plan();
    expect(plan.leader).toBe("b");
    expect(plan.changes.map(({ kind, what }) => `${kind} ${what}`).toSorted()).toEqual([
      `make image ${other().sha256.slice(0, 12)}`,
      "replace machine a",
      "replace machine b",
    ]);
    expect(plan.changes.find(({ what }) => what === "machine b")!.detail).toMatch(/^it leads: replaced when/);
    // An image that AWS does not remove is told, and the deployment goes on.
    const tag = serverTag(first.sha256);
    const stays = { failures: [{ imageId: { imageTag: tag }, failureCode: "KmsError" }] };
    account.proxy.answer((call) =>
      Promise.resolve(call === "BatchDeleteImage" ? { status: 200, body: JSON.stringify(stays) } : null),
    );
    const notes: string[] = [];
    const state = await two.apply(plan, STORED, (event) => {
      tell(event);
      if (event.kind === "note") notes.push(event.words);
    });
    expect(state.artefact).toBe(other().sha256);
    expect(notes.at(-1)).toMatch(new RegExp(`${tag} stays \\(KmsError\\)\\. The machines run the new server\\. `));
    account.proxy.answer(null);
    expect((await two.plan()).changes).toEqual([]);
    expect((await primary().plan()).changes.map(({ what }) => what)).not.toContain(
      `image ${first.sha256.slice(0, 12)}`,
    );

    await two.apply(await two.plan(), STORED, tell);
    expect((await primary().plan()).changes.map(({ what }) => what)).toContain(`image ${first.sha256.slice(0, 12)}`);
  });

  test("tasks that do not come up: the reason is told, and what was there serves on", async () => {
    const one = primary();
    const plan = await one.plan();
    let executed = false;
    account.proxy.answer(async (call, said) => {
      if (call === "ExecuteChangeSet") {
        executed = true;
        return { status: 200, body: "<ExecuteChangeSetResponse><ExecuteChangeSetResult/></ExecuteChangeSetResponse>" };
      }
      if (call === "DescribeStacks" && executed)
        return {
          status: 200,
          body: (await said()).body.replace(/<StackStatus>\w+</, "<StackStatus>UPDATE_ROLLBACK_COMPLETE<"),
        };
      return call === "DescribeStackEvents" && executed ? { status: 200, body: BROKEN } : null;
    });
    await expect(one.apply(plan, STORED, tell)).rejects.toMatchObject({
      code: "machine_not_up",
      message: expect.stringMatching(/machine b: .*ECS Deployment Circuit Breaker was triggered[^]*serves on/),
    });
  });

  test("machines of EC2 in their place, and back: what only the others need is removed", async () => {
    const layer = other();
    const ec2 = primary(layer, { ...SETTINGS, host: "ec2" });
    const plan = await ec2.plan();
    const changes = plan.changes.map(({ kind, what }) => `${kind} ${what}`);
    expect(changes).toEqual(
      expect.arrayContaining([`remove repository ${REPOSITORY}`, "remove cluster of the machines"]),
    );
    expect(changes.some((change) => change.startsWith("make bucket "))).toBe(true);
    const state = await ec2.apply(plan, STORED, tell);
    expect(account.proxy.calls).toContain("DeleteRepository");
    expect((await ec2.plan()).changes).toEqual([]);
    expect(state.artefact).not.toBe(layer.sha256);

    const back = primary(layer);
    const again = await back.plan();
    expect(again.changes.map(({ kind, what }) => `${kind} ${what}`)).toContainEqual(
      expect.stringMatching(/^remove bucket /),
    );
    account.registry.forget();
    await back.apply(again, STORED, tell);
    expect((await back.plan()).changes).toEqual([]);
  });

  test("destroyed: everything but the tables, then the tables", async () => {
    const one = primary(other());
    const { removes } = await one.planDestroy({ keepTables: true });
    expect(removes.map(({ what }) => what)).toEqual(
      expect.arrayContaining([`stack ${NAMES.stack}`, `repository ${REPOSITORY}`, `secret ${NAMES.parameters.keys}`]),
    );
    // Without the permission to list tables it goes on, and says so.
    account.proxy.answer((call) => Promise.resolve(call === "ListTables" ? denied(call) : null));
    process.env["AWS_ENDPOINT_URL_DYNAMODB"] = account.proxy.endpoint;
    expect((await primary(other()).planDestroy({ keepTables: false })).stays).toEqual([
      expect.stringContaining("AWS lists them only with the permission dynamodb:ListTables"),
    ]);
    process.env["AWS_ENDPOINT_URL_DYNAMODB"] = dynamo.endpoint;
    // moto deletes no networks.
    let isGone = false;
    account.proxy.answer((call) => {
      if (call === "DeleteStack") {
        isGone = true;
        return Promise.resolve({ status: 200, body: "<DeleteStackResponse/>" });
      }
      if (call === "DeleteRepository" && !isGone) throw new Error("the repository goes after the machines");
      return Promise.resolve(call === "DescribeStacks" && isGone ? GONE : null);
    });
    await one.destroy({ keepTables: true }, tell);
    expect((await one.planDestroy({ keepTables: true })).removes).toEqual([]);
    await one.destroy({ keepTables: false }, tell);
    expect(await one.planDestroy({ keepTables: false })).toEqual({ removes: [], stays: [] });
  });
});

interface Started {
  readonly process: ChildProcess;
  readonly listening: Promise<string>;
  readonly health: (port: string) => number | null;
  /** Its log so far. */
  readonly lines: readonly string[];
  /** The first line of its log with such an event. */
  logged(event: string): Promise<Line>;
  /** Files and folders of its image that are not as they were. */
  written(): readonly string[];
}

type Line = Readonly<Record<string, unknown>>;

/** The server of a task; only the loopback's ports are others, and AWS is moto. */
async function started(node: NodeName, tunnel: string, more: Readonly<Record<string, string>> = {}): Promise<Started> {
  const task = serverTask(await deployedTemplate(NAMES.stack), node, account.registry, join(folder, node), "us-east-1");
  const image = contentOf(join(folder, node));
  const child = spawn(task.program, task.args, {
    cwd: task.cwd,
    env: {
      ...CREDENTIALS,
      AWS_ENDPOINT_URL: moto.endpoint,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      ...task.environment,
      RADICAL_PORT: "0",
      // A busy machine of tests may stop for longer.
      RADICAL_SHED_DELAY_MS: "0",
      RADICAL_TUNNEL: tunnel,
      ...more,
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...task.user,
  });
  servers.push(child);
  const lines: string[] = [];
  const seen = new Map<string, Line>();
  const waiting: {
    readonly event: string;
    readonly resolve: (line: Line) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  createInterface(child.stderr).on("line", (text) => {
    lines.push(text);
    const line = fieldsOf(text);
    const event = String(line?.["event"]);
    if (line === null || seen.has(event)) return;
    seen.set(event, line);
    for (const each of waiting) if (each.event === event) each.resolve(line);
  });
  const listening = new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", (line) => {
      const { host, port } = JSON.parse(line) as { readonly host: string; readonly port: number };
      resolve(`http://${host}:${port}`);
    });
    child.once("close", () => {
      const error = new Error(`the server ended: ${lines.slice(-20).join("\n")}`);
      for (const each of [...waiting, { reject }]) each.reject(error);
    });
  });
  listening.catch(() => {});
  return {
    process: child,
    listening,
    health: (port) =>
      spawnSync(task.health[0]!, task.health.slice(1), { env: { RADICAL_PORT: port }, ...task.user }).status,
    lines,
    logged: (event) => {
      const line = seen.get(event);
      if (line !== undefined) return Promise.resolve(line);
      return new Promise((resolve, reject) => {
        waiting.push({ event, resolve, reject });
      });
    },
    written: () => {
      const now = contentOf(join(folder, node));
      return [...new Set([...image.keys(), ...now.keys()])].filter((name) => image.get(name) !== now.get(name));
    },
  };
}

/** The owner, mode, size and time of change of each file and folder below. */
function contentOf(place: string): ReadonlyMap<string, string> {
  const names = ["", ...(readdirSync(place, { recursive: true }) as string[])];
  return new Map(
    names.map((name) => {
      const { uid, mode, size, mtimeMs } = lstatSync(join(place, name));
      return [name, [uid, mode, size, mtimeMs].join(" ")];
    }),
  );
}

function clientOf(url: string, { keys, administration: [admin] }: PrimaryState): TestClient {
  const client = new TestClient(url, module);
  const deployment = `${SETTINGS.application}-${SETTINGS.environment}`;
  client.administration = { keyId: admin!.id, privateHalf: admin!.privateHalf, deployment };
  client.signing = { keyId: keys[0]!.id, secret: Buffer.from(keys[0]!.secret, "hex") };
  return client;
}

async function answering(status: number): Promise<{ readonly url: string; readonly stop: () => void }> {
  const http = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/ready`, stop: () => http.close() };
}

const GONE = {
  status: 400,
  body: "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>",
};

const BROKEN = `<DescribeStackEventsResponse><DescribeStackEventsResult><StackEvents><member><EventId>new-1</EventId><StackId>x</StackId><StackName>x</StackName><LogicalResourceId>ServiceB</LogicalResourceId><ResourceStatus>UPDATE_FAILED</ResourceStatus><ResourceStatusReason>Resource handler returned message: "Error occurred during operation 'ECS Deployment Circuit Breaker was triggered'."</ResourceStatusReason><Timestamp>2099-01-01T00:00:01Z</Timestamp></member></StackEvents></DescribeStackEventsResult></DescribeStackEventsResponse>`;

function tokenOf(id: string): string {
  return Buffer.from(JSON.stringify({ a: "account", t: id, s: "secret" })).toString("base64");
}
