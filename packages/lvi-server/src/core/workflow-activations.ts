/**
 * Activations: runs of workflows on their journals and on what has arrived since. One may be killed, and is repeated. One may name tasks
 * of which it is not known yet whether they are there; it is held until they are known.
 */
import {
  type Activation,
  type CommandTrace,
  MAX_JOURNAL_BYTES,
  MAX_JOURNAL_ENTRIES,
  present,
  type WorkflowRun,
} from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import type { RunId } from "./events.ts";
import type { RunResult } from "./run.ts";
import { NO_SAMPLES } from "./sampling.ts";
import type { TaskError } from "./task.ts";
import type { Instant } from "./task-table.ts";
import { changed, entryPart, invocationOf, type Workflow } from "./workflow.ts";
import type { WorkflowCommands } from "./workflow-commands.ts";
import { type Made, NOTHING_MADE } from "./workflow-commit.ts";
import type { WorkflowsHost } from "./workflow-host.ts";
import { LOADED, takenBy } from "./workflow-journal.ts";
import type { Entry } from "./workflow-table.ts";

/** The results of runs go there. */
interface Results {
  readonly commit: (entry: Entry, made: Made) => void;
  /** It was the last run of its workflow, or of a round. */
  readonly end: (entry: Entry, made: Made) => void;
}

interface Running {
  readonly entry: Entry;
  readonly activation: Activation;
}

export class WorkflowActivations {
  readonly #host: WorkflowsHost;
  readonly #commands: WorkflowCommands;
  readonly #retryMs: number;
  readonly #results: Results;
  readonly #runs = new Map<RunId, Running>();
  /** Runs that have ended, and name tasks of which it is not known yet whether they are there. */
  readonly #held = new Map<Entry, { readonly activation: Activation; readonly run: WorkflowRun }>();
  readonly #pauses = new Deadlines<Entry>((entry) => entry.phase !== "idle");

  constructor(host: WorkflowsHost, commands: WorkflowCommands, retryMs: number, results: Results) {
    this.#host = host;
    this.#commands = commands;
    this.#retryMs = retryMs;
    this.#results = results;
  }

  get #now(): Instant {
    return this.#host.now();
  }

  get running(): number {
    return this.#runs.size;
  }

  owns(run: RunId): boolean {
    return this.#runs.has(run);
  }

  /** When one is repeated, by the time of tasks. Infinity: none is. */
  get dueAtMs(): number {
    return this.#pauses.nextMs ?? Infinity;
  }

  /** Those that may begin again now. */
  *takeDue(nowMs: number): Generator<Entry> {
    for (let due = this.#pauses.takeDue(nowMs); due !== undefined; due = this.#pauses.takeDue(nowMs)) yield due;
  }

  /** Perhaps more tasks are known. */
  goOn(): void {
    // One that still waits is held again.
    const held = Array.from(this.#held);
    for (const [entry, { activation, run }] of held) this.#activated({ entry, activation }, run);
  }

  begin(entry: Entry): void {
    const { workflow } = entry;
    const loaded = present(entry.loaded, LOADED);
    if (this.#host.plansOf(workflow.module)?.get(workflow.handler) !== "workflow")
      return this.#stuck(entry, "module_missing", `The module ${workflow.module} has no workflow ${workflow.handler}.`);
    const last = loaded.entries.at(-1);
    // Its time never goes back, and a timer is not early.
    // variant: workflow-time
    const timeMs = Math.max(this.#now.wallMs, last?.timeMs ?? 0, entry.isTimeOver ? (last?.wait?.untilMs ?? 0) : 0);
    const id = this.#host.nextName();
    entry.phase = "running";
    // variant: activation-module
    const invocation = invocationOf(workflow, timeMs);
    const activation = { journal: [...loaded.entries], arrivals: [...loaded.arrivals], timeMs };
    this.#runs.set(id, { entry, activation });
    this.#host.emit({
      kind: "execute",
      run: {
        id,
        invocation,
        snapshot: NO_SNAPSHOT,
        access: { kind: "workflow", round: workflow.round, activation },
        kills: entry.kills,
      },
      location: "~tasks",
      executions: [workflow.id],
      after: [{ kind: "journaled", workflow: workflow.id, changes: workflow.changes }],
    });
  }

  executed(run: RunId, result: RunResult): void {
    const running = present(this.#runs.get(run), `run ${run} of a workflow is under way`);
    this.#runs.delete(run);
    const { entry } = running;
    entry.phase = "idle";
    switch (result.kind) {
      case "activated":
        entry.kills = 0;
        return this.#activated(running, result.run);
      case "crowded-out":
      case "killed":
        entry.kills++;
        this.#pauses.add(this.#now.nowMs + this.#retryMs * 2 ** Math.min(entry.kills, 9), entry);
        return;
      default:
        throw new Error(`Broken invariant: the run of a workflow is ${result.kind}`);
    }
  }

  #stuck(entry: Entry, code: string, message: string, sampled = NO_SAMPLES): void {
    const error: TaskError = { code, message, atMs: this.#now.wallMs };
    const next: Workflow = { ...changed(entry.workflow), state: "stuck", untilMs: null, error };
    this.#results.commit(entry, { ...NOTHING_MADE, next, sampled });
  }

  #activated({ entry, activation }: Running, run: WorkflowRun): void {
    this.#held.delete(entry);
    entry.phase = "idle";
    if (run.kind === "differs") return this.#stuck(entry, "command_differs", wordsOfDifference(run));
    const { workflow } = entry;
    const { round } = workflow;
    if (run.kind === "trap") {
      const sampled = this.#host.sample(workflow, { round, ...activation, entry: null }, run);
      return this.#stuck(entry, run.code, run.message, sampled);
    }
    const loaded = present(entry.loaded, LOADED);
    const { commands } = run;
    const named = this.#commands.tasksNamedBy(entry, commands);
    if (named === null) {
      entry.phase = "running";
      return void this.#held.set(entry, { activation, run });
    }
    const calls = commands.map(({ command }) => this.#commands.callOf(command));
    const taken = takenBy(loaded, run.entry);
    // variant: entry-as-seen
    const content = { kind: "entry", entry: run.entry, calls, taken } as const;
    const part = entryPart(workflow, workflow.entries, content);
    const grown: Workflow = {
      ...changed(workflow),
      entries: workflow.entries + 1,
      bytes: workflow.bytes + part.content.length,
      untilMs: run.entry.wait?.untilMs ?? null,
    };
    if (grown.entries > MAX_JOURNAL_ENTRIES || grown.bytes > MAX_JOURNAL_BYTES)
      return this.#stuck(entry, "journal_full", JOURNAL_FULL);
    const commit = this.#host.takeCommit();
    const asked = this.#commands.asked(workflow, loaded.commands, commands, calls, commit, named);
    const made = {
      ...NOTHING_MADE,
      commit,
      entry: run.entry,
      part,
      commands,
      calls,
      logged: run.logged ?? [],
      sampled: this.#host.sample(
        workflow,
        { round, ...activation, entry: run.entry },
        run.kind === "ended" ? run.outcome : null,
      ),
      ...asked,
    };
    switch (run.kind) {
      case "waiting":
        return this.#results.commit(entry, { ...made, next: grown });
      case "again":
        return this.#results.end(entry, { ...made, next: { ...grown, state: "ending", again: run.args } });
      case "ended":
        return this.#results.end(entry, { ...made, next: { ...grown, state: "ending", outcome: run.outcome } });
    }
  }
}

const NO_SNAPSHOT = new Map<never, never>();
const JOURNAL_FULL =
  `The journal has more than ${MAX_JOURNAL_ENTRIES} entries, or more than ${MAX_JOURNAL_BYTES} bytes. ` +
  "A workflow that goes on for long goes on with an empty journal: again(…).";
function wordsOfDifference({ command, expected, found, place }: WorkflowRun & { kind: "differs" }): string {
  const words = (trace: CommandTrace | null): string =>
    trace === null ? "none" : `${trace.kind} ${trace.name}`.trim();
  const at = place === "" ? "" : ` at ${place}`;
  return `command ${command} was ${words(expected)}, and is ${words(found)}${at} now: its code is not a function of its journal`;
}
