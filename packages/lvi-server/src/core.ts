/** The protocol core of the primary, for programs that drive it in another world than a server: the simulation and tests. */
export { Deadlines } from "./core/deadlines.ts";
export type { CallHash, CallHasher } from "./core/call-hash.ts";
export type * from "./core/events.ts";
export type * from "./core/run.ts";
export type * from "./core/intent.ts";
export { doneIntentOf, itemsReadBy, withoutOutcome } from "./core/intent.ts";
export { type IndexState, indexStates } from "./core/index-state.ts";
export {
  Candidate,
  type CandidateEffect,
  type CandidateEvent,
  type HeldLeadership,
  type Leadership,
  nextEpoch,
  setBackLeadership,
} from "./core/leadership.ts";
export { type CoreOptions, DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
export { type LockWait, LviCore, type Now, type Recovered } from "./core/lvi-core.ts";
export { latestTickIds, scheduleStates } from "./core/schedule-state.ts";
export type { CallAnswer } from "./core/services.ts";
export { compareDue, outlineOf, type Task, type TaskName, type TaskOutline, type TaskPlace } from "./core/task.ts";
export {
  type Call,
  decodePart,
  type PartContent,
  type StepName,
  type Workflow,
  type WorkflowPart,
} from "./core/workflow.ts";
export type { TaskNumbers } from "./core/task-count.ts";
export type { TaskAnswer } from "./core/task-table.ts";
export { nextCron } from "./cron.ts";
export { execute, executeTrain, type Host } from "./execution/execute.ts";
export { type Answer, Driver, type Halt, type Observer, type OutgoingCall, type StoragePort } from "./driver.ts";
export type { Sample, Sampling } from "./core/sampling.ts";
export {
  type Collected,
  type CollectionDue,
  type Commit,
  commitOf,
  type CommitResult,
  type KeyRange,
  type LaneCursor,
  type LanePage,
  type StoredUnit,
  type TaskPage,
  type WorkflowPage,
} from "./storage/storage.ts";
