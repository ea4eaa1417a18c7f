#!/usr/bin/env node
/**
 * `radical-lvi-server`: the process. Exit codes: 0 stopped on request, 1 failed, 2 wrong options.
 *
 * Standard output gets one line of JSON when the server serves, `{"event":"listening","port":…}`; logs go to standard
 * error.
 */
import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { createLog } from "./log.ts";
import { ConfigurationError, type Options, parseOptions, type RawOptions } from "./options.ts";
import { type RunningServer, startServer } from "./server.ts";
import { openStorage } from "./storage/storage-address.ts";
import { StorageError } from "./storage/storage.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const command = new Command("radical-lvi-server")
  .description(
    "The primary of a Radical application: validates, locks and stores write intents, and runs handlers near storage.",
  )
  .version(version)
  .addOption(new Option("--port <number>", "port to listen on; 0 takes a free one").env("RADICAL_PORT").default("8788"))
  .addOption(new Option("--host <address>", "address to listen on").env("RADICAL_HOST").default("127.0.0.1"))
  .addOption(
    new Option(
      "--storage <address>",
      "items and intents: sqlite:<file>, or dynamodb:<table prefix>?region=…&endpoint=… (tables are made if they are missing)",
    )
      .env("RADICAL_STORAGE")
      .default("sqlite:radical.sqlite"),
  )
  .addOption(
    new Option("--workers <number>", "threads that run handlers (default: cores - 1, at least 2)").env(
      "RADICAL_WORKERS",
    ),
  )
  .addOption(
    new Option("--followup-timeout-ms <ms>", "after which a handler is re-executed in place of its followup")
      .env("RADICAL_FOLLOWUP_TIMEOUT_MS")
      .default("5000"),
  )
  .addOption(
    new Option("--execution-limit-ms <ms>", "longest run of a handler")
      .env("RADICAL_EXECUTION_LIMIT_MS")
      .default("10000"),
  )
  .addOption(
    new Option(
      "--lease-ms <ms>",
      "after which another server on the same storage takes over from one that does not answer",
    )
      .env("RADICAL_LEASE_MS")
      .default("5000"),
  )
  .addOption(
    new Option("--drain-ms <ms>", "longest wait for running executions when stopping")
      .env("RADICAL_DRAIN_MS")
      .default("5000"),
  )
  .addOption(
    new Option("--log-level <level>", "debug, info, warn, error or silent").env("RADICAL_LOG_LEVEL").default("info"),
  )
  .addOption(new Option("--exit-with-parent", "stop when standard input ends"))
  .addHelpText(
    "after",
    `
Environment:
  RADICAL_KEYS   keys that locations sign with, "<id>:<hex>,…"; several while they are rotated (required)
  AWS_*          credentials and region for DynamoDB, as the AWS SDK finds them; profiles and roles too

Examples:
  $ RADICAL_KEYS="main:$(openssl rand -hex 32)" radical-lvi-server --storage sqlite:app.sqlite
  $ radical-lvi-server --port 0 --storage sqlite:app.sqlite --log-level debug
  $ radical-lvi-server --storage 'dynamodb:my-app?region=eu-central-1'
  $ sqlite3 app.sqlite 'select "table", key, commit_id from items'

Exit codes: 0 stopped on request, 1 failed, 2 wrong options.
`,
  )
  .exitOverride();

try {
  command.parse();
  await run(parseOptions({ ...command.opts<RawOptions>(), ...keysOf(process.env) }));
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else fail(error);
}

function keysOf(environment: NodeJS.ProcessEnv): { keys?: string } {
  const keys = environment["RADICAL_KEYS"];
  return keys === undefined ? {} : { keys };
}

async function run(options: Options): Promise<void> {
  const { port, host, workers, executionLimitMs, followupTimeoutMs, leaseMs, drainMs } = options;
  const log = createLog(options.logLevel, (line) => process.stderr.write(line));
  const server: RunningServer = await startServer({
    storage: await openStorage(options.storage),
    keys: options.keys,
    port,
    host,
    ...(workers === null ? {} : { workers }),
    executionLimitMs,
    leaseMs,
    core: { followupTimeoutMs },
    log,
    onHalt: (reason) => {
      // What is durable is right: a fresh process recovers from it.
      log.error("halted", { reason });
      process.exit(1);
    },
  });

  const stop = (cause: string): void => {
    log.info("stopping", { cause });
    server.close(drainMs).then(
      () => process.exit(0),
      (error: unknown) => {
        fail(error);
        process.exit();
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));
  if (process.connected) process.on("disconnect", () => stop("parent ended"));
  if (options.exitWithParent)
    process.stdin
      .resume()
      .on("end", () => stop("parent ended"))
      .on("error", () => stop("parent ended"));

  process.stdout.write(
    `${JSON.stringify({ event: "listening", host: server.host, port: server.port, pid: process.pid, epoch: server.epoch })}\n`,
  );
}

function fail(error: unknown): void {
  const wrongOption =
    error instanceof ConfigurationError ||
    (error instanceof StorageError && error.effect === "none") ||
    isAddressError(error);
  const message =
    error instanceof Error ? (wrongOption ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`radical-lvi-server: ${message}\n`);
  process.exitCode = wrongOption ? 2 : 1;
}

/** The address can't be listened on: taken, or not ours. */
function isAddressError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
