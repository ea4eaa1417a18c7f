/** The differences of a run, as paths of fields that people know. */
import { isSpan, type ReplayDifference, spanOf, type UnitId } from "@radical/protocol";
import { type ChangedField, changedFields } from "./changed-fields.ts";
import type { Difference } from "./differences.ts";

/** Of a workflow that takes another way than its journal. */
export const STUCK_WORDS = "It takes another way than its journal: in this build the workflow would be stuck.";

export function differenceFields(difference: Difference): readonly ReplayDifference[] {
  switch (difference.kind) {
    case "handler_gone":
      return [{ path: "the handler", was: "there", is: null }];
    case "read_outside":
      return [{ path: `reads ${readWords(difference.unit)}`, was: null, is: "not among the recorded values" }];
    case "not_run":
      return [{ path: "the run", was: "ended", is: difference.reason }];
    case "fuel":
      return [{ path: "fuel", was: String(difference.was), is: String(difference.is) }];
    case "effect":
    case "way": {
      const { path, was, is } = difference;
      return [{ path, was, is }];
    }
    case "outcome":
      return (
        outcomeFields(difference.was, difference.is) ?? [{ path: "outcome", was: difference.was, is: difference.is }]
      );
    case "write": {
      const { unit, was, is } = difference;
      const fields = was === null || is === null ? null : changedFields("", was, is);
      return fields === null
        ? [{ path: unit, was, is }]
        : fields.map((field) => ({ ...field, path: field.path === "" ? unit : `${unit}: ${field.path}` }));
    }
  }
}

/** Fields of the result, the abort or the trap; null: outcomes of two kinds are compared whole. */
export function outcomeFields(was: string, is: string): readonly ChangedField[] | null {
  const fields = changedFields("", was, is);
  if (fields === null || fields.some(({ path }) => path === "kind" || path === "cbor")) return null;
  const { kind } = JSON.parse(was) as { readonly kind: string };
  const named = (path: string): string => (kind === "result" ? path.replace("value", "result") : `${kind}.${path}`);
  return fields.map((field) => ({ ...field, path: named(field.path) }));
}

/** An item by its name, a range in words. */
export function readWords(unit: UnitId): string {
  const span = isSpan(unit) ? spanOf(unit) : null;
  if (span === null) return unit;
  const [from, to] = [span.lo, span.hi].map((bound) => JSON.stringify(bound));
  const end = span.hi === "" ? "the end" : to;
  return `${span.kind === "rows" ? "the rows" : "the number of rows"} of ${span.table} from ${from} to ${end}`;
}
