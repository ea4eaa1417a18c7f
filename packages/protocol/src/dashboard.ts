/**
 * The questions of the dashboard of `radical dev`, and the answers of its server: JSON below `/api/`, with the token of the run
 * in a header. The stream has a line for each {@link DashboardLine}.
 */
import type { Life } from "./life.ts";
import type { HandlerPlan } from "./module-content.ts";
import type { NamedTypes, Parameter, RecordTypes, ValueType } from "./value-type.ts";

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

/** Most lives that are kept. */
export const MAX_KEPT_LIVES = 5_000;

export type DashboardLine = Life | DashboardState;

/** Sent at first, and whenever any of it changes. */
export interface DashboardState {
  readonly v: 1;
  readonly kind: "state";
  /** Of the application. Another one than before: {@link DashboardApp} is to be asked for again. */
  readonly module: string | null;
  readonly build: { readonly kind: "building" | "good" | "failed"; readonly words: string };
  readonly locations: readonly DashboardLocation[];
  readonly primary: { readonly down: boolean; readonly isUp: boolean; readonly restarts: number };
  readonly dropFollowups: boolean;
}

export interface DashboardLocation {
  readonly name: string;
  readonly roundTripMs: number;
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
  /** Keys as the analysis knows them, as text. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Why it has no derived set, in the words of the diagnostic; null: it has one. */
  readonly reason: string | null;
  /** The source of the derived read/write-set function; null: there is none. */
  readonly slice: string | null;
  /** The lines of the file from the declaration to its end; null: they can't be read. */
  readonly source: string | null;
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
      readonly items: readonly { readonly key: string; readonly value: string; readonly commit: string | null }[];
      /** Whether there are more after these. */
      readonly isMore: boolean;
    };

export interface DataChange {
  readonly table: string;
  readonly key: string;
  /** JSON text; null: the item is deleted. */
  readonly value: string | null;
}

export interface DataChanged {
  readonly written: boolean;
}
