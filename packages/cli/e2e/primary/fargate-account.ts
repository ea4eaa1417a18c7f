/** Fargate as far as it is here: moto's ECR beside a registry of images, which behave as one, behind the proxy that makes calls fail. */
import { type ImageRegistry, type ImageSource, startImageRegistry } from "@radical/deploy/testing";
import { type Answer, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import type { Moto } from "./moto.ts";

export interface FargateAccount {
  readonly registry: ImageRegistry;
  readonly proxy: Omit<FaultProxy, "stop">;
  /** In place of those of Docker Hub. */
  readonly images: { readonly base: ImageSource; readonly tunnel: ImageSource };
  stop(): Promise<void>;
}

export async function startFargateAccount(moto: Moto): Promise<FargateAccount> {
  const [registry, proxy] = await Promise.all([startImageRegistry(), startFaultProxy(moto.port)]);
  // The registry of an account is the registry of its images: what is pushed is listed.
  registry.onTag(async (repositoryName, imageTag, { descriptor, bytes }) => {
    const response = await fetch(moto.endpoint, {
      method: "POST",
      headers: {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": "AmazonEC2ContainerRegistry_V20150921.PutImage",
        authorization:
          "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/ecr/aws4_request, SignedHeaders=host, Signature=0",
      },
      body: JSON.stringify({
        repositoryName,
        imageTag,
        imageManifest: Buffer.from(bytes).toString("utf8"),
        imageManifestMediaType: descriptor.mediaType,
      }),
    });
    if (!response.ok) throw new Error(`moto keeps no image: ${await response.text()}`);
  });
  const withRegistry = async (call: string, said: () => Promise<Answer>): Promise<Answer | null> => {
    if (call === "DeleteRepository") registry.removeRepositories("radical-");
    if (call !== "GetAuthorizationToken") return null;
    const token = registry.authorization.slice("Basic ".length);
    const { status } = await said();
    const body = { authorizationData: [{ authorizationToken: token, proxyEndpoint: registry.origin }] };
    return { status, body: JSON.stringify(body) };
  };
  proxy.answer(withRegistry);
  const file = (name: string) => ({ files: { [name]: name }, config: { Env: ["PATH=/usr/bin"], Cmd: [name] } });
  return {
    registry,
    proxy: {
      ...proxy,
      answer: (by) => proxy.answer(async (call, said) => (await by?.(call, said)) ?? withRegistry(call, said)),
    },
    images: {
      base: registry.publish("library/node", { amd64: file("node"), arm64: file("node") }),
      tunnel: registry.publish("cloudflare/cloudflared", { amd64: file("tunnel"), arm64: file("tunnel") }),
    },
    stop: async () => {
      await Promise.all([registry.stop(), proxy.stop()]);
    },
  };
}
