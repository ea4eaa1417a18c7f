/** What AWS refuses, told as what is wrong and what to do. The words of AWS are kept. */
import { CommandError, messageOf } from "@radical/app/command-error";
import { StorageError } from "@radical/lvi-server";

interface Remedy {
  readonly code: string;
  /** Of the error's name or message. */
  readonly matches: RegExp;
  readonly words: string;
  readonly hint: string;
}

/** The first that matches counts. */
const REMEDIES: readonly Remedy[] = [
  {
    code: "aws_credentials_expired",
    matches: /ExpiredToken|TokenRefreshRequired|RequestExpired|token (?:is|has) expired|session.*expired/i,
    words: "The AWS credentials have expired",
    hint: "Log in again (`aws sso login`). Then run the same command again: it goes on from here.",
  },
  {
    code: "aws_no_credentials",
    matches:
      /CredentialsProviderError|Could not load credentials|Unable to find .*profile|Could not resolve credentials/i,
    words: "No AWS credentials were found",
    hint: "Log in (`aws sso login` or `aws configure`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
  },
  {
    code: "aws_clock",
    matches: /RequestTimeTooSkewed|Signature (?:expired|not yet current)/i,
    words: "The clock of this machine is wrong, so AWS refuses its signatures",
    hint: "Set the clock, then run the same command again.",
  },
  {
    code: "aws_credentials_invalid",
    matches:
      /InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId|AuthFailure|IncompleteSignature/i,
    words: "AWS does not know these credentials",
    hint: "See with `aws sts get-caller-identity` which ones are used. AWS_* variables come before profiles.",
  },
  {
    code: "aws_region_missing",
    matches: /Region is missing/i,
    words: "No AWS region is chosen",
    hint: "Give one near your users, since all writes go there: --region eu-central-1, or AWS_REGION.",
  },
  {
    code: "aws_access_denied",
    matches: /AccessDenied|UnauthorizedOperation|not authorized|\bForbidden\b/i,
    words: "The AWS identity lacks a permission that a deployment needs",
    hint: "Allow its user or role the action. docs/operations.md, Permissions, lists all that a deployment needs.",
  },
  {
    code: "aws_quota",
    matches: /LimitExceeded|ServiceQuota|QuotaExceeded|TooManyBuckets|maximum number of|vCPU limit|has been reached/i,
    words: "A quota of the AWS account is used up",
    hint: "Remove unused resources, or ask for more (console: Service Quotas). Then run the same command again.",
  },
  {
    code: "aws_zone",
    matches:
      /not supported in your requested Availability Zone|InsufficientInstanceCapacity|do not have sufficient .*capacity/i,
    words: "An availability zone has no machine of this type",
    hint: "If that lasts, choose another region (--region). Then run the same command again.",
  },
  {
    code: "aws_service_role",
    matches: /service.linked role/i,
    words: "AWS has just made the role of ECS for this account, and does not know it everywhere yet",
    hint: "Run the same command again: it goes on from here.",
  },
  {
    code: "registry_failed",
    matches: /^RegistryError/,
    words: "A registry of images did not do what was asked",
    hint: "If it is Docker Hub with 429, its limit for downloads without a name is used up: wait, or run the command from another network. Then run the same command again: it goes on from here.",
  },
  {
    code: "machine_not_up",
    matches: /circuit breaker|did(?:n't| not) stabilize|Received \d+ FAILURE signal|resource signal|Failed to receive/i,
    words: "A machine did not come up",
    hint: "Its log says why, in the log group of the deployment: a stream that begins with <node>/. On Fargate `aws ecs describe-services` tells more. Then run the same command again.",
  },
  {
    code: "aws_unreachable",
    matches: /ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|TimeoutError|NetworkingError|socket hang up|EPIPE/i,
    words: "AWS can't be reached",
    hint: "Check the network and AWS_ENDPOINT_URL. Then run the same command again: it goes on from here.",
  },
];

/** `doing`: what was under way, as in "while the stack was changed". */
export function awsError(error: unknown, doing: string): CommandError {
  if (error instanceof CommandError) return error;
  const name = error instanceof Error ? error.name : "";
  return remedied(`${name} ${codeOf(error)} ${messageOf(error)}`, messageOf(error) || name, doing, error);
}

/** An error of the tables. The words of a StorageError name the table; the reason is that of AWS. */
export function tablesError(error: unknown): CommandError {
  if (!(error instanceof StorageError)) return awsError(error, "the tables");
  const { message, cause } = error;
  return cause instanceof Error
    ? awsError(cause, `the tables: ${message.replace(/\.$/, "")}`)
    : awsError(error, "the tables");
}

/** The same for a reason that CloudFormation gives. `state`: what is so after it. */
export function stackError(reason: string, doing: string, state: string): CommandError {
  const { code, message, hint } = remedied(reason, reason, doing, undefined);
  return new CommandError(code === "aws_failed" ? "stack_failed" : code, `${message}\n  ${state}`, hint);
}

function remedied(searched: string, said: string, doing: string, cause: unknown): CommandError {
  const remedy = REMEDIES.find(({ matches }) => matches.test(searched));
  if (remedy === undefined) {
    return new CommandError(
      "aws_failed",
      `AWS refused ${doing}: ${said}`,
      "If that passes, run the same command again: it goes on from here.",
      { cause },
    );
  }
  const action = /not authorized to perform:? `?([a-z0-9-]+:[A-Za-z]+)/.exec(said)?.[1];
  const denied = action === undefined ? remedy.words : `The AWS identity may not ${action}`;
  return new CommandError(remedy.code, `${denied} (${doing}): ${said}`, remedy.hint, { cause });
}

/** Of the network: it may be the cause of a cause. */
function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return "cause" in error ? `${code} ${codeOf(error.cause)}` : code;
}
