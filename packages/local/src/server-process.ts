/**
 * The LVI server as a process of its own. It is started again whenever it dies; each start takes any free port, so
 * whoever talks to it asks for its address.
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { LogLevel } from "@radical/lvi-server";
import { CommandError, messageOf } from "@radical/app/command-error";
import { Child, type Ended, type Line, MODULE_ENDING } from "./child.ts";
import type { Address } from "./delay-proxy.ts";
import { type DeploymentKeys, serverKeysText } from "@radical/admin";

export interface LviServerProcess {
  /** Where it listens; while it is down, where it did. */
  address(): Address;
  pid(): number | undefined;
  /** SIGKILL, in whatever it is doing; resolves when it has been started again and listens. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL if that doesn't end it. */
  stop(): Promise<void>;
}

/** How one server is started. */
export interface LaunchOptions {
  /** The server's program. Default: that of this release. */
  readonly program?: string;
  readonly stateFolder: string;
  readonly keys: DeploymentKeys;
  /** The text that the server is given of them, if it is of a release before administration keys. */
  readonly keysText?: string;
  /** How long an intent waits for its followup before the server runs the handler itself. Null: the server's default. */
  readonly followupTimeoutMs: number | null;
  /** Default: SQLite in the state folder. */
  readonly storage?: string;
  /** The command that runs it, with its options. Default: none. */
  readonly under?: readonly string[];
  /** Options of its Node, besides those of this process. Default: none. */
  readonly nodeOptions?: readonly string[];
  /** Besides that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Default: one that nothing ends; the server is alone. */
  readonly leaseMs?: number;
  /** Default: the server's. */
  readonly readLeaseMs?: number;
  /** Default: `info`. */
  readonly logLevel?: LogLevel;
  /** More options of its command line. */
  readonly args?: readonly string[];
  /** Called with each line that it logs. */
  readonly onLog: (line: Line) => void;
}

export interface LviServerOptions extends LaunchOptions {
  /** By how much the time of tasks is ahead when it starts, also again. Left out: its time is not to be moved. */
  readonly aheadMs?: () => number;
  /** Called after each start, before `address()` gives the new address. */
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
}

const HOST = "127.0.0.1";
/** Waits between restarts of a server that dies at once, doubled each time. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** A server that lived this long did not die of its start. */
const HEALTHY_AFTER_MS = 10_000;
/** It is alone, and a killed one is known to be dead at once: a machine that stands still for a while ends nothing. */
const LEASE_MS = 600_000;

/** The module that its process runs. */
export const SERVER_MAIN: string = fileURLToPath(
  new URL(`main${MODULE_ENDING}`, import.meta.resolve("@radical/lvi-server")),
);

/** Resolves once the server listens. Throws a CommandError if it doesn't come up. */
export async function startLviServer(options: LviServerOptions): Promise<LviServerProcess> {
  const server = new KeptServer(options);
  try {
    await server.start(false);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

class KeptServer implements LviServerProcess {
  readonly #options: LviServerOptions;
  #child: Child | null = null;
  #address: Address = { host: HOST, port: 0 };
  #isStopping = false;
  #backoffMs = FIRST_BACKOFF_MS;
  #restart: NodeJS.Timeout | undefined;
  /** Callbacks that wait for the next start. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: LviServerOptions) {
    this.#options = options;
  }

  address(): Address {
    return this.#address;
  }

  pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(restarted: boolean): Promise<void> {
    const startedAtMs = performance.now();
    const { aheadMs, args = [] } = this.#options;
    const timed = aheadMs === undefined ? args : [...args, "--virtual-time-ms", String(aheadMs())];
    const child = launchServer({ ...this.#options, args: timed });
    this.#child = child;
    void child.closed.then((how) => this.#onEnd(child, how, restarted, performance.now() - startedAtMs));
    const address = await addressOf(child);
    await this.#options.onStarted({ address, pid: child.pid ?? 0, restarted });
    this.#address = address;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #onEnd(child: Child, how: Ended, restarted: boolean, livedMs: number): void {
    if (this.#isStopping) return;
    const [code, signal] = typeof how === "number" ? [how, null] : [null, how instanceof Error ? null : how];
    this.#options.onDied({ code, signal, stderr: child.words });
    if (livedMs > HEALTHY_AFTER_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    // One that has never listened is not started again: the caller learns why.
    if (!restarted && this.#address.port === 0) return;
    this.#restart = setTimeout(() => {
      this.start(true).catch(() => {
        // It died before it listened: its exit has been told, and the next start is planned.
      });
    }, this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }

  kill(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#backoffMs = FIRST_BACKOFF_MS;
      this.#child?.signal("SIGKILL");
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    for (const resolve of this.#waiting.splice(0)) resolve();
    await this.#child?.stop();
  }
}

/** A second server on the same storage. Resolves when it waits for the leadership, which it is not to get. */
export async function startStandby(
  options: Omit<LaunchOptions, "followupTimeoutMs">,
): Promise<Pick<LviServerProcess, "stop">> {
  const child = launchServer({ ...options, followupTimeoutMs: null });
  const taken = addressOf(child).then((): never => {
    throw new Error("the standby has taken the leadership");
  });
  await Promise.race([child.told("waiting_for_leadership"), taken]);
  taken.catch(() => undefined);
  return child;
}

/** One server, which nobody starts again. */
export function launchServer({
  program = SERVER_MAIN,
  stateFolder,
  keys,
  keysText = serverKeysText(keys),
  followupTimeoutMs,
  storage = `sqlite:${join(stateFolder, "data.sqlite")}`,
  leaseMs = LEASE_MS,
  readLeaseMs,
  under = [],
  nodeOptions = [],
  environment = {},
  logLevel = "info",
  args: more = [],
  onLog,
}: LaunchOptions): Child {
  const args = ["--host", HOST, "--port", "0", "--storage", storage, "--log-level", logLevel, "--exit-with-parent"];
  args.push("--lease-ms", String(leaseMs));
  if (followupTimeoutMs !== null) args.push("--followup-timeout-ms", String(followupTimeoutMs));
  return new Child({
    main: program,
    args: [...args, ...more],
    under,
    nodeOptions,
    environment: {
      ...withoutSettings(process.env),
      // A developer's machine that is busy with other things refuses nothing. An earlier release does not know it.
      RADICAL_SHED_DELAY_MS: "0",
      ...environment,
      // A server of a release that knows no read leases starts all the same.
      ...(readLeaseMs === undefined ? {} : { RADICAL_READ_LEASE_MS: String(readLeaseMs) }),
      RADICAL_KEYS: keysText,
    },
    errors: "lines",
    // stdout has the one line with the port, stderr the log.
    onLine: (line, stream) => {
      if (stream === "stderr") onLog(line);
    },
  });
}

/** Where a server listens. Throws a CommandError if it ends before. */
async function addressOf(child: Child): Promise<Address> {
  try {
    return { host: HOST, port: (await child.listening())["port"] as number };
  } catch (error) {
    const message = `The LVI server did not start: ${messageOf(error)}`;
    throw new CommandError("server_failed", message, "The message above has the cause.");
  }
}

/** Settings of a developer for another server, of a deployment, are not for this one. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("RADICAL_")));
}
