/** `radical metrics`: how the servers of the primary do, from their own counts. */
import { type Command, type Options, type Subcommand, subcommand } from "@radical/command-line";
import { OF_PRIMARY, runnerOf } from "./command.ts";

const run = runnerOf(() => import("../operate/metrics/metric-work.ts"));

const METRICS = {
  name: "metrics",
  words: "show rates, times, pending writes, tasks, read leases and memory of the primary",
  options: {
    watch: { kind: "flag", short: "w", words: "repeat until Ctrl-C" },
    seconds: {
      kind: "number",
      default: 5,
      least: 1,
      most: 3_600,
      unit: "s",
      words: "seconds over which rates and quantiles are measured",
    },
    ...OF_PRIMARY,
  },
  notes: `Asks each server twice, and shows the difference. The server that serves is shown in full, and a standby with its memory only.
Times are measured at the primary, without the way of a request. Quantiles are estimated from buckets.

Asks the LVI server of radical dev, if that runs in the project. --env names a deployment instead, and --primary another LVI
server. The same numbers are at /metrics of a server, for Prometheus: docs/operations.md, Metrics.`,
  exitCodes: ["the command did its work", "a server was not reached", "wrong usage"],
  examples: [
    ["radical metrics"],
    ["radical metrics --env production --watch"],
    ["radical metrics --env production --seconds 60 --json | jq '.servers[].report.requests'"],
    ["RADICAL_ADMIN_KEYS=admin:… radical metrics --primary https://lvi.example.com"],
  ],
} as const satisfies Command<Options>;

export const metricsCommand: Subcommand = subcommand(METRICS, (options) =>
  run(options, (work, signal) => work.metrics(options, signal)),
);
