/** Tasks in words, for a terminal. */
import { type ListedTask, terminalText } from "@radical/protocol";
import { valueToExactJson } from "@radical/app";
import { fromNowText, spanText, timeText } from "@radical/app";

/** When it begins, or since when it waits. */
function wordsOfWhen({ state, dueMs, error }: ListedTask, nowMs: number): string {
  const deadMs = error?.atMs ?? null;
  switch (state) {
    case "delayed":
      return fromNowText(Math.max(0, dueMs - nowMs));
    case "dead":
      return deadMs === null ? "no handler" : `for ${spanText(nowMs - deadMs)}`;
    case "ready":
    case "running":
    case "waiting":
      return `for ${spanText(nowMs - dueMs)}`;
  }
}

/** One line for each, in columns. */
export function linesOfTasks(tasks: readonly ListedTask[], nowMs: number): readonly string[] {
  const rows = tasks.map((task) => [
    task.id,
    task.state,
    wordsOfWhen(task, nowMs),
    terminalText(task.handler),
    task.mostFailures === null ? `${task.failures}` : `${task.failures}/${task.mostFailures}`,
    task.lane === null ? "-" : terminalText(JSON.stringify(task.lane)),
    task.error === null ? "" : terminalText(`${task.error.code}: ${task.error.message}`),
  ]);
  return columnsOf(HEAD, rows);
}

/** A line for each row, below its head. */
export function columnsOf(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

const HEAD = ["id", "state", "when", "handler", "failures", "key", "error"];

/** All that is known of one. */
export function describeTask(task: ListedTask, nowMs: number): readonly string[] {
  const time = (ms: number): string => `${timeText(ms)} (${fromNowText(ms - nowMs)})`;
  const { error, args } = task;
  const fields: readonly (readonly [string, string])[] = [
    ["id", task.id],
    ["state", task.state],
    ["handler", task.handler],
    ["key", task.lane === null ? "none: it waits for no other" : JSON.stringify(task.lane)],
    ["enqueued", `${time(task.createdAtMs)}, by execution ${task.parent}`],
    ["due", time(task.dueMs)],
    ["attempts", `${task.attempts}, ${wordsOfFailures(task)}`],
    ...(error === null ? [] : [["error", wordsOfError(error)] as const]),
    ["arguments", args === undefined ? argumentBytesWords(task) : argumentsOf(args)],
    ...(args === undefined ? [] : [["caller", task.caller ?? "none"] as const]),
  ];
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, text]) => `${name.padEnd(width)}  ${terminalText(text)}`);
}

function wordsOfFailures({ failures, mostFailures }: ListedTask): string {
  if (mostFailures === null) return `${failures} failures. It undoes, so it is tried until it is done`;
  return `${failures} of ${mostFailures} failures before it is dead`;
}

function argumentBytesWords({ argumentBytes, caller }: ListedTask): string {
  const isAsked = caller !== undefined;
  return `${argumentBytes} bytes: ${isAsked ? "they can't be read" : "--arguments shows them"}`;
}

function wordsOfError({ code, message, atMs }: NonNullable<ListedTask["error"]>): string {
  return `${code}: ${message}${atMs === null ? "" : ` (${timeText(atMs)})`}`;
}

/** As JSON, or in base 64 if JSON can't say them. */
export function argumentsOf(args: string): string {
  return valueToExactJson(new Uint8Array(Buffer.from(args, "base64"))) ?? `base64 ${args}`;
}
