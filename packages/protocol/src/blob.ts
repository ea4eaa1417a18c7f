/**
 * Blobs: bytes that lie in a store of their own, under their SHA-256. A record names them by a `Blob`, a record of the SDK with
 * the hash, the size and the type. There are three hidden tables:
 *
 * - {@link BLOBS}: an item under each hash whose bytes are there. An execution that takes a `Blob` reads its item.
 * - {@link BLOB_UPLOADS}: how far the bytes under a hash have come, and since when nobody names them (`blobs.ts` of the SDK).
 * - {@link BLOB_NAMES}: an entry `<hash>/<table>/<key>` for each item that names the hash, or has named it. The primary adds it in
 *   the commit that stores the item. The collector removes it once the item does not name the hash any more.
 */
import type { UnitId } from "./ids.ts";
import type { RecordType, RecordTypes } from "./value-type.ts";

export const BLOBS = ".blobs";
export const BLOB_UPLOADS = ".blob-uploads";
export const BLOB_NAMES = ".blob-names";

/** Hidden handlers of each application with blobs, which run near storage (`blobs.ts` of the SDK). */
export const BLOB_HANDLERS = ["blobs.begin", "blobs.stored", "blobs.sweep", "blobs.swept"] as const;

/** The code with which an execution ends that is given a `Blob` whose bytes are not there. */
export const BLOB_MISSING = "blob_missing";

/** A `Blob` as JSON. */
export interface BlobValue {
  readonly hash: string;
  readonly size: number;
  readonly type: string;
}

const HASH = /^[0-9a-f]{64}$/;

export function isBlobHash(text: string): boolean {
  return HASH.test(text);
}

/** Longest media type. */
const MAX_TYPE_LENGTH = 255;

// RFC 9110, section 8.3.1: tokens, and parameters whose values are tokens or quoted.
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[\\t !#-\\[\\]-~]*"))*$`);

/** Whether the text can be the header `content-type` of bytes. */
export function isMediaType(text: string): boolean {
  return text.length <= MAX_TYPE_LENGTH && MEDIA_TYPE.test(text);
}

/** A field of a `Blob` that can't be, in the words for it; null: the record can be one. */
export function problemOfBlob(
  json: Readonly<Record<string, unknown>>,
): { readonly field: string; readonly expected: string } | null {
  const { hash, size, type } = json;
  if (typeof hash === "string" && !isBlobHash(hash))
    return { field: "hash", expected: "a SHA-256 as 64 lower-case hexadecimal digits" };
  if (Number(size) < 0) return { field: "size", expected: "a number of bytes, which is not negative" };
  if (typeof type === "string" && !isMediaType(type))
    return { field: "type", expected: "a media type, such as image/png" };
  return null;
}

/** Whether a record is the SDK's `Blob`, and not a class of that name. */
export function isBlobRecord(record: RecordType | undefined): boolean {
  return record?.isBlob === true;
}

/** The first bytes of each encoded `Blob`: a map of three, the key `hash`, a text of 64 bytes. */
const MARK = Uint8Array.of(0xa3, 0x64, 0x68, 0x61, 0x73, 0x68, 0x78, 0x40);
const HASH_LENGTH = 64;

/**
 * The hashes of the Blobs in an encoded value. They are found by their {@link MARK}, whatever the type of the value is: so each
 * build, and `radical data`, names them alike. A record that looks like a Blob counts as one.
 */
export function blobHashesIn(value: Uint8Array): readonly string[] {
  const hashes = new Set<string>();
  for (let at = value.indexOf(MARK[0]!); at >= 0; at = value.indexOf(MARK[0]!, at + 1)) {
    if (!MARK.every((byte, index) => value[at + index] === byte)) continue;
    const start = at + MARK.length;
    const hash = String.fromCharCode(...value.subarray(start, start + HASH_LENGTH));
    if (isBlobHash(hash)) hashes.add(hash);
  }
  return [...hashes];
}

/** The entry that says which item names a hash. */
export function blobNameUnit(hash: string, item: UnitId): UnitId {
  return `${BLOB_NAMES}/${hash}/${item}` as UnitId;
}

/** Where locations put and give bytes: `PUT /blobs`, and `GET /blobs/<hash>`. */
export const BLOBS_PATH = "/blobs";

/** When a deployment collects blobs: each hour, at a minute that few others choose. */
export const BLOB_CRON = "23 * * * *";

export const DEFAULT_MAX_BLOB_BYTES = 16 * 1024 * 1024;
export const DEFAULT_BLOB_KEEP_HOURS = 24;

/** Whether the application has Blobs. */
export function hasBlobs(records: RecordTypes): boolean {
  return Object.values(records).some(isBlobRecord);
}
