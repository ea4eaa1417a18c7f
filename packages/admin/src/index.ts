export {
  type AdminAddress,
  askSchedule,
  currentSchedules,
  finishUpgrade,
  hasModule,
  indexStatuses,
  moduleContent,
  moveTime,
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
export { type DeploymentKey, KEY_FILE, loadDeploymentKey } from "./deployment-key.ts";
export { readModule, storeModule, storedModule } from "./module-store.ts";
export { signedHeaders, signedRequest } from "./signed-request.ts";
