/**
 * The CloudFormation template of a deployment's primary: a pure function, so that it can be printed, compared and checked
 * without an account. It has what computes and holds nothing: a network without a way in, two machines, their role, logs
 * and alarms. Tables, secrets and the artefact outlive it and are made beside it (docs/decisions/beside-the-stack.md).
 */
import { alarms, type AlarmHost } from "./alarms.ts";
import { bucketName, primaryNames } from "./names.ts";
import { NODES, type NodeName } from "@radical/protocol";
import type { PrimarySettings } from "./primary-deployment.ts";
import { userData } from "./user-data.ts";

export interface TemplateInput {
  readonly settings: PrimarySettings;
  /** SHA-256 of the server's artefact. */
  readonly artefact: string;
  /** Replaced after the other one is up again: the machine that leads. */
  readonly last: NodeName;
}

export interface Template {
  readonly AWSTemplateFormatVersion: "2010-09-09";
  readonly Description: string;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<"Artefact" | "Last" | "ReadLeases" | "Tables", Output>>;
}

interface Output {
  readonly Description: string;
  readonly Value: string;
}

export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly CreationPolicy?: unknown;
  readonly UpdatePolicy?: unknown;
}

/** The first two networks of a block that nothing else is connected to. */
const NETWORK = "10.71.0.0/24";
const SUBNETS: Readonly<Record<NodeName, string>> = { a: "10.71.0.0/26", b: "10.71.0.64/26" };

/** Resolved by EC2 whenever a machine is launched, so that each starts with the patches of its day. */
const IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64";

/** From the launch of a machine until it says that it is up. */
const START_LIMIT = "PT15M";

const LOG_DAYS = 30;

const TABLE_ACTIONS = [
  "BatchGetItem",
  "BatchWriteItem",
  "ConditionCheckItem",
  "DeleteItem",
  // Neither CreateTable nor DeleteTable: a table that is gone must not come back empty by itself.
  "DescribeTable",
  "DescribeTimeToLive",
  "GetItem",
  "PutItem",
  "Query",
  "Scan",
  "UpdateItem",
].map((action) => `dynamodb:${action}`);

/** By the lines of their watch. */
const MACHINES: AlarmHost = {
  logs: "Logs",
  patterns: {
    Leading: '{ $.event = "machine" && $.serving = 1 && $.tunnel = 1 }',
    Machines: '{ $.event = "machine" && $.server = 1 && $.tunnel = 1 }',
    Standby: '{ $.event = "machine" && $.standby = 1 && $.tunnel = 1 }',
  },
};

/** The logical id of a machine's Auto Scaling group. */
export function groupOf(node: NodeName): string {
  return `Machine${node.toUpperCase()}`;
}

export function template({ settings, artefact, last }: TemplateInput): Template {
  const names = primaryNames(settings);
  const first = NODES.find((node) => node !== last)!;
  return {
    AWSTemplateFormatVersion: "2010-09-09",
    Description: `Primary of the Radical application ${settings.application}, environment ${settings.environment}`,
    Resources: {
      ...network(settings, names.stack),
      ...permissions(settings),
      Logs: logGroup(names.logGroup),
      MachineLogs: logGroup(names.machineLogGroup),
      ...machine(settings, first, artefact, null),
      ...machine(settings, last, artefact, first),
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

// ── Permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────

function permissions(settings: PrimarySettings): Template["Resources"] {
  const { logGroup: logs, machineLogGroup, parameters, tablePrefix } = primaryNames(settings);
  const arn = (service: string, resource: string): unknown =>
    sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${resource}`);
  const allow = (Action: string | readonly string[], Resource: unknown) => ({ Effect: "Allow", Action, Resource });
  const bucket = bucketName(settings, "${AWS::AccountId}", "${AWS::Region}");
  return {
    Role: {
      Type: "AWS::IAM::Role",
      Properties: {
        AssumeRolePolicyDocument: {
          Version: "2012-10-17",
          Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "ec2.amazonaws.com" } }],
        },
        ...(settings.shellAccess
          ? { ManagedPolicyArns: [sub("arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore")] }
          : {}),
        Policies: [
          {
            PolicyName: "primary",
            PolicyDocument: {
              Version: "2012-10-17",
              Statement: [
                allow(
                  TABLE_ACTIONS,
                  ["items", "executions", "parts", "overflow", "keys", "meta"].flatMap((table) => [
                    arn("dynamodb", `table/${tablePrefix}-${table}`),
                    ...(table === "executions" ? [arn("dynamodb", `table/${tablePrefix}-${table}/index/*`)] : []),
                  ]),
                ),
                allow("ssm:GetParameters", arn("ssm", `parameter${parameters.prefix}/*`)),
                allow("s3:GetObject", sub(`arn:\${AWS::Partition}:s3:::${bucket}/servers/*`)),
                allow(
                  ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                  [logs, machineLogGroup].map((group) => arn("logs", `log-group:${group}:*`)),
                ),
              ],
            },
          },
        ],
      },
    },
    Profile: { Type: "AWS::IAM::InstanceProfile", Properties: { Roles: [ref("Role")] } },
  };
}

// ── Machines ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `after`: the machine that must be up again before this one is replaced. */
function machine(
  settings: PrimarySettings,
  node: NodeName,
  artefact: string,
  after: NodeName | null,
): Template["Resources"] {
  const letter = node.toUpperCase();
  const name = primaryNames(settings).tunnels[node];
  const group = groupOf(node);
  return {
    [`Launch${letter}`]: {
      Type: "AWS::EC2::LaunchTemplate",
      Properties: {
        LaunchTemplateData: {
          ImageId: IMAGE,
          InstanceType: settings.instanceType,
          IamInstanceProfile: { Arn: attribute("Profile", "Arn") },
          MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 1, HttpEndpoint: "enabled" },
          // Not throttled when it has work to do; what that may cost stands in the documentation.
          ...(settings.instanceType.startsWith("t") ? { CreditSpecification: { CpuCredits: "unlimited" } } : {}),
          NetworkInterfaces: [{ DeviceIndex: 0, AssociatePublicIpAddress: true, Groups: [ref("Firewall")] }],
          BlockDeviceMappings: [
            {
              DeviceName: "/dev/xvda",
              Ebs: { VolumeSize: 8, VolumeType: "gp3", Encrypted: true, DeleteOnTermination: true },
            },
          ],
          TagSpecifications: ["instance", "volume"].map((ResourceType) => ({ ResourceType, Tags: tags(name) })),
          UserData: { "Fn::Base64": sub(userData(settings, node, artefact, group)) },
        },
      },
    },
    [group]: {
      Type: "AWS::AutoScaling::AutoScalingGroup",
      // A machine fetches its packages when it is launched.
      DependsOn: [
        "RouteOut",
        `SubnetRoutes${letter}`,
        "ArtefactsRoute",
        "TablesRoute",
        "Logs",
        "MachineLogs",
        ...(after === null ? [] : [groupOf(after)]),
      ],
      CreationPolicy: { ResourceSignal: { Count: 1, Timeout: START_LIMIT } },
      UpdatePolicy: {
        AutoScalingRollingUpdate: {
          MinInstancesInService: 0,
          MaxBatchSize: 1,
          WaitOnResourceSignals: true,
          PauseTime: START_LIMIT,
          SuspendProcesses: ["ReplaceUnhealthy", "AZRebalance", "ScheduledActions"],
        },
      },
      Properties: {
        MinSize: "1",
        MaxSize: "1",
        DesiredCapacity: "1",
        VPCZoneIdentifier: [ref(`Subnet${letter}`)],
        LaunchTemplate: {
          LaunchTemplateId: ref(`Launch${letter}`),
          Version: attribute(`Launch${letter}`, "LatestVersionNumber"),
        },
        Tags: [{ Key: "Name", Value: name, PropagateAtLaunch: true }],
      },
    },
  };
}

// ── Parts of templates ───────────────────────────────────────────────────────────────────────────────────────────────

function ref(logicalId: string): unknown {
  return { Ref: logicalId };
}

function attribute(logicalId: string, name: string): unknown {
  return { "Fn::GetAtt": [logicalId, name] };
}

function sub(text: string): unknown {
  return { "Fn::Sub": text };
}

function tags(name: string): readonly { readonly Key: string; readonly Value: string }[] {
  return [{ Key: "Name", Value: name }];
}
