/**
 * The port to primary storage: items, write intents, modules and the leadership of the server that serves. Implementations
 * pass the suite in `storage-conformance.ts`.
 *
 * Every method takes effect at once or not at all for every caller of this storage, and resolves when it is durable. It
 * rejects with a `StorageError`, which says whether it may have taken effect. Operations of one server may overlap and take
 * effect in any order between call and answer.
 *
 * Several servers may know one storage; one serves. A server that acquires the leadership gets the next *epoch*, and from
 * then on no earlier server completes anything. An intent that an earlier one had on its way may still arrive. It counts as
 * not there, unless `recover` has seen it. Its sender must not act on the answer, which it knows from its leadership.
 */
import type {
  CommitId,
  ExecutionId,
  HandlerPlan,
  HandlerTables,
  Key,
  ModuleHash,
  UnitId,
  Write,
} from "@radical/protocol";
import type { ExpectedCompletion, StoreResult } from "../core/events.ts";
import {
  type Completion,
  doneIntentOf,
  type Intent,
  type IntentRecord,
  type RecordChange,
  recordIdOf,
  withdrawalOf,
} from "../core/intent.ts";
import type { Leadership } from "../core/leadership.ts";
import type { TaskChange } from "../core/services.ts";
import type { Task, TaskName, TaskOutline, TaskPlace } from "../core/task.ts";
import type { TaskNumbers } from "../core/task-count.ts";
import type { StoredItem } from "../core/version-table.ts";
import type { Workflow, WorkflowPart } from "../core/workflow.ts";
import type { QuietTime } from "./quiet-times.ts";
import type { KeyPlaces } from "./sealing/sealing-key.ts";

export interface Storage {
  /** Nobody else knows this storage, so that the leadership needs no renewal. */
  readonly isExclusive: boolean;
  /** Places for keys that are not in the copies of this storage. Left out: it has none. */
  readonly keyPlaces?: KeyPlaces;
  /** How many of its requests were throttled since it was opened. Left out: nothing throttles them. */
  readonly throttles?: number;

  /** Keeps a time at which nothing was written. Left out: nobody wants to know. False: another server leads, so nothing is kept. */
  keepQuietTime?(epoch: number, quiet: QuietTime): Promise<boolean>;
  /** Rejects with a WrongSchemaError if this program can't serve the storage. */
  readSchema(): Promise<SchemaState>;
  /**
   * Of the server that leads, before it reads anything: moves the storage to the oldest schema that this program serves, if it is
   * older. `isFinished`: to the newest one, from which there is no way back. Null: another server has the leadership.
   */
  upgrade(epoch: number, isFinished: boolean): Promise<SchemaState | null>;

  /** The leadership as it is; epoch 0 before the first server. Rejects as `readSchema` does. */
  readLeadership(): Promise<Leadership>;
  /**
   * Moves the epoch on if the leadership is still as it was seen; null if it is not. The caller has waited it out.
   * `readLeaseMs`: how long read leases of earlier leaders may last. `leader`: where others are to ask from then on.
   * `epoch`: the new one. Left out: one more.
   */
  acquireLeadership(
    seen: Leadership,
    termMs: number,
    readLeaseMs: number,
    leader?: string,
    epoch?: number,
  ): Promise<Leadership | null>;
  /**
   * For another term from when this was sent; 0 gives it up, when no read lease is left. False: another server has the
   * leadership.
   */
  renewLeadership(epoch: number, termMs: number): Promise<boolean>;
  /**
   * From then on the leadership names this time, for which its holder may give read leases. It may name a longer time
   * already. False: another server has the leadership.
   */
  nameReadLeases(epoch: number, readLeaseMs: number): Promise<boolean>;
  /** The pending intents that earlier servers left, by commit id; they are this server's from then on. */
  recover(epoch: number): Promise<readonly Intent[]>;

  /** The intent of an execution; strongly consistent. */
  lookUp(epoch: number, id: ExecutionId): Promise<IntentRecord | null>;
  /**
   * Strongly consistent for each unit; a unit that the answer lacks is absent. Beside a completion that writes some of the
   * units it may show a part of its writes. A request has some thousand units at most, a recovery 100,000. Null: their
   * values have more bytes than that together. Then it stops early, so that memory is bounded.
   */
  load(units: readonly UnitId[], mostBytes: number): Promise<ReadonlyMap<UnitId, StoredItem> | null>;
  /**
   * The items of a range in the order of their keys' UTF-8 bytes, at most so many; strongly consistent for each. Beside a
   * commit that writes some of them it may show a part of its writes.
   */
  scan(range: KeyRange, limit: number): Promise<readonly StoredUnit[]>;
  /** Inserts a pending intent if the execution id is new. */
  storeIntent(epoch: number, intent: Intent): Promise<StoreResult>;
  /**
   * Makes all changes if each record is as its change expects, and none of them otherwise. A commit that is larger than one
   * transaction of the storage is decided in one and applied in parts; after a crash `recover` completes it.
   */
  commit(epoch: number, commit: Commit): Promise<CommitResult>;
  /** Open tasks that are in no lane, dead ones left out, in the order of {@link TaskPlace}; of those after a place. */
  dueTasks(after: TaskPlace | null, limit: number): Promise<TaskPage<TaskPlace>>;
  /** The first tasks of a lane, dead ones among them, in the order of their places. */
  laneTasks(lane: string, limit: number): Promise<TaskPage<string>>;
  /** The first task of each lane, dead or not, in any order of lanes. */
  laneHeads(after: LaneCursor | null, limit: number): Promise<LanePage>;
  /** Some tasks with their arguments, in any order; those that are gone are left out. */
  readTasks(tasks: readonly TaskName[]): Promise<readonly Task[]>;
  countTasks(): Promise<TaskNumbers>;
  /** Workflows that have not ended, in any order. */
  openWorkflows(after: string | null, limit: number): Promise<WorkflowPage>;
  /** The parts of a workflow, in the order of their places. */
  partsOf(workflow: ExecutionId): Promise<readonly WorkflowPart[]>;
  /**
   * The tasks that are selected, in an order of the storage's own; of those after a place. A page may have fewer than were asked
   * for, even none, and not be the last.
   */
  listTasks(selection: TaskSelection, after: TaskListCursor | null, limit: number): Promise<TaskListPage>;
  /** The task with this id, in whatever lane; strongly consistent. Null: there is none. */
  findTask(id: ExecutionId): Promise<Task | null>;
  /**
   * Deletes intents that were done before one time, unless the storage expires them itself. Deletes outcomes that were kept
   * briefly, of executions done before another. Deletes workflows that ended before the first time, with their parts. Deleted data
   * is then in none of the storage's files.
   */
  collect(due: CollectionDue): Promise<Collected>;

  /** Keeps a module; the same again moves the time of its last use, and nothing else. */
  storeModule(module: StoredModule, content: Uint8Array): Promise<void>;
  /** Moves the time of a module's last use, if the module is there. */
  useModule(hash: ModuleHash, usedAtMs: number): Promise<void>;
  /** Removes a module unless it was used after that time, or another server has taken over. */
  removeModule(epoch: number, hash: ModuleHash, usedAtMs: number): Promise<boolean>;
  modules(): Promise<readonly StoredModule[]>;
  moduleContent(hash: ModuleHash): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

/** In which schema a storage is written; `schema.ts` has the rules. */
export interface StorageSchema {
  readonly written: number;
  /** The oldest schema whose servers can serve the storage. */
  readonly readableFrom: number;
}

export interface SchemaState extends StorageSchema {
  /** The newest schema that this program knows. */
  readonly newest: number;
  /** The newest version of the ABI that a module may state which is registered now: all who can serve the storage run it. */
  readonly abi: number;
}

/**
 * Tasks in their order. A task that changes while storage looks may be left out, or be here as it was or is.
 */
export interface TaskPage<Place> {
  readonly tasks: readonly Task[];
  /** All others up to there are here; null: there are none behind. */
  readonly upTo: Place | null;
}

/** How far a walk over the lanes has come: a name that only the storage understands. */
export type LaneCursor = string;

export interface LanePage {
  readonly heads: readonly TaskOutline[];
  /** Null: these were the last ones. */
  readonly next: LaneCursor | null;
}

export interface WorkflowPage {
  readonly workflows: readonly Workflow[];
  /** A place that only the storage understands. Null: these were the last ones. */
  readonly next: string | null;
}

/** Left out: any. */
export interface TaskSelection {
  readonly state?: Task["state"];
  /** Null: those that are in none. */
  readonly lane?: string | null;
}

/** A place in a list of tasks that only the storage understands. */
export type TaskListCursor = string;

export interface TaskListPage {
  readonly tasks: readonly Task[];
  /** Null: there are no more. */
  readonly next: TaskListCursor | null;
}

/** Some of the keys of one table of the application. */
export interface KeyRange {
  readonly table: string;
  /** Null: from the first. */
  readonly from: Key | null;
  /** It is not in the range itself; null: to the last. */
  readonly to: Key | null;
  /** From the last to the first. */
  readonly isReversed?: boolean;
}

export interface StoredUnit extends StoredItem {
  readonly unit: UnitId;
}

/** Records and items that change together. */
export interface Commit {
  /** At least one, each about another execution. */
  readonly records: readonly RecordChange[];
  /** Each unit once. */
  readonly items: readonly ItemWrite[];
}

export interface ItemWrite extends Write {
  readonly commitId: CommitId;
}

export type CommitResult =
  | { readonly kind: "applied" }
  /** The first record that is not as its change expects, as it is. */
  | { readonly kind: "exists"; readonly id: ExecutionId; readonly record: IntentRecord | null }
  /** Another server has taken over. */
  | { readonly kind: "fenced" };

/** The end of some executions, in order: each unit is written once, as the last of them does. */
export function commitOf(completions: readonly ExpectedCompletion[]): Commit {
  const records = completions.map(({ expects, completion }): RecordChange => ({
    id: recordIdOf(completion),
    expects,
    becomes: recordAfter(completion),
  }));
  // variant: task-inserted
  for (const { completion } of completions) for (const task of completion.tasks ?? []) records.push(insertionOf(task));
  // variant: signal-inserted
  for (const { completion } of completions) for (const part of completion.signals ?? []) records.push(additionOf(part));
  // variant: cancel-committed
  for (const { completion } of completions)
    for (const withdrawal of completion.cancelled ?? []) records.push(withdrawalOf(withdrawal));
  const all = completions.flatMap(({ completion: { writes, commitId } }) =>
    writes.map(({ unit, value }): ItemWrite => ({ unit, value, commitId })),
  );
  if (completions.length === 1) return { records, items: all };
  // variant: train-folded
  return { records, items: [...new Map(all.map((write) => [write.unit, write])).values()] };
}

/** Records of tasks alone, and what arrives with them. */
export function commitOfChanges(changes: readonly TaskChange[]): Commit {
  const records = changes.flatMap(({ id, expects, becomes, leaves: workflow, arrival }): readonly RecordChange[] => {
    const left = workflow === undefined ? null : ({ state: "workflow", workflow } as const);
    const change = { id, expects, becomes: becomes === null ? left : ({ state: "task", task: becomes } as const) };
    return arrival === undefined ? [change] : [change, additionOf(arrival)];
  });
  return { records, items: [] };
}

/** A task leaves no record: nobody asks for its outcome. */
function recordAfter(completion: Completion): IntentRecord | null {
  const { settled, arrival } = completion;
  // variant: step-arrives
  if (arrival !== undefined) return { state: "part", part: arrival };
  if (settled === undefined) return { state: "done", done: doneIntentOf(completion) };
  return settled === null ? null : { state: "task", task: settled };
}

function insertionOf(task: Task): RecordChange {
  return { id: task.id, expects: "new", becomes: { state: "task", task } };
}

function additionOf(part: WorkflowPart): RecordChange {
  return { id: part.id, expects: "new", becomes: { state: "part", part } };
}

export interface CollectionDue {
  readonly doneBeforeMs: number;
  /** Of the outcomes that were kept briefly. */
  readonly toldBeforeMs: number;
  /** Most of each kind. */
  readonly limit: number;
}

/** How many were deleted. */
export interface Collected {
  readonly intents: number;
  readonly outcomes: number;
}

/** In the place of a time. */
export const OF_NO_APPLICATION = 0;

export interface StoredModule {
  readonly hash: ModuleHash;
  readonly plans: ReadonlyMap<string, HandlerPlan>;
  /** The tables that its handlers can access; left out, as a handler that is not among them: any. */
  readonly tables?: ReadonlyMap<string, HandlerTables>;
  /** The names of the indexes that its handlers keep; left out: none. */
  readonly indexes?: readonly string[];
  /** When it was last used, by the wall clock; null: not known. */
  readonly usedAtMs: number | null;
  /**
   * When it was last registered. Tasks run on the module that was registered last. {@link OF_NO_APPLICATION}: it was registered aside. Left
   * out: not known.
   */
  readonly putAtMs?: number;
  /** Origin of the application's Worker, as the last registration that names one has it. Left out: none has. */
  readonly workerUrl?: string;
  /** When it was first registered since it was last removed; likewise. */
  readonly registeredAtMs: number | null;
}

/** A failed operation. `none`: nothing was done and nothing will be. `unknown`: it may have been done. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly effect: "none" | "unknown";

  constructor(effect: "none" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.effect = effect;
  }
}
