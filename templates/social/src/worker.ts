/** The application's own Worker: it knows people by a cookie. Everything else is done by the handlers. */
import { type Context, createRadical } from "radical:worker";
import { answerWithSession, sessionOf } from "./sessions.ts";

const radical = createRadical({ authenticate: sessionOf });

export default {
  fetch: (request: Request, env: unknown, context: Context): Promise<Response> =>
    answerWithSession(request, (admitted) => radical.fetch(admitted, env, context)),
};
