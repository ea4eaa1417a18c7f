/** The calls to AWS that a deployment makes, each in the words of what it does. All errors are CommandErrors. */
import {
  CloudFormationClient,
  CreateChangeSetCommand,
  DeleteChangeSetCommand,
  DeleteStackCommand,
  DescribeChangeSetCommand,
  DescribeStackEventsCommand,
  DescribeStacksCommand,
  ExecuteChangeSetCommand,
  GetTemplateCommand,
  type ResourceChange,
  type Stack,
  type StackEvent,
} from "@aws-sdk/client-cloudformation";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { DeleteParametersCommand, GetParametersCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { CommandError } from "@radical/app/command-error";
import type { QuotaLook } from "../quotas.ts";
import { awsError } from "./aws-errors.ts";
import { type AwsNeeds, lookAtQuotas } from "./aws-quotas.ts";
import { AwsQuestions } from "./aws-questions.ts";
import { tagList, type Template } from "./template-parts.ts";
import type { PrimaryAccess } from "./primary-deployment.ts";

export interface AwsAccountOptions {
  readonly region: string | null;
  /** Between two looks at something that takes its time. */
  readonly pollMs: number;
}

/** Changes of a stack that were worked out and not carried out. */
export interface ProposedChanges {
  readonly changeSet: string;
  /** Empty: nothing would change, and there is no change set. */
  readonly changes: readonly ResourceChange[];
}

export interface StoredParameter {
  readonly value: string;
  readonly storedAtMs: number;
}

/** With `IAM` in it, CloudFormation wants to hear that roles are meant. */
const CAPABILITIES = ["CAPABILITY_IAM" as const];

const NOT_PUBLIC = {
  BlockPublicAcls: true,
  BlockPublicPolicy: true,
  IgnorePublicAcls: true,
  RestrictPublicBuckets: true,
};

const REQUEST_MS = 30_000;
const MAX_ATTEMPTS = 5;

/** Of every client of the SDK. `region` null: as the SDK finds it. */
export function clientSettings(region: string | null) {
  return {
    ...(region === null ? {} : { region }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: { requestTimeout: REQUEST_MS, connectionTimeout: REQUEST_MS },
  };
}

export class AwsAccount {
  readonly #cloudFormation: CloudFormationClient;
  readonly #s3: S3Client;
  readonly #ssm: SSMClient;
  readonly #sts: STSClient;
  readonly #pollMs: number;

  constructor({ region, pollMs }: AwsAccountOptions) {
    const config = clientSettings(region);
    this.#cloudFormation = new CloudFormationClient(config);
    // An endpoint of one's own has no names for buckets.
    const forcePathStyle =
      process.env["AWS_ENDPOINT_URL"] !== undefined || process.env["AWS_ENDPOINT_URL_S3"] !== undefined;
    this.#s3 = new S3Client({ ...config, forcePathStyle });
    this.#ssm = new SSMClient(config);
    this.#sts = new STSClient(config);
    this.#pollMs = pollMs;
  }

  close(): void {
    for (const client of [this.#cloudFormation, this.#s3, this.#ssm, this.#sts]) client.destroy();
  }

  async access(): Promise<PrimaryAccess> {
    return telling("the question who is asking", async () => {
      const region = await this.#sts.config.region();
      let saidAtMs = Number.NaN;
      const command = new GetCallerIdentityCommand({});
      command.middlewareStack.add(
        (next) => async (args) => {
          const result = await next(args);
          const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
          saidAtMs = Date.parse(headers?.["date"] ?? "");
          return result;
        },
        { step: "deserialize", priority: "low" },
      );
      const { Account, Arn } = await this.#sts.send(command);
      if (Account === undefined) throw new Error("AWS named no account");
      const clockSkewMs = Number.isNaN(saidAtMs) ? 0 : Date.now() - saidAtMs;
      return { account: Account, region, identity: Arn ?? "", clockSkewMs };
    });
  }

  /** Answers without permission to ask, too. */
  quotas(needs: Omit<AwsNeeds, "stacks">): Promise<QuotaLook> {
    const questions = new AwsQuestions(this.#sts.config.credentials, needs.region);
    return lookAtQuotas(questions, { ...needs, stacks: () => this.#stackCount() });
  }

  async #stackCount(): Promise<number> {
    let count = 0;
    let token: string | undefined;
    do {
      const page = await this.#cloudFormation.send(new DescribeStacksCommand({ NextToken: token }));
      count += (page.Stacks ?? []).length;
      token = page.NextToken;
    } while (token !== undefined);
    return count;
  }

  // ── Bucket ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `open`: it is there, and could be made public by a slip. */
  bucketState(bucket: string): Promise<"none" | "open" | "closed"> {
    return telling(`a look at the bucket ${bucket}`, async () => {
      if (!(await found(this.#s3.send(new HeadBucketCommand({ Bucket: bucket }))))) return "none";
      try {
        const { PublicAccessBlockConfiguration } = await this.#s3.send(
          new GetPublicAccessBlockCommand({ Bucket: bucket }),
        );
        return isDeepStrictEqual({ ...PublicAccessBlockConfiguration }, NOT_PUBLIC) ? "closed" : "open";
      } catch (error) {
        if (error instanceof Error && error.name === "NoSuchPublicAccessBlockConfiguration") return "open";
        throw error;
      }
    });
  }

  /** Makes it if it is missing, and closes it. */
  makeBucket(bucket: string, region: string): Promise<void> {
    return telling(`the bucket ${bucket}`, async () => {
      try {
        await this.#s3.send(
          new CreateBucketCommand({
            Bucket: bucket,
            // The one region that may not be named.
            ...(region === "us-east-1"
              ? {}
              : { CreateBucketConfiguration: { LocationConstraint: region as "eu-central-1" } }),
          }),
        );
      } catch (error) {
        if (!(error instanceof Error && error.name === "BucketAlreadyOwnedByYou")) throw error;
      }
      await this.#s3.send(
        new PutPublicAccessBlockCommand({
          Bucket: bucket,
          PublicAccessBlockConfiguration: NOT_PUBLIC,
        }),
      );
    });
  }

  hasObject(bucket: string, key: string): Promise<boolean> {
    return telling("a look at the server's artefact", () =>
      found(this.#s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))),
    );
  }

  /** S3 refuses it if it does not arrive as it is. */
  putObject(bucket: string, key: string, body: Uint8Array, sha256: string): Promise<void> {
    return telling("the server's artefact", async () => {
      await this.#s3.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: body,
          ContentType: "application/x-tar",
          ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64"),
        }),
      );
    });
  }

  objectKeys(bucket: string): Promise<readonly string[]> {
    return telling(`a look into the bucket ${bucket}`, async () => {
      const { Contents } = await this.#s3.send(new ListObjectsV2Command({ Bucket: bucket }));
      return (Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
    });
  }

  removeObjects(bucket: string, keys: readonly string[]): Promise<void> {
    return telling(`the removal of old artefacts from the bucket ${bucket}`, async () => {
      if (keys.length === 0) return;
      await this.#s3.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true } }),
      );
    });
  }

  removeBucket(bucket: string): Promise<void> {
    return telling(`the removal of the bucket ${bucket}`, async () => {
      await this.#s3.send(new DeleteBucketCommand({ Bucket: bucket }));
    });
  }

  // ── Parameters ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Those that there are. At most ten names. */
  parameters(names: readonly string[]): Promise<ReadonlyMap<string, StoredParameter>> {
    return telling("a look at the secrets", async () => {
      const { Parameters } = await this.#ssm.send(
        new GetParametersCommand({ Names: [...names], WithDecryption: true }),
      );
      return new Map(
        (Parameters ?? []).flatMap(({ Name, Value, LastModifiedDate }) =>
          Name === undefined || Value === undefined
            ? []
            : [[Name, { value: Value, storedAtMs: LastModifiedDate?.getTime() ?? 0 }]],
        ),
      );
    });
  }

  /** `overwrite` false: fails if there is one, so that two deployments at once don't make two. */
  putSecret(name: string, value: string, description: string, overwrite: boolean): Promise<void> {
    return telling(`the secret ${name}`, async () => {
      await this.#ssm.send(
        new PutParameterCommand({
          Name: name,
          Value: value,
          Type: "SecureString",
          Description: description,
          Overwrite: overwrite,
        }),
      );
    });
  }

  removeParameters(names: readonly string[]): Promise<void> {
    return telling("the removal of the secrets", async () => {
      await this.#ssm.send(new DeleteParametersCommand({ Names: [...names] }));
    });
  }

  // ── Stack ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Undefined: there is none. */
  stack(name: string): Promise<Stack | undefined> {
    return telling(`a look at the stack ${name}`, async () => {
      try {
        const { Stacks } = await this.#cloudFormation.send(new DescribeStacksCommand({ StackName: name }));
        return Stacks?.[0];
      } catch (error) {
        if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
        throw error;
      }
    });
  }

  /** The template as it was sent. */
  stackTemplate(name: string): Promise<unknown> {
    return telling(`a look at the template of the stack ${name}`, async () => {
      const { TemplateBody } = await this.#cloudFormation.send(
        new GetTemplateCommand({ StackName: name, TemplateStage: "Original" }),
      );
      return JSON.parse(TemplateBody ?? "null") as unknown;
    });
  }

  /** What the template would change, executed by nobody yet. */
  proposeChanges(name: string, template: Template, kind: "CREATE" | "UPDATE"): Promise<ProposedChanges> {
    return telling(`the plan of the stack ${name}`, async () => {
      const changeSet = `radical-${randomUUID()}`;
      await this.#cloudFormation.send(
        new CreateChangeSetCommand({
          StackName: name,
          ChangeSetName: changeSet,
          ChangeSetType: kind,
          TemplateBody: JSON.stringify(template),
          Tags: [...tagList(template.Metadata.Tags)],
          Capabilities: CAPABILITIES,
        }),
      );
      const changes: ResourceChange[] = [];
      let token: string | undefined;
      for (;;) {
        const described = await this.#cloudFormation.send(
          new DescribeChangeSetCommand({ StackName: name, ChangeSetName: changeSet, NextToken: token }),
        );
        const { Status, StatusReason = "" } = described;
        if (Status === "FAILED") {
          await this.discardChanges(name, changeSet);
          if (/didn't contain changes|No updates are to be performed/i.test(StatusReason))
            return { changeSet, changes: [] };
          throw new Error(StatusReason);
        }
        if (Status !== "CREATE_COMPLETE") {
          await sleep(this.#pollMs);
          continue;
        }
        for (const { ResourceChange } of described.Changes ?? []) {
          if (ResourceChange !== undefined) changes.push(ResourceChange);
        }
        token = described.NextToken;
        if (token === undefined) return { changeSet, changes };
      }
    });
  }

  discardChanges(name: string, changeSet: string): Promise<void> {
    return telling(`the removal of a plan of the stack ${name}`, async () => {
      await this.#cloudFormation.send(new DeleteChangeSetCommand({ StackName: name, ChangeSetName: changeSet }));
    });
  }

  executeChanges(name: string, changeSet: string): Promise<void> {
    return telling(`the change of the stack ${name}`, async () => {
      await this.#cloudFormation.send(new ExecuteChangeSetCommand({ StackName: name, ChangeSetName: changeSet }));
    });
  }

  removeStack(name: string): Promise<void> {
    return telling(`the removal of the stack ${name}`, async () => {
      await this.#cloudFormation.send(new DeleteStackCommand({ StackName: name }));
    });
  }

  /**
   * Waits until nothing changes any more, and tells each event since `sinceMs` once, in their order. Undefined: the stack is
   * gone. `id`: the stack's, since one that is gone is no more found by its name.
   */
  async settled(id: string, sinceMs: number, onEvent: (event: StackEvent) => void): Promise<Stack | undefined> {
    const told = new Set<string>();
    for (;;) {
      const stack = await this.stack(id);
      const events = stack === undefined ? [] : await this.#events(id, sinceMs);
      for (const event of events) {
        if (event.EventId === undefined || told.has(event.EventId)) continue;
        told.add(event.EventId);
        onEvent(event);
      }
      const status = stack?.StackStatus;
      if (status === undefined || status === "DELETE_COMPLETE") return undefined;
      if (!status.endsWith("_IN_PROGRESS")) return stack;
      await sleep(this.#pollMs);
    }
  }

  /** Of what has happened since, so that it can be told from what follows. */
  async eventIds(id: string, sinceMs: number): Promise<readonly string[]> {
    return (await this.#events(id, sinceMs)).flatMap(({ EventId }) => (EventId === undefined ? [] : [EventId]));
  }

  /** The oldest first. */
  #events(id: string, sinceMs: number): Promise<readonly StackEvent[]> {
    return telling("a look at what happens in the stack", async () => {
      const events: StackEvent[] = [];
      let token: string | undefined;
      do {
        const page = await this.#cloudFormation.send(
          new DescribeStackEventsCommand({ StackName: id, NextToken: token }),
        );
        const fresh = (page.StackEvents ?? []).filter(({ Timestamp }) => (Timestamp?.getTime() ?? 0) >= sinceMs);
        events.push(...fresh);
        token = fresh.length === (page.StackEvents ?? []).length ? page.NextToken : undefined;
      } while (token !== undefined);
      return events.toReversed();
    });
  }
}

async function telling<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof CommandError ? error : awsError(error, doing);
  }
}

async function found(head: Promise<unknown>): Promise<boolean> {
  try {
    await head;
    return true;
  } catch (error) {
    if (error instanceof Error && (error.name === "NotFound" || error.name === "NoSuchBucket")) return false;
    throw error;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
