export { RadicalCache } from "./cache/radical-cache.ts";
export type { CacheNamespace } from "./cache/durable-object-cache.ts";
export { heldItems } from "./cache/held-items.ts";
export { consoleLog, type Log, type LogLine } from "./log.ts";
export type { CacheBindings, Env } from "./settings.ts";
export { CallError } from "./call-error.ts";
export type { Authenticate } from "./http/authentication.ts";
export type { CorsOptions } from "./http/cors.ts";
export type { LimitOptions, RateLimiter } from "./http/limit.ts";
export { Refused } from "./services/refused.ts";
export type { Service, ServiceContext } from "./services/perform.ts";
export type { Isolate } from "./isolate.ts";
export { bindRadical, createWorker, entryOf } from "./worker.ts";
export type {
  BlobOptions,
  Call,
  CallOptions,
  LeasedExecution,
  Radical,
  RadicalOptions,
  RadicalWorker,
  WorkerParts,
} from "./api.ts";
