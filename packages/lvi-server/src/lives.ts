/**
 * The lives of executions, as this server knows them: kept, and told, only while somebody wants them. A life ends with the
 * answer. That of a pending intent ends when its writes are applied, so that it tells of the followup too.
 */
import {
  type ExecutionId,
  type Life,
  type LifeSpan,
  type LifeSpanName,
  type LifeUnit,
  type LviReply,
  type LviRequest,
  MAX_SPANS,
  MAX_UNITS,
  MAX_WAITS,
  microseconds,
  type TraceContext,
  type TracePlace,
} from "@radical/protocol";
import type { ExpectedCompletion, Note } from "./core/events.ts";
import type { Now } from "./core/lvi-core.ts";
import type { EndedRun, Run } from "./core/run.ts";
import type { LifeObserver } from "./driver.ts";
import type { Traces } from "./traces.ts";

/** Most lives that have begun: the followup of one that was told may never come. The oldest are told as they are. */
const MAX_BEGUN = 10_000;

/**
 * Most lives that begin in a slice of time. A life costs a quarter of the processor time of a read, most of it for its line.
 * So a server under load tells 1,000 a second, and how many it left out.
 */
const SLICE_MS = 100;
const MAX_BEGUN_IN_SLICE = 100;

/** `leftOut`: executions that the bound left out since the life before. */
export type LifeTaker = (life: Life, leftOut: number) => void;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Begun extends Writable<Pick<Life, "reason" | "code" | "commit" | "because" | "tookUs">> {
  readonly request: LviRequest;
  /** It was chosen for those who take lives. */
  readonly isWanted: boolean;
  /** Its place in its trace; null: it has no spans. */
  readonly trace: TracePlace | null;
  readonly atMs: number;
  readonly sinceMs: number;
  readonly spans: LifeSpan[];
  /** The units that its run here has touched; null: it has not run here, or in place of its followup. */
  ran: readonly LifeUnit[] | null;
  readonly waited: (readonly [...Life["waited"][number]])[];
  answeredAtMs: number | null;
}

export class Lives implements LifeObserver {
  readonly #now: () => Now;
  /** With how many executions each wants one of. */
  readonly #takers = new Map<LifeTaker, number>();
  #every = Infinity;
  #count = 0;
  #sliceEndsAtMs = 0;
  #begunInSlice = 0;
  #leftOut = 0;
  readonly #begun = new Map<ExecutionId, Begun>();
  readonly #traces: Traces | null;

  /** `traces`: those of executions in traces become spans. */
  constructor(now: () => Now, traces: Traces | null = null) {
    this.#now = now;
    this.#traces = traces;
  }

  /** Has it told lives from now on, one of so many. Returns how to stop. */
  take(taker: LifeTaker, every = 1): () => void {
    const changed = (): void => void (this.#every = Math.min(...this.#takers.values()));
    this.#takers.set(taker, every);
    changed();
    return () => {
      this.#takers.delete(taker);
      changed();
      if (this.#takers.size === 0 && this.#traces === null) this.#begun.clear();
    };
  }

  get takers(): number {
    return this.#takers.size;
  }

  /** False: this execution tells no life. */
  begin(request: LviRequest, context: TraceContext | null = null): boolean {
    const isWanted = ++this.#count >= this.#every;
    if (isWanted) this.#count = 0;
    const trace = this.#traces?.placeOf(context) ?? null;
    if (!isWanted && trace === null) return false;
    const { monotonicMs, wallMs } = this.#now();
    if (monotonicMs >= this.#sliceEndsAtMs) {
      this.#sliceEndsAtMs = monotonicMs + SLICE_MS;
      this.#begunInSlice = 0;
    }
    if (++this.#begunInSlice > MAX_BEGUN_IN_SLICE) {
      if (isWanted) this.#leftOut++;
      if (trace !== null) this.#traces?.leftOut();
      return false;
    }
    const { executionId } = request;
    this.#begun.delete(executionId);
    this.#begun.set(executionId, {
      request,
      isWanted,
      trace,
      atMs: wallMs,
      sinceMs: monotonicMs,
      tookUs: 0,
      spans: [],
      ran: null,
      waited: [],
      reason: null,
      code: null,
      commit: null,
      because: null,
      answeredAtMs: null,
    });
    const [oldest] = this.#begun.size > MAX_BEGUN ? this.#begun.keys() : [];
    if (oldest !== undefined) this.#end(oldest);
    return true;
  }

  replied({ executionId, attempt }: LviRequest, reply: LviReply): void {
    const begun = this.#begun.get(executionId);
    // A later attempt has taken its place.
    if (begun === undefined || begun.request.attempt !== attempt) return;
    const { monotonicMs } = this.#now();
    begun.answeredAtMs = monotonicMs;
    begun.tookUs = microseconds(monotonicMs - begun.sinceMs);
    if (reply.kind === "executed") begun.reason = reply.cause;
    if (reply.kind === "refused") begun.code = reply.code;
    if (reply.kind === "valid") {
      begun.reason = "valid";
      begun.commit = reply.commitId;
      // Its writes are still to come.
      if (reply.commitId !== null) return;
    }
    this.#end(executionId);
  }

  /** A followup has come. */
  followed(id: ExecutionId): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined && begun.answeredAtMs !== null) this.#push(begun, "followup", begun.answeredAtMs);
  }

  noted({ name, executionId, units, version, behind, waitedMs = 0, cause }: Note): void {
    const begun = executionId === undefined ? undefined : this.#begun.get(executionId);
    if (begun === undefined) return;
    const [unit] = units ?? [];
    switch (name) {
      case "waited":
        this.#push(begun, "lock", this.#now().monotonicMs - waitedMs);
        if (unit !== undefined && begun.waited.length < MAX_WAITS)
          begun.waited.push([unit, behind ?? null, microseconds(waitedMs)]);
        break;
      case "cleared":
        this.#push(begun, "leases", this.#now().monotonicMs - waitedMs);
        break;
      case "stale": {
        if (unit === undefined) break;
        const accessed = begun.request.units?.find((one) => one.unit === unit);
        const had = accessed === undefined || accessed.mode === "write" ? null : accessed.version;
        begun.because = { unit, had: had?.commitId ?? null, is: version ?? null };
        break;
      }
      case "re_execution":
        begun.reason = cause ?? null;
        break;
      default:
    }
  }

  spent(id: ExecutionId, span: LifeSpanName, sinceMs: number): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) this.#push(begun, span, sinceMs);
  }

  ran(ids: readonly ExecutionId[], run: Run, ended: EndedRun, sinceMs: number): void {
    const { monotonicMs } = this.#now();
    for (const [index, id] of ids.entries()) {
      const begun = this.#begun.get(id);
      const one = index === 0 ? ended : ended.followers?.[index - 1];
      if (begun === undefined || one === undefined) continue;
      const { access, snapshot } = index === 0 ? run : (run.followers?.[index - 1] ?? run);
      const startedMs = Math.max(sinceMs, monotonicMs - one.tookMs);
      if (startedMs > sinceMs) this.#push(begun, "worker", sinceMs, startedMs);
      this.#push(begun, access.kind === "declared" ? "re-execute" : "run", startedMs);
      if (one.result.kind !== "completed" || access.kind === "declared") continue;
      const { reads, writes } = one.result;
      const written = new Set(writes.map(({ unit }) => unit));
      begun.ran = [
        ...reads.map((unit): LifeUnit => {
          return [unit, written.has(unit) ? "read-write" : "read", snapshot.get(unit)?.version.commitId ?? null];
        }),
        ...[...written].filter((unit) => !reads.includes(unit)).map((unit): LifeUnit => [unit, "write", null]),
      ];
    }
  }

  applied(completions: readonly ExpectedCompletion[], sinceMs: number): void {
    for (const { completion } of completions) {
      const begun = this.#begun.get(completion.executionId);
      if (begun === undefined) continue;
      this.#push(begun, "apply", sinceMs);
      if (completion.writes.length > 0) begun.commit = completion.commitId;
      if (begun.answeredAtMs !== null) this.#end(completion.executionId);
    }
  }

  #push({ spans, sinceMs }: Begun, name: LifeSpanName, fromMs: number, toMs = this.#now().monotonicMs): void {
    if (spans.length < MAX_SPANS) spans.push([name, microseconds(fromMs - sinceMs), microseconds(toMs - fromMs)]);
  }

  #end(id: ExecutionId): void {
    const begun = this.#begun.get(id);
    if (begun === undefined) return;
    this.#begun.delete(id);
    const { request, isWanted, trace, atMs, tookUs, spans, ran, waited, reason, code, commit, because } = begun;
    const { handler, module, location, attempt } = request;
    const life: Life = {
      v: 1,
      kind: "life",
      side: "primary",
      execution: id,
      attempt,
      trace: trace?.traceId ?? null,
      place: location,
      handler,
      module,
      atMs,
      tookUs,
      path: null,
      reason,
      code,
      commit,
      because,
      spans,
      units: ran?.slice(0, MAX_UNITS) ?? unitsOf(request),
      unitsLeftOut: Math.max(0, (ran ?? request.units ?? []).length - MAX_UNITS),
      waited,
      fuel: null,
    };
    if (trace !== null) this.#traces?.take(life, trace);
    if (!isWanted) return;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    for (const take of this.#takers.keys()) take(life, leftOut);
  }
}

function unitsOf({ units }: LviRequest): readonly LifeUnit[] {
  return (units ?? [])
    .slice(0, MAX_UNITS)
    .map((one) => [one.unit, one.mode, one.mode === "write" ? null : (one.version?.commitId ?? null)]);
}
