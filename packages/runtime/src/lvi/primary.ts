/**
 * The location's client of the primary's servers. One call is one attempt at one of them: signed, bounded in time, never
 * repeated here.
 */
import {
  ALARMS_PATH,
  type ErrorCode,
  FOLLOWUP_PATH,
  type Followup,
  type FollowupResult,
  HEARD_PATH,
  type Heard,
  type HeardReply,
  KEY_HEADER,
  type LocationAlarm,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  SIGNATURE_HEADER,
  TIME_HEADER,
  type TraceContext,
  UPDATES_MS,
  UPDATES_PATH,
  type ListeningQuestion,
  decodeFollowupReply,
  decodeHeardReply,
  decodeLviReply,
  encodeFollowup,
  encodeHeard,
  encodeLviRequest,
  encodeWorkflowQuestion,
  signedBytes,
  WORKFLOW_PATH,
  type WorkflowQuestion,
} from "@radical/protocol";
import type { Answered } from "../core/effects.ts";
import type { ServerIndex } from "../core/leader.ts";
import { hex } from "../hex.ts";
import { type Connection, Connections } from "./connections.ts";

export interface PrimaryKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** How a server is reached. */
export type Way =
  | { readonly kind: "url"; readonly origin: string }
  /** The platform's way into a private network, a Workers VPC service: it alone knows the address. */
  | { readonly kind: "binding"; readonly fetcher: Pick<Fetcher, "fetch"> };

export interface Sending {
  /** Settles when the request was handed to the platform, which writes it in its next turns; never rejects. */
  readonly sent: Promise<Connection>;
  readonly answered: Promise<Answered<LviReply>>;
}

/** Most bytes of a reply: repairs of the largest set fit. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** Most characters of a line of updates. */
const MAX_LINE_LENGTH = 1024 * 1024;
/** For which the server may be late. */
const UPDATES_GRACE_MS = 2_000;

/** The host that a server behind a binding is addressed by. */
const BOUND_ORIGIN = "http://primary";

/** A server of the primary, with what is known of the connections to it. */
class Server {
  readonly #way: Way;
  readonly #connections = new Connections();

  constructor(way: Way) {
    this.#way = way;
  }

  fetch(path: string, init: RequestInit): Promise<Response> {
    switch (this.#way.kind) {
      case "url":
        return fetch(`${this.#way.origin.replace(/\/+$/, "")}${path}`, init);
      case "binding":
        return this.#way.fetcher.fetch(`${BOUND_ORIGIN}${path}`, init);
    }
  }

  get idleConnections(): number {
    return this.#connections.idle;
  }

  takeConnection(): Connection {
    return this.#connections.take(performance.now());
  }

  leaveConnection(isWhole: boolean): void {
    this.#connections.leave(performance.now(), isWhole);
  }
}

interface PostOptions {
  readonly timeoutMs: number;
  readonly trace: TraceContext | null;
  /** Of the body. */
  readonly type?: string;
}

export class Primary {
  readonly #servers: readonly Server[];
  readonly #key: PrimaryKey;
  /** Imported once per isolate. The key and not its promise: a promise belongs to the request that made it. */
  #hmac: CryptoKey | null = null;

  constructor(ways: readonly Way[], key: PrimaryKey) {
    this.#servers = ways.map((way) => new Server(way));
    this.#key = key;
  }

  /** Those that should be open, to all servers. */
  get idleConnections(): number {
    return this.#servers.reduce((sum, { idleConnections }) => sum + idleConnections, 0);
  }

  /** `trace`: whose lines of log the primary's belong to. */
  ask(server: ServerIndex, request: LviRequest, timeoutMs: number, trace: TraceContext | null): Sending {
    const { promise: sent, resolve: settle } = Promise.withResolvers<Connection>();
    const body = encodeLviRequest(request);
    const of = { timeoutMs, trace };
    return { sent, answered: this.#post(this.#servers[server]!, LVI_PATH, body, of, decodeLviReply, settle) };
  }

  question(
    server: ServerIndex,
    question: WorkflowQuestion,
    timeoutMs: number,
    trace: TraceContext | null,
  ): Promise<Answered<LviReply>> {
    const body = encodeWorkflowQuestion(question);
    const of = { timeoutMs, trace };
    return this.#post(this.#servers[server]!, WORKFLOW_PATH, body, of, decodeLviReply, () => undefined);
  }

  follow(
    server: ServerIndex,
    followup: Followup,
    timeoutMs: number,
    trace: TraceContext | null,
  ): Promise<Answered<FollowupResult>> {
    const body = encodeFollowup(followup);
    const of = { timeoutMs, trace };
    return this.#post(this.#servers[server]!, FOLLOWUP_PATH, body, of, decodeFollowupReply, () => undefined);
  }

  /** Never rejects: an alarm may be lost. */
  async alarm(server: ServerIndex, alarm: LocationAlarm, timeoutMs: number, trace: TraceContext | null): Promise<void> {
    const body = new TextEncoder().encode(JSON.stringify(alarm));
    const of = { timeoutMs, trace, type: "application/json" };
    await this.#post(
      this.#servers[server]!,
      ALARMS_PATH,
      body,
      of,
      () => undefined,
      () => undefined,
    );
  }

  hear(server: ServerIndex, heard: Heard, timeoutMs: number): Promise<Answered<HeardReply>> {
    const body = new TextEncoder().encode(encodeHeard(heard));
    const of = { timeoutMs, trace: null, type: "application/json" };
    return this.#post(this.#servers[server]!, HEARD_PATH, body, of, heardReplyIn, () => undefined);
  }

  /** Takes lines of updates as they come, those of one chunk together. Resolves to whether the server has ended them; never rejects. */
  async listen(
    server: ServerIndex,
    question: ListeningQuestion,
    take: (lines: readonly string[]) => void,
  ): Promise<boolean> {
    const asked = this.#servers[server]!;
    let isWhole = false;
    try {
      const body = new TextEncoder().encode(JSON.stringify(question));
      const headers = { ...(await this.#signed(UPDATES_PATH, body)), "content-type": "application/json" };
      const signal = AbortSignal.timeout(UPDATES_MS + UPDATES_GRACE_MS);
      const responding = asked.fetch(UPDATES_PATH, { method: "POST", headers, body, redirect: "manual", signal });
      asked.takeConnection();
      const response = await responding;
      if (response.status === 200 && response.body !== null) {
        await takeLines(response.body as ReadableStream<Uint8Array>, take);
        return (isWhole = true);
      }
      await response.text();
      isWhole = true;
      return false;
    } catch {
      return false;
    } finally {
      asked.leaveConnection(isWhole);
    }
  }

  async #post<T>(
    server: Server,
    path: string,
    body: Uint8Array,
    { timeoutMs, trace, type = "application/cbor" }: PostOptions,
    decode: (bytes: Uint8Array) => T,
    onSent: (over: Connection) => void,
  ): Promise<Answered<T>> {
    let isDone = false;
    try {
      const headers = { ...(await this.#signed(path, body)), "content-type": type, ...headersOf(trace) };
      const responding = server.fetch(path, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      onSent(server.takeConnection());
      const response = await responding;
      if (response.status === 200) {
        const bytes = await readBounded(response);
        isDone = true;
        return { kind: "reply", reply: decode(bytes) };
      }
      const { code, words } = await errorOf(response);
      const reason = `status ${response.status} ${words}`.trim();
      isDone = true;
      if (response.status === 413) return { kind: "too-large", reason };
      if (REJECTIONS.includes(response.status)) return { kind: "rejected", reason };
      return { kind: NOT_LEADING.includes(code) ? "not-leading" : "unanswered", reason };
    } catch (error) {
      return { kind: "unanswered", reason: error instanceof Error ? error.message : String(error) };
    } finally {
      onSent("open");
      server.leaveConnection(isDone);
    }
  }

  async #signed(path: string, body: Uint8Array): Promise<Record<string, string>> {
    this.#hmac ??= await crypto.subtle.importKey("raw", this.#key.secret, { name: "HMAC", hash: "SHA-256" }, false, [
      "sign",
    ]);
    const timeMs = Date.now();
    const signature = await crypto.subtle.sign("HMAC", this.#hmac, signedBytes("POST", path, timeMs, body));
    return {
      [KEY_HEADER]: this.#key.id,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: hex(new Uint8Array(signature)),
    };
  }
}

function headersOf(trace: TraceContext | null): Record<string, string> {
  if (trace === null) return {};
  const { traceparent, tracestate } = trace;
  return tracestate === null ? { traceparent } : { traceparent, tracestate };
}

/** The codes of a server that waits for the leadership or has just taken it. It sends them before it looks at anything. */
const NOT_LEADING: readonly unknown[] = ["not_leading", "not_serving"] satisfies readonly ErrorCode[];

/** Statuses that only the LVI server itself gives, and only before it does anything. */
const REJECTIONS: readonly number[] = [400, 401];

/** Without the empty ones, which only show that the connection is alive. */
async function takeLines(body: ReadableStream<Uint8Array>, take: (lines: readonly string[]) => void): Promise<void> {
  const decoder = new TextDecoder();
  let begun = "";
  for await (const chunk of body) {
    const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
    begun = lines.pop() ?? "";
    if (begun.length > MAX_LINE_LENGTH) throw new Error("a line of updates that does not end");
    const told = lines.filter((line) => line !== "");
    if (told.length > 0) take(told);
  }
}

/** Throws for a text that is not an answer. */
function heardReplyIn(bytes: Uint8Array): HeardReply {
  const reply = decodeHeardReply(new TextDecoder().decode(bytes));
  if (reply === null) throw new Error("an answer that does not say what became of the session");
  return reply;
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > MAX_REPLY_BYTES) throw new Error(`a reply of ${declared} bytes`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The code of an error body, as far as it is one, and what to tell of it. */
async function errorOf(response: Response): Promise<{ readonly code: unknown; readonly words: string }> {
  const text = (await response.text()).slice(0, 2_000);
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    return { code: error?.code, words: `${String(error?.code ?? "")}: ${String(error?.message ?? "")}` };
  } catch {
    return { code: null, words: text.slice(0, 200) };
  }
}
