/**
 * The primary half of a deployment, with the real AWS SDK on moto's server, and the real AWS command line where a machine would use it.
 * What moto does not do, DeleteStack of a network and a failing resource, is answered in its place.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DeleteTableCommand, DynamoDBClient, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import { CloudFormationClient, DescribeStacksCommand, GetTemplateCommand } from "@aws-sdk/client-cloudformation";
import {
  DeleteParameterCommand,
  DescribeParametersCommand,
  GetParameterCommand,
  PutParameterCommand,
  SSMClient,
} from "@aws-sdk/client-ssm";
import {
  AwsPrimary,
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryProgress,
  type PrimarySettings,
  refuseExceeded,
  unaskedNote,
  type ServerArtefact,
} from "@radical/deploy/testing";
import { newAdministrationKey, privateKeyText, publicKeyText } from "@radical/admin";
import { primaryNames } from "@radical/deploy";
import { type Answer, denied, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { lead } from "./lead.ts";
import { machineTests, toolOf } from "./machine.ts";
import { CREDENTIALS, hasPython, type Moto, startMoto } from "./moto.ts";

const SETTINGS: PrimarySettings = {
  ...DEFAULT_PRIMARY_SETTINGS,
  host: "ec2",
  application: "shop",
  environment: "production",
  tags: { costCentre: "shop" },
  permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary",
};
const TUNNELS = { a: { id: "1", token: tokenOf("1") }, b: { id: "2", token: tokenOf("2") } };
const STORED = { a: null, b: null };

/** Small ones: what is in it does not matter here. */
const FIRST = artefactOf("first");
const SECOND = artefactOf("second");

const before = { ...process.env };
let moto: Moto;
let proxy: FaultProxy;

function artefactOf(text: string): ServerArtefact {
  const tar = Buffer.from(text);
  return { tar, sha256: createHash("sha256").update(tar).digest("hex") };
}

function primary(artefact: ServerArtefact = FIRST, settings: PrimarySettings = SETTINGS): AwsPrimary {
  return new AwsPrimary(settings, { pollMs: 5, artefact: () => Promise.resolve(artefact), cloudflared: CLOUDFLARED });
}

/** In place of the one that GitHub has. */
const CLOUDFLARED = toolOf("cloudflared");

/** What was planned and told, which may hold no secret. */
const told: unknown[] = [];
const tell = (event: PrimaryProgress): void => void told.push(event);

const runs = hasPython();
beforeAll(async () => {
  if (runs) moto = await startMoto();
});
afterAll(async () => {
  await moto?.stop();
});

describe.skipIf(!runs)("a primary on AWS", () => {
  beforeAll(async () => {
    proxy = await startFaultProxy(moto.port);
    Object.assign(process.env, CREDENTIALS, { AWS_ENDPOINT_URL: proxy.endpoint });
  });
  afterAll(async () => {
    process.env = { ...before };
    await proxy?.stop();
  });
  beforeEach(() => {
    proxy.answer(null);
    proxy.forget();
  });

  test("a plan of a first deployment names what will be made, and changes nothing", async () => {
    const one = primary();
    const plan = await one.plan();
    expect(plan.access).toMatchObject({ account: "123456789012", region: "us-east-1" });
    expect(Math.abs(plan.access.clockSkewMs)).toBeLessThan(60_000);
    expect(new Set(plan.changes.map(({ kind }) => kind))).toEqual(new Set(["make"]));
    const what = plan.changes.map((change) => change.what);
    expect(what).toContain("table radical-shop-production-items");
    expect(what).toContain("secret /radical/shop/production/keys");
    expect(what).toContain("machine a");
    expect(what).toContain("machine b");
    expect(plan.changes).toContainEqual({ kind: "make", what: "read leases", detail: "3000 ms" });
    expect(proxy.calls.filter((call) => /^(?:Create|Put|Delete|Update|Execute)/.test(call))).toEqual([]);
    expect(await one.state()).toBeNull();
  });

  test("quotas: what the account has left of what a plan needs; who may not ask is told so", async () => {
    const one = primary();
    const plan = await one.plan();
    proxy.forget();
    const { uses } = await one.quotas(plan);
    expect(proxy.calls.filter((call) => !/^(?:Get|List|Describe)/.test(call))).toEqual([]);
    expect(uses.find(({ what }) => what === "networks (VPCs) in us-east-1")).toMatchObject({
      used: 1,
      adds: 1,
      limit: 5,
    });
    expect(uses.find(({ what }) => what === "roles (IAM)")).toMatchObject({ used: 0, adds: 1, limit: 1000 });
    refuseExceeded(uses);

    proxy.answer(async (call, said) => {
      if (call === "DescribeInstances") return { status: 200, body: RUNNING };
      if (call === "DescribeVpcs") return { status: 200, body: "<vpcId>1</vpcId>".repeat(5) };
      if (call === "GetAWSDefaultServiceQuota") return { status: 200, body: '{"Quota":{"Value":5}}' };
      // As it does if nobody has ever asked for more.
      const { status, body } = await said();
      return call === "GetServiceQuota" && status !== 200
        ? { status: 400, body: '{"__type":"NoSuchResourceException"}' }
        : { status, body };
    });
    const look = await one.quotas(plan);
    expect(look.unasked).toEqual([]);
    expect(() => refuseExceeded(look.uses)).toThrow(
      expect.objectContaining({
        code: "quota_exceeded",
        message: expect.stringMatching(
          /^The plan exceeds .* nothing was changed:\n {2}networks \(VPCs\) in us-east-1: 5 of 5 in use, and this deployment needs 1 more\n {2}vCPUs of standard machines \(on demand\) in us-east-1: 2 of 5 in use, and this deployment needs 4 more\n {2}DynamoDB tables in us-east-1: 0 of 5 in use, and this deployment needs 6 more$/,
        ),
        hint: expect.stringContaining("https://us-east-1.console.aws.amazon.com/servicequotas/home"),
      }),
    );

    proxy.answer((call) => Promise.resolve(denied(call)));
    const nothing = await one.quotas(plan);
    expect(nothing.uses).toEqual([]);
    expect(unaskedNote(nothing)).toMatch(
      /^quotas that were not told, so not checked: networks \(VPCs\) in us-east-1 \(AccessDenied(?:Exception)?\); .*DynamoDB tables in us-east-1 \(AccessDenied/,
    );
    proxy.answer(null);
    proxy.forget();
    expect(await one.quotas({ ...plan, changes: [] })).toEqual({ uses: [], unasked: [] });
    expect(proxy.calls).toEqual([]);
  });

  test("refused at each call that changes something, it says which, and the next run goes on from there", async () => {
    const calls = [
      "CreateBucket",
      "PutPublicAccessBlock",
      "PutObject",
      "CreateTable",
      "UpdateTimeToLive",
      "UpdateTable",
      "UpdateContinuousBackups",
      "PutParameter",
      "CreateChangeSet",
      "ExecuteChangeSet",
    ];
    const refused = new Set<string>();
    for (const name of calls) {
      const one = primary();
      const plan = await one.plan();
      proxy.answer((call) => {
        if (call !== name) return Promise.resolve(null);
        refused.add(name);
        return Promise.resolve(denied(name));
      });
      const failure = await one.apply(plan, TUNNELS, tell).catch((error: unknown) => error);
      proxy.answer(null);
      expect(failure).toMatchObject({ code: "aws_access_denied" });
      expect(await one.state()).toBeNull();
      told.push(plan);
    }
    expect([...refused]).toEqual(calls);
  });

  test("then it is deployed, told step by step", async () => {
    const one = primary();
    const plan = await one.plan();
    const steps: string[] = [];
    const state = await one.apply(plan, TUNNELS, (event) => {
      tell(event);
      if (event.kind === "step-done") steps.push(`${event.step} ${event.changed ? "changed" : "was there"}`);
    });
    expect(steps).toEqual([
      "bucket was there",
      "artefact was there",
      "cloudflared was there",
      "tables was there",
      "parameters was there",
      "stack changed",
    ]);
    expect(state).toMatchObject({
      artefact: FIRST.sha256,
      tablePrefix: "radical-shop-production",
      nodes: [
        { binding: "RADICAL_PRIMARY_A", host: "127.0.0.1", port: 8788 },
        { binding: "RADICAL_PRIMARY_B", host: "127.0.0.1", port: 8788 },
      ],
    });
    expect(await one.state()).toEqual(state);
    expect(await one.storedTunnels()).toEqual({ a: "1", b: "2" });
  });

  test("its stack has the tags, and its role the boundary of permissions", async () => {
    const { stack: StackName } = primaryNames(SETTINGS);
    const { Stacks } = await new CloudFormationClient().send(new DescribeStacksCommand({ StackName }));
    expect(Stacks?.[0]?.Tags).toEqual([
      { Key: "radical:deployment", Value: StackName },
      { Key: "costCentre", Value: "shop" },
    ]);
    const template = await new CloudFormationClient().send(new GetTemplateCommand({ StackName }));
    expect(JSON.parse(template.TemplateBody!)).toMatchObject({
      Resources: { Role: { Properties: { PermissionsBoundary: SETTINGS.permissionsBoundary } } },
    });
  });

  test("a second time nothing is to be done, whichever machine leads", async () => {
    await lead(SETTINGS, "a");
    const one = primary();
    const plan = await one.plan();
    expect(plan.changes).toEqual([]);
    const changed: boolean[] = [];
    await one.apply(plan, STORED, (event) => {
      if (event.kind === "step-done") changed.push(event.changed);
    });
    expect(changed).toEqual([false, false, false, false, false, false]);
  });

  test("secrets are in the parameters and in the state, and nowhere else", async () => {
    const { keys, administration } = (await primary().state())!;
    const template = await new CloudFormationClient().send(
      new GetTemplateCommand({ StackName: primaryNames(SETTINGS).stack }),
    );
    for (const secret of [keys[0]!.secret, administration[0]!.privateHalf, TUNNELS.a.token, TUNNELS.b.token])
      expect(JSON.stringify([told, template.TemplateBody])).not.toContain(secret);
    const { Parameters } = await new SSMClient().send(new DescribeParametersCommand({}));
    expect(Parameters!.map(({ Type }) => Type)).toEqual(Array.from({ length: 4 }, () => "SecureString"));
    expect(keys[0]!.secret).toMatch(/^[0-9a-f]{64}$/);
  });

  test("keys: a fresh one beside the old one, the same when asked again, then alone", async () => {
    const one = primary();
    const { keys, administration } = (await one.state())!;
    const during = await one.addKey("location");
    expect(during.keys).toHaveLength(2);
    expect(during.keys[1]).toEqual(keys[0]);
    expect(during.keysReadAtMs).toBeGreaterThan(Date.now());
    expect((await one.addKey("location")).keys).toEqual(during.keys);
    const after = await one.dropOldKeys("location");
    expect(after.keys).toEqual([during.keys[0]]);
    expect((await one.dropOldKeys("location")).keys).toEqual(after.keys);
    const stored = await new SSMClient().send(
      new GetParameterCommand({ Name: primaryNames(SETTINGS).parameters.keys, WithDecryption: true }),
    );
    const ofLocations = `${after.keys[0]!.id}:${after.keys[0]!.secret}`;
    expect(stored.Parameter!.Value).toBe(`${ofLocations},${publicKeyText(administration[0]!)}`);
    expect(after.administration).toEqual(administration);
  });

  test("administration keys: likewise, apart from those of locations, and no machine can read a private half", async () => {
    const one = primary();
    const { keys, administration } = (await one.state())!;
    const during = await one.addKey("administration");
    expect([during.keys, during.administration.length, during.administration[1]]).toEqual([keys, 2, administration[0]]);
    expect(during.keysReadAtMs).toBeGreaterThan(Date.now());
    expect((await one.addKey("administration")).administration).toEqual(during.administration);
    const { parameters } = primaryNames(SETTINGS);
    const valueOf = async (Name: string): Promise<string | undefined> =>
      (await new SSMClient().send(new GetParameterCommand({ Name, WithDecryption: true }))).Parameter?.Value;
    const publicHalves = during.administration.map(publicKeyText);
    expect(await valueOf(parameters.keys)).toBe([`${keys[0]!.id}:${keys[0]!.secret}`, ...publicHalves].join(","));
    const after = await one.dropOldKeys("administration");
    expect([after.keys, after.administration]).toEqual([keys, [during.administration[0]]]);
    expect(await valueOf(parameters.keys)).toBe(`${keys[0]!.id}:${keys[0]!.secret},${publicHalves[0]}`);
    expect(await valueOf(parameters.administration)).toBe(privateKeyText(during.administration[0]!));
    // The role of the machines has the parameters with this prefix.
    expect(parameters.administration.startsWith(`${parameters.prefix}/`)).toBe(false);
  });

  test("administration keys: broken off half-way, the key that the machines take still signs", async () => {
    const one = primary();
    const [old] = (await one.state())!.administration;
    const Name = primaryNames(SETTINGS).parameters.administration;
    // As a rotation leaves it that ended after its first write.
    const Value = [newAdministrationKey("lost"), old!].map(privateKeyText).join(",");
    await new SSMClient().send(new PutParameterCommand({ Name, Value, Type: "SecureString", Overwrite: true }));
    expect((await one.state())!.administration).toEqual([old]);
    const during = await one.addKey("administration");
    expect([during.administration.length, during.administration[1]]).toEqual([2, old]);
    expect((await one.dropOldKeys("administration")).administration).toEqual([during.administration[0]]);
  });

  test("an administration key that is lost is made anew by the plan", async () => {
    const one = primary();
    const Name = primaryNames(SETTINGS).parameters.administration;
    await new SSMClient().send(new DeleteParameterCommand({ Name }));
    const { changes } = await one.plan();
    expect(changes).toEqual([
      { kind: "repair", what: `secret ${Name}`, detail: "a fresh key, with which commands sign" },
    ]);
    const lacking = (await one.state())!;
    expect(lacking.administration).toEqual([]);
    await one.apply(await one.plan(), STORED, () => undefined);
    const after = (await one.state())!;
    expect([after.keys, after.administration.length]).toEqual([lacking.keys, 1]);
  });

  test("what has drifted is repaired, by a plan of what is there", async () => {
    const { parameters, tablePrefix } = primaryNames(SETTINGS);
    const table = `${tablePrefix}-parts`;
    const dynamo = new DynamoDBClient();
    const one = primary();
    const outdated = await one.plan();
    await dynamo.send(new UpdateTableCommand({ TableName: table, DeletionProtectionEnabled: false }));
    await dynamo.send(new DeleteTableCommand({ TableName: table }));
    await dynamo.send(
      new UpdateTableCommand({ TableName: `${tablePrefix}-overflow`, DeletionProtectionEnabled: false }),
    );
    await new SSMClient().send(new DeleteParameterCommand({ Name: parameters.tunnelTokens.b }));
    proxy.forget();
    await expect(one.apply(outdated, STORED, tell)).rejects.toMatchObject({ code: "plan_outdated" });

    const plan = await one.plan();
    expect(plan.changes.map(({ kind, what }) => `${kind} ${what}`)).toEqual([
      `make table ${table}`,
      `repair table ${tablePrefix}-overflow`,
      `repair secret ${parameters.tunnelTokens.b}`,
    ]);
    await expect(one.apply(plan, STORED, tell)).rejects.toMatchObject({ code: "tunnel_missing" });
    expect(proxy.calls.filter((call) => /^(?:Create|Put|Update|Execute)/.test(call))).toEqual([]);
    await one.apply(plan, { a: null, b: TUNNELS.b }, tell);
    expect((await one.plan()).changes).toEqual([]);
  });

  test.each([
    ["UPDATE_IN_PROGRESS", "stack_busy"],
    ["UPDATE_ROLLBACK_FAILED", "stack_stuck"],
  ])("a stack in the state %s is not planned for", async (status, code) => {
    proxy.answer(async (call, said) => (call === "DescribeStacks" ? withStatus(await said(), status) : null));
    await expect(primary(SECOND).plan()).rejects.toMatchObject({ code });
  });

  test("a machine that does not come up: the reason of the first failure, and what was there serves on", async () => {
    const two = primary(SECOND);
    const plan = await two.plan();
    let executed = false;
    proxy.answer(async (call, said) => {
      if (call === "ExecuteChangeSet") {
        executed = true;
        return { status: 200, body: "<ExecuteChangeSetResponse><ExecuteChangeSetResult/></ExecuteChangeSetResponse>" };
      }
      if (call === "DescribeStacks" && executed) return withStatus(await said(), "UPDATE_ROLLBACK_COMPLETE");
      if (call === "DescribeStackEvents" && executed) return { status: 200, body: FAILED_UPDATE };
      return null;
    });
    const resources: string[] = [];
    const failure = await two
      .apply(plan, STORED, (event) => {
        if (event.kind === "resource") resources.push(event.what);
      })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "machine_not_up" });
    expect((failure as Error).message).toContain("machine b: Received 1 FAILURE signal(s)");
    expect((failure as Error).message).toContain("what was deployed before serves on");
    expect(resources).toEqual(["machine b", "machine a"]);
    proxy.answer(null);
    // A machine that is launched fetches this one again.
    expect((await primary().plan()).changes).toEqual([]);
  });

  test("another server: both machines are replaced, the one that leads last", async () => {
    const two = primary(SECOND);
    const plan = await two.plan();
    expect(plan.leader).toBe("a");
    const machines = plan.changes.filter(({ what }) => what.startsWith("machine"));
    expect(machines.map(({ kind, what }) => `${kind} ${what}`).toSorted()).toEqual([
      "replace machine a",
      "replace machine b",
    ]);
    expect(machines.find(({ what }) => what === "machine a")!.detail).toMatch(
      /^it leads: replaced when the other one is up/,
    );
    const state = await two.apply(plan, STORED, tell);
    expect(state.artefact).toBe(SECOND.sha256);
    const { TemplateBody } = await new CloudFormationClient().send(new GetTemplateCommand({ StackName: state.stack }));
    const { MachineA, LaunchA } = (JSON.parse(TemplateBody!) as { Resources: Record<string, { DependsOn?: string[] }> })
      .Resources;
    expect(MachineA!.DependsOn).toContain("MachineB");
    expect(JSON.stringify(LaunchA)).toContain(SECOND.sha256);
    expect((await two.plan()).changes).toEqual([]);
    // Only what runs is kept.
    expect((await primary().plan()).changes.map(({ what }) => what)).toContain(`artefact ${FIRST.sha256.slice(0, 12)}`);
  });

  test("another time of read leases is named, and replaces both machines", async () => {
    const plan = await primary(SECOND, { ...SETTINGS, readLeaseMs: 0 }).plan();
    expect(plan.changes.map(({ kind, what }) => `${kind} ${what}`).toSorted()).toEqual([
      "change read leases",
      "replace machine a",
      "replace machine b",
    ]);
    expect(plan.changes.find(({ what }) => what === "read leases")!.detail).toBe("3000 ms before, none from now on");
  });

  test("destroyed: nothing is left but tables, if they are kept", async () => {
    const one = primary(SECOND);
    const { tablePrefix } = primaryNames(SETTINGS);
    proxy.answer((call) => Promise.resolve(call === "DeleteStack" ? denied(call) : null));
    await expect(one.destroy({ keepTables: true }, tell)).rejects.toMatchObject({ code: "aws_access_denied" });
    expect(await one.state()).not.toBeNull();
    let isGone = false;
    proxy.answer((call) => {
      if (call === "DeleteStack") {
        isGone = true;
        return Promise.resolve({ status: 200, body: "<DeleteStackResponse/>" });
      }
      return Promise.resolve(call === "DescribeStacks" && isGone ? GONE : null);
    });
    await one.destroy({ keepTables: true }, tell);
    const left = (await one.plan()).changes.map(({ what }) => what);
    expect(left).not.toContain(`table ${tablePrefix}-items`);
    expect(left).toContain("secret /radical/shop/production/keys");
    expect(left.some((what) => what.startsWith("bucket "))).toBe(true);
    await one.destroy({ keepTables: false }, tell);
    expect((await one.plan()).changes.map(({ what }) => what)).toContain(`table ${tablePrefix}-items`);
  });

  test("an answer that AWS failed to give is asked for again; nobody at its address is told", async () => {
    let broken = 0;
    proxy.answer((call) =>
      Promise.resolve(call === "GetCallerIdentity" && broken++ < 2 ? { status: 503, body: "" } : null),
    );
    expect(await primary().checkAccess()).toMatchObject({ account: "123456789012" });
    expect(broken).toBe(3);
    process.env["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9";
    try {
      await expect(primary().checkAccess()).rejects.toMatchObject({ code: "aws_unreachable" });
    } finally {
      process.env["AWS_ENDPOINT_URL"] = proxy.endpoint;
    }
  });
});

machineTests(() => moto);

function withStatus({ body }: Answer, status: string): Answer {
  return { status: 200, body: body.replace(/<StackStatus>\w+</, `<StackStatus>${status}<`) };
}

/** Two vCPUs count: of other types, of the machines themselves and those bid for have other quotas, or are replaced. */
const RUNNING = [
  ["t3.small", "1", "2", ""],
  ["t4g.micro", "2", "1", "<value>radical-shop-production-a</value>"],
  ["g5.xlarge", "2", "2", ""],
  ["m7g.large", "2", "1", "<instanceLifecycle>spot</instanceLifecycle>"],
]
  .map(
    ([type, cores, threads, more]) =>
      `<item><instanceId>i</instanceId><instanceType>${type}</instanceType>${more}<cpuOptions><coreCount>${cores}</coreCount><threadsPerCore>${threads}</threadsPerCore></cpuOptions></item>`,
  )
  .join("");

const GONE = {
  status: 400,
  body: "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>",
};

const FAILED_UPDATE = `<DescribeStackEventsResponse><DescribeStackEventsResult><StackEvents>${[
  ["3", "MachineA", "UPDATE_FAILED", "Resource update cancelled"],
  ["2", "MachineB", "UPDATE_FAILED", "Received 1 FAILURE signal(s) out of 1"],
]
  .map(
    ([id, resource, status, reason]) =>
      `<member><EventId>new-${id}</EventId><StackId>x</StackId><StackName>x</StackName><LogicalResourceId>${resource}</LogicalResourceId><ResourceStatus>${status}</ResourceStatus><ResourceStatusReason>${reason}</ResourceStatusReason><Timestamp>2099-01-01T00:00:0${id}Z</Timestamp></member>`,
  )
  .join("")}</StackEvents></DescribeStackEventsResult></DescribeStackEventsResponse>`;

function tokenOf(id: string): string {
  return Buffer.from(JSON.stringify({ a: "account", t: id, s: "secret" })).toString("base64");
}
