/** A run of a handler: the core asks the executor for it, and hears of its result. The executor decides nothing. */
import type {
  Activation,
  Entry,
  LoggedLine,
  Outcome,
  Query,
  RunEffect,
  UnitId,
  WorkflowRun,
  Write,
} from "@radical/protocol";
import type { RunId } from "./events.ts";
import type { Invocation } from "./intent.ts";

/** The units that an execution reads and writes; one that it reads and writes is in both. Spans are among the reads. */
export interface AccessSet {
  readonly reads: ReadonlySet<UnitId>;
  readonly writes: ReadonlySet<UnitId>;
  /** The keys of its tasks. Left out: none. */
  readonly lanes?: ReadonlySet<string>;
}

export interface Run {
  readonly id: RunId;
  readonly invocation: Invocation;
  /** Captured values by unit. The value of a span is its directory, or its number of rows. */
  readonly snapshot: ReadonlyMap<UnitId, Entry>;
  readonly access: RunAccess;
  /** How often a run of the same was ended from outside: it gets longer each time, so that it ends. */
  readonly kills: number;
  /** The other members of its train, in order; left out: it runs alone. */
  readonly followers?: readonly Follower[];
}

/** A member of a train. Its run sees the writes of the members before it, as far as its snapshot has these units. */
export interface Follower {
  readonly invocation: Invocation;
  readonly snapshot: ReadonlyMap<UnitId, Entry>;
  readonly access: RunAccess;
}

/** The result of a run, and how long it took a thread: 0 if none began with it. */
export interface Ended {
  readonly result: RunResult;
  readonly tookMs: number;
}

/** The results of a run and its followers. */
export interface EndedRun extends Ended {
  /** Of the first of them, in order. The others have not run. */
  readonly followers?: readonly Ended[];
}

export type RunAccess =
  /** Re-execution: f runs under exactly this set, with the fuel of a speculation. */
  | { readonly kind: "declared"; readonly set: AccessSet }
  /**
   * f^rw runs on the snapshot. If all it reads is captured and all it writes is `writable` (null: anything), f
   * runs under that set; else the answer is `needs`.
   */
  | { readonly kind: "derive"; readonly writable: ReadonlySet<UnitId> | null }
  /**
   * Record mode: f runs and its accesses are recorded. With `guess`, items that were not captured are taken for absent,
   * so that one run finds many that are missing.
   */
  | { readonly kind: "record"; readonly guess: boolean }
  /** A workflow runs on its journal. It reads no unit. */
  | { readonly kind: "workflow"; readonly round: number; readonly activation: Activation };

export type RunResult =
  /** Of a workflow. */
  | { readonly kind: "activated"; readonly run: WorkflowRun }
  | {
      readonly kind: "completed";
      readonly outcome: Outcome;
      /** Units read, in any order. Spans are those that were observed: a part of a captured one, perhaps. */
      readonly reads: readonly UnitId[];
      /** Sorted by unit; empty unless the outcome is a result. */
      readonly writes: readonly Write[];
      /** Requests for tasks, in order; empty unless the outcome is a result. Left out: none. */
      readonly effects?: readonly RunEffect[];
      /** The lines that the handler has logged. Left out: none. */
      readonly logged?: readonly LoggedLine[];
    }
  /**
   * The set that f^rw found; provisional if some of its reads were not captured. `queries`: those that the snapshot does not
   * answer. Left out: none.
   */
  | { readonly kind: "needs"; readonly set: AccessSet; readonly queries?: readonly Query[] }
  /** Recording: units outside the snapshot were read, or queries that it does not answer were asked. Left out: none. */
  | { readonly kind: "missing"; readonly units: readonly UnitId[]; readonly queries?: readonly Query[] }
  /** f accessed a unit outside its set, so the set was wrong. */
  | { readonly kind: "undeclared"; readonly reason: string }
  /** Re-execution: f used up the fuel of a speculation, at the same point as at its location. */
  | { readonly kind: "exhausted" }
  /** f^rw failed: it says nothing about the set. */
  | { readonly kind: "no-set"; readonly reason: string }
  /** A member of a train that was cut before it, or whose result is lost because another member was stopped. */
  | { readonly kind: "not-run" }
  /** Stopped from outside, since it lasted and others waited: it may end another time. */
  | { readonly kind: "crowded-out" }
  /** Stopped from outside, by a limit that does not meet every run at the same point. */
  | { readonly kind: "killed"; readonly reason: string };
