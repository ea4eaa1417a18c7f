import { expect, test } from "vitest";
import { traceContextOf } from "./trace-context.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("a trace context is passed on as it came", () => {
  expect(traceContextOf(TRACEPARENT, "vendor=1")).toEqual({
    traceparent: TRACEPARENT,
    tracestate: "vendor=1",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanId: "00f067aa0ba902b7",
    sampled: true,
  });
  expect(traceContextOf(TRACEPARENT.replace("-01", "-00"), null)?.sampled).toBe(false);
  expect(traceContextOf(TRACEPARENT.replace("00-", "01-") + "-later", null)?.traceId).toMatch(/^4bf9/);
  expect(traceContextOf(TRACEPARENT, "x".repeat(513))?.tracestate).toBeNull();
});

test.each([
  null,
  "",
  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
  TRACEPARENT.replace("00-", "ff-"),
  TRACEPARENT.toUpperCase(),
  `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
  `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`,
  `${TRACEPARENT}\n`,
  `${TRACEPARENT}-${"x".repeat(128)}`,
])("what is no traceparent is not: %j", (traceparent) => {
  expect(traceContextOf(traceparent, "vendor=1")).toBeNull();
});
