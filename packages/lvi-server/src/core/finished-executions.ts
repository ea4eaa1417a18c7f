/**
 * Done executions in memory, for retries, late followups and duplicates; the oldest go when there are too many. Their
 * intents stay in storage for longer, and there the conditional insert of a repeat finds them.
 */
import type { ExecutionId } from "@radical/protocol";
import type { DoneIntent } from "./intent.ts";

/** Rough memory of a record besides its arguments and result. */
const RECORD_BYTES = 600;

export class FinishedExecutions {
  readonly #maxBytes: number;
  /** Oldest first. */
  readonly #done = new Map<ExecutionId, DoneIntent>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(id: ExecutionId): DoneIntent | undefined {
    return this.#done.get(id);
  }

  add(done: DoneIntent): void {
    if (this.#done.has(done.executionId)) return;
    this.#done.set(done.executionId, done);
    this.#bytes += sizeOf(done);
    for (const [id, oldest] of this.#done) {
      if (this.#bytes <= this.#maxBytes || id === done.executionId) return;
      this.#forget(oldest);
    }
  }

  /** Forgets what was done before a time. */
  collect(beforeMs: number): void {
    for (const done of this.#done.values()) if (done.doneAtMs < beforeMs) this.#forget(done);
  }

  #forget(done: DoneIntent): void {
    this.#done.delete(done.executionId);
    this.#bytes -= sizeOf(done);
  }
}

function sizeOf({ args, outcome }: DoneIntent): number {
  return RECORD_BYTES + args.length + (outcome.kind === "result" ? outcome.value.length : outcome.message.length * 2);
}
