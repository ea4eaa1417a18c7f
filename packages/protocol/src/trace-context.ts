/** Trace Context (W3C): the headers by which the lines and the spans of several services are put together. */

/** The headers that are passed on. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
  /** 32 hex characters. */
  readonly traceId: string;
  /** The span of the sender, 16 hex characters. */
  readonly spanId: string;
  /** The sender records its spans. */
  readonly sampled: boolean;
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-[\x21-\x7e]*)?$/;
const SAMPLED = 1;
const MAX_TRACEPARENT_LENGTH = 128;
const MAX_TRACESTATE_LENGTH = 512;

/**
 * Null: the request has no valid `traceparent`. A `tracestate` alone means nothing, and one that is too long is left out.
 */
export function traceContextOf(traceparent: string | null, tracestate: string | null): TraceContext | null {
  if (traceparent === null || traceparent.length > MAX_TRACEPARENT_LENGTH) return null;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return {
    traceparent,
    tracestate: tracestate === null || tracestate.length > MAX_TRACESTATE_LENGTH ? null : tracestate,
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0,
  };
}

/** The context of a span, for those that are asked on its behalf. */
export function traceContextFrom(
  place: Pick<TraceContext, "traceId" | "spanId" | "sampled">,
  tracestate: string | null,
): TraceContext {
  const { traceId, spanId, sampled } = place;
  return { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`, tracestate, traceId, spanId, sampled };
}
