import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { Life } from "./life.ts";
import { hasSpans, otlpTracesUrl, readOtlp, spansOf, tracePlaceOf, unsampledContext } from "./otlp.ts";
import { type TraceContext, traceContextFrom, traceContextOf } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const LIFE = {
  side: "location",
  execution: "a".repeat(32),
  attempt: 2,
  place: "JP",
  handler: "like",
  module: "m",
  atMs: 1_700_000_000_123,
  tookUs: 90_000,
  path: "speculative",
  reason: "valid",
  code: null,
  commit: null,
  because: { unit: "posts/secret", had: null, is: null },
  spans: [
    ["set", 0, 100],
    ["send", 200, 10_000],
    ["send", 20_000, 60_000],
    ["run", 300, 1_000],
  ],
  units: [["posts/secret", "read", null]],
  unitsLeftOut: 3,
  waited: [["posts/secret", null, 3]],
  fuel: 5,
} as unknown as Life;
const place = { traceId: TRACE, spanId: "1".repeat(16), parentId: "2".repeat(16) };
const NEW_ID = (bytes: number): string => randomBytes(bytes).toString("hex");
const FIRST_SEND = "4".repeat(16);
const SEND = "3".repeat(16);

test("an execution is a span below its sender, and what it did are spans below it", () => {
  const [whole, ...parts] = spansOf({ life: LIFE, place, sendIds: [FIRST_SEND, SEND], status: 200 }, NEW_ID);
  expect(whole).toMatchObject({
    traceId: TRACE,
    spanId: "1".repeat(16),
    parentSpanId: "2".repeat(16),
    name: "like",
    kind: 2,
    startTimeUnixNano: "1700000000123000000",
    endTimeUnixNano: "1700000000213000000",
  });
  expect(whole!.status).toBeUndefined();
  expect(parts.map(({ name, kind }) => [name, kind])).toEqual([
    ["set", 1],
    ["send", 3],
    ["send", 3],
    ["run", 1],
  ]);
  expect(parts.every(({ parentSpanId }) => parentSpanId === "1".repeat(16))).toBe(true);
  // The primary's spans of each attempt are below the question that it answers.
  expect(parts.slice(1, 3).map(({ spanId }) => spanId)).toEqual([FIRST_SEND, SEND]);
  expect(new Set(parts.map(({ spanId }) => spanId)).size).toBe(4);
  expect(parts[3]).toMatchObject({ startTimeUnixNano: "1700000000123300000", endTimeUnixNano: "1700000000124300000" });
});

test("spans tell how many items there were, and not which", () => {
  const spans = spansOf({ life: LIFE, place, sendIds: [FIRST_SEND, SEND], status: 200 }, NEW_ID);
  expect(JSON.stringify(spans)).not.toContain("secret");
  expect(spans[0]!.attributes).toContainEqual({ key: "radical.units", value: { intValue: "4" } });
});

test("an error of ours is an error; one of the client, at a location, is not", () => {
  const failed = { ...LIFE, code: "busy" };
  const of = (status: number | null): unknown =>
    spansOf({ life: failed, place, sendIds: [], status }, NEW_ID)[0]!.status;
  expect(of(503)).toEqual({ code: 2 });
  expect(of(404)).toBeUndefined();
  expect(of(null)).toEqual({ code: 2 });
});

test("the caller decides whether there are spans; without one the part does", () => {
  const parent = traceContextFrom({ traceId: TRACE, spanId: SEND, sampled: true }, null);
  const part = (ratio: number) => ({ ratio, followsCaller: true });
  expect(hasSpans(parent, part(0), () => 0)).toBe(true);
  expect(hasSpans({ ...parent, sampled: false }, part(1), () => 0)).toBe(false);
  expect(hasSpans(null, part(0), () => 0)).toBe(false);
  expect(hasSpans(null, part(0.25), () => 0.249)).toBe(true);
  expect(hasSpans(null, part(0.25), () => 0.25)).toBe(false);
  expect(hasSpans(null, part(1), () => 0.999)).toBe(true);
  expect(tracePlaceOf(parent, NEW_ID)).toMatchObject({ traceId: TRACE, parentId: SEND });
  const traceId: unknown = expect.stringMatching(/^[0-9a-f]{32}$/);
  expect(tracePlaceOf(null, NEW_ID)).toMatchObject({ parentId: null, traceId });
});

test("a sampler that does not follow the caller draws by the trace, so that both halves agree", () => {
  const at = (ending: string): TraceContext =>
    traceContextFrom({ traceId: TRACE.slice(0, -12) + ending, spanId: SEND, sampled: ending === "ffffffffffff" }, null);
  const part = (ratio: number) => ({ ratio, followsCaller: false });
  const drawn = (ratio: number): readonly boolean[] =>
    ["000000000000", "3fffffffffff", "400000000000", "ffffffffffff"].map((ending) =>
      hasSpans(at(ending), part(ratio), () => 0),
    );
  expect(drawn(0)).toEqual([false, false, false, false]);
  expect(drawn(0.25)).toEqual([true, true, false, false]);
  expect(drawn(1)).toEqual([true, true, true, true]);
});

test("a context that is made is one that is read", () => {
  const none = unsampledContext(null, NEW_ID);
  expect(traceContextOf(none.traceparent, null)).toEqual(none);
  const some = traceContextFrom({ traceId: TRACE, spanId: SEND, sampled: true }, "a=1");
  expect(traceContextOf(some.traceparent, "a=1")).toEqual(some);
  const off = unsampledContext(some, NEW_ID);
  expect(off).toMatchObject({ traceId: TRACE, spanId: SEND, sampled: false, tracestate: "a=1" });
  expect(unsampledContext(off, NEW_ID)).toBe(off);
});

test.each([
  ["http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"],
  ["http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"],
  ["https://example.com/otlp", "https://example.com/otlp/v1/traces"],
  ["https://example.com/v1/traces?key=1", "https://example.com/v1/traces?key=1"],
  ["ftp://example.com", null],
  ["https://me:secret@example.com", null],
  ["example", null],
])("%s takes traces at %s", (text, url) => expect(otlpTracesUrl(text)).toBe(url));

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

test("an environment without a collector, or with OpenTelemetry off, wants no spans", () => {
  expect(readOtlp({})).toBeNull();
  expect(readOtlp({ OTEL_SERVICE_NAME: "shop", OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeNull();
  expect(readOtlp({ ...COLLECTOR, OTEL_SDK_DISABLED: "True" })).toBeNull();
});

test("an environment names the collector, its headers, the part and the service", () => {
  expect(readOtlp(COLLECTOR)).toEqual({
    kind: "target",
    url: "http://127.0.0.1:4318/v1/traces",
    headers: {},
    ratio: 1,
    followsCaller: true,
    service: null,
  });
  const all = { ...COLLECTOR, OTEL_TRACES_SAMPLER_ARG: "0.25", OTEL_SERVICE_NAME: "shop" };
  // The address of traces alone is taken as it is.
  expect(readOtlp({ ...all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces/in?key=1" })).toMatchObject({
    url: "http://traces/in?key=1",
    ratio: 0.25,
    service: "shop",
  });
  const headers = "api-key=a%20b, X=1=2";
  expect(readOtlp({ ...COLLECTOR, OTEL_EXPORTER_OTLP_HEADERS: headers })).toMatchObject({
    headers: { "api-key": "a b", x: "1=2" },
  });
});

test.each([
  ["0", 0],
  [".5", 0.5],
  ["1e-7", 1e-7],
  ["1", 1],
])("a part of %s is %d", (text, ratio) => {
  expect(readOtlp({ ...COLLECTOR, OTEL_TRACES_SAMPLER_ARG: text })).toMatchObject({ ratio });
});

test.each([
  ["always_on", 1, false],
  ["always_off", 0, false],
  ["traceidratio", 0.25, false],
  ["parentbased_always_on", 1, true],
  ["parentbased_always_off", 0, true],
  ["ParentBased_TraceIdRatio", 0.25, true],
  ["", 0.25, true],
])("the sampler %j has spans of %d", (sampler, ratio, followsCaller) => {
  const environment = { ...COLLECTOR, OTEL_TRACES_SAMPLER: sampler };
  expect(readOtlp({ ...environment, OTEL_TRACES_SAMPLER_ARG: "0.25" })).toMatchObject({ ratio, followsCaller });
  // Others have no argument, or another one.
  const isPart = ratio === 0.25;
  expect(readOtlp({ ...environment, OTEL_TRACES_SAMPLER_ARG: "endpoint=here" })?.kind).toBe(
    isPart ? "wrong" : "target",
  );
  expect(readOtlp(environment)).toMatchObject({ ratio: isPart ? 1 : ratio });
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"],
  ["OTEL_TRACES_SAMPLER", "jaeger_remote"],
  ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://a"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api-key"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%0A"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.1"],
  ["OTEL_TRACES_SAMPLER_ARG", "-1"],
  ["OTEL_TRACES_SAMPLER_ARG", "all"],
])("%s can't be %j", (name, text) => {
  expect(readOtlp({ ...COLLECTOR, [name]: text })).toMatchObject({ kind: "wrong", name });
});
