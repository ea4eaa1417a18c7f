/** The lines that one run has logged: bounded, whatever the handler does. */
import { type LoggedLine, type LogLineLevel, MAX_LOGGED_CHARACTERS, MAX_LOGGED_LINES } from "@radical/protocol";

export class LoggedLines {
  readonly #lines: LoggedLine[] = [];
  #leftOut = 0;

  /** Adds a line of so many UTF-16 units. `read` gives the first of them. */
  add(level: LogLineLevel, length: number, read: (units: number) => string): void {
    if (this.#lines.length === MAX_LOGGED_LINES) {
      this.#leftOut++;
      return;
    }
    const text = read(Math.min(length, MAX_LOGGED_CHARACTERS)).toWellFormed();
    const note = length > MAX_LOGGED_CHARACTERS ? `… (cut: the line has ${length} characters)` : "";
    this.#lines.push({ level, text: text + note });
  }

  /** In their order. The last one may say how many are left out. */
  get all(): readonly LoggedLine[] {
    if (this.#leftOut === 0) return this.#lines;
    const text = `… (${this.#leftOut} more lines of this run are left out: at most ${MAX_LOGGED_LINES} are kept)`;
    return [...this.#lines, { level: "warn", text }];
  }
}
