export { RadicalCache } from "./cache/radical-cache.ts";
export type { CacheNamespace } from "./cache/durable-object-cache.ts";
export { consoleLog, type Log, type LogLine } from "./log.ts";
export type { CacheBindings, Env } from "./settings.ts";
export { createWorker, type RadicalWorker, type WorkerParts } from "./worker.ts";
