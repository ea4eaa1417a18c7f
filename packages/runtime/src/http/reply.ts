/** From an answer to an HTTP response. */
import { ERROR_KINDS, RadicalError, errorBody, valueToJson } from "@radical/protocol";
import { BlobBusy } from "../blobs/blob-requests.ts";
import { CallError } from "../call-error.ts";
import type { Answer, ExecutionPath } from "../core/effects.ts";
import { MethodNotAllowed } from "./call.ts";
import { RateLimited } from "./limit.ts";

export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Code of the error, null for a result. */
  readonly code: string | null;
  readonly path: ExecutionPath | null;
}

export function replyOf(answer: Answer): Reply {
  if (answer.kind === "failed") {
    const headers: Record<string, string> =
      answer.retryAfterMs === null
        ? {}
        : { "retry-after": String(Math.max(1, Math.ceil(answer.retryAfterMs / 1_000))) };
    const { code, message, hint } = answer;
    return { status: ERROR_KINDS[code].status, body: errorBody(code, message, hint), headers, code, path: null };
  }
  if (answer.kind === "working") return workingReply(answer);
  const { outcome, path, reason } = answer;
  const headers = { "x-radical-path": path, "x-radical-reason": reason };
  switch (outcome.kind) {
    case "result":
      return { status: 200, body: `{"result":${valueToJson(outcome.value)}}`, headers, code: null, path };
    case "abort": {
      const { status, code, message } = outcome;
      return { status, body: errorBody(code, message, "The handler refused the request."), headers, code, path };
    }
    case "trap": {
      const body = errorBody(
        "handler_trapped",
        `The handler failed: ${outcome.message}`,
        "Nothing was written. This is a fault of the handler.",
      );
      return { status: ERROR_KINDS.handler_trapped.status, body, headers, code: "handler_trapped", path };
    }
  }
}

/** A workflow goes on. The exchange knows its path. */
function workingReply({ workflow, state, retryAfterMs }: Extract<Answer, { kind: "working" }>): Reply {
  const headers = { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
  return { status: 202, body: JSON.stringify({ workflow, state }), headers, code: null, path: "near-storage" };
}

/** An error before or outside an execution. */
export function replyOfError(error: unknown): Reply {
  if (error instanceof CallError) {
    const { status, code, retryAfter } = error;
    const headers: Record<string, string> = retryAfter === null ? {} : { "retry-after": String(retryAfter) };
    return { status, body: error.toBody(), headers, code, path: null };
  }
  const known =
    error instanceof RadicalError
      ? error
      : new RadicalError("internal_error", "The location has failed.", "See the log of the location.", error);
  const headers: Record<string, string> =
    known instanceof MethodNotAllowed
      ? { allow: known.allow }
      : known instanceof BlobBusy || known instanceof RateLimited
        ? { "retry-after": String(known.retryAfterSeconds) }
        : {};
  return { status: known.status, body: known.toBody(), headers, code: known.code, path: null };
}

export function toResponse({ status, body, headers }: Reply, more: Readonly<Record<string, string>>): Response {
  const fixed = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
  return new Response(body, { status, headers: { ...headers, ...more, ...fixed } });
}
