/**
 * The items of the intents table. A record is in one of three states, its `status`:
 *
 *   pending                    an intent: promised, not applied
 *   partly applied             decided, with more writes than one transaction takes: they are being applied from its parts
 *   done 2026-01-31T12:00:…Z   without its arguments, perhaps with its outcome, until it expires
 *
 * `owner` is the epoch of the server that stored or adopted it. What does not fit into one item stands in parts beside
 * it, of which the record has the number.
 */
import type { AttributeValue, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import {
  CborReader,
  CborWriter,
  type CommitId,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  TRAP_CODES,
} from "@radical/protocol";
import { type Completion, type DoneIntent, doneIntentOf, type Intent, type IntentUnit } from "../../core/intent.ts";
import { bytes, nativeAttributes, nativeOf, number, text } from "./attributes.ts";
import { type Item, MAX_ITEM_BYTES, sizeOfItem } from "./limits.ts";
import { countParts } from "./parts.ts";
import { EXPIRY, OPEN_SINCE, shardOf } from "./tables.ts";

export const PENDING = "pending";
export const PARTLY_APPLIED = "partly applied";
const DONE = "done ";

/** For what a record gets besides when it is completed. */
const MAX_RECORD_BYTES = MAX_ITEM_BYTES - 20_000;

/** A record with the bytes that go beside it, null if they fit into it. */
export interface Stored {
  readonly item: Item;
  readonly overflow: Uint8Array | null;
}

export interface Position {
  readonly status: "pending" | "partly applied" | "done";
  readonly executionId: ExecutionId;
  readonly commitId: CommitId;
  readonly owner: number;
  /** Parts beside the record: of a pending intent in the parts table, of a done one in the blobs table. */
  readonly overflowParts: number;
  /** Of its outcome and writes, with a secret; empty while it is pending. */
  readonly resultHash: string;
  /** Of the write set of a record that is partly applied. */
  readonly writeParts: number;
}

export function keyOf(id: ExecutionId): Item {
  return { shard: { S: shardOf(id) }, execution_id: { S: id } };
}

function doneStatus(doneAtMs: number): string {
  return DONE + new Date(doneAtMs).toISOString();
}

export function positionOf(item: Item): Position {
  const status = text(item, "status");
  return {
    status: status === PENDING ? "pending" : status === PARTLY_APPLIED ? "partly applied" : "done",
    executionId: text(item, "execution_id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    owner: number(item, "owner"),
    overflowParts: Number(item["overflow_parts"]?.N ?? 0),
    resultHash: resultHashOf(item),
    writeParts: Number(item["write_parts"]?.N ?? 0),
  };
}

/** A record of schema 1 has one without a secret, and names its parts by it. */
function resultHashOf(item: Item): string {
  return item["result_hash"]?.S ?? item["writes_hash"]?.S ?? "";
}

// ── Pending ──────────────────────────────────────────────────────────────────────────────────────────────────────

export function pendingRecord(epoch: number, intent: Intent): Stored {
  const { executionId, commitId, module, handler, args, environment, location, units } = intent;
  const { retained, mustNotWrite, createdAtMs } = intent;
  const unitsText = JSON.stringify(units);
  const common: Item = {
    ...keyOf(executionId),
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
    [OPEN_SINCE]: { S: new Date(createdAtMs).toISOString() },
  };
  const whole: Item = { ...common, ...nativeAttributes("args", args), units: { S: unitsText } };
  if (sizeOfItem(whole) <= MAX_RECORD_BYTES) return { item: whole, overflow: null };
  const overflow = new CborWriter().array(2).bytes(args).text(unitsText).finish();
  return { item: { ...common, overflow_parts: { N: String(countParts(overflow)) } }, overflow };
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
    executionId: text(item, "execution_id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    module: text(item, "module") as ModuleHash,
    handler: text(item, "handler"),
    args,
    environment: { timeMs: number(item, "time_ms"), seed: bytes(item, "seed"), caller: callerOf(item) },
    location: text(item, "location"),
    units: JSON.parse(units) as IntentUnit[],
    // One of schema 1 does not say; then no request said that it must not write.
    retained: item["retained"]?.BOOL ?? true,
    mustNotWrite: item["must_not_write"]?.BOOL ?? false,
    createdAtMs: number(item, "created_at_ms"),
  };
}

// ── Done ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `writeParts` over 0: not done yet, but partly applied. */
export function doneRecord(epoch: number, completion: Completion, writeParts: number, expiresAtMs: number): Stored {
  const { executionId, commitId, module, location, outcome, resultHash, doneAtMs, call } = doneIntentOf(completion);
  const common: Item = {
    ...keyOf(executionId),
    status: { S: writeParts > 0 ? PARTLY_APPLIED : doneStatus(doneAtMs) },
    owner: { N: String(epoch) },
    commit_id: { S: commitId },
    module: { S: module },
    location: { S: location },
    ...(call === null ? {} : { call_key: { S: call.key }, call_hash: { S: call.hash } }),
    result_hash: { S: resultHash },
    done_at_ms: { N: String(doneAtMs) },
    // Not before all writes are in their items.
    [writeParts > 0 ? "will_expire_at" : EXPIRY]: { N: String(Math.ceil(expiresAtMs / 1_000)) },
    ...(outcome === null ? {} : { [KEEPS]: { S: outcome.keeps } }),
  };
  const open: Item =
    writeParts > 0
      ? { write_parts: { N: String(writeParts) }, [OPEN_SINCE]: { S: new Date(doneAtMs).toISOString() } }
      : toldAttribute(outcome?.keeps, doneAtMs);
  if (outcome === null) return { item: { ...common, ...open }, overflow: null };
  const whole: Item = { ...common, ...open, outcome: outcomeAttribute(outcome.value) };
  if (sizeOfItem(whole) <= MAX_RECORD_BYTES || outcome.value.kind !== "result") return { item: whole, overflow: null };
  const overflow = new CborWriter().array(1).bytes(outcome.value.value).finish();
  const shortened = outcomeAttribute({ kind: "result", value: new CborWriter().null().finish() });
  return {
    item: { ...common, ...open, outcome: shortened, overflow_parts: { N: String(countParts(overflow)) } },
    overflow,
  };
}

/** What makes the record done whose writes are all applied. */
export function finishedRecord(record: Item): Item {
  const { write_parts: _, [OPEN_SINCE]: __, will_expire_at: expiresAt, ...rest } = record;
  const doneAtMs = number(record, "done_at_ms");
  const open = toldAttribute(record[KEEPS]?.S, doneAtMs);
  return { ...rest, status: { S: doneStatus(doneAtMs) }, [EXPIRY]: expiresAt!, ...open };
}

/** `overflow`: null if it has none, or not all of it is there any more. */
export function doneOf(item: Item, overflow: Uint8Array | null): DoneIntent {
  const key = item["call_key"]?.S;
  const hash = item["call_hash"]?.S;
  const value = keptOutcome(item, overflow);
  return {
    executionId: text(item, "execution_id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    module: text(item, "module") as ModuleHash,
    location: text(item, "location"),
    resultHash: resultHashOf(item),
    doneAtMs: number(item, "done_at_ms"),
    // A record of schema 1 has none.
    call: key === undefined || hash === undefined ? null : { key, hash },
    outcome: value === null ? null : { value, keeps: isBrief(item) ? "briefly" : "retained" },
  };
}

function keptOutcome(item: Item, overflow: Uint8Array | null): Outcome | null {
  const attribute = item["outcome"];
  if (attribute === undefined) return null;
  if (positionOf(item).overflowParts === 0) return outcomeOf(attribute);
  if (overflow === null) return null;
  const reader = new CborReader(overflow);
  // In schema 1 the arguments come first.
  if (reader.array() === 2) reader.bytes();
  const outcome = outcomeOf(attribute);
  return outcome.kind === "result" ? { kind: "result", value: reader.bytes() } : outcome;
}

// ── Outcomes that are kept briefly ───────────────────────────────────────────────────────────────────────────────

/** How long the outcome is kept: `briefly`, or `retained`. */
const KEEPS = "keeps";
/** What `open_since` of a done record with such an outcome begins with: it comes after the times of those that are open. */
const TOLD = "told ";

export function isBrief(item: Item): boolean {
  return item[KEEPS]?.S === "briefly";
}

function toldAttribute(keeps: string | undefined, doneAtMs: number): Item {
  return keeps === "briefly" ? { [OPEN_SINCE]: { S: TOLD + new Date(doneAtMs).toISOString() } } : {};
}

/** When it was done, of an entry of the index; null: it is of an open record. */
export function toldAtMs(entry: Item): number | null {
  const since = text(entry, OPEN_SINCE);
  return since.startsWith(TOLD) ? Date.parse(since.slice(TOLD.length)) : null;
}

/** What takes such an outcome out of a record, if it is still that one. */
export function withoutOutcomeOf(item: Item): Omit<UpdateItemCommandInput, "TableName"> {
  return {
    Key: keyOf(positionOf(item).executionId),
    UpdateExpression: "REMOVE outcome, #keeps, #open, overflow_parts",
    ConditionExpression: "commit_id = :commit AND #keeps = :briefly",
    ExpressionAttributeNames: { "#keeps": KEEPS, "#open": OPEN_SINCE },
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
