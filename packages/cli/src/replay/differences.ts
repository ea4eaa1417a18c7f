/** The differences of a recorded execution when it runs again in another build. */
import { encodeOutcome, type Outcome, type UnitId } from "@radical/protocol";
import { outcomeToJson, type Recorded, shownValue } from "./record-line.ts";
import type { RunAgain } from "./run-again.ts";

export type Difference =
  | { readonly kind: "handler_gone" }
  /** It reads a unit that the recorded execution did not read, so the record can't say what it does. */
  | { readonly kind: "read_outside"; readonly unit: UnitId }
  /** Result, abort or trap, as JSON. */
  | { readonly kind: "outcome"; readonly was: string; readonly is: string }
  /** A value as JSON; null: it did not, or does not, write the item. */
  | { readonly kind: "write"; readonly unit: UnitId; readonly was: string | null; readonly is: string | null }
  | { readonly kind: "fuel"; readonly was: number; readonly is: number }
  | { readonly kind: "not_run"; readonly reason: string };

/** The fuel that a run may take more at any tolerance: less than a call of the host. */
const FREE_FUEL = 1_000;

/** `fuelTolerance`: 0.1 is 10 % more than recorded. Less is never a difference. */
export function differencesOf(recorded: Recorded, run: RunAgain, fuelTolerance: number): readonly Difference[] {
  switch (run.kind) {
    case "outside":
      return [{ kind: "read_outside", unit: run.unit }];
    case "failed":
      return [{ kind: "not_run", reason: run.reason }];
    case "ended":
      break;
  }
  const differences: Difference[] = [];
  if (!sameOutcome(recorded.outcome, run.outcome))
    differences.push({ kind: "outcome", was: outcomeToJson(recorded.outcome), is: outcomeToJson(run.outcome) });
  for (const unit of new Set([...recorded.writes.keys(), ...run.writes.keys()])) {
    const [was, is] = [recorded.writes.get(unit), run.writes.get(unit)];
    if (isSame(was, is)) continue;
    differences.push({ kind: "write", unit, was: shownWrite(was), is: shownWrite(is) });
  }
  if (run.fuel > recorded.fuel * (1 + fuelTolerance) + FREE_FUEL)
    differences.push({ kind: "fuel", was: recorded.fuel, is: run.fuel });
  return differences;
}

/** A trap's words name its place in the source, which any edit moves. */
function sameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.kind === "trap" && b.kind === "trap") return a.code === b.code;
  return Buffer.compare(encodeOutcome(a), encodeOutcome(b)) === 0;
}

/** Undefined: not written; null: deleted. */
function isSame(a: Uint8Array | null | undefined, b: Uint8Array | null | undefined): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b;
}

function shownWrite(value: Uint8Array | null | undefined): string | null {
  return value === undefined ? null : value === null ? "deleted" : shownValue(value);
}
