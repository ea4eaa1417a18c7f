/**
 * Why a command ended: what the user reads and what the shell gets. Diagnostics about handlers are not errors of
 * this kind; they are printed with their code frames and the command then fails.
 */

/** Exit codes of every command, as `--help` documents them. */
export const EXIT_OK = 0;
/** The command did its work and the answer is no: handlers with errors, an application that can't start. */
export const EXIT_FAILED = 1;
/** Nothing was done: wrong usage, or a configuration that can't be used. */
export const EXIT_USAGE = 2;
/** With --strict: it worked, but the set of some handler is neither sliced nor given. */
export const EXIT_FALLBACK = 3;

export class CommandError extends Error {
  override readonly name = "CommandError";
  /** Permanent and machine-readable, in snake_case. */
  readonly code: string;
  /** The way out, in the user's terms. */
  readonly hint: string;
  readonly exitCode: typeof EXIT_FAILED | typeof EXIT_USAGE | typeof EXIT_FALLBACK;

  constructor(
    code: string,
    message: string,
    hint: string,
    options: { readonly exitCode?: CommandError["exitCode"]; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = hint;
    this.exitCode = options.exitCode ?? EXIT_FAILED;
  }
}

/** The words of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
