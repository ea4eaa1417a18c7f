/**
 * Kills a server, or a location, at one failpoint after the other, each time under load, and checks what is left:
 * nothing lost, nothing doubled, no lock held.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@radical/history";
import { FAILPOINTS as SERVER_FAILPOINTS } from "@radical/lvi-server";
import { WORKFLOW_FAILPOINTS } from "@radical/lvi-server/e2e/workflow-failpoints";
import { FAILPOINTS as EDGE_FAILPOINTS } from "@radical/runtime/failpoints";
import {
  type Application,
  type ArmedAt,
  Deployment,
  FOLLOWUP_TIMEOUT_MS,
  LONGEST_LEASE_MS,
  type StorageChoice,
} from "./deployment.ts";
import { Load } from "./load.ts";

/** Every failpoint that there is, by name. */
const ALL_FAILPOINTS: readonly string[] = [...Object.keys(SERVER_FAILPOINTS), ...Object.keys(EDGE_FAILPOINTS)];

export type StorageKind = StorageChoice["kind"];

/** Every failpoint that the load can lead to. It has no workflows: `packages/lvi-server/e2e/workflows.e2e.test.ts` kills servers there. */
export const REACHED_FAILPOINTS: readonly string[] = ALL_FAILPOINTS.filter(
  (name) => !WORKFLOW_FAILPOINTS.includes(name),
);

/** The failpoints that can be reached with a storage. */
export function failpointsOf(storage: StorageKind): readonly string[] {
  // Modules that nobody asks for are aged in the file.
  const others = storage === "sqlite" ? /^dynamo\./ : /^(?:sqlite\.|storage\.module-remov)/;
  return REACHED_FAILPOINTS.filter((name) => !others.test(name));
}

export interface Crash {
  readonly failpoint: ArmedAt;
  readonly storage: StorageKind;
  /** The process said that it was there, and was killed. */
  readonly killed: boolean;
  /** Starts until it was reached: one that the load does not lead to is passed by. */
  readonly starts: number;
  /** Calls that had their outcomes in its round. Of several kills in one round the last one has them. */
  readonly calls: number;
  /** Calls of its round that read leases have answered. */
  readonly leased: number;
  /**
   * From when requests were taken again, or a location was dead, until nothing was pending, while the clients waited: what
   * the server had of that time, see `Round.#freed`.
   */
  readonly freedMs: number;
  readonly problems: readonly string[];
}

interface Kill {
  readonly failpoint: ArmedAt;
  /** Null: it was not killed there. */
  readonly starts: number | null;
  readonly freedMs: number;
}

/** Few, for what one start meets seldom or once. */
const SELDOM =
  /^(?:http\.module|storage\.(?:leadership|read-leases|collect|module|schedule|scanned|next-attempt|death|due-tasks|lane|task-found|tasks-counted|cancel)|start|stop|dynamo|edge\.(?:fetched|recorded|heard|shown)|storage\.l|run\.(?:re|enqueuing)|sqlite\.half-settled)/;
/** What only a server meets that was started after a kill under load. */
const MET_AFTER_START =
  /^(?:start\.|dynamo\.adopted|run\.(?:re-|enqueuing)|storage\.(?:looked|loaded|scanned|module-remov|read-leases|due-tasks|lane|tasks-counted))/;
const MOST_TIMES = 12;
const MOST_STARTS = 8;
/** Calls between the start of the load and a kill that is to find something under way. */
const CALLS_BEFORE = 12;
/** Likewise reads that leases answer, unless that takes too many calls. */
const LEASED_BEFORE = 5;
const MOST_CALLS_BEFORE = 600;
/** Calls that an armed process may answer before it is taken for one that does not come to its failpoint. */
const MOST_CALLS = 4_000;
const FREE_POLL_MS = 10;
/** What counts of a poll at most. */
const LONGEST_POLL_MS = 20;
/** Within which all locks are to be free. */
export const FREE_WITHIN_MS: number = Math.max(FOLLOWUP_TIMEOUT_MS, LONGEST_LEASE_MS) + 1_000;
/** Polls until nothing is pending; far more than any correct server needs. */
const MOST_POLLS = 2_000;

export interface CrashOptions {
  /** Default: {@link FREE_WITHIN_MS}, which holds where nothing else keeps the machine busy. */
  readonly freeWithinMs?: number;
  readonly onCrash?: (crash: Crash) => void;
  /** Called when the server is dead and its storage nobody's. */
  readonly onKilled?: (deployment: Deployment) => void;
}

/** One deployment, killed at all these failpoints in turn. */
export async function crashAt(
  application: Application,
  storage: StorageChoice,
  names: readonly string[],
  random: Random,
  { freeWithinMs = FREE_WITHIN_MS, onCrash = () => {}, onKilled = () => {} }: CrashOptions = {},
): Promise<readonly Crash[]> {
  const rounds = roundsOf(names, random);
  const deployment = await Deployment.start(application, storage, { prepared: preparedFor(rounds[0]) });
  try {
    const load = new Load(deployment, random);
    await load.open();
    const crashes: Crash[] = [];
    for (const [index, failpoints] of rounds.entries()) {
      const next = preparedFor(rounds[index + 1]);
      const round = new Round(deployment, load, failpoints, next, storage.kind, freeWithinMs, onKilled);
      const ended = await round.run();
      crashes.push(...ended);
      for (const crash of ended) onCrash(crash);
      // What went wrong once would be told again at each of the following.
      if (ended.some(({ problems }) => problems.length > 0)) break;
    }
    return crashes;
  } finally {
    await deployment.stop();
  }
}

/**
 * Each failpoint of a server is a round, after which everything is checked; so are those of locations in a row, since
 * starting a location is most of its round.
 */
function roundsOf(names: readonly string[], random: Random): readonly (readonly ArmedAt[])[] {
  const rounds: ArmedAt[][] = [];
  for (const name of names) {
    const failpoint = { name, time: SELDOM.test(name) ? 1 : random.between(1, MOST_TIMES) };
    const before = rounds.at(-1);
    if (isOfLocation(failpoint) && before?.every(isOfLocation)) before.push(failpoint);
    else rounds.push([failpoint]);
  }
  return rounds;
}

function isOfLocation({ name }: ArmedAt): boolean {
  return name.startsWith("edge.");
}

/** The failpoint for which the server can be armed when the round begins, having been started in the one before. */
function preparedFor(round: readonly ArmedAt[] | undefined): ArmedAt | null {
  const [failpoint] = round ?? [];
  return failpoint === undefined || isOfLocation(failpoint) || MET_AFTER_START.test(failpoint.name) ? null : failpoint;
}

class Round {
  readonly #deployment: Deployment;
  readonly #load: Load;
  /** One, or several of locations. */
  readonly #failpoints: readonly ArmedAt[];
  readonly #next: ArmedAt | null;
  readonly #storage: StorageKind;
  /** Of a module that is registered only in this round. */
  readonly #accesses: number;

  readonly #freeWithinMs: number;
  readonly #onKilled: (deployment: Deployment) => void;

  constructor(
    deployment: Deployment,
    load: Load,
    failpoints: readonly ArmedAt[],
    next: ArmedAt | null,
    storage: StorageKind,
    freeWithinMs: number,
    onKilled: (deployment: Deployment) => void,
  ) {
    this.#freeWithinMs = freeWithinMs;
    this.#onKilled = onKilled;
    this.#deployment = deployment;
    this.#load = load;
    this.#failpoints = failpoints;
    this.#next = next;
    this.#storage = storage;
    this.#accesses = 1_000 + deployment.kills;
  }

  get #failpoint(): ArmedAt {
    return this.#failpoints[0]!;
  }

  async run(): Promise<readonly Crash[]> {
    const callsBefore = this.#load.calls;
    const leasedBefore = this.#load.leased;
    this.#load.start();
    await this.#load.ended(CALLS_BEFORE);
    // So leases are held when the server is killed. A location gets none for a while after it was killed itself.
    if (!isOfLocation(this.#failpoint)) await this.#load.answeredByLeases(LEASED_BEFORE, MOST_CALLS_BEFORE);
    // One that no location asks for.
    if (this.#removesModules) {
      await this.#register();
      // Tasks run on the one that is registered last, which stays.
      await this.#deployment.registerApplication();
    }
    const kills = isOfLocation(this.#failpoint) ? await this.#killLocations() : [await this.#killServer()];
    this.#load.goOn();
    await this.#load.stop();
    await this.#check();
    const calls = this.#load.calls - callsBefore;
    const leased = this.#load.leased - leasedBefore;
    const pending = JSON.stringify(await this.#deployment.load());
    return kills.map(({ failpoint, starts, freedMs }, index) => ({
      failpoint,
      storage: this.#storage,
      killed: starts !== null,
      starts: starts ?? MOST_STARTS,
      calls: index === kills.length - 1 ? calls : 0,
      leased: index === kills.length - 1 ? leased : 0,
      freedMs,
      problems: [
        ...this.#load.problems,
        ...(starts === null ? ["it was never reached"] : []),
        ...(freedMs === Infinity ? [`still pending: ${pending}`] : []),
        ...(freedMs > this.#freeWithinMs
          ? [`free only after ${freedMs.toFixed(0)} ms, not within ${this.#freeWithinMs}`]
          : []),
        ...this.#deployment.alarms.map((line) => `the server logged ${JSON.stringify(line)}`),
      ],
    }));
  }

  /** Each start meets what the server before had under way. */
  async #killServer(): Promise<Kill> {
    const failpoint = this.#failpoint;
    for (let starts = 1; starts <= MOST_STARTS; starts++) {
      const how = await this.#serverComes();
      this.#load.pause();
      const isKilled = await this.#deployment.killServer();
      if (how === "reached" && isKilled) {
        this.#onKilled(this.#deployment);
        return { failpoint, starts, freedMs: await this.#startServer() };
      }
      this.#load.goOn();
    }
    await this.#startServer();
    return { failpoint, starts: null, freedMs: Infinity };
  }

  /** A server to the failpoint: the one that runs, if it was started for it, or else one that is started now. */
  async #serverComes(): Promise<"reached" | "ended" | "passed"> {
    const passed = Promise.withResolvers<"passed">();
    const provoke = async (): Promise<void> => {
      this.#provoke();
      await this.#load.ended(this.#isAtStart ? CALLS_BEFORE : MOST_CALLS);
      passed.resolve("passed");
    };
    if (this.#deployment.isPreparedFor(this.#failpoint))
      return Promise.race([this.#deployment.armServer(provoke), passed.promise]);
    // After an end in order no read lease is left, so the next server names their time before its first one.
    if (this.#failpoint.name.startsWith("storage.read-leases")) await this.#deployment.stopServer();
    else await this.#deployment.killServer();
    if (this.#removesModules) this.#deployment.ageModules();
    return Promise.race([this.#deployment.serverAt(this.#failpoint, provoke), passed.promise]);
  }

  async #startServer(): Promise<number> {
    await this.#deployment.startServer(this.#next);
    // That of the application may be among those that were removed.
    if (this.#removesModules) await this.#deployment.registerApplication();
    return this.#freed();
  }

  get #removesModules(): boolean {
    return this.#failpoint.name.startsWith("storage.module-remov");
  }

  /** Whether a start that has come to listen has passed it. */
  get #isAtStart(): boolean {
    return /^(?:start\.|dynamo\.adopted)/.test(this.#failpoint.name);
  }

  /** Does what no load does. */
  #provoke(): void {
    const { name } = this.#failpoint;
    if (name.startsWith("stop.")) this.#deployment.drainServer();
    // It will not be answered. One that is to be removed is not used again.
    if (name.includes("module") && !this.#removesModules) this.#register().catch(() => undefined);
  }

  #register(): Promise<number> {
    return this.#deployment.registerModule(this.#deployment.variant(this.#accesses));
  }

  /** One after the other; each start meets what those before had in their caches. */
  async #killLocations(): Promise<readonly Kill[]> {
    const kills: Kill[] = [];
    for (const failpoint of this.#failpoints) {
      const kill = await this.#killLocationsAt(failpoint);
      kills.push(kill);
      if (kill.starts === null) break;
      this.#load.goOn();
    }
    await this.#deployment.killLocations();
    await this.#deployment.startLocations(null);
    return kills;
  }

  async #killLocationsAt(failpoint: ArmedAt): Promise<Kill> {
    for (let starts = 1; starts <= MOST_STARTS; starts++) {
      await this.#deployment.killLocations();
      await this.#deployment.startLocations(failpoint);
      const passed = this.#load.ended(MOST_CALLS).then(() => "passed" as const);
      const how = await Promise.race([this.#deployment.locationsAt(), passed]);
      this.#load.pause();
      const isKilled = await this.#deployment.killLocations();
      if (how === "reached" && isKilled) return { failpoint, starts, freedMs: await this.#freed() };
      this.#load.goOn();
    }
    return { failpoint, starts: null, freedMs: Infinity };
  }

  /**
   * How long until nothing is under way while the clients wait, so that nobody's contention helps: no intent is pending, and so no lock is held.
   *
   * A pause and a question that the server answers take some milliseconds. If they take longer, the machine did something
   * else, and that time is nobody's: only so much of a poll counts as there is in one on a machine that has nothing else to do.
   */
  async #freed(): Promise<number> {
    let freedMs = 0;
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const sinceMs = performance.now();
      const load = await this.#deployment.load();
      if (load?.executions === 0 && load.pending === 0) return freedMs;
      await sleep(FREE_POLL_MS);
      freedMs += Math.min(performance.now() - sinceMs, LONGEST_POLL_MS);
    }
    return Infinity;
  }

  async #check(): Promise<void> {
    await this.#load.check();
    if (!this.#failpoint.name.includes("module")) return;
    const statuses = [await this.#register(), await this.#register()];
    if (
      statuses.some((status) => status !== 204) ||
      !(await this.#deployment.hasModule(this.#deployment.variant(this.#accesses)))
    )
      this.#load.problems.push(`the module can't be registered again: ${statuses.join(" ")}`);
  }
}
