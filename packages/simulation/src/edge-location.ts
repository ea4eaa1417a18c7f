/**
 * A location whose executions are those of the real edge core, over a modelled cache: the driver of
 * `packages/runtime`, in virtual time.
 */
import type { CommitId, Entry, ExecutionId, UnitId } from "@radical/protocol";
import { type CapturedSnapshot, type Effect, Execution, type ExecutionEvent } from "@radical/runtime/core";
import type { Answer, Invocation, Location, LocationOptions } from "./location.ts";
import { ModelCache } from "./model-cache.ts";
import type { ToLocation } from "./network.ts";
import { MODULE } from "./primary.ts";
import { encodeArgs, KEYS, locationHost, PLANS, unitOf } from "./programs.ts";

type Snapshot = Parameters<typeof locationHost.recordHandler>[1];

interface Running {
  readonly invocation: Invocation;
  readonly execution: Execution;
  readonly call: Parameters<typeof locationHost.runHandler>[0];
  /** Of everybody who asked for the execution here. */
  readonly answers: ((answer: Answer) => void)[];
  /** The sending whose reply is waited for. */
  sending: number | null;
}

export class EdgeLocation implements Location {
  readonly #options: LocationOptions;
  readonly #cache = new ModelCache();
  readonly #running = new Map<ExecutionId, Running>();
  #sent = 0;
  #seen: CommitId | null = null;

  constructor(options: LocationOptions) {
    this.#options = options;
  }

  invoke(invocation: Invocation, answer: (answer: Answer) => void): void {
    const same = this.#running.get(invocation.executionId);
    if (same !== undefined) {
      same.answers.push(answer);
      return;
    }
    const { clock, index, skewMs } = this.#options;
    const environment = { timeMs: clock.nowMs + skewMs, seed: clock.random.bytes(16) };
    const args = encodeArgs(invocation.args);
    const execution = new Execution(
      {
        executionId: invocation.executionId,
        module: MODULE,
        handler: invocation.program,
        args,
        environment,
        location: `location ${index}`,
        plan: PLANS.get(invocation.program)!,
        retained: invocation.retained,
        seen: this.#seen,
        undeclaredTables: [],
      },
      {
        fetchRounds: 8,
        recordRuns: 4,
        attempts: 6,
        totalMs: 10_000,
        attemptMs: 1_500,
        backoffMs: 50,
        followupAttempts: 2,
      },
    );
    const call = { handler: invocation.program, args, environment };
    const running: Running = { invocation, execution, call, answers: [answer], sending: null };
    this.#running.set(invocation.executionId, running);
    this.#advance(running, { kind: "started", atMs: clock.nowMs });
  }

  /** A location that has crashed does nothing more for an execution; one that has answered still follows up. */
  #advance(running: Running, event: ExecutionEvent): void {
    if (running.answers.length === 0 && !running.execution.answered) return;
    for (const effect of running.execution.step(event)) this.#perform(running, effect);
  }

  #perform(running: Running, effect: Effect): void {
    const { clock, index, skewMs, send } = this.#options;
    const { random } = clock;
    const later = (maxMs: number, event: () => ExecutionEvent): void =>
      clock.after(random.between(0, maxMs), () => this.#advance(running, event()));
    switch (effect.kind) {
      case "derive": {
        const { snapshot, captured } = this.#beside(effect.snapshot);
        const derivation = locationHost.deriveAccessSet(running.call, snapshot);
        return this.#advance(running, {
          kind: "derived",
          derivation: derivation.kind === "failed" ? derivation : { ...derivation, captured, run: null },
          atMs: clock.nowMs,
        });
      }
      case "record": {
        const { snapshot, captured } = this.#beside(effect.snapshot);
        const recorded = locationHost.recordHandler(running.call, snapshot, { guess: true });
        return later(60, () => ({
          kind: "derived",
          derivation: { kind: "derived", ...recorded, captured },
          atMs: clock.nowMs,
        }));
      }
      case "fetch":
        return later(3, () => ({ kind: "fetched", entries: this.#cache.read(effect.units), atMs: clock.nowMs }));
      case "send": {
        const sending = ++this.#sent;
        running.sending = sending;
        const signedAtMs = clock.nowMs + skewMs;
        send({ kind: "lvi-request", from: index, sending, signedAtMs, request: effect.request });
        clock.after(effect.timeoutMs, () => {
          if (running.sending !== sending) return;
          running.sending = null;
          this.#advance(running, { kind: "unanswered", reason: "too late", atMs: clock.nowMs });
        });
        return;
      }
      case "speculate":
        return later(60, () => ({
          kind: "speculated",
          speculation: this.#speculate(running, effect),
          atMs: clock.nowMs,
        }));
      case "answer": {
        const { answer } = effect;
        this.#running.delete(running.invocation.executionId);
        for (const tell of running.answers) tell(answer.kind === "outcome" ? answer.outcome : null);
        return;
      }
      case "put":
        for (const { unit, entry, disproved } of effect.entries) this.#cache.put(unit, entry, disproved);
        return;
      case "follow":
        send({ kind: "followup", followup: effect.followup });
        // Its answer is not modelled, so it always seems lost.
        clock.after(effect.timeoutMs, () => this.#advance(running, { kind: "followup-unanswered", reason: "lost" }));
        return;
      case "wait":
        clock.after(effect.ms, () =>
          this.#advance(running, { kind: "waited", before: effect.before, atMs: clock.nowMs }),
        );
        return;
      case "warn":
    }
  }

  /** The snapshot, and where it lacks an item some of what the cache holds: that is in memory. */
  #beside(known: CapturedSnapshot): { readonly snapshot: Snapshot; readonly captured: CapturedSnapshot } {
    const { random } = this.#options.clock;
    const inMemory = this.#cache.read(KEYS.map(unitOf).filter(() => random.chance(0.5)));
    const captured = new Map<UnitId, Entry>();
    const snapshot: Snapshot = (unit) => {
      const entry = known.get(unit) ?? inMemory.get(unit);
      if (entry !== undefined && !known.has(unit)) captured.set(unit, entry);
      return entry;
    };
    return { snapshot, captured };
  }

  #speculate(
    running: Running,
    { snapshot, set }: Extract<Effect, { kind: "speculate" }>,
  ): Extract<ExecutionEvent, { kind: "speculated" }>["speculation"] {
    const run = locationHost.runHandler(running.call, (unit) => snapshot.get(unit), set);
    return run.kind === "completed" ? run : { kind: "stopped", reason: run.kind };
  }

  receive({ executionId, sending, reply }: ToLocation): void {
    this.#seen = reply.asOf;
    const running = this.#running.get(executionId);
    if (running === undefined || running.sending !== sending) return;
    running.sending = null;
    this.#advance(running, { kind: "replied", reply, atMs: this.#options.clock.nowMs });
  }

  crash(): void {
    this.#seen = null;
    for (const running of this.#running.values()) {
      this.#running.delete(running.invocation.executionId);
      for (const tell of running.answers.splice(0)) tell(null);
    }
  }

  disturb(): void {
    this.#cache.disturb(this.#options.clock.random);
  }
}
