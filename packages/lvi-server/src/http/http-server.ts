/** The server's HTTP interface: routes, limits, signatures and errors. */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import {
  checkHeard,
  decodeFollowup,
  decodeLviRequest,
  decodeWorkflowQuestion,
  decodeModuleContent,
  encodeFollowupReply,
  encodeHeardReply,
  encodeLviReply,
  type FollowupVerdict,
  type HeardReply,
  type ListedModule,
  type IndexList,
  type LviReply,
  MalformedError,
  MAX_MODULE_BYTES,
  MAX_QUESTION_BYTES,
  type ModuleContent,
  type AdministrationKeys,
  type AdministrativeClaim,
  type LviRequest,
  MAX_DATA_BYTES,
  type ModuleHash,
  type ModuleList,
  type QuietSecond,
  RadicalError,
  type RecordingKey,
  type RecordingKeyAnswer,
  type ScheduleAnswer,
  type ScheduleList,
  type ScheduleQuestion,
  type ServerStatus,
  TooLargeError,
  UnknownAbiError,
  UnknownSectionError,
  type TraceContext,
  UnknownVersionError,
  type UpgradeStatus,
  traceContextOf,
  readCacheQuestion,
  readTaskListQuestion,
  readTaskOrder,
  readWorkflowHistoryQuestion,
  readWorkflowListQuestion,
  readWorkflowOrder,
  type TaskList,
  type TaskOrderAnswer,
  type TimeMove,
} from "@radical/protocol";
import type { Engine } from "../engine.ts";
import { armed, type Failpoint, failpoint } from "../failpoints.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { orderCaches } from "../worker-caches.ts";
import { RELEASE } from "../release.ts";
import type { RecordingKeys } from "../storage/sealing/recording-keys.ts";
import type { SchemaState } from "../storage/storage.ts";
import {
  checkQuietOrder,
  checkUpgradeOrder,
  livesAnswer,
  logAnswer,
  readRecordingKeyQuestion,
  readScheduleQuestion,
  readTimeMove,
  samplesAnswer,
} from "./administration.ts";
import { readAlarm } from "./alarms.ts";
import { administrativeClaimOf, checkBody } from "./administrative-requests.ts";
import { AskedOnce, beginning, checkSignedSince, ListenedOnce } from "./asked-once.ts";
import { type Claim, claimOf, verify } from "./authentication.ts";
import type { KeyRing } from "./keys.ts";
import { jsonOf } from "./json-body.ts";
import type { Streaming } from "./line-stream.ts";
import { listeningAnswer } from "./listening.ts";
import { ADMINISTRATIVE, ASK_PROCESS, METHODS, type Route, routeOf } from "./routes.ts";
import { UnreadBytes } from "./unread-bytes.ts";

export interface HttpOptions {
  readonly keys: KeyRing;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly state: () => ServerState;
  /** Of the storage; null: it was not read yet. */
  readonly schema: () => SchemaState | null;
  /** How often an answer that goes on shows that it does. */
  readonly heartbeatMs?: number;
  /** The name of this server's deployment. Left out: it was told none. */
  readonly deployment?: string;
  /** Most bytes of all bodies that are being received: who they are from is known only at their end. */
  readonly receivingBytes: number;
  /** So many bytes of bodies have come, whether they are kept or not. */
  readonly received?: (bytes: number) => void;
  /** Most bytes that all who listen have not read. */
  readonly unreadBytes: number;
}

/** What the server can do for others. Before it serves it answers, so that whoever asks knows why it does not. */
export type ServerState = NotServing | ({ readonly kind: "serving" | "draining" } & Serving);

export interface NotServing {
  readonly kind: "not-serving";
  readonly reason: Reason;
  /** The address that the leader advertises; null: no server leads, or the leader advertises none. */
  readonly leader: string | null;
}

type Reason =
  /** Storage is asked which server leads. */
  | "starting"
  /** Another server has it. */
  | "standby"
  /** Pending intents are read back. */
  | "recovering"
  | "stopped";

export interface Serving {
  readonly engine: Engine;
  readonly epoch: number;
  /** When it began to serve, by the wall clock as it is now. */
  readonly sinceMs: () => number;
  readonly moduleRetentionMs: number;
  /** Null: it keeps no keys of recordings. */
  readonly recordings: RecordingKeys | null;
  /** Whether the module is of no application: locations do not get to it. */
  readonly isAside: (hash: ModuleHash) => boolean;
  readonly hasModule: (hash: ModuleHash) => boolean;
  /** Moves the storage to the newest schema. Rejects with a StorageError. */
  readonly finishUpgrade: () => Promise<SchemaState>;
  /** Has writes wait for a quiet time. Rejects with a RadicalError. */
  readonly makeQuietTime: () => Promise<QuietSecond>;
  /** Checks a module, makes it durable and known. Throws a RadicalError. */
  readonly registerModule: (
    hash: ModuleHash,
    content: ModuleContent,
    bytes: Uint8Array,
    /** Origin of the application's Worker; null: it was not told. */
    worker: string | null,
    /** It is of no application: tasks go on to run on the module before it. */
    isAside: boolean,
  ) => Promise<void>;
}

/** Largest bodies, in bytes. The followup of an execution at all its limits fits. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** It names the units that were revoked. */
const MAX_HEARD_BYTES = 8 * 1024 * 1024;

const MAX_TEXT_BYTES = 1_024;
const CBOR = "application/cbor";

/** Less than what proxies and tunnels let pass without a byte. */
const DEFAULT_HEARTBEAT_MS = 10_000;

/** A request that takes longer to arrive is given up. */
const REQUEST_MS = 60_000;

/** Locations keep their connections; an idle one closed by us would cost their next request a round trip. */
const KEEP_ALIVE_MS = 75_000;

/** Between two lines about probes. The relay of a deployment probes once a minute. */
const PROBE_LOG_MS = 10_000;

interface Answer {
  readonly status: number;
  readonly body?: Uint8Array | string;
  readonly type?: string;
  /** Reached when the answer was handed to the network. */
  readonly sent?: Failpoint;
  /** Writes the answer, which goes on for as long as it may; then there is no body. */
  readonly stream?: (response: ServerResponse) => void;
}

/** What all requests share. */
interface Surroundings extends HttpOptions {
  /** When this process began, by the wall clock as it is now. */
  readonly sinceMs: () => number;
  /** Of bodies that are not complete. */
  readonly receiving: { bytes: number };
  readonly askedOnce: AskedOnce;
  readonly listened: ListenedOnce;
  readonly lines: Streaming;
  /** Does it with all else of this turn of the event loop, once all sockets were read. */
  readonly together: (what: () => void) => void;
  /** Connections with an answer that goes on. */
  readonly streaming: WeakSet<Duplex>;
  /** Writes it into the log that somebody has asked. */
  readonly probed: () => void;
}

export function createHttpServer(options: HttpOptions): Server {
  const streaming = new WeakSet<Duplex>();
  const { deployment = null, now, heartbeatMs = DEFAULT_HEARTBEAT_MS, unreadBytes } = options;
  const surroundings: Surroundings = {
    ...options,
    sinceMs: beginning(now),
    receiving: { bytes: 0 },
    askedOnce: new AskedOnce({ deployment }),
    listened: new ListenedOnce(() => options.keys.current),
    lines: { heartbeatMs, unread: new UnreadBytes(unreadBytes) },
    together: inTurns(),
    streaming,
    probed: probing(options),
  };
  // Nothing here depends on the host, and Node's own refusal would be a bare 400 without the form of all errors.
  const server = createServer({ requireHostHeader: false }, (request, response) =>
    handle(surroundings, request, response),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable && !streaming.has(socket)) socket.end(refusalOf(error, options.log));
    else socket.destroy();
  });
  server.requestTimeout = REQUEST_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  return server;
}

/** Anybody may ask, so the log has a few of these lines at most. */
function probing({ log, state, now }: HttpOptions): () => void {
  let loggedAtMs = -Infinity;
  return () => {
    if (Math.abs(now() - loggedAtMs) < PROBE_LOG_MS) return;
    loggedAtMs = now();
    log.info("probed", { state: stateNameOf(state()) });
  };
}

/** Answers malformed or truncated HTTP as Node would, but with our error body. */
function refusalOf({ code, message }: NodeJS.ErrnoException, log: Log): string {
  const status = code === "HPE_HEADER_OVERFLOW" ? 431 : code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const { body, type } = errorAnswer(new MalformedError(`no HTTP request: ${message}`), log);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body ?? "")}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${String(body)}`;
}

/**
 * A busy server reads many sockets in a turn. To read all, then to do all, then to have written all takes a third less time than one
 * after another: the code of each stays in the processor's caches, and who waits for several answers is woken once. Who
 * is alone waits for nothing.
 */
function inTurns(): Surroundings["together"] {
  let waiting: (() => void)[] = [];
  const doAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const what of all) what();
  };
  return (what) => {
    if (waiting.push(what) === 1) setImmediate(doAll);
  };
}

/** A request and what is to come of it. By callbacks, since most are answered in the turn in which they come. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly method: string;
  /** It is about this process, whether it serves or not. */
  readonly asksProcess: boolean;
  readonly isAdministrative: boolean;
  readonly answer: (answer: Answer) => void;
  readonly fail: (error: unknown) => void;
}

function handle(options: Surroundings, request: IncomingMessage, response: ServerResponse): void {
  const { log } = options;
  const startedAtMs = performance.now();
  const method = request.method ?? "";
  const route = routeOf(request.url ?? "");
  const answer = (given: Answer): void => {
    // A body may be found too large, and then break off.
    if (response.headersSent) return;
    if (given.stream !== undefined) {
      options.metrics.requested(route.kind, given.status, performance.now() - startedAtMs);
      options.streaming.add(request.socket);
      return given.stream(response);
    }
    send(request, response, given);
    const tookMs = performance.now() - startedAtMs;
    options.metrics.requested(route.kind, given.status, tookMs);
    if (log.writes("debug")) {
      // The location's line of the same trace names handler and execution.
      const trace = contextOf(request)?.traceId;
      log.debug("request", { method, path: request.url, status: given.status, ms: tookMs, trace });
    }
  };
  const fail = (error: unknown): void => {
    if (request.errored === null) answer(errorAnswer(error, log));
    else log.debug("request_broken_off", { method, path: request.url, reason: request.errored.message });
  };
  try {
    const asksProcess = ASK_PROCESS.has(route.kind);
    const isAdministrative = ADMINISTRATIVE.has(route.kind);
    perform(route, options, { request, asksProcess, isAdministrative, method, answer, fail });
  } catch (error) {
    fail(error);
  }
}

function contextOf({ headers }: IncomingMessage): TraceContext | null {
  return traceContextOf(headers["traceparent"]?.toString() ?? null, null);
}

function send(request: IncomingMessage, response: ServerResponse, { status, body = "", type, sent }: Answer): void {
  // Names and values in one list: the way that Node writes without a copy of its own.
  const headers: string[] = [];
  // The rest of the body is not read.
  if (!request.complete) headers.push("connection", "close");
  if (type !== undefined) headers.push("content-type", type);
  if (status !== 204) headers.push("content-length", String(Buffer.byteLength(body)));
  response.writeHead(status, headers);
  // A short body as text goes out in one piece with its head, which takes less than half of the time of two.
  if (typeof body !== "string" && body.length <= MAX_TEXT_BYTES) response.end(latin1(body), "latin1");
  else response.end(body);
  if (sent !== undefined && armed !== null) response.once("finish", () => failpoint(sent));
}

/** Throws a RadicalError, or has the exchange answered. */
function perform(route: Route, options: Surroundings, exchange: Exchange): void {
  const { method, answer, fail } = exchange;
  if (route.kind !== "none") expectMethod(method, ...METHODS[route.kind]);
  switch (route.kind) {
    case "healthz": {
      const state = options.state();
      return answer(json(200, { status: "ok", ...(state.kind === "not-serving" ? {} : state.engine.load) }));
    }
    case "readyz":
      return answer(readiness(options.state()));
    case "probez":
      options.probed();
      return answer(json(200, { state: stateNameOf(options.state()) }));
    case "metrics":
      return tellMetrics(options, exchange);
    case "keys":
      return answer(json(200, { administration: options.keys.publicHalves } satisfies AdministrationKeys));
    case "lvi":
      return receive(options, exchange, MAX_MESSAGE_BYTES, (body) => {
        failpoint("http.request-received");
        const answered = (reply: LviReply): void => {
          const bytes = encodeLviReply(reply);
          failpoint("http.reply-made");
          answer({ status: 200, body: bytes, type: CBOR, sent: "http.replied" });
        };
        const request = lviRequestIn(body, options, false);
        const asker = { answered: guarded(answered, fail), failed: fail };
        serving(options).engine.request(request, asker, () => contextOf(exchange.request));
      });
    case "data":
      return receive(options, exchange, MAX_DATA_BYTES, (body) => {
        const answered = (reply: LviReply): void => answer({ status: 200, body: encodeLviReply(reply), type: CBOR });
        const request = lviRequestIn(body, options, true);
        serving(options).engine.request(request, { answered: guarded(answered, fail), failed: fail });
      });
    case "followup":
      return receive(options, exchange, MAX_MESSAGE_BYTES, (body) => {
        failpoint("http.followup-received");
        const answered = (result: FollowupVerdict): void => {
          const bytes = encodeFollowupReply(result);
          failpoint("http.followup-reply-made");
          answer({ status: 200, body: bytes, type: CBOR });
        };
        serving(options).engine.followup(decodeFollowup(body), { answered: guarded(answered, fail), failed: fail });
      });
    case "workflow":
      return receive(options, exchange, MAX_QUESTION_BYTES, (body) => {
        const answered = (reply: LviReply): void => answer({ status: 200, body: encodeLviReply(reply), type: CBOR });
        const question = decodeWorkflowQuestion(body);
        serving(options).engine.workflow(question, { answered: guarded(answered, fail), failed: fail });
      });
    case "updates":
      return receive(options, exchange, MAX_QUESTION_BYTES, (body, checked) => {
        if (checked.of !== "location") throw new Error("Broken invariant: only locations listen");
        const { metrics, lines, listened, now } = options;
        const sent = (bytes: number): void => metrics.updateBytes(bytes);
        const { engine, sinceMs } = serving(options);
        checkSignedSince(checked.claim.timeMs, sinceMs());
        const stream = listened.answer(checked.claim, now(), performance.now(), () =>
          listeningAnswer(engine, body, lines, sent),
        );
        answer({ status: 200, stream });
      });
    case "heard":
      return receive(options, exchange, MAX_HEARD_BYTES, (body) => {
        const answered = (reply: HeardReply): void =>
          answer({ status: 200, body: encodeHeardReply(reply), type: "application/json" });
        serving(options).engine.heard(checkHeard(jsonOf(body)), { answered: guarded(answered, fail), failed: fail });
      });
    case "alarms":
      return receive(options, exchange, MAX_QUESTION_BYTES, (body) => {
        serving(options).engine.alarm(readAlarm(body));
        answer({ status: 200 });
      });
    case "module":
      return receive(options, exchange, MAX_MODULE_BYTES, (body) => {
        const { hasModule, registerModule } = serving(options);
        if (method === "PUT") {
          failpoint("http.module-received");
          registerModule(route.hash, decodeModuleContent(body), body, route.worker, route.isAside).then(() => {
            failpoint("http.module-registered");
            answer({ status: 204 });
          }, fail);
          return;
        }
        if (hasModule(route.hash)) return answer({ status: 204 });
        throw notRegistered(route.hash);
      });
    case "module-content":
      return receive(options, exchange, MAX_QUESTION_BYTES, () => {
        const found = (content: Uint8Array | null): void => {
          if (content === null) fail(notRegistered(route.hash));
          else answer({ status: 200, body: content, type: CBOR });
        };
        serving(options).engine.moduleContent(route.hash).then(found, fail);
      });
    case "status":
      return receive(options, exchange, MAX_QUESTION_BYTES, () => answer(json(200, statusOf(options))));
    case "signed-metrics":
      return receive(options, exchange, MAX_QUESTION_BYTES, () => tellMetrics(options, exchange));
    case "modules":
      return receive(options, exchange, MAX_QUESTION_BYTES, () => {
        const { engine, moduleRetentionMs: retentionMs } = serving(options);
        const listed = (modules: readonly ListedModule[]): void =>
          answer(json(200, { modules, retentionMs } satisfies ModuleList));
        engine.listModules().then(listed, fail);
      });
    case "indexes":
      return receive(options, exchange, MAX_QUESTION_BYTES, () => {
        const { indexes } = serving(options).engine;
        answer(json(200, { indexes } satisfies IndexList));
      });
    case "schedules":
      if (method === "GET")
        return receive(options, exchange, MAX_QUESTION_BYTES, () =>
          answer(json(200, serving(options).engine.schedules satisfies ScheduleList)),
        );
      return receiveQuestion(options, exchange, (asked) => {
        const { engine } = serving(options);
        const question = readScheduleQuestion(asked);
        const answered = (given: ScheduleAnswer | null): void => {
          if (given === null) return fail(noSchedule(question));
          answer(json(200, given));
        };
        return engine.askSchedule(question, { answered: guarded(answered, fail), failed: fail });
      });
    case "contention":
      return receive(options, exchange, MAX_QUESTION_BYTES, () =>
        answer(json(200, serving(options).engine.contention)),
      );
    case "tasks":
      return receiveQuestion(options, exchange, (asked) => {
        const listed = (list: TaskList): void => answer(json(200, list));
        serving(options).engine.listTasks(readTaskListQuestion(asked)).then(listed, fail);
      });
    case "task-orders":
      return receiveQuestion(options, exchange, (asked) => {
        const answered = (results: TaskOrderAnswer): void => answer(json(200, results));
        const order = readTaskOrder(asked);
        serving(options).engine.orderTasks(order, { answered: guarded(answered, fail), failed: fail });
      });
    case "workflows":
      return receiveQuestion(options, exchange, (asked) => {
        const question = readWorkflowListQuestion(asked);
        serving(options)
          .engine.listWorkflows(question)
          .then((list) => answer(json(200, list)), fail);
      });
    case "workflow-history":
      return receiveQuestion(options, exchange, (asked) => {
        const question = readWorkflowHistoryQuestion(asked);
        serving(options)
          .engine.workflowHistory(question)
          .then((history) => answer(json(200, history)), fail);
      });
    case "workflow-orders":
      return receiveQuestion(options, exchange, (asked) => {
        const order = readWorkflowOrder(asked);
        serving(options)
          .engine.orderWorkflows(order)
          .then((results) => answer(json(200, results)), fail);
      });
    case "upgrade":
      return receiveQuestion(options, exchange, (asked) => {
        checkUpgradeOrder(asked, options.schema());
        serving(options)
          .finishUpgrade()
          .then((schema) => answer(json(200, upgradeStatus(schema))), fail);
      });
    case "quiet":
      return receiveQuestion(options, exchange, (asked) => {
        checkQuietOrder(asked);
        serving(options)
          .makeQuietTime()
          .then((second) => answer(json(200, second)), fail);
      });
    case "time":
      return receiveQuestion(options, exchange, (asked) => {
        const moved = (aheadMs: number | null): void => {
          if (aheadMs === null) return fail(timeNotMoved());
          answer(json(200, { aheadMs } satisfies TimeMove));
        };
        const { aheadMs } = readTimeMove(asked);
        serving(options).engine.moveTime(aheadMs).then(moved, fail);
      });
    case "log":
      return receiveQuestion(options, exchange, (asked) => {
        const stream = logAnswer(options.log.recent, asked, options.lines);
        answer({ status: 200, stream });
      });
    case "samples":
      return receiveQuestion(options, exchange, (asked) => {
        const { engine } = serving(options);
        const stream = samplesAnswer(engine, asked, options.lines);
        engine.learnSecrets().then(() => answer({ status: 200, stream }), fail);
      });
    case "recording-keys":
      return receive(options, exchange, MAX_QUESTION_BYTES, (body, { claim: { keyId } }) => {
        const { key } = readRecordingKeyQuestion(jsonOf(body));
        const { recordings } = serving(options);
        const given = (found: RecordingKey | null): void =>
          answer(json(200, { key: found } satisfies RecordingKeyAnswer));
        if (recordings === null) given(null);
        else (key === null ? recordings.make(keyId) : recordings.find(key, keyId)).then(given, fail);
      });
    case "lives":
      return receiveQuestion(options, exchange, (asked) => {
        const stream = livesAnswer(serving(options).engine, asked, options.lines);
        answer({ status: 200, stream });
      });
    case "caches":
      return receiveQuestion(options, exchange, (asked) => {
        const { worker, order } = readCacheQuestion(asked);
        const origin = worker ?? serving(options).engine.services.worker;
        orderCaches(origin, order, options.keys, options.now).then((given) => answer(json(200, given)), fail);
      });
    case "none":
      throw new RadicalError(
        "not_found",
        `There is nothing at ${(exchange.request.url ?? "").slice(0, 200)}`,
        "See the routes in docs/internals/protocol.md.",
      );
  }
}

function tellMetrics({ metrics }: Surroundings, { answer, fail }: Exchange): void {
  metrics.text().then((body) => answer({ status: 200, body, type: metrics.contentType }), fail);
}

/** Throws a RadicalError for a module that is aside and should not be, or the other way round. */
function lviRequestIn(body: Uint8Array, options: Surroundings, isAside: boolean): LviRequest {
  const request = decodeLviRequest(body);
  if (serving(options).isAside(request.module) === isAside) return request;
  throw isAside
    ? new RadicalError(
        "unauthorized",
        "The module is that of an application, and only locations may call it.",
        "Sign with the key of a location.",
      )
    : new RadicalError(
        "unauthorized",
        "The module is for administration, and the key is that of a location.",
        "Sign with an administration key.",
      );
}

/** What it throws is a failure of the exchange, and not of whoever calls it. */
function guarded<T>(use: (value: T) => void, fail: (error: unknown) => void): (value: T) => void {
  return (value) => {
    try {
      use(value);
    } catch (error) {
      fail(error);
    }
  };
}

function notRegistered(hash: ModuleHash): RadicalError {
  const hint = "Build it with radical build, and PUT it here.";
  return new RadicalError("not_found", `Module ${hash} is not registered.`, hint);
}

function timeNotMoved(): RadicalError {
  const message = "This server was not started with --virtual-time-ms, so its time is not moved.";
  return new RadicalError("not_found", message, "Move time in tests, by startTestApp.");
}

function noSchedule({ handler }: ScheduleQuestion): RadicalError {
  const hint = "radical schedules lists those of the module that was registered last.";
  return new RadicalError("not_found", `The handler ${handler} has no schedule.`, hint);
}

function statusOf({ state: stateOf, now, schema: schemaOf }: HttpOptions): ServerStatus {
  const state = stateOf();
  const schema = schemaOf();
  const upgrade = schema && upgradeStatus(schema);
  if (state.kind === "not-serving")
    return {
      state: state.reason,
      epoch: null,
      timeMs: now(),
      pending: null,
      overdue: null,
      setsLeft: null,
      readLeases: null,
      services: null,
      upgrade,
    };
  const { load, setsLeft, readLeases, services } = state.engine;
  const { pending, overdue } = load;
  const { kind, epoch } = state;
  return { state: kind, epoch, timeMs: now(), pending, overdue, setsLeft, readLeases, services, upgrade };
}

function upgradeStatus({ written, newest }: SchemaState): UpgradeStatus {
  return { written, newest, release: RELEASE };
}

/** In a word, as `/readyz` has it, `serving` for ready. */
export function stateNameOf(state: ServerState): string {
  if (state.kind === "not-serving") return state.reason;
  return state.kind === "serving" && !state.engine.isLeading ? "lease_run_out" : state.kind;
}

/** Ready: the server leads and has recovered. */
function readiness(state: ServerState): Answer {
  switch (state.kind) {
    case "serving":
      return state.engine.isLeading
        ? json(200, { status: "ready" })
        : json(503, {
            status: "lease_run_out",
            reason: "The leadership of this server was not renewed in time, and storage is being asked for it.",
          });
    case "draining":
      return json(503, { status: "draining", reason: WHY_NOT_SERVING.stopped });
    case "not-serving": {
      const leader = state.reason === "standby" ? { leader: state.leader } : {};
      return json(503, { status: state.reason, reason: WHY_NOT_SERVING[state.reason], ...leader });
    }
  }
}

/** Throws a NotServingError unless this server serves, or drains. */
function serving(options: HttpOptions): Serving {
  const state = options.state();
  if (state.kind !== "not-serving") return state;
  throw new NotServingError(state);
}

/** Told to whoever asks, signed or not, and before anything is kept of the request. */
class NotServingError extends RadicalError {
  readonly #leader: string | null;

  constructor({ reason, leader }: NotServing) {
    const hint = leader === null ? "Ask the server that serves; see /readyz." : `Ask ${leader}.`;
    super(reason === "standby" ? "not_leading" : "not_serving", WHY_NOT_SERVING[reason], hint);
    this.#leader = leader;
  }

  override toBody(): string {
    const { code, message, hint } = this;
    if (code !== "not_leading") return super.toBody();
    return JSON.stringify({ error: { code, message, hint, leader: this.#leader } });
  }
}

const WHY_NOT_SERVING: Readonly<Record<Reason, string>> = {
  starting: "Storage is being asked which server leads.",
  standby: "Another server leads. This one takes over when that one dies.",
  recovering: "The intents that the last server left pending are being read back.",
  stopped: "The server is shutting down.",
};

/** Of a signature that must still fit the whole body. */
type Checked =
  | { readonly of: "location"; readonly claim: Claim }
  | { readonly of: "administration"; readonly claim: AdministrativeClaim };

/**
 * `take` gets the whole body, if it is small enough and signed with a key for this path; what it throws fails the exchange.
 * While this server does not serve nothing is looked at, and nothing kept, unless it is asked about itself.
 */
function receive(
  options: Surroundings,
  exchange: Exchange,
  most: number,
  take: (body: Uint8Array, checked: Checked) => void,
): void {
  const { keys, now, metrics, receiving, receivingBytes, received, state } = options;
  // A body that never has room is not sent again.
  const limit = Math.min(most, receivingBytes);
  const { request, method, fail, isAdministrative } = exchange;
  const { headers } = request;
  if (Number(headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  let refusal: unknown = null;
  let checked: Checked | null = null;
  try {
    const stateNow = state();
    if (stateNow.kind === "not-serving" && !exchange.asksProcess) throw new NotServingError(stateNow);
    checked = isAdministrative
      ? { of: "administration", claim: administrativeClaimOf(keys, request, now()) }
      : { of: "location", claim: claimOf(keys, headers, now()) };
  } catch (error) {
    refusal = error;
  }
  const end = (body: Uint8Array): void => {
    try {
      if (checked === null || refusal !== null) throw refusal;
      if (checked.of === "location") verify(checked.claim, method, request.url ?? "", body);
      else takeOnce(options, checked.claim, body, exchange);
      metrics.signed(checked.claim.keyId);
      take(body, checked);
    } catch (error) {
      fail(error);
    }
  };
  options.together(() => {
    // What has come with its head, as most do, is taken in one piece. Events take longer than all checks of it.
    if (request.complete && request.readableLength <= limit) end((request.read() as Buffer | null) ?? NO_BYTES);
    else if (!request.destroyed) collect();
  });

  const collect = (): void => {
    const chunks: Buffer[] = [];
    let length = 0;
    let kept = 0;
    const free = (): void => {
      receiving.bytes -= kept;
      kept = 0;
    };
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      // Read on, within bounds: who is still sending would see the connection break instead of the answer.
      if (length > 2 * limit) {
        free();
        request.destroy();
        return fail(tooLarge(limit));
      }
      if (length > limit) refusal = tooLarge(limit);
      else if (receiving.bytes + chunk.length > receivingBytes) refusal ??= receivingTooMuch(receivingBytes);
      if (refusal === null) {
        chunks.push(chunk);
        kept += chunk.length;
        receiving.bytes += chunk.length;
      } else {
        // Nothing is kept of what will be refused.
        chunks.length = 0;
        free();
      }
      received?.(chunk.length);
    });
    request.on("error", (error) => {
      free();
      fail(error);
    });
    request.on("end", () => {
      free();
      end(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
  };
}

/** Throws a RadicalError unless the request is whole, and the first one of its nonce. */
function takeOnce(
  { askedOnce, state, sinceMs }: Surroundings,
  claim: AdministrativeClaim,
  body: Uint8Array,
  { asksProcess }: Exchange,
): void {
  checkBody(claim, body);
  const stateNow = state();
  const began = asksProcess || stateNow.kind === "not-serving" ? sinceMs : stateNow.sinceMs;
  askedOnce.check(claim.head, began(), performance.now());
}

/** Receives a question in JSON; `take` as for {@link receive}. */
function receiveQuestion(
  options: Surroundings,
  exchange: Exchange,
  take: (asked: Readonly<Record<string, unknown>>) => void,
): void {
  receive(options, exchange, MAX_QUESTION_BYTES, (body) => take(jsonOf(body)));
}

const NO_BYTES = new Uint8Array();

function tooLarge(limit: number): RadicalError {
  return new RadicalError("message_too_large", `The body is larger than ${limit} bytes.`, "Send less.");
}

function receivingTooMuch(most: number): RadicalError {
  const message = `The server receives bodies of ${most} bytes already.`;
  return new RadicalError("primary_busy", message, "The server has done nothing: send the request again later.");
}

function expectMethod(method: string, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  throw new RadicalError("method_not_allowed", `The path does not take ${method}.`, `Use ${allowed.join(" or ")}.`);
}

function errorAnswer(error: unknown, log: Log): Answer {
  if (error instanceof RadicalError) return { status: error.status, body: error.toBody(), type: "application/json" };
  if (error instanceof TooLargeError)
    return errorAnswer(new RadicalError("message_too_large", error.message, "Send less."), log);
  if (error instanceof UnknownAbiError || error instanceof UnknownSectionError || error instanceof UnknownVersionError)
    return errorAnswer(new RadicalError("malformed_message", error.message, error.hint), log);
  if (error instanceof MalformedError) {
    const malformed = new RadicalError(
      "malformed_message",
      `Malformed message: ${error.message}`,
      "Use a client of the same version.",
    );
    return errorAnswer(malformed, log);
  }
  log.error("internal_error", { reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return errorAnswer(new RadicalError("internal_error", "The server has failed.", "See its log."), log);
}

function json(status: number, value: unknown): Answer {
  return { status, body: `${JSON.stringify(value)}\n`, type: "application/json" };
}

/** Each byte is a character. */
function latin1(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}
