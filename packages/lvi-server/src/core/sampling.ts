/**
 * Samples of executions for operators. A sample has the input of an execution and its result. The core takes it in the very
 * step in which it knows both. `radical replay` runs it again.
 */
import {
  type AccessedUnit,
  type Arrival,
  type CommitId,
  decodeDirectory,
  encodeCount,
  encodeDirectory,
  type Entry,
  type ExecutionId,
  isSpan,
  type Journal,
  type JournalEntry,
  type Outcome,
  present,
  type SamplePath,
  spanOf,
  type UnitId,
  type Version,
} from "@radical/protocol";
import { itemsOf } from "./captured-spans.ts";
import { type Ended, TASKS } from "./execution.ts";
import type { IntentUnit, Invocation } from "./intent.ts";
import type { RangeTable } from "./range-table.ts";
import type { Task } from "./task.ts";
import type { VersionTable } from "./version-table.ts";
import { invocationOf, type StepName, type Workflow } from "./workflow.ts";

/** Which executions are sampled: each `every`th of these handlers; null: of all. */
export interface Sampling {
  readonly every: number;
  readonly handlers: ReadonlySet<string> | null;
  /** Whether samples bring values too. Without values every execution can be sampled. */
  readonly values: boolean;
  /** Most samples of a second; null: any number. The others cost nothing but their count. */
  readonly perSecond: number | null;
}

export interface Sample {
  readonly executionId: ExecutionId;
  readonly path: SamplePath;
  readonly location: string;
  readonly invocation: Invocation;
  /** Names its writes; null: it has none. */
  readonly commitId: CommitId | null;
  /** Of all units that it reads, perhaps of more: as validated, or as captured. With values also of the rows of spans. */
  readonly versions: ReadonlyMap<UnitId, Version>;
  /** Of the same units; null: not wanted. */
  readonly values: ReadonlyMap<UnitId, Uint8Array | null> | null;
  /** Null: only its location knows, or it is an activation that waits or begins anew. */
  readonly ended: Pick<Ended, "outcome" | "writes" | "effects"> | null;
  /** The task of which it is an attempt, the first one being 1; null: it is none. */
  readonly task: { readonly attempt: number; readonly parent: ExecutionId } | null;
  /** The step of a workflow that it is; null: it is none. */
  readonly step: StepName | null;
  /** Of the run of a workflow; null: it is none, or values are not wanted. */
  readonly activation: SampledActivation | null;
}

/** The run of a workflow on its journal. */
export interface SampledActivation {
  readonly round: number;
  /** Of the activations before it. */
  readonly journal: Journal;
  readonly arrivals: readonly Arrival[];
  readonly timeMs: number;
  /** The entry that it has added; null: it has trapped. */
  readonly entry: JournalEntry | null;
}

export type SampleEffect = { readonly sampling: Sampling } & (
  | { readonly kind: "sampled"; readonly sample: Sample }
  /** Executions whose turn it was. Memory no longer holds their values, or there were too many. */
  | { readonly kind: "sample-left-out"; readonly count: number }
);

/** How far a rule has come. */
interface Progress {
  /** Executions since the last one whose turn it was. */
  count: number;
  /** The second that is under way ends then, and has had so many samples. */
  endsAtMs: number;
  taken: number;
  /** Left out since the last sample, because there were too many. */
  leftOut: number;
}

const SECOND_MS = 1_000;

/** The execution that a sample is about. */
export interface Sampled {
  readonly id: ExecutionId;
  readonly location: string;
  readonly invocation: Invocation;
  readonly task?: Task | null;
  readonly step?: StepName | null;
}

/** The end of such an execution, as of {@link Sample}. */
interface End extends Pick<Sample, "path" | "activation"> {
  readonly commit: CommitId | null;
  readonly ground: Ground;
  readonly ended: Ended | null;
}

/** The values that an execution ran on. */
export type Ground =
  /** At its location, on versions that were found to be the primary's in this step. */
  | { readonly kind: "validated"; readonly units: readonly (AccessedUnit | IntentUnit)[] }
  /** Near storage, on captured values. The last run has read a part of them, and that part was still the same at its end. */
  | { readonly kind: "captured"; readonly snapshot: ReadonlyMap<UnitId, Entry>; readonly reads: readonly UnitId[] };

/** Of most executions nobody wants one. */
export const NO_SAMPLES: readonly SampleEffect[] = [];
/** A workflow reads no unit. */
const NO_GROUND: Ground = { kind: "captured", snapshot: new Map(), reads: [] };

type Memory = Pick<VersionTable, "get" | "isCurrent"> & { readonly ranges: Pick<RangeTable, "rowsOf" | "countOf"> };

export class Sampler {
  readonly #memory: Memory;
  readonly #nowMs: () => number;
  #samplings: Map<Sampling, Progress> = new Map();

  /** @param nowMs by the monotonic clock, in the step that is under way */
  constructor(memory: Memory, nowMs: () => number) {
    this.#memory = memory;
    this.#nowMs = nowMs;
  }

  /** Samples by each of these rules from now on. One that went on before keeps its count. */
  begin(samplings: readonly Sampling[]): void {
    const begun = (): Progress => ({ count: 0, endsAtMs: -Infinity, taken: 0, leftOut: 0 });
    this.#samplings = new Map(samplings.map((sampling) => [sampling, this.#samplings.get(sampling) ?? begun()]));
  }

  get isOn(): boolean {
    return this.#samplings.size > 0;
  }

  /** The samples of an execution that ends in this step, or is about to be stored. Each rule whose turn it is gives one. */
  sample(
    sampled: Sampled,
    path: SamplePath,
    commit: CommitId | null,
    ground: Ground,
    ended: Ended | null,
  ): readonly SampleEffect[] {
    if (!this.isOn) return NO_SAMPLES;
    return this.#take(sampled, { path, commit, ground, ended, activation: null });
  }

  /** The samples of a run of a workflow that is about to be stored. `outcome` null: the workflow goes on. */
  activation(workflow: Workflow, activation: SampledActivation, outcome: Outcome | null): readonly SampleEffect[] {
    if (!this.isOn) return NO_SAMPLES;
    const { id, parent } = workflow;
    const sampled = { id, location: TASKS, invocation: invocationOf(workflow, activation.timeMs), step: parent };
    const ended = outcome === null ? null : { outcome, writes: [] };
    return this.#take(sampled, { path: "activation", commit: null, ground: NO_GROUND, ended, activation });
  }

  #take(sampled: Sampled, end: End): readonly SampleEffect[] {
    const effects: SampleEffect[] = [];
    for (const [sampling, progress] of this.#samplings) {
      if (!this.#isTurn(sampled.invocation.handler, sampling, progress)) continue;
      const { leftOut } = progress;
      if (leftOut > 0) effects.push({ sampling, kind: "sample-left-out", count: leftOut });
      progress.leftOut = 0;
      effects.push(this.#takeBy(sampling, sampled, end));
    }
    return effects;
  }

  #takeBy(
    sampling: Sampling,
    { id, location, invocation, task = null, step = null }: Sampled,
    { path, commit, ground, ended, activation }: End,
  ): SampleEffect {
    const { executionId, module, handler, args, environment } = invocation;
    const entries = sampling.values ? this.#entriesOf(ground) : null;
    if (entries === null && sampling.values) return { sampling, kind: "sample-left-out", count: 1 };
    // variant: sample-made
    const sample: Sample = {
      executionId: id,
      path,
      location,
      // The invocation may be a whole request.
      invocation: { executionId, module, handler, args, environment },
      commitId: ended === null || ended.writes.length === 0 ? null : commit,
      versions: entries === null ? versionsOf(ground) : new Map(mapped(entries, ({ version }) => version)),
      values: entries === null ? null : new Map(mapped(entries, ({ value }) => value)),
      ended,
      task: task === null ? null : { attempt: task.attempt + 1, parent: task.parent },
      step,
      activation: sampling.values ? activation : null,
    };
    return { sampling, kind: "sampled", sample };
  }

  #isTurn(handler: string, { every, handlers, perSecond }: Sampling, progress: Progress): boolean {
    if (handlers !== null && !handlers.has(handler)) return false;
    if (++progress.count < every) return false;
    progress.count = 0;
    if (perSecond === null) return true;
    const nowMs = this.#nowMs();
    if (nowMs >= progress.endsAtMs) {
      progress.endsAtMs = nowMs + SECOND_MS;
      progress.taken = 0;
    }
    if (++progress.taken <= perSecond) return true;
    progress.leftOut++;
    return false;
  }

  /** Null: memory does not hold all of these versions. One may be a write of the same location that is not applied yet. */
  #entriesOf(ground: Ground): ReadonlyMap<UnitId, Entry> | null {
    const entries = new Map<UnitId, Entry>();
    if (ground.kind === "captured") {
      for (const [unit, entry] of entriesRead(ground)) entries.set(unit, entry);
      return entries;
    }
    for (const accessed of ground.units) {
      if (accessed.mode === "write") continue;
      const { unit, version } = accessed;
      if (version === null || !this.#memory.isCurrent(unit, version)) return null;
      const span = isSpan(unit) ? spanOf(unit) : null;
      const rows = span?.kind === "rows" ? this.#memory.ranges.rowsOf(span) : [];
      if (span?.kind === "rows") entries.set(unit, { version, value: encodeDirectory(rows) });
      else if (span !== null) entries.set(unit, { version, value: encodeCount(this.#memory.ranges.countOf(span)) });
      for (const item of span === null ? [unit] : itemsOf(span, rows)) {
        const entry = this.#memory.get(item);
        if (entry === undefined) return null;
        entries.set(item, entry);
      }
    }
    return entries;
  }
}

function* mapped<T>(entries: ReadonlyMap<UnitId, Entry>, part: (entry: Entry) => T): Generator<readonly [UnitId, T]> {
  for (const [unit, entry] of entries) yield [unit, part(entry)];
}

function versionsOf(ground: Ground): ReadonlyMap<UnitId, Version> {
  const versions = new Map<UnitId, Version>();
  if (ground.kind === "captured") {
    for (const [unit, { version }] of entriesRead(ground)) versions.set(unit, version);
    return versions;
  }
  for (const accessed of ground.units) {
    if (accessed.mode !== "write" && accessed.version !== null) versions.set(accessed.unit, accessed.version);
  }
  return versions;
}

function* entriesRead({ snapshot, reads }: Ground & { kind: "captured" }): Iterable<readonly [UnitId, Entry]> {
  for (const unit of reads) {
    const entry = snapshot.get(unit);
    if (entry === undefined) throw new Error(`The run has read ${unit}, which was not captured`);
    yield [unit, entry];
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span?.kind !== "rows" || entry.value === null) continue;
    for (const item of itemsOf(span, decodeDirectory(entry.value)))
      yield [item, present(snapshot.get(item), "the rows of a captured span are captured")];
  }
}
