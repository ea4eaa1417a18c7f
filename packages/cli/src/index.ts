/** What `radical.config.ts` and programs that drive Radical import. */
export { type Benchmark, defineBenchmark } from "./bench/benchmark.ts";
export type { Random as Draw } from "@radical/history";
export { CommandError } from "./command-error.ts";
export { defineConfig, type RadicalConfig } from "./config/config.ts";
export { PAPER_LOCATIONS, type Location } from "./config/locations.ts";
export { loadProject, type Project } from "./config/load-config.ts";
export type { DevEvent } from "./dev/dev-events.ts";
export { CENTRAL, type DevOptions, type Link } from "./dev/dev-options.ts";
export { type DevServer, startDev } from "./dev/start-dev.ts";
