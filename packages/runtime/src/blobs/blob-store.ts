/** Where the bytes of blobs lie: a port, since they lie in R2 or at a service that speaks S3. */
export interface StoredBlob {
  /** Of all the bytes. */
  readonly size: number;
  readonly type: string;
  /** Null: none were asked for. */
  readonly body: ReadableStream | null;
  /** The part that `body` has; null: all. */
  readonly range: { readonly offset: number; readonly length: number } | null;
}

export type BlobRange =
  | { readonly kind: "from"; readonly offset: number; readonly length: number | null }
  | { readonly kind: "last"; readonly length: number };

/** Throws whatever the service answers: the caller makes an error of it. */
export interface BlobStore {
  /** Stores bytes under their hash, in place of the same bytes. */
  put(hash: string, bytes: Uint8Array<ArrayBuffer>, type: string): Promise<void>;
  /** Null: there are none under the hash. */
  head(hash: string): Promise<StoredBlob | null>;
  /** The same with bytes. `range`: lies within them; null: all. */
  get(hash: string, range: BlobRange | null): Promise<StoredBlob | null>;
  /** Returns when they are gone. */
  remove(hashes: readonly string[]): Promise<void>;
}

/** The name of the object with the bytes. */
export function objectName(hash: string): string {
  return `blobs/${hash}`;
}
