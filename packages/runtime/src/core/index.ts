/** The protocol core of a location by itself, for whoever drives it in another world than a Worker's. */
export { Directories, isScanUnit, itemsOfStored, spanOfScan } from "./directories.ts";
export type { Answered, CachePut, Effect, Verdict } from "./effects.ts";
export type { Footprint } from "./execution.ts";
export { Experience } from "./experience.ts";
export type { ListeningBounds } from "./listening.ts";
export type { LiveBounds, LiveEffect, LiveEvent, LiveMessage, RunManner, SubscriberId } from "./live-queries.ts";
export { LocationCore } from "./location.ts";
export type { KnownRows } from "./span-look.ts";
export { assertWellFormed } from "./well-formed.ts";
