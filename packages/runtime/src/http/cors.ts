/**
 * Calls from web pages: allowed are pages of the application's own origin, and those of the origins that it names. Browsers
 * say with `Origin` on whose behalf a page of another site asks. A request that names another origin is refused before
 * anything is done. So cookies that the browser sends along are worth nothing there.
 */
import { RadicalError } from "@radical/protocol";
import { replyOfError, toResponse } from "./reply.ts";

export interface CorsOptions {
  /** Origins whose pages may call, like `https://app.example.com`, or `"*"`: all, then without cookies. */
  readonly origins: readonly string[] | "*";
  /** Whether those pages may send cookies. Default: false. */
  readonly credentials?: boolean;
  /** Request headers that they may send, besides those that Radical knows. */
  readonly headers?: readonly string[];
  /** How long browsers may keep the answer to a preflight request. Default: 7200. */
  readonly maxAgeSeconds?: number;
}

/** Headers that pages may send without being named. */
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "prefer",
  "traceparent",
  "tracestate",
];
/** Headers that pages may read besides those that the platform lets them. */
const EXPOSED_HEADERS = [
  "location",
  "preference-applied",
  "retry-after",
  "server-timing",
  "x-radical-execution",
  "x-radical-location",
  "x-radical-path",
  "x-radical-reason",
];
const DEFAULT_MAX_AGE_SECONDS = 7_200;

export class Cors {
  readonly #options: CorsOptions | null;
  readonly #allowsLoopback: boolean;

  /**
   * Throws a TypeError for options that contradict each other, or an origin that is none. `allowsLoopback`: pages that the same
   * machine serves may call, at any port.
   */
  constructor(options: CorsOptions | null, allowsLoopback = false) {
    this.#options = options;
    this.#allowsLoopback = allowsLoopback;
    if (options === null) return;
    if (options.origins === "*") {
      if (options.credentials === true) throw new TypeError('cors: credentials need origins by name, not "*"');
      return;
    }
    for (const origin of options.origins) {
      if (!URL.canParse(origin) || new URL(origin).origin !== origin)
        throw new TypeError(`cors: ${JSON.stringify(origin)} is no origin; write it like "https://app.example.com"`);
    }
  }

  /** Throws `origin_not_allowed`. */
  check(request: Request): void {
    const origin = request.headers.get("origin");
    if (origin === null || isOwn(origin, request.url) || this.#allows(origin)) return;
    throw new RadicalError(
      "origin_not_allowed",
      `Pages of ${origin.slice(0, 200)} may not call this application.`,
      "Name the origin under cors of createRadical, or call from a page of the application's own origin.",
    );
  }

  /** Whether the request asks what another one may do. */
  isPreflight({ method, headers }: Request): boolean {
    return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
  }

  /** Its answer: what pages of the origin may do, or that they may do nothing. */
  preflight(request: Request): Response {
    try {
      this.check(request);
    } catch (error) {
      return toResponse(replyOfError(error), this.headers(request));
    }
    return new Response(null, {
      status: 204,
      headers: {
        ...this.headers(request),
        "access-control-allow-methods": "GET, POST, PUT, DELETE",
        "access-control-allow-headers": [...REQUEST_HEADERS, ...(this.#options?.headers ?? [])].join(", "),
        "access-control-max-age": String(this.#options?.maxAgeSeconds ?? DEFAULT_MAX_AGE_SECONDS),
      },
    });
  }

  /** The headers that let a page read the response to its request. */
  headers(request: Request): Readonly<Record<string, string>> {
    const options = this.#options ?? NO_OPTIONS;
    if (this.#options === null && !this.#allowsLoopback) return {};
    const origin = request.headers.get("origin");
    const allowed =
      origin === null || !this.#allows(origin)
        ? {}
        : {
            "access-control-allow-origin": options.origins === "*" ? "*" : origin,
            "access-control-expose-headers": EXPOSED_HEADERS.join(", "),
            // A page beside `radical dev` gets no cookies unless it is named.
            ...(options.credentials === true && options.origins.includes(origin)
              ? { "access-control-allow-credentials": "true" }
              : {}),
          };
    return options.origins === "*" ? allowed : { vary: "origin", ...allowed };
  }

  #allows(origin: string): boolean {
    const { origins } = this.#options ?? NO_OPTIONS;
    return origins === "*" || origins.includes(origin) || (this.#allowsLoopback && isLoopback(origin));
  }
}

const NO_OPTIONS: CorsOptions = { origins: [] };

/** Names that browsers resolve to the machine that they run on. */
function isLoopback(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** By host only: whoever ends TLS before the Worker changes the scheme. */
function isOwn(origin: string, url: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === new URL(url).host;
}
