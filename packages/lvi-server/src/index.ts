/** Starts the LVI server inside a process of yours; the bin `radical-lvi-server` does the same. */
export { FAILPOINTS } from "./failpoints.ts";
export { LogRing } from "./log-ring.ts";
export { LineStream } from "./http/line-stream.ts";
export { createLog, LOG_LEVELS, type Log, type LogLevel } from "./log.ts";
export { KeyRing, type Keys, KeysError, parseKeys } from "./http/keys.ts";
export { type RunningServer, type ServerOptions, startServer } from "./server.ts";
export { type ItemReader, openItems, type StoredUnit } from "./storage/items.ts";
export { SqliteStorage } from "./storage/sqlite-storage.ts";
export type { DynamoTables, DynamoTablesOptions, TableState } from "./storage/dynamo/dynamo-tables.ts";
export { openTables } from "./storage/open-tables.ts";
export { openStorage, parseStorageAddress, type StorageAddress } from "./storage/storage-address.ts";
export { type Collected, type CollectionDue, type Storage, StorageError } from "./storage/storage.ts";
// What drives the core in the simulation.
export { Deadlines } from "./core/deadlines.ts";
export type { CallHash, CallHasher } from "./core/call-hash.ts";
export type * from "./core/events.ts";
export type * from "./core/execution-task.ts";
export type * from "./core/intent.ts";
export { doneIntentOf, readsOf, withoutOutcome } from "./core/intent.ts";
export {
  Candidate,
  type CandidateEffect,
  type CandidateEvent,
  type HeldLeadership,
  type Leadership,
} from "./core/leadership.ts";
export { type CoreOptions, DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
export { LviCore, type Now, type Recovered } from "./core/lvi-core.ts";
export { checkModule } from "./execution/module-check.ts";
export { executeTask, type Host } from "./execution/execute.ts";
export { Updates } from "./updates.ts";
