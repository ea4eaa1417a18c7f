/** Decisions of the operator and the embedding program about the protocol core: times, bounds, memory. */
import { DEFAULT_READ_LEASE_MS, REPLAY_WINDOW_MS } from "@radical/protocol";
import type { Budget } from "./budgets.ts";
import { DEFAULT_LEASE_POLICY, type LeasePolicy } from "./lease-policy.ts";
import { REPEAT_WINDOW_MS } from "./finished-executions.ts";
import { DEFAULT_SERVICE_OPTIONS, type ServiceOptions } from "./services.ts";
import type { TaskBounds } from "./task-table.ts";
import type { WorkflowBounds } from "./workflow-table.ts";

export interface CoreOptions {
  /** After `valid`, how long the followup may take before the handler is re-executed. */
  readonly followupTimeoutMs: number;
  /** The time for which a read lease is promised. A writer may wait so long for a location that is cut off. 0: no leases. */
  readonly readLeaseMs: number;
  /** To whom read leases are given. */
  readonly leasePolicy: LeasePolicy;
  /** Longest wait for locks. */
  readonly maxWaitMs: number;
  /** Pause before a storage operation or a killed re-execution is tried again. */
  readonly retryMs: number;
  /** Most executions under way, pending intents included. */
  readonly maxExecutions: number;
  /** Most waiters for one unit that are in the way of one more. */
  readonly maxQueue: number;
  /** Most units of one execution. */
  readonly maxUnits: number;
  /** Most bytes of values that one execution reads, as far as they are loaded or captured here. */
  readonly maxReadBytes: number;
  /** Most callers that wait for one execution. */
  readonly maxCallers: number;
  /** The budget of one location. */
  readonly location: Budget;
  /** Most bytes that the requests under way of all locations keep in memory. */
  readonly requestBytes: number;
  /** The part of the followups that are compared with a run here before they are applied: 0 to 1. Those of audited tables all are. */
  readonly auditedPart: number;
  /** Most executions at once that are re-executed because their followup did not come. */
  readonly maxReplaced: number;
  /** Rounds lost to contention before a near-storage execution takes the gate. */
  readonly maxRounds: number;
  /** How far a location's clock may be from ours. */
  readonly maxClockSkewMs: number;
  /** How far the time at which a request was signed may be from ours. */
  readonly replayWindowMs: number;
  /** Memory for hot values, and for done executions. */
  readonly hotBytes: number;
  readonly finishedBytes: number;
  /** Of the hashes of units, 32 bits: unknown to those who choose keys, so that nobody can make many that collide. */
  readonly hashSeed: number;
  /** The number in the id of the n-th session, of up to 53 bits: unknown to who wants to speak in its name. */
  readonly sessionNumber: (n: number) => number;
  /** Most ids of done executions to remember when their outcomes are forgotten. */
  readonly forgottenIds: number;
  /** Most requests to remember that were answered without a trace. */
  readonly answeredIds: number;
  /** Most bytes of values that one reply brings as repairs. */
  readonly maxRepairBytes: number;
  /** Most items of one page of the build of an index. With an entry for each, a page is one transaction of DynamoDB. */
  readonly indexPageItems: number;
  /** Most attempts of tasks at once, and the part of the tasks that memory has. */
  readonly tasksAtOnce: number;
  /** Most tasks in storage before requests that may enqueue are refused. */
  readonly maxTasks: number;
  readonly tasks: TaskBounds;
  /** Records of workflows of one question, and questions for the parts of one at once. */
  readonly workflows: Omit<WorkflowBounds, "retryMs">;
  readonly services: ServiceOptions;
  /** How long done intents are kept, and modules that nobody asks for. */
  readonly retentionMs: number;
  /** How long outcomes are kept that only a location asks for: longer than any location repeats a request. */
  readonly outcomeRetentionMs: number;
  readonly moduleRetentionMs: number;
  /** Most done intents that are deleted at once, and most outcomes. */
  readonly collectBatch: number;
}

export const DEFAULT_CORE_OPTIONS: CoreOptions = {
  followupTimeoutMs: 5_000,
  readLeaseMs: DEFAULT_READ_LEASE_MS,
  leasePolicy: DEFAULT_LEASE_POLICY,
  maxWaitMs: 10_000,
  retryMs: 100,
  maxExecutions: 20_000,
  maxQueue: 1_000,
  maxUnits: 10_000,
  maxReadBytes: 64 * 1024 * 1024,
  maxCallers: 100,
  location: { executions: 10_000, units: 200_000, bytes: 256 * 1024 * 1024, workers: 1_024, burstMs: 10_000 },
  requestBytes: 512 * 1024 * 1024,
  auditedPart: 0,
  maxReplaced: 64,
  maxRounds: 3,
  maxClockSkewMs: 300_000,
  replayWindowMs: REPLAY_WINDOW_MS,
  hotBytes: 256 * 1024 * 1024,
  finishedBytes: 128 * 1024 * 1024,
  hashSeed: 0,
  sessionNumber: (n) => n,
  forgottenIds: 1_000_000,
  answeredIds: 300_000,
  maxRepairBytes: 4 * 1024 * 1024,
  indexPageItems: 90,
  tasksAtOnce: 64,
  maxTasks: 1_000_000,
  tasks: { most: 10_000, mostBytes: 64 * 1024 * 1024, page: 1_000, inLane: 16, laneBytes: 64 * 1024 * 1024 },
  workflows: { page: 1_000, readsAtOnce: 16 },
  services: DEFAULT_SERVICE_OPTIONS,
  retentionMs: 24 * 3_600_000,
  outcomeRetentionMs: REPEAT_WINDOW_MS,
  moduleRetentionMs: 7 * 24 * 3_600_000,
  collectBatch: 1_000,
};
