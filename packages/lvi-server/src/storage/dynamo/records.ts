/**
 * The items of the intents table. A record is in one of three states, its `status`:
 *
 *   pending                    an intent: promised, not applied
 *   partly applied             decided, with more writes than one transaction takes: they are being applied from its parts
 *   done 2026-01-31T12:00:…Z   with its outcome, until it expires
 *
 * `owner` is the epoch of the server that stored or adopted it. What does not fit into one item stands in parts beside
 * it, of which the record has the number.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  CborReader,
  CborWriter,
  type CommitId,
  type ContentHash,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  TRAP_CODES,
} from "@radical/protocol";
import type { Completion, DoneIntent, Intent, IntentUnit } from "../../core/intent.ts";
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
  /** Of its outcome and writes; empty while it is pending. */
  readonly writesHash: ContentHash;
  /** Of the write set of a record that is partly applied. */
  readonly writeParts: number;
}

export function keyOf(id: ExecutionId): Item {
  return { shard: { S: shardOf(id) }, execution_id: { S: id } };
}

export function doneStatus(doneAtMs: number): string {
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
    writesHash: (item["writes_hash"]?.S ?? "") as ContentHash,
    writeParts: Number(item["write_parts"]?.N ?? 0),
  };
}

// ── Pending ──────────────────────────────────────────────────────────────────────────────────────────────────────

export function pendingRecord(epoch: number, intent: Intent): Stored {
  const { executionId, commitId, module, handler, args, environment, location, units, createdAtMs } = intent;
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
    createdAtMs: number(item, "created_at_ms"),
  };
}

// ── Done ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `writeParts` over 0: not done yet, but partly applied. */
export function doneRecord(epoch: number, completion: Completion, writeParts: number, expiresAtMs: number): Stored {
  const { executionId, commitId, module, handler, args, environment, location, outcome, writesHash, doneAtMs } =
    completion;
  const common: Item = {
    ...keyOf(executionId),
    status: { S: writeParts > 0 ? PARTLY_APPLIED : doneStatus(doneAtMs) },
    owner: { N: String(epoch) },
    commit_id: { S: commitId },
    module: { S: module },
    handler: { S: handler },
    location: { S: location },
    ...callerAttribute(environment.caller),
    writes_hash: { S: writesHash },
    done_at_ms: { N: String(doneAtMs) },
    // Not before all writes are in their items.
    [writeParts > 0 ? "will_expire_at" : EXPIRY]: { N: String(Math.ceil(expiresAtMs / 1_000)) },
    ...(writeParts > 0
      ? { write_parts: { N: String(writeParts) }, [OPEN_SINCE]: { S: new Date(doneAtMs).toISOString() } }
      : {}),
  };
  const whole: Item = { ...common, ...nativeAttributes("args", args), outcome: outcomeAttribute(outcome) };
  if (sizeOfItem(whole) <= MAX_RECORD_BYTES) return { item: whole, overflow: null };
  const value = outcome.kind === "result" ? outcome.value : new Uint8Array();
  const overflow = new CborWriter().array(2).bytes(args).bytes(value).finish();
  const shortened =
    outcome.kind === "result" ? { kind: "result" as const, value: new CborWriter().null().finish() } : outcome;
  return {
    item: { ...common, outcome: outcomeAttribute(shortened), overflow_parts: { N: String(countParts(overflow)) } },
    overflow,
  };
}

export function doneOf(item: Item, overflow: Uint8Array | null): DoneIntent {
  let args: Uint8Array;
  let outcome = outcomeOf(item["outcome"]!);
  if (overflow === null) args = nativeOf(item, "args");
  else {
    const reader = new CborReader(overflow);
    reader.array();
    args = reader.bytes();
    const value = reader.bytes();
    if (outcome.kind === "result") outcome = { kind: "result", value };
  }
  return {
    executionId: text(item, "execution_id") as ExecutionId,
    commitId: text(item, "commit_id") as CommitId,
    module: text(item, "module") as ModuleHash,
    handler: text(item, "handler"),
    args,
    caller: callerOf(item),
    location: text(item, "location"),
    outcome,
    writesHash: text(item, "writes_hash") as ContentHash,
    doneAtMs: number(item, "done_at_ms"),
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
