/** Blobs in a bucket of R2, over the binding of the Worker. */
import { type BlobRange, type BlobStore, objectName, type StoredBlob } from "./blob-store.ts";
import { DEFAULT_TYPE } from "./media-types.ts";

/** Most objects that one call removes. */
const MOST_REMOVED = 1_000;

export class R2Store implements BlobStore {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  async put(hash: string, bytes: Uint8Array<ArrayBuffer>, type: string): Promise<void> {
    // R2 compares: bytes that were damaged on the way are not stored.
    await this.#bucket.put(objectName(hash), bytes, { httpMetadata: { contentType: type }, sha256: hash });
  }

  async head(hash: string): Promise<StoredBlob | null> {
    const found = await this.#bucket.head(objectName(hash));
    return found === null ? null : { ...about(found), body: null, range: null };
  }

  async get(hash: string, range: BlobRange | null): Promise<StoredBlob | null> {
    const found = await this.#bucket.get(objectName(hash), range === null ? {} : { range: rangeOf(range) });
    if (found === null) return null;
    return { ...about(found), body: found.body, range: range === null ? null : partOf(found.size, range) };
  }

  async remove(hashes: readonly string[]): Promise<void> {
    for (let at = 0; at < hashes.length; at += MOST_REMOVED)
      await this.#bucket.delete(hashes.slice(at, at + MOST_REMOVED).map(objectName));
  }
}

function about({ size, httpMetadata }: R2Object): Pick<StoredBlob, "size" | "type"> {
  return { size, type: httpMetadata?.contentType ?? DEFAULT_TYPE };
}

function rangeOf(range: BlobRange): R2Range {
  if (range.kind === "last") return { suffix: range.length };
  return { offset: range.offset, ...(range.length === null ? {} : { length: range.length }) };
}

/** The part of so many bytes that a range is. */
export function partOf(size: number, range: BlobRange): NonNullable<StoredBlob["range"]> {
  if (range.kind === "last") return { offset: Math.max(0, size - range.length), length: Math.min(size, range.length) };
  return { offset: range.offset, length: Math.min(size - range.offset, range.length ?? Infinity) };
}
