/** `radical bench`: how fast an application answers with Radical, beside what else could be done with the same handlers. */
import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { MeasurementOptions } from "../bench/measurement.ts";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "../command-error.ts";
import { type Location, PAPER_LOCATIONS } from "../config/config.ts";
import { loadProject } from "../config/load-config.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, reported } from "./command.ts";

const HELP = `
Runs the application here, as clients at each location would see it: with Radical, and with the same handlers beside the
storage (central), at the location with each storage operation over the distance (edge-direct), and at the location on data
of its own (ideal, which is not consistent: the least there can be). What clients ask for, and of which data, says the file
radical.bench.ts: docs/how-to/benchmark.md. In the end everything is run again, one execution after the other, and compared.

Times are of this machine: what counts is how they compare within one run. Nothing else should keep it busy.
Ctrl-C ends it; what was measured until then is told.

Exit codes:
  0  it was measured, and all checks have passed
  1  it was not, or a system did something else than the handlers say
  2  wrong usage, or a radical.bench.ts that can't be used

Examples:
  $ radical bench                                       # 5 locations, 4 systems, some minutes
  $ radical bench --quick                               # less than a minute after the start: a first look
  $ radical bench --systems radical,central --location near=5 --location far=200 --requests 500
  $ radical bench --seed 7 --output result.json         # the same requests each time, and all figures in a file
  $ radical bench --least book=250 --least search=120   # as if these handlers took longer`;

interface BenchCommandOptions extends CommonOptions {
  readonly systems: string;
  readonly location: readonly string[];
  readonly requests: string;
  readonly rate: string;
  readonly zipf: string;
  readonly least: readonly string[];
  readonly seed?: string;
  readonly quick?: true;
  readonly cold?: true;
  readonly storage?: string;
  readonly output?: string;
}

const all = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function benchCommand(): Command {
  return new Command("bench")
    .description("measure the application beside the same handlers without Radical")
    .option(...PROJECT_OPTION)
    .option("--systems <names>", "what to measure", "radical,central,edge-direct,ideal")
    .option(
      "--location <name=ms>",
      "a location and its round trip to the primary; may be given several times (default: those of the paper)",
      all,
      [],
    )
    .option("--requests <number>", "of each system at each location", "100")
    .option("--rate <number>", "requests a second to each system at each location", "1")
    .option("--zipf <exponent>", "of draws by Zipf's law; 0: each is as likely", "0.99")
    .option("--least <handler=ms>", "least time of a handler's run; may be given several times", all, [])
    .option("--storage <address>", "dynamodb:<table prefix>?region=…&endpoint=… (default: SQLite, gone afterwards)")
    .option("--cold", "locations begin with empty caches")
    .option("--quick", "a fifth of the requests")
    .option("--seed <number>", "draw the same again (default: another one each time)")
    .option("-o, --output <file>", "write all figures to a file, as JSON")
    .option("--json", "print all figures as JSON")
    .addHelpText("after", HELP)
    .action((options: BenchCommandOptions) => reported(options, () => run(options)));
}

async function run(options: BenchCommandOptions): Promise<void> {
  // What measures is large: other commands do without.
  const { buildForBenchmark } = await import("../bench/measurement.ts");
  const { durationMs, runApplication } = await import("../bench/application-run.ts");
  const { ResultBuilder } = await import("../bench/result-builder.ts");
  const { summaryOf } = await import("../bench/summary.ts");
  const { SYSTEMS } = await import("../bench/result.ts");

  const json = options.json === true;
  const terminal = createTerminal({ quiet: json });
  const systems = SYSTEMS.filter((system) => options.systems.split(",").includes(system));
  const unknown = options.systems.split(",").find((name) => !systems.some((system) => system === name));
  if (unknown !== undefined) throw wrong(`--systems names "${unknown}"`, `there are: ${SYSTEMS.join(", ")}`);
  const locations: readonly Location[] =
    options.location.length === 0
      ? PAPER_LOCATIONS
      : options.location.map((text) => {
          const [name, roundTripMs] = pairOf("--location", text);
          return { name, roundTripMs };
        });
  const quick = options.quick === true;
  const seed = options.seed === undefined ? randomInt(2 ** 31) : numberOf("--seed", options.seed);
  const requests = Math.ceil(numberOf("--requests", options.requests) / (quick ? 5 : 1));
  const arrivalsPerSecond = numberOf("--rate", options.rate);
  const zipf = numberOf("--zipf", options.zipf);
  if (requests < 1 || arrivalsPerSecond <= 0) throw wrong("nothing would be asked for", "see --requests and --rate");
  const leastMs = Object.fromEntries(options.least.map((text) => pairOf("--least", text)));

  const project = await loadProject(options.project);
  const built = await terminal.during("Building", buildForBenchmark(project));
  for (const handler of Object.keys(leastMs)) {
    if (built.app.manifest.handlers[handler] === undefined) throw wrong(`--least names "${handler}"`, "name a handler");
  }
  const plan = {
    application: project.config.name,
    profile: "native",
    storage: options.storage === undefined ? "sqlite" : "dynamodb",
    zipf,
    parameters: {},
    loads: systems.map((system) => ({ system, arrivalsPerSecond, requests })),
    warmUpRequests: Math.min(10, requests),
    leastMs,
  } as const;
  terminal.note(`seed ${seed}; some ${Math.ceil(durationMs(plan) / 1_000)} s, and the time to start and to check`);

  const { signal, stopListening } = untilSignal();
  const result = new ResultBuilder({ experiment: "app", command: process.argv.slice(2).join(" "), quick, seed });
  try {
    await runApplication(
      {
        project,
        built,
        measurement: {
          storage: storageOf(options.storage),
          standby: false,
          signal,
          seed,
          zipf,
          systems,
          locations,
        },
        warm: options.cold !== true,
        plans: [plan],
        tell: (line) => terminal.note(line),
      },
      result,
    );
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "check_failed") throw error;
    process.exitCode = EXIT_FAILED;
    terminal.note(`${terminal.style("red", "✗")} ${error.message}`);
  } finally {
    stopListening();
  }
  const figures = result.result(signal.aborted);
  if (options.output !== undefined) await writeFile(options.output, `${JSON.stringify(figures, null, 2)}\n`);
  print(json ? JSON.stringify(figures) : summaryOf(figures));
}

/** A table for each system and run. */
function storageOf(address: string | undefined): MeasurementOptions["storage"] {
  if (address === undefined) return null;
  const tables = `${randomInt(2 ** 31)}`;
  return {
    addressOf: (name) => address.replace(/^dynamodb:([^?]*)/, `dynamodb:$1-${tables}-${name}`),
    environment: process.env,
  };
}

function pairOf(option: string, text: string): readonly [name: string, ms: number] {
  const [, name, ms] = /^([\w-]+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === undefined) throw wrong(`${option} "${text}" is not like far=146`, "a name, and milliseconds");
  return [name, Number(ms)];
}

function numberOf(option: string, text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  throw wrong(`${option} "${text}" is no number`, `for example ${option} 10`);
}

function wrong(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
