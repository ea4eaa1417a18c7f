/**
 * From an HTTP request to a call of a handler: `POST /api/<handler>`, the parameters by name as a JSON object. Every
 * bad input is refused here, before anything is sent anywhere.
 */
import { type HandlerManifest, type Manifest, RadicalError, encodeArguments } from "@radical/protocol";
import { readJson } from "./body.ts";

export interface Call {
  readonly handler: string;
  readonly declaration: HandlerManifest;
  /** Encoded: a map by parameter name. */
  readonly args: Uint8Array;
}

const API = "/api/";
/** Longest list of handlers in a hint. */
const MAX_HINT_HANDLERS = 50;

/** The handler that the request names. Throws `not_found`, `unknown_handler` or `method_not_allowed`. */
export function route(request: Request, manifest: Manifest): string {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith(API)) {
    throw new RadicalError("not_found", `there is nothing at ${pathname}`, "call a handler with POST /api/<handler>");
  }
  const name = pathname.slice(API.length);
  if (!Object.hasOwn(manifest.handlers, name)) {
    const known = Object.keys(manifest.handlers).toSorted();
    const listed = known.slice(0, MAX_HINT_HANDLERS).join(", ") + (known.length > MAX_HINT_HANDLERS ? ", …" : "");
    throw new RadicalError(
      "unknown_handler",
      `there is no handler "${name}"`,
      known.length === 0 ? "the application has no handlers" : `the handlers are: ${listed}`,
    );
  }
  if (request.method !== "POST") {
    throw new RadicalError(
      "method_not_allowed",
      `handlers are called with POST, not ${request.method}`,
      `send POST ${API}${name}`,
    );
  }
  return name;
}

/** Throws a RadicalError for a body that is not this handler's arguments. */
export async function readCall(request: Request, handler: string, manifest: Manifest, maxBytes: number): Promise<Call> {
  const declaration = manifest.handlers[handler];
  if (declaration === undefined) throw new Error(`no handler ${handler}`);
  const encoded = encodeArguments(declaration.parameters, manifest.records, await readJson(request, maxBytes));
  if (encoded.kind === "problem") {
    const { code, message, hint } = encoded.problem;
    throw new RadicalError(code, message, hint);
  }
  return { handler, declaration, args: encoded.bytes };
}
