export type { Invocation } from "./execution.ts";
export { BinaryReader, customSection, Section, sectionsOf, withCustomSection } from "./metering/binary.ts";
export { metered } from "./metering/meter.ts";
export { abiOf, compileModule, faultOf, moduleHash, type HandlerModule } from "./module.ts";
export { atLeast, type Pace } from "./pace.ts";
export type { RunStep } from "./run-step.ts";
export {
  deriveAccessSet,
  recordHandler,
  runHandler,
  type AccessSet,
  type CompletedRun,
  type DerivedSet,
  type HandlerRun,
  type RecordedRun,
  type Speculative,
} from "./run.ts";
export {
  isWithin,
  type Scanned,
  type ScannedRows,
  type Snapshot,
  spansOf,
  spanSnapshot,
  walk,
  type WalkedRow,
} from "./spans.ts";
export type { CompiledModule } from "./web-assembly.ts";
export {
  type Arrived,
  type FollowedEntry,
  type FollowedRun,
  followWorkflow,
  runWorkflow,
  type WorkflowInvocation,
} from "./workflow.ts";
