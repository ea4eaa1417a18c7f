/**
 * The Worker in front of a primary that nothing else reaches: `radical deploy` and its companions administer it through this
 * one. It forwards administrative requests that are signed, to the server that leads; the server checks the signature, so there is
 * no secret here.
 */
import {
  ADMINISTRATIVE_PATHS,
  KEY_HEADER,
  MODULES_PATH,
  NODE_HEADER,
  SIGNATURE_HEADER,
  TIME_HEADER,
  TIME_PATH,
} from "@radical/protocol";

interface Server {
  fetch(url: string, init: RequestInit): Promise<Response>;
}

interface RelayEnv {
  readonly RADICAL_PRIMARY_A: Server;
  readonly RADICAL_PRIMARY_B: Server;
}

const SIGNED = [KEY_HEADER, TIME_HEADER, SIGNATURE_HEADER];
/** Nobody moves the time of a deployment. */
const RELAYED: ReadonlySet<string> = new Set(ADMINISTRATIVE_PATHS.filter((path) => path !== TIME_PATH));
const NOT_LEADING = 503;

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: RelayEnv): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (!isRelayed(pathname) || SIGNED.some((name) => !request.headers.has(name)))
      return new Response(null, { status: 404 });
    const node = request.headers.get(NODE_HEADER);
    const servers =
      node === "a"
        ? [env.RADICAL_PRIMARY_A]
        : node === "b"
          ? [env.RADICAL_PRIMARY_B]
          : [env.RADICAL_PRIMARY_A, env.RADICAL_PRIMARY_B];
    const { method } = request;
    const body = method === "GET" ? null : await request.arrayBuffer();
    const headers = new Headers(request.headers);
    headers.delete("host");
    let answer = unanswered("there is no server");
    for (const server of servers) {
      try {
        answer = await server.fetch(`http://primary${pathname}${search}`, { method, headers, body });
      } catch (error) {
        // What the other one says of itself tells more.
        if (answer.status !== NOT_LEADING) answer = unanswered(String(error));
        continue;
      }
      if (answer.status !== NOT_LEADING) return answer;
    }
    return answer;
  },
};

function isRelayed(path: string): boolean {
  return RELAYED.has(path) || path.startsWith(MODULES_PATH);
}

function unanswered(reason: string): Response {
  const error = { code: "primary_unreachable", message: reason, hint: "See whether the machines of the primary run." };
  return Response.json({ error }, { status: 502 });
}
