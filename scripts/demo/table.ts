/** The result of the demonstration: per handler and location the path taken and the latency, beside the baseline. */
import type { Sample } from "./workload.ts";

export interface Row {
  readonly handler: string;
  readonly location: string;
  readonly speculative: number;
  readonly leased: number;
  readonly nearStorage: number;
  /** Median in ms of all requests at the location, whatever their path. */
  readonly p50: number;
  /** Median in ms of the same requests to the baseline. */
  readonly centralP50: number;
}

/** By handler in the order of first use, then by location in the order given. */
export function rowsOf(samples: readonly Sample[], locations: readonly string[]): readonly Row[] {
  const inOrder = samples.toSorted((a, b) => locations.indexOf(a.location) - locations.indexOf(b.location));
  const groups = Map.groupBy(inOrder, ({ handler, location }) => `${handler} ${location}`);
  return [...groups.values()].map((group) => {
    const [{ handler, location }] = group as [Sample];
    const own = group.filter(({ baseline }) => !baseline);
    const central = group.filter(({ baseline }) => baseline);
    return {
      handler,
      location,
      speculative: own.filter(({ path }) => path === "speculative").length,
      leased: own.filter(({ path }) => path === "leased").length,
      nearStorage: own.filter(({ path }) => path === "near-storage").length,
      p50: median(own.map(({ ms }) => ms)),
      centralP50: median(central.map(({ ms }) => ms)),
    };
  });
}

export function renderTable(rows: readonly Row[]): string {
  const handlers = [...new Set(rows.map(({ handler }) => handler))];
  const lines = [
    "                             requests                   p50 in ms",
    "handler    location   leased  speculative  near    Radical  central   gain",
    "─".repeat(75),
  ];
  for (const handler of handlers) {
    for (const [index, row] of rows.filter((candidate) => candidate.handler === handler).entries()) {
      const gain = 1 - row.p50 / row.centralP50;
      lines.push(
        [
          (index === 0 ? handler : "").padEnd(10),
          row.location.padEnd(9),
          String(row.leased).padStart(7),
          String(row.speculative).padStart(12),
          String(row.nearStorage).padStart(5),
          row.p50.toFixed(1).padStart(10),
          row.centralP50.toFixed(1).padStart(8),
          `${(100 * gain).toFixed(0)} %`.padStart(6),
        ].join(" "),
      );
    }
  }
  return lines.join("\n");
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? upper;
  return (lower + upper) / 2;
}
