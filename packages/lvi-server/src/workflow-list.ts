/** Workflows as an operator sees them: records and journals of storage, with the state that the core gives each. */
import {
  type Arrival,
  type ListedWorkflow,
  type ShownArrival,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  withoutSecrets,
} from "@radical/protocol";
import { toBase64 } from "./base64.ts";
import type { LviCore } from "./core/lvi-core.ts";
import { decodePart, type PartContent, roundOf, type Workflow } from "./core/workflow.ts";
import { ALL_ARGUMENTS, type KnownSecrets } from "./known-secrets.ts";
import type { Storage } from "./storage/storage.ts";

type Core = Pick<LviCore, "workflowStateOf" | "openWorkflows">;
type Lists = Pick<Storage, "openWorkflows" | "partsOf" | "lookUp">;

export async function listWorkflows(
  storage: Lists,
  core: Core,
  { state, handler, limit, after }: WorkflowListQuestion,
): Promise<WorkflowList> {
  const { workflows, next } = await storage.openWorkflows(after, limit);
  const listed = workflows
    .filter((workflow) => handler === null || workflow.handler === handler)
    .map((workflow) => listedWorkflow(core, workflow))
    .filter((workflow) => state === null || workflow.state === state);
  return { workflows: listed, next, all: core.openWorkflows };
}

/** Null: there is no such workflow. */
export async function workflowHistory(
  storage: Lists,
  core: Core,
  secrets: KnownSecrets,
  epoch: number,
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
  let commands = 0;
  const { caller, outcome, module } = workflow;
  if (withArguments) await secrets.learn([module]);
  const argumentsOf = (handler: string, args: Uint8Array): string =>
    toBase64(withoutSecrets(args, secrets.of(module, handler) ?? ALL_ARGUMENTS));
  return {
    workflow: listedWorkflow(core, workflow),
    ...(withArguments ? { args: argumentsOf(workflow.handler, workflow.args), caller } : {}),
    ...(withArguments && outcome?.kind === "result" ? { result: toBase64(outcome.value) } : {}),
    entries: entries.map(({ entry, calls }) => ({
      timeMs: entry.timeMs,
      arrivals: entry.arrivals.map((arrival) => shownArrival(arrival, withArguments)),
      commands: entry.commands.map(({ kind, name }, at) => {
        const call = calls[at] ?? null;
        const shown = withArguments && call !== null ? { args: argumentsOf(name, call.args) } : {};
        return { number: commands++, kind, name, ...shown };
      }),
      wait: entry.wait,
    })),
    arrived: contents
      .filter((part) => !taken.has(part.id))
      .flatMap(({ content }) => (content.kind === "entry" ? [] : [content]))
      .filter((content) => content.kind === "signal" || !seen.has(nameOf(content)))
      .map((content) => shownArrival(content, withArguments)),
  };
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
