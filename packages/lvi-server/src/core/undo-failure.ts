/** An undo that was not done, or that fails again and again. Its workflow goes on, so somebody must see to it. */
import { type ExecutionId, type ModuleHash, type Settled, serviceKeyOf, stepIdOf } from "@radical/protocol";
import type { Effect } from "./events.ts";
import type { TaskError } from "./task.ts";
import type { CalleeKind, StepName } from "./workflow.ts";

export interface UndoFailure {
  readonly step: StepName;
  /** Of the workflow. */
  readonly module: ModuleHash;
  readonly callee: string;
  readonly kind: CalleeKind;
  /** For people. */
  readonly reason: string;
}

/** The alarm. */
export function alarmOf({ step, module, callee, kind, reason }: UndoFailure): Effect & { readonly kind: "note" } {
  const key = undoKeyOf(step, kind);
  const about = { executionId: step.workflow, module, handler: callee, key };
  return { kind: "note", note: { name: "workflow_undo_failed", ...about, detail: reason } };
}

/** The key by which the service knows the undo, or the id of its execution. */
function undoKeyOf(step: StepName, kind: CalleeKind): string {
  const id: ExecutionId = stepIdOf(step, step.command);
  return kind === "service" ? serviceKeyOf(id) : id;
}

/** The end of an undo that was not done. */
export type NotDone = Extract<Settled, { readonly kind: "failed" | "unknown" }>;

export function isNotDone(settled: Settled): settled is NotDone {
  return settled.kind === "failed" || settled.kind === "unknown";
}

/** It is told once, after as many failures as make a task dead. */
export function wordsOfFailures(failures: number, { code, message }: TaskError): string {
  return `it has failed ${failures} times, and is tried again: ${code}: ${message}`;
}

export function wordsOfNotDone(end: NotDone): string {
  const why = end.kind === "unknown" ? `unknown: ${end.message}` : `${end.code}: ${end.message}`;
  return `it is not done, and not tried again: ${why}`;
}
