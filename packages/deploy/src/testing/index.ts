export { awsHalf } from "../aws-half.ts";
export { type DeployOptions, checkNothingStranded } from "../deploy.ts";
export type { DestroyOptions } from "../destroy.ts";
export { type CloudflareApi, createCloudflareApi } from "../edge/cloudflare-api.ts";
export { RECORD_VARIABLE, parseRecord } from "../edge/deployment-record.ts";
export { edgeHalf } from "../edge/edge-steps.ts";
export { workerVersions } from "../edge/worker-versions.ts";
export { type Wrangler, createWrangler } from "../edge/wrangler.ts";
export type { Manifest } from "../image/oci.ts";
export type { ImageSource } from "../image/registry.ts";
export { buildServerLayer, type ServerLayer } from "../image/server-image.ts";
export { serverTag, TUNNEL_TAG } from "../primary/image-tags.ts";
export { AwsPrimary, type AwsPrimaryOptions } from "../primary/aws-primary.ts";
export { advertisedBy, bucketName } from "../primary/names.ts";
export {
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryDeployment,
  type PrimaryProgress,
  type PrimarySettings,
  type PrimaryState,
} from "../primary/primary-deployment.ts";
export type { Tool } from "../primary/cloudflared.ts";
export type { ServerArtefact } from "../primary/server-artefact.ts";
export { template } from "../primary/template.ts";
export { artefactKey, fetchArtefact, nodeEnvironment } from "../primary/user-data.ts";
export { NO_QUOTAS, refuseExceeded, unaskedNote } from "../quotas.ts";
export { planSteps } from "../steps.ts";
export { type ImageRegistry, startImageRegistry } from "./image-registry.ts";
