/**
 * The Worker on the port of `radical dev`: it chooses the location by the header `x-radical-location`. In production
 * the platform's network does that. What is asked of `radical dev` itself goes to its control server.
 */
import { RadicalError } from "@radical/protocol";
import {
  BUILD_ERROR_HEADER,
  CONTROL_PREFIX,
  DEV_TOKEN_HEADER,
  NOTICE_PATH,
  OPENAPI_PATH,
} from "./internal-requests.ts";
import { LOCATION_HEADER, bindingOf } from "./location-choice.ts";
import { isLoopbackName } from "./loopback.ts";

interface RouterEnv {
  /** Names of the locations; the first one serves requests that name none. */
  readonly LOCATIONS: readonly string[];
  readonly DEV_TOKEN: string;
  /** Where `radical dev` is controlled; empty if others than this machine reach the port. */
  readonly CONTROL_URL: string;
  /** Service bindings by bindingOf. */
  readonly [binding: string]: unknown;
}

interface Service {
  fetch(request: Request): Promise<Response>;
}

/** What the header {@link BUILD_ERROR_HEADER} says. */
let notice = "";

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: RouterEnv): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith(CONTROL_PREFIX)) {
      const isInternal = request.headers.get(DEV_TOKEN_HEADER) === env.DEV_TOKEN;
      if (isInternal && url.pathname === NOTICE_PATH) {
        notice = await request.text();
        return new Response(null, { status: 204 });
      }
      // By its name too: a page of the web that has its name point here gets nothing.
      if (!isInternal && env.CONTROL_URL !== "" && isLoopbackName(url.hostname))
        return fetch(`${env.CONTROL_URL}${url.pathname}`, request);
    }
    const answered = await toLocation(request, env);
    const isMissingDocument = answered.status === 404 && url.pathname === "/openapi.json" && env.CONTROL_URL !== "";
    const response = isMissingDocument ? await fetch(`${env.CONTROL_URL}${OPENAPI_PATH}`) : answered;
    if (notice === "") return response;
    const noticed = new Response(response.body, response);
    noticed.headers.set(BUILD_ERROR_HEADER, notice);
    return noticed;
  },
};

function toLocation(request: Request, env: RouterEnv): Response | Promise<Response> {
  const wanted = request.headers.get(LOCATION_HEADER) ?? env.LOCATIONS[0] ?? "";
  if (env.LOCATIONS.includes(wanted)) return (env[bindingOf(wanted)] as Service).fetch(request);
  const error = new RadicalError(
    "unknown_location",
    `there is no location "${wanted}"`,
    `set ${LOCATION_HEADER} to one of: ${env.LOCATIONS.join(", ")}`,
  );
  return new Response(error.toBody(), {
    status: error.status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  });
}
