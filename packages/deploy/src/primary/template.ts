/**
 * The CloudFormation template of a deployment's primary: a pure function, so that it can be printed, compared and checked
 * without an account. It has what computes and holds nothing: a network without a way in, two machines (`ec2-host.ts`,
 * `fargate-host.ts`), their role, logs and alarms. Tables, secrets and the artefact outlive it and are made beside it (docs/decisions/beside-the-stack.md).
 */
import { alarms, type AlarmHost } from "./alarms.ts";
import { NODES, type NodeName } from "@radical/protocol";
import { ec2Host } from "./ec2-host.ts";
import { fargateHost } from "./fargate-host.ts";
import { primaryNames, stackTags } from "./names.ts";
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

/** By the line that their watch writes each minute: a script on EC2, the server itself on Fargate. */
const MACHINES: AlarmHost = {
  logs: "Logs",
  patterns: {
    Leading: '{ $.event = "machine" && $.serving = 1 && $.tunnel = 1 }',
    Machines: '{ $.event = "machine" && $.server = 1 && $.tunnel = 1 }',
    Standby: '{ $.event = "machine" && $.standby = 1 && $.tunnel = 1 }',
  },
};

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
    Metadata: { Tags: stackTags(settings) },
    Resources: {
      ...network(settings, names.stack),
      Logs: logGroup(names.logGroup),
      MachineLogs: logGroup(names.machineLogGroup),
      ...host,
      ...alarms(settings, MACHINES),
    },
    Outputs: {
      Artefact: { Description: "SHA-256 of the server that the machines run", Value: artefact },
      Last: { Description: "Machine that was replaced last", Value: last },
      ReadLeases: { Description: "How long read leases last", Value: leaseWords(settings) },
      Tables: { Description: "Prefix of the tables", Value: names.tablePrefix },
    },
  };
}

function logGroup(LogGroupName: string): Resource {
  return { Type: "AWS::Logs::LogGroup", Properties: { LogGroupName, RetentionInDays: LOG_DAYS } };
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
