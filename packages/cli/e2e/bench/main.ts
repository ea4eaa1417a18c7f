/**
 * `pnpm bench`: Radical beside what else could be done with the same handlers, at the paper's distances, for the templates. Each
 * experiment writes a file of figures; docs/evaluation.md is made from them.
 */
import { commandLine, wrongOption } from "@radical/command-line";
import { summaryOf, EXPERIMENTS } from "@radical/bench";
import { CommandError, messageOf } from "@radical/app/command-error";
import { untilSignal } from "../../src/operate/until-signal.ts";
import { BenchContext, RESULTS } from "./bench-context.ts";
import { APPLICATIONS, estimateMs, type Measured, planOf } from "./experiments.ts";

const ALL = EXPERIMENTS.filter((name): name is Measured => name !== "app");

const options = commandLine({
  name: "pnpm bench",
  words:
    "Measures the templates as clients at five locations see them: with Radical, with the same handlers beside the storage\n(central), at the location with each storage operation over the distance (edge-direct), and on data of its own (ideal).\nThen everything is run again, one execution after the other, and compared: a system that did something else fails the\nbenchmark. Figures go to benchmarks/results/<experiment>.json. Ctrl-C ends it, and keeps what was measured.",
  options: {
    experiment: { kind: "operands", of: ALL, words: "what is measured" },
    applications: { kind: "text", placeholder: "names", words: `some of ${APPLICATIONS.join(",")}; default: all` },
    storage: { kind: "choice", of: ["sqlite", "dynamodb"], words: "of the primary; dynamodb is DynamoDB Local" },
    percent: { kind: "number", default: 100, least: 1, words: "of the requests of every run" },
    quick: {
      kind: "flag",
      words: "a tenth of the requests, in files of their own; unless others are named, of the social network alone",
    },
    results: { kind: "text", placeholder: "folder", words: "of the files; default: benchmarks/results" },
    json: { kind: "flag", words: "print the figures as JSON" },
    seed: { kind: "seed", words: "of arrivals, requests and data" },
  },
  exitCodes: [
    "it was measured, and all checks have passed",
    "it was not, or a system did something else than the handlers say",
  ],
  examples: [
    ["pnpm bench", "everything, on a machine that does nothing else"],
    ["pnpm bench --quick", "some two minutes: the social network, at the paper's times and at its own"],
    ["pnpm bench near-primary skew --seed 7", "two of them, with requests that can be drawn again"],
  ],
});

const { signal, stopListening } = untilSignal();
const isFirstLook = options.quick && options.experiment.length === ALL.length;
const experiments: readonly Measured[] = isFirstLook ? ["end-to-end-paper", "end-to-end-native"] : options.experiment;
const applications = options.applications?.split(",") ?? (isFirstLook ? ["social"] : APPLICATIONS);
for (const name of applications) {
  if (!APPLICATIONS.some((known) => known === name))
    wrongOption({ name: "pnpm bench" }, `there is no application "${name}": ${APPLICATIONS.join(", ")}`);
}
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
/** That it was asked for, with the seed. */
const words = process.argv.slice(2);
if (!words.some((word) => word.startsWith("--seed"))) words.push("--seed", `${options.seed}`);
const context = new BenchContext({
  command: `pnpm bench ${words.join(" ")}`,
  quick: options.quick,
  seed: options.seed,
  storage: options.storage,
  scale: options.percent / 100,
  results: options.results ?? RESULTS,
  signal,
  tell,
});
const plans = experiments.map((experiment) => ({
  experiment,
  plan: planOf(experiment, context, applications),
}));
const minutes = (ms: number): string => `${Math.ceil(ms / 60_000)} min`;
tell(`seed ${options.seed}; some ${minutes(plans.reduce((sum, { plan }) => sum + estimateMs(plan), 0))} in all`);
try {
  for (const { experiment, plan } of plans) {
    if (signal.aborted) break;
    tell(`${experiment}: some ${minutes(estimateMs(plan))}`);
    const result = context.builder(experiment);
    await plan.run(result, (error) => {
      process.exitCode = 1;
      const reason =
        error instanceof Error && !(error instanceof CommandError) ? (error.stack ?? error.message) : messageOf(error);
      tell(`✗ ${experiment}: ${reason}`);
    });
    const file = await context.save(result);
    const figures = result.result(signal.aborted);
    process.stdout.write(`${options.json ? JSON.stringify(figures) : summaryOf(figures)}\n`);
    tell(`${file} (${minutes(figures.tookMs)})`);
  }
} finally {
  stopListening();
  await context.stop();
}
