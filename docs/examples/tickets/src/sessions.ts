/** Sessions that can be ended: the cookie has a random id, and a table has the session. */
import { type Calls, CallError } from "radical:worker";
import type { Bindings } from "./worker.ts";

/** The caller of handlers: the session that the cookie names. A client can name no other kind of caller. */
export function sessionOf(request: Request): string | null {
  const id = /(?:^|;\s*)session=([\w-]{36})(?:;|$)/.exec(request.headers.get("cookie") ?? "")?.[1];
  return id === undefined ? null : `session-${id}`;
}

export async function logIn(request: Request, env: Bindings, calls: Calls): Promise<Response> {
  const { user, code } = (await request.json()) as { user: string; code: string };
  if (code !== env.LOGIN_CODE) throw new CallError(403, "wrong_code", "The code is wrong.");
  const id = crypto.randomUUID();
  await calls.call("openSession", { id, user }, { caller: "worker" });
  // Not for scripts, and not for pages of other sites.
  const cookie = `session=${id}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=43200`;
  return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
}
