/** What all commands share: the option that names the project, and the way an error is told. */
import type { Option } from "@radical/command-line";
import { CommandError, EXIT_FAILED, messageOf } from "../command-error.ts";
import type { StepsOutcome } from "../deploy/steps.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal, print } from "../terminal/terminal.ts";

export interface CommonOptions {
  readonly project: string;
  readonly json: boolean;
}

export const PROJECT = {
  kind: "text",
  short: "p",
  placeholder: "folder",
  default: ".",
  words: "folder of the application",
} as const satisfies Option;

/** Runs a command; what it throws is told, with the state in which it leaves things, if there is something to say of it. */
export async function reported(
  { json }: Pick<CommonOptions, "json">,
  run: () => Promise<void>,
  state?: string,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    reportError(error, json, state);
  }
}

/**
 * Runs a command that changes things by steps. What it throws, it throws before. Ctrl-C or SIGTERM breaks it off, so that it
 * can say what it has done; another one ends it at once.
 */
export async function interruptible(
  options: Pick<CommonOptions, "json">,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal, stopListening } = untilSignal();
  signal.addEventListener("abort", () => {
    createTerminal({ quiet: options.json }).note("stopping: what is under way is given up");
  });
  await reported(options, () => run(signal), "Nothing was changed.");
  stopListening();
  // What was given up would be waited for.
  if (signal.aborted) process.exit();
}

/** The command as it was given, to be run again. */
export function commandLine(): string {
  const args = process.argv
    .slice(2)
    .map((arg) => (/^[\w./:=@,+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return ["radical", ...args].join(" ");
}

/** What was done, and in what state things are, for programs. */
export function unfinishedJson(outcome: Exclude<StepsOutcome, { readonly kind: "done" }>): object {
  const { reports: steps } = outcome;
  if (outcome.kind === "stopped") return { steps, next: outcome.next.name, state: outcome.next.ifFailed };
  const { code, message, hint } = outcome.error;
  return { steps, failed: outcome.failed.name, state: outcome.failed.ifFailed, error: { code, message, hint } };
}

/** Tells of an error on stderr, or as JSON on stdout, and sets the exit code. */
export function reportError(error: unknown, json: boolean, state?: string): void {
  const known = error instanceof CommandError ? error : null;
  process.exitCode = known?.exitCode ?? EXIT_FAILED;
  const code = known?.code ?? "internal_error";
  const message = known?.message ?? (error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
  const hint = known?.hint ?? "this is a fault of Radical: please report it";
  if (json) {
    print(JSON.stringify({ error: { code, message, hint }, ...(state === undefined ? {} : { state }) }));
    return;
  }
  const terminal = createTerminal();
  terminal.note(`${terminal.style("red", "error")} ${message}\n  ${hint}${state === undefined ? "" : `\n${state}`}`);
}
