/**
 * The LVI server as a process of its own. It is started again whenever it dies; each start takes any free port, so
 * whoever talks to it asks for its address.
 */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { LogLevel } from "@radical/lvi-server";
import { CommandError } from "../command-error.ts";
import type { Address } from "./delay-proxy.ts";
import type { DeploymentKey } from "./deployment-key.ts";

export interface LviServerProcess {
  /** Where it listens; while it is down, where it did. */
  address(): Address;
  pid(): number | undefined;
  /** SIGKILL, in whatever it is doing; resolves when it has been started again and listens. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL if that doesn't end it. */
  stop(): Promise<void>;
}

export interface LviServerOptions {
  readonly stateFolder: string;
  readonly key: DeploymentKey;
  /** How long an intent waits for its followup before the server runs the handler itself. Null: the server's default. */
  readonly followupTimeoutMs: number | null;
  /** Default: SQLite in the state folder. */
  readonly storage?: string;
  /** The server's program. Default: that of this release. */
  readonly program?: string;
  /** Besides that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Default: one that nothing ends; the server is alone. */
  readonly leaseMs?: number;
  /** Default: `info`. */
  readonly logLevel?: LogLevel;
  /** Called after each start, before anybody is told of the new address. */
  readonly onStarted: (server: {
    readonly address: Address;
    readonly pid: number;
    readonly restarted: boolean;
  }) => Promise<void>;
  /** Called when it has died without being told to. */
  readonly onDied: (how: {
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly stderr: string;
  }) => void;
  /** Called with each line that it logs. */
  readonly onLog: (line: Readonly<Record<string, unknown>>) => void;
}

const HOST = "127.0.0.1";
const STOP_TIMEOUT_MS = 5_000;
/** Waits between restarts of a server that dies at once, doubled each time. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** A server that lived this long did not die of its start. */
const HEALTHY_AFTER_MS = 10_000;
const STDERR_KEPT = 4_000;
/** It is alone, and a killed one is known to be dead at once: a machine that stands still for a while ends nothing. */
const LEASE_MS = 600_000;

/** Resolves once the server listens. Throws a CommandError if it doesn't come up. */
export async function startLviServer(options: LviServerOptions): Promise<LviServerProcess> {
  let child: ChildProcess | null = null;
  let address: Address = { host: HOST, port: 0 };
  let stopping = false;
  let backoffMs = FIRST_BACKOFF_MS;
  let restart: NodeJS.Timeout | undefined;
  /** Who waits for the next start. */
  const waiting: (() => void)[] = [];

  const start = async (restarted: boolean): Promise<void> => {
    const startedAtMs = performance.now();
    const started = launch(options);
    child = started.child;
    started.child.once("close", (code, signal) => {
      if (stopping) return;
      options.onDied({ code, signal, stderr: started.stderr() });
      if (performance.now() - startedAtMs > HEALTHY_AFTER_MS) backoffMs = FIRST_BACKOFF_MS;
      if (!restarted && address.port === 0) return;
      restart = setTimeout(() => {
        start(true).catch(() => {
          // It died before it listened: its exit has been told, and the next start is planned.
        });
      }, backoffMs);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    });
    const listening = await started.listening;
    await options.onStarted({ address: listening, pid: started.child.pid ?? 0, restarted });
    address = listening;
    for (const resolve of waiting.splice(0)) resolve();
  };

  try {
    await start(false);
  } catch (error) {
    stopping = true;
    if (child !== null) await end(child);
    throw error;
  }
  return {
    address: () => address,
    pid: () => child?.pid,
    kill: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        backoffMs = FIRST_BACKOFF_MS;
        child?.kill("SIGKILL");
      }),
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      for (const resolve of waiting.splice(0)) resolve();
      if (child !== null) await end(child);
    },
  };
}

/** A second server on the same storage. Resolves when it waits for the lease, which it is not to get. */
export async function startStandby(
  options: Omit<LviServerOptions, "onStarted" | "onDied" | "followupTimeoutMs">,
): Promise<Pick<LviServerProcess, "stop">> {
  let started: Launched | null = null;
  await new Promise<void>((resolve, reject) => {
    started = launch({
      ...options,
      followupTimeoutMs: null,
      onLog: (line) => {
        if (line["event"] === "waiting_for_leadership") resolve();
        options.onLog(line);
      },
    });
    started.listening.then(() => reject(new Error("the standby has taken the lease")), reject);
  });
  return { stop: () => end(started!.child) };
}

interface Launched {
  readonly child: ChildProcess;
  readonly listening: Promise<Address>;
  /** The end of what it wrote to stderr. */
  stderr(): string;
}

function launch({
  stateFolder,
  key,
  followupTimeoutMs,
  storage = `sqlite:${join(stateFolder, "data.sqlite")}`,
  program = ownProgram(),
  leaseMs = LEASE_MS,
  environment = {},
  logLevel = "info",
  onLog,
}: Omit<LviServerOptions, "onStarted" | "onDied">): Launched {
  const args = ["--host", HOST, "--port", "0", "--storage", storage, "--log-level", logLevel];
  args.push("--lease-ms", String(leaseMs));
  if (followupTimeoutMs !== null) args.push("--followup-timeout-ms", String(followupTimeoutMs));
  const child = fork(program, args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...withoutSettings(process.env), ...environment, RADICAL_KEYS: `${key.id}:${key.secret}` },
    // Ctrl-C reaches the whole group of a terminal, but the server is to drain when it is told to. It ends with its
    // parent too: its channel to it is then closed.
    detached: true,
  });
  let stderr = "";
  const listening = new Promise<Address>((resolve, reject) => {
    // stdout has the one line with the port, stderr the log, and what Node itself says when a process breaks.
    eachLine(child.stdout, (text) => {
      const port = parseLine(text)?.["port"];
      if (typeof port === "number") resolve({ host: HOST, port });
    });
    eachLine(child.stderr, (text) => {
      const line = parseLine(text);
      if (line !== null) onLog(line);
      else stderr = `${stderr}${text}\n`.slice(-STDERR_KEPT);
    });
    const failed = (reason: string): void => {
      reject(
        new CommandError(
          "server_failed",
          `the LVI server did not start: ${reason}\n${stderr}`.trimEnd(),
          "see its message above",
        ),
      );
    };
    child.once("error", (error) => failed(error.message));
    child.once("close", (code, signal) => failed(`it ended with ${signal ?? `code ${code}`}`));
  });
  return { child, listening, stderr: () => stderr };
}

function ownProgram(): string {
  const entry = import.meta.resolve("@radical/lvi-server");
  return fileURLToPath(new URL(entry.endsWith(".ts") ? "./main.ts" : "./main.js", entry));
}

/** What a developer has set for another server, of a deployment, is not for this one. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("RADICAL_")));
}

function eachLine(stream: Readable | null, onLine: (text: string) => void): void {
  if (stream !== null) createInterface(stream).on("line", onLine);
}

/** A line of JSON, null for any other. */
function parseLine(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? (line as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
