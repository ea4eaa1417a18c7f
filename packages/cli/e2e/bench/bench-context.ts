/** What the experiments of `pnpm bench` share. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CREDENTIALS, type DynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import {
  type ApplicationRun,
  runApplication,
  type BuiltApp,
  buildForBenchmark,
  type Measurement,
  type RunOutcome,
  type BenchmarkResult,
  type Experiment,
  type Profile,
  type StorageSetup,
  type System,
  ResultBuilder,
  type RunPlan,
  type Load,
  type ServerLog,
} from "@radical/bench";
import { type Location, PAPER_LOCATIONS, loadProject, type Project } from "@radical/app";
import { PAPER_TABLE, paperZipf } from "./paper.ts";

const ROOT = new URL("../../../../", import.meta.url);
/** The application that locks as much as it is told. */
export const LOCKS = "locks";
export const RESULTS = fileURLToPath(new URL("benchmarks/results/", ROOT));

export interface ContextOptions {
  readonly command: string;
  readonly quick: boolean;
  readonly seed: number;
  readonly storage: "sqlite" | "dynamodb";
  /** Times the requests of every run. */
  readonly scale: number;
  /** Folder of the files of figures. */
  readonly results: string;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface Application {
  readonly project: Project;
  readonly built: BuiltApp;
}

export interface ApplicationSetup {
  readonly application: string;
  readonly plans: readonly RunPlan[];
  readonly systems: readonly System[];
  readonly locations?: readonly Location[];
  readonly warm?: boolean;
  /** Whether the handlers are also timed alone. */
  readonly executionTimes?: true;
  readonly storage?: StorageSetup;
  readonly onRun?: (run: EndedRun) => Promise<void> | void;
}

export interface EndedRun {
  readonly plan: RunPlan;
  readonly outcome: RunOutcome;
  readonly log: ServerLog;
  readonly measurement: Measurement;
  readonly result: ResultBuilder;
}

/** Lives as long as the command. */
export class BenchContext {
  readonly options: ContextOptions;
  readonly #built = new Map<string, Promise<Application>>();
  #dynamo: Promise<DynamoDbLocal> | null = null;
  #tables = 0;

  constructor(options: ContextOptions) {
    this.options = options;
  }

  /** A template, or a fixture of the benchmarks. */
  application(name: string): Promise<Application> {
    let built = this.#built.get(name);
    if (built === undefined) {
      built = (async () => {
        const folder = name === LOCKS ? `packages/cli/e2e/fixtures/${name}` : `templates/${name}`;
        const project = await loadProject(fileURLToPath(new URL(folder, ROOT)));
        return { project, built: await buildForBenchmark(project) };
      })();
      this.#built.set(name, built);
    }
    return built;
  }

  builder(experiment: Experiment): ResultBuilder {
    const { command, quick, seed } = this.options;
    return new ResultBuilder({ experiment, command, quick, seed });
  }

  /** Of each system at each location, ahead of those of a run. */
  get warmUpRequests(): number {
    return this.options.quick ? 1 : 3;
  }

  /** Requests of a run: fewer if it is to be quick. */
  requests(count: number): number {
    const { quick, scale } = this.options;
    return Math.max(4, Math.round(count * scale * (quick ? 0.1 : 1)));
  }

  plan(
    application: string,
    profile: Profile,
    loads: readonly Load[],
    more: Partial<RunPlan> & { readonly storageSetup?: StorageSetup } = {},
  ): RunPlan {
    const { storageSetup, ...rest } = more;
    return {
      application,
      profile,
      storage: storageSetup ?? this.options.storage,
      zipf: PAPER_TABLE[application] === undefined ? 0.99 : paperZipf(application),
      parameters: {},
      loads,
      warmUpRequests: this.warmUpRequests,
      leastMs: {},
      ...rest,
    };
  }

  async run(result: ResultBuilder, setup: ApplicationSetup): Promise<void> {
    const { application, plans, systems, locations = PAPER_LOCATIONS, warm = true, onRun } = setup;
    const { seed, signal, tell } = this.options;
    if (signal.aborted) return;
    const { project, built } = await this.application(application);
    const storage = setup.storage ?? this.options.storage;
    await runApplication(
      {
        project,
        built,
        measurement: {
          locations,
          systems,
          seed,
          zipf: 0.99,
          signal,
          standby: storage === "dynamodb-standby",
          storage: storage === "sqlite" ? null : await this.#dynamoStorage(),
        },
        warm,
        plans,
        ...(setup.executionTimes === true ? { paper: PAPER_TABLE[application] ?? {} } : {}),
        tell,
        ...(onRun === undefined ? {} : { onRun: (ended) => onRun({ ...ended, result }) }),
      },
      result,
    );
  }

  /** Writes the file, whether or not all went well. */
  async save(result: ResultBuilder): Promise<string> {
    const figures = result.result(this.options.signal.aborted);
    const { results } = this.options;
    await mkdir(results, { recursive: true });
    const file = join(results, `${figures.experiment}${this.options.quick ? ".quick" : ""}.json`);
    await writeFile(file, textOf(figures));
    return file;
  }

  async stop(): Promise<void> {
    await (await this.#dynamo)?.stop();
  }

  async #dynamoStorage(): Promise<ApplicationRun["measurement"]["storage"]> {
    this.#dynamo ??= startDynamoDbLocal();
    // The SDK looks for them in this process too, which fills the tables and reads them in the end.
    Object.assign(process.env, CREDENTIALS);
    const { endpoint } = await this.#dynamo;
    const tables = `bench-${++this.#tables}`;
    return { addressOf: (name) => `dynamodb:${tables}-${name}?endpoint=${endpoint}`, environment: CREDENTIALS };
  }
}

/** JSON with a line for each row. */
function textOf(figures: BenchmarkResult): string {
  const parts = Object.entries(figures).map(([name, part]: [string, unknown]) => {
    const text = Array.isArray(part)
      ? `[\n${part.map((row) => JSON.stringify(row)).join(",\n")}\n]`
      : JSON.stringify(part);
    return `${JSON.stringify(name)}: ${text}`;
  });
  return `{\n${parts.join(",\n")}\n}\n`;
}
