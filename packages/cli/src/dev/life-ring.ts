/** The last lives of executions, of both sides, and the streams that get the next ones: bounded, whatever happens. */
import { type Life, MAX_KEPT_LIVES } from "@radical/protocol";

/** Most who follow at once. */
const MAX_FOLLOWERS = 16;

export class LifeRing {
  /** Each as a line of JSON. */
  readonly #lines: string[] = [];
  readonly #followers = new Set<(line: string) => void>();

  add(life: Life): void {
    const line = `${JSON.stringify(life)}\n`;
    this.#lines.push(line);
    // Both sides tell of an execution.
    if (this.#lines.length > 2 * MAX_KEPT_LIVES) this.#lines.splice(0, MAX_KEPT_LIVES / 4);
    for (const follow of this.#followers) follow(line);
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
