/**
 * Which lines that a Worker writes are the runtime's own, and which of the LVI server's are those of handlers. An application logs what it likes, also text of its clients, which may
 * be JSON that only looks like one of ours.
 */
import { LOG_LINE_LEVELS } from "@radical/protocol";
import type { LogLine } from "@radical/runtime";
import type { HandlerLine, LocationWarning } from "./dev-events.ts";

const WARNINGS: Readonly<Record<LocationWarning["event"], true>> = {
  derivation_failed: true,
  record_mode_failed: true,
  speculation_stopped: true,
  primary_unanswered: true,
  primary_rejected: true,
  wrote_on_get: true,
  set_left: true,
  impossible_reply: true,
  followup_unanswered: true,
  followup_refused: true,
  cache_failed: true,
  blobs_open: true,
  limit_failed: true,
  blobs_not_collected: true,
  internal_error: true,
  service_failed: true,
  spans_not_taken: true,
};

/** The line as the runtime writes it; null: it is another one. */
export function locationLine(line: unknown): Exclude<LogLine, { readonly event: "life" }> | null {
  if (!isObject(line) || typeof line["location"] !== "string" || !isTextOrNull(line["handler"])) return null;
  const { event, message } = line;
  if (event === "handler_log") return handlerLine(line);
  const isOurs =
    event === "request"
      ? isRequest(line)
      : typeof event === "string" && Object.hasOwn(WARNINGS, event) && typeof message === "string";
  return isOurs ? (line as unknown as ReturnType<typeof locationLine>) : null;
}

/** A line that a handler has logged, at a location or at the primary; null: it is another one. */
export function handlerLine(line: Readonly<Record<string, unknown>>): HandlerLine | null {
  const { event, level, location, handler, execution, line: at, lines, message } = line;
  const isOurs =
    event === "handler_log" &&
    LOG_LINE_LEVELS.some((known) => known === level) &&
    [location, handler, execution, message].every((part) => typeof part === "string") &&
    [at, lines].every((part) => typeof part === "number");
  return isOurs ? ({ level, event, location, handler, execution, line: at, lines, message } as HandlerLine) : null;
}

function isRequest({ status, ms, path, code, reason }: Readonly<Record<string, unknown>>): boolean {
  if (typeof status !== "number" || ![path, code, reason].every(isTextOrNull) || !isObject(ms)) return false;
  return Object.values(ms).every((phase) => typeof phase === "number");
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
