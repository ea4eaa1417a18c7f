/** `radical record`: a sample of the executions of a deployment, in a file, for `radical replay`. */
import { closeSync, openSync, writeSync } from "node:fs";
import { checkRedaction, MalformedError, type RedactionQuestion, terminalText } from "@radical/protocol";
import { Command } from "commander";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "../command-error.ts";
import { loadProject, type Project } from "../config/load-config.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { targetOf } from "../deploy/target.ts";
import { DEPLOYED_OPTIONS } from "../operate/deployed-options.ts";
import { PRIMARY_OPTION, type PrimaryAddress, primaryAddress, serverName } from "../operate/primary-address.ts";
import { record, type Recording } from "../replay/record.ts";
import { recordToLine } from "../replay/record-line.ts";
import { counted, createTerminal, type Terminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, reported } from "./command.ts";

const HELP = `
Writes an execution a line: handler, arguments, time, seed and caller, what it read, its outcome, what it wrote, its fuel.
Of radical dev, if that runs in the project, of the deployment of the environment --env, or of the LVI server that is named. Ctrl-C ends it; what was recorded stays.

The LVI server of a deployment redacts what it sends, before it leaves. Each text gets a pseudonym of its length, the same
wherever it stands, in keys of items too. Numbers become 0 unless a key has them, and the seed is another one. The handler is
run again on that, so its outcome and writes have nothing of it either. An execution that then reads other items is left out.
--redact redacts the named fields alone: all else, keys of items included, is recorded as it is. --whole redacts nothing.
Of radical dev, on this machine, nothing is redacted unless it is asked for.

Exit codes:
  0  it was recorded: as many as were asked for, or until Ctrl-C
  1  it was not: the server was not reached, or has ended it; or a run here differed from what the server knows
  2  wrong usage

Examples:
  $ radical record                                             # 100 executions of radical dev to records.jsonl
  $ radical record --count 1000 --every 50 --handler follow --handler post
  $ radical record --redact users.email --redact '@arguments.password' --redact @caller
  $ radical record --env production --every 100                # redacted at the server
  $ radical record --env production --every 100 --whole
  $ RADICAL_KEYS=main:… radical record --primary https://lvi.example.com --output - | gzip > records.jsonl.gz`;

interface RecordCommandOptions extends CommonOptions {
  readonly env?: string;
  readonly primary?: string;
  readonly region?: string;
  readonly output: string;
  readonly count: string;
  readonly every: string;
  readonly handler: readonly string[];
  readonly redact: readonly string[];
  readonly whole?: true;
}

const all = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function recordCommand(): Command {
  return new Command("record")
    .description("record a sample of the executions of a deployment, for radical replay")
    .option(...PROJECT_OPTION)
    .option(...DEPLOYED_OPTIONS.env)
    .option(...PRIMARY_OPTION)
    .option(...DEPLOYED_OPTIONS.region)
    .option("-o, --output <file>", "file to write; -: standard output", "records.jsonl")
    .option("--count <number>", "how many executions", "100")
    .option("--every <number>", "record one of so many executions", "1")
    .option("--handler <name>", "only executions of this handler; may be given several times", all, [])
    .option(
      "--redact <what>",
      "redact these fields alone: <table>.<field>, <table>.*, @arguments.<name>, @caller; may be given several times",
      all,
      [],
    )
    .option("--whole", "redact nothing: passwords and whatever users have sent are recorded as they are")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action((options: RecordCommandOptions) => reported(options, () => run(options)));
}

async function run(options: RecordCommandOptions): Promise<void> {
  const { output, handler: handlers } = options;
  const terminal = createTerminal({ quiet: options.json === true });
  const count = wholeNumber("--count", options.count);
  const every = wholeNumber("--every", options.every);
  const redact = redactionOf(options);
  const primary = await recordedPrimary(await loadProject(options.project), options);
  terminal.note(`${terminal.style("yellow", "!")} ${warningOf(redact)}`);

  const { signal, stopListening } = untilSignal();
  let file: number | null = null;
  try {
    const recording = await record({
      primary,
      count,
      every,
      handlers,
      redact,
      signal,
      onStarted: () => {
        // Only now: a server that can't be asked leaves an earlier file as it was.
        file = output === "-" ? process.stdout.fd : openSync(output, "w", 0o600);
        terminal.note(`recording ${counted(count, "execution")} of ${serverName(primary)} … (Ctrl-C ends it)`);
      },
      // The same JSON, on a terminal too.
      onRecord: (recorded) => void writeSync(file!, `${terminalText(recordToLine(recorded))}\n`),
    });
    if (recording.differing.length > 0) process.exitCode = EXIT_FAILED;
    if (options.json === true) {
      if (output !== "-") print(JSON.stringify({ ...recording, output }));
    } else tell(recording, output, terminal);
  } finally {
    stopListening();
    if (file !== null && output !== "-") closeSync(file);
  }
}

/** All by default; on this machine, of `radical dev`, nothing. */
function redactionOf({ redact: names, whole, env, primary }: RecordCommandOptions): RedactionQuestion {
  if (whole === true && names.length > 0)
    throw new CommandError("usage", "--whole and --redact contradict each other", "give one of them", {
      exitCode: EXIT_USAGE,
    });
  if (names.length === 0) return whole === true || (env === undefined && primary === undefined) ? [] : "all";
  try {
    return checkRedaction(names);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    throw new CommandError("usage", `--redact: ${error.message}`, "see radical record --help", {
      exitCode: EXIT_USAGE,
    });
  }
}

function warningOf(redact: RedactionQuestion): string {
  if (redact === "all")
    return "the LVI server replaces texts by pseudonyms, and numbers that no key has by 0; --whole records all as it is";
  const words = "records hold what users have sent and what tables have; keep them as you keep that";
  return `${words}${redact.length === 0 ? " (--redact leaves fields out)" : "; keys of items are not redacted"}`;
}

/** Only the server that leads executes anything. */
async function recordedPrimary(
  project: Project,
  { env, primary, region }: RecordCommandOptions,
): Promise<PrimaryAddress> {
  if (env === undefined) return primaryAddress(project, primary);
  const { findDeployed, leaderOf } = await import("../operate/deployed.ts");
  const target = targetOf(project.config.name, env);
  return leaderOf(
    (await findDeployed({ project, target, primary: primary ?? null, region: region ?? null, url: null })).servers,
  );
}

function tell({ recorded, leftOut, differing, unredacted }: Recording, output: string, terminal: Terminal): void {
  for (const name of unredacted)
    terminal.note(`${terminal.style("yellow", "!")} nothing was found for --redact ${name}`);
  if (leftOut > 0)
    terminal.note(terminal.style("dim", `${counted(leftOut, "sampled execution")} could not be recorded`));
  if (differing.length > 0) {
    const some = differing.slice(0, 5).join(", ");
    terminal.note(
      `${terminal.style("red", "✗")} ${counted(differing.length, "execution")} ran differently here, which is a fault of Radical: ${some}`,
    );
  }
  terminal.note(
    `${terminal.style("green", "✓")} ${counted(recorded, "execution")} recorded${output === "-" ? "" : `: ${output}`}`,
  );
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= 1) return value;
  throw new CommandError("usage", `${name} must be an integer from 1, and is "${text}"`, `for example ${name} 100`, {
    exitCode: EXIT_USAGE,
  });
}
