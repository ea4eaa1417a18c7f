/**
 * The lines that handlers log, each shown once. Both halves may tell of one execution. Its location has told the run that the primary
 * has confirmed. The primary tells its own run, in place of a followup that did not come.
 */
import type { HandlerLine } from "./dev-events.ts";

/** Most executions that are remembered: the other half tells within seconds. */
const MAX_EXECUTIONS = 10_000;

interface Shown {
  readonly source: string;
  readonly lines: number;
  /** The last one of them. */
  line: number;
}

export class ShownExecutions {
  readonly #shown = new Map<string, Shown>();

  /** Whether the line is to be shown. The first source that tells of an execution is the only one, and its run the only run. */
  isNew(source: string, { execution, line, lines }: HandlerLine): boolean {
    const shown = this.#shown.get(execution);
    if (shown !== undefined) {
      if (shown.source !== source || shown.lines !== lines || line <= shown.line) return false;
      shown.line = line;
      return true;
    }
    this.#shown.set(execution, { source, lines, line });
    if (this.#shown.size > MAX_EXECUTIONS) this.#shown.delete(this.#shown.keys().next().value!);
    return true;
  }
}
