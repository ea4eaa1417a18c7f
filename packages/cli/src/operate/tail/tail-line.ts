/** A line of either half of a deployment, as `radical tail` shows it. */
import { terminalText } from "@radical/protocol";
import { ShownExecutions } from "../../dev/handler-lines.ts";
import { handlerLine, locationLine } from "../../dev/location-line.ts";
import { devLine } from "../../dev/dev-lines.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export type Half = "edge" | "primary";
export type Level = "debug" | "info" | "warn" | "error";

export interface TailLine {
  readonly half: Half;
  /** Which of several LVI servers has written it; null: there is one, or it is of the edge. */
  readonly server: string | null;
  /** Null: the line does not say. */
  readonly location: string | null;
  readonly level: Level;
  /** Null: the line is about no handler, or does not say about which. */
  readonly handler: string | null;
  readonly execution: string | null;
  /** As it was written. */
  readonly line: Readonly<Record<string, unknown>>;
}

/** A line that a location's Worker has written: the runtime's own, or any other. */
export function edgeLine(level: string, text: string, location: string | null): TailLine {
  const line = objectOf(text);
  if (line === null || typeof line["event"] !== "string")
    return {
      half: "edge",
      server: null,
      location,
      level: levelOf(level),
      handler: null,
      execution: null,
      line: { event: "worker_log", level, message: text },
    };
  const isFailure = line["event"] === "request" && typeof line["status"] === "number" && line["status"] >= 500;
  return {
    half: "edge",
    server: null,
    location: textOf(line["location"]) ?? location,
    level: isFailure ? "error" : levelOf(textOf(line["level"]) ?? level),
    handler: textOf(line["handler"]),
    execution: textOf(line["execution"]),
    line,
  };
}

/** A line of the LVI server's log. `server`: which one, if there are several. */
export function primaryLine(text: string, server: string | null = null): TailLine {
  const line = objectOf(text) ?? { level: "info", event: "log", message: text };
  return {
    half: "primary",
    server,
    // Of a line of a handler.
    location: textOf(line["location"]),
    level: levelOf(textOf(line["level"]) ?? "info"),
    handler: textOf(line["handler"]),
    execution: textOf(line["execution"]),
    line,
  };
}

export interface Filter {
  /** Empty: lines about any handler, or none. */
  readonly handlers: readonly string[];
  /** Only warnings and errors. */
  readonly errors: boolean;
}

/** Most executions of the wanted handlers to remember. */
const MAX_EXECUTIONS = 10_000;

/**
 * Whether a line is wanted. The LVI server's lines name executions, not handlers: those are wanted whose execution a
 * wanted line of the edge has named.
 */
export function filterOf({ handlers, errors }: Filter): (line: TailLine) => boolean {
  const executions = new Set<string>();
  return ({ level, handler, execution }) => {
    if (handlers.length > 0) {
      const isWanted = handler === null ? execution !== null && executions.has(execution) : handlers.includes(handler);
      if (!isWanted) return false;
      if (execution !== null) {
        executions.add(execution);
        if (executions.size > MAX_EXECUTIONS) executions.delete(executions.values().next().value!);
      }
    }
    return !errors || level === "warn" || level === "error";
  };
}

/** Whether a line is to be shown, besides its filter: those of handlers once, whichever half tells of them. */
export function eachOnce(): (line: TailLine) => boolean {
  const shown = new ShownExecutions();
  return ({ half, server, line }) => {
    const logged = handlerLine(line);
    return logged === null || shown.isNew(`${half} ${server ?? ""}`, logged);
  };
}

/** The half first, then what it says. */
export function showLine({ half, server, level, line }: TailLine, terminal: Terminal): string {
  const mark = terminal.style(half === "edge" ? "cyan" : "yellow", half.padEnd(7));
  const logged = handlerLine(line);
  if (logged !== null) return `${mark}  ${devLine(logged, terminal)}`;
  if (half === "edge") return `${mark}  ${edgeWords(line, terminal)}`;
  const { time, level: _, event, ...fields } = line;
  const details = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const words = (parts: readonly (string | null)[]): readonly string[] =>
    parts.filter((part) => part !== null).map(terminalText);
  const shownLevel =
    level === "error" ? terminal.style("red", level) : level === "warn" ? terminal.style("yellow", level) : level;
  return `${mark}  ${[...words([server, textOf(time)]), shownLevel, ...words([textOf(event)])].join(" ")}${terminalText(details.join(""))}`;
}

/** What looks like another event of `radical dev` is none: the application has logged it. */
function edgeWords(line: TailLine["line"], terminal: Terminal): string {
  const { event, level, message } = line;
  const known =
    event === "worker_log" && typeof message === "string"
      ? ({ event, level: textOf(level) ?? "info", message } as const)
      : locationLine(line);
  return (known === null ? null : devLine(known, terminal)) ?? terminalText(JSON.stringify(line));
}

function levelOf(text: string): Level {
  return text === "debug" || text === "warn" || text === "error" ? text : "info";
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
