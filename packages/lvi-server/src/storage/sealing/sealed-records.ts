/**
 * Records as they are kept, sealed, and as the core knows them. Sealed are the parts that clients and handlers have given: arguments,
 * seed and caller of intents, tasks and workflows; outcomes; and journals. The rest says how a record is found and in which order it
 * comes: ids, units, lanes, times, and the words of errors.
 */
import {
  CborReader,
  CborWriter,
  decodeOutcome,
  encodeOutcome,
  type ExecutionId,
  type Outcome,
} from "@radical/protocol";
import type { DoneIntent, Intent, IntentRecord } from "../../core/intent.ts";
import type { Task } from "../../core/task.ts";
import type { Workflow, WorkflowPart } from "../../core/workflow.ts";
import { keyOfSeal, SealBroken, type Seals } from "./seals.ts";

/** The input of a run. */
interface Given {
  readonly args: Uint8Array;
  readonly seed: Uint8Array;
  readonly caller: string | null;
}

/** In the place of one that is sealed. */
const NO_SEED = Uint8Array.of(0);

export class SealedRecords {
  readonly #seals: Seals;
  /** The seals of bytes that storage has given: a record that is stored again keeps the bytes that did not change. */
  readonly #known = new WeakMap<Uint8Array, { readonly label: string; readonly seal: Uint8Array }>();

  readonly #missed: (key: string, what: string) => void;

  /** `missed`: hears of a seal that is broken where nothing is thrown. */
  constructor(seals: Seals, missed: (key: string, what: string) => void) {
    this.#seals = seals;
    this.#missed = missed;
  }

  // ── Sealing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  intent(intent: Intent): Intent {
    const { environment, args, executionId } = intent;
    const { args: sealed, ...rest } = this.#sealGiven("intent", executionId, { ...environment, args });
    return { ...intent, args: sealed, environment: { timeMs: environment.timeMs, ...rest } };
  }

  record(record: IntentRecord): IntentRecord {
    switch (record.state) {
      case "pending":
        return { state: "pending", intent: this.intent(record.intent) };
      case "done":
        return { state: "done", done: this.#done(record.done) };
      case "task":
        return { state: "task", task: { ...record.task, ...this.#sealGiven("task", record.task.id, record.task) } };
      case "workflow":
        return { state: "workflow", workflow: this.#workflow(record.workflow) };
      case "part":
        return { state: "part", part: this.#part(record.part) };
    }
  }

  #done(done: DoneIntent): DoneIntent {
    const { outcome, executionId } = done;
    return outcome === null
      ? done
      : { ...done, outcome: { ...outcome, value: this.#sealOutcome(executionId, outcome.value) } };
  }

  #workflow(workflow: Workflow): Workflow {
    const { id, outcome, again } = workflow;
    return {
      ...workflow,
      ...this.#sealGiven("workflow", id, workflow),
      outcome: outcome === null ? null : this.#sealOutcome(id, outcome),
      again: again === null ? null : this.#seal(`again ${id}`, again, again),
    };
  }

  #part(part: WorkflowPart): WorkflowPart {
    return { ...part, content: this.#seal(`part ${part.id}`, part.content, part.content) };
  }

  #sealGiven(what: string, id: ExecutionId, { args, seed, caller }: Given): Given {
    const writer = new CborWriter().array(3).bytes(args).bytes(seed);
    const content = (caller === null ? writer.null() : writer.text(caller)).finish();
    return { args: this.#seal(`${what} ${id}`, content, args), seed: NO_SEED, caller: null };
  }

  #sealOutcome(id: ExecutionId, outcome: Outcome): Outcome {
    return { kind: "result", value: this.#seals.seal(`outcome ${id}`, encodeOutcome(outcome)) };
  }

  /** `known`: the bytes by which an earlier seal of the content is found again. */
  #seal(label: string, content: Uint8Array, known: Uint8Array): Uint8Array {
    const earlier = this.#known.get(known);
    return earlier?.label === label ? earlier.seal : this.#seals.seal(label, content);
  }

  // ── Opening ────────────────────────────────────────────────────────────────────────────────────────────────────────

  // Each of these throws a SealBroken, but for tasks, and for outcomes of done executions and of workflows that have ended.

  async openIntent(intent: Intent): Promise<Intent> {
    const { environment, args, executionId } = intent;
    const { args: opened, ...rest } = await this.#openGiven("intent", executionId, { ...environment, args });
    return { ...intent, args: opened, environment: { timeMs: environment.timeMs, ...rest } };
  }

  async openRecord(record: IntentRecord): Promise<IntentRecord> {
    switch (record.state) {
      case "pending":
        return { state: "pending", intent: await this.openIntent(record.intent) };
      case "done":
        return { state: "done", done: await this.#openDone(record.done) };
      case "task":
        return { state: "task", task: await this.openTask(record.task) };
      case "workflow":
        return { state: "workflow", workflow: await this.openWorkflow(record.workflow) };
      case "part":
        return { state: "part", part: await this.openPart(record.part) };
    }
  }

  /** A task whose seal is broken keeps it in the place of its arguments: it fails, and can be tried again with the key. */
  async openTask(task: Task): Promise<Task> {
    try {
      return { ...task, ...(await this.#openGiven("task", task.id, task)) };
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      this.#known.set(task.args, { label: `task ${task.id}`, seal: task.args });
      this.#missed(error.keyId, `the arguments of the task ${task.id}`);
      return { ...task, isUnreadable: true };
    }
  }

  /** One that has ended and can't be opened has no outcome, as if the time were over for which it is kept. */
  async openWorkflow(workflow: Workflow): Promise<Workflow> {
    const { id, outcome, again, state } = workflow;
    try {
      return {
        ...workflow,
        ...(await this.#openGiven("workflow", id, workflow)),
        outcome: outcome === null ? null : await this.#openOutcome(id, outcome),
        again: again === null ? null : await this.#openBytes(`again ${id}`, again),
      };
    } catch (error) {
      if (!(error instanceof SealBroken) || state !== "ended") throw error;
      this.#missed(error.keyId, `the workflow ${id}, which has ended,`);
      return { ...workflow, outcome: null, again: null };
    }
  }

  async openPart(part: WorkflowPart): Promise<WorkflowPart> {
    return { ...part, content: await this.#openBytes(`part ${part.id}`, part.content) };
  }

  async #openDone(done: DoneIntent): Promise<DoneIntent> {
    const { outcome, executionId } = done;
    if (outcome === null) return done;
    try {
      return { ...done, outcome: { ...outcome, value: await this.#openOutcome(executionId, outcome.value) } };
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      this.#missed(error.keyId, `the outcome of the execution ${executionId}`);
      // As if the time were over for which it is kept.
      return { ...done, outcome: null };
    }
  }

  async #openGiven(what: string, id: ExecutionId, given: Given): Promise<Given> {
    const { args: seal } = given;
    // A server of an earlier version has stored it.
    if (keyOfSeal(seal) === null) return given;
    const label = `${what} ${id}`;
    const reader = new CborReader(await this.#seals.open(label, seal));
    reader.array();
    const [args, seed] = [reader.copiedBytes(), reader.copiedBytes()];
    const caller = reader.nullIfNext() ? null : reader.text();
    this.#known.set(args, { label, seal });
    return { args, seed, caller };
  }

  async #openOutcome(id: ExecutionId, outcome: Outcome): Promise<Outcome> {
    if (outcome.kind !== "result" || keyOfSeal(outcome.value) === null) return outcome;
    return decodeOutcome(await this.#seals.open(`outcome ${id}`, outcome.value));
  }

  async #openBytes(label: string, seal: Uint8Array): Promise<Uint8Array> {
    if (keyOfSeal(seal) === null) return seal;
    const opened = await this.#seals.open(label, seal);
    this.#known.set(opened, { label, seal });
    return opened;
  }
}
