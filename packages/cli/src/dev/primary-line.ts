/**
 * Whether the primary answers, as lines for people: one when locations find that it does not, and one when it does again. Every
 * attempt of every call has a warning of its own, which `--json` shows.
 */
import { terminalText } from "@radical/protocol";
import type { DevEvent } from "./dev-events.ts";
import type { Terminal } from "../terminal/terminal.ts";

export class PrimaryLine {
  /** Locations that have missed an answer since the primary answered last. */
  readonly #waiting = new Set<string>();

  /** A line that belongs before that of the event; null: there is none. */
  before(event: DevEvent, { style }: Terminal): string | null {
    switch (event.event) {
      case "primary_unanswered": {
        const isFirst = this.#waiting.size === 0;
        this.#waiting.add(event.location);
        if (!isFirst) return null;
        return `${style("yellow", "!")} ${terminalText(`${event.location} gets no answer from the primary: ${event.message.replace(/\.$/, "")}`)}. Calls that need it are tried again, and answered with 503 in the end`;
      }
      case "request": {
        const isAnswered = (event.path === "speculative" || event.path === "near-storage") && event.status < 500;
        if (!isAnswered || !this.#waiting.delete(event.location)) return null;
        // Another location that misses an answer again gets a new line.
        this.#waiting.clear();
        return `${style("green", "✓")} ${terminalText(event.location)} gets answers from the primary again`;
      }
      default:
        return null;
    }
  }
}
