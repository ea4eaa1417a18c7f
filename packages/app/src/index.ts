export { bindingsOf, blobBindings } from "./build/bindings.ts";
export {
  type AppBuild,
  type Assets,
  type BuildOutcome,
  PLAN_WORDS,
  buildApp,
  countDiagnostics,
  fallbackWords,
  framesOf,
  leftOutLines,
  plansOf,
  sourceFolders,
} from "./build/build-app.ts";
export { EntryError } from "./build/bundle-entry.ts";
export {
  WORKER_OPTIONS,
  bundleAppWorker,
  bundleDevWorker,
  bundleOwnWorker,
  bundleWorkerAround,
} from "./build/bundle.ts";
export { generateClient } from "./build/client.ts";
export {
  type AnalysisReport,
  type Compilation,
  type CompileQuestion,
  type Compiler,
  startCompiler,
} from "./build/compile.ts";
export { processPlace } from "./build/compiler-place.ts";
export { type AppSources, FILES_ON_DISK, type ProjectFiles, discoverSources } from "./build/discover-sources.ts";
export { restBundler } from "./build/esbuild.ts";
export { generateOpenApi } from "./build/openapi.ts";
export {
  IGNORE_FILE,
  type LeftOutFile,
  type StaticFile,
  findStaticFiles,
  linkStaticFiles,
} from "./build/static-files.ts";
export { RestingCompiler } from "./build/resting-compiler.ts";
export { storedTypesOf, withStoredTypes } from "./build/stored-types-section.ts";
export { type WrittenFile, writeBuild, writeSources } from "./build/write-build.ts";
export {
  type Benchmark,
  type BenchmarkRequest,
  type Call,
  type Preparation,
  defineBenchmark,
  loadBenchmark,
} from "./config/benchmark.ts";
export { blobVarsOf } from "./config/blobs-schema.ts";
export { type RadicalConfig, defineConfig } from "./config/config.ts";
export { fargateMemoryGb } from "./config/deploy-schema.ts";
export { DEV_VARS_FILE, readDevVars } from "./config/dev-vars.ts";
export { CONFIG_FILE, type Project, loadProject } from "./config/load-config.ts";
export {
  type Distance,
  type Location,
  MAX_LOSS_PERCENT,
  MAX_ROUND_TRIP_MS,
  PAPER_LOCATIONS,
  describeDistance,
  parseLocations,
  withCommonDistance,
} from "./config/locations.ts";
export { isRegionIn, regionWords } from "./config/jurisdictions.ts";
export { DEFAULT_ENVIRONMENT, type Target, bucketOf, targetOf } from "./config/target.ts";
export {
  type ClassBinding,
  type Migration,
  type Route,
  USER_CONFIG_FILES,
  type UserConfig,
  type WranglerConfig,
  checkUserConfig,
  placementOf,
  readUserConfig,
} from "./config/user-config.ts";
export { counted } from "./counted.ts";
export { scheduleText } from "./schedule-text.ts";
export { fromNowText, spanText, timeText } from "./times.ts";
export {
  type DataItem,
  ItemProblem,
  type Json,
  type TableTypes,
  bytesOf,
  checkPlace,
  encodeUntyped,
  isObject,
  itemOf,
  itemToJson,
  jsonText,
  parseJson,
  valueToExactJson,
} from "./data/item-json.ts";
export { ACCEPT_OPTION, MisfitError, NEW_FIELD, misfitLine } from "./data/misfits.ts";
export {
  MAX_PROBLEMS,
  itemsOfFile,
  itemsOfLines,
  readJson,
  readText,
  findSeedFile,
  seedFileOf,
  seedItems,
} from "./data/seed-items.ts";
export { isLoopbackName, isMeantFor, isOfAnotherOrigin } from "./loopback.ts";
