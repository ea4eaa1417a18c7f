/** Structured logs: one JSON object a line, and the last lines of them. */
import { type LogLineLevel, METRICS_EVENT, terminalText } from "@radical/protocol";
import { LogRing } from "./log-ring.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type Writing = Exclude<LogLevel, "silent">;

/** Of the last line of a process that fails, whatever the level. */
export const LAST_EVENTS = ["not_started", "not_stopped", "uncaught_exception", "unhandled_rejection"] as const;

export interface Log extends Readonly<Record<Writing, (event: string, fields?: Fields) => void>> {
  /** A line that a handler has logged. Its build knows the least level of those: here only `silent` drops it. */
  readonly handlerLine: (level: LogLineLevel, fields: Fields) => void;
  /** A line at level `info` for programs that read the log: an operator who follows it is not shown it. */
  readonly metrics: (fields: Readonly<Record<string, unknown>>) => void;
  /** Whether lines of the level are written: what is costly to put together can be spared. */
  writes(level: Writing): boolean;
  /** The lines that were written last. */
  readonly recent: LogRing;
}

/**
 * Drops what is below the level. Fields never hold secrets, arguments or values of an application, but for what its handlers
 * log.
 */
export function createLog(level: LogLevel, write: (line: string) => void): Log {
  const least = LOG_LEVELS.indexOf(level);
  const writes = (name: Writing): boolean => LOG_LEVELS.indexOf(name) >= least;
  const recent = new LogRing();
  const written = (name: Writing, event: string, fields: Readonly<Record<string, unknown>>): string => {
    // People read it as it is: units and messages of others stand in it.
    const json = JSON.stringify({ time: new Date().toISOString(), level: name, event, ...fields });
    const text = `${terminalText(json)}\n`;
    write(text);
    return text;
  };
  const line = (name: Writing, event: string, fields: Fields): void => recent.add(name, written(name, event, fields));
  const at = (name: Writing) => {
    if (!writes(name)) return () => {};
    return (event: string, fields: Fields = {}) => line(name, event, fields);
  };
  const handlerLine: Log["handlerLine"] = (name, fields) => {
    if (level !== "silent") line(name, "handler_log", fields);
  };
  const metrics: Log["metrics"] = (fields) => {
    if (writes("info")) written("info", METRICS_EVENT, fields);
  };
  const levels = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { ...levels, handlerLine, metrics, writes, recent };
}
