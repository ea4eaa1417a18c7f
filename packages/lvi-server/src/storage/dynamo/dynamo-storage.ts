/**
 * Primary storage in DynamoDB. `tables.ts` has the tables, `records.ts` the states of an execution, `failures.ts` what a
 * failed request means; docs/internals/storage.md puts them together.
 *
 * How an earlier server is kept from changing anything, without one item that every write would meet:
 *
 *   - A pending intent names its owner. Only its owner completes it, and recovery makes the new server the owner.
 *   - A transaction that has no pending intent to meet checks a fence (`fences.ts`).
 *   - An intent that an earlier server had on its way arrives with an owner from before the last recovery. It is an
 *     orphan: nobody was told of it, and it counts as not there.
 */
import { DynamoDBClient, type TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { randomUUID } from "node:crypto";
import {
  CborReader,
  CborWriter,
  type CommitId,
  compareCommits,
  contentHash,
  type ExecutionId,
  type HandlerPlan,
  type ModuleHash,
  type UnitId,
  type Write,
} from "@radical/protocol";
import type { CompleteResult, StoreResult } from "../../core/events.ts";
import type { Completion, Intent, IntentRecord } from "../../core/intent.ts";
import type { StoredItem } from "../../core/version-table.ts";
import type { Leadership } from "../../core/leadership.ts";
import { failpoint } from "../../failpoints.ts";
import { type Collected, type CollectionDue, type Storage, StorageError, type StoredModule } from "../storage.ts";
import { nativeAttributes, nativeOf, number, text } from "./attributes.ts";
import { atOnce, Dynamo, inGroups, type Met } from "./dynamo.ts";
import { FAILURES } from "./failures.ts";
import { FencePool, FENCES } from "./fences.ts";
import { GroupedTransactions } from "./grouped-transactions.ts";
import { type Item, MAX_ACTIONS, MAX_ITEM_BYTES, MAX_TRANSACTION_BYTES, sizeOfItem } from "./limits.ts";
import { countParts, Parts } from "./parts.ts";
import {
  doneOf,
  doneRecord,
  finishedRecord,
  intentOf,
  isBrief,
  keyOf,
  PARTLY_APPLIED,
  PENDING,
  pendingRecord,
  type Position,
  positionOf,
  toldAtMs,
  withoutOutcomeOf,
} from "./records.ts";
import { DEFAULT_REQUEST_OPTIONS, type RequestOptions, Requests } from "./requests.ts";
import { allShards, ensureTables, LEASE, OPEN, type Tables, tablesOf } from "./tables.ts";

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

const SCHEMA_VERSION = 2;
/** Of which records can be read: those of schema 1 have the arguments of done executions. */
const READABLE_SCHEMAS: readonly number[] = [1, SCHEMA_VERSION];
const DEFAULT_RETENTION_MS = 24 * 3_600_000;
const OVERTAKEN = "another server has taken over";
/** Of records that a starting server adopts: each takes as long as a hundred requests. */
const BATCHES_AT_ONCE = 2;
/** Of one write set: the fences that its parts take at once. */
const PARTS_AT_ONCE = 4;

export class DynamoStorage implements Storage {
  readonly isExclusive = false;
  readonly #client: DynamoDBClient;
  readonly #dynamo: Dynamo;
  readonly #tables: Tables;
  readonly #retentionMs: number;
  readonly #fences = new FencePool();
  /** Of pending intents: no two of them are about one item, since each holds the locks of what it writes. */
  readonly #completions: GroupedTransactions;
  /** What executions under way need beyond an item's size. */
  readonly #parts: Parts;
  readonly #blobs: Parts;
  /** Pending intents of this server that have parts. */
  readonly #withParts = new Map<ExecutionId, Position>();
  /** Done executions whose outcome is kept briefly, and when they were done. */
  readonly #told = new Map<ExecutionId, number>();

  private constructor(client: DynamoDBClient, dynamo: Dynamo, tables: Tables, retentionMs: number) {
    this.#client = client;
    this.#dynamo = dynamo;
    this.#completions = new GroupedTransactions((actions) => dynamo.transact(actions));
    this.#tables = tables;
    this.#retentionMs = retentionMs;
    this.#parts = new Parts(dynamo, tables.parts);
    this.#blobs = new Parts(dynamo, tables.blobs);
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
      const schema = (await dynamo.get(tables.meta, LEASE))?.["schema"]?.N;
      if (schema !== undefined && !READABLE_SCHEMAS.includes(Number(schema)))
        throw new StorageError("none", `the tables ${prefix}-* have schema ${schema}, not ${SCHEMA_VERSION}`);
    } catch (error) {
      client.destroy();
      throw error;
    }
    return new DynamoStorage(client, dynamo, tables, retentionMs ?? DEFAULT_RETENTION_MS);
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  // ── The lease ──────────────────────────────────────────────────────────────────────────────────────────────────

  async readLease(): Promise<Leadership> {
    const item = await this.#dynamo.get(this.#tables.meta, LEASE);
    if (item === null) return { epoch: 0, beat: 0, termMs: 0 };
    const lease = { epoch: number(item, "epoch"), beat: number(item, "beat"), termMs: number(item, "term_ms") };
    const leader = item["leader"]?.S;
    return leader === undefined ? lease : { ...lease, leader };
  }

  async acquireLease(seen: Leadership, termMs: number, leader?: string): Promise<Leadership | null> {
    const epoch = seen.epoch + 1;
    const holder = randomUUID();
    const lease: TransactWriteItem = {
      Update: {
        TableName: this.#tables.meta,
        Key: LEASE,
        UpdateExpression: `SET epoch = :next, beat = :zero, term_ms = :term, holder = :holder, #schema = :schema${
          leader === undefined ? " REMOVE leader" : ", leader = :leader"
        }`,
        ConditionExpression: "attribute_not_exists(epoch) OR (epoch = :epoch AND beat = :beat)",
        ExpressionAttributeNames: { "#schema": "schema" },
        ExpressionAttributeValues: {
          ":next": { N: String(epoch) },
          ":zero": { N: "0" },
          ":term": { N: String(termMs) },
          ":holder": { S: holder },
          ...(leader === undefined ? {} : { ":leader": { S: leader } }),
          ":schema": { N: String(SCHEMA_VERSION) },
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
    const failed = await this.#dynamo.transact([lease, ...fences]);
    // An attempt whose answer was lost may have succeeded.
    const isOurs = failed === null || failed[0]?.item?.["holder"]?.S === holder;
    if (!isOurs) return null;
    return { epoch, beat: 0, termMs, ...(leader === undefined ? {} : { leader }) };
  }

  async renewLease(epoch: number, termMs: number): Promise<boolean> {
    const failed = await this.#dynamo.updateAtOnce({
      TableName: this.#tables.meta,
      Key: LEASE,
      UpdateExpression: "SET beat = beat + :one, term_ms = :term",
      ConditionExpression: "epoch = :epoch",
      ExpressionAttributeValues: { ":one": { N: "1" }, ":term": { N: String(termMs) }, ":epoch": { N: String(epoch) } },
    });
    return failed === null;
  }

  async recover(epoch: number): Promise<readonly Intent[]> {
    const lease = await this.#dynamo.get(this.#tables.meta, LEASE);
    const served = Number(lease?.["served"]?.N ?? 0);
    const entries = (await atOnce(allShards(), (shard) => this.#openEntries(shard))).flat();
    const keys: Item[] = [];
    for (const entry of entries) {
      const id = text(entry, "execution_id") as ExecutionId;
      const doneAtMs = toldAtMs(entry);
      if (doneAtMs === null) keys.push(keyOf(id));
      else this.#told.set(id, doneAtMs);
    }
    const pending: Intent[] = [];
    const found = await this.#dynamo.batchGet(this.#tables.intents, keys);
    const batches = inBatches(found);
    const adopted = (await atOnce(batches, (batch) => this.#adoptAll(epoch, served, batch), BATCHES_AT_ONCE)).flat();
    await atOnce(adopted, async (record) => {
      const known = await this.#known(epoch, record);
      if (known === "fenced") throw new StorageError("none", OVERTAKEN);
      if (known.state === "done") return;
      pending.push(known.intent);
      if (positionOf(record).overflowParts > 0) this.#withParts.set(known.intent.executionId, positionOf(record));
    });
    // Left over from what was never decided, or by a server that died before it tidied up. If this server has been
    // replaced meanwhile, there are parts of its successor among them.
    const left = await this.#parts.keysOfOthers(new Set(this.#withParts.keys()));
    const deletions = left.map((Key): TransactWriteItem => ({ Delete: { TableName: this.#tables.parts, Key } }));
    for (const some of inGroups(deletions, MAX_ACTIONS - 1)) {
      if ((await this.#transactFenced(epoch, some)) === "fenced") throw new StorageError("none", OVERTAKEN);
    }
    const fenced = await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: LEASE,
      UpdateExpression: "SET served = :epoch",
      ConditionExpression: "epoch = :epoch",
      ExpressionAttributeValues: { ":epoch": { N: String(epoch) } },
    });
    if (fenced !== null) throw new StorageError("none", OVERTAKEN);
    return pending.toSorted((a, b) => compareCommits(a.commitId, b.commitId));
  }

  /** Of the records of a shard that are pending or partly applied, or whose outcome is kept briefly. */
  #openEntries(shard: string): Promise<readonly Item[]> {
    return this.#dynamo.query({
      TableName: this.#tables.intents,
      IndexName: OPEN,
      KeyConditionExpression: "#shard = :shard",
      ExpressionAttributeNames: { "#shard": "shard" },
      ExpressionAttributeValues: { ":shard": { S: shard } },
    });
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
    const { status, owner, executionId } = positionOf(record);
    if (status === "done" || owner === epoch) return { kind: "owned", record };
    if (owner > epoch) throw new StorageError("none", OVERTAKEN);
    const asFound = {
      TableName: this.#tables.intents,
      Key: keyOf(executionId),
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

  // ── Executions ─────────────────────────────────────────────────────────────────────────────────────────────────

  async lookUp(epoch: number, id: ExecutionId): Promise<IntentRecord | null> {
    const record = await this.#dynamo.get(this.#tables.intents, keyOf(id));
    if (record === null || isOrphan(epoch, record)) return null;
    const known = await this.#known(epoch, record);
    if (known === "fenced") throw new StorageError("none", OVERTAKEN);
    return known;
  }

  async storeIntent(epoch: number, intent: Intent): Promise<StoreResult> {
    const { item, overflow } = pendingRecord(epoch, intent);
    const position = positionOf(item);
    if (overflow !== null) await this.#parts.put(intent.executionId, intentParts(position), overflow, null);
    const failed = await this.#dynamo.put({ TableName: this.#tables.intents, Item: item, ...ifNew(epoch) });
    // What exists may be this very intent, of an attempt whose answer was lost.
    if (overflow !== null && (failed === null || failed.item?.["commit_id"]?.S === intent.commitId))
      this.#withParts.set(intent.executionId, position);
    if (failed === null) return { kind: "stored" };
    const known = await this.#known(epoch, failed.item!);
    return known === "fenced" ? { kind: "fenced" } : { kind: "exists", record: known };
  }

  async complete(epoch: number, expects: "pending" | "new", completion: Completion): Promise<CompleteResult> {
    const { executionId, commitId, doneAtMs, writes } = completion;
    const actions = writes.map((write) => this.#writeAction(commitId, write));
    const writeSet = inTransactions(actions).length > 1 ? encodeWrites(writes) : null;
    const expiresAtMs = doneAtMs + this.#retentionMs;
    const { item, overflow } = doneRecord(epoch, completion, writeSet === null ? 0 : countParts(writeSet), expiresAtMs);
    if (overflow !== null) await this.#blobs.put(executionId, outcomeParts(completion), overflow, expiresAtMs);
    if (writeSet !== null) {
      await this.#parts.put(executionId, writeSetParts(completion), writeSet, null);
      failpoint("dynamo.writes-stored");
    }

    const record: TransactWriteItem = {
      Put: {
        TableName: this.#tables.intents,
        Item: item,
        ...(expects === "new" ? ifNew(epoch) : ifOwnPending(epoch)),
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      },
    };
    const all = writeSet === null ? [record, ...actions] : [record];
    const failed = expects === "new" ? await this.#transactFenced(epoch, all) : await this.#completions.transact(all);
    if (failed === "fenced") return { kind: "fenced" };
    if (failed !== null) {
      const met = failed[0]?.item ?? null;
      const known = met === null ? null : await this.#known(epoch, met);
      return known === "fenced" ? { kind: "fenced" } : { kind: "exists", record: known };
    }
    if (writeSet !== null && (await this.#finish(epoch, item)) === null) return { kind: "fenced" };
    if (completion.keeps === "briefly") this.#told.set(executionId, doneAtMs);
    const intent = this.#withParts.get(executionId);
    if (intent !== undefined) {
      this.#withParts.delete(executionId);
      await this.#parts.delete(executionId, intentParts(intent), intent.overflowParts);
    }
    return { kind: "applied" };
  }

  /** The record as the core knows it. One that is partly applied is completed first. */
  async #known(epoch: number, record: Item): Promise<IntentRecord | "fenced"> {
    const position = positionOf(record);
    const { executionId, overflowParts } = position;
    if (position.owner > epoch) return "fenced";
    switch (position.status) {
      case "pending": {
        const overflow =
          overflowParts === 0 ? null : await this.#parts.read(executionId, intentParts(position), overflowParts);
        return { state: "pending", intent: intentOf(record, overflow) };
      }
      case "partly applied": {
        const finished = await this.#finish(epoch, record);
        return finished === null ? "fenced" : this.#known(epoch, finished);
      }
      case "done": {
        const overflow =
          overflowParts === 0 ? null : await this.#blobs.read(executionId, outcomeParts(position), overflowParts);
        const done = doneOf(record, overflow);
        if (done.outcome?.keeps === "briefly") this.#told.set(executionId, done.doneAtMs);
        return { state: "done", done };
      }
    }
  }

  /**
   * Applies the write set of a record that is partly applied and makes it done. The parts may be applied by several and
   * again, since nobody else writes these units before it is done. Null: another server has taken over.
   */
  async #finish(epoch: number, record: Item): Promise<Item | null> {
    const position = positionOf(record);
    const { executionId, commitId, writeParts } = position;
    const writeSet = await this.#parts.read(executionId, writeSetParts(position), writeParts);
    // Finished by another attempt, which has tidied up.
    if (writeSet === null) return this.#dynamo.get(this.#tables.intents, keyOf(executionId));
    const actions = decodeWrites(writeSet).map((write) => this.#writeAction(commitId, write));
    failpoint("dynamo.decided");
    const apply = async (some: readonly TransactWriteItem[]) => {
      const failed = await this.#transactFenced(epoch, some);
      failpoint("dynamo.part-applied");
      return failed;
    };
    const applied = await atOnce(inTransactions(actions), apply, PARTS_AT_ONCE);
    if (applied.includes("fenced")) return null;
    failpoint("dynamo.all-applied");

    const done = finishedRecord(record);
    const failed = await this.#dynamo.put({
      TableName: this.#tables.intents,
      Item: done,
      ConditionExpression: "#status = :status AND #owner = :owner",
      ExpressionAttributeNames: { "#status": "status", "#owner": "owner" },
      ExpressionAttributeValues: { ":status": { S: PARTLY_APPLIED }, ":owner": { N: String(epoch) } },
    });
    if (failed?.item !== undefined && failed.item !== null && positionOf(failed.item).owner > epoch) return null;
    failpoint("dynamo.done");
    await this.#parts.delete(executionId, writeSetParts(position), writeParts);
    return done;
  }

  /** A transaction that has no effect once another server has the lease. */
  #transactFenced(
    epoch: number,
    actions: readonly TransactWriteItem[],
  ): Promise<readonly (Met | null)[] | "fenced" | null> {
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

  /** Throws for a value that no item can hold: `MAX_VALUE_BYTES` keeps handlers from writing one. */
  #writeAction(commitId: CommitId, { unit, value }: Write): TransactWriteItem {
    const key: Item = { unit: { S: unit } };
    if (value === null) return { Delete: { TableName: this.#tables.items, Key: key } };
    const version: Item = { commit_id: { S: commitId }, hash: { S: contentHash(value) } };
    const item: Item = { ...key, ...nativeAttributes("value", value), ...version };
    if (sizeOfItem(item) > MAX_ITEM_BYTES)
      throw new StorageError("none", `${FAILURES.too_large.words}: ${unit} has ${value.length} bytes`);
    return { Put: { TableName: this.#tables.items, Item: item } };
  }

  async load(units: readonly UnitId[], mostBytes: number): Promise<ReadonlyMap<UnitId, StoredItem> | null> {
    const keys = [...new Set(units)].map((unit): Item => ({ unit: { S: unit } }));
    const items = new Map<UnitId, StoredItem>();
    let bytes = 0;
    await this.#dynamo.batchRead(this.#tables.items, keys, (item) => {
      const unit = text(item, "unit") as UnitId;
      const value = intactValue(unit, item);
      bytes += value.length;
      if (bytes > mostBytes) return "enough";
      items.set(unit, { commitId: text(item, "commit_id") as CommitId, value });
      return "more";
    });
    return bytes > mostBytes ? null : items;
  }

  /** Records expire by themselves, which may take days; outcomes that were kept briefly are taken out of them in time. */
  async collect({ toldBeforeMs, limit }: CollectionDue): Promise<Collected> {
    const due: ExecutionId[] = [];
    for (const [id, doneAtMs] of this.#told) {
      if (due.length === limit) break;
      if (doneAtMs < toldBeforeMs) due.push(id);
    }
    await atOnce(due, async (id) => {
      await this.#dropOutcome(id);
      this.#told.delete(id);
    });
    return { intents: 0, outcomes: due.length };
  }

  /** Again, or by a server that has lost the lease, it does no harm: the outcome's time is over. */
  async #dropOutcome(id: ExecutionId): Promise<void> {
    const record = await this.#dynamo.get(this.#tables.intents, keyOf(id));
    if (record === null) return;
    const position = positionOf(record);
    if (position.status !== "done" || !isBrief(record)) return;
    if (position.overflowParts > 0) await this.#blobs.delete(id, outcomeParts(position), position.overflowParts);
    await this.#dynamo.update({ TableName: this.#tables.intents, ...withoutOutcomeOf(record) });
  }

  // ── Modules ────────────────────────────────────────────────────────────────────────────────────────────────────

  async storeModule(module: StoredModule, content: Uint8Array): Promise<void> {
    const { hash, plans, usedAtMs, registeredAtMs } = module;
    await this.#blobs.put(hash, MODULE_PARTS, content, null);
    const known = registeredAtMs === null ? "" : ", registered_at_ms = if_not_exists(registered_at_ms, :registered)";
    await this.#dynamo.update({
      TableName: this.#tables.meta,
      Key: moduleKey(hash),
      UpdateExpression: `SET plans = :plans, parts = :parts${usedAtMs === null ? "" : ", used_at_ms = :used"}${known}`,
      ExpressionAttributeValues: {
        ":plans": { S: JSON.stringify(Object.fromEntries(plans)) },
        ":parts": { N: String(countParts(content)) },
        ...(usedAtMs === null ? {} : { ":used": { N: String(usedAtMs) } }),
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
    const parts = this.#blobs.keysOf(hash, MODULE_PARTS, number(module, "parts"));
    const deletions = parts.map((Key): TransactWriteItem => ({ Delete: { TableName: this.#tables.blobs, Key } }));
    for (const some of inGroups(deletions, MAX_ACTIONS - 1)) await this.#transactFenced(epoch, some);
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
      usedAtMs: item["used_at_ms"] === undefined ? null : number(item, "used_at_ms"),
      registeredAtMs: item["registered_at_ms"] === undefined ? null : number(item, "registered_at_ms"),
    }));
  }

  async moduleContent(hash: ModuleHash): Promise<Uint8Array | null> {
    const module = await this.#dynamo.get(this.#tables.meta, moduleKey(hash));
    return module === null ? null : this.#blobs.read(hash, MODULE_PARTS, number(module, "parts"));
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

/** The name of a module's content among the parts of its hash. */
const MODULE_PARTS = "module";

function fenceKey(name: string): Record<"kind" | "name", { S: string }> {
  return { kind: { S: "fence" }, name: { S: name } };
}

function moduleKey(hash: ModuleHash): Record<"kind" | "name", { S: string }> {
  return { kind: { S: "module" }, name: { S: hash } };
}

function isOrphan(epoch: number, record: Item): boolean {
  const { status, owner } = positionOf(record);
  return status === "pending" && owner < epoch;
}

/** There is no record, or an orphan: this server has made all others its own. */
function ifNew(
  epoch: number,
): Pick<
  NonNullable<TransactWriteItem["Put"]>,
  "ConditionExpression" | "ExpressionAttributeNames" | "ExpressionAttributeValues"
> {
  return {
    ConditionExpression: "attribute_not_exists(execution_id) OR (#status = :pending AND #owner < :epoch)",
    ExpressionAttributeNames: { "#status": "status", "#owner": "owner" },
    ExpressionAttributeValues: { ":pending": { S: PENDING }, ":epoch": { N: String(epoch) } },
  };
}

function ifOwnPending(epoch: number): ReturnType<typeof ifNew> {
  return { ...ifNew(epoch), ConditionExpression: "#status = :pending AND #owner = :epoch" };
}

// The names of what stands in parts: under one name the same bytes, whoever writes them. So no attempt to complete an
// execution meets the parts of another, also if two runs of its handler differ.

function intentParts({ commitId }: Pick<Position, "commitId">): string {
  return `intent ${commitId}`;
}

function outcomeParts({ commitId, resultHash }: Pick<Completion, "commitId" | "resultHash">): string {
  return `outcome ${commitId} ${resultHash}`;
}

function writeSetParts({ commitId, resultHash }: Pick<Completion, "commitId" | "resultHash">): string {
  return `writes ${commitId} ${resultHash}`;
}

/** Records that fit into one transaction. */
function inBatches(records: readonly Item[]): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let size = Infinity;
  for (const record of records) {
    const recordSize = sizeOfItem(record);
    if (size + recordSize > MAX_TRANSACTION_BYTES || batches.at(-1)!.length >= MAX_ACTIONS) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)!.push(record);
    size += recordSize;
  }
  return batches;
}

/** As few transactions as they fit into, beside a record and a fence. */
function inTransactions(actions: readonly TransactWriteItem[]): readonly (readonly TransactWriteItem[])[] {
  const transactions: TransactWriteItem[][] = [[]];
  let size = MAX_ITEM_BYTES;
  for (const action of actions) {
    const itemSize = sizeOfItem(action.Put?.Item ?? action.Delete!.Key!);
    if (transactions.at(-1)!.length >= MAX_ACTIONS - 2 || size + itemSize > MAX_TRANSACTION_BYTES) {
      transactions.push([]);
      size = MAX_ITEM_BYTES;
    }
    transactions.at(-1)!.push(action);
    size += itemSize;
  }
  return transactions;
}

function encodeWrites(writes: readonly Write[]): Uint8Array {
  const writer = new CborWriter().array(writes.length);
  for (const { unit, value } of writes) {
    writer.array(2).text(unit);
    if (value === null) writer.null();
    else writer.bytes(value);
  }
  return writer.finish();
}

function decodeWrites(bytes: Uint8Array): readonly Write[] {
  const reader = new CborReader(bytes);
  return Array.from({ length: reader.array() }, () => {
    reader.array();
    return { unit: reader.text() as UnitId, value: reader.nullIfNext() ? null : reader.bytes() };
  });
}

/** Throws a StorageError unless it is what its hash says. */
export function intactValue(unit: UnitId, item: Item): Uint8Array {
  let value: Uint8Array | null = null;
  try {
    value = nativeOf(item, "value");
  } catch {
    // Told below.
  }
  if (value === null || contentHash(value) !== item["hash"]?.S)
    throw new StorageError("none", `the stored value of ${unit} is corrupt`);
  return value;
}
