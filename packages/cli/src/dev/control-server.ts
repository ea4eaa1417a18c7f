/**
 * The HTTP control of `radical dev`, on loopback only: what the state is, and faults to switch. The front server answers by it
 * what begins with `/__radical/` on the one port, so that one address is enough.
 *
 * Pages of the web can send requests to this machine too. A request is refused if its page is of another origin, or if it
 * was sent to a name that is not this machine's.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { LineStream, type LogRing } from "@radical/lvi-server";
import { type DashboardTime, errorBody, type Manifest } from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import { isMeantFor, isOfAnotherOrigin, type Location } from "@radical/app";
import { BUILD_ERROR_HEADER, CONTROL_PREFIX, OPENAPI_PATH } from "@radical/app/workers";
import type { BuildState } from "./build-state.ts";
import { answerDashboard, type DashboardOptions } from "./dashboard-server.ts";
import { readTimeAdvance } from "./dev-time.ts";
import { jsonOf } from "./json-body.ts";
import { type DevFaultChange, type DevFaults, readDevFaultChange } from "./service-faults.ts";

export const FAULTS_PATH = "/__radical/faults";
const TIME_PATH = "/__radical/time";
const BUILD_PATH = "/__radical/build";
const LOCATIONS_PATH = "/__radical/locations";
/** What the locations log: the last lines, and those to come. */
export const LOCATIONS_LOG_PATH = "/__radical/log";
const HEARTBEAT_MS = 10_000;

export interface Control {
  /** Of the build that serves, as JSON. */
  readonly openApi: () => string;
  readonly locations: readonly string[];
  /** The same, with their distances. */
  readonly places: readonly Location[];
  readonly faults: () => DevFaults;
  /** Resolves when it is done. */
  readonly change: (change: DevFaultChange) => Promise<DevFaults>;
  /** Of the build that serves. */
  readonly manifest: () => Manifest;
  readonly time: () => DashboardTime;
  /** Moves the time of tasks and handlers ahead. Resolves once everything has ended that was due by then. */
  readonly moveTime: (byMs: number) => Promise<DashboardTime>;
}

export interface ControlServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface ControlOptions {
  readonly build: () => BuildState;
  /** Null: nothing serves yet. */
  readonly control: () => Control | null;
  /** Of the locations. */
  readonly log: LogRing;
  /** The address of the dashboard, with the token of this run; null: there is none. */
  readonly dashboardUrl?: () => string | null;
}

const HOST = "127.0.0.1";

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** On a port of its own, which is the origin of the dashboard too. */
export async function startControlServer(
  options: ControlOptions & { readonly dashboard: DashboardOptions | null },
): Promise<ControlServer> {
  let port = 0;
  const server = createServer((request, response) =>
    options.dashboard === null || request.url?.startsWith(CONTROL_PREFIX) === true
      ? answerControl(options, request, response)
      : answerDashboard(options.dashboard, port, request, response),
  );
  port = await listen(server, HOST, 0);
  return { url: `http://${HOST}:${port}`, close: () => closeServer(server) };
}

/** Answers a request whose path begins with `/__radical/`. */
export function answerControl(options: ControlOptions, request: IncomingMessage, response: ServerResponse): void {
  void respond(options, request, response);
}

async function respond(options: ControlOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let answer: Answer;
  try {
    const refusal = refusalOf(request);
    if (refusal === null && request.url === CONTROL_PREFIX) return redirect(options, request, response);
    if (refusal === null && request.url === LOCATIONS_LOG_PATH) return follow(options.log, response);
    answer = refusal ?? (await answerTo(options, request));
  } catch (error) {
    const { code, message, hint } =
      error instanceof CommandError
        ? error
        : { code: "internal_error", message: messageOf(error), hint: "See the log." };
    answer = { status: code === "internal_error" ? 500 : 400, body: errorBody(code, message, hint) };
  }
  send(response, answer);
}

export function send(response: ServerResponse, { status, body, headers }: Answer): void {
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers })
    .end(body);
}

/** Leads a browser to the dashboard. Only a person who opens this address in a browser gets there: the answer has the token. */
function redirect({ dashboardUrl }: ControlOptions, { headers }: IncomingMessage, response: ServerResponse): void {
  const url = dashboardUrl?.() ?? null;
  const isOpened = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (url !== null && isOpened)
    return void response
      .writeHead(302, { location: url, "cache-control": "no-store", "referrer-policy": "no-referrer" })
      .end();
  const message = url === null ? "radical dev has not started yet." : "The dashboard opens in a browser only.";
  send(response, {
    status: url === null ? 503 : 403,
    body: errorBody(url === null ? "starting" : "not_opened", message, "Open this address in a browser."),
  });
}

function follow(log: LogRing, response: ServerResponse): void {
  const stop = log.follow("debug", (line) => void stream.write(line));
  const stream = new LineStream(response, { heartbeatMs: HEARTBEAT_MS, onClose: () => stop?.() });
  if (stop === null) stream.end();
}

/** Null: the request comes from this machine, and from no page of others. */
function refusalOf({ headers: { host = "", origin } }: IncomingMessage): Answer | null {
  if (!isMeantFor(HOST, host))
    return {
      status: 403,
      body: errorBody(
        "not_local",
        "Only this machine controls radical dev, and the request names another host.",
        "Ask for localhost.",
      ),
    };
  if (!isOfAnotherOrigin(origin, host)) return null;
  const message = `Pages of ${origin} don't control radical dev.`;
  return {
    status: 403,
    body: errorBody("not_local", message, "Do it from a terminal, or from a page of the same origin."),
  };
}

async function answerTo({ build, control }: ControlOptions, request: IncomingMessage): Promise<Answer> {
  const notFound = {
    status: 404,
    body: errorBody(
      "not_found",
      "There is nothing here.",
      `${FAULTS_PATH}, ${TIME_PATH}, ${BUILD_PATH}, ${LOCATIONS_PATH}`,
    ),
  };
  switch (request.url) {
    case BUILD_PATH:
      return { status: 200, body: JSON.stringify(build()) };
    case OPENAPI_PATH: {
      const document = control()?.openApi();
      return document === undefined ? buildErrorAnswer(build()) : { status: 200, body: document };
    }
    // For pages that let their viewer choose a place.
    case LOCATIONS_PATH: {
      const current = control();
      if (current === null) return buildErrorAnswer(build());
      return { status: 200, body: JSON.stringify(current.places) };
    }
    case FAULTS_PATH:
    case TIME_PATH: {
      const current = control();
      if (current === null) return buildErrorAnswer(build());
      const switched = request.url === FAULTS_PATH ? faultsOf(current) : timeOf(current);
      if (request.method === "GET") return { status: 200, body: JSON.stringify(switched.state()) };
      if (request.method !== "POST")
        return {
          status: 405,
          body: errorBody(
            "method_not_allowed",
            "This path takes GET and POST only.",
            "Send one of them: docs/cli.md has examples.",
          ),
        };
      // A page of the web would have to ask before it may send this type.
      if (request.headers["content-type"]?.split(";")[0] !== "application/json")
        return {
          status: 415,
          body: errorBody("not_json", "The body must be JSON.", "Send the header content-type: application/json."),
        };
      return { status: 200, body: JSON.stringify(await switched.change(await jsonOf(request))) };
    }
    default:
      return notFound;
  }
}

/** A part of `radical dev` that a client looks at and changes. */
interface Switched {
  readonly state: () => object;
  readonly change: (json: unknown) => Promise<object>;
}

function faultsOf({ locations, faults, change, manifest }: Control): Switched {
  return { state: faults, change: (json) => change(readDevFaultChange(json, locations, manifest())) };
}

function timeOf({ time, moveTime }: Control): Switched {
  return { state: time, change: (json) => moveTime(readTimeAdvance(json)) };
}

/** What any request gets when there is no build that serves. */
export function buildErrorAnswer(state: BuildState): Answer {
  if (state.kind !== "failed") {
    const body = errorBody("starting", "radical dev has not started yet.", "Send the request again.");
    return { status: 503, body, headers: { "retry-after": "1" } };
  }
  const words = noticeOf(state);
  const { diagnostics, frames } = state;
  const error = {
    code: "build_failed",
    message: `The application does not build: ${words}`,
    hint: "Correct the sources; radical dev builds them again on every save.",
  };
  return {
    status: 503,
    body: JSON.stringify({ error, diagnostics, frames }),
    headers: { "retry-after": "1", [BUILD_ERROR_HEADER]: words },
  };
}

/** What the header `x-radical-build-error` says; empty if the build is good. */
export function noticeOf(state: BuildState): string {
  return state.kind === "failed" ? `${state.words}; GET ${BUILD_PATH}` : "";
}

/** The port. Throws what the system says. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  return address.port;
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
