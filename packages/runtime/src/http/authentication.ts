/** The caller: the application's own code finds it, from the proof in the request. */
import { RadicalError, isCaller } from "@radical/protocol";

/**
 * Finds the principal on whose behalf a request is made: its id, which handlers read as `caller()`, or null. It throws a
 * `CallError` to refuse the request. It is given the head of the request, without the body.
 */
export type Authenticate<Env> = (request: Request, env: Env) => string | null | Promise<string | null>;

/** Throws what `authenticate` throws, and an `internal_error` if it gives something that is not a caller. */
export async function callerOf<Env>(
  authenticate: Authenticate<Env> | undefined,
  request: Request,
  env: Env,
): Promise<string | null> {
  if (authenticate === undefined) return null;
  return checkedCaller(await authenticate(headOf(request), env), "authenticate");
}

/** The request without its body. */
export function headOf({ url, method, headers, cf }: Request): Request {
  return new Request(url, { method, headers, ...(cf === undefined ? {} : { cf }) });
}

/** Throws an `internal_error`: the application's own code is wrong. */
export function checkedCaller(caller: unknown, giver: string): string | null {
  if (caller === null || (typeof caller === "string" && isCaller(caller))) return caller;
  throw new RadicalError(
    "internal_error",
    `The function ${giver} gave ${typeof caller === "string" ? "a text" : typeof caller}, which is not a caller.`,
    "Give null, or well-formed text of 1 to 512 UTF-8 bytes.",
  );
}
