/**
 * Decisions that a seed makes before anything happens: the troubles of network, storage and processes, the settings of
 * servers, the habits of clients. Storms try everything at once. A calm history, or one with a single kind of trouble,
 * reaches states that a storm destroys before they matter.
 */
import { type CoreOptions, DEFAULT_CORE_OPTIONS } from "@radical/lvi-server/core";
import type { RulesByTable } from "@radical/protocol";
import type { NetworkFaults } from "./network.ts";
import { type GroupName, GROUP_NAMES } from "./programs.ts";
import type { Random } from "@radical/history";
import type { StorageFaults } from "./server.ts";

/** Mean times between faults of a kind; null: none. */
export interface Trouble {
  readonly cache: number | null;
  readonly serverKilled: number | null;
  readonly serverStopped: number | null;
  readonly serverDrained: number | null;
  readonly partition: number | null;
  readonly serverClock: number | null;
  readonly locationClock: number | null;
  readonly locationKilled: number | null;
  readonly isolateStopped: number | null;
  readonly requestCutOff: number | null;
  /** Streams of updates that break, or are half-open. */
  readonly stream: number | null;
}

const NAMES = ["storm", "calm", "leadership", "own writes", "restarts", "cold memory", "leases"] as const;
/** Of so many seeds each has one, besides. */
const RARE = ["hot key", "long runs"] as const;
const RARE_EVERY = 16;
/** So are these, at other places of them. Each has a generator of its own: what is drawn for it moves no other weather. */
const LIVE = "live queries";
const LIVE_AT = 7;
const CUT_OFF = "cut off";
const CUT_OFF_AT = 27;
const CUT_OFF_EVERY = 64;
const RANGES = "ranges";
const RANGES_AT = 19;
const RANGES_EVERY = 32;
const SET_BACK = "set back";
const SET_BACK_AT = 35;
const SET_BACK_EVERY = 64;
/** All of that weather, or one kind of it. */
const LEASED_RANGES = "leased ranges";
const WATCHED_RANGES = "watched ranges";
const TAKEN_OVER_RANGES = "ranges at takeovers";
const LIES = "lies";
const LIES_AT = 43;
const LIES_EVERY = 64;
export const WEATHERS = [
  ...NAMES,
  ...RARE,
  LIVE,
  CUT_OFF,
  RANGES,
  LEASED_RANGES,
  WATCHED_RANGES,
  TAKEN_OVER_RANGES,
  LIES,
  SET_BACK,
] as const;
export type WeatherName = (typeof WEATHERS)[number];

/** The storage is set back to an earlier state. Locations live on, with their caches and leases. */
interface SetBack {
  /** When the state is kept, and how long after that it comes back. */
  readonly keptMs: number;
  readonly lostMs: number;
  /** By the command, or by somebody who puts old files back and waits until all leases are over. */
  readonly isByCommand: boolean;
  /** How long no server runs. */
  readonly downMs: number;
  /** A server leads from soon after the state is kept: in the lost time with the epoch that would be the next one. */
  readonly isTakenOver: boolean;
}

export interface Weather {
  readonly name: WeatherName;
  /** Null: it is not. */
  readonly setBack: SetBack | null;
  /** How long the servers have been there before clients come: their memory of the time before is then of no use. */
  readonly aloneMs: number;
  readonly network: NetworkFaults;
  /** The slower followups are, the more executions meet intents that are not applied yet. */
  readonly followupDelayMs: number;
  readonly storage: StorageFaults;
  /** How long a location waits for a reply. */
  readonly attemptMs: number;
  readonly clients: number;
  readonly operations: number;
  /** Probability that a server is stopped for a while after it has sent a write to storage. */
  readonly serverFreeze: number;
  /** Probability that a server or a location ends before an effect, and that a run near storage is killed. */
  readonly serverEnd: number;
  readonly locationEnd: number;
  readonly kill: number;
  /** Probability that a followup has a write that its intent does not cover. */
  readonly spoil: number;
  /** Probability that a followup has other writes, or another outcome, than its handler. All such are audited. */
  readonly lies: number;
  /** The rules of tables, as the module states them. */
  readonly tableRules: RulesByTable;
  readonly trouble: Trouble;
  /** The longest partition. */
  readonly partitionMs: number;
  readonly servers: number;
  readonly locations: number;
  readonly termMs: number;
  readonly fencesIntents: boolean;
  /** How far the rates of clocks are from the true one at most. */
  readonly drift: number;
  readonly core: Partial<CoreOptions>;
  /** How often done intents are collected; null: never. */
  readonly collectMs: number | null;
  /** How often an operator asks a server for samples; null: never. */
  readonly samplesMs: number | null;
  /** Whether a newer module is deployed while the history runs. */
  readonly deploys: boolean;
  /**
   * The habits of clients: their programs, their longest pause, and how often they touch the favourites of their location.
   */
  readonly groups: readonly GroupName[];
  readonly pauseMs: number;
  readonly affinity: number;
  /** Whether locations are told what others have written of the units that they have read. */
  readonly updates: boolean;
  /** Longest way of a message that says what was heard, and of its answer. */
  readonly heardDelayMs: number;
  /** Probability that all lines of a stream take a detour. */
  readonly slowStreams: number;
  /** Probability that a line is lost on a stream that goes on. */
  readonly lineLoss: number;
  /** The time after which a server ends the answer to those who listen. */
  readonly updatesMs: number;
  /** The time between messages of a location that only renew its leases. */
  readonly beatMs: number;
  /** How often a client only reads, besides what its group has of readers. */
  readonly reads: number;
  /** How often a client chooses the id, and how often one that does not disconnects. */
  readonly retained: number;
  readonly disconnect: number;
  /** How many subscribers live queries have, and the units that are watched for those of one isolate. */
  readonly subscribers: number;
  readonly watched: number;
  /** Longest life of a stream of a live query. */
  readonly streamMs: number;
}

const NO_TROUBLE: Trouble = {
  cache: null,
  serverKilled: null,
  serverStopped: null,
  serverDrained: null,
  partition: null,
  serverClock: null,
  locationClock: null,
  locationKilled: null,
  isolateStopped: null,
  requestCutOff: null,
  stream: null,
};
const NO_STORAGE_FAULTS: StorageFaults = { failure: 0, lostAnswer: 0, late: 0, lateMs: 3_000, maxDelayMs: 4 };

/** The most that a location may have at once, as of real servers. */
const REAL_BUDGETS = {
  location: DEFAULT_CORE_OPTIONS.location,
  maxCallers: DEFAULT_CORE_OPTIONS.maxCallers,
} satisfies Partial<CoreOptions>;

/**
 * A clock that is set back is noticed by the time that it shows, or by a timer. An isolate that is stopped, or whose timers are lost with
 * their request, has no timer. So an isolate has one of these troubles.
 */
const CLOCKS_ARE_SET = { locationClock: 5_000, isolateStopped: null, requestCutOff: null } as const;
const CLOCKS_GO_ON = { locationClock: null, isolateStopped: 3_000, requestCutOff: 2_000 } as const;

/** Half of all are storms. */
export function weatherOf(seed: number, random: Random, only: WeatherName | null): Weather {
  const chosen = random.chance(0.4) ? "storm" : random.pick(NAMES);
  const rare = seed % RARE_EVERY === RARE_EVERY - 1 ? RARE[Math.floor(seed / RARE_EVERY) % RARE.length] : undefined;
  const live = seed % RARE_EVERY === LIVE_AT ? LIVE : undefined;
  const cutOff = seed % CUT_OFF_EVERY === CUT_OFF_AT ? CUT_OFF : undefined;
  const ranges = seed % RANGES_EVERY === RANGES_AT ? RANGES : undefined;
  const lies = seed % LIES_EVERY === LIES_AT ? LIES : undefined;
  const setBack = seed % SET_BACK_EVERY === SET_BACK_AT ? SET_BACK : undefined;
  const name = only ?? rare ?? live ?? cutOff ?? ranges ?? lies ?? setBack ?? chosen;
  const calm: Weather = {
    name,
    setBack: null,
    aloneMs: 0,
    attemptMs: 1_500,
    network: { drop: 0, duplicate: 0, late: 0, maxDelayMs: random.pick([5, 60]) },
    followupDelayMs: random.pick([5, 60, 2_000]),
    storage: { ...NO_STORAGE_FAULTS, maxDelayMs: random.pick([4, 60]) },
    clients: 6,
    operations: 24,
    serverFreeze: 0,
    serverEnd: 0,
    locationEnd: 0,
    kill: 0,
    spoil: 0,
    lies: 0,
    tableRules: {},
    trouble: { ...NO_TROUBLE, cache: random.pick([null, 300, 3_000]) },
    partitionMs: 2_000,
    servers: 1,
    locations: 3,
    termMs: random.pick([800, 2_000]),
    fencesIntents: random.chance(0.5),
    drift: 0,
    core: {
      followupTimeoutMs: random.pick([50, 500, 5_000]),
      readLeaseMs: random.pick([0, 600, 3_000]),
      // No history is long enough for the times of the real policy.
      leasePolicy: {
        priorReads: 0.5,
        unitEvents: 8,
        tableEvents: 16,
        leaseEvents: 16,
        lookAgainMs: 50,
        reviewed: 2,
        reviewMs: 50,
        backoffMs: 300,
        mostBackoffMs: 1_000,
        slowMs: Infinity,
      },
      maxWaitMs: random.pick([200, 2_000]),
      maxQueue: random.pick([2, 1_000]),
      maxRounds: random.pick([1, 3]),
      maxReplaced: 1,
      hotBytes: random.pick([0, 500, 1_000_000, 1_000_000]),
      finishedBytes: random.pick([0, 10_000, 1_000_000]),
      forgottenIds: random.pick([0, 20, 1_000_000]),
      answeredIds: random.pick([8, 60, 1_000_000, 1_000_000]),
      replayWindowMs: random.pick([2_000, 300_000]),
      retentionMs: 60_000,
      // Longer than a model's location goes on repeating a request.
      outcomeRetentionMs: 40_000,
      moduleRetentionMs: 40_000,
      collectBatch: 5,
      // Now and then a location may have little at a time.
      ...(random.chance(0.1)
        ? { location: { executions: 3, units: 8, bytes: 1_000_000, workers: 1, burstMs: 50 }, maxCallers: 2 }
        : {}),
    },
    collectMs: null,
    samplesMs: random.pick([null, null, 1_000]),
    deploys: random.chance(0.3),
    groups: groupsOf(random),
    pauseMs: random.pick([100, 1_500]),
    affinity: random.pick([0, 0.8]),
    updates: random.chance(0.5),
    heardDelayMs: 5,
    slowStreams: 0,
    lineLoss: 0,
    updatesMs: random.pick([1_000, 25_000]),
    beatMs: random.pick([100, 400]),
    reads: 0,
    retained: 0.3,
    disconnect: 0.05,
    subscribers: 0,
    watched: 8_192,
    streamMs: 300_000,
  };
  switch (name) {
    case "calm":
      return calm;
    case "storm":
      return {
        ...calm,
        network: {
          drop: random.below(20) / 100,
          duplicate: random.below(20) / 100,
          late: 0.02,
          maxDelayMs: random.between(5, 200),
        },
        storage: {
          failure: random.pick([0, 0.02, 0.2]),
          lostAnswer: random.pick([0, 0.02, 0.2]),
          maxDelayMs: random.pick([4, 60]),
          late: random.pick([0, 0.02]),
          lateMs: 3_000,
        },
        serverEnd: random.pick([0, 0.003, 0.01]),
        locationEnd: random.pick([0, 0.003, 0.01]),
        kill: random.pick([0, 0.01, 0.1]),
        spoil: random.pick([0, 0, 0.06]),
        trouble: {
          cache: random.pick([300, 3_000]),
          serverKilled: random.pick([null, 2_000, 10_000]),
          serverStopped: random.pick([3_000, 10_000]),
          serverDrained: random.pick([null, 5_000]),
          partition: 4_000,
          serverClock: 5_000,
          ...(random.chance(0.5) ? CLOCKS_ARE_SET : CLOCKS_GO_ON),
          locationKilled: random.pick([null, 2_000]),
          stream: random.pick([null, 1_000]),
        },
        heardDelayMs: 500,
        slowStreams: random.pick([0, 0.2]),
        lineLoss: random.pick([0, 0.02]),
        ...servers(random),
        drift: 0.05,
        ...collecting(random, calm.core),
      };
    case "leadership": {
      // Two servers, of which one stops for about as long as its term, or waits as long for storage; else all is well.
      const termMs = random.pick([800, 3_000]);
      return {
        ...calm,
        network: { ...calm.network, maxDelayMs: 10 },
        storage: { ...NO_STORAGE_FAULTS, late: random.pick([0, 0.1, 0.3]), lateMs: random.pick([0.9, 2]) * termMs },
        serverFreeze: random.pick([0, 0.05, 0.2]),
        trouble: { ...NO_TROUBLE, serverStopped: random.pick([null, termMs]) },
        servers: 2,
        termMs,
        fencesIntents: random.chance(0.2),
        drift: random.pick([0, 0.05]),
        groups: [random.pick(["items", "registers", "registers", "slots"])],
        pauseMs: termMs / 2,
        operations: 48,
        // Long enough to hear a server that was stopped past its term.
        attemptMs: 6_000,
        affinity: 0.5,
      };
    }
    case "own writes":
      // Followups take long, so that locations meet what they wrote themselves.
      return {
        ...calm,
        network: { ...calm.network, maxDelayMs: 10 },
        followupDelayMs: random.pick([500, 3_000]),
        storage: { ...NO_STORAGE_FAULTS, maxDelayMs: random.pick([4, 60]) },
        serverEnd: random.pick([0, 0, 0.01]),
        trouble: { ...NO_TROUBLE, cache: random.pick([null, 500]) },
        kill: random.pick([0, 0.1]),
        core: { ...calm.core, followupTimeoutMs: random.pick([500, 5_000]), maxWaitMs: 2_000, maxQueue: 1_000 },
        groups: [random.pick(["items", "items", "bank", "registers"])],
        affinity: 0.9,
        pauseMs: random.pick([50, 300]),
      };
    case "leases": {
      // Much is read, and little written. A few troubles at a time: of streams, isolates, servers, clocks.
      const clocks = random.pick([NO_TROUBLE, { locationClock: 800 }, { isolateStopped: 800, requestCutOff: 2_000 }]);
      const server = random.pick([
        { servers: 1, trouble: NO_TROUBLE },
        { servers: 1, trouble: { serverKilled: 1_000, serverDrained: random.pick([null, 1_500]) } },
        { servers: 2, trouble: { serverStopped: 1_500 } },
      ]);
      return {
        ...calm,
        servers: server.servers,
        trouble: {
          ...NO_TROUBLE,
          ...server.trouble,
          ...clocks,
          stream: random.pick([null, 400]),
          partition: random.pick([null, 1_500]),
          locationKilled: random.pick([null, null, 1_500]),
          cache: random.pick([null, 300]),
        },
        drift: random.pick([0, 0.05]),
        network: {
          drop: random.pick([0, 0, 0.1]),
          duplicate: random.pick([0, 0.2]),
          late: random.pick([0, 0, 0.05]),
          maxDelayMs: random.pick([5, 60]),
        },
        partitionMs: 4_000,
        beatMs: random.pick([100, 1_000]),
        heardDelayMs: random.pick([5, 5, 60, 900]),
        slowStreams: random.pick([0, 0, 0.3]),
        lineLoss: random.pick([0, 0, 0.05]),
        core: { ...calm.core, readLeaseMs: random.pick([1_000, 2_000, 3_000]), maxWaitMs: 2_000, maxQueue: 1_000 },
        groups: [random.pick(["items", "items", "registers", "bank", "set"])],
        operations: 60,
        locations: 2,
        updates: true,
        reads: random.pick([0.6, 0.9]),
        retained: 0.1,
        pauseMs: random.pick([50, 300]),
        affinity: 0.5,
      };
    }
    case "live queries":
      return withSubscribers(calm, random.fork(LIVE));
    case "cut off":
      return withoutStreams(calm, random.fork(CUT_OFF));
    case RANGES:
    case LEASED_RANGES:
    case WATCHED_RANGES:
    case TAKEN_OVER_RANGES:
      return withRanges(calm, random.fork(RANGES), name);
    case LIES:
      return withLies(calm, random.fork(LIES));
    case SET_BACK:
      return withSetBack(calm, random.fork(SET_BACK));
    case "restarts": {
      // The server ends at every effect, and messages come late and twice; storage and locations are well.
      const core = { ...calm.core, answeredIds: random.pick([4, 8, 1_000_000]) };
      return {
        ...calm,
        network: { drop: 0.05, duplicate: 0.3, late: 0.1, maxDelayMs: 60 },
        followupDelayMs: random.pick([60, 2_000]),
        serverEnd: random.pick([0, 0.01, 0.03]),
        core,
        ...(random.chance(0.3) ? { aloneMs: 1_000_000 } : collecting(random, core)),
        retained: 0.6,
      };
    }
    case "long runs":
      // Handlers that last, at locations and at the primary; followups come late or never.
      return {
        ...calm,
        network: { drop: random.pick([0, 0.1]), duplicate: 0, late: 0, maxDelayMs: 10 },
        followupDelayMs: random.pick([60, 3_000]),
        serverEnd: random.pick([0, 0, 0.01]),
        locationEnd: random.pick([0, 0.02]),
        core: { ...calm.core, followupTimeoutMs: random.pick([50, 500]), maxWaitMs: 2_000, maxQueue: 1_000 },
        groups: ["efforts"],
        pauseMs: random.pick([50, 1_500]),
      };
    case "hot key":
      // Many clients that hardly pause, on one or two units.
      return {
        ...calm,
        clients: 20,
        operations: 60,
        network: { ...calm.network, maxDelayMs: random.pick([5, 60]) },
        storage: { ...NO_STORAGE_FAULTS, failure: random.pick([0, 0, 0.05]), lostAnswer: random.pick([0, 0, 0.05]) },
        serverEnd: random.pick([0, 0, 0.01]),
        kill: random.pick([0, 0.05]),
        core: { ...calm.core, followupTimeoutMs: 500, maxWaitMs: 2_000, maxQueue: 1_000 },
        groups: [random.pick(["lists", "tickets", "set", "registers", "slots"])],
        pauseMs: 20,
        affinity: 0,
      };
    case "cold memory":
      // Every value is loaded, beside the writes of it.
      return {
        ...calm,
        network: { ...calm.network, maxDelayMs: 10 },
        followupDelayMs: 60,
        storage: { ...NO_STORAGE_FAULTS, maxDelayMs: 100 },
        core: { ...calm.core, hotBytes: 0, maxWaitMs: 2_000, maxQueue: 1_000 },
        pauseMs: 50,
        affinity: 0,
      };
  }
}

/** Some clients write, and others stay and look. A few troubles at a time. */
function withSubscribers(calm: Weather, random: Random): Weather {
  const isolates = random.pick<Partial<Trouble>>([
    {},
    { locationClock: 2_000 },
    { isolateStopped: 1_500, requestCutOff: 1_000 },
    { requestCutOff: 1_000 },
  ]);
  const server = random.pick<{ readonly servers: number; readonly trouble: Partial<Trouble> }>([
    { servers: 1, trouble: {} },
    { servers: 1, trouble: { serverKilled: 2_000, serverDrained: random.pick([null, 3_000]) } },
    { servers: 2, trouble: { serverStopped: 2_500 } },
  ]);
  return {
    ...calm,
    servers: server.servers,
    trouble: {
      ...NO_TROUBLE,
      ...server.trouble,
      ...isolates,
      stream: random.pick([null, 800]),
      partition: random.pick([null, null, 3_000]),
      locationKilled: random.pick([null, null, 3_000]),
    },
    drift: random.pick([0, 0.05]),
    network: {
      drop: random.pick([0, 0, 0.1]),
      duplicate: random.pick([0, 0.2]),
      late: 0,
      maxDelayMs: random.pick([5, 60]),
    },
    storage: { ...NO_STORAGE_FAULTS, maxDelayMs: random.pick([4, 60]) },
    followupDelayMs: random.pick([5, 300]),
    partitionMs: 4_000,
    beatMs: random.pick([400, 1_000]),
    heardDelayMs: random.pick([5, 60]),
    lineLoss: random.pick([0, 0, 0.05]),
    termMs: random.pick([800, 2_000]),
    core: {
      ...calm.core,
      readLeaseMs: random.pick([0, 1_000, 3_000]),
      followupTimeoutMs: random.pick([50, 500]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      // A location that polls asks more than the least budget allows.
      ...REAL_BUDGETS,
    },
    samplesMs: null,
    deploys: false,
    groups: [random.pick(["items", "items", "registers", "lists", "set", "bank"])],
    updates: true,
    updatesMs: random.pick([2_000, 25_000]),
    clients: 3,
    operations: random.pick([15, 40]),
    pauseMs: random.pick([300, 1_500, 4_000]),
    retained: 0.1,
    subscribers: random.between(2, 5),
    watched: random.pick([8_192, 8_192, 2]),
    streamMs: random.pick([15_000, 300_000, 300_000]),
  };
}

/**
 * Streams bring nothing for longer than a read lease lasts, or the primary is out of reach. Clients go on reading, and others write
 * the same. Clocks differ as much as they may, or messages take long beside a short lease. So a lease that ends a little too late
 * is met.
 */
function withoutStreams(calm: Weather, random: Random): Weather {
  const { readLeaseMs, ...messages } = random.pick([
    { readLeaseMs: 12_000, heardDelayMs: 5, beatMs: 500, pauseMs: 2_400 },
    { readLeaseMs: 1_000, heardDelayMs: 900, beatMs: 100, pauseMs: 800 },
  ]);
  return {
    ...calm,
    trouble: { ...NO_TROUBLE, stream: 1_500, partition: random.pick([null, 5_000]) },
    partitionMs: 12_000,
    drift: 0.05,
    network: { drop: 0, duplicate: 0, late: 0, maxDelayMs: 5 },
    followupDelayMs: 5,
    storage: { ...NO_STORAGE_FAULTS, maxDelayMs: 4 },
    ...messages,
    core: {
      ...calm.core,
      readLeaseMs,
      maxWaitMs: 10_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    groups: [random.pick(["registers", "bank", "set"])],
    clients: 8,
    operations: 150,
    locations: 2,
    updates: true,
    updatesMs: 60_000,
    reads: 0.9,
    retained: 0,
    // A client that waits for a primary out of reach reads nothing meanwhile.
    disconnect: 0.3,
    affinity: 0,
  };
}

/**
 * Each followup is audited, since all are or since its table says so. In half of the histories some of them lie; in the others
 * nobody does, and nobody is to be accused. One table may be private, though locations do not know that.
 */
function withLies(calm: Weather, random: Random): Weather {
  const tables = ["item", "account", "list", "bucket", "slot", "counter"];
  const audited = Object.fromEntries(tables.map((table) => [table, { isPrivate: false, isAudited: true }]));
  const isByTable = random.chance(0.5);
  const isPrivate = random.chance(0.5);
  const lies = random.pick([0, 0, 0.3, 0.7]);
  const kill = random.pick([0, 0, 0.3]);
  const group = random.pick<GroupName>(["items", "items", "items", "bank", "lists", "set", "slots", "tickets"]);
  return {
    ...calm,
    lies,
    tableRules: {
      ...(isByTable ? audited : {}),
      ...(isPrivate ? { register: { isPrivate: true, isAudited: isByTable } } : {}),
    },
    network: {
      drop: random.pick([0, 0, 0.1]),
      duplicate: random.pick([0, 0.3]),
      late: random.pick([0, 0, 0.05]),
      maxDelayMs: random.pick([5, 60]),
    },
    followupDelayMs: random.pick([5, 60, 500]),
    storage: {
      ...NO_STORAGE_FAULTS,
      failure: random.pick([0, 0, 0.05]),
      lostAnswer: random.pick([0, 0, 0.05]),
      maxDelayMs: random.pick([4, 60]),
    },
    serverEnd: random.pick([0, 0, 0.01]),
    // The server gives an audit up whose run is stopped, unless the table asks for one.
    kill: isByTable || lies === 0 ? kill : 0,
    trouble: {
      ...NO_TROUBLE,
      cache: random.pick([null, 500]),
      serverKilled: random.pick([null, null, 3_000]),
      stream: random.pick([null, 1_000]),
    },
    ...servers(random),
    core: {
      ...calm.core,
      auditedPart: isByTable ? 0 : 1,
      followupTimeoutMs: random.pick([500, 5_000]),
      hotBytes: random.pick([0, 500, 1_000_000]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    samplesMs: null,
    deploys: false,
    groups: isPrivate ? [group, "registers"] : [group],
    pauseMs: random.pick([50, 300]),
    affinity: random.pick([0, 0.8]),
    updates: random.chance(0.7),
    // The rule of a table is about those who write. Readers have an intent if their client has chosen the id.
    retained: isByTable ? 0 : calm.retained,
  };
}

/**
 * Much is under way when the state is kept and when it comes back: intents without followups, own writes, leases. The server of the
 * restored state gets as far as that of the lost one.
 */
function withSetBack(calm: Weather, random: Random): Weather {
  const isByCommand = random.chance(0.4);
  const isLeased = random.chance(0.4);
  return {
    ...calm,
    setBack: {
      keptMs: random.between(100, 3_000),
      lostMs: random.between(50, 4_000),
      isByCommand,
      downMs: isByCommand ? random.pick([5, 500]) : random.between(8_000, 10_000),
      isTakenOver: random.chance(0.7),
    },
    servers: random.pick([1, 1, 2]),
    termMs: 800,
    drift: random.pick([0, 0.05]),
    network: { ...calm.network, duplicate: random.pick([0, 0.2]), late: random.pick([0, 0.05]), maxDelayMs: 10 },
    followupDelayMs: random.pick([5, 500, 3_000]),
    serverEnd: random.pick([0, 0, 0.01]),
    trouble: { ...NO_TROUBLE, cache: random.pick([null, null, 500]) },
    core: {
      ...calm.core,
      readLeaseMs: isLeased ? 3_000 : 0,
      followupTimeoutMs: random.pick([50, 500, 5_000]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    samplesMs: null,
    deploys: false,
    groups: [
      random.pick<GroupName>(["items", "items", "bank", "registers", "lists", "tickets", "rows", "seats", "stock"]),
    ],
    clients: 6,
    operations: 160,
    pauseMs: random.pick([50, 200]),
    affinity: random.pick([0.5, 0.9]),
    updates: isLeased || random.chance(0.5),
    reads: isLeased ? 0.6 : 0,
    beatMs: random.pick([100, 400]),
    retained: 0.1,
  };
}

/** Many clients on the rows of one table, with insertions and pages around them. A few troubles at a time. */
function withRanges(calm: Weather, random: Random, name: WeatherName): Weather {
  const groups: readonly GroupName[] = random.pick<readonly GroupName[]>([
    ["rows"],
    ["rows"],
    ["seats"],
    ["stock"],
    ["stock", "tickets"],
  ]);
  const kind = random.pick([RANGES, RANGES, LEASED_RANGES, WATCHED_RANGES, TAKEN_OVER_RANGES]);
  switch (name === RANGES ? kind : name) {
    case LEASED_RANGES:
      return { ...withLeasedRanges(calm, random), groups };
    case WATCHED_RANGES:
      // Nobody only reads tickets.
      return { ...withSubscribers(calm, random), groups: groups.slice(0, 1) };
    case TAKEN_OVER_RANGES:
      return { ...withTakeovers(calm, random), groups };
    default:
      return { ...withAllTroubles(calm, random), groups };
  }
}

/** Much is read, by leases on spans; inserts revoke them. */
function withLeasedRanges(calm: Weather, random: Random): Weather {
  return {
    ...calm,
    trouble: { ...NO_TROUBLE, stream: random.pick([null, 400]), cache: random.pick([null, 300]) },
    network: { drop: 0, duplicate: random.pick([0, 0.2]), late: 0, maxDelayMs: random.pick([5, 60]) },
    followupDelayMs: random.pick([5, 60]),
    beatMs: random.pick([100, 1_000]),
    heardDelayMs: random.pick([5, 5, 60, 900]),
    core: {
      ...calm.core,
      readLeaseMs: random.pick([1_000, 3_000]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    operations: 60,
    locations: 2,
    updates: true,
    reads: random.pick([0.6, 0.9]),
    retained: 0.1,
    pauseMs: random.pick([50, 300]),
    affinity: 0.5,
  };
}

/** Followups come late, and servers end soon: the next one meets many intents, of those who read spans and of those who insert. */
function withTakeovers(calm: Weather, random: Random): Weather {
  return {
    ...calm,
    clients: 10,
    operations: 40,
    pauseMs: 20,
    network: { ...calm.network, maxDelayMs: random.pick([5, 30]) },
    followupDelayMs: 2_000,
    storage: { ...NO_STORAGE_FAULTS, maxDelayMs: random.pick([20, 200]) },
    serverEnd: random.pick([0.01, 0.03]),
    kill: random.pick([0, 0.1]),
    trouble: { ...NO_TROUBLE, cache: random.pick([null, 300]) },
    ...servers(random),
    termMs: 800,
    core: {
      ...calm.core,
      followupTimeoutMs: 5_000,
      hotBytes: random.pick([0, 2_000, 1_000_000]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    affinity: 0,
  };
}

function withAllTroubles(calm: Weather, random: Random): Weather {
  return {
    ...calm,
    network: {
      drop: random.pick([0, 0, 0.1]),
      duplicate: random.pick([0, 0, 0.2]),
      late: 0,
      maxDelayMs: random.pick([5, 60]),
    },
    storage: {
      ...NO_STORAGE_FAULTS,
      failure: random.pick([0, 0, 0.05]),
      lostAnswer: random.pick([0, 0, 0.05]),
      maxDelayMs: random.pick([4, 60, 200]),
    },
    followupDelayMs: random.pick([5, 60, 2_000]),
    serverEnd: random.pick([0, 0, 0.01]),
    locationEnd: random.pick([0, 0, 0.01]),
    kill: random.pick([0, 0.05]),
    trouble: {
      ...NO_TROUBLE,
      cache: random.pick([null, 300, 1_000]),
      serverKilled: random.pick([null, null, 3_000]),
      stream: random.pick([null, 1_000]),
    },
    ...servers(random),
    core: {
      ...calm.core,
      hotBytes: random.pick([0, 2_000, 1_000_000, 1_000_000]),
      maxWaitMs: 2_000,
      maxQueue: 1_000,
      ...REAL_BUDGETS,
    },
    clients: random.pick([4, 10]),
    operations: random.pick([20, 40]),
    pauseMs: random.pick([20, 100, 1_500]),
    updates: random.chance(0.7),
    reads: random.pick([0, 0, 0.5]),
  };
}

/** One that was there for long before, or two. */
function servers(random: Random): Pick<Weather, "servers" | "aloneMs"> {
  return random.chance(0.5) ? { servers: 2, aloneMs: 0 } : { servers: 1, aloneMs: random.pick([0, 0, 1_000_000]) };
}

/** Now and then clients take their time, so that old intents are collected between, or modules are kept for a moment only. */
function collecting(
  random: Random,
  core: Weather["core"],
): Partial<Pick<Weather, "collectMs" | "pauseMs" | "deploys" | "core">> {
  if (random.chance(0.1)) return { collectMs: 7_000, pauseMs: 30_000 };
  if (random.chance(0.9)) return {};
  return { collectMs: 200, deploys: true, core: { ...core, moduleRetentionMs: 500, followupTimeoutMs: 5_000 } };
}

function groupsOf(random: Random): readonly GroupName[] {
  if (random.chance(0.4)) return ["items"];
  return random.some(GROUP_NAMES, random.between(1, 2));
}
