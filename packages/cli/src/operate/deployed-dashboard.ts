/**
 * The dashboard of a deployment: the page of `radical dev` over signed requests to the primary and the tail of the Worker. The key
 * stays in this process, and no route of the page changes anything.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { askPrimary, type PrimaryAddress } from "@radical/admin";
import {
  CONTENTION_PATH,
  type ContentionReport,
  type DashboardLocation,
  type DashboardState,
  type Life,
  lifeIn,
  MODULE_LIST_PATH,
  type ModuleHash,
  type ModuleList,
  type RedactionQuestion,
  type ServerStatus,
  STATUS_PATH,
} from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import { closeServer, listen } from "../dev/control-server.ts";
import { DashboardReplays } from "../dev/dashboard-replays.ts";
import { answerDashboard, type DashboardOptions } from "../dev/dashboard-server.ts";
import { DashboardTasks } from "../dev/dashboard-tasks.ts";
import { DashboardWorkflows } from "../dev/dashboard-workflows.ts";
import type { PrimaryPorts } from "../dev/primary-ports.ts";
import { LifeRing } from "../dev/life-ring.ts";
import { locationLine } from "../dev/location-line.ts";
import { type AskPrimary, type FollowedPrimary, followLives, followSamples } from "../dev/primary-lines.ts";
import { lifeOfRequest } from "../dev/request-life.ts";
import { moduleOfPrimary } from "../replay/record.ts";
import { SampleRing } from "../replay/sample-ring.ts";
import type { TailLine } from "./tail/tail-line.ts";
import type { TailSink } from "./tail/sources.ts";

const TOKEN_BYTES = 18;
const STATUS_MS = 5_000;
const FOLLOW_AGAIN_MS = 2_000;
const HOST = "127.0.0.1";
/** Most locations that are remembered: lines of the Worker name them. */
const MAX_PLACES = 500;

/** A connection to a half, open as long as the page is served. Each may be lost alone. */
type Stream = "lives" | "samples" | "edge";

export interface DeployedDashboardOptions {
  /** For people: of the application and its environment. */
  readonly name: string;
  /** Finds the server that leads. It is asked again when that one has failed. */
  readonly leader: () => Promise<PrimaryAddress>;
  /** Listens to the Worker until the signal ends it. */
  readonly tail: (sink: TailSink, signal: AbortSignal) => Promise<void>;
  /** One of so many executions of the primary is told. */
  readonly every: number;
  /** The parts of values that the primary redacts; null: no values are asked for. */
  readonly values: RedactionQuestion | null;
  /** 0: any that is free. */
  readonly port: number;
  readonly signal: AbortSignal;
}

export interface DeployedDashboard {
  /** With the token of this run. */
  readonly url: string;
  /** Resolves when the signal has ended it; rejects if a half can't be listened to at all. */
  readonly ended: Promise<void>;
}

/** Resolves when the page is served. Throws a CommandError if the port is taken. */
export async function serveDeployedDashboard(options: DeployedDashboardOptions): Promise<DeployedDashboard> {
  const deployed = new Deployed(options);
  let port = 0;
  const server = createServer((request, response) => answerDashboard(deployed.options, port, request, response));
  try {
    port = await listen(server, HOST, options.port);
  } catch (error) {
    throw new CommandError(
      "port_taken",
      `The dashboard can't listen on port ${options.port}: ${messageOf(error)}`,
      "Name another one with --port, or leave it out.",
    );
  }
  return { url: `http://${HOST}:${port}/#${deployed.options.token}`, ended: followed(deployed, server) };
}

async function followed(deployed: Deployed, server: Server): Promise<void> {
  try {
    await deployed.follow();
  } finally {
    await closeServer(server);
  }
}

class Deployed {
  readonly options: DashboardOptions;
  readonly #given: DeployedDashboardOptions;
  readonly #lives = new LifeRing();
  readonly #samples = new SampleRing();
  readonly #watchers = new Set<() => void>();
  readonly #places = new Set<string>();
  /** By stream of a half: why it is not heard. */
  readonly #lost = new Map<Stream, string>();
  /** Lines of the Worker's requests, until the same event may have told the life. */
  readonly #requests = new Map<string, Life>();
  #status: ServerStatus | null = null;
  /** Null: nobody knows which server leads. */
  #leader: PrimaryAddress | null = null;

  constructor(given: DeployedDashboardOptions) {
    this.#given = given;
    const replays = new DashboardReplays({
      samples: this.#samples,
      module: (hash) => this.#asking((leader) => moduleOfPrimary(leader, hash)),
      present: () => this.#present(),
      redact: given.values ?? [],
    });
    const primary: PrimaryPorts = { asking: (ask) => this.#asking(ask), showsArguments: false };
    this.options = {
      token: randomBytes(TOKEN_BYTES).toString("base64url"),
      lives: this.#lives,
      state: () => this.#state,
      onState: (changed) => {
        this.#watchers.add(changed);
        return () => this.#watchers.delete(changed);
      },
      contention: async () => (await this.#get(CONTENTION_PATH)) as ContentionReport,
      records: () => this.#samples.records,
      replay: (question) => replays.replay(question),
      tasks: new DashboardTasks(primary),
      workflows: new DashboardWorkflows(primary),
      dev: null,
    };
  }

  async follow(): Promise<void> {
    const { tail, every, values, signal } = this.#given;
    const failed = new AbortController();
    const until = AbortSignal.any([signal, failed.signal]);
    const ask: AskPrimary = (path, question, stop) =>
      this.#asking((leader) => askPrimary(leader, "POST", path, question, stop));
    const primaryOf = (stream: Exclude<Stream, "edge">): FollowedPrimary => ({
      ask,
      signal: until,
      pauseMs: FOLLOW_AGAIN_MS,
      onState: (isConnected) => this.#heard(stream, isConnected ? null : "The primary is not heard: it is asked again"),
    });
    const sink: TailSink = {
      onLine: (line) => this.#take(line),
      onState: (_, state) =>
        this.#heard("edge", state === "connected" ? null : `The Worker is not heard: ${state.lost.slice(0, 200)}`),
    };
    const polling = setInterval(() => void this.#ask(), STATUS_MS);
    void this.#ask();
    try {
      await Promise.all([
        tail(sink, until),
        followLives(
          primaryOf("lives"),
          { every },
          {
            add: (life) => this.#add(life),
            leaveOut: (count) => {
              this.#lives.leaveOut(count);
              this.#changed();
            },
          },
        ),
        ...(values === null
          ? []
          : [followSamples(primaryOf("samples"), { every, redact: values }, (line) => this.#samples.add(line))]),
      ]);
    } finally {
      clearInterval(polling);
      failed.abort();
    }
  }

  async #asking<T>(ask: (leader: PrimaryAddress) => Promise<T>): Promise<T> {
    const leader = (this.#leader ??= await this.#given.leader());
    try {
      return await ask(leader);
    } catch (error) {
      if (this.#leader === leader) this.#leader = null;
      throw error;
    }
  }

  async #get(path: string): Promise<unknown> {
    return (await this.#asking((leader) => askPrimary(leader, "GET", path))).json();
  }

  async #present(): Promise<ModuleHash> {
    const [last] = ((await this.#get(MODULE_LIST_PATH)) as ModuleList).modules;
    if (last === undefined) throw new CommandError("no_build", "The primary has no build.", "Run radical deploy.");
    return last.module;
  }

  async #ask(): Promise<void> {
    try {
      this.#status = (await this.#get(STATUS_PATH)) as ServerStatus;
    } catch {
      this.#status = null;
    }
    this.#changed();
  }

  #heard(stream: Stream, lost: string | null): void {
    if (lost === null) this.#lost.delete(stream);
    else this.#lost.set(stream, lost);
    this.#changed();
  }

  #take({ line }: TailLine): void {
    const life = line["event"] === "life" ? lifeIn(line["life"]) : null;
    if (life !== null) {
      this.#requests.delete(life.execution);
      return this.#add(life);
    }
    const told = locationLine(line);
    const request = told?.event === "request" ? lifeOfRequest(told, Date.now()) : null;
    if (request === null) return;
    this.#requests.set(request.execution, request);
    setImmediate(() => {
      if (this.#requests.delete(request.execution)) this.#add(request);
    });
  }

  #add(life: Life): void {
    if (!this.#places.has(life.place) && this.#places.size < MAX_PLACES) {
      this.#places.add(life.place);
      this.#changed();
    }
    this.#lives.add(life);
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  get #state(): DashboardState {
    const { name, values, every } = this.#given;
    const measured = new Map(
      this.#status?.readLeases?.locations.map(({ location, roundTripMs }) => [location, roundTripMs]),
    );
    const names = [...new Set([...measured.keys(), ...this.#places])].toSorted();
    return {
      v: 1,
      kind: "state",
      source: { kind: "deployment", name, hasRecords: values !== null, every, lost: [...new Set(this.#lost.values())] },
      module: null,
      build: { kind: "good", words: "" },
      locations: names.map((place): DashboardLocation => ({
        name: place,
        roundTripMs: measured.get(place) ?? null,
        lossPercent: 0,
        isCentral: false,
        isCut: false,
        open: 0,
      })),
      primary: { down: false, isUp: this.#status?.state === "serving", restarts: 0 },
      dropFollowups: false,
      services: [],
      time: null,
      livesLeftOut: this.#lives.leftOut,
    };
  }
}
