/** Which locks a set of units needs. */
import type { AccessedUnit, UnitId } from "@radical/protocol";
import type { Access, LockMode } from "./lock-table.ts";

/** A unit of its own, which overlaps no item. Held shared by all that hold locks, exclusive by an execution that must run alone. */
export const GATE = "" as UnitId;

export const GATE_SHARED: Access = { unit: GATE, mode: "shared" };

export function declaredLocks(units: readonly { unit: UnitId; mode: AccessedUnit["mode"] }[]): readonly Access[] {
  // variant: spans-locked
  return units.map(({ unit, mode }) => ({ unit, mode: mode === "read" ? "shared" : "exclusive" }));
}

export function accessesOf(modes: ReadonlyMap<UnitId, LockMode>): readonly Access[] {
  return Array.from(modes, ([unit, mode]) => ({ unit, mode }));
}
