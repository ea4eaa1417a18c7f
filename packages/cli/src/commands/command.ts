/** What all commands share: the option that names the project, and the way an error is told. */
import { CommandError, EXIT_FAILED, messageOf } from "../command-error.ts";
import { createTerminal } from "../terminal/terminal.ts";

export interface CommonOptions {
  readonly project: string;
  readonly json?: true;
}

export const PROJECT_OPTION = ["-p, --project <folder>", "folder of the application", "."] as const;

/** Writes to stdout; what is piped away ends the command quietly. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs a command; what it throws is told. */
export async function reported({ json }: Pick<CommonOptions, "json">, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    reportError(error, json === true);
  }
}

/** Tells of an error on stderr, or as JSON on stdout, and sets the exit code. */
export function reportError(error: unknown, json: boolean): void {
  const known = error instanceof CommandError ? error : null;
  process.exitCode = known?.exitCode ?? EXIT_FAILED;
  const code = known?.code ?? "internal_error";
  const message = known?.message ?? (error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
  const hint = known?.hint ?? "this is a fault of Radical: please report it";
  if (json) {
    print(JSON.stringify({ error: { code, message, hint } }));
    return;
  }
  const terminal = createTerminal();
  terminal.note(`${terminal.style("red", "error")} ${message}\n  ${hint}`);
}
