/** Calls on behalf of somebody, as a browser makes them: with the cookie of a login. */
import type { Answer, CallOptions } from "@radical/cli/testing";

export const PASSWORD = "correct horse";

/** The options for calls of somebody, by the answer to their login. Throws if it opened no session. */
export function signedIn({ headers, error }: Pick<Answer, "headers" | "error">): CallOptions {
  const [cookie] = headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  if (cookie === undefined) throw new Error(`no session was opened: ${error?.message ?? "the password is wrong"}`);
  return { headers: { cookie } };
}
