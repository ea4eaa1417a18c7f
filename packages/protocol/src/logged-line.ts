/**
 * The lines that a handler logs. A run keeps its lines, and they are told with the end of the run: only of the run by which its
 * execution has ended.
 */

/** From the least important on. A handler names a level by its place here. */
export const LOG_LINE_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLineLevel = (typeof LOG_LINE_LEVELS)[number];

/** The least level that the handlers of an application log. `silent`: none is logged. */
export const LEAST_LEVELS = [...LOG_LINE_LEVELS, "silent"] as const;
export type LeastLevel = (typeof LEAST_LEVELS)[number];

export interface LoggedLine {
  readonly level: LogLineLevel;
  /** Well-formed. It may have line feeds, and whatever a client has sent. */
  readonly text: string;
}

/** Most lines of one run. One more says how many were left out. */
export const MAX_LOGGED_LINES = 100;

/** Most UTF-16 units of one line. A note behind them says how many it had. */
export const MAX_LOGGED_CHARACTERS = 1_000;
