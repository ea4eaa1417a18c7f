/** Whether a plan is carried out: asked only of a person, and only for what changes something. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { PlannedStep } from "@radical/deploy";
import { ask } from "./ask.ts";
import { changesOf } from "./step-lines.ts";
import type { Terminal } from "./terminal.ts";
import { counted } from "@radical/app";

interface ConfirmOptions {
  /** Undefined: the command does not have it. */
  readonly plan?: boolean;
  readonly yes?: boolean;
}

/** Throws a CommandError where nobody can be asked. */
export async function confirmChanges(
  planned: readonly PlannedStep[],
  options: ConfirmOptions,
  terminal: Terminal,
): Promise<boolean> {
  const whether = `whether to make ${counted(changesOf(planned).length, "change")}`;
  return isYes(await answerTo(yesOrNo("Make these changes?", terminal), options, whether));
}

/** `Discard all dead tasks?` Throws a CommandError where nobody can be asked. */
export async function confirmed(question: string, options: ConfirmOptions, terminal: Terminal): Promise<boolean> {
  return isYes(await answerTo(yesOrNo(question, terminal), options, `"${question}"`));
}

function yesOrNo(question: string, terminal: Terminal): string {
  return `${terminal.style("bold", question)} [y/N] `;
}

function isYes(answer: boolean | string): boolean {
  return typeof answer === "boolean" ? answer : /^y(es)?$/i.test(answer.trim());
}

/** For what can't be taken back: the name has to be typed. Throws a CommandError where nobody can be asked. */
export async function confirmByName(name: string, options: ConfirmOptions, terminal: Terminal): Promise<boolean> {
  const question = `${terminal.style("bold", `Type ${name} to remove it:`)} `;
  const answer = await answerTo(question, options, `whether to remove ${name}`);
  return typeof answer === "boolean" ? answer : answer.trim() === name;
}

/** The answer of the options, or else the one that somebody types. */
async function answerTo(question: string, { plan, yes }: ConfirmOptions, whether: string): Promise<boolean | string> {
  if (plan === true) return false;
  if (yes === true) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandError(
      "not_confirmed",
      `The command must ask ${whether}, and can't: this is not a terminal.`,
      `Give --yes to do it${plan === undefined ? "" : ", or --plan only to see it"}.`,
      { exitCode: EXIT_USAGE },
    );
  }
  return ask(question);
}
