export * from "./administration.ts";
export * from "./arguments.ts";
export * from "./cache-choice.ts";
export { CborReader, CborWriter, isTooDeep, MAX_DEPTH, type CborKind } from "./cbor.ts";
export { contentHash, isContentHash, type ContentHash } from "./content-hash.ts";
export * from "./environment.ts";
export * from "./health.ts";
export * from "./host-functions.ts";
export * from "./ids.ts";
export { MalformedError, TooLargeError } from "./malformed-error.ts";
export * from "./manifest.ts";
export * from "./messages/followup.ts";
export * from "./messages/lvi-reply.ts";
export * from "./messages/lvi-request.ts";
export { PROTOCOL_VERSION } from "./messages/fields.ts";
export * from "./module-content.ts";
export * from "./outcome.ts";
export * from "./radical-error.ts";
export {
  checkRedaction,
  redact,
  type RedactionQuestion,
  type RedactionSecrets,
} from "./redaction.ts";
export * from "./signature.ts";
export * from "./trace-context.ts";
export * from "./updates.ts";
export * from "./value-type.ts";
export * from "./version.ts";
