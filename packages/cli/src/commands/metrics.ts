/** `radical metrics`: how the servers of the primary do, from their own counts. */
import { type Command, type Options, type Subcommand, subcommand } from "@radical/command-line";
import { OF_PRIMARY, runnerOf } from "./command.ts";

const run = runnerOf(() => import("../operate/metrics/metric-work.ts"));

const METRICS = {
  name: "metrics",
  words: "show how the primary does: rates, times, pending writes, tasks, read leases, memory",
  options: {
    watch: { kind: "flag", short: "w", words: "go on, until Ctrl-C" },
    seconds: {
      kind: "number",
      default: 5,
      least: 1,
      most: 3_600,
      unit: "s",
      words: "time over which rates and quantiles are measured",
    },
    ...OF_PRIMARY,
  },
  notes: `Asks each server twice, and shows what has happened between. The server that serves is shown in full, and of a standby its memory. Times are
those at the primary, without the way of a request. Quantiles are estimated from buckets.

The servers are that of radical dev, if it runs in the project; or those of the deployment of the environment --env; or the LVI
server that --primary names. The same numbers are at /metrics of a server, for Prometheus: docs/operations.md, Metrics.`,
  exitCodes: ["it worked", "a server was not reached", "wrong usage"],
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
