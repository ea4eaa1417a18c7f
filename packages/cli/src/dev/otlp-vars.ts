/** The collector that the developer's environment names for spans, as a location's Worker is told. The server reads the same. */
export function otlpVars(environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const of = (name: string): string => environment[name] ?? "";
  const url = of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") || of("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (url === "" || of("OTEL_SDK_DISABLED").toLowerCase() === "true") return {};
  return {
    RADICAL_OTLP_URL: url,
    RADICAL_OTLP_HEADERS: of("OTEL_EXPORTER_OTLP_HEADERS"),
    RADICAL_OTLP_RATIO: of("OTEL_TRACES_SAMPLER_ARG"),
  };
}
