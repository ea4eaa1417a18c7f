/** The versions of a Worker at Cloudflare, and which of them serve. */
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import { type DeploymentRecord, RECORD_VARIABLE, parseRecord } from "./deployment-record.ts";

/** What a version is bound to. */
export interface BoundName {
  readonly name: string;
  /** As Cloudflare calls it: `plain_text`, `secret_text`, `kv_namespace` … */
  readonly type: string;
  /** Of a `plain_text`. */
  readonly text?: string;
  /** Of a `kv_namespace`. */
  readonly namespace_id?: string;
  /** Of an `r2_bucket`. */
  readonly bucket_name?: string;
  /** Of a `vpc_service`. */
  readonly service_id?: string;
}

export interface WorkerVersion {
  readonly id: string;
  readonly createdAt: string;
  /** Who made it, if Cloudflare says so. */
  readonly author: string | null;
  readonly tag: string | null;
  readonly message: string | null;
}

export interface VersionDetail extends WorkerVersion {
  readonly bindings: readonly BoundName[];
  /** Of its last migration of Durable Object classes. */
  readonly migrationTag: string | null;
  /** Null: it was not made by `radical deploy`. */
  readonly record: DeploymentRecord | null;
}

/** A change of which versions serve. */
export interface WorkerDeployment {
  readonly id: string;
  readonly createdAt: string;
  readonly author: string | null;
  readonly message: string | null;
  readonly versions: readonly { readonly id: string; readonly percentage: number }[];
}

export interface WorkerVersions {
  /** The last first; the first one serves. Null: there is no such Worker. */
  deployments(): Promise<readonly WorkerDeployment[] | null>;
  /** Those that can be deployed, the last first. */
  list(): Promise<readonly WorkerVersion[]>;
  detail(version: string): Promise<VersionDetail>;
  /** The version that most requests get; null: there is no such Worker. */
  serving(): Promise<VersionDetail | null>;
  /** Where the Worker runs, if not where its requests arrive. Null: Cloudflare says nothing of it. */
  placement(): Promise<Readonly<Record<string, unknown>> | null>;
  /** Has these versions serve, with the percentages of requests that each gets. */
  serve(versions: Readonly<Record<string, number>>, message: string): Promise<void>;
}

interface RawVersion {
  readonly id: string;
  readonly metadata?: { readonly created_on?: string; readonly author_email?: string };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly resources?: {
    readonly bindings?: readonly BoundName[];
    readonly script_runtime?: { readonly migration_tag?: string };
  };
}

interface RawDeployment {
  readonly id: string;
  readonly created_on: string;
  readonly author_email?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

export function workerVersions(api: CloudflareApi, account: string, worker: string): WorkerVersions {
  const script = `/accounts/${account}/workers/scripts/${worker}`;
  const versions: WorkerVersions = {
    deployments: async () => {
      try {
        const { deployments } = await api.get<{ deployments: readonly RawDeployment[] }>(`${script}/deployments`);
        return deployments.map((raw) => ({
          id: raw.id,
          createdAt: raw.created_on,
          author: raw.author_email ?? null,
          message: raw.annotations?.["workers/message"] ?? null,
          versions: raw.versions.map(({ version_id: id, percentage }) => ({ id, percentage })),
        }));
      } catch (error) {
        if (error instanceof CloudflareError && error.status === 404) return null;
        throw error;
      }
    },
    list: async () => {
      const { items } = await api.get<{ items: readonly RawVersion[] }>(`${script}/versions?deployable=true`);
      return items.map(versionOf);
    },
    detail: async (version) => {
      const raw = await api.get<RawVersion>(`${script}/versions/${version}`);
      const bindings = raw.resources?.bindings ?? [];
      const record = parseRecord(bindings.find(({ name }) => name === RECORD_VARIABLE)?.text);
      return {
        ...versionOf(raw),
        bindings,
        record,
        migrationTag: raw.resources?.script_runtime?.migration_tag ?? null,
      };
    },
    serving: async () => {
      const [deployment] = (await versions.deployments()) ?? [];
      const leading = deployment === undefined ? null : leadingVersion(deployment);
      return leading === null ? null : versions.detail(leading);
    },
    placement: async () => {
      const { placement } = await api.get<{ placement?: Readonly<Record<string, unknown>> }>(`${script}/settings`);
      return placement ?? null;
    },
    serve: async (percentages, message) => {
      const listed = Object.entries(percentages).map(([id, percentage]) => ({ version_id: id, percentage }));
      await api.post(`${script}/deployments`, {
        strategy: "percentage",
        versions: listed,
        annotations: { "workers/message": message },
      });
    },
  };
  return versions;
}

function versionOf({ id, metadata, annotations }: RawVersion): WorkerVersion {
  return {
    id,
    createdAt: metadata?.created_on ?? "",
    author: metadata?.author_email ?? null,
    tag: annotations?.["workers/tag"] ?? null,
    message: annotations?.["workers/message"] ?? null,
  };
}

/** The version that most requests of a deployment get. */
export function leadingVersion({ versions }: WorkerDeployment): string | null {
  return versions.toSorted((a, b) => b.percentage - a.percentage)[0]?.id ?? null;
}
