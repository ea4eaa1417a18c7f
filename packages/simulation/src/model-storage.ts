/** Primary storage in the simulation: what the port of the LVI server promises, in memory that survives its servers. */
import {
  type Collected,
  type CollectionDue,
  type Commit,
  type CommitResult,
  compareDue,
  type Completion,
  type DoneIntent,
  type Intent,
  type IntentRecord,
  type KeyRange,
  type LaneCursor,
  type LanePage,
  type RecordChange,
  type Leadership,
  nextEpoch,
  setBackLeadership,
  type StoredUnit,
  type StoreResult,
  outlineOf,
  type Task,
  type TaskName,
  type TaskNumbers,
  type TaskPage,
  type TaskPlace,
  type WorkflowPage,
  type WorkflowPart,
  withoutOutcome,
} from "@radical/lvi-server/core";
import {
  type CommitId,
  contentHash,
  countHash,
  digestOf,
  type Environment,
  type ExecutionId,
  type Key,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  spanOf,
  splitUnit,
  type UnitId,
  type Version,
} from "@radical/protocol";
import { MODULES } from "./programs.ts";

/** A change that storage applied. In order they are the truth that checkers compare with. */
export interface Applied {
  readonly executionId: ExecutionId;
  readonly commitId: CommitId;
  readonly module: ModuleHash;
  readonly environment: Environment;
  readonly outcome: Outcome;
  readonly writes: Completion["writes"];
}

/** A change of a task's record; null: there is none. */
export interface TaskChange {
  readonly id: ExecutionId;
  readonly before: Task | null;
  readonly after: Task | null;
  readonly isCancelled: boolean;
}

interface StoredItem {
  readonly commitId: CommitId;
  readonly value: Uint8Array;
}

/** The first rows of a range among these items, in its order. */
export function rowsIn(
  items: ReadonlyMap<UnitId, StoredItem>,
  { table, from, to, isReversed = false }: KeyRange,
  limit: number,
): readonly StoredUnit[] {
  const lo: string = from ?? "";
  const hi: string = to ?? "";
  const bytesOf = (text: string): Buffer => Buffer.from(text, "utf8");
  const isBelow = (a: string, b: string): boolean => Buffer.compare(bytesOf(a), bytesOf(b)) < 0;
  const rows = Array.from(items, ([unit, item]): StoredUnit => ({ unit, ...item })).filter(({ unit }) => {
    const place = splitUnit(unit);
    return place.table === table && !isBelow(place.key, lo) && (hi === "" || isBelow(place.key, hi));
  });
  // As databases order them, whatever the protocol thinks.
  const ascending = rows.toSorted((a, b) => Buffer.compare(bytesOf(a.unit), bytesOf(b.unit)));
  return (isReversed ? ascending.toReversed() : ascending).slice(0, limit);
}

function isAsExpected(record: IntentRecord | undefined, expects: RecordChange["expects"]): boolean {
  if (expects === "new") return record === undefined;
  if (expects === "pending") return record?.state === "pending";
  if ("changes" in expects) return record?.state === "workflow" && record.workflow.changes === expects.changes;
  if ("partOf" in expects) return record?.state === "part" && record.part.workflow === expects.partOf;
  return expects.attempt === null || (record?.state === "task" && record.task.attempt === expects.attempt);
}

function pageOf<Place>(all: readonly Task[], limit: number, placeOf: (task: Task) => Place): TaskPage<Place> {
  const tasks = all.slice(0, limit);
  return { tasks, upTo: all.length > limit ? placeOf(tasks[limit - 1]!) : null };
}

/** The storage as it was at some time. */
export interface Backup {
  readonly leadership: Leadership;
  readonly items: ReadonlyMap<UnitId, StoredItem>;
  readonly intents: ReadonlyMap<ExecutionId, IntentRecord>;
  readonly applied: number;
}

export class ModelStorage {
  leadership: Leadership = { epoch: 0, beat: 0, termMs: 0, readLeaseMs: 0 };
  /** The epoch that has read the pending intents. */
  #recovered = 0;
  readonly items = new Map<UnitId, StoredItem>();
  readonly intents = new Map<ExecutionId, IntentRecord>();
  /** When each was last used, as storage was told. */
  readonly modules = new Map<ModuleHash, number>([[MODULES[0], 0]]);
  readonly applied: Applied[] = [];
  readonly taskChanges: TaskChange[] = [];
  /** Each record of a workflow, and each part, as it was written; and each part that was removed. */
  readonly workflowChanges: (IntentRecord | { readonly state: "gone"; readonly part: WorkflowPart })[] = [];
  /** Ends of attempts that have found no record, since the task was cancelled meanwhile. */
  readonly lostAttempts: ExecutionId[] = [];
  readonly #cancelled = new Set<ExecutionId>();
  readonly #expected = new Map<CommitId, Completion>();
  /** Whether an intent that an earlier server sent is refused as soon as another server leads, or only not found later. */
  readonly #fencesIntents: boolean;
  /** Intents that arrived after a successor had looked: they count as not there. */
  ghosts = 0;
  /** How often it was set back. Operations that were sent before do not reach it any more. */
  history = 0;

  constructor(fencesIntents: boolean) {
    this.#fencesIntents = fencesIntents;
  }

  backUp(): Backup {
    const { leadership, applied } = this;
    return { leadership, items: new Map(this.items), intents: new Map(this.intents), applied: applied.length };
  }

  /** `restored`: by the command, which reads the leadership of the lost state too. Otherwise somebody has put the old files back. */
  setBack(backup: Backup, restored: { readonly wallMs: number } | null): void {
    const { items, intents, applied } = this;
    this.history++;
    items.clear();
    intents.clear();
    for (const [unit, item] of backup.items) items.set(unit, item);
    for (const [id, record] of backup.intents) intents.set(id, record);
    applied.length = backup.applied;
    this.#recovered = 0;
    const { leadership } = backup;
    this.leadership =
      restored === null
        ? { ...leadership, termMs: 0 }
        : setBackLeadership(leadership, this.leadership, restored.wallMs);
  }

  /** `wallMs`: of the server that acquires it. */
  acquireLeadership(seen: Leadership, termMs: number, readLeaseMs: number, wallMs = 0): Leadership | null {
    const { epoch, beat, setBackEpoch } = this.leadership;
    // variant: leadership-as-seen
    if (epoch !== seen.epoch || beat !== seen.beat) return null;
    const setBack = setBackEpoch === undefined ? {} : { setBackEpoch };
    return (this.leadership = { epoch: nextEpoch(epoch, wallMs), beat: 0, termMs, readLeaseMs, ...setBack });
  }

  renewLeadership(epoch: number, termMs: number): boolean {
    // variant: renewal-fenced
    if (epoch !== this.leadership.epoch) return false;
    const readLeaseMs = termMs === 0 ? 0 : this.leadership.readLeaseMs;
    // variant: renewal-stored
    this.leadership = { ...this.leadership, epoch, beat: this.leadership.beat + 1, termMs, readLeaseMs };
    return true;
  }

  nameReadLeases(epoch: number, readLeaseMs: number): boolean {
    if (epoch !== this.leadership.epoch) return false;
    this.leadership = { ...this.leadership, readLeaseMs: Math.max(this.leadership.readLeaseMs, readLeaseMs) };
    return true;
  }

  recover(epoch: number): readonly Intent[] | null {
    if (epoch !== this.leadership.epoch) return null;
    this.#recovered = epoch;
    const pending: Intent[] = [];
    for (const record of this.intents.values()) if (record.state === "pending") pending.push(record.intent);
    return pending;
  }

  /** The version of a span. */
  versionOf(unit: UnitId): Version {
    const span = present(spanOf(unit), "the unit is a span");
    const rows = rowsIn(
      this.items,
      { table: span.table, from: span.lo as Key, to: span.hi === "" ? null : (span.hi as Key) },
      Infinity,
    );
    const hash =
      span.kind === "count"
        ? countHash(rows.length)
        : digestOf(
            rows.map(({ unit: item, commitId, value }) => ({
              key: splitUnit(item).key,
              commitId,
              hash: contentHash(value),
            })),
          );
    return { commitId: NO_COMMIT, hash };
  }

  lookUp(id: ExecutionId): IntentRecord | null {
    return this.intents.get(id) ?? null;
  }

  load(units: readonly UnitId[]): ReadonlyMap<UnitId, StoredItem> {
    const found = new Map<UnitId, StoredItem>();
    for (const unit of units) {
      const item = this.items.get(unit);
      if (item !== undefined) found.set(unit, item);
    }
    return found;
  }

  storeIntent(epoch: number, intent: Intent): StoreResult {
    if (this.#fencesIntents && epoch !== this.leadership.epoch) return { kind: "fenced" };
    // variant: intent-late
    if (epoch < this.#recovered) {
      this.ghosts++;
      return { kind: "stored" };
    }
    const record = this.intents.get(intent.executionId);
    if (record !== undefined) return { kind: "exists", record };
    this.intents.set(intent.executionId, { state: "pending", intent });
    return { kind: "stored" };
  }

  /** Announces a completion that a core commits. Storage keeps less of an execution than checkers need. */
  expect(completion: Completion): void {
    this.#expected.set(completion.commitId, completion);
  }

  commit(epoch: number, { records, items }: Commit): CommitResult {
    // variant: completion-fenced
    if (epoch !== this.leadership.epoch) return { kind: "fenced" };
    for (const { id, expects } of records) {
      const record = this.intents.get(id);
      const isEnd = typeof expects === "object" && "attempt" in expects && expects.attempt !== null;
      const isLost = isEnd && record === undefined && this.#cancelled.has(id);
      if (isLost) this.lostAttempts.push(id);
      // variant: completion-expected
      if (!isAsExpected(record, expects)) return { kind: "exists", id, record: record ?? null };
    }
    for (const { id, expects, becomes } of records) {
      const record = this.intents.get(id);
      const before = record?.state === "task" ? record.task : null;
      const after = becomes?.state === "task" ? becomes.task : null;
      const isCancelled = typeof expects === "object" && "attempt" in expects && expects.attempt === null;
      if (isCancelled) this.#cancelled.add(id);
      if (before !== null || after !== null || isCancelled) this.taskChanges.push({ id, before, after, isCancelled });
      if (becomes === null && record?.state === "part") this.workflowChanges.push({ state: "gone", part: record.part });
      if (becomes?.state === "workflow" || becomes?.state === "part") this.workflowChanges.push(becomes);
      if (becomes === null) this.intents.delete(id);
      else this.intents.set(id, becomes);
      if (becomes?.state === "done") this.#log(becomes.done);
    }
    if (new Set(items.map(({ unit }) => unit)).size < items.length) throw new Error("a commit writes a unit twice");
    for (const { unit, value, commitId } of items) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, { commitId, value });
    }
    return { kind: "applied" };
  }

  get #tasks(): readonly Task[] {
    return Array.from(this.intents.values()).flatMap((record) => (record.state === "task" ? [record.task] : []));
  }

  dueTasks(after: TaskPlace | null, limit: number): TaskPage<TaskPlace> {
    const due = this.#tasks
      .filter((task) => task.lane === null && task.state === "open" && (after === null || compareDue(task, after) > 0))
      .toSorted(compareDue);
    return pageOf(due, limit, ({ dueMs, id }) => ({ dueMs, id }));
  }

  laneTasks(lane: string, limit: number): TaskPage<string> {
    const inLane = this.#tasks.filter((task) => task.lane === lane).toSorted((a, b) => (a.place < b.place ? -1 : 1));
    return pageOf(inLane, limit, ({ place }) => place);
  }

  /** The records of these tasks as they are now. A storage may look for places first, and for the records a little later. */
  asTheyAre(tasks: readonly Task[]): readonly Task[] {
    return tasks.flatMap(({ id }) => {
      const record = this.intents.get(id);
      return record?.state === "task" ? [record.task] : [];
    });
  }

  laneHeads(after: LaneCursor | null, limit: number): LanePage {
    const lanes = [...new Set(this.#tasks.flatMap(({ lane }) => (lane === null ? [] : [lane])))].toSorted();
    const left = lanes.filter((lane) => after === null || lane > after);
    const some = left.slice(0, limit);
    const heads = some.flatMap((lane) => this.laneTasks(lane, 1).tasks.map(outlineOf));
    return { heads, next: left.length > some.length ? (some.at(-1) ?? null) : null };
  }

  readTasks(tasks: readonly TaskName[]): readonly Task[] {
    return tasks.flatMap(({ id }) => this.findTask(id) ?? []);
  }

  countTasks(): TaskNumbers {
    const dead = this.#tasks.filter(({ lane, state }) => lane === null && state === "dead");
    return { all: this.#tasks.length, deadInNoLane: dead.length };
  }

  get deadTasks(): number {
    return this.#tasks.filter(({ state }) => state === "dead").length;
  }

  openWorkflows(after: string | null, limit: number): WorkflowPage {
    const open = Array.from(this.intents.values()).flatMap((record) =>
      record.state === "workflow" && record.workflow.state !== "ended" ? [record.workflow] : [],
    );
    const left = open.toSorted((a, b) => (a.id < b.id ? -1 : 1)).filter(({ id }) => after === null || id > after);
    const workflows = left.slice(0, limit);
    return { workflows, next: left.length > limit ? (workflows.at(-1)?.id ?? null) : null };
  }

  partsOf(workflow: ExecutionId): readonly WorkflowPart[] {
    const parts = Array.from(this.intents.values()).flatMap((record) =>
      record.state === "part" && record.part.workflow === workflow ? [record.part] : [],
    );
    return parts.toSorted((a, b) => (a.place < b.place ? -1 : 1));
  }

  findTask(id: ExecutionId): Task | null {
    const record = this.intents.get(id);
    return record?.state === "task" ? record.task : null;
  }

  #log({ executionId, commitId }: DoneIntent): void {
    const expected = this.#expected.get(commitId);
    if (expected?.executionId !== executionId) throw new Error(`no core has asked for commit ${commitId}`);
    const { module, environment, outcome, writes } = expected;
    this.applied.push({ executionId, commitId, module, environment, outcome, writes });
  }

  collect({ doneBeforeMs, toldBeforeMs, limit }: CollectionDue): Collected {
    let [intents, outcomes] = [0, 0];
    for (const [id, record] of this.intents) {
      if (record.state !== "done") continue;
      const { done } = record;
      if (done.doneAtMs < doneBeforeMs && intents < limit) {
        this.intents.delete(id);
        intents++;
      } else if (done.doneAtMs < toldBeforeMs && done.outcome?.keeps === "briefly" && outcomes < limit) {
        this.intents.set(id, { state: "done", done: withoutOutcome(done) });
        outcomes++;
      }
    }
    return { intents, outcomes };
  }

  useModule(module: ModuleHash, usedAtMs: number): void {
    if (this.modules.has(module)) this.modules.set(module, usedAtMs);
  }

  removeModule(epoch: number, module: ModuleHash, usedAtMs: number): boolean {
    const storedAtMs = this.modules.get(module);
    if (epoch !== this.leadership.epoch || storedAtMs === undefined || storedAtMs > usedAtMs) return false;
    return this.modules.delete(module);
  }
}
