/** The last lines of a log, and those who follow it: both bounded, whatever is logged and whoever asks. */
import type { Writing } from "./log.ts";

/** Most lines that are kept, and most characters of all of them. */
export const MAX_LINES = 1_000;
export const MAX_CHARACTERS = 1024 * 1024;
/** Most who follow at once. */
export const MAX_FOLLOWERS = 16;

const LEVELS: readonly Writing[] = ["debug", "info", "warn", "error"];

interface Line {
  readonly level: Writing;
  /** With its line feed. */
  readonly text: string;
}

export class LogRing {
  readonly #lines: Line[] = [];
  #characters = 0;
  readonly #followers = new Set<(line: Line) => void>();

  add(level: Writing, text: string): void {
    const line = { level, text };
    this.#lines.push(line);
    this.#characters += text.length;
    while (this.#lines.length > MAX_LINES || this.#characters > MAX_CHARACTERS)
      this.#characters -= this.#lines.shift()!.text.length;
    for (const follower of this.#followers) follower(line);
  }

  /** The last lines of at least that level, the oldest first. */
  last(count: number, least: Writing): readonly string[] {
    const wanted = this.#lines.filter(({ level }) => isWanted(level, least));
    return wanted.slice(wanted.length - Math.min(count, wanted.length)).map(({ text }) => text);
  }

  /** Calls with each line to come, until it is told to stop. Null: too many follow already. */
  follow(least: Writing, onLine: (text: string) => void): (() => void) | null {
    if (this.#followers.size >= MAX_FOLLOWERS) return null;
    const follower = ({ level, text }: Line): void => {
      if (isWanted(level, least)) onLine(text);
    };
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

function isWanted(level: Writing, least: Writing): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}
