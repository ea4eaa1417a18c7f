/** The followup (paper, section 3.2): the speculative writes, sent after the client was answered. */
import { CborReader, CborWriter } from "../cbor.ts";
import { MAX_RESULT_BYTES, MAX_VALUE_BYTES, MAX_WRITTEN_BYTES } from "../host-functions.ts";
import { byUnit, type CommitId, type ExecutionId } from "../ids.ts";
import { MalformedError, TooLargeError } from "../malformed-error.ts";
import { type Outcome, readOutcome, writeOutcome } from "../outcome.ts";
import { bytesOfEffects, readEffects, type RunEffect, writeEffects } from "../tasks.ts";
import type { Write } from "../version.ts";
import { FOLLOWUP, FOLLOWUP_REPLY } from "../wire-version.ts";
import {
  closeMessage,
  openMessage,
  readCommitId,
  readExecutionId,
  readMessageHead,
  readWrites,
  writeWrites,
} from "./fields.ts";

export interface Followup {
  readonly executionId: ExecutionId;
  /** As the `valid` reply named it. */
  readonly commitId: CommitId;
  /** The outcome that the client got, stored for a retry. */
  readonly outcome: Outcome;
  /** Sorted by unit; empty if the outcome is an abort or a trap. */
  readonly writes: readonly Write[];
  /** In the order in which the run asked for them; empty if the outcome is an abort or a trap. */
  readonly effects: readonly RunEffect[];
}

export const FOLLOWUP_RESULTS = [
  /** The writes are in storage, by this followup. */
  "applied",
  /** The intent was completed before, by a re-execution or another copy of this followup. */
  "completed_before",
  /** No such intent: nothing was done. */
  "unknown_intent",
  /** The writes are not what the intent covers: nothing was done, the server re-executes. */
  "not_covered",
] as const;
export type FollowupResult = (typeof FOLLOWUP_RESULTS)[number];

/**
 * How the primary calls the end of a followup. `forged`: the primary has run the handler to compare, and its run ends otherwise. Nothing
 * of the followup was done: that run counts. A location hears `not_covered` in place of it. Earlier releases know no other word.
 */
export type FollowupVerdict = FollowupResult | "forged";

export function encodeFollowup(followup: Followup): Uint8Array {
  const writer = new CborWriter();
  openMessage(writer, FOLLOWUP.sent);
  writer.text(followup.executionId).text(followup.commitId);
  writeOutcome(writer, followup.outcome);
  writeWrites(writer, followup.writes);
  writeEffects(writer, followup.effects);
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeFollowup(bytes: Uint8Array): Followup {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, FOLLOWUP.floor);
  const executionId = readExecutionId(reader);
  const commitId = readCommitId(reader);
  const outcome = readOutcome(reader);
  const writes = readWrites(reader);
  const effects = length > FOLLOWUP.floor ? readEffects(reader) : [];
  if (outcome.kind !== "result" && writes.length + effects.length > 0)
    throw new MalformedError("writes or effects of a failed execution");
  if (outcome.kind === "result" && outcome.value.length > MAX_RESULT_BYTES)
    throw new TooLargeError(`the result is larger than ${MAX_RESULT_BYTES} bytes`);
  if (writes.some(({ value }) => value !== null && value.length > MAX_VALUE_BYTES))
    throw new TooLargeError(`a value is larger than ${MAX_VALUE_BYTES} bytes`);
  if (writes.reduce((sum, { value }) => sum + (value?.length ?? 0), bytesOfEffects(effects)) > MAX_WRITTEN_BYTES)
    throw new TooLargeError(`values and arguments of tasks are larger than ${MAX_WRITTEN_BYTES} bytes together`);
  closeMessage(reader, Math.max(0, length - FOLLOWUP.sent));
  return { executionId, commitId, outcome, writes: sorted(writes), effects };
}

/** Senders of earlier releases order units by UTF-16. The order counts where the writes of two runs are compared. */
function sorted(writes: readonly Write[]): readonly Write[] {
  const areInOrder = writes.every((write, index) => index === 0 || byUnit(writes[index - 1]!, write) < 0);
  if (areInOrder) return writes;
  if (new Set(writes.map(({ unit }) => unit)).size !== writes.length) throw new MalformedError("unit written twice");
  return writes.toSorted(byUnit);
}

export function encodeFollowupReply(verdict: FollowupVerdict): Uint8Array {
  const result = verdict === "forged" ? "not_covered" : verdict;
  const writer = new CborWriter();
  openMessage(writer, FOLLOWUP_REPLY.sent);
  writer.integer(FOLLOWUP_RESULTS.indexOf(result));
  return writer.finish();
}

export function decodeFollowupReply(bytes: Uint8Array): FollowupResult {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, FOLLOWUP_REPLY.floor);
  const result = FOLLOWUP_RESULTS[reader.integerIn(0, FOLLOWUP_RESULTS.length - 1)]!;
  closeMessage(reader, length - FOLLOWUP_REPLY.sent);
  return result;
}
