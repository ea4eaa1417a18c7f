/** The server's HTTP interface: routes, limits, signatures and errors. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  decodeFollowup,
  decodeLviRequest,
  decodeModuleContent,
  encodeFollowupReply,
  encodeLviReply,
  FOLLOWUP_PATH,
  isModuleHash,
  LOG_PATH,
  LVI_PATH,
  MalformedError,
  MODULE_LIST_PATH,
  type ModuleContent,
  type ModuleHash,
  type ModuleList,
  MODULES_PATH,
  RadicalError,
  SAMPLES_PATH,
  type ServerStatus,
  STATUS_PATH,
  TooLargeError,
  traceContextOf,
} from "@radical/protocol";
import type { Engine } from "../engine.ts";
import { armed, type Failpoint, failpoint } from "../failpoints.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { logAnswer, samplesAnswer } from "./administration.ts";
import { type Claim, claimOf, verify } from "./authentication.ts";
import type { KeyRing } from "./keys.ts";

export interface HttpOptions {
  readonly keys: KeyRing;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly state: () => ServerState;
  /** How often an answer that goes on shows that it does. */
  readonly heartbeatMs?: number;
}

/** What the server can do for others. Before it serves it answers, so that whoever asks knows why it does not. */
export type ServerState = NotServing | ({ readonly kind: "serving" | "draining" } & Serving);

export interface NotServing {
  readonly kind: "not-serving";
  readonly reason: Reason;
  /** Where the server that has the lease can be asked; null: nobody has it, or its holder does not say. */
  readonly leader: string | null;
}

type Reason =
  /** Storage is asked who has the lease. */
  | "starting"
  /** Another server has it. */
  | "standby"
  /** Pending intents are read back. */
  | "recovering"
  | "stopped";

export interface Serving {
  readonly engine: Engine;
  readonly epoch: number;
  readonly moduleRetentionMs: number;
  readonly hasModule: (hash: ModuleHash) => boolean;
  /** Checks a module, makes it durable and known. Throws a RadicalError. */
  readonly registerModule: (hash: ModuleHash, content: ModuleContent, bytes: Uint8Array) => Promise<void>;
}

/** Largest bodies, in bytes. The followup of an execution at all its limits fits. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const MAX_MODULE_BYTES = 64 * 1024 * 1024;
const MAX_QUESTION_BYTES = 64 * 1024;

/** Most bytes of all bodies that are being received: who they are from is known only at their end. */
const MAX_RECEIVING_BYTES = 256 * 1024 * 1024;

const MAX_TEXT_BYTES = 1_024;

/** Less than what proxies and tunnels let pass without a byte. */
const DEFAULT_HEARTBEAT_MS = 10_000;

/** A request that takes longer to arrive is given up. */
const REQUEST_MS = 60_000;

/** Locations keep their connections; an idle one closed by us would cost their next request a round trip. */
const KEEP_ALIVE_MS = 75_000;

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
  /** Of bodies that are not complete. */
  readonly receiving: { bytes: number };
}

export function createHttpServer(options: HttpOptions): Server {
  const surroundings: Surroundings = { ...options, receiving: { bytes: 0 } };
  const server = createServer((request, response) => void handle(surroundings, request, response));
  server.requestTimeout = REQUEST_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  return server;
}

async function handle(options: Surroundings, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { log, metrics } = options;
  const startedAtMs = performance.now();
  const route = routeOf(request.url ?? "");
  let answer: Answer;
  try {
    answer = await answerTo(route, options, request);
  } catch (error) {
    if (request.errored !== null) {
      log.debug("request_broken_off", { method: request.method, path: request.url, reason: request.errored.message });
      return;
    }
    answer = errorAnswer(error, log);
  }
  if (answer.stream !== undefined) {
    metrics.requested(route.kind, answer.status, performance.now() - startedAtMs);
    return answer.stream(response);
  }
  const body = answer.body ?? "";
  // Names and values in one list: the way that Node writes without a copy of its own.
  const headers: string[] = [];
  // The rest of the body is not read.
  if (!request.complete) headers.push("connection", "close");
  if (answer.type !== undefined) headers.push("content-type", answer.type);
  if (answer.status !== 204) headers.push("content-length", String(Buffer.byteLength(body)));
  const { sent } = answer;
  response.writeHead(answer.status, headers);
  // A short body as text goes out in one piece with its head, which takes less than half of the time of two.
  if (typeof body !== "string" && body.length <= MAX_TEXT_BYTES) response.end(latin1(body), "latin1");
  else response.end(body);
  if (sent !== undefined && armed !== null) response.once("finish", () => failpoint(sent));
  const tookMs = performance.now() - startedAtMs;
  metrics.requested(route.kind, answer.status, tookMs);
  if (log.writes("debug")) {
    const { method, url: path } = request;
    // The location's line of the same trace names handler and execution.
    const trace = traceContextOf(request.headers["traceparent"]?.toString() ?? null, null)?.traceId;
    log.debug("request", { method, path, status: answer.status, ms: tookMs, trace });
  }
}

const CONTENT_SUFFIX = "/content";

type Route =
  | {
      readonly kind:
        | "lvi"
        | "followup"
        | "metrics"
        | "healthz"
        | "readyz"
        | "status"
        | "modules"
        | "log"
        | "samples"
        | "none";
    }
  | { readonly kind: "module" | "module-content"; readonly hash: ModuleHash };

function routeOf(path: string): Route {
  switch (path) {
    case LVI_PATH:
      return { kind: "lvi" };
    case FOLLOWUP_PATH:
      return { kind: "followup" };
    case "/metrics":
      return { kind: "metrics" };
    case "/healthz":
      return { kind: "healthz" };
    case "/readyz":
      return { kind: "readyz" };
    case STATUS_PATH:
      return { kind: "status" };
    case MODULE_LIST_PATH:
      return { kind: "modules" };
    case LOG_PATH:
      return { kind: "log" };
    case SAMPLES_PATH:
      return { kind: "samples" };
  }
  const name = path.startsWith(MODULES_PATH) ? path.slice(MODULES_PATH.length) : "";
  if (isModuleHash(name)) return { kind: "module", hash: name };
  const hash = name.endsWith(CONTENT_SUFFIX) ? name.slice(0, -CONTENT_SUFFIX.length) : "";
  return isModuleHash(hash) ? { kind: "module-content", hash } : { kind: "none" };
}

async function answerTo(route: Route, options: Surroundings, request: IncomingMessage): Promise<Answer> {
  const method = request.method ?? "";
  switch (route.kind) {
    case "healthz": {
      expectMethod(method, "GET");
      const state = options.state();
      return json(200, { status: "ok", ...(state.kind === "not-serving" ? {} : state.engine.load) });
    }
    case "readyz":
      expectMethod(method, "GET");
      return readiness(options.state());
    case "metrics":
      expectMethod(method, "GET");
      return { status: 200, body: await options.metrics.text(), type: options.metrics.contentType };
    case "lvi": {
      expectMethod(method, "POST");
      const body = await signedBody(options, request, MAX_MESSAGE_BYTES);
      failpoint("http.request-received");
      const reply = encodeLviReply(await serving(options).engine.request(decodeLviRequest(body)));
      failpoint("http.reply-made");
      return { ...cbor(reply), sent: "http.replied" };
    }
    case "followup": {
      expectMethod(method, "POST");
      const body = await signedBody(options, request, MAX_MESSAGE_BYTES);
      failpoint("http.followup-received");
      const reply = encodeFollowupReply(await serving(options).engine.followup(decodeFollowup(body)));
      failpoint("http.followup-reply-made");
      return cbor(reply);
    }
    case "module": {
      expectMethod(method, "GET", "PUT");
      const body = await signedBody(options, request, MAX_MODULE_BYTES);
      const { hasModule, registerModule } = serving(options);
      if (method === "PUT") {
        failpoint("http.module-received");
        await registerModule(route.hash, decodeModuleContent(body), body);
        failpoint("http.module-registered");
        return { status: 204 };
      }
      if (hasModule(route.hash)) return { status: 204 };
      throw notRegistered(route.hash);
    }
    case "module-content": {
      expectMethod(method, "GET");
      await signedBody(options, request, MAX_QUESTION_BYTES);
      const content = await serving(options).engine.moduleContent(route.hash);
      if (content === null) throw notRegistered(route.hash);
      return cbor(content);
    }
    case "status":
      expectMethod(method, "GET");
      await signedBody(options, request, MAX_QUESTION_BYTES, "of-any");
      return json(200, statusOf(options));
    case "modules": {
      expectMethod(method, "GET");
      await signedBody(options, request, MAX_QUESTION_BYTES);
      const { engine, moduleRetentionMs: retentionMs } = serving(options);
      return json(200, { modules: await engine.listModules(), retentionMs } satisfies ModuleList);
    }
    case "log": {
      expectMethod(method, "POST");
      const body = await signedBody(options, request, MAX_QUESTION_BYTES, "of-any");
      const stream = logAnswer(options.log.recent, body, options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS);
      return { status: 200, stream };
    }
    case "samples": {
      expectMethod(method, "POST");
      const body = await signedBody(options, request, MAX_QUESTION_BYTES);
      const stream = samplesAnswer(serving(options).engine, body, options.heartbeatMs ?? DEFAULT_HEARTBEAT_MS);
      return { status: 200, stream };
    }
    case "none":
      throw new RadicalError(
        "not_found",
        `there is nothing at ${(request.url ?? "").slice(0, 200)}`,
        "see the routes in docs/internals/protocol.md",
      );
  }
}

function notRegistered(hash: ModuleHash): RadicalError {
  const hint = "register it: radical build, then PUT it here";
  return new RadicalError("not_found", `module ${hash} is not registered`, hint);
}

function statusOf({ state: stateOf, now }: HttpOptions): ServerStatus {
  const state = stateOf();
  if (state.kind === "not-serving") return { state: state.reason, epoch: null, timeMs: now(), pending: null };
  return { state: state.kind, epoch: state.epoch, timeMs: now(), pending: state.engine.load.pending };
}

/** Ready: it has the lease and has recovered. */
function readiness(state: ServerState): Answer {
  switch (state.kind) {
    case "serving":
      return json(200, { status: "ready" });
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
    const hint = leader === null ? "ask the server that serves; see /readyz" : `ask ${leader}`;
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
  starting: "storage is being asked who has the lease",
  standby: "another server has the lease; this one takes over when that one dies",
  recovering: "the intents that the last server left pending are being read back",
  stopped: "the server is shutting down",
};

/** The whole body, if it is small enough and signed with one of our keys; of a server that serves, unless it may be any. */
function signedBody(
  { keys, now, metrics, receiving, state }: Surroundings,
  request: IncomingMessage,
  limit: number,
  whose: "of-one-that-serves" | "of-any" = "of-one-that-serves",
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { headers } = request;
    const tooLarge = (): RadicalError =>
      new RadicalError("message_too_large", `the body is larger than ${limit} bytes`, "send less");
    if (Number(headers["content-length"] ?? 0) > limit) throw tooLarge();
    let refusal: Error | null = null;
    let claim: Claim | null = null;
    try {
      const stateNow = state();
      if (stateNow.kind === "not-serving" && whose !== "of-any") throw new NotServingError(stateNow);
      claim = claimOf(keys.current, headers, now());
    } catch (error) {
      refusal = error as Error;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    let kept = 0;
    const free = (): void => {
      receiving.bytes -= kept;
      kept = 0;
    };
    // By events: an async iterator takes longer than all else that is done here.
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      // Read on, within bounds: who is still sending would see the connection break instead of the answer.
      if (length > 2 * limit) {
        free();
        request.destroy();
        return reject(tooLarge());
      }
      if (length > limit) refusal = tooLarge();
      else if (receiving.bytes + chunk.length > MAX_RECEIVING_BYTES) refusal ??= receivingTooMuch();
      if (refusal === null) {
        chunks.push(chunk);
        kept += chunk.length;
        receiving.bytes += chunk.length;
      } else {
        // Nothing is kept of what will be refused.
        chunks.length = 0;
        free();
      }
    });
    request.on("error", (error) => {
      free();
      reject(error);
    });
    request.on("end", () => {
      free();
      if (claim !== null && refusal === null) {
        const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
        try {
          verify(claim, request.method ?? "", request.url ?? "", body);
          metrics.signed(claim.keyId);
          return resolve(body);
        } catch (error) {
          refusal = error as Error;
        }
      }
      return reject(refusal!);
    });
  });
}

function receivingTooMuch(): RadicalError {
  const message = `bodies of ${MAX_RECEIVING_BYTES} bytes are being received`;
  return new RadicalError("primary_busy", message, "nothing was done: send it again later");
}

function expectMethod(method: string, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  throw new RadicalError("method_not_allowed", `${method} is not allowed here`, `use ${allowed.join(" or ")}`);
}

function errorAnswer(error: unknown, log: Log): Answer {
  if (error instanceof RadicalError) return { status: error.status, body: error.toBody(), type: "application/json" };
  if (error instanceof TooLargeError)
    return errorAnswer(new RadicalError("message_too_large", error.message, "send less"), log);
  if (error instanceof MalformedError) {
    const malformed = new RadicalError(
      "malformed_message",
      `malformed message: ${error.message}`,
      "use a client of the same version",
    );
    return errorAnswer(malformed, log);
  }
  log.error("internal_error", { reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return errorAnswer(new RadicalError("internal_error", "the server failed", "see its log"), log);
}

function json(status: number, value: unknown): Answer {
  return { status, body: `${JSON.stringify(value)}\n`, type: "application/json" };
}

/** Each byte is a character. */
function latin1(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

function cbor(body: Uint8Array): Answer {
  return { status: 200, body, type: "application/cbor" };
}
