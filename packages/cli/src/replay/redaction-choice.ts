/** The options by which a person chooses what the primary redacts before records leave it. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { checkRedaction, MalformedError, type RedactionQuestion } from "@radical/protocol";

export interface RedactionOptions {
  readonly redact: readonly string[];
  readonly whole: boolean;
}

/** Null: the person has chosen nothing. Throws a CommandError. */
export function redactionChoice({ redact, whole }: RedactionOptions): RedactionQuestion | null {
  if (whole && redact.length > 0) throw wrongUse("--whole and --redact contradict each other.", "Give one of them.");
  if (redact.length === 0) return whole ? [] : null;
  try {
    return checkRedaction(redact);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    throw wrongUse(`--redact: ${error.message}`, "radical record --help shows the usage.");
  }
}

function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
