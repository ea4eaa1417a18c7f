/**
 * The facts that effects wait for, as their driver knows them. The core holds an effect back until its facts are true; the driver
 * finds out for itself, and what leaves too early never leaves.
 */
import type { ExecutionId, SessionId } from "@radical/protocol";
import type { Fact, OperationId } from "./core/events.ts";
import type { Task } from "./core/task.ts";

/**
 * A success that no effect has named is remembered until at least so many others have come. Storage is never asked for as much
 * at once. A core that does not lead puts off what it has heard, perhaps for long, and asks for nothing new meanwhile.
 */
const GENERATION = 50_000;
/** Records of tasks that are remembered without a look at which of them the core needs. */
const LOOK_AT_OWED = 50_000;

interface Owed {
  readonly attempt: number;
  readonly sentAtMs: number | null;
}

export class Facts {
  /** Operations that have succeeded, in two generations: the older one goes. */
  #recent = new Set<OperationId>();
  #older = new Set<OperationId>();
  /** Those that effects of this step have named. */
  readonly #named: OperationId[] = [];
  /** Those that effects name again and again. */
  readonly #lasting = new Set<OperationId>();
  /** The number of the last message that each session has heard: of those that go on, and of those that are over. */
  readonly #heard = new Map<SessionId, number>();
  #over = new Map<SessionId, number>();
  #longOver = new Map<SessionId, number>();
  /** The records of tasks that storage owes, as far as effects may name them. */
  readonly #owed = new Map<ExecutionId, Owed>();
  /** With so many, those go that the core does not need. At first so many. */
  #mostOwed: number;
  readonly #lookAtOwed: number;
  /** How often the record has changed, of each workflow that has not ended. */
  readonly #journaled = new Map<ExecutionId, number>();
  /** Those that have ended since storage was asked for all that had not. Null: it has told of all, and is not asked again. */
  #endedSince: Set<ExecutionId> | null = new Set();

  constructor(lookAtOwed: number = LOOK_AT_OWED) {
    this.#lookAtOwed = lookAtOwed;
    this.#mostOwed = lookAtOwed;
  }

  /** How many successes are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  succeeded(operation: OperationId): void {
    if (this.#recent.size >= GENERATION) {
      this.#older = this.#recent;
      this.#recent = new Set();
    }
    this.#recent.add(operation);
  }

  /** Storage has the record of a workflow after so many changes. */
  journaled(workflow: ExecutionId, changes: number): void {
    this.#journaled.set(workflow, Math.max(changes, this.#journaled.get(workflow) ?? 0));
  }

  /** A starting server has found them. The answer may be older than the end of one of them. */
  foundOpen(workflows: readonly { readonly id: ExecutionId; readonly changes: number }[], areLast: boolean): void {
    for (const { id, changes } of workflows) if (this.#endedSince?.has(id) !== true) this.journaled(id, changes);
    if (areLast) this.#endedSince = null;
  }

  /** It has ended: nothing of it begins any more. */
  journalsNoMore(workflow: ExecutionId): void {
    this.#journaled.delete(workflow);
    this.#endedSince?.add(workflow);
  }

  /** How many workflows are remembered. */
  get journals(): number {
    return this.#journaled.size + (this.#endedSince?.size ?? 0);
  }

  /** Storage has this record of a task. */
  owes({ id, attempt, sentAtMs }: Task): void {
    const known = this.#owed.get(id);
    // An answer may be older than the record of a later attempt, or than the mark of this one.
    const isOlder =
      known !== undefined && (known.attempt > attempt || (known.attempt === attempt && sentAtMs === null));
    if (!isOlder) this.#owed.set(id, { attempt, sentAtMs });
  }

  owesNoMore(task: ExecutionId): void {
    this.#owed.delete(task);
  }

  /** How many records of tasks are remembered. */
  get owed(): number {
    return this.#owed.size;
  }

  get hasManyOwed(): boolean {
    return this.#owed.size >= this.#mostOwed;
  }

  /** Forgets the other tasks. Storage is asked for a task before an effect names it again. */
  keepOwed(isNeeded: (task: ExecutionId) => boolean): void {
    for (const task of this.#owed.keys()) if (!isNeeded(task)) this.#owed.delete(task);
    this.#mostOwed = Math.max(this.#lookAtOwed, 2 * this.#owed.size);
  }

  /** A success that is remembered for good. There are few. */
  lasts(operation: OperationId): void {
    this.#lasting.add(operation);
  }

  heard(session: SessionId, n: number): void {
    this.#heard.set(session, Math.max(n, this.#lastHeardBy(session)));
  }

  /** The session is over. Effects that have waited for it may still name what it has heard, until many others are over. */
  forget(session: SessionId): void {
    const n = this.#heard.get(session);
    if (n === undefined) return;
    this.#heard.delete(session);
    if (this.#over.size >= GENERATION) [this.#longOver, this.#over] = [this.#over, new Map<SessionId, number>()];
    this.#over.set(session, n);
  }

  /** Throws unless all of them are true: the core has let an effect go too early. */
  require(facts: readonly Fact[], nowMs: number): void {
    for (const fact of facts) {
      if (this.#isTrue(fact, nowMs)) continue;
      throw new Error(`An effect leaves before ${wordsOf(fact)}.`);
    }
  }

  #isTrue(fact: Fact, nowMs: number): boolean {
    switch (fact.kind) {
      case "operation": {
        const { operation } = fact;
        if (this.#lasting.has(operation)) return true;
        if (!this.#recent.has(operation) && !this.#older.has(operation)) return false;
        this.#named.push(operation);
        return true;
      }
      case "heard":
        return this.#lastHeardBy(fact.session) >= fact.n;
      case "passed":
        return nowMs >= fact.atMs;
      case "owed":
        // Another server that leads by now may have stored a later one. Storage refuses what this server commits of the attempt.
        return (this.#owed.get(fact.task)?.attempt ?? -1) >= fact.attempt;
      case "marked":
        return this.#owed.get(fact.task)?.sentAtMs === fact.sentAtMs;
      case "journaled":
        return (this.#journaled.get(fact.workflow) ?? -1) >= fact.changes;
    }
  }

  #lastHeardBy(session: SessionId): number {
    return this.#heard.get(session) ?? this.#over.get(session) ?? this.#longOver.get(session) ?? 0;
  }

  /** The effects of a step were carried out: successes that they have named are not needed any more. */
  endStep(): void {
    if (this.#named.length === 0) return;
    for (const operation of this.#named) {
      this.#recent.delete(operation);
      this.#older.delete(operation);
    }
    this.#named.length = 0;
  }
}

function wordsOf(fact: Fact): string {
  switch (fact.kind) {
    case "operation":
      return `operation ${fact.operation} has succeeded`;
    case "heard":
      return `session ${fact.session} has heard message ${fact.n}`;
    case "passed":
      return `the time ${fact.atMs} has passed`;
    case "owed":
      return `storage owes attempt ${fact.attempt + 1}, or a later one, of task ${fact.task}`;
    case "journaled":
      return `storage has change ${fact.changes} of workflow ${fact.workflow}`;
    case "marked":
      return `storage has the mark of task ${fact.task} of the time ${fact.sentAtMs}`;
  }
}
