import { createRadical } from "radical:worker";
import { callerOf } from "./tokens.ts";

interface Bindings {
  readonly TOKENS: string;
}

export default createRadical<Bindings>({
  // The person who calls.
  authenticate: (request, env) => callerOf(request, env.TOKENS),
  // Pages of other sites that may call.
  cors: { origins: ["https://app.example.com"] },
  // #region blobs
  // People who may put files.
  blobs: {
    authorize: (request, _env, caller) =>
      caller !== null && request.headers.get("content-type")?.startsWith("image/") === true,
  },
  // #endregion
});
