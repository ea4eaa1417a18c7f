/**
 * Histories of tasks. Handlers enqueue others, at locations and near storage, in lanes and with delays of weeks. Attempts fail.
 * Storage answers in any order, or not at all, and looks for tasks in two steps. Clocks are set. Clients repeat their requests.
 *
 * Servers are killed anywhere. Their successors lead while operations of the dead ones still arrive. Others stand still before
 * an effect, and go on after a successor has begun. Read leases of an earlier server may hold writes up. The real core and its
 * real driver run over the storage of the simulation.
 *
 * The checks know nothing of the core: they look at what storage has applied, what workers were given, and what handlers did.
 */
import {
  type Answer,
  type Commit,
  type CommitResult,
  DEFAULT_CORE_OPTIONS,
  type Driver,
  type Effect,
  type EndedRun,
  type Event,
  LviCore,
  type NoteName,
  type Now,
  type Run,
  type RunResult,
  type StoragePort,
  type Task,
} from "@radical/lvi-server/core";
import { Random } from "@radical/history";
import {
  type AccessedUnit,
  type CommitId,
  contentHash,
  DEFAULT_TASK_ATTEMPTS,
  type Entry,
  entryOf,
  type ExecutionId,
  lanesOf,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  type RunEffect,
  TASK_ACTIONS,
  taskIdOf,
  taskSeedOf,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { within } from "./access.ts";
import { checkLanes, type Enqueuer } from "./checkers/lanes.ts";
import { modelDriver } from "./model-driver.ts";
import { portOf } from "./model-port.ts";
import { ModelStorage } from "./model-storage.ts";

const MODULES = ["a", "b"].map((letter) => letter.repeat(64) as ModuleHash);
/** `plain` enqueues with f^rw, `free` in record mode, `near` near storage only. They are one program. */
const PLANS = new Map([
  ["plain", "sliced"],
  ["free", "recorded"],
  ["near", "near-storage"],
  ["late", "sliced"],
] as const);
/** No module has it: its tasks wait for good, and nobody may wait behind them. */
const GONE = "gone";
const LOCATIONS = ["va", "jp"];
const LIMITED_AT_ONCE = 1;
const ATTEMPTS = 3;
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};

/** The program of all handlers: a call says what it does. */
interface Call {
  readonly name: string;
  readonly handler: "plain" | "free" | "near" | "late" | typeof GONE;
  /** The item that it writes, with its own name; null: it only reads. */
  readonly writes: string | null;
  readonly children: readonly { readonly call: Call; readonly delayMs: number; readonly lane: string | null }[];
  /** The tasks of others that it takes back, and those of its own, by their places. */
  readonly cancels: readonly ExecutionId[];
  readonly cancelsOwn: readonly number[];
  /** Its outcome, if it does not come to its end: an answer, or a failure of so many attempts. */
  readonly aborts: boolean;
  readonly fails: number;
}

interface Sent {
  readonly request: LviRequest;
  readonly call: Call;
  readonly view: ReadonlyMap<UnitId, Entry>;
}

interface TaskHistory {
  readonly problems: readonly string[];
  readonly answered: number;
  /** Executions that storage has, and changes of tasks' records. */
  readonly applied: number;
  /** Tasks that were enqueued, and attempts of them. */
  readonly tasks: number;
  readonly attempts: number;
  readonly dead: number;
  /** Tasks that were taken back. */
  readonly cancelled: number;
  /** Tasks that an operator has changed. */
  readonly ordered: number;
  readonly kills: number;
  /** Servers whose successor led while they went on. */
  readonly takeovers: number;
  readonly repeats: number;
  readonly effects: number;
}

/** `killAt`: the only server that is killed is so before this effect, and the history has no other fault. */
export function simulateTasks({
  seed,
  killAt = null,
}: {
  readonly seed: number;
  readonly killAt?: number | null;
}): TaskHistory {
  const world = new World(seed, killAt);
  const problems = world.run();
  return { problems, applied: world.applied, ...world.counts };
}

class World {
  readonly counts = {
    answered: 0,
    tasks: 0,
    attempts: 0,
    dead: 0,
    cancelled: 0,
    ordered: 0,
    kills: 0,
    takeovers: 0,
    repeats: 0,
    effects: 0,
  };
  readonly #killAt: number | null;
  readonly #random: Random;
  readonly #storage = new ModelStorage(true);
  readonly #problems: string[] = [];
  /** Events that may happen next, in any order, and those that take long. */
  readonly #next: (() => void)[] = [];
  readonly #slow: (() => void)[] = [];
  readonly #sent = new Map<ExecutionId, Sent>();
  /** Parents by the id of their execution: those that were sent, and tasks. */
  readonly #parents = new Map<
    ExecutionId,
    { readonly call: Call; readonly caller: string | null; readonly seed: Uint8Array }
  >();
  /** Tasks whose attempt runs in the present life, and how often one has begun. */
  readonly #running = new Set<ExecutionId>();
  readonly #begun = new Map<ExecutionId, number>();
  /** When each execution was asked for, and when its result was told first, in one order. */
  readonly #asked = new Map<ExecutionId, number>();
  readonly #told = new Map<ExecutionId, number>();
  /** Requests without an answer. */
  readonly #open = new Map<ExecutionId, Sent>();
  /** By how much the wall clock was set back. */
  #setBackMs = 0;
  readonly #options: typeof DEFAULT_CORE_OPTIONS;
  readonly #failure: number;
  #changes = 0;
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
  #hasSpoilt = false;
  /** Null: all handlers are there. */
  readonly #goneBy: Random | null;

  constructor(seed: number, killAt: number | null) {
    const gone = new Random(seed + 1_000_000);
    this.#goneBy = gone.chance(0.4) ? gone : null;
    this.#killAt = killAt;
    this.#random = new Random(seed);
    const random = this.#random;
    this.#left = killAt === null ? random.between(5, 40) : 6;
    this.#failure = killAt === null ? random.pick([0, 0.03, 0.1]) : 0;
    this.#options = {
      ...DEFAULT_CORE_OPTIONS,
      readLeaseMs: 0,
      followupTimeoutMs: 50,
      maxClockSkewMs: Infinity,
      hotBytes: 4_000,
      tasksAtOnce: random.pick([1, 3, 64]),
      // Small, so that memory has a part of them.
      tasks: {
        most: random.pick([2, 4, 1_000]),
        mostBytes: random.pick([1_500, 1_000_000]),
        page: random.pick([1, 2, 1_000]),
        inLane: random.pick([1, 2, 16]),
        laneBytes: random.pick([0, 250, 1_000_000]),
      },
      maxTasks: random.pick([5, 1_000_000, 1_000_000]),
    };
  }

  get applied(): number {
    return this.#storage.applied.length + this.#storage.taskChanges.length;
  }

  run(): readonly string[] {
    this.#start();
    const random = this.#random;
    for (let steps = 0; steps < 60_000 && this.#problems.length === 0; steps++) {
      if (this.#slow.length > 0 && (this.#next.length === 0 || random.chance(0.03)))
        this.#next.push(...this.#slow.splice(random.below(this.#slow.length), 1));
      const isBusy = this.#next.length > 0;
      this.#isQuiet = this.#left === 0;
      if (this.#left > 0 && random.chance(isBusy ? 0.06 : 0.5)) this.#send();
      else if (!this.#isQuiet && this.#killAt === null && random.chance(0.004)) this.#kill();
      else if (!this.#isQuiet && random.chance(0.002)) this.#setClock();
      else if (!this.#isQuiet && this.#killAt === null && random.chance(0.01)) this.#order();
      else if (!this.#isQuiet && random.chance(0.004)) this.#repeat();
      else if (!this.#isQuiet && random.chance(0.003)) this.#register(random.pick(MODULES));
      else if (isBusy) this.#next.splice(random.below(this.#next.length), 1)[0]!();
      else if (this.#isOver()) return this.#end();
      else if (!this.#wake() && this.#left === 0) return [`nothing happens any more: ${this.#words()}`];
      if (isBusy && random.chance(0.1)) this.#pass(random.below(300));
      this.#check();
    }
    return this.#problems.length > 0 ? this.#problems : [`it does not end: ${this.#words()}`];
  }

  #words(): string {
    const left = Array.from(this.#storage.intents.values()).flatMap((record) =>
      record.state === "task" && !this.#isStuck(record.task) ? [record.task] : [],
    );
    const told = left.map(({ id, lane, place, state, dueMs, attempt }) => [
      id,
      lane,
      place,
      state,
      dueMs - this.#wallMs,
      attempt,
    ]);
    return JSON.stringify([this.#core.load, told]);
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    const storage = this.#storage;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else leads");
    const pending = present(storage.recover(epoch), "nobody else leads");
    const rules = { late: { attempts: ATTEMPTS, limit: { running: LIMITED_AT_ONCE, rate: null } } };
    const inheritedMs = this.#killAt === null ? this.#random.pick([0, 0, 20, 200]) : 0;
    const recovered = {
      readLeasesUntilMs: this.#nowMs + inheritedMs,
      epoch,
      pending,
      leadership: null,
      modules: new Map(MODULES.map((module) => [module, PLANS])),
      current: { module: MODULES[0]!, rules },
    };
    const core = new LviCore(this.#options, recovered, this.#now, HASHER);
    this.#core = core;
    this.#running.clear();
    this.#settling.clear();
    this.#wakeAtMs = Infinity;
    const life = this.#life;
    this.#driver = modelDriver({
      core,
      epoch,
      step: (now, event) => this.#observed(life, core, now, event),
      now: () => this.#now,
      wakeAt: (atMs) => {
        if (life === this.#life) this.#wakeAtMs = atMs;
      },
      storage: this.#ports(life),
      execute: (run, location, ended) => this.#execute(life, run, location, ended),
      noted: ({ name }) => {
        // A followup that is not what its execution does looks like a run that differs.
        if (ALARMS.has(name) && !(name === "determinism_alarm" && this.#hasSpoilt))
          this.#problems.push(`there was a ${name}`);
        if (name === "task_dead") this.counts.dead++;
      },
    });
  }

  /** It may be killed before each effect, or stand still for so long that a successor leads. Of that it does not hear. */
  *#observed(life: number, core: LviCore, now: Now, event: Event): Generator<Effect> {
    const effects = core.step(now, event);
    core.assertWellFormed();
    for (const effect of effects) {
      this.counts.effects++;
      if (this.#killAt === this.counts.effects) this.#kill();
      const mayEnd = !this.#isQuiet && this.#killAt === null && life === this.#life;
      if (mayEnd && this.#random.chance(0.0008)) this.#kill();
      else if (mayEnd && this.#random.chance(0.0004)) this.#takeOver();
      if (!this.#isGoingOn(life)) return;
      if (effect.kind === "complete") this.#completes(effect);
      if (effect.kind === "carry-out-order" && life === this.#life)
        this.#ordered = new Map([
          ...this.#ordered,
          ...effect.changes.map(({ id: task, becomes }) => [task, becomes] as const),
        ]);
      yield effect;
    }
  }

  #completes({ operation, completions }: Effect & { kind: "complete" }): void {
    for (const { completion } of completions) {
      this.#storage.expect(completion);
      const { executionId: id, outcome } = completion;
      if (outcome.kind !== "result" || this.#mustGo.get(id)?.operation === `${this.#life} ${operation}`) continue;
      const tasks = (this.#parents.get(id)?.call.cancels ?? []).filter((each) => {
        const task = this.#storage.findTask(each);
        return task !== null && !this.#mayHaveBegun(task);
      });
      this.#mustGo.set(id, { operation: `${this.#life} ${operation}`, tasks });
    }
  }

  /** By execution, the tasks that its end takes back for sure. */
  readonly #mustGo = new Map<ExecutionId, { readonly operation: string; readonly tasks: readonly ExecutionId[] }>();

  /** Operations that were sent to storage may still arrive there. */
  #kill(): void {
    this.counts.kills++;
    this.#driver.close();
    this.#succeed();
  }

  /** The rest of its step goes on beside its successor. Then it finds that it does not lead any more. */
  #takeOver(): void {
    this.counts.takeovers++;
    this.#deposed = this.#life;
    this.#succeed();
  }

  #deposed = -1;

  #isGoingOn(life: number): boolean {
    return life === this.#life || life === this.#deposed;
  }

  /** Locations ask the next server what became of their requests. */
  #succeed(): void {
    // By now storage may have changes that the last server had ordered.
    this.#check();
    this.#ordered.clear();
    this.#settling.clear();
    this.#life++;
    this.#start();
    for (const sent of this.#open.values())
      if (this.#random.chance(0.8))
        this.#later(() => this.#askAgain(sent), this.#random.chance(0.3) ? this.#slow : this.#next);
  }

  /** The wall clock of the server is set, sometimes by days. */
  #setClock(): void {
    const random = this.#random;
    const byMs = random.between(-50_000, 50_000) * random.pick([1, 1, 5_000]);
    if (byMs < 0) this.#setBackMs -= byMs;
    this.#wallMs += byMs;
  }

  /** A client asks again under its key, whatever it was told. */
  #repeat(): void {
    const retained = [...this.#sent.values()].filter(({ request }) => request.retained);
    if (retained.length > 0) this.#askAgain(this.#random.pick(retained));
  }

  #askAgain(sent: Sent): void {
    this.counts.repeats++;
    const { request } = sent;
    this.#ask1({ ...sent, request: { ...request, attempt: request.attempt + 1, seen: this.#seen } });
  }

  #register(module: ModuleHash): void {
    const rules = { late: { attempts: ATTEMPTS, limit: { running: LIMITED_AT_ONCE, rate: null } } };
    this.#driver.tell({ kind: "module-registered", module, plans: PLANS, rules });
  }

  /** As an operator does. */
  #order(): void {
    const random = this.#random;
    const tasks = [...this.#storage.intents.values()].flatMap((record) =>
      record.state === "task" ? [record.task] : [],
    );
    const dead = tasks.filter(({ state }) => state === "dead");
    const ids = (random.chance(0.7) ? dead : tasks).map(({ id }) => id).filter(() => random.chance(0.5));
    if (random.chance(0.1)) ids.push(...[...this.#calls.keys()].slice(-1));
    if (ids.length === 0) return;
    const order = { action: random.pick(TASK_ACTIONS), ids: [...new Set(ids)], callAgain: false };
    const states = new Map(tasks.map(({ id, state }) => [id, state]));
    const life = this.#life;
    this.#driver.orderTasks(order, {
      answered: ({ results }) => {
        for (const { id, outcome } of results) {
          if (outcome === "done") this.counts.ordered++;
          if (
            outcome === "not-dead" &&
            states.get(id) === "dead" &&
            life === this.#life &&
            this.#storage.findTask(id)?.state === "dead"
          )
            this.#problems.push(`task ${id} is dead, and can't be discarded`);
        }
      },
      failed: () => {},
    });
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
  #later(act: () => void, into = this.#next): void {
    const life = this.#life;
    into.push(() => {
      if (life === this.#life) act();
    });
  }

  #ask<T>(life: number, act: () => T, { succeeded, failed }: Answer<T>): void {
    const random = this.#random;
    const fails = !this.#isQuiet && random.chance(this.#failure);
    if (fails && random.chance(0.4)) return this.#later(() => failed(random.pick(["none", "unknown"]), "simulated"));
    const into = random.chance(0.15) ? this.#slow : this.#next;
    into.push(() => {
      const value = act();
      if (life !== this.#life) return;
      this.#later(
        () => (fails ? failed("unknown", "simulated") : succeeded(value)),
        random.chance(0.1) ? this.#slow : this.#next,
      );
    });
  }

  #ports(life: number): StoragePort {
    const storage = this.#storage;
    const ask = <T>(act: () => T, answer: Answer<T>): void => this.#ask(life, act, answer);
    // Between the two steps of a look records may change.
    const look = <P extends { readonly tasks: readonly Task[] }>(
      act: () => P,
      isMeant: (task: Task) => boolean,
      { succeeded, failed }: Answer<P>,
    ): void => {
      const asIs = (page: P): P => ({ ...page, tasks: storage.asTheyAre(page.tasks).filter(isMeant) });
      if (this.#random.chance(0.6)) return ask(() => asIs(act()), { succeeded, failed });
      const found = (page: P): void =>
        this.#later(
          () => {
            const told = asIs(page);
            this.#later(() => succeeded(told), this.#random.chance(0.3) ? this.#slow : this.#next);
          },
          this.#random.chance(0.3) ? this.#slow : this.#next,
        );
      ask(act, { succeeded: found, failed });
    };
    const isDue = ({ lane, state }: Task): boolean => lane === null && state === "open";
    return {
      ...portOf(storage, ask),
      commit: (epoch, commit, { succeeded, failed }) => {
        const ids = commit.records.flatMap(({ id, expects }) =>
          typeof expects === "object" && "attempt" in expects && expects.attempt !== null ? [id] : [],
        );
        for (const id of ids) this.#settling.add(id);
        const act = (): CommitResult => {
          const result = storage.commit(epoch, commit);
          if (result.kind === "applied") this.#committed(commit);
          return result;
        };
        const heard = (result: CommitResult): void => {
          for (const id of ids) this.#settling.delete(id);
          succeeded(result);
        };
        ask(act, { succeeded: heard, failed });
      },
      dueTasks: (after, limit, answer) => look(() => storage.dueTasks(after, limit), isDue, answer),
      // A task may change long before the answer about it comes.
      findTask: (id, { succeeded, failed }) => {
        const found = (task: Task | null): void =>
          this.#later(() => succeeded(task), this.#random.chance(0.5) ? this.#slow : this.#next);
        ask(() => storage.findTask(id), { succeeded: found, failed });
      },
      laneTasks: (lane, limit, answer) =>
        look(
          () => storage.laneTasks(lane, limit),
          () => true,
          answer,
        ),
    };
  }

  // ── Handlers ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #execute(life: number, run: Run, location: string, ended: (ended: EndedRun) => void): void {
    // Of a server that was replaced storage takes nothing.
    if (life !== this.#life) return;
    const members = [run, ...(run.followers ?? [])];
    const ids = members.map(({ invocation }) => invocation.executionId);
    if (location === "~tasks" || ids.some((id) => this.#storage.intents.get(id)?.state === "task"))
      for (const { invocation } of members) this.#begins(invocation);
    this.#later(
      () => {
        for (const id of ids) this.#running.delete(id);
        const results = this.#ran(members);
        ended({ ...results[0]!, followers: results.slice(1) });
      },
      this.#random.chance(0.2) ? this.#slow : this.#next,
    );
  }

  /** An attempt leaves the server: storage must owe it, and nothing else of the task or its lane may be on its way. */
  #begins({ executionId: id, environment }: Run["invocation"]): void {
    const record = this.#storage.intents.get(id);
    if (record?.state !== "task") {
      if (!this.#parents.has(id) || this.#isTask(id))
        this.#problems.push(`task ${id} runs, and storage does not have it`);
      return;
    }
    const { task } = record;
    this.counts.attempts++;
    if (this.#wallMs + this.#setBackMs < task.dueMs) this.#problems.push(`task ${id} runs before it is due`);
    if (task.state === "dead") this.#problems.push(`task ${id} runs, and is dead`);
    if (task.handler === GONE) this.#problems.push(`task ${id} runs, and its handler is missing`);
    if (this.#running.has(id)) this.#problems.push(`two attempts of task ${id} run at once`);
    if (task.lane !== null) {
      const [first] = this.#storage.laneTasks(task.lane, 1).tasks;
      if (first?.id !== id) this.#problems.push(`task ${id} runs, and is not the first of its lane`);
    }
    const { caller, seed } = present(this.#parents.get(task.parent), "a task has a parent");
    const { ordinal } = present(this.#ordinals.get(id), "a task has a place among the effects of its parent");
    if (environment.caller !== caller)
      this.#problems.push(`task ${id} runs for ${environment.caller}, not for ${caller}`);
    if (String(environment.seed) !== String(taskSeedOf(seed, ordinal)))
      this.#problems.push(`task ${id} draws as another`);
    this.#running.add(id);
    this.#begun.set(id, (this.#begun.get(id) ?? 0) + 1);
    const late = [...this.#running].filter((each) => this.#calls.get(each)?.handler === "late");
    if (late.length > LIMITED_AT_ONCE) this.#problems.push(`${late.length} tasks run of a handler with a limit`);
  }

  readonly #calls = new Map<ExecutionId, Call>();
  readonly #ordinals = new Map<ExecutionId, { readonly ordinal: number }>();

  #isTask(id: ExecutionId): boolean {
    return this.#calls.has(id);
  }

  #ran(
    members: readonly Pick<Run, "invocation" | "snapshot" | "access">[],
  ): readonly { readonly result: RunResult; readonly tookMs: number }[] {
    const coming = new Map<UnitId, Entry>();
    const results: { readonly result: RunResult; readonly tookMs: number }[] = [];
    for (const { invocation, snapshot, access } of members) {
      const view = new Map(snapshot);
      for (const [unit, entry] of coming) if (view.has(unit)) view.set(unit, entry);
      const isKilled = !this.#isQuiet && this.#random.chance(0.02);
      const result: RunResult = isKilled
        ? { kind: this.#random.chance(0.5) ? "crowded-out" : "killed", reason: "simulated" }
        : within(access, this.#handle(callIn(invocation.args), view, invocation));
      if (isKilled) return [...results.map(() => NOT_RUN), { result, tookMs: 0 }];
      results.push({ result, tookMs: 0 });
      if (result.kind !== "completed") return results;
      for (const { unit, value } of result.writes) coming.set(unit, entryOf(NO_COMMIT, value));
    }
    return results;
  }

  /** It reads its item and, if it writes, puts its name behind what is there. */
  #handle(
    call: Call,
    view: ReadonlyMap<UnitId, Entry>,
    { executionId: id }: { readonly executionId: ExecutionId },
  ): RunResult {
    const unit = unitId("log", call.writes ?? "read");
    const before = view.get(unit);
    if (before === undefined) return { kind: "missing", units: [unit] };
    const done = (outcome: Outcome, writes: readonly Write[], effects: readonly RunEffect[]): RunResult => ({
      kind: "completed",
      outcome,
      reads: [unit],
      writes,
      effects,
    });
    if (call.aborts) return done({ kind: "abort", status: 409, code: "no", message: call.name }, [], []);
    const record = this.#storage.intents.get(id);
    if (record?.state === "task" && record.task.attempt < call.fails) {
      return record.task.attempt % 2 === 0
        ? done({ kind: "abort", status: 503, code: "down", message: call.name }, [], [])
        : done({ kind: "trap", code: "unreachable", message: call.name }, [], []);
    }
    const text = before.value === null ? "" : new TextDecoder().decode(before.value);
    const value = new TextEncoder().encode(`${text} ${call.name}`);
    const writes = call.writes === null ? [] : [{ unit, value }];
    return done({ kind: "result", value: new Uint8Array() }, writes, effectsOf(call, id));
  }

  // ── Locations ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #call(depth: number): Call {
    const random = this.#random;
    const number = depth === 0 ? random.between(0, 3) : depth === 1 && random.chance(0.3) ? 1 : 0;
    const children = Array.from({ length: number }, () => ({
      call: this.#call(depth + 1),
      delayMs: random.pick([0, 0, 0, 10, 500, 86_400_000, random.between(1, 40) * 86_400_000]),
      lane: random.pick([null, null, "one", "two"]),
    }));
    const isTask = depth > 0;
    const handler = random.pick(
      isTask ? (["plain", "free", "near", "late"] as const) : (["plain", "plain", "free", "near"] as const),
    );
    return {
      name: `c${++this.#names}.`,
      handler: isTask && this.#goneBy?.chance(0.4) === true ? GONE : handler,
      writes: random.chance(0.7) ? random.pick(["x", "y", "z"]) : null,
      children,
      cancels: this.#toCancel(isTask),
      cancelsOwn: [...children.keys()].filter(() => random.chance(0.1)),
      aborts: random.chance(0.08),
      fails: isTask ? random.pick([0, 0, 0, 0, 1, 2, 50]) : 0,
    };
  }

  /** A request names tasks of executions that were answered; a task may name any. */
  #toCancel(isTask: boolean): readonly ExecutionId[] {
    const random = this.#random;
    const told = [...this.#told.keys()];
    if (told.length === 0 || !random.chance(isTask ? 0.05 : 0.3)) return [];
    // Often the last one: its followup may be on its way.
    const id = random.pick(random.chance(0.5) ? told.slice(-1) : told);
    const sent = present(this.#sent.get(id), "what was told was asked for");
    const known = isTask ? [...this.#calls.keys()] : [...this.#familyOf(id, sent.call)];
    const some = known.filter(() => random.chance(isTask ? 0.1 : 0.6));
    return [...some, ...(random.chance(0.1) ? [id] : [])];
  }

  #send(): void {
    this.#left--;
    const random = this.#random;
    const call = this.#call(0);
    const id = (++this.#names).toString(16).padStart(32, "0") as ExecutionId;
    const view = new Map<UnitId, Entry>();
    const ran = (): RunResult => this.#handle(call, view, { executionId: id });
    const first = ran();
    if (first.kind === "missing") {
      // A cache may be behind.
      const isCold = random.chance(0.2);
      for (const unit of first.units) view.set(unit, isCold ? entryOf(NO_COMMIT, null) : this.#stored(unit));
    }
    const result = ran();
    if (result.kind !== "completed") throw new Error("it has what it reads");
    const isNear = call.handler === "near" || random.chance(0.2);
    const written = new Set(result.writes.map(({ unit }) => unit));
    const units = result.reads.map((unit): AccessedUnit => {
      const version = present(view.get(unit), "it was read").version;
      return { unit, mode: written.has(unit) ? "read-write" : "read", version };
    });
    const request: LviRequest = {
      executionId: id,
      module: MODULES[0]!,
      handler: call.handler,
      args: argsOf(call),
      environment: { timeMs: this.#wallMs, seed: random.bytes(16), caller: random.pick([null, "ann", "bob"]) },
      location: random.pick(LOCATIONS),
      units: isNear ? null : units,
      retained: random.chance(0.3),
      mustNotWrite: false,
      mayEffect: call.children.length + call.cancels.length > 0 || random.chance(0.5),
      lanes: isNear ? [] : lanesOf(effectsOf(call, id)),
      session: null,
      deadlineMs: 60_000,
      attempt: 1,
      seen: this.#seen,
    };
    const sent: Sent = { request, call, view };
    this.#sent.set(id, sent);
    this.#knows(id, call, request.environment.caller, request.environment.seed);
    this.#asked.set(id, ++this.#position);
    this.#ask1(sent);
  }

  *#familyOf(id: ExecutionId, { children }: Call): Generator<ExecutionId> {
    for (const [ordinal, { call }] of children.entries()) {
      const task = taskIdOf(id, ordinal);
      yield task;
      yield* this.#familyOf(task, call);
    }
  }

  /** The tasks that an execution enqueues, if it commits. */
  #knows(id: ExecutionId, call: Call, caller: string | null, seed: Uint8Array): void {
    this.#parents.set(id, { call, caller, seed });
    for (const [ordinal, { call: child }] of call.children.entries()) {
      const task = taskIdOf(id, ordinal);
      this.#parentOf.set(task, id);
      this.#calls.set(task, child);
      this.#ordinals.set(task, { ordinal });
      this.#knows(task, child, caller, taskSeedOf(seed, ordinal));
    }
  }

  #stored(unit: UnitId): Entry {
    const item = this.#storage.items.get(unit);
    return item === undefined ? entryOf(NO_COMMIT, null) : entryOf(item.commitId, item.value);
  }

  #ask1(sent: Sent): void {
    this.#open.set(sent.request.executionId, sent);
    this.#driver.request(sent.request, {
      answered: (reply) => this.#later(() => this.#replied(sent, reply)),
      failed: () => {},
    });
  }

  #replied(sent: Sent, reply: LviReply): void {
    this.#open.delete(sent.request.executionId);
    this.#seen = reply.asOf;
    const { request, call, view } = sent;
    if (reply.kind === "working") throw new Error("there are no workflows here");
    if (reply.kind === "refused") {
      if (reply.code !== "in_doubt") return;
      const again = { ...sent, request: { ...request, attempt: request.attempt + 1, seen: reply.asOf } };
      return this.#later(() => this.#ask1(again));
    }
    this.counts.answered++;
    const isResult = reply.kind === "valid" ? !call.aborts : reply.outcome.kind === "result";
    if (isResult && !this.#told.has(request.executionId)) this.#told.set(request.executionId, ++this.#position);
    if (reply.kind !== "valid" || reply.commitId === null) return;
    const ran = this.#handle(call, view, request);
    if (ran.kind !== "completed") throw new Error("a location runs on what it has captured");
    const { outcome, writes } = ran;
    // Now and then a location is not ours.
    const isSpoilt = this.#random.chance(0.03) && outcome.kind === "result";
    this.#hasSpoilt ||= isSpoilt;
    const stray: RunEffect = { kind: "enqueue", callee: "plain", args: argsOf(call), delayMs: 0, key: "stray" };
    const effects = isSpoilt ? [...effectsOf(call, request.executionId), stray] : (ran.effects ?? []);
    const followup = { executionId: request.executionId, commitId: reply.commitId, outcome, writes, effects };
    const send = (): void => this.#driver.followup(followup, { answered: () => {}, failed: () => {} });
    if (this.#random.chance(0.7)) this.#later(send, this.#random.chance(0.3) ? this.#slow : this.#next);
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Each change of a task's record, as it is made. */
  #check(): void {
    const { taskChanges } = this.#storage;
    for (; this.#changes < taskChanges.length; this.#changes++) {
      const { id, before, after, isCancelled } = taskChanges[this.#changes]!;
      if (isCancelled) {
        this.#cancelled(id, before);
        continue;
      }
      if (before !== null && this.#ordered.has(id) && this.#ordered.get(id) === after) {
        this.#ordered.delete(id);
        if (after === null) this.#removed.add(id);
        if (this.#running.has(id)) this.#problems.push(`task ${id} is changed by an order while it runs`);
        continue;
      }
      if (before === null && after !== null) this.#inserted(id, after);
      if (after?.state === "dead" && this.#calls.get(id)?.aborts === true)
        this.#problems.push(`task ${id} is dead, and its handler has answered`);
      if (before !== null && before.attempt === after?.attempt)
        this.#problems.push(`task ${id} has changed without an attempt`);
      if (after !== null && after.error !== null && after.state === "open" && after.failures >= this.#attemptsOf(after))
        this.#problems.push(`task ${id} goes on after ${after.failures} failures`);
    }
  }

  #cancelled(id: ExecutionId, before: Task | null): void {
    this.counts.cancelled++;
    if (before === null) this.#problems.push(`task ${id} is taken back, and storage does not have it`);
    if (this.#running.has(id)) this.#problems.push(`task ${id} is taken back while it runs`);
  }

  /** After a commit the tasks are gone that it takes back, if they can't have begun. */
  #committed({ records }: Commit): void {
    const storage = this.#storage;
    for (const { id, expects, becomes } of records) {
      const call = this.#parents.get(id)?.call;
      if (call === undefined || (typeof expects === "object" && "attempt" in expects && expects.attempt === null))
        continue;
      const isTask = this.#isTask(id);
      const hasEnded = isTask
        ? becomes === null && !call.aborts
        : becomes?.state === "done" &&
          storage.applied.findLast((each) => each.executionId === id)?.outcome.kind === "result";
      if (!hasEnded) continue;
      for (const cancelled of call.cancels) if (storage.findTask(cancelled) === null) this.#checkNotYet(id, cancelled);
      for (const cancelled of this.#mustGo.get(id)?.tasks ?? [])
        if (storage.findTask(cancelled) !== null)
          this.#problems.push(`${id} has taken task ${cancelled} back, and it is still there`);
    }
  }

  /** Tasks whose attempts have ended, as far as the present server has not heard what has become of them. */
  readonly #settling = new Set<ExecutionId>();

  #mayHaveBegun({ id, state, dueMs, lane }: Task): boolean {
    const isFirst = lane === null || this.#storage.laneTasks(lane, 1).tasks[0]?.id === id;
    if (this.#settling.has(id)) return true;
    return state === "open" && isFirst && dueMs < this.#wallMs + this.#setBackMs + 3_600_000;
  }

  /** The parent of a task may not enqueue it later, if it was answered before somebody asked to take the task back. */
  #checkNotYet(canceller: ExecutionId, task: ExecutionId): void {
    const parent = this.#parentOf.get(task);
    const toldAt = parent === undefined ? undefined : this.#told.get(parent);
    if (parent === undefined || toldAt === undefined || toldAt > (this.#asked.get(canceller) ?? 0)) return;
    const isEnded = this.#storage.intents.get(parent)?.state === "done";
    if (!isEnded) this.#problems.push(`${canceller} has taken task ${task} back before its parent had enqueued it`);
  }

  /** The changes that operators have ordered, as they are to be. */
  #ordered = new Map<ExecutionId, Task | null>();

  readonly #parentOf = new Map<ExecutionId, ExecutionId>();

  readonly #insertions = new Set<ExecutionId>();
  /** Tasks that an operator has removed. */
  readonly #removed = new Set<ExecutionId>();

  #inserted(id: ExecutionId, task: Task): void {
    if (this.#insertions.has(id)) this.#problems.push(`task ${id} was enqueued twice`);
    this.#insertions.add(id);
    this.counts.tasks++;
    const known = this.#calls.get(id);
    if (known === undefined) this.#problems.push(`task ${id} was enqueued by nobody`);
    else if (known.handler !== task.handler || callIn(task.args).name !== known.name)
      this.#problems.push(`task ${id} is another call than was enqueued`);
  }

  #attemptsOf({ handler }: Task): number {
    return handler === "late" ? ATTEMPTS : DEFAULT_TASK_ATTEMPTS;
  }

  #isOver(): boolean {
    const { executions, tasks } = this.#core.load;
    const areCounted = tasks.all === this.#storage.countTasks().all && tasks.dead === this.#storage.deadTasks;
    if (this.#left > 0 || executions > 0 || !areCounted) return false;
    return [...this.#storage.intents.values()].every(
      (record) => record.state === "done" || (record.state === "task" && this.#isStuck(record.task)),
    );
  }

  /** It is dead or its handler is missing, or it stands behind such a task. */
  #isStuck(task: Task): boolean {
    const first = task.lane === null ? undefined : this.#storage.laneTasks(task.lane, 1).tasks[0];
    return [task, first].some((each) => each?.state === "dead" || each?.handler === GONE);
  }

  #end(): readonly string[] {
    this.#check();
    const { applied, intents, items, taskChanges } = this.#storage;
    const texts = [...items.values()].map(({ value }) => new TextDecoder().decode(value)).join(" ");
    const timesDone = (call: Call): number => texts.split(call.name).length - 1;
    // Each execution that has come to its end has enqueued all of its tasks, and no other has enqueued any.
    const ended = new Set(
      applied.filter(({ outcome }) => outcome.kind === "result").map(({ executionId }) => executionId),
    );
    for (const { id, before, after, isCancelled } of taskChanges)
      if (before !== null && after === null && !isCancelled && !this.#removed.has(id) && !this.#calls.get(id)!.aborts)
        ended.add(id);
    for (const id of this.#storage.lostAttempts)
      this.#problems.push(`an attempt of task ${id}, which was taken back, has ended`);
    for (const [id, { call }] of this.#parents) {
      for (const ordinal of call.children.keys()) {
        const isThere = this.#insertions.has(taskIdOf(id, ordinal));
        if (isThere !== (ended.has(id) && !call.cancelsOwn.includes(ordinal)))
          this.#problems.push(
            `task ${ordinal} of ${id} was ${isThere ? "enqueued, and" : "lost:"} its parent has ${ended.has(id) ? "" : "not "}come to its end`,
          );
      }
      const isTask = this.#isTask(id);
      if (call.writes !== null && (isTask || ended.has(id)) && timesDone(call) !== (ended.has(id) ? 1 : 0))
        this.#problems.push(`${call.name} of ${id} was done ${timesDone(call)} times`);
    }
    for (const record of intents.values()) {
      if (record.state !== "task" || record.task.state !== "dead") continue;
      const { id, failures, handler } = record.task;
      if (failures !== this.#attemptsOf(record.task) && failures < this.#attemptsOf(record.task))
        this.#problems.push(`task ${id} of ${handler} is dead after ${failures} failures`);
    }
    for (const id of this.#told.keys())
      if (!ended.has(id) && leavesTrace(this.#parents.get(id)!.call))
        this.#problems.push(`${id} was answered, and has not happened`);
    this.#problems.push(...this.#lanes(ended));
    return this.#problems;
  }

  #lanes(ended: ReadonlySet<ExecutionId>): readonly string[] {
    const { items, taskChanges } = this.#storage;
    // Those that were taken back went before their turn.
    const cancelled = taskChanges.flatMap(({ id, isCancelled }) => (isCancelled ? [id] : []));
    const takenBack = new Set([...cancelled, ...this.#removed]);
    const enqueuers = Array.from(this.#parents, ([id, { call }]): Enqueuer => {
      const lanes = new Map<string, ExecutionId[]>();
      for (const [ordinal, { lane }] of call.children.entries()) {
        const task = taskIdOf(id, ordinal);
        if (lane === null || call.cancelsOwn.includes(ordinal) || takenBack.has(task)) continue;
        lanes.set(lane, [...(lanes.get(lane) ?? []), task]);
      }
      // A task begins and ends when it likes.
      return { id, lanes, askedAt: this.#asked.get(id) ?? 0, answeredAt: this.#told.get(id) ?? Infinity };
    }).filter(({ id }) => ended.has(id));
    const idOf = new Map(Array.from(this.#parents, ([id, { call }]) => [call.name, id]));
    const writers = Array.from(items.values(), ({ value }) =>
      new TextDecoder()
        .decode(value)
        .split(" ")
        .flatMap((name) => idOf.get(name) ?? []),
    );
    const gone = taskChanges.flatMap(({ id, before, after }) => (before !== null && after === null ? [id] : []));
    return checkLanes(enqueuers, writers, gone);
  }
}

const ALARMS: ReadonlySet<NoteName> = new Set(["determinism_alarm", "intent_alarm"]);
const NOT_RUN: { readonly result: RunResult; readonly tookMs: number } = { result: { kind: "not-run" }, tookMs: 0 };

/** Its end is more than an answer. */
function leavesTrace({ writes, children, cancels }: Call): boolean {
  return writes !== null || children.length + cancels.length > 0;
}

function effectsOf({ children, cancels, cancelsOwn }: Call, id: ExecutionId): readonly RunEffect[] {
  const enqueued = children.map(({ call, delayMs, lane }): RunEffect => ({
    kind: "enqueue",
    callee: call.handler,
    args: argsOf(call),
    delayMs,
    key: lane,
  }));
  const cancelled = [...cancelsOwn.map((ordinal) => taskIdOf(id, ordinal)), ...cancels];
  return [...enqueued, ...cancelled.map((task): RunEffect => ({ kind: "cancel", task }))];
}

function argsOf(call: Call): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(call));
}

function callIn(args: Uint8Array): Call {
  return JSON.parse(new TextDecoder().decode(args)) as Call;
}
