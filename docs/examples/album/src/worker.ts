import { createRadical } from "radical:worker";
import { callerOf } from "./tokens.ts";

interface Bindings {
  readonly TOKENS: string;
}

export default createRadical<Bindings>({
  // Who calls.
  authenticate: (request, env) => callerOf(request, env.TOKENS),
  // Which pages of other sites may call.
  cors: { origins: ["https://app.example.com"] },
  // #region blobs
  // Who may put files.
  blobs: {
    authorize: (request, _env, caller) =>
      caller !== null && request.headers.get("content-type")?.startsWith("image/") === true,
  },
  // #endregion
});
