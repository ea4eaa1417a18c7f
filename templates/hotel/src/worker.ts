/** The application's own Worker: it knows people by a cookie, and has the services that handlers ask for. */
import { type Context, createRadical, Refused } from "radical:worker";
import { openFakes } from "./fakes.ts";
import { answerWithSession, sessionOf } from "./sessions.ts";

const { services } = openFakes(Refused);
const radical = createRadical({ authenticate: sessionOf, services });

export default {
  fetch: (request: Request, env: unknown, context: Context): Promise<Response> =>
    answerWithSession(request, (admitted) => radical.fetch(admitted, env, context)),
};
