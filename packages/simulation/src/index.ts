export { type SimulationOptions, type SimulationResult, simulate } from "./simulate.ts";
