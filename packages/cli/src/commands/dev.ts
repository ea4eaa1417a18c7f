/** `radical dev`: the application with all of its locations on this machine, rebuilt on every save. */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { CommandError, EXIT_FAILED, EXIT_OK } from "@radical/app/command-error";
import { MAX_LOSS_PERCENT, MAX_ROUND_TRIP_MS, parseLocations, withCommonDistance, loadProject } from "@radical/app";
import type { DevEvent } from "../dev/dev-events.ts";
import type { DevServer } from "../dev/start-dev.ts";
import { KEYS_HINT, listenToKeys } from "../dev/dev-keys.ts";
import { devLine } from "../dev/dev-lines.ts";
import { parseServiceFaults } from "../dev/service-faults.ts";
import { PrimaryLine } from "../dev/primary-line.ts";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, reportError, reported } from "./command.ts";

const PARENT_CHECK_MS = 250;

const DEV = {
  name: "dev",
  words: "run the application on this machine and rebuild it on every save",
  options: {
    project: PROJECT,
    port: {
      kind: "number",
      least: 0,
      most: 65_535,
      words: "port to serve on; 0 takes any free one (default: radical.config.ts, else 8787, or the next that is free)",
    },
    host: { kind: "text", placeholder: "address", default: "127.0.0.1", words: "address to listen on" },
    locations: {
      kind: "text",
      placeholder: "list",
      words: "locations with their round trips to the primary in ms, like VA=7,JP=146±5/1%",
    },
    jitter: {
      kind: "number",
      least: 0,
      most: MAX_ROUND_TRIP_MS,
      fraction: true,
      unit: "ms",
      words: "greatest deviation of a round trip, up or down",
    },
    loss: {
      kind: "number",
      least: 0,
      most: MAX_LOSS_PERCENT,
      fraction: true,
      percent: true,
      unit: "percent",
      words: "share of the messages between locations and primary that is lost, and sent again",
    },
    env: {
      kind: "text",
      placeholder: "name",
      words: "environment of wrangler.jsonc that the Worker's bindings come from (default: its top level)",
    },
    reset: { kind: "flag", words: "delete data and caches of earlier runs first" },
    noSeed: { kind: "flag", words: "start without the items of the seed file when there is no data" },
    acceptMisfits: {
      kind: "flag",
      words: "serve a build that stored items do not fit: handlers that read such an item fail",
    },
    central: {
      kind: "flag",
      words:
        'add a location "central" beside the primary that never speculates, and show how long each call would wait for it',
    },
    fail: {
      kind: "list",
      placeholder: "service=failures",
      words:
        "failures of a service: throw and lost (done, and its answer is lost) for a share of the calls, slow in ms",
    },
    noWatch: { kind: "flag", words: "don't rebuild on changes; the one build is optimized" },
    json: { kind: "flag", words: "print the log as lines of JSON" },
  },
  notes: `Starts the LVI server with its storage (SQLite in .radical/, kept between runs) and workerd with one Worker and one
cache for each location. A request's header x-radical-location chooses the location; without it the first one serves.
Where there is no data yet, the items of seed.ndjson or seed.json are written first.
The round trips are simulated between each location and the LVI server; requests to the port itself are not delayed.

A location is NAME=MS, NAME=MS±MS with jitter, NAME=MS/PERCENT% with loss, or both: NAME=MS±MS/PERCENT%. You can
write +- for ±. A lost message is sent again, as by TCP.

While it runs you can switch faults, and move on the time of tasks and handlers. Three ways lead to them: keys in the terminal,
which ? shows, HTTP on the same port, and the dashboard.`,
  examples: [
    ["radical dev"],
    ["radical dev --port 3000 --reset", "with the data of the seed"],
    ["radical dev --locations VA=7,JP=146±20/1%"],
    ["radical dev --jitter 5 --loss 0.5"],
    ["curl localhost:8787/api/count -X POST -d '{}' -H 'x-radical-location: JP'"],
    ['curl localhost:8787/__radical/faults --json \'{"partitioned": ["JP"]}\''],
    ['curl localhost:8787/__radical/time --json \'{"advance": "3 days"}\'', "what is due by then runs now"],
    ["radical dev --fail charge=throw:0.2,lost:0.2,slow:3000", "with a bank that fails"],
    ["curl localhost:8787/__radical/build"],
  ],
} as const satisfies Command<Options>;

type DevOptions = Values<typeof DEV.options>;

export const devCommand: Subcommand = subcommand(DEV, (options) => reported(options, () => dev(options)));

async function dev(options: DevOptions): Promise<void> {
  // It runs for hours beside an editor: V8 collects more often, and keeps 40 MB less.
  setFlagsFromString("--semi-space-growth-factor=1");
  const json = options.json;
  // The log is what this command prints.
  const terminal = createTerminal({ quiet: json, stream: process.stdout });
  const port = options.port === null ? {} : { port: options.port };
  const common = { jitterMs: options.jitter, lossPercent: options.loss };
  const named = options.locations === null ? null : parseLocations(options.locations);
  const project = await loadProject(options.project);
  const locations = withCommonDistance(named ?? project.config.dev.locations, common);
  // Not before it is needed: workerd's wrapper is large.
  const { startDev } = await import("../dev/start-dev.ts");
  const primary = new PrimaryLine();
  const onEvent = (event: DevEvent): void => {
    if (json) {
      print(JSON.stringify(withoutFrames(event)));
      return;
    }
    for (const line of [primary.before(event, terminal), isToldOnce(event) ? null : devLine(event, terminal)])
      if (line !== null) print(line);
  };

  // From here on, so that a signal during the start ends what has been started.
  const signalled = Promise.race([firstSignal(), parentEnded()]);
  const interrupted = new AbortController();
  void signalled.then(() => interrupted.abort());
  const starting = startDev({
    signal: interrupted.signal,
    onRest: collectGarbage,
    project,
    onEvent,
    ...port,
    locations,
    ...(options.env === null ? {} : { environment: options.env }),
    reset: options.reset,
    seed: !options.noSeed,
    acceptMisfits: options.acceptMisfits,
    host: options.host,
    central: options.central,
    serviceFaults: parseServiceFaults(options.fail),
    watch: !options.noWatch,
    optimize: options.noWatch,
    colours: terminal.colours,
  });
  let server: DevServer | null = null;
  try {
    server = await terminal.during("Starting", starting);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
  }
  const stopListening = server === null || json ? null : keysOf(server, terminal);
  await signalled;
  stopListening?.();
  if (!json) terminal.note("stopping …");
  await stopAll(server);
  // Nothing is left to do, whatever a library may still have open.
  process.exit(EXIT_OK);
}

/** A build leaves 20 MB of garbage, and V8 would keep it until the next one. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Whether another line tells the event for all locations: of the LVI server for the same handler, or of the primary. */
function isToldOnce({ event }: DevEvent): boolean {
  return event === "set_left" || event === "primary_unanswered";
}

/** Null: there is nobody at a keyboard. */
function keysOf({ control }: DevServer, terminal: Terminal): (() => void) | null {
  if (!process.stdin.isTTY) return null;
  terminal.note(`  ${KEYS_HINT}\n`);
  return listenToKeys(process.stdin, {
    control,
    terminal,
    onInterrupt: () => process.kill(process.pid, "SIGINT"),
    onError: (error) => reportError(error, false),
  });
}

async function stopAll(server: DevServer | null): Promise<void> {
  try {
    await server?.stop();
  } catch (error) {
    reportError(
      error instanceof CommandError
        ? error
        : new CommandError(
            "stop_failed",
            String(error),
            "Start radical dev again: it ends the processes that are left.",
          ),
      false,
    );
    process.exit(EXIT_FAILED);
  }
}

/** Resolves at the first SIGINT, SIGTERM or SIGHUP; further ones are swallowed while everything stops. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
  });
}

/**
 * Resolves when the script runner that started us is gone. Ended by a signal, npm takes only its shell with it: we
 * would run on, and nobody would know.
 */
function parentEnded(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    // Started by hand, it goes on when its parent ends: `radical dev &`, and the terminal closed.
    if (process.env["npm_lifecycle_event"] === undefined) return;
    if (parent === 1 && !isScriptRunner(1)) resolve();
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve();
    }, PARENT_CHECK_MS);
    timer.unref();
  });
}

/**
 * Whether the process is a script runner or its shell. In a container that may be process 1; elsewhere process 1 is who
 * adopts orphans.
 */
function isScriptRunner(pid: number): boolean {
  try {
    return /\b(npm|pnpm|yarn|bun|sh|bash|dash)\b/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  } catch {
    return false;
  }
}

/** The diagnostics themselves are enough for programs. */
function withoutFrames(event: DevEvent): unknown {
  if (!("frames" in event)) return event;
  const { frames: _, ...rest } = event;
  return rest;
}
