/**
 * Done executions in memory, for retries, late followups and duplicates. When there are too many, the oldest outcomes
 * are forgotten, then their ids too. Storage keeps all of them for longer.
 *
 * A repeat that writes meets the stored intent in its conditional insert. One that finds nothing to write any more
 * would not, so whether an id is new must be known: what is forgotten is looked up.
 */
import type { ExecutionId } from "@radical/protocol";
import { type DoneIntent, withoutOutcome } from "./intent.ts";

/** Rough memory of a record besides its outcome. */
const RECORD_BYTES = 600;

/**
 * Executions whose id a location chose are repeated within the longest deadline of a request, ten minutes. Those whose
 * id the client chose always make an intent.
 */
export const REPEAT_WINDOW_MS = 900_000;

export class FinishedExecutions {
  readonly #maxBytes: number;
  readonly #maxIds: number;
  /** Oldest first. */
  readonly #done = new Map<ExecutionId, DoneIntent>();
  #bytes = 0;
  /** When they were done; oldest first. */
  readonly #forgotten = new Map<ExecutionId, number>();
  /** Of the ids that are forgotten too, when the last was done. */
  #lostAtMs = Number.NEGATIVE_INFINITY;
  /** The work of earlier servers is not read back. */
  readonly #startedAtMs: number;

  constructor(maxBytes: number, maxIds: number, startedAtMs: number) {
    this.#maxBytes = maxBytes;
    this.#maxIds = maxIds;
    this.#startedAtMs = startedAtMs;
  }

  /** Of the outcomes. */
  get size(): number {
    return this.#done.size;
  }

  get(id: ExecutionId): DoneIntent | undefined {
    return this.#done.get(id);
  }

  /**
   * Whether the id may be that of a done execution of which memory knows no more. `isOurs`: no earlier server can have
   * met the execution.
   */
  isForgotten(id: ExecutionId, isOurs: boolean, nowMs: number): boolean {
    const isRecent = (atMs: number): boolean => nowMs - atMs <= REPEAT_WINDOW_MS;
    // variant: id-forgotten
    return this.#forgotten.has(id) || isRecent(this.#lostAtMs) || (!isOurs && isRecent(this.#startedAtMs));
  }

  add(done: DoneIntent): void {
    // variant: done-kept-once
    if (this.#done.has(done.executionId)) return;
    this.#forgotten.delete(done.executionId);
    this.#done.set(done.executionId, done);
    this.#bytes += sizeOf(done);
    for (const oldest of this.#done.values()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
      this.#forgotten.set(oldest.executionId, oldest.doneAtMs);
    }
    for (const [id, doneAtMs] of this.#forgotten) {
      if (this.#forgotten.size <= this.#maxIds) break;
      this.#forgotten.delete(id);
      this.#lostAtMs = Math.max(this.#lostAtMs, doneAtMs);
    }
  }

  /**
   * Drops executions that were done before one time, and ids that no request can repeat any more. Drops outcomes that were kept
   * briefly, of executions done before another time.
   */
  collect(beforeMs: number, toldBeforeMs: number, nowMs: number): void {
    for (const done of this.#done.values()) {
      if (done.doneAtMs < beforeMs) this.#remove(done);
      else if (done.doneAtMs < toldBeforeMs && done.outcome?.keeps === "briefly") this.#forgetOutcome(done);
    }
    for (const [id, doneAtMs] of this.#forgotten) if (nowMs - doneAtMs > REPEAT_WINDOW_MS) this.#forgotten.delete(id);
  }

  #forgetOutcome(done: DoneIntent): void {
    const rest = withoutOutcome(done);
    this.#done.set(done.executionId, rest);
    this.#bytes += sizeOf(rest) - sizeOf(done);
  }

  #remove(done: DoneIntent): void {
    this.#done.delete(done.executionId);
    this.#bytes -= sizeOf(done);
  }
}

function sizeOf({ outcome }: DoneIntent): number {
  if (outcome === null) return RECORD_BYTES;
  const { value } = outcome;
  return RECORD_BYTES + (value.kind === "result" ? value.value.length : value.message.length * 2);
}
