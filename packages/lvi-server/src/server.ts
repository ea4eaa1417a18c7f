/** The LVI server put together: storage, core, workers, HTTP. */
import { randomInt, randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  decodeModuleContent,
  INDEX_STATES,
  type ModuleContent,
  type OtlpTarget,
  plansOf,
  type QuietSecond,
  RadicalError,
  tablesOf,
  type UnitId,
} from "@radical/protocol";
import type { Budget } from "./core/budgets.ts";
import { type Intent, itemsReadBy } from "./core/intent.ts";
import type { Leadership } from "./core/leadership.ts";
import { type CoreOptions, DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
import { indexStates } from "./core/index-state.ts";
import type { CurrentModule } from "./core/module-table.ts";
import { LviCore, type Now } from "./core/lvi-core.ts";
import type { StoredItem } from "./core/version-table.ts";
import { nextCron } from "./cron.ts";
import { Engine, type OnHalt } from "./engine.ts";
import { checkModule } from "./execution/module-check.ts";
import { WorkerPool } from "./execution/worker-pool.ts";
import { executorWithFailpoints, storageWithFailpoints } from "./failpoint-ports.ts";
import { failpoint } from "./failpoints.ts";
import { beginning } from "./http/asked-once.ts";
import { createHttpServer, type ServerState, type Serving, stateNameOf } from "./http/http-server.ts";
import type { KeyRing } from "./http/keys.ts";
import { acquireLeadership, holding, PROCESS_CLOCK } from "./leadership.ts";
import { Garbage } from "./garbage.ts";
import { LoadShedding, watchLoad } from "./load-shedding.ts";
import type { Log } from "./log.ts";
import { type MemoryBudget, memoryBudget, processMemory } from "./memory-budget.ts";
import { Metrics } from "./metrics.ts";
import { ProcessVitals } from "./process-vitals.ts";
import { readSchedules } from "./schedules-read.ts";
import { ServiceCaller } from "./service-caller.ts";
import { observedStorage, type Operation } from "./storage/observed-storage.ts";
import { LOOK_MS, QuietTimes } from "./storage/quiet-times.ts";
import { RecordingKeys } from "./storage/sealing/recording-keys.ts";
import { SealedStorage } from "./storage/sealing/sealed-storage.ts";
import type { SealingKeyStore } from "./storage/sealing/sealing-key.ts";
import { SqliteStorage } from "./storage/sqlite-storage.ts";
import {
  OF_NO_APPLICATION,
  type SchemaState,
  type Storage,
  StorageError,
  type StoredModule,
} from "./storage/storage.ts";
import { STORAGE_PATIENCE_MS, StorageWatch, type StorageWork } from "./storage-watch.ts";
import type { Ahead } from "./virtual-time.ts";
import { Traces } from "./traces.ts";
import { ownOrigin, TunnelWatch } from "./tunnel-watch.ts";
import { VitalsWatch } from "./vitals-watch.ts";

export interface ServerOptions {
  /** The SQLite file, or a storage that the server closes when it ends. */
  readonly storage: string | Storage;
  /** How calls are sealed in the storage. Left out: they are not. */
  readonly sealing?: Sealing;
  /** How keys of recordings are kept. Left out: it makes none. */
  readonly recordings?: Recordings;
  /** Replacing what it holds needs no restart. */
  readonly keys: KeyRing;
  /** Loopback unless told otherwise. */
  readonly host?: string;
  /** 0: any free port. */
  readonly port?: number;
  /** Worker threads that run handlers. */
  readonly workers?: number;
  /** Longest run of a handler near storage. */
  readonly executionLimitMs?: number;
  /** Longest run of one that keeps others waiting. */
  readonly crowdedLimitMs?: number;
  /** How often what was kept long enough is collected. */
  readonly collectIntervalMs?: number;
  /** How often an answer that goes on, as the log does, shows that it does. */
  readonly heartbeatMs?: number;
  /** How long storage that several servers share waits for one that has died. */
  readonly leaseMs?: number;
  /** Where locations reach this server: standbys tell it to whoever asks them. */
  readonly advertise?: string;
  /** The name of its deployment: questions of operators' commands that are to another one are refused. Left out: it takes any. */
  readonly deployment?: string;
  /** Origin of the application's Worker, which has its services. Left out: the one that a module was registered with. */
  readonly workerUrl?: string;
  /** Whether it moves the storage to the newest schema as soon as it leads. Default: it waits until it is told to. */
  readonly finishesUpgrade?: boolean;
  /** By how much the time of tasks is ahead of this machine's at the start, and may be moved on. Left out: nobody moves it. */
  readonly virtualTimeMs?: number;
  readonly core?: Partial<Omit<CoreOptions, "location">>;
  /** How the server watches itself. */
  readonly watch?: Watching;
  /** Where spans of executions go. Left out: there are none. */
  readonly traces?: OtlpTarget;
  /** Delay of the event loop beyond which new requests are refused. Left out: it is not looked at. */
  readonly shedDelayMs?: number;
  /** What one location may use at once, and in the long run of the workers' time. */
  readonly location?: Partial<Pick<Budget, "executions" | "units" | "bytes">> & { readonly workersPercent?: number };
  readonly log: Log;
  readonly onHalt: OnHalt;
}

export interface Watching {
  /** How often. */
  readonly intervalMs?: number;
  /** How long the storage may keep the server from its work before somebody is called. */
  readonly storagePatienceMs?: number;
  /** Namespace in CloudWatch of the metrics that each look writes into the log. Left out: none are written. */
  readonly namespace?: string;
  /** Memory that the process may take, divided among all that it keeps. Left out: that of its control group, or of the machine. */
  readonly memoryBytes?: number;
  /** A URL that answers 200 while the tunnel is connected, and the name of the machine. Left out: the log has no line about it. */
  readonly tunnel?: { readonly url: string; readonly node: string };
}

export interface Sealing {
  /** The server closes it when it ends. */
  readonly keys: SealingKeyStore;
  /** Whether promises that can't be opened are given up at the start. Default: the server does not start then. */
  readonly givesUp?: boolean;
}

export interface Recordings {
  /** The server closes it when it ends. */
  readonly keys: SealingKeyStore;
  /** How long a recording can be read. */
  readonly retentionMs: number;
}

export interface RunningServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly epoch: number;
  readonly engine: Engine;
  /** Refuses new executions, lets those under way end for at most this long, and frees everything. */
  close(drainMs?: number): Promise<void>;
}

/** Operations of a leader that are watched. A candidate knows itself whether it waits in good order. */
const WORK: Readonly<Partial<Record<Operation, StorageWork>>> = {
  renew_lease: "lead",
  store_intent: "write",
  complete: "write",
};
/** Less than the time in which a location answers its client, so that the client is told. */
const DEFAULT_EXECUTION_LIMIT_MS = 10_000;
const DEFAULT_CROWDED_LIMIT_MS = 500;
const DEFAULT_COLLECT_INTERVAL_MS = 60_000;
/** The alarms of a deployment expect a line of metrics each minute. */
const DEFAULT_WATCH_INTERVAL_MS = 60_000;
/** So that a handler in an endless loop leaves one for the others. */
const MIN_WORKERS = 2;
const DEFAULT_DRAIN_MS = 5_000;
const DEFAULT_LEASE_MS = 5_000;
const DEFAULT_WORKERS_PERCENT = 75;

/**
 * Resolves when the server serves: after it has taken over the storage and adopted the pending intents. It listens before,
 * and says that it is not ready. Rejects with a MemoryBudgetError, before all else, if there is too little memory.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log, onHalt } = options;
  const now = (): number => Date.now();
  let state: ServerState = { kind: "not-serving", reason: "starting", leader: null };
  let pool: WorkerPool | null = null;
  let epoch = 0;
  const { watch: watching = {} } = options;
  const { deployment = null } = options;
  const traces = options.traces === undefined ? null : tracesTo(options.traces, deployment, log);
  const memory = processMemory(watching.memoryBytes ?? null);
  const budget = memoryBudget(memory, {
    workers: options.workers ?? null,
    coreWorkers: Math.max(MIN_WORKERS, availableParallelism() - 1),
    locationBytes: options.location?.bytes ?? null,
  });
  log.info("memory_budget", { bytes: memory.bytes, origin: memory.origin, ...budget });
  const vitals = new ProcessVitals(memory.bytes);
  let loopDelayMs = 0;
  const metrics: Metrics = new Metrics({
    load: () => (state.kind === "not-serving" ? null : state.engine.load),
    workflows: () => (state.kind === "not-serving" ? null : state.engine.workflowCounts),
    taskStartDelays: () => (state.kind === "not-serving" ? null : state.engine.taskStartDelays),
    services: () => (state.kind === "not-serving" ? [] : state.engine.services.services),
    workers: () => pool?.load ?? null,
    epoch: () => epoch,
    listeners: () => (state.kind === "not-serving" ? 0 : state.engine.listeners),
    leases: () => (state.kind === "not-serving" ? null : state.engine.leaseCounts),
    throttles: () => opened.throttles ?? 0,
    traces: () => traces?.counts ?? null,
    memoryBoundBytes: () => vitals.memoryBoundBytes,
    loopDelayMs: () => loopDelayMs,
  });
  const opened: Storage =
    typeof options.storage === "string" ? new SqliteStorage(options.storage, options.keys.callHashes) : options.storage;
  const { sealing, core: { retentionMs = DEFAULT_CORE_OPTIONS.retentionMs } = {} } = options;
  const quiet = quietTimesOf(opened, () => epoch, log);
  const watched = quiet?.observing(opened) ?? opened;
  const sealed =
    sealing === undefined
      ? null
      : new SealedStorage(watched, { givesUp: false, ...sealing, retentionMs, log, nowMs: now });
  const recordings =
    options.recordings === undefined ? null : new RecordingKeys({ ...options.recordings, log, nowMs: now });
  const { storagePatienceMs: patienceMs = STORAGE_PATIENCE_MS } = watching;
  const storageWatch = new StorageWatch({ log, now: () => PROCESS_CLOCK.now(), patienceMs });
  const storage = observedStorage(storageWithFailpoints(sealed ?? watched), (operation, tookMs, failure) => {
    metrics.operated(operation, tookMs, failure?.effect ?? null);
    const work = WORK[operation];
    if (work === undefined) return;
    if (failure === null) storageWatch.succeeded(work);
    else storageWatch.failed(work, failure.reason);
  });
  const { keys, heartbeatMs } = options;
  const heartbeat = heartbeatMs === undefined ? {} : { heartbeatMs };
  const itself = options.deployment === undefined ? {} : { deployment: options.deployment };
  const { receivingBytes, unreadBytes } = budget;
  const garbage = new Garbage(memory.bytes);
  const bounds = { receivingBytes, unreadBytes, received: (bytes: number) => garbage.received(bytes) };
  let schema: SchemaState | null = null;
  const views = { now, state: () => state, schema: () => schema };
  const http = createHttpServer({ keys, log, metrics, ...views, ...bounds, ...heartbeat, ...itself });
  const host = options.host ?? "127.0.0.1";
  try {
    await listen(http, options.port ?? 0, host);
  } catch (error) {
    vitals.stop();
    await storage.close();
    throw error;
  }
  const { port } = http.address() as AddressInfo;
  log.info("http_listening", { host, port });
  const { tunnel: way = null } = watching;
  const stopTunnelWatch =
    way === null
      ? null
      : new TunnelWatch({ node: way.node, server: ownOrigin(host, port), tunnel: way.url }, log).start();
  const watch = new VitalsWatch({
    state: () => stateNameOf(state),
    totals: () => metrics.totals,
    standing: () => {
      loopDelayMs = vitals.takeLoopDelayMs();
      const { memoryBytes, memoryBoundBytes } = vitals;
      const load = state.kind === "not-serving" ? null : state.engine.load;
      return { load, memoryBytes, memoryBoundBytes, loopDelayMs };
    },
    log,
    now,
    intervalMs: watching.intervalMs ?? DEFAULT_WATCH_INTERVAL_MS,
    namespace: watching.namespace ?? null,
  });
  const shedding = new LoadShedding({
    mostLateMs: options.shedDelayMs ?? 0,
    memoryBytes: memory.bytes,
    log,
    changed: (reason) => {
      if (state.kind === "serving") state.engine.shed(reason);
    },
  });
  const stopShedding = watchLoad(
    shedding,
    garbage,
    () => performance.now(),
    () => vitals.memoryBytes,
  );
  const stopListening = (): Promise<void> => {
    stopShedding();
    watch.stop();
    stopTunnelWatch?.();
    vitals.stop();
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    http.closeIdleConnections();
    // Answers that have just been given are on their way.
    setImmediate(() => http.closeAllConnections());
    return closed;
  };

  const leading = {
    storage,
    termMs: options.leaseMs ?? DEFAULT_LEASE_MS,
    leader: options.advertise ?? null,
    log,
    clock: PROCESS_CLOCK,
    wallMs: now,
    watch: storageWatch,
    onStandby: ({ leader }: Leadership) => (state = { kind: "not-serving", reason: "standby", leader: leader ?? null }),
  };
  /** Until then read leases of an earlier server may live. */
  let inheritedUntilMs = -Infinity;
  const release = async (engine: Engine | null): Promise<void> => {
    // A successor need not wait it out, unless read leases are left: then it finds out how long they may last.
    const isClear = PROCESS_CLOCK.now() >= inheritedUntilMs && engine?.isClear !== false;
    if (epoch > 0 && isClear)
      await storage
        .renewLeadership(epoch, 0)
        .catch((error: unknown) => log.warn("leadership_not_released", { reason: String(error) }));
    await recordings?.close();
    await storage.close();
  };
  const upgrade = async (isFinished: boolean): Promise<SchemaState> => {
    const upgraded = await storage.upgrade(epoch, isFinished);
    if (upgraded === null) throw new StorageError("none", "Another server has taken over.");
    const before = schema;
    schema = upgraded;
    const { written, newest } = upgraded;
    if (before !== null && before.written !== written) log.info("upgraded", { from: before.written, to: written });
    if (written < newest) log.info("upgrade_not_finished", { written, newest });
    if (opened instanceof SqliteStorage && opened.notice !== null)
      log.warn("storage_notice", { reason: opened.notice });
    return upgraded;
  };
  try {
    schema = await storage.readSchema();
    const acquired = await acquireLeadership(leading);
    epoch = acquired.epoch;
    inheritedUntilMs = acquired.readLeasesUntilMs;
    failpoint("start.leadership-acquired");
    state = { kind: "not-serving", reason: "recovering", leader: null };
    let known: readonly StoredModule[] = [];
    const { result: found, leadership } = await holding(leading, acquired, async () => {
      await upgrade(options.finishesUpgrade === true);
      await sealed?.begin();
      known = await storage.modules();
      const pending = await storage.recover(epoch);
      // Nobody writes meanwhile.
      const states = await storage.scan({ table: INDEX_STATES, from: null, to: null }, MOST_INDEXES);
      const current = await currentModule(storage, known);
      const schedules = await readSchedules(storage);
      return { pending, items: await itemsRead(storage, pending), indexes: indexStates(states), current, schedules };
    });
    const { pending, items, indexes, current, schedules } = found;
    void recordings?.begin();
    failpoint("start.recovered");
    log.info("recovered", { epoch, pending: pending.length, modules: known.length });

    const recovered = {
      epoch,
      pending,
      items,
      modules: new Map(known.map(({ hash, plans }) => [hash, plans])),
      moduleUses: new Map(known.flatMap(({ hash, usedAtMs }) => (usedAtMs === null ? [] : [[hash, usedAtMs]]))),
      moduleTables: new Map(known.flatMap(({ hash, tables }) => (tables === undefined ? [] : [[hash, tables]]))),
      moduleIndexes: new Map(known.flatMap(({ hash, indexes: named }) => (named === undefined ? [] : [[hash, named]]))),
      indexes,
      schedules,
      ...current,
      leadership: storage.isExclusive ? null : leadership,
      readLeasesUntilMs: acquired.readLeasesUntilMs,
      namedReadLeaseMs: acquired.readLeaseMs,
      ...(acquired.setBackEpoch === undefined ? {} : { setBackEpoch: acquired.setBackEpoch }),
    };
    const ahead: Ahead = { ms: options.virtualTimeMs ?? 0 };
    const coreNow = (): Now => ({ monotonicMs: PROCESS_CLOCK.now(), wallMs: now() + ahead.ms, aheadMs: ahead.ms });
    const { collectIntervalMs = DEFAULT_COLLECT_INTERVAL_MS } = options;
    const { workers } = budget;
    const { workersPercent = DEFAULT_WORKERS_PERCENT, ...counted } = options.location ?? {};
    const location = {
      ...DEFAULT_CORE_OPTIONS.location,
      ...counted,
      bytes: budget.locationBytes,
      workers: (workers * workersPercent) / 100,
    };
    const core = new LviCore(
      {
        ...DEFAULT_CORE_OPTIONS,
        ...coreBounds(budget),
        hashSeed: randomInt(2 ** 32),
        sessionNumber: randomNumber,
        ...options.core,
        location,
      },
      recovered,
      coreNow(),
      keys.callHashes,
      nextCron,
    );
    pool = new WorkerPool({
      workers,
      heapBytes: budget.heapBytes,
      sentBytes: budget.sentBytes,
      limitMs: options.executionLimitMs ?? DEFAULT_EXECUTION_LIMIT_MS,
      crowdedLimitMs: options.crowdedLimitMs ?? DEFAULT_CROWDED_LIMIT_MS,
      moduleContent: (hash) => storage.moduleContent(hash),
      onRun: ({ access, followers = [] }, { result, tookMs, followers: ended = [] }) => {
        metrics.ran(access.kind, result.kind, tookMs);
        for (const [index, each] of ended.entries())
          metrics.ran(followers[index]?.access.kind ?? access.kind, each.result.kind, each.tookMs);
      },
    });
    let putAtMs = Math.max(0, ...known.map((module) => module.putAtMs ?? 0));
    const executor = executorWithFailpoints(pool);
    const engine = new Engine({
      core,
      epoch,
      storage,
      executor,
      services: new ServiceCaller(options.workerUrl ?? lastWorker(known), keys, now),
      log,
      metrics,
      now: coreNow,
      ahead: options.virtualTimeMs === undefined ? null : ahead,
      collectIntervalMs,
      onHalt,
      traces,
    });
    let registering: Promise<void> = Promise.resolve();
    const aside = new Set(known.flatMap(({ hash, putAtMs: atMs }) => (atMs === OF_NO_APPLICATION ? [hash] : [])));
    const serving: Serving = {
      engine,
      epoch,
      sinceMs: beginning(now),
      isAside: (hash) => aside.has(hash),
      moduleRetentionMs: options.core?.moduleRetentionMs ?? DEFAULT_CORE_OPTIONS.moduleRetentionMs,
      hasModule: (hash) => engine.hasModule(hash),
      recordings,
      finishUpgrade: () => upgrade(true),
      makeQuietTime: () => quietSecond(quiet, log),
      registerModule: (hash, content, bytes, worker, isAside) => {
        const register = async (): Promise<void> => {
          checkAbi(content, schema);
          const plans = new Map(Object.entries(plansOf(content)));
          const atMs = coreNow().wallMs;
          const {
            indexes: named = [],
            tasks: rules = {},
            services: declared = {},
            secrets,
            tables: tableRules,
          } = content;
          // Also if the clock was set back. A time is used once, since a registration that fails may be in storage all the same.
          if (!isAside) putAtMs = Math.max(putAtMs + 1, atMs);
          const staysAside = isAside && (aside.has(hash) || !engine.hasModule(hash));
          const put = staysAside ? { putAtMs: OF_NO_APPLICATION } : isAside ? {} : { putAtMs };
          const workerUrl = worker === null ? {} : { workerUrl: worker };
          const used = { usedAtMs: atMs, registeredAtMs: atMs, ...put };
          const module = { hash, plans, tables: tablesOf(content), indexes: named, ...used, ...workerUrl };
          await engine.registerModule(module, bytes, { rules, services: declared, isAside, secrets, tableRules });
          if (staysAside) aside.add(hash);
          else aside.delete(hash);
          log.info("module_registered", { module: hash, handlers: plans.size });
          if (isAside) return;
          // An operator's configuration counts more.
          if (worker !== null && options.workerUrl === undefined) engine.callServicesAt(worker);
          if (engine.services.worker === null && Object.keys(declared).length > 0)
            log.warn("worker_url_missing", { module: hash, reason: WORKER_URL_MISSING });
        };
        // One after the other: the last one is that of tasks, in memory as in storage.
        const registered = registering.then(() => {
          checkModule(hash, content);
          return register();
        });
        registering = registered.catch(() => {});
        return registered;
      },
    };
    state = { kind: "serving", ...serving };
    engine.shed(shedding.reason);
    failpoint("start.listening");
    // The server before may have ended between a registration and this.
    void engine.retryMisfits();

    const looking = setInterval(() => quiet?.look(), LOOK_MS);
    looking.unref();
    let closing: Promise<void> | null = null;
    const close = async (drainMs: number): Promise<void> => {
      state = { kind: "draining", ...serving };
      clearInterval(looking);
      quiet?.stop();
      const drained = engine.drain(drainMs);
      failpoint("stop.draining");
      await drained;
      failpoint("stop.drained");
      // Before the connections go: who still waits is told to ask the next server.
      engine.close();
      const told = traces?.close();
      await stopListening();
      await executor.close();
      await release(engine);
      // A successor does not wait for the collector.
      await told;
      log.info("stopped", { epoch });
    };
    return {
      host,
      port,
      url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
      epoch,
      engine,
      close: (drainMs = DEFAULT_DRAIN_MS) => (closing ??= close(drainMs)),
    };
  } catch (error) {
    state = { kind: "not-serving", reason: "stopped", leader: null };
    await Promise.all([stopListening(), release(null)]);
    throw error;
  }
}

function tracesTo(target: OtlpTarget, deployment: string | null, log: Log): Traces {
  const instance = {
    "service.name": target.service ?? "radical-primary",
    "service.instance.id": randomUUID(),
    "telemetry.sdk.language": "nodejs",
  };
  const resource = deployment === null ? instance : { ...instance, "deployment.environment.name": deployment };
  return new Traces({ ...target, resource, log });
}

/** The bounds of the core that memory decides. */
function coreBounds({
  hotBytes,
  finishedBytes,
  requestBytes,
  taskBytes,
  laneBytes,
}: MemoryBudget): Partial<CoreOptions> {
  const tasks = { ...DEFAULT_CORE_OPTIONS.tasks, mostBytes: taskBytes, laneBytes };
  return { hotBytes, finishedBytes, requestBytes, tasks };
}

/** Of 53 bits. */
function randomNumber(): number {
  return randomInt(2 ** 26) * 2 ** 27 + randomInt(2 ** 27);
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, resolve);
  });
}

/** A server of the release before may have to complete what calls of the module leave pending. Throws a RadicalError. */
function checkAbi({ abi }: ModuleContent, schema: SchemaState | null): void {
  if (schema === null || abi <= schema.abi) return;
  throw new RadicalError(
    "upgrade_not_finished",
    `The module has ABI version ${abi}, and the storage has schema ${schema.written}, whose servers run versions up to ${schema.abi}.`,
    "Finish the upgrade first, after which no earlier release can serve: radical deploy --finalize",
  );
}

/** Null: the storage does not keep them. */
function quietTimesOf(storage: Storage, epoch: () => number, log: Log): QuietTimes | null {
  if (storage.keepQuietTime === undefined) return null;
  const clock = {
    monotonicMs: () => PROCESS_CLOCK.now(),
    wallMs: () => Date.now(),
    wait: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
  };
  return new QuietTimes(clock, async (time) => {
    try {
      return (await storage.keepQuietTime?.(epoch(), time)) === true;
    } catch (error) {
      log.warn("quiet_time_not_kept", { reason: String(error) });
      return false;
    }
  });
}

/** Throws a RadicalError. */
async function quietSecond(quiet: QuietTimes | null, log: Log): Promise<QuietSecond> {
  if (quiet === null) return { timeMs: null };
  const beganMs = PROCESS_CLOCK.now();
  const tookMs = (): number => Math.round(PROCESS_CLOCK.now() - beganMs);
  try {
    const timeMs = await quiet.pause();
    log.info("writes_paused", { restorable: new Date(timeMs).toISOString(), tookMs: tookMs() });
    return { timeMs };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    log.warn("writes_not_paused", { reason: error.message, tookMs: tookMs() });
    throw new RadicalError("primary_busy", error.message, "Run the command again.");
  }
}

const WORKER_URL_MISSING =
  "The module has services, and this server does not know where to call them, so their tasks wait. Set --worker-url.";

/** Indexes whose states a starting server reads. */
const MOST_INDEXES = 100_000;

/** How much is read for all pending intents together. */
const MOST_UNITS = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Where the application's Worker was when a module was last registered with it; null: nobody has said. */
function lastWorker(known: readonly StoredModule[]): string | null {
  const told = known.filter(({ workerUrl }) => workerUrl !== undefined);
  return told.toSorted((a, b) => (b.putAtMs ?? 0) - (a.putAtMs ?? 0))[0]?.workerUrl ?? null;
}

/** The one that was registered last. Its content has the rules of its tasks. */
async function currentModule(
  storage: Storage,
  known: readonly StoredModule[],
): Promise<{ readonly current?: CurrentModule }> {
  const put = known.filter(({ putAtMs = OF_NO_APPLICATION }) => putAtMs > OF_NO_APPLICATION);
  const last = put.toSorted((a, b) => (b.putAtMs ?? 0) - (a.putAtMs ?? 0))[0];
  const content = last === undefined ? null : await storage.moduleContent(last.hash);
  if (last === undefined || content === null) return {};
  const { tasks: rules = {}, services = {}, tables: tableRules = {} } = decodeModuleContent(content);
  return { current: { module: last.hash, rules, services, tableRules } };
}

/**
 * What pending intents have read, in one load for all of them instead of one for each that is re-executed. Nobody writes
 * meanwhile: what an earlier server has still on its way has no effect once their intents are adopted. It only saves time, so
 * that what can't be read is left out.
 */
async function itemsRead(
  storage: Storage,
  pending: readonly Intent[],
): Promise<ReadonlyMap<UnitId, StoredItem | null>> {
  const units = new Set<UnitId>();
  for (const intent of pending) if (units.size < MOST_UNITS) for (const unit of itemsReadBy(intent)) units.add(unit);
  if (units.size === 0) return new Map();
  const items = await storage.load([...units], MOST_BYTES).catch(() => null);
  return new Map(items === null ? [] : Array.from(units, (unit) => [unit, items.get(unit) ?? null]));
}
