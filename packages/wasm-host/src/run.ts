/**
 * The two runs that the protocol knows: the read/write-set function (which units will the handler access?) and the
 * handler itself, from one captured snapshot. The edge and the primary use the same.
 */
import type { Entry, Outcome, UnitId, Write } from "@radical/protocol";
import { Execution, type Invocation, type Items } from "./execution.ts";
import type { HandlerModule } from "./module.ts";

/** A captured snapshot of items; undefined: not captured. */
export type Snapshot = (unit: UnitId) => Entry | undefined;

/** A unit that is both read and written is in both. */
export interface AccessSet {
  readonly reads: ReadonlySet<UnitId>;
  readonly writes: ReadonlySet<UnitId>;
}

export type DerivedSet =
  | {
      readonly kind: "derived";
      readonly set: AccessSet;
      /**
       * Units whose value the function needed and the snapshot lacks. If there are any, the set is provisional:
       * capture them (and, in the same batch, all of `set.reads`), then derive again.
       */
      readonly missing: readonly UnitId[];
      /** Reads whose value the function needed. */
      readonly dependent: readonly UnitId[];
    }
  /** There is no set: the handler has to run near storage. */
  | { readonly kind: "failed"; readonly reason: string };

export type HandlerRun =
  | {
      readonly kind: "completed";
      readonly outcome: Outcome;
      /** In order of first read. */
      readonly reads: readonly UnitId[];
      /** Sorted by unit, the last write of each; none after an abort or a trap. */
      readonly writes: readonly Write[];
    }
  /** The handler accessed a unit outside the declared set: the set was wrong. */
  | { readonly kind: "undeclared"; readonly unit: UnitId; readonly mode: "read" | "write" }
  /** The handler read a unit that was not captured. */
  | { readonly kind: "missing"; readonly unit: UnitId };

/**
 * Runs the read/write-set function. A read that the snapshot lacks is answered as if the item were absent, so that
 * one run finds as many missing units as it can.
 */
export function deriveAccessSet(module: HandlerModule, invocation: Invocation, snapshot: Snapshot): DerivedSet {
  const reads = new Set<UnitId>();
  const writes = new Set<UnitId>();
  const dependent = new Set<UnitId>();
  const missing = new Set<UnitId>();
  const items: Items<never> = {
    read(unit) {
      reads.add(unit);
      dependent.add(unit);
      const entry = snapshot(unit);
      if (entry === undefined) missing.add(unit);
      return entry?.value ?? null;
    },
    touch: (unit) => void reads.add(unit),
    write: (unit) => void writes.add(unit),
  };
  const execution = new Execution(invocation, module.limits, items);
  const ending = execution.run(module.rw);
  if (ending === null)
    return { kind: "failed", reason: `there is no read/write-set function of ${invocation.handler}` };
  // Whatever a run on invented absences came to, its set is only provisional.
  if (missing.size === 0 && ending.kind === "ended" && ending.outcome.kind === "trap") {
    // Where f^rw fails an assertion or makes too many accesses, so does f, having accessed the same units. But the two
    // need different amounts of memory and stack.
    const { code, message } = ending.outcome;
    if (code === "out_of_memory" || code === "stack_overflow" || code === "unreachable") {
      return { kind: "failed", reason: `the read/write-set function trapped: ${message}` };
    }
  }
  return { kind: "derived", set: { reads, writes }, missing: [...missing], dependent: [...dependent] };
}

/**
 * Runs the handler on the snapshot. With `access`, anything outside it ends the run as `undeclared`; null records
 * instead (near storage, for a handler without a set) and everything is allowed.
 */
export function runHandler(
  module: HandlerModule,
  invocation: Invocation,
  snapshot: Snapshot,
  access: AccessSet | null,
): HandlerRun {
  type Stop = Extract<HandlerRun, { kind: "undeclared" | "missing" }>;
  const reads = new Set<UnitId>();
  const items: Items<Stop> = {
    read(unit, run) {
      if (access !== null && !access.reads.has(unit)) return run.stop({ kind: "undeclared", unit, mode: "read" });
      const entry = snapshot(unit);
      if (entry === undefined) return run.stop({ kind: "missing", unit });
      reads.add(unit);
      return entry.value;
    },
    touch(unit, run) {
      this.read(unit, run);
    },
    write(unit, run) {
      if (access !== null && !access.writes.has(unit)) run.stop({ kind: "undeclared", unit, mode: "write" });
    },
  };
  const execution = new Execution(invocation, module.limits, items);
  const ending = execution.run(module.f);
  if (ending === null) throw new Error(`the module has no handler ${invocation.handler}`);
  if (ending.kind === "stopped") return ending.stop;
  return {
    kind: "completed",
    outcome: ending.outcome,
    reads: [...reads],
    writes: ending.outcome.kind === "result" ? sortedWrites(execution.writes) : [],
  };
}

function sortedWrites(writes: ReadonlyMap<UnitId, Uint8Array | null>): Write[] {
  return Array.from(writes, ([unit, value]) => ({ unit, value })).toSorted((a, b) => (a.unit < b.unit ? -1 : 1));
}
