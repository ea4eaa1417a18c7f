/** Runs of handlers that know what they read and write, for histories with handlers of their own. */
import type { RunAccess, RunResult } from "@radical/lvi-server/core";
import { lanesOf } from "@radical/protocol";

/** As a handler with f^rw says: it lacks values, or locks of what it writes; and a set bounds what it does. */
export function within(access: RunAccess, result: RunResult): RunResult {
  if (access.kind === "record" || access.kind === "workflow") return result;
  if (access.kind === "declared") {
    if (result.kind !== "completed") return { kind: "undeclared", reason: "it lacks a value" };
    const { lanes = new Set(), writes } = access.set;
    const isWithin =
      result.writes.every(({ unit }) => writes.has(unit)) &&
      lanesOf(result.effects ?? []).every((lane) => lanes.has(lane));
    return isWithin ? result : { kind: "undeclared", reason: "outside the set" };
  }
  if (result.kind === "missing") return { kind: "needs", set: { reads: new Set(result.units), writes: new Set() } };
  if (result.kind !== "completed") return result;
  const writes = new Set(result.writes.map(({ unit }) => unit));
  const { writable } = access;
  if (writable === null || [...writes].every((unit) => writable.has(unit))) return result;
  return { kind: "needs", set: { reads: new Set(result.reads), writes } };
}
