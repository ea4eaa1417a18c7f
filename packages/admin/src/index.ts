export {
  type AdminAddress,
  askSchedule,
  currentSchedules,
  finishUpgrade,
  hasModule,
  indexStatuses,
  moduleContent,
  moveTime,
  reachedTime,
  pendingIntents,
  registerModule,
  registeredModules,
  schedulesOf,
  openWorkflows,
  waitingTasks,
  servicesOf,
  upgradeOf,
  workflowsThatGoOn,
} from "./admin-requests.ts";
export { PrimaryError, askPrimary, linesOf } from "./ask-primary.ts";
export { type PrimaryAddress, serverName, shortName } from "./primary-address.ts";
export { untilIndexesBuilt } from "./built-indexes.ts";
export {
  type AdministrationKey,
  newAdministrationKey,
  parseAdministrationKeys,
  privateKeyText,
  publicKeyText,
} from "./administration-key.ts";
export {
  type DeploymentKey,
  type DeploymentKeys,
  KEY_FILE,
  loadDeploymentKeys,
  newDeploymentKeys,
  serverKeysText,
} from "./deployment-key.ts";
export { givenLocationKey, operatorKey, operatorKeys } from "./operator-keys.ts";
export { newRecordingKey, recordingKey } from "./recording-keys.ts";
export { readModule, storeModule, storedModule } from "./module-store.ts";
export { administrativeHeaders, type Asked, signedHeaders, signedRequest } from "./signed-request.ts";
