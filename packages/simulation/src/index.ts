export { EdgeLocation } from "./edge-location.ts";
export { check, type Operation } from "./checker.ts";
export { type Invocation, type Location, type LocationOptions, ModelLocation } from "./location.ts";
export { type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";
