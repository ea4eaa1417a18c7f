/**
 * `Prefer: speculative`: the reply as a stream of lines, each a JSON object. The first line has the result of the location's
 * own run, as soon as that run has ended. The last line is the answer. A stream without a last line tells nothing of the
 * execution.
 */
import { valueToJson } from "@radical/protocol";
import type { Answer, Verdict } from "../core/effects.ts";
import { type Reply, toResponse } from "./reply.ts";

const PREFERENCE = "speculative";

/** Headers of the stream that are known before its answer. */
export type EarlyHeaders = Readonly<Record<string, string>>;

/** Whether the client asks for a stream (RFC 7240). GET has no preferences. */
export function prefersSpeculative({ method, headers }: Request): boolean {
  const preferences = headers.get("prefer")?.split(",") ?? [];
  return method === "POST" && preferences.some((one) => /^\s*speculative\s*(?:;|$)/i.test(one));
}

/** The first line. */
export function speculativeLine(result: Uint8Array, execution: string): string {
  return `{"speculative":{"result":${valueToJson(result)}},"execution":${JSON.stringify(execution)}}\n`;
}

/** The last line. The log of a request has the fields of `trailer` too. */
export function finalLine(
  { status, body, code }: Reply,
  answer: Answer | null,
  verdict: Verdict | null,
  trailer: Readonly<Record<string, unknown>>,
): string {
  const more = JSON.stringify(trailer).slice(1);
  if (code === null) return `${verdict === "confirmed" ? `{"confirmed":true` : `{"corrected":${body}`},${more}\n`;
  const { error } = JSON.parse(body) as { readonly error: object };
  const retryAfterMs = answer?.kind === "failed" ? answer.retryAfterMs : null;
  return `{"failed":${JSON.stringify({ ...error, status, retryAfterMs })},${more}\n`;
}

/** A reply that is a line of its own if it ends a stream. */
export interface EndingReply extends Reply {
  /** Null: it is not one of an execution that may show a result early. */
  readonly last: { readonly line: string; readonly headers: EarlyHeaders } | null;
}

export class SpeculativeReply {
  readonly #shown = Promise.withResolvers<EarlyHeaders>();
  readonly #encoder = new TextEncoder();
  readonly #body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor() {
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      // The client has gone away. The execution goes on.
      cancel: () => void (this.#controller = null),
    });
  }

  show(line: string, headers: EarlyHeaders): void {
    this.#write(line);
    this.#shown.resolve(headers);
  }

  /** The response: a stream, or an ordinary one if nothing may be shown early. */
  async response(replying: Promise<EndingReply>, more: Readonly<Record<string, string>>): Promise<Response> {
    const ended = replying.then((reply) => {
      if (reply.last === null) return toResponse(reply, more);
      this.#write(reply.last.line);
      this.#controller?.close();
      this.#controller = null;
      return reply.last.headers;
    });
    const begun = await Promise.race([this.#shown.promise, ended]);
    if (begun instanceof Response) return begun;
    const fixed = {
      "content-type": "application/x-ndjson; charset=utf-8",
      "cache-control": "no-store",
      "preference-applied": PREFERENCE,
    };
    return new Response(this.#body, { headers: { ...begun, ...more, ...fixed } });
  }

  #write(line: string): void {
    this.#controller?.enqueue(this.#encoder.encode(line));
  }
}
