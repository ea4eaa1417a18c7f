/** How servers do, as people read it. */
import { spanText } from "@radical/app";
import { terminalText } from "@radical/protocol";
import type { Style } from "../../terminal/terminal.ts";
import type { Quantiles, ServerReport } from "./server-report.ts";

export type Styled = (style: Style, text: string) => string;

/** A server with its report, or the reason why there is none. */
export type Told = { readonly server: string } & ({ readonly report: ServerReport } | { readonly failure: string });

const LABEL_WIDTH = 14;
const PARTS = ["p50", "p90", "p99"] as const;

/** The server that serves in full; of the others a line each. */
export function metricLines(all: readonly Told[], style: Styled): readonly string[] {
  return all.flatMap((told) => {
    const name = style("bold", terminalText(told.server));
    if ("failure" in told) return [`${name}  ${style("red", "not reached")}: ${terminalText(told.failure)}`];
    const { report } = told;
    const up = `up for ${spanText(report.upSeconds * 1_000)}`;
    if (!report.serves) return [`${name}  does not serve, ${up}; ${processOf(report, style)}`];
    return [`${name}  serves, epoch ${report.epoch}, ${up}`, ...rowsOf(report, style)];
  });
}

function rowsOf(report: ServerReport, style: Styled): readonly string[] {
  const { requests, storage, intents, executions, workers, tasks, workflows, leases, alarms } = report;
  const bad = (isBad: boolean, text: string): string => (isBad ? style("red", text) : text);
  const rows: readonly (readonly [string, readonly string[]])[] = [
    [
      "requests",
      [
        `${perSecond(requests.rate)}/s`,
        `valid ${perSecond(requests.valid)}, executed ${perSecond(requests.executed)}`,
        `refused ${perSecond(requests.refused)}`,
      ],
    ],
    ["", [quantilesText(requests.seconds)]],
    ["followups", [`${perSecond(report.followups)}/s`]],
    [
      "intents",
      [
        `${intents.pending} pending`,
        bad(intents.oldestSeconds > 60, `the oldest for ${secondsText(intents.oldestSeconds)}`),
      ],
    ],
    ["executions", [`${executions.all} under way`, `${executions.waiting} wait`, `${executions.running} run here`]],
    ["workers", [`${workers.busy} of ${workers.all} busy`, `${workers.queued} runs wait`]],
    [
      "storage",
      [
        `${perSecond(storage.rate)}/s`,
        bad(storage.failures > 0, `failed ${perSecond(storage.failures)}`),
        bad(storage.throttles > 0, `throttled ${perSecond(storage.throttles)}`),
      ],
    ],
    ["", [quantilesText(storage.seconds)]],
    [
      "tasks",
      [
        `${tasks.all} kept`,
        `${tasks.ready} ready, the oldest for ${secondsText(tasks.oldestReadySeconds)}`,
        `${tasks.running} running`,
        bad(tasks.dead > 0, `${tasks.dead} dead`),
      ],
    ],
    [
      "workflows",
      [
        `${workflows.running} running`,
        `${workflows.waiting} waiting`,
        bad(workflows.stuck > 0, `${workflows.stuck} stuck`),
      ],
    ],
    [
      "read leases",
      [
        `${leases.units} units in ${leases.sessions} sessions`,
        `granted ${perSecond(leases.granted)}/s`,
        `revoked ${perSecond(leases.revoked)}/s`,
        bad(leases.lapsed > 0, `lapsed ${perSecond(leases.lapsed)}/s`),
      ],
    ],
    ["process", [processOf(report, style)]],
    ...Object.entries(alarms).map(
      ([alarm, times]) => ["alarm", [style("red", `${terminalText(alarm)} ${times} since the start`)]] as const,
    ),
  ];
  return rows.map(([label, texts]) => `  ${style("dim", label.padEnd(LABEL_WIDTH))}${texts.join(", ")}`);
}

function processOf({ memory: { bytes, boundBytes }, eventLoopSeconds }: ServerReport, style: Styled): string {
  const percent = boundBytes === 0 ? 0 : Math.round((100 * bytes) / boundBytes);
  const memory = `${mebibytes(bytes)} of ${mebibytes(boundBytes)} MiB of memory (${percent} %)`;
  const loop = `event loop ${secondsText(eventLoopSeconds)} late (p99)`;
  return `${percent > 85 ? style("red", memory) : memory}, ${eventLoopSeconds > 0.5 ? style("red", loop) : loop}`;
}

function quantilesText(quantiles: Quantiles): string {
  return PARTS.map((part) => `${part} ${quantiles[part] === null ? "–" : secondsText(quantiles[part])}`).join("  ");
}

/** Three digits. */
function perSecond(rate: number): string {
  return rate >= 100 ? Math.round(rate).toLocaleString("en-US") : String(Number(rate.toPrecision(2)));
}

function secondsText(seconds: number): string {
  if (seconds === 0) return "0 s";
  return seconds < 1 ? `${Number((seconds * 1_000).toPrecision(2))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

function mebibytes(bytes: number): string {
  return Math.round(bytes / 1_048_576).toLocaleString("en-US");
}
