import { expect, test } from "vitest";
import { CommandError } from "@radical/app/command-error";
import { StorageError } from "@radical/lvi-server";
import { awsError, stackError, tablesError } from "./aws-errors.ts";

function named(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

test.each([
  [named("CredentialsProviderError", "Could not load credentials from any providers"), "aws_no_credentials"],
  [named("ExpiredTokenException", "The security token included in the request is expired"), "aws_credentials_expired"],
  [
    named("CredentialsProviderError", "Token is expired. To refresh this SSO session run 'aws sso login'"),
    "aws_credentials_expired",
  ],
  [named("InvalidClientTokenId", "The security token included in the request is invalid."), "aws_credentials_invalid"],
  [named("SignatureDoesNotMatch", "The request signature we calculated does not match"), "aws_credentials_invalid"],
  [named("SignatureDoesNotMatch", "Signature expired: 20260101T000000Z is now earlier than"), "aws_clock"],
  [
    named("RequestTimeTooSkewed", "The difference between the request time and the current time is too large."),
    "aws_clock",
  ],
  [named("Error", "Region is missing"), "aws_region_missing"],
  [
    named("AccessDeniedException", "User: x is not authorized to perform: dynamodb:CreateTable on resource: y"),
    "aws_access_denied",
  ],
  [named("Forbidden", "UnknownError"), "aws_access_denied"],
  [named("LimitExceededException", "Subscriber limit exceeded"), "aws_quota"],
  [named("Error", "connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" }), "aws_unreachable"],
  [named("AggregateError", "", { cause: named("Error", "", { code: "ENOTFOUND" }) }), "aws_unreachable"],
  [named("InternalFailure", "We encountered an internal error"), "aws_failed"],
])("%s is told as %s", (error, code) => {
  const told = awsError(error, "the table x");
  expect(told).toBeInstanceOf(CommandError);
  expect(told.code).toBe(code);
  expect(told.message).toContain("the table x");
  expect(told.message).toContain(error.message);
  expect(told.cause).toBe(error);
});

test("what was refused is named by the action that is lacking", () => {
  const told = awsError(
    named("AccessDenied", "User: arn:aws:iam::1:user/ann is not authorized to perform: iam:CreateRole on resource: r"),
    "the change of the stack x",
  );
  expect(told.message).toMatch(/^The AWS identity may not iam:CreateRole \(the change of the stack x\)/);
});

test("an error that has been told is not told again", () => {
  const told = awsError(named("InternalFailure", "no"), "the table x");
  expect(awsError(told, "the stack")).toBe(told);
});

test.each([
  ["machine a: Received 1 FAILURE signal(s) out of 1", "machine_not_up"],
  ["network: The maximum number of VPCs has been reached.", "aws_quota"],
  [
    "machine b: Your requested instance type (t4g.micro) is not supported in your requested Availability Zone (us-east-1e).",
    "aws_zone",
  ],
  [
    "role of the machines: API: iam:CreateRole User: x is not authorized to perform: iam:CreateRole",
    "aws_access_denied",
  ],
  ["network: something else", "stack_failed"],
])("the stack failed because of %s: %s", (reason, code) => {
  const told = stackError(reason, "the change of the stack x", "the change was taken back");
  expect(told.code).toBe(code);
  expect(told.message).toContain(reason);
  expect(told.message).toMatch(/\n {2}the change was taken back$/);
});

test("an error of the tables names the table within one sentence, and has the words of AWS once", () => {
  const refused = named("ValidationException", "No such index");
  const inTable = new StorageError("none", "Can't make the table shop-meta: DynamoDB refuses the request.", refused);
  expect(tablesError(inTable).message).toBe(
    "AWS refused the tables: Can't make the table shop-meta: DynamoDB refuses the request: No such index",
  );
  const late = new StorageError("unknown", "The table shop-meta is still there.");
  expect(tablesError(late).message).toBe("AWS refused the tables: The table shop-meta is still there.");
  expect(tablesError(refused).message).toBe("AWS refused the tables: No such index");
});
