/** What `radical.config.ts` and programs that drive Radical import. */
export {
  type Benchmark,
  defineBenchmark,
  defineConfig,
  type RadicalConfig,
  PAPER_LOCATIONS,
  type Location,
  loadProject,
  type Project,
} from "@radical/app";
export type { Random as Draw } from "@radical/history";
export { CommandError } from "@radical/app/command-error";
export type { DevEvent } from "./dev/dev-events.ts";
export { CENTRAL, type DevOptions, type Link } from "./dev/dev-options.ts";
export { type DevServer, startDev } from "./dev/start-dev.ts";
