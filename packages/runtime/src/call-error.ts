/**
 * A call that has no result, as an error with the HTTP status and the code that a client is answered with. Calls in
 * process throw it; an application's `authenticate` throws it to refuse a request.
 */
import { errorBody } from "@radical/protocol";
import { isToldExecution } from "./http/idempotency-key.ts";

export class CallError extends Error {
  override readonly name = "CallError";
  /** 400 to 599. */
  readonly status: number;
  /** For programs: a snake_case word. */
  readonly code: string;
  /** The action to take; may be empty. */
  readonly hint: string;
  /** With this key the call may be repeated without a second effect; null: nothing was called. */
  readonly idempotencyKey: string | null;
  /** Seconds after which a repeat may succeed; null: a repeat won't help. */
  readonly retryAfter: number | null;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { readonly hint?: string; readonly idempotencyKey?: string | null; readonly retryAfter?: number | null } = {},
  ) {
    super(message);
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new RangeError(`a CallError has a status from 400 to 599, not ${status}`);
    this.status = status;
    this.code = code;
    this.hint = more.hint ?? "";
    this.idempotencyKey = more.idempotencyKey ?? null;
    this.retryAfter = more.retryAfter ?? null;
  }

  /** The JSON body of the error as an answer. */
  toBody(): string {
    return errorBody(this.code, this.message, this.hint);
  }

  /** The answer that `/api/<handler>` gives. */
  toResponse(): Response {
    const headers = new Headers({ "content-type": "application/json; charset=utf-8", "cache-control": "no-store" });
    if (this.retryAfter !== null) headers.set("retry-after", String(this.retryAfter));
    // A key of the application's own choice is nobody else's business.
    if (this.idempotencyKey !== null && isToldExecution(this.idempotencyKey))
      headers.set("x-radical-execution", this.idempotencyKey);
    return new Response(this.toBody(), { status: this.status, headers });
  }
}
