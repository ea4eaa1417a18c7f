/**
 * Samples of executions for operators: what an execution ran on, and what came of it, taken in the very step in which the
 * core knows both. `radical replay` runs them again.
 */
import type { CommitId, ExecutionId, Outcome, SamplePath, UnitId, Version, Write } from "@radical/protocol";
import type { Invocation } from "./intent.ts";

/** Which executions are sampled: each `every`th of these handlers; null: of all. */
export interface Sampling {
  readonly every: number;
  readonly handlers: ReadonlySet<string> | null;
  /** Whether values are wanted too; without them every execution can be told of. */
  readonly values: boolean;
}

export interface Sample {
  readonly executionId: ExecutionId;
  readonly path: SamplePath;
  readonly location: string;
  readonly invocation: Invocation;
  /** Names its writes; null: it has none. */
  readonly commitId: CommitId | null;
  /** Of all that it reads, perhaps more: what was validated, or what it ran on. */
  readonly versions: ReadonlyMap<UnitId, Version>;
  /** Of the same; null: not wanted. */
  readonly values: ReadonlyMap<UnitId, Uint8Array | null> | null;
  /** Null: only its location knows. */
  readonly ended: { readonly outcome: Outcome; readonly writes: readonly Write[] } | null;
}

/** Says whose turn it is. */
export class Sampler {
  readonly #sampling: Sampling;
  #count = 0;

  constructor(sampling: Sampling) {
    this.#sampling = sampling;
  }

  get wantsValues(): boolean {
    return this.#sampling.values;
  }

  takes(handler: string): boolean {
    const { every, handlers } = this.#sampling;
    if (handlers !== null && !handlers.has(handler)) return false;
    this.#count++;
    if (this.#count < every) return false;
    this.#count = 0;
    return true;
  }
}
