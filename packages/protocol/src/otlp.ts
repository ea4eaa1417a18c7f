/**
 * Spans of OpenTelemetry, made of lives: what a side has measured for the dashboard is all that its spans tell. They leave as
 * OTLP over HTTP, in its JSON form, which each collector takes. That is one message with few fields, and a Worker counts the
 * bytes of its code: so it is written here.
 *
 * A span names handlers, versions and counts. It has no argument, no value and no key of an item.
 */
import type { Life, LifeSpanName } from "./life.ts";
import { type TraceContext, traceContextFrom } from "./trace-context.ts";

/** Where the spans of an execution stand in their trace. */
export interface TracePlace {
  readonly traceId: string;
  /** Of the execution's span at this side. */
  readonly spanId: string;
  /** Null: the trace begins here. */
  readonly parentId: string | null;
}

/** So many random bytes, in hex. */
export type NewId = (bytes: number) => string;

export const SPAN_ID_BYTES = 8;
const TRACE_ID_BYTES = 16;

/** Where spans go. */
export interface OtlpTarget {
  readonly kind: "target";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The part of the executions that has spans, 0 to 1, where the caller does not decide. */
  readonly ratio: number;
  /** Whether a request with a `traceparent` has spans if that says so. Otherwise the part counts for it too. */
  readonly followsCaller: boolean;
  /** The name that operators give this side; null: its usual one. */
  readonly service: string | null;
}

/** The variables of an environment that name a collector: those that all programs with OpenTelemetry read. */
export const OTLP_VARIABLES = [
  "OTEL_SDK_DISABLED",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_TRACES_SAMPLER",
  "OTEL_TRACES_SAMPLER_ARG",
  "OTEL_SERVICE_NAME",
] as const;
export type OtlpVariable = (typeof OTLP_VARIABLES)[number];
export type OtlpEnvironment = Readonly<Partial<Record<OtlpVariable, string | undefined>>>;

/** A variable has a value that is not to be understood. */
export interface WrongOtlp {
  readonly kind: "wrong";
  readonly name: OtlpVariable;
  /** A value that it takes. */
  readonly expected: string;
}

/** An execution whose spans are to leave. */
export interface TracedLife {
  readonly life: Life;
  readonly place: TracePlace;
  /** The spans of the questions to the primary, in their order: those of the primary are below them. */
  readonly sendIds: readonly string[];
  /** The status of the answer; null: no client waits at this side. */
  readonly status: number | null;
}

/** Attributes of the side that tells the spans, by the names of the semantic conventions. */
export type OtlpResource = Readonly<Record<string, string>>;

type AttributeValue = { readonly stringValue: string } | { readonly intValue: string };

interface Attribute {
  readonly key: string;
  readonly value: AttributeValue;
}

/** `ExportTraceServiceRequest.resource_spans.scope_spans.spans`, as far as it is used. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code: number };
}

const SCOPE = "radical";
const KINDS = { internal: 1, server: 2, client: 3 };
const STATUS_ERROR = 2;
const SAMPLED = 1;
const TRACES_PATH = "/v1/traces";

/** The spans that ask another service. */
const CLIENT_SPANS: ReadonlySet<LifeSpanName> = new Set(["send"]);

/** The body of a request to the collector. */
export function otlpBody(resource: OtlpResource, traced: readonly TracedLife[], newId: NewId): string {
  const spans = traced.flatMap((one) => spansOf(one, newId));
  const attributes = Object.entries(resource).map(([key, value]) => attribute(key, value));
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: SCOPE }, spans }] }],
  });
}

/** The span of the execution, and one for each span of its life. */
export function spansOf({ life, place, sendIds, status }: TracedLife, newId: NewId): readonly OtlpSpan[] {
  const { traceId, spanId, parentId } = place;
  const startUs = Math.round(life.atMs * 1_000);
  const failed = status === null ? life.code !== null : status >= 500;
  const sends = sendIds[Symbol.iterator]();
  const whole: OtlpSpan = {
    traceId,
    spanId,
    ...(parentId === null ? {} : { parentSpanId: parentId }),
    flags: SAMPLED,
    name: life.handler,
    kind: KINDS.server,
    startTimeUnixNano: nanoseconds(startUs),
    endTimeUnixNano: nanoseconds(startUs + life.tookUs),
    attributes: attributesOf(life, status),
    ...(failed ? { status: { code: STATUS_ERROR } } : {}),
  };
  const parts = life.spans.map(([name, fromUs, tookUs]): OtlpSpan => ({
    traceId,
    spanId: (name === "send" ? sends.next().value : undefined) ?? newId(SPAN_ID_BYTES),
    parentSpanId: spanId,
    flags: SAMPLED,
    name,
    kind: CLIENT_SPANS.has(name) ? KINDS.client : KINDS.internal,
    startTimeUnixNano: nanoseconds(startUs + fromUs),
    endTimeUnixNano: nanoseconds(startUs + fromUs + tookUs),
  }));
  return [whole, ...parts];
}

function attributesOf(life: Life, status: number | null): readonly Attribute[] {
  const { side, handler, execution, module, place, attempt, path, reason, code, commit, units, unitsLeftOut } = life;
  const named: Readonly<Record<string, string | number | null>> = {
    "radical.side": side,
    "radical.handler": handler,
    "radical.execution": execution,
    "radical.module": module,
    "radical.location": place,
    "radical.attempt": attempt,
    "radical.path": path,
    "radical.reason": reason,
    "radical.commit": commit,
    "radical.units": units.length + unitsLeftOut,
    "radical.fuel": life.fuel,
    "http.response.status_code": status,
    "error.type": code,
  };
  return Object.entries(named).flatMap(([key, value]) => (value === null ? [] : [attribute(key, value)]));
}

function attribute(key: string, value: string | number): Attribute {
  return { key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } };
}

function nanoseconds(microseconds: number): string {
  return `${microseconds}000`;
}

/** An execution in its trace. */
export interface TraceEntry {
  /** Null: it has no spans. */
  readonly place: TracePlace | null;
  /** For the sides that are asked on its behalf. It has the id by which this side has drawn. */
  readonly context: TraceContext;
}

/**
 * Enters the trace of a request with that context; null: a trace begins here. The caller decides whether the execution has spans, if
 * there is one and the target follows it. Otherwise the id of the trace decides, also that of a trace that begins. So all sides with
 * the same sampler agree.
 */
export function enterTrace(
  context: TraceContext | null,
  { ratio, followsCaller }: Pick<OtlpTarget, "ratio" | "followsCaller">,
  newId: NewId,
): TraceEntry {
  const traceId = context?.traceId ?? newId(TRACE_ID_BYTES);
  const parentId = context?.spanId ?? null;
  const sampled = followsCaller && context !== null ? context.sampled : fractionOf(traceId) < ratio;
  if (!sampled && context?.sampled === false) return { place: null, context };
  // An execution without spans is not between its caller and those that it asks.
  const spanId = sampled || parentId === null ? newId(SPAN_ID_BYTES) : parentId;
  return {
    place: sampled ? { traceId, spanId, parentId } : null,
    context: traceContextFrom({ traceId, spanId, sampled }, context?.tracestate ?? null),
  };
}

/** Random bits of a trace's id, as a number from 0 to 1, 1 excluded. */
function fractionOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-12), 16) / 2 ** 48;
}

/** Origin, path and query; null: it is not the address of a collector. */
function partsOfUrl(text: string): readonly [base: string, path: string, query: string] | null {
  const [, base, path = "", query = ""] = /^(https?:\/\/[^\s/?#@\\]+)(\/[^\s?#]*)?(\?[^\s#]*)?$/i.exec(text) ?? [];
  return base === undefined ? null : [base, path, query];
}

/** Where a collector takes traces, of the address that people give: its origin, or the whole. Null: it is not such an address. */
export function otlpTracesUrl(text: string): string | null {
  const parts = partsOfUrl(text);
  if (parts === null) return null;
  const [base, path, query] = parts;
  return `${base}${path.endsWith(TRACES_PATH) ? path : path.replace(/\/+$/, "") + TRACES_PATH}${query}`;
}

/** The headers of `name=value,name=value`, values percent-encoded, as OpenTelemetry writes them. Null: the text is another. */
function otlpHeaders(text: string): Readonly<Record<string, string>> | null {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",").map((one) => one.trim())) {
    if (pair === "") continue;
    const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+)\s*=\s*(.*)$/.exec(pair) ?? [];
    const decoded = decodedText(value);
    if (name === "" || decoded === null || !/^[\t\x20-\x7e]*$/.test(decoded)) return null;
    headers[name.toLowerCase()] = decoded;
  }
  return headers;
}

function decodedText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The part of all as a number from 0 to 1; null: the text is another. */
function otlpRatio(text: string): number | null {
  const ratio = /^(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return ratio >= 0 && ratio <= 1 ? ratio : null;
}

const SAMPLERS = /^(parentbased_)?(always_on|always_off|traceidratio)$/;

/** The variables of the sampler. They mean what they mean to all programs with OpenTelemetry. */
function otlpSampler(sampler: string, part: string): Pick<OtlpTarget, "ratio" | "followsCaller"> | WrongOtlp {
  const [, parent, kind] = SAMPLERS.exec(sampler === "" ? "parentbased_traceidratio" : sampler.toLowerCase()) ?? [];
  if (kind === undefined) {
    const expected = "always_on, always_off or traceidratio, each also with parentbased_ before it";
    return { kind: "wrong", name: "OTEL_TRACES_SAMPLER", expected };
  }
  const followsCaller = parent !== undefined;
  if (kind !== "traceidratio") return { ratio: kind === "always_on" ? 1 : 0, followsCaller };
  const ratio = part === "" ? 1 : otlpRatio(part);
  if (ratio === null) return { kind: "wrong", name: "OTEL_TRACES_SAMPLER_ARG", expected: "a number from 0 to 1" };
  return { ratio, followsCaller };
}

/** Null: the environment names no collector. */
export function readOtlp(environment: OtlpEnvironment): OtlpTarget | WrongOtlp | null {
  const of = (name: OtlpVariable): string => environment[name] ?? "";
  const wrong = (name: OtlpVariable, expected: string): WrongOtlp => ({ kind: "wrong", name, expected });
  if (of("OTEL_SDK_DISABLED").toLowerCase() === "true") return null;
  const ofTraces = of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const variable = ofTraces === "" ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  if (of(variable) === "") return null;
  const url = ofTraces === "" ? otlpTracesUrl(of(variable)) : (partsOfUrl(ofTraces)?.join("") ?? null);
  if (url === null) return wrong(variable, "an http or https URL without a password, such as http://127.0.0.1:4318");
  const headers = otlpHeaders(of("OTEL_EXPORTER_OTLP_HEADERS"));
  if (headers === null) return wrong("OTEL_EXPORTER_OTLP_HEADERS", "name=value,name=value with values percent-encoded");
  const sampler = otlpSampler(of("OTEL_TRACES_SAMPLER"), of("OTEL_TRACES_SAMPLER_ARG"));
  if ("kind" in sampler) return sampler;
  return { kind: "target", url, headers, ...sampler, service: of("OTEL_SERVICE_NAME") || null };
}
