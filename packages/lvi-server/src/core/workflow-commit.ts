/** One commit of a workflow: its record, and all that goes with it. */
import {
  type CommitId,
  type ExecutionId,
  type IssuedCommand,
  type JournalEntry,
  type LoggedLine,
  NO_COMMIT,
} from "@radical/protocol";
import type { CallerId } from "./events.ts";
import { type IntentRecord, type RecordChange, type Withdrawal, withdrawalOf } from "./intent.ts";
import { NO_SAMPLES, type SampleEffect } from "./sampling.ts";
import type { Task } from "./task.ts";
import type { Call, Workflow, WorkflowPart } from "./workflow.ts";
import { type Loaded, takenBy } from "./workflow-journal.ts";

/** The changes of one commit of a workflow. */
export interface Made {
  readonly commit: CommitId;
  readonly next: Workflow;
  readonly entry: JournalEntry | null;
  readonly part: WorkflowPart | null;
  readonly commands: readonly IssuedCommand[];
  /** By the place among the commands. */
  readonly calls: readonly (Call | null)[];
  readonly children: readonly Workflow[];
  readonly tasks: readonly Task[];
  /** Tasks that it takes back. */
  readonly cancelled: readonly Withdrawal[];
  /** For other workflows, or this one. */
  readonly parts: readonly WorkflowPart[];
  readonly logged: readonly LoggedLine[];
  readonly sampled: readonly SampleEffect[];
  /** It goes on with an empty journal. */
  readonly isAgain: boolean;
  /** The operator who has ordered it. */
  readonly orderedBy: CallerId | null;
}

export const NOTHING_MADE: Omit<Made, "next"> = {
  commit: NO_COMMIT,
  entry: null,
  part: null,
  commands: [],
  calls: [],
  logged: [],
  sampled: NO_SAMPLES,
  children: [],
  tasks: [],
  cancelled: [],
  parts: [],
  isAgain: false,
  orderedBy: null,
};

/** The changes of records. The first one expects the workflow as it is. */
export function recordsOf(workflow: Workflow, loaded: Loaded | null, made: Made): readonly RecordChange[] {
  const { next, entry, part, children, tasks, cancelled, parts, isAgain } = made;
  const records: RecordChange[] = [
    { id: workflow.id, expects: { changes: workflow.changes }, becomes: { state: "workflow", workflow: next } },
  ];
  if (part !== null && !isAgain) records.push(insertion(part.id, { state: "part", part }));
  for (const child of children) records.push(insertion(child.id, { state: "workflow", workflow: child }));
  for (const task of tasks) records.push(insertion(task.id, { state: "task", task }));
  for (const withdrawal of cancelled) records.push(withdrawalOf(withdrawal));
  for (const each of parts) records.push(insertion(each.id, { state: "part", part: each }));
  // Nothing of a round is needed after it, but for the signals that it has not taken.
  if (isAgain && loaded !== null) {
    const taken = entry === null ? [] : takenBy(loaded, entry);
    for (const id of new Set([...loaded.ids, ...taken]))
      records.push({ id, expects: { partOf: workflow.id }, becomes: null });
  }
  return records;
}

function insertion(id: ExecutionId, becomes: IntentRecord): RecordChange {
  return { id, expects: "new", becomes };
}
