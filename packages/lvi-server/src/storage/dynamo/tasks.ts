/**
 * Tasks in the table of executions. In the index `open` their entries stand behind those that a starting server reads:
 *
 *   <shard> task dead <since> <id>        in no lane, dead
 *   <shard> task due <time> <id>          in no lane
 *   <shard> task lane <lane> <place>      in a lane, dead or not
 *
 * All tasks of a lane have one bucket. So the next task of a lane is one query.
 */
import { createHash } from "node:crypto";
import type { QueryCommandInput } from "@aws-sdk/client-dynamodb";
import { type ExecutionId, MalformedError, type ModuleHash } from "@radical/protocol";
import {
  compareDue,
  laneByteOf,
  type Task,
  type TaskError,
  type TaskName,
  type TaskOutline,
  type TaskPlace,
  type TaskStep,
} from "../../core/task.ts";
import type { LaneCursor, LanePage, TaskListCursor, TaskListPage, TaskPage, TaskSelection } from "../storage.ts";
import { bytes, flag, nativeAttributes, nativeOf, number, text } from "./attributes.ts";
import { atOnce } from "../at-once.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";
import { SHARD, TASK } from "./records.ts";
import { type Layout, OPEN, type Tables } from "./tables.ts";

const ALL = `${SHARD} task`;
const DEAD = `${ALL} dead`;
const DUE = `${ALL} due`;
const LANE = `${ALL} lane`;
/** After these words. The next character ends all that begins so. */
const SPACE = " ";
const AFTER_SPACE = "!";
/** Of the name of a lane in the index, whose keys have 1,024 bytes at most. */
const MOST_LANE_BYTES = 900;
/** Ends the name of a lane. */
const NUL = "\0";
const AFTER_NUL = "\u0001";
const TIME_DIGITS = 15;
/** Larger arguments are stored as they are: as attributes they might not fit into an item. */
const MOST_NATIVE_BYTES = 64 * 1024;

export function taskKey(layout: Layout, { id, lane }: Pick<Task, "id" | "lane">): Item {
  if (lane === null) return layout.executionKey(id);
  return { bucket: { S: layout.executionBucketOf(laneByteOf(lane)) }, id: { S: id } };
}

export function taskRecord(layout: Layout, epoch: number, task: Task): Item {
  const { handler, args, seed, caller, parent, module, lane, place, error } = task;
  return {
    ...taskKey(layout, task),
    status: { S: TASK },
    owner: { N: String(epoch) },
    dead: { BOOL: task.state === "dead" },
    handler: { S: handler },
    ...(args.length > MOST_NATIVE_BYTES ? { args_bytes: { B: args } } : nativeAttributes("args", args)),
    seed: { B: seed },
    ...(caller === null ? {} : { caller: { S: caller } }),
    parent: { S: parent },
    module: { S: module },
    ...(lane === null ? {} : { lane: { S: lane } }),
    place: { S: place },
    created_at_ms: { N: String(task.createdAtMs) },
    due_ms: { N: String(task.dueMs) },
    attempt: { N: String(task.attempt) },
    failures: { N: String(task.failures) },
    ...(task.step === undefined ? {} : { step: { S: JSON.stringify(task.step) } }),
    ...(task.sentAtMs === null ? {} : { sent_at_ms: { N: String(task.sentAtMs) } }),
    ...(error === null ? {} : { error: { S: JSON.stringify(error) } }),
    [OPEN]: { S: openOf(task) },
  };
}

export function taskOf(item: Item): Task {
  return {
    ...outlineOf(item),
    args: item["args_bytes"]?.B ?? nativeOf(item, "args"),
    seed: bytes(item, "seed"),
    caller: item["caller"]?.S ?? null,
    module: text(item, "module") as ModuleHash,
    createdAtMs: number(item, "created_at_ms"),
    attempt: number(item, "attempt"),
    ...(item["step"] === undefined ? {} : { step: JSON.parse(text(item, "step")) as TaskStep }),
    sentAtMs: item["sent_at_ms"] === undefined ? null : number(item, "sent_at_ms"),
  };
}

/** The attributes that {@link outlineOf} needs, and the one that tells a task from other records. */
const OUTLINE = ["status", "id", "handler", "parent", "lane", "place", "due_ms", "failures", "dead", "error"];

function outlineOf(item: Item): TaskOutline {
  const error = item["error"]?.S;
  return {
    id: text(item, "id") as ExecutionId,
    handler: text(item, "handler"),
    parent: text(item, "parent") as ExecutionId,
    lane: item["lane"]?.S ?? null,
    place: text(item, "place"),
    dueMs: number(item, "due_ms"),
    failures: number(item, "failures"),
    state: flag(item, "dead") ? "dead" : "open",
    error: error === undefined ? null : (JSON.parse(error) as TaskError),
  };
}

function openOf({ id, lane, place, dueMs, state, error }: Task): string {
  if (lane !== null) return `${laneText(lane)}${NUL}${place}`;
  if (state === "dead") return `${DEAD} ${time(error?.atMs ?? dueMs)} ${id}`;
  return dueText({ dueMs, id });
}

function dueText({ dueMs, id }: TaskPlace): string {
  return `${DUE} ${time(dueMs)} ${id}`;
}

/** The place that {@link dueText} has written. */
function dueIn(entry: string): TaskPlace {
  const [dueMs = "", id = ""] = entry.slice(DUE.length + SPACE.length).split(SPACE);
  return { dueMs: Number(dueMs), id: id as ExecutionId };
}

function time(ms: number): string {
  return String(Math.max(0, Math.floor(ms))).padStart(TIME_DIGITS, "0");
}

/** A NUL of the name is written as two other characters. A name with very many of them would not fit into the key of the index. */
function laneText(lane: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the ones to be written otherwise
  const escaped = lane.replace(/[\0\u0001]/g, (character) => (character === "\0" ? "\u0001\u0001" : "\u0001\u0002"));
  const fits = Buffer.byteLength(escaped) <= MOST_LANE_BYTES;
  return `${LANE} ${fits ? escaped : `\u0001\u0003${createHash("sha256").update(lane).digest("hex")}`}`;
}

/** The text that {@link laneText} has written. */
function laneIn(entry: Item): string {
  const open = text(entry, OPEN);
  return open.slice(0, open.indexOf(NUL));
}

/** A part of the index in one bucket; the end is not in it. */
interface Range {
  readonly bucket: string;
  readonly first: string;
  readonly end: string;
}

/** The parts of the index that may have tasks in this state. */
function partsWith(state: Task["state"] | undefined, inLanes: boolean): readonly Omit<Range, "bucket">[] {
  const others = state === undefined ? [DEAD, DUE] : [state === "dead" ? DEAD : DUE];
  const words = !inLanes ? others : state === undefined ? [ALL] : [...others, LANE];
  return words.map((each) => ({ first: `${each}${SPACE}`, end: `${each}${AFTER_SPACE}` }));
}

function cursorIn(cursor: TaskListCursor): readonly [range: number, from: string | null] {
  try {
    return JSON.parse(cursor) as [number, string | null];
  } catch {
    throw new MalformedError("after is no place in a list of tasks");
  }
}

/** Lists of tasks, by the index. */
export class DynamoTasks {
  readonly #dynamo: Dynamo;
  readonly #tables: Tables;
  readonly #layout: Layout;

  constructor(dynamo: Dynamo, tables: Tables, layout: Layout) {
    this.#dynamo = dynamo;
    this.#tables = tables;
    this.#layout = layout;
  }

  /** Each bucket gives its part of the page. A bucket that has more bounds the page. */
  async due(after: TaskPlace | null, limit: number): Promise<TaskPage<TaskPlace>> {
    const buckets = this.#layout.executionBuckets();
    const most = Math.ceil((2 * limit) / buckets.length) + 8;
    const from = after === null ? `${DUE}${SPACE}` : `${dueText(after)}${NUL}`;
    const parts = await atOnce(buckets, (bucket) => this.#entries(bucket, from, `${DUE}${AFTER_SPACE}`, most));
    const bounds = parts.flatMap((part) => (part.length < most ? [] : [text(part.at(-1)!, OPEN)]));
    const bound = bounds.toSorted()[0] ?? null;
    const within = parts
      .flat()
      .filter((entry) => bound === null || text(entry, OPEN) <= bound)
      .toSorted((a, b) => (text(a, OPEN) < text(b, OPEN) ? -1 : 1));
    const page = within.slice(0, limit);
    const last = within.length > limit ? text(page.at(-1)!, OPEN) : bound;
    const tasks = (await this.#tasksOf(page)).filter(({ lane, state }) => lane === null && state === "open");
    return { tasks: tasks.toSorted(compareDue), upTo: last === null ? null : dueIn(last) };
  }

  async inLane(lane: string, limit: number): Promise<TaskPage<string>> {
    const { bucket, first, end } = this.#rangeOf(lane);
    const entries = await this.#entries(bucket, first, end, limit + 1);
    const page = entries.slice(0, limit);
    const tasks = (await this.#tasksOf(page)).toSorted((a, b) => (a.place < b.place ? -1 : 1));
    const upTo = entries.length > limit ? text(page.at(-1)!, OPEN).slice(first.length) : null;
    return { tasks, upTo };
  }

  /** In each bucket from one lane to the next. The cursor has the place of each bucket; null: it is over. */
  async laneHeads(after: LaneCursor | null, limit: number): Promise<LanePage> {
    const buckets = this.#layout.executionBuckets();
    const places =
      after === null ? buckets.map(() => `${LANE}${SPACE}`) : (JSON.parse(after) as readonly (string | null)[]);
    const most = Math.max(1, Math.ceil(limit / buckets.length));
    const found: Item[] = [];
    const next = await atOnce(buckets, async (bucket, index): Promise<string | null> => {
      let place = places[index] ?? null;
      for (let n = 0; n < most && place !== null; n++) {
        // oxlint-disable-next-line no-await-in-loop -- a lane says where the next one begins
        const [entry] = await this.#entries(bucket, place, `${LANE}${AFTER_SPACE}`, 1);
        if (entry === undefined) return null;
        found.push(entry);
        place = `${laneIn(entry)}${AFTER_NUL}`;
      }
      return place;
    });
    const isOver = next.every((place) => place === null);
    const heads = await this.#outlinesOf(found);
    const known = new Set<string | undefined>(heads.map(({ id }) => id));
    const changed = found.filter(({ id }) => !known.has(id?.S));
    const others = await atOnce(changed, (entry) => this.#headOf(text(entry, "bucket"), laneIn(entry)));
    return { heads: [...heads, ...others.flat()], next: isOver ? null : JSON.stringify(next) };
  }

  /** Of a lane whose first task has gone since the walk was there. */
  async #headOf(bucket: string, lane: string): Promise<readonly TaskOutline[]> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- the next one may go too
      const entries = await this.#entries(bucket, `${lane}${NUL}`, `${lane}${AFTER_NUL}`, 1);
      if (entries.length === 0) return [];
      // oxlint-disable-next-line no-await-in-loop -- likewise
      const tasks = await this.#outlinesOf(entries);
      if (tasks.length > 0) return tasks;
    }
  }

  async read(tasks: readonly TaskName[]): Promise<readonly Task[]> {
    return this.#tasksOf(tasks.map((task) => taskKey(this.#layout, task)));
  }

  /** The bucket of a task follows from its lane, which only its record names: all buckets are asked at once. */
  async find(id: ExecutionId): Promise<Task | null> {
    const keys = this.#layout.executionBuckets().map((bucket): Item => ({ bucket: { S: bucket }, id: { S: id } }));
    const items = await this.#dynamo.batchGet(this.#tables.executions, keys);
    const found = items.find((item) => item["status"]?.S === TASK);
    return found === undefined ? null : taskOf(found);
  }

  /** Bucket after bucket, and in each one the parts of the index that may have such tasks. */
  async list({ state, lane }: TaskSelection, after: TaskListCursor | null, limit: number): Promise<TaskListPage> {
    const ranges =
      typeof lane === "string"
        ? [this.#rangeOf(lane)]
        : this.#layout
            .executionBuckets()
            .flatMap((bucket) => partsWith(state, lane === undefined).map((part) => ({ bucket, ...part })));
    let [index, from] = after === null ? [0, null] : cursorIn(after);
    const entries: Item[] = [];
    while (index < ranges.length && entries.length < limit) {
      const { bucket, first, end } = ranges[index]!;
      const most = limit - entries.length;
      // oxlint-disable-next-line no-await-in-loop -- a page is full, or the next part follows
      const found = await this.#entries(bucket, from ?? first, end, most);
      entries.push(...found);
      const last = found.length < most ? undefined : found.at(-1);
      if (last === undefined) index++;
      from = last === undefined ? null : `${text(last, OPEN)}${NUL}`;
    }
    const found = new Map((await this.#tasksOf(entries)).map((task) => [task.id, task]));
    const tasks = entries
      .flatMap((entry) => found.get(text(entry, "id") as ExecutionId) ?? [])
      .filter((task) => state === undefined || task.state === state);
    return { tasks, next: index < ranges.length ? JSON.stringify([index, from]) : null };
  }

  #rangeOf(lane: string): Range {
    const name = laneText(lane);
    const bucket = this.#layout.executionBucketOf(laneByteOf(lane));
    return { bucket, first: `${name}${NUL}`, end: `${name}${AFTER_NUL}` };
  }

  async count(): Promise<number> {
    const buckets = this.#layout.executionBuckets();
    const counts = await atOnce(buckets, (bucket) =>
      this.#dynamo.count(this.#query(bucket, `${ALL}${SPACE}`, `${ALL}${AFTER_SPACE}`)),
    );
    return counts.reduce((sum, each) => sum + each, 0);
  }

  async #entries(bucket: string, from: string, to: string, limit: number): Promise<readonly Item[]> {
    const entries: Item[] = [];
    for await (const entry of this.#dynamo.pages({ ...this.#query(bucket, from, to), Limit: limit }))
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

  async #tasksOf(entries: readonly Item[]): Promise<readonly Task[]> {
    return (await this.#records(entries)).map(taskOf);
  }

  /** The same without their arguments, which stay where they are. */
  async #outlinesOf(entries: readonly Item[]): Promise<readonly TaskOutline[]> {
    return (await this.#records(entries, OUTLINE)).map(outlineOf);
  }

  async #records(entries: readonly Item[], attributes?: readonly string[]): Promise<readonly Item[]> {
    const keys = entries.map((entry): Item => ({ bucket: entry["bucket"]!, id: entry["id"]! }));
    const { executions } = this.#tables;
    const items = keys.length === 0 ? [] : await this.#dynamo.batchGet(executions, keys, attributes);
    return items.filter((item) => item["status"]?.S === TASK);
  }
}
