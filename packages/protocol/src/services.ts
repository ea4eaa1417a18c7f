/**
 * Services: functions that are declared in the sources of handlers and written in the application's Worker. A task whose callee
 * is a service is called there by the primary, under one idempotency key for all its attempts. `docs/internals/protocol.md` has
 * the words.
 */
import { type CborReader, CborWriter } from "./cbor.ts";
import { contentHash } from "./content-hash.ts";
import type { ExecutionId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import type { Outcome } from "./outcome.ts";

/** The end of the calls of a service for one task. */
export type ServiceOutcome =
  /** The service returned: its result as an encoded value. */
  | { readonly kind: "value"; readonly bytes: Uint8Array }
  /** The service threw a `Refused`: an answer, which no further call would change. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** The last attempt failed, so it is not known that anything was done, nor that nothing was. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  /** It may have been done, and may not be called again: its key is no longer remembered, or it has none. */
  | { readonly kind: "unknown"; readonly message: string };

/** The outcome of a service as that of a handler: a refusal is an answer (422), other failures are not (502, 504). */
export function outcomeOfService(outcome: ServiceOutcome): Outcome {
  switch (outcome.kind) {
    case "value":
      return { kind: "result", value: outcome.bytes };
    case "refused":
      return { kind: "abort", status: 422, code: outcome.code, message: outcome.message };
    case "failed":
      return { kind: "abort", status: 502, code: outcome.code, message: outcome.message };
    case "unknown":
      return { kind: "abort", status: 504, code: UNKNOWN, message: outcome.message };
  }
}

/** The code of a task that is dead because nobody knows whether its service has acted. */
export const UNKNOWN = "unknown";

// ── Rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The tag `@service` of a service. A module has them in its section `services`. */
export interface ServiceRules {
  /** After the first call of a task nothing is sent any more when this time is over: the service may have forgotten the key. */
  readonly keyWindowMs: number;
  /** The service knows no keys: nothing is sent twice. */
  readonly once: boolean;
}

export const DEFAULT_KEY_WINDOW_MS = 20 * 3_600_000;
/** Longer than a call may take. */
export const MIN_KEY_WINDOW_MS = 60_000;
export const MAX_KEY_WINDOW_MS = 366 * 86_400_000;

/** `[key window in ms, 0 or 1: once]`. */
export function writeServiceRules(writer: CborWriter, { keyWindowMs, once }: ServiceRules): void {
  writer
    .array(2)
    .integer(keyWindowMs)
    .integer(once ? 1 : 0);
}

/** Throws a MalformedError. */
export function readServiceRules(reader: CborReader): ServiceRules {
  if (reader.array() !== 2) throw new MalformedError("malformed rules of a service");
  return { keyWindowMs: reader.integerIn(MIN_KEY_WINDOW_MS, MAX_KEY_WINDOW_MS), once: reader.integerIn(0, 1) === 1 };
}

/**
 * The idempotency key of all calls for a task, in the form of a UUID (version 8). Nobody can tell the id of the task from it, and
 * nobody but the primary makes it.
 */
export function serviceKeyOf(task: ExecutionId): string {
  const half = (n: number): string =>
    contentHash(new CborWriter().array(3).text("service").text(task).integer(n).finish());
  const hex = `${half(0)}${half(1)}`;
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join("-");
}
