/**
 * Questions to AWS for which its SDK has clients that are large: signed by the SDK's own signer, and answered as text. They change
 * nothing and are asked once: whoever gets no answer goes on without.
 */
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { STSClient } from "@aws-sdk/client-sts";

/** Service by its name in addresses and signatures, with the version of its query protocol, or the target of its JSON protocol. */
const QUERY_VERSIONS = { ec2: "2016-11-15", iam: "2010-05-08" } as const;
const TARGETS = {
  servicequotas: "ServiceQuotasV20190624",
  dynamodb: "DynamoDB_20120810",
  ecs: "AmazonEC2ContainerServiceV20141113",
} as const;
const CONTENT_TYPES = {
  servicequotas: "application/x-amz-json-1.1",
  dynamodb: "application/x-amz-json-1.0",
  ecs: "application/x-amz-json-1.1",
} as const;

export type QueryService = keyof typeof QUERY_VERSIONS;
export type JsonService = keyof typeof TARGETS;

/** As the SDK calls them in `AWS_ENDPOINT_URL_…`. */
const ENDPOINT_NAMES = {
  ec2: "EC2",
  ecs: "ECS",
  iam: "IAM",
  servicequotas: "SERVICE_QUOTAS",
  dynamodb: "DYNAMODB",
} as const;

const REQUEST_MS = 10_000;

/** What AWS has refused. */
export class AwsRefusal extends Error {
  override readonly name = "AwsRefusal";
  /** `AccessDenied`, `NoSuchResourceException`, … */
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}${message === "" ? "" : `: ${message}`}`);
    this.code = code;
  }
}

export class AwsQuestions {
  readonly #credentials: STSClient["config"]["credentials"];
  readonly #region: string;

  constructor(credentials: STSClient["config"]["credentials"], region: string) {
    this.#credentials = credentials;
    this.#region = region;
  }

  /** The answer's XML. */
  query(service: QueryService, action: string, parameters: Readonly<Record<string, string>> = {}): Promise<string> {
    const body = new URLSearchParams({ Action: action, Version: QUERY_VERSIONS[service], ...parameters });
    return this.#ask(service, body.toString(), {
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
    });
  }

  async json<T>(service: JsonService, operation: string, input: object): Promise<T> {
    const text = await this.#ask(service, JSON.stringify(input), {
      "content-type": CONTENT_TYPES[service],
      "x-amz-target": `${TARGETS[service]}.${operation}`,
    });
    return JSON.parse(text) as T;
  }

  async #ask(
    service: QueryService | JsonService,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<string> {
    const { url, region } = this.#placeOf(service);
    const signer = new SignatureV4({ service, region, credentials: this.#credentials, sha256: Sha256 });
    const signed = await signer.sign({
      method: "POST",
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port === "" ? {} : { port: Number(url.port) }),
      path: "/",
      query: {},
      headers: { host: url.host, ...headers },
      body,
    });
    const { host: _, ...sent } = signed.headers;
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(url, { method: "POST", headers: sent, body, signal });
    const text = await response.text();
    if (response.ok) return text;
    throw refusalOf(response.status, text);
  }

  #placeOf(service: QueryService | JsonService): { readonly url: URL; readonly region: string } {
    const isChina = this.#region.startsWith("cn-");
    const isGlobal = service === "iam";
    const region = isGlobal ? (isChina ? "cn-north-1" : "us-east-1") : this.#region;
    const given = process.env[`AWS_ENDPOINT_URL_${ENDPOINT_NAMES[service]}`] ?? process.env["AWS_ENDPOINT_URL"];
    const host = `${service}.${isGlobal && !isChina ? "" : `${region}.`}amazonaws.com${isChina ? ".cn" : ""}`;
    return { url: new URL(given ?? `https://${host}/`), region };
  }
}

/** Each protocol has its own place for the code and the words. */
function refusalOf(status: number, text: string): AwsRefusal {
  const code = /<Code>([^<]*)</.exec(text)?.[1] ?? /"__type"\s*:\s*"(?:[^"]*#)?([^"]*)"/.exec(text)?.[1];
  const words = /<Message>([^<]*)</.exec(text)?.[1] ?? /"[Mm]essage"\s*:\s*"([^"]*)"/.exec(text)?.[1];
  return new AwsRefusal(code ?? `status ${status}`, words ?? "");
}

/** What the signer wants of a hash. */
class Sha256 {
  readonly #hash;

  constructor(secret?: unknown) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: unknown): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error("a hash is made once");
  }
}

function bytesOf(data: unknown): Uint8Array | string {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError("neither text nor bytes");
}
