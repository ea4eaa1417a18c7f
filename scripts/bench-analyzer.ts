/**
 * `pnpm bench:analyzer`: how long the analysis and the build of an application of 30 handlers take, cold and after a change.
 *
 * Cold: a process that has just started, so the compiler is loaded first. Changed: one handler file gets another text, in
 * a compiler's thread that is kept, as in `radical dev`. Each figure is a median over the runs, of the wall clock and of
 * the processor time of the whole process. Only the latter means anything on a busy machine. The built program is
 * measured, as it is shipped. `--cold` ends each process with its first analysis: so many more pairs fit into the same
 * time.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Compiler } from "../packages/app/src/build/compile.ts";
import { commandLine } from "../packages/command-line/src/command-line.ts";
import { thirtyHandlers } from "../packages/analyzer/src/testing/thirty-handlers.ts";

/** Of this command in a process of its own, with the checkout. */
const SAMPLE = "--sample";
/** Behind them: the process ends with its first analysis. */
const COLD = "--cold";
const CHANGES = 12;
const WARM_UP = 4;
const HERE = fileURLToPath(new URL("..", import.meta.url));
const CHANGED_FILE = "handlers/forum.ts";

interface Time {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Of one process; of one that ends early, what it came to. */
interface Sample {
  readonly started: Time;
  readonly coldAnalysis: Time;
  readonly coldBuild?: Time;
  readonly changedAnalysis?: Time;
  readonly changedBuild?: Time;
}

const LABELS: readonly (readonly [keyof Sample, string])[] = [
  ["started", "process and thread started, no compiler yet"],
  ["coldAnalysis", "cold: analysis, the loading of the compiler included"],
  ["coldBuild", "cold: unoptimized build"],
  ["changedAnalysis", "changed file: analysis"],
  ["changedBuild", "changed file: unoptimized build"],
];

/** Runs in a process of its own; `tell` gets the result. */
async function sample(checkout: string, isCold: boolean, tell: (sample: Sample) => void): Promise<void> {
  // An older checkout has it in the package of the command.
  const built = ["app", "cli"].map((name) => join(checkout, `packages/${name}/dist/build/compile.js`));
  const path = built.find((file) => existsSync(file));
  if (path === undefined) throw new Error(`${checkout} is not built: run pnpm build there`);
  const { startCompiler } = (await import(pathToFileURL(path).href)) as {
    readonly startCompiler: (options: { readonly colours: boolean; readonly isKept: boolean }) => Promise<Compiler>;
  };
  const compiler = await startCompiler({ colours: false, isKept: true });
  const started = stopwatch(START)();
  const files = thirtyHandlers();
  const handlerFiles = Object.keys(files).filter((file) => file.startsWith("handlers/"));
  const ask = async (change: string): Promise<{ analysis: Time; build: Time }> => {
    const sources = Object.entries(files).map(([file, text]) => ({
      path: file,
      text: file === CHANGED_FILE ? text + change : text,
    }));
    const elapsed = stopwatch();
    let analysis: Time | null = null;
    const build = await compiler.compile({ sources, handlerFiles, optimize: false }, () => {
      analysis = elapsed();
      if (!isCold) return;
      tell({ started, coldAnalysis: analysis });
      process.exit();
    });
    if (!build.ok || build.handlers.length !== 30) throw new Error("the application does not build");
    const total = elapsed();
    return { analysis: analysis ?? total, build: total };
  };
  const cold = await ask("");
  const changed: { analysis: Time; build: Time }[] = [];
  for (let change = 0; change < CHANGES; change++) {
    changed.push(await ask(`\nfunction added(id: string): bool {\n  return stories.has("${change}" + id);\n}\n`));
  }
  await compiler.close();
  const warm = changed.slice(WARM_UP);
  tell({
    started,
    coldAnalysis: cold.analysis,
    coldBuild: cold.build,
    changedAnalysis: median(warm.map(({ analysis }) => analysis))!,
    changedBuild: median(warm.map(({ build }) => build))!,
  });
}

const START = { wallMs: 0, cpu: { user: 0, system: 0 } };

/** Says how long it runs. */
function stopwatch(since = { wallMs: performance.now(), cpu: process.cpuUsage() }): () => Time {
  return () => {
    const { user, system } = process.cpuUsage();
    return {
      wallMs: performance.now() - since.wallMs,
      cpuMs: (user + system - since.cpu.user - since.cpu.system) / 1000,
    };
  };
}

/** Undefined: of none. */
function median(times: readonly Time[]): Time | undefined {
  if (times.length === 0) return undefined;
  const middle = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return { wallMs: middle(times.map(({ wallMs }) => wallMs)), cpuMs: middle(times.map(({ cpuMs }) => cpuMs)) };
}

/** `first`: without what V8 made of the compiler's JavaScript in earlier processes. */
function sampleInProcess(checkout: string, first: boolean, cold: boolean): Sample {
  const args = [fileURLToPath(import.meta.url), SAMPLE, checkout, ...(cold ? [COLD] : [])];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: first ? { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" } : process.env,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Sample;
}

if (process.argv[2] === SAMPLE) {
  // Written at once: the process may end right behind it.
  await sample(process.argv[3]!, process.argv[4] === COLD, (found) => writeSync(1, JSON.stringify(found)));
} else {
  const options = commandLine({
    name: "pnpm bench:analyzer",
    words:
      "Measure how long the analysis and the build of an application of 30 handlers take, cold and after a change.",
    options: {
      runs: { kind: "number", default: 7, least: 1, words: "processes that each figure is the median of" },
      checkout: {
        kind: "text",
        placeholder: "folder",
        words: "another checkout of this repository, installed and built, to compare with; the runs alternate",
      },
      first: { kind: "flag", words: "as the first time on a machine: without V8's code of earlier processes" },
      cold: { kind: "flag", words: "the cold analysis only" },
      json: { kind: "flag", words: "the medians as JSON" },
    },
    exitCodes: ["measured", "the application does not build", "wrong options"],
    examples: [
      ["pnpm bench:analyzer", "this checkout"],
      ["pnpm bench:analyzer --checkout ../before --runs 15", "two in turns"],
      ["pnpm bench:analyzer --checkout ../before --cold --runs 31", "many pairs of one figure"],
    ],
  });
  const checkouts = [HERE, ...(options.checkout === null ? [] : [options.checkout])];
  const samples = checkouts.map((): Sample[] => []);
  // A whole process fills the cache of V8's code.
  for (const checkout of checkouts) sampleInProcess(checkout, options.first, false);
  for (let run = 0; run < options.runs; run++) {
    for (const [index, checkout] of checkouts.entries())
      samples[index]!.push(sampleInProcess(checkout, options.first, options.cold));
    process.stderr.write(`${run + 1} of ${options.runs} runs\n`);
  }
  const text = (name: string, { wallMs, cpuMs }: Time): string =>
    `${name} ${wallMs.toFixed(0).padStart(5)} ms (processor ${cpuMs.toFixed(0).padStart(5)} ms)`;
  for (const [key, label] of LABELS) {
    const [own, other] = samples.map((all) => median(all.flatMap((one) => one[key] ?? [])));
    if (own === undefined) continue;
    if (options.json) {
      console.log(JSON.stringify({ measured: key, ...own, ...(other === undefined ? {} : { other }) }));
      continue;
    }
    const compared =
      other === undefined ? "" : `${text("  other", other)}  ratio ${(own.cpuMs / other.cpuMs).toFixed(2)}`;
    console.log(`${label.padEnd(54)}${text("", own)}${compared}`);
  }
}
