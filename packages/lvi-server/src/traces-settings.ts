/** Where the spans of this server go: its own options, and the variables that all programs with OpenTelemetry read. */
import { otlpHeaders, otlpRatio, type OtlpTarget, otlpTracesUrl } from "@radical/protocol";

export interface TracesSettings extends OtlpTarget {
  readonly service: string;
}

/** Null: nobody wants spans. A text says what is wrong. */
export function tracesSettings(
  given: { readonly otlp: string | null; readonly otlpRatio: number | null },
  environment: NodeJS.ProcessEnv,
): TracesSettings | string | null {
  const of = (name: string): string => environment[name] ?? "";
  if (of("OTEL_SDK_DISABLED").toLowerCase() === "true") return null;
  const variable =
    of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") === ""
      ? "OTEL_EXPORTER_OTLP_ENDPOINT"
      : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const address = given.otlp ?? of(variable);
  if (address === "") return null;
  const url = otlpTracesUrl(address);
  if (url === null)
    return `${variable} must be an http or https URL without a password, such as http://127.0.0.1:4318.`;
  const headers = otlpHeaders(of("OTEL_EXPORTER_OTLP_HEADERS"));
  if (headers === null) return "OTEL_EXPORTER_OTLP_HEADERS must be name=value,name=value with values percent-encoded.";
  const part = of("OTEL_TRACES_SAMPLER_ARG");
  const ratio = given.otlpRatio ?? (part === "" ? 1 : otlpRatio(part));
  if (ratio === null) return `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, and is "${part}".`;
  return { url, headers, ratio, service: of("OTEL_SERVICE_NAME") || "radical-primary" };
}
