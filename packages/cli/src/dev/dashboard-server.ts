/**
 * The dashboard of `radical dev` and of `radical dashboard`: static files, and what its page asks, on an origin of its own. On the
 * origin of the application any script of that could switch faults and edit data.
 *
 * Pages of the web can send requests here too. Each request must name this very host and port. One that a page of another
 * origin has made is refused. Each question below `/api/` needs the token of this run, which the page has in the
 * fragment of its address.
 */
import { timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LineStream } from "@radical/lvi-server";
import {
  type ContentionReport,
  type CachedAnswer,
  type CachedQuestion,
  DASHBOARD_APP_PATH,
  DASHBOARD_CACHED_PATH,
  DASHBOARD_CALL_PATH,
  DASHBOARD_CONTENTION_PATH,
  DASHBOARD_DATA_PATH,
  DASHBOARD_FAULTS_PATH,
  DASHBOARD_RECORDS_PATH,
  DASHBOARD_REPLAY_PATH,
  DASHBOARD_SCHEDULES_PATH,
  DASHBOARD_STREAM_PATH,
  DASHBOARD_TASK_ORDERS_PATH,
  DASHBOARD_TASKS_PATH,
  DASHBOARD_TIME_PATH,
  DASHBOARD_TOKEN_HEADER,
  DASHBOARD_WORKFLOW_ORDERS_PATH,
  DASHBOARD_WORKFLOWS_PATH,
  DASHBOARD_WRITE_PATH,
  type DashboardApp,
  type DashboardCalled,
  type DashboardCalls,
  type DashboardRecords,
  type DashboardState,
  type DashboardTime,
  type DataChange,
  type DataChanged,
  type DataPage,
  type DataQuestion,
  errorBody,
  type Replay,
  type ReplayQuestion,
} from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import {
  readCachedQuestion,
  readCalls,
  readDataChange,
  readDataQuestion,
  readOrder,
  readOrderOfWorkflows,
  readReplayQuestion,
  readScheduleChange,
  readTasksQuestion,
  readWorkflowQuestion,
} from "./dashboard-questions.ts";
import type { DashboardTasks } from "./dashboard-tasks.ts";
import type { DashboardWorkflows } from "./dashboard-workflows.ts";
import { readTimeAdvance } from "./dev-time.ts";
import { jsonOf } from "./json-body.ts";
import type { LifeRing } from "./life-ring.ts";

export interface DashboardOptions {
  readonly token: string;
  readonly lives: LifeRing;
  readonly state: () => DashboardState;
  /** Calls after each change of the state. Returns how to stop. */
  readonly onState: (changed: () => void) => () => void;
  /** Each of these throws a CommandError, also while nothing serves. */
  readonly contention: () => Promise<ContentionReport>;
  readonly records: () => DashboardRecords;
  readonly replay: (question: ReplayQuestion) => Promise<Replay>;
  /** Its orders are for `radical dev` only. */
  readonly tasks: DashboardTasks;
  readonly workflows: DashboardWorkflows;
  /** Null: the page shows a deployment, of which it changes nothing. */
  readonly dev: DashboardOfDev | null;
}

export interface DashboardOfDev {
  readonly app: () => Promise<DashboardApp>;
  readonly changeFaults: (change: unknown) => Promise<unknown>;
  readonly moveTime: (byMs: number) => Promise<DashboardTime>;
  readonly call: (calls: DashboardCalls) => Promise<DashboardCalled>;
  readonly data: (question: DataQuestion) => Promise<DataPage>;
  readonly write: (change: DataChange) => Promise<DataChanged>;
  readonly cached: (question: CachedQuestion) => Promise<CachedAnswer>;
}

const HEARTBEAT_MS = 10_000;
const FOLDER = fileURLToPath(new URL("dist/page", import.meta.resolve("@radical/dashboard/package.json")));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly type?: string;
}

/** Answers every request of the dashboard's origin. `port`: that it listens on. */
export function answerDashboard(
  options: DashboardOptions,
  port: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  void (async () => {
    const answer = await answerTo(options, port, request, response).catch(failure);
    if (answer === null) return;
    // An answer that has begun can only be broken off.
    if (response.headersSent) return void response.destroy();
    const { status, body, type = "application/json; charset=utf-8" } = answer;
    response.writeHead(status, { ...HEADERS, "content-type": type }).end(body);
  })();
}

function failure(error: unknown): Answer {
  if (error instanceof CommandError) return { status: 400, body: errorBody(error.code, error.message, error.hint) };
  return { status: 500, body: errorBody("internal_error", messageOf(error), "See the terminal of the command.") };
}

/** Null: it goes on. */
async function answerTo(
  options: DashboardOptions,
  port: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | null> {
  const refusal = refusalOf(port, request);
  if (refusal !== null)
    return { status: 403, body: errorBody("not_local", refusal, "Open the address that the command prints.") };
  const path = (request.url ?? "").replace(/\?.*$/, "");
  if (!path.startsWith("/api/")) return staticFile(path, request.method ?? "");
  if (!hasToken(options.token, request)) {
    const message = "The request lacks the token of this run.";
    return { status: 401, body: errorBody("wrong_token", message, "Open the address that the command prints now.") };
  }
  if (path === DASHBOARD_STREAM_PATH && request.method === "GET") {
    stream(options, response);
    return null;
  }
  const { dev } = options;
  if (request.method === "GET") {
    if (path === DASHBOARD_CONTENTION_PATH) return json(await options.contention());
    if (path === DASHBOARD_RECORDS_PATH) return json(options.records());
    if (path === DASHBOARD_SCHEDULES_PATH) return json(await options.tasks.schedules());
    if (path === DASHBOARD_WORKFLOWS_PATH) return json(await options.workflows.list());
    if (path === DASHBOARD_APP_PATH && dev !== null) return json(await dev.app());
  }
  if (request.method !== "POST" || request.headers["content-type"]?.split(";")[0] !== "application/json")
    return {
      status: 405,
      body: errorBody(
        "method_not_allowed",
        "This path takes POST with JSON only.",
        "Send the header content-type: application/json.",
      ),
    };
  const nothing = { status: 404, body: errorBody("not_found", "There is nothing here.", "See docs/dashboard.md.") };
  if (path === DASHBOARD_REPLAY_PATH) return json(await options.replay(readReplayQuestion(await jsonOf(request))));
  if (path === DASHBOARD_TASKS_PATH) return json(await options.tasks.list(readTasksQuestion(await jsonOf(request))));
  if (path === DASHBOARD_WORKFLOWS_PATH)
    return json(await options.workflows.show(readWorkflowQuestion(await jsonOf(request))));
  if (dev === null) return nothing;
  switch (path) {
    case DASHBOARD_FAULTS_PATH:
      return json(await dev.changeFaults(await jsonOf(request)));
    case DASHBOARD_CALL_PATH:
      return json(await dev.call(readCalls(await jsonOf(request))));
    case DASHBOARD_DATA_PATH:
      return json(await dev.data(readDataQuestion(await jsonOf(request))));
    case DASHBOARD_WRITE_PATH:
      return json(await dev.write(readDataChange(await jsonOf(request))));
    case DASHBOARD_TASK_ORDERS_PATH:
      return json(await options.tasks.order(readOrder(await jsonOf(request))));
    case DASHBOARD_SCHEDULES_PATH:
      return json(await options.tasks.changeSchedule(readScheduleChange(await jsonOf(request))));
    case DASHBOARD_WORKFLOW_ORDERS_PATH:
      return json(await options.workflows.order(readOrderOfWorkflows(await jsonOf(request))));
    case DASHBOARD_TIME_PATH:
      return json(await dev.moveTime(readTimeAdvance(await jsonOf(request))));
    case DASHBOARD_CACHED_PATH:
      return json(await dev.cached(readCachedQuestion(await jsonOf(request))));
    default:
      return nothing;
  }
}

/** Null: the request comes from this machine, and from no page of others. */
function refusalOf(port: number, { headersDistinct, headers }: IncomingMessage): string | null {
  const hosts = headersDistinct["host"] ?? [];
  const [host = ""] = hosts;
  const own = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  if (hosts.length !== 1 || !own.includes(host)) return "the dashboard answers only to the names of this machine";
  const { origin } = headers;
  if (origin !== undefined && origin !== `http://${host}`) return "pages of other origins don't reach the dashboard";
  const site = headers["sec-fetch-site"];
  // Somebody may follow a link to it.
  const isOpened = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (site !== undefined && site !== "same-origin" && site !== "none" && !isOpened)
    return "pages of other origins don't reach the dashboard";
  return null;
}

function hasToken(token: string, { headers }: IncomingMessage): boolean {
  const given = Buffer.from(headers[DASHBOARD_TOKEN_HEADER]?.toString() ?? "");
  const expected = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function json(value: unknown): Answer {
  return { status: 200, body: JSON.stringify(value) };
}

function stream({ lives, state, onState }: DashboardOptions, response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const stops: (() => void)[] = [];
  const lines = new LineStream(response, {
    heartbeatMs: HEARTBEAT_MS,
    onClose: () => {
      for (const stop of stops) stop();
    },
  });
  const tellState = (): boolean => lines.write(`${JSON.stringify(state())}\n`);
  tellState();
  lines.write(lives.lines.join(""));
  const stop = lives.follow((line) => void lines.write(line));
  if (stop === null) return lines.end();
  stops.push(stop, onState(tellState));
}

/** Its files have no folders. Every other path is the page: it has no paths of its own. */
async function staticFile(path: string, method: string): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD")
    return {
      status: 405,
      body: errorBody("method_not_allowed", "This path takes GET only.", "See docs/dashboard.md."),
    };
  const name = path === "/" ? "index.html" : path.slice(1);
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(name) || name.startsWith("."))
    return { status: 404, body: errorBody("not_found", "There is nothing here.", "Open /.") };
  try {
    return {
      status: 200,
      body: await readFile(join(FOLDER, name)),
      type: TYPES[extname(name)] ?? "application/octet-stream",
    };
  } catch {
    if (name !== "index.html")
      return { status: 404, body: errorBody("not_found", "There is nothing here.", "Open /.") };
    const message = "The files of the dashboard are not built.";
    return { status: 503, body: errorBody("not_built", message, "In the repository: pnpm build.") };
  }
}
