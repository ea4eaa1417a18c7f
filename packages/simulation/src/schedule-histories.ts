/**
 * Histories of schedules: days of clock, with servers that are killed or replaced, and clocks that are set. Handlers run for long, or fail.
 * Modules with other schedules are deployed and rolled back, and an operator pauses a schedule. Storage fails and loses answers. The real
 * core and its real driver run over the storage of the simulation.
 *
 * The checks know nothing of the core. They look at the tasks that storage has got, and reckon the ticks anew.
 */
import {
  type Answer,
  DEFAULT_CORE_OPTIONS,
  type Driver,
  type EndedRun,
  latestTickIds,
  LviCore,
  nextCron,
  type Now,
  type Run,
  scheduleStates,
  type StoragePort,
  type Task,
} from "@radical/lvi-server/core";
import { Random } from "@radical/history";
import {
  CborReader,
  contentHash,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  present,
  SCHEDULE_STATES,
  type Schedule,
  type ScheduleAction,
  type TaskRules,
  tickIdOf,
} from "@radical/protocol";
import { modelDriver } from "./model-driver.ts";
import { portOf } from "./model-port.ts";
import { ModelStorage, rowsIn } from "./model-storage.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A tick that is not made up for may be so late. */
const LATE_MS = MINUTE;

const MODULES = ["a", "b"].map((letter) => letter.repeat(64) as ModuleHash);
const every = (everyMs: number, catchUp: number, overlap: Schedule["overlap"]): TaskRules => ({
  attempts: 3,
  schedule: { kind: "every", everyMs, catchUp, overlap, parameter: "tick" },
});
const cron = (fields: string, zone: string, catchUp: number, overlap: Schedule["overlap"]): TaskRules => ({
  attempts: 3,
  schedule: { kind: "cron", fields, zone, catchUp, overlap, parameter: "tick" },
});
const SAME = {
  all: every(HOUR, 1_000, "allow"),
  inTurn: every(3 * HOUR, 1_000, "wait"),
  one: every(30 * MINUTE, 1, "allow"),
  none: cron("0,30 * * * *", "UTC", 0, "allow"),
  waits: every(HOUR, 1, "wait"),
  skips: every(HOUR, 1, "skip"),
  berlin: cron("30 2 * * *", "Europe/Berlin", 1_000, "allow"),
  paused: every(HOUR, 5, "allow"),
};
/** The second one has another time for a handler, and lacks the schedule of another. */
const RULES: readonly Readonly<Record<string, TaskRules>>[] = [
  { ...SAME, changes: every(HOUR, 100, "allow"), goes: every(HOUR, 100, "allow") },
  { ...SAME, changes: every(2 * HOUR, 100, "allow") },
];
/** Each tick of these becomes a task, whatever happens. */
const COMPLETE = ["all", "inTurn", "berlin"] as const;
/** They run one at a time. */
const ONE_AT_A_TIME: ReadonlySet<string> = new Set(["inTurn", "waits", "skips"]);
/** The modules have other schedules for these. */
const OTHERS = ["changes", "goes"];
/** Storage has the schedules of a deployment after fewer steps. */
const SOON_STEPS = 300;
const PLANS = new Map(Object.keys(RULES[0]!).map((handler) => [handler, "near-storage"] as const));
/** The changes of the clock in Berlin, and another day. */
const STARTS = ["2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-06-01T11:07:00Z"];
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};

interface ScheduleHistory {
  readonly problems: readonly string[];
  /** Ticks that became tasks; of these, those of schedules that make up for all. */
  readonly ticks: number;
  readonly complete: number;
  readonly kills: number;
  readonly replaced: number;
  readonly days: number;
}

export function simulateSchedules({ seed }: { readonly seed: number }): ScheduleHistory {
  const world = new World(seed);
  const problems = world.run();
  return { problems, ...world.counts };
}

/** A life of a server. */
interface Server {
  readonly core: LviCore;
  readonly driver: Driver;
  wakeAtMs: number;
  isAlive: boolean;
}

interface Made {
  readonly handler: string;
  readonly tickMs: number;
}

class World {
  readonly counts = { ticks: 0, complete: 0, kills: 0, replaced: 0, days: 0 };
  readonly #random: Random;
  readonly #storage = new ModelStorage(true);
  readonly #problems: string[] = [];
  /** Events that may happen next, in any order, and runs that take long. */
  readonly #next: (() => void)[] = [];
  readonly #slow: (() => void)[] = [];
  readonly #servers: Server[] = [];
  readonly #made = new Map<string, Set<number>>();
  /** The ticks that storage has as tasks, which are not dead. */
  readonly #open = new Map<ExecutionId, Made>();
  readonly #failure: number;
  readonly #startMs: number;
  /** All schedules are known to storage since then. */
  #begunMs: number;
  #module = 0;
  /** No tick up to this time may become a task, by handler: its schedule began then, or an operator let it go on. */
  readonly #since = new Map<string, number>();
  /** Likewise before the last deployment. */
  readonly #sinceBefore = new Map<string, number>();
  #steps = 0;
  #deployedAtStep = -Infinity;
  /** For each tick that a server has decided to make: the time of `#since` then, and whether there was a pause. */
  readonly #sinceOf = new Map<ExecutionId, number>();
  readonly #sentPaused = new Set<ExecutionId>();
  #isPaused = false;
  /** How often somebody has asked for the end of a pause. */
  #resumes = 0;
  #changes = 0;
  #nowMs = 1_000;
  #wallMs: number;
  #isQuiet = false;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#failure = this.#random.pick([0, 0.02, 0.1]);
    this.#startMs = this.#begunMs = this.#wallMs = Date.parse(this.#random.pick(STARTS));
  }

  run(): readonly string[] {
    const random = this.#random;
    for (const handler of Object.keys(RULES[0]!)) this.#since.set(handler, this.#wallMs);
    this.#start();
    const untilMs = this.#wallMs + random.between(2, 4) * DAY;
    for (; this.#steps < 30_000 && this.#problems.length === 0; this.#steps++) {
      this.#isQuiet = this.#wallMs >= untilMs;
      if (!this.#isQuiet && random.chance(0.004)) this.#disturb();
      else if (this.#next.length > 0) this.#next.splice(random.below(this.#next.length), 1)[0]!();
      else if (this.#slow.length > 0 && (this.#isQuiet || random.chance(0.2)))
        this.#next.push(...this.#slow.splice(random.below(this.#slow.length), 1));
      else if (this.#isQuiet && this.#isOver()) return this.#end();
      else this.#wait();
      this.#check();
    }
    return this.#problems.length > 0 ? this.#problems : [`it does not end: ${this.#lacking().join(", ")}`];
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  get #now(): Now {
    return { monotonicMs: this.#nowMs, wallMs: this.#wallMs };
  }

  /** Nothing happens but that time goes on: to what is due, or further, as if nobody had been awake. */
  #wait(): void {
    const dueMs = Math.min(...this.#servers.map(({ wakeAtMs }) => wakeAtMs)) - this.#nowMs;
    this.#pass(this.#isQuiet || this.#random.chance(0.5) ? Math.max(0, dueMs) : this.#random.below(40) * MINUTE);
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    this.#wallMs += ms;
    for (const server of this.#servers.slice()) {
      if (this.#nowMs < server.wakeAtMs || !server.isAlive) continue;
      server.wakeAtMs = Infinity;
      server.driver.wake();
    }
  }

  #setClock(ms: number): void {
    this.#wallMs += ms;
    // A schedule may have begun by the clock as it is now.
    for (const times of [this.#since, this.#sinceBefore])
      for (const [handler, since] of times) times.set(handler, Math.min(since, this.#wallMs));
  }

  // ── What goes wrong, and what people do ────────────────────────────────────────────────────────────────────────────

  #disturb(): void {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
        return this.#kill(0);
      case 1:
        return this.#kill(random.pick([10 * MINUTE, 5 * HOUR, 3 * DAY]));
      case 2:
        this.counts.replaced++;
        // The earlier one believes that it leads until storage tells it otherwise.
        return this.#start();
      case 3:
        return this.#setClock(-random.below(3 * HOUR));
      case 4:
        return this.#setClock(random.pick([random.below(3 * HOUR), 2 * DAY]));
      case 5:
        return this.#deploy();
      default:
        return this.#ask(random.pick(["pause", "resume", "run"]));
    }
  }

  #kill(downMs: number): void {
    this.counts.kills++;
    for (const server of this.#servers.splice(0)) {
      server.isAlive = false;
      server.driver.close();
    }
    this.#nowMs += downMs;
    this.#wallMs += downMs;
    this.#start();
  }

  #deploy(): void {
    this.#module = 1 - this.#module;
    // One that is taken back at once may leave no trace: then a schedule goes on.
    const isSoon = this.#steps - this.#deployedAtStep < SOON_STEPS;
    this.#deployedAtStep = this.#steps;
    for (const handler of OTHERS) {
      const before = isSoon ? this.#sinceBefore : this.#since;
      this.#sinceBefore.set(handler, before.get(handler)!);
      this.#since.set(handler, isSoon ? before.get(handler)! : this.#wallMs);
    }
    const rules = this.#rules;
    const { driver } = present(this.#servers.at(-1), "a server leads");
    driver.tell({ kind: "module-registered", module: MODULES[this.#module]!, plans: PLANS, rules });
  }

  get #rules(): Readonly<Record<string, TaskRules>> {
    return RULES[this.#module]!;
  }

  #ask(action: ScheduleAction): void {
    const { driver } = present(this.#servers.at(-1), "a server leads");
    if (action === "resume") {
      this.#resumes++;
      if (this.#isPaused) this.#since.set("paused", Math.max(this.#since.get("paused") ?? 0, this.#wallMs));
      this.#isPaused = false;
    }
    // The answer to a pause may come when the next resumption is under way, or done.
    const resumes = this.#resumes;
    const answered = (): void => {
      if (action === "pause" && resumes === this.#resumes) this.#isPaused = true;
    };
    driver.askSchedule({ handler: "paused", action }, { answered, failed: () => {} });
  }

  // ── A server ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    const storage = this.#storage;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else asks");
    const pending = present(storage.recover(epoch), "nobody else asks");
    const states = scheduleStates(rowsIn(storage.items, { table: SCHEDULE_STATES, from: null, to: null }, Infinity));
    const open = latestTickIds(states).filter((id) => storage.findTask(id)?.state === "open");
    const recovered = {
      epoch,
      pending,
      leadership: null,
      modules: new Map(MODULES.map((module) => [module, PLANS])),
      current: { module: MODULES[this.#module]!, rules: this.#rules },
      schedules: { states, open },
    };
    const core = new LviCore({ ...DEFAULT_CORE_OPTIONS, readLeaseMs: 0 }, recovered, this.#now, HASHER, nextCron);
    const server = { core, wakeAtMs: Infinity, isAlive: true } as Server & { driver: Driver };
    server.driver = modelDriver({
      core,
      epoch,
      step: (now, event) => {
        const effects = core.step(now, event);
        core.assertWellFormed();
        for (const effect of effects)
          if (effect.kind === "complete")
            for (const { completion } of effect.completions) {
              storage.expect(completion);
              for (const task of completion.tasks ?? []) this.#sent(task);
            }
        return effects;
      },
      now: () => this.#now,
      wakeAt: (atMs) => void (server.wakeAtMs = atMs),
      storage: this.#ports(server),
      execute: (run, _location, ended) => this.#execute(server, run, ended),
      takenOver: () => {
        server.isAlive = false;
        this.#servers.splice(this.#servers.indexOf(server), 1);
      },
    });
    this.#servers.push(server);
    this.#pass(0);
  }

  #later(server: Server, act: () => void, into = this.#next): void {
    into.push(() => {
      if (server.isAlive) act();
    });
  }

  #operate<T>(server: Server, act: () => T, { succeeded, failed }: Answer<T>): void {
    const fails = !this.#isQuiet && this.#random.chance(this.#failure);
    const wasDone = !fails || this.#random.chance(0.5);
    this.#next.push(() => {
      // An operation that was sent arrives, also from a server that is gone.
      const value = wasDone ? act() : null;
      this.#later(server, () => (fails ? failed("unknown", "simulated") : succeeded(value as T)));
    });
  }

  #ports(server: Server): StoragePort {
    return portOf(this.#storage, (act, answer) => this.#operate(server, act, answer));
  }

  /** It writes nothing. Now and then it fails, and now and then it takes hours. */
  #execute(server: Server, run: Run, ended: (ended: EndedRun) => void): void {
    const random = this.#random;
    const outcome: Outcome = random.chance(0.1)
      ? { kind: "abort", status: 503, code: "down", message: "simulated" }
      : { kind: "result", value: new Uint8Array() };
    const end = (): void => ended({ result: { kind: "completed", outcome, reads: [], writes: [] }, tookMs: 0 });
    if (run.invocation.environment.caller !== null) this.#problems.push("a tick runs for somebody");
    this.#later(server, end, random.chance(0.1) ? this.#slow : this.#next);
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────

  #check(): void {
    const { taskChanges, items } = this.#storage;
    if (items.size < PLANS.size) this.#begunMs = Math.max(this.#begunMs, this.#wallMs);
    for (; this.#changes < taskChanges.length; this.#changes++) {
      const { id, before, after } = taskChanges[this.#changes]!;
      if (before === null && after !== null) this.#inserted(id, after);
      if (after === null || after.state === "dead") this.#open.delete(id);
    }
  }

  /** A server has decided that a tick is to become a task. */
  #sent({ id, handler }: Task): void {
    const sinceMs = this.#since.get(handler) ?? Infinity;
    this.#sinceOf.set(id, Math.min(this.#sinceOf.get(id) ?? Infinity, sinceMs));
    if (handler === "paused" && this.#isPaused && !this.#sentPaused.has(id)) this.#sentPaused.add(id);
  }

  #inserted(id: ExecutionId, { handler, args, createdAtMs }: Task): void {
    const tickMs = tickIn(args);
    const wrong = (words: string): void =>
      void this.#problems.push(`tick ${new Date(tickMs).toISOString()} of ${handler} ${words}`);
    // A time may be a tick by the schedules of both modules.
    const schedules = new Set(RULES.flatMap((each) => each[handler]?.schedule ?? []));
    const possible = [...schedules].filter((each) => isTick(each, tickMs));
    const [schedule] = possible;
    // A call that the operator has asked for.
    if (handler === "paused" && id !== tickIdOf(handler, tickMs)) return;
    if (schedule === undefined) return wrong("is none");
    const made = this.#made.get(handler) ?? new Set();
    this.#made.set(handler, made);
    if (made.has(tickMs)) wrong("has become a task twice");
    made.add(tickMs);
    this.counts.ticks++;
    if (tickMs > createdAtMs) wrong("has come too early");
    if (tickMs <= (this.#sinceOf.get(id) ?? Infinity)) wrong("is from before its schedule began");
    if (this.#sentPaused.has(id)) wrong("has come while its schedule is paused");
    const isEarlier = (each: Schedule): boolean =>
      each.catchUp > 0 && ticksBetween(each, tickMs, createdAtMs).length >= each.catchUp;
    if (possible.every(isEarlier)) wrong("is made up for, and is not among the latest");
    if (schedule.catchUp === 0 && createdAtMs - tickMs > LATE_MS) wrong("is made up for, and must not be");
    if (ONE_AT_A_TIME.has(handler) && [...this.#open.values()].some((other) => other.handler === handler))
      wrong("has come while another one is not done");
    this.#open.set(id, { handler, tickMs });
  }

  #isOver(): boolean {
    const { core } = present(this.#servers.at(-1), "a server leads");
    if (this.#servers.length > 1) return false;
    return core.isIdle && this.#open.size === 0 && this.#lacking().length === 0;
  }

  /** The ticks of complete schedules that have not become tasks. */
  #lacking(): readonly string[] {
    return COMPLETE.flatMap((handler) => {
      const schedule = present(SAME[handler].schedule, "it has one");
      const made = this.#made.get(handler) ?? new Set();
      // The server hears soon of those that have just come.
      return ticksBetween(schedule, this.#begunMs, this.#wallMs - HOUR)
        .filter((tickMs) => !made.has(tickMs))
        .map((tickMs) => `tick ${new Date(tickMs).toISOString()} of ${handler} has become no task`);
    });
  }

  #end(): readonly string[] {
    for (const handler of COMPLETE) this.counts.complete += this.#made.get(handler)?.size ?? 0;
    this.counts.days += Math.round((this.#wallMs - this.#startMs) / DAY);
    return this.#problems;
  }
}

function tickIn(args: Uint8Array): number {
  const reader = new CborReader(args);
  if (reader.map() !== 1 || reader.text() !== "tick") throw new Error("a tick has its time as its argument");
  return reader.integerIn(0, Number.MAX_SAFE_INTEGER);
}

function isTick(schedule: Schedule, atMs: number): boolean {
  return ticksBetween(schedule, atMs - 1, atMs).length === 1;
}

/** The ticks after one time and up to another. */
function ticksBetween(schedule: Schedule, afterMs: number, untilMs: number): readonly number[] {
  const ticks: number[] = [];
  if (schedule.kind === "every") {
    for (let tickMs = Math.ceil((afterMs + 1) / schedule.everyMs) * schedule.everyMs; tickMs <= untilMs;) {
      ticks.push(tickMs);
      tickMs += schedule.everyMs;
    }
    return ticks;
  }
  for (let tickMs = nextCron(schedule.fields, schedule.zone, afterMs); tickMs !== null && tickMs <= untilMs;) {
    ticks.push(tickMs);
    tickMs = nextCron(schedule.fields, schedule.zone, tickMs);
  }
  return ticks;
}
