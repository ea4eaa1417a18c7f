/** The protocol core of a location by itself, for whoever drives it in another world than a Worker's. */
export type { CapturedSnapshot, Effect, ExecutionEvent } from "./effects.ts";
export type { ExecutionInput } from "./execution.ts";
export { Experience } from "./experience.ts";
export { LocationCore } from "./location.ts";
