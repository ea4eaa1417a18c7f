/**
 * A location whose executions are those of the real edge core, over a modelled cache: the driver of
 * `packages/runtime`, in virtual time. It decides nothing but when it dies.
 */
import {
  type CommitId,
  type Entry,
  type ExecutionId,
  type ModuleHash,
  NO_COMMIT,
  type UnitId,
} from "@radical/protocol";
import {
  type CapturedSnapshot,
  type Effect,
  Execution,
  type ExecutionEvent,
  Experience,
  Leader,
} from "@radical/runtime/core";
import { describeLocationEffect } from "./describe.ts";
import { LOCATION_EFFECTS } from "./faults.ts";
import { type Answer, type Invocation, type Location, type LocationOptions, nameOf } from "./location.ts";
import { ModelCache } from "./model-cache.ts";
import type { ToLocation } from "./network.ts";
import { locationHost, MODULES, PLANS } from "./programs.ts";

type Snapshot = Parameters<typeof locationHost.recordHandler>[1];

interface Running {
  readonly invocation: Invocation;
  readonly execution: Execution;
  readonly call: Parameters<typeof locationHost.runHandler>[0] & { readonly module: ModuleHash };
  /** Of everybody who asked for the execution here. */
  readonly answers: ((answer: Answer) => void)[];
  /** The sending whose reply is waited for. */
  sending: number | null;
  /** It has sent an absence that its cache does not know. */
  guesses: boolean;
  /** False once the location has crashed. */
  lives: boolean;
}

const ENDINGS: ReadonlyMap<string, `location ends before ${(typeof LOCATION_EFFECTS)[number]}`> = new Map(
  LOCATION_EFFECTS.map((kind) => [kind, `location ends before ${kind}`]),
);

export class EdgeLocation implements Location {
  module: ModuleHash = MODULES[0];
  offsetMs = 0;
  readonly #options: LocationOptions;
  readonly #cache = new ModelCache();
  #experience = new Experience();
  #leader: Leader;
  /** Executions that have not been answered. */
  readonly #running = new Map<ExecutionId, Running>();
  /** Those that have, but may still follow up. */
  readonly #following: Running[] = [];
  /** Followups that have no answer yet, by their sending. */
  readonly #followups = new Map<number, Running>();
  #sent = 0;
  #seen: CommitId | null = null;

  constructor(options: LocationOptions) {
    this.#options = options;
    this.#leader = new Leader(options.servers);
  }

  get #nowMs(): number {
    const { clock, rate } = this.#options;
    return clock.nowMs * rate;
  }

  invoke(invocation: Invocation, answer: (answer: Answer) => void): void {
    const same = this.#running.get(invocation.executionId);
    if (same !== undefined) {
      same.answers.push(answer);
      return;
    }
    const { clock, index } = this.#options;
    const { module } = this;
    const { executionId, program: handler, caller, retained, mustNotWrite } = invocation;
    const environment = { timeMs: clock.nowMs + this.offsetMs, seed: clock.random.bytes(16), caller };
    const args = invocation.encodedArgs;
    const execution = new Execution(
      {
        executionId,
        module,
        handler,
        args,
        environment,
        location: nameOf(index),
        plan: PLANS.get(handler)!,
        retained,
        repeatKey: executionId,
        mustNotWrite,
        seen: this.#seen,
        undeclaredTables: [],
      },
      {
        fetchRounds: 8,
        recordRuns: 4,
        attempts: 6,
        totalMs: 10_000,
        attemptMs: this.#options.attemptMs,
        backoffMs: 50,
        longestBackoffMs: 1_000,
        followupAttempts: 2,
      },
      this.#experience,
      this.#leader,
    );
    const call = { module, handler, args, environment };
    const running: Running = {
      invocation,
      execution,
      call,
      answers: [answer],
      sending: null,
      guesses: false,
      lives: true,
    };
    this.#running.set(executionId, running);
    this.#advance(running, { kind: "started", atMs: this.#nowMs });
  }

  #advance(running: Running, event: ExecutionEvent): void {
    if (!running.lives) return;
    const { faults, clock, counts, trace, index } = this.#options;
    for (const effect of running.execution.step(event)) {
      trace.mix(effect.kind.length);
      const ending = ENDINGS.get(effect.kind);
      if (faults.end > 0 && ending !== undefined && clock.random.chance(faults.end)) {
        counts.add(ending);
        return this.crash();
      }
      if (trace.lines !== null)
        trace.write(`location ${index}: ${running.invocation.args.operation} ${describeLocationEffect(effect)}`);
      this.#perform(running, effect);
      if (!running.lives) return;
    }
  }

  /** After a time by the location's clock. */
  #after(ms: number, running: Running, event: () => ExecutionEvent | null): void {
    this.#options.clock.after(Math.ceil(ms / this.#options.rate), () => {
      if (!running.lives) return;
      const next = event();
      if (next !== null) this.#advance(running, next);
    });
  }

  #perform(running: Running, effect: Effect): void {
    const { clock, counts, send } = this.#options;
    const { random } = clock;
    switch (effect.kind) {
      case "derive": {
        const { snapshot, captured } = this.#beside(effect.snapshot);
        const derivation = locationHost.deriveAccessSet(running.call, snapshot);
        return this.#advance(running, {
          kind: "derived",
          derivation:
            derivation.kind === "failed" ? derivation : { ...derivation, captured, run: null, isExhausted: false },
          atMs: this.#nowMs,
        });
      }
      case "record": {
        const { snapshot, captured } = this.#beside(effect.snapshot);
        const recorded = locationHost.recordHandler(running.call, snapshot, { guess: true, speculative: true });
        return this.#after(random.between(0, 60), running, () => ({
          kind: "derived",
          derivation: { kind: "derived", ...recorded, captured },
          atMs: this.#nowMs,
        }));
      }
      case "fetch":
        return this.#after(random.between(0, 3), running, () => ({
          kind: "fetched",
          entries: this.#cache.read(effect.units),
          atMs: this.#nowMs,
        }));
      case "send": {
        const sending = ++this.#sent;
        running.sending = sending;
        running.guesses ||=
          effect.request.units?.some((accessed) => {
            const version = accessed.mode === "write" ? null : accessed.version;
            return version?.commitId === NO_COMMIT && this.#cache.get(accessed.unit) === undefined;
          }) ?? false;
        const { server, request } = effect;
        send({ kind: "lvi-request", server, sending, signedAtMs: clock.nowMs + this.offsetMs, request });
        return this.#after(effect.timeoutMs, running, () => {
          if (running.sending !== sending) return null;
          running.sending = null;
          return { kind: "unanswered", reason: "too late", atMs: this.#nowMs };
        });
      }
      case "speculate": {
        const { snapshot, set } = effect;
        if (effect.after === "reply") counts.add("run put off until its confirmation");
        return this.#after(random.between(0, 60), running, () => {
          // variant: speculation-fuel
          const bound = { speculative: true };
          // variant: speculation-reads
          const run = locationHost.runHandler(running.call, (unit) => snapshot.get(unit), set, bound);
          if (run.kind === "completed" || run.kind === "exhausted")
            return { kind: "speculated", speculation: run, atMs: this.#nowMs };
          const undeclared = run.kind === "undeclared" ? run.mode : null;
          const speculation = { kind: "stopped", reason: run.kind, undeclared } as const;
          return { kind: "speculated", speculation, atMs: this.#nowMs };
        });
      }
      case "answer": {
        const { answer } = effect;
        if (running.guesses && answer.kind === "outcome") {
          if (answer.path === "speculative") counts.add("absence guessed, rightly");
          else if (answer.reason === "missing") counts.add("absence guessed, wrongly");
        }
        this.#running.delete(running.invocation.executionId);
        this.#following.push(running);
        for (const tell of running.answers.splice(0)) tell(answer.kind === "outcome" ? answer.outcome : null);
        return;
      }
      case "put":
        for (const { unit, entry, disproved } of effect.entries) this.#cache.put(unit, entry, disproved);
        return;
      case "follow": {
        const sending = ++this.#sent;
        this.#followups.set(sending, running);
        send({ kind: "followup", server: effect.server, sending, followup: effect.followup });
        return this.#after(effect.timeoutMs, running, () =>
          this.#followups.delete(sending) ? { kind: "followup-unanswered", reason: "lost" } : null,
        );
      }
      case "wait":
        return this.#after(effect.ms, running, () => ({ kind: "waited", before: effect.before, atMs: this.#nowMs }));
      case "alarm":
        // Nothing depends on it.
        return;
      case "warn":
        if (effect.code === "set_left") counts.add("read/write set given up");
        if (effect.code === "wrote_on_get") counts.add("GET that was about to write");
    }
  }

  /** The snapshot, and where it lacks an item some of what the cache holds: that is in memory. */
  #beside(known: CapturedSnapshot): { readonly snapshot: Snapshot; readonly captured: CapturedSnapshot } {
    const { random } = this.#options.clock;
    const captured = new Map<UnitId, Entry>();
    const notInMemory = new Set<UnitId>();
    const snapshot: Snapshot = (unit) => {
      const entry = known.get(unit) ?? captured.get(unit);
      if (entry !== undefined || notInMemory.has(unit)) return entry;
      const held = random.chance(0.5) ? this.#cache.get(unit) : undefined;
      if (held === undefined) notInMemory.add(unit);
      else captured.set(unit, held);
      return held;
    };
    return { snapshot, captured };
  }

  receive({ executionId, sending, reply }: ToLocation): void {
    const following = this.#followups.get(sending);
    if (following !== undefined) {
      this.#followups.delete(sending);
      this.#advance(following, followupEventOf(reply));
      return;
    }
    if (typeof reply !== "string") this.#seen = reply.asOf;
    const running = this.#running.get(executionId);
    // variant: reply-awaited
    if (running === undefined || running.sending !== sending) return;
    running.sending = null;
    this.#advance(running, eventOf(reply, this.#nowMs));
  }

  refresh(line: string): void {
    // variant: update-heard
    this.#cache.refresh(line, this.#options.counts);
  }

  crash(): void {
    this.#seen = null;
    this.#experience = new Experience();
    this.#leader = new Leader(this.#options.servers);
    const lost = [...this.#running.values(), ...this.#following];
    this.#running.clear();
    this.#following.length = 0;
    this.#followups.clear();
    for (const running of lost) running.lives = false;
    for (const { answers } of lost) for (const tell of answers.splice(0)) tell(null);
  }

  disturb(): void {
    const { clock, counts, commits } = this.#options;
    this.#cache.disturb(clock.random, counts, commits);
  }
}

function eventOf(reply: ToLocation["reply"], atMs: number): ExecutionEvent {
  if (typeof reply !== "string") return { kind: "replied", reply, atMs };
  if (reply === "not leading") return { kind: "not-leading", reason: reply, atMs };
  return { kind: "unanswered", reason: reply, atMs };
}

function followupEventOf(reply: ToLocation["reply"]): ExecutionEvent {
  if (typeof reply !== "string" || reply === "not leading" || reply === "no connection")
    return { kind: "followup-unanswered", reason: "not by a leader" };
  return { kind: "followup-answered", result: reply };
}
