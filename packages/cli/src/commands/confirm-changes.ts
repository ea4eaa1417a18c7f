/** Whether a plan is carried out: asked only of a person, and only for what changes something. */
import { createInterface } from "node:readline/promises";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import type { PlannedStep } from "../deploy/steps.ts";
import { changesOf } from "../terminal/step-lines.ts";
import { type Terminal, counted } from "../terminal/terminal.ts";

/** Throws a CommandError where nobody can be asked. */
export async function confirmChanges(
  planned: readonly PlannedStep[],
  { plan, yes }: { readonly plan?: true; readonly yes?: true },
  terminal: Terminal,
): Promise<boolean> {
  if (plan === true) return false;
  if (yes === true) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandError(
      "not_confirmed",
      `nobody can be asked whether to make ${counted(changesOf(planned).length, "change")}: this is no terminal`,
      "give --yes to make them, or --plan to see them only",
      { exitCode: EXIT_USAGE },
    );
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${terminal.style("bold", "Make these changes?")} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
