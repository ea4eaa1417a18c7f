/**
 * The location's client of the LVI server. One call is one attempt: signed, bounded in time, never repeated here.
 */
import {
  type CommitId,
  FOLLOWUP_PATH,
  type Followup,
  type FollowupResult,
  KEY_HEADER,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  SIGNATURE_HEADER,
  TIME_HEADER,
  type TraceContext,
  decodeFollowupReply,
  decodeLviReply,
  encodeFollowup,
  encodeLviRequest,
  signedBytes,
} from "@radical/protocol";
import { hex } from "../hex.ts";

export interface PrimaryKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

export type Answered<T> =
  | { readonly kind: "reply"; readonly reply: T }
  /** No answer, or none that says what happened: the request may have had its effect. */
  | { readonly kind: "unanswered"; readonly reason: string }
  /** Refused before anything was done; the same request would be refused again. */
  | { readonly kind: "rejected"; readonly reason: string };

/** What the request goes over, as far as a Worker can know: `fetch` tells nothing before the response. */
export type Connection = "open" | "new";

export interface Sending {
  /** Settles when the request was handed to the platform, which writes it in its next turns; never rejects. */
  readonly sent: Promise<Connection>;
  readonly answered: Promise<Answered<LviReply>>;
}

/** Most bytes of a reply: repairs of the largest set fit. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** workerd closes a connection that was idle for five seconds. */
const IDLE_CONNECTION_MS = 4_000;

export class Primary {
  /** Of each connection that should be open and idle: since when. */
  readonly #idleSinceMs: number[] = [];
  readonly #origin: string;
  readonly #key: PrimaryKey;
  /** Imported once per isolate. The key and not its promise: a promise belongs to the request that made it. */
  #hmac: CryptoKey | null = null;
  /** What the server last told to be its latest commit id. */
  seen: CommitId | null = null;

  constructor(origin: string, key: PrimaryKey) {
    this.#origin = origin.replace(/\/+$/, "");
    this.#key = key;
  }

  /** `trace`: whose lines of log the primary's belong to. */
  ask(request: LviRequest, timeoutMs: number, trace: TraceContext | null): Sending {
    const { promise: sent, resolve: settle } = Promise.withResolvers<Connection>();
    const decode = (bytes: Uint8Array): LviReply => {
      const reply = decodeLviReply(bytes);
      this.seen = reply.asOf ?? this.seen;
      return reply;
    };
    return { sent, answered: this.#post(LVI_PATH, encodeLviRequest(request), { timeoutMs, trace }, decode, settle) };
  }

  follow(followup: Followup, timeoutMs: number, trace: TraceContext | null): Promise<Answered<FollowupResult>> {
    const body = encodeFollowup(followup);
    return this.#post(FOLLOWUP_PATH, body, { timeoutMs, trace }, decodeFollowupReply, () => undefined);
  }

  async #post<T>(
    path: string,
    body: Uint8Array,
    { timeoutMs, trace }: { readonly timeoutMs: number; readonly trace: TraceContext | null },
    decode: (bytes: Uint8Array) => T,
    onSent: (over: Connection) => void,
  ): Promise<Answered<T>> {
    let isDone = false;
    try {
      const headers = { ...(await this.#signed(path, body)), ...headersOf(trace) };
      const responding = fetch(`${this.#origin}${path}`, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      onSent(this.#takeConnection());
      const response = await responding;
      if (response.status === 200) {
        const bytes = await readBounded(response);
        isDone = true;
        return { kind: "reply", reply: decode(bytes) };
      }
      const reason = `status ${response.status} ${await errorText(response)}`.trim();
      isDone = true;
      return REJECTIONS.includes(response.status) ? { kind: "rejected", reason } : { kind: "unanswered", reason };
    } catch (error) {
      return { kind: "unanswered", reason: error instanceof Error ? error.message : String(error) };
    } finally {
      onSent("open");
      // A connection that broke has rarely broken alone.
      if (isDone) this.#idleSinceMs.push(performance.now());
      else this.#idleSinceMs.length = 0;
    }
  }

  /** The platform takes the one that was used last. */
  #takeConnection(): Connection {
    const sinceMs = this.#idleSinceMs.pop();
    if (sinceMs !== undefined && performance.now() - sinceMs < IDLE_CONNECTION_MS) return "open";
    this.#idleSinceMs.length = 0;
    return "new";
  }

  async #signed(path: string, body: Uint8Array): Promise<Record<string, string>> {
    this.#hmac ??= await crypto.subtle.importKey("raw", this.#key.secret, { name: "HMAC", hash: "SHA-256" }, false, [
      "sign",
    ]);
    const timeMs = Date.now();
    const signature = await crypto.subtle.sign("HMAC", this.#hmac, signedBytes("POST", path, timeMs, body));
    return {
      "content-type": "application/cbor",
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

/** Statuses that only the LVI server itself gives, and only before it does anything. */
const REJECTIONS: readonly number[] = [400, 401, 413];

async function readBounded(response: Response): Promise<Uint8Array> {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > MAX_REPLY_BYTES) throw new Error(`a reply of ${declared} bytes`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The code and message of an error body, as far as it is one. */
async function errorText(response: Response): Promise<string> {
  const text = (await response.text()).slice(0, 2_000);
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    return `${String(error?.code ?? "")}: ${String(error?.message ?? "")}`;
  } catch {
    return text.slice(0, 200);
  }
}
