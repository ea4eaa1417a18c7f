/** Where the spans of this server go: by its own options, else by the variables that all programs with OpenTelemetry read. */
import { type OtlpTarget, readOtlp } from "@radical/protocol";

/** Null: nobody wants spans. A text says what is wrong. */
export function tracesSettings(
  { otlp, otlpRatio }: { readonly otlp: string | null; readonly otlpRatio: number | null },
  environment: NodeJS.ProcessEnv,
): OtlpTarget | string | null {
  const read = readOtlp({
    ...environment,
    ...(otlp === null ? {} : { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlp, OTEL_SDK_DISABLED: "" }),
    ...(otlpRatio === null ? {} : { OTEL_TRACES_SAMPLER: "", OTEL_TRACES_SAMPLER_ARG: String(otlpRatio) }),
  });
  return read?.kind === "wrong" ? `${read.name} must be ${read.expected}.` : read;
}
