/**
 * Runs handlers in worker threads, one at a time in each.
 *
 * A run that lasts may be a long one or an endless one, and nobody can tell. So none keeps the others waiting: when others
 * wait, or as many runs last as there are workers, a run that has lasted for a moment is *set aside*. Its thread goes on
 * beside the pool, for a bounded time, and another thread takes its place. As many may be set aside as the pool has workers, so there are never more than twice as
 * many threads that run, which share the cores as the operating system sees fit.
 *
 * A re-execution is a promise: it is not ended because others wait, and it may last longer each time that it was ended at its
 * limit. From then on such runs have a thread of their own, one after the other, in which they keep nobody waiting but each
 * other.
 */
import { Worker } from "node:worker_threads";
import type { ModuleHash } from "@radical/protocol";
import type { Ended, EndedRun, Run, RunResult } from "../core/run.ts";
import { TASKS } from "../core/execution.ts";
import { FairQueue } from "./fair-queue.ts";
import { pack } from "./packed-entries.ts";
import { SentExecutions } from "./sent-executions.ts";
import type { FromWorker, RunMessage, WorkerData } from "./worker.ts";

export interface Executor {
  /** Never rejects: what goes wrong is a result. Runs of several locations take turns. */
  execute(run: Run, location: string): Promise<EndedRun>;
  close(): Promise<void>;
}

export interface WorkerLoad {
  readonly workers: number;
  readonly busy: number;
  readonly aside: number;
  readonly queued: number;
}

export interface WorkerPoolOptions {
  readonly workers: number;
  /** Longest run of a handler. */
  readonly limitMs: number;
  /** Longest run once it was set aside, because others waited. */
  readonly crowdedLimitMs: number;
  /** How long members of a train begin after each other; the others wait for the next train. */
  readonly trainMs?: number;
  /** Of a thread: the heap for the host's own objects, and the values that it keeps between rounds. The memory of handlers is bounded by their module. */
  readonly heapBytes?: number;
  readonly sentBytes?: number;
  /** Told of each run that ended, from when a thread began with it. */
  readonly onRun: (run: Run, ended: EndedRun) => void;
  /** Reads a registered module's content. */
  readonly moduleContent: (hash: ModuleHash) => Promise<Uint8Array | null>;
}

interface Waiting {
  readonly run: Run;
  readonly location: string;
  readonly resolve: (ended: EndedRun) => void;
}

interface Running extends Waiting {
  readonly startedAtMs: number;
  /** Of its next limit: how long it may last while others wait, then how long at all. */
  timer: NodeJS.Timeout;
  /** It has lasted long enough to be set aside. */
  isLong: boolean;
  /** It is ended soon, because others wait. */
  isCrowded: boolean;
}

interface Thread {
  readonly worker: Worker;
  /** Modules that it was sent. */
  readonly modules: Set<ModuleHash>;
  readonly sent: SentExecutions;
  /** Which member of a train it runs. */
  readonly member: Int32Array;
  /** It has started, and takes runs. */
  isUp: boolean;
  running: Running | null;
}

/** How long a run may last before it can be set aside: most are over by then. */
const LONG_MS = 50;

/**
 * How long a train takes as a rule: a few durable writes. Longer ones would save little of them, and keep the first members
 * waiting.
 */
const TRAIN_MS = 10;

/** One run alone crowds nobody, also where there is one worker only. */
const MIN_CROWD = 2;

/** Most threads that are kept to take the place of others: each takes memory, and none takes time. */
const MAX_SPARES = 4;

/** Pause before a thread is replaced that ended before it was up. */
const RESTART_MS = 200;

/** A run on guessed absences, which may be endless because of them, gets this part of the time of another one. */
const GUESSING_SHARE = 10;

/** Longest that a timer lasts. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a run may last that was ended before: twice as long each time. */
function longer(ms: number, { kills }: Run): number {
  return Math.min(ms * 2 ** kills, MAX_TIMER_MS);
}

/** Most modules that a thread keeps compiled, and the pool as bytes: during development every build is one. */
const MAX_MODULES = 16;

const BYTES_PER_MB = 1_048_576;
/** Of a thread. */
const DEFAULT_HEAP_BYTES = 512 * BYTES_PER_MB;
const DEFAULT_SENT_BYTES = 32 * BYTES_PER_MB;

/** Of a thread's stack: what the limit of a module allows is a tenth of it. */
const STACK_MB = 4;

const SHUTTING_DOWN: EndedRun = { result: { kind: "killed", reason: "the server is shutting down" }, tookMs: 0 };

// The sources run as TypeScript, the published package as JavaScript.
const WORKER = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

export class WorkerPool implements Executor {
  readonly #options: WorkerPoolOptions;
  /** Those that take runs from the queue. */
  readonly #lane = new Set<Thread>();
  readonly #aside = new Set<Thread>();
  /** Up already when a place in the lane is to be taken, as a rule. */
  readonly #spares = new Set<Thread>();
  readonly #queue = new FairQueue<Waiting>();
  /** Re-executions that were ended before, and the thread that runs one of them; null: there is none. */
  readonly #again = new FairQueue<Waiting>();
  #apart: Thread | null = null;
  readonly #contents = new Map<ModuleHash, Promise<Uint8Array>>();
  #closed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#fillLane();
  }

  get load(): WorkerLoad {
    const aside = this.#aside.size + (this.#apart === null ? 0 : 1);
    let busy = aside;
    for (const { running } of this.#lane) if (running !== null) busy++;
    return { workers: this.#lane.size, busy, aside, queued: this.#queue.size + this.#again.size };
  }

  execute(run: Run, location: string): Promise<EndedRun> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(SHUTTING_DOWN);
      const isEndedBefore = run.access.kind === "declared" && run.kills > 0;
      (isEndedBefore ? this.#again : this.#queue).push(location, { run, location, resolve });
      if (isEndedBefore) this.#dispatchApart();
      else this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const queue of [this.#queue, this.#again])
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) next.resolve(SHUTTING_DOWN);
    const threads = [...this.#lane, ...this.#aside, ...this.#spares, ...(this.#apart === null ? [] : [this.#apart])];
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  // ── The queue ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #dispatch(): void {
    // The start of a thread is no part of a run's time.
    const free = [...this.#lane].filter(({ running, isUp }) => running === null && isUp);
    while (free.length > 0) {
      const waiting = this.#queue.shift((location) => location === TASKS && this.#tasksHaveEnough);
      if (waiting === undefined) break;
      const knows = free.findIndex(({ sent }) => sent.has(waiting.run));
      this.#begin(free.splice(Math.max(0, knows), 1)[0]!, waiting);
    }
    const { workers } = this.#options;
    const long = [...this.#lane].filter(({ running }) => running?.isLong === true);
    // As many as there are workers take the cores from all else, also from what needs no worker.
    const crowds = long.length + this.#aside.size >= Math.max(workers, MIN_CROWD);
    for (const thread of long) {
      if (this.#aside.size >= workers || (this.#queue.size === 0 && !crowds)) return;
      if (this.#lane.has(thread)) this.#setAside(thread, thread.running!);
    }
  }

  /** Tasks have half of the workers at most while requests wait: nobody waits for a task as for an answer. */
  get #tasksHaveEnough(): boolean {
    let tasks = 0;
    for (const { running } of this.#lane) if (running?.location === TASKS) tasks++;
    return tasks >= Math.max(1, Math.floor(this.#options.workers / 2));
  }

  #dispatchApart(): void {
    if (this.#closed || this.#again.size === 0) return;
    if (this.#apart === null) {
      const [spare] = this.#spares;
      if (spare !== undefined) this.#spares.delete(spare);
      this.#apart = spare ?? this.#thread();
    }
    if (this.#apart.isUp && this.#apart.running === null) this.#begin(this.#apart, this.#again.shift()!);
  }

  #begin(thread: Thread, waiting: Waiting): void {
    const limitMs = this.#limitOf(waiting.run);
    const running: Running = {
      ...waiting,
      startedAtMs: performance.now(),
      isLong: false,
      isCrowded: false,
      timer: setTimeout(
        () => {
          running.isLong = true;
          running.timer = setTimeout(() => this.#overrun(thread, limitMs), Math.max(0, limitMs - LONG_MS));
          // The other members of its train wait.
          if (running.run.followers !== undefined) this.#crowd(thread, running);
          this.#dispatch();
        },
        Math.min(LONG_MS, limitMs),
      ),
    };
    thread.running = running;
    void this.#send(thread, running);
  }

  #setAside(thread: Thread, running: Running): void {
    this.#lane.delete(thread);
    this.#aside.add(thread);
    this.#crowd(thread, running);
    this.#fillLane();
  }

  /** Others wait for it from now on. */
  #crowd(thread: Thread, running: Running): void {
    if (running.isCrowded) return;
    running.isCrowded = true;
    const { run } = running;
    const crowdedLimitMs = run.access.kind === "declared" ? Infinity : longer(this.#options.crowdedLimitMs, run);
    const limitMs = this.#limitOf(run);
    const leftMs = limitMs - (performance.now() - running.startedAtMs);
    clearTimeout(running.timer);
    running.timer =
      crowdedLimitMs < leftMs
        ? setTimeout(() => this.#end(thread, { kind: "crowded-out" }), crowdedLimitMs)
        : setTimeout(() => this.#overrun(thread, limitMs), leftMs);
  }

  #overrun(thread: Thread, limitMs: number): void {
    this.#end(thread, { kind: "killed", reason: `the handler ran longer than ${limitMs} ms` });
  }

  #limitOf(run: Run): number {
    const { access } = run;
    const { limitMs } = this.#options;
    if (access.kind === "declared") return longer(limitMs, run);
    return access.kind === "record" && access.guess ? Math.ceil(limitMs / GUESSING_SHARE) : limitMs;
  }

  // ── A run ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #send(thread: Thread, running: Running): Promise<void> {
    const { run } = running;
    const { module } = run.invocation;
    let content: Uint8Array | null = null;
    let forget = false;
    if (!thread.modules.has(module)) {
      try {
        content = await this.#contentOf(module);
      } catch (error) {
        if (thread.running === running)
          this.#finish(thread, { result: { kind: "killed", reason: String(error) }, tookMs: 0 });
        return;
      }
      forget = thread.modules.size >= MAX_MODULES;
      if (forget) thread.modules.clear();
      thread.modules.add(module);
    }
    if (thread.running !== running) return;
    const { access, followers = null } = run;
    const sending = thread.sent.send(run);
    const values = pack(sending.values);
    const message: RunMessage = { ...sending, values, access, followers, content, forget };
    Atomics.store(thread.member, 0, 0);
    thread.worker.postMessage(message, [values.bytes.buffer]);
  }

  /** Threads come and go more often than modules. */
  #contentOf(module: ModuleHash): Promise<Uint8Array> {
    const known = this.#contents.get(module);
    if (known !== undefined) return known;
    const reading = this.#options.moduleContent(module).then((content) => {
      if (content === null) throw new Error(`module ${module} is not stored`);
      return content;
    });
    this.#contents.set(module, reading);
    reading.catch(() => this.#contents.delete(module));
    if (this.#contents.size > MAX_MODULES) {
      const [oldest] = this.#contents.keys();
      this.#contents.delete(oldest!);
    }
    return reading;
  }

  /** The thread has done its run. */
  #finish(thread: Thread, ended: EndedRun): void {
    const { running } = thread;
    if (running === null) return;
    thread.running = null;
    const wasApart = thread === this.#apart;
    if (wasApart && this.#again.size === 0) this.#apart = null;
    if (this.#aside.delete(thread) || (wasApart && this.#apart === null)) {
      if (this.#spares.size < this.#sparesWanted) this.#spares.add(thread);
      else void thread.worker.terminate();
    }
    this.#settle(running, ended);
    if (wasApart) this.#dispatchApart();
    else this.#dispatch();
  }

  /** The thread goes, with what it runs. */
  #end(thread: Thread, result: RunResult): void {
    const wasApart = thread === this.#apart;
    if (wasApart) this.#apart = null;
    else if (!this.#lane.delete(thread) && !this.#aside.delete(thread) && !this.#spares.delete(thread)) return;
    void thread.worker.terminate();
    const { running } = thread;
    thread.running = null;
    if (running !== null) this.#settle(running, stoppedAt(Atomics.load(thread.member, 0), running, result));
    if (this.#closed) return;
    const goOn = (): void => {
      this.#fillLane();
      this.#dispatchApart();
    };
    if (thread.isUp) return goOn();
    // A thread that ends before it is up may go on to do so: not as fast as it can, and nobody waits for it for ever.
    (wasApart ? this.#again : this.#queue).shift()?.resolve({ result, tookMs: 0 });
    setTimeout(goOn, RESTART_MS);
  }

  #settle({ run, timer, resolve }: Running, ended: EndedRun): void {
    clearTimeout(timer);
    this.#options.onRun(run, ended);
    resolve(ended);
  }

  // ── Threads ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #fillLane(): void {
    if (this.#closed) return;
    while (this.#lane.size < this.#options.workers) {
      const [spare] = this.#spares;
      if (spare !== undefined) this.#spares.delete(spare);
      this.#lane.add(spare ?? this.#thread());
    }
    while (this.#spares.size < this.#sparesWanted) this.#spares.add(this.#thread());
    this.#dispatch();
  }

  /** One that is set aside becomes a spare when it ends, and no more are set aside than there are workers. */
  get #sparesWanted(): number {
    return Math.min(this.#options.workers - this.#aside.size, MAX_SPARES);
  }

  #thread(): Thread {
    const { heapBytes = DEFAULT_HEAP_BYTES, sentBytes = DEFAULT_SENT_BYTES } = this.#options;
    const member = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(WORKER, {
      workerData: { member, trainMs: this.#options.trainMs ?? TRAIN_MS } satisfies WorkerData,
      resourceLimits: { maxOldGenerationSizeMb: Math.floor(heapBytes / BYTES_PER_MB), stackSizeMb: STACK_MB },
    });
    const sent = new SentExecutions(sentBytes);
    const thread: Thread = { worker, modules: new Set(), sent, member, isUp: false, running: null };
    worker.on("message", (message: FromWorker) => {
      if (message !== "up") {
        const { running } = thread;
        return running === null ? undefined : this.#finish(thread, answered(running, message));
      }
      thread.isUp = true;
      if (thread === this.#apart) this.#dispatchApart();
      else this.#dispatch();
    });
    const ended = (reason: string): void => this.#end(thread, { kind: "killed", reason });
    worker.on("error", (error) => ended(`its thread failed: ${String(error)}`));
    worker.on("exit", () => ended("its thread ended"));
    return thread;
  }
}

/** The answer of a thread. */
function answered({ startedAtMs }: Running, message: RunResult | readonly Ended[]): EndedRun {
  if ("kind" in message) return { result: message, tookMs: performance.now() - startedAtMs };
  const [head = NOT_RUN, ...followers] = message;
  return { ...head, followers };
}

/** A member of a train was stopped, and with it the results of those before are lost. A run alone is the first member. */
function stoppedAt(member: number, { startedAtMs }: Running, result: RunResult): EndedRun {
  const stopped: Ended = { result, tookMs: performance.now() - startedAtMs };
  if (member === 0) return stopped;
  return { ...NOT_RUN, followers: [...Array.from({ length: member - 1 }, () => NOT_RUN), stopped] };
}

const NOT_RUN: Ended = { result: { kind: "not-run" }, tookMs: 0 };
