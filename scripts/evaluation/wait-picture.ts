/**
 * The picture of the home page: how long a user waits for one handler, next to the data and with Radical. It is drawn from
 * the results of `execution-time`, once for wide screens and once for phones.
 */
import type { BenchmarkResult, WorkloadRun } from "../../packages/bench/src/result.ts";
import { latencyOf, parameterOf, type Results } from "./results.ts";

/** The location, and about how long the handler runs. A handler that hashes, ranks or renders takes tens of milliseconds. */
const LOCATION = "JP";
const HANDLER_MS = 50;

interface Wait {
  /** Between the location and the primary, as the delay proxy was told. */
  readonly roundTripMs: number;
  readonly handlerMs: number;
  readonly centralMs: number;
  readonly radicalMs: number;
  /** Calls of each system. */
  readonly samples: number;
}

/** The medians that the picture shows, or null without results. */
export function waitOf(results: Results): Wait | null {
  const result = results["execution-time"];
  const [run] = result?.runs.toSorted((a, b) => distanceOf(a) - distanceOf(b)) ?? [];
  const location = result?.locations.find(({ name }) => name === LOCATION);
  if (result === undefined || run === undefined || location === undefined) return null;
  const [central, radical] = [medianOf(result, run, "central"), medianOf(result, run, "radical")];
  if (central === null || radical === null) return null;
  return {
    roundTripMs: location.roundTripMs,
    handlerMs: parameterOf(run, "executionMs"),
    centralMs: central.p50Ms,
    radicalMs: radical.p50Ms,
    samples: Math.min(central.samples, radical.samples),
  };
}

/** From the run time that the picture is to show. */
function distanceOf(run: WorkloadRun): number {
  return Math.abs(parameterOf(run, "executionMs") - HANDLER_MS);
}

function medianOf(
  result: BenchmarkResult,
  run: WorkloadRun,
  system: "central" | "radical",
): { readonly p50Ms: number; readonly samples: number } | null {
  const latency = latencyOf(result, run, system, null, LOCATION);
  return latency === undefined || latency.p50Ms === null ? null : { p50Ms: latency.p50Ms, samples: latency.samples };
}

/** The picture in words, for those who do not see it. */
function waitWords({ roundTripMs, handlerMs, centralMs, radicalMs }: Wait): string {
  return (
    `A handler of ${handlerMs} ms, called from Japan, ${roundTripMs} ms from its data. Next to the data the user waits ` +
    `${Math.round(centralMs)} ms: the way there, the run and the way back. With Radical the run happens during the check, ` +
    `and the user waits ${Math.round(radicalMs)} ms.`
  );
}

const STYLE =
  ".bg{fill:#f4f6f8}.ink{fill:#12161c}.mut{fill:#4a5563}.here{fill:#0a62cc}.there{fill:#b5500a}.way{fill:#f0c196}.inv{fill:#fff}" +
  ".wait{stroke:#0a62cc;stroke-width:2;stroke-dasharray:2 6;fill:none}.end{stroke:#0d7447;stroke-width:2.5}" +
  'text{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:14px}' +
  ".h{font-size:17px;font-weight:700}.v{font-size:26px;font-weight:700}.b{font-weight:600}" +
  "@media (prefers-color-scheme:dark){.bg{fill:#161b22}.ink{fill:#eaedf2}.mut{fill:#a9b3c0}.here{fill:#6eabff}.there{fill:#f2a660}" +
  ".way{fill:#77481d}.inv{fill:#0d1117}.wait{stroke:#6eabff}.end{stroke:#5ed6a1}}";

interface Layout {
  readonly width: number;
  /** The bars begin and end there. */
  readonly from: number;
  readonly until: number;
  /** Of the upper edges of the three bars. */
  readonly rows: readonly [number, number, number];
  readonly height: number;
  readonly labels: "beside" | "above";
}

const LAYOUTS: Readonly<Record<"wide" | "narrow", Layout>> = {
  wide: { width: 960, from: 190, until: 820, rows: [30, 112, 156], height: 214, labels: "beside" },
  narrow: { width: 380, from: 16, until: 364, rows: [62, 170, 212], height: 270, labels: "above" },
};

const BAR = 32;

export function drawWait(wait: Wait, size: "wide" | "narrow"): string {
  const { width, height, from, until, rows, labels } = LAYOUTS[size];
  const scale = (until - from) / wait.centralMs;
  const x = (atMs: number): number => round(from + atMs * scale);
  const bar = (row: number, fromMs: number, untilMs: number, fill: string, words: string, ink: string): string =>
    `<rect class="${fill}" x="${x(fromMs)}" y="${row}" width="${round((untilMs - fromMs) * scale - 3)}" height="${BAR}" rx="5"/>` +
    `<text class="${ink} b" x="${x(fromMs) + 10}" y="${row + 21}">${words}</text>`;
  const label = (row: number, head: string, below: string): string =>
    labels === "beside"
      ? `<text class="ink h" x="24" y="${row + 14}">${head}</text><text class="mut" x="24" y="${row + 33}">${below}</text>`
      : `<text class="ink h" x="${from}" y="${row - 30}">${head}</text><text class="mut" x="${from}" y="${row - 11}">${below}</text>`;
  const value = (row: number, ms: number): string =>
    `<text class="ink v" x="${labels === "beside" ? 936 : until}" y="${labels === "beside" ? row + 25 : row - 13}" text-anchor="end">${Math.round(ms)} ms</text>`;
  const [central, here, there] = rows;
  const way = wait.roundTripMs / 2;
  const run = size === "wide" ? `run, ${wait.handlerMs} ms` : "run";
  const check = size === "wide" ? "check: are its reads still true?" : "check: still true?";
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d">`,
    `<title id="t">How long a user waits</title><desc id="d">${waitWords(wait)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="bg" width="${width}" height="${height}" rx="12"/>`,
    label(central, "Next to the data", "in Virginia"),
    bar(central, 0, way, "way", "way there", "ink"),
    bar(central, way, wait.centralMs - way, "there", run, "inv"),
    bar(central, wait.centralMs - way, wait.centralMs, "way", "way back", "ink"),
    value(central, wait.centralMs),
    label(here, "Radical", labels === "beside" ? "in Japan" : "in Japan, and in Virginia"),
    bar(here, 0, wait.handlerMs, "here", run, "inv"),
    `<path class="wait" d="M${x(wait.handlerMs) + 4} ${here + BAR / 2}H${x(wait.radicalMs) - 6}"/>`,
    value(here, wait.radicalMs),
    ...(labels === "beside" ? [`<text class="mut" x="24" y="${there + 21}">and in Virginia</text>`] : []),
    bar(there, 0, wait.radicalMs, "way", check, "ink"),
    `<path class="end" d="M${x(wait.radicalMs)} ${here - 6}V${there + BAR + 8}"/>`,
    "</svg>",
  ].join("\n")}\n`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
