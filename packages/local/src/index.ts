export { type AppBindings, type ToldBindings, bindingsOfConfig } from "./app-bindings.ts";
export { Child, type Line, MODULE_ENDING } from "./child.ts";
export { Closers } from "./closers.ts";
export {
  type Address,
  type DelayProxy,
  type DistanceChange,
  type LinkFaults,
  NO_LINK_FAULTS,
  startDelayProxy,
} from "./delay-proxy.ts";
export { LOCATION_MAIN, LocalDeployment } from "./deployment.ts";
export { type FaultChange, FaultSwitches, type Faults, NO_FAULTS, readFaultChange } from "./faults.ts";
export { LOCATION_HEADER } from "./location-choice.ts";
export { BUILD_FILES, type EdgeInput } from "./location-input.ts";
export { type Edge, type EdgeLocation, type WorkerFiles, startEdge } from "./miniflare.ts";
export { PROCESS_RECORD_FILE, type ProcessRecord, claimStateFolder } from "./process-record.ts";
export { putModule, registerModule, untilServable } from "./register-module.ts";
export { RUNNING_FILE, type RunningDev, readRunning, removeRunning, writeRunning } from "./running-dev.ts";
export { type LviServerProcess, SERVER_MAIN, launchServer, startLviServer } from "./server-process.ts";
export { makeStateFolder } from "./state-folder.ts";
export { bundleRouter, writeBuild } from "./write-build.ts";
