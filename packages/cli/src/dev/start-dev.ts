/**
 * `radical dev`: a whole deployment on this machine, and builds of the application that it serves. The LVI server with its
 * storage is a process of its own. Each location has a delayed link to it, and a Worker with its cache behind one port.
 */
import { readdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { LogRing } from "@radical/lvi-server";
import type { Manifest } from "@radical/protocol";
import {
  RestingCompiler,
  checkUserConfig,
  type Location,
  processPlace,
  type Project,
  readDevVars,
  readUserConfig,
  restBundler,
  startCompiler,
} from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import {
  type AppBindings,
  bindingsOfConfig,
  Closers,
  LocalDeployment,
  claimStateFolder,
  PROCESS_RECORD_FILE,
  type LviServerProcess,
  makeStateFolder,
  RUNNING_FILE,
} from "@radical/local";
import { KEY_FILE, loadDeploymentKeys } from "@radical/admin";
import { Builder } from "./builder.ts";
import { choosePort, MAX_PORT_WAIT_MS } from "./choose-port.ts";
import type { Control } from "./control-server.ts";
import { DevDeployment } from "./dev-deployment.ts";
import { DevTime } from "./dev-time.ts";
import { CENTRAL, type DevOptions } from "./dev-options.ts";
import type { DevEvent } from "./dev-events.ts";
import { DevSession } from "./dev-session.ts";
import { seedOfNewData } from "./seed-data.ts";
import { ServedTypes } from "./served-types.ts";

export interface DevServer {
  readonly url: string;
  readonly locations: readonly Location[];
  readonly manifest: () => Manifest;
  readonly lviServer: Pick<LviServerProcess, "address" | "pid">;
  /** The address of the dashboard; null: there is none. */
  readonly dashboard: string | null;
  /** Faults as they are, and switched. */
  readonly control: Control;
  /** Ends every process and closes every port. */
  stop(): Promise<void>;
}

/** Resolves once requests are served. Throws a CommandError, with nothing left running. */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const { signal } = options;
  const closers = new Closers();
  const onAbort = (): void => {
    // A failure here comes again below, where it is told.
    closers.close().catch(() => undefined);
  };
  signal?.addEventListener("abort", onAbort);
  try {
    return await startAll(options, closers);
  } catch (error) {
    // Also what was started while everything ended.
    await closers.close();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

async function startAll(options: DevOptions, closers: Closers): Promise<DevServer> {
  const { project, signal } = options;
  const onEvent = (event: DevEvent): void => {
    options.onEvent(event);
    // Of a run that has begun to build.
    if (event.event === "building" || event.event === "build_failed" || event.event === "built") deployment.changed();
  };
  const locations = locationsOf(options);
  const host = options.host ?? "127.0.0.1";
  const stateFolder = options.stateFolder ?? join(project.root, ".radical");
  await makeStateFolder(stateFolder);
  const { record, reaped, isAfterKill } = await claimStateFolder(stateFolder);
  closers.push(() => record.remove());
  if (reaped.length > 0) onEvent({ event: "reaped", pids: reaped });
  if (options.reset === true) onEvent({ event: "reset", deleted: await reset(project.root, stateFolder) });
  const time = await DevTime.open(stateFolder);
  // Only now: what an earlier run left behind may have held the port.
  const port = await choosePort(host, options.port, project.config.dev.port, isAfterKill ? MAX_PORT_WAIT_MS : 0);
  if (port !== (options.port ?? project.config.dev.port))
    onEvent({ event: "port_taken", wanted: project.config.dev.port, port });
  const local = new LocalDeployment(stateFolder, await loadDeploymentKeys(stateFolder), closers);

  const isWatching = options.watch === true;
  const colours = options.colours === true;
  const environment = options.environment ?? null;
  const vars = { ...(await readDevVars(project.root, environment)), ...options.vars };
  const bindings = readBindings(project, environment, vars);
  // Its error is told when the first build is done.
  bindings.catch(() => undefined);
  const compiler = new RestingCompiler({
    start: () => startCompiler({ colours, isKept: isWatching, place: processPlace }),
    after: (ms, call) => {
      const timer = setTimeout(call, ms).unref();
      return () => clearTimeout(timer);
    },
    onIdle: () => {
      const resting = session.inTurn(async () => {
        await compiler.rest();
        await restBundler();
        options.onRest?.();
      });
      // The developer loses nothing if they do not end.
      resting.catch(() => undefined);
    },
  });
  closers.push(() => session.settled());
  closers.push(() => compiler.close());
  const builder = new Builder({ project, compiler, optimize: options.optimize === true, colours, onEvent });
  // Before the server makes the data.
  let seed = seedOfNewData({
    project,
    isWanted: options.seed === true,
    stateFolder,
    server: () => deployment.primary,
    program: () => compiler.dataProgram("data"),
    onEvent,
    isOver: () => signal?.aborted === true,
  });
  const served = new ServedTypes({ stateFolder, acceptMisfits: options.acceptMisfits === true });
  const session: DevSession = new DevSession({
    ports: {
      build: async (changed, serving) => {
        const built = await builder.build(changed, serving);
        if (built.app !== null) await served.check(built.app.manifest);
        return built;
      },
      watch: () => {
        const watcher = builder.watch((changed) => session.saved(changed));
        closers.push(() => watcher.close());
      },
      wait: () => deployment.wait(),
      prepare: async (app) => {
        await bindings;
        await deployment.prepare(app);
      },
      // It may store items as soon as it serves.
      open: async (app) => {
        await served.serves(app.manifest);
        const seeding = seed?.(app);
        seed = null;
        await Promise.all([deployment.open(app), seeding]);
      },
      reload: async (app) => {
        await served.serves(app.manifest);
        await deployment.reload(app);
      },
    },
    isWatching,
    onEvent,
  });
  const deployment = new DevDeployment({
    ...options,
    onEvent,
    local,
    record,
    host,
    port,
    locations,
    readLeaseMs: options.readLeaseMs ?? project.config.readLeaseMs,
    log: new LogRing(),
    time,
    vars,
    bindings,
    build: () => session.build,
    report: () => builder.report,
    dataProgram: () => compiler.dataProgram("data"),
    inTurn: (work) => session.inTurn(work),
  });
  const stop = (): Promise<void> => {
    session.end(new Error("It was stopped."));
    return closers.close();
  };
  const onAbort = (): void => session.end(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    signal?.throwIfAborted();
    await session.start();
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  const { control } = deployment;
  if (control === null) throw new Error("The session is ready, and nothing serves.");
  return {
    url: deployment.url,
    dashboard: deployment.dashboardUrl,
    locations,
    manifest: () => session.app.manifest,
    lviServer: local.server,
    control,
    stop,
  };
}

/** Null: the project has no wrangler configuration. Throws a CommandError for one that can't be read, or contradicts Radical. */
async function readBindings(
  { root, config }: Project,
  environment: string | null,
  vars: Readonly<Record<string, string>>,
): Promise<AppBindings | null> {
  const user = await readUserConfig(root, environment);
  if (environment !== null && user?.environments.includes(environment) !== true)
    throw new CommandError(
      "usage",
      `--env ${environment}: ${user === null ? "the project has no wrangler configuration" : `${user.file} has no environment of that name`}.`,
      user === null || user.environments.length === 0
        ? "Leave --env out."
        : `Name one of these: ${user.environments.join(", ")}.`,
      { exitCode: EXIT_USAGE },
    );
  if (user === null) return null;
  // Here blobs are collected without a cron.
  checkUserConfig(user, { project: root, entry: config.worker, cache: config.cache, hasBlobs: false });
  return bindingsOfConfig(user, vars);
}

/** Those of the options or of the config. */
function locationsOf({ project, locations = project.config.dev.locations, central }: DevOptions): readonly Location[] {
  if (central !== true) return locations;
  if (locations.some(({ name }) => name === CENTRAL))
    throw new CommandError(
      "usage",
      `The application already has a location "${CENTRAL}".`,
      "Give it another name, or leave out --central.",
      { exitCode: EXIT_USAGE },
    );
  return [...locations, { name: CENTRAL, roundTripMs: 0 }];
}

/** Deletes data and caches; says what. */
async function reset(root: string, stateFolder: string): Promise<readonly string[]> {
  const kept = [KEY_FILE, PROCESS_RECORD_FILE, RUNNING_FILE];
  const names = (await readdir(stateFolder)).filter((name) => !kept.includes(name)).toSorted();
  for (const name of names) await rm(join(stateFolder, name), { recursive: true });
  return names.map((name) => relative(root, join(stateFolder, name)));
}
