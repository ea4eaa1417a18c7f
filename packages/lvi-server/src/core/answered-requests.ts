/**
 * Requests that were answered without leaving a trace in storage: read-only executions and refusals.
 *
 * Such an execution may write if it runs again, because it finds other values. That is right for a location that sends the
 * same execution again: it has given up the answers to its earlier attempts. It would be wrong for a duplicate, or for an
 * attempt that a later one has overtaken. Their answer was used, or their location is gone. Attempts are numbered, so an
 * answered one is known as long as it is remembered.
 *
 * Memory is bounded, and begins when the server starts. A request that was certainly sent after the beginning of memory and
 * is not in it is new. Commit ids are the clock. Each reply names the latest one taken, each request the one that its
 * location has seen, and memory begins at one. So no clock of a location matters, and a location that has heard nothing
 * since pays one more round trip.
 */
import { type CommitId, compareCommits, type LviRequest } from "@radical/protocol";
import { AttemptTable } from "./attempt-table.ts";

export interface AnsweredOptions {
  readonly maxIds: number;
  /** How far the time of a request's signature may be from ours. */
  readonly replayWindowMs: number;
}

export class AnsweredRequests {
  readonly #options: AnsweredOptions;
  /**
   * The last attempts that were answered, by execution and seed. Attempts of one series have the same seed. The same
   * execution asked for elsewhere or anew has another. Two generations: when one is full, the older one goes.
   */
  #recent = new AttemptTable();
  #older = new AttemptTable();
  /** When each generation began, as a commit id. */
  #recentSince: CommitId;
  #olderSince: CommitId;
  /** When the older one began, by our clock. */
  #olderSinceMs: number;
  #recentSinceMs: number;
  /** The core looks a request up twice: when it comes, and when it is answered. */
  #looked: { readonly request: LviRequest; readonly known: number } | null = null;

  constructor(options: AnsweredOptions, since: CommitId, nowMs: number) {
    this.#options = options;
    this.#recentSince = this.#olderSince = since;
    this.#recentSinceMs = this.#olderSinceMs = nowMs;
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** `takeMark` takes a commit id that nobody has heard of. */
  add(request: LviRequest, takeMark: () => CommitId, nowMs: number): void {
    this.#recent.set(request, Math.max(this.#known(request), request.attempt));
    this.#looked = null;
    if (this.#recent.size * 2 < this.#options.maxIds) return;
    this.#older = this.#recent;
    // variant: memory-begins
    this.#olderSince = this.#recentSince;
    this.#olderSinceMs = this.#recentSinceMs;
    this.#recent = new AttemptTable();
    this.#recentSince = takeMark();
    this.#recentSinceMs = nowMs;
  }

  /** Whether the request, or a later attempt, was answered; `in doubt` if it may have been and is forgotten. */
  look(request: LviRequest, latest: CommitId, nowMs: number): "new" | "answered" | "in doubt" {
    // variant: attempt-answered
    if (request.attempt <= this.#known(request)) return "answered";
    // A later one than is known may still have been answered and forgotten, before a duplicate of an earlier one was
    // refused and remembered.
    if (this.isSentInMemory(request, latest)) return "new";
    // An earlier request could still be signed well enough for two replay windows, one before our time and one after it. A
    // third window covers a clock of ours that was set.
    return nowMs - this.#olderSinceMs > 3 * this.#options.replayWindowMs ? "new" : "in doubt";
  }

  /** Whether the request was certainly sent after memory began. */
  isSentInMemory({ seen }: LviRequest, latest: CommitId): boolean {
    // variant: sent-in-memory
    return seen !== null && compareCommits(seen, this.#olderSince) >= 0 && compareCommits(seen, latest) <= 0;
  }

  /** 0: none. */
  #known(request: LviRequest): number {
    if (this.#looked?.request === request) return this.#looked.known;
    const known = this.#recent.get(request) || this.#older.get(request);
    this.#looked = { request, known };
    return known;
  }
}
