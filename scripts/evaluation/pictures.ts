/** The pictures of the evaluation, each from the result of one experiment. */
import {
  type BenchmarkResult,
  type Experiment,
  type Phase,
  type PhaseRow,
  type Statistics,
  type System,
  SYSTEMS,
  type WorkloadRun,
} from "../../packages/bench/src/result.ts";
import type { Axis, BarPanel, Chart, LinePanel, Series, StackPanel } from "./chart.ts";
import {
  handlerRuns,
  handlersOf,
  atLocation,
  labelOf,
  latencyOf,
  parameterOf,
  type Results,
  rowOf,
  workloadRuns,
} from "./results.ts";

interface Picture {
  /** Of the file, without its ending. */
  readonly name: string;
  readonly from: Experiment;
  /** Null: the result has nothing to show in it. */
  readonly chart: (result: BenchmarkResult) => Chart | null;
}

const LATENCY: Axis = { label: "latency, ms", scale: "linear" };
const IDEAL = "ideal: local data, inconsistent";

const COLOUR_OF_SYSTEM: Readonly<Record<System, number>> = { radical: 0, central: 1, "edge-direct": 2, ideal: 5 };

export const PICTURES: readonly Picture[] = [
  { name: "figure-1", from: "execution-time", chart: simpleApplication },
  { name: "figure-4", from: "end-to-end-paper", chart: applications },
  { name: "figure-5", from: "end-to-end-paper", chart: locations },
  { name: "figure-6", from: "end-to-end-paper", chart: handlers },
  { name: "native", from: "end-to-end-native", chart: handlers },
  { name: "phases", from: "end-to-end-paper", chart: phases },
  { name: "phases-lvi", from: "end-to-end-paper", chart: lviPhases },
  { name: "execution-time", from: "execution-time", chart: executionTime },
  { name: "skew", from: "skew", chart: skew },
  { name: "cold-start", from: "cold-start", chart: coldStart },
  { name: "contention", from: "contention", chart: contention },
];

/** The pictures that these results have something for, by name. */
export function chartsOf(results: Results): ReadonlyMap<string, Chart> {
  const charts = new Map<string, Chart>();
  for (const { name, from, chart } of PICTURES) {
    const result = results[from];
    const drawn = result === undefined ? null : chart(result);
    if (drawn !== null) charts.set(name, drawn);
  }
  return charts;
}

// ── Latencies ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** As the paper's Figure 1: about 100 ms of computing, by location. */
function simpleApplication(result: BenchmarkResult): Chart | null {
  const distance = (run: WorkloadRun): number => Math.abs(parameterOf(run, "executionMs") - 100);
  const run = result.runs.toSorted((a, b) => distance(a) - distance(b))[0];
  if (run === undefined) return null;
  const panel = systemBars(
    result,
    "",
    result.locations.map(({ name }) => ({ label: name, run, handler: null, location: name })),
    ["radical", "central", "edge-direct"],
  );
  return systemChart(
    `A handler of ${parameterOf(run, "executionMs")} ms at each location`,
    "As the paper's Figure 1.",
    1,
    [panel],
  );
}

/** As Figure 4: each application. */
function applications(result: BenchmarkResult): Chart | null {
  const runs = workloadRuns(result);
  if (runs.length === 0) return null;
  const panel = systemBars(
    result,
    "",
    runs.map((run) => ({ label: labelOf(run, result), run, handler: null, location: null })),
  );
  return systemChart("End-to-end latency by application", "All locations together, as the paper's Figure 4.", 1, [
    panel,
  ]);
}

/** As Figure 5: each application at each location. */
function locations(result: BenchmarkResult): Chart | null {
  const runs = workloadRuns(result);
  if (runs.length === 0) return null;
  const panels = runs.map((run) =>
    systemBars(
      result,
      labelOf(run, result),
      result.locations.map(({ name }) => ({ label: name, run, handler: null, location: name })),
    ),
  );
  return systemChart("End-to-end latency by location", "As the paper's Figure 5.", 2, panels);
}

/** As Figure 6: each handler. */
function handlers(result: BenchmarkResult): Chart | null {
  const runs = handlerRuns(result);
  if (runs.length === 0) return null;
  const native = result.experiment === "end-to-end-native";
  const panels = runs.map((run) =>
    systemBars(
      result,
      labelOf(run, result),
      handlersOf(result, run).map((handler) => ({ label: handler, run, handler, location: null })),
    ),
  );
  return systemChart(
    native ? "End-to-end latency by handler, at their own speed" : "End-to-end latency by handler",
    native ? "Handlers take as long as they take here." : "All locations together, as the paper's Figure 6.",
    1,
    panels,
  );
}

interface Category {
  readonly label: string;
  readonly run: WorkloadRun;
  readonly handler: string | null;
  readonly location: string | null;
}

/**
 * Bars of the systems for each category, `ideal` as the line across them. `edge-direct` is in tables only, but for a
 * handler that reads one item. With tens of round trips it takes so long that the other bars would be too short.
 */
function systemBars(
  result: BenchmarkResult,
  heading: string,
  categories: readonly Category[],
  systems: readonly System[] = ["radical", "central"],
): BarPanel {
  return {
    kind: "bars",
    heading,
    y: LATENCY,
    categories: categories.map(({ label, run, handler, location }) => {
      const of = (system: System): Statistics | undefined => latencyOf(result, run, system, handler, location);
      const bars = systems.flatMap((system) => {
        const { p50Ms, p99Ms, samples } = of(system) ?? NOTHING;
        const whisker = samples < SAMPLES_OF_P99 || p99Ms === null ? {} : { whisker: p99Ms };
        return p50Ms === null ? [] : [{ series: system, value: p50Ms, ...whisker }];
      });
      const ideal = of("ideal")?.p50Ms ?? null;
      return { label, bars, ...(ideal === null ? {} : { mark: ideal }) };
    }),
  };
}

const NOTHING = { p50Ms: null, p99Ms: null, samples: 0 } as const;
/** With fewer, the 99th of a hundred is just the slowest. */
const SAMPLES_OF_P99 = 100;

function systemChart(title: string, about: string, columns: number, all: readonly BarPanel[]): Chart | null {
  // A run that was ended early may have answered nothing.
  const panels = all.filter(({ categories }) => categories.some(({ bars }) => bars.length > 0));
  if (panels.length === 0) return null;
  const shown = new Set(
    panels.flatMap(({ categories }) => categories.flatMap(({ bars }) => bars.map((bar) => bar.series))),
  );
  const described = panels.map(({ heading, categories }) => {
    const each = categories.map(({ label, bars, mark }) => {
      const values = bars.map(({ series, value }) => `${series} ${value.toFixed(1)}`);
      return `${label}: ${[...values, ...(mark === undefined ? [] : [`ideal ${mark.toFixed(1)}`])].join(", ")}`;
    });
    return `${heading === "" ? "" : `${heading}: `}${each.join("; ")}.`;
  });
  return {
    title,
    description: `${about} Median latency in ms. ${described.join(" ")}`,
    legend: SYSTEMS.filter((system) => shown.has(system)).map((system) => ({
      name: system,
      colour: COLOUR_OF_SYSTEM[system],
    })),
    mark: IDEAL,
    ...(panels.some(({ categories }) =>
      categories.some(({ bars }) => bars.some(({ whisker }) => whisker !== undefined)),
    )
      ? { whisker: "p99" }
      : {}),
    columns,
    panels,
  };
}

// ── Sensitivity ──────────────────────────────────────────────────────────────────────────────────────────────────────

function executionTime(result: BenchmarkResult): Chart | null {
  const runs = result.runs.toSorted((a, b) => parameterOf(a, "executionMs") - parameterOf(b, "executionMs"));
  if (runs.length === 0) return null;
  const panels = [null, ...result.locations.map(({ name }) => name)].map((location): LinePanel => {
    const roundTrip = result.locations.find(({ name }) => name === location)?.roundTripMs;
    return {
      kind: "lines",
      heading: location === null ? "all locations" : `${location}, ${roundTrip} ms away`,
      x: { label: "execution time, ms", scale: "logarithmic" },
      y: { ...LATENCY, from: 0 },
      lines: SYSTEMS.flatMap((system) => {
        const points = runs.flatMap((run) => {
          const p50 = latencyOf(result, run, system, null, location)?.p50Ms ?? null;
          return p50 === null ? [] : [[parameterOf(run, "executionMs"), p50] as const];
        });
        return points.length === 0 ? [] : [{ series: system, points, marked: true }];
      }),
    };
  });
  const shown = panels.filter(({ lines }) => lines.length > 0);
  if (shown.length === 0) return null;
  return lineChart("Latency by execution time", "Median end-to-end latency in ms.", systemLegend(shown), 2, shown);
}

function skew(result: BenchmarkResult): Chart | null {
  const names = [...new Set(result.runs.map(({ application }) => application))];
  const lines = names.map((application) => ({
    series: application,
    marked: true,
    points: result.runs
      .filter((run) => run.application === application)
      .toSorted((a, b) => (a.zipf ?? 0) - (b.zipf ?? 0))
      .flatMap((run) => {
        const valid = rowOf(result.validations, run, null, null)?.validShare ?? null;
        return valid === null ? [] : [[run.zipf ?? 0, valid * 100] as const];
      }),
  }));
  const shown = lines.filter(({ points }) => points.length > 0);
  if (shown.length === 0) return null;
  const least = Math.min(...shown.flatMap(({ points }) => points.map(([, valid]) => valid)));
  const panel: LinePanel = {
    kind: "lines",
    heading: "",
    x: { label: "exponent of Zipf's law", scale: "linear" },
    y: { label: "validated, %", scale: "linear", from: Math.min(90, Math.floor(least / 10) * 10), to: 100 },
    lines: shown,
  };
  return lineChart("Validation by skew", "Share of validations that found nothing stale, in %.", named(shown), 1, [
    panel,
  ]);
}

function coldStart(result: BenchmarkResult): Chart | null {
  const rows = result.coldStarts.filter((row) => row.location === null);
  if (rows.length === 0) return null;
  const middle = ({
    firstRequest,
    lastRequest,
  }: {
    readonly firstRequest: number;
    readonly lastRequest: number;
  }): number => (firstRequest + lastRequest) / 2;
  const panels = result.runs.flatMap((run): LinePanel[] => {
    const own = rows.filter((row) => row.run === run.run).toSorted((a, b) => a.firstRequest - b.firstRequest);
    const latencies: LinePanel = {
      kind: "lines",
      heading: `${labelOf(run, result)}: latency`,
      x: { label: "request of a location", scale: "linear", from: 0 },
      y: { ...LATENCY, from: 0 },
      lines: SYSTEMS.flatMap((system) => {
        const points = own.flatMap((row) =>
          row.system === system && row.latency.p50Ms !== null ? [[middle(row), row.latency.p50Ms] as const] : [],
        );
        return points.length === 0 ? [] : [{ series: system, points, marked: true }];
      }),
    };
    const shares = own.flatMap((row) =>
      row.system === "radical" && row.speculativeShare !== null
        ? [[middle(row), row.speculativeShare * 100] as const]
        : [],
    );
    const healing: LinePanel = {
      kind: "lines",
      heading: `${labelOf(run, result)}: answered at the location`,
      x: { label: "request of a location", scale: "linear", from: 0 },
      y: { label: "of requests, %", scale: "linear", from: 0, to: 100 },
      lines: shares.length === 0 ? [] : [{ series: "radical", points: shares, marked: true }],
    };
    return [latencies, healing].filter(({ lines }) => lines.length > 0);
  });
  if (panels.length === 0) return null;
  return lineChart("How cold caches heal", "Medians in ms, and shares in %.", systemLegend(panels), 2, panels);
}

function contention(result: BenchmarkResult): Chart | null {
  const name = varied(result);
  if (name === null) return null;
  const runs = result.runs.toSorted((a, b) => parameterOf(a, name) - parameterOf(b, name));
  const x: Axis = { label: words(name), scale: "logarithmic" };
  const latencies: LinePanel = {
    kind: "lines",
    heading: "latency",
    x,
    y: { ...LATENCY, from: 0 },
    lines: SYSTEMS.flatMap((system) => {
      const points = runs.flatMap((run) => {
        const p50 = latencyOf(result, run, system)?.p50Ms ?? null;
        return p50 === null ? [] : [[parameterOf(run, name), p50] as const];
      });
      return points.length === 0 ? [] : [{ series: system, points, marked: true }];
    }),
  };
  const speculative: LinePanel = {
    kind: "lines",
    heading: "answered at the location",
    x,
    y: { label: "of requests, %", scale: "linear", from: 0, to: 100 },
    lines: [
      {
        series: "radical",
        marked: true,
        points: runs.flatMap((run) => {
          const row = rowOf(result.validations, run, null, null);
          return row === undefined ? [] : [[parameterOf(run, name), atLocation(row) * 100] as const];
        }),
      },
    ],
  };
  const panels = [latencies, speculative].filter(({ lines }) => lines.some(({ points }) => points.length > 0));
  if (panels.length === 0) return null;
  return lineChart(
    "One item that everybody changes",
    "Medians in ms, and shares in %.",
    systemLegend(panels),
    2,
    panels,
  );
}

/** The parameter that has a number in all runs, and not the same in all. */
export function varied({ runs }: BenchmarkResult): string | null {
  const names = Object.keys(runs[0]?.parameters ?? {});
  const numbers = names.filter((name) => runs.every(({ parameters }) => typeof parameters[name] === "number"));
  return numbers.find((name) => new Set(runs.map(({ parameters }) => parameters[name])).size > 1) ?? null;
}

/** `clientsPerSecond` → `clients per second`. */
export function words(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function systemLegend(panels: readonly LinePanel[]): readonly Series[] {
  const shown = new Set(panels.flatMap(({ lines }) => lines.map(({ series }) => series)));
  return SYSTEMS.filter((system) => shown.has(system)).map((name) => ({
    name,
    colour: COLOUR_OF_SYSTEM[name],
    dashed: name === "ideal",
  }));
}

function named(lines: readonly { readonly series: string }[]): readonly Series[] {
  return lines.map(({ series }, colour) => ({ name: series, colour }));
}

function lineChart(
  title: string,
  about: string,
  legend: readonly Series[],
  columns: number,
  panels: readonly LinePanel[],
): Chart {
  const described = panels.map(({ heading, x, lines }) => {
    const each = lines.map(
      ({ series, points }) => `${series}: ${points.map(([at, value]) => `${value.toFixed(1)} at ${at}`).join(", ")}`,
    );
    return `${heading === "" ? "" : `${heading}, `}by ${x.label}: ${each.join("; ")}.`;
  });
  return { title, description: `${about} ${described.join(" ")}`, legend, columns, panels };
}

// ── Phases ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The parts of a request, one after the other. The rest of the total is the Worker's own work. */
const OF_REQUEST: Readonly<Record<Path, readonly Phase[]>> = {
  speculative: ["queueMs", "frontMs", "rwMs", "cacheMs", "fMs", "waitMs"],
  leased: ["queueMs", "frontMs", "rwMs", "cacheMs", "fMs"],
  "near-storage": ["queueMs", "frontMs", "rwMs", "cacheMs", "lviMs"],
};
const OF_LVI: readonly Phase[] = ["sendMs", "lockWaitMs", "validateMs", "intentMs", "nearStorageMs", "receiveMs"];

type Path = NonNullable<PhaseRow["path"]>;

const PHASE_NAMES: Readonly<Partial<Record<Phase, string>>> = {
  queueMs: "queue of the client",
  frontMs: "client and platform",
  rwMs: "f^rw",
  cacheMs: "cache",
  fMs: "f",
  waitMs: "wait for the LVI reply",
  lviMs: "LVI request, with f near storage",
  sendMs: "send",
  lockWaitMs: "wait for locks",
  validateMs: "validate",
  intentMs: "store the intent",
  nearStorageMs: "f near storage",
  receiveMs: "receive",
};
const REST = "rest of the Worker";
const PHASE_COLOURS: readonly Series[] = [
  ...(["fMs", "waitMs", "queueMs", "rwMs", "cacheMs", "lviMs", "frontMs"] as const).map((phase, place): Series => ({
    name: PHASE_NAMES[phase]!,
    colour: [0, 1, 2, 5, 4, 3, 6][place]!,
  })),
  { name: REST, colour: 7 },
];
const LVI_COLOURS: readonly Series[] = OF_LVI.map((phase, place) => ({
  name: PHASE_NAMES[phase]!,
  colour: [1, 5, 4, 3, 0, 7][place]!,
}));
const ANSWERED: Readonly<Record<Path, string>> = {
  speculative: "answered by the location",
  leased: "answered under read leases",
  "near-storage": "answered by the run near storage",
};

function phases(result: BenchmarkResult): Chart | null {
  const panels = PATHS.map((path) =>
    stacks(result, path, ANSWERED[path], (row) => {
      const values = OF_REQUEST[path].map((phase) => partOf(row, phase));
      const rest = meanOf(row, "totalMs") - values.reduce((sum, { value }) => sum + value, 0);
      return [...values, { series: REST, value: Math.max(0, rest) }];
    }),
  );
  return stackChart("Where the time of a request goes", PHASE_COLOURS, panels);
}

function lviPhases(result: BenchmarkResult): Chart | null {
  const panels = ASKING_PATHS.map((path) =>
    stacks(result, path, ANSWERED[path], (row) => OF_LVI.map((phase) => partOf(row, phase))),
  );
  return stackChart("The phases of an LVI request", LVI_COLOURS, panels);
}

/** Those with an LVI request. */
const ASKING_PATHS: readonly Path[] = ["speculative", "near-storage"];
const PATHS: readonly Path[] = ["speculative", "leased", "near-storage"];

type Parts = StackPanel["rows"][number]["parts"];

function stacks(result: BenchmarkResult, path: Path, heading: string, parts: (row: PhaseRow) => Parts): StackPanel {
  const all = result.phases.filter((each) => each.path === path);
  const rows = workloadRuns(result).flatMap((run) => {
    const row = rowOf(all, run, null, null);
    return row === undefined || row.samples === 0 ? [] : [{ label: labelOf(run, result), parts: parts(row) }];
  });
  return { kind: "stacks", heading, x: { label: "mean, ms", scale: "linear", from: 0 }, rows };
}

function stackChart(title: string, colours: readonly Series[], all: readonly StackPanel[]): Chart | null {
  const panels = all.filter(({ rows }) => rows.length > 0);
  if (panels.length === 0) return null;
  const parts = panels.flatMap(({ rows }) => rows.flatMap((row) => row.parts));
  const shown = new Set(parts.filter(({ value }) => value > 0).map(({ series }) => series));
  const described = panels.map(({ heading, rows }) => {
    const each = rows.map(
      (row) => `${row.label}: ${row.parts.map(({ series, value }) => `${series} ${value.toFixed(2)}`).join(", ")}`,
    );
    return `${heading}: ${each.join("; ")}.`;
  });
  return {
    title,
    description: `Means in ms. ${described.join(" ")}`,
    legend: colours.filter(({ name }) => shown.has(name)),
    columns: 1,
    panels,
  };
}

function partOf(row: PhaseRow, phase: Phase): Parts[number] {
  return { series: PHASE_NAMES[phase]!, value: meanOf(row, phase) };
}

/** The mean time of a phase over all requests of the row, those without it included. */
function meanOf({ phases: of, samples: all }: PhaseRow, phase: Phase): number {
  const { meanMs, samples } = of[phase] ?? { meanMs: null, samples: 0 };
  return meanMs === null ? 0 : (meanMs * samples) / all;
}
