/** One call of a handler, from its checked input to its reply, and what is left to do then. */
import {
  enterTrace,
  type ExecutionId,
  type HandlerManifest,
  type HandlerPlan,
  type Life,
  type LoggedLine,
  type Manifest,
  present,
  SEED_BYTES,
  SPAN_ID_BYTES,
  type TraceContext,
  traceContextFrom,
  type TracedLife,
  type TracePlace,
} from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import { NO_PLACE, type Place } from "./cache/place.ts";
import { countAnswer } from "./answered.ts";
import type { LeasedExecution } from "./api.ts";
import type { Answer, Verdict } from "./core/effects.ts";
import type { Footprint } from "./core/execution.ts";
import type { RunManner } from "./core/live-queries.ts";
import { type Identity, identityOf, toldExecution } from "./http/idempotency-key.ts";
import { type Reply, replyOf, replyOfError } from "./http/reply.ts";
import { type EndingReply, finalLine, speculativeLine, type SpeculativeReply } from "./http/speculative-reply.ts";
import { workflowPath } from "./http/workflow-request.ts";
import type { Isolate } from "./isolate.ts";
import { LifeNotes } from "./life-notes.ts";
import { type LocationSpans, newId } from "./location-spans.ts";
import type { Log, LogLine } from "./log.ts";
import { answerLeaves } from "./speculation-lane.ts";
import { Timings } from "./timings.ts";
import { listen, now, run } from "./worker-ports.ts";

export interface CallInput {
  readonly handler: string;
  readonly declaration: HandlerManifest;
  /** Encoded: a map by parameter name. */
  readonly args: Uint8Array;
  readonly identity: Identity;
  readonly caller: string | null;
  /** It came as a GET. A call in process is none: the application's own code decides what its routes do. */
  readonly mustNotWrite: boolean;
  /** Of a workflow: how long its client waits for its end. Left out: 0. */
  readonly waitMs?: number;
  /** A run of a live query: its request goes on after it, and hears of changes. Null: it is not one. */
  readonly live: RunManner | null;
}

export type Told = EndingReply & {
  /** The `Idempotency-Key` that repeats the call; null: nothing was called. */
  readonly repeatKey: string | null;
  /** Null: there is no outcome. */
  readonly footprint: Footprint | null;
};

export class Exchange {
  readonly #manifest: Manifest;
  readonly #module: HandlerModule;
  readonly #log: Log;
  /** That of the client; once the execution is in a trace, what the primary is told. */
  #trace: TraceContext | null;
  /** Where its spans belong, and who sends them; null: it has none. */
  #traced: { readonly place: TracePlace; readonly sendIds: string[]; readonly spans: LocationSpans } | null = null;
  /** To be sent when the reply has left. */
  #span: TracedLife | null = null;
  /** The log is to have its life. */
  #logsLife = false;
  readonly #onLeased: ((leased: LeasedExecution) => void) | null;
  readonly #timings = new Timings(now);
  /** Known one after the other. */
  place: Place = NO_PLACE;
  #handler: string | null = null;
  #identity: Identity | null = null;
  /** To be written when the reply has left. */
  #lines: LogLine[] = [];
  /** The client may be shown a result before the reply, which then is the last line of a stream. */
  #streams = false;
  /** It was shown one. */
  #hasShown = false;

  constructor(
    manifest: Manifest,
    module: HandlerModule,
    log: Log,
    trace: TraceContext | null,
    onLeased: ((leased: LeasedExecution) => void) | null,
  ) {
    this.#manifest = manifest;
    this.#module = module;
    this.#log = log;
    this.#trace = trace;
    this.#onLeased = onLeased;
  }

  /** It is at the isolate, which may want its life. */
  begin(isolate: Isolate): void {
    const { livesEvery } = isolate.settings;
    this.place = isolate.place;
    this.#logsLife = livesEvery !== null && isolate.lives++ % livesEvery === 0;
    if (isolate.spans !== null) this.#enterTrace(isolate.spans);
    if (this.#logsLife || this.#traced !== null) this.#timings.life = new LifeNotes();
  }

  /** The primary follows what is decided here. */
  #enterTrace(spans: LocationSpans): void {
    const { place, context } = enterTrace(this.#trace, spans.target, newId);
    this.#trace = context;
    if (place !== null) this.#traced = { place, sendIds: [], spans };
  }

  /** Of the next question to the primary, which is a span of its own. */
  #traceOfSend(): TraceContext | null {
    if (this.#traced === null) return this.#trace;
    const { place, sendIds } = this.#traced;
    const spanId = newId(SPAN_ID_BYTES);
    sendIds.push(spanId);
    return traceContextFrom({ traceId: place.traceId, spanId, sampled: true }, this.#trace?.tracestate ?? null);
  }

  name(handler: string): string {
    return (this.#handler = handler);
  }

  async identify(key: string | null, caller: string | null, handler: string): Promise<Identity> {
    return (this.#identity = await identityOf(key, { application: this.#manifest.application, caller, handler }));
  }

  /**
   * Replies as soon as the execution is answered; settles when nothing is left to do. `early` is there if the client asks
   * for a result before that.
   */
  async execute(
    input: CallInput,
    isolate: Isolate,
    early: SpeculativeReply | null,
    reply: (reply: Told) => void,
  ): Promise<void> {
    const { handler, declaration, args, identity, caller, mustNotWrite, live, waitMs = 0 } = input;
    const { settings, core, cache, primary, lane, failpoint } = isolate;
    const environment = { timeMs: isolate.now(), seed: crypto.getRandomValues(new Uint8Array(SEED_BYTES)), caller };
    const execution = core.execution({
      ...identity,
      module: this.#module.hash,
      handler,
      args,
      environment,
      mustNotWrite,
      mayEffect: declaration.mayEffect === true,
      location: this.place.location,
      plan: settings.nearStorageOnly && declaration.plan !== "workflow" ? "near-storage" : declaration.plan,
      waitMs: declaration.plan === "workflow" ? waitMs : 0,
      prefersSpeculative: early !== null,
      speculative: declaration.speculative === true,
      watches: live?.watches === true,
      takesLeases: live === null || live.takesLeases,
      undeclaredTables: this.#manifest.testHooks?.undeclaredTables ?? [],
    });
    this.#streams = execution.shows;
    const { answered, finished } = run(execution, {
      module: this.#module,
      invocation: { executionId: identity.executionId, handler, args, environment },
      cache: cache.of(this.place, (error) => this.#warn("warn", "cache_failed", describe(error))),
      primary,
      trace: this.#trace,
      traceOfSend: () => this.#traceOfSend(),
      lane,
      failpoint,
      timings: this.#timings,
      show: (result) => {
        this.#hasShown = true;
        early?.show(speculativeLine(result, toldExecution(identity.executionId)), this.#earlyHeaders);
      },
      warn: (event, message) => this.#warn(event === "wrote_on_get" ? "error" : "warn", event, message),
      fault: (error) => this.#warn("error", "internal_error", describe(error)),
    });
    let answer: Answer | null = null;
    try {
      const { answer: told, verdict } = await answered;
      answer = told;
      if (told.kind === "outcome" && told.path === "leased")
        this.#onLeased?.({
          executionId: identity.executionId,
          handler,
          args,
          environment,
          versions: versionsOf(told),
        });
      reply(this.#reply(replyOf(told), told, verdict, execution.footprint));
    } catch (error) {
      reply(this.fail(error));
    }
    const hasCached = answer?.kind === "outcome" && isCached(declaration.plan);
    await Promise.all([finished, this.#afterwards(hasCached && isolate.caches && live === null ? isolate : null)]);
  }

  /** The request has what it wanted: it is reported, and listens for those to come. */
  async #afterwards(listening: Isolate | null): Promise<void> {
    await answerLeaves();
    this.report();
    const sent = this.sendSpans();
    if (listening === null) return sent;
    await Promise.all([sent, listening.cache.hearOfPurges(this.place), listen(listening, this.place.location)]);
  }

  /** Replies to a question after a workflow: it is not an execution. */
  async ask(workflow: ExecutionId, asking: Promise<Answer>): Promise<Told> {
    this.#identity = { executionId: workflow, retained: true, repeatKey: toldExecution(workflow) };
    try {
      const answer = await asking;
      return this.#reply(replyOf(answer), answer, null, null);
    } catch (error) {
      return this.fail(error);
    }
  }

  /** The reply to bad input, or to a fault of ours. */
  fail(error: unknown): Told {
    const reply = replyOfError(error);
    if (reply.code === "internal_error") this.#warn("error", "internal_error", describe(error));
    return this.#reply(reply, null, this.#hasShown ? "failed" : null, null);
  }

  /** The subrequests that it has made so far. */
  get subrequests(): number {
    return this.#timings.subrequests;
  }

  /** Writes to the log how it was replied. */
  report(): void {
    for (const line of this.#lines.splice(0)) {
      if (line.event === "request") countAnswer(line.path, line.verdict);
      this.#log(line);
    }
  }

  /** Sends its spans, if it has any; never rejects. */
  async sendSpans(): Promise<void> {
    const [traced, span] = [this.#traced, this.#span];
    this.#span = null;
    if (traced === null || span === null) return;
    this.#timings.subrequests++;
    const complaint = await traced.spans.send(span);
    if (complaint !== null) this.#warn("warn", "spans_not_taken", complaint);
  }

  #reply(reply: Reply, answer: Answer | null, verdict: Verdict | null, footprint: Footprint | null): Told {
    const execution = this.#identity?.executionId ?? null;
    const ms = this.#timings.toRecord();
    const reason = answer?.kind === "outcome" ? answer.reason : null;
    this.#lines = answer?.kind === "outcome" ? this.#linesOf(answer.logged ?? []) : [];
    this.#lines.push({
      level: "info",
      event: "request",
      location: this.place.location,
      handler: this.#handler,
      execution,
      trace: this.#trace?.traceId ?? null,
      status: reply.status,
      path: reply.path,
      reason,
      verdict,
      code: reply.code,
      ms,
      fuel: this.#timings.fuel,
    });
    const life = this.#lifeOf(reply, answer, ms["total"] ?? 0);
    if (life !== null && this.#logsLife) this.#lines.push({ level: "debug", event: "life", life });
    this.#span =
      life === null || this.#traced === null
        ? null
        : { life, status: reply.status, place: this.#traced.place, sendIds: this.#traced.sendIds };
    const path =
      answer?.kind === "working" && this.#handler !== null ? workflowPath(this.#handler, answer.workflow) : null;
    const headers: Record<string, string> = {
      ...reply.headers,
      ...(path === null ? {} : { location: path }),
      ...this.#earlyHeaders,
      "server-timing": this.#timings.toHeader(ms),
    };
    const last = this.#streams
      ? { line: finalLine(reply, answer, verdict, { path: reply.path, reason, ms }), headers: this.#earlyHeaders }
      : null;
    return { ...reply, headers, last, repeatKey: this.#identity?.repeatKey ?? null, footprint };
  }

  /** Null: nobody wants it, or the request names no execution. */
  #lifeOf({ code }: Reply, answer: Answer | null, tookMs: number): Life | null {
    const { life, fuel } = this.#timings;
    if (life === null || this.#handler === null || this.#identity === null) return null;
    const { executionId: execution } = this.#identity;
    const trace = this.#trace?.traceId ?? null;
    const { location: place } = this.place;
    return life.life(
      { execution, trace, place, handler: this.#handler, module: this.#module.hash, tookMs, code, fuel },
      answer,
    );
  }

  /** Of the handler, in the run that has given the answer. */
  #linesOf(logged: readonly LoggedLine[]): LogLine[] {
    const { location } = this.place;
    const handler = present(this.#handler, "an execution has a handler");
    const execution = present(this.#identity, "an execution has an id").executionId;
    const lines = logged.length;
    return logged.map(({ level, text: message }, index) => {
      return { level, event: "handler_log", location, handler, execution, line: index + 1, lines, message };
    });
  }

  /** Headers that are known before the answer. */
  get #earlyHeaders(): Readonly<Record<string, string>> {
    const execution = this.#identity?.executionId;
    return {
      "x-radical-location": this.place.location,
      ...(execution === undefined ? {} : { "x-radical-execution": toldExecution(execution) }),
    };
  }

  #warn(
    level: "warn" | "error",
    event: Exclude<LogLine["event"], "request" | "handler_log" | "life">,
    message: string,
  ): void {
    this.#log({
      level,
      event,
      location: this.place.location,
      handler: this.#handler,
      execution: this.#identity?.executionId ?? null,
      message,
    });
  }
}

/** Whether its run here may have used the cache. */
function isCached(plan: HandlerPlan): boolean {
  return plan !== "near-storage" && plan !== "workflow";
}

function versionsOf({ reads, snapshot }: Extract<Answer, { readonly path: "leased" }>): LeasedExecution["versions"] {
  return new Map(
    Array.from(reads, (unit) => [unit, present(snapshot.get(unit), "what was read was captured").version]),
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
