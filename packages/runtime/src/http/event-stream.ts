/**
 * The stream of a live query as HTTP: server-sent events (WHATWG HTML, section 9.2). An event `message` or `error` has the
 * body that a GET answers, and the id of that state. A client that comes back says with `Last-Event-ID` which state it knows.
 */
import type { LiveMessage } from "../core/live-queries.ts";

const EVENTS_TYPE = "text/event-stream";

/** Nothing between keeps the stream, waits to compress it, or collects parts of it. */
export const EVENT_STREAM_HEADERS = {
  "content-type": `${EVENTS_TYPE}; charset=utf-8`,
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Whether the request is for a stream. A POST never is. */
export function wantsEvents({ method, headers }: Request): boolean {
  if (method !== "GET") return false;
  const ranges = headers.get("accept")?.split(",") ?? [];
  return ranges.some((range) => range.split(";", 1)[0]?.trim().toLowerCase() === EVENTS_TYPE);
}

export function eventOf(message: LiveMessage): string {
  switch (message.kind) {
    case "state":
      return `${message.status === 200 ? "" : errorOf(message.status)}id: ${message.id}\n${dataOf(message.body)}\n`;
    case "error":
      return `${errorOf(message.status)}id\n${dataOf(message.body)}\n`;
    case "stale":
      // It takes the id away: a client that comes back is told the state again.
      return "event: stale\nid\ndata: {}\n\n";
    case "alive":
      return ":\n\n";
  }
}

/** The client is to come back after so many milliseconds. */
export function retryOf(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/** A browser ignores the status. */
function errorOf(status: number): string {
  return `event: error\nstatus: ${status}\n`;
}

function dataOf(body: string): string {
  return `data: ${body.replaceAll("\n", "\ndata: ")}\n`;
}
