/** Which locks a set of units needs, always in the one order in which all executions ask for them. */
import { type AccessedUnit, byUnit, type UnitId } from "@radical/protocol";
import type { LockMode, LockRequest } from "./lock-table.ts";

/** Sorts before every unit. Held shared by all that hold locks, exclusive by an execution that must run alone. */
export const GATE = "" as UnitId;

export function declaredLocks(units: readonly { unit: UnitId; mode: AccessedUnit["mode"] }[]): readonly LockRequest[] {
  return requestsOf(new Map(units.map(({ unit, mode }) => [unit, mode === "read" ? "shared" : "exclusive"])));
}

/** In sorted order. */
export function requestsOf(modes: ReadonlyMap<UnitId, LockMode>): readonly LockRequest[] {
  return [...modes].map(([unit, mode]) => ({ unit, mode })).toSorted(byUnit);
}
