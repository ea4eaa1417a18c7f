export { awsHalf } from "../aws-half.ts";
export { type DeployOptions, checkNothingStranded } from "../deploy.ts";
export type { DestroyOptions } from "../destroy.ts";
export { type CloudflareApi, createCloudflareApi } from "../edge/cloudflare-api.ts";
export { RECORD_VARIABLE, parseRecord } from "../edge/deployment-record.ts";
export { edgeHalf } from "../edge/edge-steps.ts";
export { workerVersions } from "../edge/worker-versions.ts";
export { type Wrangler, createWrangler } from "../edge/wrangler.ts";
export { AwsPrimary } from "../primary/aws-primary.ts";
export { advertisedBy, bucketName } from "../primary/names.ts";
export {
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryDeployment,
  type PrimaryProgress,
  type PrimarySettings,
  type PrimaryState,
} from "../primary/primary-deployment.ts";
export type { ServerArtefact } from "../primary/server-artefact.ts";
export { template } from "../primary/template.ts";
export { artefactKey, fetchArtefact, nodeEnvironment } from "../primary/user-data.ts";
export { NO_QUOTAS, refuseExceeded, unaskedNote } from "../quotas.ts";
export { planSteps } from "../steps.ts";
