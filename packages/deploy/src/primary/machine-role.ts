/** The permissions of the machines in the account: no more than their deployment needs, each resource by its name. */
import { primaryNames } from "./names.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import { type Resource, sub } from "./template-parts.ts";

const TABLE_ACTIONS = [
  "BatchGetItem",
  "BatchWriteItem",
  "ConditionCheckItem",
  "DeleteItem",
  // Neither CreateTable nor DeleteTable: a table that is gone must not come back empty by itself.
  "DescribeTable",
  "DescribeTimeToLive",
  "GetItem",
  "PutItem",
  "Query",
  "Scan",
  "UpdateItem",
].map((action) => `dynamodb:${action}`);

export interface Statement {
  readonly Effect: "Allow";
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

export function allow(Action: string | readonly string[], Resource: unknown): Statement {
  return { Effect: "Allow", Action, Resource };
}

/** Of a resource in the deployment's region and account. */
export function arn(service: string, resource: string): unknown {
  return sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${resource}`);
}

/** The tables, with what is in them. */
export function tablesStatement(settings: PrimarySettings): Statement {
  const { tablePrefix } = primaryNames(settings);
  return allow(
    TABLE_ACTIONS,
    ["items", "executions", "parts", "overflow", "keys", "meta"].flatMap((table) => [
      arn("dynamodb", `table/${tablePrefix}-${table}`),
      ...(table === "executions" ? [arn("dynamodb", `table/${tablePrefix}-${table}/index/*`)] : []),
    ]),
  );
}

/** `policies`: managed ones, by their ARN. */
export function roleOf(
  { permissionsBoundary }: Pick<PrimarySettings, "permissionsBoundary">,
  service: string,
  name: string,
  statements: readonly Statement[],
  policies: readonly unknown[] = [],
): Resource {
  return {
    Type: "AWS::IAM::Role",
    Properties: {
      AssumeRolePolicyDocument: {
        Version: "2012-10-17",
        Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: service } }],
      },
      ...(permissionsBoundary === null ? {} : { PermissionsBoundary: permissionsBoundary }),
      ...(policies.length === 0 ? {} : { ManagedPolicyArns: policies }),
      Policies: [{ PolicyName: name, PolicyDocument: { Version: "2012-10-17", Statement: statements } }],
    },
  };
}
