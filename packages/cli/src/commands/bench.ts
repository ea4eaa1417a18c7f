/** `radical bench`: how fast an application answers with Radical, beside what else could be done with the same handlers. */
import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import type { MeasurementOptions } from "@radical/bench";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "@radical/app/command-error";
import { type Location, PAPER_LOCATIONS, loadProject } from "@radical/app";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";

const BENCH = {
  name: "bench",
  words: "measure the application beside the same handlers without Radical",
  options: {
    project: PROJECT,
    systems: {
      kind: "text",
      placeholder: "names",
      default: "radical,central,edge-direct,ideal",
      words: "systems to measure, by commas",
    },
    location: {
      kind: "list",
      placeholder: "name=ms",
      words:
        "a location and its round trip to the primary; may be given several times (default: the locations of the paper)",
    },
    requests: { kind: "number", default: 100, least: 1, words: "number of requests to each system at each location" },
    rate: {
      kind: "number",
      default: 1,
      least: 0,
      fraction: true,
      words: "requests a second to each system at each location",
    },
    zipf: {
      kind: "number",
      default: 0.99,
      least: 0,
      fraction: true,
      unit: "exponent",
      words: "exponent of draws by Zipf's law; 0 makes all equally likely",
    },
    least: {
      kind: "list",
      placeholder: "handler=ms",
      words: "least time of a handler's run; may be given several times",
    },
    storage: {
      kind: "text",
      placeholder: "address",
      words:
        "storage: dynamodb:<table prefix>?region=…&endpoint=… (default: a database of SQLite that is deleted afterwards)",
    },
    cold: { kind: "flag", words: "begin with empty caches at the locations" },
    quick: { kind: "flag", words: "send a fifth of the requests" },
    seed: { kind: "seed", words: "seed of the draws; the same seed draws the same requests" },
    output: { kind: "text", short: "o", placeholder: "file", words: "write all figures to a file, as JSON" },
    json: { kind: "flag", words: "print all figures as JSON" },
  },
  notes: `Runs the application here, as clients at each location would see it. Each system runs the same handlers:
  radical      with Radical
  central      beside the storage
  edge-direct  at the location, with each storage operation over the distance
  ideal        at the location on data of its own; it is not consistent, and shows the least possible time

The file radical.bench.ts describes the requests and the data: docs/how-to/benchmark.md. In the end the command runs all
executions again, one after the other, and compares.

Times are of this machine: compare them within one run only, and keep the machine free of other work. Ctrl-C ends the run; the
command then prints the figures so far.`,
  exitCodes: [
    "the systems were measured, and all checks have passed",
    "nothing was measured, or a system did something else than the handlers say",
    "wrong usage, or a radical.bench.ts that can't be used",
  ],
  examples: [
    ["radical bench", "5 locations, 4 systems, some minutes"],
    ["radical bench --quick", "less than a minute after the start: a first look"],
    ["radical bench --systems radical,central --location near=5 --location far=200 --requests 500"],
    ["radical bench --seed 7 --output result.json", "the same requests each time, and all figures in a file"],
    ["radical bench --least book=250 --least search=120", "as if these handlers took longer"],
  ],
} as const satisfies Command<Options>;

type BenchOptions = Values<typeof BENCH.options>;

export const benchCommand: Subcommand = subcommand(BENCH, (options) => reported(options, () => run(options)));

async function run(options: BenchOptions): Promise<void> {
  // The code of the measurement is large, and other commands do without it.
  const { buildForBenchmark, durationMs, ResultBuilder, runApplication, summaryOf, SYSTEMS } =
    await import("@radical/bench");

  const json = options.json;
  const terminal = createTerminal({ quiet: json });
  const systems = SYSTEMS.filter((system) => options.systems.split(",").includes(system));
  const unknown = options.systems.split(",").find((name) => !systems.some((system) => system === name));
  if (unknown !== undefined)
    throw wrong(`The system "${unknown}" of --systems does not exist.`, `Name some of ${SYSTEMS.join(", ")}.`);
  const locations: readonly Location[] =
    options.location.length === 0
      ? PAPER_LOCATIONS
      : options.location.map((text) => {
          const [name, roundTripMs] = pairOf("--location", text);
          return { name, roundTripMs };
        });
  const { quick, seed, zipf, rate: arrivalsPerSecond } = options;
  const requests = Math.ceil(options.requests / (quick ? 5 : 1));
  if (arrivalsPerSecond === 0)
    throw wrong("The rate is 0, and the benchmark needs requests.", "Give --rate a number above 0.");
  const leastMs = Object.fromEntries(options.least.map((text) => pairOf("--least", text)));

  const project = await loadProject(options.project);
  const built = await terminal.during("Building", buildForBenchmark(project));
  for (const handler of Object.keys(leastMs)) {
    if (built.app.manifest.handlers[handler] === undefined)
      throw wrong(`The handler "${handler}" of --least does not exist.`, "Name a handler of the application.");
  }
  const plan = {
    application: project.config.name,
    profile: "native",
    storage: options.storage === null ? "sqlite" : "dynamodb",
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
        warm: !options.cold,
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
  if (options.output !== null) await writeFile(options.output, `${JSON.stringify(figures, null, 2)}\n`);
  print(json ? JSON.stringify(figures) : summaryOf(figures));
}

/** A table for each system and run. */
function storageOf(address: string | null): MeasurementOptions["storage"] {
  if (address === null) return null;
  const tables = `${randomInt(2 ** 31)}`;
  return {
    addressOf: (name) => address.replace(/^dynamodb:([^?]*)/, `dynamodb:$1-${tables}-${name}`),
    environment: process.env,
  };
}

function pairOf(option: string, text: string): readonly [name: string, ms: number] {
  const [, name, ms] = /^([\w-]+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === undefined)
    throw wrong(`${option} must be a name and milliseconds, like far=146, and is "${text}".`, "Correct it.");
  return [name, Number(ms)];
}

function wrong(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
