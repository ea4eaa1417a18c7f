import { expect, test } from "vitest";
import { fargateHost, serviceOf } from "./fargate-host.ts";
import { serverTag, TUNNEL_TAG } from "./image-tags.ts";
import { DEFAULT_PRIMARY_SETTINGS, type PrimarySettings } from "./primary-deployment.ts";
import { serverVariables } from "./server-variables.ts";
import { machineOf, wordsOf } from "./stack-words.ts";
import { template } from "./template.ts";
import type { Template } from "./template-parts.ts";

const SETTINGS: PrimarySettings = { ...DEFAULT_PRIMARY_SETTINGS, application: "shop", environment: "production" };
const ARTEFACT = "5eca2e55e94e997577dbcadd0de02f524bd50952ebb33f1402c4ee5da44f8c7d";
const TUNNELS = { a: "5f0e8e0a", b: "0a1b2c3d" };

interface Container {
  readonly Name: string;
  readonly Image: { readonly "Fn::Sub": string };
  readonly Essential: boolean;
  readonly User: string;
  readonly ReadonlyRootFilesystem: boolean;
  readonly HealthCheck: { readonly Command: readonly string[] };
  readonly Environment?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Secrets?: readonly { readonly Name: string }[];
  readonly DependsOn?: readonly object[];
  readonly DockerLabels?: Readonly<Record<string, string>>;
}

const made = of();

function of(settings: Partial<PrimarySettings> = {}, more: Partial<Parameters<typeof template>[0]> = {}): Template {
  return template({ settings: { ...SETTINGS, ...settings }, artefact: ARTEFACT, last: "b", tunnels: TUNNELS, ...more });
}

function ofType({ Resources }: Template, type: string): readonly Readonly<Record<string, unknown>>[] {
  return Object.values(Resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties ?? {}] : []));
}

function containers(node: "A" | "B", from = made): readonly [server: Container, tunnel: Container] {
  const { ContainerDefinitions } = from.Resources[`Task${node}`]!.Properties!;
  return ContainerDefinitions as readonly [Container, Container];
}

function changedFrom(other: Template): readonly string[] {
  return Object.keys({ ...made.Resources, ...other.Resources })
    .filter((id) => JSON.stringify(made.Resources[id]) !== JSON.stringify(other.Resources[id]))
    .toSorted();
}

test("the template of a deployment on Fargate", async () => {
  await expect(`${JSON.stringify(made, null, 2)}\n`).toMatchFileSnapshot("golden/fargate.json");
  expect(Buffer.byteLength(JSON.stringify(made))).toBeLessThan(51_200);
});

test("each of the two services keeps one task, tries again for ever, and takes back a deployment that does not come up", () => {
  for (const service of ofType(made, "AWS::ECS::Service"))
    expect(service).toMatchObject({
      DesiredCount: 1,
      LaunchType: "FARGATE",
      DeploymentConfiguration: {
        MinimumHealthyPercent: 0,
        MaximumPercent: 100,
        DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      },
    });
  expect(ofType(made, "AWS::ECS::Service")).toHaveLength(2);
});

test("a task is the server and its tunnel: both are watched, neither is root, neither can write or keeps a capability", () => {
  for (const node of ["A", "B"] as const) {
    const [server, tunnel] = containers(node);
    for (const container of [server, tunnel])
      expect(container).toMatchObject({
        Essential: true,
        ReadonlyRootFilesystem: true,
        LinuxParameters: { Capabilities: { Drop: ["ALL"] } },
        HealthCheck: { Command: expect.arrayContaining(["CMD"]) as unknown, Interval: 10, Retries: 3 },
      });
    expect([server.User, tunnel.User]).toEqual(["node", "65532:65532"]);
    expect(server.Image["Fn::Sub"]).toMatch(new RegExp(`/radical-shop-production:${serverTag(ARTEFACT)}$`));
    expect(tunnel.Image["Fn::Sub"]).toMatch(new RegExp(`/radical-shop-production:${TUNNEL_TAG}$`));
    // Containers are stopped in the other order.
    expect(server.DependsOn).toEqual([{ ContainerName: "tunnel", Condition: "START" }]);
  }
});

test("secrets come by reference: no key and no token is in the template", () => {
  const [server, tunnel] = containers("A");
  expect(server.Secrets).toBeUndefined();
  expect(server.Environment).toContainEqual({
    Name: "RADICAL_KEYS_PARAMETER",
    Value: "/radical/shop/production/keys",
  });
  expect(tunnel.Secrets).toEqual([
    {
      Name: "TUNNEL_TOKEN",
      ValueFrom: {
        "Fn::Sub":
          "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/radical/shop/production/nodes/a/tunnel-token",
      },
    },
  ]);
});

test("options of the server that are chosen stand in its environment, and no others", () => {
  const chosen = serverVariables({ auditPercent: 5, giveUpUnreadable: true, otlpRatio: 0.25 });
  expect(chosen).toEqual({
    RADICAL_AUDIT_PERCENT: "5",
    RADICAL_GIVE_UP_UNREADABLE: "yes",
    RADICAL_OTLP_RATIO: "0.25",
  });
  expect(changedFrom(of({ server: chosen }))).toEqual(["TaskA", "TaskB"]);
  const [server] = containers("A", of({ server: chosen }));
  expect(server.Environment).toEqual([
    ...containers("A")[0].Environment!,
    ...Object.entries(chosen).map(([Name, Value]) => ({ Name, Value })),
  ]);
});

test("nothing comes in: no ingress, no port of a container, no load balancer", () => {
  const [firewall] = ofType(made, "AWS::EC2::SecurityGroup");
  expect(firewall).not.toHaveProperty("SecurityGroupIngress");
  expect(JSON.stringify(made)).not.toMatch(/SecurityGroupIngress|PortMappings|LoadBalancer/);
});

test("two roles: what runs reads the keys and the tables; ECS reads the tokens and the images; none may do all", () => {
  const statements = (id: string): readonly { Action: string | string[]; Resource: unknown }[] =>
    (made.Resources[id]!.Properties!["Policies"] as { PolicyDocument: { Statement: [] } }[])[0]!.PolicyDocument
      .Statement;
  const actions = (id: string): readonly string[] => statements(id).flatMap(({ Action }) => Action);
  expect(actions("Role").filter((action) => !action.startsWith("dynamodb:"))).toEqual(["ssm:GetParameters"]);
  expect(actions("Role").join()).not.toMatch(/CreateTable|DeleteTable|\*/);
  expect(actions("StartRole")).toEqual([
    "ecr:GetAuthorizationToken",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
    "ssm:GetParameters",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
  ]);
  expect(JSON.stringify(statements("Role"))).not.toContain("tunnel-token");
  expect(JSON.stringify(statements("StartRole"))).not.toContain("production/keys");
  for (const { Action, Resource } of [...statements("Role"), ...statements("StartRole")]) {
    if (Action === "ecr:GetAuthorizationToken") continue;
    for (const resource of [Resource].flat())
      expect((resource as { "Fn::Sub": string })["Fn::Sub"]).toMatch(
        /radical-shop-production|\/radical\/shop\/production/,
      );
  }
});

test("the machine that leads is replaced when the other one is up again", () => {
  for (const [last, first] of [
    ["a", "b"],
    ["b", "a"],
  ] as const) {
    const { Resources } = of({}, { last });
    expect(Resources[serviceOf(last)]!.DependsOn).toContain(serviceOf(first));
    expect(Resources[serviceOf(first)]!.DependsOn).not.toContain(serviceOf(last));
  }
});

test("another server, another size or another tunnel is another task, and nothing else", () => {
  expect(changedFrom(of({}, { artefact: "0".repeat(64) }))).toEqual(["TaskA", "TaskB"]);
  expect(changedFrom(of({ vcpu: 2, memoryGb: 4 }))).toEqual(["TaskA", "TaskB"]);
  expect(of({ vcpu: 0.25, memoryGb: 1 }).Resources["TaskA"]!.Properties).toMatchObject({ Cpu: "256", Memory: "1024" });
  expect(changedFrom(of({}, { tunnels: { ...TUNNELS, b: "another" } }))).toEqual(["TaskB"]);
  expect(changedFrom(of({ readLeaseMs: 0 }))).toEqual(["TaskA", "TaskB"]);
});

test.each([
  [0.25, 1, "832"],
  [0.5, 1, "832"],
  [1, 2, "1856"],
  [16, 120, "122688"],
])("the server with %d vCPUs and %d GB is told what the tunnel leaves of the task: %s MiB", (vcpu, memoryGb, mb) => {
  for (const node of ["A", "B"] as const) {
    const [server, tunnel] = containers(node, of({ vcpu, memoryGb }));
    expect(server.Environment).toContainEqual({ Name: "RADICAL_MEMORY_MB", Value: mb });
    expect(tunnel.Environment).toBeUndefined();
  }
});

test("a shell is what is chosen: its permission, and folders that can be written to", () => {
  const open = of({ shellAccess: true });
  expect(changedFrom(open)).toEqual(["Role", "ServiceA", "ServiceB", "TaskA", "TaskB"]);
  expect(containers("A", open)[0].ReadonlyRootFilesystem).toBe(false);
  expect(ofType(open, "AWS::ECS::Service").map(({ EnableExecuteCommand }) => EnableExecuteCommand)).toEqual([
    true,
    true,
  ]);
});

test("every resource of this host has words, and its machines are known by them", () => {
  const ids = Object.keys(fargateHost(SETTINGS, ARTEFACT, ["a", "b"], TUNNELS));
  for (const id of ids) expect(wordsOf(id)).not.toBe(id);
  expect(ids.filter((id) => machineOf(id) === "a").toSorted()).toEqual(["ServiceA", "TaskA"]);
});
