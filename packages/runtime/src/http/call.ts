/**
 * From an HTTP request to a call of a handler. `POST /api/<handler>` has the parameters by name as a JSON object. For
 * handlers that only read, `GET /api/<handler>` has them in the query. A method of objects has the id of its object in the path:
 * `/api/Thread/<id>/reply`. Every bad input is refused here, before anything is sent anywhere.
 */
import {
  API_PATH,
  type HandlerManifest,
  type Manifest,
  OBJECT_ID,
  OBJECT_ID_HINT,
  RadicalError,
  encodeArguments,
  readCallPath,
  takesGet,
} from "@radical/protocol";
import { readJson } from "./body.ts";
import { argumentsOfQuery } from "./query.ts";

/** Longest list of handlers in a hint. */
const MAX_HINT_HANDLERS = 50;

/**
 * The handler that the request names; one with the tag `@internal` has no route. Throws `not_found`, `unknown_handler`,
 * `invalid_argument` or `method_not_allowed`.
 */
export function route(request: Request, manifest: Manifest): string {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith(API_PATH)) {
    throw new RadicalError("not_found", `There is nothing at ${pathname}.`, "Call a handler with POST /api/<handler>.");
  }
  const called = readCallPath(pathname);
  if (called === null) throw unreadable(pathname, manifest);
  const name = called.handler;
  const declaration = declarationOf(name, manifest);
  if (declaration.internal === true && manifest.testHooks?.routesInternal !== true)
    throw unknownHandler(name, manifest.handlers);
  if (request.method === "POST") return name;
  const isGettable = takesGet(declaration);
  if (request.method === "GET" && isGettable) return name;
  throw new MethodNotAllowed(
    request.method !== "GET"
      ? `Handlers are called with POST, not ${request.method}.`
      : declaration.readOnly
        ? `"${name}" takes a secret, which must not be in a URL.`
        : `"${name}" may write, so it is not called with GET.`,
    `Send POST ${pathname}.`,
    isGettable ? "GET, POST" : "POST",
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

/** The error for a path that names no handler. */
function unreadable(pathname: string, { handlers }: Manifest): RadicalError {
  const [className = "", , method = ""] = pathname.slice(API_PATH.length).split("/");
  return Object.hasOwn(handlers, `${className}.${method}`)
    ? new RadicalError("invalid_argument", `The id in ${pathname} can't be that of an object.`, OBJECT_ID_HINT)
    : unknownHandler(pathname.slice(API_PATH.length), handlers);
}

/** Throws `unknown_handler`. */
export function declarationOf(name: string, { handlers }: Manifest): HandlerManifest {
  const declaration = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (declaration !== undefined) return declaration;
  throw unknownHandler(name, handlers);
}

function unknownHandler(name: string, handlers: Manifest["handlers"]): RadicalError {
  const known = Object.keys(handlers)
    .filter((one) => handlers[one]!.internal !== true)
    .toSorted();
  const listed = known.slice(0, MAX_HINT_HANDLERS).join(", ") + (known.length > MAX_HINT_HANDLERS ? ", …" : "");
  return new RadicalError(
    "unknown_handler",
    `The handler "${name}" does not exist.`,
    known.length === 0 ? "The application has no handlers." : `Call one of these: ${listed}.`,
  );
}

/** The arguments of a request, encoded. Throws a RadicalError for what is not this handler's arguments. */
export async function readArguments(
  request: Request,
  declaration: HandlerManifest,
  manifest: Manifest,
  maxBytes: number,
): Promise<Uint8Array> {
  const { pathname, searchParams } = new URL(request.url);
  const id = readCallPath(pathname)?.id ?? null;
  const named = id === null ? declaration.parameters : declaration.parameters.filter(({ name }) => name !== OBJECT_ID);
  const json = request.method === "GET" ? argumentsOfQuery(searchParams, named) : await readJson(request, maxBytes);
  return argumentsOf(id === null ? json : withId(id, json), declaration, manifest);
}

/** The arguments with the id of the path. Other JSON than an object is refused like other arguments. */
function withId(id: string, json: unknown): unknown {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  if (!Object.hasOwn(json, OBJECT_ID)) return { ...json, [OBJECT_ID]: id };
  throw new RadicalError(
    "unknown_argument",
    `The argument "${OBJECT_ID}" is given twice.`,
    "Leave it out: the path has the id of the object.",
  );
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
