/** The body of a request: bounded before it is read, then JSON. */
import { RadicalError } from "@radical/protocol";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * The body as JSON; an empty one is an empty object. Throws `unsupported_media_type`, `request_too_large` or
 * `invalid_json`.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const bytes = await readBounded(request, maxBytes, () => tooLarge(maxBytes));
  refuseForms(request);
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)) as unknown;
  } catch (error) {
    // The type is part of the answer only now: a client that is not a browser may say of it what it likes.
    const type = request.headers.get("content-type");
    const hint =
      type === null || JSON_TYPE.test(type)
        ? "Send a JSON object with the parameters by name."
        : `Send a JSON object with the parameters by name, with content-type application/json instead of ${type}.`;
    throw new RadicalError(
      "invalid_json",
      `The body is not JSON: ${error instanceof Error ? error.message : ""}`,
      hint,
      error,
    );
  }
}

/**
 * Browsers send forms to wherever a page wants them, with the user's cookies, and say from which origin. No form can have
 * the content type of JSON, and scripts of other origins are asked for first.
 */
function refuseForms({ headers }: Request): void {
  const type = headers.get("content-type") ?? "";
  if (!headers.has("origin") || JSON_TYPE.test(type)) return;
  throw new RadicalError(
    "unsupported_media_type",
    `Pages call handlers with content type application/json, not ${type === "" ? "without one" : type.slice(0, 200)}.`,
    "Send the header content-type: application/json.",
  );
}

/**
 * How many times the limit is read and thrown away: a client that is still sending would see its connection break
 * instead of the answer.
 */
const DRAINED_LIMITS = 4;

/** Throws `tooMany()` for more than `maxBytes`. */
export async function readBounded(
  request: Request,
  maxBytes: number,
  tooMany: () => RadicalError,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > DRAINED_LIMITS * maxBytes) throw tooMany();
  if (request.body === null) return new Uint8Array();
  if (declared > 0 && declared <= maxBytes) {
    // In one piece: chunk by chunk takes several turns of the event loop.
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > maxBytes) throw tooMany();
    return bytes;
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    length += chunk.length;
    if (length > DRAINED_LIMITS * maxBytes) break;
    if (length > maxBytes) chunks.length = 0;
    else chunks.push(chunk);
  }
  if (length > maxBytes) throw tooMany();
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function tooLarge(maxBytes: number): RadicalError {
  return new RadicalError(
    "request_too_large",
    `The body is larger than ${maxBytes} bytes.`,
    `Send at most ${maxBytes} bytes.`,
  );
}
