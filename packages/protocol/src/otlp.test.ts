import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Life } from "./life.ts";
import { enterTrace, otlpTracesUrl, readOtlp, spansOf } from "./otlp.ts";
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
const PLACE = { traceId: TRACE, spanId: "1".repeat(16), parentId: "2".repeat(16) };
const NEW_ID = (bytes: number): string => randomBytes(bytes).toString("hex");
const FIRST_SEND = "4".repeat(16);
const SEND = "3".repeat(16);

test("an execution is a span below its sender, and what it did are spans below it", () => {
  const [whole, ...parts] = spansOf({ life: LIFE, place: PLACE, sendIds: [FIRST_SEND, SEND], status: 200 }, NEW_ID);
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
  const spans = spansOf({ life: LIFE, place: PLACE, sendIds: [FIRST_SEND, SEND], status: 200 }, NEW_ID);
  expect(JSON.stringify(spans)).not.toContain("secret");
  expect(spans[0]!.attributes).toContainEqual({ key: "radical.units", value: { intValue: "4" } });
});

test("an error of ours is an error; one of the client, at a location, is not", () => {
  const failed = { ...LIFE, code: "busy" };
  const of = (status: number | null): unknown =>
    spansOf({ life: failed, place: PLACE, sendIds: [], status }, NEW_ID)[0]!.status;
  expect(of(503)).toEqual({ code: 2 });
  expect(of(404)).toBeUndefined();
  expect(of(null)).toEqual({ code: 2 });
});

/** The context of a request in a trace whose id ends so. */
function contextAt(ending: string, sampled: boolean, tracestate: string | null = null): TraceContext {
  return traceContextFrom({ traceId: TRACE.slice(0, -ending.length) + ending, spanId: SEND, sampled }, tracestate);
}

/** Each id that it makes ends so. */
function idsAt(ending: string): (bytes: number) => string {
  return (bytes) => NEW_ID(bytes).slice(0, -ending.length) + ending;
}

/** Ends of ids, and whether they are in the first quarter. */
const QUARTERS = [
  ["000000000000", true],
  ["3fffffffffff", true],
  ["400000000000", false],
  ["ffffffffffff", false],
] as const;

test("a sampler that follows the caller does what that says, whatever its part is", () => {
  const at = (sampled: boolean, ratio: number) =>
    enterTrace(contextAt(TRACE, sampled), { ratio, followsCaller: true }, NEW_ID);
  expect(at(true, 0).place).toMatchObject({ traceId: TRACE, parentId: SEND });
  expect(at(false, 1).place).toBeNull();
});

test.each([true, false])(
  "a trace that begins is drawn by its id, if the sampler follows callers: %s",
  (followsCaller) => {
    const at = (ending: string, ratio: number) => enterTrace(null, { ratio, followsCaller }, idsAt(ending));
    for (const [ending, isDrawn] of QUARTERS) {
      expect([0, 0.25, 1].map((ratio) => at(ending, ratio).place !== null)).toEqual([false, isDrawn, true]);
    }
    const { place, context } = at("000000000000", 0.25);
    expect(place).toEqual({ traceId: context.traceId, spanId: context.spanId, parentId: null });
    expect(place!.traceId).toMatch(/^[0-9a-f]{20}0{12}$/);
  },
);

test("a sampler that does not follow the caller draws by the trace", () => {
  for (const [ending, isDrawn] of QUARTERS) {
    for (const sampled of [true, false]) {
      const drawn = [0, 0.25, 1].map((ratio) =>
        enterTrace(contextAt(ending, sampled), { ratio, followsCaller: false }, NEW_ID),
      );
      expect(drawn.map(({ place }) => place !== null)).toEqual([false, isDrawn, true]);
      expect(drawn.map(({ context }) => context.sampled)).toEqual([false, isDrawn, true]);
    }
  }
});

test("both halves have the spans of a request, or none has: with each sampler, each caller, and without one", () => {
  // Most doubles are next to 0, and would draw nothing.
  const ratio = fc.nat(1_000).map((thousandths) => thousandths / 1_000);
  const sampler = fc.record({ ratio, followsCaller: fc.boolean() });
  // No id is all zeros, which would not be one.
  const id = (bytes: number): fc.Arbitrary<string> =>
    fc.uint8Array({ min: 1, minLength: bytes, maxLength: bytes }).map((all) => Buffer.from(all).toString("hex"));
  const caller = fc.record({ traceId: id(16), spanId: id(8), sampled: fc.boolean() });
  const halves = fc.property(
    sampler,
    fc.option(caller, { freq: 1 }),
    id(16),
    id(8),
    (both, client, traceId, sendId) => {
      const newId = (bytes: number): string => traceId.slice(0, bytes * 2);
      const location = enterTrace(client && traceContextFrom(client, null), both, newId);
      // Each question of an execution with spans is a span of its own.
      const { sampled, ...at } = location.context;
      const question = sampled ? traceContextFrom({ ...at, spanId: sendId, sampled }, null) : location.context;
      const primary = enterTrace(traceContextOf(question.traceparent, null), both, NEW_ID);
      expect(primary.place !== null).toBe(location.place !== null);
      if (location.place === null) return;
      expect(primary.place).toMatchObject({ traceId: location.place.traceId, parentId: sendId });
    },
  );
  fc.assert(halves, { numRuns: 10_000 });
});

test("a context that is made is one that is read", () => {
  const none = { ratio: 0, followsCaller: false };
  const begun = enterTrace(null, none, NEW_ID).context;
  expect(traceContextOf(begun.traceparent, null)).toEqual(begun);
  const some = contextAt(TRACE, true, "a=1");
  expect(traceContextOf(some.traceparent, "a=1")).toEqual(some);
  const off = enterTrace(some, none, NEW_ID).context;
  expect(off).toMatchObject({ traceId: TRACE, spanId: SEND, sampled: false, tracestate: "a=1" });
  expect(enterTrace(off, none, NEW_ID).context).toBe(off);
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
