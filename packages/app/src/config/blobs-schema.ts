/** The field `blobs` of `radical.config.ts`. */
import { DEFAULT_BLOB_KEEP_HOURS, DEFAULT_MAX_BLOB_BYTES } from "@radical/protocol";
import type { z } from "zod";
import { fields, text, wholeNumber } from "./fields.ts";

/** Twice as much fits into the memory that the uploads of an isolate take together. */
const MAX_BLOB_BYTES = 32 * 1024 * 1024;
const MAX_KEEP_HOURS = 24 * 365;
/** Of R2. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export const blobsSchema = fields({
  /** Most bytes of one blob: 1 to 33554432. Default: 16 MiB. A location holds them in memory. */
  maxBytes: wholeNumber(1, MAX_BLOB_BYTES, `a whole number of bytes from 1 to ${MAX_BLOB_BYTES}`).default(
    DEFAULT_MAX_BLOB_BYTES,
  ),
  /** Hours for which bytes that no item names are kept. Default: 24. */
  keepHours: wholeNumber(1, MAX_KEEP_HOURS, `a whole number of hours from 1 to ${MAX_KEEP_HOURS}`).default(
    DEFAULT_BLOB_KEEP_HOURS,
  ),
  /**
   * The R2 bucket of the environment `production`; others append their name (`media-staging`). No other deployment may use it.
   * Default: one with the name of the Worker and `-blobs`, which `radical deploy` makes.
   */
  bucket: text(
    BUCKET_NAME,
    "3 to 63 lowercase letters, digits and dashes, with a letter or digit at both ends",
  ).optional(),
}).transform(({ bucket = null, ...others }) => ({ ...others, bucket }));

/** The variables by which a location knows them. */
export function blobVarsOf({ maxBytes, keepHours }: z.output<typeof blobsSchema>): Readonly<Record<string, string>> {
  return { RADICAL_MAX_BLOB_BYTES: String(maxBytes), RADICAL_BLOB_KEEP_MS: String(keepHours * 3_600_000) };
}
