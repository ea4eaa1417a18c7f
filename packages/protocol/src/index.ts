export * from "./administration.ts";
export * from "./administrative-paths.ts";
export * from "./arguments.ts";
export * from "./blob.ts";
export * from "./cache-choice.ts";
export * from "./cache-orders.ts";
export { CborReader, CborWriter, isTooDeep, MAX_DEPTH, type CborKind } from "./cbor.ts";
export { contentHash, hashText, hashWords, isContentHash, type ContentHash } from "./content-hash.ts";
export * from "./dashboard.ts";
export * from "./duration.ts";
export * from "./environment.ts";
export * from "./health.ts";
export * from "./host-functions.ts";
export * from "./ids.ts";
export * from "./index-entry.ts";
export { assert, present } from "./invariant.ts";
export * from "./life.ts";
export * from "./location-alarms.ts";
export * from "./logged-line.ts";
export { MalformedError, TooLargeError, UnknownVersionError } from "./malformed-error.ts";
export * from "./manifest.ts";
export * from "./messages/followup.ts";
export * from "./messages/listening.ts";
export * from "./messages/lvi-reply.ts";
export * from "./messages/lvi-request.ts";
export * from "./messages/service-call.ts";
export * from "./messages/workflow-question.ts";
export * from "./module-content.ts";
export * from "./object-method.ts";
export * from "./otlp.ts";
export * from "./outcome.ts";
export * from "./primary-node.ts";
export { quantileOf } from "./quantile.ts";
export * from "./radical-error.ts";
export * from "./recording-key.ts";
export { DEFAULT_READ_LEASE_MS, MAX_READ_LEASE_MS } from "./read-lease-ms.ts";
export {
  checkRedaction,
  redact,
  isRedacted,
  redactArguments,
  type RedactionQuestion,
  type RedactionSecrets,
  withoutSecrets,
} from "./redaction.ts";
export { secretsAmong, SHOWN_SECRET, type SecretNames } from "./secret.ts";
export * from "./server-metrics.ts";
export * from "./services.ts";
export * from "./signature.ts";
export * from "./span.ts";
export * from "./stored-types.ts";
export type { RulesByTable, TableRules } from "./table-rules.ts";
export * from "./task-administration.ts";
export * from "./workflow-administration.ts";
export * from "./task-rules.ts";
export * from "./tasks.ts";
export * from "./terminal-text.ts";
export * from "./trace-context.ts";
export * from "./units.ts";
export * from "./value-type.ts";
export * from "./version.ts";
export { ABI_VERSION, OLDEST_ABI_VERSION } from "./wire-version.ts";
export * from "./workflows.ts";
