#!/usr/bin/env node
/**
 * `radical-lvi-server`: the process. Exit codes: 0 stopped on request, 1 failed, 2 wrong options.
 *
 * Standard output gets one line of JSON when the server serves, `{"event":"listening","port":…}`; logs go to standard
 * error. Why the process could not start, or ended, is a line of that log too; at a terminal it is plain words.
 */
import { readFileSync, watchFile } from "node:fs";
import { terminalText } from "@radical/protocol";
import { Command, CommanderError, Option } from "commander";
import { KeyRing, parseKeys } from "./http/keys.ts";
import { createLog, type Log } from "./log.ts";
import {
  ConfigurationError,
  configurationFields,
  describeConfiguration,
  KEYS_VARIABLE,
  type KeySources,
  type Options,
  parseOptions,
  type RawSettings,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  type Source,
  variableOf,
} from "./options.ts";
import { type RunningServer, startServer } from "./server.ts";
import { openStorage } from "./storage/storage-address.ts";
import { StorageError } from "./storage/storage.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** How often the file of keys is looked at. */
const KEYS_INTERVAL_MS = 1_000;

const command = new Command("radical-lvi-server")
  .description(
    "The primary of a Radical application: validates, locks and stores write intents, and runs handlers near storage.",
  )
  .version(version);
for (const name of SETTING_NAMES) {
  const { flag, words, default: fallback } = SETTINGS[name];
  const option = new Option(flag, words).env(variableOf(name));
  if (fallback !== null) option.default(fallback);
  // Without its word.
  if (option.optional) option.preset("yes");
  command.addOption(option);
}
command
  .addHelpText(
    "after",
    `
Environment:
  ${KEYS_VARIABLE}   keys that locations sign with, "<id>:<hex>,…"; required, or else --keys-file
  AWS_*          credentials and region for DynamoDB, as the AWS SDK finds them; profiles and roles too

Examples:
  $ ${KEYS_VARIABLE}="main:$(openssl rand -hex 32)" radical-lvi-server --storage sqlite:app.sqlite
  $ radical-lvi-server --port 0 --storage sqlite:app.sqlite --log-level debug
  $ radical-lvi-server --storage 'dynamodb:my-app?region=eu-central-1'
  $ curl http://127.0.0.1:8788/readyz
  $ curl http://127.0.0.1:8788/metrics
  $ sqlite3 app.sqlite 'select "table", key, commit_id from items'

Exit codes: 0 stopped on request, 1 failed, 2 wrong options.
`,
  )
  .exitOverride()
  .configureOutput({
    outputError: (words, write) => {
      if (process.stderr.isTTY) write(words);
      else tell("not_started", words.trim());
    },
  });

process.on("uncaughtException", (error, origin) => {
  tell(origin === "unhandledRejection" ? "unhandled_rejection" : "uncaught_exception", stackOf(error));
  // What is durable is right: a fresh process recovers from it.
  process.exit(1);
});

const keySources: KeySources = { variable: process.env[KEYS_VARIABLE], read: (file) => readFileSync(file, "utf8") };
try {
  command.parse();
  const raw = rawSettings();
  try {
    await run(raw, parseOptions(raw, keySources));
  } catch (error) {
    fail(error);
    if (error instanceof ConfigurationError)
      process.stderr.write(`\n${describeConfiguration(raw, keySources.variable, error.wrong)}\n`);
    // Who watches for the end of its parent would wait for that, and nobody would start it again.
    process.exit();
  }
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else fail(error);
}

function rawSettings(): RawSettings {
  const texts = command.opts<Readonly<Partial<Record<SettingName, string>>>>();
  const sourceOf = (name: SettingName): Source => {
    const source = command.getOptionValueSource(name);
    return source === "env" ? "environment" : source === "cli" ? "command line" : "default";
  };
  return Object.fromEntries(
    SETTING_NAMES.map((name) => [name, { text: texts[name], source: sourceOf(name) }]),
  ) as unknown as RawSettings;
}

async function run(raw: RawSettings, options: Options): Promise<void> {
  const { port, host, workers, executionLimitMs, followupTimeoutMs, leaseMs, drainMs } = options;
  const { retentionMs, moduleRetentionMs } = options;
  const log = createLog(options.logLevel, (line) => process.stderr.write(line));
  log.info("configuration", configurationFields(raw, options.keys));
  const keys = new KeyRing(options.keys);
  if (options.keysFile !== null) rereadKeys(options.keysFile, keys, log);

  let server: RunningServer | null = null;
  const stop = (cause: string): void => {
    log.info("stopping", { cause });
    // What waits for the lease holds nothing.
    if (server === null) process.exit(0);
    server.close(drainMs).then(
      () => process.exit(0),
      (error: unknown) => {
        fail(error, "not_stopped");
        process.exit();
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));
  if (options.exitWithParent)
    process.stdin
      .resume()
      .on("end", () => stop("parent ended"))
      .on("error", () => stop("parent ended"));

  server = await startServer({
    storage: await openStorage(options.storage, { retentionMs, hasher: keys.callHashes }),
    keys,
    port,
    host,
    ...(workers === null ? {} : { workers }),
    executionLimitMs,
    crowdedLimitMs: options.crowdedLimitMs,
    leaseMs,
    ...(options.advertise === null ? {} : { advertise: options.advertise }),
    collectIntervalMs: options.collectIntervalMs,
    core: { followupTimeoutMs, retentionMs, outcomeRetentionMs: options.outcomeRetentionMs, moduleRetentionMs },
    location: {
      executions: options.locationExecutions,
      units: options.locationUnits,
      bytes: options.locationBytes,
      workersPercent: options.locationWorkersPercent,
    },
    log,
    onHalt: (reason, cause) => {
      // What is durable is right: a fresh process recovers from it.
      if (cause === "broken") log.error("halted", { reason });
      else log.warn("taken_over", { reason });
      process.exit(1);
    },
  });

  process.stdout.write(
    `${JSON.stringify({ event: "listening", host: server.host, port: server.port, pid: process.pid, epoch: server.epoch })}\n`,
  );
}

/** Rotation: the file is read again on SIGHUP and when it has changed. One that is wrong changes nothing. */
function rereadKeys(file: string, keys: KeyRing, log: Log): void {
  const reread = (cause: string): void => {
    try {
      const parsed = parseKeys(readFileSync(file, "utf8"));
      keys.replace(parsed);
      log.info("keys_loaded", { cause, keys: [...parsed.keys()].join(", ") });
    } catch (error) {
      log.error("keys_not_loaded", { cause, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  process.on("SIGHUP", () => reread("SIGHUP"));
  // By its state, not by events: files of secrets are often replaced by a link to another one.
  watchFile(file, { interval: KEYS_INTERVAL_MS, persistent: false }, () => reread("file changed"));
}

function fail(error: unknown, event: "not_started" | "not_stopped" = "not_started"): void {
  const wrongOption =
    error instanceof ConfigurationError ||
    (error instanceof StorageError && error.effect === "none") ||
    isAddressError(error);
  tell(event, wrongOption && error instanceof Error ? error.message : stackOf(error));
  process.exitCode = wrongOption ? 2 : 1;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Why the process ends. Whatever the level of the log: nothing else tells of it, and alarms look for it there. */
function tell(event: string, reason: string): void {
  if (process.stderr.isTTY)
    process.stderr.write(`radical-lvi-server: ${reason.split("\n").map(terminalText).join("\n")}\n`);
  else createLog("error", (line) => process.stderr.write(line)).error(event, { reason });
}

/** The address can't be listened on: taken, or not ours. */
function isAddressError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
