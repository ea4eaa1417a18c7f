/** One application under measurement: built, deployed in all systems, loaded run by run, checked in the end. */
import { setTimeout as sleep } from "node:timers/promises";
import type { UnitId } from "@radical/protocol";
import { compileModule, type HandlerModule } from "@radical/wasm-host";
import {
  type AppBuild,
  buildApp,
  framesOf,
  startCompiler,
  type Location,
  type Project,
  seedItems,
  type Benchmark,
  type Call,
  loadBenchmark,
} from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import { type Checked, checkDeployment, hasOutcome, historiesOf, type Histories } from "./check.ts";
import { type Answered, Client, executionOf } from "./client.ts";
import { Deployment, type DeploymentOptions, type Sample } from "./deployment.ts";
import { type Items, prepared } from "./model.ts";
import { Random } from "@radical/history";
import type { CheckRow, MeasuredLocation, System, SystemLoad } from "./result.ts";
import { measureRuns, type RunTimes } from "./run-times.ts";
import { type Load, type Planned, schedule } from "./schedule.ts";
import { statisticsOf } from "./statistics.ts";

export interface BuiltApp {
  readonly app: AppBuild;
  readonly module: HandlerModule;
  readonly benchmark: Benchmark;
}

export interface MeasurementOptions extends Pick<DeploymentOptions, "systems" | "storage" | "standby" | "onServerLog"> {
  /** Default: the application's. */
  readonly readLeaseMs?: number;
  readonly locations: readonly Location[];
  readonly seed: number;
  readonly zipf: number;
  readonly signal: AbortSignal;
}

export interface RunOptions {
  readonly name: string;
  readonly loads: readonly Load[];
  /** Of each system at each location, ahead of the others. */
  readonly warmUpRequests: number;
  readonly leastMs: Readonly<Record<string, number>>;
  readonly onProgress?: (answered: number, all: number) => void;
  /** Default: that of the measurement. */
  readonly zipf?: number;
  /** Default: the application's. */
  readonly benchmark?: Benchmark;
}

export interface RunOutcome {
  /** After the warm-up. */
  readonly answered: readonly Answered[];
  readonly systems: readonly SystemLoad[];
  readonly tookMs: number;
  /** That the primary sent to the locations, by request to `radical`. */
  readonly primaryBytes: number;
}

/** Requests of a warm-up that are under way at once at one location. */
const WARM_UP_WIDTH = 6;
/** Requests of the mix that each system gets before everything else, so that nobody compiles in the first measured ones. */
const FIRST_REQUESTS = 6;
/** Between the warm-up and the first request. */
const PAUSE_MS = 300;
/** In a run in which more than this share of the requests fails something is wrong. */
const MOST_FAILED = 0.01;
const DELAY_REQUESTS = 20;
const POLL_MS = 20;
const MOST_POLLS = 100;

/** Throws a CommandError if the application has errors. */
export async function buildForBenchmark(project: Project): Promise<BuiltApp> {
  const compiler = await startCompiler({ colours: false });
  try {
    const { app, report } = await buildApp(project, compiler, { bundle: false, hidesSecrets: false });
    if (app === null)
      throw new CommandError("build_failed", framesOf(report, "error").join("\n\n"), "Correct the handlers.");
    const benchmark = await loadBenchmark(project.root, Object.keys(app.manifest.handlers));
    return { app, module: compileModule(app.content), benchmark };
  } finally {
    await compiler.close();
  }
}

export class Measurement {
  readonly #built: BuiltApp;
  readonly #options: MeasurementOptions;
  readonly #items: Items;
  readonly #preparedAtMs = Date.now();
  readonly #deployment: Deployment;
  readonly #client = new Client();
  readonly #answered: Answered[] = [];

  private constructor(built: BuiltApp, options: MeasurementOptions, items: Items, deployment: Deployment) {
    this.#built = built;
    this.#options = options;
    this.#items = items;
    this.#deployment = deployment;
  }

  static async start(project: Project, built: BuiltApp, options: MeasurementOptions): Promise<Measurement> {
    const { app, module, benchmark } = built;
    const seed = benchmark.prepare === undefined ? await seedItems(project.root, app.manifest) : [];
    const draw = new Random(options.seed, options.zipf).fork("prepare");
    const items = prepared(app, module, benchmark, seed, draw);
    const { locations, systems, storage, standby, readLeaseMs = project.config.readLeaseMs, onServerLog } = options;
    const log = onServerLog === undefined ? {} : { onServerLog };
    const deployment = await Deployment.start({
      app,
      items,
      locations,
      systems,
      storage,
      standby,
      readLeaseMs,
      ...log,
    });
    return new Measurement(built, options, items, deployment);
  }

  get deployment(): Deployment {
    return this.#deployment;
  }

  /** What the LVI server has told of executions so far, by their ids. */
  get samples(): ReadonlyMap<string, Sample> {
    return new Map(this.#deployment.samples.map((sample) => [sample.execution, sample]));
  }

  /** Of an item as it was at the beginning, 0 if it was not there. */
  itemBytes(unit: string): number {
    return this.#items.get(unit as UnitId)?.length ?? 0;
  }

  /** What f and f^rw take here, on the data of the beginning and at its time. */
  runTimes(): ReadonlyMap<string, RunTimes> {
    const { app, module, benchmark } = this.#built;
    return measureRuns(app, module, benchmark, { items: this.#items, timeMs: this.#preparedAtMs }, this.#draw("runs"));
  }

  /** What the delay proxies take, by bare requests. */
  async measureDelays(): Promise<readonly MeasuredLocation[]> {
    const measured: MeasuredLocation[] = [];
    for (const { name, roundTripMs } of this.#options.locations) {
      const times: number[] = [];
      for (let request = -3; request < DELAY_REQUESTS; request++) {
        const { sentAtMs, answeredAtMs } = await this.#client.post(this.#deployment.linkOf(name), "");
        if (request >= 0) times.push(answeredAtMs - sentAtMs);
      }
      measured.push({ name, roundTripMs, measured: statisticsOf(times) });
    }
    return measured;
  }

  /** As if the locations had served for long: what they will be asked for is there. */
  async warmUp(onProgress?: (answered: number, all: number) => void): Promise<void> {
    const { benchmark } = this.#built;
    const { locations, systems, signal } = this.#options;
    const draw = this.#draw("warm-up");
    const wanted = benchmark.warmUp === undefined ? [] : [...benchmark.warmUp(draw)];
    // At the second reads each location has a session, so it is given read leases.
    const { handlers } = this.#built.app.manifest;
    const calls = [...wanted, ...wanted.filter(({ handler }) => handlers[handler]?.readOnly === true)];
    const first = systems.map((system): Load => ({ system, arrivalsPerSecond: 1, requests: FIRST_REQUESTS }));
    const names = locations.map(({ name }) => name);
    const planned = schedule(benchmark, names, first, draw);
    let done = 0;
    const all = calls.length * (systems.includes("radical") ? names.length : 0) + planned.length;
    const ask = async (system: System, location: string, queue: Iterator<Call>): Promise<void> => {
      for (let next = queue.next(); next.done !== true && !signal.aborted; next = queue.next()) {
        const one: Planned = { ...next.value, system, location, place: -1, atMs: 0 };
        this.#answered.push(await this.#client.ask(this.#deployment.urlOf(location, system), one));
        onProgress?.(++done, all);
      }
    };
    await Promise.all(
      names.flatMap((location) =>
        systems.flatMap((system) => {
          const mix = planned.filter((one) => one.location === location && one.system === system);
          const queue = (system === "radical" ? [...calls, ...mix] : mix)[Symbol.iterator]();
          return Array.from({ length: WARM_UP_WIDTH }, () => ask(system, location, queue));
        }),
      ),
    );
    await this.#deployment.takeLeased();
  }

  /** One request to Radical, by itself. */
  async ask(location: string, call: Call): Promise<Answered> {
    const planned: Planned = { ...call, system: "radical", location, place: -1, atMs: 0 };
    const answered = await this.#client.ask(this.#deployment.urlOf(location, "radical"), planned);
    this.#answered.push(answered);
    return answered;
  }

  async run({ name, loads, warmUpRequests, leastMs, onProgress, zipf, benchmark }: RunOptions): Promise<RunOutcome> {
    const { locations, signal } = this.#options;
    const names = locations.map(({ name: location }) => location);
    const withWarmUp = loads.map((load) => ({ ...load, requests: load.requests + warmUpRequests }));
    const planned = schedule(benchmark ?? this.#built.benchmark, names, withWarmUp, this.#draw(name, zipf));
    await this.#deployment.setPace(leastMs);
    await sleep(PAUSE_MS);
    const bytesBefore = this.#deployment.bytesFromPrimary();
    const beganAtMs = performance.now();
    const answered: Answered[] = [];
    await this.#client.send(
      planned,
      ({ location, system }) => this.#deployment.urlOf(location, system),
      signal,
      (one) => {
        answered.push(one);
        onProgress?.(answered.length, planned.length);
      },
    );
    await this.#deployment.setPace({});
    await this.#deployment.takeLeased();
    this.#answered.push(...answered);
    const measured = answered.filter(({ place }) => place >= warmUpRequests);
    return {
      answered: measured.filter(hasOutcome),
      systems: loads.map((load) => this.#loadOf(load, answered, measured)),
      tookMs: performance.now() - beganAtMs,
      primaryBytes:
        (this.#deployment.bytesFromPrimary() - bytesBefore) /
        Math.max(1, answered.filter(({ system }) => system === "radical").length),
    };
  }

  /** Of everything since the start. */
  async check(run: number): Promise<readonly CheckRow[]> {
    return checkDeployment(this.#deployment, await this.#checked(run));
  }

  /** What is checked. */
  async histories(): Promise<Histories & Pick<Checked, "module" | "initial">> {
    const checked = await this.#checked(0);
    return { ...historiesOf(this.#deployment, checked), module: checked.module, initial: checked.initial };
  }

  async #checked(run: number): Promise<Checked> {
    await this.#deployment.settled();
    await this.#deployment.takeLeased();
    // What the server tells of the last ones may still be on its way.
    for (let poll = 0; poll < MOST_POLLS && !this.#isAllTold(); poll++) await sleep(POLL_MS);
    const { app, module } = this.#built;
    return { app, module, initial: this.#items, answered: this.#answered, run };
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.#deployment.stop();
  }

  #isAllTold(): boolean {
    const told = this.samples;
    return this.#answered.every((one) => one.system !== "radical" || !hasOutcome(one) || told.has(executionOf(one)));
  }

  #draw(name: string, zipf: number = this.#options.zipf): Random {
    return new Random(this.#options.seed, zipf).fork(name);
  }

  #loadOf({ system, arrivalsPerSecond }: Load, all: readonly Answered[], measured: readonly Answered[]): SystemLoad {
    const own = measured.filter((one) => one.system === system);
    const failed = own.filter((one) => !hasOutcome(one));
    if (failed.length > own.length * MOST_FAILED) {
      const [{ status, body }] = failed as [Answered];
      throw new CommandError(
        "benchmark_failed",
        `${failed.length} of ${own.length} requests to ${system} failed: ${status} ${body.slice(0, 300)}`,
        "See the messages above.",
      );
    }
    return {
      system,
      arrivalsPerSecond,
      requests: own.length,
      warmUpRequests: all.filter((one) => one.system === system).length - own.length,
      aborted: own.filter((one) => hasOutcome(one) && one.status !== 200).length,
      failed: failed.length,
    };
  }
}
