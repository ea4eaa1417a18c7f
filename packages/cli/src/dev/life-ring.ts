/** The last lives of executions, of both sides, and the streams that get the next ones: bounded, whatever happens. */
import { type CommitId, type Life, MAX_KEPT_LIVES } from "@radical/protocol";

/** Most who follow at once. */
const MAX_FOLLOWERS = 16;

export class LifeRing {
  /** Each as a line of JSON. */
  readonly #lines: string[] = [];
  readonly #followers = new Set<(line: string) => void>();
  /** By commit: when the primary was asked for it, by its clock. */
  readonly #commits = new Map<CommitId, number>();
  #leftOut = 0;

  add(life: Life): void {
    const line = `${JSON.stringify(life)}\n`;
    this.#lines.push(line);
    // Both sides tell of an execution.
    if (this.#lines.length > 2 * MAX_KEPT_LIVES) this.#lines.splice(0, MAX_KEPT_LIVES / 4);
    for (const follow of this.#followers) follow(line);
    if (life.side === "primary" && life.commit !== null) this.#commits.set(life.commit, life.atMs);
    for (const oldest of this.#commits.keys()) if (this.#commits.size > MAX_KEPT_LIVES) this.#commits.delete(oldest);
  }

  /** The primary has left out lives: it tells a bounded number in a second. */
  leaveOut(count: number): void {
    this.#leftOut += count;
  }

  /** Lives that the primary has left out. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** When the primary was asked for the commit; null: that is not among the last ones. */
  writtenAtMs(commit: CommitId): number | null {
    return this.#commits.get(commit) ?? null;
  }

  /** The oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Calls with each line to come, until it is told to stop. Null: too many follow already. */
  follow(onLine: (line: string) => void): (() => void) | null {
    if (this.#followers.size >= MAX_FOLLOWERS) return null;
    const follower = (line: string): void => onLine(line);
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
