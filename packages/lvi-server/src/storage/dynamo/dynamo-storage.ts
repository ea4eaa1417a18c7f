/**
 * Primary storage in DynamoDB. `tables.ts` has the tables, `records.ts` the states of an execution, `failures.ts` what a
 * failed request means; docs/internals/storage.md puts them together.
 *
 * How an earlier server is kept from changing anything, without one item that every write would meet:
 *
 *   - A pending intent names its owner. Only its owner completes it, and recovery makes the new server the owner.
 *   - The record that decides a large commit names its owner likewise, and each part of the commit checks it.
 *   - A transaction that has no such record to meet checks a fence (`fences.ts`).
 *   - An intent that an earlier server had on its way arrives with an owner from before the last recovery. It is an
 *     orphan: nobody was told of it, and it counts as not there.
 */
import { DynamoDBClient, type TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { randomUUID } from "node:crypto";
import {
  compareCommits,
  contentHash,
  type ExecutionId,
  type HandlerPlan,
  type HandlerTables,
  type ModuleHash,
  type UnitId,
} from "@radical/protocol";
import type { StoreResult } from "../../core/events.ts";
import type { Intent, IntentRecord, RecordChange } from "../../core/intent.ts";
import type { Task, TaskName, TaskPlace } from "../../core/task.ts";
import type { TaskNumbers } from "../../core/task-count.ts";
import type { StoredItem } from "../../core/version-table.ts";
import type { WorkflowPart } from "../../core/workflow.ts";
import type { Leadership } from "../../core/leadership.ts";
import { failpoint } from "../../failpoints.ts";
import {
  type Collected,
  type CollectionDue,
  type Commit,
  type CommitResult,
  type ItemWrite,
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
  type WorkflowPage,
  type TaskSelection,
} from "../storage.ts";
import type { QuietTime } from "../quiet-times.ts";
import type { KeyPlaces } from "../sealing/sealing-key.ts";
import { nativeAttributes, number, text } from "./attributes.ts";
import { atOnce } from "../at-once.ts";
import { Dynamo, type Met } from "./dynamo.ts";
import { DynamoRecordingKeys, DynamoSealingKeys } from "./dynamo-sealing-keys.ts";
import { FAILURES } from "./failures.ts";
import { FENCE, FencePool, FENCES } from "./fences.ts";
import { fenceKey, leadershipOf } from "./leadership-item.ts";
import { GroupedTransactions, type TransactionResult } from "./grouped-transactions.ts";
import {
  fitsTransaction,
  inTransactions,
  type Item,
  MAX_ITEM_BYTES,
  sizeOfItem,
  together,
  weightOf,
} from "./limits.ts";
import { orderedItems } from "./ordered-scan.ts";
import { countParts, Parts } from "./parts.ts";
import {
  type Beside,
  becomesOf,
  besideOf,
  decidedRecord,
  doneAtMsOf,
  doneOf,
  doneRecord,
  FIRST_OPEN,
  intentOf,
  isBrief,
  LAST_OPEN,
  PARTLY_APPLIED,
  PENDING,
  pendingRecord,
  positionOf,
  restOf,
  type Stored,
  TASK,
  WORKFLOW,
  withoutOutcomeOf,
} from "./records.ts";
import { DEFAULT_REQUEST_OPTIONS, type RequestOptions, Requests } from "./requests.ts";
import { type Change, decodeRest, encodeRest } from "./rest.ts";
import { storedUnit } from "./stored-unit.ts";
import { DynamoTasks, taskKey, taskOf, taskRecord } from "./tasks.ts";
import { DynamoWorkflows, partKey } from "./workflows.ts";
import { oldQuietTimes, quietItem } from "./quiet-items.ts";
import { schemasAhead, stateOf } from "../schema.ts";
import { DYNAMO_SCHEMAS } from "../schemas.ts";
import {
  checkedSchemaOf,
  ensureTables,
  LAYOUT,
  Layout,
  LEADERSHIP,
  OPEN,
  schemaAttributes,
  type Tables,
  tablesOf,
} from "./tables.ts";

export interface DynamoOptions {
  /** Names the tables. */
  readonly prefix: string;
  /** As the SDK finds it (`AWS_REGION`, a profile) unless given. */
  readonly region?: string;
  /** For DynamoDB Local. */
  readonly endpoint?: string;
  /** How long done intents are kept. */
  readonly retentionMs?: number;
  readonly requests?: RequestOptions;
}

const DEFAULT_RETENTION_MS = 24 * 3_600_000;
const OVERTAKEN = "Another server has taken over.";
const REMOVED = "A record was removed while it was read.";
/** Of records that a starting server adopts: each takes as long as a hundred requests. */
const BATCHES_AT_ONCE = 2;

export class DynamoStorage implements Storage {
  readonly isExclusive = false;
  readonly #client: DynamoDBClient;
  readonly #requests: Requests;
  readonly #dynamo: Dynamo;
  readonly #tables: Tables;
  readonly #layout: Layout;
  readonly #retentionMs: number;
  readonly #fences = new FencePool();
  readonly #commits: GroupedTransactions;
  /** What executions under way need beyond an item's size. */
  readonly #parts: Parts;
  readonly #overflow: Parts;
  /** What this server's pending intents have in parts. */
  readonly #withParts = new Map<ExecutionId, Beside>();
  readonly #tasks: DynamoTasks;
  readonly #workflows: DynamoWorkflows;
  /** Done executions whose outcome is kept briefly, and when they were done. */
  readonly #told = new Map<ExecutionId, number>();

  private constructor(
    client: DynamoDBClient,
    requests: Requests,
    dynamo: Dynamo,
    tables: Tables,
    layout: Layout,
    retentionMs: number,
  ) {
    this.#client = client;
    this.#requests = requests;
    this.#dynamo = dynamo;
    this.#commits = new GroupedTransactions((actions, epoch) =>
      epoch === null ? dynamo.transact(actions) : this.#transactFenced(epoch, actions),
    );
    this.#tables = tables;
    this.#layout = layout;
    this.#retentionMs = retentionMs;
    this.#parts = new Parts(dynamo, tables.parts);
    this.#overflow = new Parts(dynamo, tables.overflow);
    this.#tasks = new DynamoTasks(dynamo, tables, layout);
    this.#workflows = new DynamoWorkflows(dynamo, tables, layout, this.#overflow);
  }

  /** Makes the tables that are missing. Throws a StorageError that says what is in the way. */
  static async open({
    prefix,
    region,
    endpoint,
    retentionMs,
    requests: requestOptions,
  }: DynamoOptions): Promise<DynamoStorage> {
    const agent = { keepAlive: true, maxSockets: 128 };
    const client = new DynamoDBClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      // `Requests` repeats what may be repeated.
      maxAttempts: 1,
      requestHandler: { httpAgent: agent, httpsAgent: agent },
    });
    const requests = new Requests(requestOptions ?? DEFAULT_REQUEST_OPTIONS);
    const dynamo = new Dynamo(client, requests);
    const tables = tablesOf(prefix);
    try {
      await ensureTables(client, requests, tables);
      const layout = await Layout.keep(dynamo, tables);
      return new DynamoStorage(client, requests, dynamo, tables, layout, retentionMs ?? DEFAULT_RETENTION_MS);
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  get keyPlaces(): KeyPlaces {
    const { keys } = this.#tables;
    return { keys: new DynamoSealingKeys(this.#dynamo, keys), recordings: new DynamoRecordingKeys(this.#dynamo, keys) };
  }

  get throttles(): number {
    return this.#requests.throttles;
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  // ── Schema ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async readSchema(): Promise<SchemaState> {
    const layout = await this.#dynamo.get(this.#tables.meta, LAYOUT);
    if (layout === null) throw new StorageError("none", `The table ${this.#tables.meta} has lost its layout.`);
    return stateOf(checkedSchemaOf(this.#tables.meta, layout), DYNAMO_SCHEMAS);
  }

  /** Nothing is rewritten: items of both schemas stand side by side. */
  async upgrade(epoch: number, isFinished: boolean): Promise<SchemaState | null> {
    const kept = await this.readSchema();
    const last = schemasAhead(kept, DYNAMO_SCHEMAS, isFinished).at(-1);
    if (last === undefined) return kept;
    const { schema, written } = schemaAttributes(last);
    const TableName = this.#tables.meta;
    const failed = await this.#dynamo.transact([
      {
        Update: {
          TableName,
          Key: LAYOUT,
          UpdateExpression: "SET #schema = :schema, written = :written",
          ExpressionAttributeNames: { "#schema": "schema" },
          ExpressionAttributeValues: { ":schema": schema!, ":written": written! },
        },
      },
      {
        Update: {
          TableName,
          Key: LEADERSHIP,
          // A server that waits reads the leadership only.
          UpdateExpression: "SET #schema = :schema, written = :written, beat = beat + :one",
          ConditionExpression: "epoch = :epoch",
          ExpressionAttributeNames: { "#schema": "schema" },
          ExpressionAttributeValues: {
            ":schema": schema!,
            ":written": written!,
            ":one": { N: "1" },
            ":epoch": { N: String(epoch) },
          },
        },
      },
    ]);
    return failed === null ? this.readSchema() : null;
  }

  // ── Leadership ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async readLeadership(): Promise<Leadership> {
    const item = await this.#dynamo.get(this.#tables.meta, LEADERSHIP);
    if (item?.["schema"] !== undefined) checkedSchemaOf(this.#tables.meta, item);
    return leadershipOf(item);
  }

  async acquireLeadership(
    seen: Leadership,
    termMs: number,
    readLeaseMs: number,
    leader?: string,
    epoch = seen.epoch + 1,
  ): Promise<Leadership | null> {
    const holder = randomUUID();
    const leadership: TransactWriteItem = {
      Update: {
        TableName: this.#tables.meta,
        Key: LEADERSHIP,
        UpdateExpression: `SET epoch = :next, beat = :zero, term_ms = :term, read_lease_ms = :read, holder = :holder${
          leader === undefined ? " REMOVE leader" : ", leader = :leader"
        }`,
        ConditionExpression: "attribute_not_exists(epoch) OR (epoch = :epoch AND beat = :beat)",
        ExpressionAttributeValues: {
          ":next": { N: String(epoch) },
          ":zero": { N: "0" },
          ":term": { N: String(termMs) },
          ":read": { N: String(readLeaseMs) },
          ":holder": { S: holder },
          ...(leader === undefined ? {} : { ":leader": { S: leader } }),
          ":epoch": { N: String(seen.epoch) },
          ":beat": { N: String(seen.beat) },
        },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      },
    };
    const fences = FENCES.map((name): TransactWriteItem => {
      const item = { ...fenceKey(name), epoch: { N: String(epoch) } };
      return { Put: { TableName: this.#tables.meta, Item: item } };
    });
    const failed = await this.#dynamo.transact([leadership, ...fences]);
    // An attempt whose answer was lost may have succeeded.
    const isOurs = failed === null || failed[0]?.item?.["holder"]?.S === holder;
    if (!isOurs) return null;
    const { setBackEpoch } = seen;
    return {
      epoch,
      beat: 0,
      termMs,
      readLeaseMs,
      ...(leader === undefined ? {} : { leader }),
      ...(setBackEpoch === undefined ? {} : { setBackEpoch }),
    };
  }

  async renewLeadership(epoch: number, termMs: number): Promise<boolean> {
    const failed = await this.#dynamo.updateAtOnce({
      TableName: this.#tables.meta,
      Key: LEADERSHIP,
      UpdateExpression: `SET beat = beat + :one, term_ms = :term${termMs === 0 ? ", read_lease_ms = :term" : ""}`,
      ConditionExpression: "epoch = :epoch",
      ExpressionAttributeValues: { ":one": { N: "1" }, ":term": { N: String(termMs) }, ":epoch": { N: String(epoch) } },
    });
    return failed === null;
  }

  async nameReadLeases(epoch: number, readLeaseMs: number): Promise<boolean> {
    const failed = await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: LEADERSHIP,
      UpdateExpression: "SET read_lease_ms = :read",
      ConditionExpression: "epoch = :epoch AND (attribute_not_exists(read_lease_ms) OR read_lease_ms < :read)",
      ExpressionAttributeValues: { ":read": { N: String(readLeaseMs) }, ":epoch": { N: String(epoch) } },
    });
    return failed === null || Number(failed.item?.["epoch"]?.N) === epoch;
  }

  /** Another server that leads by now may have written meanwhile: the fence says whether there is one. */
  async keepQuietTime(epoch: number, quiet: QuietTime): Promise<boolean> {
    const put = { TableName: this.#tables.meta, Item: quietItem(quiet) };
    if ((await this.#transactFenced(epoch, [{ Put: put }])) !== null) return false;
    try {
      await this.#dynamo.batchDelete(this.#tables.meta, await oldQuietTimes(this.#dynamo, this.#tables, quiet.untilMs));
    } catch {
      // This one is kept. The old ones go with the next.
    }
    return true;
  }

  async recover(epoch: number): Promise<readonly Intent[]> {
    const leadership = await this.#dynamo.get(this.#tables.meta, LEADERSHIP);
    const served = Number(leadership?.["served"]?.N ?? 0);
    const buckets = this.#layout.executionBuckets();
    const entries = (await atOnce(buckets, (bucket) => this.#openEntries(bucket))).flat();
    const keys: Item[] = [];
    for (const entry of entries) {
      const id = text(entry, "id") as ExecutionId;
      const doneAtMs = doneAtMsOf(entry);
      if (doneAtMs === null) keys.push(keyOf(entry));
      else this.#told.set(id, doneAtMs);
    }
    const found = await this.#dynamo.batchGet(this.#tables.executions, keys);
    const batches = inTransactions(found, (record) => ({ actions: 1, bytes: sizeOfItem(record) }));
    const adopted = (await atOnce(batches, (batch) => this.#adoptAll(epoch, served, batch), BATCHES_AT_ONCE)).flat();
    const pending: Intent[] = [];
    await atOnce(await this.#settled(epoch, adopted), async (record) => {
      const known = await this.#known(epoch, record);
      if (known === "fenced") throw new StorageError("none", OVERTAKEN);
      if (known?.state !== "pending") return;
      pending.push(known.intent);
      this.#noteParts(known.intent.executionId, positionOf(record).overflow);
    });
    // Left over from what was never decided, or by a server that died before it tidied up. If this server has been
    // replaced meanwhile, there are parts of its successor among them.
    const left = await this.#parts.keysOfOthers(new Set(this.#withParts.keys()));
    if (!(await this.#deleteFenced(epoch, this.#tables.parts, left))) throw new StorageError("none", OVERTAKEN);
    const fenced = await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: LEADERSHIP,
      UpdateExpression: "SET served = :epoch",
      ConditionExpression: "epoch = :epoch",
      ExpressionAttributeValues: { ":epoch": { N: String(epoch) } },
    });
    if (fenced !== null) throw new StorageError("none", OVERTAKEN);
    return pending.toSorted((a, b) => compareCommits(a.commitId, b.commitId));
  }

  /** Of the records of a bucket that are pending or partly applied, or whose outcome is kept briefly. */
  #openEntries(bucket: string): Promise<readonly Item[]> {
    return this.#dynamo.query({
      TableName: this.#tables.executions,
      IndexName: OPEN,
      KeyConditionExpression: "#bucket = :bucket AND #open BETWEEN :first AND :last",
      ExpressionAttributeNames: { "#bucket": "bucket", "#open": OPEN },
      ExpressionAttributeValues: { ":bucket": { S: bucket }, ":first": { S: FIRST_OPEN }, ":last": { S: LAST_OPEN } },
    });
  }

  /** Finishes the commits that are partly applied. The records as they are then, also those that such a commit has changed. */
  async #settled(epoch: number, adopted: readonly Item[]): Promise<readonly Item[]> {
    const decided = adopted.filter((record) => positionOf(record).status === "partly applied");
    if (decided.length === 0) return adopted;
    const changed = new Map<string, Item>();
    await atOnce(decided, async (record) => {
      const finished = await this.#finish(epoch, record);
      if (finished === null) throw new StorageError("none", OVERTAKEN);
      for (const id of finished) changed.set(id, this.#layout.executionKey(id));
    });
    const others = adopted.filter((record) => !changed.has(text(record, "id")));
    return [...others, ...(await this.#dynamo.batchGet(this.#tables.executions, [...changed.values()]))];
  }

  /** Makes this server the owner of records, in one transaction unless one of them is not as it was found. */
  async #adoptAll(epoch: number, served: number, found: readonly Item[]): Promise<readonly Item[]> {
    const changes = found.map((record) => this.#adoption(epoch, served, record));
    const actions = changes.flatMap((change): TransactWriteItem[] => {
      switch (change.kind) {
        case "owned":
          return [];
        case "deletes":
          return [{ Delete: change.action }];
        case "updates":
          return [{ Update: change.action }];
      }
    });
    if (actions.length > 0 && (await this.#dynamo.transact(actions)) !== null) {
      const records = await atOnce(found, (record) => this.#adopt(epoch, served, record));
      return records.filter((record) => record !== null);
    }
    failpoint("dynamo.adopted");
    return changes.flatMap((change) => (change.kind === "deletes" ? [] : [change.record]));
  }

  /**
   * Makes this server the owner of a record that is not done. Null: it was an orphan, and is deleted. What a server left
   * that died before it had recovered is no orphan: nobody knows what the one before that had told.
   */
  async #adopt(epoch: number, served: number, found: Item): Promise<Item | null> {
    for (let record = found; ;) {
      const change = this.#adoption(epoch, served, record);
      if (change.kind === "owned") return change.record;
      const failed: Met | null =
        change.kind === "deletes" ? await this.#dynamo.delete(change.action) : await this.#dynamo.update(change.action);
      failpoint("dynamo.adopted");
      if (failed === null) return change.kind === "deletes" ? null : change.record;
      // Completed at the last moment by the server before; or an earlier attempt of this very request succeeded.
      if (failed.item === null) return null;
      record = failed.item;
    }
  }

  /** What makes this server the owner of a record, on the condition that it is as it was found. */
  #adoption(epoch: number, served: number, record: Item): Adoption {
    const { status, owner } = positionOf(record);
    if (status === "done" || owner === epoch) return { kind: "owned", record };
    if (owner > epoch) throw new StorageError("none", OVERTAKEN);
    const asFound = {
      TableName: this.#tables.executions,
      Key: keyOf(record),
      ConditionExpression: "#status = :status AND #owner = :owner",
      ExpressionAttributeNames: { "#status": "status", "#owner": "owner" },
    };
    const values = { ":status": record["status"]!, ":owner": { N: String(owner) } };
    if (status === "pending" && owner < served)
      return { kind: "deletes", action: { ...asFound, ExpressionAttributeValues: values } };
    const adopter = { N: String(epoch) };
    return {
      kind: "updates",
      record: { ...record, owner: adopter },
      action: {
        ...asFound,
        UpdateExpression: "SET #owner = :epoch",
        ExpressionAttributeValues: { ...values, ":epoch": adopter },
      },
    };
  }

  // ── Executions ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async lookUp(epoch: number, id: ExecutionId): Promise<IntentRecord | null> {
    const record = await this.#dynamo.get(this.#tables.executions, this.#layout.executionKey(id));
    if (record === null || isOrphan(epoch, record)) return null;
    const known = await this.#known(epoch, record);
    if (known === "fenced") throw new StorageError("none", OVERTAKEN);
    return known;
  }

  async storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    const { executionId, commitId } = intent;
    const { item, overflow } = pendingRecord(this.#layout, epoch, intent);
    const beside = positionOf(item).overflow;
    if (overflow !== null && beside !== null) await this.#parts.put(executionId, beside.name, overflow, null);
    const failed = await this.#dynamo.put({ TableName: this.#tables.executions, Item: item, ...ifNew(epoch) });
    // What exists may be this very intent, of an attempt whose answer was lost.
    const isItself = failed?.item?.["commit_id"]?.S === commitId;
    if (failed === null || isItself) this.#noteParts(executionId, beside);
    if (failed === null) return { kind: "stored" };
    const knowing = this.#known(epoch, failed.item!);
    const known = await (isItself ? afterDecision(knowing) : knowing);
    if (known === "fenced") return { kind: "fenced" };
    if (known === null) throw new StorageError("none", REMOVED);
    return { kind: "exists", record: known };
  }

  async commit(epoch: number, { records: all, items }: Commit): Promise<CommitResult> {
    const records = all.flatMap(inBuckets);
    const becoming = await atOnce(records, (change) => this.#prepare(epoch, change));
    const changes: readonly Change[] = [
      ...becoming.map((item, index) => this.#recordChange(records[index]!, item)),
      ...items.map((write) => this.#itemChange(write)),
    ];
    const conditions = records.map((change, index) => conditionOf(epoch, change, index === 0));
    let actions = changes.map((change, index) => this.#action(change, conditions[index]));
    let decided: Item | null = null;
    if (!fitsTransaction(together(weightOf(actions), FENCE))) {
      const rest = encodeRest(changes.slice(1));
      decided = decidedRecord(epoch, this.#keyOf(records[0]!), becoming[0]!, besideOf(rest), Date.now());
      actions = [
        this.#action({ kind: "put", table: "executions", item: decided }, conditions[0]),
        ...records.slice(1).flatMap((change, index) => {
          const condition = conditions[index + 1];
          return condition === undefined ? [] : [this.#check(this.#keyOf(change), condition)];
        }),
      ];
      if (!fitsTransaction(together(weightOf(actions), FENCE)))
        throw new StorageError(
          "none",
          `A commit has ${records.length} records. DynamoDB takes fewer at once: commit fewer.`,
        );
      const { name } = restOf(decided);
      await this.#parts.put(records[0]!.id, name, rest, null);
      failpoint("dynamo.writes-stored");
    }
    const failed = await this.#commits.transact({
      epoch,
      actions,
      subjects: [...records.map(({ id }) => id), ...items.map(({ unit }) => unit)],
      // What recovery has to find must not arrive after it has looked.
      needsFence: records.some(({ expects, becomes }) => expects !== "pending" || becomes?.state === "pending"),
    });
    if (failed === "fenced") return { kind: "fenced" };
    if (failed !== null) {
      const index = failed.findIndex((met) => met !== null);
      const met = failed[index]!.item;
      const known = met === null ? null : await this.#known(epoch, met);
      return known === "fenced" ? { kind: "fenced" } : { kind: "exists", id: records[index]!.id, record: known };
    }
    if (decided === null)
      await afterDecision(atOnce(becoming, (item, index) => this.#became(records[index]!.id, item)));
    else if ((await afterDecision(this.#finish(epoch, decided))) === null) return { kind: "fenced" };
    return { kind: "applied" };
  }

  /** The record that an execution gets; what goes beside it is there before it. */
  async #prepare(epoch: number, { id, becomes }: RecordChange): Promise<Item | null> {
    if (becomes === null) return null;
    if (becomes.state === "pending") {
      const stored = pendingRecord(this.#layout, epoch, becomes.intent);
      return this.#withBeside(id, stored, this.#parts, null);
    }
    if (becomes.state === "task") return taskRecord(this.#layout, epoch, becomes.task);
    if (becomes.state === "workflow") return this.#workflows.workflowRecord(epoch, becomes.workflow);
    if (becomes.state === "part") return this.#workflows.partRecord(epoch, becomes.part);
    const expiresAtMs = becomes.done.doneAtMs + this.#retentionMs;
    return this.#withBeside(
      id,
      doneRecord(this.#layout, epoch, becomes.done, expiresAtMs),
      this.#overflow,
      expiresAtMs,
    );
  }

  async #withBeside(id: ExecutionId, { item, overflow }: Stored, to: Parts, expiresAtMs: number | null): Promise<Item> {
    if (overflow !== null) await to.put(id, besideOf(overflow).name, overflow, expiresAtMs);
    return item;
  }

  /** Keeps in mind what this server looks after of a record that has changed, and deletes what its intent had in parts. */
  async #became(id: ExecutionId, record: Item | null): Promise<void> {
    const position = record === null ? null : positionOf(record);
    if (record !== null && isBrief(record)) this.#told.set(id, number(record, "done_at_ms"));
    if (record !== null) this.#workflows.became(record);
    const before = this.#withParts.get(id);
    const after = position?.status === "pending" ? position.overflow : null;
    this.#noteParts(id, after);
    if (before !== undefined && before.name !== after?.name) await this.#parts.delete(id, before.name, before.count);
  }

  #noteParts(id: ExecutionId, parts: Beside | null): void {
    if (parts === null) this.#withParts.delete(id);
    else this.#withParts.set(id, parts);
  }

  /** The record as the core knows it. One that is partly applied is completed first. */
  async #known(epoch: number, record: Item): Promise<IntentRecord | "fenced" | null> {
    const { status, executionId, owner, overflow } = positionOf(record);
    if (owner > epoch) return "fenced";
    switch (status) {
      case "pending": {
        const beside = overflow === null ? null : await this.#parts.read(executionId, overflow.name, overflow.count);
        return { state: "pending", intent: intentOf(record, beside) };
      }
      case "partly applied": {
        if ((await this.#finish(epoch, record)) === null) return "fenced";
        const finished = await this.#dynamo.get(this.#tables.executions, keyOf(record));
        return finished === null ? null : this.#known(epoch, finished);
      }
      case "task":
        return { state: "task", task: taskOf(record) };
      case "workflow":
        return { state: "workflow", workflow: await this.#workflows.workflowOf(record) };
      case "part":
        return { state: "part", part: await this.#workflows.partOf(record) };
      case "done": {
        const beside = overflow === null ? null : await this.#overflow.read(executionId, overflow.name, overflow.count);
        const done = doneOf(record, beside);
        if (done.outcome?.keeps === "briefly") this.#told.set(executionId, done.doneAtMs);
        return { state: "done", done };
      }
    }
  }

  /**
   * Applies the rest of a commit whose first record is partly applied, and makes that record what it becomes. Several attempts
   * may do so, and again, since nobody else changes these items before that. A change that arrives later has no effect: it
   * checks that the record is partly applied, and this server's. Transactions that check the same item conflict, so they are
   * sent one after the other. The executions whose records the commit has changed; null: another server has taken over.
   */
  async #finish(epoch: number, record: Item): Promise<readonly ExecutionId[] | null> {
    const { executionId } = positionOf(record);
    const rest = restOf(record);
    const content = await this.#parts.read(executionId, rest.name, rest.count);
    // Finished by another attempt, which has tidied up.
    if (content === null) return [executionId];
    const changes = decodeRest(content).map((change): Change =>
      change.kind === "put" && change.table === "executions"
        ? { ...change, item: { ...change.item, owner: { N: String(epoch) } } }
        : change,
    );
    const becomes = becomesOf(record);
    const changed: [ExecutionId, Item | null][] = [[executionId, becomes]];
    for (const change of changes) {
      if (change.table !== "executions") continue;
      const item = change.kind === "put" ? change.item : null;
      changed.push([text(change.kind === "put" ? change.item : change.key, "id") as ExecutionId, item]);
    }
    const ids = changed.map(([id]) => id);
    failpoint("dynamo.decided");

    const decided = this.#check(keyOf(record), ifOwn(epoch, PARTLY_APPLIED));
    const actions = changes.map((change) => this.#action(change));
    for (const some of inTransactions(actions, (action) => weightOf([action]), weightOf([decided]))) {
      // oxlint-disable-next-line no-await-in-loop -- they check the same item
      const failed = await this.#dynamo.transact([...some, decided]);
      failpoint("dynamo.part-applied");
      if (failed !== null) return isOvertaken(epoch, failed[some.length] ?? null) ? null : ids;
    }
    failpoint("dynamo.all-applied");

    const last = { TableName: this.#tables.executions, ...ifOwn(epoch, PARTLY_APPLIED) };
    const failed = await (becomes === null
      ? this.#dynamo.delete({ ...last, Key: keyOf(record) })
      : this.#dynamo.put({ ...last, Item: becomes }));
    if (isOvertaken(epoch, failed)) return null;
    failpoint("dynamo.done");
    await atOnce(changed, ([id, item]) => this.#became(id, item));
    await this.#parts.delete(executionId, rest.name, rest.count);
    return ids;
  }

  /** A transaction that has no effect once another server leads. */
  #transactFenced(epoch: number, actions: readonly TransactWriteItem[]): Promise<TransactionResult> {
    return this.#fences.with(async (name) => {
      const fence: TransactWriteItem = {
        ConditionCheck: {
          TableName: this.#tables.meta,
          Key: fenceKey(name),
          ConditionExpression: "epoch = :epoch",
          ExpressionAttributeValues: { ":epoch": { N: String(epoch) } },
        },
      };
      const failed = await this.#dynamo.transact([...actions, fence]);
      return (failed?.[actions.length] ?? null) === null ? failed : "fenced";
    });
  }

  /** Deletes items in as few transactions as take it. False: another server has taken over. */
  async #deleteFenced(epoch: number, table: string, keys: readonly Item[]): Promise<boolean> {
    const deletions = keys.map((Key): TransactWriteItem => ({ Delete: { TableName: table, Key } }));
    for (const some of inTransactions(deletions, (action) => weightOf([action]), FENCE)) {
      if ((await this.#transactFenced(epoch, some)) === "fenced") return false;
    }
    return true;
  }

  #keyOf({ id, expects, becomes }: RecordChange): Item {
    if (becomes?.state === "task") return taskKey(this.#layout, becomes.task);
    if (becomes?.state === "part") return partKey(this.#layout, becomes.part);
    if (typeof expects !== "object" || "changes" in expects) return this.#layout.executionKey(id);
    if ("partOf" in expects) return partKey(this.#layout, { id, workflow: expects.partOf });
    return taskKey(this.#layout, { id, lane: expects.lane });
  }

  #recordChange(change: RecordChange, becomes: Item | null): Change {
    return becomes === null
      ? { kind: "delete", table: "executions", key: this.#keyOf(change) }
      : { kind: "put", table: "executions", item: becomes };
  }

  /** Throws for a value that no item can hold: `MAX_VALUE_BYTES` keeps handlers from writing one. */
  #itemChange({ unit, value, commitId }: ItemWrite): Change {
    const key = this.#layout.itemKey(unit);
    if (value === null) return { kind: "delete", table: "items", key };
    const version: Item = { commit_id: { S: commitId }, hash: { S: contentHash(value) } };
    const item: Item = { ...key, ...nativeAttributes("value", value), ...version };
    if (sizeOfItem(item) > MAX_ITEM_BYTES)
      throw new StorageError("none", `${FAILURES.too_large.words}: ${unit} has ${value.length} bytes.`);
    return { kind: "put", table: "items", item };
  }

  #action(change: Change, condition?: Condition): TransactWriteItem {
    const TableName = this.#tables[change.table];
    const conditional =
      condition === undefined ? {} : { ...condition, ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const };
    return change.kind === "put"
      ? { Put: { TableName, Item: change.item, ...conditional } }
      : { Delete: { TableName, Key: change.key, ...conditional } };
  }

  #check(Key: Item, condition: Condition): TransactWriteItem {
    const TableName = this.#tables.executions;
    return { ConditionCheck: { TableName, Key, ...condition, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } };
  }

  async load(units: readonly UnitId[], mostBytes: number): Promise<ReadonlyMap<UnitId, StoredItem> | null> {
    const keys = [...new Set(units)].map((unit) => this.#layout.itemKey(unit));
    const items = new Map<UnitId, StoredItem>();
    let bytes = 0;
    await this.#dynamo.batchRead(this.#tables.items, keys, (item) => {
      const { unit, commitId, value } = storedUnit(item);
      bytes += value.length;
      if (bytes > mostBytes) return "enough";
      items.set(unit, { commitId, value });
      return "more";
    });
    return bytes > mostBytes ? null : items;
  }

  async scan(range: KeyRange, limit: number): Promise<readonly StoredUnit[]> {
    const found: StoredUnit[] = [];
    if (limit === 0) return found;
    for await (const item of orderedItems(this.#dynamo, this.#tables, this.#layout, range, limit)) {
      if (found.push(storedUnit(item)) === limit) break;
    }
    return found;
  }

  dueTasks(after: TaskPlace | null, limit: number): Promise<TaskPage<TaskPlace>> {
    return this.#tasks.due(after, limit);
  }

  laneTasks(lane: string, limit: number): Promise<TaskPage<string>> {
    return this.#tasks.inLane(lane, limit);
  }

  laneHeads(after: LaneCursor | null, limit: number): Promise<LanePage> {
    return this.#tasks.laneHeads(after, limit);
  }

  readTasks(tasks: readonly TaskName[]): Promise<readonly Task[]> {
    return this.#tasks.read(tasks);
  }

  countTasks(): Promise<TaskNumbers> {
    return this.#tasks.count();
  }

  openWorkflows(after: string | null, limit: number): Promise<WorkflowPage> {
    return this.#workflows.open(after, limit);
  }

  partsOf(workflow: ExecutionId): Promise<readonly WorkflowPart[]> {
    return this.#workflows.partsOf(workflow);
  }

  listTasks(selection: TaskSelection, after: TaskListCursor | null, limit: number): Promise<TaskListPage> {
    return this.#tasks.list(selection, after, limit);
  }

  findTask(id: ExecutionId): Promise<Task | null> {
    return this.#tasks.find(id);
  }

  /** Records expire by themselves, which may take days; outcomes that were kept briefly are taken out of them in time. */
  async collect({ doneBeforeMs, toldBeforeMs, limit }: CollectionDue): Promise<Collected> {
    const due: ExecutionId[] = [];
    for (const [id, doneAtMs] of this.#told) {
      if (due.length === limit) break;
      if (doneAtMs < toldBeforeMs) due.push(id);
    }
    await atOnce(due, async (id) => {
      await this.#dropOutcome(id);
      this.#told.delete(id);
    });
    const workflows = await this.#workflows.collect(doneBeforeMs, limit);
    return { intents: workflows, outcomes: due.length };
  }

  /** Again, or by a server that has lost the leadership, it does no harm: the outcome's time is over. */
  async #dropOutcome(id: ExecutionId): Promise<void> {
    const key = this.#layout.executionKey(id);
    const record = await this.#dynamo.get(this.#tables.executions, key);
    if (record === null) return;
    const { status, overflow } = positionOf(record);
    if (status !== "done" || !isBrief(record)) return;
    if (overflow !== null) await this.#overflow.delete(id, overflow.name, overflow.count);
    await this.#dynamo.update({ TableName: this.#tables.executions, Key: key, ...withoutOutcomeOf(record) });
  }

  // ── Modules ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async storeModule(module: StoredModule, content: Uint8Array): Promise<void> {
    const { hash, plans, tables = new Map(), usedAtMs, registeredAtMs, indexes = [], putAtMs, workerUrl } = module;
    await this.#overflow.put(hash, MODULE_PARTS, content, null);
    const known = registeredAtMs === null ? "" : ", registered_at_ms = if_not_exists(registered_at_ms, :registered)";
    await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: moduleKey(hash),
      UpdateExpression: `SET plans = :plans, #tables = :tables, parts = :parts, #indexes = :indexes${usedAtMs === null ? "" : ", used_at_ms = :used"}${known}${putAtMs === undefined ? "" : ", put_at_ms = :put"}${workerUrl === undefined ? "" : ", worker_url = :worker"}`,
      // The names are reserved.
      ExpressionAttributeNames: { "#indexes": "indexes", "#tables": "tables" },
      ExpressionAttributeValues: {
        ":plans": { S: JSON.stringify(Object.fromEntries(plans)) },
        ":tables": { S: JSON.stringify(Object.fromEntries(tables)) },
        ":parts": { N: String(countParts(content)) },
        ":indexes": { S: JSON.stringify(indexes) },
        ...(usedAtMs === null ? {} : { ":used": { N: String(usedAtMs) } }),
        ...(putAtMs === undefined ? {} : { ":put": { N: String(putAtMs) } }),
        ...(workerUrl === undefined ? {} : { ":worker": { S: workerUrl } }),
        ...(registeredAtMs === null ? {} : { ":registered": { N: String(registeredAtMs) } }),
      },
    });
  }

  async useModule(hash: ModuleHash, usedAtMs: number): Promise<void> {
    await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: moduleKey(hash),
      UpdateExpression: "SET used_at_ms = :used",
      ConditionExpression: "attribute_exists(plans)",
      ExpressionAttributeValues: { ":used": { N: String(usedAtMs) } },
    });
  }

  /** First the entry of the list: without it nobody looks for the content. */
  async removeModule(epoch: number, hash: ModuleHash, usedAtMs: number): Promise<boolean> {
    const module = await this.#dynamo.get(this.#tables.meta, moduleKey(hash));
    if (module === null) return false;
    const failed = await this.#transactFenced(epoch, [
      {
        Delete: {
          TableName: this.#tables.meta,
          Key: moduleKey(hash),
          ConditionExpression: "used_at_ms <= :used",
          ExpressionAttributeValues: { ":used": { N: String(usedAtMs) } },
        },
      },
    ]);
    if (failed !== null) return false;
    const parts = this.#overflow.keysOf(hash, MODULE_PARTS, number(module, "parts"));
    await this.#deleteFenced(epoch, this.#tables.overflow, parts);
    return true;
  }

  async modules(): Promise<readonly StoredModule[]> {
    const found = await this.#dynamo.query({
      TableName: this.#tables.meta,
      KeyConditionExpression: "kind = :module",
      ExpressionAttributeValues: { ":module": { S: "module" } },
    });
    return found.map((item) => ({
      hash: text(item, "name") as ModuleHash,
      plans: new Map(Object.entries(JSON.parse(text(item, "plans")) as Record<string, HandlerPlan>)),
      ...tablesIn(item),
      ...indexesIn(item),
      usedAtMs: item["used_at_ms"] === undefined ? null : number(item, "used_at_ms"),
      registeredAtMs: item["registered_at_ms"] === undefined ? null : number(item, "registered_at_ms"),
      ...(item["put_at_ms"] === undefined ? {} : { putAtMs: number(item, "put_at_ms") }),
      ...(item["worker_url"]?.S === undefined ? {} : { workerUrl: item["worker_url"].S }),
    }));
  }

  async moduleContent(hash: ModuleHash): Promise<Uint8Array | null> {
    const module = await this.#dynamo.get(this.#tables.meta, moduleKey(hash));
    return module === null ? null : this.#overflow.read(hash, MODULE_PARTS, number(module, "parts"));
  }
}

/** How a server that starts makes an open record its own. */
type Adoption =
  /** It is, or it is done. */
  | { readonly kind: "owned"; readonly record: Item }
  | {
      readonly kind: "updates";
      /** As it is then. */
      readonly record: Item;
      readonly action: NonNullable<TransactWriteItem["Update"]>;
    }
  /** It is an orphan. */
  | { readonly kind: "deletes"; readonly action: NonNullable<TransactWriteItem["Delete"]> };

/** An earlier release has named none. */
function indexesIn(module: Item): Pick<StoredModule, "indexes"> {
  const indexes = module["indexes"] === undefined ? [] : (JSON.parse(text(module, "indexes")) as readonly string[]);
  return indexes.length === 0 ? {} : { indexes };
}

/** Likewise. */
function tablesIn(module: Item): Pick<StoredModule, "tables"> {
  const tables = JSON.parse(module["tables"]?.S ?? "{}") as Readonly<Record<string, HandlerTables>>;
  return Object.keys(tables).length === 0 ? {} : { tables: new Map(Object.entries(tables)) };
}

/** The name of a module's content among the parts of its hash. */
const MODULE_PARTS = "module";

/** Of a record of an execution, or of its entry in the index. */
function keyOf(item: Item): Item {
  return { bucket: item["bucket"]!, id: item["id"]! };
}

function moduleKey(hash: ModuleHash): Record<"kind" | "name", { S: string }> {
  return { kind: { S: "module" }, name: { S: hash } };
}

function isOrphan(epoch: number, record: Item): boolean {
  const { status, owner } = positionOf(record);
  return status === "pending" && owner < epoch;
}

/** The record of a task in a lane is in the bucket of the lane. If it becomes a workflow, that one is in another bucket. */
function inBuckets(change: RecordChange): readonly RecordChange[] {
  const { id, expects, becomes } = change;
  const moves = typeof expects === "object" && "lane" in expects && expects.lane !== null;
  if (!moves || becomes?.state !== "workflow") return [change];
  return [
    { id, expects, becomes: null },
    { id, expects: "new", becomes },
  ];
}

/**
 * Undefined: a new record that another execution asks for, or one that goes with another. The record of that one, which comes before
 * it, has been found as expected. The id of a new one is made of that of the other one, and this server alone changes one that goes.
 */
function conditionOf(epoch: number, { expects, becomes }: RecordChange, isFirst: boolean): Condition | undefined {
  if (expects === "pending") return ifOwn(epoch, PENDING);
  if (expects === "new") {
    const isAskedFor = becomes?.state === "task" || becomes?.state === "part" || becomes?.state === "workflow";
    return isAskedFor && !isFirst ? undefined : ifNew(epoch);
  }
  if ("partOf" in expects) return undefined;
  if ("changes" in expects)
    return {
      ConditionExpression: "#status = :workflow AND changes = :changes",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":workflow": { S: WORKFLOW }, ":changes": { N: String(expects.changes) } },
    };
  if (expects.attempt === null) return undefined;
  return {
    ConditionExpression: "#status = :task AND attempt = :attempt",
    ExpressionAttributeNames: { "#status": "status" },
    ExpressionAttributeValues: { ":task": { S: TASK }, ":attempt": { N: String(expects.attempt) } },
  };
}

type Condition = Pick<
  NonNullable<TransactWriteItem["ConditionCheck"]>,
  "ConditionExpression" | "ExpressionAttributeNames" | "ExpressionAttributeValues"
>;

/** There is no record, or an orphan: this server has made all others its own. */
function ifNew(epoch: number): Condition {
  return {
    ConditionExpression: "attribute_not_exists(id) OR (#status = :pending AND #owner < :epoch)",
    ExpressionAttributeNames: { "#status": "status", "#owner": "owner" },
    ExpressionAttributeValues: { ":pending": { S: PENDING }, ":epoch": { N: String(epoch) } },
  };
}

/** The record has this status, and is this server's. */
function ifOwn(epoch: number, status: string): Condition {
  return {
    ConditionExpression: "#status = :status AND #owner = :epoch",
    ExpressionAttributeNames: { "#status": "status", "#owner": "owner" },
    ExpressionAttributeValues: { ":status": { S: status }, ":epoch": { N: String(epoch) } },
  };
}

/**
 * The rest of an operation that is decided: it has taken effect, or will. A request of the rest that did nothing does not change
 * that, so each failure is `unknown`, and the same operation again finds out.
 */
async function afterDecision<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest;
  } catch (error) {
    throw error instanceof StorageError ? new StorageError("unknown", error.message, error) : error;
  }
}

/** Whether a condition failed because the record is a later server's. Otherwise another attempt of this server has changed it. */
function isOvertaken(epoch: number, met: Met | null): boolean {
  return met !== null && met.item !== null && positionOf(met.item).owner > epoch;
}
