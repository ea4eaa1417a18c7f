/** The part of the generated client that puts the bytes of Blobs, as TypeScript of the generated file. */

/** The member of the client's interface. */
export const BLOB_METHODS = `  /** The bytes of Blobs. */
  readonly blobs: {
    /**
     * Puts bytes, and gives the Blob that handlers take. The same bytes again are put once. Bytes that no item names are
     * removed after a day.
     */
    put(bytes: Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string, options?: PutOptions): Promise<BlobRecord>;
    /** Where the bytes are read. It never changes, and neither do they. */
    url(blob: Pick<BlobRecord, "hash">): string;
  };
`;

/** Of an application whose handlers neither take nor return Blobs. */
export const BLOB_RECORD = `/** Bytes that were put, as handlers store them. */
export interface BlobRecord {
  readonly hash: string;
  readonly size: number;
  readonly type: string;
}
`;

export const BLOB_CLIENT = `
export interface PutOptions {
  /** The media type of the bytes. Default: that of a file, else \`application/octet-stream\`. */
  readonly type?: string;
  readonly signal?: AbortSignal;
  /** Sent with this request. */
  readonly headers?: Readonly<Record<string, string>>;
}

function blobsOf(options: ClientOptions): Client["blobs"] {
  return {
    put: (bytes, put = {}) => putBlob(options, bytes, put),
    url: ({ hash }) => \`\${originOf(options)}/blobs/\${hash}\`,
  };
}

/** A put may be repeated: the same bytes have the same hash. */
async function putBlob(options: ClientOptions, bytes: NonNullable<RequestInit["body"]>, put: PutOptions): Promise<BlobRecord> {
  const send = options.fetch ?? fetch;
  const attempts = options.attempts ?? 5;
  const type = put.type ?? (typeof bytes === "object" && "type" in bytes ? String(bytes.type) : "");
  const request = {
    method: "PUT",
    headers: { ...options.headers, ...put.headers, "content-type": type === "" ? "application/octet-stream" : type },
    body: bytes,
    ...(put.signal === undefined ? {} : { signal: put.signal }),
  };
  for (let attempt = 1; ; attempt++) {
    let failure: RadicalClientError;
    let waitMs = 100 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    try {
      const response = await send(\`\${originOf(options)}/blobs\`, request);
      const text = await response.text();
      if (response.ok) return JSON.parse(text) as BlobRecord;
      failure = new RadicalClientError(errorOf(text, response.status), "blobs.put", "");
      if (response.status < 502 || response.status > 504) throw failure;
      waitMs = Math.max(waitMs, Number(response.headers.get("retry-after")) * 1000);
    } catch (cause) {
      if (cause instanceof RadicalClientError || put.signal?.aborted === true) throw cause;
      const message = cause instanceof Error ? cause.message : String(cause);
      const fields = { code: "network_error", status: 0, message, hint: "put the bytes again" };
      failure = new RadicalClientError(fields, "blobs.put", "", { cause });
    }
    if (attempt >= attempts) throw failure;
    await wait(Math.min(waitMs, options.maxWaitMs ?? 10_000), put.signal);
  }
}
`;
