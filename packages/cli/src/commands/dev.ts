/** `radical dev`: the application with all of its locations on this machine, rebuilt on every save. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { CommandError, EXIT_FAILED, EXIT_OK } from "../command-error.ts";
import { parseLocations, parsePort } from "../config/config.ts";
import { loadProject } from "../config/load-config.ts";
import type { DevEvent } from "../dev/dev-events.ts";
import type { DevServer } from "../dev/start-dev.ts";
import { devLine } from "../terminal/dev-lines.ts";
import { createTerminal } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, print, reportError } from "./command.ts";

const HELP = `
Starts the LVI server with its storage (SQLite in .radical/, kept between runs) and workerd with one Worker and one
cache for each location. A request's header x-radical-location chooses the location; without it the first one serves.
The round trips are simulated between each location and the LVI server; requests to the port itself are not delayed.

Examples:
  $ radical dev
  $ radical dev --port 3000
  $ radical dev --locations VA=7,JP=146
  $ curl localhost:8787/api/count -X POST -d '{}' -H 'x-radical-location: JP'`;

const PARENT_CHECK_MS = 250;

interface DevCommandOptions extends CommonOptions {
  readonly port?: string;
  readonly host: string;
  readonly locations?: string;
  readonly central?: true;
  readonly watch: boolean;
}

export function devCommand(): Command {
  return new Command("dev")
    .description("run the application on this machine and rebuild it on every save")
    .option(...PROJECT_OPTION)
    .option("--port <number>", "port to serve on; 0 takes any free one (default: radical.config.ts, else 8787)")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--locations <list>", "locations with their round trips to the primary in ms, like VA=7,JP=146")
    .option("--central", 'add a location "central" beside the primary that never speculates, to compare with')
    .option("--no-watch", "don't rebuild on changes; the one build is optimized")
    .option("--json", "one JSON object for each line of the log")
    .addHelpText("after", HELP)
    .action(async (options: DevCommandOptions) => {
      try {
        await dev(options);
      } catch (error) {
        reportError(error, options.json === true);
      }
    });
}

async function dev(options: DevCommandOptions): Promise<void> {
  const json = options.json === true;
  // The log is what this command prints.
  const terminal = createTerminal({ quiet: json, stream: process.stdout });
  const port = options.port === undefined ? {} : { port: parsePort(options.port) };
  const locations = options.locations === undefined ? {} : { locations: parseLocations(options.locations) };
  const project = await loadProject(options.project);
  // Not before it is needed: workerd's wrapper is large.
  const { startDev } = await import("../dev/start-dev.ts");
  const onEvent = (event: DevEvent): void => {
    if (json) {
      print(JSON.stringify(withoutFrames(event)));
      return;
    }
    const line = devLine(event, terminal);
    if (line !== null) print(line);
  };

  // From here on, so that a signal during the start ends what has been started.
  const signalled = Promise.race([firstSignal(), parentEnded()]);
  const interrupted = new AbortController();
  void signalled.then(() => interrupted.abort());
  const starting = startDev({
    signal: interrupted.signal,
    project,
    onEvent,
    ...port,
    ...locations,
    host: options.host,
    central: options.central === true,
    watch: options.watch,
    optimize: !options.watch,
    colours: terminal.colours,
  });
  let server: DevServer | null = null;
  try {
    server = await terminal.during("Starting", starting);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
  }
  await signalled;
  if (!json) terminal.note("stopping …");
  await stopAll(server);
  // Nothing is left to do, whatever a library may still have open.
  process.exit(EXIT_OK);
}

async function stopAll(server: DevServer | null): Promise<void> {
  try {
    await server?.stop();
  } catch (error) {
    reportError(
      error instanceof CommandError
        ? error
        : new CommandError("stop_failed", String(error), "the next radical dev ends what is left"),
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
    // Started by hand, a parent that goes is no reason to stop: `radical dev &` and the terminal closed.
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
