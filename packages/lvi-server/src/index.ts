/** Starts the LVI server inside a process of yours; the bin `radical-lvi-server` does the same. */
export { checkModule } from "./execution/module-check.ts";
export { FAILPOINTS } from "./failpoints.ts";
export { LogRing } from "./log-ring.ts";
export { LineStream } from "./http/line-stream.ts";
export { createLog, LOG_LEVELS, type Log, type LogLevel } from "./log.ts";
export { KeyRing, type Keys, KeysError, parseKeys } from "./http/keys.ts";
export { startServer } from "./lazy-server.ts";
export type { RunningServer, ServerOptions } from "./server.ts";
export { type ItemReader, openItems } from "./storage/items.ts";
export { SqliteStorage } from "./storage/sqlite-storage.ts";
export type { DynamoTables, DynamoTablesOptions, TableState } from "./storage/dynamo/dynamo-tables.ts";
export { openTables } from "./storage/open-tables.ts";
export { openStorage, parseStorageAddress, sealingKeysOf, type StorageAddress } from "./storage/storage-address.ts";
export type { SealingKeyStore } from "./storage/sealing/sealing-key.ts";
export { commitOf, type Storage, StorageError, type StoredUnit } from "./storage/storage.ts";
