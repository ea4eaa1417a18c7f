/** When which request is sent: an open system, in which clients come whether or not those before them were served. */
import type { Benchmark, BenchmarkRequest, Call } from "@radical/app";
import type { Random } from "@radical/history";
import type { System } from "./result.ts";

export interface Load {
  readonly system: System;
  /** At each location, in the mean. */
  readonly arrivalsPerSecond: number;
  /** At each location. */
  readonly requests: number;
}

export interface Planned extends Call {
  readonly system: System;
  readonly location: string;
  /** Of the requests of its system at its location, from 0. */
  readonly place: number;
  /** From the beginning of the run. */
  readonly atMs: number;
}

/**
 * Arrivals at each location and system are a Poisson process of their own, so that those of all systems lie between each
 * other: of such a process, with so many arrivals in so much time, each is anywhere in it. What is asked for at a location is
 * the same in all systems.
 */
export function schedule(
  benchmark: Benchmark,
  locations: readonly string[],
  loads: readonly Load[],
  draw: Random,
): readonly Planned[] {
  const planned = locations.flatMap((location) => {
    const calls = callsOf(benchmark, Math.max(...loads.map(({ requests }) => requests)), draw.fork(location));
    return loads.flatMap(({ system, arrivalsPerSecond, requests }) => {
      const arrivals = draw.fork(`${location} ${system}`);
      const durationMs = (requests * 1_000) / arrivalsPerSecond;
      const times = Array.from({ length: requests }, () => arrivals.unit() * durationMs).toSorted((a, b) => a - b);
      return calls
        .slice(0, requests)
        .map((call, place): Planned => ({ ...call, system, location, place, atMs: times[place]! }));
    });
  });
  return planned.toSorted((a, b) => a.atMs - b.atMs);
}

/** A call of this request. */
export function drawnCall({ handler, caller, args }: BenchmarkRequest, draw: Random): Call {
  const drawn = caller?.(draw);
  return { handler, args: args?.(draw, drawn ?? "") ?? {}, ...(drawn === undefined ? {} : { caller: drawn }) };
}

function callsOf({ requests }: Benchmark, count: number, draw: Random): readonly Call[] {
  const shares = requests.map(({ share }) => share);
  return Array.from({ length: count }, () => drawnCall(requests[draw.weighted(shares)]!, draw));
}
