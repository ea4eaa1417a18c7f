/**
 * A whole deployment on one machine: the LVI server with its storage as a process of its own, one delayed link to it
 * for each location, and workerd with a Worker and its cache for each location behind one port.
 */
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join, posix } from "node:path";
import type { Manifest, TestHooks } from "@radical/protocol";
import { type AppBuild, type BuildOutcome, buildApp, countDiagnostics, plansOf } from "../build/build-app.ts";
import { bundleOwnWorker } from "../build/bundle.ts";
import { type AnalysisReport, type Compiler, startCompiler } from "../build/compile.ts";
import { CommandError, messageOf } from "../command-error.ts";
import type { Location } from "../config/config.ts";
import { CONFIG_FILE, type Project } from "../config/load-config.ts";
import { type Address, startDelayProxy } from "./delay-proxy.ts";
import { loadDeploymentKey } from "./deployment-key.ts";
import type { DevEvent } from "./dev-events.ts";
import { type LviServerProcess, startLviServer } from "./lvi-server-process.ts";
import { type EdgeLocation, type WorkerFiles, startEdge } from "./miniflare.ts";
import { claimStateFolder } from "./process-record.ts";
import { registerModule } from "./register-module.ts";
import { watchSources } from "./watch-sources.ts";

/** The name of the location beside the primary that {@link DevOptions.central} adds. */
export const CENTRAL = "central";

/** A location's way to the LVI server. */
export interface Link {
  /** Where the location sends its requests. */
  readonly address: Address;
  close(): Promise<void>;
}
import { ToldDiagnostics } from "./told-diagnostics.ts";

export interface DevOptions {
  readonly project: Project;
  readonly onEvent: (event: DevEvent) => void;
  /** Default: the config's. */
  readonly port?: number;
  readonly host?: string;
  /** Default: the config's. */
  readonly locations?: readonly Location[];
  /** Adds a location beside the primary that runs everything near storage: what an application without Radical does. */
  readonly central?: boolean;
  /** Where storage, caches, key and process ids are kept. Default: `.radical` in the project. */
  readonly stateFolder?: string;
  /** Whether code frames have ANSI colours. */
  readonly colours?: boolean;
  /** Calls the start off: it then throws the signal's reason. A server that serves is stopped by its own method. */
  readonly signal?: AbortSignal;
  /** Rebuilds on changes. */
  readonly watch?: boolean;
  /** Default false: a rebuild is several times faster, handlers a little slower. */
  readonly optimize?: boolean;
  /** Makes a location's link. Default: a proxy that delays by the location's round trip. */
  readonly link?: (location: Location, server: () => Address) => Promise<Link>;
  /** For tests: put into the manifest that the locations run. */
  readonly testHooks?: TestHooks;
  /** Default: the LVI server's. */
  readonly followupTimeoutMs?: number;
}

export interface DevServer {
  readonly url: string;
  readonly locations: readonly Location[];
  readonly manifest: () => Manifest;
  readonly lviServer: Pick<LviServerProcess, "address" | "pid">;
  /** Ends every process and closes every port. */
  stop(): Promise<void>;
}

/** Resolves once requests are served. Throws a CommandError, with nothing left running. */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const closers: Closer[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= closeAll(closers));
  const onAbort = (): void => {
    // What fails here fails again below, where it is told.
    stop().catch(() => undefined);
  };
  options.signal?.addEventListener("abort", onAbort);
  // What is started while everything stops comes too late for `stop`.
  const late: Closer[] = [];
  const onStop = (closer: Closer): void => void (stopping === null ? closers : late).push(closer);
  try {
    return await startAll(options, onStop, stop);
  } catch (error) {
    await stop();
    await closeAll(late);
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", onAbort);
  }
}

type Closer = () => Promise<void> | void;

/** In reverse: who sends ends before whom it sends to. One that fails keeps nobody else running. */
async function closeAll(closers: readonly Closer[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join("; "));
}

async function startAll(
  options: DevOptions,
  onStop: (closer: Closer) => void,
  stop: () => Promise<void>,
): Promise<DevServer> {
  const { project, onEvent, signal } = options;
  const host = options.host ?? "127.0.0.1";
  const port = options.port ?? project.config.dev.port;
  const named = options.locations ?? project.config.dev.locations;
  const locations = options.central === true ? [...named, { name: CENTRAL, roundTripMs: 0 }] : named;
  const stateFolder = options.stateFolder ?? join(project.root, ".radical");
  await mkdir(stateFolder, { recursive: true });
  const { record, reaped } = await claimStateFolder(stateFolder);
  onStop(() => record.remove());
  if (reaped.length > 0) onEvent({ event: "reaped", pids: reaped });
  // Only now: what an earlier run left behind may have held the port.
  await refuseBusyPort(host, port);

  const compiler = await startCompiler({ colours: options.colours === true });
  onStop(() => compiler.close());
  signal?.throwIfAborted();
  const told = new ToldDiagnostics();
  const build = (changed: readonly string[]): Promise<BuildOutcome> =>
    buildAndTell(project, compiler, changed, told, options);

  const [key, routerWorker, first] = await Promise.all([
    loadDeploymentKey(stateFolder),
    bundleOwnWorker("dev/router.worker"),
    build([]),
  ]);
  if (first.app === null)
    throw new CommandError("build_failed", "the application has errors", "correct them and start again");
  let app = first.app;
  signal?.throwIfAborted();

  const server = await startLviServer({
    stateFolder,
    key,
    followupTimeoutMs: options.followupTimeoutMs ?? null,
    onStarted: async ({ address, pid, restarted }) => {
      await record.update();
      await registerModule(address, key, app);
      onEvent({ event: "server_started", pid, port: address.port, restarted });
    },
    onDied: (how) => onEvent({ event: "server_died", ...how }),
    onLog: (line) => onEvent({ event: "server_log", line }),
  });
  onStop(() => server.stop());
  signal?.throwIfAborted();

  const link =
    options.link ??
    ((location, target): Promise<Link> => startDelayProxy({ target, roundTripMs: location.roundTripMs }));
  const edgeLocations = await Promise.all(
    locations.map(async (location): Promise<EdgeLocation> => {
      const made = await link(location, () => server.address());
      onStop(() => made.close());
      return {
        name: location.name,
        primary: made.address,
        nearStorageOnly: location.name === CENTRAL && options.central === true,
      };
    }),
  );

  const edge = await startEdge(
    {
      host,
      port,
      locations: edgeLocations,
      key,
      routerWorker,
      cacheFolder: join(stateFolder, "cache"),
      onLog: (level, message) => onEvent(eventOfWorkerLog(level, message)),
    },
    workerFiles(app, options.testHooks),
  );
  onStop(() => edge.close());
  signal?.throwIfAborted();
  await record.update();

  /** One rebuild after the other. */
  let rebuilding: Promise<unknown> = Promise.resolve();
  const rebuild = async (changed: readonly string[]): Promise<BuildOutcome> => {
    const outcome = await build(changed);
    if (outcome.app !== null && outcome.app.manifest.module !== app.manifest.module) {
      await registerModule(server.address(), key, outcome.app);
      app = outcome.app;
      await edge.reload(workerFiles(app, options.testHooks));
      await record.update();
    }
    return outcome;
  };
  const rebuildInTurn = (changed: readonly string[]): Promise<BuildOutcome> => {
    const turn = rebuilding.then(() => rebuild(changed));
    rebuilding = turn.catch(() => undefined);
    return turn;
  };
  onStop(async () => {
    await rebuilding;
  });

  if (options.watch === true) {
    let { folders } = first;
    const watcher = watchSources(
      project.root,
      (path) => path === CONFIG_FILE || (path.endsWith(".ts") && folders.includes(posix.dirname(path))),
      (paths) => {
        if (paths.includes(CONFIG_FILE)) onEvent({ event: "config_changed" });
        const changed = paths.filter((path) => path !== CONFIG_FILE);
        if (changed.length === 0) return;
        rebuildInTurn(changed).then(
          (outcome) => {
            ({ folders } = outcome);
            watcher.setFolders([".", ...folders]);
          },
          (error: unknown) => onEvent(eventOfFailure(error)),
        );
      },
    );
    watcher.setFolders([".", ...folders]);
    onStop(() => watcher.close());
  }

  onEvent({ event: "ready", url: edge.url, locations, handlers: Object.keys(app.manifest.handlers) });
  return {
    url: edge.url,
    locations,
    manifest: () => app.manifest,
    lviServer: server,
    stop,
  };
}

/** Tells of the build as it goes. `changed` is empty for the first one. */
async function buildAndTell(
  project: Project,
  compiler: Compiler,
  changed: readonly string[],
  told: ToldDiagnostics,
  { onEvent, optimize = false }: DevOptions,
): Promise<BuildOutcome> {
  onEvent({ event: "building", changed });
  const startedAtMs = performance.now();
  const ms = (): number => Math.round(performance.now() - startedAtMs);
  const onAnalyzed = (analysis: AnalysisReport): void => {
    const { diagnostics } = analysis;
    onEvent({ event: "analyzed", plans: plansOf(analysis), ms: ms(), diagnostics, frames: told.untold(analysis) });
  };
  const outcome = await buildApp(project, compiler, { optimize, onAnalyzed });
  const { app, report } = outcome;
  const { diagnostics } = report;
  const frames = told.untold(report);
  if (app === null) {
    onEvent({
      event: "build_failed",
      errors: countDiagnostics(diagnostics).errors,
      serving: changed.length > 0,
      diagnostics,
      frames,
    });
  } else {
    onEvent({
      event: "built",
      module: app.manifest.module,
      plans: app.content.plans,
      ms: ms(),
      diagnostics,
      frames,
    });
  }
  return outcome;
}

function workerFiles(app: AppBuild, testHooks: TestHooks | undefined): WorkerFiles {
  const manifest: Manifest = testHooks === undefined ? app.manifest : { ...app.manifest, testHooks };
  return {
    worker: app.worker,
    wasm: app.content.wasm,
    rwWasm: app.content.rwWasm,
    manifest: JSON.stringify(manifest),
    cache: manifest.cache.kind,
  };
}

function eventOfWorkerLog(level: string, message: string): DevEvent {
  try {
    const line: unknown = JSON.parse(message);
    // The runtime's own lines; their shape is its contract.
    if (typeof line === "object" && line !== null && "event" in line && "location" in line) return line as DevEvent;
  } catch {
    // Any other line.
  }
  return { event: "worker_log", level, message };
}

function eventOfFailure(error: unknown): DevEvent {
  if (error instanceof CommandError)
    return { event: "failed", code: error.code, message: error.message, hint: error.hint };
  return {
    event: "failed",
    code: "internal_error",
    message: messageOf(error),
    hint: "the last good build goes on serving",
  };
}

/** Said before anything is built or started. Throws a CommandError. */
async function refuseBusyPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", (error: NodeJS.ErrnoException) => {
      const [message, hint] =
        error.code === "EADDRINUSE"
          ? [
              `port ${port} is in use`,
              `stop what uses it, or take another one: radical dev --port ${port === 65_535 ? 8787 : port + 1}`,
            ]
          : [`can't listen on ${host}:${port}: ${error.message}`, "take another port, for example --port 8787"];
      reject(new CommandError("port_in_use", message, hint, { cause: error }));
    });
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}
