/**
 * Samples of executions for operators: what an execution ran on, and what came of it, taken in the very step in which the
 * core knows both. `radical replay` runs them again.
 */
import type { Entry, ExecutionId, Outcome, SamplePath, UnitId, Write } from "@radical/protocol";
import type { Invocation } from "./intent.ts";

/** Which executions are sampled: each `every`th of these handlers; null: of all. */
export interface Sampling {
  readonly every: number;
  readonly handlers: ReadonlySet<string> | null;
}

export interface Sample {
  readonly executionId: ExecutionId;
  readonly path: SamplePath;
  readonly location: string;
  readonly invocation: Invocation;
  /** All that it reads, perhaps more. */
  readonly snapshot: ReadonlyMap<UnitId, Entry>;
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

  takes(handler: string): boolean {
    const { every, handlers } = this.#sampling;
    if (handlers !== null && !handlers.has(handler)) return false;
    this.#count++;
    if (this.#count < every) return false;
    this.#count = 0;
    return true;
  }
}
