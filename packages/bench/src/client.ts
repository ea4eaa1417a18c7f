/** Clients: each request over a connection that is open already, at its time, whatever became of those before it. */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callPath } from "@radical/protocol";
import { callerHeader } from "./bench-requests.ts";
import type { Planned } from "./schedule.ts";

/** A request and what came of it. Times are of this process's monotonic clock. */
export interface Answered extends Planned {
  readonly scheduledAtMs: number;
  readonly sentAtMs: number;
  /** When all of the answer was there. */
  readonly answeredAtMs: number;
  /** 0: no answer. */
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 60_000;
/** The clocks of timers go in steps of a millisecond: the rest is waited for in turns of the event loop. */
const TIMER_STEP_MS = 1.5;

export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

  /** Sends all at their times; resolves when all are answered. A signal keeps those that were not sent from being sent. */
  async send(
    planned: readonly Planned[],
    addressOf: (request: Planned) => string,
    signal: AbortSignal,
    onAnswer: (answered: Answered) => void,
  ): Promise<void> {
    const beganAtMs = performance.now();
    const open: Promise<void>[] = [];
    for (const one of planned) {
      const dueAtMs = beganAtMs + one.atMs;
      const waitMs = dueAtMs - performance.now() - TIMER_STEP_MS;
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      while (performance.now() < dueAtMs && !signal.aborted) await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) break;
      open.push(this.ask(addressOf(one), one, dueAtMs).then(onAnswer));
    }
    await Promise.all(open);
  }

  ask(address: string, planned: Planned, scheduledAtMs: number = performance.now()): Promise<Answered> {
    const { path, args } = callPath(planned.handler, planned.args);
    return this.post(`${address}${path}`, JSON.stringify(args), callerHeader(planned)).then((answer) => ({
      ...planned,
      scheduledAtMs,
      ...answer,
    }));
  }

  post(
    url: string,
    body: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Pick<Answered, "sentAtMs" | "answeredAtMs" | "status" | "body" | "headers">> {
    const sentAtMs = performance.now();
    return new Promise((resolve) => {
      const end = (status: number, text: string, answered: Answered["headers"]): void =>
        resolve({ sentAtMs, answeredAtMs: performance.now(), status, body: text, headers: answered });
      const outgoing = request(
        url,
        {
          method: "POST",
          agent: this.#agent,
          timeout: TIMEOUT_MS,
          headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", (error) => end(0, error.message, {}));
          response.on("end", () =>
            end(
              response.statusCode ?? 0,
              Buffer.concat(chunks).toString(),
              Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
            ),
          );
        },
      );
      outgoing.on("timeout", () => outgoing.destroy(new Error("no answer in time")));
      outgoing.on("error", (error) => end(0, error.message, {}));
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The id as logs and samples have it, of an answer that tells it. */
export function executionOf({ headers }: Pick<Answered, "headers">): string {
  return (headers["x-radical-execution"] ?? "").replace(/^execution-/, "");
}
