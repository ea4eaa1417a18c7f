/** Structured logs: one JSON object a line. */

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
}

/** Drops what is below the level. */
export function createLog(level: LogLevel, write: (line: string) => void): Log {
  const least = LOG_LEVELS.indexOf(level);
  const at = (name: LogLevel) => {
    if (LOG_LEVELS.indexOf(name) < least) return () => {};
    return (event: string, fields: Fields = {}) =>
      write(`${JSON.stringify({ time: new Date().toISOString(), level: name, event, ...fields })}\n`);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
