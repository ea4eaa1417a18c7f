/**
 * A storage in which the calls of clients are sealed (`sealed-records.ts`), over one that keeps what it is given. The core knows
 * nothing of it: the hash of a call says which calls are the same.
 *
 * A key seals for a day. It is destroyed once nothing has been found under it for as long as done executions are kept, and a day.
 * Tasks and workflows that wait longer keep their key: a walk finds them.
 */
import type { ExecutionId, ModuleHash, UnitId } from "@radical/protocol";
import type { StoreResult } from "../../core/events.ts";
import type { Intent, IntentRecord } from "../../core/intent.ts";
import type { Leadership } from "../../core/leadership.ts";
import type { Task, TaskName, TaskPlace } from "../../core/task.ts";
import type { TaskNumbers } from "../../core/task-count.ts";
import type { StoredItem } from "../../core/version-table.ts";
import type { Workflow, WorkflowPart } from "../../core/workflow.ts";
import type { Log } from "../../log.ts";
import {
  type Collected,
  type CollectionDue,
  type Commit,
  type CommitResult,
  type KeyRange,
  type LaneCursor,
  type LanePage,
  type SchemaState,
  type Storage,
  StorageError,
  type StoredModule,
  type StoredUnit,
  type TaskListCursor,
  type TaskListPage,
  type TaskPage,
  type TaskSelection,
  type WorkflowPage,
} from "../storage.ts";
import { SealedRecords } from "./sealed-records.ts";
import type { SealingKeyStore } from "./sealing-key.ts";
import { keyOfSeal, SealBroken, Seals } from "./seals.ts";

export interface SealingOptions {
  readonly keys: SealingKeyStore;
  /** How long done executions are kept, and workflows that have ended. */
  readonly retentionMs: number;
  /** Whether promises that can't be opened are given up at the start. Without, a server does not start then. */
  readonly givesUp: boolean;
  readonly log: Log;
  /** By the wall clock. */
  readonly nowMs: () => number;
}

/** How long a key seals. */
const ROTATION_MS = 86_400_000;
/** How often keys are looked after, and how often a walk looks what is sealed under old ones. */
const TENDING_MS = 3_600_000;
const WALK_MS = ROTATION_MS / 4;
/** Of tasks and workflows that a walk reads at once. */
const PAGE = 500;
/** Calls that one message names. */
const MOST_NAMED = 5;

export class SealedStorage implements Storage {
  readonly isExclusive: boolean;
  readonly #inner: Storage;
  readonly #options: SealingOptions;
  readonly #seals: Seals;
  readonly #records: SealedRecords;
  /** The key of each intent that is pending, or may be. */
  readonly #pending = new Map<ExecutionId, string>();
  /** Keys of which it was told that they are missing. */
  readonly #missed = new Set<string>();
  #timer: NodeJS.Timeout | undefined = undefined;
  #walkedAtMs = -Infinity;

  constructor(inner: Storage, options: SealingOptions) {
    this.#inner = inner;
    this.isExclusive = inner.isExclusive;
    this.#options = options;
    this.#seals = new Seals(options.keys, options.nowMs);
    this.#records = new SealedRecords(this.#seals);
  }

  /** Once this server leads, before anything is read. Rejects with a StorageError if the keys can't be used. */
  async begin(): Promise<void> {
    await this.#seals.turn(ROTATION_MS);
    this.#timer = setInterval(() => void this.#tendInTime(), TENDING_MS);
    this.#timer.unref();
  }

  /** Makes a new key when it is time, and destroys those that nothing is sealed under. */
  async tend(): Promise<void> {
    const { nowMs, retentionMs, log } = this.#options;
    await this.#seals.turn(ROTATION_MS);
    if (this.#seals.retired.length === 0 || nowMs() - this.#walkedAtMs < WALK_MS) return;
    const used = await this.#keysInUse();
    this.#walkedAtMs = nowMs();
    for (const { id, neededAtMs } of this.#seals.retired) {
      // oxlint-disable-next-line no-await-in-loop -- there are some keys at most
      if (used.has(id)) await this.#seals.need(id);
      else if (nowMs() - neededAtMs > retentionMs + ROTATION_MS) {
        // oxlint-disable-next-line no-await-in-loop -- there are some keys at most
        await this.#seals.destroy(id);
        log.info("sealing_key_destroyed", { key: id });
      }
    }
  }

  /** A key that can't be made now is made the next time: until then the last one seals. */
  async #tendInTime(): Promise<void> {
    try {
      await this.tend();
    } catch (error) {
      this.#options.log.warn("sealing_keys_not_tended", { reason: messageOf(error) });
    }
  }

  async #keysInUse(): Promise<ReadonlySet<string>> {
    const { nowMs } = this.#options;
    const used = new Set<string>(this.#pending.values());
    const use = (bytes: Uint8Array | null): void => {
      const key = bytes === null ? null : keyOfSeal(bytes);
      if (key !== null) used.add(key);
    };
    for (let after: TaskListCursor | null = null; ;) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const { tasks, next }: TaskListPage = await this.#inner.listTasks({}, after, PAGE);
      for (const { id, args, createdAtMs } of tasks) {
        use(args);
        // Signals to a workflow that has not begun. Those of a younger one are sealed under keys that are kept anyway.
        // oxlint-disable-next-line no-await-in-loop -- page after page
        if (createdAtMs < nowMs() - ROTATION_MS) for (const { content } of await this.#inner.partsOf(id)) use(content);
      }
      if (next === null) break;
      after = next;
    }
    for (let after: string | null = null; ;) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const { workflows, next }: WorkflowPage = await this.#inner.openWorkflows(after, PAGE);
      for (const { id, args, again, outcome } of workflows) {
        use(args);
        use(again);
        use(outcome?.kind === "result" ? outcome.value : null);
        // oxlint-disable-next-line no-await-in-loop -- a journal may be large
        for (const { content } of await this.#inner.partsOf(id)) use(content);
      }
      if (next === null) return used;
      after = next;
    }
  }

  // ── Intents ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async recover(epoch: number): Promise<readonly Intent[]> {
    const found = await this.#inner.recover(epoch);
    const opened: Intent[] = [];
    const broken = new Map<ExecutionId, SealBroken>();
    for (const intent of found) {
      this.#notePending(intent);
      try {
        // oxlint-disable-next-line no-await-in-loop -- in their order
        opened.push(await this.#records.openIntent(intent));
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
        broken.set(intent.executionId, error);
      }
    }
    if (broken.size > 0) await this.#giveUp(epoch, broken);
    return opened;
  }

  async #giveUp(epoch: number, broken: ReadonlyMap<ExecutionId, SealBroken>): Promise<void> {
    const { givesUp, log } = this.#options;
    const keys = [...new Set(Array.from(broken.values(), ({ keyId }) => keyId))].join(", ");
    const named = [...broken.keys()].slice(0, MOST_NAMED).join(", ") + (broken.size > MOST_NAMED ? ", …" : "");
    if (!givesUp)
      throw new StorageError(
        "none",
        `${broken.size} promised calls can't be opened (${named}): ${this.#seals.place} lacks the keys ${keys}, or they are others. ` +
          "Put the keys back. If they are lost, start the server once with --give-up-unreadable: the writes of these calls are lost then, and nothing else is",
      );
    for (const [id, { message }] of broken) {
      // oxlint-disable-next-line no-await-in-loop -- once in the life of a deployment
      await this.#inner.commit(epoch, { records: [{ id, expects: "pending", becomes: null }], items: [] });
      this.#pending.delete(id);
      log.error("promise_given_up", { execution: id, reason: message });
    }
  }

  async lookUp(epoch: number, id: ExecutionId): Promise<IntentRecord | null> {
    const record = await this.#inner.lookUp(epoch, id);
    if (record?.state !== "pending") this.#pending.delete(id);
    return record === null ? null : this.#opened(record);
  }

  async storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    const sealed = this.#records.intent(intent);
    this.#notePending(sealed);
    try {
      const result = await this.#inner.storeIntent(epoch, sealed);
      if (result.kind === "stored") return result;
      this.#pending.delete(intent.executionId);
      return result.kind === "exists" ? { kind: "exists", record: await this.#opened(result.record) } : result;
    } catch (error) {
      if (error instanceof StorageError && error.effect === "none") this.#pending.delete(intent.executionId);
      throw error;
    }
  }

  async commit(epoch: number, { records, items }: Commit): Promise<CommitResult> {
    const sealed = records.map((change) => ({
      ...change,
      becomes: change.becomes === null ? null : this.#records.record(change.becomes),
    }));
    const result = await this.#inner.commit(epoch, { records: sealed, items });
    if (result.kind === "exists") {
      if (result.record?.state !== "pending") this.#pending.delete(result.id);
      return { ...result, record: result.record === null ? null : await this.#opened(result.record) };
    }
    if (result.kind === "applied")
      for (const { id, becomes } of sealed) {
        if (becomes?.state === "pending") this.#notePending(becomes.intent);
        else this.#pending.delete(id);
      }
    return result;
  }

  #notePending({ executionId, args }: Intent): void {
    const key = keyOfSeal(args);
    if (key !== null) this.#pending.set(executionId, key);
  }

  async #opened(record: IntentRecord): Promise<IntentRecord> {
    const { state } = record;
    const opened = await this.#naming(`a record that is ${state}`, () => this.#records.openRecord(record));
    return opened.state === "task" ? { state: "task", task: this.#told(opened.task) } : opened;
  }

  // ── Tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async dueTasks(after: TaskPlace | null, limit: number): Promise<TaskPage<TaskPlace>> {
    const { tasks, upTo } = await this.#inner.dueTasks(after, limit);
    return { tasks: await this.#openTasks(tasks), upTo };
  }

  async laneTasks(lane: string, limit: number): Promise<TaskPage<string>> {
    const { tasks, upTo } = await this.#inner.laneTasks(lane, limit);
    return { tasks: await this.#openTasks(tasks), upTo };
  }

  async readTasks(tasks: readonly TaskName[]): Promise<readonly Task[]> {
    return this.#openTasks(await this.#inner.readTasks(tasks));
  }

  async listTasks(selection: TaskSelection, after: TaskListCursor | null, limit: number): Promise<TaskListPage> {
    const { tasks, next } = await this.#inner.listTasks(selection, after, limit);
    return { tasks: await this.#openTasks(tasks), next };
  }

  async findTask(id: ExecutionId): Promise<Task | null> {
    const task = await this.#inner.findTask(id);
    return task === null ? null : this.#told(await this.#records.openTask(task));
  }

  #openTasks(tasks: readonly Task[]): Promise<readonly Task[]> {
    return Promise.all(tasks.map(async (task) => this.#told(await this.#records.openTask(task))));
  }

  /** The same task. If its seal is broken, the log says so. */
  #told(task: Task): Task {
    const key = keyOfSeal(task.args);
    if (key !== null) this.#missedKey(key, `the arguments of the task ${task.id}`);
    return task;
  }

  // ── Workflows ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One that can't be opened waits where it is. */
  async openWorkflows(after: string | null, limit: number): Promise<WorkflowPage> {
    const { workflows, next } = await this.#inner.openWorkflows(after, limit);
    const opened: Workflow[] = [];
    for (const workflow of workflows) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- in their order
        opened.push(await this.#records.openWorkflow(workflow));
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
        this.#missedKey(error.keyId, `the workflow ${workflow.id}`);
      }
    }
    return { workflows: opened, next };
  }

  async partsOf(workflow: ExecutionId): Promise<readonly WorkflowPart[]> {
    const parts = await this.#inner.partsOf(workflow);
    return this.#naming(`the journal of the workflow ${workflow}`, () =>
      Promise.all(parts.map((part) => this.#records.openPart(part))),
    );
  }

  async #naming<T>(what: string, open: () => Promise<T>): Promise<T> {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      this.#missedKey(error.keyId, what);
      throw new StorageError("none", `${what} can't be opened: ${error.message}`, error);
    }
  }

  /** One line for each key. */
  #missedKey(key: string, what: string): void {
    if (this.#missed.has(key)) return;
    this.#missed.add(key);
    const reason = `${what} can't be opened: ${this.#seals.place} lacks the key ${key}, or it is another one. Put it back, and start the server again`;
    this.#options.log.error("sealing_key_missing", { key, reason });
  }

  // ── What is not sealed ─────────────────────────────────────────────────────────────────────────────────────────────

  readSchema(): Promise<SchemaState> {
    return this.#inner.readSchema();
  }

  upgrade(epoch: number, isFinished: boolean): Promise<SchemaState | null> {
    return this.#inner.upgrade(epoch, isFinished);
  }

  readLeadership(): Promise<Leadership> {
    return this.#inner.readLeadership();
  }

  acquireLeadership(
    seen: Leadership,
    termMs: number,
    readLeaseMs: number,
    leader?: string,
  ): Promise<Leadership | null> {
    return this.#inner.acquireLeadership(seen, termMs, readLeaseMs, leader);
  }

  renewLeadership(epoch: number, termMs: number): Promise<boolean> {
    return this.#inner.renewLeadership(epoch, termMs);
  }

  nameReadLeases(epoch: number, readLeaseMs: number): Promise<boolean> {
    return this.#inner.nameReadLeases(epoch, readLeaseMs);
  }

  load(units: readonly UnitId[], mostBytes: number): Promise<ReadonlyMap<UnitId, StoredItem> | null> {
    return this.#inner.load(units, mostBytes);
  }

  scan(range: KeyRange, limit: number): Promise<readonly StoredUnit[]> {
    return this.#inner.scan(range, limit);
  }

  /** Outlines have nothing that is sealed. */
  laneHeads(after: LaneCursor | null, limit: number): Promise<LanePage> {
    return this.#inner.laneHeads(after, limit);
  }

  countTasks(): Promise<TaskNumbers> {
    return this.#inner.countTasks();
  }

  collect(due: CollectionDue): Promise<Collected> {
    return this.#inner.collect(due);
  }

  storeModule(module: StoredModule, content: Uint8Array): Promise<void> {
    return this.#inner.storeModule(module, content);
  }

  useModule(hash: ModuleHash, usedAtMs: number): Promise<void> {
    return this.#inner.useModule(hash, usedAtMs);
  }

  removeModule(epoch: number, hash: ModuleHash, usedAtMs: number): Promise<boolean> {
    return this.#inner.removeModule(epoch, hash, usedAtMs);
  }

  modules(): Promise<readonly StoredModule[]> {
    return this.#inner.modules();
  }

  moduleContent(hash: ModuleHash): Promise<Uint8Array | null> {
    return this.#inner.moduleContent(hash);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#inner.close();
    this.#seals.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
