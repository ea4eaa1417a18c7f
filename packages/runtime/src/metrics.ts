/**
 * The counts of a location. A Worker has no process that lives on and could be asked, and its isolates come and go. So each
 * request is one data point of Workers Analytics Engine, if a data set is bound: written without waiting, counted by SQL.
 */
import type { Log, LogLine } from "./log.ts";
import { PHASES } from "./timings.ts";

type RequestLine = Extract<LogLine, { event: "request" }>;

export function withMetrics(log: Log, dataset: AnalyticsEngineDataset | undefined): Log {
  if (dataset === undefined) return log;
  return (line) => {
    log(line);
    if (line.event === "request") dataset.writeDataPoint(dataPointOf(line));
  };
}

/** The columns are part of the interface: docs/http.md. Later ones are added at the end. */
function dataPointOf(line: RequestLine): AnalyticsEngineDataPoint {
  const { handler, location, path, reason, verdict, code, status, ms, fuel } = line;
  return {
    // The key of sampling when there is too much.
    indexes: [handler ?? ""],
    blobs: [location, handler ?? "", path ?? "", reason ?? "", code ?? "", verdict ?? ""],
    doubles: [status, ms["total"] ?? 0, ...PHASES.map((phase) => ms[phase] ?? 0), fuel ?? 0],
  };
}
