/**
 * The Worker that workerd's port leads to: it chooses the location by the header `x-radical-location`. In production the
 * platform's network does that.
 */
import { RadicalError } from "@radical/protocol";
import { DEV_TOKEN_HEADER, ENTRY_TOKEN_HEADER, HAS_SCHEDULED_PATH, SCHEDULED_PATHS } from "@radical/app/workers";
import { LOCATION_HEADER, bindingOf } from "./location-choice.ts";

interface RouterEnv {
  /** Names of the locations; the first one serves requests that name none. */
  readonly LOCATIONS: readonly string[];
  /** The token that every request must carry; empty: none. */
  readonly ENTRY_TOKEN: string;
  /** Of requests of `radical dev` to its own Workers; empty: they take none. */
  readonly DEV_TOKEN: string;
  /** Service bindings by bindingOf. */
  readonly [binding: string]: unknown;
}

interface Service {
  fetch(request: Request): Promise<Response>;
  scheduled(event: { readonly cron: string; readonly scheduledTime: Date }): Promise<ScheduledResult>;
}

interface ScheduledResult {
  readonly outcome: string;
}

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  fetch(request: Request, env: RouterEnv): Response | Promise<Response> {
    if (env.ENTRY_TOKEN === "") return toLocation(request, env);
    if (request.headers.get(ENTRY_TOKEN_HEADER) !== env.ENTRY_TOKEN) return new Response(null, { status: 403 });
    const admitted = new Request(request);
    admitted.headers.delete(ENTRY_TOKEN_HEADER);
    return toLocation(admitted, env);
  },
};

function toLocation(request: Request, env: RouterEnv): Response | Promise<Response> {
  const wanted = request.headers.get(LOCATION_HEADER) ?? env.LOCATIONS[0] ?? "";
  if (env.LOCATIONS.includes(wanted)) {
    const service = env[bindingOf(wanted)] as Service;
    const url = new URL(request.url);
    return SCHEDULED_PATHS.includes(url.pathname) ? schedule(service, url.searchParams, env) : service.fetch(request);
  }
  return answerOf(
    new RadicalError(
      "unknown_location",
      `The location "${wanted}" does not exist.`,
      `Set ${LOCATION_HEADER} to one of these: ${env.LOCATIONS.join(", ")}.`,
    ),
  );
}

function answerOf(error: RadicalError): Response {
  return new Response(error.toBody(), {
    status: error.status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  });
}

/** Fires a scheduled event, and answers as `wrangler dev` does. */
async function schedule(service: Service, query: URLSearchParams, env: RouterEnv): Promise<Response> {
  const time = query.get("time");
  const scheduledTime = time === null ? new Date() : new Date(Number(time));
  const cron = query.get("cron") ?? "";
  if (await lacksScheduled(service, cron, env))
    return answerOf(
      new RadicalError(
        "not_found",
        `Nothing has run. The Worker has no function \`scheduled\` for the event of the cron "${cron}".`,
        "Add the function `scheduled` beside `fetch` to the default export of the Worker's entry (src/worker.ts). Then fire the event again.",
      ),
    );
  const result = await service.scheduled({ cron, scheduledTime });
  const status = result.outcome === "ok" ? 200 : 500;
  return query.get("format") === "json" ? Response.json(result, { status }) : new Response(result.outcome, { status });
}

/** Of a Worker that can't be asked, a class, the platform tells itself. */
async function lacksScheduled(service: Service, cron: string, { DEV_TOKEN: token }: RouterEnv): Promise<boolean> {
  if (token === "") return false;
  const headers = { [DEV_TOKEN_HEADER]: token };
  const answer = await service.fetch(
    new Request(`http://location${HAS_SCHEDULED_PATH}`, { method: "POST", headers, body: cron }),
  );
  const told = await answer.text();
  return answer.headers.get(DEV_TOKEN_HEADER) === token && told === "false";
}
