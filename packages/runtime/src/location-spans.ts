/**
 * The spans of a location, which the Worker sends to a collector itself. The platform's own tracing shows a Worker alone, and
 * takes no spans from it that others continue. Each execution in a trace is one request to the collector, after its answer.
 */
import { otlpBody, type OtlpTarget, type TracedLife } from "@radical/protocol";
import { hex } from "./hex.ts";

export function newId(bytes: number): string {
  return hex(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** Requests to the collector under way in an isolate, beyond which spans are lost. */
const MAX_SENDING = 16;
const ATTEMPT_MS = 5_000;

export class LocationSpans {
  readonly target: OtlpTarget;
  readonly #application: string;
  #sending = 0;
  #lost = 0;

  constructor(target: OtlpTarget, application: string) {
    this.target = target;
    this.#application = application;
  }

  /** Resolves to what the operator is to be told, once for each outage; null: there is nothing. Never rejects. */
  async send(traced: TracedLife): Promise<string | null> {
    if (this.#sending >= MAX_SENDING) return this.#lose(`${MAX_SENDING} requests to the collector are under way`);
    this.#sending++;
    try {
      const resource = {
        "service.name": this.target.service ?? "radical-location",
        "service.namespace": this.#application,
      };
      const response = await fetch(this.target.url, {
        method: "POST",
        headers: { ...this.target.headers, "content-type": "application/json" },
        body: otlpBody(resource, [traced], newId),
        redirect: "manual",
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
      const text = await response.text();
      if (response.ok) {
        this.#lost = 0;
        return null;
      }
      return this.#lose(`status ${response.status}: ${text.slice(0, 200)}`);
    } catch (error) {
      return this.#lose(error instanceof Error ? error.message : String(error));
    } finally {
      this.#sending--;
    }
  }

  #lose(reason: string): string | null {
    return this.#lost++ === 0 ? `the collector of spans does not take them: ${reason}` : null;
  }
}
