/**
 * A task of Fargate, run here. The image that lies in the registry is unpacked, and started as the deployed template says: with its
 * command, its environment and its user. Its cloudflared is not run, since it needs the internet.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { CloudFormationClient, GetTemplateCommand } from "@aws-sdk/client-cloudformation";
import type { ImageRegistry, Manifest } from "@radical/deploy/testing";
import type { NodeName } from "@radical/protocol";

interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Properties: { readonly ContainerDefinitions: readonly Container[] } }>
  >;
}

interface Container {
  readonly Name: string;
  readonly Image: Value;
  readonly User: string;
  readonly HealthCheck: { readonly Command: readonly string[] };
  readonly Environment: readonly { readonly Name: string; readonly Value: Value }[];
}

type Value = string | { readonly "Fn::Sub": string };

export interface ServerTask {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Ends with 0 if the server is healthy. */
  readonly health: readonly string[];
  readonly cwd: string;
  /** As root the image's user, else whoever runs the test. */
  readonly user: { readonly uid?: number; readonly gid?: number };
}

/** As CloudFormation has it. */
export async function deployedTemplate(stack: string): Promise<unknown> {
  const client = new CloudFormationClient();
  try {
    const { TemplateBody } = await client.send(new GetTemplateCommand({ StackName: stack }));
    return JSON.parse(TemplateBody!);
  } finally {
    client.destroy();
  }
}

/** Of the container `server` of a machine. `folder` becomes the root of its image, in which it may write nothing. */
export function serverTask(
  template: unknown,
  node: NodeName,
  registry: ImageRegistry,
  folder: string,
  region: string,
): ServerTask {
  const { ContainerDefinitions } = (template as Template).Resources[`Task${node.toUpperCase()}`]!.Properties;
  const server = ContainerDefinitions.find(({ Name }) => Name === "server")!;
  const textOf = (value: Value): string =>
    typeof value === "string"
      ? value
      : value["Fn::Sub"]
          .replaceAll("${AWS::Region}", region)
          .replaceAll("${AWS::AccountId}", "123456789012")
          .replaceAll("${AWS::URLSuffix}", "amazonaws.com");
  const [, repository = "", tag = ""] =
    /^123456789012\.dkr\.ecr\.[^/]+\.amazonaws\.com\/([^:]+):(.+)$/.exec(textOf(server.Image)) ?? [];
  const jsonOf = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString("utf8"));
  const { config, layers } = jsonOf(registry.manifest(repository, tag)!.bytes) as Manifest;
  const image = jsonOf(registry.blob(config.digest)!) as {
    readonly config: {
      readonly User: string;
      readonly Env: readonly string[];
      readonly Entrypoint: readonly string[];
      readonly WorkingDir: string;
    };
  };
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const { digest } of layers) {
    const tar = join(folder, "layer.tar");
    writeFileSync(tar, gunzipSync(registry.blob(digest)!));
    execFileSync("tar", ["--extract", "--numeric-owner", "--file", tar, "--directory", folder]);
  }
  if (image.config.User !== server.User) throw new Error("the task runs as another user than its image");
  const inHere = (part: string): string =>
    part === "node" ? process.execPath : part.replace(/^(?=\/(?:opt|var\/lib)\/radical)/, folder);
  const [program = "", ...args] = image.config.Entrypoint.map(inHere);
  return {
    program,
    args,
    environment: {
      ...Object.fromEntries(image.config.Env.map((pair) => pair.split(/=(.*)/s) as [string, string])),
      ...Object.fromEntries(server.Environment.map(({ Name, Value }) => [Name, textOf(Value)])),
    },
    health: server.HealthCheck.Command.slice(1).map(inHere),
    cwd: inHere(image.config.WorkingDir),
    user: process.getuid?.() === 0 ? { uid: 1_000, gid: 1_000 } : {},
  };
}
