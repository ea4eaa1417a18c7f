/**
 * From an HTTP request to a call of a handler. `POST /api/<handler>` has the parameters by name as a JSON object. For
 * handlers that only read, `GET /api/<handler>` has them in the query. Every bad input is refused here, before anything is
 * sent anywhere.
 */
import { type HandlerManifest, type Manifest, RadicalError, encodeArguments } from "@radical/protocol";
import { readJson } from "./body.ts";
import { argumentsOfQuery } from "./query.ts";

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
  const declaration = declarationOf(name, manifest);
  if (request.method === "POST") return name;
  if (request.method === "GET" && declaration.readOnly) return name;
  throw new MethodNotAllowed(
    request.method === "GET"
      ? `"${name}" may write, so it is not called with GET`
      : `handlers are called with POST, not ${request.method}`,
    `send POST ${API}${name}`,
    declaration.readOnly ? "GET, POST" : "POST",
  );
}

export class MethodNotAllowed extends RadicalError {
  /** The methods that are allowed, as the header `Allow` has them. */
  readonly allow: string;

  constructor(message: string, hint: string, allow: string) {
    super("method_not_allowed", message, hint);
    this.allow = allow;
  }
}

/** Throws `unknown_handler`. */
export function declarationOf(name: string, { handlers }: Manifest): HandlerManifest {
  const declaration = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (declaration !== undefined) return declaration;
  const known = Object.keys(handlers).toSorted();
  const listed = known.slice(0, MAX_HINT_HANDLERS).join(", ") + (known.length > MAX_HINT_HANDLERS ? ", …" : "");
  throw new RadicalError(
    "unknown_handler",
    `there is no handler "${name}"`,
    known.length === 0 ? "the application has no handlers" : `the handlers are: ${listed}`,
  );
}

/** The arguments of a request, encoded. Throws a RadicalError for what is not this handler's arguments. */
export async function readArguments(
  request: Request,
  declaration: HandlerManifest,
  manifest: Manifest,
  maxBytes: number,
): Promise<Uint8Array> {
  const json =
    request.method === "GET"
      ? argumentsOfQuery(new URL(request.url).searchParams, declaration.parameters)
      : await readJson(request, maxBytes);
  return argumentsOf(json, declaration, manifest);
}

/** Arguments by name, encoded. Throws a RadicalError that names the parameter. */
export function argumentsOf(
  json: unknown,
  { parameters }: HandlerManifest,
  { records }: Pick<Manifest, "records">,
): Uint8Array {
  const encoded = encodeArguments(parameters, records, json);
  if (encoded.kind === "encoded") return encoded.bytes;
  const { code, message, hint } = encoded.problem;
  throw new RadicalError(code, message, hint);
}
