import { expect, test } from "vitest";
import { tracesSettings } from "./traces-settings.ts";

const NONE = { otlp: null, otlpRatio: null };

test("without a collector there are no spans", () => {
  expect(tracesSettings(NONE, {})).toBeNull();
  expect(tracesSettings(NONE, { OTEL_SERVICE_NAME: "shop" })).toBeNull();
  expect(tracesSettings({ otlp: "http://a/v1/traces", otlpRatio: 1 }, { OTEL_SDK_DISABLED: "true" })).toBeNull();
});

test("the variables of OpenTelemetry are read, and options count more", () => {
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=k",
    OTEL_SERVICE_NAME: "shop",
    OTEL_TRACES_SAMPLER_ARG: "0.5",
  };
  expect(tracesSettings(NONE, environment)).toEqual({
    url: "http://127.0.0.1:4318/v1/traces",
    headers: { "api-key": "k" },
    ratio: 0.5,
    service: "shop",
  });
  expect(tracesSettings({ otlp: "http://other/v1/traces", otlpRatio: 0 }, environment)).toMatchObject({
    url: "http://other/v1/traces",
    ratio: 0,
  });
  const ofTraces = { ...environment, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces/v1/traces" };
  expect(tracesSettings(NONE, ofTraces)).toMatchObject({ url: "http://traces/v1/traces" });
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api-key"],
  ["OTEL_TRACES_SAMPLER_ARG", "2"],
])("a wrong %s is told: %s", (name, text) => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", [name]: text };
  expect(tracesSettings(NONE, environment)).toMatch(new RegExp(`^${name} must be`));
});
