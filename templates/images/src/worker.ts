/** The application's own Worker: it knows people by a cookie, and says which bytes may be put. Handlers do the rest. */
import { type Context, createRadical } from "radical:worker";
import { answerWithSession, sessionOf } from "./sessions.ts";

/** Pictures in which nothing can run. How large they may be is in `radical.config.ts`. */
const PICTURES = /^image\/(?:avif|gif|jpeg|png|webp)$/;

const radical = createRadical({
  authenticate: sessionOf,
  blobs: {
    authorize: async (request, env, caller): Promise<boolean> => {
      if (!PICTURES.test(request.headers.get("content-type") ?? "")) return false;
      // Throws if the session is not open; then that is the answer.
      await radical(env).call("whoami", {}, { caller });
      return true;
    },
  },
});

export default {
  fetch: (request: Request, env: unknown, context: Context): Promise<Response> =>
    answerWithSession(request, (admitted) => radical.fetch(admitted, env, context)),
};
