/** The parts of pages that are made from the results: of the front pages, of `docs/evaluation.md`, and of its tables in `docs/internals/measurements`. */
import {
  type BenchmarkResult,
  type DifferenceRow,
  type Experiment,
  EXPERIMENTS,
  type ImprovementRow,
  type Phase,
  PHASES,
  type Statistics,
  SYSTEMS,
  type WorkloadRun,
} from "../../packages/bench/src/result.ts";
import { type ApplicationCost, ASSUMED_WORDS, costOf } from "./cost-of-results.ts";
import { dollars, table } from "./markdown-table.ts";
import { chartsOf, PICTURES, varied, words } from "./pictures.ts";
import {
  atLocation,
  handlerRuns,
  labelOf,
  latencyOf,
  parameterOf,
  readResults,
  type Results,
  RESULTS_FOLDER,
  rowOf,
  workloadRuns,
} from "./results.ts";
import { percent, verdictsOf } from "./verdict.ts";
import { waitOf } from "./wait-picture.ts";

/** As a page has them: `verdict`, `picture figure-4`, or `picture figure-4 <folder of the pictures>`. */
export function evaluationPart(argument: string): string {
  return partOf(argument, readResults(RESULTS_FOLDER));
}

export function partOf(argument: string, results: Results): string {
  const [name = "", picture = "", folder = "../benchmarks/results"] = argument.split(" ");
  if (name === "picture") return pictureOf(picture, folder, results);
  const across = ACROSS[name];
  if (across !== undefined) return across(results);
  const one = OF_ONE[name];
  if (one === undefined) throw new Error(`the evaluation has no part "${argument}"`);
  const [experiment, write] = one;
  const result = results[experiment];
  return result === undefined ? missing(experiment) : write(result);
}

const ACROSS: Readonly<Record<string, (results: Results) => string>> = {
  verdict: verdictTable,
  "wait-caption": waitCaption,
  runs: runsTable,
  cost: costTable,
  "cost-rates": costRates,
  operations: operationsTable,
};

const OF_ONE: Readonly<Record<string, readonly [Experiment, (result: BenchmarkResult) => string]>> = {
  "line-paper": ["end-to-end-paper", paperLine],
  "line-native": ["end-to-end-native", nativeLine],
  "round-trips": ["end-to-end-paper", roundTrips],
  handlers: ["end-to-end-paper", handlersTable],
  improvement: ["end-to-end-paper", improvementTable],
  "improvement-by-location": ["end-to-end-paper", improvementByLocation],
  "improvement-native": ["end-to-end-native", improvementTable],
  differences: ["end-to-end-paper", differencesTable],
  "differences-native": ["end-to-end-native", differencesTable],
  "near-primary": ["near-primary", differencesTable],
  validation: ["end-to-end-paper", validationTable],
  "validation-causes": ["validation", validationTable],
  phases: ["end-to-end-paper", phasesTable],
  "execution-time": ["execution-time", executionTimeTable],
  skew: ["skew", skewTable],
  contention: ["contention", contentionTable],
  "cold-start": ["cold-start", coldStartTable],
  replication: ["replication", replicationTable],
};

// ── What came out ────────────────────────────────────────────────────────────────────────────────────────────────────

function verdictTable(results: Results): string {
  const verdicts = verdictsOf(results);
  if (verdicts.length === 0) return missing("end-to-end-paper");
  const short = Object.values(results).some(({ quick, interrupted }) => quick || interrupted);
  const rows = verdicts.map(({ what, wanted, found, where, met }) => [
    what,
    wanted,
    found,
    where,
    met === null ? "**not measured**" : met ? "met" : "**not met**",
  ]);
  return [
    ...(short ? ["**From a run that is too short for conclusions.**", ""] : []),
    table(["", "wanted", "found", "where", ""], rows),
  ].join("\n");
}

const NUMBERS = ["no", "one", "two", "three", "four", "five"];

/** For front pages: the gain of the applications at the paper's run times, from the least to the most. */
function paperLine(result: BenchmarkResult): string {
  const lower = rowsOf(result, "median").map(({ lowerShare }) => lowerShare);
  if (lower.length === 0) return missing("end-to-end-paper");
  const applications = `${NUMBERS[lower.length] ?? lower.length} applications`;
  return (
    `**With the paper's run times and distances, median latency is ${span(lower, 0)} lower** than next to the data, over ${applications}. ` +
    "The distances are simulated on one machine."
  );
}

/** The same at the handlers' own speed, with the price. */
function nativeLine(result: BenchmarkResult): string {
  const median = rowsOf(result, "median").map(({ lowerShare }) => lowerShare);
  const mean = rowsOf(result, "mean").map(({ lowerShare }) => lowerShare);
  if (median.length === 0) return missing("end-to-end-native");
  const worst = Math.max(0, ...differencesOf(result).map(({ p50Ms }) => p50Ms));
  return (
    `**At their own speed handlers take a few milliseconds.** Read leases then answer most reads at the location: the median of all calls is ` +
    `${span(median, 0)} lower, and the mean ${span(mean, 0)}. A write of items without a lease saves its run time: 1 ms for 1 ms. ` +
    `A write of leased items pays for the reads: at worst its median is ${Math.round(worst)} ms higher.`
  );
}

function rowsOf(result: BenchmarkResult, of: ImprovementRow["of"]): readonly ImprovementRow[] {
  const rows = result.improvements.filter((row) => row.of === of);
  return workloadRuns(result).flatMap((run) => rowOf(rows, run, null, null) ?? []);
}

function span(shares: readonly number[], digits: number): string {
  const [least, most] = [Math.min(...shares), Math.max(...shares)].map((share) => (share * 100).toFixed(digits));
  return least === most ? `${least} %` : `${least} to ${most} %`;
}

function runsTable(results: Results): string {
  const rows = EXPERIMENTS.flatMap((name) => {
    const result = results[name];
    if (result === undefined) return [];
    const { machine, runs, checks } = result;
    const requests = runs.flatMap(({ systems }) => systems).reduce((sum, each) => sum + each.requests, 0);
    const failed = runs.flatMap(({ systems }) => systems).reduce((sum, each) => sum + each.failed, 0);
    const flags = [...(result.quick ? ["quick"] : []), ...(result.interrupted ? ["interrupted"] : [])];
    return [
      [
        `${name}${flags.length === 0 ? "" : ` (${flags.join(", ")})`}`,
        `\`${result.command}\``,
        result.begunAt.slice(0, 16).replace("T", " "),
        `${Math.round(result.tookMs / 60_000)} min`,
        requests.toLocaleString("en"),
        String(failed),
        `${checks.filter(({ passed }) => passed).length} of ${checks.length}`,
        machine.loadBefore.toFixed(1),
        machine.busyShare === null ? "" : percent(machine.busyShare, 0),
      ],
    ];
  });
  if (rows.length === 0) return missing("end-to-end-paper");
  const machines = new Set(
    Object.values(results).map(
      ({ machine }) =>
        `${machine.cores} × ${machine.cpu}, ${(machine.memoryMb / 1024).toFixed(0)} GB, ${machine.os}, Node ${machine.node}`,
    ),
  );
  return [
    table(
      ["", "command", "begun, UTC", "took", "requests", "failed", "checks passed", "load before", "processor busy"],
      rows,
    ),
    "",
    `On ${[...machines].join("; ")}.`,
  ].join("\n");
}

function roundTrips({ locations }: BenchmarkResult): string {
  return table(
    ["", ...locations.map(({ name }) => name)],
    [
      ["the paper's Table 2, told to the delay proxy, ms", ...locations.map(({ roundTripMs }) => String(roundTripMs))],
      ["measured through it, p50, ms", ...locations.map(({ measured }) => ms(measured.p50Ms))],
    ],
  );
}

// ── The paper's tables and figures ───────────────────────────────────────────────────────────────────────────────────

/** Table 1, with ours beside. */
function handlersTable(result: BenchmarkResult): string {
  const rows = result.runs.flatMap((run) =>
    result.executionTimes
      .filter((row) => row.run === run.run)
      .map((row) => {
        const { f, rw } = row;
        return [
          labelOf(run, result),
          `\`${row.handler}\``,
          row.writes ? "yes" : "no",
          row.plan + (row.dependent ? " \\*" : ""),
          row.paperMs === null ? "" : String(row.paperMs),
          ms(f.p50Ms),
          row.paperShare === null ? "" : percent(row.paperShare),
          percent(row.share),
          ms(rw.p50Ms, 3),
          rw.p50Ms === null || f.p50Ms === null ? "" : percent(rw.p50Ms / f.p50Ms, 2),
        ];
      }),
  );
  const head = [
    "",
    "handler",
    "writes",
    "set",
    "*f*, paper, ms",
    "*f*, ms",
    "share, paper",
    "share",
    "*f^rw*, ms",
    "of *f*",
  ];
  return table(head, rows);
}

/** The paper's shares for its applications: hotel, social media, forum. */
const PAPER_POSSIBLE: Readonly<Record<string, number>> = { hotel: 0.89, social: 0.88, forum: 0.84 };

function improvementTable(result: BenchmarkResult): string {
  const native = result.experiment === "end-to-end-native";
  const rows = workloadRuns(result).flatMap((run) => {
    const of = (kind: ImprovementRow["of"]): ImprovementRow | undefined =>
      rowOf(
        result.improvements.filter((row) => row.of === kind),
        run,
        null,
        null,
      );
    const median = of("median");
    if (median === undefined) return [];
    const paper = native ? undefined : PAPER_POSSIBLE[run.application];
    return [
      [
        labelOf(run, result),
        ms(median.centralMs),
        ms(median.radicalMs),
        ms(median.idealMs),
        median.edgeDirectMs === null ? "" : ms(median.edgeDirectMs),
        percent(median.lowerShare),
        possible(median),
        paper === undefined ? "" : percent(paper, 0),
        possible(of("mean")),
      ],
    ];
  });
  return table(
    [
      "",
      "central, ms",
      "radical, ms",
      "ideal, ms",
      "edge-direct, ms",
      native ? "lower" : "lower (the paper: 28 to 35 %)",
      "of the possible",
      "the paper",
      "of the possible, means",
    ],
    rows,
  );
}

function possible(row: ImprovementRow | undefined): string {
  const share = row?.possibleShare ?? null;
  return share === null ? "—" : percent(share);
}

function improvementByLocation(result: BenchmarkResult): string {
  const names = result.locations.map(({ name }) => name);
  const rows = workloadRuns(result).map((run) => [
    labelOf(run, result),
    ...names.map((location) => {
      const row = rowOf(medians(result), run, null, location);
      return row === undefined ? "" : `${possible(row)} (${ms(row.radicalMs)} for ${ms(row.centralMs)} ms)`;
    }),
  ]);
  return table(["of the possible", ...names], rows);
}

function medians(result: BenchmarkResult): readonly ImprovementRow[] {
  return result.improvements.filter(({ of }) => of === "median");
}

const WORST = 10;

function differencesOf(result: BenchmarkResult): readonly DifferenceRow[] {
  const runs = new Set(handlerRuns(result).map(({ run }) => run));
  return result.differences.filter(({ run }) => runs.has(run));
}

function differencesTable(result: BenchmarkResult): string {
  const differences = differencesOf(result);
  const worst = differences.toSorted((a, b) => b.p50Ms - a.p50Ms).slice(0, WORST);
  const rows = worst.map((row) => {
    const run = result.runs.find((each) => each.run === row.run);
    return [
      run === undefined ? row.application : labelOf(run, result),
      `\`${row.handler}\``,
      row.location,
      signed(row.p50Ms),
      `${signed(row.p50LowMs)} to ${signed(row.p50HighMs)}`,
      signed(row.p99Ms),
    ];
  });
  const over = differences.filter(({ p50Ms }) => p50Ms > 2).length;
  const surely = differences.filter(({ p50LowMs }) => p50LowMs > 2).length;
  return [
    table(["", "handler", "location", "p50, ms", "95 % interval", "p99, ms"], rows),
    "",
    `${over} of ${differences.length} pairs of handler and location are more than 2 ms slower at the median; ${surely} of them with all of their interval.`,
  ].join("\n");
}

// ── Validation ───────────────────────────────────────────────────────────────────────────────────────────────────────

function validationTable(result: BenchmarkResult): string {
  const all = workloadRuns(result).flatMap((run) => {
    const row = rowOf(result.validations, run, null, null);
    return row === undefined ? [] : [{ run, row }];
  });
  const sum = (reasons: Readonly<Record<string, number>>, name: string): number => reasons[name] ?? 0;
  const reasons = [...new Set(all.flatMap(({ row }) => Object.keys(row.reasons)))].toSorted(
    (a, b) => all.reduce((total, { row }) => total + sum(row.reasons, b) - sum(row.reasons, a), 0) || (a < b ? -1 : 1),
  );
  const rows = all.map(({ run, row }) => [
    labelOf(run, result) + parametersOf(run),
    rateOf(run, result).toFixed(1),
    row.requests.toLocaleString("en"),
    row.validShare === null ? "—" : percent(row.validShare, 2),
    percent(atLocation(row), 2),
    ...reasons.map((reason) => percent(sum(row.reasons, reason) / row.requests, 2)),
    Object.entries(row.staleTables)
      .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
      .slice(0, 3)
      .map(([name, count]) => `${name} ${count}`)
      .join(", "),
  ]);
  return table(
    [
      "",
      "requests a second, everywhere",
      "requests",
      "validated",
      "answered at the location",
      ...reasons.map((reason) => `\`${reason}\``),
      "stale items",
    ],
    rows,
  );
}

/** Requests to radical, in the mean. */
function rateOf({ systems }: WorkloadRun, { locations }: BenchmarkResult): number {
  const load = systems.find(({ system }) => system === "radical");
  return (load?.arrivalsPerSecond ?? 0) * locations.length;
}

/** The parameters that tell the runs of an experiment apart, in brackets. */
function parametersOf({ parameters }: WorkloadRun): string {
  const each = Object.entries(parameters).flatMap(([name, value]) =>
    name === "mix" ? [] : [`${words(name)} ${value}`],
  );
  return each.length === 0 ? "" : ` (${each.join(", ")})`;
}

// ── Phases and sensitivity ───────────────────────────────────────────────────────────────────────────────────────────

function phasesTable(result: BenchmarkResult): string {
  const columns = workloadRuns(result).flatMap((run) =>
    (["speculative", "leased", "near-storage"] as const).flatMap((path) => {
      const row = rowOf(
        result.phases.filter((each) => each.path === path),
        run,
        null,
        null,
      );
      return row === undefined || row.samples === 0 ? [] : [{ head: `${labelOf(run, result)}, ${path}`, row }];
    }),
  );
  const cell = (statistics: Statistics | undefined): string =>
    statistics === undefined || statistics.p50Ms === null ? "" : `${ms(statistics.p50Ms, 2)} / ${ms(statistics.p99Ms)}`;
  const shown = PHASES.filter((phase: Phase) => columns.some(({ row }) => cell(row.phases[phase]) !== ""));
  return table(
    ["p50 / p99, ms", ...columns.map(({ head }) => head)],
    [
      ["requests", ...columns.map(({ row }) => row.samples.toLocaleString("en"))],
      ...shown.map((phase) => [
        `\`${phase.replace(/Ms$/, "")}\``,
        ...columns.map(({ row }) => cell(row.phases[phase])),
      ]),
    ],
  );
}

function executionTimeTable(result: BenchmarkResult): string {
  const runs = result.runs.toSorted((a, b) => parameterOf(a, "executionMs") - parameterOf(b, "executionMs"));
  const names = result.locations.map(({ name }) => name);
  const rows = runs.map((run) => [
    `${parameterOf(run, "executionMs")} ms`,
    ...names.map((location) => {
      const of = (system: "radical" | "central"): string =>
        ms(latencyOf(result, run, system, null, location)?.p50Ms ?? null);
      return `${of("radical")} / ${of("central")}`;
    }),
  ]);
  return table(["radical / central, p50, ms", ...names], rows);
}

function skewTable(result: BenchmarkResult): string {
  const rows = result.runs.flatMap((run) => {
    const row = rowOf(result.validations, run, null, null);
    if (row === undefined) return [];
    const median = rowOf(medians(result), run, null, null);
    return [
      [
        run.application,
        run.zipf === null ? "uniform" : String(run.zipf),
        row.validShare === null ? "—" : percent(row.validShare, 2),
        percent(atLocation(row), 2),
        possible(median),
      ],
    ];
  });
  return table(["", "Zipf", "validated", "answered at the location", "of the possible"], rows);
}

function contentionTable(result: BenchmarkResult): string {
  const name = varied(result);
  if (name === null) return "The runs have no parameter that varies.";
  const rows = result.runs
    .toSorted((a, b) => parameterOf(a, name) - parameterOf(b, name))
    .map((run) => {
      const row = rowOf(result.validations, run, null, null);
      return [
        String(parameterOf(run, name)),
        ...SYSTEMS.map((system) => {
          const latency = latencyOf(result, run, system);
          return latency === undefined ? "" : `${ms(latency.p50Ms)} / ${ms(latency.p99Ms)}`;
        }),
        row === undefined ? "" : percent(atLocation(row)),
      ];
    });
  return table([words(name), ...SYSTEMS.map((system) => `${system}, p50 / p99, ms`), "answered at the location"], rows);
}

function coldStartTable(result: BenchmarkResult): string {
  const rows = result.coldStarts
    .filter(({ location, system }) => location === null && system === "radical")
    .map((row) => {
      const run = result.runs.find((each) => each.run === row.run);
      return [
        run === undefined ? row.application : labelOf(run, result),
        `${row.firstRequest} to ${row.lastRequest}`,
        ms(row.latency.p50Ms),
        ms(row.latency.p99Ms),
        row.speculativeShare === null ? "" : percent(row.speculativeShare),
      ];
    });
  return table(["", "requests of a location", "p50, ms", "p99, ms", "answered at the location"], rows);
}

function replicationTable({ replications }: BenchmarkResult): string {
  const rows = replications.map(({ storage, writes, locks, server, lvi, storageOperations, paperAddsMs }) => [
    storage,
    writes ? "writes" : "reads",
    String(locks),
    ms(server.p50Ms, 2),
    ms(server.p99Ms, 2),
    ms(lvi.p50Ms, 2),
    storageOperations.toFixed(2),
    paperAddsMs.toFixed(1),
  ]);
  const head = [
    "storage",
    "",
    "locks",
    "server, p50, ms",
    "p99, ms",
    "LVI request, p50, ms",
    "storage operations",
    "the paper adds, ms",
  ];
  return table(head, rows);
}

// ── Cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOT_COUNTED = "No run has counted the operations yet.";

/** Infrastructure alone, at the paper's load. */
function costTable(results: Results): string {
  const costs = costOf(results);
  if (costs.length === 0) return NOT_COUNTED;
  const rows = costs.flatMap(({ label, paperRate }) =>
    paperRate === null
      ? [[label, "", "", "", "one server would not carry it", ""]]
      : [
          [
            label,
            Math.round(paperRate.requestsPerSecond).toLocaleString("en"),
            paperRate.capacity,
            dollars(paperRate.lambda),
            dollars(paperRate.radical),
            `${(paperRate.radical / paperRate.lambda).toFixed(2)} ×`,
          ],
        ],
  );
  return table(["", "requests a second", "DynamoDB's capacity", "central on Lambda", "radical", ""], rows);
}

/** Everything, handlers included. */
function costRates(results: Results): string {
  const costs = costOf(results);
  if (costs.length === 0) return NOT_COUNTED;
  const rows = costs.flatMap(({ label, rates }) =>
    rates.map(({ requestsPerMonth, radical, worker, lambda, machines }) => [
      label,
      `${(requestsPerMonth / 1e6).toLocaleString("en")} million`,
      radical === null ? "more than one server" : dollars(radical),
      ...[worker, lambda, machines].map((other) =>
        radical === null ? dollars(other) : `${dollars(other)} (${(radical / other).toFixed(2)} ×)`,
      ),
    ]),
  );
  return table(["", "requests a month", "radical", "Worker near storage", "Lambda", "machines"], rows);
}

/** The operations of a request, as they were counted and as they are paid. */
function operationsTable(results: Results): string {
  const costs = costOf(results);
  if (costs.length === 0) return NOT_COUNTED;
  const row = ({ label, radical, central }: ApplicationCost): readonly string[] => [
    label,
    radical.locationCpuMs.toFixed(1),
    radical.primaryCpuMs.toFixed(2),
    radical.cacheCalls.toFixed(2),
    `${radical.cacheRowsRead.toFixed(1)} / ${radical.cacheRowsWritten.toFixed(2)}`,
    `${radical.readUnits.toFixed(2)} / ${radical.writeUnits.toFixed(2)}`,
    Math.round(radical.primaryBytes).toLocaleString("en"),
    central.cpuMs.toFixed(1),
    `${central.readUnits.toFixed(1)} / ${central.writeUnits.toFixed(2)}`,
    Math.round(central.answerBytes).toLocaleString("en"),
  ];
  const operations = table(
    [
      "a request",
      "location, ms of processor",
      "primary, ms",
      "calls of the cache",
      "its rows read / written",
      "DynamoDB units read / written",
      "bytes to the location",
      "central, ms of processor",
      "DynamoDB units read / written",
      "bytes of the answer",
    ],
    costs.map(row),
  );
  return [
    operations,
    "",
    "Assumed, since a run does not count it:",
    "",
    ...ASSUMED_WORDS.map((each) => `* ${each}`),
  ].join("\n");
}

/** Below the picture of the home page. */
function waitCaption(results: Results): string {
  const wait = waitOf(results);
  if (wait === null) return missing("execution-time");
  return (
    `The picture has the medians of ${wait.samples} calls of a handler that runs for ${wait.handlerMs} ms. ` +
    "A handler that runs for 1 ms saves 1 ms."
  );
}

// ── Pictures ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The folder is that of the pictures, from the page. */
function pictureOf(name: string, folder: string, results: Results): string {
  const picture = PICTURES.find((each) => each.name === name);
  if (picture === undefined) throw new Error(`the evaluation has no picture "${name}"`);
  const chart = chartsOf(results).get(name);
  if (chart === undefined) return missing(picture.from);
  // The picture says more; what is in the text of a page needs its short name only.
  return `![${chart.title}; the figures are in the tables](${folder}/${name}.svg)`;
}

function missing(experiment: Experiment): string {
  return `No results of \`${experiment}\` are here yet.`;
}

function ms(value: number | null, digits = 1): string {
  return value === null ? "" : value.toFixed(digits);
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}
