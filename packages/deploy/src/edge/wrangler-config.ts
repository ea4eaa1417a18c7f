/**
 * The wrangler configuration of a deployment: the developer's own, with what Radical needs in it. Everything of theirs
 * stays, routes, variables, further bindings; where the two contradict each other, that is an error which names the line.
 */
import type { CacheChoice } from "@radical/protocol";
import {
  type Assets,
  bindingsOf,
  blobBindings,
  checkUserConfig,
  type Migration,
  type UserConfig,
  type WranglerConfig,
} from "@radical/app";
import { COMPATIBILITY_DATE, CACHE_CLASS } from "@radical/app/workers";
import { routesOf } from "./routes.ts";

/** How the Worker reaches the primary. */
export type PrimaryWay =
  /** Origins of LVI servers, separated by commas. */
  | { readonly kind: "url"; readonly urls: string }
  /** Workers VPC services by the name of their binding; null: it is made in this deployment. */
  | { readonly kind: "vpc"; readonly services: Readonly<Record<string, string | null>> };

export interface EdgeNeeds {
  /** Name of the Worker, if the developer's configuration names none. */
  readonly name: string;
  /** Absolute: where the configuration will lie, with the Worker's files. */
  readonly folder: string;
  readonly project: string;
  /** The Worker's entry of the application's own, relative to the project; it may not exist. */
  readonly entry: string;
  readonly cache: CacheChoice;
  /** Of the KV namespace of the caches; null: not needed, or made in this deployment. */
  readonly cacheNamespaceId: string | null;
  readonly assets: Assets | null;
  /** The bucket with the bytes of Blobs, and the variables about them; null: the application has none. */
  readonly blobs: { readonly bucket: string; readonly vars: Readonly<Record<string, string>> } | null;
  readonly primary: PrimaryWay;
  readonly keyId: string;
  /** Values of `RADICAL_…` variables besides. */
  readonly vars: Readonly<Record<string, string>>;
}

/** Part of the requests whose lines Cloudflare keeps: it charges by the line. */
const SAMPLED = 0.1;

/** File name of the Worker in the folder. */
export const WORKER_FILE = "worker.js";
/** The Worker's secret. */
export const KEY_SECRET = "RADICAL_KEY";

/** What wrangler adds on reading, and what is only for `wrangler dev`. */
const LEFT_OUT = [
  "$schema",
  "configPath",
  "userConfigPath",
  "topLevelName",
  "definedEnvironments",
  "targetEnvironment",
];
const DEV_ONLY = ["dev", "env", "jsx_factory", "jsx_fragment", "python_modules", "cloudchamber"];

/** Throws a CommandError that names every contradiction. */
export function wranglerConfigOf(needs: EdgeNeeds, user: UserConfig | null): WranglerConfig {
  const theirs: WranglerConfig = user === null ? {} : withoutDefaults(user.config);
  if (user !== null) checkUserConfig(user, { ...needs, hasBlobs: needs.blobs !== null });
  const {
    durable_objects: objects,
    migrations,
    kv_namespaces: namespaces,
    assets,
  } = bindingsOf(needs.cache, needs.assets, needs.folder);
  const ways = waysOf(needs.primary);
  return {
    ...theirs,
    name: theirs.name ?? needs.name,
    main: WORKER_FILE,
    compatibility_date: theirs.compatibility_date ?? COMPATIBILITY_DATE,
    vars: { ...theirs.vars, ...ways.vars, RADICAL_KEY_ID: needs.keyId, ...needs.blobs?.vars, ...needs.vars },
    ...(objects === undefined
      ? {}
      : { durable_objects: { bindings: [...(theirs.durable_objects?.bindings ?? []), ...objects.bindings] } }),
    ...classesOf(theirs, migrations),
    ...listOf(
      theirs,
      "kv_namespaces",
      (namespaces ?? []).map((one) => withId(one, needs.cacheNamespaceId)),
    ),
    ...listOf(theirs, "vpc_services", ways.services),
    ...blobsOf(theirs, needs.blobs),
    ...(assets === undefined ? {} : { assets: { ...theirs.assets, ...assets } }),
    // Cloudflare keeps the log only if it is told to.
    observability: theirs["observability"] ?? { enabled: true, head_sampling_rate: SAMPLED },
  };
}

/** Origins at which `/api/` is this Worker: by its routes and domains, and on workers.dev. */
export function originsOf(config: WranglerConfig, subdomain: string | null): readonly string[] {
  const hosts = routesOf(config).flatMap(({ pattern, custom_domain: isDomain = false }) => {
    const [, host = "", path = ""] = /^(?:[a-z*]+:\/\/)?([^/]*)(.*)$/.exec(pattern) ?? [];
    // A pattern for many hosts names none.
    return !host.includes("*") && (isDomain || API_PATTERNS.includes(path)) ? [host] : [];
  });
  const { name = "" } = config;
  const all = hasWorkersDev(config) && subdomain !== null ? [...hosts, `${name}.${subdomain}.workers.dev`] : hosts;
  return all.map((host) => `https://${host}`);
}

const API_PATTERNS = ["*", "/*", "/api*", "/api/*"];

/** As wrangler decides it. */
export function hasWorkersDev({ workers_dev: given, routes = [], route }: WranglerConfig): boolean {
  return given ?? (routes.length === 0 && route === undefined);
}

/** The developer's migrations name the class themselves, since only they know their order. */
function classesOf(
  { migrations, exports }: WranglerConfig,
  ours: readonly Migration[] | undefined,
): Pick<WranglerConfig, "migrations" | "exports"> {
  if (ours === undefined || migrations !== undefined) return {};
  if (exports === undefined) return { migrations: ours };
  return { exports: { [CACHE_CLASS]: { type: "durable-object", storage: "sqlite" }, ...exports } };
}

function waysOf(primary: PrimaryWay): {
  readonly vars: Readonly<Record<string, string>>;
  readonly services: readonly { readonly binding: string; readonly service_id: string }[];
} {
  switch (primary.kind) {
    case "url":
      return { vars: { RADICAL_PRIMARY_URL: primary.urls }, services: [] };
    case "vpc":
      return {
        vars: {},
        services: Object.entries(primary.services).map(([binding, id]) => ({ binding, service_id: id ?? UNKNOWN })),
      };
  }
}

/** The bucket of the bytes, and the schedule by which they are collected. */
function blobsOf(theirs: WranglerConfig, blobs: EdgeNeeds["blobs"]): Readonly<Record<string, unknown>> {
  if (blobs === null) return {};
  const { r2_buckets: buckets, triggers } = blobBindings(blobs.bucket);
  return {
    ...listOf(theirs, "r2_buckets", buckets),
    triggers: { ...theirs.triggers, crons: [...(theirs.triggers?.crons ?? []), ...triggers.crons] },
  };
}

/** Of what is made before this configuration is used. */
const UNKNOWN = "made-by-this-deployment";

function withId(namespace: { readonly binding: string }, id: string | null): Readonly<Record<string, string>> {
  return { ...namespace, id: id ?? UNKNOWN };
}

function listOf(theirs: WranglerConfig, field: string, ours: readonly unknown[]): Readonly<Record<string, unknown>> {
  const own = (theirs[field] ?? []) as readonly unknown[];
  return own.length + ours.length === 0 ? {} : { [field]: [...own, ...ours] };
}

/** Without what wrangler fills in where nothing was said. */
function withoutDefaults(config: WranglerConfig): WranglerConfig {
  const left = Object.entries(config).filter(
    ([field, value]) => ![...LEFT_OUT, ...DEV_ONLY].includes(field) && !isEmpty(value) && !isDefaultBuild(field, value),
  );
  return Object.fromEntries(left);
}

function isDefaultBuild(field: string, value: unknown): boolean {
  return field === "build" && (value as { readonly command?: unknown }).command === undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  // Said to be none, which removes those that are there.
  if (typeof value === "object" && Array.isArray((value as { readonly crons?: unknown }).crons)) return false;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}
