/** The processes of `radical dev`: the LVI server, the locations with their links to it, and the one port in front of them. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import type { LogRing } from "@radical/lvi-server";
import { Reckoner } from "@radical/dashboard/model";
import {
  CONTENTION_PATH,
  type ContentionReport,
  type DashboardTime,
  type Life,
  lifeIn,
  type Manifest,
} from "@radical/protocol";
import {
  type AppBuild,
  bundleAppWorker,
  bundleDevWorker,
  type Compilation,
  linkStaticFiles,
  blobVarsOf,
  type Location,
  isLoopbackName,
} from "@radical/app";
import {
  type LocalDeployment,
  bundleRouter,
  type AppBindings,
  FaultSwitches,
  type Edge,
  type EdgeLocation,
  type WorkerFiles,
  type ProcessRecord,
  registerModule,
  untilServable,
  removeRunning,
  writeRunning,
} from "@radical/local";
import { CommandError, messageOf } from "@radical/app/command-error";
import { askPrimary, moveTime, type PrimaryAddress, reachedTime } from "@radical/admin";
import { moduleOfPrimary } from "../replay/record.ts";
import { SampleRing } from "../replay/sample-ring.ts";
import type { BuildState } from "./build-state.ts";
import { type Control, type ControlServer, startControlServer } from "./control-server.ts";
import { Dashboard } from "./dashboard.ts";
import { DashboardCaches } from "./dashboard-caches.ts";
import { DashboardData } from "./dashboard-data.ts";
import { DashboardReplays } from "./dashboard-replays.ts";
import { DashboardTasks } from "./dashboard-tasks.ts";
import { DashboardWorkflows } from "./dashboard-workflows.ts";
import { otlpVars } from "./otlp-vars.ts";
import type { PrimaryPorts } from "./primary-ports.ts";
import type { DevEvent } from "./dev-events.ts";
import type { DevTime } from "./dev-time.ts";
import { CENTRAL, type DevOptions, type Link } from "./dev-options.ts";
import { type FrontServer, startFrontServer } from "./front-server.ts";
import { ShownExecutions } from "./handler-lines.ts";
import { handlerLine, locationLine } from "./location-line.ts";
import { LifeRing } from "./life-ring.ts";
import {
  changedServiceFaults,
  checkServiceFaults,
  type DevFaultChange,
  type DevFaults,
  type FaultsByService,
} from "./service-faults.ts";
import { type ServiceFront, startServiceFront } from "./service-front.ts";
import { type AskPrimary, followLives, followSamples } from "./primary-lines.ts";
import { lifeOfRequest } from "./request-life.ts";

export interface DevDeploymentOptions extends Pick<
  DevOptions,
  | "project"
  | "central"
  | "link"
  | "testHooks"
  | "followupTimeoutMs"
  | "workers"
  | "serviceFaults"
  | "services"
  | "signal"
  | "onEvent"
> {
  readonly local: LocalDeployment;
  readonly record: ProcessRecord;
  readonly host: string;
  readonly port: number;
  readonly locations: readonly Location[];
  readonly readLeaseMs: number;
  readonly log: LogRing;
  readonly time: DevTime;
  /** Of the application's own Worker. */
  readonly vars: Readonly<Record<string, string>>;
  /** Null: the application has no wrangler configuration. */
  readonly bindings: Promise<AppBindings | null>;
  readonly build: () => BuildState;
  /** Of the last good build; null: there is none. */
  readonly report: () => Compilation | null;
  /** The program that writes items. */
  readonly dataProgram: () => Promise<Uint8Array>;
  /** Does this between builds. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

export class DevDeployment {
  readonly #options: DevDeploymentOptions;
  readonly #local: LocalDeployment;
  readonly #links = new Map<string, Link>();
  readonly #shown = new ShownExecutions();
  /** With --central: what each call would have waited for a server beside the primary. */
  readonly #reckoner: Reckoner | null;
  readonly #lives = new LifeRing();
  readonly #samples = new SampleRing();
  /** Null: others than this machine may reach the port. */
  readonly #dashboard: Dashboard | null;
  /** The build that serves, or is about to. A server is given its module when it starts. */
  #app: AppBuild | null = null;
  #control: Control | null = null;
  #controlServer: ControlServer | null = null;
  #front: FrontServer | null = null;
  #services: ServiceFront | null = null;
  #edge: Edge | null = null;
  #lviServer = "";
  /** Failures of services that are ordered. */
  #serviceFaults: FaultsByService;
  #isPrepared = false;
  /** Whether handlers at locations see this machine's time, though time was moved. */
  #isTimeLost = false;

  constructor(options: DevDeploymentOptions) {
    this.#options = options;
    this.#local = options.local;
    this.#serviceFaults = options.serviceFaults ?? {};
    this.#reckoner = options.central === true ? reckonerOf(options.locations) : null;
    this.#dashboard = isLoopbackName(options.host) ? this.#makeDashboard() : null;
  }

  get url(): string {
    if (this.#front === null) throw new Error("Nothing listens yet.");
    return this.#front.url;
  }

  /** Null: nothing serves yet. */
  get control(): Control | null {
    return this.#control;
  }

  /** Something has happened that the dashboard shows. */
  changed(): void {
    this.#dashboard?.changed();
  }

  /** The address of the dashboard; null: there is none, or it does not listen yet. */
  get dashboardUrl(): string | null {
    const server = this.#controlServer;
    return this.#dashboard === null || server === null ? null : `${server.url}/#${this.#dashboard.token}`;
  }

  /** Listens; until a build serves, every request is answered with the state of the build. */
  async wait(): Promise<void> {
    const { url } = await this.#openFront();
    this.#options.onEvent({ event: "waiting_for_build", url });
  }

  /** Starts the server, the first time. It has the module afterwards. */
  async prepare(app: AppBuild): Promise<void> {
    this.#app = app;
    if (this.#isPrepared) return registerModule(this.#local.server.address(), this.#local.keys.administration, app);
    this.#isPrepared = true;
    const { local, locations, readLeaseMs, followupTimeoutMs, onEvent, signal, record, serviceFaults } = this.#options;
    // A thread takes 15 MB, and a developer calls seldom. A central server that calls are compared with has all cores.
    const workers = this.#options.workers ?? (this.#reckoner === null ? 1 : null);
    signal?.throwIfAborted();
    if (serviceFaults !== undefined) checkServiceFaults(serviceFaults, app.manifest);
    await this.#openControl();
    local.onStop(() => removeRunning(local.folder));
    const services = await this.#openServices();
    await local.startServer({
      nodeOptions: SMALL_HEAP,
      args: workers === null ? [] : ["--workers", String(workers)],
      environment: { RADICAL_WORKER_URL: services.url },
      followupTimeoutMs: followupTimeoutMs ?? null,
      readLeaseMs,
      aheadMs: () => this.#options.time.aheadMs,
      onStarted: async ({ address, pid, restarted }) => {
        await record.update();
        await registerModule(address, local.keys.administration, this.#app!);
        this.#lviServer = `http://${address.host}:${address.port}`;
        await this.#tellRunning();
        this.#dashboard?.serverChanged(true, restarted);
        if (restarted) await this.#timeKept();
        onEvent({ event: "server_started", pid, port: address.port, restarted });
      },
      onDied: (how) => {
        this.#dashboard?.serverChanged(false, false);
        onEvent({ event: "server_died", ...how });
      },
      onLog: (line) => this.#tell("primary", handlerLine(line) ?? { event: "server_log", line }),
    });
    signal?.throwIfAborted();
    this.#followPrimary();
    await Promise.all(locations.map((location) => this.#startLink(location)));
  }

  /** Throws a CommandError for a Worker that can't be started. */
  async open(app: AppBuild): Promise<void> {
    const { local, project, host, vars, record, signal, locations, onEvent } = this.#options;
    const entryToken = randomUUID();
    const bindings = await this.#options.bindings;
    await this.#untilServable(app);
    const edge = await local.startEdge(
      {
        locations: locations.map((location) => this.#edgeLocation(location)),
        entryToken,
        vars: {
          ...(isLoopbackName(host) ? LOOPBACK : {}),
          ...(this.#wantsLives ? LIVES : {}),
          ...blobVarsOf(project.config.blobs),
          ...otlpVars(process.env),
          ...vars,
        },
        ...(bindings === null ? {} : { bindings }),
        routerWorker: await bundleRouter(),
        storageFolder: join(local.folder, ...STORAGE),
        isWipeable: true,
        onLog: (level, message) => this.#onLog(level, message),
        onTimeLost: (error) => this.#timeLost(error),
      },
      await this.#workerFiles(app),
    );
    this.#edge = edge;
    await this.#timeKept();
    const front = await this.#openFront();
    signal?.throwIfAborted();
    await record.update();
    this.#control = this.#controlOf(edge);
    this.#collectHourly(edge);
    front.serve({ url: edge.url, token: entryToken });
    this.#services?.serve({ url: edge.url, token: entryToken });
    await this.#tellRunning();
    if (bindings !== null) onEvent({ event: "bindings", url: front.url, ...bindings.told });
    this.#dashboard?.changed();
    const { dashboardUrl: dashboard } = this;
    onEvent({ event: "ready", url: front.url, dashboard, locations, handlers: Object.keys(app.manifest.handlers) });
  }

  /** Serves another build. The one before goes on serving if this throws. */
  async reload(app: AppBuild): Promise<void> {
    if (this.#edge === null) throw new Error("No locations serve yet.");
    await registerModule(this.#local.server.address(), this.#local.keys.administration, app);
    await this.#untilServable(app);
    await this.#edge.reload(await this.#workerFiles(app));
    this.#app = app;
    if (this.#isTimeLost) await this.#tellMovedTime();
    this.#dashboard?.changed();
    void this.#options.record.update();
  }

  /** Moves the time of tasks and handlers ahead. Resolves once everything has ended that was due by then. Throws a CommandError. */
  moveTime(byMs: number): Promise<DashboardTime> {
    const { time, inTurn } = this.#options;
    return time.move(byMs, {
      tellLocations: (aheadMs) => inTurn(() => this.#tellTime(aheadMs)),
      movePrimary: (aheadMs, onReached) => moveTime(this.primary, aheadMs, onReached),
      reachedMs: () => reachedTime(this.primary).catch(() => null),
      onChange: () => this.#timeChanged(),
    });
  }

  #timeChanged(): void {
    this.#options.onEvent({ event: "time", ...this.#options.time.state });
    this.#dashboard?.changed();
  }

  /** The server has the time that is kept, and so have the locations. */
  async #timeKept(): Promise<void> {
    const { time } = this.#options;
    if (time.aheadMs === 0) return;
    time.started();
    await this.#tellMovedTime();
    this.#timeChanged();
  }

  /** Locations that can't be told serve with this machine's time. */
  async #tellMovedTime(): Promise<void> {
    try {
      await this.#tellTime(this.#options.time.state.aheadMs);
    } catch (error) {
      this.#timeLost(error);
    }
  }

  /** It is told once, until the locations have the time again. */
  #timeLost(error: unknown): void {
    if (this.#isTimeLost) return;
    this.#isTimeLost = true;
    // The primary takes what they ran.
    const hint = `Handlers see the time of this machine at locations, and the time that was moved at the primary. ${CLASS_KEEPS_TIME}`;
    this.#options.onEvent({ event: "failed", code: "time_not_moved", message: notTold(error), hint });
  }

  async #tellTime(aheadMs: number): Promise<void> {
    try {
      await this.#edge?.moveTime(aheadMs);
      this.#isTimeLost = false;
    } catch (error) {
      throw new CommandError("time_not_moved", notTold(error), CLASS_KEEPS_TIME, { cause: error });
    }
  }

  #untilServable(app: AppBuild): Promise<void> {
    const { local, onEvent } = this.#options;
    return untilServable(local.server.address(), local.keys.administration, app, (words) =>
      onEvent({ event: "index_building", words }),
    );
  }

  get #controlOptions() {
    const { build, log } = this.#options;
    return { build, control: () => this.#control, log, dashboardUrl: () => this.dashboardUrl };
  }

  #makeDashboard(): Dashboard {
    const { project, locations, central = false, build, report, local, dataProgram } = this.#options;
    const primary: PrimaryPorts = { asking: (ask) => ask(this.primary), showsArguments: true };
    return new Dashboard({
      root: project.root,
      locations,
      central,
      lives: this.#lives,
      build,
      report,
      app: () => this.#app,
      control: () => this.#control,
      url: () => this.#front?.url ?? null,
      data: new DashboardData({
        stateFolder: local.folder,
        server: () => this.primary,
        program: dataProgram,
      }),
      caches: new DashboardCaches({
        stateFolder: local.folder,
        places: locations.map(({ name }) => name).filter((name) => !central || name !== CENTRAL),
        heldItems: async (place, units) => (await this.#edge?.heldItems(place, units)) ?? "Nothing serves yet.",
        writtenAtMs: (commit) => this.#lives.writtenAtMs(commit),
      }),
      replays: new DashboardReplays({
        samples: this.#samples,
        module: (hash) => moduleOfPrimary(this.primary, hash),
        present: () => {
          if (this.#app === null) throw new CommandError("not_serving", "No build serves yet.", "Correct the sources.");
          return this.#app.manifest.module;
        },
        redact: [],
      }),
      tasks: new DashboardTasks(primary),
      workflows: new DashboardWorkflows(primary),
      records: () => this.#samples.records,
      contention: async () =>
        (await (await askPrimary(this.primary, "GET", CONTENTION_PATH)).json()) as ContentionReport,
    });
  }

  get #wantsLives(): boolean {
    return this.#dashboard !== null || this.#reckoner !== null;
  }

  #addLife(life: Life): void {
    this.#lives.add(life);
    this.#reckoner?.add(life);
  }

  #followPrimary(): void {
    if (!this.#wantsLives) return;
    const ask: AskPrimary = (path, question, signal) => askPrimary(this.primary, "POST", path, question, signal);
    const ending = new AbortController();
    const primary = { ask, signal: ending.signal, pauseMs: FOLLOW_AGAIN_MS };
    const following = [
      followLives(
        primary,
        { every: 1 },
        {
          add: (life) => this.#addLife(life),
          leaveOut: (count) => {
            this.#lives.leaveOut(count);
            this.#dashboard?.changed();
          },
        },
      ),
      ...(this.#dashboard === null
        ? []
        : [followSamples(primary, { every: 1, redact: [] }, (line) => this.#samples.add(line))]),
    ];
    this.#local.onStop(async () => {
      ending.abort();
      await Promise.all(following);
    });
  }

  /** It has started. */
  get primary(): PrimaryAddress {
    return { url: this.#lviServer, key: this.#local.keys.administration };
  }

  async #openControl(): Promise<void> {
    if (this.#controlServer !== null) return;
    const dashboard = this.#dashboard?.options ?? null;
    const opened = await startControlServer({ ...this.#controlOptions, dashboard });
    this.#controlServer = opened;
    this.#local.onStop(() => opened.close());
  }

  async #openFront(): Promise<FrontServer> {
    if (this.#front !== null) return this.#front;
    const { host, port, locations, onEvent } = this.#options;
    await this.#openControl();
    const dashboard = this.#dashboard;
    const onRequest = dashboard === null ? {} : { onRequest: (place: string | null) => dashboard.opened(place) };
    const opened = await startFrontServer({
      ...this.#controlOptions,
      host,
      port,
      ...onRequest,
      onAnswer: (answer) =>
        onEvent({ event: "answered", ...answer, location: answer.location ?? locations[0]?.name ?? "" }),
    });
    this.#local.onStop(() => opened.close());
    return (this.#front = opened);
  }

  async #openServices(): Promise<ServiceFront> {
    const { local, services = null, locations, onEvent } = this.#options;
    const opened = await startServiceFront({
      key: local.keys.location,
      faults: () => this.#serviceFaults,
      services,
      manifest: () => this.#app?.manifest ?? null,
      locations: locations.map(({ name }) => name),
      told: (service, message) =>
        onEvent({ event: "service_failed", level: "warn", location: "", handler: service, execution: null, message }),
    });
    local.onStop(() => opened.close());
    return (this.#services = opened);
  }

  async #startLink(location: Location): Promise<void> {
    const { link: own } = this.#options;
    const target = () => this.#local.server.address();
    if (own === undefined) {
      this.#links.set(location.name, await this.#local.startLink(location, target));
      return;
    }
    const link = await own(location, target);
    this.#local.onStop(() => link.close());
    this.#links.set(location.name, link);
  }

  #edgeLocation({ name }: Location): EdgeLocation {
    const { address } = this.#links.get(name)!;
    return { name, primaries: [address], nearStorageOnly: name === CENTRAL && this.#options.central === true };
  }

  /** As the schedule of a deployment does. */
  #collectHourly(edge: Edge): void {
    const [first] = this.#options.locations;
    if (first === undefined) return;
    // A location logs why it could not.
    const timer = setInterval(() => void edge.collectBlobs(first.name).catch(() => undefined), HOUR_MS).unref();
    this.#local.onStop(() => Promise.resolve(clearInterval(timer)));
  }

  #controlOf(edge: Edge): Control {
    const { locations } = this.#options;
    const switches = new FaultSwitches(new Map(locations.map(({ name }) => [name, this.#links.get(name)!])));
    return {
      openApi: () => this.#app!.openApi,
      locations: locations.map(({ name }) => name),
      places: locations,
      faults: () => ({ ...switches.faults, services: this.#serviceFaults }),
      change: (change) => this.#change(change, switches, edge),
      manifest: () => this.#app!.manifest,
      time: () => this.#options.time.state,
      moveTime: (byMs) => this.moveTime(byMs),
    };
  }

  async #change(change: DevFaultChange, switches: FaultSwitches, edge: Edge): Promise<DevFaults> {
    const { onEvent, inTurn, record } = this.#options;
    const { wipeCaches, killServer, ...switched } = change;
    if (switched.services !== undefined)
      this.#serviceFaults = changedServiceFaults(this.#serviceFaults, switched.services);
    const faults: DevFaults = { ...switches.set(switched), services: this.#serviceFaults };
    this.#dashboard?.changed();
    if (Object.keys(switched).length > 0) onEvent({ event: "faults", ...faults });
    if (killServer === true) await this.#local.server.kill();
    if (wipeCaches !== undefined && wipeCaches.length > 0) {
      await inTurn(() => edge.wipeCaches(wipeCaches));
      await record.update();
      onEvent({ event: "caches_wiped", locations: wipeCaches });
    }
    return faults;
  }

  #onLog(level: string, message: string): void {
    const line = parsed(message);
    const life = isLifeLine(line) ? lifeIn(line.life) : null;
    if (life !== null) return this.#addLife(life);
    const event = this.#compared(locationLine(line) ?? { event: "worker_log", level, message });
    const shown = "level" in event && event.level !== "log" ? (event.level as "info") : "info";
    this.#options.log.add(shown, `${JSON.stringify(event)}\n`);
    this.#tell("edge", event);
  }

  /** A call beside the wait for a central server, if those are compared and it is known. */
  #compared(event: DevEvent): DevEvent {
    if (this.#reckoner === null || event.event !== "request") return event;
    const life = event.path === null ? null : lifeOfRequest(event, Date.now());
    if (life === null) return event;
    const centralUs = this.#reckoner.central.centralUs({ id: 0, life, primary: null });
    return centralUs === null ? event : { ...event, centralMs: Math.round(centralUs / 100) / 10 };
  }

  /** Tells a line that a handler has logged once. */
  #tell(half: "edge" | "primary", event: DevEvent): void {
    if (event.event !== "handler_log" || this.#shown.isNew(half, event)) this.#options.onEvent(event);
  }

  #tellRunning(): Promise<void> {
    const { locations, local } = this.#options;
    const edge =
      this.#control === null || this.#front === null
        ? null
        : { url: this.#front.url, locations: locations.map(({ name }) => name) };
    const control = this.#controlServer?.url ?? "";
    return writeRunning(local.folder, { pid: process.pid, lviServer: this.#lviServer, control, edge });
  }

  async #workerFiles(app: AppBuild): Promise<WorkerFiles> {
    const { testHooks, local } = this.#options;
    const manifest: Manifest = testHooks === undefined ? app.manifest : { ...app.manifest, testHooks };
    const assets = app.assets === null ? null : { ...app.assets, folder: join(local.folder, "static") };
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
}

function reckonerOf(locations: readonly Location[]): Reckoner {
  const distances = new Map(locations.map(({ name, roundTripMs }) => [name, roundTripMs * 1_000]));
  return new Reckoner({
    most: MOST_JOINED,
    isCentral: (place) => place === CENTRAL,
    distances: (place) => distances.get(place) ?? null,
  });
}

const CLASS_KEEPS_TIME =
  "A Worker whose entry is a class keeps this machine's time: export an object with its functions.";

function notTold(error: unknown): string {
  return error instanceof CommandError ? error.message : `Time can't be moved: ${messageOf(error)}.`;
}

/** Most calls whose halves may wait for each other. */
const MOST_JOINED = 1_000;
const HOUR_MS = 3_600_000;
const FOLLOW_AGAIN_MS = 200;

/** One developer's requests leave little garbage: space for more would only be kept. */
const SMALL_HEAP = ["--max-semi-space-size=1"];
/** In the state folder, as wrangler lays its own out: `wrangler d1 … --local --persist-to .radical/edge` finds the same databases. */
const STORAGE = ["edge", "v3"];

/** Only programs of this machine reach the port: pages that another one of them serves may call, and everybody may put blobs. */
const LOOPBACK = { RADICAL_LOOPBACK_ORIGINS: "1", RADICAL_BLOBS_OPEN: "1" };

/** Each execution tells where its time went. */
const LIVES = { RADICAL_LIVES_EVERY: "1" };

/** Undefined: the line is not JSON. */
function parsed(message: string): unknown {
  try {
    return JSON.parse(message) as unknown;
  } catch {
    return undefined;
  }
}

function isLifeLine(line: unknown): line is { readonly life: unknown } {
  return typeof line === "object" && line !== null && "event" in line && line.event === "life" && "life" in line;
}
