/**
 * The bindings that the Worker of a build needs on Cloudflare, in the words of a wrangler configuration: deploying merges
 * them into one. `radical dev` binds the same in `miniflare.ts` of `@radical/local`.
 */
import { relative, sep } from "node:path";
import { BLOB_CRON, type CacheChoice } from "@radical/protocol";
import type { NotFound } from "../config/schema.ts";
import type { Assets } from "./build-app.ts";

export interface WranglerBindings {
  readonly durable_objects?: { readonly bindings: readonly { readonly name: string; readonly class_name: string }[] };
  readonly migrations?: readonly { readonly tag: string; readonly new_sqlite_classes: readonly string[] }[];
  /** Without an id: the first deployment makes the namespace. */
  readonly kv_namespaces?: readonly { readonly binding: string }[];
  /** Static files; the folder relative to the output folder. */
  readonly assets?: {
    readonly directory: string;
    readonly not_found_handling: NotFound;
    readonly run_worker_first: readonly string[];
  };
}

export function bindingsOf(cache: CacheChoice, assets: Assets | null, outFolder: string): WranglerBindings {
  return { ...cacheBindings(cache), ...(assets === null ? {} : assetsBinding(assets, outFolder)) };
}

/** Of an application with Blobs. */
export interface BlobBindings {
  /** Without a name: the first deployment makes the bucket. */
  readonly r2_buckets: readonly { readonly binding: string; readonly bucket_name?: string }[];
  /** When the bytes that nobody names are collected. */
  readonly triggers: { readonly crons: readonly string[] };
}

export function blobBindings(bucket: string | null): BlobBindings {
  const binding = "RADICAL_BLOBS";
  return {
    r2_buckets: [bucket === null ? { binding } : { binding, bucket_name: bucket }],
    triggers: { crons: [BLOB_CRON] },
  };
}

function assetsBinding({ folder, notFound, workerFirst }: Assets, outFolder: string): WranglerBindings {
  const directory = relative(outFolder, folder).replaceAll(sep, "/");
  return { assets: { directory, not_found_handling: notFound, run_worker_first: workerFirst } };
}

function cacheBindings(cache: CacheChoice): WranglerBindings {
  switch (cache.kind) {
    case "memory":
      return {};
    case "durable-object":
      return {
        durable_objects: { bindings: [{ name: "RADICAL_CACHE", class_name: "RadicalCache" }] },
        migrations: [{ tag: "radical-cache-1", new_sqlite_classes: ["RadicalCache"] }],
      };
    case "kv":
      return { kv_namespaces: [{ binding: "RADICAL_CACHE_KV" }] };
  }
}
