/**
 * A location with the core and the driver that ship. Their ports are virtual: a modelled cache, a network that loses messages,
 * runs that take their time. The ports decide nothing but when the location dies.
 */
import { type FollowupResult, type LviReply, type LviRequest, type ModuleHash, NO_COMMIT } from "@radical/protocol";
import { type Answered, assertWellFormed, type Effect, LocationCore } from "@radical/runtime/core";
import {
  ExecutionDriver,
  type ExecutionMachine,
  type ExecutionPorts,
  type ListeningPorts,
  tellLine,
} from "@radical/runtime/driver";
import { describeLocationEffect } from "./describe.ts";
import { LOCATION_EFFECTS } from "./faults.ts";
import { type Invocation, type Location, type LocationOptions, nameOf, type Told } from "./location.ts";
import { ModelCache } from "./model-cache.ts";
import type { ToLocation } from "./network.ts";
import { locationHost, MODULES, PLANS, SPECULATIVE } from "./programs.ts";

/** One execution, until nothing is left to do. */
interface Running {
  readonly invocation: Invocation;
  /** Null: it has told its answer. */
  told: Told | null;
  /** The primary has confirmed the values that f runs on. */
  isConfirmed: boolean;
  /** It has sent an absence that its cache does not know. */
  guesses: boolean;
  /** False once the location has crashed. */
  lives: boolean;
}

type Reply = ToLocation["reply"];
/** The module is the one that was deployed when the execution began. */
type Call = Parameters<typeof locationHost.runHandler>[0] & { readonly module: ModuleHash };

const ENDINGS: ReadonlyMap<string, `location ends before ${(typeof LOCATION_EFFECTS)[number]}`> = new Map(
  LOCATION_EFFECTS.map((kind) => [kind, `location ends before ${kind}`]),
);

const BOUNDS = {
  fetchRounds: 8,
  recordRuns: 4,
  attempts: 6,
  totalMs: 10_000,
  backoffMs: 50,
  longestBackoffMs: 1_000,
  followupAttempts: 2,
} as const;

export class EdgeLocation implements Location {
  module: ModuleHash = MODULES[0];
  offsetMs = 0;
  readonly #options: LocationOptions;
  readonly #cache = new ModelCache();
  #core: LocationCore;
  readonly #running = new Map<Running, ExecutionDriver>();
  /** Those who wait for the answer to a sending, until they give it up. */
  readonly #sendings = new Map<number, (reply: Reply) => void>();
  #sent = 0;

  constructor(options: LocationOptions) {
    this.#options = options;
    this.#core = this.#newCore();
  }

  #newCore(): LocationCore {
    const { index, servers, attemptMs } = this.#options;
    return new LocationCore({ servers, listener: nameOf(index), bounds: { ...BOUNDS, attemptMs } });
  }

  get #nowMs(): number {
    const { clock, rate } = this.#options;
    return clock.nowMs * rate;
  }

  invoke(invocation: Invocation, told: Told): void {
    const { clock, index } = this.#options;
    const { module } = this;
    const { executionId, program: handler, encodedArgs: args, caller, retained, mustNotWrite, prefersSpeculative } = invocation;
    const environment = { timeMs: clock.nowMs + this.offsetMs, seed: clock.random.bytes(16), caller };
    const execution = this.#core.execution({
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
      prefersSpeculative,
      speculative: SPECULATIVE.has(handler),
      watches: false,
      undeclaredTables: [],
    });
    const running: Running = { invocation, told, isConfirmed: false, guesses: false, lives: true };
    const machine: ExecutionMachine = {
      step: (event) => {
        running.isConfirmed ||= event.kind === "replied" && event.reply.kind === "valid";
        const effects = execution.step(event);
        assertWellFormed(execution);
        return effects;
      },
      get answered() {
        return execution.answered;
      },
    };
    const driver = new ExecutionDriver(machine, this.#ports(running, { module, handler, args, environment }));
    this.#running.set(running, driver);
    driver.start();
  }

  /** After a time by the location's clock. */
  #after(ms: number, running: Running, act: () => void): void {
    this.#options.clock.after(Math.ceil(ms / this.#options.rate), () => {
      if (running.lives) act();
    });
  }

  #ports(running: Running, call: Call): ExecutionPorts {
    const { clock, counts, send } = this.#options;
    const { random } = clock;
    return {
      now: () => this.#nowMs,
      wait: (ms, { done }) => this.#after(ms, running, done),
      // Some of what the cache holds is in memory.
      peek: (unit) => (random.chance(0.5) ? this.#cache.get(unit) : undefined),
      getMany: (units, { done }) => this.#after(random.between(0, 3), running, () => done(this.#cache.read(units))),
      putMany: (entries, { done }) => {
        for (const { unit, entry, disproved } of entries) this.#cache.put(unit, entry, disproved);
        done();
      },
      ask: (server, request, timeoutMs, { done }) => {
        running.guesses ||= this.#isGuessedIn(request);
        this.#await(running, timeoutMs, done, answeredBy, (sending) =>
          send({ kind: "lvi-request", server, sending, signedAtMs: clock.nowMs + this.offsetMs, request }),
        );
      },
      follow: (server, followup, timeoutMs, { done }) =>
        this.#await(running, timeoutMs, done, followupAnsweredBy, (sending) =>
          send({ kind: "followup", server, sending, followup }),
        ),
      // Nothing depends on it.
      alarm: (_server, _alarm, _timeoutMs, { done }) => done(),
      takeTurn: (after, takeCpu, { done }) => {
        if (after === "reply") counts.add("run put off until its confirmation");
        this.#after(random.between(0, 60), running, () => {
          takeCpu();
          done();
        });
      },
      host: {
        deriveAccessSet: (snapshot) => locationHost.deriveAccessSet(call, snapshot),
        recordHandler: (snapshot, options) => locationHost.recordHandler(call, snapshot, options),
        runHandler: (snapshot, set, options) => {
          // variant: speculation-host
          return locationHost.runHandler(call, snapshot, set, options);
        },
      },
      show: (result) => running.told?.show({ result, isConfirmed: running.isConfirmed }),
      answer: (answer, verdict, { done }) => {
        if (verdict !== null) counts.add(`result shown, ${verdict}`);
        if (running.guesses && answer.kind === "outcome") {
          if (answer.path === "speculative") counts.add("absence guessed, rightly");
          else if (answer.reason === "missing") counts.add("absence guessed, wrongly");
        }
        running.told?.answer(answer.kind === "outcome" ? answer.outcome : null, verdict);
        running.told = null;
        done();
      },
      warn: (code) => {
        if (code === "set_left") counts.add("read/write set given up");
        if (code === "wrote_on_get") counts.add("GET that was about to write");
      },
      failed: (error) => {
        throw error;
      },
      finished: () => void this.#running.delete(running),
      endsBeforeEvent: () => false,
      endsBeforeEffect: (effect) => this.#endsBefore(effect, running.invocation),
    };
  }

  #endsBefore(effect: Effect, { args }: Invocation): boolean {
    const { faults, clock, counts, trace, index } = this.#options;
    trace.mix(effect.kind.length);
    const ending = ENDINGS.get(effect.kind);
    if (faults.end > 0 && ending !== undefined && clock.random.chance(faults.end)) {
      counts.add(ending);
      this.crash();
      return true;
    }
    if (trace.lines !== null) trace.write(`location ${index}: ${args.operation} ${describeLocationEffect(effect)}`);
    return false;
  }

  #isGuessedIn({ units }: LviRequest): boolean {
    return (
      units?.some((accessed) => {
        const version = accessed.mode === "write" ? null : accessed.version;
        return version?.commitId === NO_COMMIT && this.#cache.get(accessed.unit) === undefined;
      }) ?? false
    );
  }

  /** One attempt. An answer that comes after its time is not heard. */
  #await<T>(
    running: Running,
    timeoutMs: number,
    done: (answered: Answered<T>) => void,
    answeredIn: (reply: Reply) => Answered<T>,
    send: (sending: number) => void,
  ): void {
    const sending = ++this.#sent;
    const hear = (answered: Answered<T>): void => {
      if (this.#sendings.delete(sending)) done(answered);
    };
    // variant: reply-awaited
    this.#sendings.set(sending, (reply) => hear(answeredIn(reply)));
    send(sending);
    this.#after(timeoutMs, running, () => hear({ kind: "unanswered", reason: "too late" }));
  }

  receive(message: ToLocation): void {
    // variant: reply-heard
    this.#sendings.get(message.sending)?.(message.reply);
  }

  refresh(line: string): void {
    // variant: update-heard
    tellLine(this.#core, line, this.#listeningPorts);
  }

  readonly #listeningPorts: ListeningPorts = {
    now: () => this.#nowMs,
    // The server tells what it has to tell unasked.
    listen: () => undefined,
    holds: (unit) => this.#cache.holds(unit),
    refresh: (entries) => this.#cache.refresh(entries, this.#options.counts),
    live: () => undefined,
  };

  crash(): void {
    this.#core = this.#newCore();
    const lost = [...this.#running];
    this.#running.clear();
    this.#sendings.clear();
    for (const [running, driver] of lost) {
      running.lives = false;
      driver.end();
    }
    for (const [{ told }] of lost) told?.answer(null);
  }

  disturb(): void {
    const { clock, counts, commits } = this.#options;
    this.#cache.disturb(clock.random, counts, commits);
  }
}

function answeredBy(reply: Reply): Answered<LviReply> {
  if (typeof reply !== "string") return { kind: "reply", reply };
  return { kind: reply === "not leading" ? "not-leading" : "unanswered", reason: reply };
}

function followupAnsweredBy(reply: Reply): Answered<FollowupResult> {
  if (typeof reply !== "string" || reply === "not leading" || reply === "no connection")
    return { kind: "unanswered", reason: "It was not answered by a leader." };
  return { kind: "reply", reply };
}
