/**
 * The one port of `radical dev`, in front of workerd. It decides by the `Host` header for whom a request was meant, before
 * anything else looks at it; it answers what is asked of `radical dev` itself, and hands the rest on.
 *
 * Miniflare obeys headers of its own (`MF-Original-URL`, `MF-Route-Override`, `MF-CF-Blob`), whoever sends them. They end
 * here. So that nobody goes around this port, the one behind it serves only who knows its token.
 */
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as sendOn,
  type ServerResponse,
} from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { errorBody } from "@radical/protocol";
import {
  type Answer,
  answerControl,
  buildErrorAnswer,
  closeServer,
  type ControlOptions,
  listen,
  noticeOf,
  send,
} from "./control-server.ts";
import { isLoopbackName, isMeantFor, isOfAnotherOrigin } from "@radical/app";
import {
  BUILD_ERROR_HEADER,
  CONTROL_PREFIX,
  ENTRY_TOKEN_HEADER,
  PLATFORM_PREFIX,
  SCHEDULED_PATHS,
} from "@radical/app/workers";
import { LOCATION_HEADER } from "@radical/local";

export interface FrontServer {
  /** Origin that requests are sent to. */
  readonly url: string;
  /** Requests go there from now on. Before, every request is answered with the state of the build. */
  serve(workerd: EntryPort): void;
  close(): Promise<void>;
}

/** The port of workerd. */
export interface EntryPort {
  readonly url: string;
  readonly token: string;
}

export interface FrontOptions extends ControlOptions {
  /** A request goes to a location; null: to the first one. Returns what to call at its end. */
  readonly onRequest?: (location: string | null) => () => void;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Called with each answer that no location tells of: of the application's own routes, and of static files. */
  readonly onAnswer?: (answer: FrontAnswer) => void;
  /** Longest that a large body waits for an answer to its head, in milliseconds. Default: 250. */
  readonly heldMs?: number;
}

export interface FrontAnswer {
  readonly method: string;
  /** Without its query, which may hold what is nobody's business. */
  readonly path: string;
  /** The location that the request has named; null: it has named none. */
  readonly location: string | null;
  readonly status: number;
  /** Until its head was there, in milliseconds. */
  readonly ms: number;
  readonly by: "route" | "file" | "event";
}

/** More than workerd takes. */
const MAX_HEAD_BYTES = 256 * 1024;
const KEEP_ALIVE_MS = 75_000;
/** More than a handler's arguments may have. */
const LARGE_BODY_BYTES = 1_048_576;
const HELD_MS = 250;

/** About the connection, not about the message (RFC 9110, 7.6.1). `Transfer-Encoding` and `Upgrade` are made anew where they count. */
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "te", "trailer", "expect"]);
/** Stay whatever `Connection` names: without them the body of one request would be read as the next one. */
const OF_THE_MESSAGE = ["host", "content-length", "transfer-encoding"];

/** Throws what the system says if it can't listen. */
export async function startFrontServer(options: FrontOptions): Promise<FrontServer> {
  let entry: EntryPort | null = null;
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Duplex>();
  const server = createServer(
    { maxHeaderSize: MAX_HEAD_BYTES, shouldUpgradeCallback: isWebSocket },
    (request, response) => {
      const refusal = refusalOf(options, request);
      if (refusal !== null) return send(response, refusal);
      if (isForControl(options, request)) return answerControl(options, request, response);
      if (entry === null) return send(response, buildErrorAnswer(options.build()));
      const ended = options.onRequest?.(request.headers[LOCATION_HEADER]?.toString() ?? null);
      if (ended !== undefined) response.once("close", ended);
      hand(request, response, entry, agent, options);
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on("upgrade", (request, socket, head) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    const refusal =
      refusalOf(options, request) ??
      (isForControl(options, request) || entry === null ? { status: 404, body: "" } : null);
    if (refusal !== null || entry === null) return void socket.end(headOf(refusal?.status ?? 404));
    handUpgrade(request, socket, head, entry);
  });
  const port = await listen(server, options.host, options.port);
  return {
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    serve: (workerd) => (entry = workerd),
    close: async () => {
      agent.destroy();
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}

/** Some clients offer HTTP/2 with every request (`Upgrade: h2c`), and go on with HTTP/1.1 on the same connection. */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** Null: the request was meant for this server. */
function refusalOf({ host }: FrontOptions, request: IncomingMessage): Answer | null {
  const hosts = request.headersDistinct["host"] ?? [];
  if (hosts.length !== 1 || !isMeantFor(host, hosts[0]!)) {
    const message = `radical dev does not answer to the name "${hosts.join(", ").slice(0, 200)}".`;
    const hint =
      "Ask for localhost, or start radical dev with --host and the name or address. A tunnel must send the header host: localhost.";
    return { status: 403, body: errorBody("host_not_allowed", message, hint) };
  }
  if (isForPlatform(request) && !isOfThisMachine(host, hosts[0]!, request)) {
    const message = `${PLATFORM_PREFIX} answers programs of this machine only.`;
    return { status: 403, body: errorBody("not_local", message, "Use curl, and start radical dev without --host.") };
  }
  if (request.url?.startsWith("/") === true || request.url === "*") return null;
  return { status: 400, body: errorBody("malformed_message", "The path must begin with /.", "Send the path only.") };
}

/** As the Worker behind reads the path, which resolves dots: `/./cdn-cgi/` and `/%2e/cdn-cgi/` are the same. */
function isForPlatform({ url = "" }: IncomingMessage): boolean {
  const whole = `http://localhost${url}`;
  const path = url.startsWith("/") && URL.canParse(whole) ? new URL(whole).pathname : url;
  return path.startsWith(PLATFORM_PREFIX);
}

/** Whether others than this machine can't have sent the request: neither another machine, nor a page of the web. */
function isOfThisMachine(listensOn: string, host: string, { headers }: IncomingMessage): boolean {
  // A page can have a browser load it as a picture, without an origin.
  const site = headers["sec-fetch-site"] ?? "none";
  return (
    isLoopbackName(listensOn) &&
    !isOfAnotherOrigin(headers.origin, host) &&
    // Typed into a browser, or asked by a page of this very port.
    (site === "none" || site === "same-origin")
  );
}

function isForControl({ host }: FrontOptions, { url = "" }: IncomingMessage): boolean {
  // Where others than this machine reach the port, faults are nobody's to switch.
  return url.startsWith(CONTROL_PREFIX) && isLoopbackName(host);
}

/** What workerd is to be sent, whatever the client has set. */
function headersFor(request: IncomingMessage, entry: EntryPort): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  const named = new Set((request.headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  for (const name of OF_THE_MESSAGE) named.delete(name);
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    if (!OF_THE_CONNECTION.has(name) && !named.has(name) && !name.startsWith("mf-") && values !== undefined)
      headers[name] = values.length === 1 ? values[0] : values;
  }
  const { remoteAddress } = request.socket;
  // As the platform says it.
  if (remoteAddress !== undefined) headers["cf-connecting-ip"] ??= remoteAddress;
  headers[ENTRY_TOKEN_HEADER] = entry.token;
  return headers;
}

function hand(
  request: IncomingMessage,
  response: ServerResponse,
  entry: EntryPort,
  agent: Agent,
  options: FrontOptions,
): void {
  const { hostname, port } = new URL(entry.url);
  const headers = headersFor(request, entry);
  const { method = "GET", url = "/" } = request;
  // Node would send an empty body in chunks.
  if (
    headers["transfer-encoding"] === undefined &&
    headers["content-length"] === undefined &&
    !/^(GET|HEAD)$/.test(method)
  )
    headers["content-length"] = "0";
  const outgoing = sendOn({ host: hostname, port, method, path: url, headers, agent });
  const startedAtMs = performance.now();
  const tell = (status: number, by: FrontAnswer["by"]): void => {
    const location = request.headers[LOCATION_HEADER]?.toString() ?? null;
    const [path = "/"] = url.split("?", 1);
    const isEvent = SCHEDULED_PATHS.includes(path);
    const ms = Math.round((performance.now() - startedAtMs) * 10) / 10;
    options.onAnswer?.({ method, path, location, status, ms, by: isEvent ? "event" : by });
  };
  let answer: IncomingMessage | null = null;
  outgoing.on("response", (incoming) => {
    if (response.headersSent || response.destroyed) return void incoming.resume();
    answer = incoming;
    const document = incoming.statusCode === 404 && url === "/openapi.json" ? openApiOf(options) : undefined;
    if (document !== undefined) {
      incoming.resume();
      return send(response, { status: 200, body: document });
    }
    const notice = noticeOf(options.build());
    const { statusCode = 502, statusMessage = "" } = incoming;
    if (!isToldByLocation(request, incoming))
      tell(statusCode, incoming.headers["cf-cache-status"] === undefined ? "route" : "file");
    response.sendDate = false;
    response.writeHead(statusCode, statusMessage, [
      ...rawHeadersOf(incoming),
      ...(notice === "" ? [] : [BUILD_ERROR_HEADER, notice]),
    ]);
    incoming.pipe(response);
    incoming.on("error", () => response.destroy());
  });
  // Of the body nothing more is wanted; an answer may still come.
  outgoing.on("error", () => void request.resume());
  outgoing.on("close", () => {
    if (answer?.complete === true) return;
    // A browser or a client is to try it again: workerd is being started again, or has broken off.
    if (response.headersSent || response.destroyed) return void response.destroy();
    const body = errorBody(
      "location_unavailable",
      "The location broke the request off, because its Worker is started again, has failed, or has not read the body.",
      "Send the request again, with a smaller body if it is large; the log of radical dev tells more.",
    );
    tell(503, "route");
    send(response, { status: 503, body, headers: { "retry-after": "1" } });
  });
  response.on("close", () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  request.on("error", () => outgoing.destroy());
  sendBody(request, outgoing, options.heldMs ?? HELD_MS);
}

/** Whether the line of a location tells of the answer, or nobody wants to know of it: a browser's question beforehand. */
function isToldByLocation({ method, headers }: IncomingMessage, answer: IncomingMessage): boolean {
  const isPreflight = method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
  // Every answer of the runtime has it.
  return isPreflight || answer.headers[LOCATION_HEADER] !== undefined;
}

/**
 * Workerd breaks off a body that nobody reads, as soon as it has answered. A write then fails, and with it the connection, perhaps
 * before the answer was read. So a large body waits for whoever refuses it by its head.
 */
function sendBody(request: IncomingMessage, outgoing: ClientRequest, heldMs: number): void {
  if (!(Number(request.headers["content-length"]) > LARGE_BODY_BYTES)) return void request.pipe(outgoing);
  outgoing.flushHeaders();
  const held = setTimeout(() => request.pipe(outgoing), heldMs);
  outgoing.once("close", () => clearTimeout(held));
  outgoing.once("response", (incoming) =>
    incoming.once("end", () => {
      // Nobody wants the rest.
      if (outgoing.writableEnded) return;
      request.unpipe(outgoing).resume();
      outgoing.destroy();
    }),
  );
}

/** What an application without a document of this name has there. */
function openApiOf({ host, control }: FrontOptions): string | undefined {
  return isLoopbackName(host) ? control()?.openApi() : undefined;
}

function rawHeadersOf({ rawHeaders }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const lower = name.toLowerCase();
    // Chunks are made anew where the client knows them.
    if (!OF_THE_CONNECTION.has(lower) && lower !== "transfer-encoding") kept.push(name, rawHeaders[index + 1]!);
  }
  return kept;
}

/** A WebSocket, say: once the head is on its way, bytes pass as they are. */
function handUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, entry: EntryPort): void {
  const { hostname: host, port } = new URL(entry.url);
  const inner = connect({ host, port: Number(port) }, () => {
    const headers = { ...headersFor(request, entry), connection: "upgrade", upgrade: request.headers.upgrade };
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${String(one)}`),
    );
    inner.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1");
    inner.write(head);
    socket.pipe(inner).pipe(socket);
  });
  inner.on("error", () => socket.destroy());
  inner.on("close", () => socket.destroy());
  socket.on("close", () => inner.destroy());
}

function headOf(status: number): string {
  return `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
}
