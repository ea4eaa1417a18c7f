/** The same application twice: with read leases and without. The two are measured in turns, so that both have the same machine. */
import { fileURLToPath } from "node:url";
import { DEFAULT_READ_LEASE_MS } from "@radical/protocol";
import { type Benchmark, PAPER_LOCATIONS, loadProject, type Project } from "@radical/app";
import { buildForBenchmark, type BuiltApp, Measurement } from "@radical/bench";
import { CommandError } from "@radical/app/command-error";

/** Handlers that read or write as many items as they are told. */
const PROJECT = fileURLToPath(new URL("../fixtures/locks", import.meta.url));
export const READ = "look";
export const WRITE = "stamp";
export const TABLE = "stamps";

export const LOCATIONS: readonly string[] = PAPER_LOCATIONS.map(({ name }) => name);

export interface Effort {
  /** Requests a second of each location. */
  readonly rate: number;
  /** Of each turn. */
  readonly seconds: number;
  readonly turns: number;
  /** Writes of each location to leased items, and as many to others. */
  readonly writes: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export type Side = "leased" | "off";
export const SIDES: readonly Side[] = ["leased", "off"];

export type Both = Readonly<Record<Side, Measurement>>;

export interface Application {
  readonly project: Project;
  readonly built: BuiltApp;
}

export async function buildApplication(): Promise<Application> {
  const project = await loadProject(PROJECT);
  return { project, built: await buildForBenchmark(project) };
}

/** Does this with both deployments, which are gone afterwards. Throws a CommandError if a deployment did not do what the handlers say. */
export async function withBoth<T>(
  { project, built }: Application,
  benchmark: Benchmark,
  { seed, signal, tell }: Effort,
  work: (both: Both) => Promise<T>,
): Promise<T> {
  const start = (readLeaseMs: number): Promise<Measurement> =>
    Measurement.start(
      project,
      { ...built, benchmark },
      {
        locations: PAPER_LOCATIONS,
        systems: ["radical"],
        storage: null,
        standby: false,
        zipf: 0.99,
        readLeaseMs,
        seed,
        signal,
      },
    );
  const leased = await start(DEFAULT_READ_LEASE_MS);
  try {
    const off = await start(0);
    try {
      const both: Both = { leased, off };
      for (const side of SIDES) await both[side].warmUp();
      const result = await work(both);
      for (const side of SIDES) await check(side, both[side], tell);
      return result;
    } finally {
      await off.stop();
    }
  } finally {
    await leased.stop();
  }
}

async function check(side: Side, measurement: Measurement, tell: Effort["tell"]): Promise<void> {
  for (const { kind, passed, executions, problems } of await measurement.check(0)) {
    if (!passed) throw new CommandError("check_failed", `${side}, ${kind}: ${problems.join("; ")}`, "see the problems");
    tell(`${side}: ${kind} of ${executions} executions ✓`);
  }
}
