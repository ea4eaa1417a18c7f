/** Parts of all commands: the option that names the project, and the words about an error. */
import type { Option, Options } from "@radical/command-line";
import { CommandError, EXIT_FAILED, messageOf } from "@radical/app/command-error";
import type { StepsOutcome } from "@radical/deploy";
import { DEPLOYED, PRIMARY } from "../operate/deployed-options.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { missingPackage } from "./missing-package.ts";

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

export const YES = { kind: "flag", short: "y", words: "do not ask for confirmation" } as const satisfies Option;

/** Options of the commands that ask a primary: that of `radical dev`, of a deployment, or one that is named. */
export const OF_PRIMARY = {
  project: PROJECT,
  env: DEPLOYED.env,
  primary: PRIMARY,
  region: DEPLOYED.region,
  json: { kind: "flag", words: "print JSON" },
} as const satisfies Options;

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

/** Runs commands whose work is loaded by those who need it. Ctrl-C or SIGTERM ends them between two requests. */
export function runnerOf<Work>(
  load: () => Promise<Work>,
): (options: Pick<CommonOptions, "json">, run: (work: Work, signal: AbortSignal) => Promise<void>) => Promise<void> {
  return async (options, run) => {
    const { signal, stopListening } = untilSignal();
    await reported(options, async () => run(await load(), signal));
    stopListening();
  };
}

/**
 * Runs a command that changes things by steps. It throws only before the first step. Ctrl-C or SIGTERM breaks it off, so that
 * it can report its steps; a second one ends it at once.
 */
export async function interruptible(
  options: Pick<CommonOptions, "json">,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal, stopListening } = untilSignal();
  signal.addEventListener("abort", () => {
    createTerminal({ quiet: options.json }).note("Stopping: the step under way is given up.");
  });
  await reported(options, () => run(signal), "Nothing was changed.");
  stopListening();
  // Node would wait for the step that was given up.
  if (signal.aborted) process.exit();
}

/** The command as it was given, to be run again. */
export function commandLine(): string {
  const args = process.argv
    .slice(2)
    .map((arg) => (/^[\w./:=@,+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return ["radical", ...args].join(" ");
}

/** The steps that were done, and the state of things, for programs. */
export function unfinishedJson(outcome: Exclude<StepsOutcome, { readonly kind: "done" }>): object {
  const { reports: steps } = outcome;
  if (outcome.kind === "stopped") return { steps, next: outcome.next.name, state: outcome.next.ifFailed };
  const { code, message, hint } = outcome.error;
  return { steps, failed: outcome.failed.name, state: outcome.failed.ifFailed, error: { code, message, hint } };
}

/** Tells of an error on stderr, or as JSON on stdout, and sets the exit code. */
export function reportError(error: unknown, json: boolean, state?: string): void {
  const known = error instanceof CommandError ? error : missingPackage(error);
  process.exitCode = known?.exitCode ?? EXIT_FAILED;
  const code = known?.code ?? "internal_error";
  const message = known?.message ?? (error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
  const hint = known?.hint ?? "This is a fault of Radical: please report it.";
  if (json) {
    print(JSON.stringify({ error: { code, message, hint }, ...(state === undefined ? {} : { state }) }));
    return;
  }
  const terminal = createTerminal();
  terminal.note(`${terminal.style("red", "error")} ${message}\n  ${hint}${state === undefined ? "" : `\n${state}`}`);
}
