/**
 * The CloudFormation template of a deployment's primary: a pure function, so that it can be printed, compared and checked
 * without an account. It has what computes and holds nothing: a network without a way in, two machines (`ec2-host.ts`,
 * `fargate-host.ts`), their role, logs and alarms. Tables, secrets and the artefact outlive it and are made beside it (docs/decisions/beside-the-stack.md).
 */
import { NODES, type NodeName } from "@radical/protocol";
import { ec2Host } from "./ec2-host.ts";
import { fargateHost } from "./fargate-host.ts";
import { primaryNames } from "./names.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import { ref, type Resource, sub, tags, type Template, type TunnelIds } from "./template-parts.ts";

export interface TemplateInput {
  readonly settings: PrimarySettings;
  /** SHA-256 of the server's artefact. */
  readonly artefact: string;
  /** The tunnels whose tokens are stored: a machine on Fargate is replaced if its tunnel is another one. Default: none. */
  readonly tunnels?: TunnelIds;
  /** Replaced after the other one is up again: the machine that leads. */
  readonly last: NodeName;
}

/** The first two networks of a block that nothing else is connected to. */
const NETWORK = "10.71.0.0/24";
const SUBNETS: Readonly<Record<NodeName, string>> = { a: "10.71.0.0/26", b: "10.71.0.64/26" };

const LOG_DAYS = 30;

const NO_TUNNELS: TunnelIds = { a: null, b: null };

export function template({ settings, artefact, last, tunnels = NO_TUNNELS }: TemplateInput): Template {
  const names = primaryNames(settings);
  const first = NODES.find((node) => node !== last)!;
  const host =
    settings.host === "ec2"
      ? ec2Host(settings, artefact, [first, last])
      : fargateHost(settings, artefact, [first, last], tunnels);
  return {
    AWSTemplateFormatVersion: "2010-09-09",
    Description: `Primary of the Radical application ${settings.application}, environment ${settings.environment}`,
    Resources: {
      ...network(settings, names.stack),
      Logs: { Type: "AWS::Logs::LogGroup", Properties: { LogGroupName: names.logGroup, RetentionInDays: LOG_DAYS } },
      ...host,
      ...alarms(settings),
    },
    Outputs: {
      Artefact: { Description: "SHA-256 of the server that the machines run", Value: artefact },
      Last: { Description: "Machine that was replaced last", Value: last },
      ReadLeases: { Description: "How long read leases last", Value: leaseWords(settings) },
      Tables: { Description: "Prefix of the tables", Value: names.tablePrefix },
    },
  };
}

function leaseWords({ readLeaseMs }: PrimarySettings): string {
  return readLeaseMs === 0 ? "none" : `${readLeaseMs} ms`;
}

// ── Network ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function network({ zones }: PrimarySettings, name: string): Template["Resources"] {
  const subnets = NODES.flatMap((node, index): [string, Resource][] => [
    [
      `Subnet${node.toUpperCase()}`,
      {
        Type: "AWS::EC2::Subnet",
        Properties: {
          VpcId: ref("Network"),
          CidrBlock: SUBNETS[node],
          AvailabilityZone: zones?.[index] ?? { "Fn::Select": [index, { "Fn::GetAZs": "" }] },
          Tags: tags(`${name}-${node}`),
        },
      },
    ],
    [
      `SubnetRoutes${node.toUpperCase()}`,
      {
        Type: "AWS::EC2::SubnetRouteTableAssociation",
        Properties: { SubnetId: ref(`Subnet${node.toUpperCase()}`), RouteTableId: ref("Routes") },
      },
    ],
  ]);
  return {
    Network: {
      Type: "AWS::EC2::VPC",
      Properties: { CidrBlock: NETWORK, EnableDnsSupport: true, EnableDnsHostnames: true, Tags: tags(name) },
    },
    Internet: { Type: "AWS::EC2::InternetGateway", Properties: { Tags: tags(name) } },
    InternetAttachment: {
      Type: "AWS::EC2::VPCGatewayAttachment",
      Properties: { VpcId: ref("Network"), InternetGatewayId: ref("Internet") },
    },
    Routes: { Type: "AWS::EC2::RouteTable", Properties: { VpcId: ref("Network"), Tags: tags(name) } },
    RouteOut: {
      Type: "AWS::EC2::Route",
      DependsOn: "InternetAttachment",
      Properties: {
        RouteTableId: ref("Routes"),
        DestinationCidrBlock: "0.0.0.0/0",
        GatewayId: ref("Internet"),
      },
    },
    ...Object.fromEntries(subnets),
    // Free of charge, and the way to storage stays inside of AWS.
    ...Object.fromEntries(
      (["dynamodb", "s3"] as const).map((service): [string, Resource] => [
        service === "s3" ? "ArtefactsRoute" : "TablesRoute",
        {
          Type: "AWS::EC2::VPCEndpoint",
          Properties: {
            VpcId: ref("Network"),
            VpcEndpointType: "Gateway",
            ServiceName: sub(`com.amazonaws.\${AWS::Region}.${service}`),
            RouteTableIds: [ref("Routes")],
          },
        },
      ]),
    ),
    Firewall: {
      Type: "AWS::EC2::SecurityGroup",
      Properties: {
        GroupDescription: "Radical primary: nothing comes in; to the tunnel and to AWS goes out",
        VpcId: ref("Network"),
        SecurityGroupEgress: [
          { IpProtocol: "udp", FromPort: 7844, ToPort: 7844, CidrIp: "0.0.0.0/0", Description: "Cloudflare Tunnel" },
          { IpProtocol: "tcp", FromPort: 443, ToPort: 443, CidrIp: "0.0.0.0/0", Description: "AWS, packages" },
        ],
        Tags: tags(name),
      },
    },
  };
}

// ── Alarms ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function alarms(settings: PrimarySettings): Template["Resources"] {
  const { metrics, stack } = primaryNames(settings);
  const actions = settings.alarmEmail === null ? {} : { AlarmActions: [ref("Alarms")], OKActions: [ref("Alarms")] };
  const metric = (id: string, FilterPattern: string, MetricValue = "1"): [string, Resource] => [
    `${id}Metric`,
    {
      Type: "AWS::Logs::MetricFilter",
      Properties: {
        LogGroupName: ref("Logs"),
        FilterPattern,
        MetricTransformations: [{ MetricNamespace: metrics, MetricName: id, MetricValue }],
      },
    },
  ];
  const alarm = (id: string, AlarmDescription: string, rest: Readonly<Record<string, unknown>>): [string, Resource] => [
    `${id}Alarm`,
    {
      Type: "AWS::CloudWatch::Alarm",
      Properties: {
        AlarmName: `${stack}-${alarmName(id)}`,
        AlarmDescription,
        Namespace: metrics,
        MetricName: id,
        Statistic: "Sum",
        ...rest,
        ...actions,
      },
    },
  ];
  return Object.fromEntries([
    metric("Errors", errorsPattern()),
    metric("Leading", '{ $.event = "machine" && $.serving = 1 && $.tunnel = 1 }'),
    metric("Machines", '{ $.event = "machine" && $.tunnel = 1 }'),
    alarm("Errors", "The server logged an error: radical tail, or the log group", {
      Period: 60,
      EvaluationPeriods: 1,
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
    }),
    alarm("Leading", "No machine leads and can be reached: requests that need the primary fail", {
      Period: 60,
      EvaluationPeriods: 3,
      Threshold: 1,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
    // Two say so each minute.
    alarm("Machines", "One of the two machines is missing: the next failure stops the primary", {
      Period: 600,
      EvaluationPeriods: 2,
      Threshold: 15,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
    ...effectAlarms(settings).flatMap(({ id, field, above, minutes, words }) => [
      metric(id, '{ $.event = "effects_wait" }', `$.${field}`),
      alarm(id, words, {
        Statistic: "Maximum",
        Period: 60,
        // The server says it once a minute, and a line may fall into the next one.
        EvaluationPeriods: minutes + 2,
        DatapointsToAlarm: minutes,
        Threshold: above,
        ComparisonOperator: "GreaterThanThreshold",
        TreatMissingData: "notBreaching",
      }),
    ]),
    ...(settings.alarmEmail === null
      ? []
      : [
          [
            "Alarms",
            {
              Type: "AWS::SNS::Topic",
              Properties: { Subscription: [{ Protocol: "email", Endpoint: settings.alarmEmail }] },
            },
          ],
        ]),
  ]) as Template["Resources"];
}

/** Handlers log errors of their own, which are none of the server. The others have an alarm for themselves. */
const NOT_COUNTED = ["handler_log", "task_dead", "workflow_stuck_alarm"];

function errorsPattern(): string {
  const others = NOT_COUNTED.map((event) => ` && $.event != "${event}"`);
  return `{ $.level = "error"${others.join("")} }`;
}

/** An alarm on a field of the line that the server logs each minute while effects wait for somebody. */
interface EffectAlarm {
  readonly id: string;
  readonly field: string;
  readonly above: number;
  /** For so long, before the alarm goes off. */
  readonly minutes: number;
  readonly words: string;
}

/** A task that may begin and has not is an alarm after this time. */
const MOST_READY_SECONDS = 600;

function effectAlarms({ environment }: PrimarySettings): readonly EffectAlarm[] {
  const command = (words: string): string => `radical ${words} --env ${environment}`;
  return [
    {
      id: "DeadTasks",
      field: "deadTasks",
      above: 0,
      minutes: 1,
      words: `Tasks are dead: each attempt failed, or nobody knows whether a service has acted, and nothing tries them again. Each one in a lane blocks the lane. See ${command("tasks list --state dead")}, mend the cause, and then: radical tasks retry, or discard.`,
    },
    {
      id: "OldestTask",
      field: "oldestReadySeconds",
      above: MOST_READY_SECONDS,
      minutes: 1,
      words: `A task that may begin has waited for over ${MOST_READY_SECONDS / 60} minutes: more tasks come than the machines can run, its @limit is too low, its service is down, or the module lacks its handler. See ${command("tasks list")}. Then raise the limit, take a larger instanceType, mend the service, or deploy the handler again.`,
    },
    {
      id: "StuckWorkflows",
      field: "stuckWorkflows",
      above: 0,
      minutes: 1,
      words: `Workflows are stuck: their code can't go on from their journal, and nothing was undone. See ${command("workflows list --state stuck")}, which names the reason. Mend the cause and then: radical workflows retry, or cancel.`,
    },
    {
      id: "ServicesDown",
      field: "servicesDown",
      above: 0,
      minutes: 3,
      words: `Calls of a service fail, so they pause, and its tasks wait. See ${command("doctor")}, which names the service and its last failure. Mend the service, or the Worker that calls it. The first call that succeeds ends the pause.`,
    },
  ];
}

/** `DeadTasks` is `dead-tasks`. */
function alarmName(id: string): string {
  return id.replaceAll(/\B[A-Z]/g, "-$&").toLowerCase();
}
