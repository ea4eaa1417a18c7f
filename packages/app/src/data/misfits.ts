/** Stored data that a build does not read: how people are told, and the option with which they go on. */
import type { Misfit } from "@radical/protocol";
import { CommandError } from "../command-error.ts";

/** Lets it happen, on the commands that check it. */
export const ACCEPT_OPTION = "--accept-misfits";

/** Thrown before the build serves. */
export class MisfitError extends CommandError {
  constructor(lines: readonly string[], hint: string) {
    super(
      "data_does_not_fit",
      `The stored data does not fit the types of this build:\n${lines.map((line) => `  ${line}`).join("\n")}`,
      hint,
    );
  }
}

/** `events[].title: string → i32`. */
export function misfitLine({ path, before, after }: Misfit): string {
  return `${path}: ${before} → ${after}`;
}

/** The two ways that need no option. */
export const NEW_FIELD = "Keep the field's type, and add a field under another name";
