/**
 * The checks that come before the compiler, so that a form it does not have is named as such, with the form to use.
 */
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { BuildInput } from "../pipeline.ts";

export function checkSources(input: BuildInput): Diagnostic[] {
  void input;
  return [];
}
