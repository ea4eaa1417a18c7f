/** `radical tail`: what both halves of a deployment log, in one stream. */
import { join } from "node:path";
import { Command } from "commander";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import { loadProject, type Project } from "../config/load-config.ts";
import { LOCATIONS_LOG_PATH } from "../dev/control-server.ts";
import { readRunning } from "../dev/running-dev.ts";
import { PRIMARY_OPTION, primaryAddress } from "../operate/primary-address.ts";
import { tailDev, tailPrimary, type TailSink, tailWorker } from "../operate/tail/sources.ts";
import { filterOf, showLine } from "../operate/tail/tail-line.ts";
import { wranglerTail } from "../operate/tail/wrangler-tail.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, print, reported } from "./command.ts";

const HELP = `
Lines of the locations and of the LVI server, in the order in which they arrive here, each marked with its half; the edge's name
their location. Connections that are lost are made again. Ctrl-C ends it.

Of radical dev, if that runs in the project; or of the LVI server that --primary names and the Worker that --worker names, which
is listened to by wrangler (logged in, or CLOUDFLARE_API_TOKEN).

Exit codes:
  0  it was ended
  1  a half could not be listened to
  2  wrong usage

Examples:
  $ radical tail                                # radical dev of this project
  $ radical tail --handler follow --errors
  $ radical tail --json | jq 'select(.half == "edge") | .line.ms.total'
  $ RADICAL_KEYS=main:… radical tail --primary https://lvi.example.com --worker my-app-production --lines 500`;

interface TailCommandOptions extends CommonOptions {
  readonly primary?: string;
  readonly worker?: string;
  readonly handler: readonly string[];
  readonly errors?: true;
  readonly lines: string;
}

export function tailCommand(): Command {
  return new Command("tail")
    .description("show what the locations and the LVI server log, as it happens")
    .option(...PROJECT_OPTION)
    .option(...PRIMARY_OPTION)
    .option("--worker <name>", "the deployed Worker (default: the locations of radical dev)")
    .option(
      "--handler <name>",
      "only what is about this handler; may be given several times",
      (value: string, before: readonly string[]) => [...before, value],
      [],
    )
    .option("--errors", "only warnings and errors")
    .option("--lines <number>", "lines of the LVI server's log to begin with", "10")
    .option("--json", "one JSON object for each line")
    .addHelpText("after", HELP)
    .action((options: TailCommandOptions) => reported(options, () => tail(options)));
}

async function tail(options: TailCommandOptions): Promise<void> {
  const json = options.json === true;
  const { handler: handlers, errors = false } = options;
  if (!/^\d{1,6}$/.test(options.lines))
    throw new CommandError("usage", `--lines "${options.lines}" is no number`, "for example --lines 100", {
      exitCode: EXIT_USAGE,
    });
  const out = createTerminal({ stream: process.stdout });
  const terminal = createTerminal();
  const project = await loadProject(options.project);
  // Before anything is listened to: whether there is anything.
  await primaryAddress(project, options.primary);

  const isWanted = filterOf({ handlers, errors });
  const sink: TailSink = {
    onLine: (line) => {
      if (isWanted(line)) print(json ? JSON.stringify(line) : showLine(line, out));
    },
    onState: (half, state) => {
      const words = state === "connected" ? "connected" : `lost: ${state.lost}`;
      terminal.note(terminal.style("dim", `${half}: ${words}`));
    },
  };
  const { signal, stopListening } = untilSignal();
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const primary = tailPrimary(
    () => primaryAddress(project, options.primary),
    { lines: Number(options.lines), level: "debug" },
    sink,
    until,
  );
  try {
    await Promise.all([primary, tailEdge(options, project, sink, until)]);
  } finally {
    // One half that can't be listened to ends the other.
    failed.abort();
    stopListening();
  }
}

/** Of another deployment than that of `radical dev` only the primary is listened to, unless its Worker is named. */
function tailEdge(
  { worker, primary }: TailCommandOptions,
  project: Project,
  sink: TailSink,
  signal: AbortSignal,
): Promise<void> {
  if (worker !== undefined) return tailWorker(wranglerTail(worker, project.root), sink, signal);
  return primary === undefined ? tailDev(() => locationsLog(project), sink, signal) : Promise.resolve();
}

/** Of the `radical dev` that runs. Throws if none does. */
async function locationsLog({ root }: Project): Promise<string> {
  const running = await readRunning(join(root, ".radical"));
  if (running === null) throw new Error("radical dev does not run");
  return `${running.control}${LOCATIONS_LOG_PATH}`;
}
