import { expect, test } from "vitest";
import { tracesSettings } from "./traces-settings.ts";

const NONE = { otlp: null, otlpRatio: null };

test("options count more than the variables of OpenTelemetry", () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_SAMPLER_ARG: "0.5" };
  expect(tracesSettings(NONE, {})).toBeNull();
  expect(tracesSettings(NONE, environment)).toMatchObject({ url: "http://127.0.0.1:4318/v1/traces", ratio: 0.5 });
  expect(tracesSettings({ otlp: "http://other/v1/traces", otlpRatio: 0.000_000_1 }, environment)).toMatchObject({
    url: "http://other/v1/traces",
    ratio: 0.000_000_1,
  });
});

test("an option counts also where the variables want no spans", () => {
  const off = { OTEL_SDK_DISABLED: "true", OTEL_TRACES_SAMPLER: "always_off" };
  expect(tracesSettings(NONE, { ...off, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" })).toBeNull();
  expect(tracesSettings({ otlp: "http://other/v1/traces", otlpRatio: 0.5 }, off)).toMatchObject({
    url: "http://other/v1/traces",
    ratio: 0.5,
    followsCaller: true,
  });
});

test("a variable that is wrong is told", () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" };
  expect(tracesSettings(NONE, environment)).toMatch(/^OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/);
});
