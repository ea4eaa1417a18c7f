/**
 * Operational errors: one catalogue of permanent codes. A code is what tests assert, metrics count and the reference
 * documents. Outcomes of the protocol are values, not errors; bugs of ours are assertions.
 */

/** The effect of the failed operation: nothing, everything, or nobody can tell yet. */
export type Effect = "none" | "applied" | "unknown";

/** Whether the same request may succeed later (`later`), at once (`now`), or never unchanged (`never`). */
export type Retry = "now" | "later" | "never";

export interface ErrorKind {
  /** HTTP status where the error is an answer. */
  readonly status: number;
  readonly effect: Effect;
  readonly retry: Retry;
}

export const ERROR_KINDS = {
  invalid_json: { status: 400, effect: "none", retry: "never" },
  missing_argument: { status: 400, effect: "none", retry: "never" },
  unknown_argument: { status: 400, effect: "none", retry: "never" },
  invalid_argument: { status: 400, effect: "none", retry: "never" },
  argument_out_of_range: { status: 400, effect: "none", retry: "never" },
  request_too_large: { status: 400, effect: "none", retry: "never" },
  invalid_idempotency_key: { status: 400, effect: "none", retry: "never" },
  unknown_location: { status: 400, effect: "none", retry: "never" },
  rate_limited: { status: 429, effect: "none", retry: "later" },
  origin_not_allowed: { status: 403, effect: "none", retry: "never" },
  unsupported_media_type: { status: 415, effect: "none", retry: "never" },
  unauthorized: { status: 401, effect: "none", retry: "never" },
  unknown_handler: { status: 404, effect: "none", retry: "never" },
  unknown_workflow: { status: 404, effect: "none", retry: "never" },
  not_found: { status: 404, effect: "none", retry: "never" },
  method_not_allowed: { status: 405, effect: "none", retry: "never" },
  message_too_large: { status: 413, effect: "none", retry: "never" },
  malformed_message: { status: 400, effect: "none", retry: "never" },
  upgrade_not_finished: { status: 409, effect: "none", retry: "never" },
  module_mismatch: { status: 400, effect: "none", retry: "never" },
  idempotency_key_reused: { status: 422, effect: "none", retry: "never" },
  idempotency_key_unverified: { status: 409, effect: "unknown", retry: "never" },
  blob_not_allowed: { status: 403, effect: "none", retry: "never" },
  blob_too_large: { status: 413, effect: "none", retry: "never" },
  blob_busy: { status: 503, effect: "none", retry: "later" },
  blob_store_failed: { status: 503, effect: "unknown", retry: "later" },
  answer_not_kept: { status: 410, effect: "applied", retry: "never" },
  handler_trapped: { status: 500, effect: "none", retry: "never" },
  wrote_on_get: { status: 500, effect: "none", retry: "never" },
  execution_failed: { status: 500, effect: "none", retry: "never" },
  internal_error: { status: 500, effect: "unknown", retry: "later" },
  primary_unreachable: { status: 503, effect: "unknown", retry: "later" },
  primary_busy: { status: 503, effect: "none", retry: "later" },
  not_leading: { status: 503, effect: "none", retry: "later" },
  not_serving: { status: 503, effect: "none", retry: "later" },
  index_building: { status: 503, effect: "none", retry: "later" },
  worker_unreachable: { status: 504, effect: "unknown", retry: "later" },
  unknown_module: { status: 503, effect: "none", retry: "later" },
  workflow_working: { status: 503, effect: "unknown", retry: "later" },
  too_many_streams: { status: 503, effect: "none", retry: "later" },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

export class RadicalError extends Error {
  override readonly name = "RadicalError";
  readonly code: ErrorCode;
  /** The action to take, in the user's terms. */
  readonly hint: string;
  readonly effect: Effect;
  readonly retry: Retry;

  constructor(code: ErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
    this.effect = ERROR_KINDS[code].effect;
    this.retry = ERROR_KINDS[code].retry;
  }

  get status(): number {
    return ERROR_KINDS[this.code].status;
  }

  /** The JSON body of the error as an answer. */
  toBody(): string {
    return errorBody(this.code, this.message, this.hint);
  }
}

/** `{"error": {"code", "message", "hint"}}`; handlers' own errors use it too. */
export function errorBody(code: string, message: string, hint: string): string {
  return JSON.stringify({ error: { code, message, hint } });
}
