/**
 * Checks of results that are shown before their confirmation. Only clients that ask get them, only of programs with the tag,
 * and never beside the confirmation. The answer then says truly what became of the result. The other checkers check the answer.
 */
import type { Outcome } from "@radical/protocol";
import type { Verdict } from "@radical/runtime/core";
import { SPECULATIVE } from "../programs.ts";
import type { Telling } from "../workload.ts";

/** The violations, in words; empty if there are none. */
export function checkShown(tellings: readonly Telling[]): readonly string[] {
  return tellings.flatMap((telling) => [...problemsOf(telling)]);
}

function* problemsOf({ name, program, prefersSpeculative, shown, answer }: Telling): Iterable<string> {
  const [first] = shown;
  if (first !== undefined) {
    if (!prefersSpeculative) yield `${name} was shown a result early, and had not asked for it`;
    if (!SPECULATIVE.has(program)) yield `${name} was shown a result early, and ${program} lacks the tag`;
    if (first.isConfirmed) yield `${name} was shown a result beside its confirmation`;
    if (shown.length > 1) yield `${name} was shown ${shown.length} results`;
  }
  if (answer === null) return;
  const verdict = first === undefined ? null : verdictOn(first.result, answer.outcome);
  if (answer.verdict !== verdict)
    yield `${name} was told "${answer.verdict}" of what it was shown, which is "${verdict}"`;
}

function verdictOn(shown: Uint8Array, outcome: Outcome | null): Verdict {
  if (outcome?.kind !== "result") return "failed";
  return Buffer.compare(shown, outcome.value) === 0 ? "confirmed" : "corrected";
}
