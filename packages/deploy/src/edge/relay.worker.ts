/**
 * The Worker in front of a primary that nothing else reaches: `radical deploy` and its companions administer it through this
 * one. It forwards what an administration key has signed, to the server that leads. It checks the signature by the public halves that
 * the servers tell, so there is no secret here. Anybody can reach it: nothing else of theirs gets further.
 */
import {
  type AdministrationKeys,
  type AdministrativeClaim,
  administrativeClaim,
  administrativeText,
  type ADMINISTRATIVE_PATHS,
  CACHES_PATH,
  CONTENTION_PATH,
  DATA_PATH,
  INDEXES_PATH,
  isModuleHash,
  KEY_HEADER,
  KEYS_PATH,
  LIVES_PATH,
  LOG_PATH,
  MAX_DATA_BYTES,
  MAX_MODULE_BYTES,
  MAX_QUESTION_BYTES,
  METRICS_PATH,
  MODULES_PATH,
  MODULE_LIST_PATH,
  PROBE_PATH,
  QUIET_PATH,
  RECORDING_KEYS_PATH,
  REPLAY_WINDOW_MS,
  SAMPLES_PATH,
  SCHEDULES_PATH,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  WORKFLOWS_PATH,
  type TIME_PATH,
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

/** The requests of a path that are passed on. */
interface Passage {
  readonly methods: readonly string[];
  /** Most bytes of a body. */
  readonly limit: number;
  /** It goes to the server that leads as it comes, and is not kept here. */
  readonly isStreamed: boolean;
}

const ASKED: Passage = { methods: ["GET"], limit: 0, isStreamed: false };
const QUESTION: Passage = { methods: ["POST"], limit: MAX_QUESTION_BYTES, isStreamed: false };
const BOTH: Passage = { ...QUESTION, methods: ["GET", "POST"] };
const MODULE: Passage = { methods: ["GET", "PUT"], limit: MAX_MODULE_BYTES, isStreamed: true };

/** Nobody moves the time of a deployment. */
const RELAYED: Readonly<Record<Relayed, Passage>> = {
  [STATUS_PATH]: ASKED,
  [METRICS_PATH]: ASKED,
  [MODULE_LIST_PATH]: ASKED,
  [INDEXES_PATH]: ASKED,
  [CONTENTION_PATH]: ASKED,
  [CACHES_PATH]: QUESTION,
  [SCHEDULES_PATH]: BOTH,
  [LOG_PATH]: QUESTION,
  [SAMPLES_PATH]: QUESTION,
  [RECORDING_KEYS_PATH]: QUESTION,
  [LIVES_PATH]: QUESTION,
  [TASKS_PATH]: QUESTION,
  [TASK_ORDERS_PATH]: QUESTION,
  [WORKFLOWS_PATH]: QUESTION,
  [WORKFLOW_HISTORY_PATH]: QUESTION,
  [WORKFLOW_ORDERS_PATH]: QUESTION,
  [DATA_PATH]: { methods: ["POST"], limit: MAX_DATA_BYTES, isStreamed: true },
  [UPGRADE_PATH]: QUESTION,
  [QUIET_PATH]: QUESTION,
};

const CONTENT_SUFFIX = "/content";
const NOT_LEADING = 503;
/** Longest wait for the answer to a probe. */
const PROBE_MS = 10_000;
const UNANSWERED = 502;
/** Longest query of a path: the origin of a Worker stands in it. */
const MAX_QUERY_LENGTH = 2_048;
/** The servers are asked for their keys this often at most: for a key that is not known, and for any. */
const UNKNOWN_KEY_MS = 2_000;
const KEYS_MS = 30_000;

/** Of this isolate; by the wall clock. */
let known: { readonly keys: ReadonlyMap<string, string>; readonly atMs: number } | null = null;

// Workers are default exports.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: RelayEnv): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const passage = passageOf(pathname);
    if (passage === null || !headers.has(KEY_HEADER)) return new Response(null, { status: 404 });
    if (!passage.methods.includes(method))
      return new Response(null, { status: 405, headers: { allow: passage.methods.join(", ") } });
    const limit = method === "GET" ? 0 : passage.limit;
    if (search.length > MAX_QUERY_LENGTH || (method !== "GET" && !fits(headers.get("content-length"), limit)))
      return failed(413, "message_too_large", `The request has more than ${limit} bytes, or does not say how many.`);
    const path = `${pathname}${search}`;
    const servers = [env.RADICAL_PRIMARY_A, env.RADICAL_PRIMARY_B];
    const claim = administrativeClaim(method, path, (name) => headers.get(name));
    if (claim === null) return unauthorized("The request is not signed by an administration key.");
    const refusal = await refusalOf(claim, servers);
    if (refusal !== null) return refusal;
    const { node, bodyHash } = claim.head;
    const asked = node === "a" ? servers.slice(0, 1) : node === "b" ? servers.slice(1) : servers;
    const init = { method, headers: new Headers(headers) };
    init.headers.delete("host");
    if (passage.isStreamed && method !== "GET")
      return sent(await leading(asked), path, { ...init, body: request.body });
    const body = method === "GET" ? null : new Uint8Array(await request.arrayBuffer());
    if (body !== null && (await sha256(body)) !== bodyHash)
      return unauthorized("The body is not the one that was signed.");
    return answerOf(asked, path, { ...init, body });
  },

  /** Each server writes a line into its log when it is probed: an alarm goes off when these lines stay away. */
  async scheduled(_: unknown, env: RelayEnv): Promise<void> {
    const servers = { a: env.RADICAL_PRIMARY_A, b: env.RADICAL_PRIMARY_B };
    await Promise.all(Object.entries(servers).map(([node, server]) => probe(node, server)));
  },
};

async function probe(node: string, server: Server): Promise<void> {
  const { status, ok, body } = await sent(server, PROBE_PATH, { method: "GET", signal: AbortSignal.timeout(PROBE_MS) });
  await body?.cancel();
  if (!ok) console.log(JSON.stringify({ level: "error", event: "not_probed", node, status }));
}

function passageOf(path: string): Passage | null {
  const passage = (RELAYED as Readonly<Record<string, Passage | undefined>>)[path];
  if (passage !== undefined) return passage;
  const name = path.startsWith(MODULES_PATH) ? path.slice(MODULES_PATH.length) : "";
  if (isModuleHash(name)) return MODULE;
  const isContent = name.endsWith(CONTENT_SUFFIX) && isModuleHash(name.slice(0, -CONTENT_SUFFIX.length));
  return isContent ? ASKED : null;
}

/** Whether the header says a length up to the limit. The platform holds the body to it. */
function fits(length: string | null, limit: number): boolean {
  return length !== null && /^\d{1,15}$/.test(length) && Number(length) <= limit;
}

// ── Signatures ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Null: an administration key of the servers has signed it, lately. Nothing of the request was read but its headers. */
async function refusalOf(
  { keyId, signature, head }: AdministrativeClaim,
  servers: readonly Server[],
): Promise<Response | null> {
  const nowMs = Date.now();
  // The clock of the primary, which looks closer, may be as far off as it takes signatures for.
  if (Math.abs(nowMs - head.timeMs) > 2 * REPLAY_WINDOW_MS)
    return unauthorized("The request was signed too long ago, or in the future.", "Set the clock of this machine.");
  const keys = await keysOf(keyId, servers, nowMs);
  if (keys === null) return unanswered("No server of the primary has told its keys.");
  const half = keys.get(keyId);
  if (half === undefined)
    return unauthorized(
      `There is no administration key "${keyId.slice(0, 64)}".`,
      "Sign with a key whose public half the servers have. Keys of locations administer nothing.",
    );
  const key = await crypto.subtle.importKey("raw", bytesOf(half), { name: "Ed25519" }, false, ["verify"]);
  const text = new TextEncoder().encode(administrativeText(head));
  const isRight = await crypto.subtle.verify({ name: "Ed25519" }, key, bytesOf(signature), text);
  return isRight ? null : unauthorized("The signature does not fit the request.");
}

/** Public halves by id, as a server says; null: none says. */
async function keysOf(
  keyId: string,
  servers: readonly Server[],
  nowMs: number,
): Promise<ReadonlyMap<string, string> | null> {
  const age = known === null ? Infinity : Math.abs(nowMs - known.atMs);
  if (known !== null && age < (known.keys.has(keyId) ? KEYS_MS : UNKNOWN_KEY_MS)) return known.keys;
  for (const server of servers) {
    // oxlint-disable-next-line no-await-in-loop -- the next one if this one does not answer
    const answer = await sent(server, KEYS_PATH, { method: "GET" });
    // oxlint-disable-next-line no-await-in-loop -- likewise
    const told = answer.ok ? await keysIn(answer) : (await answer.body?.cancel(), null);
    if (told === null) continue;
    known = { keys: told, atMs: nowMs };
    return told;
  }
  return known?.keys ?? null;
}

async function keysIn(answer: Response): Promise<ReadonlyMap<string, string> | null> {
  try {
    const { administration } = (await answer.json()) as AdministrationKeys;
    return new Map(Object.entries(administration).filter(([, half]) => /^[0-9a-f]{64}$/.test(half)));
  } catch {
    return null;
  }
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Of hex. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

function unauthorized(message: string, hint = "Sign with an administration key of this deployment."): Response {
  return failed(401, "unauthorized", message, hint);
}

// ── Servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Asks one server after the other, until one leads. */
async function answerOf(servers: readonly Server[], path: string, init: RequestInit): Promise<Response> {
  let answer = unanswered("There is no server.");
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

function unanswered(reason: string): Response {
  return failed(UNANSWERED, "primary_unreachable", reason, "See whether the machines of the primary run.");
}

function failed(status: number, code: string, message: string, hint = "Send less."): Response {
  return Response.json({ error: { code, message, hint } }, { status });
}
