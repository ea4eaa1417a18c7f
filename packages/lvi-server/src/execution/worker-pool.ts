/**
 * Runs handlers in worker threads, one at a time in each. A run over the wall-clock limit ends with its thread, which is
 * replaced; the others go on.
 */
import { Worker } from "node:worker_threads";
import type { ModuleHash } from "@radical/protocol";
import type { ExecutionResult, ExecutionTask } from "../core/execution-task.ts";
import type { WorkerTask } from "./worker.ts";

/** What came of a task, and how long it took a thread: 0 if none began with it. */
export interface Run {
  readonly result: ExecutionResult;
  readonly tookMs: number;
}

export interface Executor {
  /** Never rejects: what goes wrong is the result `killed`. */
  execute(task: ExecutionTask): Promise<Run>;
  close(): Promise<void>;
}

export interface WorkerLoad {
  readonly workers: number;
  readonly busy: number;
  readonly queued: number;
}

export interface WorkerPoolOptions {
  readonly workers: number;
  /** Longest run of a handler. */
  readonly limitMs: number;
  /** Told of each run that ended, from when a thread began with it. */
  readonly onRun: (task: ExecutionTask, run: Run) => void;
  /** Reads a registered module's content. */
  readonly moduleContent: (hash: ModuleHash) => Promise<Uint8Array | null>;
}

interface Waiting {
  readonly task: ExecutionTask;
  readonly resolve: (run: Run) => void;
}

interface Slot {
  readonly worker: Worker;
  /** Modules that the worker was sent. */
  readonly modules: Set<ModuleHash>;
  /** Whether it ever ended a run. */
  answered: boolean;
  running: (Waiting & { readonly timer: NodeJS.Timeout; readonly startedAtMs: number }) | null;
}

/** Pause before a thread is replaced that ended before it did anything. */
const RESTART_MS = 200;

/** A run on guessed absences, which may be endless because of them, gets this part of the time of another one. */
const GUESSING_SHARE = 10;

/** Most modules that a worker keeps compiled: during development every build is one. */
const MAX_MODULES = 16;

const SHUTTING_DOWN: Run = { result: { kind: "killed", reason: "the server is shutting down" }, tookMs: 0 };

// The sources run as TypeScript, the published package as JavaScript.
const WORKER = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

export class WorkerPool implements Executor {
  readonly #options: WorkerPoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #queue: Waiting[] = [];
  #closed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    for (let i = 0; i < options.workers; i++) this.#start();
  }

  get load(): WorkerLoad {
    let busy = 0;
    for (const { running } of this.#slots) if (running !== null) busy++;
    return { workers: this.#slots.size, busy, queued: this.#queue.length };
  }

  execute(task: ExecutionTask): Promise<Run> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(SHUTTING_DOWN);
      this.#queue.push({ task, resolve });
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { resolve } of this.#queue.splice(0)) resolve(SHUTTING_DOWN);
    await Promise.all([...this.#slots].map((slot) => slot.worker.terminate()));
  }

  #start(): void {
    const slot: Slot = { worker: new Worker(WORKER), modules: new Set(), answered: false, running: null };
    this.#slots.add(slot);
    slot.worker.on("message", (result: ExecutionResult) => this.#finish(slot, result));
    slot.worker.on("error", (error) => this.#replace(slot, `its thread failed: ${String(error)}`));
    slot.worker.on("exit", () => this.#replace(slot, "its thread ended"));
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (slot.running !== null) continue;
      const waiting = this.#queue.shift();
      if (waiting === undefined) return;
      const limitMs = this.#limitOf(waiting.task);
      const timer = setTimeout(() => this.#replace(slot, `the handler ran longer than ${limitMs} ms`), limitMs);
      slot.running = { ...waiting, timer, startedAtMs: performance.now() };
      void this.#send(slot, waiting.task);
    }
  }

  #limitOf({ access }: ExecutionTask): number {
    const { limitMs } = this.#options;
    return access.kind === "record" && access.guess ? Math.ceil(limitMs / GUESSING_SHARE) : limitMs;
  }

  async #send(slot: Slot, task: ExecutionTask): Promise<void> {
    const { module } = task.invocation;
    let content: Uint8Array | null = null;
    let forget = false;
    if (!slot.modules.has(module)) {
      try {
        content = await this.#options.moduleContent(module);
        if (content === null) throw new Error(`module ${module} is not stored`);
      } catch (error) {
        this.#finish(slot, { kind: "killed", reason: String(error) });
        return;
      }
      forget = slot.modules.size >= MAX_MODULES;
      if (forget) slot.modules.clear();
      slot.modules.add(module);
    }
    if (!this.#slots.has(slot)) return;
    const message: WorkerTask = { task, content, forget };
    slot.worker.postMessage(message);
  }

  #finish(slot: Slot, result: ExecutionResult): void {
    const { running } = slot;
    if (running === null) return;
    slot.answered = true;
    slot.running = null;
    this.#settle(running, result);
    this.#dispatch();
  }

  #replace(slot: Slot, reason: string): void {
    if (!this.#slots.delete(slot)) return;
    void slot.worker.terminate();
    const { running } = slot;
    if (running !== null) this.#settle(running, { kind: "killed", reason });
    if (this.#closed) return;
    if (slot.answered) {
      this.#start();
      this.#dispatch();
    } else {
      // A thread that ends before it has done anything may go on to do so: not as fast as it can.
      setTimeout(() => {
        if (this.#closed) return;
        this.#start();
        this.#dispatch();
      }, RESTART_MS);
    }
  }
  #settle({ task, timer, startedAtMs, resolve }: NonNullable<Slot["running"]>, result: ExecutionResult): void {
    clearTimeout(timer);
    const run: Run = { result, tookMs: performance.now() - startedAtMs };
    this.#options.onRun(task, run);
    resolve(run);
  }
}
