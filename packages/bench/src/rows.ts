/** From answers to the rows of a result. */
import { type Answered, executionOf } from "./client.ts";
import type { Sample } from "./deployment.ts";
import type { Random } from "@radical/history";
import {
  type DifferenceRow,
  type ImprovementRow,
  type LatencyRow,
  type OperationRow,
  type Phase,
  type PhaseRow,
  PHASES,
  type Selection,
  type Statistics,
  type System,
  SYSTEMS,
  type ValidationRow,
} from "./result.ts";
import { differenceOfMedians, mean, median, rounded, statisticsOf, quantile } from "./statistics.ts";

/** What the server knows of an execution, in milliseconds. */
export type ServerTimes = Readonly<Partial<Record<Phase, number>>>;

/** From its scheduled time until its client had all of the answer. */
export function latencyOf({ scheduledAtMs, answeredAtMs }: Answered): number {
  return answeredAtMs - scheduledAtMs;
}

/** All answers, those of each handler, those of each location, and those of each handler at each location. */
export function* selections(
  answered: readonly Answered[],
  base: Pick<Selection, "run" | "application">,
): Generator<{ readonly selection: Selection; readonly own: readonly Answered[] }> {
  const handlers = [null, ...new Set(answered.map(({ handler }) => handler))];
  const locations = [null, ...new Set(answered.map(({ location }) => location))];
  for (const handler of handlers) {
    const ofHandler = handler === null ? answered : answered.filter((one) => one.handler === handler);
    for (const location of locations) {
      const own = location === null ? ofHandler : ofHandler.filter((one) => one.location === location);
      yield { selection: { ...base, handler, location }, own };
    }
  }
}

export function latencyRows(selection: Selection, own: readonly Answered[]): readonly LatencyRow[] {
  return SYSTEMS.flatMap((system) => {
    const times = timesOf(own, system);
    return times.length === 0 ? [] : [{ ...selection, system, latency: statisticsOf(times) }];
  });
}

export function improvementRows(selection: Selection, own: readonly Answered[]): readonly ImprovementRow[] {
  const [radical, central, ideal, direct] = (["radical", "central", "ideal", "edge-direct"] as const).map((system) =>
    timesOf(own, system),
  ) as [readonly number[], readonly number[], readonly number[], readonly number[]];
  if (radical.length === 0 || central.length === 0 || ideal.length === 0) return [];
  return (["median", "mean"] as const).map((of) => {
    const middle = of === "median" ? median : mean;
    const [radicalMs, centralMs, idealMs] = [middle(radical), middle(central), middle(ideal)];
    const possibleMs = centralMs - idealMs;
    return {
      ...selection,
      of,
      radicalMs: rounded(radicalMs),
      centralMs: rounded(centralMs),
      idealMs: rounded(idealMs),
      edgeDirectMs: direct.length === 0 ? null : rounded(middle(direct)),
      lowerShare: rounded((centralMs - radicalMs) / centralMs),
      possibleShare: possibleMs < 1 ? null : rounded((centralMs - radicalMs) / possibleMs),
    };
  });
}

export function differenceRows(selection: Selection, own: readonly Answered[], draw: Random): readonly DifferenceRow[] {
  const { handler, location } = selection;
  const radical = timesOf(own, "radical");
  const central = timesOf(own, "central");
  if (handler === null || location === null || radical.length === 0 || central.length === 0) return [];
  const { low, high } = differenceOfMedians(radical, central, draw);
  const p99 = (times: readonly number[]): number =>
    quantile(
      times.toSorted((a, b) => a - b),
      0.99,
    );
  return [
    {
      ...selection,
      handler,
      location,
      p50Ms: rounded(median(radical) - median(central)),
      p50LowMs: rounded(low),
      p50HighMs: rounded(high),
      p99Ms: rounded(p99(radical) - p99(central)),
    },
  ];
}

export function validationRow(
  selection: Selection,
  own: readonly Answered[],
  staleTables: Readonly<Record<string, number>>,
): ValidationRow {
  const radical = own.filter(({ system }) => system === "radical");
  const count = (path: string): number => radical.filter(({ headers }) => headers["x-radical-path"] === path).length;
  const reasons: Record<string, number> = {};
  for (const { headers } of radical) {
    const reason = headers["x-radical-reason"] ?? "";
    reasons[reason] = (reasons[reason] ?? 0) + 1;
  }
  const validated = radical.length - (reasons["requested"] ?? 0) - count("leased");
  const isAll = selection.handler === null && selection.location === null;
  return {
    ...selection,
    requests: radical.length,
    speculative: count("speculative"),
    leased: count("leased"),
    nearStorage: count("near-storage"),
    validShare: validated === 0 ? null : rounded(count("speculative") / validated),
    reasons,
    staleTables: isAll ? staleTables : {},
  };
}

export function phaseRows(
  selection: Selection,
  own: readonly Answered[],
  serverTimes: ReadonlyMap<string, ServerTimes>,
  oneWayMs: ReadonlyMap<string, number>,
): readonly PhaseRow[] {
  const radical = own.filter(({ system }) => system === "radical");
  return ([null, "speculative", "leased", "near-storage"] as const).flatMap((path): PhaseRow[] => {
    const those = path === null ? radical : radical.filter(({ headers }) => headers["x-radical-path"] === path);
    if (those.length === 0) return [];
    const phases = those.map((one) =>
      phasesOf(one, serverTimes.get(executionOf(one)), oneWayMs.get(one.location) ?? 0),
    );
    const statistics: Partial<Record<Phase, Statistics>> = {};
    for (const phase of PHASES) {
      const times = phases.flatMap((all) => all[phase] ?? []);
      if (times.length > 0) statistics[phase] = statisticsOf(times);
    }
    return [{ ...selection, path, samples: those.length, phases: statistics }];
  });
}

/** What is known of the requests besides their answers: `samples` and `repairs` by execution. */
export interface Operations {
  readonly samples: ReadonlyMap<string, Sample>;
  readonly repairs: ReadonlyMap<string, number>;
  /** Of a unit, 0 if it is not there. */
  readonly itemBytes: (unit: string) => number;
  /** To the locations, by request. */
  readonly primaryBytes: number;
}

export function operationRows(
  base: Pick<Selection, "run" | "application">,
  answered: readonly Answered[],
  { samples, repairs, itemBytes, primaryBytes }: Operations,
): readonly OperationRow[] {
  const radical = answered.filter(({ system }) => system === "radical");
  const known = radical.flatMap((one) => samples.get(executionOf(one)) ?? []);
  if (known.length === 0) return [];
  const perRequest = (of: (sample: Sample) => number): number => rounded(mean(known.map(of)));
  const written = (sample: Sample): number => sample.ended?.writes.length ?? 0;
  return [
    {
      ...base,
      requests: radical.length,
      unitsRead: perRequest(({ versions }) => versions.length),
      unitsWritten: perRequest(written),
      unitsRepaired: rounded(mean(radical.map((one) => repairs.get(executionOf(one)) ?? 0))),
      writingShare: perRequest((sample) => Number(written(sample) > 0)),
      followups: perRequest(({ path }) => Number(path === "followup")),
      leasedShare: perRequest(({ path }) => Number(path === "leased")),
      storageBytes: perRequest(({ versions }) => versions.reduce((sum, [unit]) => sum + itemBytes(unit), 0)),
      primaryBytes: Math.round(primaryBytes),
      answerBytes: Math.round(mean(radical.map(({ body }) => Buffer.byteLength(body)))),
    },
  ];
}

/** Times of one request to `radical`, as its Worker and the server have told them. */
export function phasesOf(answered: Answered, server: ServerTimes | undefined, oneWayMs: number): ServerTimes {
  const worker = serverTimingOf(answered.headers["server-timing"] ?? "");
  const totalMs = latencyOf(answered);
  const queueMs = answered.sentAtMs - answered.scheduledAtMs;
  const { rw, cache, f, lvi, total = 0 } = worker;
  const isSpeculative = answered.headers["x-radical-path"] === "speculative";
  const serverMs = server?.serverMs;
  const waysMs = lvi === undefined || serverMs === undefined ? undefined : Math.max(0, lvi - serverMs);
  const sendMs = waysMs === undefined ? undefined : Math.min(oneWayMs, waysMs);
  return without({
    queueMs,
    frontMs: totalMs - queueMs - total,
    rwMs: rw,
    cacheMs: cache,
    fMs: f,
    lviMs: lvi,
    sendMs,
    receiveMs: waysMs === undefined || sendMs === undefined ? undefined : waysMs - sendMs,
    waitMs: isSpeculative && lvi !== undefined && f !== undefined ? Math.max(0, lvi - f) : undefined,
    totalMs,
    ...server,
  });
}

function serverTimingOf(header: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    header.split(", ").flatMap((entry) => {
      const [, name, ms] = /^([a-z]+);dur=([0-9.]+)/.exec(entry) ?? [];
      return name === undefined ? [] : [[name, Number(ms)]];
    }),
  );
}

function timesOf(own: readonly Answered[], system: System): readonly number[] {
  return own.filter((one) => one.system === system).map(latencyOf);
}

function without(times: Readonly<Record<string, number | undefined>>): ServerTimes {
  return Object.fromEntries(Object.entries(times).filter(([, ms]) => ms !== undefined)) as ServerTimes;
}
