/**
 * The items of the table of executions. A record is in one of these states, its `status`:
 *
 *   pending                    an intent: promised, not applied
 *   partly applied             decided, with more changes than one transaction takes: they are being applied from its parts
 *   done 2026-01-31T12:00:…Z   without its arguments, perhaps with its outcome, until it expires
 *   task                       a task (`tasks.ts`)
 *   workflow, part             a workflow, and the parts of its journal (`workflows.ts`)
 *
 * `owner` is the epoch of the server that stored or adopted it. What does not fit into one item stands in parts beside
 * it, of which the record has the number.
 *
 * The index `open` has the records that a starting server must find, as `<shard> <state> <time>`: `pending`, `partly applied`,
 * and `briefly` for a done record whose outcome is to go.
 */
import type { AttributeValue, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import {
  CborReader,
  CborWriter,
  type CommitId,
  contentHash,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  TRAP_CODES,
} from "@radical/protocol";
import type { DoneIntent, Intent, IntentUnit } from "../../core/intent.ts";
import { bytes, flag, nativeAttributes, nativeOf, number, text } from "./attributes.ts";
import { type Item, MAX_ITEM_BYTES, sizeOfItem } from "./limits.ts";
import { countParts } from "./parts.ts";
import { EXPIRY, type Layout, OPEN } from "./tables.ts";

export const PENDING = "pending";
export const PARTLY_APPLIED = "partly applied";
const DONE = "done ";
export const TASK = "task";
export const WORKFLOW = "workflow";
export const PART = "part";
const STATUSES = [PENDING, PARTLY_APPLIED, TASK, WORKFLOW, PART] as const;

/** For what a record gets besides when it is completed. */
const MAX_RECORD_BYTES = MAX_ITEM_BYTES - 20_000;

/** A record with the bytes that go beside it, null if they fit into it. */
export interface Stored {
  readonly item: Item;
  readonly overflow: Uint8Array | null;
}

/** Parts beside a record. Their name is the hash of their content: whoever writes parts of one name writes the same bytes. */
export interface Beside {
  readonly name: string;
  readonly count: number;
}

export function besideOf(content: Uint8Array): Beside {
  return { name: contentHash(content), count: countParts(content) };
}

export interface Position {
  readonly status: (typeof STATUSES)[number] | "done";
  readonly executionId: ExecutionId;
  readonly owner: number;
  /** Of a pending record in the table of parts, of a done one in that of overflow. */
  readonly overflow: Beside | null;
}

export function positionOf(item: Item): Position {
  const status = text(item, "status");
  return {
    status: STATUSES.find((known) => known === status) ?? "done",
    executionId: text(item, "id") as ExecutionId,
    owner: number(item, "owner"),
    overflow: item["overflow"] === undefined ? null : beside(item, "overflow"),
  };
}

export function beside(item: Item, name: string): Beside {
  return { name: text(item, name), count: number(item, `${name}_parts`) };
}

export function besideAttributes(name: string, { name: hash, count }: Beside): Item {
  return { [name]: { S: hash }, [`${name}_parts`]: { N: String(count) } };
}

/** All executions are of one shard of the primary. */
export const SHARD = "0";
/** The states of the index, which sort as the range of a starting server needs them. */
const BRIEFLY = "briefly";

function openAttribute(state: typeof PENDING | typeof PARTLY_APPLIED | typeof BRIEFLY, timeMs: number): Item {
  return { [OPEN]: { S: `${SHARD} ${state} ${new Date(timeMs).toISOString()}` } };
}

/** The first and the last text of the index that a starting server reads. */
export const FIRST_OPEN = `${SHARD} ${BRIEFLY} `;
export const LAST_OPEN = `${SHARD} ${PENDING} ~`;

// ── Pending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export function pendingRecord(layout: Layout, epoch: number, intent: Intent): Stored {
  const { executionId, commitId, module, handler, args, environment, location, units, lanes } = intent;
  const { retained, mustNotWrite, createdAtMs } = intent;
  const unitsText = JSON.stringify(units);
  const common: Item = {
    ...layout.executionKey(executionId),
    status: { S: PENDING },
    owner: { N: String(epoch) },
    commit_id: { S: commitId },
    module: { S: module },
    handler: { S: handler },
    location: { S: location },
    time_ms: { N: String(environment.timeMs) },
    seed: { B: environment.seed },
    ...callerAttribute(environment.caller),
    retained: { BOOL: retained },
    must_not_write: { BOOL: mustNotWrite },
    created_at_ms: { N: String(createdAtMs) },
    ...(lanes.length === 0 ? {} : { lanes: { S: JSON.stringify(lanes) } }),
    ...openAttribute(PENDING, createdAtMs),
  };
  const whole: Item = { ...common, ...nativeAttributes("args", args), units: { S: unitsText } };
  if (sizeOfItem(whole) <= MAX_RECORD_BYTES) return { item: whole, overflow: null };
  const overflow = new CborWriter().array(2).bytes(args).text(unitsText).finish();
  return { item: { ...common, ...besideAttributes("overflow", besideOf(overflow)) }, overflow };
}

export function intentOf(item: Item, overflow: Uint8Array | null): Intent {
  let args: Uint8Array;
  let units: string;
  if (overflow === null) {
    args = nativeOf(item, "args");
    units = text(item, "units");
  } else {
    const reader = new CborReader(overflow);
    reader.array();
    args = reader.bytes();
    units = reader.text();
  }
  return {
    executionId: text(item, "id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    module: text(item, "module") as ModuleHash,
    handler: text(item, "handler"),
    args,
    environment: { timeMs: number(item, "time_ms"), seed: bytes(item, "seed"), caller: callerOf(item) },
    location: text(item, "location"),
    units: JSON.parse(units) as IntentUnit[],
    lanes: item["lanes"] === undefined ? [] : (JSON.parse(text(item, "lanes")) as string[]),
    retained: flag(item, "retained"),
    mustNotWrite: flag(item, "must_not_write"),
    createdAtMs: number(item, "created_at_ms"),
  };
}

// ── Done ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function doneRecord(layout: Layout, epoch: number, done: DoneIntent, expiresAtMs: number): Stored {
  const { executionId, commitId, module, location, outcome, resultHash, doneAtMs, call } = done;
  const common: Item = {
    ...layout.executionKey(executionId),
    status: { S: DONE + new Date(doneAtMs).toISOString() },
    owner: { N: String(epoch) },
    commit_id: { S: commitId },
    module: { S: module },
    location: { S: location },
    ...(call === null ? {} : { call_key: { S: call.key }, call_hash: { S: call.hash } }),
    result_hash: { S: resultHash },
    done_at_ms: { N: String(doneAtMs) },
    [EXPIRY]: { N: String(Math.ceil(expiresAtMs / 1_000)) },
    ...(outcome === null ? {} : { [KEEPS]: { S: outcome.keeps } }),
    ...(outcome?.keeps === "briefly" ? openAttribute(BRIEFLY, doneAtMs) : {}),
  };
  if (outcome === null) return { item: common, overflow: null };
  const whole: Item = { ...common, outcome: outcomeAttribute(outcome.value) };
  if (sizeOfItem(whole) <= MAX_RECORD_BYTES || outcome.value.kind !== "result") return { item: whole, overflow: null };
  const overflow = new CborWriter().array(1).bytes(outcome.value.value).finish();
  const shortened = outcomeAttribute({ kind: "result", value: new CborWriter().null().finish() });
  return { item: { ...common, outcome: shortened, ...besideAttributes("overflow", besideOf(overflow)) }, overflow };
}

/** `overflow`: null if it has none, or not all of it is there any more. */
export function doneOf(item: Item, overflow: Uint8Array | null): DoneIntent {
  const key = item["call_key"]?.S;
  const hash = item["call_hash"]?.S;
  const value = keptOutcome(item, overflow);
  return {
    executionId: text(item, "id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    module: text(item, "module") as ModuleHash,
    location: text(item, "location"),
    resultHash: text(item, "result_hash"),
    doneAtMs: number(item, "done_at_ms"),
    call: key === undefined || hash === undefined ? null : { key, hash },
    outcome: value === null ? null : { value, keeps: isBrief(item) ? "briefly" : "retained" },
  };
}

function keptOutcome(item: Item, overflow: Uint8Array | null): Outcome | null {
  const attribute = item["outcome"];
  if (attribute === undefined) return null;
  if (positionOf(item).overflow === null) return outcomeOf(attribute);
  if (overflow === null) return null;
  const reader = new CborReader(overflow);
  reader.array();
  const outcome = outcomeOf(attribute);
  return outcome.kind === "result" ? { kind: "result", value: reader.bytes() } : outcome;
}

// ── Partly applied ───────────────────────────────────────────────────────────────────────────────────────────────────

/** `becomes`: the record once all changes are applied; null: none. */
export function decidedRecord(epoch: number, key: Item, becomes: Item | null, rest: Beside, decidedAtMs: number): Item {
  return {
    ...key,
    status: { S: PARTLY_APPLIED },
    owner: { N: String(epoch) },
    ...besideAttributes("rest", rest),
    ...openAttribute(PARTLY_APPLIED, decidedAtMs),
    ...(becomes === null ? {} : { becomes: { M: becomes } }),
  };
}

/** The other changes of its commit, in the table of parts. */
export function restOf(record: Item): Beside {
  return beside(record, "rest");
}

/** The record of a decided commit once all changes are applied, by its owner. */
export function becomesOf(record: Item): Item | null {
  const becomes = record["becomes"]?.M;
  return becomes === undefined ? null : { ...becomes, owner: record["owner"]! };
}

// ── Outcomes that are kept briefly ───────────────────────────────────────────────────────────────────────────────────

/** How long the outcome is kept: `briefly`, or `retained`. */
const KEEPS = "keeps";

export function isBrief(item: Item): boolean {
  return item[KEEPS]?.S === "briefly";
}

/** When it was done, of an entry of the index; null: it is of a record that is not done. */
export function doneAtMsOf(entry: Item): number | null {
  const open = text(entry, OPEN);
  return open.startsWith(FIRST_OPEN) ? Date.parse(open.slice(FIRST_OPEN.length)) : null;
}

/** What takes such an outcome out of a record, if it is still that one. */
export function withoutOutcomeOf(item: Item): Omit<UpdateItemCommandInput, "TableName" | "Key"> {
  return {
    UpdateExpression: "REMOVE outcome, #keeps, #open, #overflow, overflow_parts",
    ConditionExpression: "commit_id = :commit AND #keeps = :briefly",
    ExpressionAttributeNames: { "#keeps": KEEPS, "#open": OPEN, "#overflow": "overflow" },
    ExpressionAttributeValues: { ":commit": item["commit_id"]!, ":briefly": { S: "briefly" } },
  };
}

/** Absent: nobody is known. */
function callerAttribute(caller: string | null): Item {
  return caller === null ? {} : { caller: { S: caller } };
}

function callerOf(item: Item): string | null {
  return item["caller"]?.S ?? null;
}

function outcomeAttribute(outcome: Outcome): AttributeValue {
  switch (outcome.kind) {
    case "result":
      return { M: { kind: { S: "result" }, ...nativeAttributes("value", outcome.value) } };
    case "abort":
      return {
        M: {
          kind: { S: "abort" },
          status: { N: String(outcome.status) },
          code: { S: outcome.code },
          message: { S: outcome.message },
        },
      };
    case "trap":
      return { M: { kind: { S: "trap" }, code: { S: outcome.code }, message: { S: outcome.message } } };
  }
}

function outcomeOf({ M: fields = {} }: AttributeValue): Outcome {
  const kind = text(fields, "kind");
  switch (kind) {
    case "result":
      return { kind, value: nativeOf(fields, "value") };
    case "abort":
      return { kind, status: number(fields, "status"), code: text(fields, "code"), message: text(fields, "message") };
    case "trap": {
      const code = TRAP_CODES.find((candidate) => candidate === text(fields, "code"));
      if (code !== undefined) return { kind, code, message: text(fields, "message") };
    }
  }
  throw new Error(`an outcome of the kind ${kind}`);
}
