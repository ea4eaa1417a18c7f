/**
 * Machines that are tasks of Fargate: two services of ECS of exactly one task each. A task is the server's image beside that of
 * cloudflared, which share a loopback interface. ECS looks at the health of both, and starts a task again for as long as that takes. It
 * takes a deployment back whose tasks don't come up.
 */
import type { NodeName } from "@radical/protocol";
import { IMAGE_USER } from "../image/image-files.ts";
import { taskServerMb } from "./machine-memory.ts";
import { allow, arn, roleOf, tablesStatement } from "./machine-role.ts";
import { advertisedBy, primaryNames, SERVER_HOST, SERVER_PORT } from "./names.ts";
import { serverTag, TUNNEL_TAG } from "./image-tags.ts";
import { TUNNEL_METRICS } from "./node-files.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import { attribute, ref, type Resources, sub, tags, type TunnelIds } from "./template-parts.ts";

/** As it drains for at most five seconds, and hands its leadership over. */
const SERVER_STOP_SECONDS = 30;
/** After the server: it waits for requests under way. */
const TUNNEL_STOP_SECONDS = 45;

const HEALTH = { Interval: 10, Timeout: 5, Retries: 3 };

/** The user of Cloudflare's image. */
const TUNNEL_USER = "65532:65532";

/** The logical id of a machine's service. */
export function serviceOf(node: NodeName): string {
  return `Service${node.toUpperCase()}`;
}

/** `order`: the second one is replaced when the first one is up again. */
export function fargateHost(
  settings: PrimarySettings,
  artefact: string,
  [first, last]: readonly [NodeName, NodeName],
  tunnels: TunnelIds,
): Resources {
  const { stack } = primaryNames(settings);
  return {
    ...roles(settings),
    Cluster: { Type: "AWS::ECS::Cluster", Properties: { ClusterName: stack, Tags: tags(stack) } },
    ...machine(settings, first, artefact, tunnels[first], null),
    ...machine(settings, last, artefact, tunnels[last], first),
  };
}

/** `Role` is that of what runs in the task. `StartRole` is that of ECS itself while it starts one. */
function roles(settings: PrimarySettings): Resources {
  const { logGroup, machineLogGroup, parameters, repository } = primaryNames(settings);
  return {
    Role: roleOf(settings, "ecs-tasks.amazonaws.com", "primary", [
      tablesStatement(settings),
      allow("ssm:GetParameters", arn("ssm", `parameter${parameters.keys}`)),
      ...(settings.shellAccess ? [SHELL] : []),
    ]),
    StartRole: roleOf(settings, "ecs-tasks.amazonaws.com", "start", [
      // Has no resource to be limited to: it is the registry of the account.
      allow("ecr:GetAuthorizationToken", "*"),
      allow(["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], arn("ecr", `repository/${repository}`)),
      allow(
        "ssm:GetParameters",
        Object.values(parameters.tunnelTokens).map((name) => arn("ssm", `parameter${name}`)),
      ),
      allow(
        ["logs:CreateLogStream", "logs:PutLogEvents"],
        [logGroup, machineLogGroup].map((group) => arn("logs", `log-group:${group}:*`)),
      ),
    ]),
  };
}

/** The permissions that `aws ecs execute-command` needs. These actions have no resource to be limited to. */
const SHELL = allow(
  [
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
  ],
  "*",
);

/** `after`: the machine that must be up again before this one is replaced. */
function machine(
  settings: PrimarySettings,
  node: NodeName,
  artefact: string,
  tunnel: string | null,
  after: NodeName | null,
): Resources {
  const letter = node.toUpperCase();
  const { metrics, parameters, repository, tablePrefix, tunnels } = primaryNames(settings);
  const name = tunnels[node];
  const image = (tag: string): unknown =>
    sub(`\${AWS::AccountId}.dkr.ecr.\${AWS::Region}.\${AWS::URLSuffix}/${repository}:${tag}`);
  const container = (part: string, logs: string, health: readonly string[], startSeconds: number) => ({
    Name: part,
    Essential: true,
    // A shell needs folders that can be written to.
    ReadonlyRootFilesystem: !settings.shellAccess,
    LinuxParameters: { Capabilities: { Drop: ["ALL"] } },
    HealthCheck: { Command: ["CMD", ...health], ...HEALTH, StartPeriod: startSeconds },
    LogConfiguration: {
      LogDriver: "awslogs",
      Options: {
        "awslogs-group": ref(logs),
        "awslogs-region": ref("AWS::Region"),
        "awslogs-stream-prefix": node,
        // A log that is away for a while must not stop the server.
        mode: "non-blocking",
        "max-buffer-size": "4m",
      },
    },
  });
  const environment = {
    RADICAL_ADVERTISE: advertisedBy(node),
    RADICAL_DEPLOYMENT: `${settings.application}-${settings.environment}`,
    RADICAL_HOST: SERVER_HOST,
    RADICAL_KEYS_PARAMETER: parameters.keys,
    // Its control group has no limit: that is the task's.
    RADICAL_MEMORY_MB: `${taskServerMb(settings.memoryGb)}`,
    RADICAL_METRICS_NAMESPACE: metrics,
    RADICAL_PORT: `${SERVER_PORT}`,
    RADICAL_READ_LEASE_MS: `${settings.readLeaseMs}`,
    RADICAL_STORAGE: sub(`dynamodb:${tablePrefix}?region=\${AWS::Region}`),
    RADICAL_TUNNEL: `http://${TUNNEL_METRICS}/ready`,
    ...settings.server,
  };
  return {
    [`Task${letter}`]: {
      Type: "AWS::ECS::TaskDefinition",
      Properties: {
        Family: name,
        RequiresCompatibilities: ["FARGATE"],
        NetworkMode: "awsvpc",
        RuntimePlatform: { CpuArchitecture: "ARM64", OperatingSystemFamily: "LINUX" },
        Cpu: `${settings.vcpu * 1_024}`,
        Memory: `${settings.memoryGb * 1_024}`,
        ExecutionRoleArn: attribute("StartRole", "Arn"),
        TaskRoleArn: attribute("Role", "Arn"),
        ContainerDefinitions: [
          {
            ...container("server", "Logs", ["node", "/opt/radical/healthy.mjs"], 30),
            Image: image(serverTag(artefact)),
            User: IMAGE_USER,
            // Started after the tunnel, so it is stopped before it: it drains while the tunnel is still there.
            DependsOn: [{ ContainerName: "tunnel", Condition: "START" }],
            Environment: Object.entries(environment).map(([Name, Value]) => ({ Name, Value })),
            StopTimeout: SERVER_STOP_SECONDS,
          },
          {
            ...container("tunnel", "MachineLogs", ["cloudflared", "tunnel", "--metrics", TUNNEL_METRICS, "ready"], 60),
            Image: image(TUNNEL_TAG),
            User: TUNNEL_USER,
            // Workers VPC needs QUIC.
            Command: ["tunnel", "--no-autoupdate", "--protocol", "quic", "--metrics", TUNNEL_METRICS, "run"],
            Secrets: [{ Name: "TUNNEL_TOKEN", ValueFrom: arn("ssm", `parameter${parameters.tunnelTokens[node]}`) }],
            // The token is read when a task is started: another tunnel is another task.
            DockerLabels: { "radical.tunnel": tunnel ?? "none" },
            StopTimeout: TUNNEL_STOP_SECONDS,
          },
        ],
        Tags: tags(name),
      },
    },
    [serviceOf(node)]: {
      Type: "AWS::ECS::Service",
      DependsOn: [
        "RouteOut",
        `SubnetRoutes${letter}`,
        "ArtefactsRoute",
        "TablesRoute",
        ...(after === null ? [] : [serviceOf(after)]),
      ],
      Properties: {
        Cluster: ref("Cluster"),
        ServiceName: name,
        TaskDefinition: ref(`Task${letter}`),
        LaunchType: "FARGATE",
        DesiredCount: 1,
        // The one before is stopped first: two tasks would share a tunnel, and requests would reach either.
        DeploymentConfiguration: {
          MinimumHealthyPercent: 0,
          MaximumPercent: 100,
          DeploymentCircuitBreaker: { Enable: true, Rollback: true },
        },
        EnableECSManagedTags: true,
        EnableExecuteCommand: settings.shellAccess,
        NetworkConfiguration: {
          AwsvpcConfiguration: {
            // To go out; the firewall lets nothing in.
            AssignPublicIp: "ENABLED",
            SecurityGroups: [ref("Firewall")],
            Subnets: [ref(`Subnet${letter}`)],
          },
        },
        PropagateTags: "SERVICE",
        Tags: tags(name),
      },
    },
  };
}
