/**
 * The error table of DynamoDB: what each failure of a request means for what was asked. `docs/internals/storage.md` shows
 * it with what the core makes of it. A wrong row is a consistency bug, so each has its test.
 *
 * A condition that failed is no failure but an answer, and not in here.
 */
import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from "@aws-sdk/client-dynamodb";

export type FailureKind =
  | "throttled"
  | "unavailable"
  | "timed_out"
  | "connection_lost"
  | "unreachable"
  | "conflict"
  | "too_large"
  | "table_missing"
  | "denied"
  | "no_credentials"
  | "no_region"
  | "expired_credentials"
  | "invalid";

interface FailureRow {
  /** Of this one request: whether it may have been carried out, or may yet be. */
  readonly effect: "none" | "unknown";
  /** Whether the same request may succeed soon. */
  readonly retry: boolean;
  /** What happened, in the operator's terms, and what to do. */
  readonly words: string;
}

export const FAILURES: Readonly<Record<FailureKind, FailureRow>> = {
  throttled: {
    effect: "none",
    retry: true,
    words: "DynamoDB throttles: the table's or a partition's throughput is used up",
  },
  unavailable: { effect: "unknown", retry: true, words: "DynamoDB failed" },
  timed_out: { effect: "unknown", retry: true, words: "DynamoDB did not answer in time" },
  connection_lost: { effect: "unknown", retry: true, words: "The connection to DynamoDB was lost before the answer" },
  unreachable: { effect: "none", retry: true, words: "DynamoDB can't be reached: check the endpoint and the network" },
  conflict: { effect: "none", retry: true, words: "Another transaction on the same items is under way" },
  too_large: { effect: "none", retry: false, words: "An item is larger than DynamoDB takes (400 KB)" },
  table_missing: {
    effect: "none",
    retry: false,
    words: "A table is missing: start the server once with the right to create tables",
  },
  denied: {
    effect: "none",
    retry: false,
    words: "Access is denied: check the credentials and their policy for the tables",
  },
  no_credentials: {
    effect: "none",
    retry: false,
    words: "There are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role",
  },
  no_region: {
    effect: "none",
    retry: false,
    words: "There is no AWS region: add ?region=… to the address, or set AWS_REGION",
  },
  // A provider of credentials fetches new ones for the next attempt.
  expired_credentials: { effect: "none", retry: true, words: "The AWS credentials have expired" },
  invalid: { effect: "none", retry: false, words: "DynamoDB refuses the request" },
};

const BY_NAME: Readonly<Record<string, FailureKind>> = {
  ProvisionedThroughputExceededException: "throttled",
  ThrottlingException: "throttled",
  RequestLimitExceeded: "throttled",
  LimitExceededException: "throttled",
  InternalServerError: "unavailable",
  ServiceUnavailable: "unavailable",
  TransactionConflictException: "conflict",
  // The same transaction, sent before, is still being carried out.
  TransactionInProgressException: "conflict",
  ItemCollectionSizeLimitExceededException: "too_large",
  ResourceNotFoundException: "table_missing",
  AccessDeniedException: "denied",
  UnrecognizedClientException: "denied",
  InvalidSignatureException: "denied",
  MissingAuthenticationTokenException: "denied",
  IncompleteSignatureException: "denied",
  CredentialsProviderError: "no_credentials",
  ExpiredTokenException: "expired_credentials",
};

const BY_SOCKET: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: "unreachable",
  ENOTFOUND: "unreachable",
  EAI_AGAIN: "unreachable",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
};

/** Null for what is an answer: a condition that did not hold. Who sent the request knows by itself that it was too slow. */
export function failureOf(error: unknown): FailureKind | null {
  if (error instanceof ConditionalCheckFailedException) return null;
  if (error instanceof TransactionCanceledException) {
    const codes = (error.CancellationReasons ?? []).map(({ Code }) => Code);
    if (codes.includes("ConditionalCheckFailed")) return null;
    if (codes.includes("TransactionConflict")) return "conflict";
    if (codes.includes("ThrottlingError") || codes.includes("ProvisionedThroughputExceeded")) return "throttled";
    if (codes.includes("ItemCollectionSizeLimitExceeded")) return "too_large";
    return isTooLarge(error.message) ? "too_large" : "invalid";
  }
  if (!(error instanceof Error)) return "connection_lost";
  const known = BY_NAME[error.name];
  if (known !== undefined) return known;
  if (error instanceof DynamoDBServiceException) {
    if (isTooLarge(error.message)) return "too_large";
    const status = error.$metadata.httpStatusCode ?? 500;
    return status === 429 ? "throttled" : status >= 400 && status < 500 ? "invalid" : "unavailable";
  }
  if (/^Region (is missing|not accepted)/.test(error.message)) return "no_region";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  // Whatever else happens once a request was sent: nobody knows.
  return BY_SOCKET[code] ?? "connection_lost";
}

function isTooLarge(message: string): boolean {
  return /item size|too large|size limit/i.test(message);
}
