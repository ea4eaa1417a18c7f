/** Blobs in a bucket at a service that speaks S3. */
import { AwsClient } from "aws4fetch";
import { type BlobRange, type BlobStore, objectName, type StoredBlob } from "./blob-store.ts";
import { DEFAULT_TYPE } from "./media-types.ts";

export interface S3Settings {
  /** Of the bucket, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  readonly keyId: string;
  readonly secret: string;
}

/** How long one request may take, but for reading. */
const LIMIT_MS = 60_000;

export class S3Store implements BlobStore {
  readonly #url: string;
  readonly #client: AwsClient;

  constructor({ url, region, keyId, secret }: S3Settings) {
    this.#url = url;
    this.#client = new AwsClient({ accessKeyId: keyId, secretAccessKey: secret, region, service: "s3" });
  }

  async put(hash: string, bytes: Uint8Array<ArrayBuffer>, type: string): Promise<void> {
    const headers = { "content-type": type, "x-amz-checksum-sha256": base64OfHex(hash) };
    const response = await this.#ask("PUT", hash, headers, bytes);
    await response.body?.cancel();
  }

  async head(hash: string): Promise<StoredBlob | null> {
    const response = await this.#ask("HEAD", hash, {});
    if (response.status === 404) return null;
    return { size: sizeOf(response), type: typeOf(response), body: null, range: null };
  }

  async get(hash: string, range: BlobRange | null): Promise<StoredBlob | null> {
    const response = await this.#ask("GET", hash, range === null ? {} : { range: headerOf(range) });
    if (response.status === 404) {
      await response.body?.cancel();
      return null;
    }
    const [, first, last, all] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
    const body = response.body;
    if (first === undefined) return { size: sizeOf(response), type: typeOf(response), body, range: null };
    const part = { offset: Number(first), length: Number(last) - Number(first) + 1 };
    return { size: Number(all), type: typeOf(response), body, range: part };
  }

  async remove(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) {
      const response = await this.#ask("DELETE", hash, {});
      await response.body?.cancel();
    }
  }

  /** Throws for every answer but success, and that there is nothing to read or to remove under the name. */
  async #ask(
    method: string,
    hash: string,
    headers: Readonly<Record<string, string>>,
    body?: Uint8Array<ArrayBuffer>,
  ): Promise<Response> {
    const signed = await this.#client.sign(`${this.#url}/${objectName(hash)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    // Bytes are read as fast as a client takes them.
    const response = await fetch(signed, method === "GET" ? {} : { signal: AbortSignal.timeout(LIMIT_MS) });
    // A put is answered so if there is no such bucket: its bytes are nowhere.
    if (response.ok || (response.status === 404 && method !== "PUT")) return response;
    throw new Error(`${method} ${objectName(hash)}: ${response.status} ${(await response.text()).slice(0, 500)}`);
  }
}

/** Throws if the service does not say it: an answer of the wrong length would be kept for a year. */
function sizeOf({ headers, url }: Response): number {
  const size = headers.get("content-length");
  if (size === null || headers.has("content-encoding")) throw new Error(`the answer of ${url} tells no content-length`);
  return Number(size);
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? DEFAULT_TYPE;
}

function headerOf(range: BlobRange): string {
  if (range.kind === "last") return `bytes=-${range.length}`;
  return `bytes=${range.offset}-${range.length === null ? "" : range.offset + range.length - 1}`;
}

function base64OfHex(text: string): string {
  return btoa(String.fromCharCode(...(text.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))));
}
