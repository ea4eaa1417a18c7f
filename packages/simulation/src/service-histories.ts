/**
 * Histories of calls of services. Executions enqueue charges and mails. The bank forgets keys when their window is over, answers late
 * or not at all, is down, refuses, and stores failures under their key. Servers are killed anywhere, and calls of dead ones still
 * arrive. Hours pass. The real core and its real driver run over the storage of the simulation.
 *
 * The checks know nothing of the core: they look at the bank, at what leaves the server, and at the records in storage.
 */
import {
  type Answer,
  type CallAnswer,
  DEFAULT_CORE_OPTIONS,
  type Driver,
  type Effect,
  type EndedRun,
  type Event,
  LviCore,
  type Now,
  type OutgoingCall,
  type Run,
  type StoragePort,
  type Task,
} from "@radical/lvi-server/core";
import { Random } from "@radical/history";
import {
  type CommitId,
  contentHash,
  type ExecutionId,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  present,
  type RunEffect,
  type ServiceAnswer,
  unitId,
  UNKNOWN,
} from "@radical/protocol";
import { modelDriver } from "./model-driver.ts";
import { portOf } from "./model-port.ts";
import { ModelStorage } from "./model-storage.ts";

const MODULE = "a".repeat(64) as ModuleHash;
const HOUR_MS = 3_600_000;
const WINDOW_MS = HOUR_MS;
const SERVICES = { charge: { keyWindowMs: WINDOW_MS, once: false }, mail: { keyWindowMs: WINDOW_MS, once: true } };
const ATTEMPTS = 4;
const TIMEOUT_MS = DEFAULT_CORE_OPTIONS.services.timeoutMs;
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};

/** A payment or a mail, and how its service deals with it. */
interface Order {
  readonly name: string;
  readonly service: keyof typeof SERVICES;
  /** `throws`: so many times before it does anything. `stored`: it does it, and stores a failure under the key. */
  readonly way: "does" | "refuses" | "throws" | "stored";
  readonly times: number;
}

interface ServiceHistory {
  readonly problems: readonly string[];
  readonly calls: number;
  /** Answers that did not come. */
  readonly lost: number;
  readonly done: number;
  readonly refused: number;
  readonly unknown: number;
  readonly dead: number;
  readonly kills: number;
  readonly probes: number;
  readonly effects: number;
}

/** `killAt`: the only server that is killed is so before this effect. Storage does not fail, and the Worker is not down. */
export function simulateServices({
  seed,
  killAt = null,
}: {
  readonly seed: number;
  readonly killAt?: number | null;
}): ServiceHistory {
  const world = new World(seed, killAt);
  const problems = world.run();
  return { problems, ...world.counts };
}

/** Everybody's services. Its clock is the true one. */
class Bank {
  /** How often each order was done. */
  readonly done = new Map<string, number>();
  readonly #arrived = new Map<string, number>();
  readonly #keys = new Map<string, { readonly sinceMs: number; readonly answer: ServiceAnswer }>();

  arrive({ name, service, way, times }: Order, key: string, wallMs: number): ServiceAnswer {
    const known = SERVICES[service].once ? undefined : this.#keys.get(key);
    if (known !== undefined && wallMs <= known.sinceMs + WINDOW_MS) return known.answer;
    const arrived = (this.#arrived.get(name) ?? 0) + 1;
    this.#arrived.set(name, arrived);
    const store = (answer: ServiceAnswer): ServiceAnswer => {
      this.#keys.set(key, { sinceMs: wallMs, answer });
      return answer;
    };
    const failed: ServiceAnswer = { kind: "failed", code: "Error", message: name };
    if (way === "refuses") return store({ kind: "refused", code: "declined", message: name });
    if (way === "throws" && arrived <= times) return failed;
    this.done.set(name, (this.done.get(name) ?? 0) + 1);
    return store(way === "stored" ? failed : { kind: "value", bytes: Uint8Array.of(0xf6) });
  }
}

class World {
  readonly counts = { calls: 0, lost: 0, done: 0, refused: 0, unknown: 0, dead: 0, kills: 0, probes: 0, effects: 0 };
  readonly #killAt: number | null;
  readonly #random: Random;
  readonly #storage = new ModelStorage(true);
  readonly #bank = new Bank();
  readonly #problems: string[] = [];
  readonly #next: (() => void)[] = [];
  readonly #slow: (() => void)[] = [];
  readonly #orders = new Map<string, readonly Order[]>();
  readonly #options: typeof DEFAULT_CORE_OPTIONS;
  readonly #failure: number;
  readonly #loss: number;
  #isDown = false;
  #core!: LviCore;
  #driver!: Driver;
  #life = 0;
  #wakeAtMs = Infinity;
  #seen: CommitId | null = null;
  #nowMs = 1_000;
  #wallMs = 1_700_000_000_000;
  #names = 0;
  #left: number;
  #changes = 0;
  #isQuiet = false;
  /** Of the present life: tasks whose answer it has heard, failures in a row, and calls that left while the breaker was open. */
  readonly #answeredFor = new Set<ExecutionId>();
  readonly #failedFor = new Set<ExecutionId>();
  readonly #inARow = new Map<string, number>();
  readonly #probing = new Map<string, OutgoingCall>();
  /** Tasks whose attempt began and whose call has not left, with their service; and whether that was before the breaker was open. */
  readonly #begun = new Map<ExecutionId, string>();
  readonly #early = new Set<ExecutionId>();

  constructor(seed: number, killAt: number | null) {
    this.#killAt = killAt;
    this.#random = new Random(seed);
    const random = this.#random;
    this.#left = killAt === null ? random.between(3, 20) : 4;
    this.#failure = killAt === null ? random.pick([0, 0.05, 0.1]) : 0;
    this.#loss = random.pick([0, 0.2, 0.5]);
    this.#options = {
      ...DEFAULT_CORE_OPTIONS,
      readLeaseMs: 0,
      maxClockSkewMs: Infinity,
      tasksAtOnce: random.pick([1, 64]),
      services: { ...DEFAULT_CORE_OPTIONS.services, atOnce: random.pick([1, 3, 32]) },
    };
  }

  run(): readonly string[] {
    this.#start();
    const random = this.#random;
    for (let steps = 0; steps < 30_000 && this.#problems.length === 0; steps++) {
      if (this.#slow.length > 0 && (this.#next.length === 0 || random.chance(0.03)))
        this.#next.push(...this.#slow.splice(random.below(this.#slow.length), 1));
      const isBusy = this.#next.length > 0;
      // Faults end some time after the last order.
      this.#isQuiet ||= this.#left === 0 && random.chance(0.002);
      if (this.#isQuiet) this.#isDown = false;
      if (this.#left > 0 && random.chance(isBusy ? 0.05 : 0.4)) this.#send();
      else if (!this.#isQuiet && this.#killAt === null && random.chance(0.02)) this.#fault();
      else if (!this.#isQuiet && random.chance(0.006)) this.#pass(random.below(90) * 60_000);
      else if (isBusy) this.#next.splice(random.below(this.#next.length), 1)[0]!();
      else if (this.#isOver()) return this.#end();
      else if (!this.#wake() && this.#left === 0) return [`nothing happens any more: ${this.#words()}`];
      if (isBusy && random.chance(0.1)) this.#pass(random.pick([1, 100, 5_000]));
      this.#check();
    }
    return this.#problems.length > 0 ? this.#problems : [`it does not end: ${this.#words()}`];
  }

  #words(): string {
    return JSON.stringify([
      this.#core.load.tasks,
      this.#core.services,
      this.#tasks.map(({ id, state }) => [id, state]),
    ]);
  }

  get #tasks(): readonly Task[] {
    return Array.from(this.#storage.intents.values()).flatMap((record) =>
      record.state === "task" ? [record.task] : [],
    );
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    const storage = this.#storage;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else leads");
    const pending = present(storage.recover(epoch), "nobody else leads");
    const recovered = {
      epoch,
      pending,
      leadership: null,
      modules: new Map([[MODULE, new Map([["order", "near-storage" as const]])]]),
      current: { module: MODULE, rules: { charge: { attempts: ATTEMPTS } }, services: SERVICES },
    };
    const core = new LviCore(this.#options, recovered, this.#now, HASHER);
    this.#core = core;
    for (const known of [this.#answeredFor, this.#failedFor, this.#inARow, this.#probing, this.#early, this.#begun])
      known.clear();
    this.#wakeAtMs = Infinity;
    const life = this.#life;
    this.#driver = modelDriver({
      core,
      epoch,
      step: (now, event) => this.#observed(life, core, now, event),
      now: () => this.#now,
      wakeAt: (atMs) => void (this.#wakeAtMs = atMs),
      storage: this.#ports(),
      execute: (run, _location, ended) => this.#execute(run, ended),
      callService: (call, ended) => this.#call(call, ended),
    });
  }

  /** It may be killed before each effect. */
  *#observed(life: number, core: LviCore, now: Now, event: Event): Generator<Effect> {
    const effects = core.step(now, event);
    core.assertWellFormed();
    for (const effect of effects) {
      this.counts.effects++;
      if (this.#killAt === this.counts.effects) this.#kill();
      else if (!this.#isQuiet && this.#killAt === null && this.#random.chance(0.003)) this.#kill();
      if (life !== this.#life) return;
      if (effect.kind === "change-task") this.#marks(effect.change);
      if (effect.kind === "complete") for (const { completion } of effect.completions) this.#storage.expect(completion);
      yield effect;
    }
  }

  #fault(): void {
    if (this.#random.chance(0.5)) this.#kill();
    else this.#isDown = !this.#isDown;
  }

  /** Operations and calls that were sent may still arrive. */
  #kill(): void {
    this.counts.kills++;
    // The changes until now are about the life that ends.
    this.#check();
    this.#life++;
    this.#driver.close();
    this.#start();
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

  /** Something that this life of the server is told later. */
  #later(act: () => void, into = this.#random.chance(0.1) ? this.#slow : this.#next): void {
    const life = this.#life;
    into.push(() => {
      if (life === this.#life) act();
    });
  }

  #ask<T>(act: () => T, { succeeded, failed }: Answer<T>): void {
    const random = this.#random;
    const fails = !this.#isQuiet && random.chance(this.#failure);
    if (fails && random.chance(0.4)) return this.#later(() => failed(random.pick(["none", "unknown"]), "simulated"));
    const life = this.#life;
    (random.chance(0.15) ? this.#slow : this.#next).push(() => {
      const value = act();
      if (life === this.#life) this.#later(() => (fails ? failed("unknown", "simulated") : succeeded(value)));
    });
  }

  #ports(): StoragePort {
    return portOf(this.#storage, (act, answer) => this.#ask(act, answer));
  }

  /** An order writes one item, and enqueues its calls. */
  #execute({ invocation }: Run, ended: (ended: EndedRun) => void): void {
    const name = new TextDecoder().decode(invocation.args);
    const effects = present(this.#orders.get(name), "it was sent").map((order): RunEffect => ({
      kind: "enqueue",
      callee: order.service,
      args: new TextEncoder().encode(JSON.stringify(order)),
      delayMs: 0,
      key: order.times % 2 === 0 ? null : "lane",
    }));
    const writes = [{ unit: unitId("orders", name), value: Uint8Array.of(1) }];
    const outcome = { kind: "result", value: new Uint8Array() } as const;
    this.#later(() => ended({ result: { kind: "completed", outcome, reads: [], writes, effects }, tookMs: 0 }));
  }

  #send(): void {
    this.#left--;
    const random = this.#random;
    const name = `o${++this.#names}`;
    const orders = Array.from({ length: random.between(1, 3) }, (_, index): Order => ({
      name: `${name}.${index}`,
      service: random.pick(["charge", "charge", "mail"]),
      way: random.pick(["does", "does", "does", "refuses", "throws", "stored"]),
      times: random.between(1, 6),
    }));
    this.#orders.set(name, orders);
    const request: LviRequest = {
      executionId: this.#names.toString(16).padStart(32, "0") as ExecutionId,
      module: MODULE,
      handler: "order",
      args: new TextEncoder().encode(name),
      environment: { timeMs: this.#wallMs, seed: random.bytes(16), caller: null },
      location: "va",
      units: null,
      retained: false,
      mustNotWrite: false,
      mayEffect: true,
      lanes: [],
      session: null,
      deadlineMs: 60_000,
      attempt: 1,
      seen: this.#seen,
    };
    this.#request(request);
  }

  #request(request: LviRequest): void {
    const answered = (reply: LviReply): void => {
      this.#seen = reply.asOf;
      if (reply.kind === "refused" && reply.code === "in_doubt")
        this.#request({ ...request, attempt: request.attempt + 1, seen: reply.asOf });
    };
    this.#driver.request(request, { answered: (reply) => this.#later(() => answered(reply)), failed: () => {} });
  }

  // ── The way to the Worker, and the Worker ──────────────────────────────────────────────────────────────────────────

  #call(call: OutgoingCall, ended: (answer: CallAnswer) => void): void {
    const { task, service, timeoutMs } = call;
    const random = this.#random;
    this.counts.calls++;
    this.#begun.delete(task);
    const isProbe = !this.#early.delete(task) && this.#isOpen(service);
    this.#leaves(call, isProbe);
    const sentAtMs = this.#wallMs;
    const life = this.#life;
    const hear = (answer: CallAnswer): void => {
      const isAnswer = answer.kind === "value" || answer.kind === "refused";
      if (isAnswer) this.#answeredFor.add(task);
      else if (answer.kind !== "not-called") this.#failedFor.add(task);
      // The breaker is closed: the next time that it opens, these will have begun before.
      if (isAnswer) {
        for (const [id, one] of this.#begun) if (one === service) this.#early.add(id);
      }
      const inARow = answer.kind === "not-called" ? 5 : (this.#inARow.get(service) ?? 0) + 1;
      this.#inARow.set(service, isAnswer ? 0 : inARow);
      // After an answer no call is a probe any more.
      if (isAnswer || this.#probing.get(service) === call) this.#probing.delete(service);
      if (answer.kind === "lost") this.counts.lost++;
      ended(answer);
    };
    if (isProbe) {
      this.counts.probes++;
      this.#probing.set(service, call);
    }
    if (this.#isDown)
      return this.#later(() => hear({ kind: "not-called", code: "worker_unreachable", message: "simulated" }));
    const fails = !this.#isQuiet && random.chance(this.#loss);
    const isUnheard = fails && random.chance(0.3);
    const order = JSON.parse(new TextDecoder().decode(call.args)) as Order;
    (random.chance(0.3) ? this.#slow : this.#next).push(() => {
      // The connection of a call that takes too long is closed.
      const isLate = this.#wallMs > sentAtMs + timeoutMs;
      const answer = isUnheard || isLate ? null : this.#bank.arrive(order, call.key, this.#wallMs);
      if ((this.#bank.done.get(order.name) ?? 0) > 1) this.#problems.push(`${order.name} of ${service} was done twice`);
      if (life !== this.#life) return;
      this.#later(() => hear(answer === null || fails ? { kind: "lost", message: "simulated" } : answer));
    });
  }

  #isOpen(service: string): boolean {
    return (this.#inARow.get(service) ?? 0) >= this.#options.services.opensAfter;
  }

  #marks({ id, expects, becomes }: (Effect & { kind: "change-task" })["change"]): void {
    if (becomes?.attempt !== expects.attempt) return;
    this.#begun.set(id, becomes.handler);
    if (!this.#isOpen(becomes.handler)) this.#early.add(id);
  }

  /** Each call, as it leaves the server. */
  #leaves({ task: id, service }: OutgoingCall, isProbe: boolean): void {
    const record = this.#storage.intents.get(id);
    const task = record?.state === "task" ? record.task : null;
    const rules = SERVICES[service as keyof typeof SERVICES];
    if (task === null) return void this.#problems.push(`a call of ${service} leaves for ${id}, which nobody owes`);
    if (task.sentAtMs === null) this.#problems.push(`a call of ${service} leaves for ${id} before its mark is stored`);
    else if (this.#wallMs > task.sentAtMs + rules.keyWindowMs)
      this.#problems.push(`a call of ${service} leaves for ${id} after its window`);
    if (this.#answeredFor.has(id)) this.#problems.push(`${service} is called again for ${id}, after its answer`);
    if (isProbe && this.#probing.has(service)) this.#problems.push(`two probes of ${service} are under way`);
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Each change of a task's record, as it is made. */
  #check(): void {
    const { taskChanges } = this.#storage;
    for (; this.#changes < taskChanges.length; this.#changes++) {
      const { id, before, after } = taskChanges[this.#changes]!;
      if (before === null || after === null) continue;
      const code = after.error?.code;
      if (code === "declined") this.#problems.push(`task ${id} goes on, and its service has refused`);
      if (after.failures > before.failures && code !== UNKNOWN && !this.#failedFor.delete(id))
        this.#problems.push(`task ${id} has a failure more, and no call of it has failed`);
      if (after.state === "open" && after.failures >= this.#attemptsOf(after))
        this.#problems.push(`task ${id} goes on after ${after.failures} failures`);
      if (after.state !== "dead") continue;
      this.counts.dead++;
      if (code !== UNKNOWN) continue;
      this.counts.unknown++;
      const { sentAtMs } = before;
      if (sentAtMs === null) this.#problems.push(`task ${id} is unknown, and nothing was sent`);
      else if (before.handler === "charge" && this.#wallMs + TIMEOUT_MS < sentAtMs + WINDOW_MS)
        this.#problems.push(`task ${id} is unknown, and its key is not`);
    }
  }

  #attemptsOf({ handler }: Task): number {
    return handler === "charge" ? ATTEMPTS : Infinity;
  }

  #isOver(): boolean {
    if (this.#left > 0 || this.#core.load.executions > 0 || this.#core.load.tasks.running > 0) return false;
    return this.#tasks.every((task) => this.#isStuck(task));
  }

  /** It is dead, or stands behind a dead one. */
  #isStuck(task: Task): boolean {
    return (
      task.state === "dead" || (task.lane !== null && this.#storage.laneTasks(task.lane, 1).tasks[0]?.state === "dead")
    );
  }

  #end(): readonly string[] {
    this.#isQuiet = true;
    for (const act of [...this.#next.splice(0), ...this.#slow.splice(0)]) act();
    this.#check();
    const left = new Set(this.#tasks.map(({ id }) => id));
    const enqueued = new Map<ExecutionId, Task>();
    for (const { id, before, after } of this.#storage.taskChanges)
      if (before === null && after !== null) enqueued.set(id, after);
    for (const [id, { args }] of enqueued) {
      const { name, way } = JSON.parse(new TextDecoder().decode(args)) as Order;
      const times = this.#bank.done.get(name) ?? 0;
      this.counts.done += times;
      if (times > 1) this.#problems.push(`${name} was done ${times} times`);
      if (left.has(id)) continue;
      if (way === "refuses") this.counts.refused++;
      const expected = way === "refuses" ? 0 : 1;
      if (times !== expected) this.#problems.push(`${name} is over, and was done ${times} times`);
    }
    return this.#problems;
  }
}
