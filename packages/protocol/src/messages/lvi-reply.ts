/** The answer to an LVI request. */
import { CborReader, CborWriter } from "../cbor.ts";
import type { CommitId, ExecutionId } from "../ids.ts";
import { MalformedError } from "../malformed-error.ts";
import { type Outcome, readOutcome, writeOutcome } from "../outcome.ts";
import type { Repair } from "../version.ts";
import { LVI_REPLY_TAIL } from "../wire-version.ts";
import {
  closeMessage,
  openMessage,
  readCommitId,
  readExecutionId,
  readMessageHead,
  readNullable,
  readRepairs,
  writeNullable,
  writeRepairs,
} from "./fields.ts";

/** When the server received the request and sent the reply, in milliseconds since the epoch by its own clock. */
export interface ServerTimes {
  readonly receivedAtMs: number;
  readonly sentAtMs: number;
}

/** The fields that every reply has. */
interface Told {
  /** The latest commit id that the server had taken; null: a server that does not say. */
  readonly asOf: CommitId | null;
}

export type LviReply = Told & LviAnswer;

export type LviAnswer =
  /** The speculation is right. The commit id names the execution's writes; null if it has made no intent. */
  | { readonly kind: "valid"; readonly commitId: CommitId | null; readonly times: ServerTimes }
  /** The server ran the handler, or had its outcome already. */
  | {
      readonly kind: "executed";
      readonly cause: ExecutedCause;
      readonly outcome: Outcome;
      readonly repairs: readonly Repair[];
      readonly times: ServerTimes;
    }
  /**
   * Nothing was done for this request and nothing is held, unless the code is `pending`: then the execution goes on. An earlier
   * one under the same id was carried out if the code is `answer_not_kept`, and may have been if it is
   * `idempotency_key_unverified`.
   */
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      readonly message: string;
      readonly retryAfterMs: number | null;
    }
  /** The execution is a workflow that has not ended. Nothing is lost if nobody asks again. */
  | {
      readonly kind: "working";
      readonly workflow: ExecutionId;
      readonly state: WorkflowState;
      /** When to ask again. */
      readonly retryAfterMs: number;
    };

/** The states of a workflow that has not ended, as its caller is told them. */
export const WORKFLOW_STATES = [
  /** It runs, or its steps do. */
  "running",
  /** It waits for time or for a signal. */
  "waiting",
  /** It is asked to end, and has not seen it yet. */
  "cancelling",
  /** It has failed, and what it had done is being undone. */
  "undoing",
  /** It can't go on until somebody sees to it. */
  "stuck",
] as const;
export type WorkflowState = (typeof WORKFLOW_STATES)[number];

export const EXECUTED_CAUSES = [
  /** Validation failed, or so many waited for the units that the server ran the handler at once. */
  "stale",
  /** The location sent no read/write set. */
  "requested",
  /** The execution was known; this is its outcome. */
  "stored",
] as const;
export type ExecutedCause = (typeof EXECUTED_CAUSES)[number];

export const REFUSAL_CODES = [
  "busy",
  /** The server can't tell whether it has answered this very request before: to be sent again, as a later attempt. */
  "in_doubt",
  "pending",
  "draining",
  "unknown_module",
  /** The module reads an index that is not built yet, or can't be. */
  "index_building",
  "unknown_handler",
  "idempotency_key_reused",
  "execution_failed",
  "too_many_units",
  "clock_skew",
  /** The location uses more of the server than it may. */
  "over_budget",
  /** The execution must not write, and its set has a unit to write, or its run near storage has written. */
  "wrote_on_get",
  /** The execution was carried out before, and its outcome is not kept any more. */
  "answer_not_kept",
  /** The execution id was used before, and the server can't tell whether for the same call. */
  "idempotency_key_unverified",
  /** There is no such workflow, or it is somebody else's. */
  "unknown_workflow",
  /** The set has a unit of a table that the handler can't access in this way, by what its module says. */
  "outside_tables",
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

const VALID = 0;
const EXECUTED = 1;
const REFUSED = 2;
const WORKING = 3;

export function encodeLviReply(reply: LviReply): Uint8Array {
  const writer = new CborWriter();
  switch (reply.kind) {
    case "valid":
      openMessage(writer, 4 + LVI_REPLY_TAIL.sent);
      writer.integer(VALID);
      writeNullable(writer, reply.commitId, (id) => writer.text(id));
      writer.float(reply.times.receivedAtMs).float(reply.times.sentAtMs);
      break;
    case "executed":
      openMessage(writer, 6 + LVI_REPLY_TAIL.sent);
      writer.integer(EXECUTED).integer(EXECUTED_CAUSES.indexOf(reply.cause));
      writeOutcome(writer, reply.outcome);
      writeRepairs(writer, reply.repairs);
      writer.float(reply.times.receivedAtMs).float(reply.times.sentAtMs);
      break;
    case "refused":
      openMessage(writer, 4 + LVI_REPLY_TAIL.sent);
      writer.integer(REFUSED).text(reply.code).text(reply.message);
      writeNullable(writer, reply.retryAfterMs, (ms) => writer.integer(ms));
      break;
    case "working":
      openMessage(writer, 4 + LVI_REPLY_TAIL.sent);
      writer.integer(WORKING).text(reply.workflow).integer(WORKFLOW_STATES.indexOf(reply.state));
      writer.integer(reply.retryAfterMs);
  }
  writeNullable(writer, reply.asOf, (id) => writer.text(id));
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeLviReply(bytes: Uint8Array): LviReply {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, 4);
  switch (reader.integerIn(VALID, WORKING)) {
    case VALID: {
      const commitId = readNullable(reader, () => readCommitId(reader));
      const times = readTimes(reader);
      return { kind: "valid", commitId, times, asOf: readAsOf(reader, length - 4) };
    }
    case EXECUTED: {
      if (length < 6) throw new MalformedError("malformed executed reply");
      const cause = EXECUTED_CAUSES[reader.integerIn(0, EXECUTED_CAUSES.length - 1)]!;
      const outcome = readOutcome(reader);
      const repairs = readRepairs(reader);
      const times = readTimes(reader);
      return { kind: "executed", cause, outcome, repairs, times, asOf: readAsOf(reader, length - 6) };
    }
    case WORKING: {
      const workflow = readExecutionId(reader);
      const state = WORKFLOW_STATES[reader.integerIn(0, WORKFLOW_STATES.length - 1)]!;
      const retryAfterMs = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
      return { kind: "working", workflow, state, retryAfterMs, asOf: readAsOf(reader, length - 4) };
    }
    default: {
      const text = reader.text();
      const code = REFUSAL_CODES.find((known) => known === text);
      if (code === undefined) throw new MalformedError(`unknown refusal ${text}`);
      const message = reader.text();
      const retryAfterMs = readNullable(reader, () => reader.integerIn(0, Number.MAX_SAFE_INTEGER));
      return { kind: "refused", code, message, retryAfterMs, asOf: readAsOf(reader, length - 4) };
    }
  }
}

/** Ends the message. The first servers did not send it. */
function readAsOf(reader: CborReader, rest: number): CommitId | null {
  const asOf = rest > 0 ? readNullable(reader, () => readCommitId(reader)) : null;
  closeMessage(reader, Math.max(0, rest - LVI_REPLY_TAIL.sent));
  return asOf;
}

function readTimes(reader: CborReader): ServerTimes {
  return { receivedAtMs: reader.float(), sentAtMs: reader.float() };
}
