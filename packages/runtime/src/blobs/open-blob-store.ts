/** Which store a location has: its bindings say it. */
import { RadicalError } from "@radical/protocol";
import type { BlobStore } from "./blob-store.ts";
import { R2Store } from "./r2-store.ts";
import { S3Store, type S3Settings } from "./s3-store.ts";

export interface BlobBindings {
  /** A bucket that Radical makes, or that is named in `radical.config.ts`. */
  readonly RADICAL_BLOBS?: R2Bucket;
  /** Instead of it: the URL of a bucket at a service that speaks S3. */
  readonly BLOBS_S3_URL?: string;
  readonly BLOBS_S3_REGION?: string;
  readonly BLOBS_S3_KEY_ID?: string;
  /** A secret. */
  readonly BLOBS_S3_SECRET?: string;
}

/** Throws an `internal_error` if none is bound. */
export function openBlobStore(env: BlobBindings): BlobStore {
  const settings = s3SettingsOf(env);
  if (settings !== null) return new S3Store(settings);
  if (env.RADICAL_BLOBS !== undefined) return new R2Store(env.RADICAL_BLOBS);
  throw new RadicalError(
    "internal_error",
    "The location is not configured: RADICAL_BLOBS must be bound to an R2 bucket.",
    "Deploy with radical deploy, which makes the bucket; or set BLOBS_S3_URL and the key of a bucket elsewhere.",
  );
}

function s3SettingsOf(env: BlobBindings): S3Settings | null {
  const { BLOBS_S3_URL: url, BLOBS_S3_KEY_ID: keyId, BLOBS_S3_SECRET: secret } = env;
  if (!url) return null;
  if (URL.canParse(url) && keyId && secret)
    return { url: url.replace(/\/+$/, ""), region: env.BLOBS_S3_REGION || "us-east-1", keyId, secret };
  throw new RadicalError(
    "internal_error",
    "The location is not configured: BLOBS_S3_URL must be the URL of a bucket, with BLOBS_S3_KEY_ID and BLOBS_S3_SECRET.",
    "Set all three for this Worker; the last one is a secret.",
  );
}
