/**
 * The Worker in front of a primary that nothing else reaches: `radical deploy` and its companions administer it through this
 * one. It forwards administrative requests that are signed, to the server that leads; the server checks the signature, so there is
 * no secret here. Anybody can reach it, so it keeps and passes on no more than such a request can have.
 */
import {
  type ADMINISTRATIVE_PATHS,
  CONTENTION_PATH,
  INDEXES_PATH,
  isModuleHash,
  KEY_HEADER,
  LIVES_PATH,
  LOG_PATH,
  MAX_MODULE_BYTES,
  MAX_QUESTION_BYTES,
  MODULES_PATH,
  MODULE_LIST_PATH,
  REPLAY_WINDOW_MS,
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
  type TIME_PATH,
  NODE_HEADER,
  UPGRADE_PATH,
} from "@radical/protocol";

interface Server {
  fetch(url: string, init: RequestInit): Promise<Response>;
}

interface RelayEnv {
  readonly RADICAL_PRIMARY_A: Server;
  readonly RADICAL_PRIMARY_B: Server;
}

type Relayed = Exclude<(typeof ADMINISTRATIVE_PATHS)[number], typeof TIME_PATH>;

/** The methods of each path. Nobody moves the time of a deployment. */
const RELAYED: Readonly<Record<Relayed, readonly string[]>> = {
  [STATUS_PATH]: ["GET"],
  [MODULE_LIST_PATH]: ["GET"],
  [INDEXES_PATH]: ["GET"],
  [CONTENTION_PATH]: ["GET"],
  [SCHEDULES_PATH]: ["GET", "POST"],
  [LOG_PATH]: ["POST"],
  [SAMPLES_PATH]: ["POST"],
  [LIVES_PATH]: ["POST"],
  [TASKS_PATH]: ["POST"],
  [TASK_ORDERS_PATH]: ["POST"],
  [WORKFLOWS_PATH]: ["POST"],
  [WORKFLOW_HISTORY_PATH]: ["POST"],
  [WORKFLOW_ORDERS_PATH]: ["POST"],
  [UPGRADE_PATH]: ["POST"],
};

/** The form of the ids that `radical deploy` gives to keys. */
const KEY_ID = /^k[0-9a-f]{8}$/;
const TIME = /^\d{1,15}$/;
const SIGNATURE = /^[0-9a-f]{64}$/i;
const CONTENT_SUFFIX = "/content";
const NOT_LEADING = 503;
/** Longest query of a path: the origin of a Worker stands in it. */
const MAX_QUERY_LENGTH = 2_048;

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: RelayEnv): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const methods = methodsOf(pathname);
    if (methods === null || !mayBeSigned(headers, Date.now())) return new Response(null, { status: 404 });
    if (!methods.includes(method)) return new Response(null, { status: 405, headers: { allow: methods.join(", ") } });
    const limit = method === "PUT" ? MAX_MODULE_BYTES : MAX_QUESTION_BYTES;
    if (search.length > MAX_QUERY_LENGTH || (method !== "GET" && !fits(headers.get("content-length"), limit)))
      return failed(413, "message_too_large", `The request has more than ${limit} bytes, or does not say how many.`);
    const node = headers.get(NODE_HEADER);
    const servers =
      node === "a"
        ? [env.RADICAL_PRIMARY_A]
        : node === "b"
          ? [env.RADICAL_PRIMARY_B]
          : [env.RADICAL_PRIMARY_A, env.RADICAL_PRIMARY_B];
    const init = { method, headers: new Headers(headers) };
    init.headers.delete("host");
    const path = `${pathname}${search}`;
    // A module is not kept here: it goes to the server that leads as it comes.
    if (method === "PUT") return sent(await leading(servers), path, { ...init, body: request.body });
    return answerOf(servers, path, { ...init, body: method === "GET" ? null : await request.arrayBuffer() });
  },
};

function methodsOf(path: string): readonly string[] | null {
  const known = (RELAYED as Readonly<Record<string, readonly string[] | undefined>>)[path];
  if (known !== undefined) return known;
  const name = path.startsWith(MODULES_PATH) ? path.slice(MODULES_PATH.length) : "";
  if (isModuleHash(name)) return ["GET", "PUT"];
  const isContent = name.endsWith(CONTENT_SUFFIX) && isModuleHash(name.slice(0, -CONTENT_SUFFIX.length));
  return isContent ? ["GET"] : null;
}

/** Whether the headers have the form of those that the primary may take. */
function mayBeSigned(headers: Headers, nowMs: number): boolean {
  const [key, time, signature] = [KEY_HEADER, TIME_HEADER, SIGNATURE_HEADER].map((name) => headers.get(name) ?? "");
  // The clock of the primary may be as far off as it takes signatures for.
  const isRecent = TIME.test(time!) && Math.abs(nowMs - Number(time)) <= 2 * REPLAY_WINDOW_MS;
  return KEY_ID.test(key!) && SIGNATURE.test(signature!) && isRecent;
}

/** Whether the header says a length up to the limit. The platform holds the body to it. */
function fits(length: string | null, limit: number): boolean {
  return length !== null && /^\d{1,15}$/.test(length) && Number(length) <= limit;
}

/** Asks one server after the other, until one leads. */
async function answerOf(servers: readonly Server[], path: string, init: RequestInit): Promise<Response> {
  let answer = unanswered("there is no server");
  for (const server of servers) {
    // oxlint-disable-next-line no-await-in-loop -- the next one if this one does not lead
    const given = await sent(server, path, init);
    // An answer tells more than none.
    if (given.status !== UNANSWERED || answer.status !== NOT_LEADING) answer = given;
    if (given.status !== UNANSWERED && given.status !== NOT_LEADING) return given;
  }
  return answer;
}

/** The server that is ready; else the first one, which says why it is not. */
async function leading([first, ...others]: readonly Server[]): Promise<Server> {
  for (const server of others.length === 0 ? [] : [first!, ...others]) {
    // oxlint-disable-next-line no-await-in-loop -- the next one if this one does not lead
    const { ok, body } = await sent(server, "/readyz", { method: "GET" });
    // oxlint-disable-next-line no-await-in-loop -- likewise
    await body?.cancel();
    if (ok) return server;
  }
  return first!;
}

async function sent(server: Server, path: string, init: RequestInit): Promise<Response> {
  try {
    return await server.fetch(`http://primary${path}`, init);
  } catch (error) {
    return unanswered(String(error));
  }
}

const UNANSWERED = 502;

function unanswered(reason: string): Response {
  return failed(UNANSWERED, "primary_unreachable", reason, "See whether the machines of the primary run.");
}

function failed(status: number, code: string, message: string, hint = "Send less."): Response {
  return Response.json({ error: { code, message, hint } }, { status });
}
