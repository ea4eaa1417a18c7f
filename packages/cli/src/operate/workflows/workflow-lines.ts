/** Workflows in words, for a terminal. */
import { type ListedWorkflow, type ShownArrival, type ShownCommand, terminalText } from "@radical/protocol";
import type { ShownEntry, WorkflowHistory } from "@radical/protocol";
import { argumentsOf, columnsOf } from "../tasks/task-lines.ts";
import { fromNowText, spanText, timeText } from "@radical/app";

/** One line for each, in columns. */
export function linesOfWorkflows(workflows: readonly ListedWorkflow[], nowMs: number): readonly string[] {
  const rows = workflows.map((workflow) => [
    workflow.id,
    workflow.state,
    `for ${spanText(nowMs - workflow.createdAtMs)}`,
    terminalText(workflow.handler),
    workflow.untilMs === null ? "-" : fromNowText(workflow.untilMs - nowMs),
    workflow.error === null ? "" : terminalText(`${workflow.error.code}: ${workflow.error.message}`),
  ]);
  return columnsOf(HEAD, rows);
}

const HEAD = ["id", "state", "started", "workflow", "timer", "error"];

/** All that is known of one, and its journal as a timeline. */
export function describeWorkflow(history: WorkflowHistory): readonly string[] {
  const { workflow, timeMs: nowMs, args, caller, result, entries, arrived } = history;
  const time = (ms: number): string => `${timeText(ms)} (${fromNowText(ms - nowMs)})`;
  const { parent, error, untilMs, endedAtMs, round } = workflow;
  const fields: readonly (readonly [string, string])[] = [
    ["id", workflow.id],
    ["state", workflow.state],
    ["workflow", workflow.handler],
    ["module", workflow.module],
    ["started", time(workflow.createdAtMs)],
    ...(untilMs === null ? [] : [["timer", time(untilMs)] as const]),
    ...(endedAtMs === null ? [] : [["ended", time(endedAtMs)] as const]),
    ...(parent === null ? [] : [["step of", parent] as const]),
    ["journal", `${workflow.entries} entries, ${workflow.bytes} bytes${round === 0 ? "" : `, round ${round + 1}`}`],
    ...(error === null ? [] : [["error", `${error.code}: ${error.message}`] as const]),
    ...(args === undefined
      ? [["arguments", "--arguments shows them, and results"] as const]
      : [["arguments", argumentsOf(args)] as const, ["caller", caller ?? "none"] as const]),
    ...(result === undefined ? [] : [["result", argumentsOf(result)] as const]),
  ];
  const width = Math.max(...fields.map(([name]) => name.length));
  const names = new Map(entries.flatMap(({ commands }) => commands.map((command) => [command.number, command])));
  return [
    ...fields.map(([name, text]) => `${name.padEnd(width)}  ${terminalText(text)}`),
    ...entries.flatMap((entry) => ["", ...linesOfEntry(entry, names, nowMs)]),
    ...(arrived.length === 0 ? [] : ["", "not seen yet", ...arrived.map((arrival) => lineOfArrival(arrival, names))]),
  ];
}

type Commands = ReadonlyMap<number, ShownCommand>;

function linesOfEntry({ timeMs, arrivals, commands, wait }: ShownEntry, names: Commands, nowMs: number): string[] {
  const lines = [
    `${timeText(timeMs)}  (${fromNowText(timeMs - nowMs)})`,
    ...arrivals.map((arrival) => lineOfArrival(arrival, names)),
    ...commands.map((command) => {
      const args = command.args === undefined ? "" : ` ${argumentsOf(command.args)}`;
      return `  → ${terminalText(`${wordsOf(command)}${args}${wordsOfAttempts(command)}`)}`;
    }),
  ];
  if (wait === null) return [...lines, "  ■ its run has ended"];
  const [first] = wait.commands;
  const alone = wait.commands.length === 1 && first !== undefined ? names.get(first) : undefined;
  const what = alone === undefined ? `${wait.mode} of ${wait.commands.length} commands` : terminalText(wordsOf(alone));
  const until = wait.untilMs === null ? "" : `, until ${timeText(wait.untilMs)}`;
  return [...lines, `  … waits for ${what}${until}`];
}

function lineOfArrival({ kind, command, words, value }: ShownArrival, names: Commands): string {
  const about = command === null ? undefined : names.get(command);
  const subject = about === undefined ? "" : `${wordsOf(about)}: `;
  const told = [ARRIVALS[kind], words, value === undefined ? undefined : argumentsOf(value)];
  return `  ← ${terminalText(`${subject}${told.filter((each) => each !== undefined).join(" ")}`)}`;
}

const ARRIVALS: Readonly<Record<ShownArrival["kind"], string>> = {
  value: "done",
  failed: "failed:",
  unknown: "nobody knows whether it was done:",
  timer: "its time is over",
  signal: "signal",
  cancelled: "somebody asks it to end",
};

/** Of a call that has not ended. */
function wordsOfAttempts({ attempts }: ShownCommand): string {
  if (attempts === undefined) return "";
  const { state, failures, error } = attempts;
  const times = failures === 1 ? "once" : `${failures} times`;
  const failed = failures === 0 ? "" : `, has failed ${times}`;
  return `  (${state}${failed}${error === null ? "" : `: ${error.code}: ${error.message}`})`;
}

/** `3 start charge`. */
function wordsOf({ number, kind, name }: ShownCommand): string {
  return `${number} ${kind} ${name}`.trim();
}
