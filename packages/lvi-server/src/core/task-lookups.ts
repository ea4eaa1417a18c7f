/**
 * Tasks that somebody has to know by their ids: an execution that cancels one, or an operator. Memory has a part of the tasks, so
 * storage is asked for the others. Each change of a task passes here, so the answer stays true as long as somebody wants it.
 */
import type { ExecutionId } from "@radical/protocol";
import type { Task } from "./task.ts";

/** Compared as an object: storage may still answer an earlier question about the same task. */
export interface TaskLookup {
  readonly kind: "task";
  readonly id: ExecutionId;
}

interface Wanted<Owner> {
  readonly owners: Set<Owner>;
  /** Null: there is none. Undefined: not known. */
  found: Task | null | undefined;
  /** The question that storage is to answer; null: it was not asked, or has answered. */
  asked: TaskLookup | null;
  /** Storage has it, and its parent is about to bring it. */
  isComing: boolean;
}

export class TaskLookups<Owner> {
  readonly #tasks = new Map<ExecutionId, Wanted<Owner>>();
  readonly #wantedBy = new Map<Owner, Set<ExecutionId>>();

  /** The task, null: there is none. Undefined: it is not known yet, and storage is asked. */
  find(id: ExecutionId, owner: Owner): Task | null | undefined {
    let wanted = this.#tasks.get(id);
    if (wanted === undefined)
      this.#tasks.set(id, (wanted = { owners: new Set(), found: undefined, asked: null, isComing: false }));
    wanted.owners.add(owner);
    const ids = this.#wantedBy.get(owner);
    if (ids === undefined) this.#wantedBy.set(owner, new Set([id]));
    else ids.add(id);
    return wanted.found;
  }

  /** Whether somebody wants to know it. */
  has(id: ExecutionId): boolean {
    return this.#tasks.has(id);
  }

  takeQuestions(): readonly TaskLookup[] {
    const questions: TaskLookup[] = [];
    for (const [id, wanted] of this.#tasks) {
      if (wanted.found !== undefined || wanted.asked !== null || wanted.isComing) continue;
      wanted.asked = { kind: "task", id };
      questions.push(wanted.asked);
    }
    return questions;
  }

  /** `isComing`: its parent has not heard yet that it is durable. Then the parent brings it. */
  answered(question: TaskLookup, task: Task | null, isComing: boolean): void {
    const wanted = this.#tasks.get(question.id);
    if (wanted === undefined || wanted.asked !== question) return;
    wanted.asked = null;
    // A task that has changed since the question is known already.
    // variant: lookup-stale
    if (wanted.found === undefined && !isComing) wanted.found = task;
    wanted.isComing = isComing;
  }

  failed(question: TaskLookup): void {
    const wanted = this.#tasks.get(question.id);
    if (wanted?.asked === question) wanted.asked = null;
  }

  /** Null: it is gone. */
  changed(id: ExecutionId, task: Task | null): void {
    const wanted = this.#tasks.get(id);
    if (wanted !== undefined) wanted.found = task;
  }

  /** It wants to know nothing more. */
  ended(owner: Owner): void {
    for (const id of this.#wantedBy.get(owner) ?? []) {
      const wanted = this.#tasks.get(id);
      if (wanted?.owners.delete(owner) === true && wanted.owners.size === 0) this.#tasks.delete(id);
    }
    this.#wantedBy.delete(owner);
  }
}
