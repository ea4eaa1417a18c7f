/** Those who ask for workflows: locations for their clients, and operators. They are told the end of one, or how it stands. */
import {
  CANCELLED,
  type ExecutionId,
  isTaskId,
  type Outcome,
  present,
  type WorkflowAction,
  type WorkflowQuestion,
} from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import { type CallerId, type Fact, NO_FACTS, type OperationId } from "./events.ts";
import type { IntentRecord } from "./intent.ts";
import type { Task } from "./task.ts";
import { isOver, type Workflow } from "./workflow.ts";
import type { WorkflowCaller, WorkflowsHost } from "./workflow-host.ts";
import { type Entry, stateOf, type WorkflowTable } from "./workflow-table.ts";

/** The work that somebody can ask for. */
interface WorkflowActions {
  /** `told`: the request to end is durable. */
  readonly cancel: (entry: Entry, told: (after: readonly Fact[]) => void) => void;
  /** Lets a stuck one try again, and answers the operator. */
  readonly retry: (entry: Entry, caller: CallerId) => void;
  /** Whether the task becomes a workflow when it begins. */
  readonly isToBe: (task: Task) => boolean;
}

export class WorkflowCallers {
  readonly #host: WorkflowsHost;
  readonly #table: WorkflowTable;
  readonly #actions: WorkflowActions;
  readonly #lookUps = new Map<OperationId, { readonly question: WorkflowQuestion; readonly caller: WorkflowCaller }>();
  /** Of operators, about workflows that are not known yet, or change at the moment. */
  readonly #orders: { readonly caller: CallerId; readonly action: WorkflowAction; readonly id: ExecutionId }[] = [];
  readonly #waiting = new Deadlines<{ readonly entry: Entry; readonly caller: WorkflowCaller }>(
    ({ entry, caller }) => !entry.callers.includes(caller),
  );

  constructor(host: WorkflowsHost, table: WorkflowTable, actions: WorkflowActions) {
    this.#host = host;
    this.#table = table;
    this.#actions = actions;
  }

  /** Storage looks for a workflow that somebody has asked for. */
  get isAsking(): boolean {
    return this.#lookUps.size > 0;
  }

  get haveOrders(): boolean {
    return this.#orders.length > 0;
  }

  /** When somebody is to be told how a workflow stands, by the machine's monotonic time. Infinity: nobody is. */
  get tellsAtMs(): number {
    return this.#waiting.nextMs ?? Infinity;
  }

  /** Those have waited long enough, and orders may go on. */
  goOn(): void {
    const machineMs = this.#host.machineMs();
    for (let due = this.#waiting.takeDue(machineMs); due !== undefined; due = this.#waiting.takeDue(machineMs)) {
      const { entry, caller } = due;
      if (!entry.callers.includes(caller)) continue;
      entry.callers = entry.callers.filter((each) => each !== caller);
      this.tell(entry, caller, [{ kind: "journaled", workflow: entry.workflow.id, changes: 0 }]);
    }
  }

  orderAgain(): void {
    for (const { caller, action, id } of this.#orders.splice(0)) this.order(caller, action, id);
  }

  /** A location asks for a workflow, or for its end. */
  ask(caller: WorkflowCaller, question: WorkflowQuestion): void {
    const entry = this.#table.get(question.workflow);
    if (entry?.phase === "starting") return void entry.startWaits.push(() => this.ask(caller, question));
    if (entry === undefined) {
      const operation = this.#host.nextName();
      this.#lookUps.set(operation, { question, caller });
      return this.#host.emit({ kind: "look-up", operation, executionId: question.workflow });
    }
    if (!isAskedBy(entry.workflow, question)) return this.#unknown(caller);
    if (!question.cancels || isOver(entry.workflow)) return this.wait(entry, caller);
    this.#actions.cancel(entry, (after) => {
      const isOpen = this.#table.get(question.workflow) === entry;
      return isOpen ? this.wait(entry, caller) : this.tell(entry, caller, after);
    });
  }

  #unknown(caller: WorkflowCaller): void {
    const message = "There is no such workflow, or somebody else has started it.";
    this.#host.reply(caller, { kind: "refused", code: "unknown_workflow", message, retryAfterMs: null }, []);
  }

  /** One that is to begin as a task. */
  #cancelTask(caller: WorkflowCaller, question: WorkflowQuestion): void {
    const { workflow: id } = question;
    this.#host.withdraw(id, (outcome, after) => {
      if (outcome === "done") return this.tellEnd(caller, "requested", { kind: "abort", ...CANCELLED }, after);
      // It has begun meanwhile, or runs as another handler.
      if (outcome === "running" && !this.#table.has(id)) return this.#tellWaiting(caller, id);
      this.ask(caller, question);
    });
  }

  tellEnd(caller: WorkflowCaller, cause: "requested" | "stored", outcome: Outcome, after: readonly Fact[]): void {
    const times = this.#host.times(caller.receivedAtMs);
    this.#host.reply(caller, { kind: "executed", cause, outcome, repairs: [], times }, after);
  }

  #tellWaiting(caller: WorkflowCaller, workflow: ExecutionId): void {
    const later = { kind: "working", workflow, state: "waiting", retryAfterMs: RETRY_LATER_MS } as const;
    this.#host.reply(caller, later, []);
  }

  /** An operator lets a stuck workflow try again, or asks one to end. The order waits until all workflows are known. */
  order(caller: CallerId, action: WorkflowAction, id: ExecutionId): void {
    const entry = this.#table.get(id);
    if (entry === undefined ? this.#table.awaits(id) : entry.phase === "starting" || entry.phase === "committing")
      return void this.#orders.push({ caller, action, id });
    if (entry === undefined) return this.#orderUnknown(caller, action, id);
    const { workflow } = entry;
    if (action === "cancel") {
      if (isOver(workflow)) return this.#host.ordered(caller, "ending", NO_FACTS);
      return this.#actions.cancel(entry, (after) => this.#host.ordered(caller, "done", after));
    }
    if (workflow.state !== "stuck") return this.#host.ordered(caller, "not-stuck", NO_FACTS);
    this.#actions.retry(entry, caller);
  }

  /** There is no such workflow, unless it is to begin as a task. */
  #orderUnknown(caller: CallerId, action: WorkflowAction, id: ExecutionId): void {
    if (action !== "cancel" || !isTaskId(id)) return this.#host.ordered(caller, "unknown", NO_FACTS);
    this.#host.withdraw(id, (outcome, after) => {
      if (this.#table.has(id)) return this.order(caller, action, id);
      this.#host.ordered(caller, outcome === "done" ? "done" : "unknown", after);
    });
  }

  /** The server stops: nobody waits for it any more. */
  drain(): void {
    for (const entry of this.#table.all) {
      if (entry.phase === "starting") continue;
      for (const caller of entry.callers.splice(0)) this.tell(entry, caller, []);
    }
  }

  /** Waits for its end, if the caller has time for that. */
  wait(entry: Entry, caller: WorkflowCaller): void {
    if (entry.phase === "starting") return void entry.callers.push(caller);
    const kept: Fact = { kind: "journaled", workflow: entry.workflow.id, changes: 0 };
    if (caller.untilMs <= this.#host.machineMs()) return this.tell(entry, caller, [kept]);
    entry.callers.push(caller);
    this.#waiting.add(caller.untilMs, { entry, caller });
  }

  tell(entry: Entry, caller: WorkflowCaller, after: readonly Fact[]): void {
    const { id: workflow } = entry.workflow;
    const state = stateOf(entry);
    const retryAfterMs = state === "running" ? RETRY_SOON_MS : RETRY_LATER_MS;
    this.#host.reply(caller, { kind: "working", workflow, state, retryAfterMs }, after);
  }

  lookedUp(operation: OperationId, record: IntentRecord | null): void {
    const { question, caller } = this.#takeLookUp(operation);
    const entry = this.#table.get(question.workflow);
    // It is known by now.
    if (entry !== undefined) return this.ask(caller, question);
    // Its caller can't be opened.
    if (record?.state === "task" && record.task.isUnreadable === true && record.task.handler === question.handler)
      return this.refuseBusy([caller], "The arguments of the workflow can't be opened.");
    // It begins as a task. One that becomes no workflow is nobody's to ask for here.
    if (record?.state === "task" && isAskedBy(record.task, question) && this.#actions.isToBe(record.task)) {
      if (question.cancels) return this.#cancelTask(caller, question);
      return this.#tellWaiting(caller, record.task.id);
    }
    const workflow = record?.state === "workflow" ? record.workflow : null;
    // Its caller can't be opened either.
    if (workflow !== null && isNotKept(workflow) && workflow.handler === question.handler)
      return this.#replyNotKept(caller, []);
    if (workflow === null || !isAskedBy(workflow, question)) return this.#unknown(caller);
    const { id, outcome, state } = workflow;
    if (state !== "ended" || outcome === null) {
      // A starting server has not read it yet.
      const told = state === "stuck" ? "stuck" : "waiting";
      return this.#host.reply(caller, { kind: "working", workflow: id, state: told, retryAfterMs: RETRY_SOON_MS }, []);
    }
    this.tellEnd(caller, "stored", outcome, []);
  }

  replyTaken(caller: WorkflowCaller, stored: Workflow | null, isSame: boolean, after: readonly Fact[]): void {
    const outcome = stored?.outcome ?? null;
    if (isSame && outcome !== null) return this.tellEnd(caller, "stored", outcome, []);
    if (isSame && stored !== null && isNotKept(stored)) return this.#replyNotKept(caller, after);
    const message = "The execution id was used before with another handler, with other arguments or by another caller.";
    const answer = { kind: "refused", code: "idempotency_key_reused", message, retryAfterMs: null } as const;
    this.#host.reply(caller, answer, stored === null ? [] : after);
  }

  #replyNotKept(caller: WorkflowCaller, after: readonly Fact[]): void {
    const message = "The workflow has ended, and its answer is not kept any more.";
    this.#host.reply(caller, { kind: "refused", code: "answer_not_kept", message, retryAfterMs: null }, after);
  }

  refuseBusy(callers: readonly WorkflowCaller[], message: string): void {
    for (const caller of callers)
      this.#host.reply(caller, { kind: "refused", code: "busy", message, retryAfterMs: RETRY_SOON_MS }, []);
  }

  ownsOperation(operation: OperationId): boolean {
    return this.#lookUps.has(operation);
  }

  /** Storage could not look. */
  failed(operation: OperationId): void {
    this.refuseBusy([this.#takeLookUp(operation).caller], "Storage can't be read. Try again later.");
  }

  #takeLookUp(operation: OperationId): { readonly question: WorkflowQuestion; readonly caller: WorkflowCaller } {
    const lookUp = present(this.#lookUps.get(operation), `storage answers look-up ${operation} for workflows`);
    this.#lookUps.delete(operation);
    return lookUp;
  }
}

const RETRY_SOON_MS = 1_000;
const RETRY_LATER_MS = 5_000;

/** It has ended, and storage can't tell how. */
function isNotKept({ state, outcome }: Workflow): boolean {
  return state === "ended" && outcome === null;
}

function isAskedBy(workflow: Pick<Workflow, "handler" | "caller">, { handler, caller }: WorkflowQuestion): boolean {
  return workflow.handler === handler && workflow.caller === caller;
}
