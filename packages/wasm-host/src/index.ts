export type { Invocation } from "./execution.ts";
export { compileModule, faultOf, moduleHash, type HandlerModule } from "./module.ts";
export { deriveAccessSet, runHandler, type AccessSet, type DerivedSet, type HandlerRun, type Snapshot } from "./run.ts";
export type { CompiledModule } from "./web-assembly.ts";
