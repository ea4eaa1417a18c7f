/**
 * Histories of workflows: random programs with steps that write and steps that read, sleeps of weeks, signals, children, undos and
 * new rounds. Attempts fail. Storage answers in any order, or not at all. Servers are killed at every effect, and operations of the
 * dead ones still arrive. Clocks go back. The real core and its real driver run over the storage of the simulation.
 *
 * The checks know nothing of the core: they look at what storage has applied, what workers were given, and what handlers did.
 */
import { Random } from "@radical/history";
import {
  type Answer,
  type Call,
  type CallAnswer,
  decodePart,
  DEFAULT_CORE_OPTIONS,
  type Driver,
  type Effect,
  type EndedRun,
  type Event,
  LviCore,
  type Now,
  type Run,
  type RunResult,
  type Sample,
  type Sampling,
  type StepName,
  type Task,
  type Workflow,
  type WorkflowPart,
} from "@radical/lvi-server/core";
import {
  type CommitId,
  contentHash,
  type Entry,
  encodeEntry,
  entryOf,
  type ExecutionId,
  type JournalEntry,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  type RunEffect,
  serviceKeyOf,
  stepIdOf,
  taskIdOf,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { modelDriver } from "./model-driver.ts";
import { portOf } from "./model-port.ts";
import { ModelStorage } from "./model-storage.ts";
import { within } from "./access.ts";
import { decode, encode, type Program, programIn, runProgram, type StepCall } from "./workflow-programs.ts";

const MODULES = ["a", "b"].map((letter) => letter.repeat(64) as ModuleHash);
const PLANS = new Map([
  ["flow", "workflow"],
  ["step", "recorded"],
  ["tell", "near-storage"],
  ["give-up", "near-storage"],
  ["hire", "near-storage"],
] as const);
/** The f^rw of a step knows what it reads, so steps follow each other in trains. */
const OTHER_PLANS = new Map([...PLANS, ["step", "sliced"] as const]);
const plansOf = (module: ModuleHash): typeof OTHER_PLANS => (module === MODULES[0] ? OTHER_PLANS : PLANS);
const ATTEMPTS = 3;
const RULES = { step: { attempts: ATTEMPTS }, charge: { attempts: ATTEMPTS }, mail: { attempts: ATTEMPTS } };
const SERVICES = {
  charge: { keyWindowMs: 1_000 * 86_400_000, once: false },
  mail: { keyWindowMs: 1_000 * 86_400_000, once: true },
};
const EVERY_ONE: Sampling = { every: 1, handlers: null, values: true, perSecond: null };
const DAY = 86_400_000;
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};

/** The call of the handler that sends a signal. */
interface Telling {
  readonly workflow: ExecutionId;
  readonly name: string;
  readonly value: string;
}

/** The call of the handler that enqueues a workflow, and perhaps sends it a signal at once. */
interface Hiring {
  readonly program: Program;
  readonly delayMs: number;
  readonly lane: string | null;
  readonly told: { readonly name: string; readonly value: string } | null;
}

/** A signal, with the places of its sending and of the answer to its sender among all that has happened. */
interface Told extends Telling {
  readonly sentAt: number;
  toldAt: number;
}

interface WorkflowHistory {
  readonly problems: readonly string[];
  readonly ended: number;
  readonly failed: number;
  readonly steps: number;
  readonly signals: number;
  readonly samples: number;
  /** Signals to workflows that had not begun. */
  readonly early: number;
  /** Workflows that were taken back before they had begun. */
  readonly withdrawn: number;
  readonly undone: number;
  /** Undos that were not done. */
  readonly notDone: number;
  /** Keys under which a service was called. */
  readonly served: number;
  readonly kills: number;
  readonly effects: number;
}

/** `killAt`: the only server that is killed is so before this effect, and storage does not fail. */
export function simulateWorkflows({
  seed,
  killAt = null,
}: {
  readonly seed: number;
  readonly killAt?: number | null;
}): WorkflowHistory {
  const world = new World(seed, killAt);
  const problems = world.run();
  return { problems, ...world.counts };
}

export type WorkflowHistoryCounts = Record<(typeof COUNTED)[number], number>;

const COUNTED = [
  "ended",
  "failed",
  "steps",
  "signals",
  "samples",
  "early",
  "withdrawn",
  "undone",
  "notDone",
  "served",
  "kills",
  "effects",
] as const;

/** Nothing has happened yet. */
export function noCounts(): WorkflowHistoryCounts {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as WorkflowHistoryCounts;
}

class World {
  readonly counts = noCounts();
  readonly #killAt: number | null;
  readonly #random: Random;
  readonly #storage = new ModelStorage(true);
  readonly #problems: string[] = [];
  readonly #next: (() => void)[] = [];
  readonly #slow: (() => void)[] = [];
  readonly #options: typeof DEFAULT_CORE_OPTIONS;
  readonly #failure: number;
  /** Workflows that handlers have enqueued. */
  readonly #hired = new Set<ExecutionId>();
  readonly #told: Told[] = [];
  readonly #outcomes = new Map<ExecutionId, string>();
  /** Those under way in the present life. */
  readonly #activations = new Set<ExecutionId>();
  readonly #failures = new Map<ExecutionId, number>();
  /** How often a worker was taken from them, so that an attempt has failed. */
  readonly #crowdedOut = new Map<ExecutionId, number>();
  /** Steps whose command is in a journal. */
  readonly #durable = new Set<ExecutionId>();
  readonly #places = new Set<string>();
  readonly #latest = new Map<ExecutionId, Workflow>();
  #seenChanges = 0;
  #core!: LviCore;
  #driver!: Driver;
  #life = 0;
  #wakeAtMs = Infinity;
  #seen: CommitId | null = null;
  #nowMs = 1_000;
  #wallMs = 1_700_000_000_000;
  #position = 0;
  #names = 0;
  #left: number;
  #isQuiet = false;
  #helped = 0;

  constructor(seed: number, killAt: number | null) {
    this.#killAt = killAt;
    this.#random = new Random(seed);
    const random = this.#random;
    this.#left = killAt === null ? random.between(3, 20) : 4;
    this.#failure = killAt === null ? random.pick([0, 0.03, 0.1]) : 0;
    this.#options = {
      ...DEFAULT_CORE_OPTIONS,
      readLeaseMs: 0,
      followupTimeoutMs: 50,
      maxClockSkewMs: Infinity,
      hotBytes: 4_000,
      tasksAtOnce: random.pick([1, 3, 64]),
      tasks: {
        most: random.pick([2, 1_000]),
        mostBytes: 1_000_000,
        page: random.pick([1, 1_000]),
        inLane: 2,
        laneBytes: random.pick([0, 1_000_000]),
      },
      workflows: { page: random.pick([1, 3, 1_000]), readsAtOnce: random.pick([1, 16]) },
    };
  }

  run(): readonly string[] {
    this.#start();
    const random = this.#random;
    for (let steps = 0; steps < 80_000 && this.#problems.length === 0; steps++) {
      if (this.#slow.length > 0 && (this.#next.length === 0 || random.chance(0.03)))
        this.#next.push(...this.#slow.splice(random.below(this.#slow.length), 1));
      const isBusy = this.#next.length > 0;
      this.#isQuiet = this.#left === 0;
      if (this.#left > 0 && random.chance(isBusy ? 0.06 : 0.5)) this.#act();
      else if (!this.#isQuiet && this.#killAt === null && random.chance(0.004)) this.#kill();
      else if (!this.#isQuiet && random.chance(0.002)) this.#wallMs += random.pick([-3, -1, 1, 3]) * random.below(DAY);
      else if (!this.#isQuiet && random.chance(0.003)) this.#register(random.pick(MODULES));
      else if (isBusy) this.#next.splice(random.below(this.#next.length), 1)[0]!();
      else if (this.#isOver()) return this.#end();
      else if (!this.#wake() && this.#left === 0 && !this.#help())
        return [`nothing happens any more: ${this.#words()}`];
      if (isBusy && random.chance(0.1)) this.#pass(random.below(300));
      this.#check();
    }
    return this.#problems.length > 0 ? this.#problems : [`it does not end: ${this.#words()}`];
  }

  #words(): string {
    const left = this.#workflows().filter(({ state }) => state !== "ended");
    return JSON.stringify([
      this.#core.wakeAtMs,
      this.#nowMs,
      this.#wakeAtMs,
      this.#core.workflowCounts,
      this.#core.load.tasks,
      left.map(({ id, state, changes, untilMs }) => [id, state, changes, untilMs]),
    ]);
  }

  #workflows(): readonly Workflow[] {
    return [...this.#latest.values()];
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    const storage = this.#storage;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else leads");
    const pending = present(storage.recover(epoch), "nobody else leads");
    const modules = new Map(MODULES.map((module) => [module, plansOf(module)]));
    const recovered = {
      epoch,
      pending,
      leadership: null,
      modules,
      current: { module: MODULES[0]!, rules: RULES, services: SERVICES },
    };
    const core = new LviCore(this.#options, recovered, this.#now, HASHER);
    this.#core = core;
    this.#activations.clear();
    this.#wakeAtMs = Infinity;
    const life = this.#life;
    this.#driver = modelDriver({
      core,
      epoch,
      step: (now, event) => this.#observed(life, core, now, event),
      now: () => this.#now,
      wakeAt: (atMs) => void (this.#wakeAtMs = atMs),
      storage: {
        ...portOf(storage, (act, answer) => this.#ask(act, answer)),
        // Perhaps much has happened before a starting server hears of it.
        openWorkflows: (after, limit, answer) => this.#ask(() => storage.openWorkflows(after, limit), answer, 0.6),
      },
      execute: (run, _location, ended) => this.#execute(run, ended),
      callService: (call, answered) => this.#serve(call, answered),
      noted: ({ name, detail, key }) => {
        if (name === "workflow_undo_failed") {
          const alarms = detail?.includes("not tried again") === true ? this.#alarmed : this.#endless;
          alarms.add(present(key, "the alarm names the undo"));
        }
        if (name.endsWith("_alarm")) this.#problems.push(`there was a ${name}: ${detail}`);
      },
      sampled: (_, sample) => {
        if (sample !== null) this.#checkSample(sample);
      },
    });
    this.#driver.tell({ kind: "sampling", samplings: [EVERY_ONE] });
  }

  /** It may be killed before each effect. */
  *#observed(life: number, core: LviCore, now: Now, event: Event): Generator<Effect> {
    const effects = core.step(now, event);
    core.assertWellFormed();
    for (const effect of effects) {
      this.counts.effects++;
      if (this.#killAt === this.counts.effects) this.#kill();
      else if (!this.#isQuiet && this.#killAt === null && this.#random.chance(0.0008)) this.#kill();
      if (life !== this.#life) return;
      if (effect.kind === "complete") for (const { completion } of effect.completions) this.#storage.expect(completion);
      yield effect;
    }
  }

  #kill(): void {
    this.counts.kills++;
    this.#life++;
    this.#driver.close();
    this.#start();
  }

  #register(module: ModuleHash): void {
    this.#driver.tell({ kind: "module-registered", module, plans: plansOf(module), rules: RULES, services: SERVICES });
  }

  get #now(): Now {
    return { monotonicMs: this.#nowMs, wallMs: this.#wallMs };
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    this.#wallMs += ms;
    if (this.#nowMs < this.#wakeAtMs) return;
    this.#wakeAtMs = Infinity;
    this.#driver.wake();
  }

  #wake(): boolean {
    if (this.#wakeAtMs === Infinity) return false;
    this.#pass(Math.max(0, this.#wakeAtMs - this.#nowMs));
    return true;
  }

  #later(act: () => void, into = this.#next): void {
    const life = this.#life;
    into.push(() => {
      if (life === this.#life) act();
    });
  }

  #ask<T>(act: () => T, { succeeded, failed }: Answer<T>, slowness = 0.1): void {
    const random = this.#random;
    const fails = !this.#isQuiet && random.chance(this.#failure);
    if (fails && random.chance(0.4)) return this.#later(() => failed(random.pick(["none", "unknown"]), "simulated"));
    const life = this.#life;
    const into = random.chance(0.15) ? this.#slow : this.#next;
    into.push(() => {
      const value = act();
      this.#check();
      if (life !== this.#life) return;
      this.#later(
        () => (fails ? failed("unknown", "simulated") : succeeded(value)),
        random.chance(slowness) ? this.#slow : this.#next,
      );
    });
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #execute(run: Run, ended: (ended: EndedRun) => void): void {
    if (run.access.kind === "workflow") return this.#activate(run, run.access, ended);
    const members = [run, ...(run.followers ?? [])];
    for (const { invocation } of members) this.#begins(invocation);
    this.#later(
      () => {
        const results = this.#ran(members);
        if (!this.#isQuiet && this.#random.chance(0.02)) {
          const { executionId } = run.invocation;
          this.#crowdedOut.set(executionId, (this.#crowdedOut.get(executionId) ?? 0) + 1);
          return ended({ result: { kind: "crowded-out" }, tookMs: 0, followers: results.slice(1).map(() => NOT_RUN) });
        }
        ended({ ...results[0]!, followers: results.slice(1) });
      },
      this.#random.chance(0.2) ? this.#slow : this.#next,
    );
  }

  /** Each member of a train on what those before it have written. */
  #ran(members: readonly Pick<Run, "invocation" | "snapshot" | "access">[]): readonly Omit<EndedRun, "followers">[] {
    const coming = new Map<UnitId, Entry>();
    return members.map(({ invocation, snapshot, access }) => {
      const view = new Map(snapshot);
      for (const [unit, entry] of coming) if (view.has(unit)) view.set(unit, entry);
      const result = within(access, this.#handle(invocation, view));
      if (result.kind === "completed")
        for (const { unit, value } of result.writes) coming.set(unit, entryOf(NO_COMMIT, value));
      return { result, tookMs: 0 };
    });
  }

  /** A step leaves the server: its command must be in a journal. */
  #begins({ executionId: id, handler }: Run["invocation"]): void {
    if (handler !== "step" || this.#storage.intents.get(id)?.state === "task") return;
    this.counts.steps++;
    if (!this.#durable.has(id)) this.#problems.push(`step ${id} runs, and its command is in no journal`);
  }

  #activate(
    run: Run,
    { activation, round }: Run["access"] & { kind: "workflow" },
    ended: (ended: EndedRun) => void,
  ): void {
    const { executionId: id, args, module } = run.invocation;
    const stored = this.#latest.get(id);
    if (this.#activations.has(id)) this.#problems.push(`two activations of ${id} run at once`);
    if (stored?.state !== "open") this.#problems.push(`${id} runs, and is ${stored?.state}`);
    if (stored?.module !== module) this.#problems.push(`${id} runs on another module than its own`);
    this.#activations.add(id);
    this.#later(
      () => {
        this.#activations.delete(id);
        if (!this.#isQuiet && this.#random.chance(0.03))
          return ended({ result: { kind: "killed", reason: "simulated" }, tookMs: 0 });
        const taskOf = (command: number): ExecutionId => stepIdOf({ workflow: id, round }, command);
        const result = runProgram(`${shortNameOf(id)}r${round}`, decode<Program>(args), activation, taskOf);
        if (result.kind !== "differs" && result.kind !== "trap")
          for (const { number, command } of result.commands)
            if (command.kind === "send")
              this.#sends.set(taskOf(number), { to: command.workflow, value: new TextDecoder().decode(command.value) });
        ended({ result: { kind: "activated", run: result }, tookMs: 0 });
      },
      this.#random.chance(0.3) ? this.#slow : this.#next,
    );
  }

  #handle({ executionId: id, args, handler }: Run["invocation"], view: ReadonlyMap<UnitId, Entry>): RunResult {
    const done = (outcome: Outcome, more: Partial<RunResult & { kind: "completed" }>): RunResult => ({
      kind: "completed",
      outcome,
      reads: [],
      writes: [],
      ...more,
    });
    if (handler === "give-up") {
      const effects: readonly RunEffect[] = [{ kind: "cancel", task: decode<ExecutionId>(args) }];
      return done({ kind: "result", value: new Uint8Array() }, { effects });
    }
    if (handler === "hire") {
      const { program, delayMs, lane, told } = decode<Hiring>(args);
      const effects: readonly RunEffect[] = [
        { kind: "enqueue", callee: "flow", args: encode(program), delayMs, key: lane },
        ...(told === null ? [] : [sendOf({ workflow: taskIdOf(id, 0), ...told })]),
      ];
      return done({ kind: "result", value: new Uint8Array() }, { effects });
    }
    if (handler === "tell") {
      const effects = [sendOf(decode<Telling>(args))];
      return done({ kind: "result", value: new Uint8Array() }, { effects });
    }
    const call = decode<StepCall>(args);
    const unit = unitId("log", call.item);
    const before = view.get(unit);
    if (before === undefined) return { kind: "missing", units: [unit] };
    const reads = [unit];
    if (call.aborts) return done({ kind: "abort", status: 409, code: "no", message: call.name }, { reads });
    const failures = this.#failures.get(id) ?? 0;
    if (failures < call.fails && this.#random.chance(0.7)) {
      this.#failures.set(id, failures + 1);
      return done({ kind: "abort", status: 503, code: "down", message: call.name }, { reads });
    }
    const text = before.value === null ? "" : new TextDecoder().decode(before.value);
    const value = new TextEncoder().encode(`${text.length}`);
    if (!call.writes) return done({ kind: "result", value }, { reads });
    return done(
      { kind: "result", value },
      { reads, writes: [{ unit, value: new TextEncoder().encode(`${text} ${call.name}`) }] },
    );
  }

  /** The service acts once for each key. Some it refuses. Answers are lost, and some calls fail. */
  #serve(
    { key, args }: Pick<Effect & { kind: "call-service" }, "key" | "args">,
    answered: (answer: CallAnswer) => void,
  ): void {
    const { name } = decode<{ readonly name: string }>(args);
    const random = this.#random;
    const fails = !this.#isQuiet && random.chance(0.2);
    const isLost = !this.#isQuiet && random.chance(0.2);
    this.#next.push(() => {
      const known = this.#served.get(key);
      if (!fails && known === undefined) this.#served.set(key, { name, isRefused: random.chance(0.15) });
      const { isRefused = false } = this.#served.get(key) ?? {};
      const answer: CallAnswer = fails
        ? { kind: "failed", code: "down", message: name }
        : isLost
          ? { kind: "lost", message: name }
          : isRefused
            ? { kind: "refused", code: "declined", message: name }
            : { kind: "value", bytes: new TextEncoder().encode("7") };
      this.#later(() => answered(answer), random.chance(0.3) ? this.#slow : this.#next);
    });
  }

  /** By key. */
  readonly #served = new Map<string, { readonly name: string; readonly isRefused: boolean }>();

  // ── Locations ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #act(): void {
    const random = this.#random;
    const known = [...new Set([...this.#latest.keys(), ...this.#hired])];
    if (known.length > 0 && random.chance(0.5)) return this.#tell(random.pick(known));
    if (known.length > 0 && random.chance(0.08)) return this.#cancel(random.pick(known));
    if (known.length > 0 && random.chance(0.08)) return this.#giveUp(random.pick(known));
    if (known.length > 0 && random.chance(0.05)) return this.#order(random.pick(known));
    this.#left--;
    const program = programIn(random, 0);
    if (random.chance(0.3)) return this.#hire(program);
    const id = (++this.#names).toString(16).padStart(8, "0").padEnd(32, "0") as ExecutionId;
    this.#send(this.#requestOf(id, "flow", encode(program)), (reply) => this.#replied(id, reply));
  }

  #requestOf(executionId: ExecutionId, handler: string, args: Uint8Array): LviRequest {
    const random = this.#random;
    return {
      executionId,
      module: MODULES[0]!,
      handler,
      args,
      environment: { timeMs: this.#wallMs, seed: new Uint8Array(16).fill(7), caller: null },
      location: "va",
      units: null,
      retained: handler === "flow",
      mustNotWrite: false,
      mayEffect: handler !== "flow",
      lanes: [],
      session: null,
      waitMs: random.pick([0, 0, 10_000]),
      deadlineMs: 60_000,
      attempt: 1,
      seen: this.#seen,
    };
  }

  #send(request: LviRequest, replied: (reply: LviReply) => void): void {
    this.#driver.request(request, {
      answered: (reply) =>
        this.#later(() => {
          this.#seen = reply.asOf;
          const isAgain = reply.kind === "refused" && reply.code === "in_doubt";
          if (isAgain) this.#send({ ...request, attempt: request.attempt + 1, seen: reply.asOf }, replied);
          else replied(reply);
        }),
      // Its location asks again, under the same id.
      failed: () => void this.#next.push(() => this.#again(request, replied)),
    });
  }

  #again(request: LviRequest, replied: (reply: LviReply) => void): void {
    if (this.#random.chance(0.7)) this.#send({ ...request, attempt: request.attempt + 1 }, replied);
  }

  #replied(id: ExecutionId, reply: LviReply): void {
    const isThere = this.#latest.has(id) || this.#storage.intents.get(id)?.state === "task";
    if (reply.kind === "working" && !isThere)
      this.#problems.push(`${id} was said to work, and storage does not have it`);
    if (reply.kind === "executed") this.#toldEnd(id, reply.outcome);
  }

  #toldEnd(id: ExecutionId, outcome: Outcome): void {
    const stored = this.#latest.get(id);
    const told = JSON.stringify(outcome);
    if (stored?.state !== "ended" || JSON.stringify(stored.outcome) !== told)
      this.#problems.push(`${id} was told an outcome that storage does not have`);
    if ((this.#outcomes.get(id) ?? told) !== told) this.#problems.push(`${id} was told two outcomes`);
    this.#outcomes.set(id, told);
  }

  #hire(program: Program): void {
    const random = this.#random;
    const id = (++this.#names).toString(16).padStart(32, "0") as ExecutionId;
    const told = random.chance(0.3) ? { name: random.pick(["red", "blue"]), value: `s${++this.#names}` } : null;
    const [delayMs, lane] = [random.pick([0, 500, DAY, DAY]), random.pick([null, null, "one"])];
    this.#send(this.#requestOf(id, "hire", encode({ program, delayMs, lane, told })), (reply) => {
      if (reply.kind !== "executed") return;
      const workflow = taskIdOf(id, 0);
      this.#hired.add(workflow);
      if (told !== null) this.#checkKept(workflow, told.value);
    });
  }

  /** A signal that was told is in storage, unless its workflow has ended. */
  #checkKept(workflow: ExecutionId, value: string): void {
    this.#check();
    const state = this.#latest.get(workflow)?.state ?? "task";
    if (state === "ended" || this.#kept.has(value)) return;
    this.#problems.push(`the signal ${value} to ${workflow} was told, and storage does not have it`);
  }

  /** Values of signals that storage has had. */
  readonly #kept = new Set<string>();
  /** Signals of workflows, by the step that their command would be. */
  readonly #sends = new Map<ExecutionId, { readonly to: ExecutionId; readonly value: string }>();
  readonly #sent: { readonly to: ExecutionId; readonly value: string }[] = [];

  /** An operator cancels it. */
  #order(workflow: ExecutionId): void {
    this.#driver.orderWorkflow("cancel", workflow, {
      answered: (outcome) =>
        this.#later(() => {
          if (outcome === "done") this.#checkGivenUp(workflow, "an operator");
        }),
      failed: () => {},
    });
  }

  #tell(workflow: ExecutionId): void {
    const name = this.#random.pick(["red", "blue"]);
    const telling = { workflow, name, value: `s${++this.#names}` };
    const told: Told = { ...telling, sentAt: ++this.#position, toldAt: Infinity };
    const id = this.#names.toString(16).padStart(32, "0") as ExecutionId;
    this.#send(this.#requestOf(id, "tell", encode(telling)), (reply) => {
      if (reply.kind !== "executed") return;
      told.toldAt = ++this.#position;
      this.#told.push(told);
      this.#checkKept(workflow, told.value);
    });
  }

  /** A handler cancels it. */
  #giveUp(workflow: ExecutionId): void {
    const id = (++this.#names).toString(16).padStart(32, "0") as ExecutionId;
    this.#send(this.#requestOf(id, "give-up", encode(workflow)), (reply) => {
      if (reply.kind === "executed") this.#checkGivenUp(workflow, "a handler");
    });
  }

  #checkGivenUp(workflow: ExecutionId, by: string): void {
    this.#check();
    const known = this.#latest.get(workflow);
    const isOver = known?.state === "ended" || (known?.state === "ending" && known.again === null);
    if (!isOver && !this.#cancelled.has(workflow))
      this.#problems.push(`${workflow} was cancelled by ${by}, and storage does not have it`);
  }

  /** Storage has a cancellation of them. */
  readonly #cancelled = new Set<ExecutionId>();

  #cancel(workflow: ExecutionId): void {
    const waitMs = this.#random.pick([0, 5_000]);
    this.#driver.workflow(
      { workflow, handler: "flow", caller: null, cancels: true, waitMs, seen: this.#seen },
      { answered: (reply) => this.#later(() => this.#replied(workflow, reply)), failed: () => {} },
    );
  }

  /** All that is left waits for a signal. */
  #help(): boolean {
    if (this.#helped++ > 300) return false;
    let hasHelped = false;
    for (const { id, state, parent } of this.#workflows()) {
      if (state === "ended") continue;
      const isLeft = parent !== null && this.#failed.has(parent.workflow) && !this.#undoes(parent);
      if (isLeft && !this.#cancelled.has(id))
        this.#problems.push(`${id} waits, and nobody has told it that ${parent.workflow} has failed`);
      const name = this.#waitsFor(id);
      if (name === null) continue;
      hasHelped = true;
      const telling = { workflow: id, name, value: `h${++this.#names}` };
      const sender = this.#names.toString(16).padStart(32, "0") as ExecutionId;
      this.#send(this.#requestOf(sender, "tell", encode(telling)), () => {});
    }
    return hasHelped;
  }

  /** The signal that its wait is for; null: it waits for something else, or the value is there. */
  #waitsFor(id: ExecutionId): string | null {
    const entries = this.#journalOf(id);
    const wait = entries.at(-1)?.wait;
    const commands = entries.flatMap((entry) => entry.commands);
    const command = wait?.commands.length === 1 ? commands[wait.commands[0]!] : undefined;
    if (command?.kind !== "signal") return null;
    const { taken, values } = this.#signalsOf(id);
    return values.some((signal) => signal.name === command.name && !taken.has(signal.id)) ? null : command.name;
  }

  #partsOf(id: ExecutionId): readonly WorkflowPart[] {
    return this.#storage.partsOf(id);
  }

  #journalOf(id: ExecutionId) {
    const round = this.#latest.get(id)!.round;
    return this.#partsOf(id).flatMap((part) => {
      const content = decodePart(part.content);
      const ofRound = Number.parseInt(part.place.split(" ")[1]!, 16);
      return content.kind === "entry" && ofRound === round ? [content.entry] : [];
    });
  }

  #signalsOf(id: ExecutionId) {
    const taken = new Set<ExecutionId>();
    const values: { readonly id: ExecutionId; readonly name: string; readonly value: string }[] = [];
    for (const part of this.#partsOf(id)) {
      const content = decodePart(part.content);
      if (content.kind === "entry") for (const each of content.taken) taken.add(each);
      if (content.kind === "signal")
        values.push({ id: part.id, name: content.name, value: new TextDecoder().decode(content.value) });
    }
    return { taken, values };
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Each record and each part, as it is written. */
  #check(): void {
    const { workflowChanges } = this.#storage;
    for (; this.#seenChanges < workflowChanges.length; this.#seenChanges++) {
      const record = workflowChanges[this.#seenChanges]!;
      if (record.state === "part") this.#checkPart(record.part);
      if (record.state === "gone") this.#checkGone(record.part);
      if (record.state !== "workflow") continue;
      const { workflow } = record;
      const before = this.#latest.get(workflow.id);
      if (before === undefined && workflow.state === "ended") this.counts.withdrawn++;
      if (workflow.outcome !== null && workflow.outcome.kind !== "result") this.#failed.add(workflow.id);
      if (before === undefined && workflow.changes !== 0) this.#problems.push(`${workflow.id} begins with a change`);
      if (before !== undefined && workflow.changes !== before.changes + 1)
        this.#problems.push(`${workflow.id} has changed beside the others`);
      if (before?.state === "ended") this.#problems.push(`${workflow.id} goes on after its end`);
      if (before !== undefined && before.round === workflow.round && before.module !== workflow.module)
        this.#problems.push(`${workflow.id} has moved to another module`);
      this.#latest.set(workflow.id, workflow);
      if (before !== undefined && before.round < workflow.round) this.#times.delete(workflow.id);
    }
    // A commit brings them with the entry.
    for (const { to, value } of this.#sent.splice(0)) {
      const record = this.#storage.intents.get(to);
      const isOpen = record?.state === "task" || (record?.state === "workflow" && record.workflow.state !== "ended");
      if (isOpen && !this.#kept.has(value))
        this.#problems.push(`a workflow has sent the signal ${value} to ${to}, and storage does not have it`);
    }
  }

  /** The keys of undos for which the alarm was raised. */
  readonly #alarmed = new Set<string>();

  /** The keys of undos for which the alarm was raised while they are tried again. */
  readonly #endless = new Set<string>();

  /** Workflows whose run has failed. */
  readonly #failed = new Set<ExecutionId>();

  /** Of the last entry of each journal. */
  readonly #times = new Map<ExecutionId, { readonly timeMs: number; readonly untilMs: number | null }>();
  readonly #consumed = new Map<string, string[]>();
  /** By workflow and round: the entries that were ever written. */
  readonly #entries = new Map<string, JournalEntry[]>();

  /** A sample tells of what storage has, and of nothing that it has not. */
  #checkSample({ executionId: id, invocation, activation, step, ended }: Sample): void {
    this.#check();
    this.counts.samples++;
    const isStep = step !== null && stepIdOf(step, step.command) === id;
    if (step !== null && !isStep) this.#problems.push(`the sample of ${id} names another step`);
    if (isStep && activation === null && !this.#durable.has(id))
      this.#problems.push(`the sample of step ${id} names a command that is in no journal`);
    if (activation === null) {
      const run = invocation.handler === "step" ? null : this.#handle(invocation, new Map());
      const effects = run?.kind === "completed" ? run.effects : [];
      if (!isSame(ended?.effects ?? [], effects))
        this.#problems.push(`the sample of ${id} has other effects than its run`);
      return;
    }
    const { round, journal, entry } = activation;
    const written = this.#entries.get(`${id} ${round}`) ?? [];
    // The last entry of a round that begins anew is not kept.
    const isOver = (this.#latest.get(id)?.round ?? 0) > round;
    const own = written.length > journal.length || isOver ? written.slice(0, journal.length + 1) : null;
    if (own === null) return void this.#problems.push(`a sample of ${id} was told before its entry was durable`);
    const seen = [...journal, ...(own.length > journal.length && entry !== null ? [entry] : [])];
    if (!isSame(seen.map(encodeEntry), own.map(encodeEntry)))
      this.#problems.push(`the sample of ${id} has another journal than storage`);
  }

  #checkPart({ workflow, place, content }: WorkflowPart): void {
    const name = `${workflow} ${place}`;
    if (this.#places.has(name)) this.#problems.push(`${name} is written twice`);
    this.#places.add(name);
    const part = decodePart(content);
    if (part.kind === "signal") {
      this.counts.signals++;
      if (!this.#latest.has(workflow)) this.counts.early++;
      this.#kept.add(new TextDecoder().decode(part.value));
    }
    if (part.kind === "cancelled") this.#cancelled.add(workflow);
    if (place === "cancelled parent") this.#checkOrphan(workflow);
    if (part.kind !== "entry") return;
    const { entry } = part;
    const round = Number.parseInt(place.split(" ")[1]!, 16);
    const entries = this.#entries.get(`${workflow} ${round}`) ?? [];
    this.#entries.set(`${workflow} ${round}`, [...entries, entry]);
    const before = this.#times.get(workflow);
    if (before !== undefined && entry.timeMs < before.timeMs) this.#problems.push(`the time of ${name} goes back`);
    for (const arrival of entry.arrivals) {
      if (arrival.kind !== "settled") continue;
      if (arrival.settled.kind === "timer" && entry.timeMs < (before?.untilMs ?? Infinity))
        this.#problems.push(`the timer of ${name} was early`);
      if (arrival.settled.kind !== "signal") continue;
      const consumed = this.#consumed.get(workflow) ?? [];
      this.#consumed.set(workflow, [...consumed, new TextDecoder().decode(arrival.settled.value)]);
    }
    const untilMs = entry.wait?.untilMs ?? null;
    this.#times.set(workflow, { timeMs: entry.timeMs, untilMs });
    // The commands of its round, in order.
    const first = this.#commandsBefore.get(`${workflow} ${round}`) ?? 0;
    for (const [at, { kind }] of entry.commands.entries()) {
      const id = stepIdOf({ workflow, round }, first + at);
      if (kind === "start" || kind === "undo") this.#durable.add(id);
      if (kind === "send") this.#sent.push(this.#sends.get(id)!);
    }
    this.#commandsBefore.set(`${workflow} ${round}`, first + entry.commands.length);
  }

  /** Its parent has ended it: that one has failed, and was not undoing by it. */
  #checkOrphan(workflow: ExecutionId): void {
    const parent = this.#latest.get(workflow)?.parent ?? null;
    if (parent === null || !(this.#failed.has(parent.workflow) || this.#cancelled.has(parent.workflow)))
      this.#problems.push(`${workflow} was ended by its parent, which goes on`);
    else if (this.#undoes(parent))
      this.#problems.push(`${workflow} undoes what its parent has done, and was ended by it`);
  }

  /** Whether a command of a workflow is an undo. */
  #undoes({ workflow, round, command }: StepName): boolean {
    if (this.#latest.get(workflow)!.round !== round) return false;
    return this.#journalOf(workflow).flatMap(({ commands }) => commands)[command]?.kind === "undo";
  }

  /** A round is over that has taken it. */
  #checkGone({ workflow, content }: WorkflowPart): void {
    const part = decodePart(content);
    if (part.kind !== "signal") return;
    const value = new TextDecoder().decode(part.value);
    const consumed = this.#consumed.get(workflow) ?? [];
    if (!consumed.includes(value)) this.#consumed.set(workflow, [...consumed, value]);
  }

  readonly #commandsBefore = new Map<string, number>();

  #isOver(): boolean {
    const { executions, tasks } = this.#core.load;
    const areCounted = tasks.all === this.#storage.countTasks().all && tasks.dead === this.#storage.deadTasks;
    if (this.#left > 0 || executions > 0 || !areCounted) return false;
    for (const record of this.#storage.intents.values()) {
      if (record.state === "pending") return false;
      if (record.state === "task" && !this.#hasFailedOften(record.task)) return false;
    }
    return this.#workflows().every(({ state }) => state === "ended");
  }

  /** Whether the task is dead, and each of its attempts has failed or was crowded out. */
  #hasFailedOften({ id, state }: Task): boolean {
    return state === "dead" && (this.#crowdedOut.get(id) ?? 0) + (this.#failures.get(id) ?? 0) >= ATTEMPTS;
  }

  #end(): readonly string[] {
    this.#check();
    const texts = new Map(
      Array.from(this.#storage.items, ([unit, { value }]) => [unit, new TextDecoder().decode(value)] as const),
    );
    const all = [...texts.values()].join(" ");
    const timesDone = (name: string): number => all.split(` ${name}`).length - 1;
    for (const workflow of this.#workflows()) this.#checkEnd(workflow, texts, timesDone);
    // No step is done twice, whatever has become of its workflow.
    const words = all.split(" ").filter((word) => word !== "");
    if (new Set(words).size < words.length)
      this.#problems.push(
        `something was done twice: ${words.filter((word, at) => words.indexOf(word) < at).join(" ")}`,
      );
    this.#checkSignals();
    for (const record of this.#storage.intents.values()) {
      if (record.state !== "part") continue;
      const { id, workflow, content } = record.part;
      const owner = this.#storage.intents.get(workflow)?.state;
      // While a server starts, a signal to a workflow whose record is gone is taken: docs/limits.md.
      const isLate = decodePart(content).kind === "signal" && !this.#hired.has(workflow);
      if (owner !== "workflow" && owner !== "task" && !isLate)
        this.#problems.push(`the part ${id} is left of ${workflow}, which is no workflow any more`);
    }
    this.counts.served = this.#served.size;
    return this.#problems;
  }

  #checkEnd(workflow: Workflow, texts: ReadonlyMap<UnitId, string>, timesDone: (name: string) => number): void {
    const { id, outcome, round } = workflow;
    this.counts.ended++;
    const hasFailed = outcome?.kind !== "result";
    if (hasFailed) this.counts.failed++;
    const undos: string[] = [];
    const settled = new Map<number, string>();
    let number = 0;
    const ends = this.#endsOf(id, round);
    for (const part of this.#partsOf(id)) {
      const content = decodePart(part.content);
      if (content.kind !== "entry" || Number.parseInt(part.place.split(" ")[1]!, 16) !== round) continue;
      for (const arrival of content.entry.arrivals)
        if (arrival.kind === "settled") settled.set(arrival.command, arrival.settled.kind);
      for (const [at, trace] of content.entry.commands.entries()) {
        const made = content.calls[at] ?? null;
        const command = number++;
        if (made === null) continue;
        if (trace.kind === "undo") this.#checkTold(workflow, command, made, ends.get(command));
        if (made.kind === "workflow") continue;
        const call = decode<StepCall>(made.args);
        if (made.kind === "service") {
          const acted = [...this.#served.values()].filter((each) => each.name === call.name && !each.isRefused).length;
          const isUndo = trace.kind === "undo";
          const isDone = (isUndo ? ends : settled).get(command) === "value";
          const wanted = isUndo && !hasFailed ? 0 : isDone ? 1 : null;
          if (acted > 1 || (wanted !== null && acted !== wanted))
            this.#problems.push(`the service has acted ${acted} times for ${call.name}`);
          if (isUndo && hasFailed && !ends.has(command))
            this.#problems.push(`${call.name} was not undone by its service`);
          continue;
        }
        if (trace.kind === "undo") {
          if (call.writes && !call.aborts) undos.unshift(call.name);
          continue;
        }
        const isCrowdedOut = this.#crowdedOut.has(stepIdOf({ workflow: id, round }, command));
        if (settled.get(command) === "failed" && !call.aborts && call.fails < ATTEMPTS && !isCrowdedOut)
          this.#problems.push(`${call.name} of ${id} has failed, and has attempts left`);
        if (!call.writes) continue;
        // Nobody has waited for it, and its attempts may have failed.
        const mayFail = call.aborts || call.fails > 0 || isCrowdedOut;
        const end = settled.get(command) ?? (mayFail ? "unknown" : "value");
        const times = timesDone(call.name);
        if (end !== "unknown" && times !== (end === "value" ? 1 : 0))
          this.#problems.push(`${call.name} of ${id} has ended as ${end}, and was done ${times} times`);
      }
    }
    const undone = (texts.get(unitId("log", `undone-${shortNameOf(id)}`)) ?? "")
      .split(" ")
      .filter((word) => word !== "");
    const expected = hasFailed ? undos : [];
    this.counts.undone += undone.length;
    if (undone.join(" ") !== expected.join(" "))
      this.#problems.push(`${id} has undone [${undone.join(" ")}], and not [${expected.join(" ")}]`);
  }

  /** The ends of steps and undos that have arrived, by their commands. */
  #endsOf(id: ExecutionId, round: number): ReadonlyMap<number, string> {
    const ends = new Map<number, string>();
    for (const part of this.#partsOf(id)) {
      const content = decodePart(part.content);
      if (content.kind !== "settled" || Number.parseInt(part.place.split(" ")[1]!, 16) !== round) continue;
      ends.set(content.command, content.settled.kind);
    }
    return ends;
  }

  /** An undo that was not done raises the alarm, and no other one does. `end`: of one that has left a trace. */
  #checkTold({ id, round, outcome }: Workflow, command: number, { kind, args }: Call, end: string | undefined): void {
    const step = stepIdOf({ workflow: id, round }, command);
    const hasFailed = outcome?.kind !== "result";
    const isLeft = kind === "handler" ? decode<StepCall>(args).aborts : end !== "value";
    const isTold = this.#alarmed.has(kind === "service" ? serviceKeyOf(step) : step);
    if (hasFailed && isLeft) this.counts.notDone++;
    // Failures are counted since the server has started, and those of runs that were put back do not count.
    const failures = this.#failures.get(step) ?? 0;
    const hasOften = kind === "handler" && this.counts.kills === 0 && failures >= 2 * ATTEMPTS;
    if (hasFailed && hasOften && !this.#endless.has(step))
      this.#problems.push(`undo ${command} of ${id} has failed ${failures} times, and no alarm was raised`);
    // A run that is crowded out has failed too.
    const attempts = failures + (this.#crowdedOut.get(step) ?? 0);
    if (kind === "handler" && this.#endless.has(step) && attempts < ATTEMPTS)
      this.#problems.push(`undo ${command} of ${id} has failed ${failures} times, and the alarm was raised`);
    if (isTold !== (hasFailed && isLeft))
      this.#problems.push(`undo ${command} of ${id} has ended as ${end}, and the alarm was raised: ${isTold}`);
  }

  /** A workflow takes a value once. Of two values, the one comes first that was told before the other was sent. */
  #checkSignals(): void {
    for (const [workflow, consumed] of this.#consumed) {
      if (new Set(consumed).size < consumed.length) this.#problems.push(`${workflow} has taken a signal twice`);
      for (const first of this.#told)
        for (const second of this.#told) {
          if (first.workflow !== workflow || second.workflow !== workflow || first.name !== second.name) continue;
          if (first.toldAt >= second.sentAt) continue;
          const [a, b] = [consumed.indexOf(first.value), consumed.indexOf(second.value)];
          if (b >= 0 && (a < 0 || a > b))
            this.#problems.push(`${workflow} has taken ${second.value}, and ${first.value} was sent before it`);
        }
    }
  }
}

function sendOf({ workflow, name, value }: Telling): RunEffect {
  return { kind: "send", workflow, name, value: new TextEncoder().encode(value) };
}

const NOT_RUN: { readonly result: RunResult; readonly tookMs: number } = { result: { kind: "not-run" }, tookMs: 0 };

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Those of one parent have the same first half of their ids. */
function shortNameOf(id: ExecutionId): string {
  return `w${id.slice(0, 8)}${id.slice(-8)}`;
}
