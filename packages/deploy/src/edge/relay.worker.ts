/**
 * The Worker in front of a primary that nothing else reaches: `radical deploy` and its companions administer it through this
 * one. It forwards administrative requests that are signed, to the server that leads; the server checks the signature, so there is
 * no secret here.
 */
import {
  CONTENTION_PATH,
  INDEXES_PATH,
  KEY_HEADER,
  LIVES_PATH,
  LOG_PATH,
  MODULES_PATH,
  MODULE_LIST_PATH,
  SAMPLES_PATH,
  SCHEDULES_PATH,
  SIGNATURE_HEADER,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  WORKFLOWS_PATH,
  TIME_HEADER,
  NODE_HEADER,
} from "@radical/protocol";

interface Server {
  fetch(url: string, init: RequestInit): Promise<Response>;
}

interface RelayEnv {
  readonly RADICAL_PRIMARY_A: Server;
  readonly RADICAL_PRIMARY_B: Server;
}

const SIGNED = [KEY_HEADER, TIME_HEADER, SIGNATURE_HEADER];
const ADMINISTRATIVE = [
  STATUS_PATH,
  MODULE_LIST_PATH,
  INDEXES_PATH,
  LOG_PATH,
  SAMPLES_PATH,
  LIVES_PATH,
  CONTENTION_PATH,
  TASKS_PATH,
  TASK_ORDERS_PATH,
  WORKFLOWS_PATH,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  SCHEDULES_PATH,
];
const NOT_LEADING = 503;

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: RelayEnv): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (!isAdministrative(pathname) || SIGNED.some((name) => !request.headers.has(name)))
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

function isAdministrative(path: string): boolean {
  return ADMINISTRATIVE.includes(path) || path.startsWith(MODULES_PATH);
}

function unanswered(reason: string): Response {
  const error = { code: "primary_unreachable", message: reason, hint: "See whether the machines of the primary run." };
  return Response.json({ error }, { status: 502 });
}
