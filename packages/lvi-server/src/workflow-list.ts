/** Workflows as an operator sees them: records and journals of storage, with the state that the core gives each. */
import {
  type Arrival,
  type ListedWorkflow,
  type ShownArrival,
  type ShownAttempts,
  type ShownCommand,
  stepIdOf,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  withoutSecrets,
} from "@radical/protocol";
import { toBase64 } from "./base64.ts";
import type { LviCore } from "./core/lvi-core.ts";
import { type CalleeKind, decodePart, type PartContent, roundOf, type Workflow } from "./core/workflow.ts";
import { ALL_ARGUMENTS, type KnownSecrets } from "./known-secrets.ts";
import type { Storage } from "./storage/storage.ts";

type Core = Pick<LviCore, "workflowStateOf" | "openWorkflows" | "openSteps" | "taskStateOf">;
type Lists = Pick<Storage, "openWorkflows" | "partsOf" | "lookUp" | "findTask">;

export async function listWorkflows(
  storage: Lists,
  core: Core,
  timeMs: number,
  { state, handler, limit, after }: WorkflowListQuestion,
): Promise<WorkflowList> {
  const { workflows, next } = await storage.openWorkflows(after, limit);
  const listed = workflows
    .filter((workflow) => handler === null || workflow.handler === handler)
    .map((workflow) => listedWorkflow(core, workflow))
    .filter((workflow) => state === null || workflow.state === state);
  return { workflows: listed, next, all: core.openWorkflows, timeMs };
}

/** Null: there is no such workflow. */
export async function workflowHistory(
  storage: Lists,
  core: Core,
  { secrets, epoch, wallMs }: { readonly secrets: KnownSecrets; readonly epoch: number; readonly wallMs: number },
  { workflow: id, withArguments }: WorkflowHistoryQuestion,
): Promise<WorkflowHistory | null> {
  const record = await storage.lookUp(epoch, id);
  if (record?.state !== "workflow") return null;
  const { workflow } = record;
  const parts = (await storage.partsOf(id)).filter((part) => (roundOf(part) ?? workflow.round) === workflow.round);
  const contents = parts.map((part) => ({ id: part.id, content: decodePart(part.content) }));
  const entries = contents.flatMap(({ content }) => (content.kind === "entry" ? [content] : []));
  const taken = new Set(entries.flatMap((content) => content.taken));
  const seen = new Set(entries.flatMap(({ entry }) => entry.arrivals.map(nameOf)));
  const arrived = contents
    .filter((part) => !taken.has(part.id))
    .flatMap(({ content }) => (content.kind === "entry" ? [] : [content]))
    .filter((content) => content.kind === "signal" || !seen.has(nameOf(content)));
  const settled = new Set([...seen, ...arrived.map(nameOf)]);
  const calls = callsIn(entries);
  const attempts = await attemptsOf(
    storage,
    core,
    workflow,
    calls.filter(({ number }) => !settled.has(number)),
  );
  let commands = 0;
  const { caller, outcome, module } = workflow;
  if (withArguments) await secrets.learn([module]);
  const argumentsOf = (handler: string, args: Uint8Array): string =>
    toBase64(withoutSecrets(args, secrets.of(module, handler) ?? ALL_ARGUMENTS));
  return {
    workflow: listedWorkflow(core, workflow),
    timeMs: wallMs,
    ...(withArguments ? { args: argumentsOf(workflow.handler, workflow.args), caller } : {}),
    ...(withArguments && outcome?.kind === "result" ? { result: toBase64(outcome.value) } : {}),
    entries: entries.map(({ entry, calls: callees }) => ({
      timeMs: entry.timeMs,
      arrivals: entry.arrivals.map((arrival) => shownArrival(arrival, withArguments)),
      commands: entry.commands.map(({ kind, name }, at) => {
        const number = commands++;
        const call = callees[at] ?? null;
        const tried = attempts.get(number);
        return {
          number,
          kind,
          name,
          ...(isCall(kind) ? { execution: stepIdOf({ workflow: id, round: workflow.round }, number) } : {}),
          ...(call === null ? {} : { callee: call.kind }),
          ...(tried === undefined ? {} : { attempts: tried }),
          ...(withArguments && call !== null ? { args: argumentsOf(name, call.args) } : {}),
        };
      }),
      wait: entry.wait,
    })),
    arrived: arrived.map((content) => shownArrival(content, withArguments)),
  };
}

function isCall(kind: ShownCommand["kind"]): boolean {
  return kind === "start" || kind === "undo" || kind === "enqueue";
}

interface CallOfWorkflow {
  readonly number: number;
  readonly kind: ShownCommand["kind"];
  readonly callee: CalleeKind;
}

/** Its steps and undos. */
function callsIn(entries: readonly (PartContent & { kind: "entry" })[]): readonly CallOfWorkflow[] {
  const issued = entries.flatMap(({ entry, calls }) =>
    entry.commands.map(({ kind }, at) => ({ kind, call: calls[at] })),
  );
  return issued.flatMap(({ kind, call }, number) =>
    call === null || call === undefined ? [] : [{ number, kind, callee: call.kind }],
  );
}

/** Most tasks that are looked for: a workflow may have started thousands. */
const MOST_TASKS = 64;

/** By command: the attempts of calls that have not settled. Handlers are in memory; a service or a workflow is a task at first. */
async function attemptsOf(
  storage: Lists,
  core: Core,
  { id, round, undoing }: Workflow,
  unsettled: readonly CallOfWorkflow[],
): Promise<ReadonlyMap<number, ShownAttempts>> {
  const found = new Map<number, ShownAttempts>();
  for (const { step, state, failures, error } of core.openSteps(id))
    found.set(step.command, { state, failures, error: error && { code: error.code, message: error.message } });
  const owed = unsettled
    .filter(({ number, kind, callee }) => (kind === "undo" ? number === undoing : callee !== "handler"))
    .slice(0, MOST_TASKS);
  const tasks = await Promise.all(
    owed.map(({ number }) => storage.findTask(stepIdOf({ workflow: id, round }, number))),
  );
  for (const [at, task] of tasks.entries())
    if (task !== null)
      found.set(owed[at]!.number, {
        state: core.taskStateOf(task),
        failures: task.failures,
        error: task.error && { code: task.error.code, message: task.error.message },
      });
  return found;
}

type Arrived = Exclude<PartContent, { kind: "entry" }>;

function nameOf(arrival: Arrived | Arrival): number | "cancelled" | null {
  if (arrival.kind === "settled") return arrival.command;
  return arrival.kind === "cancelled" ? "cancelled" : null;
}

function shownArrival(arrival: Arrived | Arrival, withValue: boolean): ShownArrival {
  const valueOf = (value: Uint8Array): { readonly value?: string } => (withValue ? { value: toBase64(value) } : {});
  if (arrival.kind === "cancelled") return { kind: "cancelled", command: null };
  if (arrival.kind === "signal")
    return { kind: "signal", command: null, words: arrival.name, ...valueOf(arrival.value) };
  const { command, settled } = arrival;
  switch (settled.kind) {
    case "value":
    case "signal":
      return { kind: settled.kind, command, ...valueOf(settled.value) };
    case "failed":
      return { kind: "failed", command, words: `${settled.status} ${settled.code}: ${settled.message}` };
    case "unknown":
      return { kind: "unknown", command, words: settled.message };
    case "timer":
      return { kind: "timer", command };
  }
}

function listedWorkflow(core: Core, workflow: Workflow): ListedWorkflow {
  const { id, handler, module, createdAtMs, untilMs, round, entries, bytes, parent, error, outcome, endedAtMs } =
    workflow;
  const failure = outcome === null || outcome.kind === "result" ? error : outcome;
  return {
    id,
    handler,
    state: core.workflowStateOf(workflow),
    module,
    createdAtMs,
    untilMs,
    round,
    entries,
    bytes,
    parent: parent?.workflow ?? null,
    error: failure === null ? null : { code: failure.code, message: failure.message },
    endedAtMs,
  };
}
