/** `radical tail`: what both halves of a deployment log, in one stream. */
import { join } from "node:path";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { loadProject, type Project, targetOf } from "@radical/app";
import { LOCATIONS_LOG_PATH } from "../dev/control-server.ts";
import { readRunning } from "@radical/local";
import { DEPLOYED, PRIMARY } from "../operate/deployed-options.ts";
import { primaryAddress } from "../operate/primary-address.ts";
import { type PrimarySource, tailDev, tailPrimary, type TailSink, tailWorker } from "../operate/tail/sources.ts";
import { eachOnce, filterOf, showLine } from "../operate/tail/tail-line.ts";
import { wranglerTail } from "../operate/tail/wrangler-tail.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal, indentedText, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";

const TAIL = {
  name: "tail",
  words: "show what the locations and the LVI server log, as it happens",
  options: {
    project: PROJECT,
    env: DEPLOYED.env,
    primary: PRIMARY,
    region: DEPLOYED.region,
    worker: {
      kind: "text",
      placeholder: "name",
      words: "deployed Worker (default: the Worker of --env, or the locations of radical dev)",
    },
    handler: {
      kind: "list",
      placeholder: "name",
      words: "only lines about this handler; may be given several times",
    },
    errors: { kind: "flag", words: "only warnings and errors" },
    lines: {
      kind: "number",
      default: 10,
      least: 0,
      most: 999_999,
      words: "number of earlier lines of the LVI server's log to show first",
    },
    json: { kind: "flag", words: "print lines of JSON" },
  },
  notes: `Shows lines of the locations and of the LVI server, in the order in which they arrive here. Each begins with its half, edge or
primary, and a line of the edge names its location. A lost connection is made again. Ctrl-C ends it.

The lines are those of radical dev, if that runs in the project. --env names a deployment instead, with both servers of its
primary. --primary names another LVI server, and --worker another Worker. The command listens to a Worker with wrangler, which
must be logged in, or have CLOUDFLARE_API_TOKEN.`,
  exitCodes: [
    "the command was ended",
    "the command could not listen to the locations, or to the LVI server",
    "wrong usage",
  ],
  examples: [
    ["radical tail", "radical dev of this project"],
    ["radical tail --handler follow --errors"],
    ["radical tail --json | jq 'select(.half == \"edge\") | .line.ms.total'"],
    ["radical tail --env production --errors"],
    [
      "RADICAL_ADMIN_KEYS=admin:… radical tail --primary https://lvi.example.com --worker my-app-production --lines 500",
    ],
  ],
} as const satisfies Command<Options>;

type TailOptions = Values<typeof TAIL.options>;

export const tailCommand: Subcommand = subcommand(TAIL, (options) => reported(options, () => tail(options)));

async function tail(options: TailOptions): Promise<void> {
  const json = options.json;
  const { handler: handlers, errors } = options;
  const out = createTerminal({ stream: process.stdout });
  const terminal = createTerminal();
  const project = await loadProject(options.project);
  const { servers, edge } = await sourcesOf(project, options);

  const isWanted = filterOf({ handlers, errors });
  const isNew = eachOnce();
  const sink: TailSink = {
    onLine: (line) => {
      if (isWanted(line) && isNew(line)) print(json ? JSON.stringify(line) : showLine(line, out));
    },
    onState: (source, state) => {
      const words = state === "connected" ? "connected" : `lost: ${state.lost}`;
      terminal.note(terminal.style("dim", indentedText(`${source}: ${words}`)));
    },
  };
  const { signal, stopListening } = untilSignal();
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const question = { lines: options.lines, level: "debug" } as const;
  try {
    await Promise.all([...servers.map((server) => tailPrimary(server, question, sink, until)), edge(sink, until)]);
  } finally {
    // One half that can't be listened to ends the other.
    failed.abort();
    stopListening();
  }
}

interface Sources {
  readonly servers: readonly PrimarySource[];
  readonly edge: (sink: TailSink, signal: AbortSignal) => Promise<void>;
}

/** Throws a CommandError if there is nothing to listen to. */
async function sourcesOf(project: Project, options: TailOptions): Promise<Sources> {
  const { env, primary, region, worker } = options;
  if (env !== null) {
    const { deployedSources } = await import("../operate/tail/deployed-sources.ts");
    const target = targetOf(project.config.name, env);
    const found = await deployedSources({
      project,
      target,
      primary,
      region,
      url: null,
    });
    const listener = wranglerTail(worker ?? found.worker, project.root, found.account);
    return { servers: found.servers, edge: (sink, signal) => tailWorker(listener, sink, signal) };
  }
  await primaryAddress(project, primary);
  return {
    servers: [{ address: () => primaryAddress(project, primary), name: null }],
    edge: (sink, signal) => {
      if (worker !== null) return tailWorker(wranglerTail(worker, project.root), sink, signal);
      // Of another deployment than that of `radical dev` only the primary, unless its Worker is named.
      return primary === null ? tailDev(() => locationsLog(project), sink, signal) : Promise.resolve();
    },
  };
}

/** Of the `radical dev` that runs. Throws if none does. */
async function locationsLog({ root }: Project): Promise<string> {
  const running = await readRunning(join(root, ".radical"));
  if (running === null) throw new Error("radical dev does not run.");
  return `${running.control}${LOCATIONS_LOG_PATH}`;
}
