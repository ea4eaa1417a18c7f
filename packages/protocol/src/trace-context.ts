/**
 * Trace Context (W3C): the headers by which the lines of several services are put together. They are passed on as they
 * came; Radical makes no traces of its own.
 */

/** The headers that are passed on. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
  /** 32 hex characters; for logs. */
  readonly traceId: string;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?$/;
const MAX_TRACEPARENT_LENGTH = 128;
const MAX_TRACESTATE_LENGTH = 512;

/**
 * Null: the request has no valid `traceparent`. A `tracestate` alone means nothing, and one that is too long is left out.
 */
export function traceContextOf(traceparent: string | null, tracestate: string | null): TraceContext | null {
  if (traceparent === null || traceparent.length > MAX_TRACEPARENT_LENGTH) return null;
  const traceId = TRACEPARENT.exec(traceparent)?.[1];
  if (traceId === undefined) return null;
  return {
    traceparent,
    tracestate: tracestate === null || tracestate.length > MAX_TRACESTATE_LENGTH ? null : tracestate,
    traceId,
  };
}
