/**
 * Workflows in the table of executions, and the parts beside them. In the index `open` their entries stand behind those that a
 * starting server reads:
 *
 *   <shard> workflow open <id>              it has not ended
 *   <shard> workflow ended <time>           it has
 *   <shard> workflow part <id> <place>
 *
 * A workflow and its parts have one bucket. So its journal is one query. Bytes that do not fit into an item stand in the table of
 * overflow. These are arguments and outcomes of workflows, and contents of parts.
 */
import type { QueryCommandInput } from "@aws-sdk/client-dynamodb";
import { decodeOutcome, encodeOutcome, type ExecutionId, type ModuleHash } from "@radical/protocol";
import type { TaskError } from "../../core/task.ts";
import type { StepName, Workflow, WorkflowPart } from "../../core/workflow.ts";
import type { WorkflowPage } from "../storage.ts";
import { bytes, number, text } from "./attributes.ts";
import { atOnce } from "../at-once.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";
import type { Parts } from "./parts.ts";
import { beside, besideAttributes, besideOf, PART, SHARD, WORKFLOW } from "./records.ts";
import { type Layout, OPEN, type Tables } from "./tables.ts";

const OPEN_ONES = `${SHARD} workflow open `;
const ENDED_ONES = `${SHARD} workflow ended `;
const PARTS = `${SHARD} workflow part `;
/** After all texts that begin so. */
const LAST = "~";
const TIME_DIGITS = 15;
/** Larger bytes stand beside the item. */
const MOST_BYTES = 100_000;

/** An item, with the bytes that go beside it. */
interface Big {
  readonly item: Item;
  readonly besides: readonly Uint8Array[];
}

export function partKey(layout: Layout, { id, workflow }: Pick<WorkflowPart, "id" | "workflow">): Item {
  return { bucket: { S: layout.executionBucketOf(workflow.slice(-2)) }, id: { S: id } };
}

function workflowItem(layout: Layout, epoch: number, workflow: Workflow): Big {
  const { id, caller, parent, call, untilMs, outcome, error, endedAtMs, state } = workflow;
  const besides: Uint8Array[] = [];
  const item: Item = {
    ...layout.executionKey(id),
    status: { S: WORKFLOW },
    owner: { N: String(epoch) },
    state: { S: state },
    module: { S: workflow.module },
    handler: { S: workflow.handler },
    ...bytesAttribute("args", workflow.args, besides),
    seed: { B: workflow.seed },
    ...(caller === null ? {} : { caller: { S: caller } }),
    ...(parent === null ? {} : { parent: { S: JSON.stringify(parent) } }),
    call_key: { S: call.key },
    call_hash: { S: call.hash },
    created_at_ms: { N: String(workflow.createdAtMs) },
    round: { N: String(workflow.round) },
    changes: { N: String(workflow.changes) },
    entries: { N: String(workflow.entries) },
    bytes: { N: String(workflow.bytes) },
    ...(untilMs === null ? {} : { until_ms: { N: String(untilMs) } }),
    ...(outcome === null ? {} : bytesAttribute("outcome", encodeOutcome(outcome), besides)),
    ...(workflow.undoing === null ? {} : { undoing: { N: String(workflow.undoing) } }),
    ...(workflow.again === null ? {} : bytesAttribute("again", workflow.again, besides)),
    ...(error === null ? {} : { error: { S: JSON.stringify(error) } }),
    ...(endedAtMs === null ? {} : { ended_at_ms: { N: String(endedAtMs) } }),
    [OPEN]: { S: state === "ended" ? `${ENDED_ONES}${time(endedAtMs ?? 0)}` : `${OPEN_ONES}${id}` },
  };
  return { item, besides };
}

function partItem(layout: Layout, epoch: number, part: WorkflowPart): Big {
  const besides: Uint8Array[] = [];
  const item: Item = {
    ...partKey(layout, part),
    status: { S: PART },
    owner: { N: String(epoch) },
    workflow: { S: part.workflow },
    place: { S: part.place },
    ...bytesAttribute("content", part.content, besides),
    [OPEN]: { S: `${PARTS}${part.workflow} ${part.place}` },
  };
  return { item, besides };
}

function bytesAttribute(name: string, content: Uint8Array, besides: Uint8Array[]): Item {
  if (content.length <= MOST_BYTES) return { [name]: { B: content } };
  besides.push(content);
  return besideAttributes(`${name}_beside`, besideOf(content));
}

function time(ms: number): string {
  return String(Math.max(0, Math.floor(ms))).padStart(TIME_DIGITS, "0");
}

export class DynamoWorkflows {
  readonly #dynamo: Dynamo;
  readonly #tables: Tables;
  readonly #layout: Layout;
  readonly #overflow: Parts;
  /** When each has ended of those that may be collected; null: storage was not asked yet. */
  #ended: Map<ExecutionId, number> | null = null;

  constructor(dynamo: Dynamo, tables: Tables, layout: Layout, overflow: Parts) {
    this.#dynamo = dynamo;
    this.#tables = tables;
    this.#layout = layout;
    this.#overflow = overflow;
  }

  /** The item that a workflow gets; what goes beside it is there before it. */
  workflowRecord(epoch: number, workflow: Workflow): Promise<Item> {
    return this.#withBesides(workflow.id, workflowItem(this.#layout, epoch, workflow));
  }

  partRecord(epoch: number, part: WorkflowPart): Promise<Item> {
    return this.#withBesides(part.id, partItem(this.#layout, epoch, part));
  }

  async #withBesides(id: ExecutionId, { item, besides }: Big): Promise<Item> {
    await atOnce(besides, (content) => this.#overflow.put(id, besideOf(content).name, content, null));
    return item;
  }

  async workflowOf(item: Item): Promise<Workflow> {
    const id = text(item, "id") as ExecutionId;
    const parent = item["parent"]?.S;
    const outcome = await this.#bytesOf(item, "outcome");
    const error = item["error"]?.S;
    return {
      id,
      module: text(item, "module") as ModuleHash,
      handler: text(item, "handler"),
      args: (await this.#bytesOf(item, "args")) ?? new Uint8Array(),
      seed: bytes(item, "seed"),
      caller: item["caller"]?.S ?? null,
      parent: parent === undefined ? null : (JSON.parse(parent) as StepName),
      call: { key: text(item, "call_key"), hash: text(item, "call_hash") },
      createdAtMs: number(item, "created_at_ms"),
      round: number(item, "round"),
      changes: number(item, "changes"),
      entries: number(item, "entries"),
      bytes: number(item, "bytes"),
      state: text(item, "state") as Workflow["state"],
      untilMs: item["until_ms"] === undefined ? null : number(item, "until_ms"),
      outcome: outcome === null ? null : decodeOutcome(outcome),
      undoing: item["undoing"] === undefined ? null : number(item, "undoing"),
      again: await this.#bytesOf(item, "again"),
      error: error === undefined ? null : (JSON.parse(error) as TaskError),
      endedAtMs: item["ended_at_ms"] === undefined ? null : number(item, "ended_at_ms"),
    };
  }

  async partOf(item: Item): Promise<WorkflowPart> {
    return {
      id: text(item, "id") as ExecutionId,
      workflow: text(item, "workflow") as ExecutionId,
      place: text(item, "place"),
      content: (await this.#bytesOf(item, "content")) ?? new Uint8Array(),
    };
  }

  /** Null: there is no such attribute. */
  async #bytesOf(item: Item, name: string): Promise<Uint8Array | null> {
    if (item[name] !== undefined) return bytes(item, name);
    if (item[`${name}_beside`] === undefined) return null;
    const { name: hash, count } = beside(item, `${name}_beside`);
    const content = await this.#overflow.read(text(item, "id"), hash, count);
    if (content === null) throw new Error(`the ${name} of ${text(item, "id")} has gone from the table of overflow`);
    return new Uint8Array(content);
  }

  /** The cursor has the place of each bucket. */
  async open(after: string | null, limit: number): Promise<WorkflowPage> {
    const buckets = this.#layout.executionBuckets();
    const places = after === null ? buckets.map(() => OPEN_ONES) : (JSON.parse(after) as readonly (string | null)[]);
    const most = Math.max(1, Math.ceil(limit / buckets.length));
    const found: Item[] = [];
    const next = await atOnce(buckets, async (bucket, index): Promise<string | null> => {
      const place = places[index] ?? null;
      if (place === null) return null;
      const entries = await this.#entries(bucket, place, `${OPEN_ONES}${LAST}`, most);
      found.push(...entries);
      // No id begins with what comes after this character.
      return entries.length < most ? null : `${text(entries.at(-1)!, OPEN)}!`;
    });
    const items = await this.#items(found);
    const workflows = await atOnce(
      items.filter((item) => item["status"]?.S === WORKFLOW && item["state"]?.S !== "ended"),
      (item) => this.workflowOf(item),
    );
    return { workflows, next: next.every((place) => place === null) ? null : JSON.stringify(next) };
  }

  async partsOf(workflow: ExecutionId): Promise<readonly WorkflowPart[]> {
    const items = await this.#items(await this.#partEntries(workflow));
    const parts = await atOnce(items, (item) => this.partOf(item));
    return parts.toSorted((a, b) => (a.place < b.place ? -1 : 1));
  }

  #partEntries(workflow: ExecutionId): Promise<readonly Item[]> {
    const bucket = this.#layout.executionBucketOf(workflow.slice(-2));
    return this.#entries(bucket, `${PARTS}${workflow} `, `${PARTS}${workflow} ${LAST}`, Infinity);
  }

  /** A record is as it is since now. */
  became(item: Item): void {
    if (item["status"]?.S === WORKFLOW && item["state"]?.S === "ended")
      this.#ended?.set(text(item, "id") as ExecutionId, number(item, "ended_at_ms"));
  }

  /** Deletes some that ended before then: first their parts, which nobody would find any more without the record. */
  async collect(endedBeforeMs: number, limit: number): Promise<number> {
    const ended = (this.#ended ??= await this.#endedOnes());
    const due = [...ended].filter(([, endedAtMs]) => endedAtMs < endedBeforeMs).slice(0, limit);
    await atOnce(due, async ([id]) => {
      const { executions } = this.#tables;
      const parts = await this.#items(await this.#partEntries(id));
      const key = this.#layout.executionKey(id);
      const records = await this.#items([key]);
      await atOnce([...parts, ...records], (item) => this.#deleteBesides(item));
      await this.#dynamo.batchDelete(executions, parts.map(keyOf));
      await this.#dynamo.batchDelete(executions, [key]);
      ended.delete(id);
    });
    return due.length;
  }

  /** Of a record that goes, the bytes beside it. */
  async #deleteBesides(item: Item): Promise<void> {
    for (const name of ["args", "outcome", "again", "content"]) {
      if (item[`${name}_beside`] === undefined) continue;
      const { name: hash, count } = beside(item, `${name}_beside`);
      // oxlint-disable-next-line no-await-in-loop -- a record has three of them at most
      await this.#overflow.delete(text(item, "id"), hash, count);
    }
  }

  async #endedOnes(): Promise<Map<ExecutionId, number>> {
    const buckets = this.#layout.executionBuckets();
    const found = await atOnce(buckets, (bucket) =>
      this.#entries(bucket, ENDED_ONES, `${ENDED_ONES}${LAST}`, Infinity),
    );
    return new Map(
      found
        .flat()
        .map((entry) => [text(entry, "id") as ExecutionId, Number(text(entry, OPEN).slice(ENDED_ONES.length))]),
    );
  }

  async #entries(bucket: string, from: string, to: string, limit: number): Promise<readonly Item[]> {
    const entries: Item[] = [];
    const most = Number.isFinite(limit) ? { Limit: limit } : {};
    for await (const entry of this.#dynamo.pages({ ...this.#query(bucket, from, to), ...most }))
      if (entries.push(entry) === limit) break;
    return entries;
  }

  #query(bucket: string, from: string, to: string): QueryCommandInput {
    return {
      TableName: this.#tables.executions,
      IndexName: OPEN,
      KeyConditionExpression: "#bucket = :bucket AND #open BETWEEN :from AND :to",
      ExpressionAttributeNames: { "#bucket": "bucket", "#open": OPEN },
      ExpressionAttributeValues: { ":bucket": { S: bucket }, ":from": { S: from }, ":to": { S: to } },
    };
  }

  #items(entries: readonly Item[]): Promise<readonly Item[]> {
    const keys = entries.map(keyOf);
    return keys.length === 0 ? Promise.resolve([]) : this.#dynamo.batchGet(this.#tables.executions, keys);
  }
}

function keyOf(item: Item): Item {
  return { bucket: item["bucket"]!, id: item["id"]! };
}
