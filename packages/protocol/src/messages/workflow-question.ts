/**
 * The question after a workflow, and the request to cancel it: from a location, on behalf of the workflow's caller. The answer is
 * an LVI reply. `executed`: it has ended, and this is its outcome. `working`: it has not. `refused` with `unknown_workflow`:
 * nobody has started it, or another caller has. `refused` with `answer_not_kept`: it has ended, and storage can't open its outcome.
 */
import { CborReader, CborWriter } from "../cbor.ts";
import type { CommitId, ExecutionId } from "../ids.ts";
import { WORKFLOW_QUESTION } from "../wire-version.ts";
import {
  closeMessage,
  openMessage,
  readCaller,
  readCommitId,
  readExecutionId,
  readMessageHead,
  readName,
  readNullable,
  writeNullable,
} from "./fields.ts";
import { MAX_DEADLINE_MS, MAX_NAME_LENGTH } from "./lvi-request.ts";

export interface WorkflowQuestion {
  readonly workflow: ExecutionId;
  /** The name of the workflow, as its module has it. Under another name it is unknown. */
  readonly handler: string;
  /** Of this request. Null: nobody is known. Another one than the workflow's is not told of it. */
  readonly caller: string | null;
  /** The workflow is to end. That is durable before the answer leaves. */
  readonly cancels: boolean;
  /** How long the answer may wait for the end of the workflow. */
  readonly waitMs: number;
  /** As in an LVI request. */
  readonly seen: CommitId | null;
}

export function encodeWorkflowQuestion(question: WorkflowQuestion): Uint8Array {
  const writer = new CborWriter();
  openMessage(writer, WORKFLOW_QUESTION.sent);
  writer.text(question.workflow).text(question.handler);
  writeNullable(writer, question.caller, (caller) => writer.text(caller));
  writer.boolean(question.cancels).integer(question.waitMs);
  writeNullable(writer, question.seen, (id) => writer.text(id));
  return writer.finish();
}

/** Throws a MalformedError. */
export function decodeWorkflowQuestion(bytes: Uint8Array): WorkflowQuestion {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, WORKFLOW_QUESTION.floor);
  const workflow = readExecutionId(reader);
  const handler = readName(reader, "workflow", MAX_NAME_LENGTH);
  const caller = readNullable(reader, () => readCaller(reader));
  const cancels = reader.boolean();
  const waitMs = reader.integerIn(0, MAX_DEADLINE_MS);
  const seen = readNullable(reader, () => readCommitId(reader));
  closeMessage(reader, length - WORKFLOW_QUESTION.sent);
  return { workflow, handler, caller, cancels, waitMs, seen };
}
