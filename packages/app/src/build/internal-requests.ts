/** Requests that `radical dev` sends to its own Workers on the one port. They carry a token that nobody else knows. */

export const DEV_TOKEN_HEADER = "x-radical-dev-token";

/** At a location: takes another module, a CBOR array of its manifest as JSON, f and f^rw. */
export const MODULE_PATH = "/__radical/module";

/** At a location: tells what its cache has of the items that the JSON list names. 204: no call has come there yet. */
export const CACHED_PATH = "/__radical/cached";

/** At a location: the JSON number says by how many ms the time of its handlers is ahead from now on. */
export const AHEAD_PATH = "/__radical/ahead";

/** At a location: tells whether it has a function for the scheduled event of the cron that the text names. The answer carries the token. */
export const HAS_SCHEDULED_PATH = "/__radical/has-scheduled";

/** At the router: shows that the request has come through the front server, or from `radical dev`. No location sees it. */
export const ENTRY_TOKEN_HEADER = "x-radical-entry-token";

/** On every answer while the sources have errors, and an earlier build serves. */
export const BUILD_ERROR_HEADER = "x-radical-build-error";

/** The OpenAPI document, which has its usual name too if the application has nothing there. */
export const OPENAPI_PATH = "/__radical/openapi.json";

/** `radical dev` answers paths that begin with it, not a location. */
export const CONTROL_PREFIX = "/__radical/";

/** Fires a scheduled event by hand, under the name that Cloudflare documents. */
export const SCHEDULED_PATH = "/cdn-cgi/handler/scheduled";

/** The same under the names that other versions of wrangler print. */
export const SCHEDULED_PATHS: readonly string[] = [SCHEDULED_PATH, "/cdn-cgi/local/scheduled", "/cdn-cgi/mf/scheduled"];

/** The platform answers what begins so, not a Worker. */
export const PLATFORM_PREFIX = "/cdn-cgi/";
