/**
 * What a machine is told at its start: who it is, and which artefact makes a primary of it. Everything else is in the artefact. The text is
 * for `Fn::Sub`, so in it `${…}` is CloudFormation's.
 */
import { INSTALLED_AT } from "./node-files.ts";
import { advertisedBy, bucketName, primaryNames } from "./names.ts";
import type { NodeName } from "@radical/protocol";
import type { PrimarySettings } from "./primary-deployment.ts";

type NodeSettings = Pick<PrimarySettings, "application" | "environment" | "readLeaseMs" | "server">;

/** Where artefacts lie in the bucket, by their SHA-256. */
export function artefactKey(artefact: string): string {
  return `servers/${artefact}.tar`;
}

/**
 * Fetches the artefact, checks that it is the one, and unpacks it. A part of its own because it can be run anywhere
 * that has the AWS command line.
 */
export function fetchArtefact(bucket: string, artefact: string, folder: string): string {
  return `mkdir -p ${folder}
aws s3 cp --only-show-errors s3://${bucket}/${artefactKey(artefact)} ${folder}.tar
echo "${artefact}  ${folder}.tar" | sha256sum --check --strict
tar --extract --no-same-owner --file ${folder}.tar --directory ${folder}
rm ${folder}.tar
`;
}

/** The file that the scripts of a machine begin with. */
export function nodeEnvironment(settings: NodeSettings, node: NodeName, bucket: string, region: string): string {
  const { logGroup, machineLogGroup, metrics, parameters, tablePrefix } = primaryNames(settings);
  return `AWS_REGION=${region}
RADICAL_NODE=${node}
RADICAL_BUCKET=${bucket}
RADICAL_TABLES=${tablePrefix}
RADICAL_PARAMETERS=${parameters.prefix}
RADICAL_LOG_GROUP=${logGroup}
RADICAL_MACHINE_LOG_GROUP=${machineLogGroup}
RADICAL_METRICS_NAMESPACE=${metrics}
RADICAL_ADVERTISE=${advertisedBy(node)}
RADICAL_READ_LEASE_MS=${settings.readLeaseMs}
RADICAL_DEPLOYMENT=${settings.application}-${settings.environment}
${Object.entries(settings.server)
  .map(([name, value]) => `${name}=${value}\n`)
  .join("")}`;
}

/** Between two machines that could not be made. */
const RETRY_MINUTES = 5;

/** `group`: logical id of the machine's Auto Scaling group, which waits to be told how it went. */
export function userData(settings: NodeSettings, node: NodeName, artefact: string, group: string): string {
  const bucket = bucketName(settings, "${AWS::AccountId}", "${AWS::Region}");
  return `#!/bin/bash
set -euo pipefail
told() {
  code=$?
  dnf install --assumeyes --quiet aws-cfn-bootstrap || true
  /opt/aws/bin/cfn-signal --exit-code $code --stack \${AWS::StackName} --resource ${group} --region \${AWS::Region} || true
  if [ $code -eq 0 ]; then return; fi
  echo "this machine ends itself in ${RETRY_MINUTES} minutes, and its group launches another one"
  shutdown --poweroff +${RETRY_MINUTES}
}
trap told EXIT
export AWS_REGION=\${AWS::Region} AWS_DEFAULT_REGION=\${AWS::Region}
mkdir -p /etc/radical
cat >/etc/radical/node.env <<'END'
${nodeEnvironment(settings, node, bucket, "${AWS::Region}")}END
${fetchArtefact(bucket, artefact, INSTALLED_AT)}${INSTALLED_AT}/node/install.sh
`;
}
