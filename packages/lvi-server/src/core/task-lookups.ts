/**
 * Tasks that somebody has to know by their ids: an execution that cancels one, or an operator. Memory has a part of the tasks, so
 * storage is asked for the others. Each change of a task passes here, so the answer stays true as long as somebody wants it.
 */
import type { ExecutionId } from "@radical/protocol";
import type { Task } from "./task.ts";

interface Lookup<Owner> {
  readonly owners: Set<Owner>;
  /** Null: there is none. `unknown`: storage is to be asked. `asked`: it was. */
  found: Task | null | "unknown" | "asked";
}

export class TaskLookups<Owner> {
  readonly #lookups = new Map<ExecutionId, Lookup<Owner>>();
  /** By owner, what it wants. */
  readonly #wanted = new Map<Owner, Set<ExecutionId>>();

  get isEmpty(): boolean {
    return this.#lookups.size === 0;
  }

  /** The task, null: there is none. Undefined: it is not known yet, and storage is asked. */
  find(id: ExecutionId, owner: Owner): Task | null | undefined {
    let lookup = this.#lookups.get(id);
    if (lookup === undefined) this.#lookups.set(id, (lookup = { owners: new Set(), found: "unknown" }));
    lookup.owners.add(owner);
    const wanted = this.#wanted.get(owner);
    if (wanted === undefined) this.#wanted.set(owner, new Set([id]));
    else wanted.add(id);
    return typeof lookup.found === "string" ? undefined : lookup.found;
  }

  /** The ids to ask storage for. */
  takeQuestions(): readonly ExecutionId[] {
    const ids: ExecutionId[] = [];
    for (const [id, lookup] of this.#lookups) {
      if (lookup.found !== "unknown") continue;
      lookup.found = "asked";
      ids.push(id);
    }
    return ids;
  }

  /** `isComing`: its parent has not heard yet that it is durable. Then the parent brings it. */
  answered(id: ExecutionId, task: Task | null, isComing: boolean): void {
    const lookup = this.#lookups.get(id);
    // It has changed since the question.
    // variant: lookup-stale
    if (lookup?.found !== "asked") return;
    lookup.found = isComing ? "unknown" : task;
  }

  failed(id: ExecutionId): void {
    const lookup = this.#lookups.get(id);
    if (lookup?.found === "asked") lookup.found = "unknown";
  }

  /** Null: it is gone. */
  changed(id: ExecutionId, task: Task | null): void {
    const lookup = this.#lookups.get(id);
    if (lookup !== undefined) lookup.found = task;
  }

  /** It wants to know nothing more. */
  ended(owner: Owner): void {
    for (const id of this.#wanted.get(owner) ?? []) {
      const lookup = this.#lookups.get(id);
      if (lookup?.owners.delete(owner) === true && lookup.owners.size === 0) this.#lookups.delete(id);
    }
    this.#wanted.delete(owner);
  }
}
