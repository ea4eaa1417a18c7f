/**
 * The driver of a location: it carries effects out over its ports, and hands back what comes of them as events. It decides
 * nothing: what happens, and in which order, is in `core`. The Worker and the simulation run this same driver, each over ports
 * of its own.
 */
import {
  decodeLine,
  type Entry,
  type Followup,
  type FollowupResult,
  type Heard,
  type HeardReply,
  type ListeningQuestion,
  type LocationAlarm,
  type LviReply,
  type LviRequest,
  type Query,
  spanId,
  type UnitId,
} from "@radical/protocol";
import {
  type AccessSet,
  type DerivedSet,
  type HandlerRun,
  type RecordedRun,
  type Snapshot,
  spanSnapshot,
  type Speculative,
} from "@radical/wasm-host";
import { fromBase64 } from "./base64.ts";
import type {
  Answer,
  Answered,
  CachePut,
  CapturedSnapshot,
  Derivation,
  Effect,
  ExecutionEvent,
  LocationEffect,
  LocationEvent,
  Speculation,
  Verdict,
  WarningCode,
} from "./core/effects.ts";
import type { ServerIndex } from "./core/leader.ts";
import type { LiveEffect } from "./core/live-queries.ts";
import { type KnownRows, SpanLook } from "./core/span-look.ts";

/** How something ends that was begun. One of the two is called, once, perhaps before the call that began it has returned. */
export interface Settled<T> {
  readonly done: (value: T) => void;
  /** A fault of ours. */
  readonly failed: (error: unknown) => void;
}

/** An execution, as its driver sees it. */
export interface ExecutionMachine {
  readonly step: (event: ExecutionEvent) => readonly Effect[];
  readonly answered: boolean;
}

/** The ports of an execution. */
export interface ExecutionPorts {
  /** Milliseconds by the platform's clock, which may stand still between inputs and outputs. */
  readonly now: () => number;
  readonly wait: (ms: number, settled: Settled<void>) => void;
  /** The entry that the cache has in memory. */
  readonly peek: (unit: UnitId) => Entry | undefined;
  /** The directories that the cache has in memory. */
  readonly directories: KnownRows;
  readonly getMany: (units: readonly UnitId[], settled: Settled<ReadonlyMap<UnitId, Entry>>) => void;
  readonly putMany: (entries: readonly CachePut[], settled: Settled<void>) => void;
  readonly ask: (
    server: ServerIndex,
    request: LviRequest,
    timeoutMs: number,
    settled: Settled<Answered<LviReply>>,
  ) => void;
  /** These begin when the answer has left. */
  readonly follow: (
    server: ServerIndex,
    followup: Followup,
    timeoutMs: number,
    settled: Settled<Answered<FollowupResult>>,
  ) => void;
  readonly alarm: (server: ServerIndex, alarm: LocationAlarm, timeoutMs: number, settled: Settled<void>) => void;
  /**
   * Calls `run` when it is the execution's turn to run f. The turn comes at once, once the last request is on the wire, or
   * after its reply. Settles when the next execution may have its turn.
   */
  readonly takeTurn: (after: "set" | "send" | "reply" | "lease", run: () => void, settled: Settled<void>) => void;
  readonly host: Host;
  /** The client has asked for it. */
  readonly show: (result: Uint8Array) => void;
  /** The verdict is null if nothing was shown. */
  readonly answer: (answer: Answer, verdict: Verdict | null, settled: Settled<void>) => void;
  readonly warn: (code: WarningCode, message: string) => void;
  /** A fault of ours. The first one of an execution that has no answer is its answer; of the others no answer tells. */
  readonly failed: (error: unknown, isAnswer: boolean) => void;
  /** Nothing is left to do, followup and cache included. */
  readonly finished: () => void;
  /** Whether the location ends here, with all that is under way: for crash tests. */
  readonly endsBeforeEvent: (event: ExecutionEvent) => boolean;
  readonly endsBeforeEffect: (effect: Effect) => boolean;
}

/** The runs of `wasm-host`, of the execution's module and invocation. */
export interface Host {
  readonly deriveAccessSet: (snapshot: Snapshot) => DerivedSet;
  readonly recordHandler: (snapshot: Snapshot, options: Speculative & { readonly guess: boolean }) => RecordedRun;
  readonly runHandler: (snapshot: Snapshot, set: AccessSet, options: Speculative) => HandlerRun;
}

export class ExecutionDriver {
  readonly #execution: ExecutionMachine;
  readonly #ports: ExecutionPorts;
  #underWay = 0;
  /** There is an answer, or a fault in its place. */
  #isSettled = false;
  #hasEnded = false;

  constructor(execution: ExecutionMachine, ports: ExecutionPorts) {
    this.#execution = execution;
    this.#ports = ports;
  }

  start(): void {
    const { done } = this.#begin<void>(() => this.#hear({ kind: "started", atMs: this.#ports.now() }));
    done();
  }

  /** Nothing is carried out any more, and nothing is heard. */
  end(): void {
    this.#hasEnded = true;
  }

  #hear(event: ExecutionEvent): void {
    const { endsBeforeEvent, endsBeforeEffect } = this.#ports;
    if (this.#hasEnded) return;
    let effects: readonly Effect[];
    try {
      if (endsBeforeEvent(event)) return this.end();
      effects = this.#execution.step(event);
    } catch (error) {
      return this.#failed(error);
    }
    for (const effect of effects) {
      if (this.#isOver()) return;
      // A fault does not keep the rest from being done.
      try {
        if (endsBeforeEffect(effect)) return this.end();
        this.#perform(effect);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** As a call: an effect may have ended it. */
  #isOver(): boolean {
    return this.#hasEnded;
  }

  #failed(error: unknown): void {
    const isAnswer = !this.#isSettled;
    this.#isSettled = true;
    this.#ports.failed(error, isAnswer);
  }

  /** Something is under way until it settles. */
  #begin<T>(hear: (value: T) => void): Settled<T> {
    this.#underWay++;
    const settle = (): void => {
      this.#underWay--;
      if (this.#underWay === 0 && !this.#hasEnded) this.#ports.finished();
    };
    return {
      done: (value) => {
        hear(value);
        settle();
      },
      failed: (error) => {
        this.#failed(error);
        settle();
      },
    };
  }

  #perform(effect: Effect): void {
    const ports = this.#ports;
    const { now, host } = ports;
    switch (effect.kind) {
      case "derive": {
        const derivation = find(effect.snapshot, ports, (snapshot) => ({
          run: null,
          isExhausted: false,
          ...host.deriveAccessSet(snapshot),
        }));
        return this.#hear({ kind: "derived", derivation, atMs: now() });
      }
      case "record": {
        const run = (): void => {
          if (this.#hasEnded) return;
          const derivation = find(effect.snapshot, ports, (snapshot) => ({
            kind: "derived",
            ...host.recordHandler(snapshot, { guess: true, speculative: true }),
          }));
          this.#hear({ kind: "derived", derivation, atMs: now() });
        };
        return ports.takeTurn("set", run, this.#begin(nothing));
      }
      case "fetch":
        return ports.getMany(
          effect.units,
          this.#begin((entries) => this.#hear({ kind: "fetched", entries, atMs: now() })),
        );
      case "send":
        return ports.ask(
          effect.server,
          effect.request,
          effect.timeoutMs,
          this.#begin((answered) => this.#hear(eventOf(answered, now()))),
        );
      case "speculate": {
        const run = (): void => {
          // The primary may have answered meanwhile: nobody needs f any more.
          if (this.#hasEnded || this.#execution.answered) return;
          this.#hear({ kind: "speculated", speculation: speculate(ports, effect), atMs: now() });
        };
        return ports.takeTurn(effect.after, run, this.#begin(nothing));
      }
      case "answer":
        this.#isSettled = true;
        return ports.answer(effect.answer, effect.verdict ?? null, this.#begin(nothing));
      case "show":
        return ports.show(effect.result);
      case "put":
        return ports.putMany(effect.entries, this.#begin(nothing));
      case "follow":
        return ports.follow(
          effect.server,
          effect.followup,
          effect.timeoutMs,
          this.#begin((answered) => this.#hear(followupEventOf(answered))),
        );
      case "alarm":
        return ports.alarm(effect.server, effect.alarm, effect.timeoutMs, this.#begin(nothing));
      case "wait":
        return ports.wait(
          effect.ms,
          this.#begin(() => this.#hear({ kind: "waited", before: effect.before, atMs: now() })),
        );
      case "warn":
        return ports.warn(effect.code, effect.message);
    }
  }
}

function nothing(): void {}

function eventOf(answered: Answered<LviReply>, atMs: number): ExecutionEvent {
  if (answered.kind === "reply") return { kind: "replied", reply: answered.reply, atMs };
  return { kind: answered.kind, reason: answered.reason, atMs };
}

function followupEventOf(answered: Answered<FollowupResult>): ExecutionEvent {
  if (answered.kind === "reply") return { kind: "followup-answered", result: answered.reply };
  return { kind: "followup-unanswered", reason: answered.reason };
}

type Derived = Extract<Derivation, { kind: "derived" }>;
type Finding =
  | (Omit<Derived, "captured" | "lacking" | "spans"> & { readonly missingQueries: readonly Query[] })
  | Extract<Derivation, { kind: "failed" }>;

/**
 * Finds the set on the captured values and on those in memory, with one look at memory for each item. Memory does not change
 * during a run, so all its scans see the same directories. An exception of the host (an instance that does not fit into memory,
 * say) is a failed derivation: the primary runs f.
 */
function find(
  captured: CapturedSnapshot,
  { peek, directories }: Pick<ExecutionPorts, "peek" | "directories">,
  run: (snapshot: Snapshot) => Finding,
): Derivation {
  const taken = new Map<UnitId, Entry>();
  const lacking = new Set<UnitId>();
  const itemOf = (unit: UnitId): Entry | undefined => {
    const known = captured.get(unit) ?? taken.get(unit);
    if (known !== undefined || lacking.has(unit)) return known;
    const entry = peek(unit);
    if (entry === undefined) lacking.add(unit);
    else taken.set(unit, entry);
    return entry;
  };
  const look = new SpanLook(directories, itemOf);
  const snapshot: Snapshot = Object.assign((unit: UnitId) => itemOf(unit), {
    scan: (query: Query) => look.scan(query),
  });
  try {
    const found = run(snapshot);
    if (found.kind === "failed") return found;
    const spans = look.capture(found.set.reads);
    const { missingQueries, ...derived } = found;
    // The run was told that there is nothing.
    const isTold = missingQueries.some(({ kind, table, lo, hi }) => spans.has(spanId({ kind, table, lo, hi })));
    if (isTold) return { kind: "failed", reason: "a query missed rows that were captured" };
    return { ...derived, lacking: look.lacking, captured: taken, spans };
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}

function speculate(ports: ExecutionPorts, { snapshot, set }: Extract<Effect, { kind: "speculate" }>): Speculation {
  try {
    // variant: speculation-fuel
    const bound: Speculative = { speculative: true };
    // variant: speculation-reads
    const run = ports.host.runHandler(spanSnapshot(snapshot), set, bound);
    switch (run.kind) {
      case "completed":
      case "exhausted":
        return run;
      case "undeclared":
        return {
          kind: "stopped",
          reason: `${run.mode} of ${run.unit}, which is not in the read/write set`,
          undeclared: run.mode,
        };
      case "undeclared-lane":
        return {
          kind: "stopped",
          reason: `a task with the key ${JSON.stringify(run.lane)}, which is not in the read/write set`,
          undeclared: "lane",
        };
      case "missing":
        return { kind: "stopped", reason: `read of ${run.unit}, which was not captured`, undeclared: null };
    }
  } catch (error) {
    return { kind: "stopped", reason: messageOf(error), undeclared: null };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A location, as its driver sees it. */
export interface LocationMachine {
  readonly step: (event: LocationEvent) => readonly LocationEffect[];
}

/** The ports of listening. */
export interface ListeningPorts {
  readonly now: () => number;
  /**
   * Calls `told` with the lines that the server writes, in their order, several at once if they come so. Calls `ended` when
   * there are no more: whether the server has ended them in order.
   */
  readonly listen: (
    server: ServerIndex,
    question: ListeningQuestion,
    told: (lines: readonly string[]) => void,
    ended: (isOver: boolean) => void,
  ) => void;
  /** Whether memory holds an entry of the unit. */
  readonly holds: (unit: UnitId) => boolean;
  readonly refresh: (entries: readonly CachePut[]) => void;
  /** Carries it out in the request of its subscriber. */
  readonly live: (effect: LiveEffect) => void;
  readonly hear: (
    server: ServerIndex,
    heard: Heard,
    timeoutMs: number,
    done: (answered: Answered<HeardReply>) => void,
  ) => void;
  /** Calls `done` after the time by a timer, whatever is done to the clock meanwhile. */
  readonly wake: (ms: number, done: () => void) => void;
}

/** Tells the location of an event, and carries out what it wants. */
export function tell(location: LocationMachine, event: LocationEvent, ports: ListeningPorts): void {
  const { now } = ports;
  for (const effect of location.step(event)) {
    switch (effect.kind) {
      case "listen": {
        const { shift, server, question } = effect;
        ports.listen(
          server,
          question,
          (lines) => tellLines(location, shift, lines, ports),
          (isOver) => tell(location, { kind: "listened", shift, isOver, atMs: now() }, ports),
        );
        break;
      }
      case "refresh":
        ports.refresh(effect.entries);
        break;
      case "hear": {
        const { hearing, server, heard, timeoutMs } = effect;
        ports.hear(server, heard, timeoutMs, (answered) => {
          const reply = answered.kind === "reply" ? answered.reply : null;
          tell(location, { kind: "heard", hearing, reply, atMs: now() }, ports);
        });
        break;
      }
      case "wake": {
        const { ms, why } = effect;
        ports.wake(ms, () => tell(location, { kind: "woken", why, atMs: now() }, ports));
        break;
      }
      default:
        ports.live(effect);
    }
  }
}

function tellLines(location: LocationMachine, shift: number, texts: readonly string[], ports: ListeningPorts): void {
  const lines = texts.map((text) => decodeLine(text, { decode: fromBase64 })).filter((line) => line !== null);
  if (lines.length === 0) return;
  const hinted = lines.flatMap((line) => (line.kind === "hint" ? line.entries : []));
  const held = hinted.map(({ unit }) => unit).filter((unit) => ports.holds(unit));
  tell(location, { kind: "told", shift, lines, held, atMs: ports.now() }, ports);
}
