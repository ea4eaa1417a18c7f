/**
 * `PUT /blobs` and `GET /blobs/<hash>`. The bytes of a hash never change, so every answer with them may be kept forever.
 *
 * An upload begins at the primary before its bytes go to the store, and is stored there afterwards. So the primary knows of all
 * bytes that there may be, and the collector needs no list of the store.
 */
import { type BlobValue, BLOBS_PATH, isBlobHash, isMediaType, RadicalError } from "@radical/protocol";
import { hex } from "../hex.ts";
import { readBounded } from "../http/body.ts";
import { MethodNotAllowed } from "../http/call.ts";
import type { AskBlobs } from "./ask.ts";
import type { BlobRange, BlobStore, StoredBlob } from "./blob-store.ts";
import { DEFAULT_TYPE, safeHeaders } from "./media-types.ts";
import { partOf } from "./r2-store.ts";

/** Whether a path is one of blobs. */
export function isBlobPath(url: string): boolean {
  // First what is cheap: this is looked at before every request.
  if (!url.includes(BLOBS_PATH)) return false;
  const { pathname } = new URL(url);
  return pathname === BLOBS_PATH || pathname.startsWith(`${BLOBS_PATH}/`);
}

// ── Putting ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Putting {
  readonly ask: AskBlobs;
  readonly store: BlobStore;
  readonly maxBytes: number;
}

/** Most bytes that the uploads of an isolate hold: it has 128 MB, which its other requests need as well. */
const MOST_HELD_BYTES = 64 * 1024 * 1024;
let heldBytes = 0;

/** Another upload that goes on at the same time may make this one begin anew. */
const MOST_ROUNDS = 3;
const GOING_SECONDS = 30;
const BUSY_SECONDS = 2;

/** Answers 201 if the bytes are new, and 200 if they were there. Throws a RadicalError or a CallError. */
export async function putBlob(request: Request, putting: Putting): Promise<Response> {
  const type = request.headers.get("content-type") || DEFAULT_TYPE;
  if (!isMediaType(type))
    throw new RadicalError(
      "unsupported_media_type",
      `The content type ${JSON.stringify(type.slice(0, 80))} is not a media type.`,
      "Send a header such as content-type: image/png.",
    );
  const { maxBytes } = putting;
  const room = roomFor(request, maxBytes);
  if (heldBytes > 0 && heldBytes + room > MOST_HELD_BYTES)
    throw new BlobBusy("The location holds as many bytes of uploads as it can.", BUSY_SECONDS);
  heldBytes += room;
  try {
    const bytes = await readBounded(request, maxBytes, () => tooLarge(maxBytes));
    const hash = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
    return await putBytes(hash, bytes, type, putting);
  } finally {
    heldBytes -= room;
  }
}

/** Bytes of memory that the body takes. One of a length that nobody knows is put together of its parts. */
function roomFor({ headers }: Request, maxBytes: number): number {
  const announced = Number(headers.get("content-length") ?? Number.NaN);
  return announced >= 0 ? Math.min(announced, maxBytes) : 2 * maxBytes;
}

async function putBytes(
  hash: string,
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
  { ask, store: to }: Putting,
): Promise<Response> {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    const [state = "", token = ""] = await ask("blobs.begin", [hash]);
    if (state === "going") break;
    if (state === "stored") {
      // Bytes that somebody has removed by hand are put again.
      const found = await fromStore(to.head(hash));
      if (found !== null) return answer(200, { hash, size: found.size, type: found.type });
    }
    await fromStore(to.put(hash, bytes, type));
    const [after] = await ask("blobs.stored", [hash, token]);
    if (after === "stored") return answer(201, { hash, size: bytes.length, type });
  }
  throw new BlobBusy("The same bytes are being collected, since nobody has named them for long.", GOING_SECONDS);
}

function answer(status: number, blob: BlobValue): Response {
  const headers = { "cache-control": "no-store", location: `${BLOBS_PATH}/${blob.hash}` };
  return Response.json(blob, { status, headers });
}

/** A put that may succeed a little later. */
export class BlobBusy extends RadicalError {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super("blob_busy", message, `Send the same request again in ${retryAfterSeconds} seconds.`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function tooLarge(maxBytes: number): RadicalError {
  return new RadicalError(
    "blob_too_large",
    `The bytes are more than the ${maxBytes} that one blob may have.`,
    "Put fewer bytes, or raise blobs.maxBytes in radical.config.ts.",
  );
}

/** The answer of the store. Throws a `blob_store_failed`. */
async function fromStore<T>(doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw new RadicalError(
      "blob_store_failed",
      `The store of blobs did not answer: ${error instanceof Error ? error.message : String(error)}`,
      "Send the same request again; the log of the location tells more if it goes on.",
      error,
    );
  }
}

// ── Getting ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Throws a RadicalError. */
export async function getBlob(request: Request, from: () => BlobStore): Promise<Response> {
  const { pathname } = new URL(request.url);
  const hash = pathname.slice(BLOBS_PATH.length + 1);
  const isHead = request.method === "HEAD";
  if (!isHead && request.method !== "GET")
    throw new MethodNotAllowed(
      pathname === BLOBS_PATH ? "Bytes are put with PUT /blobs." : "Blobs are read with GET or HEAD.",
      pathname === BLOBS_PATH ? "Send PUT /blobs." : `Send GET ${BLOBS_PATH}/<hash>.`,
      pathname === BLOBS_PATH ? "PUT" : "GET, HEAD",
    );
  if (!isBlobHash(hash)) throw notThere("No blob has this path.", "A blob is read with GET /blobs/<hash>.");
  const tag = `"${hash}"`;
  const kept = { etag: tag, "cache-control": "public, max-age=31536000, immutable" };
  if (namesTag(request.headers.get("if-none-match"), tag)) return new Response(null, { status: 304, headers: kept });
  const wanted = isHead ? null : rangeIn(request, tag);
  const store = from();
  const about = isHead || wanted !== null ? await fromStore(store.head(hash)) : null;
  // No store gets numbers that only a client has chosen.
  const part = wanted === null || about === null ? null : partOf(about.size, wanted);
  if (part !== null && part.length <= 0)
    return new Response(null, { status: 416, headers: { ...kept, "content-range": `bytes */${about?.size}` } });
  const found = isHead ? about : await fromStore(store.get(hash, part === null ? null : { kind: "from", ...part }));
  if (found === null)
    throw notThere(
      `The blob ${hash} does not exist.`,
      "Put the bytes again with PUT /blobs; blobs that nobody names are collected.",
    );
  return new Response(found.body, {
    status: found.range === null ? 200 : 206,
    headers: { ...kept, ...safeHeaders(found.type), "accept-ranges": "bytes", ...lengthOf(found) },
  });
}

function notThere(message: string, hint: string): RadicalError {
  return new RadicalError("not_found", message, hint);
}

function namesTag(header: string | null, tag: string): boolean {
  return header !== null && header.split(",").some((one) => [tag, `W/${tag}`, "*"].includes(one.trim()));
}

/** Null: all bytes. One range is enough for players; several are answered with all. */
function rangeIn({ headers }: Request, tag: string): BlobRange | null {
  const since = headers.get("if-range");
  if (since !== null && since !== tag) return null;
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.get("range") ?? "") ?? [];
  if (first === "") return last === "" ? null : { kind: "last", length: Number(last) };
  const offset = Number(first);
  if (last === "") return { kind: "from", offset, length: null };
  return Number(last) < offset ? null : { kind: "from", offset, length: Number(last) - offset + 1 };
}

function lengthOf({ size, range }: StoredBlob): Readonly<Record<string, string>> {
  if (range === null) return { "content-length": String(size) };
  const { offset, length } = range;
  return { "content-length": String(length), "content-range": `bytes ${offset}-${offset + length - 1}/${size}` };
}
