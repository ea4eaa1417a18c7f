/**
 * For tests: runs workflows of a build to their end, with their steps, on items in memory. Nothing fails by itself here, and time
 * goes on only when everybody waits for it.
 */
import {
  type Arrival,
  type Environment,
  type ExecutionId,
  type IssuedCommand,
  isOver,
  type JournalEntry,
  type Outcome,
  type RunEffect,
  roundSeedOf,
  type Settled,
  settles,
  stepIdOf,
  stepSeedOf,
  taskIdOf,
  taskSeedOf,
  valueToJson,
  type WorkflowRun,
} from "@radical/protocol";
import { type HandlerModule, recordHandler, runWorkflow } from "@radical/wasm-host";
import type { BuildResult } from "../pipeline.ts";
import { invocation, type Items, moduleOf, snapshotOf } from "./run.ts";

interface Workflow {
  readonly id: ExecutionId;
  readonly handler: string;
  readonly environment: Environment;
  args: Uint8Array;
  round: number;
  journal: JournalEntry[];
  /** Commands that have not settled. */
  readonly open: Map<number, IssuedCommand>;
  readonly arrivals: Arrival[];
  /** Values of signals that no command has taken. */
  readonly values: Map<string, Uint8Array[]>;
  ran: WorkflowRun | null;
}

export class WorkflowEngine {
  readonly items: Items = new Map();
  /** The calls that steps and undos have made, in order. */
  readonly calls: string[] = [];
  timeMs = 1_700_000_000_000;
  readonly #build: BuildResult;
  readonly #module: HandlerModule;
  readonly #workflows = new Map<ExecutionId, Workflow>();
  /** Told to their parents when they end. */
  readonly #parents = new Map<ExecutionId, readonly [parent: Workflow, command: number]>();
  readonly #waiting: (() => void)[] = [];
  readonly #failures: ReadonlyMap<string, Settled>;

  /** `failures`: results of steps in the place of their calls, by callee. */
  constructor(build: BuildResult, failures: ReadonlyMap<string, Settled> = new Map()) {
    this.#build = build;
    this.#module = moduleOf(build);
    this.#failures = failures;
  }

  /** Starts a workflow. It goes on as far as it can. */
  start(handler: string, json: unknown, seed = 1): ExecutionId {
    const { args, environment } = invocation(this.#build, handler, json, seed, "ann");
    const id = `${handler.length.toString(16).padStart(2, "0")}${"0".repeat(30)}` as ExecutionId;
    this.#begin(id, handler, args, environment);
    this.#goOn();
    return id;
  }

  /** A handler, with its effects. */
  call(handler: string, json: unknown): Outcome {
    const { args, environment } = invocation(this.#build, handler, json);
    const outcome = this.#execute("f".repeat(32) as ExecutionId, handler, args, environment);
    this.#goOn();
    return outcome;
  }

  cancel(id: ExecutionId): void {
    this.#workflows.get(id)!.arrivals.push({ kind: "cancelled" });
    this.#goOn();
  }

  /** Lets time pass: sleeps and waits that are due then end. */
  advance(ms: number): void {
    this.timeMs += ms;
    for (const workflow of this.#workflows.values()) {
      const wait = waitOf(workflow);
      if (wait === null || wait.untilMs === null || wait.untilMs > this.timeMs) continue;
      this.#settle(workflow, wait.commands[0]!, { kind: "timer" });
    }
    this.#goOn();
  }

  ran(id: ExecutionId): WorkflowRun {
    return this.#workflows.get(id)!.ran!;
  }

  journal(id: ExecutionId): readonly JournalEntry[] {
    return this.#workflows.get(id)!.journal;
  }

  /** The result as JSON, or the abort. */
  answer(id: ExecutionId): unknown {
    const ran = this.ran(id);
    if (ran.kind !== "ended") return ran;
    return ran.outcome.kind === "result" ? (JSON.parse(valueToJson(ran.outcome.value)) as unknown) : ran.outcome;
  }

  #begin(id: ExecutionId, handler: string, args: Uint8Array, environment: Environment): void {
    const workflow: Workflow = {
      id,
      handler,
      args,
      environment,
      round: 0,
      journal: [],
      open: new Map(),
      arrivals: [],
      values: new Map(),
      ran: null,
    };
    this.#workflows.set(id, workflow);
    this.#waiting.push(() => this.#activate(workflow));
  }

  #goOn(): void {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        next();
        continue;
      }
      const ready = [...this.#workflows.values()].find((workflow) => isReady(workflow));
      if (ready === undefined) return;
      this.#activate(ready);
    }
  }

  #activate(workflow: Workflow): void {
    const { id, handler, args, environment, round } = workflow;
    const activation = { journal: workflow.journal, arrivals: workflow.arrivals.splice(0), timeMs: this.timeMs };
    const invoked = { executionId: id, handler, args, environment, round };
    const ran = (workflow.ran = runWorkflow(this.#module, invoked, activation));
    if (!("entry" in ran)) return;
    workflow.journal = [...workflow.journal, ran.entry];
    for (const issued of ran.commands) this.#issue(workflow, issued);
    if (ran.kind === "again") {
      workflow.args = ran.args;
      workflow.round++;
      workflow.journal = [];
      workflow.open.clear();
      this.#waiting.push(() => this.#activate(workflow));
    } else if (ran.kind === "ended") {
      for (const undone of ran.undos) this.#waiting.push(() => this.#step(workflow, undone));
      const parent = this.#parents.get(id);
      if (parent !== undefined) this.#waiting.push(() => this.#settle(...parent, settledOf(ran.outcome)));
    }
  }

  #issue(workflow: Workflow, issued: IssuedCommand): void {
    const { number, command } = issued;
    if (settles(command)) workflow.open.set(number, issued);
    const { id, round, environment } = workflow;
    switch (command.kind) {
      case "start":
        this.#waiting.push(() => this.#step(workflow, issued));
        break;
      case "signal":
        this.#deliver(workflow);
        break;
      case "enqueue":
      case "send":
      case "cancel":
        this.#effect(command, stepIdOf({ workflow: id, round }, number), {
          ...environment,
          seed: stepSeedOf(roundSeedOf(environment.seed, round), round, number),
        });
        break;
      case "sleep":
      case "undo":
        break;
    }
  }

  #step(workflow: Workflow, { number, command }: IssuedCommand): void {
    if (command.kind !== "start" && command.kind !== "undo") throw new Error("it calls nothing");
    const { callee, args } = command;
    this.calls.push(callee);
    const failure = this.#failures.get(callee);
    if (failure !== undefined) return this.#settle(workflow, number, failure);
    const { id, round } = workflow;
    const step = stepIdOf({ workflow: id, round }, number);
    const environment = { ...workflow.environment, seed: stepSeedOf(workflow.environment.seed, round, number) };
    if (this.#isWorkflow(callee)) {
      this.#parents.set(step, [workflow, number]);
      return this.#begin(step, callee, args, environment);
    }
    this.#settle(workflow, number, settledOf(this.#execute(step, callee, args, environment)));
  }

  #isWorkflow(callee: string): boolean {
    return this.#build.handlers.some(({ name, plan }) => name === callee && plan.kind === "workflow");
  }

  #execute(id: ExecutionId, handler: string, args: Uint8Array, environment: Environment): Outcome {
    const invoked = { executionId: id, handler, args, environment: { ...environment, timeMs: this.timeMs } };
    const { run } = recordHandler(this.#module, invoked, snapshotOf(this.items), { guess: false });
    if (run === null) throw new Error("the handler did not end");
    for (const { unit, value } of run.writes) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, value);
    }
    for (const [ordinal, effect] of (run.effects ?? []).entries())
      this.#effect(effect, taskIdOf(id, ordinal), { ...environment, seed: taskSeedOf(environment.seed, ordinal) });
    return run.outcome;
  }

  #effect(effect: RunEffect, id: ExecutionId, environment: Environment): void {
    switch (effect.kind) {
      case "enqueue":
        if (this.#isWorkflow(effect.callee)) this.#begin(id, effect.callee, effect.args, environment);
        else this.#waiting.push(() => void this.#execute(id, effect.callee, effect.args, environment));
        break;
      case "send": {
        const workflow = this.#workflows.get(effect.workflow);
        if (workflow === undefined) return;
        workflow.values.set(effect.name, [...(workflow.values.get(effect.name) ?? []), effect.value]);
        this.#deliver(workflow);
        break;
      }
      case "cancel":
        this.#workflows.get(effect.task)?.arrivals.push({ kind: "cancelled" });
    }
  }

  /** Gives values to the commands that wait for them. */
  #deliver(workflow: Workflow): void {
    for (const { number, command } of workflow.open.values()) {
      const value = command.kind === "signal" ? workflow.values.get(command.name)?.shift() : undefined;
      if (value !== undefined) this.#settle(workflow, number, { kind: "signal", value });
    }
  }

  #settle(workflow: Workflow, command: number, settled: Settled): void {
    if (!workflow.open.delete(command)) return;
    workflow.arrivals.push({ kind: "settled", command, settled });
  }
}

function waitOf({ ran }: Workflow) {
  return ran?.kind === "waiting" ? ran.entry.wait : null;
}

function isReady(workflow: Workflow): boolean {
  const wait = waitOf(workflow);
  if (wait === null) return false;
  const { arrivals } = workflow;
  const isHere = (command: number): boolean =>
    arrivals.some((arrival) => arrival.kind === "settled" && arrival.command === command);
  return isOver(wait, isHere) || arrivals.some(({ kind }) => kind === "cancelled");
}

function settledOf(outcome: Outcome): Settled {
  switch (outcome.kind) {
    case "result":
      return { kind: "value", value: outcome.value };
    case "abort":
      return { kind: "failed", status: outcome.status, code: outcome.code, message: outcome.message };
    case "trap":
      throw new Error(`a step has trapped: ${outcome.message}`);
  }
}
