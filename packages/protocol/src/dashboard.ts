/**
 * The questions of the dashboard, and the answers of its server: JSON below `/api/`, with the token of the run in a header. The
 * stream has a line for each {@link DashboardLine}. The server is `radical dev`, or `radical dashboard` for a deployment: that one
 * answers only questions that change nothing.
 */
import type { CommitId, ExecutionId, UnitId } from "./ids.ts";
import type { Life } from "./life.ts";
import type { HandlerPlan } from "./module-content.ts";
import type { ListedTask } from "./task-administration.ts";
import type { ListedWorkflow, ShownCommand, WorkflowHistory } from "./workflow-administration.ts";
import type { Wait } from "./workflows.ts";
import type { NamedTypes, Parameter, RecordTypes, ValueType } from "./value-type.ts";
import type { WorkflowCommand } from "./workflows.ts";

export const DASHBOARD_TOKEN_HEADER = "x-radical-token";

/** `GET`: a stream of {@link DashboardLine}: what is kept, then what comes. */
export const DASHBOARD_STREAM_PATH = "/api/stream";
/** `GET`: {@link DashboardApp}. */
export const DASHBOARD_APP_PATH = "/api/app";
/** `POST` of a change of faults, as to `/__radical/faults`. */
export const DASHBOARD_FAULTS_PATH = "/api/faults";
/** `POST` of {@link DashboardCalls}: {@link DashboardCalled}. */
export const DASHBOARD_CALL_PATH = "/api/call";
/** `POST` of a {@link DataQuestion}: {@link DataPage}. */
export const DASHBOARD_DATA_PATH = "/api/data";
/** `POST` of a {@link DataChange}: {@link DataChanged}. */
export const DASHBOARD_WRITE_PATH = "/api/write";
/** `POST` of a {@link CachedQuestion}: {@link CachedAnswer}. */
export const DASHBOARD_CACHED_PATH = "/api/cached";

/** `GET`: a {@link ContentionReport} of the primary. */
export const DASHBOARD_CONTENTION_PATH = "/api/contention";
/** `GET`: {@link DashboardRecords}. */
export const DASHBOARD_RECORDS_PATH = "/api/records";
/** `POST` of a {@link ReplayQuestion}: {@link Replay}. */
export const DASHBOARD_REPLAY_PATH = "/api/replay";

/** `POST` of a {@link TasksQuestion}: {@link DashboardTasks}. */
export const DASHBOARD_TASKS_PATH = "/api/tasks";
/** `POST` of a `TaskOrder`: `TaskOrderAnswer`. */
export const DASHBOARD_TASK_ORDERS_PATH = "/api/tasks/orders";
/** `GET`: {@link DashboardWorkflows}. `POST` of a `WorkflowHistoryQuestion`, whose server decides on arguments: {@link DashboardWorkflow}. */
export const DASHBOARD_WORKFLOWS_PATH = "/api/workflows";
/** `POST` of a `WorkflowOrder`: `WorkflowOrderAnswer`. */
export const DASHBOARD_WORKFLOW_ORDERS_PATH = "/api/workflows/orders";
/** `GET`: `ScheduleList`. `POST` of a `ScheduleQuestion`: `ScheduleAnswer`. */
export const DASHBOARD_SCHEDULES_PATH = "/api/schedules";
/** `POST` of a `TimeAdvance`: {@link DashboardTime}, once all has ended that was due meanwhile. */
export const DASHBOARD_TIME_PATH = "/api/time";

/** Most items of a {@link CachedQuestion}. */
export const MAX_LOOKED_AT = 50;
/** Most lives that are kept. */
export const MAX_KEPT_LIVES = 5_000;

export type DashboardLine = Life | DashboardState;

/** Sent at first, and whenever any of it changes. */
export interface DashboardState {
  readonly v: 1;
  readonly kind: "state";
  readonly source: DashboardSource;
  /** Of the application. Another one than before: {@link DashboardApp} is to be asked for again. */
  readonly module: string | null;
  readonly build: { readonly kind: "building" | "good" | "failed"; readonly words: string };
  readonly locations: readonly DashboardLocation[];
  readonly primary: { readonly down: boolean; readonly isUp: boolean; readonly restarts: number };
  readonly dropFollowups: boolean;
  /** The services that handlers declare, with the failures that are ordered. */
  readonly services: readonly DashboardService[];
  /** Null: nobody can move time. */
  readonly time: DashboardTime | null;
  /** Executions whose lives the primary has left out, since there were too many. */
  readonly livesLeftOut: number;
}

export interface DashboardService {
  readonly name: string;
  /** How many calls of 1 fail without being made, and how many are made and their answer is lost. */
  readonly throw: number;
  readonly lost: number;
  /** By how much each call is later. */
  readonly slowMs: number;
}

/** The time of tasks and handlers. */
export interface DashboardTime {
  /** By how much it is ahead of this machine's. */
  readonly aheadMs: number;
  /** It is being moved until it is so far ahead; null: it is not. */
  readonly movesToMs: number | null;
}

/** A deployment is shown, and nothing of it can be changed. */
export type DashboardSource =
  | { readonly kind: "dev" }
  | {
      readonly kind: "deployment";
      readonly name: string;
      /** Whether executions are recorded with the values that they read. */
      readonly hasRecords: boolean;
      /** One of so many executions of the primary is told. */
      readonly every: number;
      /** The halves that are not heard now, in words. */
      readonly lost: readonly string[];
    };

export interface DashboardLocation {
  readonly name: string;
  /** To the primary; null: not known. */
  readonly roundTripMs: number | null;
  /** Of the pieces of data between it and the primary. */
  readonly lossPercent: number;
  /** It runs everything near storage: what an application without Radical does. */
  readonly isCentral: boolean;
  readonly isCut: boolean;
  /** Calls that were sent to it and are not answered. */
  readonly open: number;
}

export interface DashboardApp {
  readonly application: string;
  readonly module: string;
  /** Of the application itself. */
  readonly url: string;
  readonly handlers: readonly DashboardHandler[];
  readonly tables: readonly string[];
  readonly records: RecordTypes;
  readonly named: NamedTypes;
}

export interface DashboardHandler {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly result: ValueType | null;
  readonly plan: HandlerPlan;
  readonly readOnly: boolean;
  readonly speculative: boolean;
  readonly description: string | null;
  readonly file: string;
  readonly line: number;
  /** Keys as the analysis knows them. */
  readonly reads: readonly DashboardPattern[];
  readonly writes: readonly DashboardPattern[];
  /** The function that gives its set, by name; null: nobody has written one. */
  readonly givenBy: string | null;
  readonly transformations: readonly DashboardTransformation[];
  /** Estimated steps of the handler, and of the function that tells its set; null: not known, or there is none. */
  readonly steps: { readonly handler: number | null; readonly readWriteSet: number | null };
  /** Why it has no derived set, in the words of the diagnostic, or by which private table; null: it has one, or none by choice. */
  readonly reason: string | null;
  /** The source of the derived read/write-set function; null: there is none. */
  readonly slice: string | null;
  /** The lines of the file from the declaration to its end; null: they can't be read. */
  readonly source: string | null;
  /** Lines of the source that the derived function keeps, from 0 for that of the declaration. */
  readonly keptLines: readonly number[];
}

export interface DashboardPattern {
  /** As `radical analyze` shows it: `posts/{id}`. */
  readonly pattern: string;
  /** The value that is read there decides on further items. */
  readonly isDependent: boolean;
}

/** How the derived function comes to say more than the handler touches. */
export interface DashboardTransformation {
  readonly kind: string;
  /** Says what the transformation does, and why. */
  readonly words: string;
  /** `src/handlers.ts:12`. */
  readonly place: string;
  /** Estimated steps that it saves. */
  readonly steps: number;
  /** Some executions that write nothing are said to write. */
  readonly makesWriter: boolean;
}

/** All of them are sent at once. */
export interface DashboardCalls {
  readonly handler: string;
  /** JSON text of the arguments. */
  readonly args: string;
  readonly sends: readonly {
    readonly place: string;
    /** `Idempotency-Key`; null: none. */
    readonly key: string | null;
    /** `Authorization`, by which the application's own code finds the caller; null: none. */
    readonly authorization: string | null;
  }[];
}

export interface DashboardCalled {
  readonly answers: readonly {
    readonly place: string;
    /** 0: there was no answer. */
    readonly status: number;
    readonly body: string;
    readonly execution: string | null;
    readonly path: string | null;
    readonly tookMs: number;
  }[];
}

export type DataQuestion =
  | { readonly kind: "tables" }
  /** `after`: a key; null: from the first one. */
  | { readonly kind: "page"; readonly table: string; readonly prefix: string; readonly after: string | null };

export type DataPage =
  | { readonly kind: "tables"; readonly tables: readonly { readonly name: string; readonly items: number }[] }
  | {
      readonly kind: "page";
      readonly items: readonly { readonly key: string; readonly value: string; readonly commit: CommitId | null }[];
      /** Whether there are more after these. */
      readonly isMore: boolean;
    };

export interface DataChange {
  readonly table: string;
  readonly key: string;
  /** The version that the person has seen; null: the item was absent. With another one nothing is written. */
  readonly expects: CommitId | null;
  /** JSON text; null: the item is deleted. */
  readonly value: string | null;
}

export type DataChanged =
  | { readonly kind: "written" }
  /** Somebody has written since: the item as it is now; null: it is absent. */
  | { readonly kind: "conflict"; readonly value: string | null; readonly commit: CommitId | null };

/** Names the items that are looked for in the caches of all locations. A look counts as no use of them. */
export interface CachedQuestion {
  readonly units: readonly UnitId[];
}

export interface CachedAnswer {
  /** In the order of the question. */
  readonly items: readonly {
    readonly unit: UnitId;
    /** As stored: writes that an execution has promised and not applied yet are not among it. */
    readonly primary: ShownVersion;
    /** Of the locations that have something of it. */
    readonly held: readonly (ShownVersion & Pick<HeldItem, "tier" | "isLeased"> & { readonly place: string })[];
  }[];
  /** Locations that could not be looked at, each with the reason. */
  readonly unseen: readonly { readonly place: string; readonly reason: string }[];
}

/** A version of an item, for people. */
export interface ShownVersion {
  /** Null: nothing is stored, and no commit is known. */
  readonly commit: CommitId | null;
  /** False: the item is absent in this version. */
  readonly isThere: boolean;
  /** When the primary was asked for the commit, by its clock; null: it is not among those that are remembered. */
  readonly writtenAtMs: number | null;
}

/** An item as the cache of a location has it. */
export interface HeldItem {
  readonly unit: UnitId;
  /** In the memory of the isolate, or in the cache behind it only. */
  readonly tier: "memory" | "behind";
  readonly commit: CommitId;
  readonly isThere: boolean;
  /** The location may answer reads of it without a question. */
  readonly isLeased: boolean;
}

export interface TasksQuestion {
  /** One task, with its arguments if they may be shown; null: all, without arguments. */
  readonly task: ExecutionId | null;
}

export interface DashboardTasks {
  readonly tasks: readonly DashboardTask[];
  /** There are more than the answer has. */
  readonly isMore: boolean;
  /** Of the primary, by its wall clock: the times of tasks are by this clock. */
  readonly timeMs: number;
}

export type DashboardTask = Omit<ListedTask, "args" | "caller"> & {
  /** JSON text; null: not asked for, or not shown. */
  readonly arguments: string | null;
  readonly caller: string | null;
};

export interface DashboardWorkflows {
  /** Those that have not ended. */
  readonly workflows: readonly DashboardListedWorkflow[];
  /** There are more than the answer has. */
  readonly isMore: boolean;
  /** As of tasks. */
  readonly timeMs: number;
}

export type DashboardListedWorkflow = ListedWorkflow & {
  /** Null: it waits for nothing, or the answer does not say for what. */
  readonly waitsFor: ShownWait | null;
};

/** The wait of a workflow. */
export interface ShownWait {
  readonly mode: Wait["mode"];
  readonly commands: number;
  /** The first one. */
  readonly kind: ShownCommand["kind"];
  readonly name: string;
}

/** As `radical workflows show` has it, with JSON text in place of encoded values: secrets are masked. Null: there is no such workflow. */
export type DashboardWorkflow = WorkflowHistory | null;

export interface DashboardRecords {
  /** The latest first. */
  readonly records: readonly DashboardRecord[];
  /** Executions that could not be recorded. */
  readonly leftOut: number;
}

/** An execution that the primary has sampled with the values that it ran on. */
export interface DashboardRecord {
  readonly execution: ExecutionId;
  readonly handler: string;
  readonly location: string;
  readonly module: string;
  /** When the execution began, by the clock that its handler saw. */
  readonly timeMs: number;
  readonly path: string;
  readonly commit: CommitId | null;
}

export interface ReplayQuestion {
  readonly execution: string;
  /** The build that it runs in: the one in which it was carried out, or the one that serves now. */
  readonly build: "recorded" | "present";
}

/** A run of a recorded execution on the values that it read. Values are JSON text. */
export interface Replay {
  readonly module: string;
  readonly args: string;
  readonly caller: string | null;
  /** The parts in whose place it ran on others, as `radical record` names them. */
  readonly redacted: readonly string[];
  readonly steps: readonly ReplayStep[];
  readonly stepsLeftOut: number;
  /** Result, abort or trap; null: the run did not end, for the reason. */
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly fuel: number | null;
  /** In the present build: the differences from the recorded execution. */
  readonly differences: readonly ReplayDifference[];
}

/** A call of a host function. */
export interface ReplayStep {
  readonly kind:
    | "get"
    | "has"
    | "scan"
    | "count"
    | "write"
    | "caller"
    | "now"
    | "draw"
    | "log"
    | "abort"
    /** Of an effect, or a command of a workflow. */
    | WorkflowCommand["kind"]
    /** A workflow comes to a wait, or reads the result of a command. */
    | "wait"
    | "settled";
  /** An item, a range in words, a place in the source, the level of a line, or an effect or a command by its path. */
  readonly subject: string;
  /** The version of the item that it read; null: none, or the run has written the item before. */
  readonly version: CommitId | null;
  readonly value: string;
}

export interface ReplayDifference {
  /** `result.posts[3].text`, the item with the path in it, `posts/1: likes`, or that of an effect or a command: `effects[0].args.to`. */
  readonly path: string;
  /** Null: it was, or is, not there. */
  readonly was: string | null;
  readonly is: string | null;
}
