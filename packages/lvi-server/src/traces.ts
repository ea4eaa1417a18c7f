/**
 * The spans of the executions that this server has answered, on their way to a collector. They are made of the lives of these
 * executions. Nothing waits for the collector: lives wait in memory, so many at most, and are lost beyond that.
 */
import { randomFillSync } from "node:crypto";
import {
  enterTrace,
  type Life,
  otlpBody,
  type OtlpResource,
  type OtlpTarget,
  type TraceContext,
  type TracedLife,
  type TracePlace,
} from "@radical/protocol";
import type { Log } from "./log.ts";
import { withoutQuery } from "./options.ts";

/** Most executions whose spans wait: about 15 MB. */
const MAX_WAITING = 10_000;
/** Most executions in one request, about 1,000 spans. */
const MAX_BATCH = 200;
/** How long spans wait for others to go with them. */
const GATHER_MS = 1_000;
const ATTEMPT_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** How long a server that stops waits for its last spans to leave. */
const CLOSE_MS = 2_000;

/** As OTLP says: any other status but 200 is about the request, which would be refused again. */
const REPEATABLE = [429, 502, 503, 504];

export interface TracesOptions extends Pick<OtlpTarget, "url" | "headers" | "ratio" | "followsCaller"> {
  readonly resource: OtlpResource;
  readonly log: Log;
  /** Left out: that of Node. */
  readonly fetch?: typeof fetch;
}

/** `told`: executions whose spans a collector has taken. `lost`: others that were drawn. */
export interface TraceCounts {
  readonly told: number;
  readonly lost: number;
}

export class Traces {
  readonly #options: TracesOptions;
  readonly #waiting: TracedLife[] = [];
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined = undefined;
  #told = 0;
  #lost = 0;
  #pauseMs = 0;
  /** The log has said that spans do not arrive. */
  #hasWarned = false;
  readonly #closing = new AbortController();

  constructor(options: TracesOptions) {
    this.#options = options;
  }

  get counts(): TraceCounts {
    return { told: this.#told, lost: this.#lost };
  }

  /** Where the spans of an execution stand whose request has that context. Null: it has none. */
  placeOf(context: TraceContext | null): TracePlace | null {
    return enterTrace(context, this.#options, newId).place;
  }

  /** An execution was drawn, and its life is not kept. */
  leftOut(): void {
    this.#lost++;
  }

  take(life: Life, place: TracePlace): void {
    if (this.#waiting.length >= MAX_WAITING || this.#closing.signal.aborted) return this.leftOut();
    this.#waiting.push({ life, place, sendIds: [], status: null });
    if (this.#sending !== null || this.#pauseMs > 0) return;
    if (this.#waiting.length >= MAX_BATCH) this.#send();
    else this.#timer ??= this.#later(GATHER_MS);
  }

  /** Sends what waits, once; what is not taken soon is lost. */
  async close(): Promise<void> {
    this.#pauseMs = 0;
    const ending = setTimeout(() => this.#closing.abort(), CLOSE_MS);
    while (
      !this.#closing.signal.aborted &&
      this.#pauseMs === 0 &&
      (this.#sending !== null || this.#waiting.length > 0)
    ) {
      if (this.#sending === null) this.#send();
      // oxlint-disable-next-line no-await-in-loop -- one batch after the other
      await this.#sending;
    }
    clearTimeout(ending);
    clearTimeout(this.#timer);
    this.#closing.abort();
    this.#lost += this.#waiting.splice(0).length;
  }

  #later(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#send(), ms).unref();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = null;
      if (this.#waiting.length === 0 || this.#closing.signal.aborted) return;
      this.#timer ??= this.#later(
        this.#pauseMs > 0 ? this.#pauseMs : this.#waiting.length >= MAX_BATCH ? 0 : GATHER_MS,
      );
    });
  }

  async #sendBatch(): Promise<void> {
    const batch = this.#waiting.splice(0, MAX_BATCH);
    const answered = await this.#post(otlpBody(this.#options.resource, batch, newId));
    if (answered.kind === "again") {
      this.#pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2), LONGEST_PAUSE_MS);
      const room = Math.max(0, MAX_WAITING - this.#waiting.length);
      // The newest are kept, as when there was no room for them.
      this.#lost += Math.max(0, batch.length - room);
      this.#waiting.unshift(...batch.slice(batch.length - Math.min(room, batch.length)));
      return this.#warn(answered.reason);
    }
    this.#pauseMs = 0;
    if (answered.kind === "refused") {
      this.#lost += batch.length;
      return this.#warn(answered.reason);
    }
    this.#told += batch.length;
    if (this.#hasWarned) this.#options.log.info("collector_answers", { ...this.counts });
    this.#hasWarned = false;
  }

  #warn(reason: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.warn("spans_not_taken", { url: withoutQuery(this.#options.url), reason });
  }

  async #post(
    body: string,
  ): Promise<{ readonly kind: "taken" } | { readonly kind: "again" | "refused"; readonly reason: string }> {
    const { url, headers, fetch: send = fetch } = this.#options;
    try {
      const response = await send(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        redirect: "error",
        signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(ATTEMPT_MS)]),
      });
      const text = await response.text();
      if (response.ok) return { kind: "taken" };
      const reason = `The collector answers ${response.status}: ${text.slice(0, 200)}`;
      return { kind: REPEATABLE.includes(response.status) ? "again" : "refused", reason };
    } catch (error) {
      return { kind: "again", reason: wordsOf(error) };
    }
  }
}

/** Bytes for the next ids: to ask the system for each takes longer than all else. */
const POOL = Buffer.alloc(4_096);
let used = POOL.length;

function newId(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  return POOL.toString("hex", used, (used += bytes));
}

/** Node names the cause apart: "fetch failed" alone says little. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error
    ? `${error.message}: ${cause.message || ("code" in cause ? String(cause.code) : "")}`
    : error.message;
}
