/**
 * The questions of an operator's commands to the LVI server, and its answers: JSON over requests that an administration key has
 * signed. An answer that stays open consists of lines of JSON. An empty line only says that the connection is alive.
 */
import type { ContentHash } from "./content-hash.ts";
import type { CommitId, ExecutionId, ModuleHash, UnitId } from "./ids.ts";
import type { LogLineLevel } from "./logged-line.ts";
import type { RedactionQuestion } from "./redaction.ts";
import { isSpan } from "./span.ts";
import type { Schedule } from "./task-rules.ts";
import { MAX_TASK_DELAY_MS } from "./tasks.ts";
import type { Version } from "./version.ts";

/** `GET`: {@link ServerStatus}; answered in every state. */
export const STATUS_PATH = "/v1/status";
/** `GET`: {@link ModuleList}. Below it, `/<hash>/content`: a module's bytes. */
export const MODULE_LIST_PATH = "/v1/modules";
/** `GET`: {@link IndexList}. A server of a release without indexes has nothing there. */
export const INDEXES_PATH = "/v1/indexes";
/** `GET`: {@link ScheduleList}. `POST` of a {@link ScheduleQuestion}: {@link ScheduleAnswer}. A server of an earlier release has nothing there. */
export const SCHEDULES_PATH = "/v1/schedules";
/** `POST` of a {@link LogQuestion}: lines of log, those that are kept and then those to come; answered in every state. */
export const LOG_PATH = "/v1/log";
/** `POST` of a {@link SampleQuestion}: a {@link SampleLine} for each sampled execution. */
export const SAMPLES_PATH = "/v1/samples";

/** `GET`: {@link ContentionReport}. A server of an earlier release has nothing there. */
export const CONTENTION_PATH = "/v1/contention";

/** `POST` of an {@link UpgradeOrder}: {@link UpgradeStatus}, when the storage is written in the newest schema. */
export const UPGRADE_PATH = "/v1/upgrade";

/** `POST` of a {@link QuietOrder}: a {@link QuietSecond}. A server of an earlier release has nothing there. */
export const QUIET_PATH = "/v1/quiet";

/** `POST` of a {@link TimeMove}: one too. A server that was not started with `--virtual-time-ms` refuses it. */
export const TIME_PATH = "/v1/time";

/**
 * `POST` of an LVI request for a module that was registered aside, of no application: it changes and reads items for an operator.
 * A location can't ask for such a module.
 */
export const DATA_PATH = "/v1/data";

/** `GET`, not signed, outside of `/v1/`: {@link AdministrationKeys}. Public halves are not secret; the relay checks signatures by them. */
export const KEYS_PATH = "/keys";

export interface AdministrationKeys {
  /** Ed25519 public halves in hex, by the ids of keys. */
  readonly administration: Readonly<Record<string, string>>;
}

/** A proxy flushes lines of this type as they come. */
export const LINES_TYPE = "application/x-ndjson";

export interface ServerStatus {
  /** `serving`: it has the leadership and has recovered. `standby`: another server has the leadership. */
  readonly state: "serving" | "draining" | "starting" | "standby" | "recovering" | "stopped";
  /** The epoch of its leadership; null while it has none. */
  readonly epoch: number | null;
  /** By its wall clock, in milliseconds since the epoch. */
  readonly timeMs: number;
  /** Executions whose intent is durable and not applied yet; null unless it serves. */
  readonly pending: number | null;
  /**
   * The pending intents whose re-execution was ended from outside. Their units stay locked. An older server leaves this
   * out.
   */
  readonly overdue?: number | null;
  /**
   * Handlers whose runs here have left their read/write set, since this server has the leadership; null unless it serves. An
   * older server does not say.
   */
  readonly setsLeft?: readonly SetLeft[] | null;
  /** Since this server has the leadership; null unless it serves. An older server does not say. */
  readonly readLeases?: ReadLeaseStatus | null;
  /** The calls of services; null unless it serves. An older server does not say. */
  readonly services?: ServicesStatus | null;
  /** Null until the server has read its storage. */
  readonly upgrade?: UpgradeStatus | null;
}

/** How far the upgrade to the release of a server has come. */
export interface UpgradeStatus {
  /** The schema in which the storage is written. */
  readonly written: number;
  /** The newest schema that the server knows: the upgrade is finished if it is the same. */
  readonly newest: number;
  /** The release of the server. */
  readonly release: string;
}

/** After it no earlier release can serve the storage. */
export interface UpgradeOrder {
  /** The newest schema of the server, as it has told it. */
  readonly to: number;
}

/** The server has writes wait for seven to nine seconds. */
export interface QuietOrder {
  readonly pauseWrites: true;
}

/** A second to which the tables of a deployment can be restored. */
export interface QuietSecond {
  /** In milliseconds since the epoch; null: the copies of this storage are whole at any time. */
  readonly timeMs: number | null;
}

export interface ServicesStatus {
  /** Where the server calls the application's Worker; null: it was not told. */
  readonly worker: string | null;
  /** Whether the current module has services. */
  readonly areNeeded: boolean;
  /** Those that were called since the server has the leadership. */
  readonly services: readonly ServiceStatus[];
}

/** A service, as far as calls depend on it. */
export interface ServiceStatus {
  readonly name: string;
  /** `open`: calls fail, so nothing is called for a pause. `probing`: one call finds out whether they succeed again. */
  readonly breaker: "closed" | "open" | "probing";
  /** Calls that have failed in a row. */
  readonly failures: number;
  /** Calls that are under way. */
  readonly calling: number;
  /** Of the last call, if that failed. */
  readonly error: { readonly code: string; readonly message: string; readonly atMs: number } | null;
}

export interface ReadLeaseStatus {
  /** How long a lease lasts; 0: the server grants none. */
  readonly readLeaseMs: number;
  /** Those that have had a session. */
  readonly locations: readonly LeasedLocation[];
}

/** A location, as far as writers wait for it. */
export interface LeasedLocation {
  readonly location: string;
  /** Isolates that hear of the end of their leases. */
  readonly sessions: number;
  /** Units that are leased to it. */
  readonly units: number;
  /** The shortest round trip of late; null: none was measured. */
  readonly roundTripMs: number | null;
  /** How often its isolates were told that a lease ends, how long they took to say that they heard it, all together, and at most. */
  readonly revocations: number;
  readonly waitedMs: number;
  readonly longestWaitMs: number;
  /** How often an isolate said nothing, so that a lease had to run out. */
  readonly lapsed: number;
  /** For so long it gets no leases, since it let one run out; 0: it gets them. */
  readonly refusedForMs: number;
}

/** A handler of one build whose read/write set is wrong: certain, since f^rw and f ran on the same current values. */
export interface SetLeft {
  readonly module: ModuleHash;
  readonly handler: string;
  readonly times: number;
}

export interface ListedModule {
  readonly module: ModuleHash;
  /** False: executions name it, but the server does not have it. */
  readonly registered: boolean;
  /** By the wall clock of the server, in milliseconds since the epoch; null: not known. */
  readonly registeredAtMs: number | null;
  /** When a location last asked for it, or it was last registered. */
  readonly usedAtMs: number | null;
  /** Names of its handlers. */
  readonly handlers: readonly string[];
  /** Pending intents that name it: it is not collected as long as there are any. */
  readonly pending: number;
  /** Executions under way that name it, pending ones included. */
  readonly executions: number;
}

export interface ModuleList {
  /** The last used first. */
  readonly modules: readonly ListedModule[];
  /** How long a module is kept that no location asks for. */
  readonly retentionMs: number;
}

export interface IndexList {
  /** In the order of their names. */
  readonly indexes: readonly IndexStatus[];
}

/** How far an index is built. */
export interface IndexStatus {
  readonly name: string;
  /**
   * `building`: entries are added to what is stored. `ready`: handlers can read it. `stopped`: its items can't be indexed as they
   * are, as `faults` says. `dropping`: no registered module names it, and its entries go.
   */
  readonly phase: "building" | "ready" | "stopped" | "dropping";
  /** Items that the build has seen; of an index that is dropped, the entries that have gone. */
  readonly items: number;
  /** Executions of builds without the index that have to end before the build goes on. */
  readonly waitsFor: number;
  readonly faults: readonly IndexFault[];
}

/** Items that keep an index from being built. */
export interface IndexFault {
  /** `duplicates`: they have the same fields, and the index is unique. `too-long`: the fields of the item are too long for an entry. */
  readonly kind: "duplicates" | "too-long";
  /** The indexed fields, in the order in which the index names them, as text. */
  readonly fields: readonly string[];
  /** Keys of some of the items; the first ones. */
  readonly keys: readonly string[];
  /** How many of the items were found. */
  readonly items: number;
}

export interface ScheduleList {
  /** In the order of their handlers' names. */
  readonly schedules: readonly ScheduleStatus[];
  /** By the wall clock of the server, in milliseconds since the epoch: the times of ticks are by this clock. */
  readonly timeMs: number;
}

type Stated<One> = One extends Schedule ? Omit<One, "parameter"> : never;

/** The schedule of a handler, as its tag states it, and how far it has come. */
export type ScheduleStatus = Stated<Schedule> & {
  readonly handler: string;
  /** The latest tick that has become a task; null: none has. */
  readonly lastMs: number | null;
  /** The next tick; null: there is none. */
  readonly nextMs: number | null;
  readonly isPaused: boolean;
  /** The task of the latest tick is not done yet. */
  readonly isOpen: boolean;
};

/** `run`: the handler is called once, as by a tick of now. `pause`: no tick becomes a task until `resume`. */
export const SCHEDULE_ACTIONS = ["run", "pause", "resume"] as const;
export type ScheduleAction = (typeof SCHEDULE_ACTIONS)[number];

export interface ScheduleQuestion {
  readonly handler: string;
  readonly action: ScheduleAction;
}

/** It is durable. `task`: the id of the call that was asked for by `run`. */
export interface ScheduleAnswer {
  readonly task: ExecutionId | null;
}

/**
 * By how much the time of tasks is to be ahead of the machine's, and in the answer by how much it is. The answer comes when all tasks
 * have ended that were due by then. After some seconds it tells a part of the way, and the same question again goes on.
 */
export interface TimeMove {
  readonly aheadMs: number;
}

/** Longest move of time. Every task and every wait is due after it. */
export const MAX_AHEAD_MS = MAX_TASK_DELAY_MS;

/** The tally of contention has two windows of this length: the present one and the one before. */
export const CONTENTION_WINDOW_MS = 60_000;
/** Most units in the tally. */
export const MAX_CONTENDED_UNITS = 256;
/** Most waits of a unit that are told one by one. */
export const MAX_LAST_WAITS = 16;

export interface ContentionReport {
  /** Those that executions waited for longest first. */
  readonly units: readonly ContendedUnit[];
  /** More units were contended for than the tally keeps, so some are missing. */
  readonly hasLeftOut: boolean;
}

/** A unit that somebody waited for, or that a location had an old version of, in the last two windows. */
export interface ContendedUnit {
  readonly unit: UnitId;
  /** Requests that named it, since it is in the tally. */
  readonly calls: number;
  /** Executions that waited for it, how long all together, and at most. */
  readonly waits: number;
  readonly waitedMs: number;
  readonly longestMs: number;
  /** Requests whose location had an old version of it. */
  readonly stale: number;
  /** The locations that hold a read lease of it now. */
  readonly leasedTo: readonly string[];
  /** The last waits, the oldest first. */
  readonly last: readonly UnitWait[];
}

export interface UnitWait {
  readonly execution: ExecutionId;
  /** The execution that held the unit when the wait began; null: not known. */
  readonly behind: ExecutionId | null;
  readonly handler: string | null;
  readonly location: string | null;
  readonly waitedMs: number;
  /** By the wall clock of the server, in milliseconds since the epoch. */
  readonly endedAtMs: number;
}

export interface LogQuestion {
  /** Most lines of those that are kept. */
  readonly lines: number;
  /** Whether lines to come are wanted. */
  readonly follow: boolean;
  /** The least level that is wanted; the server writes none below its own. */
  readonly level: LogLineLevel;
}

export interface SampleQuestion {
  /** Of how many executions one is sampled. */
  readonly every: number;
  /** Only executions of these handlers; empty: of all. */
  readonly handlers: readonly string[];
  /** Whether what they read is wanted; else only its versions, which are known of every execution. */
  readonly values: boolean;
  /** The parts that the server makes unreadable before it reports an execution; an empty list: none. */
  readonly redact: RedactionQuestion;
  /** Most samples of a second; null or left out: any number. An older server has no bound. */
  readonly perSecond?: number | null;
}

/** How an execution came to its end. */
export type SamplePath =
  /** Read-only, and valid: its location has run it. */
  | "valid"
  /** Its location has run it, and the primary has applied what that wrote. */
  | "followup"
  /** The primary has run it in place of its followup. */
  | "re-execution"
  | "near-storage"
  /** The run of a workflow on its journal. */
  | "activation";

export type SampledVersion = readonly [unit: string, commit: CommitId | null, digest?: ContentHash];

/** The version of a unit, as a sample tells it. */
export function sampledVersion(unit: UnitId, { commitId, hash }: Version): SampledVersion {
  if (hash === null) return [unit, null];
  return isSpan(unit) ? [unit, commitId, hash] : [unit, commitId];
}

/** The journal of a workflow, in a sample of one of its runs. */
export interface SampledEntries {
  readonly round: number;
  /** Encoded entries, the last one being that of the run. Redacted, they have no waits, and commands with empty hashes. */
  readonly entries: readonly string[];
  /** It has trapped, so the last entry has no commands. */
  readonly hasTrapped: boolean;
}

/** Bytes are in base 64. */
export type SampleLine =
  | {
      readonly kind: "sample";
      readonly execution: string;
      readonly path: SamplePath;
      readonly location: string;
      readonly module: ModuleHash;
      readonly handler: string;
      /** Encoded. */
      readonly args: string;
      readonly timeMs: number;
      readonly seed: string;
      readonly caller: string | null;
      /** Commit id of its writes; null: it has none. */
      readonly commit: CommitId | null;
      /**
       * Commit ids of what it ran on, null for what is absent: of all that it reads, perhaps more. A span has the digest of its rows
       * too, unless something is redacted.
       */
      readonly versions: readonly SampledVersion[];
      /** Values that it ran on, encoded, null for what is absent: all that it reads, perhaps more. Null: not wanted. */
      readonly values: readonly (readonly [unit: string, value: string | null])[] | null;
      /**
       * As its run has told: encoded outcome, writes, null for what is deleted, and encoded effects, which an older server leaves out.
       * Null: only its location knows, something is redacted, or it is a workflow that goes on.
       */
      readonly ended: {
        readonly outcome: string;
        readonly writes: readonly (readonly [string, string | null])[];
        readonly effects?: string;
      } | null;
      /** The task of which it is an attempt, the first one being 1. Left out: it is none. */
      readonly task?: { readonly attempt: number; readonly parent: ExecutionId };
      /** The step of a workflow that it is, or of which a workflow is one. Left out: it is none. */
      readonly step?: { readonly workflow: ExecutionId; readonly round: number; readonly command: number };
      /** Of a workflow. Left out: it is none, or values are not wanted. */
      readonly activation?: SampledEntries;
      /** The names of the question that something was redacted for, `*` for all. A server that does not redact does not say. */
      readonly redacted?: readonly string[];
    }
  /** Executions that were to be sampled and could not be: what they read is not at the primary, or nobody took the lines. */
  | { readonly kind: "left-out"; readonly count: number }
  /** No more lines come: too many take samples already, or the server stops. */
  | { readonly kind: "ended"; readonly reason: string };
