/**
 * Sessions by cookie. The cookie has a random token, and the caller of handlers is the hash of it. So the token stays in the
 * browser and in this Worker. No table, log or backup has it, and no client can name the session of somebody else.
 *
 * No secret is needed. `handlers/lib/accounts.ts` stores whose a session is, and each handler reads that with the rest of its data.
 * So a session that was closed at one location is closed at all of them.
 */

const NAME = "session";
const LASTS_SECONDS = 30 * 24 * 60 * 60;
const OPENING = ["/api/register", "/api/login"];
const CLOSING = "/api/logout";
const TOKEN = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]{43})(?:;|$)`);

/** The session that the cookie names, whether it is open or not. Programs may send the token as `Authorization: Bearer <token>`. */
export async function sessionOf({ headers }: Request): Promise<string | null> {
  const token =
    /^Bearer ([\w-]{43})$/i.exec(headers.get("authorization") ?? "")?.[1] ??
    TOKEN.exec(headers.get("cookie") ?? "")?.[1];
  if (token === undefined) return null;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Every login has a new session, whatever cookie came with the request: nobody can hand somebody a session that they know. The
 * browser gets its cookie once the handler has opened it.
 */
export async function answerWithSession(
  request: Request,
  answer: (request: Request) => Promise<Response>,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (OPENING.includes(pathname)) {
    const token = newToken();
    const headers = new Headers(request.headers);
    headers.set("authorization", `Bearer ${token}`);
    const response = await answer(new Request(request, { headers }));
    return (await isOpened(response)) ? withCookie(response, request, token, LASTS_SECONDS) : response;
  }
  const response = await answer(request);
  return pathname === CLOSING && response.ok ? withCookie(response, request, "", 0) : response;
}

/** A login with a wrong password has the result null. */
async function isOpened(response: Response): Promise<boolean> {
  if (!response.ok) return false;
  const { result } = (await response.clone().json()) as { readonly result: object | null };
  return result !== null;
}

/**
 * Not for scripts, and not for requests that pages of other sites send. Browsers keep a `Secure` cookie from HTTPS alone. Some except
 * this machine from that and some do not, so there the cookie lacks the word.
 */
function withCookie(response: Response, { url }: Request, token: string, seconds: number): Response {
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(url).hostname);
  const answered = new Response(response.body, response);
  answered.headers.append(
    "set-cookie",
    `${NAME}=${token}; Path=/; HttpOnly; ${isHere ? "" : "Secure; "}SameSite=Lax; Max-Age=${seconds}`,
  );
  return answered;
}

function newToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace("=", "");
}
