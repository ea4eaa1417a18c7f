export { awsDescription } from "./aws-half.ts";
export {
  type Aws,
  type DeployEvent,
  type DeployOutcome,
  type PrimaryChoice,
  awsOf,
  deploy,
  deployedOrigin,
  deployedPrimary,
  primaryTemplate,
  relayOrigin,
  targetOfProject,
} from "./deploy.ts";
export { findDeployed, leaderOf, serversOf } from "./deployed.ts";
export { listDeployments } from "./deployments.ts";
export { type PlannedRemoval, planDestroy } from "./destroy.ts";
export { CloudflareError } from "./edge/cloudflare-api.ts";
export { type OpenEdge, openEdge } from "./edge/open-edge.ts";
export { writeServerImage } from "./image/write-image.ts";
export { ownPrimary } from "./own-primary.ts";
export { primaryNames, PROTECTED_ENVIRONMENT } from "./primary/names.ts";
export { hostingFiles } from "./primary/node-files.ts";
export { type PlannedChange, operatingKey, signingKey } from "./primary/primary-deployment.ts";
export { serverFiles } from "./primary/server-artefact.ts";
export { planRollback } from "./rollback.ts";
export { type Rotation, planRotation } from "./rotate-keys.ts";
export {
  type Change,
  type PlannedStep,
  type StepEvent,
  type StepReport,
  type StepsOutcome,
  applySteps,
  unlessStopped,
} from "./steps.ts";
export { unheardAlarms } from "./unheard-alarms.ts";
export { deleteSecret, listSecrets, setSecret } from "./worker-secrets.ts";
