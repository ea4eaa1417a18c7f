/**
 * Cloudflare's HTTP API as far as wrangler and `radical deploy` ask it, on loopback. It is strict: a call that it does not
 * know is an error, and is kept in `unknown`. It keeps what it is given, so that what was uploaded can be run
 * (`fake-edge.ts`), and can be told to fail at any call.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { startFakeTails } from "./fake-tails.ts";

const ACCOUNT = "0123456789abcdef0123456789abcdef";
const SUBDOMAIN = "anns";
/** The domain that the account has. */
const ZONE = { id: "fedcba9876543210fedcba9876543210", name: "example.com" };
const AUTHOR = "ann@example.com";

export interface FakeBinding extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly type: string;
}

export interface FakeModule {
  readonly name: string;
  /** Content type of its part. */
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A version as it was uploaded. */
export interface FakeVersion {
  readonly id: string;
  readonly number: number;
  readonly createdAt: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Secrets with their text. */
  readonly bindings: readonly FakeBinding[];
  readonly mainModule: string;
  readonly modules: readonly FakeModule[];
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly migrationTag: string | null;
  /** Contents by path. */
  readonly assets: ReadonlyMap<string, Uint8Array<ArrayBuffer>> | null;
  readonly assetsConfig: Readonly<Record<string, unknown>>;
}

interface FakeDeployment {
  readonly id: string;
  readonly createdAt: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

export interface FakeWorker {
  readonly name: string;
  readonly versions: FakeVersion[];
  /** The last first. */
  readonly deployments: FakeDeployment[];
  readonly classes: Set<string>;
  isOnWorkersDev: boolean;
  schedules: readonly unknown[];
  /** As somebody has set it in the dashboard. */
  placement?: { readonly mode: string } | undefined;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Failure {
  /** Of `METHOD /path` below the account, as in `requests`. */
  readonly at: RegExp;
  /** How many such calls go well before. Default: none. */
  skip?: number;
  /** A status, or that the connection breaks; `after`: it is done, and then the connection breaks; `silence`: it waits for ever. */
  readonly how: number | "hang-up" | "after" | "silence";
  /** How often. Default: always. */
  times?: number;
}

export interface FakeCloudflare {
  /** For `CLOUDFLARE_API_BASE_URL`. */
  readonly url: string;
  readonly token: string;
  /** All that was asked: `METHOD /path`, without the account. */
  readonly requests: string[];
  /** What was asked and is not known. */
  readonly unknown: string[];
  readonly failures: Failure[];
  readonly workers: Map<string, FakeWorker>;
  readonly namespaces: Map<string, string>;
  /** R2 buckets by name. */
  readonly buckets: Set<string>;
  /** Names of Workers by pattern, and by the host of a custom domain. */
  readonly routes: Map<string, string>;
  readonly domains: Map<string, string>;
  readonly tunnels: Map<string, Named>;
  readonly services: Map<string, Named & { readonly host: unknown; readonly port: unknown }>;
  /** Tells those that listen to a Worker of an event of it. */
  tell(worker: string, event: object): void;
  /** Of those that were uploaded, whatever serves. */
  version(id: string): FakeVersion | undefined;
  stop(): Promise<void>;
}

interface Call {
  readonly method: string;
  readonly url: URL;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly parts: readonly string[];
}

class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const NO_WORKER = (): Refusal => new Refusal(404, 10007, "This Worker does not exist on your account.");

export async function startFakeCloudflare(): Promise<FakeCloudflare> {
  const token = randomBytes(20).toString("hex");
  const requests: string[] = [];
  const unknown: string[] = [];
  const failures: Failure[] = [];
  const workers = new Map<string, FakeWorker>();
  const namespaces = new Map<string, string>();
  const buckets = new Set<string>();
  const [routesOf, domains] = [new Map<string, string>(), new Map<string, string>()];
  const tunnels = new Map<string, Named>();
  const services = new Map<string, Named & { readonly host: unknown; readonly port: unknown }>();
  /** Contents of static files by hash. */
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  /** Upload sessions: paths with the hashes of their contents, by the token that completes them. */
  const sessions = new Map<string, Readonly<Record<string, { readonly hash: string }>>>();

  const tails = await startFakeTails();

  const workerOf = (name: string): FakeWorker => {
    const worker = workers.get(name);
    if (worker === undefined) throw NO_WORKER();
    return worker;
  };

  const upload = async (name: string, { body, type }: Call): Promise<{ worker: FakeWorker; version: FakeVersion }> => {
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    const metadata = JSON.parse(await textOf(form.get("metadata"))) as Metadata;
    const before = workers.get(name);
    const latest = before?.versions.at(-1);
    const classes = new Set([...(before?.classes ?? []), ...classesOf(metadata)]);
    const kept = (latest?.bindings ?? []).filter(
      ({ type: kind, name: bound }) =>
        (metadata.keep_bindings ?? []).includes(kind) && !metadata.bindings.some((given) => given.name === bound),
    );
    const bindings = [...metadata.bindings, ...kept];
    for (const {
      type: kind,
      class_name: className,
      namespace_id: id,
      bucket_name: bucket,
      service_id: service,
    } of bindings) {
      if (kind === "durable_object_namespace" && !classes.has(String(className)))
        throw new Refusal(400, 10061, `Cannot create binding for class ${String(className)} that has no migration.`);
      if (kind === "kv_namespace" && !namespaces.has(String(id)))
        throw new Refusal(400, 10041, `KV namespace '${String(id)}' not found.`);
      if (kind === "r2_bucket" && !buckets.has(String(bucket)))
        throw new Refusal(400, 10085, `R2 bucket '${String(bucket)}' not found.`);
      if (kind === "vpc_service" && !services.has(String(service)))
        throw new Refusal(400, 10220, `Connectivity service ${String(service)} not found.`);
    }
    const modules: FakeModule[] = [];
    for (const [field, value] of form) {
      if (field === "metadata" || typeof value === "string") continue;
      modules.push({ name: field, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) });
    }
    if (!modules.some((module) => module.name === metadata.main_module))
      throw new Refusal(400, 10021, "no such main module");
    const files = metadata.assets?.jwt === undefined ? null : sessions.get(metadata.assets.jwt);
    if (files === undefined) throw new Refusal(400, 10304, "the assets were not uploaded");
    const version: FakeVersion = {
      id: randomUUID(),
      number: (latest?.number ?? 0) + 1,
      createdAt: new Date().toISOString(),
      annotations: { ...metadata.annotations, "workers/triggered_by": "upload" },
      bindings,
      mainModule: metadata.main_module,
      modules,
      compatibilityDate: metadata.compatibility_date,
      compatibilityFlags: metadata.compatibility_flags ?? [],
      migrationTag: metadata.migrations?.new_tag ?? latest?.migrationTag ?? null,
      assets:
        files === null
          ? null
          : new Map(Object.entries(files).map(([path, { hash }]) => [path, blobs.get(hash) ?? new Uint8Array()])),
      assetsConfig: metadata.assets?.config ?? {},
    };
    const worker = before ?? {
      name,
      versions: [],
      deployments: [],
      classes,
      isOnWorkersDev: false,
      schedules: [],
    };
    for (const className of classes) worker.classes.add(className);
    worker.versions.push(version);
    workers.set(name, worker);
    return { worker, version };
  };

  const serve = (
    worker: FakeWorker,
    versions: FakeDeployment["versions"],
    annotations: Readonly<Record<string, string>>,
  ): FakeDeployment => {
    const total = versions.reduce((sum, { percentage }) => sum + percentage, 0);
    if (total !== 100 || versions.length > 2)
      throw new Refusal(400, 10210, "percentages must be of at most two versions");
    for (const { version_id: id } of versions)
      if (!worker.versions.some((version) => version.id === id)) throw new Refusal(404, 10208, `no version ${id}`);
    const deployment = { id: randomUUID(), createdAt: new Date().toISOString(), annotations, versions };
    worker.deployments.unshift(deployment);
    return deployment;
  };

  const changeSecrets = (name: string, secrets: Readonly<Record<string, string | null>>): void => {
    const worker = workerOf(name);
    const latest = latestOf(worker);
    const version = {
      ...latest,
      id: randomUUID(),
      number: latest.number + 1,
      createdAt: new Date().toISOString(),
      annotations: { "workers/triggered_by": "secret" },
      bindings: [
        ...latest.bindings.filter((binding) => !Object.hasOwn(secrets, binding.name)),
        ...Object.entries(secrets).flatMap(([secret, text]) =>
          text === null ? [] : [{ name: secret, type: "secret_text", text }],
        ),
      ],
    };
    worker.versions.push(version);
    serve(worker, [{ version_id: version.id, percentage: 100 }], {});
  };

  /** Paths below the account; `:x` is a part that is handed over. */
  const routes: Readonly<Record<string, (call: Call) => unknown>> = {
    "GET /storage/kv/namespaces": () => [...namespaces].map(([id, title]) => ({ id, title })),
    "POST /storage/kv/namespaces": (call) => {
      const { title } = jsonOf(call) as { title: string };
      const id = randomBytes(16).toString("hex");
      namespaces.set(id, title);
      return { id, title };
    },
    "DELETE /storage/kv/namespaces/:id": ({ parts: [id = ""] }) => {
      if (!namespaces.delete(id)) throw new Refusal(404, 10013, "namespace not found");
      return null;
    },

    "GET /r2/buckets/:name": ({ parts: [name = ""] }) => {
      if (!buckets.has(name)) throw new Refusal(404, 10006, "The specified bucket does not exist.");
      return { name };
    },
    "POST /r2/buckets": (call) => {
      const { name } = jsonOf(call) as { name: string };
      if (buckets.has(name)) throw new Refusal(409, 10004, "The bucket you tried to create already exists.");
      buckets.add(name);
      return { name };
    },

    "GET /cfd_tunnel": ({ url }) =>
      [...tunnels.values()].filter(({ name }) => [null, name].includes(url.searchParams.get("name"))),
    "POST /cfd_tunnel": (call) => {
      const { name } = jsonOf(call) as { name: string };
      if ([...tunnels.values()].some((tunnel) => tunnel.name === name))
        throw new Refusal(409, 1013, "You already have a tunnel with this name.");
      const tunnel = { id: randomUUID(), name };
      tunnels.set(tunnel.id, tunnel);
      return { ...tunnel, token: tokenOf(tunnel) };
    },
    "GET /cfd_tunnel/:id/token": ({ parts: [id = ""] }) => tokenOf(found(tunnels, id)),
    "DELETE /cfd_tunnel/:id/connections": ({ parts: [id = ""] }) => {
      found(tunnels, id);
      return null;
    },
    "DELETE /cfd_tunnel/:id": ({ parts: [id = ""] }) => {
      const tunnel = found(tunnels, id);
      tunnels.delete(id);
      return tunnel;
    },

    "GET /connectivity/directory/services": () =>
      [...services.values()].map(({ id, name, host, port }) => ({
        service_id: id,
        name,
        type: "http",
        host,
        http_port: port,
      })),
    "POST /connectivity/directory/services": (call) => {
      const { name, type, host, http_port: port } = jsonOf(call) as Readonly<Record<string, unknown>>;
      const { network } = host as { readonly network?: { readonly tunnel_id?: string } };
      if (type !== "http" || typeof name !== "string") throw new Refusal(400, 5101, "bad service");
      found(tunnels, network?.tunnel_id ?? "");
      const service = { id: randomUUID(), name, host, port };
      services.set(service.id, service);
      return { service_id: service.id, name, type, host, http_port: port };
    },
    "PUT /connectivity/directory/services/:id": (call) => {
      const [id = ""] = call.parts;
      const { name, host, http_port: port } = jsonOf(call) as Readonly<Record<string, unknown>>;
      found(services, id);
      services.set(id, { id, name: String(name), host, port });
      return { service_id: id, name, type: "http", host, http_port: port };
    },
    "DELETE /connectivity/directory/services/:id": ({ parts: [id = ""] }) => {
      found(services, id);
      services.delete(id);
      return null;
    },

    "GET /workers/scripts": () => [...workers.keys()].map((id) => ({ id })),
    "GET /workers/durable_objects/namespaces": () =>
      [...workers.values()].flatMap(({ name, classes }) =>
        [...classes].map((className) => ({
          id: createHash("md5").update(`${name}/${className}`).digest("hex"),
          name: `${name}_${className}`,
          script: name,
          class: className,
        })),
      ),
    "GET /workers/subdomain": () => ({ subdomain: SUBDOMAIN }),
    "GET /workers/services/:name": ({ parts: [name = ""] }) => {
      const worker = workerOf(name);
      const script = {
        last_deployed_from: "wrangler",
        tag: createHash("md5").update(name).digest("hex"),
        tags: [],
        migration_tag: worker.versions.at(-1)?.migrationTag ?? undefined,
      };
      return { id: name, default_environment: { environment: "production", script } };
    },
    "GET /workers/workers/:name": ({ parts: [name = ""] }) => {
      const worker = workerOf(name);
      const subdomain = { enabled: worker.isOnWorkersDev, previews_enabled: false };
      return { id: createHash("md5").update(name).digest("hex"), name, subdomain, tags: [], observability: {} };
    },
    "GET /workers/scripts/:name/settings": ({ parts: [name = ""] }) => {
      const worker = workerOf(name);
      const latest = latestOf(worker);
      const { placement = {} } = worker;
      return { bindings: shown(latest), migration_tag: latest.migrationTag ?? undefined, tags: [], placement };
    },
    "PATCH /workers/scripts/:name/script-settings": ({ parts: [name = ""] }) => {
      workerOf(name);
      return {};
    },
    "GET /workers/scripts/:name/secrets": ({ parts: [name = ""] }) =>
      (workerOf(name).versions.at(-1)?.bindings ?? [])
        .filter(({ type }) => type === "secret_text")
        .map(({ name: secret, type }) => ({ name: secret, type })),
    "PUT /workers/scripts/:name/secrets": (call) => {
      const { name, text } = jsonOf(call) as { name: string; text: string };
      changeSecrets(call.parts[0]!, { [name]: text });
      return { name, type: "secret_text" };
    },
    "DELETE /workers/scripts/:name/secrets/:secret": ({ parts: [name = "", secret = ""] }) => {
      changeSecrets(name, { [secret]: null });
      return null;
    },
    "GET /workers/scripts/:name/subdomain": ({ parts: [name = ""] }) => ({
      enabled: workerOf(name).isOnWorkersDev,
      previews_enabled: false,
    }),
    "POST /workers/scripts/:name/subdomain": (call) => {
      const { enabled } = jsonOf(call) as { enabled: boolean };
      workerOf(call.parts[0]!).isOnWorkersDev = enabled;
      return { enabled, previews_enabled: false };
    },
    "GET /workers/scripts/:name/schedules": ({ parts: [name = ""] }) => ({ schedules: workerOf(name).schedules }),
    "PUT /workers/scripts/:name/schedules": (call) => {
      const schedules = jsonOf(call) as readonly unknown[];
      workerOf(call.parts[0]!).schedules = schedules;
      return { schedules };
    },
    "PUT /workers/scripts/:name/routes": (call) => {
      const [name = ""] = call.parts;
      workerOf(name);
      const wanted = (jsonOf(call) as readonly { pattern: string }[]).map(({ pattern }) => pattern);
      for (const pattern of wanted) {
        zoneOf(pattern.split("/")[0]!);
        if (![undefined, name].includes(routesOf.get(pattern)))
          throw new Refusal(409, 10020, `Route pattern '${pattern}' is already in use.`);
      }
      for (const [pattern, script] of routesOf) if (script === name) routesOf.delete(pattern);
      for (const pattern of wanted) routesOf.set(pattern, name);
      return wanted.map((pattern) => ({ pattern }));
    },
    "GET /workers/domains": () =>
      [...domains].map(([hostname, service]) => ({ id: idOf(hostname), hostname, service, zone_id: ZONE.id })),
    "POST /workers/scripts/:name/domains/changeset": (call) => {
      const [name = ""] = call.parts;
      workerOf(name);
      const wanted = (jsonOf(call) as readonly { hostname: string }[]).map(({ hostname }) => hostname);
      const domainOf = (hostname: string) => ({ id: idOf(hostname), hostname, service: domains.get(hostname) ?? name });
      return {
        added: wanted.filter((host) => !domains.has(host)).map(domainOf),
        removed: [...domains].filter(([host, service]) => service === name && !wanted.includes(host)),
        updated: wanted.flatMap((host) =>
          domains.has(host) ? [{ ...domainOf(host), modified: domains.get(host) !== name }] : [],
        ),
        conflicting: [],
      };
    },
    "PUT /workers/scripts/:name/domains/records": (call) => {
      const [name = ""] = call.parts;
      workerOf(name);
      const { origins, override_existing_origin: overrides } = jsonOf(call) as {
        readonly origins: readonly { hostname: string }[];
        readonly override_existing_origin: boolean;
      };
      for (const { hostname } of origins) {
        zoneOf(hostname);
        if (![undefined, name].includes(domains.get(hostname)) && !overrides)
          throw new Refusal(409, 100116, `${hostname} is in use by another Worker.`);
      }
      for (const [hostname, service] of domains) if (service === name) domains.delete(hostname);
      for (const { hostname } of origins) domains.set(hostname, name);
      return null;
    },
    "POST /workers/scripts/:name/assets-upload-session": (call) => {
      const { manifest } = jsonOf(call) as { manifest: Readonly<Record<string, { hash: string }>> };
      const jwt = jwtOf(randomUUID());
      sessions.set(jwt, manifest);
      const missing = [...new Set(Object.values(manifest).map(({ hash }) => hash))].filter((hash) => !blobs.has(hash));
      return { jwt, buckets: missing.length === 0 ? [] : [missing] };
    },
    "POST /workers/assets/upload": async ({ body, type }) => {
      const form = await new Response(body, { headers: { "content-type": type } }).formData();
      for (const [hash, value] of form) blobs.set(hash, new Uint8Array(Buffer.from(await textOf(value), "base64")));
      // The session that is waiting for its files.
      const [jwt] = [...sessions.keys()].slice(-1);
      return { jwt };
    },
    "PUT /workers/scripts/:name": async (call) => {
      const { worker, version } = await upload(call.parts[0]!, call);
      serve(worker, [{ version_id: version.id, percentage: 100 }], version.annotations);
      return { id: worker.name, etag: version.id, deployment_id: version.id.replaceAll("-", ""), startup_time_ms: 5 };
    },
    "POST /workers/scripts/:name/tails": ({ parts: [name = ""] }) => {
      workerOf(name);
      return tails.open(name);
    },
    "DELETE /workers/scripts/:name/tails/:id": ({ parts: [, id = ""] }) => {
      tails.end(id);
      return null;
    },
    "DELETE /workers/scripts/:name": ({ parts: [name = ""] }) => {
      workerOf(name);
      workers.delete(name);
      for (const bound of [routesOf, domains])
        for (const [where, script] of bound) if (script === name) bound.delete(where);
      return null;
    },
    "POST /workers/scripts/:name/versions": async (call) => {
      workerOf(call.parts[0]!);
      const { version } = await upload(call.parts[0]!, call);
      return { ...listed(version), startup_time_ms: 5, resources: { script: { etag: version.id } } };
    },
    "GET /workers/scripts/:name/versions": ({ parts: [name = ""] }) => ({
      items: workerOf(name).versions.toReversed().slice(0, 10).map(listed),
    }),
    "GET /workers/scripts/:name/versions/:id": ({ parts: [name = "", id = ""] }) => {
      const version = workerOf(name).versions.find((one) => one.id === id);
      if (version === undefined) throw new Refusal(404, 10208, "no such version");
      const runtime = {
        compatibility_date: version.compatibilityDate,
        ...(version.migrationTag === null ? {} : { migration_tag: version.migrationTag }),
      };
      return { ...listed(version), resources: { bindings: shown(version), script: {}, script_runtime: runtime } };
    },
    "GET /workers/scripts/:name/deployments": ({ parts: [name = ""] }) => ({
      deployments: workerOf(name).deployments.slice(0, 10).map(deploymentOf),
    }),
    "POST /workers/scripts/:name/deployments": (call) => {
      const { versions, annotations } = jsonOf(call) as Pick<FakeDeployment, "versions" | "annotations">;
      return deploymentOf(serve(workerOf(call.parts[0]!), versions, annotations));
    },
  };

  const answer = async (request: IncomingMessage, body: Uint8Array<ArrayBuffer>): Promise<unknown> => {
    const url = new URL(request.url ?? "", "http://fake");
    const path = url.pathname.replace(/^\/client\/v4/, "");
    const method = request.method ?? "";
    const isUpload = path.endsWith("/workers/assets/upload");
    if (!isUpload && request.headers.authorization !== `Bearer ${token}`)
      throw new Refusal(403, 10000, "Authentication error");
    const call = { method, url, body, type: request.headers["content-type"] ?? "" };
    if (method === "GET" && path === "/accounts") return [{ id: ACCOUNT, name: "Ann's account" }];
    if (method === "GET" && path === "/user/tokens/verify") return { id: "t", status: "active" };
    if (method === "GET" && path === "/user") return { id: "u", email: AUTHOR };
    if (method === "GET" && path === "/memberships")
      return [{ id: "m", status: "accepted", account: { id: ACCOUNT, name: "Ann's account" } }];
    if (method === "GET" && path === "/zones")
      return [ZONE].filter(({ name }) => name === url.searchParams.get("name"));
    if (method === "GET" && path === `/zones/${ZONE.id}/workers/routes`)
      return [...routesOf].map(([pattern, script]) => ({ id: idOf(pattern), pattern, script }));
    const below = path.startsWith(`/accounts/${ACCOUNT}/`) ? path.slice(`/accounts/${ACCOUNT}`.length) : null;
    for (const [route, handle] of Object.entries(routes)) {
      const parts = below === null ? null : matches(route, `${method} ${below}`);
      if (parts !== null) return handle({ ...call, parts });
    }
    unknown.push(`${method} ${path}`);
    throw new Refusal(500, 1, `the fake does not know ${method} ${path}`);
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = new URL(request.url ?? "", "http://fake").pathname.replace(`/client/v4/accounts/${ACCOUNT}`, "");
      const line = `${request.method ?? ""} ${path.replace("/client/v4", "")}`;
      requests.push(line);
      const failure = failureOf(failures, line);
      if (failure?.how === "silence") return;
      if (failure?.how === "hang-up") return void request.socket.destroy();
      const send = (status: number, envelope: unknown): void => {
        if (failure?.how === "after") return void request.socket.destroy();
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(envelope));
      };
      if (typeof failure?.how === "number")
        return send(failure.how, failed(failure.how === 403 ? 10000 : 10001, `made to fail with ${failure.how}`));
      answer(request, new Uint8Array(Buffer.concat(chunks))).then(
        (result) => send(200, { success: true, errors: [], messages: [], result }),
        (error: unknown) => {
          const refusal = error instanceof Refusal ? error : new Refusal(500, 1, String(error));
          send(refusal.status, failed(refusal.code, refusal.message));
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/client/v4`,
    token,
    requests,
    unknown,
    failures,
    workers,
    namespaces,
    buckets,
    routes: routesOf,
    domains,
    tunnels,
    services,
    tell: (worker, event) => tails.tell(worker, event),
    version: (id) => [...workers.values()].flatMap(({ versions }) => versions).find((version) => version.id === id),
    stop: async () => {
      await tails.stop();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** What this call is to meet; undefined: nothing. */
export function failureOf(failures: readonly Failure[], line: string): Failure | undefined {
  for (const failure of failures) {
    const { at, skip = 0, times = 1 } = failure;
    if (times === 0 || !at.test(line)) continue;
    if (skip === 0) {
      if (failure.times !== undefined) failure.times--;
      return failure;
    }
    failure.skip = skip - 1;
  }
  return undefined;
}

function latestOf({ name, versions }: FakeWorker): FakeVersion {
  const latest = versions.at(-1);
  if (latest === undefined) throw new Error(`${name} has no version`);
  return latest;
}

interface Metadata {
  readonly main_module: string;
  readonly bindings: readonly FakeBinding[];
  readonly keep_bindings?: readonly string[];
  readonly compatibility_date: string;
  readonly compatibility_flags?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly migrations?: {
    readonly new_tag: string;
    readonly steps: readonly { readonly new_sqlite_classes?: readonly string[] }[];
  };
  readonly exports?: Readonly<Record<string, { readonly type: string }>>;
  readonly assets?: { readonly jwt: string; readonly config?: Readonly<Record<string, unknown>> };
}

function classesOf({ migrations, exports = {} }: Metadata): readonly string[] {
  const declared = Object.keys(exports).filter((name) => exports[name]?.type === "durable-object");
  return [...declared, ...(migrations?.steps ?? []).flatMap(({ new_sqlite_classes: classes = [] }) => classes)];
}

/** Parts of the path for `:x`; null: another route. */
function matches(route: string, line: string): readonly string[] | null {
  const [wanted, given] = [route.split("/"), line.split("/")];
  if (wanted.length !== given.length) return null;
  const parts: string[] = [];
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":")) parts.push(decodeURIComponent(given[index]!));
    else if (part !== given[index]) return null;
  }
  return parts;
}

function idOf(name: string): string {
  return createHash("md5").update(name).digest("hex");
}

/** Throws for a host in a domain that the account does not have. */
function zoneOf(host: string): void {
  if (host !== ZONE.name && !host.endsWith(`.${ZONE.name}`))
    throw new Refusal(400, 10082, `could not find a zone for ${host}`);
}

function jsonOf({ body }: Call): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}

async function textOf(value: FormDataEntryValue | null): Promise<string> {
  return typeof value === "string" ? value : ((await value?.text()) ?? "");
}

function found<T>(map: ReadonlyMap<string, T>, id: string): T {
  const one = map.get(id);
  if (one === undefined) throw new Refusal(404, 1003, `there is no ${id}`);
  return one;
}

/** As Cloudflare shows it: without what is secret. */
function shown({ bindings }: FakeVersion): readonly FakeBinding[] {
  return bindings.map((binding) =>
    binding.type === "secret_text" ? { name: binding.name, type: binding.type } : binding,
  );
}

function listed({ id, number, createdAt, annotations }: FakeVersion): object {
  return { id, number, metadata: { created_on: createdAt, author_email: AUTHOR, source: "wrangler" }, annotations };
}

function deploymentOf({ id, createdAt, annotations, versions }: FakeDeployment): object {
  return {
    id,
    created_on: createdAt,
    author_email: AUTHOR,
    source: "wrangler",
    strategy: "percentage",
    annotations,
    versions,
  };
}

function tokenOf({ id }: Named): string {
  return Buffer.from(
    JSON.stringify({ a: ACCOUNT, t: id, s: createHash("sha256").update(id).digest("base64") }),
  ).toString("base64");
}

/** wrangler looks into it for when it ends. */
function jwtOf(id: string): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ id, exp: 4_102_444_800 })}.x`;
}

function failed(code: number, message: string): unknown {
  return { success: false, errors: [{ code, message }], messages: [], result: null };
}
