/**
 * Runs in workerd exactly what was uploaded to the fake of Cloudflare: its modules, bindings and static files. Requests go to
 * the version that serves, or to the one that they name.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Log, LogLevel, Miniflare, type MiniflareOptions } from "miniflare";
import type { FakeBinding, FakeCloudflare, FakeVersion } from "./fake-cloudflare.ts";

export interface FakeEdge {
  /** In place of `https://<worker>.<subdomain>.workers.dev`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** `network`: addresses of the servers behind VPC services, `host:port`, by the name of the service. */
export async function startFakeEdge(
  cloudflare: FakeCloudflare,
  worker: string,
  network: Readonly<Record<string, string>> = {},
): Promise<FakeEdge> {
  const folder = await mkdtemp(join(tmpdir(), "radical-fake-edge-"));
  const running = new Map<string, Promise<{ miniflare: Miniflare; url: string }>>();

  const run = async (version: FakeVersion): Promise<{ miniflare: Miniflare; url: string }> => {
    const assets = join(folder, version.id, "assets");
    for (const [path, bytes] of version.assets ?? []) {
      await mkdir(dirname(join(assets, path)), { recursive: true });
      await writeFile(join(assets, path), bytes);
    }
    const addressOf = (service: string): string => network[cloudflare.services.get(service)?.name ?? ""] ?? "";
    const onLog = (level: string, message: string): void => cloudflare.tell(worker, eventOf(worker, level, message));
    const miniflare = new Miniflare(optionsOf(version, worker, join(folder, "state"), assets, addressOf, onLog));
    const { origin } = await miniflare.ready;
    return { miniflare, url: origin };
  };

  const versionFor = (request: IncomingMessage): FakeVersion | undefined => {
    const [deployment] = cloudflare.workers.get(worker)?.deployments ?? [];
    const overrides = String(request.headers["cloudflare-workers-version-overrides"] ?? "");
    const named = new RegExp(`(?:^|,\\s*)${worker}="([^"]*)"`).exec(overrides)?.[1];
    const overridden = deployment?.versions.find(({ version_id: id }) => id === named);
    const serving = deployment?.versions.toSorted((a, b) => b.percentage - a.percentage)[0];
    return cloudflare.version((overridden ?? serving)?.version_id ?? "");
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const forward = async (): Promise<void> => {
        const version = versionFor(request);
        if (version === undefined) return void response.writeHead(404).end("there is no such Worker");
        if (!running.has(version.id)) running.set(version.id, run(version));
        const { url } = await running.get(version.id)!;
        const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
        const method = request.method ?? "GET";
        // Some answers go on until nobody listens.
        const stop = new AbortController();
        response.once("close", () => stop.abort());
        const answer = await fetch(`${url}${request.url ?? ""}`, {
          signal: stop.signal,
          method,
          headers,
          redirect: "manual",
          ...(["GET", "HEAD"].includes(method) ? {} : { body: new Uint8Array(Buffer.concat(chunks)) }),
        });
        const left = [...answer.headers].filter(([name]) => !["content-encoding", "transfer-encoding"].includes(name));
        response.writeHead(answer.status, Object.fromEntries(left)).flushHeaders();
        for await (const chunk of answer.body ?? []) response.write(chunk);
        response.end();
      };
      forward().catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end(String(error));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      for (const starting of running.values()) await (await starting.catch(() => null))?.miniflare.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function optionsOf(
  version: FakeVersion,
  name: string,
  state: string,
  assets: string,
  addressOf: (service: string) => string,
  onLog: (level: string, message: string) => void,
): MiniflareOptions {
  // Source maps are for stack traces only.
  const code = version.modules.filter(({ type }) => type !== "application/source-map");
  const modules = Object.fromEntries(code.map(({ name: path, type, bytes }) => [path, moduleOf(path, type, bytes)]));
  const { run_worker_first: runWorkerFirst, not_found_handling: notFoundHandling } = version.assetsConfig;
  const config = {
    name,
    compatibilityDate: version.compatibilityDate,
    compatibilityFlags: [...version.compatibilityFlags],
    manifest: { mainModule: version.mainModule, modules },
    exports: Object.fromEntries(
      version.bindings.flatMap(({ type, class_name: className }) =>
        type === "durable_object_namespace" ? [[String(className), CLASS] as const] : [],
      ),
    ),
    env: Object.fromEntries(version.bindings.map((binding) => [binding.name, bindingOf(binding, name, addressOf)])),
    ...(version.assets === null
      ? {}
      : { assets: { directory: assets, hasUserWorker: true, runWorkerFirst, notFoundHandling } }),
  };
  return {
    host: "127.0.0.1",
    port: 0,
    cf: false,
    telemetry: { enabled: false },
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: ({ level, message }: { level: string; message: string }) => onLog(level, message),
    resourcePersistencePath: state,
    workers: [{ config }],
  } as unknown as MiniflareOptions;
}

/** As a tail is told of a request: here of each line that it writes. */
function eventOf(scriptName: string, level: string, message: string): object {
  const timestamp = Date.now();
  return {
    scriptName,
    outcome: "ok",
    logs: [{ message: [message], level, timestamp }],
    exceptions: [],
    event: { request: { method: "POST", url: "https://fake/", headers: {}, cf: { colo: "AMS" } } },
    eventTimestamp: timestamp,
  };
}

/** Of a class that a namespace is bound to. */
const CLASS = { type: "durable-object", storage: "sqlite" } as const;

function moduleOf(path: string, type: string, bytes: Uint8Array<ArrayBuffer>): object {
  switch (type) {
    case "application/javascript+module":
      return { type: "esm", contents: new TextDecoder().decode(bytes) };
    case "application/wasm":
      return { type: "wasm", contents: bytes };
    case "application/json":
      return { type: "json", contents: new TextDecoder().decode(bytes) };
    default:
      throw new Error(`${path} is a module of the type ${type}`);
  }
}

function bindingOf(binding: FakeBinding, worker: string, addressOf: (service: string) => string): object {
  const {
    type,
    text,
    class_name: exportName,
    namespace_id: id,
    bucket_name: bucket,
    service_id: service,
    json,
  } = binding;
  switch (type) {
    case "plain_text":
    case "secret_text":
      return { type: "text", value: text };
    case "json":
      return { type: "json", value: json };
    case "kv_namespace":
      return { type: "kv", id };
    case "r2_bucket":
      return { type: "r2", name: bucket };
    case "durable_object_namespace":
      return { type: "durable-object", worker, exportName };
    case "vpc_service":
      return { type: "external", address: addressOf(String(service)) };
    default:
      throw new Error(`a binding of the type ${type}`);
  }
}
