/** The Worker of a box office: sessions by cookie, mail, and jobs by a schedule. */
import { CallError, type Context, createRadical } from "radical:worker";
import { runJobs } from "./jobs.ts";
import { logIn, sessionOf } from "./sessions.ts";

export interface Bindings {
  /** Where mail is handed in. */
  readonly MAIL_URL: string;
  /** In place of a check of passwords or of an identity provider. */
  readonly LOGIN_CODE: string;
  readonly JOB_SECRET?: string;
}

const radical = createRadical<Bindings>({ authenticate: sessionOf });

export default {
  async fetch(request: Request, env: Bindings, context: Context) {
    const { pathname } = new URL(request.url);
    try {
      if (request.method === "POST" && pathname === "/login") return await logIn(request, env, radical(env, context));
      if (request.method === "POST" && pathname === "/jobs") {
        if (!env.JOB_SECRET || request.headers.get("authorization") !== `Bearer ${env.JOB_SECRET}`)
          throw new CallError(403, "forbidden", "This is for the schedule.");
        return Response.json(await runJobs(env, radical(env, context)));
      }
      return await radical.fetch(request, env, context);
    } catch (error) {
      return error instanceof CallError ? error.toResponse() : new Response(String(error), { status: 500 });
    }
  },

  /** Called by the schedule in `wrangler.jsonc`. */
  async scheduled(_controller: unknown, env: Bindings, context: Context) {
    await runJobs(env, radical(env, context));
  },
};
