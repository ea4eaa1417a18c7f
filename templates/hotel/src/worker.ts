/** The application's own Worker: it knows people by a cookie, and has the services that handlers ask for. */
import { type Context, createRadical, Refused } from "radical:worker";
import { type FakeBindings, onlyInDev, openFakes } from "./fakes.ts";
import { answerWithSession, sessionOf } from "./sessions.ts";

const services = onlyInDev(openFakes(Refused).services, Refused);
const radical = createRadical<FakeBindings>({ authenticate: sessionOf, services });

export default {
  fetch: (request: Request, env: FakeBindings, context: Context): Promise<Response> =>
    answerWithSession(request, (admitted) => radical.fetch(admitted, env, context)),
};
