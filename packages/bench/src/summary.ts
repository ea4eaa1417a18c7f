/** What a result says, for people: a table of each run. */
import { type BenchmarkResult, SYSTEMS, type ValidationRow, type WorkloadRun } from "./result.ts";

export function summaryOf(result: BenchmarkResult): string {
  return [...result.runs.map((run) => summaryOfRun(result, run)), checksOf(result)].join("\n\n");
}

function summaryOfRun(
  result: BenchmarkResult,
  { run, application, profile, parameters, systems }: WorkloadRun,
): string {
  const latencies = result.latencies.filter((row) => row.run === run);
  const measured = SYSTEMS.filter((system) => systems.some((load) => load.system === system));
  const cell = (handler: string | null, location: string | null, system: string): string => {
    const found = latencies.find(
      (row) => row.handler === handler && row.location === location && row.system === system,
    )?.latency;
    return found === undefined ? "" : `${shown(found.p50Ms)} ${shown(found.p99Ms)}`;
  };
  const handlers = [...new Set(latencies.map(({ handler }) => handler))];
  const places = [null, ...result.locations.map(({ name }) => name)];
  const lines = handlers.flatMap((handler) =>
    (handler === null ? places : [null]).map((location) => [
      handler ?? (location === null ? "everything" : `at ${location}`),
      ...measured.map((system) => cell(handler, location, system)),
    ]),
  );
  const title = [application, profile, ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`)];
  const notes = [
    ...result.improvements
      .filter((row) => row.run === run && row.handler === null && row.location === null && row.possibleShare !== null)
      .map((row) => `${percent(row.possibleShare!)} of the possible improvement over central (${row.of})`),
    ...result.validations
      .filter((row) => row.run === run && row.handler === null && row.location === null && row.validShare !== null)
      .map((row) => `${percent(row.validShare!)} of the validations succeeded`),
    ...leasedNote(result.validations.filter((row) => row.run === run && row.handler === null)),
  ];
  return [`${title.join(", ")}: p50 and p99 in ms`, table([["", ...measured], ...lines]), ...notes].join("\n");
}

/** `rows`: of all handlers, everywhere and at each location. */
function leasedNote(rows: readonly ValidationRow[]): readonly string[] {
  const share = ({ leased = 0, requests }: ValidationRow): string => percent(requests === 0 ? 0 : leased / requests);
  const all = rows.find(({ location }) => location === null);
  if (all === undefined) return [];
  const places = rows.flatMap((row) => (row.location === null ? [] : [`${row.location} ${share(row)}`]));
  return [`${share(all)} of the requests answered by read leases, without the primary: ${places.join(", ")}`];
}

function checksOf({ checks }: BenchmarkResult): string {
  return checks
    .map(({ system, kind, passed, executions }) => `${passed ? "✓" : "✗"} ${system}: ${kind}, ${executions} executions`)
    .join("\n");
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

function shown(ms: number | null): string {
  return ms === null ? "–" : ms.toFixed(1);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
