#!/usr/bin/env node
/**
 * `radical-lvi-server`: the process. Exit codes: 0 stopped on request, 1 failed, 2 wrong options.
 *
 * Standard output gets one line of JSON when the server serves, `{"event":"listening","port":…}`; logs go to standard
 * error. Why the process could not start, or ended, is a line of that log too; at a terminal it is plain words.
 */
import { readFileSync, watchFile } from "node:fs";
import { type OtlpTarget, terminalText } from "@radical/protocol";
import type { GivenOptions } from "@radical/command-line";
import { KeyRing, type Keys, parseKeys } from "./http/keys.ts";
import { firstKeys, followKeys, openKeysParameter } from "./http/keys-parameter.ts";
import { createLog, type LAST_EVENTS, type Log } from "./log.ts";
import {
  configurationFields,
  describeConfiguration,
  keyIds,
  KEYS_VARIABLE,
  type KeySources,
  type Options,
  readServerLine,
} from "./options.ts";
import { MemoryBudgetError } from "./memory-budget.ts";
import { RELEASE } from "./release.ts";
import { type RunningServer, startServer } from "./server.ts";
import { keyPlacesOf, openStorage } from "./storage/storage-address.ts";
import { tracesSettings } from "./traces-settings.ts";
import { StorageError } from "./storage/storage.ts";
import { machineOf } from "./tunnel-watch.ts";

const BYTES_PER_MB = 1_048_576;

/** How often the file of keys is looked at. */
const KEYS_INTERVAL_MS = 1_000;
/** And how often their parameter is. */
const KEYS_PARAMETER_INTERVAL_MS = 30_000;

const NO_ADMINISTRATION_KEY =
  "Nobody can administer this server, and no module can be registered. Give it the public half of a key, by `radical secrets new-keys`.";

const EXIT_FAILED = 1;
const EXIT_WRONG_OPTIONS = 2;

process.on("uncaughtException", (error, origin) => {
  const event = origin === "unhandledRejection" ? "unhandled_rejection" : "uncaught_exception";
  tell(event, stackOf(error), EXIT_FAILED);
  // What is durable is right: a fresh process recovers from it.
  process.exit(EXIT_FAILED);
});
// Node's own words about them are plain text.
process.removeAllListeners("warning").on("warning", ({ name, message }) => {
  createLog("warn", (line) => process.stderr.write(line)).warn("process_warning", { name, reason: message });
});

const keySources: KeySources = { variable: process.env[KEYS_VARIABLE], read: (file) => readFileSync(file, "utf8") };
const commandLine = readServerLine(RELEASE, process.argv.slice(2), keySources);
switch (commandLine.kind) {
  case "answer":
    process.stdout.write(commandLine.text);
    break;
  case "misuse":
    refuse(`${commandLine.message}\n${commandLine.hint}`);
    break;
  case "wrong":
    refuse(
      [...commandLine.wrong.values()].join("\n"),
      describeConfiguration(commandLine.given, keySources.variable, commandLine.wrong),
    );
    break;
  case "options":
    try {
      const traces = tracesSettings(commandLine.options, process.env);
      if (typeof traces === "string") refuse(traces);
      else await run(commandLine.given, commandLine.options, traces);
    } catch (error) {
      fail(error);
      // Who watches for the end of its parent would wait for that, and nobody would start it again.
      process.exit();
    }
}

/** Wrong options: nothing was done. `configuration`: all of it, as a table. */
function refuse(reason: string, configuration?: string): void {
  tell("not_started", reason, EXIT_WRONG_OPTIONS, configuration);
  process.exitCode = EXIT_WRONG_OPTIONS;
}

async function run(given: GivenOptions, options: Options, traces: OtlpTarget | null): Promise<void> {
  const { port, host, workers, executionLimitMs, followupTimeoutMs, leaseMs, readLeaseMs, drainMs } = options;
  const { retentionMs, moduleRetentionMs } = options;
  const log = createLog(options.logLevel, (line) => process.stderr.write(line));
  const keys = await acceptedKeys(given, options, log);

  let server: RunningServer | null = null;
  const stop = (cause: string): void => {
    log.info("stopping", { cause });
    // A standby holds nothing.
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

  const storage = await openStorage(options.storage, { retentionMs, hasher: keys.callHashes });
  const places = keyPlacesOf(options.storage, storage, options.sealingKeys);
  server = await startServer({
    storage,
    ...(places === null ? {} : { sealing: { keys: places.keys, givesUp: options.giveUpUnreadable } }),
    ...(places === null ? {} : { recordings: { keys: places.recordings, retentionMs: options.recordingRetentionMs } }),
    keys,
    port,
    host,
    ...(workers === null ? {} : { workers }),
    executionLimitMs,
    crowdedLimitMs: options.crowdedLimitMs,
    leaseMs,
    ...(options.advertise === null ? {} : { advertise: options.advertise }),
    ...(options.deployment === null ? {} : { deployment: options.deployment }),
    ...(options.workerUrl === null ? {} : { workerUrl: options.workerUrl }),
    finishesUpgrade: options.finishUpgrade,
    ...(options.virtualTimeMs === null ? {} : { virtualTimeMs: options.virtualTimeMs }),
    collectIntervalMs: options.collectIntervalMs,
    core: {
      followupTimeoutMs,
      readLeaseMs,
      retentionMs,
      outcomeRetentionMs: options.outcomeRetentionMs,
      moduleRetentionMs,
      auditedPart: options.auditPercent / 100,
    },
    location: {
      executions: options.locationExecutions,
      units: options.locationUnits,
      ...(options.locationBytes === null ? {} : { bytes: options.locationBytes }),
      workersPercent: options.locationWorkersPercent,
    },
    shedDelayMs: options.shedDelayMs,
    watch: {
      intervalMs: options.metricsIntervalMs,
      ...(options.metricsNamespace === null ? {} : { namespace: options.metricsNamespace }),
      ...(options.memoryMb === null ? {} : { memoryBytes: options.memoryMb * BYTES_PER_MB }),
      ...(options.tunnel === null ? {} : { tunnel: { url: options.tunnel, node: machineOf(options.advertise) ?? "" } }),
    },
    ...(traces === null ? {} : { traces }),
    log,
    onHalt: (reason, cause) => {
      // What is durable is right: a fresh process recovers from it.
      if (cause === "broken") log.error("halted", { reason });
      else log.warn("taken_over", { reason });
      process.exit(EXIT_FAILED);
    },
  });

  process.stdout.write(
    `${JSON.stringify({ event: "listening", host: server.host, port: server.port, pid: process.pid, epoch: server.epoch })}\n`,
  );
}

/** The keys, from wherever they come, and whatever keeps them fresh. */
async function acceptedKeys(given: GivenOptions, options: Options, log: Log): Promise<KeyRing> {
  const named = options.keysParameter;
  const parameter = named === null ? null : await openKeysParameter(named);
  const { text, keys } = parameter === null ? { text: "", keys: options.keys } : await firstKeys(parameter);
  log.info("configuration", configurationFields(given, keys));
  const ring = new KeyRing(keys);
  if (ring.administration.size === 0) log.warn("no_administration_key", { reason: NO_ADMINISTRATION_KEY });
  if (options.keysFile !== null) rereadKeys(options.keysFile, ring, log);
  if (parameter !== null) {
    const look = followKeys(parameter, text, {
      onKeys: (fresh: Keys) => {
        ring.replace(fresh);
        log.info("keys_loaded", { cause: "parameter read", keys: keyIds(fresh).join(", ") });
      },
      onWrong: (reason) => log.error("keys_not_loaded", { cause: "parameter read", reason }),
      onUnread: (reason) => log.warn("keys_not_read", { reason }),
    });
    setInterval(() => void look(false), KEYS_PARAMETER_INTERVAL_MS).unref();
    process.on("SIGHUP", () => void look(true));
  }
  return ring;
}

/** Rotation: the file is read again on SIGHUP and when it has changed. One that is wrong changes nothing. */
function rereadKeys(file: string, keys: KeyRing, log: Log): void {
  const reread = (cause: string): void => {
    try {
      const parsed = parseKeys(readFileSync(file, "utf8"));
      keys.replace(parsed);
      log.info("keys_loaded", { cause, keys: keyIds(parsed).join(", ") });
    } catch (error) {
      log.error("keys_not_loaded", { cause, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  process.on("SIGHUP", () => reread("SIGHUP"));
  // By its state, not by events: files of secrets are often replaced by a link to another one.
  watchFile(file, { interval: KEYS_INTERVAL_MS, persistent: false }, () => reread("file changed"));
}

type LastEvent = (typeof LAST_EVENTS)[number];

function fail(error: unknown, event: LastEvent = "not_started"): void {
  const isStorageWrong = error instanceof StorageError && error.effect === "none";
  const wrongOption = isStorageWrong || isAddressError(error) || error instanceof MemoryBudgetError;
  const exitCode = wrongOption ? EXIT_WRONG_OPTIONS : EXIT_FAILED;
  tell(event, wrongOption && error instanceof Error ? error.message : stackOf(error), exitCode);
  process.exitCode = exitCode;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Why the process ends. Whatever the level of the log: nothing else tells of it, and alarms look for it there. */
function tell(event: LastEvent, reason: string, exitCode: number, configuration?: string): void {
  if (process.stderr.isTTY) {
    const words = reason.split("\n").map(terminalText).join("\n");
    process.stderr.write(`radical-lvi-server: ${words}\n${configuration === undefined ? "" : `\n${configuration}\n`}`);
    return;
  }
  createLog("error", (line) => process.stderr.write(line)).error(event, { reason, exitCode, configuration });
}

/** The address can't be listened on: taken, or not ours. */
function isAddressError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
