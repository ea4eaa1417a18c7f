/** The outcome of an execution, in the line of a record. */
import type { Outcome } from "@radical/protocol";
import { type RecordedPart, RecordProblem, valueFields } from "./recorded-part.ts";

export function outcomeToJson(outcome: Outcome): string {
  return outcome.kind === "result" ? `{"kind":"result",${valueFields(outcome.value)}}` : JSON.stringify(outcome);
}

/** Throws a RecordProblem. */
export function outcomeOf(part: RecordedPart): Outcome {
  const outcome = part.plain as Outcome | undefined;
  if (outcome?.kind === "result") return { kind: "result", value: part.value };
  if (outcome?.kind === "abort" || outcome?.kind === "trap") return outcome;
  throw new RecordProblem("has no outcome");
}
