/**
 * Machines that are instances of EC2: each in an Auto Scaling group of exactly one, of Amazon Linux, made by the artefact's installer
 * (`node-files.ts`).
 */
import type { NodeName } from "@radical/protocol";
import { allow, arn, roleOf, tablesStatement } from "./machine-role.ts";
import { bucketName, primaryNames, stackTags } from "./names.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import { attribute, ref, type Resource, type Resources, sub, tagList, tags } from "./template-parts.ts";
import { userData } from "./user-data.ts";

/** Resolved by EC2 whenever a machine is launched, so that each starts with the patches of its day. */
const IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64";

/** From the launch of a machine until it says that it is up. */
const START_LIMIT = "PT15M";

/** The logical id of a machine's Auto Scaling group. */
export function groupOf(node: NodeName): string {
  return `Machine${node.toUpperCase()}`;
}

/** `order`: the second one is replaced when the first one is up again. */
export function ec2Host(
  settings: PrimarySettings,
  artefact: string,
  [first, last]: readonly [NodeName, NodeName],
): Resources {
  return {
    Role: role(settings),
    Profile: { Type: "AWS::IAM::InstanceProfile", Properties: { Roles: [ref("Role")] } },
    ...machine(settings, first, artefact, null),
    ...machine(settings, last, artefact, first),
  };
}

function role(settings: PrimarySettings): Resource {
  const { logGroup, machineLogGroup, parameters } = primaryNames(settings);
  const bucket = bucketName(settings, "${AWS::AccountId}", "${AWS::Region}");
  return roleOf(
    settings,
    "ec2.amazonaws.com",
    "primary",
    [
      tablesStatement(settings),
      allow("ssm:GetParameters", arn("ssm", `parameter${parameters.prefix}/*`)),
      allow(
        "s3:GetObject",
        ["servers", "tools"].map((folder) => sub(`arn:\${AWS::Partition}:s3:::${bucket}/${folder}/*`)),
      ),
      allow(
        ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        [logGroup, machineLogGroup].map((group) => arn("logs", `log-group:${group}:*`)),
      ),
    ],
    settings.shellAccess ? [sub("arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore")] : [],
  );
}

/** `after`: the machine that must be up again before this one is replaced. */
function machine(settings: PrimarySettings, node: NodeName, artefact: string, after: NodeName | null): Resources {
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
          // A machine that could not be made, or whose server is dead, ends itself: the group launches another one.
          InstanceInitiatedShutdownBehavior: "terminate",
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
          // CloudFormation gives no volume the tags of its stack.
          TagSpecifications: ["instance", "volume"].map((ResourceType) => ({
            ResourceType,
            Tags: [...tags(name), ...tagList(stackTags(settings))],
          })),
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
