/**
 * A whole deployment on one machine: the LVI server with its storage as a process of its own, one delayed link to it
 * for each location, and workerd with a Worker and its cache for each location behind one port.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, posix, relative } from "node:path";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { LogRing } from "@radical/lvi-server";
import type { Manifest, TestHooks } from "@radical/protocol";
import { counted } from "../terminal/terminal.ts";
import {
  type AppBuild,
  type BuildOutcome,
  buildApp,
  countDiagnostics,
  framesOf,
  plansOf,
  sourceFolders,
} from "../build/build-app.ts";
import { EntryError } from "../build/bundle-entry.ts";
import { bundleAppWorker, bundleDevWorker, bundleOwnWorker } from "../build/bundle.ts";
import { type AnalysisReport, type Compiler, startCompiler } from "../build/compile.ts";
import { linkStaticFiles } from "../build/static-files.ts";
import { writeWorkerTypes } from "../build/write-build.ts";
import { CommandError, EXIT_USAGE, messageOf } from "../command-error.ts";
import type { Location } from "../config/config.ts";
import { CONFIG_FILE, type Project } from "../config/load-config.ts";
import type { BuildState } from "./build-state.ts";
import { type Control, startControlServer } from "./control-server.ts";
import { type Address, type LinkFaults, startDelayProxy } from "../local/delay-proxy.ts";
import { KEY_FILE, loadDeploymentKey } from "../local/deployment-key.ts";
import type { DevEvent } from "./dev-events.ts";
import { FaultSwitches } from "../local/faults.ts";
import { type FrontServer, startFrontServer } from "./front-server.ts";
import { locationLine } from "./location-line.ts";
import { type LviServerProcess, startLviServer } from "../local/server-process.ts";
import { type Edge, type EdgeLocation, type EdgeOptions, type WorkerFiles, startEdge } from "../local/miniflare.ts";
import { claimStateFolder, PROCESS_RECORD_FILE } from "../local/process-record.ts";
import { registerModule } from "../local/register-module.ts";
import { RUNNING_FILE, type RunningDev, removeRunning, writeRunning } from "./running-dev.ts";
import { makeStateFolder } from "../local/state-folder.ts";
import { ToldDiagnostics } from "./told-diagnostics.ts";
import { type SourceWatcher, watchSources } from "./watch-sources.ts";

/** The name of the location beside the primary that {@link DevOptions.central} adds. */
export const CENTRAL = "central";

/** A location's way to the LVI server. */
export interface Link {
  /** Where the location sends its requests. */
  readonly address: Address;
  /** Without it the link has no faults of this kind. */
  setFaults?(faults: LinkFaults): void;
  close(): Promise<void>;
}

export interface DevOptions {
  readonly project: Project;
  readonly onEvent: (event: DevEvent) => void;
  /** Default: the config's, or the next one that is free. */
  readonly port?: number;
  readonly host?: string;
  /** Default: the config's. */
  readonly locations?: readonly Location[];
  /** Adds a location beside the primary that runs everything near storage: what an application without Radical does. */
  readonly central?: boolean;
  /** Where storage, caches, key and process ids are kept. Default: `.radical` in the project. */
  readonly stateFolder?: string;
  /** Deletes data and caches first. */
  readonly reset?: boolean;
  /** Variables of the application's own Worker, before those of `.dev.vars`. */
  readonly vars?: Readonly<Record<string, string>>;
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
  /** Faults as they are, and switched. */
  readonly control: Control;
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
  const named = options.locations ?? project.config.dev.locations;
  if (options.central === true && named.some(({ name }) => name === CENTRAL))
    throw new CommandError(
      "usage",
      `there is a location "${CENTRAL}" already`,
      "give it another name, or leave out --central",
      {
        exitCode: EXIT_USAGE,
      },
    );
  const locations = options.central === true ? [...named, { name: CENTRAL, roundTripMs: 0 }] : named;
  const stateFolder = options.stateFolder ?? join(project.root, ".radical");
  await makeStateFolder(stateFolder);
  const { record, reaped, isAfterKill } = await claimStateFolder(stateFolder);
  onStop(() => record.remove());
  if (reaped.length > 0) onEvent({ event: "reaped", pids: reaped });
  if (options.reset === true) onEvent({ event: "reset", deleted: await reset(project.root, stateFolder) });
  // Only now: what an earlier run left behind may have held the port.
  const port = await choosePort(host, options.port, project.config.dev.port, isAfterKill ? MAX_PORT_WAIT_MS : 0);
  if (port !== (options.port ?? project.config.dev.port))
    onEvent({ event: "port_taken", wanted: project.config.dev.port, port });

  const compiler = await startCompiler({ colours: options.colours === true, isKept: options.watch === true });
  onStop(() => compiler.close());
  signal?.throwIfAborted();
  const told = new ToldDiagnostics();
  let state: BuildState = { kind: "building" };
  /** What is watched: that of the last build, whatever came of it. */
  let folders: readonly string[] = [];
  let assetFolders: readonly string[] = [];
  const build = async (changed: readonly string[]): Promise<BuildOutcome> => {
    try {
      const outcome = await buildAndTell(project, compiler, changed, told, serving() !== null, options);
      state = stateOf(outcome, serving());
      ({ folders, assetFolders } = outcome);
      return outcome;
    } catch (error) {
      // The application's own Worker can't be bundled, say.
      state = stateOfFailure(error, serving());
      if (error instanceof EntryError) ({ folders, assetFolders } = await sourceFolders(project, error));
      throw error;
    }
  };
  let control: Control | null = null;
  let app: AppBuild | null = null;
  const serving = (): string | null => app?.manifest.module ?? null;

  /** One after the other. */
  let rebuilding: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = rebuilding.then(work);
    rebuilding = turn.catch(() => undefined);
    return turn;
  };
  onStop(async () => {
    await rebuilding;
  });
  let rebuild = build;
  let watcher: SourceWatcher | null = null;
  /** Builds on changes. */
  const watch = (): void => {
    const watched = (): readonly string[] => [".", ...folders, ...assetFolders];
    const started = watchSources(
      project.root,
      // A folder itself: one that was not there is made. What is in a static file is read when it is asked for.
      (path, change) =>
        path === CONFIG_FILE ||
        folders.includes(path) ||
        assetFolders.includes(path) ||
        (path.endsWith(".ts") && folders.includes(posix.dirname(path))) ||
        (change === "rename" && assetFolders.includes(posix.dirname(path))),
      (paths) => {
        if (paths.includes(CONFIG_FILE)) onEvent({ event: "config_changed" });
        const changed = paths.filter((path) => path !== CONFIG_FILE);
        if (changed.length === 0) return;
        // A folder that is new is watched before it is read: what comes into it meanwhile is another change.
        started.setFolders(watched());
        inTurn(() => rebuild(changed))
          .catch((error: unknown) => onEvent(eventOfFailure(error)))
          .finally(() => started.setFolders(watched()));
      },
    );
    started.setFolders(watched());
    onStop(() => started.close());
    watcher = started;
  };

  const log = new LogRing();
  const controlOptions = { build: () => state, control: () => control, log };
  let front: FrontServer | null = null;
  /** Listens from now on: until there is a build that serves, every request is answered with the state of the build. */
  const openFront = async (): Promise<FrontServer> => {
    if (front !== null) return front;
    const opened = await startFrontServer({ ...controlOptions, host, port });
    onStop(() => opened.close());
    return (front = opened);
  };
  /** The next build without errors. Until then every request is answered with them. */
  const nextBuild = async (): Promise<AppBuild> => {
    signal?.throwIfAborted();
    const { promise: next, resolve, reject } = Promise.withResolvers<AppBuild>();
    // Whatever comes of it is awaited behind the front server's start.
    next.catch(() => undefined);
    rebuild = async (changed) => {
      const outcome = await build(changed);
      if (outcome.app !== null) resolve(outcome.app);
      return outcome;
    };
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    const { url } = await openFront();
    onEvent({ event: "waiting_for_build", url });
    try {
      return await next;
    } finally {
      rebuild = build;
    }
  };
  const firstBuild = async (): Promise<Pick<BuildOutcome, "app">> => {
    try {
      return await build([]);
    } catch (error) {
      if (options.watch !== true || !(error instanceof EntryError)) throw error;
      onEvent(eventOfFailure(error));
      return { app: null };
    }
  };

  const [key, routerWorker, first] = await Promise.all([
    loadDeploymentKey(stateFolder),
    bundleOwnWorker("local/router.worker"),
    firstBuild(),
  ]);
  if (first.app !== null) app = first.app;
  else {
    if (options.watch !== true)
      throw new CommandError("build_failed", "the application has errors", "correct them and start again");
    watch();
    app = await nextBuild();
  }
  signal?.throwIfAborted();
  const controlServer = await startControlServer(controlOptions);
  onStop(() => controlServer.close());

  let current = app;
  let lviServer = "";
  let served: RunningDev["edge"] = null;
  const tellRunning = (): Promise<void> =>
    writeRunning(stateFolder, { pid: process.pid, lviServer, control: controlServer.url, edge: served });
  onStop(() => removeRunning(stateFolder));
  const server = await startLviServer({
    stateFolder,
    key,
    followupTimeoutMs: options.followupTimeoutMs ?? null,
    onStarted: async ({ address, pid, restarted }) => {
      await record.update();
      await registerModule(address, key, current);
      lviServer = `http://${address.host}:${address.port}`;
      await tellRunning();
      onEvent({ event: "server_started", pid, port: address.port, restarted });
    },
    onDied: (how) => onEvent({ event: "server_died", ...how }),
    onLog: (line) => onEvent({ event: "server_log", line }),
  });
  onStop(() => server.stop());
  signal?.throwIfAborted();

  const link = options.link ?? ((location, target): Promise<Link> => startDelayProxy({ ...location, target }));
  const links = new Map<string, Link>();
  const edgeLocations = await Promise.all(
    locations.map(async (location): Promise<EdgeLocation> => {
      const made = await link(location, () => server.address());
      onStop(() => made.close());
      links.set(location.name, made);
      return {
        name: location.name,
        primaries: [made.address],
        nearStorageOnly: location.name === CENTRAL && options.central === true,
      };
    }),
  );

  const ownVars = await devVars(project.root);
  const entryToken = randomUUID();
  const edgeOptions: EdgeOptions = {
    locations: edgeLocations,
    entryToken,
    key,
    vars: { ...ownVars, ...options.vars },
    routerWorker,
    cacheFolder: join(stateFolder, "cache"),
    isWipeable: true,
    onLog: (level, message) => {
      const event = eventOfWorkerLog(level, message);
      log.add(
        "level" in event && event.level !== "log" ? (event.level as "info") : "info",
        `${JSON.stringify(event)}\n`,
      );
      onEvent(event);
    },
  };
  /** A Worker of the application's own may have errors that show only now. */
  const startServing = async (): Promise<Edge> => {
    for (;;) {
      try {
        return await startEdge(edgeOptions, await workerFiles(current, options.testHooks, stateFolder));
      } catch (error) {
        if (options.watch !== true || !(error instanceof CommandError)) throw error;
        app = null;
        state = stateOfFailure(error, null);
        onEvent(eventOfFailure(error));
        if (watcher === null) watch();
        app = current = await nextBuild();
        await registerModule(server.address(), key, current);
      }
    }
  };
  const edge = await startServing();
  onStop(() => edge.close());
  const opened = await openFront();
  const { url } = opened;
  signal?.throwIfAborted();
  await record.update();

  const switches = new FaultSwitches(new Map(locations.map(({ name }) => [name, links.get(name)!])));
  control = {
    openApi: () => current.openApi,
    locations: locations.map(({ name }) => name),
    faults: () => switches.faults,
    change: async (change) => {
      const { wipeCaches, killServer, ...switched } = change;
      const faults = switches.set(switched);
      if (Object.keys(switched).length > 0) onEvent({ event: "faults", ...faults });
      if (killServer === true) await server.kill();
      if (wipeCaches !== undefined && wipeCaches.length > 0) {
        await inTurn(() => edge.wipeCaches(wipeCaches));
        await record.update();
        onEvent({ event: "caches_wiped", locations: wipeCaches });
      }
      return faults;
    },
  };

  rebuild = async (changed) => {
    const startedAtMs = performance.now();
    try {
      const outcome = await build(changed);
      if (outcome.app !== null && !isServed(outcome.app, current)) {
        await registerModule(server.address(), key, outcome.app);
        await edge.reload(await workerFiles(outcome.app, options.testHooks, stateFolder));
        app = current = outcome.app;
        const { module } = current.manifest;
        onEvent({ event: "serving", module, ms: Math.round(performance.now() - startedAtMs) });
        void record.update();
      }
      return outcome;
    } catch (error) {
      state = stateOfFailure(error, serving());
      throw error;
    }
  };
  if (options.watch === true && watcher === null) watch();

  opened.serve({ url: edge.url, token: entryToken });
  served = { url, locations: locations.map(({ name }) => name) };
  await tellRunning();
  onEvent({ event: "ready", url, locations, handlers: Object.keys(current.manifest.handlers) });
  return {
    url,
    locations,
    manifest: () => current.manifest,
    lviServer: server,
    control,
    stop,
  };
}

/** Whether locations that run the one need not be told of the other. */
function isServed(built: AppBuild, current: AppBuild): boolean {
  return (
    built.manifest.module === current.manifest.module &&
    built.worker === current.worker &&
    isDeepStrictEqual(built.assets, current.assets)
  );
}

/** Variables and secrets of the application's own Worker on this machine, as `.dev.vars` has them: `NAME=value` lines. */
async function devVars(root: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(root, ".dev.vars"), "utf8").catch(() => "");
  return Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ""]));
}

function stateOf({ app, report }: BuildOutcome, serving: string | null): BuildState {
  if (app !== null) return { kind: "good", module: app.manifest.module };
  const { diagnostics } = report;
  const words = counted(countDiagnostics(diagnostics).errors, "error");
  return { kind: "failed", words, serving, diagnostics, frames: framesOf(report, "error") };
}

function stateOfFailure(error: unknown, serving: string | null): BuildState {
  return { kind: "failed", words: "an error", serving, diagnostics: [], frames: [messageOf(error)] };
}

/** Deletes data and caches; says what. */
async function reset(root: string, stateFolder: string): Promise<readonly string[]> {
  const kept = [KEY_FILE, PROCESS_RECORD_FILE, RUNNING_FILE];
  const names = (await readdir(stateFolder)).filter((name) => !kept.includes(name)).toSorted();
  for (const name of names) await rm(join(stateFolder, name), { recursive: true });
  return names.map((name) => relative(root, join(stateFolder, name)));
}

/** Tells of the build as it goes. `changed` is empty for the first one. */
async function buildAndTell(
  project: Project,
  compiler: Compiler,
  changed: readonly string[],
  told: ToldDiagnostics,
  serving: boolean,
  { onEvent, optimize = false, colours = false }: DevOptions,
): Promise<BuildOutcome> {
  onEvent({ event: "building", changed });
  const startedAtMs = performance.now();
  const ms = (): number => Math.round(performance.now() - startedAtMs);
  const onAnalyzed = (analysis: AnalysisReport): void => {
    const { diagnostics } = analysis;
    onEvent({ event: "analyzed", plans: plansOf(analysis), ms: ms(), diagnostics, frames: told.untold(analysis) });
  };
  const outcome = await buildApp(project, compiler, { optimize, isReplaceable: true, colours, onAnalyzed });
  if (outcome.app !== null) await writeWorkerTypes(project, outcome.app);
  const { app, report } = outcome;
  const { diagnostics } = report;
  const frames = told.untold(report);
  if (app === null) {
    onEvent({
      event: "build_failed",
      errors: countDiagnostics(diagnostics).errors,
      serving,
      diagnostics,
      frames,
    });
  } else {
    const leftOut = told.untoldFiles(app.leftOutFiles);
    if (leftOut.length > 0) onEvent({ event: "static_files_left_out", files: leftOut });
    onEvent({
      event: "built",
      module: app.manifest.module,
      plans: plansOf(report),
      ms: ms(),
      diagnostics,
      frames,
    });
  }
  return outcome;
}

async function workerFiles(app: AppBuild, testHooks: TestHooks | undefined, stateFolder: string): Promise<WorkerFiles> {
  const manifest: Manifest = testHooks === undefined ? app.manifest : { ...app.manifest, testHooks };
  const assets = app.assets === null ? null : { ...app.assets, folder: join(stateFolder, "static") };
  if (assets !== null) await linkStaticFiles(assets.files, assets.folder);
  const isOwn = app.worker !== (await bundleAppWorker());
  return {
    worker: isOwn ? app.worker : await bundleDevWorker(),
    wasm: app.content.wasm,
    rwWasm: app.content.rwWasm,
    manifest: JSON.stringify(manifest),
    isReplaceable: true,
    cache: manifest.cache.kind,
    assets,
  };
}

function eventOfWorkerLog(level: string, message: string): DevEvent {
  try {
    const line = locationLine(JSON.parse(message));
    if (line !== null) return line;
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

/** Ports that are tried from the configured one on. */
const PORTS_TRIED = 20;
/** A killed process counts as ended when its first thread has, and holds its ports until its last one has. */
const MAX_PORT_WAIT_MS = 5_000;
const PORT_POLL_MS = 50;

/**
 * The port that was asked for, or the configured one or else the next that is free. The first of them is waited for if
 * what held it is ending. Said before anything is built or started. Throws a CommandError.
 */
async function choosePort(
  host: string,
  asked: number | undefined,
  configured: number,
  waitMs: number,
): Promise<number> {
  const first = asked ?? configured;
  if (first === 0) return first;
  for (let waited = 0; waited < waitMs && (await listenError(host, first)) !== null; waited += PORT_POLL_MS)
    await delay(PORT_POLL_MS);
  const tried = asked === undefined ? Math.min(PORTS_TRIED, 65_536 - first) : 1;
  for (let port = first; port < first + tried; port++) {
    const error = await listenError(host, port);
    if (error === null) return port;
    if (error.code !== "EADDRINUSE") {
      const message = `can't listen on ${host}:${port}: ${error.message}`;
      throw new CommandError("port_in_use", message, "take another port, for example --port 8787", { cause: error });
    }
  }
  const next = first + tried > 65_535 ? 8787 : first + tried;
  throw new CommandError(
    "port_in_use",
    tried === 1 ? `port ${first} is in use` : `the ports ${first} to ${first + tried - 1} are in use`,
    `stop what uses it, or take another one: radical dev --port ${next}`,
  );
}

async function listenError(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
