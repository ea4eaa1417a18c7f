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
import { type SealingKeyStore, TENDING_MS } from "./sealing-key.ts";
import { keyOfSeal, ROTATION_MS, SealBroken, Seals } from "./seals.ts";

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

/** How often a walk looks what is sealed under old keys. */
const WALK_MS = ROTATION_MS / 4;
/** Of tasks and workflows that a walk reads at once: each may be large. */
const PAGE = 20;
/** Calls that one message names. */
const MOST_NAMED = 5;
const NO_KEYS: ReadonlySet<string> = new Set();
const ABSENT =
  "If they were there before, put them back: the records that are sealed under them can't be read. A storage of an earlier version has none.";

interface OpenedIntents {
  readonly opened: readonly Intent[];
  readonly broken: ReadonlyMap<ExecutionId, SealBroken>;
}

export class SealedStorage implements Storage {
  readonly isExclusive: boolean;
  readonly #inner: Storage;
  readonly #options: SealingOptions;
  readonly #seals: Seals;
  readonly #records: SealedRecords;
  /** The keys of each intent that is pending, or may be. It has several while only storage knows which of its seals it has. */
  readonly #pending = new Map<ExecutionId, ReadonlySet<string>>();
  /** Under which something was opened since the last walk: it may have ended since, and be kept. */
  readonly #opened = new Set<string>();
  /** Keys of which it was told that they are missing. */
  readonly #missed = new Set<string>();
  #timer: NodeJS.Timeout | undefined = undefined;
  #walkedAtMs = -Infinity;
  #tending: Promise<void> | null = null;
  #isClosed = false;
  /** Whether a server has led the storage before this one. */
  #hadServer = false;

  constructor(inner: Storage, options: SealingOptions) {
    this.#inner = inner;
    this.isExclusive = inner.isExclusive;
    this.#options = options;
    this.#seals = new Seals(options.keys, options.nowMs);
    this.#records = new SealedRecords(this.#seals, (key, what) => this.#missedKey(key, what));
  }

  /** Once this server leads, before anything is read. Rejects with a StorageError if the keys can't be used. */
  async begin(): Promise<void> {
    const { keys, log } = this.#options;
    if (this.#hadServer && (await keys.list()).length === 0)
      log.warn("sealing_keys_absent", { reason: `There are no sealing keys in ${keys.place}. ${ABSENT}` });
    await this.#seals.turn();
    if (keys.notice !== undefined && keys.notice !== null) log.warn("sealing_keys_notice", { reason: keys.notice });
    this.#timer = setInterval(() => void this.#tendInTime(), TENDING_MS);
    this.#timer.unref();
  }

  /** Makes a new key when it is time, and destroys those that nothing is sealed under. */
  tend(): Promise<void> {
    return (this.#tending ??= this.#tend().finally(() => (this.#tending = null)));
  }

  async #tend(): Promise<void> {
    await this.#seals.turn();
    if (this.#seals.retired.length === 0 || this.#options.nowMs() - this.#walkedAtMs < WALK_MS) return;
    await this.#walk();
  }

  /** A key that can't be made now is made the next time: until then the last one seals. */
  async #tendInTime(): Promise<void> {
    try {
      await this.tend();
    } catch (error) {
      this.#options.log.warn("sealing_keys_not_tended", { reason: messageOf(error) });
    }
  }

  async #walk(): Promise<void> {
    const { nowMs, log } = this.#options;
    for (const id of this.#seals.takeOpened()) this.#opened.add(id);
    const used = await this.#keysInUse();
    for (const { id, neededAtMs } of this.#seals.retired) {
      if (this.#isClosed) return;
      // A time that is to come was written while the clock was ahead.
      const isNeeded = used.has(id) || this.#opened.has(id) || neededAtMs > nowMs();
      // oxlint-disable-next-line no-await-in-loop -- there are some keys at most
      if (isNeeded) await this.#seals.need(id);
      else if (this.#isOver(neededAtMs)) {
        // oxlint-disable-next-line no-await-in-loop -- there are some keys at most
        await this.#seals.destroy(id);
        log.info("sealing_key_destroyed", { key: id });
      }
    }
    this.#opened.clear();
    this.#walkedAtMs = nowMs();
  }

  /** Nothing that was last needed then is kept any more. */
  #isOver(neededAtMs: number): boolean {
    const { nowMs, retentionMs } = this.#options;
    return nowMs() - neededAtMs > retentionMs + ROTATION_MS;
  }

  /** Incomplete once this storage is closed. */
  async #keysInUse(): Promise<ReadonlySet<string>> {
    const used = new Set<string>([...this.#pending.values()].flatMap((keys) => [...keys]));
    const use = (bytes: Uint8Array | null): void => {
      const key = bytes === null ? null : keyOfSeal(bytes);
      if (key !== null) used.add(key);
    };
    const isOther = await this.#othersThanWorkflows();
    for (let after: TaskListCursor | null = null; !this.#isClosed;) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const { tasks, next }: TaskListPage = await this.#inner.listTasks({}, after, PAGE);
      for (const { id, args, handler, step } of tasks) {
        use(args);
        // Signals to a workflow that has not begun.
        // oxlint-disable-next-line no-await-in-loop -- page after page
        if (step === undefined && !isOther(handler))
          for (const { content } of await this.#inner.partsOf(id)) use(content);
      }
      if (next === null) break;
      after = next;
    }
    for (let after: string | null = null; !this.#isClosed;) {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const { workflows, next }: WorkflowPage = await this.#inner.openWorkflows(after, PAGE);
      for (const { id, args, again, outcome } of workflows) {
        use(args);
        use(again);
        use(outcome?.kind === "result" ? outcome.value : null);
        // oxlint-disable-next-line no-await-in-loop -- a journal may be large
        for (const { content } of await this.#inner.partsOf(id)) use(content);
      }
      if (next === null) break;
      after = next;
    }
    return used;
  }

  /** Tells of names whether they are those of handlers, and of workflows in no module. A task of another name may get signals. */
  async #othersThanWorkflows(): Promise<(handler: string) => boolean> {
    const handlers = new Set<string>();
    const workflows = new Set<string>();
    for (const { plans } of await this.#inner.modules())
      for (const [handler, plan] of plans) (plan === "workflow" ? workflows : handlers).add(handler);
    return (handler) => handlers.has(handler) && !workflows.has(handler);
  }

  // ── Intents ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async recover(epoch: number): Promise<readonly Intent[]> {
    const found = await this.#inner.recover(epoch);
    for (const intent of found) this.#notePending(intent);
    let { opened, broken } = await this.#openIntents(found);
    if (broken.size > 0) {
      // Somebody may have put the keys back just now.
      await this.#seals.look();
      ({ opened, broken } = await this.#openIntents(found));
    }
    if (broken.size > 0) await this.#giveUp(epoch, broken);
    // While nothing runs: a server may have been off for long, or live for less than the time between two walks.
    if (this.#seals.retired.some(({ neededAtMs }) => this.#isOver(neededAtMs))) await this.#tendInTime();
    return opened;
  }

  async #openIntents(found: readonly Intent[]): Promise<OpenedIntents> {
    const opened: Intent[] = [];
    const broken = new Map<ExecutionId, SealBroken>();
    for (const intent of found) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- in their order
        opened.push(await this.#records.openIntent(intent));
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
        broken.set(intent.executionId, error);
      }
    }
    return { opened, broken };
  }

  async #giveUp(epoch: number, broken: ReadonlyMap<ExecutionId, SealBroken>): Promise<void> {
    const { givesUp, log } = this.#options;
    const keys = [...new Set(Array.from(broken.values(), ({ keyId }) => keyId))].join(", ");
    const named = [...broken.keys()].slice(0, MOST_NAMED).join(", ") + (broken.size > MOST_NAMED ? ", …" : "");
    if (!givesUp)
      throw new StorageError(
        "none",
        `${broken.size} promised calls can't be opened (${named}): ${this.#seals.place} lacks the keys ${keys}, or they are others. ` +
          "Put the keys back. If they are lost, start the server once with --give-up-unreadable: the writes of these calls are lost then, and nothing else is.",
      );
    for (const [id, { message }] of broken) {
      // oxlint-disable-next-line no-await-in-loop -- once in the life of a deployment
      const { kind } = await this.#inner.commit(epoch, {
        records: [{ id, expects: "pending", becomes: null }],
        items: [],
      });
      if (kind !== "applied")
        throw new StorageError(
          "none",
          `The promised call ${id} can't be given up: ${kind === "fenced" ? "another server has taken over" : "its record has changed meanwhile"}.`,
        );
      this.#pending.delete(id);
      log.error("promise_given_up", { execution: id, reason: message });
    }
  }

  async lookUp(epoch: number, id: ExecutionId): Promise<IntentRecord | null> {
    const record = await this.#inner.lookUp(epoch, id);
    this.#noteFound(id, record);
    return record === null ? null : this.#openFound(record);
  }

  async storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    const sealed = this.#records.intent(intent);
    const { executionId: id } = intent;
    const earlier = this.#pending.get(id);
    this.#notePending(sealed, earlier);
    try {
      const result = await this.#inner.storeIntent(epoch, sealed);
      if (result.kind === "stored") this.#notePending(sealed);
      else this.#noteFound(id, result.kind === "exists" ? result.record : null);
      return result.kind === "exists" ? { kind: "exists", record: await this.#openFound(result.record) } : result;
    } catch (error) {
      if (error instanceof StorageError && error.effect === "none") {
        // An attempt before this one may have stored it.
        if (earlier === undefined) this.#pending.delete(id);
        else this.#pending.set(id, earlier);
      }
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
      this.#noteFound(result.id, result.record);
      return { ...result, record: result.record === null ? null : await this.#openFound(result.record) };
    }
    if (result.kind === "applied") for (const { id, becomes } of sealed) this.#noteFound(id, becomes);
    return result;
  }

  /** The record as storage has it. */
  #noteFound(id: ExecutionId, record: IntentRecord | null): void {
    if (record?.state === "pending") this.#notePending(record.intent);
    else this.#pending.delete(id);
  }

  /** `others`: storage may have it under one of these instead. */
  #notePending({ executionId, args }: Intent, others: ReadonlySet<string> = NO_KEYS): void {
    const key = keyOfSeal(args);
    if (key !== null) this.#pending.set(executionId, new Set([...others, key]));
  }

  #openFound(record: IntentRecord): Promise<IntentRecord> {
    return this.#naming(`A record that is ${record.state}`, () => this.#records.openRecord(record));
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
    return task === null ? null : this.#records.openTask(task);
  }

  #openTasks(tasks: readonly Task[]): Promise<readonly Task[]> {
    return Promise.all(tasks.map((task) => this.#records.openTask(task)));
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
    return this.#naming(`The journal of the workflow ${workflow}`, () =>
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
    const reason = `${what} can't be opened: ${this.#seals.place} lacks the key ${key}, or it is another one. Put it back, and start the server again.`;
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

  acquireLeadership(...leadership: Parameters<Storage["acquireLeadership"]>): Promise<Leadership | null> {
    const [seen] = leadership;
    this.#hadServer = seen.epoch > 0;
    return this.#inner.acquireLeadership(...leadership);
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

  /** A walk under way ends before, and destroys nothing any more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosed = true;
    await this.#tending?.catch(() => undefined);
    await this.#inner.close();
    this.#seals.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
