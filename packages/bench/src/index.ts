export { type ApplicationRun, durationMs, runApplication, withEqualShares } from "./application-run.ts";
export { type Answered, executionOf } from "./client.ts";
export {
  type BuiltApp,
  Measurement,
  type MeasurementOptions,
  type RunOutcome,
  buildForBenchmark,
} from "./measurement.ts";
export { prepared } from "./model.ts";
export { replayPlaced, replayVersioned } from "./replay-check.ts";
export { type PaperHandler, ResultBuilder, type RunPlan } from "./result-builder.ts";
export {
  type BenchmarkResult,
  type CheckRow,
  EXPERIMENTS,
  type Experiment,
  type Profile,
  SYSTEMS,
  type StorageSetup,
  type System,
} from "./result.ts";
export { latencyOf, phasesOf } from "./rows.ts";
export { drawnCall, type Load } from "./schedule.ts";
export { ServerLog } from "./server-log.ts";
export { mean, median, quantile, statisticsOf } from "./statistics.ts";
export { orderOf } from "./strict-serializability.ts";
export { summaryOf } from "./summary.ts";
